"""What a ledger file promises when processes die, disks fill up and releases race each other.

After any crash the file can be read, it says at least what was truly spent, and the next release
can begin; a release folder is there whole or not at all. The processes that die are forks of
`helpers/crash_run.py`, killed before, after and in the middle of their system calls.
"""

import errno
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from helpers.crash_run import RELEASE, SCHEMA, TABLE
from understudy.column import Column, Source
from understudy.errors import BadInput, BudgetSpent, UnderstudyError
from understudy.privacy.account import Account
from understudy.privacy.accountant import cost, gaussian_scale, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.events import Exponential, Gaussian
from understudy.privacy.folder import publish, verify
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger_file import create_ledger, open_release, read_ledger
from understudy.privacy.unit import Record
from understudy.schema import Schema

SCRIPT = Path(__file__).parents[1] / "helpers" / "crash_run.py"
WHOLE = Budget(4.0, 1e-8)
EARLIER = Exponential(0.05)
POINTS = 100
KILLED = -signal.SIGKILL


class Processes:
    """The program that forks a child for each order."""

    def __init__(self, folder):
        self._program = subprocess.Popen(
            [sys.executable, SCRIPT, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        assert json.loads(self._program.stdout.readline()) == {"ready": True}

    def __call__(self, do, ledger, folders, logs, **order):
        order |= {"do": do, "ledger": str(ledger), "logs": list(map(str, logs))}
        order["folders"] = list(map(str, folders))
        self._program.stdin.write(json.dumps(order) + "\n")
        self._program.stdin.flush()
        return json.loads(self._program.stdout.readline())["codes"]

    def close(self):
        self._program.stdin.close()
        assert self._program.wait(30) == 0
        self._program.stdout.close()


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    processes = Processes(tmp_path_factory.mktemp("warm"))
    yield processes
    processes.close()


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A ledger with a complete release, and half a line of a process that died."""
    path = tmp_path_factory.mktemp("history") / "table.ledger"
    create_ledger(path, WHOLE)
    release = open_release(path, RELEASE, str(Record()))
    release.intend(EARLIER, {})
    release.end()
    return path.read_bytes() + b'{"before":"' + release.head[:20].encode()


class Notes:
    """What processes noted in their logs."""

    def __init__(self, *paths):
        lines = [path.read_text().splitlines() for path in paths if path.exists()]
        self.all = [json.loads(line) for part in lines for line in part]

    def of(self, name):
        return [note[name] for note in self.all if name in note]

    @property
    def asked(self):
        return sum(map(Fraction, self.of("asked")), Fraction(0))

    @property
    def received(self):
        """What was truly spent: the cost of the noise in the answers that came back."""
        return sum(map(Fraction, self.of("received")), Fraction(0))

    @property
    def noise(self):
        return [noise for noise in self.of("noise") if noise]

    @property
    def synced(self):
        """How much of each file a power failure would leave."""
        return {note["synced"]: note["size"] for note in self.all if "synced" in note}

    @property
    def calls(self):
        return [(note["call"], note["size"]) for note in self.all if "call" in note]

    def outcome(self, name="all"):
        (error,) = [note["error"] for note in self.all if note.get("outcome") == name]
        return error


class Scene:
    """A folder with a ledger, in which releases are made and die."""

    def __init__(self, processes, folder, content):
        folder.mkdir(parents=True)
        self.processes = processes
        self.folder = folder
        self.ledger = folder / "table.ledger"
        self.ledger.write_bytes(content)
        self.before = read_ledger(self.ledger).spent
        self.logs = []

    def release(self, name, death=None, *, watched=True):
        """Make a release, or die making it."""
        log = self.folder.with_name(f"{self.folder.name} {len(self.logs)}.log")
        self.logs.append(log)
        order = {"watched": str(self.folder), "death": death} if watched else {}
        (code,) = self.processes("release", self.ledger, [self.folder / name], [log], **order)
        assert code == (0 if death is None else KILLED), (code, death, Notes(log).all[-1:])
        return Notes(log)

    def check(self, name, death):
        """What must hold after every crash."""
        last, notes = Notes(self.logs[-1]), Notes(*self.logs)
        record = read_ledger(self.ledger)
        spent = record.spent - self.before
        assert notes.received <= spent <= notes.asked, death
        self._check_power_failure(last, notes.received, death)
        published = self.folder / name
        assert published.exists() or not last.of("published"), death
        if published.exists():
            assert all(check.passed for check in verify(published)), death
            for file in published.iterdir():
                # Synced before the folder got its name.
                assert last.synced[file.name] == file.stat().st_size, death
        # What else lies around has no name that anybody would take for a release.
        seen = {path.name for path in self.folder.iterdir() if not path.name.startswith(".")}
        assert seen <= {self.ledger.name, *(f"release {k}" for k in range(20))}

    def _check_power_failure(self, last, received, death):
        """Of what was written after the last sync, a power failure leaves any part or none."""
        size = last.synced.get(self.ledger.name)
        if size is None:
            return
        content = self.ledger.read_bytes()
        copy = self.folder.with_name("after a power failure")
        for left in {size, (size + len(content)) // 2, max(size, len(content) - 2)}:
            copy.write_bytes(content[:left])
            assert read_ledger(copy).spent - self.before >= received, (death, left)
            copy.unlink()

    def check_next(self, death):
        """The next release can begin: no lock is left, and no half a line."""
        before = read_ledger(self.ledger)
        release = open_release(self.ledger, RELEASE, str(Record()), wait_seconds=0)
        release.close()
        record = read_ledger(self.ledger)
        assert self.ledger.read_bytes().endswith(b"\n"), death
        assert record.size == self.ledger.stat().st_size, death
        assert record.spent == before.spent, death
        assert len(record.releases) == len(before.releases) + 1, death


@pytest.fixture(scope="module")
def calls(processes, history, tmp_path_factory):
    """The system calls of a release that nobody kills, with how much each write writes."""
    scene = Scene(processes, tmp_path_factory.mktemp("calls") / "whole", history)
    notes = scene.release("release 0")
    assert notes.outcome() is None
    scene.check("release 0", None)
    # A release passes through all of these; or else the watch misses what it is there for.
    names = [name for name, _ in notes.calls]
    for name in ("open", "flock", "ftruncate", "write", "fsync", "mkdir", "rename", "close"):
        assert name in names
    assert names.count("fsync") >= names.count("write") >= 8
    return notes.calls


def deaths(calls):
    """Before and after each call, and in the middle of each write."""
    edges = [{"call": k, "when": w} for k in range(len(calls)) for w in ("before", "after")]
    # All bytes but one, half of them, one, and some shares more.
    shares = [Fraction(n, 12) for n in (12, 6, 0, 11, 4, 9, 1)]
    parts = [
        {"call": place, "when": "part", "size": min(size - 1, max(1, int(share * size)))}
        for share in shares
        for place, (name, size) in enumerate(calls)
        if name == "write" and size > 1
    ]
    return edges + parts


def test_after_a_crash_at_any_system_call_nothing_is_lost_and_nothing_half_done(
    processes, history, calls, tmp_path
):
    points = deaths(calls)[:POINTS]
    assert len(points) == POINTS
    made_again = set()
    for place, death in enumerate(points):
        scene = Scene(processes, tmp_path / f"point {place}", history)
        notes = scene.release("release 0", death)
        scene.check("release 0", death)
        scene.check_next(death)
        if place % 7:
            continue
        # Made again, the release is charged again and gets noise of its own.
        first = scene.folder / "release 0"
        published = {p.name: p.read_bytes() for p in first.iterdir()} if first.exists() else None
        spent = read_ledger(scene.ledger).spent
        again = scene.release("release 0")
        made_again.add(published is None)
        if published is None:
            assert again.outcome() is None, death
        else:
            # What was published stays as it is: there are no two releases of one name.
            assert again.outcome() == "BadInput", death
            assert {p.name: p.read_bytes() for p in first.iterdir()} == published, death
        assert len(again.noise) == 2
        assert not set(again.noise) & set(notes.noise), death
        assert all(check.passed for check in verify(first)), death
        more = read_ledger(scene.ledger).spent - spent
        assert again.received <= more <= again.asked, death
    assert made_again == {True, False}


@pytest.mark.slow
def test_a_thousand_crashes_of_releases_that_follow_each_other(processes, history, calls, tmp_path):
    rng = np.random.default_rng(20240611)
    for turn in range(100):
        scene = Scene(processes, tmp_path / f"turn {turn}", history)
        for k in range(10):
            place = int(rng.integers(len(calls)))
            name, size = calls[place]
            ways = ["before", "part", "after"] if name == "write" else ["before", "after"]
            # Lengths differ a little between runs; past its end, a part is all of a write.
            part = int(rng.integers(1, size)) if size else None
            death = {"call": place, "when": str(rng.choice(ways)), "size": part}
            scene.release(f"release {k}", death)
            scene.check(f"release {k}", death)
        notes = scene.release("release 10")
        assert notes.outcome() is None
        scene.check("release 10", None)
        noise = Notes(*scene.logs).noise
        assert len(set(noise)) == len(noise)


def test_a_crash_while_a_ledger_is_made_leaves_a_whole_one_or_none(processes, tmp_path):
    log = tmp_path / "whole.log"
    (tmp_path / "whole").mkdir()
    path = tmp_path / "whole" / "table.ledger"
    assert processes("create", path, [""], [log], watched=str(path.parent)) == [0]
    calls = Notes(log).calls
    assert {"open", "write", "fsync", "link", "unlink"} <= {name for name, _ in calls}
    seen = set()
    for place, death in enumerate(deaths(calls)):
        folder = tmp_path / f"point {place}"
        folder.mkdir()
        path, log = folder / "table.ledger", tmp_path / f"{place}.log"
        order = {"watched": str(folder), "death": death}
        assert processes("create", path, [""], [log], **order) == [KILLED]
        seen.add(path.exists())
        if path.exists():
            with pytest.raises(BadInput, match="never overwritten"):
                create_ledger(path, WHOLE)
        else:
            create_ledger(path, WHOLE)
        assert read_ledger(path).rest == WHOLE.rho
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        open_release(path, RELEASE, str(Record()), wait_seconds=0).end()
        others = {other.name for other in folder.iterdir()} - {path.name}
        assert all(name.startswith(".") for name in others)
    assert seen == {True, False}


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "table.ledger"
    create_ledger(path, WHOLE)
    return path


def full_disk(monkeypatch, room):
    """From now on only so many bytes can be written, and then none."""
    real, left = os.write, [room]

    def write(handle, data):
        if left[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = real(handle, bytes(data)[: left[0]])
        left[0] -= written
        return written

    monkeypatch.setattr(os, "write", write)


def failing_sync(monkeypatch):
    def fsync(_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fsync)


def interrupted_sync(monkeypatch):
    def fsync(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", fsync)


TROUBLES = {
    "no byte fits": lambda patch: full_disk(patch, 0),
    "one byte fits": lambda patch: full_disk(patch, 1),
    "some bytes fit": lambda patch: full_disk(patch, 200),
    "the disk fails": failing_sync,
    "somebody presses Ctrl-C": interrupted_sync,
}


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_a_request_that_cannot_be_written_down_is_not_answered_and_nothing_is_lost(ledger, trouble):
    with Ledger.open(TABLE, SCHEMA, RELEASE, file=ledger) as opened:
        opened.measure([("age",)], rho=opened.rest() / 8)
        answered = [entry.event for entry in opened.entries]
        with pytest.MonkeyPatch.context() as patch:
            trouble(patch)
            with pytest.raises((OSError, UnderstudyError, KeyboardInterrupt)):
                opened.measure([("sex",)], rho=opened.rest() / 8)
        assert [entry.event for entry in opened.entries] == answered
        # The trouble is over. Whether this release may go on or not, what it answers is paid.
        try:
            opened.measure([("age", "sex")], rho=opened.rest() / 8)
        except (OSError, UnderstudyError):
            pass
        else:
            answered = [entry.event for entry in opened.entries]
    assert read_ledger(ledger).spent >= total_cost(answered, WHOLE.order)
    with Ledger.open(TABLE, SCHEMA, RELEASE, file=ledger) as opened:
        opened.measure([("age",)], rho=opened.rest() / 8)
        answered += [entry.event for entry in opened.entries]
        opened.end()
    assert read_ledger(ledger).spent >= total_cost(answered, WHOLE.order)


@pytest.mark.parametrize("room", [0, 1, 100])
def test_a_limit_of_the_system_is_a_full_disk_too(ledger, room):
    # Here the system itself stops the write in the middle.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Ledger.open(TABLE, SCHEMA, RELEASE, file=ledger) as opened:
        size = ledger.stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, hard))
        try:
            with pytest.raises((OSError, UnderstudyError)):
                opened.measure([("sex",)], rho=opened.rest() / 8)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert opened.entries == ()
    assert size <= ledger.stat().st_size <= size + room
    assert read_ledger(ledger).spent == 0
    open_release(ledger, RELEASE, str(Record()), wait_seconds=0).end()
    assert read_ledger(ledger).spent == 0


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_a_release_that_cannot_begin_lets_the_next_one_begin(ledger, trouble):
    with pytest.MonkeyPatch.context() as patch:
        trouble(patch)
        with pytest.raises((OSError, UnderstudyError, KeyboardInterrupt)):
            Ledger.open(TABLE, SCHEMA, RELEASE, file=ledger)
    open_release(ledger, RELEASE, str(Record()), wait_seconds=0).end()
    assert read_ledger(ledger).spent == 0


def test_a_ledger_that_fails_to_open_after_it_began_leaves_no_lock(ledger, monkeypatch):
    age = Column(**{**vars(SCHEMA.columns[0]), "source": Source.DATA})
    real, writes = os.write, []

    def write(handle, data):
        # The begin fits; the reveal, which such a schema is, does not.
        writes.append(data)
        if len(writes) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        with pytest.raises((OSError, UnderstudyError)):
            Ledger.open(
                TABLE,
                Schema((age, SCHEMA.columns[1])),
                RELEASE,
                file=ledger,
                allow_non_private=True,
            )
    assert len(writes) == 2
    open_release(ledger, RELEASE, str(Record()), wait_seconds=0).end()


def test_a_release_that_cannot_be_ended_stays_charged_and_published(ledger, tmp_path):
    with Ledger.open(TABLE, SCHEMA, RELEASE, file=ledger) as opened:
        opened.measure([("age",)], rho=opened.rest() / 8)
        publish(tmp_path / "release", {}, opened.close())
        with pytest.MonkeyPatch.context() as patch:
            full_disk(patch, 30)
            with pytest.raises((OSError, UnderstudyError)):
                opened.end()
    assert all(check.passed for check in verify(tmp_path / "release"))
    record = read_ledger(ledger)
    assert [release.ended for release in record.releases] == [False]
    assert record.spent > 0
    open_release(ledger, RELEASE, str(Record()), wait_seconds=0).end()
    assert read_ledger(ledger).spent == record.spent


def test_who_may_only_read_a_folder_spends_nothing_and_is_told(processes, tmp_path):
    folder = tmp_path / "read only"
    folder.mkdir()
    ledger = folder / "table.ledger"
    create_ledger(ledger, WHOLE)
    before = ledger.read_bytes()
    ledger.chmod(0o444)
    folder.chmod(0o555)
    log = tmp_path / "log"
    try:
        assert processes("refused", ledger, [folder], [log]) == [0]
    finally:
        folder.chmod(0o755)
    notes = Notes(log)
    assert notes.of("asked") == []
    assert [notes.outcome(n) for n in ("create", "release", "publish")] == ["BadInput"] * 3
    assert [path.name for path in folder.iterdir()] == [ledger.name]
    assert ledger.read_bytes() == before


def race(processes, folder, budget, racers):
    """Let processes make a release each, at once, from one ledger."""
    folder.mkdir()
    ledger = folder / "table.ledger"
    create_ledger(ledger, budget)
    names = [f"racer {k}" for k in range(racers)]
    folders = [folder / name for name in names]
    logs = [folder / f"{name}.log" for name in names]
    assert processes("release", ledger, folders, logs) == [0] * racers
    outcomes = [Notes(log).outcome() for log in logs]
    winners = [place for place, outcome in enumerate(outcomes) if outcome is None]
    record, notes = read_ledger(ledger), Notes(*logs)
    assert notes.received <= record.spent <= notes.asked
    assert record.spent <= budget.rho
    assert [release.ended for release in record.releases] == [True] * len(winners)
    for place, published in enumerate(folders):
        assert published.exists() == (place in winners)
        if published.exists():
            assert all(check.passed for check in verify(published))
    # Forks of one process draw noise of their own.
    assert len(set(notes.noise)) == len(notes.noise) == 2 * len(winners)
    return outcomes


def test_of_two_processes_that_race_for_the_last_budget_exactly_one_wins(processes, tmp_path):
    for turn in range(10):
        outcomes = race(processes, tmp_path / f"race {turn}", RELEASE, 2)
        assert sorted(outcomes, key=str) == ["BudgetSpent", None]


def test_of_four_processes_with_room_for_two_exactly_two_win(processes, tmp_path):
    # A release takes about 0.7 of its budget, and must find all of it at its beginning.
    room = Budget(0.72, 1e-9)
    assert Fraction(17, 10) < room.rho / RELEASE.rho < Fraction(23, 10)
    for turn in range(3):
        outcomes = race(processes, tmp_path / f"race {turn}", room, 4)
        assert sorted(outcomes, key=str) == ["BudgetSpent", "BudgetSpent", None, None]


def test_of_processes_that_race_to_make_a_ledger_exactly_one_wins(processes, tmp_path):
    for turn in range(5):
        logs = [tmp_path / f"{turn} {k}.log" for k in range(6)]
        path = tmp_path / f"{turn}.ledger"
        assert processes("create", path, [""] * 6, logs) == [0] * 6
        outcomes = [Notes(log).outcome() for log in logs]
        assert sorted(outcomes, key=str) == ["BadInput"] * 5 + [None]
        assert read_ledger(path).rest == WHOLE.rho
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def more_than_half(budget):
    return Gaussian(gaussian_scale(Fraction(1), budget.rho * 6 / 10), Fraction(1))


def ask_at_once(account, event, count):
    """The same request from threads that start together; how often it was granted."""
    gate, granted = threading.Barrier(count), []

    def ask():
        gate.wait()
        try:
            account.debit(event, {})
        except BudgetSpent:
            return
        granted.append(event)

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(granted)


@pytest.mark.usefixtures("untraced_threads")
def test_threads_that_share_a_release_cannot_spend_the_same_budget_twice(ledger, monkeypatch):
    # While one thread waits for the disk, others run.
    real = os.fsync

    def slow_sync(handle):
        time.sleep(0.1)
        real(handle)

    release = open_release(ledger, RELEASE, str(Record()))
    account = Account.open(RELEASE, file=release)
    event = more_than_half(RELEASE)
    monkeypatch.setattr(os, "fsync", slow_sync)
    assert ask_at_once(account, event, 3) == 1
    release.end()
    assert read_ledger(ledger).spent == cost(event, WHOLE.order)


@pytest.mark.usefixtures("untraced_threads")
def test_threads_that_share_an_account_cannot_spend_the_same_budget_twice():
    # Without a lock, one round in five goes wrong at this interval.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(200):
            account = Account.open(RELEASE)
            assert ask_at_once(account, more_than_half(RELEASE), 4) == 1
            assert len(account.entries) == 1
    finally:
        sys.setswitchinterval(interval)


def test_a_forked_process_cannot_spend_what_its_parent_holds(processes, ledger, tmp_path):
    log = tmp_path / "log"
    assert processes("shared", ledger, [""], [log]) == [0]
    notes = Notes(log)
    assert 0 < notes.received <= RELEASE.rho
    assert read_ledger(ledger).spent >= notes.received
    assert notes.outcome("parent") is None
