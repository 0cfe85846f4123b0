"""Records that a public condition names, and what each of them may lose at most.

The condition is decided before any row is looked at, so the bound holds as it stands, whatever
answers came: docs/proofs/weights.md.
"""

import json
import math
import re
import threading
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from understudy.encode import Encoding
from understudy.encode.ops import Storage
from understudy.errors import BadInput, BudgetSpent, PrivacyRefused
from understudy.privacy.account import Entry, Request
from understudy.privacy.accountant import cost, delta, total_delta
from understudy.privacy.budget import Budget
from understudy.privacy.events import BestOf, Event, Exponential, Gaussian, SampledGaussian
from understudy.privacy.limits import MOST_CAPS, check_number
from understudy.privacy.promise import ANY_VALUES
from understudy.privacy.scores import STEPS
from understudy.privacy.unit import Record, Unit
from understudy.privacy.weights import UNIT, RowWeights
from understudy.privacy.where import Also, Comparison, Where, also_meeting, in_words
from understudy.schema import Schema

CAPS = "caps"
"""What a certificate calls them."""
_PUNCTUATION = re.compile(r"[:;,.]\s")


@dataclass(frozen=True)
class Cap:
    """One record that meets the condition, added or removed, loses no more than this budget."""

    where: Where
    budget: Budget


class CapBook:
    """What records under each cap have lost so far."""

    def __init__(self, caps: Sequence[Cap], unit: Unit) -> None:
        if caps and not isinstance(unit, Record):
            msg = (
                f"A cap is for one record, added or removed, and the unit is {unit}. A record that "
                "takes another's place may have a full weight, so that nothing would be capped. "
                "Leave out the condition, or take the unit record."
            )
            raise PrivacyRefused(msg)
        if len(caps) > MOST_CAPS:
            msg = f"At most {MOST_CAPS:,} conditions can be capped. Join some of them."
            raise BadInput(msg)
        self._spent = {cap: Fraction(0) for cap in caps}
        self._delta = Fraction(0)
        self.lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._spent)

    def largest(
        self, encoding: Encoding, storage: Mapping[str, Storage], weights: RowWeights | None
    ) -> dict[str, int]:
        """By condition, the largest weight of a record that meets it."""
        if weights is None:
            return {str(cap.where): UNIT for cap in self._spent}
        return {
            str(cap.where): weights.most_where(cap.where.column, cap.where.codes(encoding, storage))
            for cap in self._spent
        }

    def check(self, event: Event, weights: RowWeights | None, largest: dict[str, int]) -> None:
        """Refuse a request that would cost a capped record too much."""
        for cap in self._spent:
            if self._delta + delta(event) > cap.budget.thresholds:
                msg = (
                    "Values told by a threshold would use up more of delta than the cap on "
                    f"records with {cap.where} keeps for them. Declare the values, or keep more."
                )
                raise BudgetSpent(msg)
        for cap, amount in self._amounts(event, weights, largest).items():
            if self._spent[cap] + amount > cap.budget.rho:
                msg = (
                    f"The request would cost records with {cap.where} more than the promised "
                    f"epsilon {cap.budget.epsilon:g}. Let them count less, or promise less."
                )
                raise BudgetSpent(msg)

    def debit(self, event: Event, weights: RowWeights | None, largest: dict[str, int]) -> None:
        """Write down what a request cost."""
        self._delta += delta(event)
        for cap, amount in self._amounts(event, weights, largest).items():
            self._spent[cap] += Fraction(amount)

    def _amounts(
        self, event: Event, weights: RowWeights | None, largest: dict[str, int]
    ) -> dict[Cap, Fraction | float]:
        most = UNIT if weights is None else weights.most
        return {
            cap: cost_for(event, cap.budget.order, largest[str(cap.where)], most)
            for cap in self._spent
        }


def cost_for(event: Event, order: float, weight: int, most: int) -> Fraction | float:
    """What a request costs a record of some weight, where it was paid for the largest one."""
    if not weight:
        return Fraction(0)
    return cost(lighter(event, Fraction(weight, most)), order)


def lighter(event: Event, share: Fraction) -> Event:
    """The same request for a record that moves every count and score by this share of the most.

    Scores count in whole steps of their sensitivity, so the share is rounded up to those.

    >>> lighter(Gaussian(2.0, Fraction(1)), Fraction(1, 2)).sensitivity_squared
    Fraction(1, 4)
    """
    share = Fraction(math.ceil(share * STEPS), STEPS)
    if share == 1:
        return event
    match event:
        case Gaussian():
            return _lighter_noise(event, share)
        case SampledGaussian():
            return replace(event, sensitivity_squared=event.sensitivity_squared * share**2)
        case BestOf():
            # Every run moves by less, and the formula holds with the ρ that such runs have.
            return replace(event, base=tuple(_lighter_noise(one, share) for one in event.base))
        case Exponential():
            # Rounded up: a record never loses more than is written down.
            return Exponential(math.nextafter(float(event.epsilon * share), math.inf))
        case _:
            return event


def _lighter_noise(event: Gaussian, share: Fraction) -> Gaussian:
    squared = event.sensitivity_squared * share**2
    return replace(event, sensitivity_squared=squared, unit_cells=None)


def written(caps: Sequence[Cap], schema: Schema) -> list[dict[str, Any]]:
    """Caps as plain data, for a certificate."""
    return [
        {
            "where": str(cap.where),
            "also": [str(one) for one in also_meeting(schema[cap.where.column])],
            "epsilon": cap.budget.epsilon,
            "delta": cap.budget.delta,
            "order": cap.budget.order,
            "thresholds": cap.budget.thresholds,
        }
        for cap in caps
    ]


@dataclass(frozen=True)
class ToldCap:
    """A cap as a certificate tells it."""

    where: str
    budget: Budget
    also: tuple[Also, ...] = ()
    """Values that meet the condition whatever it says; certificates of old state none."""

    @property
    def text(self) -> str:
        """The condition in words; in quotes where it could be taken for a part of the promise."""
        where = self.where
        spoof = _PUNCTUATION.search(where) or where.startswith(ANY_VALUES)
        if spoof or not where.isprintable():
            where = json.dumps(where, ensure_ascii=not where.isprintable())
        return in_words(where, self.also)

    def is_on(self, columns: Container[str]) -> bool:
        """Whether the condition is one on a column of a table with these columns."""
        # No such column has <, > or = in its name, so the first comparison ends the name.
        parts = (self.where.partition(f" {how} ") for how in Comparison)
        return any(value and column in columns for column, _, value in parts)

    def spent(self, entries: Iterable[Entry]) -> Fraction | float:
        """What requests cost a record that meets the condition, at most."""
        total: Fraction | float = Fraction(0)
        for entry in entries:
            weight, most = _told_weights(entry.request, self.where)
            total += cost_for(entry.event, self.budget.order, weight, most)
        return total

    def kept(self, entries: Sequence[Entry], room: float) -> bool:
        """Whether requests stayed within it, but for a factor that machines may differ by."""
        used = total_delta(entry.event for entry in entries)
        within = float(self.spent(entries)) <= float(self.budget.rho) * room
        return within and float(used) <= self.budget.thresholds * room


def told_caps(public: Mapping[str, Any]) -> tuple[ToldCap, ...]:
    """The caps among a certificate's public inputs."""
    check_number(len(public.get(CAPS, ())), MOST_CAPS, "caps")
    return tuple(
        ToldCap(
            one["where"],
            Budget(one["epsilon"], one["delta"], one["order"], one["thresholds"]),
            tuple(map(Also, one.get("also", ()))),
        )
        for one in public.get(CAPS, ())
    )


def _told_weights(request: Request, where: str) -> tuple[int, int]:
    """The largest weight of a record under a condition, and of any; full where none is told."""
    told = request.get("weights")
    if told is None:
        return UNIT, UNIT
    most, weight = told["most"], told.get("capped", {}).get(where, told["most"])
    if not (type(most) is int and type(weight) is int and 0 <= weight <= most <= UNIT):
        msg = "Weights that nobody can have."
        raise ValueError(msg)
    return weight, most
