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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy.errors import BadInput, BudgetSpent, CheckFailed, PrivacyRefused
from understudy.privacy.accountant import cost, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.events import Event, Reveal, event_from_json, event_to_json
from understudy.privacy.spelling import digest, spelled

FORMAT = "understudy ledger 1"
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


@dataclass
class LedgerRecord:
    """What a ledger file says."""

    budget: Budget
    made: str
    releases: list[ReleaseRecord]
    lines: int
    head: str
    size: int
    """How many bytes whole lines take; what follows was cut off while it was written."""

    @property
    def unit(self) -> str | None:
        """The unit that all releases share."""
        return self.releases[0].unit if self.releases else None

    @property
    def spent(self) -> Fraction | float:
        """What all releases spent together."""
        events = [event for release in self.releases for event, _ in release.events]
        return total_cost(events, self.budget.order)

    @property
    def rest(self) -> Fraction:
        """What is left."""
        spent = self.spent
        return (
            max(Fraction(0), self.budget.rho - spent)
            if isinstance(spent, Fraction)
            else Fraction(0)
        )


def create_ledger(path: Path, budget: Budget) -> None:
    """Make a ledger file that holds nothing but a budget."""
    line = _line(
        0,
        _FIRST,
        {
            "kind": "budget",
            "format": FORMAT,
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "fixed_order": budget.fixed_order,
        },
    )
    # Written aside and linked: the file is there whole, or not at all, and never overwritten.
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with _opened(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as handle:
            _append(handle, line)
        os.link(aside, path)
        _sync_folder(path.parent)
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
            f"table: understudy budget {path} --create --epsilon 4 --delta 1e-8"
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
        self._lines = record.lines
        self._head = record.head

    @property
    def head(self) -> str:
        """The hash of the last line, which the certificate repeats."""
        return self._head

    def check(self, events: Sequence[Event]) -> None:
        """Refuse requests that cost more than the file has left."""
        total = total_cost(events, self._budget.order)
        if total > self._rest and not any(isinstance(event, Reveal) for event in events):
            msg = (
                f"The ledger {self._path} has rho {float(self._rest):.4g} left, and this would "
                f"cost {float(total):.4g}. Ask for less: the total for the table stays as it is."
            )
            raise BudgetSpent(msg)

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
        self._rest = (
            max(Fraction(0), self._rest - amount) if isinstance(amount, Fraction) else Fraction(0)
        )

    def end(self) -> None:
        """Write down that the release is complete, and let the next one begin."""
        self._write({"kind": "end", "release": self.name})
        self.close()

    def close(self) -> None:
        """Let the next release begin."""
        if self._handle >= 0:
            os.close(self._handle)  # and with it the lock
            self._handle = -1

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
        line = _line(self._lines, self._head, content)
        _append(self._handle, line)
        self._lines += 1
        self._head = json.loads(line)["hash"]


def open_release(
    path: Path, budget: Budget, unit: str, *, wait_seconds: float = 600.0
) -> OpenRelease:
    """Begin a release on a ledger file; waits while another release is being made."""
    read_ledger(path)  # a missing or damaged file is told before anyone waits
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    try:
        _lock(handle, path, wait_seconds)
        record = _parsed(_content(handle), path)
        os.ftruncate(handle, record.size)  # a line that was cut off paid for nothing
        _check_room(record, budget, unit, path)
        release = OpenRelease(path, handle, record, uuid.uuid4().hex)
        release.begin(budget, unit)
    except BaseException:
        os.close(handle)
        raise
    return release


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


def _parsed(content: bytes, path: Path) -> LedgerRecord:
    """The file's lines, each checked against the one before it."""
    *lines, rest = content.split(b"\n")
    if rest and _holds_an_object(rest):
        raise _damaged(path, len(lines))
    head, budget, made = _FIRST, None, ""
    releases: dict[str, ReleaseRecord] = {}
    for place, line in enumerate(lines):
        # Any defect is the same news: a line is not what was written.
        entry = None
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, BadInput):
            entry = json.loads(line)
            facts = {k: v for k, v in entry.items() if k not in {"line", "before", "hash"}}
            if _line(place, head, facts, entry["time"]) != line + b"\n":
                entry = None
            elif place == 0:
                budget = Budget(entry["epsilon"], entry["delta"], entry["fixed_order"])
                made = entry["time"]
                entry = entry if entry["format"] == FORMAT else None
            else:
                _note(entry, releases)
        if entry is None:
            raise _damaged(path, place)
        head = entry["hash"]
    if budget is None:
        raise _damaged(path, 0)
    size = len(content) - len(rest)
    return LedgerRecord(budget, made, list(releases.values()), len(lines), head, size)


def _note(entry: dict[str, Any], releases: dict[str, ReleaseRecord]) -> None:
    name = entry["release"]
    match entry["kind"]:
        case "begin" if name not in releases:
            releases[name] = ReleaseRecord(
                name, entry["time"], entry["epsilon"], entry["delta"], entry["unit"]
            )
        case "intent":
            releases[name].events.append((event_from_json(entry["event"]), entry["request"]))
        case "end":
            releases[name].ended = True
        case _:
            msg = "A line of an unknown kind."
            raise ValueError(msg)


def _line(place: int, before: str, facts: Mapping[str, Any], when: str | None = None) -> bytes:
    """A line of the file in its one spelling, with the hash of everything else in it."""
    when = when or dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    entry = {**facts, "line": place, "before": before, "time": when}
    entry["hash"] = digest(spelled(entry))
    return spelled(entry) + b"\n"


def _holds_an_object(text: bytes) -> bool:
    """Whether a last line without its end is more than a line that was cut off."""
    with contextlib.suppress(ValueError):
        json.JSONDecoder().raw_decode(text.decode("utf-8", "replace"))
        return True
    return text[:2] != b'{"'[: len(text)]


def _damaged(path: Path, place: int) -> CheckFailed:
    return CheckFailed(
        f"The ledger {path} was changed: line {place + 1} is not what was written. Restore the "
        "file from a backup; nothing is spent from a ledger that cannot be trusted."
    )


def _append(handle: int, line: bytes) -> None:
    """Write a line at once and wait until it is on the disk."""
    while line:
        line = line[os.write(handle, line) :]
    os.fsync(handle)


def _content(handle: int) -> bytes:
    return os.pread(handle, os.fstat(handle).st_size, 0)


def _lock(handle: int, path: Path, wait_seconds: float) -> None:
    until = time.monotonic() + wait_seconds
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() > until:
            msg = (
                f"Another release is being made from the ledger {path}, since more than "
                f"{wait_seconds:.0f} seconds. Wait for it, or end it, and try again."
            )
            raise BadInput(msg)
        time.sleep(_POLL_SECONDS)


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    handle = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    with _opened(folder, os.O_RDONLY) as handle:
        os.fsync(handle)
