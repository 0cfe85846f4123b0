"""A plain word on whether the synthetic rows will do for the stated task."""

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.curator.kept import Kept
from understudy.curator.result import Result
from understudy.curator.tables import REAL, SYNTHETIC
from understudy.curator.task import Task

_WORDS = (
    (0.95, "nearly as good as real rows"),
    (0.8, "useful, with a loss"),
    (0.5, "weak: for exploring, and not for use"),
    (float("-inf"), "not fit for this task"),
)
NOT_FIT = _WORDS[-1][1]
TOO_FEW = "too few test rows to tell"
NO_VERDICT = "no verdict"
_WORST_FIRST = (NOT_FIT, TOO_FEW, *(word for _, word in _WORDS[-2::-1]), NO_VERDICT)
_FAR = 2
"""An interval over so many words more says too little."""
MAIN_SCORES = ("ROC-AUC", "R²")
"""The score that pictures go by, whichever there is."""


@dataclass(frozen=True)
class Verdict:
    """One model's word, by the worse of its scores."""

    model: str
    word: str
    reason: str = ""
    """Where no score can tell."""
    score: str | None = None
    synthetic: float | None = None
    real: float | None = None
    guessing: float | None = None
    kept: float | None = None
    low: float | None = None
    high: float | None = None
    others: tuple[str, ...] = ()
    """What is kept by other scores."""

    def __str__(self) -> str:
        begin = f"Verdict, {self.model}: {self.word}"
        if self.kept is None or self.low is None or self.high is None:
            return f"{begin}, for {self.reason}."
        also = "".join(f" {one}." for one in self.others)
        return (
            f"{begin}. Synthetic rows reach a {self.score} of {self.synthetic:.3f}; that keeps "
            f"{self.kept:.0%} [{self.low:.0%}, {self.high:.0%}] of what real rows "
            f"({self.real:.3f}) add to guessing ({self.guessing:.3f}).{also}"
        )


@dataclass(frozen=True)
class TaskVerdict:
    """One word for the task: the worst of its models', for readers may take any."""

    word: str
    model: str
    seen: bool
    """Whether the release has seen the rows that it was tested on."""

    def __str__(self) -> str:
        flatters = (
            " The release has seen the rows that it was tested on, so this may flatter: give rows "
            "that it has not seen, with --test."
            if self.seen
            else ""
        )
        by = "" if self.word == NO_VERDICT else f", by {self.model}"
        return f"Verdict for the task: {self.word}{by}.{flatters}"


def verdicts(task: Task) -> list[Verdict]:
    """A verdict for each model."""
    return [_verdict(task, model) for model in task.models]


def task_verdict(task: Task) -> TaskVerdict:
    """The verdict for the task."""

    def goodness(verdict: Verdict) -> tuple[int, float]:
        low = float("-inf") if verdict.low is None else verdict.low
        return _WORST_FIRST.index(verdict.word), low

    worst = min(verdicts(task), key=goodness)
    return TaskVerdict(worst.word, worst.model, task.seen)


def main_score(results: Sequence[Result]) -> Result | None:
    """The score that pictures go by."""
    found = (one for name in MAIN_SCORES for one in results if one.name == name)
    return next((one for one in found if one.value is not None), None)


def lacking(results: Sequence[Result]) -> str:
    """Why there is no such score."""
    return next((one.note for one in results if one.name in MAIN_SCORES), "nothing was measured")


def _verdict(task: Task, model: str) -> Verdict:
    ours, theirs = (task.of(model, side).results for side in (SYNTHETIC, REAL))
    if main_score(theirs) is None:
        return Verdict(model, NO_VERDICT, lacking(theirs))
    if main_score(ours) is None:
        return Verdict(model, NOT_FIT, lacking(ours))
    told = [one for one in task.kept if one.model == model and one.share is not None]
    if not told:
        return Verdict(model, NO_VERDICT, "real rows add nothing to guessing")
    worst = min(told, key=lambda one: one.low or 0.0)
    return Verdict(
        model,
        _word(worst),
        "",
        worst.score,
        worst.synthetic,
        worst.real,
        worst.guessing,
        worst.share,
        worst.low,
        worst.high,
        tuple(str(one) for one in told if one is not worst),
    )


def _word(kept: Kept) -> str:
    """By the lower end; where the upper one speaks another language, nobody can tell."""
    low, high = (_place(end or 0.0) for end in (kept.low, kept.high))
    return TOO_FEW if low - high >= _FAR else _WORDS[low][1]


def _place(share: float) -> int:
    return next(place for place, (least, _) in enumerate(_WORDS) if share >= least)
