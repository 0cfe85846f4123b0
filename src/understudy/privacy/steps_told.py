"""How far long work has come, as sentences that know their numbers.

Work is counted in steps whose number follows from public facts and noisy answers alone. When a
sentence is due goes by the same numbers, and never by the clock or by rows.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Self

TOLD = 10
"""So often is it told, and not of runs of a few steps."""
_MANY = 40
_DUE = 700.0
"""A sentence is due after so much work; a unit of it takes about a millisecond."""


class StepsTold(str):
    """So many steps of so many; both are public."""

    __slots__ = ("done", "whole")
    done: int
    whole: int

    def __new__(cls, what: str, done: int, whole: int) -> Self:
        """A sentence about them."""
        made = super().__new__(cls, f"{what}: {done} of {whole} steps")
        made.done, made.whole = done, whole
        return made


def worth_telling(done: int, whole: int) -> bool:
    """Whether another tenth of many steps is done."""
    return whole >= _MANY and done > 0 and done * TOLD // whole > (done - 1) * TOLD // whole


class WorkDone(str):
    """So many steps of nobody knows how many."""

    __slots__ = ()


class _Meter:
    """Adds work up, and tells whenever enough of it was done."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._steps: Counter[str] = Counter()
        self._since = 0.0

    def add(self, what: str, steps: int, work: float) -> None:
        """Some more steps."""
        self._steps[what] += steps
        self._since += work
        if self._since >= _DUE:
            self._since = 0.0
            self._tell(WorkDone(f"{what}: {self._steps[what]:,} so far"))


_meter: ContextVar[_Meter | None] = ContextVar("meter", default=None)


@contextmanager
def telling(tell: Callable[[str], None] | None) -> Iterator[None]:
    """Tell how far work within has come; without `tell`, nothing."""
    before = _meter.set(None if tell is None else _Meter(tell))
    try:
        yield
    finally:
        _meter.reset(before)


def worked(what: str, steps: int, work: float) -> None:
    """Count steps that were done, and tell of them if it is time.

    Args:
        what: The kind of step, for people.
        steps: How many were done, by public facts and noisy answers alone.
        work: About how many milliseconds they take, by the same numbers; nothing is measured.
    """
    meter = _meter.get()
    if meter is not None:
        meter.add(what, steps, work)
