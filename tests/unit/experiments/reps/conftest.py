"""The paper's three stored tables, with rows that are invented."""

import gzip

import numpy as np
import pytest

from understudy.experiments.reps import tables
from understudy.experiments.reps.split import split_of
from understudy.experiments.reps.tables import BANDS, TABLES

ROWS = 300


def cells(column, rng):
    """Cells of a file; numbers now and then lie beyond their bounds."""
    if column.name in BANDS:
        return rng.normal(BANDS[column.name][1], 0.02, ROWS)
    if not column.kind.numeric:
        return rng.choice(column.categories, ROWS)
    low, high = (float(end) for end in column.bounds)
    numbers = rng.normal((low + high) / 2, (high - low) / 5, ROWS)
    if column.atoms:
        numbers = np.where(rng.random(ROWS) < 0.8, 0, numbers)
    return numbers.round() if column.kind == "integer" else numbers


@pytest.fixture(scope="session")
def invented(tmp_path_factory):
    """A folder of them; the class follows the first number. Adult has a row that is not known."""
    folder = tmp_path_factory.mktemp("tables")
    for table in TABLES[1:]:
        rng = np.random.default_rng(5)
        columns = {column.name: cells(column, rng) for column in table.schema}
        first = columns[table.numbers[0]]
        classes = np.array(table.schema[table.target].categories)
        high = first + rng.normal(0, first.std() / 3, ROWS) > np.median(first)
        columns[table.target] = classes[high.astype(int)]
        if table.name == "adult":
            columns["occupation"] = columns["occupation"].astype(object)
            columns["occupation"][0] = "?"
        lines = [",".join(columns)]
        lines += [",".join(str(column[row]) for column in columns.values()) for row in range(ROWS)]
        with gzip.open(folder / table.file, "wt") as file:
            file.write("\n".join(lines) + "\n")
    yield folder
    split_of.cache_clear()
    tables._read.cache_clear()


@pytest.fixture
def small(monkeypatch):
    """A simulated table of few rows."""
    split_of.cache_clear()
    monkeypatch.setattr(tables, "ROWS", 700)
    monkeypatch.setattr(tables, "OUTLIERS", 14)
    yield
    split_of.cache_clear()
