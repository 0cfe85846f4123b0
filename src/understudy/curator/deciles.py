"""How far rows stand out, in tenths: where a tenth ends is read off rows that are not judged."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.curator.space import Space, outlier_scores
from understudy.curator.tables import Rows, Tables

DECILES = 10

Tenths = NDArray[np.int64]


def deciles(scores: NDArray[Any], guide: NDArray[Any]) -> Tenths:
    """By score, its decile among those of the guide: 1 the least … 10 the most."""
    if not len(guide):
        return np.ones(len(scores), np.int64)
    edges = np.quantile(guide, np.arange(1, DECILES) / DECILES)
    return np.searchsorted(edges, scores).astype(np.int64) + 1


def deciles_by_distance(
    tables: Tables, guide: Rows, rows: Rows, most: int, rng: np.random.Generator
) -> Tenths:
    """By row, how far it is from the nearest of at most so many rows of the guide.

    No row may be in both: each would be its own nearest.
    """
    space = Space.of(tables, guide)
    known = space.points(guide)
    known = known[rng.permutation(len(known))[:most]]
    return deciles(outlier_scores(known, space.points(rows)), outlier_scores(known))
