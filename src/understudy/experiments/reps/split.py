"""Rows to learn from, to tune on and to test on, and the same as points."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.curator.scorer import top_tenth
from understudy.curator.space import Points, outlier_scores
from understudy.experiments.reps.rows import Rows, count_of, taken
from understudy.experiments.reps.tables import Table, table_named

SHARES = (0.56, 0.14)
"""Of the rows of each class: to learn from, and to tune on; the rest is for the test."""
MOST_WATCHED = 2000
"""So many members, and as many non-members, are attacked at most."""


@dataclass(frozen=True, eq=False)
class Split:
    """One repetition of a table."""

    table: Table
    train: Rows
    validation: Rows
    test: Rows
    watched: NDArray[np.intp]
    """Places in `train` of the members that are attacked."""
    others: NDArray[np.intp]
    """Places in `test` of the non-members that are attacked."""
    reference: NDArray[np.intp]
    """Places in `test` of rows that are not attacked: what an attacker may know."""

    @cached_property
    def _scales(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        numbers = self._numbers(self.train)
        spread = numbers.std(axis=0)
        return numbers.mean(axis=0), np.where(spread > 0, spread, 1.0)

    def _numbers(self, rows: Rows) -> NDArray[np.float64]:
        return np.column_stack([rows[name] for name in self.table.numbers])

    def points(self, rows: Rows) -> Points:
        """Numbers in standard deviations of the rows learned from, and an axis for each label."""
        middle, spread = self._scales
        parts = [(self._numbers(rows) - middle) / spread]
        schema = self.table.schema
        for name in self.table.labels:
            known = np.array(schema[name].categories, object)
            parts.append(rows[name][:, None] == known)
        return np.hstack(parts).astype(np.float32)

    @cached_property
    def outlying(self) -> NDArray[np.float64]:
        """How far each watched member stands out among all rows learned from."""
        points = self.points(self.train)
        # Each is its own nearest among the rows, and weighs the same in all of them.
        return outlier_scores(points, points[self.watched])

    @property
    def top(self) -> NDArray[np.bool_]:
        """The tenth of the watched members that stands out most."""
        return top_tenth(self.outlying)

    @cached_property
    def rarest(self) -> NDArray[np.bool_]:
        """The tenth of the test rows that stands out most among all rows learned from."""
        return top_tenth(outlier_scores(self.points(self.train), self.points(self.test)))


@lru_cache(maxsize=6)
def split_of(name: str, seed: int, data: Path | None) -> Split:
    """A table split anew for every repetition, by class."""
    table = table_named(name)
    rows = table.make(seed, data)
    rng = np.random.default_rng([11, seed])
    part = np.full(count_of(rows), 2)
    classes = rows[table.target]
    for label in sorted(set(classes)):
        places = rng.permutation(np.flatnonzero(classes == label))
        ends = np.round(np.cumsum(SHARES) * len(places)).astype(int)
        part[places[: ends[0]]], part[places[ends[0] : ends[1]]] = 0, 1
    train, validation, test = (taken(rows, part == k) for k in range(3))
    watched = rng.permutation(count_of(train))[:MOST_WATCHED]
    halves = rng.permutation(count_of(test))
    half = min(count_of(test) // 2, MOST_WATCHED)
    return Split(table, train, validation, test, watched, halves[:half], halves[half:][: 2 * half])
