"""One trial: rows of an arm, a model trained on them, attacks, and what records lost."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from understudy.curator.reps_advantage import RepsAdvantage, reps_distance, reps_domias
from understudy.curator.scorer import top_tenth
from understudy.curator.signed_ranks import rank_correlation
from understudy.experiments.reps.arms import NOBODY, REPS, UNIFORM, arm_named
from understudy.experiments.reps.made import GAMMAS, Made, made
from understudy.experiments.reps.matched import Matched, matched
from understudy.experiments.reps.records import Losses, losses
from understudy.experiments.reps.rows import taken
from understudy.experiments.reps.split import Split, split_of
from understudy.experiments.reps.tables import RARE, SIM
from understudy.experiments.reps.task import auroc, likely, tstr
from understudy.privacy.weights import UNIT


@dataclass(frozen=True)
class Cell:
    """One repetition of one arm at one ε."""

    table: str
    arm: str
    epsilon: float
    seed: int
    gamma: float = 0.0


@dataclass(frozen=True)
class Scorer:
    """How well noisy scores find the members that stand out."""

    correlation: float
    """Spearman's, with mean distances to the nearest ten."""
    recall: float
    """Of the tenth that stands out most, the share that is in the scores' own top tenth."""


@dataclass(frozen=True)
class Outcome:
    """What came of a cell."""

    cell: Cell
    tstr: float
    """AUROC of logistic regression; not a number for the control."""
    rare_tstr: float
    """The same on the rarest tenth of the test rows; not a number either if it has one class."""
    distance: RepsAdvantage
    """As the paper defines it, by distance."""
    domias: RepsAdvantage
    """As the paper defines it, by the ratio of distances."""
    matched: Matched
    scorer: Scorer | None
    losses: Losses | None
    injected: float | None = None
    """Of outliers that were put in on purpose, the share that counts less."""


@dataclass(frozen=True)
class Tuning:
    """The AUROC on validation rows, by γ; of the unweighted release under 0."""

    table: str
    epsilon: float
    seed: int
    scores: tuple[tuple[float, float], ...]


def run_trial(cell: Cell, data: Path | None) -> Outcome:
    """Run one cell."""
    split, arm = split_of(cell.table, cell.seed, data), arm_named(cell.arm)
    found = made(split, arm, cell.epsilon, cell.gamma, cell.seed)
    members = split.points(taken(split.train, split.watched))
    others = split.points(taken(split.test, split.others))
    reference = split.points(taken(split.test, split.reference))
    synthetic = split.points(found.rows)
    everyone, rarest = (math.nan, math.nan) if arm is NOBODY else _utility(split, found)
    return Outcome(
        cell,
        everyone,
        rarest,
        reps_distance(members, others, synthetic),
        reps_domias(members, others, synthetic),
        matched(members, others, reference, synthetic),
        _scorer(split, found),
        None if found.given is None else losses(found.given, split.watched[split.top]),
        _injected(split, found),
    )


def tune(cell: Cell, data: Path | None) -> Tuning:
    """What the paper chooses γ by: it looks at real rows, and nobody pays for that."""
    split = split_of(cell.table, cell.seed, data)
    tried = {0.0: made(split, UNIFORM, cell.epsilon, 0.0, cell.seed)}
    tried |= {gamma: made(split, REPS, cell.epsilon, gamma, cell.seed) for gamma in GAMMAS}
    scores = tuple(
        (gamma, tstr(split.table, one.rows, split.validation)) for gamma, one in tried.items()
    )
    return Tuning(cell.table, cell.epsilon, cell.seed, scores)


def _utility(split: Split, found: Made) -> tuple[float, float]:
    """The AUROC of one model, on all test rows and on the rarest tenth of them."""
    believed = likely(split.table, found.rows, split.test)
    rarest = taken(split.test, split.rarest)
    return (
        auroc(split.table, believed, split.test),
        auroc(split.table, believed[split.rarest], rarest),
    )


def _injected(split: Split, found: Made) -> float | None:
    if found.given is None or split.table is not SIM:
        return None
    (name, rare), *_ = RARE.items()
    return float((found.given.weights[split.train[name] == rare] < UNIT).mean())


def _scorer(split: Split, found: Made) -> Scorer | None:
    if found.given is None or found.given.scores is None:
        return None
    scores = found.given.scores[split.watched].astype(np.float64)
    alike = rank_correlation(scores.tolist(), split.outlying.tolist())
    return Scorer(alike, float(top_tenth(scores)[split.top].mean()))
