"""Outcomes added up: means over repetitions, and differences of two arms pair by pair."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.curator.coded_task import Mean, mean_of
from understudy.experiments.reps.arms import Arm
from understudy.experiments.reps.made import GAMMAS
from understudy.experiments.reps.trial import Outcome, Tuning

Metric = Callable[[Outcome], float | None]
WITHIN = 0.02
"""So much AUROC on validation rows may weights cost, where γ is chosen as the paper does."""


@dataclass(frozen=True)
class Found:
    """All outcomes, and how γ was chosen."""

    outcomes: Sequence[Outcome]
    tuned: Mapping[tuple[str, float], float]

    def mean(self, table: str, arm: Arm, epsilon: float, metric: Metric) -> Mean | None:
        """The mean of a figure over repetitions; None where there is none."""
        values = [*self._values(table, arm, metric, epsilon).values()]
        return mean_of(values) if values else None

    def difference(self, table: str, one: Arm, other: Arm, metric: Metric) -> Mean | None:
        """One arm less another, on the same rows at the same ε; over both."""
        ours, theirs = (self._values(table, arm, metric) for arm in (one, other))
        pairs = [ours[key] - theirs[key] for key in ours if key in theirs]
        return mean_of(pairs) if pairs else None

    def of(self, table: str, arm: Arm) -> list[Outcome]:
        """All outcomes of an arm on a table."""
        return [one for one in self.outcomes if (one.cell.table, one.cell.arm) == (table, arm.name)]

    def _values(
        self, table: str, arm: Arm, metric: Metric, epsilon: float | None = None
    ) -> dict[tuple[int, float], float]:
        # What has no noise is the same at every ε.
        at = epsilon if arm.noisy else None
        return {
            (one.cell.seed, one.cell.epsilon): value
            for one in self.of(table, arm)
            if at in {None, one.cell.epsilon}
            and (value := metric(one)) is not None
            and math.isfinite(value)
        }


def chosen(tunings: Sequence[Tuning]) -> dict[tuple[str, float], float]:
    """By table and ε: the largest γ that costs little on validation rows; else the least."""
    found = {}
    for key in dict.fromkeys((one.table, one.epsilon) for one in tunings):
        runs = [dict(one.scores) for one in tunings if (one.table, one.epsilon) == key]
        means = {gamma: float(np.mean([run[gamma] for run in runs])) for gamma in (0.0, *GAMMAS)}
        fine = [gamma for gamma in GAMMAS if means[gamma] >= means[0.0] - WITHIN]
        found[key] = max(fine, default=GAMMAS[0])
    return found
