"""The private table: rows stay inside, only exact counts of public questions are answered.

The counts are exact and therefore private themselves. Only the ledger may import this module;
it adds noise to what it hears here, and charges for it.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import Role
from understudy.domain import Clique, Domain
from understudy.encode import Encoding
from understudy.encode.ibis_ops import code_names, coded_table
from understudy.encode.ops import Value
from understudy.errors import BadInput, MarginalTooLarge, RowsAreSealed, SourceError
from understudy.privacy.blocks import ROWS_PER_BLOCK, Block, BlockCounter, Weigher
from understudy.privacy.cache import MarginalCache
from understudy.privacy.engine import EmbeddedEngine, ReadError
from understudy.privacy.people import identity, keep_per_person
from understudy.privacy.pushdown import SqlCounter, batches, execute
from understudy.privacy.source import open_rows
from understudy.privacy.unit import Person
from understudy.privacy.weights import UNIT, RowWeights
from understudy.privacy.whole import Whole
from understudy.schema import Schema

MOST_CELLS = 2**24
"""The default limit on the cells of one requested marginal; 128 MB of counts."""
_CACHED_BYTES = 2**28


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

    __slots__ = ("_cache", "_codes", "_counter", "_encoding", "_most_cells", "_person", "_rows")

    def __init__(
        self,
        data: Any,  # noqa: ANN401 - any of the kinds above, told apart by `open_rows`
        schema: Schema,
        *,
        person: Person | None = None,
        text_encoding: str = "utf-8",
        most_cells: int = MOST_CELLS,
    ) -> None:
        self._encoding = Encoding(schema)
        self._rows = open_rows(data, text_encoding=text_encoding)
        self._person = person
        self._most_cells = most_cells
        self._counter: Counter | None = None
        self._cache = MarginalCache(_CACHED_BYTES)
        schema.check_names(self._rows.columns)
        if person is not None and schema[person.id].role is not Role.ID:
            msg = f'Column {person.id!r} tells persons apart; give it role = "id" in the schema.'
            raise BadInput(msg)
        self._codes = self._coded()  # refuses storage types that no rule reads; touches no row

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
        self._opened()  # attaches the reader that gets through the file
        rows = self._rows
        return execute(
            rows.table.select(**{c.name: rows.columns[c.name] for c in self.schema.coded})
        )

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name}: {column.kind}" for column in self.schema)
        return f"PrivateTable({columns})"

    def __reduce_ex__(self, protocol: object) -> str:
        msg = "A private table cannot be pickled or copied: its rows stay where they are."
        raise RowsAreSealed(msg)

    def _checked(self, clique: Clique | str) -> Clique:
        if isinstance(clique, str):
            msg = f"A marginal is asked for by a tuple of names, such as ({clique!r},)."
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
            return SqlCounter(self._codes, code_names(self._encoding), self.domain)
        for attach in self._rows.readers:
            # Where this reader stops at a row, the next one goes on.
            with contextlib.suppress(ReadError):
                attach()
                return BlockCounter(self._blocks(engine), self.domain)
        msg = (
            "The table cannot be read to its end. Check that the file is whole, that it has not "
            "changed since it was opened, and that there is memory enough."
        )
        raise SourceError(msg)

    def _blocks(self, engine: EmbeddedEngine) -> Iterator[Block]:
        return map(self._block, engine.batches(self._codes, ROWS_PER_BLOCK))

    def _streamed(self) -> Iterator[Block]:
        return map(self._block, batches(self._codes, ROWS_PER_BLOCK))

    def _block(self, batch: pa.RecordBatch) -> Block:
        names = code_names(self._encoding)
        return {
            name: batch.column(column).to_numpy().astype(self._encoding.dtype(name), copy=False)
            for name, column in names.items()
        }

    def _coded(self) -> Value:
        """The table of codes, as a question that has not been asked yet."""
        rows = self._rows
        if self._person is None:
            codes = coded_table(rows.table, self._encoding, rows.columns, rows.ops)
        else:
            column = self.schema[self._person.id]
            person = identity(rows.table[rows.columns[column.name]], column, rows.ops)
            codes = coded_table(rows.table, self._encoding, rows.columns, rows.ops, person=person)
            codes = keep_per_person(codes, "person", self._person.rows)
        if rows.engine is None:
            return codes
        narrow = {
            column: codes[column].cast(str(self._encoding.dtype(name)))
            for name, column in code_names(self._encoding).items()
        }
        return codes.select(**narrow)
