"""A Bayesian network: PrivBayes, after Zhang, Cormode, Procopiuc, Srivastava and Xiao (2017).

With two changes for the promise: noise is Gaussian, and parents are chosen by how far counts are
from independent (`CountTV`), whose sensitivity is proven; information scores that are divided by
entropies have no small sensitivity. The first column is the first of the schema, where the
published method draws one; a column that no table has room for stands by itself, and the next ones
go on.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import ClassVar

from understudy.domain import Clique, Domain
from understudy.knowledge import Allowed, anything
from understudy.mechanisms.parameters import check_number
from understudy.model.bayes_net import BayesNet, Family
from understudy.model.counts import row_total
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.privacy.scores import CountTV
from understudy.select.adaptive import MEAN_NOISE

_TOTAL = Fraction(1, 100)
"""Of the budget, for the number of rows, which the published method takes for known."""
_SELECTING = Fraction(3, 10)
_MOST_CANDIDATES = 30_000


@dataclass(frozen=True)
class PrivBayes:
    """Each column given the parents that tell most about it, as many as the noise allows."""

    usefulness: float = 4.0
    """A table's mean count must be at least so many times its mean noise (θ)."""

    def __post_init__(self) -> None:
        check_number("usefulness", self.usefulness, least=1e-3)

    name: ClassVar[str] = "privbayes"
    about: ClassVar[str] = "gives each column the parents that tell most about it"
    guarantee: ClassVar[str] = "(ε, δ)-differential privacy"
    needs: ClassVar[str] = "nothing"

    def fit(
        self, ledger: Ledger, known: Sequence[Measurement] = (), allowed: Allowed = anything
    ) -> BayesNet:
        """A model of the ledger's table."""
        domain = ledger.domain
        # MEASURE: how many rows there are
        counted = [*known, *ledger.measure([()], rho=ledger.rest() * _TOTAL)]
        choosing = ledger.rest() * _SELECTING if len(domain) > 1 else Fraction(0)
        scale = ledger.measure_event([()] * len(domain), rho=ledger.rest() - choosing).scale
        useful = row_total(counted) / (self.usefulness * MEAN_NOISE * scale)
        useful = min(useful, ledger.most_cells)
        # SELECT: column after column, each with its parents
        families = [Family(domain.names[0])]
        scored: dict[Family, CountTV] = {}
        for _ in domain.names[1:]:
            possible = list(_possible(domain, families, useful, allowed))
            if not possible:
                # No column that is left can have a parent: the next one stands by itself.
                placed = {family.child for family in families}
                families.append(Family(next(n for n in domain.names if n not in placed)))
                continue
            for family in possible:
                scored.setdefault(family, CountTV(family.parents, (family.child,)))
            place = ledger.select(
                [scored[family] for family in possible], rho=choosing / (len(domain) - 1)
            )
            families.append(possible[place])
        # MEASURE: every family, but for those that lie within another one
        cliques = [domain.canonical(family.clique) for family in families]
        widest = [c for c in dict.fromkeys(cliques) if not any({*c} < {*o} for o in cliques)]
        measured = ledger.measure(widest, rho=ledger.rest())
        # FIT
        return BayesNet.of(domain, families, [*counted, *measured])


def _possible(
    domain: Domain, families: Sequence[Family], useful: float, allowed: Allowed
) -> Iterator[Family]:
    """Columns that are still to come, each with every largest set of parents that it may have."""
    placed = [family.child for family in families]
    chosen = [family.clique for family in families]
    most = _most_parents(len(domain))
    for child in domain.names:
        if child not in placed:

            def fits(parents: Clique, child: str = child) -> bool:
                clique = (*parents, child)
                small = len(parents) <= most and domain.size(clique) <= useful
                return small and allowed([*chosen, clique])

            yield from (Family(child, parents) for parents in _largest(placed, fits))


def _largest(columns: Sequence[str], fits: Callable[[Clique], bool]) -> Iterator[Clique]:
    """Every set of columns that fits and that no further column can join; none that is empty."""
    waiting: list[tuple[Clique, int]] = [((), 0)]
    while waiting:
        parents, start = waiting.pop()
        longer = [
            (place, (*parents, name))
            for place, name in enumerate(columns)
            if name not in parents and fits((*parents, name))
        ]
        waiting += [(more, place + 1) for place, more in longer if place >= start]
        if parents and not longer:
            yield parents


def _most_parents(columns: int) -> int:
    """So many that the candidates of a whole run can be counted."""
    most = 1
    while most < columns - 1 and columns * comb(columns - 1, most + 1) <= _MOST_CANDIDATES:
        most += 1
    return most
