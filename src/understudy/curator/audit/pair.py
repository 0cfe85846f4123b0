"""Two tables that differ by one unit of privacy, as far apart as they can be.

The auditor counts them by itself, row by row, and not by the code that it audits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import Column, Kind, Role
from understudy.domain import Clique
from understudy.privacy.unit import Person, Replacement, Unit
from understudy.privacy.weights import UNIT, RowWeights
from understudy.schema import Schema

COLUMNS = ("a", "b", "c")
CODES = ("even", "odd", "rare")
RARE = 2
SIZE = len(CODES) + 1
"""Codes of a column: one more than its categories, for values that have none. No row has it."""
Groups = Mapping[str, Sequence[int]]
_WHO = "who"
_BEYOND = 2
"""A person has so many rows more than may count."""
_ALIKE = 8
"""So many rows make a and b depend on each other a little, so that there is something to choose."""


@dataclass(frozen=True)
class Pair:
    """A small table, and the same with a canary."""

    unit: Unit
    rows: int = 200
    columns: Clique = COLUMNS
    """Which of them there are."""
    lonely: bool = True
    """Whether the canary is unlike all other rows, or just like some."""
    _known: dict[object, NDArray[np.float64]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def schema(self) -> Schema:
        """What is public about both."""
        last = self.columns[-1]
        columns = [
            Column(
                name=name,
                kind=Kind.CATEGORICAL,
                categories=CODES,
                null=False,
                role=Role.TARGET if name == last else Role.FEATURE,
            )
            for name in self.columns
        ]
        return Schema((Column(name=_WHO, kind=Kind.INTEGER, role=Role.ID), *columns))

    def codes(self, *, canary: bool) -> dict[str, NDArray[np.int64]]:
        """The codes of each column, of the rows that count; the canary's rows come last."""
        place = np.arange(self.rows - (canary and isinstance(self.unit, Replacement)))
        a, b, c = place % 2, place // 2 % 2, place // 4 % 2
        codes = {"a": a, "b": np.where(place < _ALIKE, a, b), "c": c}
        rows = self.unit.rows if isinstance(self.unit, Person) else 1
        more = np.full(rows if canary else 0, RARE if self.lonely else 0)
        return {name: np.concatenate([codes[name], more]) for name in self.columns}

    def table(self, *, canary: bool) -> pa.Table:
        """One of the two."""
        codes = self.codes(canary=canary)
        if canary and isinstance(self.unit, Person):
            codes = {name: np.append(c, [c[-1]] * _BEYOND) for name, c in codes.items()}
        values = {name: pa.array([CODES[code] for code in codes[name]]) for name in self.columns}
        # All rows of the canary are those of one person.
        who = np.minimum(np.arange(len(codes["a"])), self.rows)
        return pa.table({_WHO: who, **values})

    def counts(
        self,
        clique: Clique,
        groups: Groups | None = None,
        weights: RowWeights | None = None,
        *,
        canary: bool,
    ) -> NDArray[np.float64]:
        """An exact marginal, where some codes may be counted together and rows be weighed."""
        group = {name: tuple((groups or {}).get(name, range(SIZE))) for name in clique}
        key = (clique, tuple(group.values()), weights, canary)
        if key not in self._known:
            counts = np.zeros([max(group[name]) + 1 for name in clique])
            codes = self.codes(canary=canary)
            for row in range(len(codes["a"])):
                cell = tuple(group[name][codes[name][row]] for name in clique)
                counts[cell] += _weight({name: codes[name][row] for name in self.columns}, weights)
            self._known[key] = counts
        return self._known[key]


def _weight(row: Mapping[str, int], weights: RowWeights | None) -> float:
    if weights is None:
        return 1.0
    return float(weights.of_rows({name: np.array([code]) for name, code in row.items()})[0] / UNIT)
