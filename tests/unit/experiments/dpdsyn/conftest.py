"""The paper's four tables, with rows that are invented."""

import gzip
import json

import numpy as np
import pytest

from understudy.experiments.adult import DOMAIN_FILE, ROWS_FILE, adult_codes
from understudy.experiments.dpdsyn.split import rows_of, split_of
from understudy.experiments.dpdsyn.tables import TABLES

ROWS = 300


def cells(column, rng):
    """Cells of a file; numbers now and then lie beyond their bounds."""
    if not column.kind.numeric:
        return rng.choice(column.categories, ROWS)
    low, high = (float(end) for end in column.bounds)
    numbers = rng.normal((low + high) / 2, (high - low) / 5, ROWS)
    return np.where(rng.random(ROWS) < 0.8, 0, numbers) if column.atoms else numbers


def encoded(folder):
    """Adult in codes: few columns, and a class that follows the first."""
    rng = np.random.default_rng(6)
    sizes = {"age": 85, "sex": 2, "income>50K": 2}
    age, sex = rng.integers(0, 85, ROWS), rng.integers(0, 2, ROWS)
    rows = np.column_stack([age, sex, age + rng.normal(0, 20, ROWS) > 50]).astype(int)
    lines = [",".join(sizes), *(",".join(map(str, row)) for row in rows)]
    with gzip.open(folder / ROWS_FILE, "wt") as file:
        file.write("\n".join(lines) + "\n")
    (folder / DOMAIN_FILE).write_text(json.dumps(sizes))


@pytest.fixture(scope="session")
def invented(tmp_path_factory):
    """A folder of them; the class follows the first column, and a tenth of rows repeat."""
    folder = tmp_path_factory.mktemp("tables")
    for table in TABLES:
        rng = np.random.default_rng(5)
        columns = {column.name: cells(column, rng) for column in table.columns}
        first = columns[table.columns[0].name]
        place = np.unique(first, return_inverse=True)[1] + rng.normal(0, 0.2, ROWS)
        classes = np.array(table.columns[-1].categories)
        columns[table.target] = classes[(place > np.median(place)).astype(int)]
        lines = [",".join([*columns, "unused"])]
        lines += [
            ",".join([*(str(column[row % 270]) for column in columns.values()), "0"])
            for row in range(ROWS)
        ]
        lines.append(",".join(["", *lines[1].split(",")[1:]]))  # a cell lacks
        with gzip.open(folder / table.file, "wt") as file:
            file.write("\n".join(lines) + "\n")
    encoded(folder)
    yield folder
    adult_codes.cache_clear()
    split_of.cache_clear()
    rows_of.cache_clear()
