"""A plan: what would be bought, what it takes, what it would be worth at another ε."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.domain import Clique
from understudy.knowledge import Independence
from understudy.mechanisms.api import Decision
from understudy.personal import PersonalField
from understudy.plan.costs import IndependenceCost, ProtectionCost
from understudy.plan.forecast import Forecast
from understudy.plan.split import Part
from understudy.privacy.budget import Budget
from understudy.privacy.promise import weak_line
from understudy.privacy.unit import Unit
from understudy.report.bought import DUST, Purpose


@dataclass(frozen=True)
class Count:
    """One marginal: a table of noisy counts."""

    columns: Clique | None
    """None where real rows would decide which."""
    width: int
    """How many columns it has."""
    cells: int
    noise: float
    """The standard deviation of the noise of each cell, in rows; less is better."""
    percent: float
    """The same, of all rows."""


@dataclass(frozen=True)
class Item:
    """Requests of one kind."""

    purpose: Purpose
    what: str
    share: float
    """Of the whole budget, in the currency that adds up."""
    counts: tuple[Count, ...] = ()

    @property
    def told(self) -> str:
        """What is asked, and that it finds facts out where it does."""
        return f"finding out: {self.what}" if self.purpose is Purpose.FIND else self.what


@dataclass(frozen=True)
class Size:
    """What it takes to fit the model, and to hold it."""

    cells: int
    """Of all tables that were measured, each once."""
    model_bytes: int
    """What the fit holds at its peak, about."""
    most_bytes: int | None
    """What the method lets it hold; None where it has no such limit."""


@dataclass(frozen=True)
class AtEpsilon:
    """What the same requests would be worth at another ε."""

    epsilon: float
    rho: float
    odds: str
    """By how much odds may change at most: e^ε, rounded up."""
    noise: Mapping[str, float]
    """By kind of table, in rows, scaled from the one rehearsal: the noisiest of that item which
    has the largest share."""
    percent: Mapping[str, float]
    """The same, of all rows."""


@dataclass(frozen=True)
class Plan:
    """What would be bought."""

    method: str
    why: tuple[str, ...]
    """Why this method, and which way it goes."""
    decision: Decision | None
    """Of methods that go by a rule on public numbers."""
    parameters: Mapping[str, Any]
    target: str | None
    independences: tuple[Independence, ...]
    """What would hold in the model."""
    budget: Budget
    unit: Unit
    draft: bool
    """Whether the schema rests on the private table: then so does the plan."""
    rows: int
    """Of which per cent are told."""
    rehearsed: int
    """How many rows were made up."""
    codes: Mapping[str, int]
    """By column, how many codes it had in the rehearsal."""
    open: Mapping[str, tuple[str, ...]]
    """By column, the facts that nobody has stated."""
    personal: tuple[PersonalField, ...]
    """Identifiers and personal fields: they are not modelled."""
    items: tuple[Item, ...]
    """In order."""
    split: Mapping[Part, float]
    """By part of the budget, its share."""
    independence_cost: IndependenceCost | None
    protection_cost: ProtectionCost | None
    size: Size
    forecast: Forecast
    epsilons: tuple[AtEpsilon, ...]
    promise: tuple[str, ...]
    weak: tuple[str, ...]
    """Why the guarantee would be weak, by its numbers alone; empty where it would not."""
    notes: tuple[str, ...]

    @property
    def warning(self) -> str:
        """Return the first line of the plan of a weak guarantee; empty for others."""
        return weak_line(self.weak) if self.weak else ""

    @property
    def costs(self) -> list[str]:
        """What independences and caps cost, in sentences."""
        told = (self.independence_cost, self.protection_cost)
        return [sentence for one in told if one is not None for sentence in one.sentences()]

    @property
    def shares(self) -> dict[Purpose, float]:
        """The share of each purpose, and what is left over."""
        found = dict.fromkeys(Purpose, 0.0)
        for item in self.items:
            found[item.purpose] += item.share
        found[Purpose.REST] = max(0.0, 1 - sum(found.values()))
        return {purpose: share for purpose, share in found.items() if share > DUST}
