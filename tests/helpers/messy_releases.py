"""Releases of the messy table: on which engines, with which columns, and what their files hold."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest

from helpers.messy import as_arrow, as_pandas, write_csv
from helpers.tables import load
from understudy.release import Release

ENGINES = ("csv", "pandas", "duckdb", "sqlite", "postgres")
"""What holds the table, with all its columns; the last three are databases."""
_MARKS = {"postgres": [pytest.mark.slow]}
"""Databases are read alike, and two of them are enough between commits."""


@dataclass(frozen=True)
class Released:
    """A release, its folder, and the cells of its CSV file as text."""

    engine: str
    release: Release
    folder: Path
    cells: pd.DataFrame = field(repr=False)
    real: pd.DataFrame = field(repr=False)
    """The cells that the owner wrote."""

    @property
    def first_noise(self) -> dict[str, float]:
        """By column, the scale of its first count: of shapes, from which bounds are inferred."""
        return {name: scales[0] for name, scales in self._scales.items()}

    @property
    def noise(self) -> dict[str, float]:
        """By column, the least scale at which its values were counted alone."""
        return {name: min(scales) for name, scales in self._scales.items()}

    @property
    def _scales(self) -> dict[str, list[float]]:
        """By column, the scales at which its values were counted alone, first things first."""
        scales: dict[str, list[float]] = {}
        for entry in self.release.certificate.entries:
            request = entry.request
            alone = [clique[0] for clique in request.get("cliques", ()) if len(clique) == 1]
            counted = request.get("columns", ()) if request["door"] == "values" else ()
            for name in (*alone, *counted):
                scales.setdefault(name, []).append(entry.event.scale)
        return scales


def with_engines(engines: Iterable[str] = ENGINES):
    """Run a test on the releases of these engines."""
    cases = [pytest.param(engine, marks=_MARKS.get(engine, ())) for engine in engines]
    return pytest.mark.parametrize("released", cases, indirect=True)


def with_columns(names: Iterable[str]):
    """Run a test for each engine and column."""
    names = tuple(names)
    cases = [
        pytest.param(engine, name, marks=_MARKS.get(engine, ()))
        for engine in ENGINES
        for name in names
    ]
    return pytest.mark.parametrize(("released", "name"), cases, indirect=["released"])


def held_by(engine: str, backend: object, table: pd.DataFrame, folder: Path) -> object:
    """The table as an engine holds it: a path, a data frame, or a table of a database."""
    if engine == "csv":
        return write_csv(table, folder / "messy.csv")
    if engine == "pandas":
        return as_pandas(table)
    return load(backend, as_arrow(table), "messy")


def saved(release: Release, folder: Path, delimiter: str = ",") -> tuple[Path, pd.DataFrame]:
    """Save a release; return its folder, and the cells of its CSV file as text."""
    release.save(folder)
    path = folder / "synthetic.csv"
    return folder, pd.read_csv(path, sep=delimiter, dtype=str, keep_default_na=False)
