"""Many small tables added up to one over all their columns, and summed back onto each of them.

Adding each small table to the large one, and summing the large one onto each, reads the large one
once per small table. Here small tables are joined in pairs first, those with the smallest joint
table before others, so that few steps reach the full size. Sums go the same way back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.model.marginals import axes_of, spread_shape, summed_onto

Table = NDArray[np.float64]


@dataclass(frozen=True)
class _Join:
    """Two tables, named by their places, and how each lies in their joint one."""

    parts: tuple[int, int]
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    axes: tuple[list[int], list[int]]


class Gathering:
    """The way from tables over some cliques to one over a clique that holds them, and back."""

    def __init__(self, domain: Domain, clique: Clique, cliques: Sequence[Clique]) -> None:
        self._shape = domain.shape(clique)
        self._parts = len(cliques)
        self._joins: list[_Join] = []
        tables = list(cliques)
        waiting = dict.fromkeys(range(len(tables)))
        sizes = domain.sizes

        def cost(a: int, b: int) -> tuple[int, int, int]:
            return prod(sizes[name] for name in {*tables[a], *tables[b]}), a, b

        costs = [cost(a, b) for a, b in combinations(waiting, 2)]
        heapify(costs)
        while len(waiting) > 1:
            _, a, b = heappop(costs)
            if a not in waiting or b not in waiting:
                continue
            joint = domain.canonical(tuple({*tables[a], *tables[b]}))
            shapes = (
                spread_shape(domain, tables[a], joint),
                spread_shape(domain, tables[b], joint),
            )
            axes = (axes_of(tables[a], joint), axes_of(tables[b], joint))
            self._joins.append(_Join((a, b), shapes, axes))
            del waiting[a], waiting[b]
            tables.append(joint)
            for other in waiting:
                heappush(costs, cost(other, len(tables) - 1))
            waiting[len(tables) - 1] = None
        last = tables[-1] if tables else ()
        self._spread = spread_shape(domain, last, clique)
        self._axes = axes_of(last, clique)

    def added(self, parts: Sequence[Table]) -> Table:
        """A new table over the whole clique: the sum of all parts."""
        tables = list(parts)
        for join in self._joins:
            a, b = (
                tables[k].reshape(shape) for k, shape in zip(join.parts, join.shapes, strict=True)
            )
            tables.append(a + b)
        if not tables:
            return np.zeros(self._shape)
        last = tables[-1].reshape(self._spread)
        if last.shape == self._shape and self._joins:
            return last
        return np.array(np.broadcast_to(last, self._shape))

    def summed(self, whole: Table) -> list[Table]:
        """The sums of a table over the whole clique, onto each part."""
        tables: list[Table | None] = [None] * (self._parts + len(self._joins))
        if tables:
            tables[-1] = summed_onto(self._axes, whole)
        for place in reversed(range(len(self._joins))):
            join, joint = self._joins[place], tables.pop()
            for k, axes in zip(join.parts, join.axes, strict=True):
                tables[k] = summed_onto(axes, joint)  # type: ignore[arg-type]
        return tables  # type: ignore[return-value]
