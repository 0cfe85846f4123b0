"""One trial: a model of rows, rows drawn from it, and what readers make of them."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from understudy.curator.coded_task import Codes
from understudy.curator.label_task import LabelScores, LabelTask, label_scores, majority
from understudy.curator.models import Learner
from understudy.experiments.dpdsyn.arms import TIMES, Arm, Draw, arm_named
from understudy.experiments.dpdsyn.split import Split, split_of
from understudy.mechanisms.api import Model
from understudy.model.labelled import LabelledModel
from understudy.model.labels import ClassLabels
from understudy.model.shuffled import ShuffledColumns
from understudy.model.visible import visible
from understudy.pipeline import synthesize


@dataclass(frozen=True)
class Cell:
    """One repetition of one arm at one ε."""

    table: str
    arm: str
    epsilon: float
    seed: int
    draws: tuple[Draw, ...] = (Draw.ONCE,)


@dataclass(frozen=True)
class Drawn:
    """What readers make of rows."""

    positive: float
    """The share of class 1."""
    scores: Mapping[Learner, LabelScores]
    """On real test rows."""


@dataclass(frozen=True)
class Outcome:
    """What came of a cell."""

    cell: Cell
    seconds: float
    """Of processors: to fit, and to draw as many rows as there were."""
    majority: float
    """The accuracy on test rows of who always says the more common class."""
    positive: float
    """The share of class 1 in the rows to learn from."""
    drawn: Mapping[Draw, Drawn]


def run_trial(cell: Cell, data: Path) -> Outcome:
    """Run one cell."""
    split, arm = split_of(cell.table, cell.seed, data), arm_named(cell.arm)
    train, test = split.codes(split.train), split.codes(split.test)
    target = split.table.target
    seconds, made = _made(split, arm, cell, train)
    drawn = {draw: _judged(split, arm, rows, test, cell.seed) for draw, rows in made.items()}
    share = float(np.mean(train[target] == 1))
    return Outcome(cell, seconds, majority(test, target), share, drawn)


def _made(split: Split, arm: Arm, cell: Cell, train: Codes) -> tuple[float, dict[Draw, Codes]]:
    """The seconds of a release, and its rows by what was drawn."""
    if arm.mechanism is None:
        return 0.0, {Draw.ONCE: train}
    count = len(split.train)
    # What else the machine is doing does not count.
    start = time.process_time()
    # n is declared public.
    release = synthesize(
        split.train,
        schema=replace(split.table.schema, rows_bound=count),
        epsilon=cell.epsilon,
        delta=1 / count**2,
        mechanism=arm.mechanism,
        rows=count,
        seed=cell.seed,
        accept_weak_guarantee=True,  # public benchmarks, with the settings of the paper
    )
    rows = split.codes(release.table)
    seconds = time.process_time() - start
    rng = np.random.default_rng([19, cell.seed])
    others = {draw: _more(release.model, draw, split, train, rng) for draw in cell.draws[1:]}
    return seconds, {Draw.ONCE: rows, **others}


def _more(model: Model, draw: Draw, split: Split, train: Codes, rng: np.random.Generator) -> Codes:
    """Other rows from the same model."""
    count, hidden = len(split.train), split.encoding.hidden
    if draw in TIMES:
        return _whole(visible(model, hidden).sample(TIMES[draw] * count, rng))
    assert isinstance(model, LabelledModel)  # noqa: S101 - no other arm has such draws
    assert isinstance(model.labels, ClassLabels)  # noqa: S101 - every target here is a list
    labels, features = model.labels, model.features
    labels = replace(labels, moved=None) if draw is not Draw.HARD else labels
    labels = replace(labels, hard=True) if draw is not Draw.UNMOVED else labels
    if draw is Draw.SHUFFLED:
        # The paper's features: every real value of every column. A reveal: nothing is promised.
        features = ShuffledColumns.of(features.domain, train)
    changed = replace(model, features=features, labels=labels)
    return _whole(visible(changed, hidden).sample(count, rng))


def _judged(split: Split, arm: Arm, rows: Codes, test: Codes, seed: int) -> Drawn:
    target, cells = split.table.target, split.encoding.cells
    scores = {
        learner: label_scores(rows, test, LabelTask(cells, target), learner, seed)
        for learner in arm.learners
    }
    return Drawn(float(np.mean(rows[target] == 1)), scores)


def _whole(rows: Mapping[str, np.ndarray]) -> Codes:
    return {name: codes.astype(np.int64) for name, codes in rows.items()}
