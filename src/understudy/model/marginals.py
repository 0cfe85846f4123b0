"""Exact marginals of a product of potentials, by messages along a junction tree.

Potentials are logarithms; -inf is impossible. On the way to the root each clique is scaled by its
largest number for every cell of its separator, so that nothing underflows that could matter later;
on the way back only plain numbers are multiplied. Each cell takes one exponential.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import BadInput
from understudy.model.junction_tree import JunctionTree

Table = NDArray[np.float64]
_einsum: Any = np.einsum  # whose types know the form with letters alone


_NEGLIGIBLE = -300.0
"""The logarithm of a share, given the separator, that counts as none."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The marginal of each clique of a tree, and the logarithm of what all cells add up to."""

    tree: JunctionTree
    tables: tuple[Table, ...]
    log_total: float

    def marginal(self, clique: Clique) -> Table:
        """The marginal of any columns, its axes in the clique's order."""
        domain = self.tree.domain
        wanted = domain.canonical(clique)
        home = self.tree.home(wanted)
        if home is None:
            table = self._across(wanted)
        else:
            held = self.tree.cliques[home]
            table = summed_onto(axes_of(wanted, held), self.tables[home])
        return table.transpose([wanted.index(name) for name in clique])

    def _across(self, wanted: Clique) -> Table:
        """The marginal of columns that no clique holds together: messages that carry them."""
        tree, below = self.tree, self.tree.columns_below
        names = set(wanted)
        top = max(place for place, columns in enumerate(below) if names <= columns)
        carried: dict[int, list[tuple[Clique, Table]]] = {}
        for place in reversed(range(top, len(tree.cliques))):
            separator = set(tree.separators[place])
            if place != top and not (below[place] - separator) & names:
                continue  # it has nothing to tell: its message is 1
            told = carried.pop(place, [])
            kept = names if place == top else names | separator
            message = self._part(place, kept.union(*(columns for columns, _ in told)))
            if place != top:
                message = _given(message, tree.separators[place])
            while told:
                other = told.pop()
                message = _joined(message, other, kept.union(*(columns for columns, _ in told)))
            if place == top:
                columns, table = message
                return table.transpose([columns.index(name) for name in wanted])
            carried.setdefault(tree.parents[place], []).append(message)
        raise AssertionError(wanted)  # the loop ends at the top

    def _part(self, place: int, kept: set[str]) -> tuple[Clique, Table]:
        """One clique's marginal of the columns that matter."""
        held = self.tree.cliques[place]
        columns = tuple(name for name in held if name in kept)
        return columns, summed_onto(axes_of(columns, held), self.tables[place])


class Inference:
    """Message passing along one tree."""

    def __init__(self, tree: JunctionTree) -> None:
        self.tree = tree
        links = list(zip(tree.cliques, tree.separators, strict=True))
        above = [tree.cliques[parent] if parent >= 0 else () for parent in tree.parents]
        self._up = [axes_of(separator, held) for held, separator in links]
        self._rest = [
            tuple(axis for axis, name in enumerate(held) if name not in separator)
            for held, separator in links
        ]
        self._down = [axes_of(s, held) for s, held in zip(tree.separators, above, strict=True)]
        self._into_child = [spread_shape(tree.domain, s, held) for held, s in links]
        self._into_parent = [
            spread_shape(tree.domain, s, held)
            for s, held in zip(tree.separators, above, strict=True)
        ]

    def beliefs(self, potentials: Sequence[Table]) -> Beliefs:
        """The marginals under potentials (logarithms), one for each clique of the tree.

        The potentials are overwritten: a model near its limit of memory has no room for two.
        """
        tree, tables = self.tree, list(potentials)
        sums: list[Table] = []
        for place in reversed(range(len(tables))):
            # Towards the root: each clique given its separator, and what all of it adds up to.
            message, summed = self._towards_root(place, tables[place])
            sums.append(summed)
            if place:
                tables[tree.parents[place]] += message.reshape(self._into_parent[place])
        log_total = float(message)
        if log_total == -np.inf:
            msg = "No row is possible: the structural zeros exclude every combination of codes."
            raise BadInput(msg)
        for place, table in enumerate(tables):
            parent = tables[tree.parents[place]]
            told = summed_onto(self._down[place], parent) if place else np.ones(())
            np.multiply(table, ratio(told, sums.pop()).reshape(self._into_child[place]), out=table)
        return Beliefs(tree, tuple(tables), log_total)

    def _towards_root(self, place: int, table: Table) -> tuple[Table, Table]:
        """Turn logarithms into numbers of which each separator cell's largest is 1.

        Returns the logarithm of their sums over the rest, and the sums of the numbers.
        """
        top = table.max(axis=self._rest[place], keepdims=True)
        top[top == -np.inf] = 0.0
        table -= top
        if table.min() < _NEGLIGIBLE:
            # Beyond it products become so small that processors take a hundred times as long.
            table[table < _NEGLIGIBLE] = -np.inf
        np.exp(table, out=table)
        summed = np.asarray(summed_onto(self._up[place], table))
        with np.errstate(divide="ignore"):
            return np.log(summed) + top.reshape(summed.shape), summed


def axes_of(kept: Iterable[str], held: Clique) -> list[int]:
    """The axes of a clique's table that some columns have, in the table's order."""
    names = set(kept)
    return [axis for axis, name in enumerate(held) if name in names]


def summed_onto(axes: list[int], table: Table) -> Table:
    """A table summed over all other axes; twice as fast as `sum` where those lie apart."""
    summed: Table = _einsum(table, list(range(table.ndim)), axes)
    return summed


def spread_shape(domain: Domain, columns: Clique, over: Clique) -> tuple[int, ...]:
    """The shape in which a table of some columns multiplies one of more columns."""
    return tuple(domain.sizes[name] if name in columns else 1 for name in over)


def ratio(table: Table, other: Table) -> Table:
    """A quotient in which 0 / 0 is 0."""
    return np.divide(table, other, out=np.zeros_like(table), where=other > 0)


def _given(joint: tuple[Clique, Table], given: Clique) -> tuple[Clique, Table]:
    """A joint table as a conditional one."""
    columns, table = joint
    rest = tuple(axis for axis, name in enumerate(columns) if name not in given)
    summed = table.sum(axis=rest, keepdims=True)
    return columns, ratio(table, np.broadcast_to(summed, table.shape))


def _joined(
    one: tuple[Clique, Table], other: tuple[Clique, Table], kept: set[str]
) -> tuple[Clique, Table]:
    """The product of two tables, summed over columns that nobody needs any more."""
    names = list(dict.fromkeys((*one[0], *other[0])))
    columns = tuple(name for name in names if name in kept)
    places = [[names.index(name) for name in clique] for clique in (one[0], other[0], columns)]
    return columns, _einsum(one[1], places[0], other[1], places[1], places[2], optimize=True)
