"""Splits that keep rows that are alike together, so that no test row was seen in training."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from understudy.curator.tables import distinct

TEST_SHARE = 0.3
_LARGEST_GROUP = 0.05
"""Larger groups than this share of the rows are split row by row: whole, they would be all or
nothing of what there is to learn and to test."""


def held_out(groups: NDArray[np.int64], rng: np.random.Generator) -> tuple[NDArray[np.bool_], bool]:
    """Which rows to test on, three of ten, whole groups at a time; and whether all stayed whole."""
    places = distinct(groups)
    sizes = np.bincount(places, minlength=1)
    large = sizes > max(1.0, _LARGEST_GROUP * len(places))
    out = np.zeros(len(places), bool)
    for group in np.flatnonzero(large):
        rows = rng.permutation(np.flatnonzero(places == group))
        out[rows[: round(TEST_SHARE * len(rows))]] = True
    small = rng.permutation(np.flatnonzero(~large & (sizes > 0)))
    wanted = TEST_SHARE * sizes[small].sum()
    chosen = small[np.cumsum(sizes[small]) <= wanted + 0.5]
    return out | np.isin(places, chosen), not large.any()


def linked(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Groups of rows that share either number, directly or through other rows."""
    left, right = distinct(first), distinct(second)
    nodes = int(left.max(initial=-1)) + 1
    size = nodes + int(right.max(initial=-1)) + 1
    links = coo_array((np.ones(len(left), np.int8), (left, nodes + right)), (size, size))
    _, of_node = connected_components(links, directed=False)
    return np.asarray(of_node[left], np.int64)
