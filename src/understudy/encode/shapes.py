"""Cells of a column that nobody has described: what its values look like, on a fixed public grid.

A value is missing, a number of some magnitude (whole or with a fraction), a date or a moment of
some decade, or other text. Each value has one cell, so one count of these cells tells a column's
kind, its bounds up to a factor of two, and whether cells are missing. The grid is the same for
every table. Shapes are counted and never decoded.
"""

import datetime as dt
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import LARGEST_INTEGER, Column
from understudy.encode.moments import MOMENT_PARTS, MomentPattern
from understudy.encode.ops import Ops, Storage, Value
from understudy.errors import SchemaError

_POWERS = tuple(2.0**k for k in range(-20, 51))
MAGNITUDES = (*(-power for power in reversed(_POWERS)), *_POWERS)
"""Where the magnitude of a number changes: ±2⁻²⁰ … ±2⁵⁰. What lies between the middle two is
as good as zero."""
DECADES = tuple(range(1900, 2101, 10))
"""The first years of decades."""
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - columns are naive
_DECADE_STARTS = tuple(
    (dt.datetime(year, 1, 1) - _EPOCH).total_seconds()  # noqa: DTZ001 - as above
    for year in DECADES
)
_DAY = 86400

MISSING = 0
TEXT = 1
WHOLE = slice(2, 2 + len(MAGNITUDES) + 1)
FRACTION = slice(WHOLE.stop, WHOLE.stop + len(MAGNITUDES) + 1)
DATE = slice(FRACTION.stop, FRACTION.stop + len(DECADES) + 1)
MOMENT = slice(DATE.stop, DATE.stop + len(DECADES) + 1)
SHAPES = MOMENT.stop
"""How many cells there are."""


@dataclass(frozen=True)
class ShapeCells:
    """The cells above, of one column."""

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
        return frozenset({MISSING, TEXT})

    @property
    def searched(self) -> bool:
        """Whether a code is found by search among many edges."""
        return True

    @property
    def arrow_type(self) -> pa.DataType:
        """Shapes have no values to decode to."""
        self._refuse()

    def read(self, value: Value, storage: Storage, ops: Ops) -> tuple[Value, ...]:
        """A number; of a date its seconds and time of day; of text all that it might be."""
        if self.column.kind.listed:
            return (ops.text(value, storage),)  # the values themselves are asked for later
        if storage in {Storage.DATE, Storage.TIMESTAMP}:
            seconds = ops.moment(value, storage)
            return seconds, seconds - ops.floor(seconds / float(_DAY)) * float(_DAY)
        if storage is not Storage.TEXT:
            return (ops.number(value, storage),)
        pattern = MomentPattern(self.column.format)
        # Few cells look like a date; taking only those apart saves most of the time.
        parts = ops.moment_parts(ops.matching(value, pattern.regex), pattern)
        clock = parts["H"] * 3600 + parts["M"] * 60 + parts["S"]
        return ops.number(value, storage), parts[MOMENT_PARTS[0]], clock, ops.text(value, storage)

    def code(self, readings: tuple[Value, ...], ops: Ops) -> Value:
        """The cell of each value."""
        if self.column.kind.listed:
            return ops.where(ops.filled(readings[0]), TEXT, MISSING)
        if len(readings) == 1:
            (number,) = readings
            return ops.where(ops.known(number), _number_cell(number, ops), MISSING)
        if len(readings) == 2:  # noqa: PLR2004 - a stored date
            seconds, clock = readings
            dated = _date_cell(seconds, _DECADE_STARTS, clock, ops)
            return ops.where(ops.known(seconds), dated, MISSING)
        number, year, clock, text = readings
        blank = ops.where(ops.filled(text), TEXT, MISSING)
        starts = tuple(float(decade) for decade in DECADES)
        dated = ops.where(year > 0, _date_cell(year, starts, clock, ops), blank)
        return ops.where(ops.known(number), _number_cell(number, ops), dated)

    def decode(self, codes: NDArray[np.unsignedinteger], rng: np.random.Generator) -> Value:
        """Refused: a shape is no value."""
        del codes, rng
        self._refuse()

    def describe(self, code: int) -> str:
        """The cell in words."""
        if code in {MISSING, TEXT}:
            return "missing" if code == MISSING else "text"
        for cells, name, edges in (
            (WHOLE, "whole number", MAGNITUDES),
            (FRACTION, "fraction", MAGNITUDES),
            (DATE, "date", DECADES),
            (MOMENT, "moment", DECADES),
        ):
            if code < cells.stop:
                place = code - cells.start
                low = f" from {edges[place - 1]:g}" if place else ""
                high = f" below {edges[place]:g}" if place < len(edges) else ""
                return name + low + high
        msg = f"There is no shape {code}."
        raise ValueError(msg)

    def _refuse(self) -> NoReturn:
        msg = f"Column {self.column.name!r}: only its shape is known. Declare its kind and values."
        raise SchemaError(msg)


def _number_cell(number: Value, ops: Ops) -> Value:
    place = ops.search(number, MAGNITUDES)
    inside = ops.clamp(number, -float(LARGEST_INTEGER), float(LARGEST_INTEGER))
    whole = ops.floor(inside) == inside
    return place + ops.where(whole, WHOLE.start, FRACTION.start)


def _date_cell(moment: Value, starts: tuple[float, ...], clock: Value, ops: Ops) -> Value:
    return ops.search(moment, starts) + ops.where(clock == 0, DATE.start, MOMENT.start)
