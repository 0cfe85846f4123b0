"""Adult as it comes, nothing declared: PRISM beside AIM, MST and real rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from understudy.curator.coded_task import mean_of
from understudy.errors import BadInput
from understudy.experiments.compare.outcome import Outcome
from understudy.experiments.compare.plan import REAL, Plan
from understudy.privacy.spelling import file_digest

_METHODS = ("prism", "aim", "mst")
_SCORE = "ROC-AUC"


@dataclass(frozen=True)
class WholeAdult:
    """What came of it."""

    plan: Plan
    outcomes: Sequence[Outcome]

    @property
    def seeds(self) -> int:
        """How many repetitions."""
        return self.plan.seeds

    @property
    def models(self) -> tuple[str, ...]:
        """The models, in words."""
        return tuple(learner.described(classes=True) for learner in self.plan.models)

    def rows(self) -> list[list[str]]:
        """For each method and ε the means of scores."""
        keys: list[tuple[str, float | None]] = [(REAL, None)]
        keys += [
            (method, epsilon) for epsilon in self.plan.epsilons for method in self.plan.methods
        ]
        return [self._row(method, epsilon) for method, epsilon in keys]

    def _row(self, method: str, epsilon: float | None) -> list[str]:
        cells = [o for o in self.outcomes if (o.method, o.epsilon) == (method, epsilon)]
        shown = []
        for model in self.models:
            values = [o.scores[model][_SCORE] for o in cells if o.scores]
            known = [value for value in values if value is not None]
            shown.append(str(mean_of(known)) if known else "")
        took = "" if epsilon is None else f"{np.mean([o.seconds for o in cells]):.1f}"
        return [method, "" if epsilon is None else f"{epsilon:g}", *shown, took]


def whole_plan(data: Path, seeds: int) -> Plan:
    """What is run."""
    path = data / "adult.csv.gz"
    if not path.is_file():
        msg = f"{data} lacks {path.name}: give its folder with --data."
        raise BadInput(msg)
    return Plan(
        data=str(path),
        data_hash=file_digest(path),
        target="income",
        methods=_METHODS,
        epsilons=(0.2, 1.0, 4.0),
        seeds=seeds,
        delta=1e-9,
        learners=("logistic", "boosting"),
        schema=None,
        text_encoding="utf-8",
        version="",
    )
