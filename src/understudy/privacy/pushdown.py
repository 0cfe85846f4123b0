"""Counting where the rows lie: one grouped query per pass, on any engine that Ibis speaks to."""

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.encode.ibis_ops import IbisOps, set_apart
from understudy.encode.ops import Value
from understudy.errors import SourceError
from understudy.privacy.cover import cover
from understudy.privacy.weights import RowWeights

_GROUPS_PER_QUERY = 2**13
"""Cliques are joined up to this many cells: fewer queries, and still few rows to carry home."""


class SqlCounter:
    """Counts a table of codes inside its engine; only counts travel.

    Args:
        coded: Returns the codes of some columns as an expression, and the name of each there. Each
            query codes the columns that it counts and no others: the SQL of one column is long.
        domain: The sizes of all columns.
    """

    def __init__(
        self, coded: Callable[[Collection[str]], tuple[Value, Mapping[str, str]]], domain: Domain
    ) -> None:
        self._coded = coded
        self._domain = domain

    def count(
        self, cliques: Sequence[Clique], weights: RowWeights | None
    ) -> dict[Clique, NDArray[np.int64]]:
        """The exact marginals of cliques in the domain's order."""
        counts: dict[Clique, NDArray[np.int64]] = {}
        for step in cover(cliques, self._domain.sizes, _GROUPS_PER_QUERY):
            joint = np.zeros(self._domain.size(step.clique), np.int64)
            cells = execute(self._query(step.clique, weights))
            joint[cells["cell"].to_numpy()] = cells["amount"].to_numpy()
            counts |= step.marginals(joint.reshape(self._domain.shape(step.clique)))
        return counts

    def _query(self, clique: Clique, weights: RowWeights | None) -> Value:
        scored_by = [] if weights is None else [n for t in weights.tables for n in t.columns]
        rows = self._rows(dict.fromkeys((*clique, *scored_by)))
        if weights is None:
            counted = rows.codes.select(cell=rows.cell(clique), amount=ibis.literal(1, "int64"))
        else:
            # Rows of one cell and score together: else the sum of scores, which is long, would be
            # written out for each of many steps.
            scored = rows.codes.select(cell=rows.cell(clique), score=rows.score(weights))
            alike = scored.group_by(["cell", "score"]).agg(rows=scored.count())
            amount = _weight(alike.score, weights) * alike.rows.cast("int64")
            counted = alike.select(alike.cell, amount=amount)
        total = counted.group_by("cell").agg(amount=counted.amount.sum())
        return total.select(total.cell.cast("int64"), total.amount.cast("int64"))

    def _rows(self, names: Collection[str]) -> "_Coded":
        # A query of no column still has rows to count.
        codes, columns = self._coded(names or self._domain.names[:1])
        return _Coded(set_apart(codes, "understudy_codes"), columns, self._domain)


@dataclass(frozen=True)
class _Coded:
    """The codes of some columns, as an expression."""

    codes: Value
    columns: Mapping[str, str]
    domain: Domain

    def cell(self, clique: Clique) -> Value:
        """Return the flat cell of each row."""
        cell = ibis.literal(0, "int64")
        for name in clique:
            code = self.codes[self.columns[name]].cast("int64")
            cell = cell * self.domain.sizes[name] + code
        return cell

    def score(self, weights: RowWeights) -> Value:
        """Return the score of each row, which its weight goes by."""
        score = ibis.literal(0, "int64")
        for table in weights.tables:
            cases = self.cell(table.columns).cases(*enumerate(table.scores), else_=0)
            score = score + cases.cast("int64")
        return score


def _weight(score: Value, weights: RowWeights) -> Value:
    """The weight of each score."""
    step = IbisOps().search(score, weights.thresholds)
    return step.cases(*enumerate(weights.weights), else_=0).cast("int64")


def execute(query: Value) -> Value:
    """The answer as an Arrow table; what an engine says of a failure may quote rows."""
    with contextlib.suppress(Exception):  # each engine has its own errors, and all may quote rows
        return query.to_pyarrow()
    raise SourceError(_FAILED)


def batches(query: Value, rows: int) -> Iterator[pa.RecordBatch]:
    """The answer in batches of at most that many rows; failures are told as above."""
    with contextlib.suppress(Exception):
        yield from _reader(query, rows)
        return
    raise SourceError(_FAILED)


def whole(query: Value, rows: int) -> pa.Table:
    """The same at once, with its columns even where there are no rows."""
    with contextlib.suppress(Exception):
        return _reader(query, rows).read_all()
    raise SourceError(_FAILED)


def _reader(query: Value, rows: int) -> pa.RecordBatchReader:
    backend = query.get_backend()
    if backend.name != "duckdb":
        return query.to_pyarrow_batches(chunk_size=rows)
    # What Ibis 12 calls for batches is gone from DuckDB 2. Tables in memory are not there yet.
    backend._run_pre_execute_hooks(query)  # noqa: SLF001
    return backend.con.sql(backend.compile(query)).to_arrow_reader(rows)


_FAILED = (
    "The engine that holds the table failed while counting. Its message is withheld, for it may "
    "quote rows. Check that the connection is alive and the table readable, and look into the "
    "engine's own log."
)
