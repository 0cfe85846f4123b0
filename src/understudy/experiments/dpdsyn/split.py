"""Rows to learn from and to test on; equal rows stay on one side."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.curator.coded_task import Codes
from understudy.encode import Encoding
from understudy.experiments.dpdsyn.tables import TABLES, Table, table_named
from understudy.experiments.folder import whole_rows

SHARES = (0.8, 0.1)
"""To learn from, and to tune on, which nobody does here; the rest is for the test."""


@dataclass(frozen=True, eq=False)
class Split:
    """One repetition of a table."""

    table: Table
    train: pa.Table
    """All that a method sees."""
    test: pa.Table

    @cached_property
    def encoding(self) -> Encoding:
        """How rows become codes."""
        return Encoding(self.table.schema)

    def codes(self, rows: pa.Table) -> Codes:
        """Rows as codes."""
        return {name: codes.astype(np.int64) for name, codes in self.encoding.codes(rows).items()}


@lru_cache(maxsize=2)
def split_of(name: str, seed: int, data: Path) -> Split:
    """A table, split anew for every repetition."""
    table = table_named(name)
    rows = rows_of(table, data)
    part = dealt(groups_of(rows), np.random.default_rng([17, seed]))
    return Split(table, rows.filter(pa.array(part == 0)), rows.filter(pa.array(part == 2)))  # noqa: PLR2004 - the third part


@lru_cache(maxsize=len(TABLES))
def rows_of(table: Table, data: Path) -> pa.Table:
    """The table's columns, without rows that lack a cell."""
    return whole_rows(data / table.file, table.schema.names)


def groups_of(rows: pa.Table) -> NDArray[np.int64]:
    """By row, a number that equal rows share."""
    group = np.zeros(len(rows), np.int64)
    for column in rows.columns:
        _, codes = np.unique(column.to_numpy().astype(str), return_inverse=True)
        _, group = np.unique(group * (codes.max() + 1) + codes, return_inverse=True)
    return group


def dealt(group: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """By row its part, 0 to 2; groups stay whole."""
    sizes = np.bincount(group)
    order = rng.permutation(len(sizes))
    ends = np.cumsum(sizes[order]) / len(group)
    part = np.empty(len(sizes), np.int64)
    part[order] = np.searchsorted(np.cumsum(SHARES), ends - 1e-9)
    return part[group]
