"""A plain word on whether the synthetic rows will do for the stated task."""

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.curator.result import Result
from understudy.curator.tables import REAL, SYNTHETIC
from understudy.curator.task import Task

_WORDS = (
    (0.95, "nearly as good as real rows"),
    (0.8, "useful, with a loss"),
    (0.5, "weak: for exploring, and not for use"),
    (float("-inf"), "not fit for this task"),
)
MAIN_SCORES = ("ROC-AUC", "R²")
"""The score that verdicts and pictures go by, whichever there is."""


@dataclass(frozen=True)
class Verdict:
    """What training on synthetic rows keeps of what real rows add to guessing."""

    model: str
    score: str
    synthetic: float
    real: float
    guessing: float
    kept: float | None
    """None where real rows add nothing themselves."""
    low: float | None
    high: float | None
    word: str

    def __str__(self) -> str:
        if self.kept is None or self.low is None or self.high is None:
            return f"Verdict, {self.model}: {self.word}."
        return (
            f"Verdict, {self.model}: {self.word}. Synthetic rows reach a {self.score} of "
            f"{self.synthetic:.3f}; that keeps {self.kept:.0%} [{self.low:.0%}, {self.high:.0%}] "
            f"of what real rows ({self.real:.3f}) add to guessing ({self.guessing:.3f})."
        )


def verdicts(task: Task) -> list[Verdict]:
    """A verdict for each model that was trained on both."""
    models = [score.model for score in task.scores if score.trained_on == SYNTHETIC]
    baseline = next(score for score in task.scores if score.model not in models)
    found = []
    for model in models:
        ours, theirs = (main_score(task.of(model, side).results) for side in (SYNTHETIC, REAL))
        chance = None if theirs is None else _named(baseline.results, theirs.name)
        if ours is None or theirs is None or chance is None:
            continue
        found.append(_verdict(model, ours, theirs, chance))
    return found


def main_score(results: Sequence[Result]) -> Result | None:
    """The score that verdicts go by."""
    found = (one for name in MAIN_SCORES for one in results if one.name == name)
    return next((one for one in found if one.value is not None), None)


def _verdict(model: str, ours: Result, theirs: Result, chance: Result) -> Verdict:
    synthetic, real, guessing = (float(one.value or 0.0) for one in (ours, theirs, chance))
    told = (model, ours.name, synthetic, real, guessing)
    if theirs.low is None or theirs.low <= guessing or ours.low is None or ours.high is None:
        return Verdict(*told, None, None, None, "no verdict, for real rows add nothing to guessing")
    kept, low, high = (
        (value - guessing) / (real - guessing) for value in (synthetic, ours.low, ours.high)
    )
    word = next(word for least, word in _WORDS if kept >= least)
    return Verdict(*told, kept, low, high, word)


def _named(results: Sequence[Result], name: str) -> Result | None:
    return next((one for one in results if one.name == name and one.value is not None), None)
