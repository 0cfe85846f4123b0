"""A forest over the columns, drawn edge by edge: private Kruskal."""

from collections.abc import Sequence
from fractions import Fraction

from understudy.domain import Clique
from understudy.knowledge import Allowed
from understudy.privacy.ledger import Ledger
from understudy.privacy.scores import L1Distance
from understudy.separation import tied


def private_forest(  # noqa: PLR0913 - the last four by name
    ledger: Ledger,
    edges: Sequence[L1Distance],
    *,
    rho: Fraction,
    allowed: Allowed,
    most_cells: float,
    begun: Sequence[Clique] = (),
) -> list[Clique]:
    """Pairs of columns that form no cycle, each drawn by its score among those still possible.

    Together they have no more than so many cells. Marginals that the forest was `begun` with tie
    columns as well. Ends early where no pair is left that joins two parts, fits and is allowed;
    what was not spent stays in the ledger.
    """
    size = ledger.domain.size
    part = tied(dict.fromkeys(name for edge in edges for name in edge.clique), begun)
    rounds = max(len({*part.values()}) - 1, 1)
    chosen: list[Clique] = []
    while True:
        possible = [
            edge
            for edge in edges
            if part[edge.clique[0]] != part[edge.clique[1]]
            and size(edge.clique) <= most_cells
            and allowed([*begun, *chosen, edge.clique])
        ]
        if not possible:
            return chosen
        best = possible[ledger.select(possible, rho=rho / rounds)]
        chosen.append(best.clique)
        most_cells -= size(best.clique)
        here, there = (part[name] for name in best.clique)
        part = {name: here if place == there else place for name, place in part.items()}
