"""What an exponential mechanism may rank: candidates as data, scored in exact arithmetic.

A score is a fraction, not a double, so that its sensitivity is a theorem about the number that
is really compared. Proofs: docs/proofs/scores.md.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, prod
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.domain import Clique, Domain
from understudy.errors import BadInput
from understudy.privacy.unit import Replacement, Unit
from understudy.privacy.weights import UNIT, RowWeights

STEPS = 2**20
"""A sensitivity is cut into this many steps, and scores are rounded down to whole steps."""
_MOST_STEPS = 2**62
_CELLS_AT_ONCE = 2**24
_REFERENCE_GRID = 2**20
_LARGEST_REFERENCE = 2.0**40


class Score(Protocol):
    """A candidate: which counts its score reads, and what the score makes of them."""

    @property
    def clique(self) -> Clique:
        """The columns whose joint count the score reads."""

    def check(self, domain: Domain) -> None:
        """Refuse what does not fit the domain; decided by public facts."""

    def sensitivity(self, unit: Unit, weights: RowWeights | None) -> Fraction:
        """How much the score differs at most between neighbours."""

    def score(self, counts: NDArray[np.int64], weights: RowWeights | None) -> Fraction:
        """The score of exact counts (weighted ones in 1/1024)."""


@dataclass(frozen=True, eq=False)
class L1Distance:
    """scale · ‖N - reference‖₁ + offset: how far a marginal lies from what a model says.

    The reference must be public or come from earlier answers; it is rounded to multiples of 2⁻²⁰.
    """

    clique: Clique
    reference: ArrayLike
    scale: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        # A copy that nobody changes: a score is computed once, however often it is asked.
        try:
            reference = np.array(self.reference, np.float64)
            numbers = {"scale": float(self.scale), "offset": float(self.offset)}
        except (TypeError, ValueError):
            msg = f"The reference of ({', '.join(self.clique)}), scale and offset must be numbers."
            raise BadInput(msg) from None
        reference.flags.writeable = False
        for name, value in {"reference": reference, **numbers}.items():
            object.__setattr__(self, name, value)

    def check(self, domain: Domain) -> None:
        """Refuse a reference of another shape, and numbers that are none."""
        reference = np.asarray(self.reference, np.float64)
        if reference.shape != domain.shape(self.clique):
            msg = (
                f"The reference of ({', '.join(self.clique)}) has the shape {reference.shape}; "
                f"its marginal has {domain.shape(self.clique)}."
            )
            raise BadInput(msg)
        # Written so that NaN is refused as well.
        if not np.all(np.abs(reference) <= _LARGEST_REFERENCE):
            msg = f"The reference of ({', '.join(self.clique)}) holds numbers that are no counts."
            raise BadInput(msg)
        if not (isfinite(self.scale) and self.scale >= 0 and isfinite(self.offset)):
            msg = (
                f"Scale {self.scale} and offset {self.offset}: both finite, the scale not below 0."
            )
            raise BadInput(msg)

    def sensitivity(self, unit: Unit, weights: RowWeights | None) -> Fraction:
        """One record moves one count by its weight at most."""
        return l1_sensitivity(self.scale, unit, None if weights is None else weights.most)

    def score(self, counts: NDArray[np.int64], weights: RowWeights | None) -> Fraction:
        """The score of exact counts."""
        reference = np.rint(np.asarray(self.reference, np.float64) * _REFERENCE_GRID)
        per_count = _REFERENCE_GRID if weights is None else _REFERENCE_GRID // UNIT
        # Cell by cell it fits 62 bits; the sum is left to Python's unbounded integers.
        off = np.abs(counts * per_count - reference.astype(np.int64))
        total = _exact_sum(off)
        return Fraction(self.scale) * Fraction(total, _REFERENCE_GRID) + Fraction(self.offset)


@dataclass(frozen=True)
class CountTV:
    """½ ‖N - N_left N_rightᵀ / n‖₁: how far two sets of columns are from independent.

    Added up over the codes of `given`, if there are any: how far from independent given those. All
    counts are exact, the totals too; that is part of its sensitivity of 2 (3 where a record is
    replaced and n stays; 4 where it may come into another part of the table). A record of weight w
    moves it by 2w at most.
    """

    left: Clique
    right: Clique
    given: Clique = ()
    offset: float = 0.0
    """Added to the score: a public constant, or one made from earlier answers."""

    def __post_init__(self) -> None:
        for side in ("left", "right", "given"):
            object.__setattr__(self, side, tuple(getattr(self, side)))

    @property
    def clique(self) -> Clique:
        """All of its columns."""
        return (*self.given, *self.left, *self.right)

    def check(self, domain: Domain) -> None:
        """Refuse sides that are empty or share a column."""
        domain.check(self.clique)
        if not (self.left and self.right):
            msg = "Independence is between two sides; name at least one column on each."
            raise BadInput(msg)
        if not isfinite(self.offset):
            msg = f"The offset is {self.offset}; it must be finite."
            raise BadInput(msg)

    def sensitivity(self, unit: Unit, weights: RowWeights | None) -> Fraction:
        """Less than 2 for each record that comes or goes; 3 where one is replaced in one table."""
        most = None if weights is None else weights.most
        return tv_sensitivity(unit, most, conditional=bool(self.given))

    def score(self, counts: NDArray[np.int64], weights: RowWeights | None) -> Fraction:
        """The score of exact counts."""
        whole = 1 if weights is None else UNIT
        sides = counts.shape[len(self.given) :]
        rows, columns = (prod(sides[: len(self.left)]), prod(sides[len(self.left) :]))
        parts = counts.reshape(-1, rows, columns)
        return sum((_of_part(part, whole) for part in parts), Fraction(self.offset))


def _of_part(joint: NDArray[np.int64], whole: int) -> Fraction:
    """How far the counts of rows that share the given codes are from independent."""
    total = _exact_sum(joint)
    if total == 0:
        return Fraction(0)
    if total >= 2**31:  # beyond it n² leaves 62 bits
        joint = joint.astype(object)
    product = np.multiply.outer(joint.sum(axis=1), joint.sum(axis=0))
    return Fraction(_exact_sum(np.abs(joint * total - product)), 2 * total * whole)


def l1_sensitivity(scale: float, unit: Unit, largest_weight: int | None) -> Fraction:
    """Return the sensitivity of an `L1Distance`; a weight of None counts rows in full."""
    return Fraction(scale) * unit.steps * _full(largest_weight)


def tv_sensitivity(unit: Unit, largest_weight: int | None, *, conditional: bool) -> Fraction:
    """Return the sensitivity of a `CountTV`, with or without `given` columns."""
    if largest_weight is None and not conditional and isinstance(unit, Replacement):
        return Fraction(3)
    return 2 * unit.steps * _full(largest_weight)


def _full(largest_weight: int | None) -> Fraction:
    return Fraction(1) if largest_weight is None else Fraction(largest_weight, UNIT)


SCORES = (L1Distance, CountTV)
"""All scores whose sensitivity is proven."""


def in_steps(scores: Sequence[Fraction], sensitivity: Fraction) -> list[int]:
    """Scores in whole steps: between neighbours they differ by at most STEPS.

    Rounding down keeps that bound, because a whole number of steps passes through it; so does
    moving what 64 bits could not hold to the nearest end.
    """
    steps = (score * STEPS // sensitivity for score in scores)
    return [max(-_MOST_STEPS, min(step, _MOST_STEPS)) for step in steps]


def _exact_sum(numbers: NDArray[np.int64]) -> int:
    """The sum, in integers that cannot overflow."""
    if numbers.dtype == object:
        return int(numbers.sum())
    low = int((numbers & 0xFFFFFFFF).sum())
    return (int((numbers >> 32).sum()) << 32) + low


def scores_of(
    candidates: Sequence[Score],
    weights: RowWeights | None,
    domain: Domain,
    count: Callable[[Sequence[Clique]], list[NDArray[np.int64]]],
) -> Iterator[Fraction]:
    """The exact score of each, counted a few million cells at a time; no count is kept."""
    batch: list[Score] = []
    cells = 0
    for candidate in (*candidates, None):
        size = 0 if candidate is None else domain.size(candidate.clique)
        if batch and (candidate is None or cells + size > _CELLS_AT_ONCE):
            counts = count([c.clique for c in batch])
            yield from (c.score(n, weights) for c, n in zip(batch, counts, strict=True))
            batch, cells = [], 0
        if candidate is not None:
            batch.append(candidate)
            cells += size
