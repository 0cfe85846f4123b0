"""The tree that exact inference runs on: which cliques it joins, and how large they are.

Nothing is allocated here: a model that would not fit is refused by the sizes alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from math import prod

from understudy.domain import Clique, Domain
from understudy.errors import BadInput


@dataclass(frozen=True)
class JunctionTree:
    """Cliques that form a tree; columns two of them share lie in every clique between them.

    Parents stand before their children. Parts that share no column hang together by an empty
    separator, so that a forest is a tree as well.

    >>> tree = JunctionTree.of(Domain.of({"a": 2, "b": 3, "c": 4}), [("a", "b"), ("b", "c")])
    >>> tree.cliques, tree.separators, tree.cells
    ((('b', 'c'), ('a', 'b')), ((), ('b',)), 18)
    """

    domain: Domain
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]
    """The place of each clique's parent; the first has none (-1)."""

    @classmethod
    def of(cls, domain: Domain, cliques: Iterable[Clique]) -> "JunctionTree":
        """A tree in which each of these cliques lies in one of its own; every column is there."""
        return cls(domain, *_hung(joined_cliques(domain, cliques)))

    @cached_property
    def separators(self) -> tuple[Clique, ...]:
        """The columns that each clique shares with its parent; the first shares none."""
        return tuple(
            tuple(name for name in clique if parent >= 0 and name in self.cliques[parent])
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    @cached_property
    def _sets(self) -> tuple[frozenset[str], ...]:
        return tuple(map(frozenset, self.cliques))

    @cached_property
    def cells(self) -> int:
        """How many numbers one array for each clique takes."""
        return sum(self.domain.size(clique) for clique in self.cliques)

    @cached_property
    def columns_below(self) -> tuple[frozenset[str], ...]:
        """The columns of each clique and of all that hang from it."""
        below = [set(clique) for clique in self.cliques]
        for place in reversed(range(1, len(below))):
            below[self.parents[place]] |= below[place]
        return tuple(frozenset(columns) for columns in below)

    def home(self, clique: Clique) -> int | None:
        """The place of the smallest clique that holds all these columns, if one does."""
        wanted = set(clique)
        places = [place for place, held in enumerate(self._sets) if wanted <= held]
        return min(places, key=lambda place: self.domain.size(self.cliques[place]), default=None)

    def home_of(self, clique: Clique) -> int:
        """The same, of a clique that the tree was made for."""
        home = self.home(clique)
        if home is None:
            msg = f"The tree holds ({', '.join(clique)}) in no single clique."
            raise BadInput(msg)
        return home


def joined_cliques(
    domain: Domain, cliques: Iterable[Clique], *, most_work: int | None = None
) -> list[Clique]:
    """The largest cliques after triangulation, in the domain's order of columns.

    Columns are removed one by one, each time the one that ties the fewest of its neighbours
    anew (min-fill), and of these the one with the smallest clique.

    With `most_work`, stop with `BadInput` once more neighbours were looked at: the search takes
    long where many columns are tied, however few codes they have.
    """
    names, sizes = domain.names, [attribute.size for attribute in domain]
    place = {name: k for k, name in enumerate(names)}
    near = [0] * len(names)  # neighbours as bits
    for clique in cliques:
        domain.check(clique)
        bits = sum(1 << place[name] for name in clique)
        for name in clique:
            near[place[name]] |= bits & ~(1 << place[name])
    left, found = set(range(len(names))), list[int]()
    price = {k: _price(k, near, sizes) for k in left}
    cheapest = [(*price[k], k) for k in left]
    heapify(cheapest)
    work = 0
    while left:
        *paid, gone = heappop(cheapest)
        if gone not in left or tuple(paid) != price[gone]:
            continue  # its price has changed since
        around = near[gone]
        clique_bits = around | 1 << gone
        if not any(clique_bits & ~other == 0 for other in found):
            found.append(clique_bits)
        left.remove(gone)
        tied = price[gone][0] > 0
        changed = set(_places(around))
        for k in _places(around):
            near[k] = (near[k] | around) & ~(1 << k) & ~(1 << gone)
            if tied:
                changed |= set(_places(near[k]))
        work += sum(near[k].bit_count() for k in changed)
        if most_work is not None and work > most_work:
            msg = "The factors tie so many columns that no tree of them can be found in time."
            raise BadInput(msg)
        for k in changed:
            price[k] = _price(k, near, sizes)
            heappush(cheapest, (*price[k], k))
    return [tuple(names[k] for k in _places(bits)) for bits in found]


def _price(column: int, near: Sequence[int], sizes: Sequence[int]) -> tuple[int, int]:
    """Twice the ties that removing a column adds, and the cells of the clique it leaves."""
    around = near[column]
    members = _places(around)
    ties = sum((around & ~near[k]).bit_count() - 1 for k in members)
    return ties, sizes[column] * prod(sizes[k] for k in members)


def _places(bits: int) -> list[int]:
    places = []
    while bits:
        lowest = bits & -bits
        places.append(lowest.bit_length() - 1)
        bits ^= lowest
    return places


def _hung(cliques: Sequence[Clique]) -> tuple[tuple[Clique, ...], tuple[int, ...]]:
    """Cliques as a tree that shares as much as it can (Prim), parents first."""
    sets = [set(clique) for clique in cliques]
    shared = [0] * len(cliques)
    above = [-1] * len(cliques)
    waiting = set(range(len(cliques)))
    order, parents, placed = list[int](), list[int](), dict[int, int]()
    while waiting:
        # From the last on: what was joined last lies in the middle.
        nearest = max(waiting, key=lambda k: (shared[k], k))
        waiting.remove(nearest)
        placed[nearest] = len(order)
        order.append(nearest)
        parents.append(placed[above[nearest]] if above[nearest] >= 0 else -1)
        for k in waiting:
            common = len(sets[k] & sets[nearest])
            if above[k] < 0 or common > shared[k]:
                shared[k], above[k] = common, nearest
    return tuple(cliques[k] for k in order), tuple(parents)
