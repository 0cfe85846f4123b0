"""Splits that keep rows that are alike together, so that no test row was seen in training."""

import numpy as np
from numpy.typing import NDArray

from understudy.curator.tables import distinct

TEST_SHARE = 0.3
_FEWEST_GROUPS = 50
_LARGEST_GROUP = 0.05
"""Larger groups than this share of the rows are always trained on."""


def held_out(groups: NDArray[np.int64], rng: np.random.Generator) -> tuple[NDArray[np.bool_], bool]:
    """Which rows to test on, about a third, whole groups at a time; and whether that worked.

    Where there are few different groups, or a few hold most rows, rows are held out one by one:
    whole groups would leave training without most of what there is to learn.
    """
    places = distinct(groups)
    sizes = np.bincount(places, minlength=1)
    small = np.flatnonzero(sizes <= max(1.0, _LARGEST_GROUP * len(places)))
    wanted = TEST_SHARE * len(places)
    if len(sizes) < min(_FEWEST_GROUPS, len(places)) or sizes[small].sum() < wanted:
        return rng.permutation(len(places)) < round(wanted), False
    order = rng.permutation(small)
    chosen = np.zeros(len(sizes), bool)
    chosen[order[np.cumsum(sizes[order]) <= max(1.0, wanted)]] = True
    return np.asarray(chosen[places]), True
