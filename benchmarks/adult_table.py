"""Adult in whole-number codes, as the benchmarks use it: 14 columns, or 12 that are cut coarser."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

DROPPED = ["fnlwgt", "native-country"]
# The last code of every interval but the last. All public: round ages and hours, school degrees,
# and whether there was any capital gain or loss. Codes are years less 16 and hours less 1.
EDGES = {
    "age": [8, 13, 18, 23, 28, 33, 43],  # up to 24, 29, 34, 39, 44, 49, 59 years
    "education-num": [7, 8, 9, 11, 12],  # none, high school, some college, associate, bachelor
    "capital-gain": [0],
    "capital-loss": [0],
    "hours-per-week": [33, 38, 39, 48],  # up to 34, 39, 40, 49 hours
}


def adult(data: Path, name: str) -> tuple[pd.DataFrame, Mapping[str, int]]:
    """The table, and how many codes each column has."""
    table = pd.read_csv(data / "adult_encoded.csv.gz")
    sizes = json.loads((data / "adult_encoded.domain.json").read_text())
    if name == "adult12":
        table = table.drop(columns=DROPPED)
        for column, edges in EDGES.items():
            table[column] = np.searchsorted(edges, table[column])
            sizes[column] = len(edges) + 1
    elif name != "adult14":
        sys.exit(f"There is no table {name!r}; there are adult12 and adult14.")
    return table, {column: int(sizes[column]) for column in table}
