"""Cells added up: for each method and ε the mean over repetitions, and how far they spread."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.curator.scores import DIRECTIONS
from understudy.curator.verdict import MAIN_SCORES
from understudy.experiments.compare.outcome import Outcome
from understudy.experiments.compare.plan import Plan
from understudy.privacy.budget import epsilon_of_rho

FORMAT = "understudy comparison 2"


@dataclass(frozen=True)
class Line:
    """One method at one ε, judged by one model and score."""

    method: str
    epsilon: float | None
    model: str
    score: str
    direction: str
    mean: float
    least: float
    most: float
    repetitions: int
    """How many there are of those that were planned."""


@dataclass(frozen=True)
class Pace:
    """How long a release takes, on average."""

    method: str
    epsilon: float
    seconds: float


@dataclass(frozen=True)
class Failure:
    """Why cells have no score to go by."""

    reason: str
    cells: tuple[str, ...]

    def __str__(self) -> str:
        return f"{'; '.join(self.cells)}: {self.reason}"


@dataclass(frozen=True)
class Comparison:
    """Everything that was found."""

    plan: Plan
    lines: tuple[Line, ...]
    pace: tuple[Pace, ...]
    releases: int
    epsilon_of_all: float | None
    """The most that publishing all releases would cost together, at the δ of all, for one record
    more or less in the table; None where that is not known."""
    delta_of_all: float
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]
    refused_for_privacy: bool
    """Whether all that failed did so because promises would not hold."""

    def of(self, method: str, epsilon: float | None, model: str, score: str) -> Line | None:
        """One line."""
        wanted = (method, epsilon, model, score)
        found = (x for x in self.lines if (x.method, x.epsilon, x.model, x.score) == wanted)
        return next(found, None)

    def seconds(self, method: str, epsilon: float) -> float | None:
        """How long such a release takes."""
        found = (one for one in self.pace if (one.method, one.epsilon) == (method, epsilon))
        return next((one.seconds for one in found), None)

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """The models, each with the score that pictures and tables show."""
        there: dict[str, set[str]] = {}
        for line in self.lines:
            there.setdefault(line.model, set()).add(line.score)
        mains = (
            (m, next((s for s in MAIN_SCORES if s in found), None)) for m, found in there.items()
        )
        return tuple((model, score) for model, score in mains if score is not None)

    @property
    def empty(self) -> bool:
        """Whether no release has a score."""
        return not any(line.epsilon is not None for line in self.lines)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            **asdict(self),
            "format": FORMAT,
            "internal": True,
            "plan": self.plan.to_json(),
        }


def summed_up(plan: Plan, outcomes: Sequence[Outcome]) -> Comparison:
    """The comparison of these cells."""
    # In the order of the plan, whatever came first.
    places = {cell: place for place, cell in enumerate(plan.cells)}
    outcomes = sorted(outcomes, key=lambda one: places[one.cell])
    good = [one for one in outcomes if one.failed is None]
    releases = [one for one in good if one.epsilon is not None]
    broken = [one for one in outcomes if one.failed is not None]
    # Each split leaves out other rows, but most are in several: all of it adds up.
    costs = [one.rho for one in releases]
    rho = sum((Fraction(cost) for cost in costs if cost is not None), Fraction(0))
    known = bool(costs) and None not in costs
    delta = plan.delta + float(sum((Fraction(one.delta) for one in releases), Fraction(0)))
    return Comparison(
        plan=plan,
        lines=tuple(_lines(good)),
        pace=tuple(_pace(releases)),
        releases=len(releases),
        epsilon_of_all=float(epsilon_of_rho(rho, plan.delta)) if known else None,
        delta_of_all=delta,
        failures=tuple(_failures(outcomes)),
        notes=tuple(dict.fromkeys(note for one in good for note in one.notes)),
        refused_for_privacy=bool(broken) and all(one.for_privacy for one in broken),
    )


def _lines(outcomes: Sequence[Outcome]) -> Iterable[Line]:
    found: dict[tuple[str, float | None, str, str], list[float]] = {}
    for one in outcomes:
        for model, scores in one.scores.items():
            for score, value in scores.items():
                if value is not None:
                    found.setdefault((one.method, one.epsilon, model, score), []).append(value)
    for key, values in found.items():
        direction = str(DIRECTIONS[key[3]])
        mean = float(np.mean(values))
        yield Line(*key, direction, mean, min(values), max(values), len(values))


def _pace(releases: Sequence[Outcome]) -> Iterable[Pace]:
    found: dict[tuple[str, float], list[float]] = {}
    for one in releases:
        if one.epsilon is not None:
            found.setdefault((one.method, one.epsilon), []).append(one.seconds)
    for key, seconds in found.items():
        yield Pace(*key, float(np.mean(seconds)))


def _failures(outcomes: Sequence[Outcome]) -> Iterable[Failure]:
    """Equal reasons once; in each, the repetitions of a method and ε together."""
    found: dict[str, dict[str, list[int]]] = {}
    for one in outcomes:
        at = one.method if one.epsilon is None else f"{one.method} at ε = {one.epsilon:g}"
        reasons = {model: why for model, why in one.lacking.items() if why}
        if one.failed is not None:
            reasons = {"": one.failed}
        for model, why in reasons.items():
            name = f"{at}, {model}" if model else at
            found.setdefault(why, {}).setdefault(name, []).append(one.seed + 1)
    for reason, cells in found.items():
        told = (
            f"{name} (repetition{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))})"
            for name, seeds in cells.items()
        )
        yield Failure(reason, tuple(told))
