"""What may be summed over rows: a closed set of maps from a row's codes to whole numbers.

Each map is a frozen value. It looks its columns up in public tables, keeps each row's share in a
ball, and adds up whole numbers; so its sensitivity, an exact number too, holds for the sum as it
is computed. Proofs: docs/proofs/row_maps.md.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.domain import Clique, Domain
from understudy.errors import BadInput
from understudy.privacy import whole
from understudy.privacy.unit import Sensitivity
from understudy.privacy.weights import LARGEST_SCORE, UNIT, ScoreTable
from understudy.privacy.whole import Whole

Codes = Mapping[str, NDArray[np.unsignedinteger]]
"""The codes of some rows, by column."""

_MOST_COORDINATES = 2**16
_PROFILE_STEPS = 2.0**-40, 2.0**40
ROWS_AT_ONCE = 2**13
"""So many rows, with weights up to 1024, add up exactly in doubles."""


class RowMap(Protocol):
    """A map from rows to vectors of whole numbers."""

    @property
    def columns(self) -> Clique:
        """The columns it reads."""

    @property
    def width(self) -> int:
        """How many numbers the sum has."""

    @property
    def unit_length(self) -> int:
        """How many whole steps make 1 in the sum that a reader sees."""

    @property
    def sensitivity(self) -> Sensitivity:
        """What one row, and the swap of one row, can move; in whole steps."""

    def check(self, domain: Domain) -> None:
        """Refuse what does not fit the domain."""

    def total(self, codes: Codes, weights: Whole) -> NDArray[np.int64]:
        """The sum over up to ROWS_AT_ONCE rows, each counted as often as its weight says."""


@dataclass(frozen=True, eq=False)
class ClippedMoments:
    """Σ x and Σ x² of numeric columns, by class.

    `values` gives, by column, the number that stands for each code; numbers beyond ±`bound` are
    moved there. `classes` is the number of codes of the column `by`. The sum counts in units of
    bound and bound², and has the shape (classes, 2, columns).
    """

    values: Mapping[str, ArrayLike]
    bound: float
    by: str | None = None
    classes: int = 1

    BITS = 12

    @property
    def columns(self) -> Clique:
        """The columns it reads."""
        return (*self.values, *(() if self.by is None else (self.by,)))

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of the sum."""
        return (self.classes, 2, len(self.values))

    @property
    def width(self) -> int:
        """How many numbers the sum has."""
        return int(np.prod(self.shape))

    @property
    def unit_length(self) -> int:
        """How many whole steps make 1."""
        return int(4**self.BITS)

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """Read off the tables: attained at the largest value, and between largest and smallest."""
        return moments_sensitivity(self.ranges.values(), self.classes)

    @property
    def ranges(self) -> dict[str, tuple[int, int]]:
        """By column, the smallest and the largest value in whole steps."""
        return {name: (int(table.min()), int(table.max())) for name, table in self._steps.items()}

    def check(self, domain: Domain) -> None:
        """Refuse what does not fit the domain."""
        if not self.values or not 0 < self.bound < np.inf:
            msg = "Moments need at least one column and a bound above 0."
            raise BadInput(msg)
        domain.check(self.columns)
        for name, values in self.values.items():
            check_table(name, values, domain)
        classes = 1 if self.by is None else domain.sizes[self.by]
        if self.classes != classes:
            msg = f"Moments by {self.by!r} are those of {classes} classes, not of {self.classes}."
            raise BadInput(msg)

    def total(self, codes: Codes, weights: Whole) -> NDArray[np.int64]:
        """The sum over some rows."""
        places = np.zeros(len(weights), np.intp) if self.by is None else codes[self.by]
        sums = np.zeros(self.shape, np.int64)
        for place, (name, table) in enumerate(self._steps.items()):
            x = table[codes[name]]
            for power, share in enumerate((x * 2**self.BITS, x * x)):
                by_class = np.bincount(places, share * weights, minlength=self.classes)
                sums[:, power, place] = by_class.astype(np.int64)
        return sums.ravel()

    @cached_property
    def _steps(self) -> dict[str, Whole]:
        """By column and code: x, in whole steps."""
        return {
            name: whole.rounded(np.asarray(values, np.float64) / self.bound, self.BITS, 1)
            for name, values in self.values.items()
        }


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Σ z_j z_k over pairs of columns j < k: what a correlation is made of.

    `scores` gives, by column, the score z of each code; a row's scores are shortened together to
    `radius`. The sum counts in units of radius².
    """

    scores: Mapping[str, ArrayLike]
    radius: float

    BITS = 12

    @property
    def columns(self) -> Clique:
        """The columns it reads."""
        return tuple(self.scores)

    @property
    def width(self) -> int:
        """How many numbers the sum has."""
        return len(self.scores) * (len(self.scores) - 1) // 2

    @property
    def unit_length(self) -> int:
        """How many whole steps make 1."""
        return int(4**self.BITS)

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """One row: R⁴ (1 - 1/d) / 2; a swap: R⁴."""
        return normal_scores_sensitivity(len(self.scores))

    def check(self, domain: Domain) -> None:
        """Refuse what does not fit the domain."""
        if len(self.scores) < 2 or not 0 < self.radius < np.inf:  # noqa: PLR2004 - a pair
            msg = "Normal scores need two columns and a radius above 0."
            raise BadInput(msg)
        for name, scores in self.scores.items():
            check_table(name, scores, domain)

    def total(self, codes: Codes, weights: Whole) -> NDArray[np.int64]:
        """The sum over some rows."""
        steps = 2**self.BITS
        rows = np.stack(
            [
                whole.rounded(np.asarray(table, np.float64) / self.radius, self.BITS, 8)[
                    codes[name]
                ]
                for name, table in self.scores.items()
            ],
            axis=1,
        )
        short = whole.within(rows, steps)
        products = short.T @ (short * weights[:, None])
        return products[np.triu_indices(len(self.scores), 1)].astype(np.int64)


@dataclass(frozen=True, eq=False)
class InducingFeatures:
    """Σ φφᵀ, Σ φy and Σ y²: what kernel ridge regression on m inducing points needs.

    A row's place is looked up in `places` (by column, one number for each code, or several); its
    kernel with each point, read off `profile` (values at squared distances 0, `profile_step`,
    2·`profile_step`, …, and 0 beyond), is multiplied by `whitening`; the result φ is shortened to
    1. `target` gives y by code, as a fraction of its bound: a number, moved into ±1, or several,
    shortened to 1 together. Rows whose target is NaN add nothing.

    The sum holds the upper triangle of Σ φφᵀ row by row, its off-diagonal numbers times
    41/29 ≈ √2; then Σ φyᵀ row by row, then Σ ‖y‖².
    """

    places: Mapping[str, ArrayLike]
    points: ArrayLike
    whitening: ArrayLike
    profile: ArrayLike
    profile_step: float
    target_column: str
    target: ArrayLike

    BITS = 10
    DIAGONAL, OFF_DIAGONAL = 29, 41
    """41² = 2 · 29² - 1: a quotient just below √2."""

    @property
    def columns(self) -> Clique:
        """The columns it reads."""
        return (*self.places, self.target_column)

    @property
    def count(self) -> int:
        """How many features there are."""
        return len(np.asarray(self.points))

    @property
    def outputs(self) -> int:
        """How many numbers a target has."""
        return 1 if np.ndim(self.target) == 1 else np.shape(self.target)[1]

    @property
    def width(self) -> int:
        """How many numbers the sum has."""
        return self.count * (self.count + 1) // 2 + self.count * self.outputs + 1

    @property
    def unit_length(self) -> int:
        """How many whole steps make 1."""
        return int(self.DIAGONAL * 4**self.BITS)

    @property
    def sensitivity(self) -> Sensitivity:
        """One row: 3; a swap: 9/2."""
        return FEATURES_SENSITIVITY

    def check(self, domain: Domain) -> None:
        """Refuse what does not fit the domain."""
        domain.check(self.columns)
        for name, table in self.places.items():
            check_table(name, table, domain, several=True)
        # A row that has no target is NaN throughout.
        untold = np.isnan(np.asarray(self.target, np.float64))
        check_table(self.target_column, np.where(untold, 0.0, self.target), domain, several=True)
        points, whitening = np.asarray(self.points), np.asarray(self.whitening)
        long = sum(1 if np.ndim(one) == 1 else np.shape(one)[1] for one in self.places.values())
        if long > _MOST_COORDINATES:
            msg = f"Places have {long:,} coordinates; at most {_MOST_COORDINATES:,} are exact."
            raise BadInput(msg)
        if points.ndim != 2 or points.shape[1] != long or not len(points):  # noqa: PLR2004
            msg = f"The points have the shape {points.shape}; one row each, {long} long."
            raise BadInput(msg)
        if whitening.shape != (len(points), len(points)) or len(points) > 2**10:
            msg = f"The whitening matrix must be square, one row for each of up to {2**10} points."
            raise BadInput(msg)
        if (
            np.ndim(self.profile) != 1
            or np.size(self.profile) < 2  # noqa: PLR2004
            or not _PROFILE_STEPS[0] <= self.profile_step <= _PROFILE_STEPS[1]
        ):
            msg = "The kernel's profile is a list of at least two values, at a step above 0."
            raise BadInput(msg)
        numbers = (points, whitening, np.asarray(self.profile))
        if not all(np.isfinite(array).all() for array in numbers):
            msg = "Points, whitening and profile must be finite numbers."
            raise BadInput(msg)

    def total(self, codes: Codes, weights: Whole) -> NDArray[np.int64]:
        """The sum over some rows."""
        features = whole.within(self._features(codes), 2**self.BITS)
        table = _columns(self.target)
        told = np.isfinite(table.sum(axis=1))
        steps = whole.rounded(np.where(told[:, None], table, 0.0), self.BITS, 1)
        target = whole.within(steps, 2**self.BITS)[codes[self.target_column]]
        counted = weights * told[codes[self.target_column]]
        weighted = features * counted[:, None]
        gram = features.T @ weighted
        rows, columns = np.triu_indices(self.count)
        factors = np.where(rows == columns, self.DIAGONAL, self.OFF_DIAGONAL)
        parts = (
            gram[rows, columns] * factors,
            (weighted.T @ target * self.DIAGONAL).ravel(),
            [whole.squared_norms(target) @ counted * self.DIAGONAL],
        )
        return np.concatenate(parts).astype(np.int64)

    def _features(self, codes: Codes) -> NDArray[np.float64]:
        place = np.concatenate(
            [
                whole.rounded(_columns(table), 10, 2**7)[codes[name]]
                for name, table in self.places.items()
            ],
            axis=1,
        )
        points = whole.rounded(np.asarray(self.points, np.float64), 10, 2**7)
        squared = (
            whole.squared_norms(place)[:, None]
            + whole.squared_norms(points)
            - 2 * (place @ points.T)
        )
        profile = np.append(np.asarray(self.profile, np.float64), [0.0, 0.0])
        position = np.minimum(squared / (self.profile_step * 2.0**20), len(profile) - 2)
        left = np.floor(position)
        part = position - left
        index = left.astype(np.intp)
        kernel = profile[index] * (1 - part) + profile[index + 1] * part
        whitening = whole.rounded(np.asarray(self.whitening, np.float64), 10, 2**11)
        features = whole.rounded(kernel, 20, 2) @ whitening.T
        # Far beyond the length that they are shortened to; so their norms are exact, too.
        return whole.rounded(features * 2.0**-30, self.BITS, 2.0**10)


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """How many rows have a summed score in each of some ranges.

    A row's score adds up what each table has for its codes, and lies in the range after the last
    edge that is at most the score.
    """

    tables: tuple[ScoreTable, ...]
    edges: tuple[int, ...]

    @property
    def columns(self) -> Clique:
        """The columns it reads."""
        return tuple(dict.fromkeys(name for table in self.tables for name in table.columns))

    @property
    def width(self) -> int:
        """How many numbers the sum has."""
        return len(self.edges) + 1

    @property
    def unit_length(self) -> int:
        """Rows are counted as they are."""
        return 1

    @property
    def sensitivity(self) -> Sensitivity:
        """A row lies in one range; swapped, it leaves one for another."""
        return CELLS_SENSITIVITY

    def check(self, domain: Domain) -> None:
        """Refuse what does not fit the domain."""
        domain.check(self.columns)
        numbers = [*self.edges, *(s for table in self.tables for s in table.scores)]
        whole_numbers = all(type(n) is int and abs(n) < LARGEST_SCORE for n in numbers)
        rising = list(self.edges) == sorted(set(self.edges))
        if not (self.tables and whole_numbers and rising):
            msg = "Scores are whole numbers, one for each code, and edges increase."
            raise BadInput(msg)
        for table in self.tables:
            table.check(domain)

    def total(self, codes: Codes, weights: Whole) -> NDArray[np.int64]:
        """The sum over some rows."""
        scores = np.zeros(len(weights), np.int64)
        for table in self.tables:
            scores += table.of_rows(codes)
        places = np.searchsorted(np.asarray(self.edges, np.int64), scores, side="right")
        return np.bincount(places, weights, minlength=self.width).astype(np.int64)


ROW_MAPS = (ClippedMoments, NormalScores, InducingFeatures, ScoreCells)
"""All row maps whose sensitivity is proven."""


CELLS_SENSITIVITY = Sensitivity(Fraction(1), Fraction(2))
"""Of rows that are counted in one cell each."""
FEATURES_SENSITIVITY = Sensitivity(
    Fraction(3) * (InducingFeatures.DIAGONAL * 4**InducingFeatures.BITS) ** 2,
    Fraction(9, 2) * (InducingFeatures.DIAGONAL * 4**InducingFeatures.BITS) ** 2,
)
"""Of `InducingFeatures`: the same for all of them."""


def moments_sensitivity(ranges: Iterable[tuple[int, int]], classes: int) -> Sensitivity:
    """Return the sensitivity of `ClippedMoments` with these ranges, in whole steps."""
    bits = ClippedMoments.BITS
    one, swap = 0, 0
    for low, high in ranges:
        one += max(_share(low, bits), _share(high, bits))
        swap += (high - low) ** 2 * (4**bits + (high + low) ** 2)
    # Rows of two classes add to different cells: their shares stand at right angles.
    apart = 2 * one if classes > 1 else one
    return Sensitivity(Fraction(one), Fraction(max(swap, apart)))


def normal_scores_sensitivity(columns: int) -> Sensitivity:
    """Return the sensitivity of `NormalScores` of so many columns, in whole steps."""
    fourth = Fraction(16**NormalScores.BITS)
    return Sensitivity(fourth * (1 - Fraction(1, columns)) / 2, fourth)


def summed(
    row_map: RowMap, rows: Iterable[tuple[Codes, Whole]], whole_row: int
) -> NDArray[np.int64]:
    """The sum over all rows, in whole steps; one of full weight counts as `whole_row`."""
    totals = (
        row_map.total(part, weights * (whole_row / UNIT))
        for codes, row_weights in rows
        for part, weights in in_parts(codes, row_weights)
    )
    with np.errstate(all="ignore"):  # no warning may tell about rows
        return held_sum(totals, row_map.width)


def held_sum(parts: Iterable[NDArray[np.int64]], width: int) -> NDArray[np.int64]:
    """The sum of parts; what 62 bits cannot hold is moved to their end, never turned over.

    Moving to an end brings two sums closer, if anything. Turning over would tear neighbours apart.
    """
    low, high = np.zeros(width, np.int64), np.zeros(width, np.int64)
    for part in parts:
        low += part
        high += low >> 32
        low &= 2**32 - 1
    held = np.clip(high, -(2**30), 2**30 - 1)
    return np.where(held == high, (high << 32) + low, np.sign(high) * 2**62)


def in_parts(codes: Codes, weights: Whole) -> Iterator[tuple[Codes, Whole]]:
    """A block of rows in parts of up to ROWS_AT_ONCE."""
    for start in range(0, len(weights), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        yield {name: column[part] for name, column in codes.items()}, weights[part]


def check_table(name: str, table: ArrayLike, domain: Domain, *, several: bool = False) -> None:
    """Refuse a table that does not give a finite number, or several, to each code of its column."""
    array = np.asarray(table, np.float64)
    (size,) = domain.shape((name,))
    if array.ndim not in ({1, 2} if several else {1}) or len(array) != size or not array.size:
        msg = f"The table of {name!r} has the shape {array.shape}; it needs {size} entries."
        raise BadInput(msg)
    if not np.isfinite(array).all():
        msg = f"The table of {name!r} holds numbers that are not finite."
        raise BadInput(msg)


def _columns(table: ArrayLike) -> NDArray[np.float64]:
    """A table as a matrix, by code."""
    array = np.asarray(table, np.float64)
    return array[:, None] if array.ndim == 1 else array


def _share(x: int, bits: int) -> int:
    """The squared norm of (x, x²), where 2ᵇⁱᵗˢ steps make 1."""
    return int(x**2 * 4**bits + x**4)
