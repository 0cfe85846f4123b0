"""The tables of the PRISM paper's appendix C: invented ones, and Adult.

What the text leaves open is chosen here, and said in the results: η has a standard deviation of
0.5, and the marginal shift makes A and B 0, 1 and 2 with shares of 1/6, 2/6 and 3/6.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.dag import Dag
from understudy.experiments.adult import ADULT_TARGET, adult_codes, split_by_class

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
    return Benchmark("Adult", ADULT_TARGET, sizes, lambda seed: split_by_class(table, seed))


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
