"""What the LK-2SS paper measures of numbers: laws kept, predictions improved, prices found.

How many rows have a number told (LID) is in `disclosure`.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.errors import BadInput

Numbers = NDArray[np.float64]


def tv_norm(real: Numbers, other: Numbers, bins: int) -> float:
    """Half the sum of differences between two histograms of all columns at once.

    Each column is cut into so many bins over the real range; what lies outside is in the end bins.

    >>> tv_norm(np.array([[0.0], [1.0]]), np.array([[0.0], [0.2]]), bins=2)
    0.5
    """
    low, high = real.min(axis=0), real.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    shares: dict[tuple[int, ...], float] = {}
    for rows, sign in ((real, 1.0), (other, -1.0)):
        cells = np.clip((rows - low) / width * bins, 0, bins - 1).astype(int)
        for cell, count in zip(*np.unique(cells, axis=0, return_counts=True), strict=True):
            key = tuple(cell.tolist())
            shares[key] = shares.get(key, 0.0) + sign * float(count) / len(rows)
    return sum(abs(share) for share in shares.values()) / 2


@dataclass(frozen=True)
class Changes:
    """How far moments are off, as shares of the real ones: means over columns, or pairs."""

    mean: float
    variance: float
    """What the paper writes σ is a variance."""
    covariance: float
    """Of two columns; 0 where there is one column."""


def changes(real: Numbers, other: Numbers) -> Changes:
    """Δμ, Δσ and Δc of the paper's Figure 7."""
    ours, theirs = np.atleast_2d(np.cov(real.T)), np.atleast_2d(np.cov(other.T))
    pairs = [*combinations(range(real.shape[1]), 2)]
    tied = [_off(ours[pair], theirs[pair]) for pair in pairs]
    return Changes(
        float(_off(real.mean(axis=0), other.mean(axis=0)).mean()),
        float(_off(ours.diagonal(), theirs.diagonal()).mean()),
        float(np.mean(tied)) if tied else 0.0,
    )


def _off(real: Numbers, other: Numbers) -> Numbers:
    return np.asarray(np.abs(real - other) / np.abs(real))


def mean_squared_error(said: Numbers, true: Numbers) -> float:
    """The mean of squared differences."""
    return float(((said - true) ** 2).mean())


def improvement(before: float, after: float) -> float:
    """ΔMSE: the part of an error that is gone; below 0 where it has grown.

    >>> improvement(4.0, 3.0)
    0.25
    """
    return (before - after) / before


def optimal_markup(elasticity: float) -> float:
    """OMU: how much dearer than its cost a thing is sold best.

    >>> optimal_markup(-1.5)
    2.0
    """
    _check_elastic(elasticity)
    return 1 / (abs(elasticity) - 1)


def optimal_profit_ratio(estimated: float, true: float) -> float:
    """OPR: the profit of who prices by an estimate, over that of who knows.

    >>> optimal_profit_ratio(-1.5, -1.5)
    1.0
    """
    _check_elastic(estimated)
    _check_elastic(true)
    margin = (true + 1) / (estimated + 1)
    return float(margin * (margin * estimated / true) ** true)


def mean_percentage_deviation(estimated: Numbers, true: Numbers) -> float:
    """MAPD: the mean of how far estimates are off, as shares of the true ones."""
    return float((np.abs(estimated - true) / np.abs(true)).mean())


def _check_elastic(elasticity: float) -> None:
    if not elasticity < -1:
        msg = f"An elasticity of {elasticity:g} has no best price: it must be below -1."
        raise BadInput(msg)
