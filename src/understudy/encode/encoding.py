"""All columns' rules together."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.column import Column
from understudy.domain import Domain
from understudy.encode.arrow_ops import ArrowOps, arrow_storage, plain_array, valid_text
from understudy.encode.labels import LabelCells
from understudy.encode.numbers import NumberCells
from understudy.encode.ops import Ops, Storage, Value, check_storage
from understudy.encode.shapes import ShapeCells
from understudy.encode.stray_cells import StrayCells
from understudy.errors import BadInput, SchemaError, listed
from understudy.schema import Schema


class Cells(Protocol):
    """The cells of one column, and the rule that puts values into them."""

    @property
    def column(self) -> Column:
        """The facts that the cells are made from."""

    @property
    def size(self) -> int:
        """How many cells there are."""

    @property
    def missing(self) -> int | None:
        """The cell of values that are missing, or the hidden one, if there is either."""

    @property
    def hidden(self) -> int | None:
        """The cell of values that have no other, where there is one; it is never decoded."""

    @property
    def fallback(self) -> frozenset[int]:
        """The cells of values that are missing, unreadable or not listed."""

    @property
    def searched(self) -> bool:
        """Whether a code is found by search among many edges."""

    @property
    def arrow_type(self) -> pa.DataType:
        """The type that values decode to."""

    def read(self, value: Value, storage: Storage, ops: Ops) -> tuple[Value, ...]:
        """What the rule looks at: text, a number, or the parts of a date."""

    def code(self, readings: tuple[Value, ...], ops: Ops) -> Value:
        """The cell of each value, from what was read."""

    def decode(self, codes: NDArray[np.unsignedinteger], rng: np.random.Generator) -> Value:
        """One value per code."""

    def describe(self, code: int) -> str:
        """The cell in words."""


@dataclass(frozen=True)
class Encoding:
    """How each released column of a schema becomes codes and comes back.

    >>> from understudy.column import Column, Kind
    >>> from understudy.schema import Schema
    >>> encoding = Encoding(Schema((
    ...     Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), bins=10, null=True),
    ... )))
    >>> encoding.domain
    Domain(age=11)
    >>> encoding.codes(pa.table({"age": ["7", "42", "unknown", "300"]}))["age"]
    array([ 0,  4, 10,  9], dtype=uint8)
    """

    schema: Schema
    shapes: bool = False
    """Whether columns with open facts are coded by their shape, to find these facts out."""
    hides: bool = True
    """Whether values that have no cell share a hidden one; in releases of format 1 they did not."""
    strays: tuple[str, ...] = ()
    """Where columns are named: these alone are coded, by how their values miss what is declared."""

    def __post_init__(self) -> None:
        # An open `null` costs one cell; without categories or bounds there are no cells at all.
        silent = {
            name: facts
            for name, open_facts in self.schema.silent.items()
            if (facts := [fact for fact in open_facts if fact != "null"])
        }
        if silent and not self.shapes:
            what = listed(f"{name} ({' and '.join(facts)})" for name, facts in silent.items())
            msg = f"The schema leaves open what an encoding needs: {what}. Declare these facts."
            raise SchemaError(msg)
        if not self.schema.coded:
            msg = "Every column of the schema is an id or dropped; there is nothing to encode."
            raise SchemaError(msg)

    @cached_property
    def cells(self) -> dict[str, Cells]:
        """The cells of each released column, in the schema's order."""
        if self.strays:
            return {c.name: StrayCells(c) for c in self.schema.coded if c.name in self.strays}
        return {column.name: _cells(column, hides=self.hides) for column in self.schema.coded}

    @cached_property
    def hidden(self) -> dict[str, int]:
        """By column, the cell of values that have no other; rows with one are never decoded."""
        return {name: c.hidden for name, c in self.cells.items() if c.hidden is not None}

    @cached_property
    def constant(self) -> tuple[str, ...]:
        """Columns of which every value has the same cell: there is nothing to model."""
        return tuple(name for name, cells in self.cells.items() if cells.size == 1)

    @cached_property
    def single(self) -> tuple[str, ...]:
        """Columns of which all released values are the same: one cell, beside a hidden one."""
        return tuple(
            name
            for name, cells in self.cells.items()
            if cells.size - (cells.hidden is not None) == 1
        )

    def fits(self, domain: Domain) -> bool:
        """Whether a model of this domain draws these codes; it may lack those of one value."""
        known = [name for name in domain.names if name in self.cells]
        absent = set(self.cells) - set(known)
        return absent <= set(self.single) and domain == self.domain.project(known)

    def with_constants(
        self, codes: Mapping[str, NDArray[np.unsignedinteger]], rows: int
    ) -> dict[str, NDArray[np.unsignedinteger]]:
        """Codes of so many rows with those of columns of one value, in the schema's order."""
        known = dict(codes)
        for name in self.single:
            known.setdefault(name, np.zeros(rows, self.dtype(name)))
        return {name: known[name] for name in self.cells if name in known}

    @cached_property
    def domain(self) -> Domain:
        """The number of cells of each released column."""
        return Domain.of({name: cells.size for name, cells in self.cells.items()})

    def only(self, names: Collection[str]) -> "Encoding":
        """The encoding of some columns."""
        columns = tuple(column for column in self.schema if column.name in names)
        return replace(self, schema=replace(self.schema, columns=columns))

    def dtype(self, name: str) -> np.dtype[np.unsignedinteger]:
        """The narrowest unsigned integer that holds the column's codes."""
        return np.min_scalar_type(self.cells[name].size - 1)

    def codes(self, table: pa.Table) -> dict[str, NDArray[np.unsignedinteger]]:
        """The codes of a table at hand, such as a synthetic one."""
        absent = [name for name in self.cells if table.column_names.count(name) != 1]
        if absent:
            msg = f"The table must have these columns of the schema once: {listed(absent)}."
            raise BadInput(msg)
        return {name: self.column_codes(name, table[name].combine_chunks()) for name in self.cells}

    def column_codes(self, name: str, stored: pa.Array) -> NDArray[np.unsignedinteger]:
        """The codes of one column at hand."""
        cells, storage = self.cells[name], arrow_storage(name, stored.type)
        check_storage(cells.column, storage)
        stored = plain_array(stored)
        if storage is Storage.TEXT:
            # Text is slow to read, and most columns repeat a few values.
            coded = pc.dictionary_encode(stored, null_encoding="encode")
            of_values = self._read(name, coded.dictionary, storage)
            return np.asarray(of_values.take(coded.indices.to_numpy()))
        return self._read(name, stored, storage)

    def number_codes(self, name: str, numbers: pa.Array) -> NDArray[np.unsignedinteger]:
        """The codes of a column that was read as numbers, with null where there is none."""
        doubles = np.asarray(numbers.to_numpy(zero_copy_only=False), np.float64)
        return np.asarray(self.cells[name].code((doubles,), ArrowOps())).astype(self.dtype(name))

    def _read(self, name: str, stored: pa.Array, storage: Storage) -> NDArray[np.unsignedinteger]:
        cells, ops = self.cells[name], ArrowOps()
        readings = cells.read(valid_text(stored), storage, ops)
        codes = np.asarray(cells.code(readings, ops))
        return codes.astype(self.dtype(name))

    def decode(
        self, codes: Mapping[str, NDArray[np.unsignedinteger]], rng: np.random.Generator
    ) -> pa.Table:
        """A table with the declared types, one row per code.

        Columns draw independently of each other, so that decoding adds no dependence that the
        codes do not have. Rows with hidden codes have to be removed before; here they would come
        out as missing, which is no value either.
        """
        for name, code in codes.items():
            self.domain.check((name,))
            if len(code) and not 0 <= int(code.min()) <= int(code.max()) < self.domain.sizes[name]:
                msg = f"Column {name!r} holds a code outside 0 … {self.domain.sizes[name] - 1}."
                raise BadInput(msg)
        return pa.table({name: self.cells[name].decode(code, rng) for name, code in codes.items()})


def _cells(column: Column, *, hides: bool) -> Cells:
    if set(column.silent) - {"null"}:
        return ShapeCells(column)
    return NumberCells(column, hides) if column.kind.numeric else LabelCells(column, hides)
