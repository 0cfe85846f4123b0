"""The four tables of the paper, with public facts of our own.

The paper standardises numbers by the rows and clips them at three standard deviations; here bounds
are public, round numbers near there. Its three banded columns of breast cancer are drawn at random
and cut at quantiles; here three are named, and cut at public edges.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.curator.source import read_rows
from understudy.errors import BadInput, listed
from understudy.experiments.folder import folder_with
from understudy.experiments.reps.rows import Rows, from_arrow, taken
from understudy.schema import Schema
from understudy.schema_files import read_schema

ROWS, OUTLIERS = 6000, 120
RARE = {"a": "Z", "b": "Q", "c": "R"}
"""Values that outliers alone have."""
PUSH = (0.6, -0.45, 0.35, 0.55, -0.35, 0.45)
"""The label's log-odds by number; and by label:"""
PUSH_LABELS: Mapping[str, Mapping[str, float]] = {
    "a": {"A": 0.55, "B": 0.25, "C": -0.25, "D": -0.55, "Z": 0.0},
    "b": {"A": 0.45, "B": 0.0, "C": -0.45, "Q": 0.0},
    "c": {"A": 0.35, "B": 0.0, "C": -0.35, "R": 0.0},
}
BANDS = {
    "mean_smoothness": (0.08, 0.09, 0.1, 0.11),
    "mean_symmetry": (0.15, 0.17, 0.19, 0.21),
    "mean_fractal_dimension": (0.055, 0.06, 0.065, 0.07),
}
_UNKNOWN = "?"


@dataclass(frozen=True)
class Table:
    """A table of the paper."""

    name: str
    number: int
    """Of the printed table."""
    file: str | None
    """None where rows are invented."""
    make: Callable[[int, Path | None], Rows]
    """All rows; invented ones anew by repetition."""

    @property
    def schema(self) -> Schema:
        """Public facts."""
        return _schema(self.name)

    @property
    def target(self) -> str:
        """The column to predict."""
        found = self.schema.target
        assert found is not None  # noqa: S101 - every schema here has one
        return found

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns of numbers."""
        return tuple(column.name for column in self.schema if column.kind.numeric)

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns of labels, but the target."""
        others = (self.target, *self.numbers)
        return tuple(name for name in self.schema.names if name not in others)


@lru_cache(maxsize=8)
def _schema(name: str) -> Schema:
    with as_file(files(__package__) / "schemas" / f"{name}.toml") as path:
        return read_schema(path)


def simulated(seed: int, data: Path | None = None) -> Rows:
    """Two clouds of rows, and a few that lie apart with labels of their own."""
    del data
    rng = np.random.default_rng([7, seed])
    apart = np.zeros(ROWS, bool)
    apart[rng.permutation(ROWS)[:OUTLIERS]] = True
    middle = np.where(apart, 2.4, rng.choice([-0.8, 0.8], ROWS))
    rows: dict[str, NDArray[Any]] = {f"x{k}": rng.normal(middle, 1.0) for k in range(1, 7)}
    push = sum(by * rows[f"x{k}"] for k, by in enumerate(PUSH, start=1))
    for name, by_label in PUSH_LABELS.items():
        usual = [label for label in by_label if label != RARE[name]]
        column = np.where(apart, RARE[name], rng.choice(usual, ROWS)).astype(object)
        push = push + np.array([by_label[label] for label in column])
        rows[name] = column
    rows["y"] = np.where(rng.random(ROWS) < 1 / (1 + np.exp(-push)), "1", "0").astype(object)
    return rows


@lru_cache(maxsize=3)
def _read(name: str, file: str, data: Path) -> Rows:
    """A table of the folder, in the schema's columns."""
    schema = _schema(name)
    table = read_rows(str(data / file))
    lacking = [column for column in schema.names if column not in table.column_names]
    if lacking:
        msg = f"{file} lacks {listed(lacking)}. Is it the paper's table?"
        raise BadInput(msg)
    rows = from_arrow(table, schema)
    known = np.ones(len(table), bool)
    for column, cells in rows.items():
        if column in BANDS:
            places = np.searchsorted(BANDS[column], cells.astype(np.float64), side="right")
            rows[column] = (places + 1).astype(str).astype(object)
        known &= cells != _UNKNOWN
    return taken(rows, known)


def _from_file(name: str, file: str) -> Callable[[int, Path | None], Rows]:
    def make(seed: int, data: Path | None) -> Rows:
        del seed
        assert data is not None  # noqa: S101 - checked before
        return _read(name, file, data)

    return make


def _stored(name: str, number: int, file: str) -> Table:
    return Table(name, number, file, _from_file(name, file))


SIM = Table("sim", 1, None, simulated)
BREAST = _stored("breast_cancer", 2, "breast_cancer_wisconsin.csv.gz")
ADULT = _stored("adult", 3, "adult.csv.gz")
CREDIT = _stored("credit", 4, "german_credit_uci.csv.gz")
TABLES = (SIM, BREAST, ADULT, CREDIT)


def tables_in(data: Path | None) -> tuple[Table, ...]:
    """Those that can be run; refused where the folder lacks one."""
    if data is None:
        return (SIM,)
    folder_with(data, [table.file for table in TABLES if table.file is not None])
    return TABLES


def table_named(name: str) -> Table:
    """The table with this name."""
    return next(table for table in TABLES if table.name == name)
