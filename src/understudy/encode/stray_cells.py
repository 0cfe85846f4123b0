"""Cells that tell how values miss what is declared about their column.

A value is listed or within the bounds, below them, above them, not listed or unreadable, or
missing. One count of these cells tells which share of a column is clamped, and which has no value
of its own. Strays are counted and never decoded.
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
from understudy.errors import SchemaError

LISTED, BELOW, ABOVE, UNLISTED, MISSING = range(5)
"""What cells stand for."""
STRAYS = 5
"""How many cells there are."""


@dataclass(frozen=True)
class StrayCells:
    """The cells above, of one column whose values are declared."""

    column: Column

    @property
    def size(self) -> int:
        """How many cells there are."""
        return STRAYS

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
        return (ops.where(there, 1.0, 0.0), *self._cells.read(value, storage, ops))

    def code(self, readings: tuple[Value, ...], ops: Ops) -> Value:
        """The cell of each value."""
        there, *others = readings
        otherwise = ops.where(there > 0, UNLISTED, MISSING)
        if isinstance(self._cells, NumberCells):
            number, known = self._cells.known_number(tuple(others), ops)
            return ops.where(known, self._beside_bounds(number, self._cells, ops), otherwise)
        listed = self._cells.code(tuple(others), ops) < len(self._cells.labels)
        return ops.where(listed, LISTED, otherwise)

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
        return ops.first([*cases, (number < least, BELOW), (above, ABOVE)], LISTED)

    def decode(self, codes: NDArray[np.unsignedinteger], rng: np.random.Generator) -> Value:
        """Refused: a stray is no value."""
        del codes, rng
        self._refuse()

    def describe(self, code: int) -> str:
        """The cell in words."""
        words: Sequence[str] = ("listed", "below", "above", "not listed", "missing")
        return words[code]

    def _refuse(self) -> NoReturn:
        msg = f"Column {self.column.name!r}: only its strays are counted, and they have no values."
        raise SchemaError(msg)
