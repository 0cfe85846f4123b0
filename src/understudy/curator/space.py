"""Rows as points, so that one can say how far apart two of them are."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from understudy.curator.tables import Rows, Tables

MOST_AXES = 16
"""Of more labels, each has a fixed random direction in a space of so many axes."""
NEIGHBOURS = 10
"""How far a row stands out is its mean distance to this many others."""
FARTHEST = 1e6
"""Numbers further out, in standard deviations, are moved here: squares must stay finite."""
_BLOCK = 2**17
CLOSEST = 1e-6
"""Distances below are rounding errors, and told as this one."""

Points = NDArray[np.float32]
Distances = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Space:
    """Numbers in standard deviations; an axis per label, so that two labels are √2 apart.

    That is also how far two independent numbers are from each other, in the mean of squares.
    Where there are many labels, their directions are only about at right angles. A missing number
    lies in the middle, and has an axis of its own.
    """

    scales: Mapping[str, tuple[float, float]]
    """By column of numbers, its mean and standard deviation."""
    gaps: frozenset[str]
    """Columns of numbers, some of which are missing."""
    labels: Mapping[str, Points]
    """By column of labels, the point of each."""

    @classmethod
    def of(cls, tables: Tables, guide: Rows) -> "Space":
        """A space in which the guide's rows are spread evenly."""
        scales = {name: _scale(values) for name, values in guide.numbers.items()}
        parts = [tables.real, tables.synthetic, *([] if tables.test is None else [tables.test])]
        gaps = {name for name in scales if any(np.isnan(p.numbers[name]).any() for p in parts)}
        labels = {
            column.name: _directions(len(column.labels))
            for column in tables.columns
            if not column.sort.counted
        }
        return cls(scales, frozenset(gaps), labels)

    def points(self, rows: Rows) -> Points:
        """A line per row."""
        parts: list[Points] = []
        for name, (middle, scale) in self.scales.items():
            numbers = rows.numbers[name]
            missing = np.isnan(numbers)
            far = FARTHEST * scale  # clipped before the division, which could overflow
            placed = np.where(missing, 0.0, np.clip(numbers - middle, -far, far) / scale)
            parts.append(placed.astype(np.float32)[:, None])
            if name in self.gaps:
                parts.append(missing.astype(np.float32)[:, None])
        parts += [directions[rows.codes[name]] for name, directions in self.labels.items()]
        return np.hstack(parts)

    def nearest(self, queries: Points, rows: Rows) -> tuple[Distances, NDArray[np.intp]]:
        """By query, the distance of the nearest row and its place; infinite if there is none.

        Rows become points a block at a time, however many there are.
        """
        distances, places = np.full(len(queries), np.inf), np.zeros(len(queries), np.intp)
        for first in range(0, rows.count, _BLOCK):
            block = rows.take(np.arange(first, min(first + _BLOCK, rows.count)))
            found, where = neighbours(queries, self.points(block), 1)
            closer = found[:, 0] < distances
            distances = np.where(closer, found[:, 0], distances)
            places = np.where(closer, first + where[:, 0], places)
        return distances, places


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


def outlier_scores(points: Points, queries: Points | None = None) -> Distances:
    """How far rows stand out from these points: the mean distance to the nearest ten.

    Without queries, of the points themselves, of which each is its own nearest and not counted.
    """
    if queries is None:
        distances = neighbours(points, points, NEIGHBOURS + 1)[0][:, 1:]
    else:
        distances = neighbours(queries, points, NEIGHBOURS)[0]
    known = np.isfinite(distances)
    total = np.where(known, distances, 0.0).sum(axis=1)
    return np.asarray(total / np.maximum(known.sum(axis=1), 1))


def _directions(labels: int) -> Points:
    """A point per label, all at the same distance from the middle."""
    if labels <= MOST_AXES:
        return np.eye(labels, dtype=np.float32)
    # The same ones every time, for distances to compare across tables.
    drawn = np.random.default_rng(0).normal(size=(labels, MOST_AXES))
    lengths = np.linalg.norm(drawn, axis=1, keepdims=True)
    return np.asarray(drawn / lengths, np.float32)


def _scale(numbers: NDArray[np.float64]) -> tuple[float, float]:
    known = numbers[~np.isnan(numbers)]
    if not known.size:
        return 0.0, 1.0
    # Rounding makes a deviation of equal numbers too, and none of numbers that hardly differ.
    spread = float(known.std()) if known.min() < known.max() else 0.0
    return float(known.mean()), spread or 1.0
