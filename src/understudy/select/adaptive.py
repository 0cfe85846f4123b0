"""The marginal that a model gets most wrong, among those that it can still take in."""

from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from math import pi, sqrt

from understudy.domain import Clique
from understudy.knowledge import Allowed
from understudy.model.estimate import BYTES_PER_CELL, MEASURED_BYTES, TREE_BYTES, needed_bytes
from understudy.model.graphical import GraphicalModel
from understudy.model.junction_tree import JunctionTree
from understudy.privacy.ledger import Ledger
from understudy.privacy.scores import L1Distance
from understudy.privacy.steps_told import worked
from understudy.separation import tied

MEAN_NOISE = sqrt(2 / pi)
"""The mean distance of normal noise from 0, in standard deviations."""
_WEIGHED, _TO_WEIGH = "Candidates whose size was checked", 0.2
_PREDICTED, _TO_PREDICT = "Candidates that the model has predicted", 0.5
"""What is told of progress, and about how many milliseconds a step takes."""


def with_room(  # noqa: PLR0913 - the last three by name
    ledger: Ledger,
    cliques: Iterable[Clique],
    measured: Collection[Clique],
    *,
    model_bytes: int,
    share: float = 1.0,
    allowed: Allowed,
) -> list[Clique]:
    """Those of the cliques that can be counted, are allowed, and leave the model within its limit.

    Of the limit only a share may be used; but a clique that lies within the model's tree needs
    no new room there, and stays as long as the whole limit is kept.
    """
    domain = ledger.domain
    tree, now = JunctionTree.of(domain, measured), needed_bytes(domain, measured)
    before = {frozenset(clique) for clique in measured}
    part = tied(domain.names, measured)

    def fits(clique: Clique) -> bool:
        if tree.home(clique) is not None:
            return now + MEASURED_BYTES * domain.size(clique) <= model_bytes
        if len({part[name] for name in clique}) == len(clique):
            # It ties parts that were apart: the tree gains just this clique, in place of columns
            # that stood alone.
            alone = sum(domain.sizes[name] for name in clique if (name,) in tree.cliques)
            gained = BYTES_PER_CELL * domain.size(clique) - TREE_BYTES * alone
            return now + gained <= share * model_bytes
        return needed_bytes(domain, [*measured, clique]) <= share * model_bytes

    found = []
    for clique in cliques:
        worked(_WEIGHED, 1, _TO_WEIGH)
        if (
            domain.size(clique) <= ledger.most_cells
            and allowed([*measured, clique])
            and (frozenset(clique) in before or fits(clique))
        ):
            found.append(clique)
    return found


def worst(
    ledger: Ledger,
    model: GraphicalModel,
    candidates: Mapping[Clique, float],
    *,
    rho: Fraction,
    scale: float,
) -> Clique:
    """The candidate whose marginal the model gets most wrong, drawn by the exponential mechanism.

    An error counts as much as its weight, and only beyond what noise of this scale would add.
    """
    scores = misfits(model, candidates, scale)
    return scores[ledger.select(scores, rho=rho)].clique


def misfits(
    model: GraphicalModel, candidates: Mapping[Clique, float], scale: float
) -> list[L1Distance]:
    """How wrong a model is about each candidate, by its weight, beyond what noise would add."""
    found = []
    for clique, weight in candidates.items():
        worked(_PREDICTED, 1, _TO_PREDICT)
        found.append(
            L1Distance(
                clique,
                model.marginal(clique),
                scale=weight,
                offset=-weight * MEAN_NOISE * scale * model.domain.size(clique),
            )
        )
    return found
