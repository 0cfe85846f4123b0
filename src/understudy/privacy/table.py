"""The private table: rows stay inside, only exact counts of public questions are answered.

The counts are exact and therefore private themselves. Only the ledger may import this module;
it adds noise to what it hears here, and charges for it.
"""

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import Role
from understudy.domain import Clique, Domain
from understudy.encode import Encoding
from understudy.encode.ops import Storage, check_storage
from understudy.errors import BadInput, MarginalTooLarge, RowsAreSealed, SourceError
from understudy.privacy.blocks import ROWS_PER_BLOCK, Block, BlockCounter, Weigher
from understudy.privacy.cache import MarginalCache
from understudy.privacy.coded_rows import CodedRows
from understudy.privacy.cover import MOST_AXES
from understudy.privacy.engine import OpenedRows, ReadError
from understudy.privacy.pushdown import SqlCounter, whole
from understudy.privacy.source import open_rows
from understudy.privacy.unit import Person
from understudy.privacy.values import ValueCounts, count_values
from understudy.privacy.weights import UNIT, RowWeights
from understudy.privacy.whole import Whole
from understudy.schema import Schema

MOST_CELLS = 2**24
"""The default limit on the cells of one requested marginal; 128 MB of counts."""
_CACHED_BYTES = 2**28
_Answer = TypeVar("_Answer")


class Counter(Protocol):
    """Something that counts coded rows."""

    def count(
        self, cliques: Sequence[Clique], weights: RowWeights | None
    ) -> dict[Clique, NDArray[np.int64]]:
        """The exact marginals of cliques in the domain's order."""


class PrivateTable:
    """Rows, sealed.

    Takes a path to a CSV (also .gz) or Parquet file or glob, a pandas or polars frame, an Arrow
    table, or an Ibis table on any engine. Files and frames are encoded once, by DuckDB, into
    small integers; an Ibis table is counted where it lies.
    """

    __slots__ = (
        *("_cache", "_coded", "_counter", "_encoding", "_malformed", "_most_cells", "_person"),
        "_rows",
    )

    def __init__(  # noqa: PLR0913 - the last four by name
        self,
        data: Any,  # noqa: ANN401 - any of the kinds above, told apart by `open_rows`
        schema: Schema,
        *,
        person: Person | None = None,
        text_encoding: str = "utf-8",
        multiline: bool = False,
        most_cells: int = MOST_CELLS,
        shapes: bool = False,
        strays: Sequence[str] = (),
    ) -> None:
        self._encoding = Encoding(schema, shapes, strays=tuple(strays))
        self._rows = (
            data
            if isinstance(data, OpenedRows)
            else opened(data, schema, person, text_encoding=text_encoding, multiline=multiline)
        )
        self._person = person
        self._most_cells = most_cells
        self._counter: Counter | None = None
        self._malformed = 0
        self._cache = MarginalCache(_CACHED_BYTES)
        schema.check_names(self._rows.columns)
        if person is not None and schema[person.id].role is not Role.ID:
            msg = f'Column {person.id!r} tells persons apart; give it role = "id" in the schema.'
            raise BadInput(msg)
        self._coded = CodedRows(self._rows, self._encoding, person)
        self._check_storage()

    @property
    def schema(self) -> Schema:
        """The public facts."""
        return self._encoding.schema

    @property
    def encoding(self) -> Encoding:
        """How values become codes."""
        return self._encoding

    @property
    def domain(self) -> Domain:
        """The number of codes of each column."""
        return self._encoding.domain

    @property
    def storage(self) -> dict[str, Storage]:
        """How each released column is stored."""
        return storage_of(self._rows, self._encoding.cells)

    @property
    def can_be_malformed(self) -> bool:
        """Whether the source can hold records that cannot be read as its header says."""
        return self._rows.malformed is not None

    def malformed(self) -> int:
        """How many of its records cannot be read so."""
        self._opened()
        return self._malformed

    def recoded(
        self, schema: Schema, *, shapes: bool = False, strays: Sequence[str] = ()
    ) -> "PrivateTable":
        """The same rows under other facts; or only how some columns miss these facts."""
        return PrivateTable(
            self._rows,
            schema,
            person=self._person,
            most_cells=self._most_cells,
            shapes=shapes,
            strays=strays,
        )

    def values(self, columns: Mapping[str, Sequence[int] | None]) -> dict[str, ValueCounts]:
        """The values that occur in each column: text of listed columns, numbers of others.

        Where cells are named, only of rows in these cells.
        """
        names = {name: f"value{place}" for place, name in enumerate(columns)}
        also = {alias: name for name, alias in names.items()}
        coded, engine = self._coded.only(columns), self._rows.engine
        if engine is not None:
            return self._whole_pass(
                coded.needed, lambda: count_values(coded.batches(engine, also), names, columns)
            )
        # Not grouped by a foreign engine, whose collation may take two spellings for one value
        # and tell the one that a single record holds.
        return count_values(coded.streamed(also), names, columns)

    def count(
        self, cliques: Sequence[Clique], weights: RowWeights | None = None
    ) -> list[NDArray[np.int64]]:
        """The exact marginal of each clique, its axes in the clique's order; `()` is the total.

        With weights, each row counts as much as its weight, in 1/1024. The arrays are read-only.
        """
        wanted = self.check(cliques, weights)
        cached = {clique: self._cache.get((weights, clique)) for clique in wanted}
        new = [clique for clique, count in cached.items() if count is None]
        counts = self._count(new, weights) if new else {}
        for clique, count in counts.items():
            count.flags.writeable = False
            self._cache.keep((weights, clique), count)
        known = {clique: count for clique, count in cached.items() if count is not None} | counts
        return [
            known[clique].transpose([clique.index(name) for name in asked])
            for asked, clique in zip(cliques, wanted, strict=True)
        ]

    def check(self, cliques: Sequence[Clique], weights: RowWeights | None = None) -> list[Clique]:
        """The cliques in the domain's order; refuses what cannot be counted, by public facts."""
        if weights is not None:
            if type(weights) is not RowWeights:
                msg = "Weights are made by Ledger.weigh."
                raise BadInput(msg)
            weights.check(self.domain)
        return [self._checked(clique) for clique in cliques]

    def blocks(self, weights: RowWeights | None = None) -> Iterator[tuple[Block, Whole]]:
        """One pass over the rows: blocks of codes, and the rows' weights in 1/1024.

        Blocks lie in memory where the rows were encoded once; otherwise they come from the
        engine again at each pass, a block at a time.
        """
        weigh = None if weights is None else Weigher(weights, self.domain)
        counter = self._opened()
        blocks = counter.blocks if isinstance(counter, BlockCounter) else self._streamed()
        for block in blocks:
            rows = len(next(iter(block.values())))
            yield block, np.full(rows, float(UNIT)) if weigh is None else weigh(block)

    def reveal(self) -> pa.Table:
        """The rows themselves, as they are."""
        rows = self._rows
        wanted = [rows.table[rows.columns[c.name]].name(c.name) for c in self.schema.coded]
        query = rows.table.select(wanted)
        if rows.engine is None:
            return whole(query, ROWS_PER_BLOCK)
        return self._whole_pass(self._coded.needed, lambda: whole(query, ROWS_PER_BLOCK))

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name}: {column.kind}" for column in self.schema)
        return f"PrivateTable({columns})"

    def __reduce_ex__(self, protocol: object) -> str:
        msg = "A private table cannot be pickled or copied: its rows stay where they are."
        raise RowsAreSealed(msg)

    def _check_storage(self) -> None:
        """Refuse storage types that no rule reads; touches no row."""
        storage = self.storage
        for name, cells in self._encoding.cells.items():
            check_storage(cells.column, storage[name])

    def _checked(self, clique: Clique | str) -> Clique:
        if isinstance(clique, str):
            msg = f"A marginal is asked for by a tuple of names, such as ({clique!r},)."
            raise BadInput(msg)
        if len(clique) > MOST_AXES:
            msg = f"A marginal of {len(clique)} columns; at most {MOST_AXES} can be counted."
            raise BadInput(msg)
        cells = self.domain.size(clique)
        if cells > self._most_cells:
            raise MarginalTooLarge(clique, cells, self._most_cells)
        return self.domain.canonical(clique)

    def _count(
        self, cliques: list[Clique], weights: RowWeights | None
    ) -> dict[Clique, NDArray[np.int64]]:
        return self._opened().count(cliques, weights)

    def _opened(self) -> Counter:
        if self._counter is None:
            self._counter = self._make_counter()
        return self._counter

    def _make_counter(self) -> Counter:
        engine = self._rows.engine
        if engine is None:
            if self._coded.here:
                return BlockCounter(self._streamed(), self.domain)
            return SqlCounter(self._coded.of, self.domain)
        blocks = self._coded.batches
        counter = self._whole_pass(
            self._coded.needed,
            lambda: BlockCounter((block for block, _ in blocks(engine)), self.domain),
        )
        if self._rows.malformed is not None:
            self._malformed = self._rows.malformed()
        return counter

    def _whole_pass(self, columns: Collection[str], ask: Callable[[], _Answer]) -> _Answer:
        """What one pass over all rows answers, with some of their columns."""
        attach = self._rows.attach
        assert attach is not None  # noqa: S101 - our own engine comes with one
        with contextlib.suppress(ReadError):
            attach(columns)
            return ask()
        msg = (
            "The table cannot be read to its end. Check that the file is whole, that it has not "
            "changed since it was opened, and that there is memory enough."
        )
        raise SourceError(msg)

    def _streamed(self) -> Iterator[Block]:
        """Blocks from a foreign engine."""
        return (block for block, _ in self._coded.streamed())


def opened(
    data: Any,  # noqa: ANN401 - as above
    schema: Schema | None,
    person: Person | None,
    *,
    text_encoding: str = "utf-8",
    multiline: bool = False,
) -> OpenedRows:
    """Rows that a private table can be made of; none is read yet."""
    facts = {column.name: column for column in schema or ()}
    ids = () if person is None else (person.id,)
    return open_rows(data, text_encoding=text_encoding, multiline=multiline, facts=facts, ids=ids)


def storage_of(rows: OpenedRows, names: Iterable[str]) -> dict[str, Storage]:
    """How columns are stored; refused if their values are not single cells."""
    kinds = {name: rows.table[rows.columns[name]].type() for name in names}
    return {name: rows.ops.storage(name, kind) for name, kind in kinds.items()}
