"""An individual filter: a record takes part only while its own loss stays within one bound.

After Feldman and Zrnić. What a request costs a record is a public function of the record's score
and of earlier answers, so the ledger adds it up for each score, and leaves out those rows for
which the next request would be too much. The bound is the same for everybody, and holds whatever
answers came: docs/proofs/weights.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from understudy.errors import BadInput, BudgetSpent, PrivacyRefused
from understudy.privacy.account import Entry, Request
from understudy.privacy.accountant import delta, total_delta
from understudy.privacy.budget import Budget
from understudy.privacy.caps import cost_for
from understudy.privacy.events import Event
from understudy.privacy.spelling import digest
from understudy.privacy.unit import Record, Unit
from understudy.privacy.weights import UNIT, RowWeights

EACH = "individual bound"
"""What a certificate calls it."""
BY_STEP, SCORES = "by_step", "scores"
"""And, in a request, the weight of each step of the score; and which scores these are."""
PricedEvent = TypeVar("PricedEvent", bound=Event)


class Filter:
    """What records of each score have lost so far, and who is still in."""

    def __init__(self, bound: Budget | None, unit: Unit) -> None:
        if bound is not None and not isinstance(unit, Record):
            msg = (
                f"An individual bound is for one record, added or removed, and the unit is {unit}. "
                "Leave out the bound, or take the unit record."
            )
            raise PrivacyRefused(msg)
        self._bound = bound
        self._scores: RowWeights | None = None
        self._spent: list[Fraction | float] = [Fraction(0)]
        """By step of the score; one for all before there are scores."""
        self._delta = Fraction(0)

    def __bool__(self) -> bool:
        return self._bound is not None

    def admit(
        self, weights: RowWeights | None, price: Callable[[RowWeights | None], PricedEvent]
    ) -> tuple[RowWeights | None, PricedEvent]:
        """The weights with which a request can be asked, and its price; who cannot pay weighs 0.

        Where nobody is left, it is refused. Who goes makes the heaviest that stay lighter, so that
        the price changes, and with it who can stay: until nothing changes.
        """
        if self._bound is None:
            return weights, price(weights)
        weights = self._by_step(weights)
        while True:
            event = price(weights)
            stay = self._stay(event, weights)
            if all(stay):
                return weights, event
            if weights is None or not any(
                weight and stays for weight, stays in zip(weights.weights, stay, strict=True)
            ):
                raise BudgetSpent(self._too_much())
            left = zip(weights.weights, stay, strict=True)
            weights = replace(weights, weights=tuple(weight * stays for weight, stays in left))

    def check(self, event: Event, weights: RowWeights | None) -> None:
        """Refuse a request that would cost one of those who take part too much."""
        if self._bound is None:
            return
        if weights is not None:
            self._by_step(weights)  # another thread may have weighed by other scores since
        if self._delta + delta(event) > self._bound.thresholds:
            msg = (
                "Values told by a threshold would use up more of delta than the individual bound "
                "keeps for them. Declare the values, or keep more."
            )
            raise BudgetSpent(msg)
        if not all(self._stay(event, weights)):
            raise BudgetSpent(self._too_much())

    def debit(self, event: Event, weights: RowWeights | None) -> None:
        """Write down what a request cost those who took part."""
        if self._bound is None:
            return
        self._spent = self._losses(event, weights)
        self._delta += delta(event)
        if weights is not None and self._scores is None:
            self._scores = weights

    def told(self, request: Request, weights: RowWeights | None) -> Request:
        """A request with what `verify` needs to add up losses again."""
        if self._bound is None or weights is None:
            return request
        own = {BY_STEP: list(weights.weights), SCORES: _digest(weights)}
        return {**request, "weights": {**request["weights"], **own}}

    def check_codes(self) -> None:
        """Refuse other codes once losses are added up by them."""
        if self._scores is not None:
            msg = (
                "Under an individual bound, codes stay as they are from the first weights on: the "
                "same record would have another score."
            )
            raise BadInput(msg)

    def _stay(self, event: Event, weights: RowWeights | None) -> list[bool]:
        """By step, whether its records stay within the bound; who takes no part does."""
        assert self._bound is not None  # noqa: S101 - asked by those who know
        return [lost <= self._bound.rho for lost in self._losses(event, weights)]

    def _losses(self, event: Event, weights: RowWeights | None) -> list[Fraction | float]:
        """By step, what its records will have lost."""
        assert self._bound is not None  # noqa: S101 - asked by those who know
        steps = None if weights is None else weights.weights
        return losses(self._spent, event, self._bound.order, steps)

    def _by_step(self, weights: RowWeights | None) -> RowWeights | None:
        """Weights by the steps that losses are added up for."""
        first = self._scores
        if first is None:
            return weights
        if weights is None:
            return replace(first, weights=(UNIT,) * len(first.weights))
        if (weights.tables, weights.thresholds) != (first.tables, first.thresholds):
            msg = "An individual bound follows one set of scores; weigh rows by those of before."
            raise BadInput(msg)
        return weights

    def _too_much(self) -> str:
        assert self._bound is not None  # noqa: S101 - asked by those who know
        return (
            "The request would cost every record that could still take part more than the "
            f"individual bound of epsilon {self._bound.epsilon:g}. Ask for less."
        )


def losses(
    spent: Sequence[Fraction | float],
    event: Event,
    order: float,
    weights: Sequence[int] | None,
) -> list[Fraction | float]:
    """By step of the score, what was spent and one request more."""
    if weights is None:
        full = cost_for(event, order, UNIT, UNIT)
        return [one + full for one in spent]
    spent = [*spent] * len(weights) if len(spent) == 1 else spent
    most = max(weights)
    costs = [cost_for(event, order, weight, most) for weight in weights]
    return [one + cost for one, cost in zip(spent, costs, strict=True)]


def written(bound: Budget) -> dict[str, float]:
    """The bound as plain data, for a certificate."""
    return {
        "epsilon": bound.epsilon,
        "delta": bound.delta,
        "order": bound.order,
        "thresholds": bound.thresholds,
    }


@dataclass(frozen=True)
class ToldBound:
    """An individual bound as a certificate tells it."""

    budget: Budget

    def kept(self, entries: Sequence[Entry], room: float) -> bool:
        """Whether nobody lost more, but for a factor that machines may differ by."""
        spent: list[Fraction | float] = [Fraction(0)]
        by_all: Fraction | float = Fraction(0)
        weighed = [entry.request["weights"] for entry in entries if "weights" in entry.request]
        if len({told[SCORES] for told in weighed}) > 1:
            return False
        for entry in entries:
            told = entry.request.get("weights")
            if told is None:  # added once, for there may be thousands of steps
                by_all += cost_for(entry.event, self.budget.order, UNIT, UNIT)
            else:
                spent = losses(spent, entry.event, self.budget.order, _steps(told))
        used = total_delta(entry.event for entry in entries)
        within = float(by_all + max(spent)) <= float(self.budget.rho) * room
        return within and float(used) <= self.budget.thresholds * room


def told_bound(public: Mapping[str, Any]) -> ToldBound | None:
    """The individual bound among a certificate's public inputs; None where none is."""
    told = public.get(EACH)
    if told is None:
        return None
    return ToldBound(Budget(told["epsilon"], told["delta"], told["order"], told["thresholds"]))


def _digest(weights: RowWeights) -> str:
    """Which scores weights go by; not what they weigh."""
    return digest(repr((weights.tables, weights.thresholds)).encode())


def _steps(told: Mapping[str, Any]) -> list[int]:
    steps = told[BY_STEP]
    if not steps or any(type(one) is not int or not 0 <= one <= told["most"] for one in steps):
        msg = "Weights that nobody can have."
        raise ValueError(msg)
    return list(steps)
