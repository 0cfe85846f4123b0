"""The rows of a table as codes, in five folds."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.curator.coded_task import Codes
from understudy.curator.source import read_rows
from understudy.errors import BadInput, listed
from understudy.experiments.folder import folder_with
from understudy.experiments.privci.tables import TABLES, Table

FOLDS = 5


@dataclass(frozen=True, eq=False)
class Folds:
    """Rows, and the fold of each."""

    table: Table
    rows: Codes
    fold: NDArray[np.int64]

    def split(self, fold: int) -> tuple[Codes, Codes]:
        """Rows to learn from, and those of one fold, to test on."""
        out = self.fold == fold
        return (
            {name: codes[~out] for name, codes in self.rows.items()},
            {name: codes[out] for name, codes in self.rows.items()},
        )


@lru_cache(maxsize=len(TABLES))
def folds_of(table: Table, data: Path) -> Folds:
    """A table, read from its folder."""
    rows = coded(table, data)
    return Folds(table, rows, dealt(rows[table.outcome]))


def check_folder(data: Path | None) -> Path:
    """Refuse a folder that lacks a table, before the work."""
    return folder_with(data, [table.file for table in TABLES])


def coded(table: Table, data: Path) -> Codes:
    """The paper's columns, in whole-number codes."""
    rows = read_rows(str(data / table.file))
    named = {name: table.renamed.get(name, name) for name in table.columns}
    lacking = [name for name in named.values() if name not in rows.column_names]
    if lacking:
        msg = f"{table.file} lacks {listed(lacking)}. Is it the paper's table?"
        raise BadInput(msg)
    return {name: table.codings[name].codes(name, rows[there]) for name, there in named.items()}


def dealt(outcome: NDArray[np.int64]) -> NDArray[np.int64]:
    """By row its fold; each fold has about the same share of each class."""
    rng = np.random.default_rng(0)
    fold = np.empty(len(outcome), np.int64)
    start = 0
    for code in np.unique(outcome):
        rows = rng.permutation(np.flatnonzero(outcome == code))
        # Go on where the last class ended, so that folds differ by one row at most.
        fold[rows] = (start + np.arange(len(rows))) % FOLDS
        start += len(rows)
    return fold
