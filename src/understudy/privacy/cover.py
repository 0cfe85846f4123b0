"""Counting many marginals in few passes.

The cost of counting is the pass over the rows. Six pairs of four columns can be read off one
count of the four together, so requested cliques are gathered into few larger ones, as long
as the larger one stays small enough to sit in a processor's cache.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique

MOST_AXES = 32
"""Columns of one marginal: arrays have no more axes everywhere."""


@dataclass(frozen=True)
class Pass:
    """One clique to count, and the requested cliques to sum out of it."""

    clique: Clique
    requested: tuple[Clique, ...]

    def marginals(self, joint: NDArray[np.int64]) -> dict[Clique, NDArray[np.int64]]:
        """The requested marginals of the counted one, axes in the pass's order."""
        summed = {
            clique: tuple(axis for axis, name in enumerate(self.clique) if name not in clique)
            for clique in self.requested
        }
        return {clique: np.asarray(joint.sum(axis=axes)) for clique, axes in summed.items()}


def cover(cliques: Iterable[Clique], sizes: Mapping[str, int], most_cells: int) -> list[Pass]:
    """Passes that hold every requested clique; each joins cliques up to `most_cells` cells.

    A clique that is larger by itself has a pass of its own. Greedy: start from the largest
    clique left, then add the column that completes most of the others.

    >>> sizes = {"a": 2, "b": 2, "c": 2}
    >>> [p.clique for p in cover([("a", "b"), ("b", "c"), ("a", "c")], sizes, most_cells=8)]
    [('a', 'b', 'c')]
    """
    wanted = sorted(set(cliques), key=lambda c: (-prod(sizes[n] for n in c), c))
    names = tuple(sizes)
    place = {name: k for k, name in enumerate(names)}
    width = np.asarray(list(sizes.values()), dtype=np.float64)
    holds = np.zeros((len(names), len(wanted)), dtype=bool)  # holds[column, clique]
    for column, clique in enumerate(wanted):
        holds[[place[name] for name in clique], column] = True

    passes = []
    length = holds.sum(axis=0, dtype=np.int32)
    left = np.ones(len(wanted), dtype=bool)
    while left.any():
        first = int(np.argmax(left))
        inside = holds[:, first].copy()
        lacking = length - holds[inside].sum(axis=0, dtype=np.int32)
        while True:
            nearly = np.flatnonzero(left & (lacking == 1))
            completed = holds[:, nearly].sum(axis=1) * ~inside
            fits = width * prod(width[inside]) <= most_cells
            fits &= inside.sum() < MOST_AXES
            gain = np.where(fits, completed / np.log2(width + 1), 0)
            best = int(np.argmax(gain))
            if gain[best] <= 0:
                break
            inside[best] = True
            lacking -= holds[best]
        held = left & (lacking == 0)
        left &= ~held
        clique = tuple(name for name, taken in zip(names, inside, strict=True) if taken)
        passes.append(Pass(clique, tuple(wanted[row] for row in np.flatnonzero(held))))
    return passes
