"""Records that shall lose less than others: rare ones, and those that a public condition names."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.errors import BadInput
from understudy.mechanisms.api import Model
from understudy.mechanisms.parameters import told
from understudy.privacy import discover, strays
from understudy.privacy.answers import Measurement
from understudy.privacy.budget import Budget, number
from understudy.privacy.caps import Cap
from understudy.privacy.discover import share_of
from understudy.privacy.ledger import Ledger
from understudy.privacy.promise import at_most
from understudy.privacy.unit import Unit
from understudy.privacy.weights import UNIT
from understudy.privacy.where import Where
from understudy.schema import Schema
from understudy.select.risk import (
    NO_TARGET,
    RiskWeights,
    Shape,
    Weighed,
    check_unit,
    smallest_cap,
    weighed,
)

_FINDING = 1 / 8
"""Every record counts fully while facts are found out: what that costs, no cap can save."""
PROTECTION = "protection"
"""What a certificate calls it."""
CURVE = "risk curve"
"""And the weights that came of it."""
_LESS = {
    True: "declare the facts in a schema, or lower --discovery-share",
    False: "lower the share of RiskWeights",
}
"""How to spend less before records count less, by whether facts are inferred."""
_DRAWN, _MOST_FOLD = 20_000, 8
"""A drawn row stands for at most this many: a model knows little of rows that count less."""


@dataclass(frozen=True)
class Protection:
    """Who is protected more, and how far."""

    risk: RiskWeights | None = None
    """How rare records are weighed; None where conditions alone decide."""
    epsilon: float | None = None
    """What those protected lose at most; None where weights follow the risk alone."""
    where: tuple[Where, ...] = ()

    @classmethod
    def of(
        cls,
        epsilon: float,
        *,
        outliers: bool | RiskWeights = False,
        outlier_epsilon: float | None = None,
        where: Sequence[str | Where] = (),
    ) -> "Protection | None":
        """As a person states it; the cap is half of ε unless somebody says otherwise."""
        conditions = tuple(Where.parse(one) if isinstance(one, str) else one for one in where)
        if not (outliers or conditions):
            if outlier_epsilon is not None:
                msg = "A cap is for somebody: add --protect-outliers, or --protect-where."
                raise BadInput(msg)
            return None
        risk = outliers if isinstance(outliers, RiskWeights) else None
        if outliers is True:
            risk = RiskWeights(shape=Shape.STEP)  # the only one that caps all of them alike
        _check_shape(risk, outlier_epsilon, conditions)
        whole = number(epsilon, "epsilon")
        cap = whole / 2 if outlier_epsilon is None else number(outlier_epsilon, "outlier_epsilon")
        if not 0 < cap <= whole:
            msg = f"outlier_epsilon is {cap:g}; it must lie above 0, and epsilon is {whole:g}."
            raise BadInput(msg)
        free = isinstance(outliers, RiskWeights) and outlier_epsilon is None and not conditions
        return cls(risk, None if free else cap, conditions)

    def cap(self, budget: Budget) -> Budget | None:
        """The cap as a budget of its own."""
        if self.epsilon is None:
            return None
        return Budget(self.epsilon, budget.delta, thresholds=budget.thresholds)

    def caps(self, budget: Budget) -> tuple[Cap, ...]:
        """What the ledger enforces, whatever answers come."""
        cap = self.cap(budget)
        return () if cap is None else tuple(Cap(one, cap) for one in self.where)

    def check(self, budget: Budget, unit: Unit, schema: Schema, finding: float) -> None:
        """Refuse, before anything is spent, a cap below what everybody will have lost by then.

        `finding` is the share of the budget that facts are found out for, were all of them open;
        0 where none are.
        """
        check_unit(unit)
        if self._recipe.pairs and schema.target is None:
            raise BadInput(NO_TARGET)
        cap = self.cap(budget)
        if cap is None:
            return
        share = self.spent_before(schema, finding)
        if cap.rho <= budget.rho * share:
            reach = at_most(smallest_cap(budget, share))
            found, counted = self._before(schema, finding)
            stray = strays.counted(schema)
            what = "pairs with the target" if self._recipe.pairs else "single columns"
            ways = [
                *(["what the columns hold is found out"] if found else []),
                *(["values that miss what is declared are counted"] if stray else []),
                *([f"{what} are counted"] if counted else []),
            ] or ["malformed records are counted"]
            less = f"; or spend less on it: {_LESS[bool(found)]}" if found or counted else ""
            msg = (
                f"A cap of epsilon {cap.epsilon:g} cannot be kept: {' and '.join(ways)} with every "
                f"record counting fully, and that costs epsilon {reach}. Ask for a cap above "
                f"{reach}{less}."
            )
            raise BadInput(msg)

    def spent_before(self, schema: Schema, finding: float) -> Fraction:
        """The part of the budget that is spent before anybody can count less, at most."""
        found, counted = self._before(schema, finding)
        left = Fraction(1)
        for share in (discover.MALFORMED_SHARE, found, strays.share_of(schema), counted):
            left *= 1 - share
        return 1 - left

    def _before(self, schema: Schema, finding: float) -> tuple[Fraction, Fraction]:
        """What finding out takes, and of the rest what counting the declared columns takes."""
        found = Fraction(share_of(schema, finding))
        all_open = bool(found) and len(schema.silent) == len(schema.coded)
        if self.risk is None:  # conditions need no scores
            return found, Fraction(0)
        # Found-out columns are counted already, but not in pairs.
        return found, self.risk.counting(known=all_open and not self.risk.pairs)

    @property
    def finding(self) -> float:
        """How much of the budget finding out takes, unless somebody says: with a cap, little."""
        return discover.SHARE if self.epsilon is None else _FINDING

    @property
    def doing(self) -> str:
        """What goes on while records are weighed, for people who wait."""
        if self.risk is None:
            return "Weighing records by the conditions"
        return "Weighing records by how rare they are"

    def weigh(self, ledger: Ledger, known: Sequence[Measurement]) -> Weighed:
        """The ledger in which they count less."""
        return weighed(
            self._recipe,
            ledger,
            known,
            cap=self.cap(ledger.budget),
            where=self.where,
            everyone=self.risk is not None,
        )

    @property
    def _recipe(self) -> RiskWeights:
        # Conditions alone: everybody else counts fully.
        return self.risk or RiskWeights(gamma=0.0)

    def written(self) -> dict[str, Any]:
        """As plain data, for a certificate."""
        return {
            "risk": None if self.risk is None else told(self.risk),
            "epsilon": self.epsilon,
            "where": [str(one) for one in self.where],
        }


def rows_of(model: Model, weighed: Weighed) -> float:
    """About how many rows the table has, by a model of what they count."""
    if weighed.kept is not None:
        return model.total / weighed.kept
    drawn = model.sample(_DRAWN, np.random.default_rng(0))
    drawn = weighed.ledger.encoding.with_constants(drawn, _DRAWN)
    weights = weighed.weights.of_rows(drawn)
    weights = np.where(weights > 0, weights, UNIT)
    return float(model.total * np.minimum(UNIT / weights, _MOST_FOLD).mean())


def _check_shape(risk: RiskWeights | None, cap: float | None, conditions: Sequence[Where]) -> None:
    """Refuse a cap for outliers beside weights that would not go by it."""
    if risk is None or cap is None or conditions:
        return
    if risk.shape is Shape.RATIO or (risk.shape is Shape.HINGE_EXP and risk.gamma is not None):
        msg = (
            "How fast weights fall is said already, so they cannot go by a cap. Leave out gamma "
            "and take the shape step, which caps all outliers alike, or hinge-exp, which caps the "
            "rarest hundredth of rows; or leave out the cap."
        )
        raise BadInput(msg)
