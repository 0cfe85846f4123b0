"""Numbers as their owner would write them: multiples of a step inside each bin.

A declared or inferred step, a number of decimals and the shortest part of a date format say which
values a column has. Without such a fact, a real number has some digits more than its bin needs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.column import LARGEST_INTEGER, Column, Kind
from understudy.encode.moments import resolution

_DIGITS = 3
"""Digits beyond those of the bin's width, where no fact says how precise values are."""
_MOST_DECIMALS = 15
Numbers = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Steps:
    """The step of each bin, as a fraction of whole numbers: so each multiple is rounded once."""

    times: Numbers
    over: Numbers

    def value(self, multiples: Codes, places: Codes | slice = slice(None)) -> Numbers:
        """Return the double nearest to a multiple of the step of a bin."""
        value: Numbers = multiples * self.times[places] / self.over[places]
        return value

    def below(self, numbers: Numbers, places: Codes | slice = slice(None)) -> Codes:
        """Return the greatest multiple that is at most a number, or one beside it."""
        quotient = np.floor(numbers * self.over[places] / self.times[places])
        return np.clip(quotient, -LARGEST_INTEGER, LARGEST_INTEGER).astype(np.int64)


def stated_step(column: Column) -> Fraction | None:
    """Return the step that the facts of a column state."""
    if column.kind is Kind.DATETIME:
        seconds = resolution(column.format)
        return Fraction(seconds) if seconds > 1 else None
    if column.step is not None:
        return Fraction(Decimal(repr(column.step)))
    if column.kind is Kind.REAL and column.decimals is not None:
        return Fraction(1, 10**column.decimals)
    return None


def fewer_cuts(cuts: int, step: float, ends: tuple[float, float], span: float) -> int:
    """Return a number of equal bins, at most `cuts`, of which each holds a multiple of the step."""
    first, last = math.ceil(ends[0] / step), math.floor(ends[1] / step)
    if last - first + 1 > cuts:
        return cuts  # bins are at least as wide as a step
    count = max(last - first + 1, 1)
    places = {int((one * step - ends[0]) * count / span) for one in range(first, last + 1)}
    # The last bin holds both its ends.
    places = {min(place, count - 1) for place in places}
    return count if len(places) == count else max(1, math.floor(span / step))


def steps_of(column: Column, firsts: Numbers, lasts: Numbers) -> Steps | None:
    """Return the step of each bin; None where all whole numbers are drawn.

    A step too fine for a double is left out: 0 stands for it.
    """
    stated, whole = stated_step(column), column.kind is not Kind.REAL
    if stated is None and whole:
        return None
    largest = np.maximum(np.abs(firsts), np.abs(lasts))
    if stated is not None:
        fits = _double(stated.numerator) < LARGEST_INTEGER
        times, over = (np.full(len(firsts), _double(part)) for part in stated.as_integer_ratio())
    else:
        width = np.maximum(lasts - firsts, np.finfo(float).tiny)
        decimals = np.clip(_DIGITS - np.floor(np.log10(width)), -_MOST_DECIMALS, _MOST_DECIMALS)
        over, times = 10.0 ** np.maximum(decimals, 0), 10.0 ** np.maximum(-decimals, 0)
        fits = True
    with np.errstate(over="ignore"):
        fine = fits & (largest * over < LARGEST_INTEGER)
    return Steps(np.where(fine, times, 0.0), np.where(fine, over, 1.0))


class Multiples:
    """The multiples of its step that each bin holds, without those that have a cell of their own.

    Args:
        steps: The step of each bin.
        firsts: The least value of each bin.
        lasts: The greatest value of each bin, or the end of a bin of reals.
        bin_of: The bin of each number, or -1.
        atoms: Numbers with a cell of their own.
    """

    def __init__(
        self,
        steps: Steps,
        firsts: Numbers,
        lasts: Numbers,
        bin_of: Callable[[Numbers], Codes],
        atoms: tuple[float, ...],
    ) -> None:
        self._steps = Steps(np.where(steps.times == 0, 1.0, steps.times), steps.over)
        places = np.arange(len(firsts))
        low = self._steps.below(firsts)
        high = self._steps.below(lasts)
        least, greatest = firsts.min(), lasts.max()

        def inside(multiples: Codes) -> NDArray[np.bool_]:
            values = self._steps.value(multiples)
            within = (values >= least) & (values <= greatest)
            return np.asarray(within & (bin_of(np.clip(values, least, greatest)) == places))

        # The ends of a bin are rounded numbers: the outermost multiples are found by their bins.
        self._low, self._high = high + 1, low - 1
        for offset in (2, 1, 0, -1):
            self._low = np.where(inside(low + offset), low + offset, self._low)
            self._high = np.where(inside(high - offset + 1), high - offset + 1, self._high)
        self._room = np.where(steps.times == 0, 0, np.maximum(self._high - self._low + 1, 0))
        self._atoms: list[tuple[int, int]] = []
        for atom in sorted(atoms):
            self._leave_out(atom, int(bin_of(np.array([atom]))[0]))

    def _leave_out(self, atom: float, place: int) -> None:
        """Do not draw a multiple that has a cell of its own."""
        if place < 0:
            return
        here, number = np.array([place]), np.array([atom])
        multiple = int(self._steps.below(number * (1 + 1e-15), here)[0])
        for one in (multiple, multiple + 1):
            exact = bool(self._steps.value(np.array([one]), here)[0] == atom)
            if exact and self._low[place] <= one <= self._high[place]:
                self._atoms.append((place, one))
                self._room[place] -= 1

    @property
    def none(self) -> NDArray[np.bool_]:
        """By bin, whether no multiple can be drawn."""
        return np.asarray(self._room <= 0)

    def draw(self, places: Codes, rng: np.random.Generator) -> Numbers:
        """Return a multiple of each bin, each as likely as the others; any number if none."""
        multiples = self._low[places] + rng.integers(0, np.maximum(self._room, 1)[places])
        for place, atom in self._atoms:
            multiples = multiples + ((places == place) & (atom <= multiples))
        return self._steps.value(multiples, places)


def rounded(numbers: Numbers, fits: Callable[[Numbers], NDArray[np.bool_]]) -> Numbers:
    """Return numbers with as few decimals as they need to fit."""
    best, open_ = numbers.copy(), np.ones(len(numbers), bool)
    for decimals in range(_MOST_DECIMALS + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            shorter = np.round(numbers, decimals)
        found = open_ & np.isfinite(shorter) & fits(shorter)
        best, open_ = np.where(found, shorter, best), open_ & ~found
        if not open_.any():
            break
    return best


def _double(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf
