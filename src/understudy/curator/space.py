"""Rows as points, so that one can say how far apart two of them are."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from understudy.curator.tables import Rows, Tables

MOST_LABELS = 64
"""Labels beyond the real table's most common share an axis."""
NEIGHBOURS = 10
"""How far a row stands out is its mean distance to this many others."""
CLOSEST = 1e-6
"""Distances below are rounding errors, and told as this one."""

Points = NDArray[np.float32]
Distances = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Space:
    """Numbers in standard deviations; an axis per label, so that two labels are √2 apart.

    That is also how far two independent numbers are from each other, in the mean of squares.
    A missing number lies in the middle, and has an axis of its own.
    """

    scales: Mapping[str, tuple[float, float]]
    """By column of numbers, its mean and standard deviation."""
    labels: Mapping[str, int]
    """By column of labels, how many axes it has."""

    @classmethod
    def of(cls, tables: Tables, guide: Rows) -> "Space":
        """A space in which the guide's rows are spread evenly."""
        scales = {name: _scale(values) for name, values in guide.numbers.items()}
        labels = {
            column.name: min(len(column.labels), MOST_LABELS)
            for column in tables.columns
            if not column.sort.counted
        }
        return cls(scales, labels)

    def points(self, rows: Rows) -> Points:
        """A line per row."""
        parts: list[Points] = []
        for name, (middle, scale) in self.scales.items():
            numbers = rows.numbers[name]
            missing = np.isnan(numbers)
            placed = np.where(missing, 0.0, (numbers - middle) / scale)
            parts += [placed.astype(np.float32)[:, None], missing.astype(np.float32)[:, None]]
        for name, size in self.labels.items():
            axes = np.zeros((rows.count, size), np.float32)
            axes[np.arange(rows.count), np.minimum(rows.codes[name], size - 1)] = 1.0
            parts.append(axes)
        return np.hstack(parts)


def nearest(queries: Points, points: Points) -> Distances:
    """By query, the distance to the nearest point; infinite if there is none."""
    return neighbours(queries, points, 1)[0][:, 0]


def neighbours(queries: Points, points: Points, count: int) -> tuple[Distances, NDArray[np.intp]]:
    """By query, the distances of its nearest points, in rising order, and which they are.

    Where there are not so many points, distances are infinite.
    """
    distances = np.full((len(queries), count), np.inf)
    places = np.zeros((len(queries), count), np.intp)
    found = min(count, len(points))
    if found and len(queries):
        search = NearestNeighbors(n_neighbors=found, algorithm="brute").fit(points)
        distances[:, :found], places[:, :found] = search.kneighbors(queries)
    return np.maximum(distances, CLOSEST), places


def outlier_scores(points: Points) -> Distances:
    """How far each point stands out from the others: its mean distance to the nearest ten."""
    # The nearest is the point itself.
    distances = neighbours(points, points, NEIGHBOURS + 1)[0][:, 1:]
    return np.asarray(np.where(np.isinf(distances), 0.0, distances).mean(axis=1))


def _scale(numbers: NDArray[np.float64]) -> tuple[float, float]:
    known = numbers[~np.isnan(numbers)]
    if not known.size:
        return 0.0, 1.0
    spread = float(known.std())
    return float(known.mean()), spread if spread > 0 else 1.0
