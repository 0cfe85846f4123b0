"""A forest over the columns, drawn edge by edge: private Kruskal."""

from collections.abc import Sequence
from fractions import Fraction

from understudy.domain import Clique
from understudy.knowledge import Allowed
from understudy.privacy.ledger import Ledger
from understudy.privacy.scores import L1Distance


def private_forest(
    ledger: Ledger,
    edges: Sequence[L1Distance],
    *,
    rho: Fraction,
    allowed: Allowed,
    most_cells: float,
) -> list[Clique]:
    """Pairs of columns that form no cycle, each drawn by its score among those still possible.

    Together they have no more than so many cells. Ends early where no pair is left that joins two
    parts, fits and is allowed; what was not spent stays in the ledger.
    """
    size = ledger.domain.size
    columns = dict.fromkeys(name for edge in edges for name in edge.clique)
    part = {name: place for place, name in enumerate(columns)}
    rounds = max(len(part) - 1, 1)
    chosen: list[Clique] = []
    while True:
        possible = [
            edge
            for edge in edges
            if part[edge.clique[0]] != part[edge.clique[1]]
            and size(edge.clique) <= most_cells
            and allowed([*chosen, edge.clique])
        ]
        if not possible:
            return chosen
        best = possible[ledger.select(possible, rho=rho / rounds)]
        chosen.append(best.clique)
        most_cells -= size(best.clique)
        here, there = (part[name] for name in best.clique)
        part = {name: here if place == there else place for name, place in part.items()}
