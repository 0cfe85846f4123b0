"""A scale: where numbers lie along an axis, and round ones to mark it with."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

_MARGIN = 0.06
_LEAST_MARGIN = 1e-9
"""Of the numbers themselves: far above what doubles tell apart."""
_MOST_DIGITS = 12


@dataclass(frozen=True)
class Scale:
    """Numbers from `low` to `high`, drawn between two places."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def around(cls, numbers: Iterable[float], start: float, end: float) -> "Scale":
        """A scale with room for all of these numbers that are any, and a margin."""
        known = [number for number in numbers if math.isfinite(number)] or [0.0]
        low, high = min(known), max(known)
        least = _LEAST_MARGIN * max(abs(low), abs(high))
        margin = max((high - low or 1.0) * _MARGIN, least)
        return cls(low - margin, high + margin, start, end)

    def place(self, number: float) -> float:
        """Where a number lies; what has no place, at an end."""
        if math.isnan(number):
            return self.start
        share = (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * share

    def marks(self, most: int) -> list[tuple[float, str]]:
        """Where round numbers lie, at most so many, and what they are."""
        found = ticks(self.low, self.high, most)
        return [(self.place(tick), label) for tick, label in zip(found, labels(found), strict=True)]


@dataclass(frozen=True)
class Doublings:
    """Numbers above 0, drawn so that doubling is a step."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def around(cls, numbers: Iterable[float], start: float, end: float) -> "Doublings":
        """A scale with room for all of these numbers that have a place, and a margin."""
        known = [number for number in numbers if 0 < number < math.inf] or [1.0]
        low, high = min(known), max(known)
        margin = max((high / low) ** _MARGIN, 1 + _MARGIN)
        return cls(low / margin, high * margin, start, end)

    def place(self, number: float) -> float:
        """Where a number lies; what has no place, at an end."""
        wide = math.log(self.high / self.low)
        within = min(max(number, self.low), self.high)
        share = math.log(within / self.low) / wide if wide > 0 else 0.5
        return self.start + (self.end - self.start) * share

    def marks(self, most: int) -> list[tuple[float, str]]:
        """Where round numbers lie, at most so many, and what they are."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for leads in ((1, 2, 5), (1, 3), (1,)):
            found = [lead * 10.0**power for power in range(first, last + 1) for lead in leads]
            found = [number for number in found if self.low <= number <= self.high]
            if len(found) <= most:
                break
        return [(self.place(tick), label) for tick, label in zip(found, labels(found), strict=True)]


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between two ends, at most so many.

    >>> ticks(0.83, 0.92, 5)
    [0.84, 0.86, 0.88, 0.9, 0.92]
    """
    wide = (high - low) / most
    if not 0 < wide < math.inf:
        return [low] if math.isfinite(low) else []
    power = 10.0 ** math.floor(math.log10(wide))
    step = next((power * part for part in (1, 2, 5, 10) if wide <= power * part), 10 * power)
    if not step:  # of numbers too small for a double
        return [low]
    first, last = math.ceil(low / step), math.floor(high / step + 1e-9)
    found = (round(number * step, _MOST_DIGITS) for number in range(first, last + 1))
    return list(dict.fromkeys(found))


def labels(numbers: list[float]) -> list[str]:
    """Numbers in as few digits as tell them apart.

    >>> labels([1_234_567.0, 1_234_568.0]), labels([0.2, 0.25])
    (['1,234,567', '1,234,568'], ['0.2', '0.25'])
    """
    shown: list[str] = []
    for digits in range(4, 18):
        shown = [_label(number, digits) for number in numbers]
        if len({*shown}) == len(numbers):
            break
    return shown


def _label(number: float, digits: int) -> str:
    whole = number == round(number) and 10**4 <= abs(number) < 10.0**digits
    return f"{number:,.0f}" if whole else f"{number:.{digits}g}"
