"""The readers' task among some of its test rows: the same models, the same predictions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.curator.fairness import FEWEST
from understudy.curator.result import Direction, Result, absent
from understudy.curator.scores import DIRECTIONS
from understudy.curator.tables import REAL, SYNTHETIC, TEST, Tables
from understudy.curator.target import Target
from understudy.curator.task import GAP, scores_of
from understudy.curator.trials import BASELINE, Trial
from understudy.curator.verdict import MAIN_SCORES


@dataclass(frozen=True)
class GroupScores:
    """How well a model predicts a group's test rows, trained on either table."""

    model: str | None
    """None where there is no task."""
    rows: int
    synthetic: Result
    real: Result
    gap: Result
    """Synthetic less real, on the same rows."""


NO_TASK = GroupScores(
    None,
    0,
    *(
        absent(side, Direction.HIGHER, "nothing", "no target was named, so there is no task")
        for side in (SYNTHETIC, REAL, GAP)
    ),
)


@dataclass(frozen=True, eq=False)
class GroupTask:
    """The task as it was run."""

    tables: Tables
    target: Target
    trials: Sequence[Trial]

    @property
    def side(self) -> str:
        """The table that test rows stand in."""
        return REAL if self.tables.test is None else TEST

    def among(self, chosen: NDArray[np.bool_]) -> GroupScores:
        """The first model's main score on the test rows that are marked in their table."""
        models = (model for model, _ in self.trials[0].predictions)
        model = next(one for one in models if one not in BASELINE.values())
        trials = [trial.among(chosen, model) for trial in self.trials]
        name = MAIN_SCORES[0 if self.target.classes else 1]
        rows = trials[0].test.count
        if min(trial.test.count for trial in trials) < FEWEST:
            why = f"fewer than {FEWEST} test rows are in this group"
            few = absent(name, DIRECTIONS[name], f"{rows:,} test rows", why)
            return GroupScores(model, rows, few, few, few)
        scores, _ = scores_of(self.tables, self.target, trials)
        found = {one.trained_on: one[name] for one in scores}
        # Without one of the two there is no difference, for the same reason.
        lacking = next((one for one in found.values() if one.value is None), found[REAL])
        return GroupScores(model, rows, found[SYNTHETIC], found[REAL], found.get(GAP, lacking))
