"""Cells of a column that nobody has described: what its values look like, on a fixed public grid.

Each value has one cell of `shape_grid`, so one count of these cells tells a column's kind, format,
precision, its bounds up to a factor of two, and whether cells are missing. Shapes are counted and
never decoded.
"""

import datetime as dt
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import Column
from understudy.encode.arrow_ops import ArrowOps
from understudy.encode.moments import MomentPattern, is_moment, seconds_since_1970
from understudy.encode.ops import Ops, Storage, Value
from understudy.encode.plain_shapes import number_cell
from understudy.encode.shape_grid import (
    DECADES,
    ISO,
    MISSING,
    NO_CLOCK,
    SECONDS,
    SHAPES,
    TEXT_CLASSES,
    WORDS,
    described,
)
from understudy.encode.text_shapes import text_shapes
from understudy.errors import SchemaError

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - columns are naive
_DECADE_STARTS = tuple(
    (dt.datetime(year, 1, 1) - _EPOCH).total_seconds()  # noqa: DTZ001 - as above
    for year in DECADES
)
_DAY = 86400


@dataclass(frozen=True)
class ShapeCells:
    """The cells of the grid, of one column."""

    column: Column

    @property
    def size(self) -> int:
        """How many cells there are."""
        return SHAPES

    @property
    def missing(self) -> int:
        """The cell of missing values."""
        return MISSING

    @property
    def hidden(self) -> None:
        """No cell: shapes are never decoded at all."""
        return

    @property
    def fallback(self) -> frozenset[int]:
        """The cells of values that are missing or unreadable."""
        return frozenset(range(len(TEXT_CLASSES)))

    @property
    def searched(self) -> bool:
        """Whether a code is found by search among many edges."""
        return True

    @property
    def arrow_type(self) -> pa.DataType:
        """Shapes have no values to decode to."""
        self._refuse()

    def read(self, value: Value, storage: Storage, ops: Ops) -> tuple[Value, ...]:
        """A number; of a date its seconds and time of day; of text the text alone."""
        if self.column.kind.listed:
            return (ops.text(value, storage),)  # the values themselves are asked for later
        if storage in {Storage.DATE, Storage.TIMESTAMP}:
            seconds = ops.moment(value, storage)
            return seconds, seconds - ops.floor(seconds / float(_DAY)) * float(_DAY)
        return (value if storage is Storage.TEXT else ops.number(value, storage),)

    def code(self, readings: tuple[Value, ...], ops: Ops) -> Value:
        """The cell of each value."""
        if self.column.kind.listed:
            return ops.where(ops.filled(readings[0]), WORDS, MISSING)
        if len(readings) == 1:
            (number,) = readings
            if isinstance(number, pa.Array):
                return self._text_code(number)
            return ops.where(ops.known(number), number_cell(number, ops), MISSING)
        seconds, clock = readings
        return ops.where(ops.known(seconds), _date_cell(seconds, clock, ops), MISSING)

    def _text_code(self, text: pa.Array) -> NDArray[np.int64]:
        """The cell of each text; a declared way of writing goes before the grid's."""
        codes, column, ops = text_shapes(text), self.column, ArrowOps()
        if column.format is not None:
            parts = ops.moment_parts(text, MomentPattern(column.format))
            seconds = seconds_since_1970(parts, ops)
            clock = parts["H"] * 3600 + parts["M"] * 60 + parts["S"]
            dated = _date_cell(seconds, clock, ops)
            return np.where(is_moment(parts, ops), dated, np.where(codes < ISO.start, codes, WORDS))
        return codes

    def decode(self, codes: NDArray[np.unsignedinteger], rng: np.random.Generator) -> Value:
        """Refused: a shape is no value."""
        del codes, rng
        self._refuse()

    def describe(self, code: int) -> str:
        """The cell in words."""
        return described(code)

    def _refuse(self) -> NoReturn:
        msg = f"Column {self.column.name!r}: only its shape is known. Declare its kind and values."
        raise SchemaError(msg)


def coded_here(column: Column, storage: Storage) -> bool:
    """Return whether the shapes of a column are coded here alone, and never as SQL."""
    open_facts = set(column.silent) - {"null"}
    return bool(open_facts) and storage is Storage.TEXT and not column.kind.listed


def _date_cell(seconds: Value, clock: Value, ops: Ops) -> Value:
    dates, moments = ISO.row(NO_CLOCK).start, ISO.row(SECONDS).start
    return ops.search(seconds, _DECADE_STARTS) + ops.where(clock == 0, dates, moments)
