"""How much each row counts: integer weights that every engine computes to the bit."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from understudy.domain import Domain
from understudy.errors import BadInput

UNIT = 1024
"""A weight of UNIT is a full count; weights are whole multiples of 1/UNIT."""
LARGEST_SCORE = 2**31
"""Scores stay below this, so that their sum over columns fits 64 bits on every engine."""


@dataclass(frozen=True)
class RowWeights:
    """Score tables per column, and a step table from the summed score to a weight.

    A row's score is Σ_j tables[j][code_j]. Its weight is weights[k], where k counts the
    thresholds that are at most the score. Only integers occur: no float function runs in an
    engine, so all engines agree.

    >>> RowWeights.of({"age": [0, 3], "sex": [0, 1]}, thresholds=[2], weights=[1024, 512]).most
    1024
    """

    tables: tuple[tuple[str, tuple[int, ...]], ...]
    thresholds: tuple[int, ...]
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.thresholds) + 1:
            msg = (
                f"{len(self.thresholds)} thresholds cut scores into {len(self.thresholds) + 1} "
                f"steps, but {len(self.weights)} weights were given."
            )
            raise BadInput(msg)
        numbers = [*self.thresholds, *self.weights, *(s for _, table in self.tables for s in table)]
        if any(type(number) is not int for number in numbers):
            msg = "Scores, thresholds and weights must be whole numbers."
            raise BadInput(msg)
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
        if any(not 0 <= score < LARGEST_SCORE for _, table in self.tables for score in table):
            msg = f"Scores must lie between 0 and {LARGEST_SCORE - 1}."
            raise BadInput(msg)

    @classmethod
    def of(
        cls, tables: Mapping[str, list[int]], thresholds: list[int], weights: list[int]
    ) -> "RowWeights":
        """Weights from plain lists."""
        frozen = tuple((name, tuple(table)) for name, table in tables.items())
        return cls(frozen, tuple(thresholds), tuple(weights))

    @property
    def most(self) -> int:
        """The largest weight, in 1/1024: how much one record can move a count."""
        return max(self.weights)

    def most_where(self, column: str, codes: Sequence[bool]) -> int:
        """The largest weight that a row may have which holds one of these codes; of none 0."""
        if not any(codes):
            return 0
        least = sum(
            min(s for s, held in zip(table, codes, strict=True) if held)
            if name == column
            else min(table)
            for name, table in self.tables
        )
        return max(self.weights[bisect_right(self.thresholds, least) :])

    def check(self, domain: Domain) -> None:
        """Refuse tables that do not give one score to each code of their column."""
        names = tuple(name for name, _ in self.tables)
        for (name, table), size in zip(self.tables, domain.shape(names), strict=True):
            if len(table) != size:
                msg = f"The score table of {name!r} has {len(table)} entries for {size} codes."
                raise BadInput(msg)
