"""Outcomes added up: means over folds, and PrivCI against PreFair pair by pair."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.curator.coded_task import Mean, mean_of
from understudy.curator.signed_ranks import signed_ranks
from understudy.experiments.privci.arms import PREFAIR, PRIVCI, Arm
from understudy.experiments.privci.metrics import Metric
from understudy.experiments.privci.tables import Table
from understudy.experiments.privci.trial import Outcome

SIGNIFICANT = 0.05
FEWEST_PAIRS = 5
"""Of fewer pairs none is significant, however they differ: 2⁻⁴ > 0.05."""


@dataclass(frozen=True)
class Compared:
    """PrivCI less PreFair, over folds and ε."""

    difference: Mean
    p_value: float
    """One-sided, by Wilcoxon's signed ranks: small values say that PrivCI is better."""
    p_worse: float
    """The same for the other side."""

    @property
    def enough(self) -> bool:
        """Whether there are pairs enough for anything to be significant."""
        return self.difference.repetitions >= FEWEST_PAIRS

    @property
    def better(self) -> bool:
        """Whether PrivCI is significantly better."""
        return self.p_value < SIGNIFICANT

    @property
    def worse(self) -> bool:
        """Whether PrivCI is significantly worse."""
        return self.p_worse < SIGNIFICANT


@dataclass(frozen=True)
class Found:
    """All outcomes."""

    outcomes: Sequence[Outcome]

    def mean(self, table: str, arm: str, epsilon: float, metric: Metric) -> Mean | None:
        """The mean of a figure over folds; None where there is none."""
        values = [
            value
            for one in self.outcomes
            if (one.cell.table, one.cell.arm, one.cell.epsilon) == (table, arm, epsilon)
            and (value := metric.of(one)) is not None
            and math.isfinite(value)
        ]
        return mean_of(values) if values else None

    def compared(self, table: str, metric: Metric) -> Compared | None:
        """PrivCI against PreFair, on the same fold at the same ε; None where nothing was run."""
        ours, theirs = (self._by_pair(table, arm, metric) for arm in (PRIVCI, PREFAIR))
        both = [ours[key] - theirs[key] for key in ours if key in theirs]
        differences = [value for value in both if math.isfinite(value)]
        if not differences:
            return None
        better = [value if metric.up else -value for value in differences]
        worse = [-value for value in better]
        return Compared(mean_of(differences), signed_ranks(better), signed_ranks(worse))

    def paired(
        self, table: str, one: Arm, other: Arm, epsilon: float, metric: Metric
    ) -> Mean | None:
        """The mean of one arm less another, on the same folds at one ε."""
        first, second = (self._by_pair(table, arm, metric) for arm in (one, other))
        both = [first[k] - second[k] for k in first if k in second and k[1] == epsilon]
        return mean_of(both) if len(both) > 1 else None

    def same_trees(self, table: str) -> tuple[int, int]:
        """How often PrivCI and PreFair took the same tree, and of how many."""
        ours, theirs = (
            {
                (one.cell.fold, one.cell.epsilon): one.pairs
                for one in self.outcomes
                if (one.cell.table, one.cell.arm) == (table, arm.name)
            }
            for arm in (PRIVCI, PREFAIR)
        )
        both = [key for key in ours if key in theirs]
        return sum(ours[key] == theirs[key] for key in both), len(both)

    def largest_model_cmi(self, arms: Sequence[Arm], tables: Sequence[Table]) -> float | None:
        """The largest dependence in any of these arms' models of these tables."""
        names = {(table.name, arm.name) for table in tables for arm in arms}
        known = [
            one.model_cmi
            for one in self.outcomes
            if (one.cell.table, one.cell.arm) in names and one.model_cmi is not None
        ]
        return max(known, default=None)

    def seconds(self, table: str, arm: str, epsilon: float) -> float:
        """How long a release takes, in the mean."""
        taken = [
            one.seconds
            for one in self.outcomes
            if (one.cell.table, one.cell.arm, one.cell.epsilon) == (table, arm, epsilon)
        ]
        return float(np.mean(taken))

    def _by_pair(self, table: str, arm: Arm, metric: Metric) -> dict[tuple[int, float], float]:
        return {
            (one.cell.fold, one.cell.epsilon): value
            for one in self.outcomes
            if (one.cell.table, one.cell.arm) == (table, arm.name)
            and (value := metric.of(one)) is not None
        }
