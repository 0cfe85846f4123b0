"""A normal law for each class, from noisy moments, as shares of a column's bins.

Values are standardised by public bounds alone: -1 is the lower end of the bins, 1 the upper.
"""

from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.column import Kind
from understudy.encode.numbers import NumberCells

Table = NDArray[np.float64]
_EVEN = 1 / 3
"""The variance of values that are spread evenly from -1 to 1."""
_NARROW = 1 / 12
"""The variance of values within a bin, in squares of its width: no law is told more sharply."""


def _below(places: Table) -> Table:
    """The part of a standard normal law below each place."""
    return np.array([erfc(-place / sqrt(2)) / 2 for place in places.flat]).reshape(places.shape)


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of a column that has nothing but bins, between -1 and 1."""

    edges: Table

    @classmethod
    def of(cls, cells: NumberCells) -> "Bins":
        """Where the bins of a column begin, and where the last one ends."""
        whole = cells.column.kind is not Kind.REAL
        ends = np.array([*(first for first, _ in cells.bins), cells.bins[-1][1] + whole])
        low, high = ends[0], ends[-1]
        # Halves first, for bounds may be so wide that their distance overflows.
        return cls((ends / 2 - low / 2) / (high / 2 - low / 2) * 2 - 1)

    @property
    def middles(self) -> Table:
        """What stands for each bin."""
        return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)

    def shares(self, mean: Table, variance: Table) -> Table:
        """By class, the mass of each bin; what lies beyond the ends is in the bins at the ends."""
        beyond = (self.edges[1:-1] - mean[:, None]) / np.sqrt(variance)[:, None]
        below = np.pad(_below(beyond), ((0, 0), (1, 1)), constant_values=(0.0, 1.0))
        # A share that is exactly 0 would never be drawn, and no class is as sure as that.
        found = np.maximum(np.diff(below, axis=1), np.finfo(float).tiny)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    @property
    def least_variance(self) -> float:
        """No class is told more sharply than the bins tell values apart."""
        return float(_NARROW * np.mean(np.diff(self.edges)) ** 2)


def class_laws(sums: Table, counts: Table, noise: float, bins: Bins) -> tuple[Table, Table]:
    """By class, mean and variance, from noisy Σx and Σx² (classes × 2) and noisy counts.

    Noise may outweigh the rows of a class, or make a variance negative. So each moment is drawn
    toward that of all classes together, and this one toward evenly spread values: the farther,
    the more of it may be noise.
    """
    rows, noise = np.maximum(counts, 1.0), abs(noise)
    together, by_class = sums.sum(axis=0) / rows.sum(), sums / rows[:, None]
    spread = np.array([_EVEN, 4 / 45])  # the variances of x and of x², evenly spread
    noise_of_all = len(rows) * (noise / rows.sum()) ** 2
    together = _drawn(together, noise_of_all, np.array([0.0, _EVEN]), spread)
    first = float(np.clip(together[0], -1, 1))
    own = max(float(together[1]) - first**2, bins.least_variance)
    # Classes differ in their means by no more than all values do; and so do their squares.
    spread = np.array([min(own, 1.0), min(2 * own**2 + 4 * first**2 * own, 1.0)])
    moments = _drawn(by_class, ((noise / rows) ** 2)[:, None], together, spread)
    mean = np.clip(moments[:, 0], -1.0, 1.0)
    return mean, np.clip(moments[:, 1] - mean**2, bins.least_variance, 1.0)


def _drawn(told: Table, noise: float | Table, toward: Table, spread: Table) -> Table:
    """The best guess of a number that scatters around another, and was told with noise."""
    return np.asarray(toward + (told - toward) * (spread / (spread + noise)))
