"""Adult in twelve columns that are cut at public edges, as several experiments have it."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.curator.source import read_rows
from understudy.errors import BadInput

Codes = Mapping[str, NDArray[np.int64]]
ROWS_FILE, DOMAIN_FILE = "adult_encoded.csv.gz", "adult_encoded.domain.json"
ADULT_TARGET = "income>50K"
DROPPED = ("fnlwgt", "native-country")
EDGES = {
    "age": (8, 13, 18, 23, 28, 33, 43),  # up to 24, 29, 34, 39, 44, 49, 59 years
    "education-num": (7, 8, 9, 11, 12),  # none, high school, some college, associate, bachelor
    "capital-gain": (0,),
    "capital-loss": (0,),
    "hours-per-week": (33, 38, 39, 48),  # up to 34, 39, 40, 49 hours
}
"""The last code of every interval but the last. All public: round ages and hours, school degrees,
and whether there was any capital gain or loss. Codes are years less 16 and hours less 1."""
_TEST_SHARE = 0.2


@lru_cache(maxsize=1)
def adult_codes(data: Path) -> tuple[Codes, Mapping[str, int]]:
    """Adult in whole-number codes, cut coarser, and how many codes each column has."""
    path, domain = data / ROWS_FILE, data / DOMAIN_FILE
    if not (path.is_file() and domain.is_file()):
        msg = f"{data} lacks {path.name} and {domain.name}: give their folder with --data."
        raise BadInput(msg)
    rows = read_rows(str(path))
    sizes = json.loads(domain.read_text("utf-8"))
    table = {}
    for name in rows.column_names:
        if name not in DROPPED:
            codes = rows[name].to_numpy().astype(np.int64)
            edges = EDGES.get(name)
            table[name] = codes if edges is None else np.searchsorted(edges, codes)
            sizes[name] = int(sizes[name]) if edges is None else len(edges) + 1
    return table, {name: sizes[name] for name in table}


def split_by_class(table: Codes, seed: int) -> tuple[Codes, Codes]:
    """A fifth of the rows of each class is for the test."""
    rng = np.random.default_rng(seed)
    target = table[ADULT_TARGET]
    tested = np.zeros(len(target), bool)
    for code in np.unique(target):
        rows = rng.permutation(np.flatnonzero(target == code))
        tested[rows[: round(_TEST_SHARE * len(rows))]] = True
    return (
        {name: codes[~tested] for name, codes in table.items()},
        {name: codes[tested] for name, codes in table.items()},
    )
