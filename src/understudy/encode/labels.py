"""Cells of categorical, ordinal and boolean columns."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import Column, Kind
from understudy.encode.ops import Ops, Storage, Value

NO_WORDS = ("false", "f", "no", "n", "0", "0.0")
YES_WORDS = ("true", "t", "yes", "y", "1", "1.0")
_ASCII = r"^[\x01-\x7F]*$"


@dataclass(frozen=True)
class LabelCells:
    """One cell per category, then one for other values, then one for missing ones.

    The last two exist where the schema has them. Without either, values that are not listed and
    missing ones share a hidden last cell. It is counted like any other and never decoded.
    """

    column: Column
    hides: bool = True
    """Whether there is a hidden cell; releases of format 1 have none, and used the first cell."""

    @property
    def labels(self) -> tuple[str | int | bool, ...]:
        """The values that cells 0 … decode to."""
        if self.column.kind is Kind.BOOLEAN:
            return self.column.spelling or (False, True)
        return tuple(self.column.categories or ())

    @property
    def missing(self) -> int | None:
        """The cell of values that are missing, or the hidden one: the last, if it exists."""
        open_ = self.column.null is not False
        return self.size - 1 if open_ or self.hidden is not None else None

    @property
    def other(self) -> int | None:
        """The cell of values that are not listed."""
        return len(self.labels) if self.column.other is not None else None

    @property
    def hidden(self) -> int | None:
        """The cell of values that have no other: counted, and never decoded."""
        closed = self.column.null is False and self.column.other is None
        return len(self.labels) if self.hides and closed else None

    @property
    def fallback(self) -> frozenset[int]:
        """The cells of values that are missing, unreadable or not listed."""
        return frozenset({self._missing, self._stray})

    @property
    def _missing(self) -> int:
        """The cell of missing values, whether or not it is theirs alone."""
        return next((c for c in (self.missing, self.other) if c is not None), 0)

    @property
    def _stray(self) -> int:
        """The cell of values that are not listed, whether or not it is theirs alone."""
        return next((c for c in (self.other, self.missing) if c is not None), 0)

    @property
    def size(self) -> int:
        """How many cells there are."""
        open_, named = self.column.null is not False, self.column.other is not None
        return len(self.labels) + named + open_ + (self.hidden is not None)

    def read(self, value: Value, storage: Storage, ops: Ops) -> tuple[Value, ...]:
        """The text by which values are told apart."""
        if self.size == 1:
            return (_anything(value, storage, ops),)
        if self.column.kind is Kind.BOOLEAN:
            text = ops.text(value, storage)
            if self.column.spelling is None:
                return (ops.lower(text),)
            # Outside ASCII, engines differ in what is the same letter in lower case.
            return ops.lower(text), text, ops.lower(ops.matching(text, _ASCII))
        if self._whole:
            return (ops.whole_text(ops.number(value, storage)),)
        return (ops.text(value, storage),)

    def code(self, readings: tuple[Value, ...], ops: Ops) -> Value:
        """The cell of each value."""
        text, *spelled = readings
        if self.size == 1:
            return ops.where(ops.known(text), 0, 0)
        missing, stray = self._missing, self._stray
        otherwise: Value = missing
        if stray != missing:
            otherwise = ops.where(ops.filled(text), stray, missing)
        if not self.labels:
            return ops.where(ops.filled(text), stray, missing)
        if self.column.kind is not Kind.BOOLEAN:
            return ops.position(text, tuple(str(label) for label in self.labels), otherwise)
        yes = ops.position(text, YES_WORDS, -1) >= 0
        no = ops.position(text, NO_WORDS, -1) >= 0
        usual = ops.where(yes, 1, ops.where(no, 0, otherwise))
        if self.column.spelling is None:
            return usual
        exact, lower = spelled
        no_word, yes_word = (text.lower() for text in self.column.spelling)
        if no_word.isascii() and yes_word.isascii():
            usual = ops.position(lower, (no_word, yes_word), usual)
        return ops.position(exact, self.column.spelling, usual)

    def decode(self, codes: NDArray[np.unsignedinteger], rng: np.random.Generator) -> Value:
        """One value per code; nothing is drawn, for a cell holds one value."""
        del rng
        values: list[str | int | bool | None] = list(self.labels)
        if self.column.other is not None:
            values.append(self.column.other)
        if self.missing is not None:
            values.append(None)  # also for the hidden cell, whose rows are removed before
        return pa.array(values, self.arrow_type).take(pa.array(codes))

    @property
    def _whole(self) -> bool:
        """Whether the categories are whole numbers."""
        return bool(self.labels) and isinstance(self.labels[0], int)

    @property
    def searched(self) -> bool:
        """Whether a code is found by search among many edges."""
        return False

    @property
    def arrow_type(self) -> pa.DataType:
        """The type that values decode to."""
        if self.column.kind is Kind.BOOLEAN and self.column.spelling is None:
            return pa.bool_()
        return pa.int64() if self._whole else pa.string()

    def describe(self, code: int) -> str:
        """The cell in words."""
        if code == self.hidden:
            return "not listed or missing"
        if code == self.missing:
            return "missing"
        if code == self.other:
            return f"{self.column.other} (any other value)"
        return str(self.labels[code])


def _anything(value: Value, storage: Storage, ops: Ops) -> Value:
    """A number for each value, which its code does not depend on."""
    if storage in {Storage.DATE, Storage.TIMESTAMP}:
        return ops.moment(value, storage)
    return ops.where(ops.filled(ops.text(value, storage)), 1.0, 0.0)
