"""Rows as codes, with no more rows of a person than count: what every question is asked of.

On a foreign engine this is one query, and counts travel; but where its SQL would be long, rows
travel once and text is coded here. Our own engine reads and casts, and NumPy finishes codes that
are found by search: as SQL a search over hundreds of edges takes longer to compile than to run.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

import ibis
import pyarrow as pa
import pyarrow.compute as pc

from understudy.column import LARGEST_INTEGER, WHITESPACE, Column, Kind
from understudy.encode import Encoding
from understudy.encode.arrow_ops import ArrowOps, plain_array, valid_text
from understudy.encode.ibis_ops import code_batch, code_names, coded_table
from understudy.encode.ops import Storage, Value
from understudy.encode.shapes import coded_here
from understudy.encode.written_numbers import read_number, writes_marks
from understudy.privacy.blocks import ROWS_PER_BLOCK, Block
from understudy.privacy.engine import EmbeddedEngine, OpenedRows
from understudy.privacy.people import identity, keep_per_person
from understudy.privacy.pushdown import batches
from understudy.privacy.unit import Person

_PERSON = "person"
_HELD = "coded"


_LARGEST = float(LARGEST_INTEGER)
_MOST_SQL_EDGES = 64
"""A column that is searched among more edges is coded here, row by row."""


def _slow_in_sql(column: Column, storage: Storage) -> bool:
    """Return whether the SQL of a column's codes takes longer to compile than its rows to read."""
    edges = 0 if column.edges is None else len(column.edges)
    if storage is not Storage.TEXT:
        return edges > _MOST_SQL_EDGES
    dated = column.kind in {Kind.DATE, Kind.DATETIME}
    return coded_here(column, storage) or dated or writes_marks(column) or edges > 0


def _read_text(text: pa.Array, column: Column) -> pa.Array:
    """Return the values in text that the engine did not read: stripped, or as numbers."""
    if not column.kind.numeric:
        return pc.utf8_trim(text, WHITESPACE)
    ops = ArrowOps()
    number = read_number(text, Storage.TEXT, column, ops)
    unknown = ~ops.known(number)
    if column.kind is not Kind.REAL:
        number = ops.floor(ops.clamp(number, -_LARGEST, _LARGEST))
    return pa.array(number, mask=unknown)


class CodedRows:
    """The rows of a table under an encoding, as questions that are not asked yet."""

    def __init__(self, rows: OpenedRows, encoding: Encoding, person: Person | None) -> None:
        self._rows = rows
        self._encoding = encoding
        self._person = person
        self._names = code_names(encoding)

    @property
    def needed(self) -> tuple[str, ...]:
        """The engine's names of the columns that are read."""
        person = () if self._person is None else (self._person.id,)
        return tuple(self._rows.columns[name] for name in (*self._encoding.cells, *person))

    @cached_property
    def here(self) -> tuple[str, ...]:
        """The columns that no foreign engine codes: none, or all text and all fine grids.

        Shapes, dates, marked numbers and edges are long as SQL, and each query compiles them anew.
        Where any column has them, the rows are read once, and no text is coded by the engine.
        """
        schema, stored = self._encoding.schema, self._stored
        slow = {name for name, storage in stored.items() if _slow_in_sql(schema[name], storage)}
        if not slow:
            return ()
        return tuple(name for name in stored if name in slow or stored[name] is Storage.TEXT)

    @cached_property
    def _stored(self) -> dict[str, Storage]:
        """How the engine stores each column."""
        rows = self._rows
        types = {name: rows.table[rows.columns[name]].type() for name in self._encoding.cells}
        return {name: rows.ops.storage(name, kind) for name, kind in types.items()}

    @cached_property
    def _text(self) -> tuple[str, ...]:
        """The columns of `here` that come as text."""
        return tuple(name for name in self.here if self._stored[name] is Storage.TEXT)

    @cached_property
    def _numbers(self) -> tuple[str, ...]:
        """The columns of `here` that come as numbers; what their engine stores may fit no array."""
        return tuple(name for name in self.here if name not in self._text)

    def query(self) -> Value:
        """The codes of all rows that count."""
        return self._codes

    def of(self, names: Collection[str]) -> tuple[Value, Mapping[str, str]]:
        """Return the codes of at least these columns as a query, and the name of each there."""
        rows = self.only(names)
        return rows.query(), rows._names  # noqa: SLF001 - of the same class

    @cached_property
    def _codes(self) -> Value:
        """The codes alone; always the same question, so that the same rows of a person count."""
        return self._query({})

    def _query(self, also: Mapping[str, Value]) -> Value:
        codes = coded_table(*self._what, also={**self._who(), **also})
        if self._person is None:
            return codes
        return keep_per_person(codes, _PERSON, self._person.rows, tuple(also))

    def batches(
        self, engine: EmbeddedEngine, values: Mapping[str, str] | None = None
    ) -> Iterator[tuple[Block, pa.RecordBatch]]:
        """The same, block by block, on our own engine; beside them the values of some columns.

        Args:
            engine: Our own engine.
            values: By name that is asked for, the column whose values are read.
        """
        also = {name: self._reading(column) for name, column in (values or {}).items()}
        searched = [name for name, cells in self._encoding.cells.items() if cells.searched]
        query = coded_table(*self._what, as_stored=searched, also=self._who() | also)
        narrow = {
            column: query[column].cast(str(self._encoding.dtype(name)))
            for name, column in self._names.items()
            if name not in searched
        }
        read = engine.batches(query.mutate(**narrow), ROWS_PER_BLOCK)
        coded = ((code_batch(batch, self._encoding, searched), batch) for batch in read)
        if self._person is None:
            return coded
        return self._capped(engine, coded, self._person, tuple(also))

    def streamed(
        self, values: Mapping[str, str] | None = None
    ) -> Iterator[tuple[Block, pa.RecordBatch]]:
        """The same, block by block, from a foreign engine."""
        asked = values or {}
        text = {name: column for name, column in asked.items() if column in self._text}
        also = {name: self._reading(asked[name]) for name in asked if name not in text}
        if not self.here:
            query = self._query(also) if also else self._codes
            return ((self.codes(batch), batch) for batch in batches(query, ROWS_PER_BLOCK))
        # As text: beside a row without an id, whole numbers would travel as rounded doubles.
        who = {name: value.cast("string") for name, value in self._who().items()}
        query = coded_table(
            *self._what, as_stored=self._text, as_read=self._numbers, also=who | also
        )
        coded = (
            (
                code_batch(batch, self._encoding, self._text, self._numbers),
                self._with_values(batch, text),
            )
            for batch in batches(query, ROWS_PER_BLOCK)
        )
        if self._person is None:
            return coded
        return self._capped(EmbeddedEngine(), coded, self._person, tuple(asked))

    def codes(self, batch: pa.RecordBatch) -> Block:
        """The codes in a batch of `query`."""
        return code_batch(batch, self._encoding, ())

    def _reading(self, name: str) -> Value:
        """What tells the values of a column apart: a number, or text without blanks around it."""
        rows, ops = self._rows, self._rows.ops
        value = rows.table[rows.columns[name]]
        storage = ops.storage(name, value.type())
        value = ops.stored(value.cast("string") if storage is Storage.TEXT else value, storage)
        column = self._encoding.schema[name]
        if not column.kind.numeric:
            return ops.text(value, storage).strip()
        number = read_number(value, storage, column, ops)
        if column.kind is Kind.REAL:
            return number
        inside = ops.clamp(number, -_LARGEST, _LARGEST)
        return ibis.ifelse(number.isnull(), ibis.null("int64"), ops.floor(inside))

    def _with_values(self, batch: pa.RecordBatch, values: Mapping[str, str]) -> pa.RecordBatch:
        """Return the batch with what `_reading` reads of columns that came as text."""
        for name, column in values.items():
            text = valid_text(plain_array(batch.column(self._names[column])))
            batch = batch.append_column(name, _read_text(text, self._encoding.schema[column]))
        return batch

    def only(self, names: Collection[str]) -> "CodedRows":
        """At least these columns: all where a person's rows are told apart by all codes."""
        if self._person is not None:
            return self
        return CodedRows(self._rows, self._encoding.only(names), None)

    @property
    def _what(self) -> tuple[Value, ...]:
        rows = self._rows
        return rows.table, self._encoding, rows.columns, rows.ops

    def _who(self) -> dict[str, Value]:
        """Whose row it is, where that matters."""
        if self._person is None:
            return {}
        column = self._encoding.schema[self._person.id]
        value = self._rows.table[self._rows.columns[column.name]]
        return {_PERSON: identity(value, column, self._rows.ops)}

    def _capped(
        self,
        engine: EmbeddedEngine,
        coded: Iterator[tuple[Block, pa.RecordBatch]],
        person: Person,
        also: Sequence[str],
    ) -> Iterator[tuple[Block, pa.RecordBatch]]:
        beside = (_PERSON, *also)
        whole = [
            pa.record_batch(
                {self._names[name]: pa.array(codes) for name, codes in block.items()}
                | {name: batch.column(name) for name in beside}
            )
            for block, batch in coded
        ]
        if not whole:
            return
        held = engine.held(_HELD, pa.Table.from_batches(whole))
        del whole
        kept = keep_per_person(held, _PERSON, person.rows, also)
        for batch in engine.batches(kept, ROWS_PER_BLOCK):
            yield self.codes(batch), batch
        engine.let_go(_HELD)
