"""A measured number: never bare, always with how sure it is and which way is good."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
"""Of every interval."""
WITHIN = 1.959963984540054
"""So many standard errors, for a normal number."""


NO_INTERVAL = "too few rows for an interval"


class Direction(StrEnum):
    """Which way is good."""

    HIGHER = "higher is better"
    LOWER = "lower is better"
    ZERO = "nearer to 0 is better"
    NONE = "neither way is better"


@dataclass(frozen=True)
class Result:
    """One number about a release.

    >>> print(Result("accuracy", 0.81, 0.79, 0.83, Direction.HIGHER, "10 test rows"))
    accuracy 0.81 [0.79, 0.83] (higher is better; read 10 test rows)
    """

    name: str
    value: float | None
    """None where it cannot be told; the note says why."""
    low: float | None
    high: float | None
    direction: Direction
    read: str
    """Which rows it was computed from."""
    note: str = ""

    def __str__(self) -> str:
        told = self.note if self.value is None else f"{self.value:.4g} {self.interval}"
        return f"{self.name} {told.strip()} ({self.direction}; read {self.read})"

    @property
    def interval(self) -> str:
        """The interval as text; empty where there is none."""
        if self.low is None or self.high is None:
            return ""
        return f"[{self.low:.4g}, {self.high:.4g}]"


def resampled(  # noqa: PLR0913 - what a result holds
    name: str,
    values: NDArray[np.float64],
    direction: Direction,
    read: str,
    *,
    absent: str = "not defined on these rows",
    note: str = "",
) -> Result:
    """A result from its value and, after it, its values on resampled rows.

    Resamples on which it is not defined (NaN) are left out; if that is most of them, there is no
    interval to tell, and without the value itself no number either.
    """
    value, others = values[0], values[1:]
    defined = others[~np.isnan(others)]
    if np.isnan(value):
        return Result(name, None, None, None, direction, read, absent)
    if 2 * len(defined) < len(others) or not len(defined):
        return Result(name, float(value), None, None, direction, read, note or NO_INTERVAL)
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    # A value at the end of its range, such as an AUC of 1, can lie a hair beyond its resamples.
    return Result(
        name, float(value), float(min(low, value)), float(max(high, value)), direction, read, note
    )


def around(  # noqa: PLR0913 - what a result holds
    name: str,
    value: float,
    error: float,
    direction: Direction,
    read: str,
    *,
    within: tuple[float, float] = (-np.inf, np.inf),
    chance: float = 0.0,
    note: str = "",
) -> Result:
    """A result from its value and standard error; the interval ends where the range does.

    `chance` is what the value would be, about, if there were nothing to measure: differences of
    samples are never 0. The interval's lower end allows for it.
    """
    margin = WITHIN * error
    low, high = max(value - chance - margin, within[0]), min(value + margin, within[1])
    return Result(name, value, min(low, value), high, direction, read, note)


def share(name: str, count: int, total: int, direction: Direction, read: str) -> Result:
    """A share of rows, with Wilson's interval.

    >>> share("copies", 0, 100, Direction.LOWER, "100 rows").interval
    '[0, 0.03699]'
    """
    if total == 0:
        return Result(name, None, None, None, direction, read, "there are no rows to count")
    z = WITHIN
    value = count / total
    middle = (value + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * np.sqrt(value * (1 - value) / total + (z / (2 * total)) ** 2)
    low = 0.0 if count == 0 else float(middle - half)
    high = 1.0 if count == total else float(middle + half)
    return Result(name, value, low, high, direction, read)


def absent(name: str, direction: Direction, read: str, why: str) -> Result:
    """A result that cannot be told."""
    return Result(name, None, None, None, direction, read, why)
