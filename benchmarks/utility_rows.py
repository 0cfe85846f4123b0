"""Rows of a table for `utility.py`: as the file has them, as codes, and split anew by seed."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from understudy.encode import Encoding
from utility_tables import Table

TEST_SHARE = 0.2
MOST_DELTA = 1e-5
"""Understudy refuses a larger one, for its guarantee would be weak."""


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows of a table, twice."""

    raw: pd.DataFrame
    codes: pd.DataFrame
    sizes: Mapping[str, int]
    """By column, how many codes there are."""
    group: NDArray[np.int64]
    """A number that equal rows share."""


@dataclass(frozen=True, eq=False)
class Split:
    """One repetition: what tools see, and what their rows are judged on."""

    table: Table
    train: pd.DataFrame
    test: pd.DataFrame
    sizes: Mapping[str, int] | None
    """By column, how many codes there are; nothing where rows are as the file has them."""

    @property
    def delta(self) -> float:
        """One over the square of the number of rows, and at most what passes for a guarantee."""
        return min(1 / len(self.train) ** 2, MOST_DELTA)


@lru_cache(maxsize=2)
def rows_of(table: Table, data: Path) -> Rows:
    """Read a table."""
    path = data / table.file
    if not path.is_file():
        sys.exit(f"{data} lacks {table.file}: give its folder with --data.")
    text = pd.read_csv(path, dtype=str).drop(columns=list(table.dropped))
    raw = pd.read_csv(path).drop(columns=list(table.dropped))
    _check(table, text)
    encoding = Encoding(table.schema)
    arrow = pa.Table.from_pandas(text[list(table.schema.names)], preserve_index=False)
    codes = {name: codes.astype(np.int64) for name, codes in encoding.codes(arrow).items()}
    # Every value has a code of its own (`_check`), so tools need none for values that have not.
    sizes = {name: cells.size - (name in encoding.hidden) for name, cells in encoding.cells.items()}
    if any(codes[name].max() >= size for name, size in sizes.items()):
        sys.exit(f"{table.file} holds what its description does not name.")
    group = text.fillna("").groupby(list(text), sort=False).ngroup().to_numpy()
    return Rows(raw, pd.DataFrame(codes), sizes, group)


def split_of(table: Table, data: Path, seed: int, *, coded: bool) -> Split:
    """A fifth of the rows of each class for the test; equal rows stay on one side."""
    rows = rows_of(table, data)
    tested = dealt(rows.group, rows.codes[table.target].to_numpy(), np.random.default_rng(seed))
    frame = rows.codes if coded else rows.raw
    parts = (frame[~tested].reset_index(drop=True), frame[tested].reset_index(drop=True))
    return Split(table, *parts, rows.sizes if coded else None)


def dealt(
    group: NDArray[np.int64], target: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """By row, whether it is for the test. Equal rows are of one class, so groups stay whole."""
    tested = np.zeros(len(group), bool)
    for label in np.unique(target):
        members = np.flatnonzero(target == label)
        found, place = np.unique(group[members], return_inverse=True)
        order = rng.permutation(len(found))
        ends = np.cumsum(np.bincount(place)[order]) / len(members)
        chosen = np.zeros(len(found), bool)
        chosen[order] = ends <= TEST_SHARE + 1e-9
        tested[members] = chosen[place]
    return tested


def _check(table: Table, text: pd.DataFrame) -> None:
    """Refuse another file of the same name: codes would be wrong without a word."""
    for column in table.columns:
        cells = text[column.name]
        odd = not column.null and cells.isna().any()
        if column.categories is not None:
            odd = odd or not {*cells.dropna()} <= {*map(str, column.categories)}
        if odd:
            sys.exit(f"{table.file}: {column.name!r} holds what its description does not name.")
    left = {*text} - {*table.schema.names} - {*table.raw_only}
    if left:
        sys.exit(f"{table.file} has columns that nobody named: {', '.join(sorted(left))}.")
