"""One total for a table across releases: an append-only file whose lines are chained by hashes.

A line is written and synced before the answer it pays for is given. The file is locked while a
release is made, so releases on one table queue up; a process that dies leaves its lines, and with
them its debt, and the lock is gone with it. A line that was cut off while it was written paid for
nothing: its answer was never given.
"""

import contextlib
import datetime as dt
import fcntl
import json
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from shlex import quote
from typing import Any

from understudy.errors import BadInput, BudgetSpent, CheckFailed, PrivacyRefused
from understudy.privacy.accountant import (
    cost,
    delta,
    integral_points,
    total_cost,
    total_delta,
)
from understudy.privacy.budget import Budget, number
from understudy.privacy.disk import opened, sync_folder
from understudy.privacy.events import Event, Reveal, event_from_json, event_to_json
from understudy.privacy.limits import MOST_SAMPLED_POINTS
from understudy.privacy.spelling import DEFECTS, digest, spelled

FORMAT = "understudy ledger 1"
BOUND_FORMAT = "understudy ledger 2"
"""Of a file that is bound to a table: version 0.1.0 would not check the label, and refuses it."""
TABLE_ID = "table_id"
"""What ledger files and certificates call the label."""
_LONGEST_ID = 200
_FIRST = "0" * 64
_POLL_SECONDS = 0.05


@dataclass
class ReleaseRecord:
    """What one release spent."""

    name: str
    began: str
    epsilon: float
    delta: float
    unit: str
    events: list[tuple[Event, Mapping[str, Any]]] = field(default_factory=list)
    ended: bool = False
    heads: set[str] = field(default_factory=set)
    """The hashes of its lines."""


@dataclass
class LedgerRecord:
    """What a ledger file says."""

    budget: Budget
    made: str
    releases: list[ReleaseRecord]
    lines: int
    head: str
    heads: frozenset[str]
    """The hashes of all lines; each certificate repeats one of them."""
    size: int
    """How many bytes the lines take; what follows was cut off while it was written."""
    table_id: str | None = None
    """The owner's label of the table that the file is bound to; None if it is bound to none."""
    lacks_end: bool = False
    """Whether the last line lacks nothing but its end: it counts, and the next release ends it."""

    def release_of(self, head: str | None) -> ReleaseRecord | None:
        """Return the release that the line of this hash belongs to; None for the first line."""
        return next((release for release in self.releases if head in release.heads), None)

    @property
    def unit(self) -> str | None:
        """The unit that all releases share."""
        return next((release.unit for release in self.releases if release.events), None)

    @property
    def spent(self) -> Fraction | float:
        """What all releases spent together."""
        return total_cost(self.events, self.budget.order)

    @property
    def rest_delta(self) -> Fraction:
        """What is left of δ for values told by a threshold."""
        return Fraction(self.budget.thresholds) - total_delta(self.events)

    @property
    def points(self) -> float:
        """How many points of integrals it takes to recompute what was spent."""
        return _points(self.events, self.budget.order)

    @property
    def events(self) -> list[Event]:
        """The events of all releases."""
        return [event for release in self.releases for event, _ in release.events]

    @property
    def rest(self) -> Fraction:
        """What is left."""
        spent = self.spent
        return (
            max(Fraction(0), self.budget.rho - spent)
            if isinstance(spent, Fraction)
            else Fraction(0)
        )


def check_table_id(table_id: str) -> None:
    """Refuse a label of a table that cannot be told apart from another one by eye."""
    plain = isinstance(table_id, str) and table_id.isprintable() and table_id == table_id.strip()
    if not plain or not 1 <= len(table_id) <= _LONGEST_ID:
        msg = (
            f"The table ID {table_id!r} cannot be used. Choose 1 to {_LONGEST_ID} printable "
            "characters without spaces at either end, such as patients-2026."
        )
        raise BadInput(msg)


def create_ledger(path: Path, budget: Budget, *, table_id: str | None = None) -> None:
    """Make a ledger file that holds nothing but a budget.

    With `table_id`, the file is bound to the table of that label: only releases that name the
    same label may spend from it. The label is public, and cannot be changed later.
    """
    if table_id is not None:
        check_table_id(table_id)
    line = _line(
        0,
        _FIRST,
        {
            "kind": "budget",
            "format": FORMAT if table_id is None else BOUND_FORMAT,
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "order": budget.order,
            "thresholds": budget.thresholds,
            **({} if table_id is None else {"table_id": table_id}),
        },
    )
    # Written aside and linked: the file is there whole, or not at all, and never overwritten.
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with opened(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as handle:
            _append(handle, line)
        os.link(aside, path)
        sync_folder(path.parent)
    except FileExistsError:
        msg = f"{path} is there already, and a ledger is never overwritten. Name another file."
        raise BadInput(msg) from None
    except OSError as error:
        msg = f"{path} cannot be written: {error.strerror}."
        raise BadInput(msg) from None
    finally:
        aside.unlink(missing_ok=True)


def read_ledger(path: Path) -> LedgerRecord:
    """What a ledger file says; `CheckFailed` where it is not as it was written."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        msg = (
            f"There is no ledger {path}. Make one first, with the total for all releases of the "
            f"table: understudy budget {quote(str(path))} --create --epsilon 4 --delta 1e-8"
        )
        raise BadInput(msg) from None
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}."
        raise BadInput(msg) from None
    return _parsed(content, path)


class OpenRelease:
    """A release being made: holds the lock, and writes each request down before its answer."""

    def __init__(self, path: Path, handle: int, record: LedgerRecord, name: str) -> None:
        self.name = name
        self._path = path
        self._handle = handle
        self._budget = record.budget
        self._rest: Fraction = record.rest
        self._rest_delta: Fraction = record.rest_delta
        self._different = {*record.events}
        self._lines = record.lines
        self._head = record.head
        self._revealed = not isinstance(record.spent, Fraction)
        self._process = os.getpid()

    @property
    def head(self) -> str:
        """The hash of the last line, which the certificate repeats."""
        return self._head

    def check(self, events: Sequence[Event]) -> None:
        """Refuse requests that cost more than the file has left."""
        total = total_cost(events, self._budget.order)
        if isinstance(total, Fraction) and total > self._rest and not self._revealed:
            msg = (
                f"The ledger {self._path} has rho {float(self._rest):.4g} left, and this would "
                f"cost {float(total):.4g}. Ask for less: the total for the table stays as it is."
            )
            raise BudgetSpent(msg)
        if total_delta(events) > self._rest_delta:
            msg = (
                f"The ledger {self._path} has delta {float(self._rest_delta):.3g} left for values "
                "told by a threshold, and this needs more. Declare the values in a schema."
            )
            raise BudgetSpent(msg)
        if _points([*self._different, *events], self._budget.order) > MOST_SAMPLED_POINTS:
            msg = (
                f"The ledger {self._path} holds so many different runs of sampled training that "
                "it could not be verified with another one. Train on all rows instead."
            )
            raise BadInput(msg)

    def intend(self, event: Event, request: Mapping[str, Any]) -> None:
        """Write a request down, synced, before its answer is given."""
        self.check([event])
        amount = cost(event, self._budget.order)
        self._write(
            {
                "kind": "intent",
                "release": self.name,
                "event": event_to_json(event),
                "request": request,
                "cost": str(amount),
            }
        )
        if isinstance(event, Reveal):
            self._revealed = True
        self._rest_delta -= delta(event)
        self._different.add(event)
        self._rest = (
            max(Fraction(0), self._rest - amount) if isinstance(amount, Fraction) else Fraction(0)
        )

    def end(self) -> None:
        """Write down that the release is complete, and let the next one begin."""
        self._write({"kind": "end", "release": self.name})
        self.close()

    def close(self) -> None:
        """Let the next release begin."""
        handle, self._handle = self._handle, -1
        if handle >= 0 and os.getpid() == self._process:
            with contextlib.suppress(OSError):
                os.close(handle)  # and with it the lock

    def __del__(self) -> None:
        self.close()

    def begin(self, budget: Budget, unit: str) -> None:
        """Write down that a release begins."""
        self._write(
            {
                "kind": "begin",
                "release": self.name,
                "epsilon": budget.epsilon,
                "delta": budget.delta,
                "unit": unit,
            }
        )

    def _write(self, content: dict[str, Any]) -> None:
        if self._handle < 0 or os.getpid() != self._process:
            msg = "This release is closed, or belongs to another process. Begin a new one."
            raise PrivacyRefused(msg)
        line = _line(self._lines, self._head, content)
        try:
            _append(self._handle, line)
        except OSError as error:
            self.close()
            msg = f"{self._path} cannot be written: {error.strerror}. Nothing was answered."
            raise BadInput(msg) from None
        except BaseException:
            self.close()  # half a line may stand there, and nothing may follow it
            raise
        self._lines += 1
        self._head = json.loads(line)["hash"]


def open_release(
    path: Path,
    budget: Budget,
    unit: str,
    *,
    table_id: str | None = None,
    wait_seconds: float = 600.0,
) -> OpenRelease:
    """Begin a release on a ledger file; waits while another release is being made."""
    # A missing, damaged or wrong file is told before anyone waits.
    check_table(read_ledger(path), table_id, path)
    handle = _locked(path, wait_seconds)
    try:
        record = _parsed(_content(handle), path)
        check_table(record, table_id, path)
        os.ftruncate(handle, record.size)  # a line that was cut off paid for nothing
        if record.lacks_end:
            _append(handle, b"\n")
        _check_room(record, budget, unit, path)
        release = OpenRelease(path, handle, record, uuid.uuid4().hex)
    except BaseException:
        os.close(handle)
        raise
    release.begin(budget, unit)
    return release


def check_table(record: LedgerRecord, table_id: str | None, path: Path) -> None:
    """Refuse a release unless it names the table that the ledger file is bound to.

    Raises:
        PrivacyRefused: The file is bound to another table, or the release names none.
        BadInput: The file is bound to no table, so it cannot tell whether the label is right.
    """
    bound = record.table_id
    if bound == table_id:
        return
    if bound is None:
        msg = (
            f"The ledger {path} is not bound to a table, so it cannot check the table ID "
            f"{table_id!r}. Leave out --table-id, or create a bound ledger: understudy budget FILE "
            "--create --epsilon 4 --delta 1e-8 --table-id LABEL."
        )
        raise BadInput(msg)
    if table_id is None:
        msg = (
            f"The ledger {path} is bound to the table {bound!r}. If this release is made from that "
            f"table, add --table-id {quote(bound)} (in Python table_id={bound!r})."
        )
        raise PrivacyRefused(msg)
    msg = (
        f"The ledger {path} is bound to the table {bound!r}, and this release names {table_id!r}. "
        f"Use the ledger of {table_id!r}, or correct --table-id."
    )
    raise PrivacyRefused(msg)


def _check_room(record: LedgerRecord, budget: Budget, unit: str, path: Path) -> None:
    """Refuse a release that does not fit into what the file has left."""
    if record.unit not in {None, unit}:
        msg = (
            f"The ledger {path} protects {record.unit}; a release for {unit} does not add up with "
            "it. Use the same unit, or another ledger."
        )
        raise PrivacyRefused(msg)
    whole = record.budget
    if budget.rho > record.rest:
        msg = (
            f"The ledger {path} has {float(record.rest / whole.rho):.1%} of its total left "
            f"(epsilon {whole.epsilon:.4g} at delta {whole.delta:.4g}), and a release with epsilon "
            f"{budget.epsilon:.4g} needs {float(budget.rho / whole.rho):.1%} of it. Ask for a "
            f"smaller epsilon; `understudy budget {path}` shows what was spent."
        )
        raise BudgetSpent(msg)
    if budget.thresholds > record.rest_delta:
        msg = (
            f"The ledger {path} has delta {float(record.rest_delta):.3g} left for facts that are "
            f"bought, and this release may use {budget.thresholds:.3g}. Declare all facts in a "
            "schema, or ask for a smaller delta."
        )
        raise BudgetSpent(msg)


def _parsed(content: bytes, path: Path) -> LedgerRecord:
    """The file's lines, each checked against the one before it."""
    *lines, rest = content.split(b"\n")
    heads = [_FIRST]
    budget, made, table_id = None, "", None
    releases: dict[str, ReleaseRecord] = {}
    for place, line in enumerate([*lines, rest] if rest else lines):
        entry = _checked(line, place, heads[-1])
        # Any defect is the same news: a line is not what was written.
        understood = False
        with contextlib.suppress(*DEFECTS):
            if entry is not None and place == 0:
                table_id = _table_id(entry)
                budget = Budget(
                    entry["epsilon"], entry["delta"], entry["order"], entry["thresholds"]
                )
                made, understood = _text(entry["time"]), True
            elif entry is not None and place > 0:
                _note(entry, releases)
                understood = True
        if entry is not None and understood:
            heads.append(entry["hash"])
        elif place < len(lines) or not _was_cut_off(rest):
            raise _damaged(path, place)
    if budget is None:
        raise _damaged(path, 0)
    lacks_end = len(heads) - 1 > len(lines)
    record = LedgerRecord(
        budget=budget,
        made=made,
        releases=list(releases.values()),
        lines=len(heads) - 1,
        head=heads[-1],
        heads=frozenset(heads[1:]),
        size=len(content) - (0 if lacks_end else len(rest)),
        table_id=table_id,
        lacks_end=lacks_end,
    )
    if record.points > MOST_SAMPLED_POINTS:
        msg = (
            f"The ledger {path} is too large to verify: its different runs of sampled training "
            f"take {record.points:,.0f} points of integrals, and at most {MOST_SAMPLED_POINTS:,} "
            "are computed."
        )
        raise CheckFailed(msg)
    return record


def _checked(line: bytes, place: int, before: str) -> dict[str, Any] | None:
    """What a line says, if every byte of it is as it was written after the line before it."""
    with contextlib.suppress(*DEFECTS):
        entry: dict[str, Any] = json.loads(line)
        facts = {k: v for k, v in entry.items() if k not in {"line", "before", "hash"}}
        if _line(place, before, facts, entry["time"]) == line + b"\n":
            return entry
    return None


def _table_id(entry: Mapping[str, Any]) -> str | None:
    """Return the label in the first line of a ledger file, by the format of the file."""
    if entry["format"] == FORMAT and "table_id" not in entry:
        return None
    if entry["format"] != BOUND_FORMAT:
        raise ValueError(entry["format"])
    check_table_id(entry["table_id"])
    return str(entry["table_id"])


def _note(entry: dict[str, Any], releases: dict[str, ReleaseRecord]) -> None:
    name, when = _text(entry["release"]), _text(entry["time"])
    match entry["kind"]:
        case "begin" if name not in releases:
            epsilon, delta_ = number(entry["epsilon"], "epsilon"), number(entry["delta"], "delta")
            releases[name] = ReleaseRecord(name, when, epsilon, delta_, _text(entry["unit"]))
        case "intent":
            releases[name].events.append((event_from_json(entry["event"]), entry["request"]))
        case "end":
            releases[name].ended = True
        case _:
            msg = "A line of an unknown kind."
            raise ValueError(msg)
    releases[name].heads.add(_text(entry["hash"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _line(place: int, before: str, facts: Mapping[str, Any], when: str | None = None) -> bytes:
    """A line of the file in its one spelling, with the hash of everything else in it."""
    when = when or dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    entry = {**facts, "line": place, "before": before, "time": when}
    entry["hash"] = digest(spelled(entry))
    return spelled(entry) + b"\n"


def _was_cut_off(text: bytes) -> bool:
    """Whether a last line is the beginning of one, and no more."""
    with contextlib.suppress(ValueError, RecursionError):
        json.JSONDecoder().raw_decode(text.decode("utf-8", "replace"))
        return False
    start = b'{"before":"'
    return text[: len(start)] == start[: len(text)]


def _points(events: Sequence[Event], order: float) -> float:
    return sum(integral_points(event, order) for event in {*events})


def _damaged(path: Path, place: int) -> CheckFailed:
    return CheckFailed(
        f"The ledger {path} was changed: line {place + 1} is not what was written. Nothing is "
        "spent from a ledger that cannot be trusted. Put back a copy that still holds the "
        "ledger_head of the last certificate."
    )


def _append(handle: int, line: bytes) -> None:
    """Write a line at once and wait until it is on the disk."""
    while line:
        line = line[os.write(handle, line) :]
    os.fsync(handle)


def _content(handle: int) -> bytes:
    content = b""
    while part := os.pread(handle, 2**24, len(content)):
        content += part
    return content


def _locked(path: Path, wait_seconds: float) -> int:
    """The file, open and locked; waits while another release holds it."""
    until = time.monotonic() + wait_seconds
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            msg = f"{path} cannot be written: {error.strerror}."
            raise BadInput(msg) from None
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # While waiting, another file may have been put in its place.
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)
        if time.monotonic() > until:
            msg = (
                f"Another release is being made from the ledger {path}, since more than "
                f"{wait_seconds:.0f} seconds. Wait for it, or end it, and try again."
            )
            raise BadInput(msg)
        time.sleep(_POLL_SECONDS)
