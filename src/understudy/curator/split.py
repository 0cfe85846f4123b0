"""Splits that keep rows that are alike together, so that no test row was seen in training."""

import hashlib

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from understudy.curator.tables import distinct

TEST_SHARE = 0.3
_LARGEST_GROUP = 0.05
"""Larger groups than this share of the rows are split row by row: whole, they would be all or
nothing of what there is to learn and to test."""
_TOGETHER = 8
"""So many equal rows stay together, where nothing may depend on how many rows there are."""


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


def left_to_chance(
    groups: NDArray[np.uint64], copies: NDArray[np.int64], salt: bytes, seed: int
) -> NDArray[np.bool_]:
    """Which rows to test on, each about three times of ten, decided by its own content alone.

    Another row more or less in the table leaves all others where they were: so what is made from
    the rest may be counted as if it were made from the table. Of equal rows, `copies` says the
    how-manieth each is: few stay together, and of many each further one is drawn for itself, for
    whole they would be all or nothing of what there is to learn and to test.
    """
    further = np.maximum(copies - _TOGETHER + 1, 0)
    pairs, places = np.unique(
        np.column_stack([groups, further.astype(np.uint64)]), axis=0, return_inverse=True
    )
    key = hashlib.blake2b(salt, digest_size=32).digest()
    bound = int(TEST_SHARE * 2**64)
    chosen = np.fromiter(
        (
            int.from_bytes(
                hashlib.blake2b(
                    pair.tobytes() + seed.to_bytes(8, "little"), digest_size=8, key=key
                ).digest(),
                "little",
            )
            < bound
            for pair in pairs
        ),
        bool,
        len(pairs),
    )
    return chosen[places.reshape(-1)]


def copies_before(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For each row, how many equal rows stand before it.

    >>> copies_before(np.array([7, 3, 7, 7], np.uint64)).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(keys) else order
    lengths = np.diff(np.r_[starts, len(keys)])
    found = np.empty(len(keys), np.int64)
    found[order] = np.arange(len(keys)) - np.repeat(starts, lengths)
    return found
