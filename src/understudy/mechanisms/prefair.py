"""A fair tree: PreFair, after Pujol, Gilad and Machanavajjhala (2022), for comparison.

Greedy: an outcome is tied to admissible columns alone, whatever else would be fair; then MST.
Exhaustive: every pair is scored with noise, and the best of all fair trees is taken. Both
are as described, with two repairs: pairs that are not fair are all left out, and noise is what
the budget demands.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import product
from typing import ClassVar

from understudy.domain import Clique
from understudy.errors import BadInput, listed
from understudy.knowledge import Allowed, Independence
from understudy.mechanisms.mst import Mst
from understudy.mechanisms.privci import check_some
from understudy.privacy.ledger import Ledger
from understudy.privacy.scores import L1Distance
from understudy.select.tree import private_forest
from understudy.separation import Separation

MOST_FREE = 14
"""Columns in no role of which an exhaustive search tries both sides."""


class Search(StrEnum):
    """How a fair tree is found."""

    GREEDY = "greedy"
    """Pairs of an outcome with a column that is not admissible are left out beforehand."""
    EXHAUSTIVE = "exhaustive"
    """The fair tree with the largest sum of noisy scores, of all there are."""


@dataclass(frozen=True)
class PreFair(Mst):
    """The rival of PrivCI: fair by leaving pairs out, or the best fair tree by noisy scores."""

    search: Search = Search.GREEDY

    name: ClassVar[str] = "prefair"
    about: ClassVar[str] = "a tree that ties an outcome to given columns alone; to compare with"
    needs: ClassVar[str] = "an independence, with --independent"

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            object.__setattr__(self, "search", Search(self.search))
        except ValueError:
            msg = f"There is no search {self.search!r}. Known: {listed(Search)}."
            raise BadInput(msg) from None

    def check_independences(
        self, allowed: Separation, names: Sequence[str], target: str | None
    ) -> None:
        """Refuse to run without one, and a search that would take too long."""
        del target
        check_some(self.name, allowed)
        if self.search is Search.GREEDY:
            return
        one, *others = allowed.independences
        if others:
            msg = "An exhaustive search knows one independence; take privci for several."
            raise BadInput(msg)
        free = sum(name not in one.columns for name in names)
        if free > MOST_FREE:
            msg = (
                f"An exhaustive search tries both sides for {free} columns in no role, and at "
                f"most {MOST_FREE} are possible. Take the greedy one, or privci."
            )
            raise BadInput(msg)

    def tree(
        self,
        ledger: Ledger,
        edges: Sequence[L1Distance],
        *,
        rho: Fraction,
        allowed: Allowed,
        most_cells: float,
    ) -> list[Clique]:
        """Pairs that form a fair tree, for ρ at most."""
        stated = allowed.independences if isinstance(allowed, Separation) else ()
        if self.search is Search.GREEDY or not stated:
            fair = [edge for edge in edges if fair_edge(stated, edge.clique)]
            return private_forest(ledger, fair, rho=rho, allowed=allowed, most_cells=most_cells)
        (one,) = stated
        edges = [edge for edge in edges if allowed([edge.clique])]
        noisy = ledger.scores(edges, rho=rho).values if edges else ()
        scores = {edge.clique: float(score) for edge, score in zip(edges, noisy, strict=True)}
        kept: list[Clique] = []
        for pair in best_fair_tree(one, scores):  # the best pairs first, as far as there is room
            if ledger.domain.size(pair) <= most_cells:
                most_cells -= ledger.domain.size(pair)
                kept.append(pair)
        return kept


def fair_edge(independences: Sequence[Independence], pair: Clique) -> bool:
    """Whether PreFair keeps a pair: an outcome stands beside admissible columns alone."""
    return all(
        name not in one.outcome or other in one.given
        for one in independences
        for name, other in (pair, pair[::-1])
    )


def best_fair_tree(one: Independence, scores: Mapping[Clique, float]) -> list[Clique]:
    """The forest of pairs, no path in which joins the sides around the given, of largest score.

    Without the given columns a fair forest falls into parts that touch one side at most. So each
    free column can be put on one side, and pairs across the sides left out: over all ways to do
    that, the best spanning forest of the rest is the best fair one.
    """
    names = dict.fromkeys(name for pair in scores for name in pair)
    free = [name for name in names if name not in one.columns]
    ranked = sorted(scores, key=lambda pair: -scores[pair])
    best: tuple[int, float] = (-1, 0.0)
    found: list[Clique] = []
    for sides in product((False, True), repeat=len(free)):
        side = dict.fromkeys(one.outcome, False) | dict.fromkeys(one.protected, True)
        side |= dict(zip(free, sides, strict=True))
        tree = list(_spanning(ranked, side))
        worth = len(tree), sum(scores[pair] for pair in tree)
        if worth > best:
            best, found = worth, tree
    return found


def _spanning(ranked: Sequence[Clique], side: Mapping[str, bool]) -> Iterator[Clique]:
    """Kruskal's forest of pairs that do not cross the sides; given columns are on none."""
    part: dict[str, str] = {}

    def root(name: str) -> str:
        while name in part:
            name = part[name]
        return name

    for a, b in ranked:
        if a in side and b in side and side[a] != side[b]:
            continue
        here, there = root(a), root(b)
        if here != there:
            part[there] = here
            yield a, b
