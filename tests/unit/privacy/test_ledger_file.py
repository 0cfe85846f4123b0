"""One total for a table across releases, in a file that shows every change and survives crashes."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from fractions import Fraction
from hashlib import sha256

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.tamper import changed_bytes
from understudy.errors import BadInput, BudgetSpent, CheckFailed, PrivacyRefused
from understudy.privacy import ledger_file
from understudy.privacy.account import Account
from understudy.privacy.accountant import cost, gaussian_scale, integral_points, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.events import Exponential, Gaussian, Reveal, SampledGaussian
from understudy.privacy.ledger_file import create_ledger, open_release, read_ledger
from understudy.privacy.unit import Person, Record, Replacement

TABLE = Budget(4.0, 1e-8)
ONE = Budget(1.0, 1e-9)
UNIT = str(Record())
REQUEST = {"door": "measure", "cliques": [["age"], ["city", "job"]]}


def event(rho):
    """A Gaussian that costs about this much, and never more."""
    return Gaussian(gaussian_scale(Fraction(1), Fraction(rho)), Fraction(1))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "table.ledger"
    create_ledger(path, TABLE)
    return path


@pytest.fixture
def used(path):
    """A ledger with two complete releases and one that was left in the middle."""
    for events in ([event(0.001), Exponential(0.05)], [event(0.002)]):
        release = open_release(path, ONE, UNIT)
        for one in events:
            release.intend(one, REQUEST)
        release.end()
    release = open_release(path, ONE, UNIT)
    release.intend(SampledGaussian(0.01, 4.0, Fraction(1), 10), REQUEST)
    release.close()
    return path


def opened(path, budget=ONE, unit=UNIT, wait_seconds=0.0):
    """Nothing in these tests is worth waiting for."""
    return open_release(path, budget, unit, wait_seconds=wait_seconds)


def lines_of(path):
    return path.read_bytes().splitlines(keepends=True)


def test_a_new_ledger_holds_a_budget_and_nothing_else(path):
    record = read_ledger(path)
    assert (record.budget.epsilon, record.budget.delta) == (TABLE.epsilon, TABLE.delta)
    # The order is written down: another machine's last digits would give another one.
    assert record.budget.order == TABLE.order
    assert record.releases == []
    assert (record.spent, record.rest, record.unit) == (0, TABLE.rho, None)
    assert record.lines == 1
    assert record.size == path.stat().st_size
    # The file that was written aside is gone.
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_ledger_with_an_order_of_its_own_keeps_it(tmp_path):
    path = tmp_path / "training.ledger"
    budget = Budget(1.0, 1e-9, fixed_order=20.0)
    create_ledger(path, budget)
    assert read_ledger(path).budget == budget
    assert read_ledger(path).rest == budget.rho != ONE.rho


def test_nobody_else_may_read_a_ledger_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        create_ledger(tmp_path / "table.ledger", TABLE)
    finally:
        os.umask(before)
    path = tmp_path / "table.ledger"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    opened(path).end()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("use", [read_ledger, opened])
def test_a_missing_ledger_is_an_error_that_shows_how_to_make_one(tmp_path, use):
    path = tmp_path / "none.ledger"
    with pytest.raises(BadInput) as refused:
        use(path)
    assert f"understudy budget {path} --create --epsilon 4 --delta 1e-8" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_is_never_overwritten(used):
    before = used.read_bytes()
    with pytest.raises(BadInput, match="never overwritten"):
        create_ledger(used, Budget(100.0, 1e-3))
    assert used.read_bytes() == before


def test_no_other_file_and_no_link_is_overwritten_either(tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    for path in (notes, link, tmp_path):
        with pytest.raises(BadInput):
            create_ledger(path, TABLE)
    assert notes.read_text() == "mine"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link", "notes.txt"]
    with pytest.raises(BadInput, match="cannot be written"):
        create_ledger(tmp_path / "no folder" / "table.ledger", TABLE)


def test_what_was_spent_can_be_read_while_a_release_is_made_and_after_it(path):
    release = opened(path)
    assert [r.ended for r in read_ledger(path).releases] == [False]
    amounts = [event(0.001), Exponential(0.05), event(0.0005)]
    for count, one in enumerate(amounts, 1):
        release.intend(one, REQUEST)
        assert read_ledger(path).spent == total_cost(amounts[:count], TABLE.order)
    release.end()
    record = read_ledger(path)
    (only,) = record.releases
    assert only.events == [(one, REQUEST) for one in amounts]
    assert (only.epsilon, only.delta, only.unit, only.ended) == (1.0, 1e-9, UNIT, True)
    assert only.name == release.name
    assert record.unit == UNIT
    assert record.spent + record.rest == TABLE.rho


def test_lines_are_chained_and_the_head_is_the_last_lines_hash(used):
    release = opened(used)
    release.intend(event(0.001), REQUEST)
    head = release.head
    release.close()
    before = "0" * 64
    for place, line in enumerate(lines_of(used)):
        entry = json.loads(line)
        hashed = {name: value for name, value in entry.items() if name != "hash"}
        spelled = json.dumps(hashed, sort_keys=True, separators=(",", ":")).encode()
        assert sha256(spelled).hexdigest() == entry["hash"]
        assert (entry["line"], entry["before"]) == (place, before)
        before = entry["hash"]
    assert head == before == read_ledger(used).head


def test_all_releases_count_against_one_total(path):
    spent = Fraction(0)
    for rho in (0.01, 0.002, 0.0003):
        release = opened(path)
        release.intend(event(rho), REQUEST)
        release.end()
        spent += cost(event(rho), TABLE.order)
        assert read_ledger(path).spent == spent
        assert read_ledger(path).rest == TABLE.rho - spent
    assert [r.ended for r in read_ledger(path).releases] == [True] * 3


def test_costs_count_at_the_files_own_order_and_not_at_a_releases(tmp_path):
    path = tmp_path / "training.ledger"
    whole = Budget(1.0, 1e-9, fixed_order=60.0)
    create_ledger(path, whole)
    part = Budget(0.9, 1e-9, fixed_order=35.0)
    # Cheap at order 35, but so sharp that it costs three thousand times as much at order 60.
    training = SampledGaussian(0.01, 2.0, Fraction(1), 100)
    assert cost(training, part.order) < part.rho < whole.rho < cost(training, whole.order)
    release = opened(path, part)
    before = path.read_bytes()
    account = Account.open(part, file=release)
    with pytest.raises(BudgetSpent):
        account.debit(training, REQUEST)
    assert path.read_bytes() == before
    assert account.entries == ()
    mild = SampledGaussian(0.02, 4.0, Fraction(1), 100)
    account.debit(mild, REQUEST)
    release.end()
    assert cost(mild, part.order) < cost(mild, whole.order)
    assert account.rest == part.rho - cost(mild, part.order)
    assert read_ledger(path).spent == cost(mild, whole.order)
    assert read_ledger(path).rest == whole.rho - cost(mild, whole.order)


@pytest.mark.parametrize("other", [str(Replacement()), str(Person("patient", 3))])
def test_releases_for_different_units_do_not_add_up_and_are_refused(used, other):
    before = used.read_bytes()
    with pytest.raises(PrivacyRefused, match="same unit"):
        opened(used, unit=other)
    assert used.read_bytes() == before
    opened(used).end()


def test_people_who_are_told_apart_by_another_id_are_another_unit(path):
    # Three rows of a visit are not three rows of a patient: neither total protects the other.
    release = opened(path, unit=str(Person("visit", 3)))
    release.intend(event(TABLE.rho / 8), REQUEST)
    release.end()
    with pytest.raises(PrivacyRefused, match="same unit"):
        opened(path, unit=str(Person("patient", 3)))


def test_a_request_beyond_the_total_is_refused_and_writes_nothing(tmp_path):
    path = tmp_path / "small.ledger"
    create_ledger(path, ONE)
    release = opened(path, Budget(0.9, 1e-9))
    release.intend(event(ONE.rho / 2), REQUEST)
    head, before = release.head, path.read_bytes()
    with pytest.raises(BudgetSpent):
        release.intend(event(ONE.rho * 51 / 100), REQUEST)
    with pytest.raises(BudgetSpent):
        release.check([event(ONE.rho / 4), event(ONE.rho * 26 / 100)])
    assert path.read_bytes() == before
    assert release.head == head
    # A refusal changes nothing: what did fit still fits.
    release.intend(event(ONE.rho / 4), REQUEST)
    release.end()
    assert ONE.rho * 74 / 100 < read_ledger(path).spent <= ONE.rho * 3 / 4


def test_the_total_can_be_spent_to_its_last_digit_and_not_beyond(tmp_path):
    path = tmp_path / "small.ledger"
    create_ledger(path, ONE)
    release = opened(path, ONE)
    # Sensitivity and scale such that the cost is the whole rho, exactly.
    exact = Gaussian(1.0, 2 * ONE.rho)
    assert cost(exact, ONE.order) == ONE.rho
    release.intend(exact, REQUEST)
    assert read_ledger(path).rest == 0
    with pytest.raises(BudgetSpent):
        release.intend(Gaussian(1.0, Fraction(1, 2**99)), REQUEST)
    release.end()
    assert read_ledger(path).spent == ONE.rho


def test_a_release_that_does_not_fit_is_refused_before_it_begins(tmp_path):
    path = tmp_path / "small.ledger"
    create_ledger(path, ONE)
    with pytest.raises(BudgetSpent, match="smaller epsilon"):
        opened(path, Budget(1.01, 1e-9))
    release = opened(path, Budget(0.5, 1e-9))
    release.intend(event(ONE.rho / 10), REQUEST)
    release.end()
    before = path.read_bytes()
    with pytest.raises(BudgetSpent, match="smaller epsilon"):
        opened(path, ONE)
    assert path.read_bytes() == before
    opened(path, Budget(0.5, 1e-9)).end()


def test_a_release_that_was_never_ended_stays_charged(path):
    release = opened(path)
    release.intend(event(0.003), REQUEST)
    release.close()
    opened(path).end()
    record = read_ledger(path)
    assert [r.ended for r in record.releases] == [False, True]
    assert record.spent == cost(event(0.003), TABLE.order)


def test_a_reveal_makes_the_total_infinite_and_later_releases_are_refused(path):
    release = opened(path)
    release.intend(event(0.001), REQUEST)
    release.intend(Reveal("a copy for the auditors"), {"door": "reveal"})
    release.end()
    record = read_ledger(path)
    assert record.spent == float("inf")
    assert record.rest == 0
    before = path.read_bytes()
    with pytest.raises(BudgetSpent):
        opened(path, Budget(1e-3, 1e-9))
    assert path.read_bytes() == before


def test_every_cut_of_the_last_line_is_ignored_and_removed_by_the_next_release(used):
    whole = used.read_bytes()
    kept = read_ledger(used)
    release = opened(used)
    release.intend(event(0.004), REQUEST)
    release.end()
    added = used.read_bytes()[len(whole) :].splitlines(keepends=True)
    assert len(added) == 3
    before = whole
    for line in added:  # the begin, the intent and the end of a release
        used.write_bytes(before)
        here = read_ledger(used)
        used.write_bytes(before + line)
        for cut in reversed(range(1, len(line) - 1)):
            os.truncate(used, len(before) + cut)
            assert read_ledger(used) == here, cut
        for cut in (1, 17, len(line) // 2, len(line) - 2):
            used.write_bytes(before + line[:cut])
            opened(used).end()
            assert used.read_bytes().startswith(before + b'{"before":"' + here.head.encode())
            assert read_ledger(used).spent == here.spent
            assert len(read_ledger(used).releases) == len(here.releases) + 1
        before += line
    assert read_ledger(used).spent >= kept.spent


def test_a_line_that_lacks_nothing_but_its_end_is_no_damage(used):
    # A write may stop one byte early like anywhere else. Whether such a line counts does not
    # matter, for its answer was never given; but the ledger must go on.
    whole = lines_of(used)
    spent = read_ledger(used).spent
    for count in range(2, len(whole) + 1):
        complete = b"".join(whole[:count])
        used.write_bytes(complete)
        with_it = read_ledger(used).spent
        used.write_bytes(b"".join(whole[: count - 1]))
        without_it = read_ledger(used).spent
        used.write_bytes(complete[:-1])
        assert read_ledger(used).spent in {with_it, without_it}
        release = opened(used)
        release.intend(event(0.001), REQUEST)
        release.end()
        more = cost(event(0.001), TABLE.order)
        assert read_ledger(used).spent in {with_it + more, without_it + more}
    assert spent > 0


CHANGES = {
    "lowest bit": lambda byte: byte ^ 1,
    "case": lambda byte: byte ^ 0x20,
    "highest bit": lambda byte: byte ^ 0x80,
    "newline": lambda _: ord("\n"),
    "blank": lambda _: ord(" "),
    "quote": lambda _: ord('"'),
    "zero": lambda _: 0,
}


def accepted(path):
    """What the ledger says; nothing where it says that it was changed."""
    try:
        return read_ledger(path)
    except CheckFailed:
        return None


@pytest.mark.untraced
@pytest.mark.parametrize(
    "name",
    [
        *("lowest bit", "newline", "quote"),
        *(
            pytest.param(n, marks=pytest.mark.slow)
            for n in ("case", "highest bit", "blank", "zero")
        ),
    ],
)
def test_every_changed_byte_is_found(used, name):
    missed = [place for place in changed_bytes(used, CHANGES[name]) if accepted(used) is not None]
    assert missed == []


@pytest.mark.untraced
@pytest.mark.parametrize(
    "name",
    ["newline", *(pytest.param(name, marks=pytest.mark.slow) for name in ("lowest bit", "quote"))],
)
def test_a_changed_byte_next_to_a_line_that_was_cut_off_never_lowers_the_total(used, name):
    release = opened(used)
    complete, spent = used.stat().st_size, read_ledger(used).spent
    release.intend(event(0.004), REQUEST)
    release.close()
    os.truncate(used, complete + 200)
    assert read_ledger(used).spent == spent
    for place in changed_bytes(used, CHANGES[name]):
        record = accepted(used)
        # Accepted only where nothing but the cut-off line, which paid for nothing, was changed.
        assert record is None or (place >= complete and record.spent == spent), place


@pytest.mark.parametrize(
    "edit",
    [
        lambda lines: lines[:1],
        lambda lines: lines[1:],
        lambda lines: [*lines[:3], *lines[4:]],
        lambda lines: [*lines[:-2], lines[-1]],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
        lambda lines: [*lines[:-2], lines[-1], lines[-2]],
        lambda lines: [*lines[:3], lines[2], *lines[3:]],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [*lines[:3], b"\n", *lines[3:]],
        lambda lines: [b"\n", *lines],
        lambda lines: [*lines, b"\n"],
        lambda lines: [*lines, b"{}\n"],
        lambda lines: [*lines, b"{}"],
        lambda lines: [*lines, b"a note at the end"],
        lambda lines: [*lines, b"\x00" * 40],
        lambda lines: [line.replace(b"\n", b"\r\n") for line in lines],
        lambda lines: [b"\xef\xbb\xbf", *lines],
        lambda lines: [b"".join(lines) * 2],
        lambda _: [],
    ],
)
def test_lines_that_were_removed_moved_repeated_or_added_are_found(used, edit):
    lines = lines_of(used)
    edited = edit(lines)
    if edited == lines[:1]:
        # Whole lines cut off at the end are what a chain cannot see; see the test below.
        edited = [*edited, lines[-1]]
    used.write_bytes(b"".join(edited))
    damaged = used.read_bytes()
    with pytest.raises(CheckFailed, match="was changed"):
        read_ledger(used)
    with pytest.raises(CheckFailed):
        opened(used)
    assert used.read_bytes() == damaged


def test_lines_of_another_ledger_are_found(used, tmp_path):
    other = tmp_path / "other.ledger"
    create_ledger(other, Budget(4.5, 1e-8))
    opened(other).end()
    lines, others = lines_of(used), lines_of(other)
    for mixed in ([others[0], *lines[1:]], [lines[0], *others[1:]], [*others, *lines[3:]]):
        used.write_bytes(b"".join(mixed))
        assert accepted(used) is None


def respelled(entry):
    """A line with a hash that fits it."""
    hashed = {name: value for name, value in entry.items() if name != "hash"}
    spelled = json.dumps(hashed, sort_keys=True, separators=(",", ":")).encode()
    entry = {**hashed, "hash": sha256(spelled).hexdigest()}
    return json.dumps(entry, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def test_a_line_that_was_edited_and_hashed_again_is_found_by_the_next_one(used):
    # Whoever hashes all lines after it again is not found: for that, keep a certificate.
    lines = lines_of(used)
    for place, line in enumerate(lines[:-1]):
        entry = json.loads(line)
        assert respelled(entry) == line
        later = respelled({**entry, "time": "2030-01-01T00:00:00+00:00"})
        used.write_bytes(b"".join([*lines[:place], later, *lines[place + 1 :]]))
        assert accepted(used) is None, place
        if entry["kind"] == "intent" and "scale" in entry["event"]:
            entry["event"]["scale"] *= 100
            cheaper = respelled(entry)
            used.write_bytes(b"".join([*lines[:place], cheaper, *lines[place + 1 :]]))
            assert accepted(used) is None, place


def test_lines_cut_off_at_the_end_leave_the_head_that_a_certificate_repeats(used):
    # The limit of a chain: each of its beginnings is a valid chain. Whoever holds a certificate
    # can tell, for its head is the hash of a line that must still be there.
    release = opened(used)
    release.intend(event(0.004), REQUEST)
    head = release.head
    release.end()
    lines = lines_of(used)

    def heads():
        return {json.loads(line)["hash"] for line in lines_of(used)}

    assert head in heads()
    used.write_bytes(b"".join(lines[:-2]))
    assert read_ledger(used).lines == len(lines) - 2
    assert head not in heads()


def test_a_line_without_one_of_its_parts_is_found(used):
    # Also where the rest, and above all the hash that the next line repeats, stays as it was.
    lines = lines_of(used)
    for place, line in enumerate(lines):
        entry = json.loads(line)
        shortened = [{k: v for k, v in entry.items() if k != name} for name in entry]
        for kept in (*shortened, {"hash": entry["hash"]}):
            shorter = json.dumps(kept, sort_keys=True, separators=(",", ":")).encode() + b"\n"
            used.write_bytes(b"".join([*lines[:place], shorter, *lines[place + 1 :]]))
            assert accepted(used) is None, (place, sorted(kept))


def chained(path, facts):
    """Add a line to a ledger as a program would that knows more than this one, or less."""
    last = json.loads(lines_of(path)[-1])
    entry = {**facts, "line": last["line"] + 1, "before": last["hash"], "time": last["time"]}
    with path.open("ab") as file:
        file.write(respelled(entry))


GAUSSIAN = {"kind": "Gaussian", "scale": 1.0, "sensitivity_squared": "1", "steps": 1}
GAUSSIAN |= {"unit_cells": None}


@pytest.mark.parametrize(
    "facts",
    [
        {"kind": "intent", "event": {"kind": "Staircase", "epsilon": 1.0}},
        {"kind": "intent", "event": {**GAUSSIAN, "scale": 0.0}},
        {"kind": "intent", "event": {**GAUSSIAN, "scale": "1.0"}},
        {"kind": "intent", "event": {**GAUSSIAN, "sensitivity_squared": "1/0"}},
        {"kind": "intent", "event": {**GAUSSIAN, "sensitivity_squared": "one"}},
        {"kind": "intent", "event": {**GAUSSIAN, "tails": "heavy"}},
        {"kind": "intent", "event": GAUSSIAN, "release": "unknown"},
        {"kind": "intent"},
        {"kind": "gift"},
        {"kind": "budget", "format": "understudy ledger 1", "epsilon": 9.0, "delta": 1e-8},
        {"kind": "begin", "epsilon": 1.0, "delta": 1e-9, "unit": UNIT},
        {"kind": "begin", "release": "new", "epsilon": 1.0, "delta": 1e-9},
        {"kind": "end", "release": "unknown"},
        {"kind": "end", "release": ["list"]},
        {},
    ],
)
def test_a_line_that_is_not_understood_is_never_passed_over(used, facts):
    # A newer version may write events that this one does not know: what they cost is unknown,
    # so nothing may be spent, rather than as if they were free.
    name = read_ledger(used).releases[-1].name
    chained(used, {"kind": "intent", "release": name, "event": GAUSSIAN, "request": {}})
    assert read_ledger(used).spent > Fraction(1, 2)  # the line is well made, but for its content
    chained(used, {"release": name, "request": {}, **facts})
    with pytest.raises(CheckFailed):
        read_ledger(used)
    with pytest.raises(CheckFailed):
        opened(used)


@pytest.mark.parametrize("content", [b"", b"{", b"\n", b"{}\n", b"notes\n", b"\xff\xfe\x00"])
def test_a_file_that_is_no_ledger_is_no_ledger(tmp_path, content):
    path = tmp_path / "odd.ledger"
    path.write_bytes(content)
    with pytest.raises(CheckFailed):
        read_ledger(path)
    with pytest.raises(CheckFailed):
        opened(path)
    assert path.read_bytes() == content
    with pytest.raises(BadInput):
        read_ledger(tmp_path)


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_nested_beyond_measure_is_damage_and_no_crash(used, end):
    used.write_bytes(used.read_bytes() + b'{"a":' * 100_000 + end)
    with pytest.raises(CheckFailed):
        read_ledger(used)


def test_a_busy_ledger_is_waited_for_and_then_given_up(path):
    first = opened(path)
    before = path.read_bytes()
    began = time.monotonic()
    with pytest.raises(BadInput, match="Another release is being made"):
        opened(path, wait_seconds=0.3)
    assert 0.3 <= time.monotonic() - began < 3
    assert path.read_bytes() == before
    threading.Timer(0.2, first.end).start()
    second = opened(path, wait_seconds=30)
    assert [r.ended for r in read_ledger(path).releases] == [True, False]
    second.end()


def test_damage_is_told_at_once_also_while_another_release_is_being_made(used):
    release = opened(used)
    whole = used.read_bytes()
    used.write_bytes(whole.replace(b'"line":2', b'"line":3'))
    began = time.monotonic()
    with pytest.raises(CheckFailed):
        opened(used, wait_seconds=30)
    assert time.monotonic() - began < 5
    release.close()


def test_a_release_that_waited_sees_what_was_spent_meanwhile(tmp_path):
    path = tmp_path / "small.ledger"
    create_ledger(path, ONE)
    first = opened(path, ONE)

    def spend_all():
        first.intend(event(ONE.rho), REQUEST)
        first.end()

    threading.Timer(0.2, spend_all).start()
    with pytest.raises(BudgetSpent):
        opened(path, ONE, wait_seconds=30)


def test_a_ledger_that_was_replaced_while_a_release_waited_is_opened_anew(path, tmp_path):
    # Or else what the release spends is written into a file that has no name any more.
    first = opened(path)
    backup = tmp_path / "backup"
    backup.write_bytes(lines_of(path)[0])

    def replace():
        backup.rename(path)
        first.close()

    threading.Timer(0.2, replace).start()
    second = opened(path, wait_seconds=30)
    second.intend(event(0.004), REQUEST)
    second.end()
    assert read_ledger(path).spent == cost(event(0.004), TABLE.order)


HOLD = """
import sys
from pathlib import Path
from understudy.privacy.budget import Budget
from understudy.privacy.events import Exponential
from understudy.privacy.ledger_file import open_release
release = open_release(Path(sys.argv[1]), Budget(1.0, 1e-9), sys.argv[2])
release.intend(Exponential(0.1), {})
print("held", flush=True)
sys.stdin.read(1)
"""


@pytest.mark.parametrize("killed", [True, False])
def test_the_lock_goes_with_the_process_that_holds_it_and_the_debt_stays(path, killed):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), UNIT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(BadInput, match="Another release"):
            opened(path)
        if killed:
            holder.kill()
        else:
            holder.stdin.close()
        assert holder.wait(30) == (-signal.SIGKILL if killed else 0)
        opened(path).end()
    record = read_ledger(path)
    assert [r.ended for r in record.releases] == [False, True]
    assert record.spent == cost(Exponential(0.1), TABLE.order)


def test_a_release_that_ended_writes_no_more(path):
    release = opened(path)
    release.end()
    before = path.read_bytes()
    for after in (lambda: release.intend(event(0.001), REQUEST), release.end):
        with pytest.raises((OSError, BadInput, PrivacyRefused)):
            after()
    release.close()  # which may be said twice
    assert path.read_bytes() == before


STEPS = st.one_of(
    st.tuples(st.just("ask"), st.floats(1e-6, 0.02)),
    st.tuples(st.just("choose"), st.floats(1e-3, 0.3)),
    st.tuples(st.sampled_from(["end", "die", "open"]), st.none()),
    st.tuples(st.just("cut"), st.integers(1, 100)),
)


@settings(max_examples=60)
@given(st.lists(STEPS, max_size=25))
@example([("ask", 0.01), ("cut", 5), ("ask", 0.01), ("end", None), ("ask", 0.015)])
def test_the_file_says_what_was_taken_after_any_history(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("history") / "small.ledger"
    budget, part = Budget(1.5, 1e-9), Budget(0.5, 1e-9)
    create_ledger(path, budget)
    taken, release = Fraction(0), None
    for kind, amount in steps:
        if kind in {"ask", "choose"}:
            one = event(amount) if kind == "ask" else Exponential(amount)
            try:
                release = release or opened(path, part)
            except BudgetSpent:
                assert taken + part.rho > budget.rho
                continue
            try:
                release.intend(one, REQUEST)
                taken += cost(one, budget.order)
            except BudgetSpent:
                assert taken + cost(one, budget.order) > budget.rho
        elif kind == "open" and taken + part.rho <= budget.rho:
            release = release or opened(path, part)
        elif release is not None and kind == "end":
            release = release.end()
        elif release is not None and kind in {"die", "cut"}:
            release = release.close()
        if kind == "cut" and release is None:
            # As a process that dies while it writes leaves it.
            with path.open("ab") as file:
                file.write(b'{"before":"' + read_ledger(path).head[:amount].encode())
        assert read_ledger(path).spent == taken <= budget.rho


# --- files that are bound to a table --------------------------------------------------------------

LABEL = "patients-2026"


@pytest.fixture
def bound(tmp_path):
    path = tmp_path / "bound.ledger"
    create_ledger(path, TABLE, table_id=LABEL)
    return path


def test_a_bound_ledger_is_spent_by_releases_that_name_its_table_and_by_no_others(bound):
    before = bound.read_bytes()
    for label, message in (
        ("clients-2026", "bound to the table 'patients-2026', and this release names 'clients-2"),
        (None, "add --table-id patients-2026"),
        ("", "this release names ''"),
        ("Patients-2026", "correct --table-id"),
    ):
        with pytest.raises(PrivacyRefused, match=message):
            open_release(bound, ONE, UNIT, table_id=label, wait_seconds=0.0)
    assert bound.read_bytes() == before
    release = open_release(bound, ONE, UNIT, table_id=LABEL, wait_seconds=0.0)
    release.intend(event(0.001), REQUEST)
    release.end()
    record = read_ledger(bound)
    assert record.table_id == LABEL
    assert [one.ended for one in record.releases] == [True]


def test_a_ledger_that_is_bound_to_no_table_does_not_pretend_to_check_a_label(path):
    before = path.read_bytes()
    with pytest.raises(BadInput, match="not bound to a table") as caught:
        open_release(path, ONE, UNIT, table_id=LABEL, wait_seconds=0.0)
    assert not isinstance(caught.value, PrivacyRefused)
    assert path.read_bytes() == before
    assert read_ledger(path).table_id is None


@pytest.mark.parametrize("label", ["", " a", "a ", "a\nb", "\x1b[2J", "a" * 201, 7, "\u202ea"])
def test_labels_that_cannot_be_read_by_eye_are_refused(tmp_path, label):
    with pytest.raises(BadInput, match="Choose 1 to 200 printable characters"):
        create_ledger(tmp_path / "odd.ledger", TABLE, table_id=label)
    assert not (tmp_path / "odd.ledger").exists()


def test_the_label_cannot_be_changed_or_taken_away_unseen(bound):
    release = open_release(bound, ONE, UNIT, table_id=LABEL)
    release.end()
    whole = bound.read_bytes()
    first, *others = whole.splitlines(keepends=True)
    edits = {
        "other": first.replace(b"patients-2026", b"patients-2027"),
        "none": first.replace(b',"table_id":"patients-2026"', b""),
        "old format": first.replace(b"ledger 2", b"ledger 1"),
    }
    for edited in edits.values():
        assert edited != first
        bound.write_bytes(edited + b"".join(others))
        with pytest.raises(CheckFailed, match="line 1 is not what was written"):
            read_ledger(bound)
    # Hashed again, each is found by its format or by the next line.
    for change in ({"table_id": "other"}, {"format": "understudy ledger 1"}, {"table_id": 7}):
        entry = {**json.loads(first), **change}
        del entry["hash"]
        entry["hash"] = sha256(_spelled(entry)).hexdigest()
        bound.write_bytes(_spelled(entry) + b"\n" + b"".join(others))
        with pytest.raises(CheckFailed, match="was changed"):
            read_ledger(bound)


def _spelled(entry):
    return json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()


def test_a_file_of_version_0_1_keeps_its_bytes_and_its_meaning(path):
    entry = json.loads(lines_of(path)[0])
    assert entry["format"] == "understudy ledger 1"
    assert {*entry} == {
        *("before", "delta", "epsilon", "format", "hash"),
        *("kind", "line", "order", "thresholds", "time"),
    }


def test_a_ledger_that_was_replaced_by_that_of_another_table_is_not_spent(bound, tmp_path):
    other = tmp_path / "other.ledger"
    create_ledger(other, TABLE, table_id="another")
    holder = open_release(bound, ONE, UNIT, table_id=LABEL)
    failed = []

    def wait():
        try:
            open_release(bound, ONE, UNIT, table_id=LABEL, wait_seconds=20.0)
        except PrivacyRefused as error:
            failed.append(str(error))

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.3)
    other.replace(bound)
    holder.close()
    waiting.join(30)
    assert len(failed) == 1
    assert "bound to the table 'another'" in failed[0]
    assert read_ledger(bound).releases == []


def test_no_ledger_holds_more_sampled_training_than_can_be_verified(path, monkeypatch):
    runs = [SampledGaussian(0.01, 4.0 + k, Fraction(1), 10) for k in range(4)]
    points = [integral_points(run, TABLE.order) for run in runs]
    monkeypatch.setattr(ledger_file, "MOST_SAMPLED_POINTS", sum(points[:3]) + 1)
    release = opened(path)
    for run in [*runs[:3], runs[0]]:  # the same run again takes no more work
        release.intend(run, REQUEST)
    before = path.read_bytes()
    with pytest.raises(BadInput, match="could not be verified with another one"):
        release.intend(runs[3], REQUEST)
    assert path.read_bytes() == before
    release.end()
    assert read_ledger(path).points == pytest.approx(sum(points[:3]))
    monkeypatch.setattr(ledger_file, "MOST_SAMPLED_POINTS", sum(points[:3]) - 1)
    with pytest.raises(CheckFailed, match="too large to verify"):
        read_ledger(path)
