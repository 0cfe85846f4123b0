"""How a budget is split over the marginals that it shall buy."""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.errors import BadInput, listed
from understudy.privacy.answers import Measurement
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger

_FLOOR = 0.01
"""Of a pool, for each marginal at least: no weight may starve one."""


class Allocation(StrEnum):
    """A rule for the shares of marginals with w · cells = a, so that Σ a · noise is small.

    Proofs: docs/proofs/allocation.md.
    """

    UNIFORM = "uniform"
    """The same noise for all."""
    OPTIMAL = "optimal"
    """Shares as a^⅔: the least sum where ρ adds up."""
    BASIC_UNIFORM = "basic-uniform"
    """The same ε for all, as if ε added up: more noise than needed, to compare with papers."""
    BASIC_OPTIMAL = "basic-optimal"
    """ε as √a, as if ε added up: the least sum then."""

    @property
    def basic(self) -> bool:
        """Whether it reckons as if ε added up."""
        return self in {Allocation.BASIC_UNIFORM, Allocation.BASIC_OPTIMAL}

    def shares(self, importance: Sequence[float]) -> NDArray[np.float64]:
        """Of what adds up, the share of each marginal, by its a; they add up to 1.

        >>> Allocation.OPTIMAL.shares([1.0, 8.0])
        array([0.2, 0.8])
        """
        power = {Allocation.OPTIMAL: 2 / 3, Allocation.BASIC_OPTIMAL: 1 / 2}.get(self, 0.0)
        wished = np.asarray(importance, np.float64) ** power
        return _with_floor(wished / wished.sum(), min(_FLOOR, 0.5 / len(wished)))

    def costs(
        self, rho: Fraction, importance: Sequence[float], *, epsilon: float, delta: float
    ) -> list[Fraction]:
        """What each marginal may cost of ρ; `epsilon` and `delta` are the same pool's, if basic."""
        shares = self.shares(importance)
        if self.basic:
            # The usual Gaussian formula, for ε and δ of each: noise² = 2 ln(1.25 / δ) / ε².
            costs = (epsilon * shares) ** 2 / (4 * math.log(1.25 * len(shares) / delta))
            shares = costs / max(float(rho), float(costs.sum()))
        exact = [Fraction(float(share)) for share in shares]
        # A hair too many is scaled away.
        whole = max(sum(exact, Fraction(0)), Fraction(1))
        return [rho * share / whole for share in exact]


def allocation_named(name: str) -> Allocation:
    """The rule with this name."""
    try:
        return Allocation(name)
    except ValueError:
        msg = f"There is no allocation {name!r}. Known: {listed(Allocation)}."
        raise BadInput(msg) from None


def selection_cost(budget: Budget, rho: Fraction, rounds: int, allocation: Allocation) -> Fraction:
    """What each of so many selections may cost of ρ, which is for all of them."""
    each = rho / rounds
    if not allocation.basic:
        return each
    epsilon = Fraction(budget.epsilon) * rho / budget.rho / rounds
    return min(each, epsilon**2 / 8)


def measured(
    ledger: Ledger,
    marginals: Mapping[Clique, float] | Sequence[Clique],
    *,
    rho: Fraction,
    allocation: Allocation = Allocation.UNIFORM,
) -> list[Measurement]:
    """Noisy marginals for ρ together, split by their sizes and weights (1 where none are given)."""
    if not marginals:
        return []
    weights = marginals if isinstance(marginals, Mapping) else dict.fromkeys(marginals, 1.0)
    domain, budget = ledger.domain, ledger.budget
    share = float(rho / budget.rho)
    costs = allocation.costs(
        rho,
        [weight * domain.size(clique) for clique, weight in weights.items()],
        epsilon=float(budget.epsilon) * share,
        delta=float(budget.delta) * share,
    )
    alike: dict[Fraction, list[Clique]] = {}
    for clique, cost in zip(weights, costs, strict=True):
        alike.setdefault(cost, []).append(clique)
    return [
        one
        for cost, cliques in alike.items()
        for one in ledger.measure(cliques, rho=cost * len(cliques))
    ]


def _with_floor(shares: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """Shares that are nowhere below the floor; the others give what that takes, in proportion."""
    low = shares < floor
    while True:
        kept = shares[~low].sum()
        raised = np.where(low, floor, shares * (1 - floor * low.sum()) / max(kept, 1e-300))
        lower = raised < floor * (1 - 1e-12)
        if not lower.any():
            return np.asarray(raised / raised.sum())
        low |= lower
