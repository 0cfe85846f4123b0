"""Plain words on whether the synthetic rows will do for the stated task: one for each use."""

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.curator.kept import Kept
from understudy.curator.result import Result
from understudy.curator.tables import REAL, SYNTHETIC
from understudy.curator.task import Task

_WORDS = (
    (0.95, "nearly as good as real rows"),
    (0.8, "useful, with a loss"),
    (0.5, "weak (for exploring, not for use)"),
    (float("-inf"), "not fit for this task"),
)
NOT_FIT = _WORDS[-1][1]
TOO_FEW = "unclear (too few test rows)"
NO_VERDICT = "no verdict"
_WORST_FIRST = (NOT_FIT, TOO_FEW, *(word for _, word in _WORDS[-2::-1]), NO_VERDICT)
_GOOD = {word for least, word in _WORDS if least >= 0.8}  # noqa: PLR2004 - as listed above
_FAR = 2
"""An interval over so many words more says too little."""
MAIN_SCORES = ("ROC-AUC", "R²")
"""The score that pictures go by, whichever there is."""
RANKING, PROBABILITIES, DECISIONS, NUMBERS = "ranking", "probabilities", "decisions", "numbers"
_ASPECTS = {
    "ROC-AUC": RANKING,
    "Brier score": PROBABILITIES,
    "balanced accuracy": DECISIONS,
    "R²": NUMBERS,
}
"""By score, what it judges."""
_RANK_ALONE = (
    "Use such a model to rank; calibrate its probabilities on real rows before you rely on them."
)


@dataclass(frozen=True)
class Aspect:
    """What synthetic rows are worth for one use of a model, by one score."""

    name: str
    """Ranking, probabilities, decisions or numbers."""
    word: str
    model: str
    score: str
    synthetic: float
    real: float
    guessing: float
    kept: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.name} {self.word}"

    @property
    def sentence(self) -> str:
        """The numbers behind the word."""
        return (
            f"For {self.name}, synthetic rows reach a {self.score} of {self.synthetic:.3f}; that "
            f"keeps {self.kept:.0%} [{self.low:.0%}, {self.high:.0%}] of what real rows "
            f"({self.real:.3f}) add to guessing ({self.guessing:.3f})."
        )


@dataclass(frozen=True)
class Verdict:
    """One model's words: one for each use of its predictions."""

    model: str
    word: str
    """The worst of them, or why there is none."""
    reason: str = ""
    """Where no score can tell."""
    aspects: tuple[Aspect, ...] = ()

    def __str__(self) -> str:
        begin = f"Verdict, {self.model}"
        if not self.aspects:
            return f"{begin}: {self.word}, for {self.reason}."
        words = "; ".join(map(str, self.aspects))
        numbers = " ".join(one.sentence for one in self.aspects)
        return f"{begin}: {words}. {numbers}{_advice(self.aspects)}"


@dataclass(frozen=True)
class TaskVerdict:
    """The words for the task: for each use the worst of its models', for readers may take any."""

    word: str
    """The worst of all."""
    model: str
    """Whose word that is."""
    seen: bool
    """Whether the release has seen the rows that it was tested on."""
    aspects: tuple[Aspect, ...] = ()

    def __str__(self) -> str:
        flatters = (
            " The release has seen the rows that it was tested on, so this may flatter: give rows "
            "that it has not seen, with --test."
            if self.seen
            else ""
        )
        if not self.aspects:
            by = "" if self.word == NO_VERDICT else f", by {self.model}"
            return f"Verdict for the task: {self.word}{by}.{flatters}"
        words = "; ".join(f"{one}, by {one.model}" for one in self.aspects)
        return f"Verdict for the task: {words}.{_advice(self.aspects)}{flatters}"


def verdicts(task: Task) -> list[Verdict]:
    """A verdict for each model."""
    return [_verdict(task, model) for model in task.models]


def task_verdict(task: Task) -> TaskVerdict:
    """The verdict for the task."""
    found = verdicts(task)
    worst = min(found, key=lambda one: (_WORST_FIRST.index(one.word), _lowest(one.aspects)))
    if not worst.aspects:
        return TaskVerdict(worst.word, worst.model, task.seen)
    names = dict.fromkeys(one.name for verdict in found for one in verdict.aspects)
    each = [[a for verdict in found for a in verdict.aspects if a.name == name] for name in names]
    return TaskVerdict(
        worst.word, worst.model, task.seen, tuple(min(a, key=_goodness) for a in each)
    )


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
    told = tuple(_aspect(one) for one in task.kept if one.model == model and one.share is not None)
    if not told:
        return Verdict(model, NO_VERDICT, "real rows add nothing to guessing")
    return Verdict(model, min(told, key=_goodness).word, "", told)


def _aspect(kept: Kept) -> Aspect:
    share, low, high = (value or 0.0 for value in (kept.share, kept.low, kept.high))
    return Aspect(
        _ASPECTS[kept.score],
        _word(kept),
        kept.model,
        kept.score,
        kept.synthetic,
        kept.real,
        kept.guessing,
        share,
        low,
        high,
    )


def _goodness(aspect: Aspect) -> tuple[int, float]:
    return _WORST_FIRST.index(aspect.word), aspect.low


def _lowest(aspects: Sequence[Aspect]) -> float:
    return min((one.low for one in aspects), default=float("-inf"))


def _advice(aspects: Sequence[Aspect]) -> str:
    """What to do where rows are put in order well, and their probabilities are off."""
    words = {one.name: one.word for one in aspects}
    off = words.get(PROBABILITIES, NO_VERDICT) in set(_WORST_FIRST) - _GOOD - {NO_VERDICT}
    return f" {_RANK_ALONE}" if words.get(RANKING) in _GOOD and off else ""


def _word(kept: Kept) -> str:
    """By the lower end; where the upper one speaks another language, nobody can tell."""
    low, high = (_place(end or 0.0) for end in (kept.low, kept.high))
    return TOO_FEW if low - high >= _FAR else _WORDS[low][1]


def _place(share: float) -> int:
    return next(place for place, (least, _) in enumerate(_WORDS) if share >= least)
