"""Outcomes added up: for each section, arm and ε the mean over repetitions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from understudy.curator.coded_task import Mean, mean_of
from understudy.curator.models import Learner
from understudy.experiments.prism.trial import Outcome

Value = Callable[[Outcome], float]


def auc(learner: Learner = Learner.LOGISTIC) -> Value:
    """The area under the ROC curve."""
    return lambda outcome: outcome.scores[learner].auc


def accuracy(outcome: Outcome) -> float:
    """Of logistic regression."""
    return outcome.scores[Learner.LOGISTIC].accuracy


def off(outcome: Outcome) -> float:
    """The mean L1 error of single columns."""
    return outcome.off


@dataclass(frozen=True)
class Found:
    """All outcomes."""

    outcomes: Sequence[Outcome]

    def mean(self, section: str, arm: str, epsilon: float, value: Value) -> Mean | None:
        """The mean of a value over repetitions; None where nothing was run."""
        values = [
            value(one)
            for one in self.outcomes
            if (one.cell.section, one.cell.arm, one.cell.epsilon) == (section, arm, epsilon)
        ]
        return mean_of(values) if values else None

    def notes(self, section: str, arm: str) -> list[str]:
        """What releases of an arm say about themselves, of the first repetition."""
        return [
            note
            for one in self.outcomes
            if (one.cell.section, one.cell.arm, one.cell.seed) == (section, arm, 0)
            for note in one.notes
        ]
