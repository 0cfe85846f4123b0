"""The tables of the PRISM paper's appendix C: invented ones, and Adult.

What the text leaves open is chosen here, and said in the results: η has a standard deviation of
0.5, and the marginal shift makes A and B 0, 1 and 2 with shares of 1/6, 2/6 and 3/6.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.curator.source import read_rows
from understudy.dag import Dag
from understudy.errors import BadInput

Codes = Mapping[str, NDArray[np.int64]]
TARGET, CAUSES = "Y", ("A", "B")
CHILDREN = tuple(f"S{place}" for place in range(1, 11))
NOISE = tuple(f"N{place}" for place in range(1, 11))
GRAPH = Dag([(cause, TARGET) for cause in CAUSES] + [(TARGET, child) for child in CHILDREN])
WRONG_GRAPH = Dag([(name, TARGET) for name in NOISE[:2]] + [("A", "S1"), ("B", "S1")])
"""It takes two columns that say nothing for the causes, and the causes for something else."""
SCM_SIZES = {
    TARGET: 2,
    **dict.fromkeys(CAUSES, 3),
    **dict.fromkeys(CHILDREN, 2),
    **dict.fromkeys(NOISE, 4),
}
_SCM_ROWS = 5000
_HIGHER = (1 / 6, 2 / 6, 3 / 6)

STRONG, FEATURES = 4, 20
WINS_SIZES = {TARGET: 2, **{f"X{place}": 2 for place in range(1, FEATURES + 1)}}
_WINS_TEST = 2000

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


@dataclass(frozen=True)
class Benchmark:
    """A table that is split, or invented, anew for every repetition."""

    name: str
    target: str
    sizes: Mapping[str, int]
    make: Callable[[int], tuple[Codes, Codes]]
    """By repetition: rows to learn from, rows to test on."""
    graph: Dag | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """All columns but the target."""
        return tuple(name for name in self.sizes if name != self.target)


def spurious_shift() -> Benchmark:
    """Children of the target follow it in the rows at hand, and no longer in the test."""
    return Benchmark(
        "spurious shift",
        TARGET,
        SCM_SIZES,
        lambda seed: (_scm(seed, flip=0.1), _scm(seed, flip=0.5, test=True)),
        GRAPH,
    )


def marginal_shift() -> Benchmark:
    """Causes are more often high in the test; children follow the target as before."""
    return Benchmark(
        "marginal shift",
        TARGET,
        SCM_SIZES,
        lambda seed: (_scm(seed, flip=0.15), _scm(seed, flip=0.15, test=True, shares=_HIGHER)),
        GRAPH,
    )


def allocation_wins(rows: int = 400) -> Benchmark:
    """Twenty features that are independent given the target, four of which say much."""
    return Benchmark(
        "allocation wins",
        TARGET,
        WINS_SIZES,
        lambda seed: (_wins(rows, seed, 0), _wins(_WINS_TEST, seed, 1)),
    )


def adult(data: Path) -> Benchmark:
    """Adult, 12 columns that are cut at public edges."""
    table, sizes = adult_codes(data)
    return Benchmark("Adult", ADULT_TARGET, sizes, lambda seed: _split(table, seed))


@lru_cache(maxsize=1)
def adult_codes(data: Path) -> tuple[Codes, Mapping[str, int]]:
    """Adult in whole-number codes, cut coarser, and how many codes each column has."""
    path, domain = data / "adult_encoded.csv.gz", data / "adult_encoded.domain.json"
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


def _scm(
    seed: int,
    *,
    flip: float,
    test: bool = False,
    shares: tuple[float, ...] | None = None,
) -> Codes:
    """Two causes, a target, ten children of it, and ten columns that say nothing."""
    rng = np.random.default_rng([seed, int(test)])
    a, b = (rng.choice(3, _SCM_ROWS, p=shares) for _ in CAUSES)
    push = 0.9 * (a - 1) + 0.9 * (b - 1) + rng.normal(0, 0.5, _SCM_ROWS)
    y = (rng.random(_SCM_ROWS) < 1 / (1 + np.exp(-push))).astype(np.int64)
    children = {name: y ^ (rng.random(_SCM_ROWS) < flip) for name in CHILDREN}
    noise = {name: rng.integers(0, 4, _SCM_ROWS) for name in NOISE}
    return {TARGET: y, "A": a, "B": b, **children, **noise}


def _wins(rows: int, seed: int, part: int) -> Codes:
    rng = np.random.default_rng([seed, part])
    y = rng.integers(0, 2, rows)
    found = {TARGET: y}
    for place, name in enumerate(list(WINS_SIZES)[1:]):
        apart = 0.4 if place < STRONG else 0.05
        found[name] = (rng.random(rows) < 0.5 + apart * (2 * y - 1)).astype(np.int64)
    return found


def _split(table: Codes, seed: int) -> tuple[Codes, Codes]:
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
