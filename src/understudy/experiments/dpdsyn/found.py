"""Outcomes added up: means over repetitions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.curator.coded_task import Mean, mean_of
from understudy.curator.label_task import LabelScores
from understudy.curator.models import Learner
from understudy.experiments.dpdsyn.arms import REAL, Arm, Draw
from understudy.experiments.dpdsyn.tables import TABLES
from understudy.experiments.dpdsyn.trial import Drawn, Outcome
from understudy.experiments.dpdsyn.twelve import TwelveOutcome

Metric = Callable[[LabelScores], float | None]
METRICS: dict[str, Metric] = {
    "accuracy": lambda scores: scores.accuracy,
    "F1": lambda scores: scores.f1,
    "AUC": lambda scores: scores.auc,
    "balanced": lambda scores: scores.balanced,
}


def accuracy(scores: LabelScores) -> float:
    """The share of test rows that are told right."""
    return scores.accuracy


def log_loss(scores: LabelScores) -> float | None:
    """In nats."""
    return scores.log_loss


@dataclass(frozen=True)
class Found:
    """All outcomes."""

    outcomes: Sequence[Outcome]
    twelve: Sequence[TwelveOutcome] = ()
    """Those on twelve columns of Adult."""

    def of(self, table: str, arm: Arm, epsilon: float | None = None) -> list[Outcome]:
        """Those of an arm on a table; real rows have no ε."""
        at = None if arm is REAL else epsilon
        return [
            one
            for one in self.outcomes
            if (one.cell.table, one.cell.arm) == (table, arm.name)
            and at in {None, one.cell.epsilon}
        ]

    def mean(  # noqa: PLR0913, PLR0917 - what there is to choose
        self,
        table: str,
        arm: Arm,
        epsilon: float,
        learner: Learner,
        metric: Metric = accuracy,
        draw: Draw = Draw.ONCE,
    ) -> Mean | None:
        """The mean of a figure over repetitions; None where there is none."""
        values = [
            value
            for drawn in self._drawn(table, arm, epsilon, draw)
            if learner in drawn.scores and (value := metric(drawn.scores[learner])) is not None
        ]
        return mean_of(values) if values else None

    def positive(self, table: str, arm: Arm, epsilon: float, draw: Draw) -> Mean | None:
        """The share of class 1 in what was drawn."""
        values = [drawn.positive for drawn in self._drawn(table, arm, epsilon, draw)]
        return mean_of(values) if values else None

    def over_tables(self, arm: Arm, epsilon: float, learner: Learner, draw: Draw) -> Mean | None:
        """Accuracy in the mean over tables; repetitions in which one lacks are left out."""
        by_seed: dict[int, list[float]] = {}
        for table in TABLES:
            for one in self.of(table.name, arm, epsilon):
                if draw in one.drawn and learner in one.drawn[draw].scores:
                    found = one.drawn[draw].scores[learner].accuracy
                    by_seed.setdefault(one.cell.seed, []).append(found)
        values = [float(np.mean(all_)) for all_ in by_seed.values() if len(all_) == len(TABLES)]
        return mean_of(values) if values else None

    def seconds(self, table: str, arm: Arm, epsilon: float) -> Mean | None:
        """How long a release takes."""
        values = [one.seconds for one in self.of(table, arm, epsilon)]
        return mean_of(values) if values else None

    def times(self, table: str, rival: Arm, arm: Arm, epsilon: float) -> float | None:
        """How many times as long a rival takes, in the mean."""
        theirs, ours = (self.seconds(table, one, epsilon) for one in (rival, arm))
        return None if theirs is None or ours is None else theirs.value / ours.value

    def majority(self, table: str) -> Mean | None:
        """The accuracy of who always says the more common class."""
        values = [one.majority for one in self.of(table, REAL)]
        return mean_of(values) if values else None

    def truly_positive(self, table: str) -> Mean | None:
        """The share of class 1 in the rows to learn from."""
        values = [one.positive for one in self.of(table, REAL)]
        return mean_of(values) if values else None

    def _drawn(self, table: str, arm: Arm, epsilon: float, draw: Draw) -> Iterator[Drawn]:
        for one in self.of(table, arm, epsilon):
            if draw in one.drawn:
                yield one.drawn[draw]
