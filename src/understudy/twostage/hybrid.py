"""The hybrid: each real row is drawn toward a synthetic one, and how much of it is thereby told.

A blend α x + (1 - α) s is a convolution of two laws and no mixture of them: at α = ½ it has half
the variance of either, where they are independent. Nothing here is differentially private.
"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from understudy.errors import BadInput

Numbers = NDArray[np.float64]
_FIRST = 8
"""How many near rows are looked up at first."""
_ROUNDS = 16
"""After so many parts of the rows, those that are taken are left out of the search."""
_STEPS = 20
"""Fine enough for α, and so coarse that rounding moves no row across η."""
_CLOSEST = 0.999
"""No more of a real row than this."""


class Matching(StrEnum):
    """Which synthetic row a real one is drawn toward."""

    NEAREST = "nearest"
    """As the paper does it; the bound that it prints does not hold then, so LID is measured."""
    RANDOM = "random"


@dataclass(frozen=True)
class Hybrid:
    """How much of the real rows is kept: `alpha` as given, or as much as a wished LID allows."""

    alpha: float = 0.5
    lid: float = 0.0
    """The wished share of rows of which a number is told; 0 for none: then alpha is taken."""
    eta: float = 0.001
    """How near a number must come to be told, as a share of its column's range."""
    matching: Matching = Matching.NEAREST

    def __post_init__(self) -> None:
        # Written so that NaN is refused as well.
        if not (0 <= self.alpha <= 1 and 0 <= self.lid < 1 and 0 <= self.eta < 1):
            msg = "alpha lies from 0 to 1; lid and eta are shares from 0 to below 1."
            raise BadInput(msg)
        try:
            object.__setattr__(self, "matching", Matching(self.matching))
        except ValueError:
            msg = f"matching is {self.matching}; give nearest or random."
            raise BadInput(msg) from None

    def matched(self, real: Numbers, made: Numbers, rng: np.random.Generator) -> NDArray[np.intp]:
        """For each real row, the row that was made for it; none is taken twice."""
        if self.matching is Matching.RANDOM or not real.shape[1]:
            return rng.permutation(len(made))[: len(real)]
        return nearest(real, made)

    def solved(self, real: Numbers, made: Numbers) -> float:
        """The α to take, for rows and their counterparts in units of their columns' ranges."""
        if not self.lid:
            return self.alpha
        least = measured(real, made, 0.0, self.eta)
        if least > self.lid:
            msg = (
                f"No alpha brings LID to {self.lid:.2%}: with nothing of the real rows in it "
                f"(alpha=0) it is {least:.2%} at eta={self.eta:g}. Wish for no less than that, "
                "choose a smaller eta or matching=random, or leave out columns of few values."
            )
            raise BadInput(msg)
        low, high = 0.0, _CLOSEST
        for _ in range(_STEPS):
            middle = (low + high) / 2
            fits = measured(real, made, middle, self.eta) <= self.lid
            low, high = (middle, high) if fits else (low, middle)
        return low


def blended(real: Numbers, made: Numbers, alpha: float) -> Numbers:
    """α x + (1 - α) s."""
    return np.asarray(alpha * real + (1 - alpha) * made)


def measured(real: Numbers, made: Numbers, alpha: float, eta: float) -> float:
    """LID: the share of rows that have in some column a number within η of the real one."""
    near = np.abs(blended(real, made, alpha) - real) <= eta
    return float(near.any(axis=1).mean()) if near.size else 0.0


def lemma_6(alpha: float, eta: float, columns: int, width: float = 1.0) -> float:
    """The LID of uniform columns where rows are matched at random."""
    each = min(2 * eta / (width * (1 - alpha)), 1.0) if alpha < 1 else 1.0
    return float(1 - (1 - each) ** columns)


def lemma_6_alpha(lid: float, eta: float, columns: int, width: float = 1.0) -> float:
    """The α that gives a LID by `lemma_6`; what the paper prints has the wrong exponent.

    >>> round(lemma_6_alpha(0.05, 0.001, 3), 3)
    0.882
    """
    each = 1 - (1 - lid) ** (1 / columns)
    if not each or 2 * eta / width > each:
        least = lemma_6(0.0, eta, columns, width)
        msg = f"No alpha gives a LID of {lid:.2%}: the least is {least:.2%}, at alpha=0."
        raise BadInput(msg)
    return float(np.clip(1 - 2 * eta / (width * each), 0.0, _CLOSEST))


def nearest(real: Numbers, made: Numbers) -> NDArray[np.intp]:
    """One real row after the other takes the nearest row that is left; ties go either way.

    The same as a search among all rows that are left, which would take O(n²): the nearest few are
    looked up in a tree, more where all of them are taken, and the tree is made anew as it empties.
    """
    from scipy.spatial import cKDTree  # noqa: PLC0415 - takes long to load

    found, free = np.empty(len(real), np.intp), np.ones(len(made), bool)
    times = Counter(row.tobytes() for row in real)
    for part in np.array_split(np.arange(len(real)), _ROUNDS):
        left = np.flatnonzero(free)
        if not len(part) or not len(left):
            continue
        tree = cKDTree(made[left])
        first = min(_FIRST, len(left))
        near = tree.query(real[part], k=np.arange(1, first + 1), workers=-1)[1]
        farther: dict[bytes, NDArray[np.intp]] = {}  # of rows that occur again
        for row, first_ones in zip(part, near, strict=True):
            same = real[row].tobytes()
            candidates = farther.get(same, first_ones)
            while (place := _free(candidates, left, free)) is None:
                count = min(4 * len(candidates), len(left))
                candidates = tree.query(real[row], k=np.arange(1, count + 1))[1]
                if times[same] > 1:
                    farther[same] = candidates
            found[row], free[place] = place, False
    return found


def _free(
    candidates: NDArray[np.intp], left: NDArray[np.intp], free: NDArray[np.bool_]
) -> np.intp | None:
    """The first of some rows that nobody has taken."""
    rows = left[candidates]
    open_ones = np.flatnonzero(free[rows])
    return rows[open_ones[0]] if len(open_ones) else None
