"""How much each row counts: integer weights that every engine computes to the bit."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.domain import Clique, Domain
from understudy.errors import BadInput, listed

Codes = Mapping[str, NDArray[Any]]
"""By column, the code of each row."""
_WHOLE = "Scores, thresholds and weights must be whole numbers."

UNIT = 1024
"""A weight of UNIT is a full count; weights are whole multiples of 1/UNIT."""
LARGEST_SCORE = 2**31
"""Scores stay below this, so that their sum over columns fits 64 bits on every engine."""


@dataclass(frozen=True)
class ScoreTable:
    """What each code of a column adds to a row's score; or each cell of a few columns together."""

    columns: Clique
    shape: tuple[int, ...]
    scores: tuple[int, ...]
    """By cell; the last column's codes follow each other."""

    def __post_init__(self) -> None:
        for name in ("columns", "shape", "scores"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @classmethod
    def of(cls, columns: str | Clique, table: ArrayLike) -> "ScoreTable":
        """A table from plain lists; one in another where there are several columns.

        >>> ScoreTable.of(("age", "sex"), [[0, 1], [2, 3]]).scores
        (0, 1, 2, 3)
        """
        clique = (columns,) if isinstance(columns, str) else tuple(columns)
        scores = np.asarray(table)
        if scores.dtype.kind not in "iu":
            raise BadInput(_WHOLE)
        return cls(clique, scores.shape, tuple(scores.ravel().tolist()))

    def of_rows(self, codes: Codes) -> NDArray[np.int64]:
        """What each row's score gets of it."""
        places = np.zeros(len(codes[self.columns[0]]), np.int64)
        for name, size in zip(self.columns, self.shape, strict=True):
            places = places * size + codes[name]
        return np.asarray(self.scores, np.int64)[places]

    def check(self, domain: Domain) -> None:
        """Refuse another number of scores than the columns have codes."""
        shape = domain.shape(self.columns)
        if not shape or self.shape != shape or len(self.scores) != prod(shape):
            msg = (
                f"The score table of {listed(self.columns)} has {len(self.scores)} entries "
                f"for {prod(shape)} codes."
            )
            raise BadInput(msg)

    def least(self, column: str, codes: Sequence[bool]) -> int:
        """The least score of a cell with one of these codes of a column."""
        scores = np.asarray(self.scores, np.int64).reshape(self.shape)
        if column in self.columns:
            scores = scores.compress(codes, axis=self.columns.index(column))
        return int(scores.min())


@dataclass(frozen=True)
class RowWeights:
    """Score tables, and a step table from the summed score to a weight.

    A row's score adds up what each table has for its codes. Its weight is weights[k], where k
    counts the thresholds that are at most the score. Only integers occur: no float function runs
    in an engine, so all engines agree.

    >>> RowWeights.of({"age": [0, 3], "sex": [0, 1]}, thresholds=[2], weights=[1024, 512]).most
    1024
    """

    tables: tuple[ScoreTable, ...]
    thresholds: tuple[int, ...]
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in ("tables", "thresholds", "weights"):
            # Hashed with every count.
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if len(self.weights) != len(self.thresholds) + 1:
            msg = (
                f"{len(self.thresholds)} thresholds cut scores into {len(self.thresholds) + 1} "
                f"steps, but {len(self.weights)} weights were given."
            )
            raise BadInput(msg)
        scores = [score for table in self.tables for score in table.scores]
        numbers = [*self.thresholds, *self.weights, *scores]
        if any(type(number) is not int for number in numbers):
            raise BadInput(_WHOLE)
        if any(abs(threshold) >= LARGEST_SCORE**2 for threshold in self.thresholds):
            msg = "Thresholds must fit 62 bits, as sums of scores do."
            raise BadInput(msg)
        if any(not 0 <= weight <= UNIT for weight in self.weights):
            msg = f"Weights count in 1/{UNIT} and must lie between 0 and {UNIT}."
            raise BadInput(msg)
        steps = zip(self.thresholds, self.thresholds[1:], strict=False)
        if any(not low < high for low, high in steps):
            msg = "Thresholds must increase from each to the next."
            raise BadInput(msg)
        if any(not 0 <= score < LARGEST_SCORE for score in scores):
            msg = f"Scores must lie between 0 and {LARGEST_SCORE - 1}."
            raise BadInput(msg)

    @classmethod
    def of(
        cls,
        tables: Mapping[str, ArrayLike] | Mapping[Clique, ArrayLike],
        thresholds: Sequence[int],
        weights: Sequence[int],
    ) -> "RowWeights":
        """Weights from plain lists: by column, or by several columns together."""
        made = tuple(ScoreTable.of(columns, table) for columns, table in tables.items())
        return cls(made, tuple(thresholds), tuple(weights))

    @property
    def columns(self) -> Clique:
        """The columns that scores go by."""
        return tuple(dict.fromkeys(name for table in self.tables for name in table.columns))

    @property
    def most(self) -> int:
        """The largest weight, in 1/1024: how much one record can move a count."""
        return max(self.weights)

    def most_where(self, column: str, codes: Sequence[bool]) -> int:
        """The largest weight that a row may have which holds one of these codes; of none 0."""
        if not any(codes):
            return 0
        least = sum(table.least(column, codes) for table in self.tables)
        return max(self.weights[bisect_right(self.thresholds, least) :])

    def scores(self, codes: Codes) -> NDArray[np.int64]:
        """Each row's score."""
        scores = np.zeros(len(next(iter(codes.values()))), np.int64)
        for table in self.tables:
            scores += table.of_rows(codes)
        return scores

    def of_rows(self, codes: Codes) -> NDArray[np.int64]:
        """Each row's weight, in 1/1024."""
        steps = np.searchsorted(np.array(self.thresholds, np.int64), self.scores(codes), "right")
        return np.array(self.weights, np.int64)[steps]

    def check(self, domain: Domain) -> None:
        """Refuse tables that do not give one score to each code of their columns."""
        for table in self.tables:
            table.check(domain)
