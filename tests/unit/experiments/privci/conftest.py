"""Tables with the paper's columns, and rows that are invented."""

import gzip

import numpy as np
import pytest

from understudy.experiments.privci.coding import Cut
from understudy.experiments.privci.folds import folds_of
from understudy.experiments.privci.tables import TABLES

ROWS = 400


def cell(coding, code):
    """A cell of a file that has this code."""
    if isinstance(coding, Cut):
        edges = (coding.edges[0] - 1, *coding.edges)
        return str(edges[code])
    return "" if code == len(coding.values) else coding.values[code]


@pytest.fixture(scope="session")
def invented(tmp_path_factory):
    """A folder of all five tables; the outcome follows the first admissible and last column."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(5)
    for table in TABLES:
        codes = {name: rng.integers(0, size, ROWS) for name, size in table.sizes.items()}
        follows = (table.admissible[0], table.columns[-1])
        high = [codes[name] / (table.sizes[name] - 1) for name in follows]
        codes[table.outcome] = (sum(high) + rng.normal(0, 0.2, ROWS) > 1).astype(int)
        names = [table.renamed.get(name, name) for name in table.columns]
        lines = [",".join(["unused", *names])]
        for row in range(ROWS):
            cells = [cell(table.codings[name], codes[name][row]) for name in table.columns]
            lines.append(",".join(["0", *cells]))
        with gzip.open(folder / table.file, "wt") as file:
            file.write("\n".join(lines) + "\n")
    yield folder
    folds_of.cache_clear()
