"""Cells added up: for each method and ε the mean over repetitions, and how far they spread."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.curator.verdict import MAIN_SCORES
from understudy.experiments.compare.cell import Outcome
from understudy.experiments.compare.plan import REAL, Plan
from understudy.privacy.budget import epsilon_of_rho


@dataclass(frozen=True)
class Line:
    """One method at one ε, judged by one model and score."""

    method: str
    epsilon: float | None
    model: str
    score: str
    mean: float
    least: float
    most: float
    repetitions: int


@dataclass(frozen=True)
class Comparison:
    """Everything that was found."""

    plan: Plan
    lines: tuple[Line, ...]
    seconds: dict[str, float]
    """By method, how long a release takes on average."""
    releases: int
    epsilon_of_all: float | None
    """What publishing all releases would cost together, at the δ of all."""
    delta_of_all: float
    failed: tuple[Outcome, ...]

    def of(self, method: str, epsilon: float | None, model: str, score: str) -> Line | None:
        """One line."""
        wanted = (method, epsilon, model, score)
        found = (x for x in self.lines if (x.method, x.epsilon, x.model, x.score) == wanted)
        return next(found, None)

    def main_score(self, model: str) -> str | None:
        """The score that pictures of this model show."""
        there = {line.score for line in self.lines if line.model == model}
        return next((name for name in MAIN_SCORES if name in there), None)

    @property
    def models(self) -> tuple[str, ...]:
        """Models that were trained on releases."""
        return tuple(dict.fromkeys(line.model for line in self.lines if line.method != REAL))

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            **asdict(self),
            "format": "understudy comparison 1",
            "internal": True,
            "plan": self.plan.to_json(),
        }


def summed_up(plan: Plan, outcomes: Sequence[Outcome]) -> Comparison:
    """The comparison of these cells."""
    good = [one for one in outcomes if one.failed is None]
    releases = [one for one in good if one.epsilon is not None]
    # Each split leaves out other rows, but most are in several: all of it adds up.
    rho = sum((Fraction(one.rho) for one in releases), Fraction(0))
    delta = plan.delta + float(sum((Fraction(one.delta) for one in releases), Fraction(0)))
    return Comparison(
        plan=plan,
        lines=tuple(_lines(good)),
        seconds={
            method: float(np.mean([one.seconds for one in releases if one.method == method]))
            for method in dict.fromkeys(one.method for one in releases)
        },
        releases=len(releases),
        epsilon_of_all=float(epsilon_of_rho(rho, plan.delta)) if releases else None,
        delta_of_all=delta,
        failed=tuple(one for one in outcomes if one.failed is not None),
    )


def _lines(outcomes: Sequence[Outcome]) -> Iterable[Line]:
    found: dict[tuple[str, float | None, str, str], list[float]] = {}
    for one in outcomes:
        for model, scores in one.scores.items():
            for score, value in scores.items():
                if value is not None:
                    found.setdefault((one.method, one.epsilon, model, score), []).append(value)
    for key, values in found.items():
        yield Line(*key, float(np.mean(values)), min(values), max(values), len(values))
