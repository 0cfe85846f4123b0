"""MST on mbi 2.0's estimator: python mst_mbi.py TRAIN.csv DOMAIN.json EPSILON DELTA OUT.csv.

The package has an estimator and no mechanism; MST is written here from McKenna, Miklau and Sheldon
(2021), in mbi's default precision and number of iterations. With --by-hand, the independent
marginals that pairs are compared with are multiplied in NumPy and not asked of mbi, which compiles
a program for each pair.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from common import Task, task
from mbi import Dataset, Domain, LinearMeasurement, MarkovRandomField, WeightedQuery, estimation

RARE = 3.0


def main() -> None:
    """Fit, draw and write."""
    told = task(__doc__)
    table = pd.read_csv(told.train)
    domain = Domain(list(told.sizes), list(told.sizes.values()))
    data = Dataset({name: table[name].to_numpy() for name in told.sizes}, domain)
    model, groups = _mst(data, told, np.random.default_rng())
    drawn = model.synthetic_data(rows=len(table)).decompress(groups)
    pd.DataFrame(drawn.to_dict())[list(told.sizes)].to_csv(told.out, index=False)


def _mst(
    data: Dataset, told: Task, rng: np.random.Generator
) -> tuple[MarkovRandomField, dict[str, np.ndarray]]:
    third, names = told.rho / 3, list(told.sizes)
    scale = (len(names) / (2 * third)) ** 0.5
    measured, groups = [], {}
    for name in names:
        noisy = _counted(data, (name,)) + rng.normal(0, scale, told.sizes[name])
        rare = noisy < RARE * scale
        if not rare.any():
            measured.append(LinearMeasurement(noisy, (name,), stddev=scale))
            continue
        # Rare codes become one, whose count has the noise of all of them.
        kept = int((~rare).sum())
        groups[name] = np.where(rare, kept, np.cumsum(~rare) - 1)
        weight = np.append(np.ones(kept), rare.sum() ** -0.5)
        merged = weight * np.append(noisy[~rare], noisy[rare].sum())
        measured.append(LinearMeasurement(merged, (name,), scale, WeightedQuery(weight)))
    data = data.compress(groups)
    single = estimation.MirrorDescent().estimate(data.domain, measured)
    tree = _tree(_distances(data, single, by_hand=told.by_hand), names, third, rng)
    scale = (len(tree) / (2 * third)) ** 0.5
    for pair in tree:
        counts = _counted(data, pair)
        noisy = counts + rng.normal(0, scale, len(counts))
        measured.append(LinearMeasurement(noisy, pair, stddev=scale))
    return estimation.MirrorDescent().estimate(data.domain, measured), groups


def _counted(data: Dataset, clique: tuple[str, ...]) -> np.ndarray:
    return np.asarray(data.project(clique).datavector(), np.float64)


def _distances(
    data: Dataset, single: MarkovRandomField, *, by_hand: bool
) -> dict[tuple[str, str], float]:
    """How far each pair is from independent."""
    names = data.domain.attributes
    alone = {name: np.asarray(single.project((name,)).datavector()) for name in names}
    distances = {}
    for a, b in combinations(names, 2):
        if by_hand:
            expected = np.outer(alone[a], alone[b] / alone[b].sum()).ravel()
        else:
            expected = np.asarray(single.project((a, b)).datavector())
        distances[a, b] = float(np.abs(_counted(data, (a, b)) - expected).sum())
    return distances


def _tree(
    distances: dict[tuple[str, str], float], names: list[str], rho: float, rng: np.random.Generator
) -> list[tuple[str, str]]:
    """A spanning tree, each pair drawn by the exponential mechanism (sensitivity 1)."""
    epsilon = (8 * rho / (len(names) - 1)) ** 0.5
    part = {name: name for name in names}
    tree: list[tuple[str, str]] = []
    while len(tree) < len(names) - 1:
        possible = [pair for pair in distances if part[pair[0]] != part[pair[1]]]
        scores = np.array([epsilon / 2 * distances[pair] for pair in possible])
        chosen = possible[int(np.argmax(scores + rng.gumbel(size=len(scores))))]
        tree.append(chosen)
        here, there = (part[name] for name in chosen)
        part = {name: here if group == there else group for name, group in part.items()}
    return tree


if __name__ == "__main__":
    main()
