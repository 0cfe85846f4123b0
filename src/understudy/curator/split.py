"""Splits that keep equal rows together, so that no test row has a twin in training."""

import numpy as np
from numpy.typing import NDArray

from understudy.curator.persons import Persons
from understudy.curator.tables import Rows, distinct, row_keys

TEST_SHARE = 0.3


def held_out(
    rows: Rows, rng: np.random.Generator, persons: Persons | None = None
) -> NDArray[np.bool_]:
    """Which rows to test on: about a third, and all of a row's twins with it.

    Where persons are known, all of a person's rows instead.
    """
    keys = row_keys([rows])[0] if persons is None else distinct(persons)
    groups = int(keys.max(initial=-1)) + 1
    sizes = np.bincount(keys, minlength=groups)
    order = rng.permutation(groups)
    # Groups are taken in random order until the next one would overfill the test rows.
    taken = np.cumsum(sizes[order]) <= max(1.0, TEST_SHARE * rows.count)
    chosen = np.zeros(groups, bool)
    chosen[order[taken]] = True
    return np.asarray(chosen[keys])
