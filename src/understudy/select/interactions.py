"""Tables of a target with several features: which of them are worth their noise."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from understudy.domain import Clique
from understudy.model.graphical import GraphicalModel
from understudy.privacy.ledger import Ledger
from understudy.privacy.scores import L1Distance
from understudy.select.adaptive import MEAN_NOISE, misfits

Fitting = Callable[[Iterable[Clique], Sequence[Clique]], list[Clique]]
"""Which marginals can be measured besides others: they are allowed, and the model has room."""


def useful_cells(ledger: Ledger, rows: float, rho: Fraction, usefulness: float) -> float:
    """How many cells a table may have so that its mean count stands out of the noise so far."""
    scale = ledger.measure_event([()], rho=rho).scale
    return rows / (usefulness * MEAN_NOISE * scale)


def affordable(sizes: Sequence[int], useful: Callable[[int], float], *, most: int) -> int:
    """How many tables are worth measuring: the more there are, the fewer cells each may have.

    >>> affordable([10, 20, 30, 90], lambda tables: 60 / tables, most=4)
    2
    """
    for number in range(min(most, len(sizes)), 0, -1):
        if sum(size <= useful(number) for size in sizes) >= number:
            return number
    return 0


def strongest_interactions(  # noqa: PLR0913 - the last four by name
    ledger: Ledger,
    model: GraphicalModel,
    candidates: Mapping[Clique, float],
    *,
    number: int,
    each: Fraction,
    scale: float,
    fitting: Fitting,
) -> list[L1Distance]:
    """So many tables that a model without them gets most wrong, drawn one after the other.

    Each counts by its weight. Of features that are independent given the target, the model knows
    all there is.
    """
    left = misfits(model, candidates, scale)
    chosen: list[L1Distance] = []
    while len(chosen) < number:
        taken = [one.clique for one in chosen]
        possible = {*fitting((one.clique for one in left), taken)}
        left = [one for one in left if one.clique in possible]
        if not left:
            break
        chosen.append(left.pop(ledger.select(left, rho=each)))
    return chosen
