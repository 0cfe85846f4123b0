"""The trees that each rule takes where there is no noise: what is to be gained at all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

from understudy.curator.coded_task import Codes
from understudy.domain import Clique
from understudy.experiments.privci.arms import EXHAUSTIVE, MST, PREFAIR, PRIVCI
from understudy.experiments.privci.measures import Counts, pair_counts, pairs_of, tree_score
from understudy.experiments.privci.tables import Table
from understudy.knowledge import Allowed, anything
from understudy.mechanisms.prefair import best_fair_tree, fair_edge
from understudy.separation import Separation, tied

Score = Callable[[Counts], float]
"""Of the counts of a pair of columns."""


@dataclass(frozen=True)
class Tree:
    """A tree of pairs of columns."""

    pairs: tuple[Clique, ...]
    q: float

    def beside(self, name: str) -> list[str]:
        """The columns that a column is tied to."""
        return [other for pair in self.pairs if name in pair for other in pair if other != name]


def noiseless(table: Table, rows: Codes, score: Score) -> dict[str, Tree]:
    """By arm, its tree of the rows themselves."""
    pairs = pairs_of(combinations(table.columns, 2))
    scores = {pair: score(pair_counts(rows, table.sizes, pair)) for pair in pairs}
    one, kept = table.independence, Separation([table.independence])
    fair = {pair: score for pair, score in scores.items() if fair_edge([one], pair)}
    found = {
        PRIVCI.name: _grown(scores, kept),
        PREFAIR.name: _grown(fair, kept),
        EXHAUSTIVE.name: best_fair_tree(one, scores),
        MST.name: _grown(scores, anything),
    }
    return {
        name: Tree(pairs_of(tree), tree_score(scores, pairs_of(tree)))
        for name, tree in found.items()
    }


def _grown(scores: Mapping[Clique, float], allowed: Allowed) -> list[Clique]:
    """Kruskal's tree: the best pair that makes no cycle and is allowed, again and again."""
    chosen: list[Clique] = []
    for pair in sorted(scores, key=lambda pair: -scores[pair]):
        part = tied(pair, chosen)
        if part[pair[0]] != part[pair[1]] and allowed([*chosen, pair]):
            chosen.append(pair)
    return chosen
