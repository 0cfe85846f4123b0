"""The paper's five tables, with rows that are invented."""

import gzip

import numpy as np
import pytest

from understudy.experiments.lk2ss.real import rows_of
from understudy.experiments.lk2ss.tables import TABLES


def cells(column, count, rng):
    """Cells of a file; numbers now and then lie beyond their bounds."""
    if not column.kind.numeric:
        return rng.choice(column.categories, count)
    low, high = (float(end) for end in column.bounds)
    return rng.normal((low + high) / 2, (high - low) / 5, count)


@pytest.fixture(scope="session")
def invented(tmp_path_factory):
    """A folder of them; the target follows the first column, and a cell lacks."""
    folder = tmp_path_factory.mktemp("tables")
    for table in TABLES:
        rng, count = np.random.default_rng(5), table.used + 3
        columns = {column.name: cells(column, count, rng) for column in table.columns}
        columns[table.target] = columns[table.columns[0].name] + rng.normal(0, 0.1, count)
        names = [*reversed(columns), "unused"]
        lines = [",".join(names)]
        lines += [
            ",".join([*(str(columns[name][row]) for name in names[:-1]), "0"])
            for row in range(count)
        ]
        lines.append("," + lines[1].split(",", 1)[1])
        with gzip.open(folder / table.file, "wt") as file:
            file.write("\n".join(lines) + "\n")
    yield folder
    rows_of.cache_clear()
