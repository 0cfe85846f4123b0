"""Adult in whole-number codes, as the benchmarks use it: 14 columns, or 12 that are cut coarser."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from understudy.experiments.adult import DROPPED, EDGES


def adult(data: Path, name: str) -> tuple[pd.DataFrame, Mapping[str, int]]:
    """The table, and how many codes each column has."""
    table = pd.read_csv(data / "adult_encoded.csv.gz")
    sizes = json.loads((data / "adult_encoded.domain.json").read_text())
    if name == "adult12":
        table = table.drop(columns=list(DROPPED))
        for column, edges in EDGES.items():
            table[column] = np.searchsorted(edges, table[column])
            sizes[column] = len(edges) + 1
    elif name != "adult14":
        sys.exit(f"There is no table {name!r}; there are adult12 and adult14.")
    return table, {column: int(sizes[column]) for column in table}
