"""Labels drawn by their chances, and yet as common among rows of a kind as chances say.

Drawn by themselves, labels scatter: of a hundred rows with a chance of a half, ten more or fewer
than fifty may have the label. A reader's model learns that scatter too. Here rows are drawn in
small blocks, and where earlier blocks gave the rows with some code too many of a label, it becomes
a little less likely for later ones. A row's chance stays about what it was, on average over draws
(of few rows, rare labels come a little more often); the sums that models learn from come out nearly
exact. It looks at nothing but chances and codes that were drawn already, so it is free.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Codes = NDArray[np.unsignedinteger]
_BLOCKS, _LEAST_ROWS = 200, 20
_MOST_CELLS, _MOST_TABLES, _MOST_SURPLUS = 400, 128, 2**24
"""Pairs of columns with more combinations are left out, and the largest of too many.

They are too many as well where all combinations, times the classes, would take far more memory.
"""
_FARTHEST = 1.0
"""Logits are moved by no more."""
_LEAST_VARIANCE = 0.5
_STILL_POSSIBLE = 1e-300


class _Kinds:
    """Which rows are alike: in the code of a column, or in those of a pair."""

    def __init__(self, columns: Sequence[Codes], sizes: Sequence[int], classes: int) -> None:
        self._columns = columns
        places = range(len(columns))
        pairs = [p for p in combinations(places, 2) if sizes[p[0]] * sizes[p[1]] <= _MOST_CELLS]
        pairs.sort(key=lambda pair: sizes[pair[0]] * sizes[pair[1]])
        most = max(_MOST_TABLES - len(columns), 0)
        self._pairs = pairs[: min(most, _MOST_SURPLUS // (_MOST_CELLS * classes))]
        self._sizes = sizes
        lengths = [*sizes, *(sizes[a] * sizes[b] for a, b in self._pairs)]
        self._starts = np.cumsum([0, *lengths[:-1]])
        self.number = sum(lengths)

    def of(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """By row, the numbers of its kinds."""
        single = [column[rows].astype(np.intp) for column in self._columns]
        pairs = [single[a] * self._sizes[b] + single[b] for a, b in self._pairs]
        found: NDArray[np.intp] = np.stack([*single, *pairs], axis=1) + self._starts
        return found


def balanced(
    columns: Sequence[Codes], sizes: Sequence[int], chances: Numbers, rng: np.random.Generator
) -> NDArray[np.intp]:
    """A class for each row, by its chances; columns and their sizes say which rows are alike."""
    rows, classes = chances.shape
    if not columns:
        return by_chance(chances, rng)
    drawn = np.zeros(rows, np.intp)
    kinds = _Kinds(columns, sizes, classes)
    surplus = np.zeros((kinds.number, classes))
    blocks = min(_BLOCKS, rows // _LEAST_ROWS + 1)
    for block in np.array_split(rng.permutation(rows), blocks):
        own, alike = chances[block], kinds.of(block)
        # How much a logit moves what rows of a kind expect.
        moves = np.maximum(_summed(alike, own * (1 - own), kinds.number), _LEAST_VARIANCE)
        excess = np.clip((surplus / moves)[alike].mean(axis=1), -_FARTHEST, _FARTHEST)
        drawn[block] = by_chance(own * np.exp(-excess) + _STILL_POSSIBLE * (own > 0), rng)
        off = -own
        off[np.arange(len(block)), drawn[block]] += 1.0
        surplus += _summed(alike, off, kinds.number)
    return drawn


def by_chance(chances: Numbers, rng: np.random.Generator) -> NDArray[np.intp]:
    """A class for each row, each row by itself; chances need not add up to 1."""
    ladder = np.cumsum(chances, axis=1)
    heights = rng.random(len(ladder)) * ladder[:, -1]
    steps = (ladder <= heights[:, None]).sum(axis=1)
    return np.asarray(np.minimum(steps, chances.shape[1] - 1), np.intp)


def _summed(alike: NDArray[np.intp], numbers: Numbers, kinds: int) -> Numbers:
    """By kind and class, the sum of rows' numbers."""
    each = alike.shape[1]
    return np.stack(
        [np.bincount(alike.ravel(), np.repeat(one, each), minlength=kinds) for one in numbers.T],
        axis=1,
    )
