"""Cells that tell how values miss what is declared about their column.

A value is listed or within the bounds, below them, above them, not listed or unreadable, or
missing. One count of these cells tells which share of a column is clamped, and which has no value
of its own. Where the schema does not say how values are written, those within the bounds have a
cell for each precision, and booleans one for each usual spelling. Strays are counted and never
decoded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import Column, Kind
from understudy.encode.labels import LabelCells
from understudy.encode.numbers import NumberCells
from understudy.encode.ops import Ops, Storage, Value
from understudy.encode.plain_shapes import precision_of
from understudy.encode.shape_grid import FOUR, HALF, MANY, ONE, QUARTER, SIX, THREE, TWO, WHOLE
from understudy.errors import SchemaError

LISTED, BELOW, ABOVE, UNLISTED, MISSING = range(5)
"""What cells stand for."""
STRAYS = 5
"""How many cells there are, before those for ways of writing."""
PRECISIONS = (WHOLE, HALF, QUARTER, ONE, TWO, THREE, FOUR, SIX, MANY)
"""Of real numbers, from coarse to fine."""
SPELLINGS = (
    *(("false", "true"), ("False", "True"), ("FALSE", "TRUE"), ("f", "t"), ("F", "T")),
    *(("no", "yes"), ("No", "Yes"), ("NO", "YES"), ("n", "y"), ("N", "Y"), ("0", "1")),
    ("0.0", "1.0"),
)
"""Of booleans that are stored as text."""
_NO_AND_YES = 2


@dataclass(frozen=True)
class StrayCells:
    """The cells above, of one column whose values are declared."""

    column: Column

    @property
    def size(self) -> int:
        """How many cells there are."""
        return STRAYS + max(len(self.ways) - 1, 0)

    @cached_property
    def ways(self) -> Sequence[object]:
        """The ways of writing that are told apart: the first has the cell of listed values."""
        column = self.column
        if column.kind is Kind.BOOLEAN and column.spelling is None:
            return SPELLINGS
        open_ = column.decimals is None and column.step is None
        return PRECISIONS if column.kind is Kind.REAL and open_ else ()

    def by_way(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the counts of listed values by way of writing."""
        return np.array([counts[LISTED], *counts[STRAYS:]])

    @property
    def missing(self) -> int:
        """The cell of missing values."""
        return MISSING

    @property
    def hidden(self) -> None:
        """No cell: strays are never decoded at all."""
        return

    @property
    def fallback(self) -> frozenset[int]:
        """The cells of values that are missing, unreadable or not listed."""
        return frozenset({UNLISTED, MISSING})

    @property
    def searched(self) -> bool:
        """Whether a code is found by search among many edges."""
        return False

    @property
    def arrow_type(self) -> pa.DataType:
        """Strays have no values to decode to."""
        self._refuse()

    @cached_property
    def _cells(self) -> NumberCells | LabelCells:
        """The column's own cells, with one for all values that have no other."""
        if self.column.kind.numeric:
            return NumberCells(replace(self.column, null=True))
        return LabelCells(replace(self.column, other=None, null=True))

    def read(self, value: Value, storage: Storage, ops: Ops) -> tuple[Value, ...]:
        """A number, 1 where there is a value; and what the column's own rule looks at."""
        if storage is Storage.TEXT:
            there = ops.filled(value)
        elif storage in {Storage.DATE, Storage.TIMESTAMP}:
            there = ops.known(ops.moment(value, storage))
        else:
            there = ops.known(ops.number(value, storage))
        exact = (ops.text(value, storage),) if self.column.kind is Kind.BOOLEAN else ()
        return (ops.where(there, 1.0, 0.0), *self._cells.read(value, storage, ops), *exact)

    def code(self, readings: tuple[Value, ...], ops: Ops) -> Value:
        """The cell of each value."""
        there, *others = readings
        if self.column.kind is Kind.BOOLEAN:
            return self._spelled(tuple(others), there, ops)
        otherwise = ops.where(there > 0, UNLISTED, MISSING)
        if isinstance(self._cells, NumberCells):
            number, known = self._cells.known_number(tuple(others), ops)
            return ops.where(known, self._beside_bounds(number, self._cells, ops), otherwise)
        listed = self._cells.code(tuple(others), ops) < len(self._cells.labels)
        return ops.where(listed, LISTED, otherwise)

    def _spelled(self, others: tuple[Value, ...], there: Value, ops: Ops) -> Value:
        """The cell of a boolean: of its spelling, if that is a usual one."""
        *readings, exact = others
        known = self._cells.code(tuple(readings), ops) < _NO_AND_YES
        other = ops.where(known, LISTED, ops.where(there > 0, UNLISTED, MISSING))
        for way, words in enumerate(SPELLINGS if self.ways else ()):
            other = ops.where(ops.position(exact, words, -1) >= 0, _cell_of_way(way), other)
        return other

    def _beside_bounds(self, number: Value, cells: NumberCells, ops: Ops) -> Value:
        """Whether a known number lies below the bounds, above them, or has a cell inside."""
        (least, greatest), whole = cells.span, self.column.kind is not Kind.REAL
        cases = [
            ((number >= atom) & (number < atom + 1) if whole else number == atom, LISTED)
            for atom in cells.atoms
            if not least <= atom <= greatest
        ]
        # A whole-number column takes a fraction for the whole number below it.
        above = number >= greatest + 1 if whole else number > greatest
        inside: Value = LISTED
        if self.ways:
            codes = [LISTED] * (MANY + 1)
            for way, row in enumerate(PRECISIONS):
                codes[row] = _cell_of_way(way)
            inside = precision_of(number, ops, codes)
        beyond = ops.where(number < least, BELOW, ops.where(above, ABOVE, inside))
        return ops.first(cases, beyond)

    def decode(self, codes: NDArray[np.unsignedinteger], rng: np.random.Generator) -> Value:
        """Refused: a stray is no value."""
        del codes, rng
        self._refuse()

    def describe(self, code: int) -> str:
        """The cell in words."""
        words: Sequence[str] = ("listed", "below", "above", "not listed", "missing")
        if code < STRAYS and (code or not self.ways):
            return words[code]
        way = self.ways[0 if code == LISTED else code - STRAYS + 1]
        return f"listed, written as {way}"

    def _refuse(self) -> NoReturn:
        msg = f"Column {self.column.name!r}: only its strays are counted, and they have no values."
        raise SchemaError(msg)


def _cell_of_way(way: int) -> int:
    return LISTED if way == 0 else STRAYS + way - 1
