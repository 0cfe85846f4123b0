"""One trial: a release of four folds, a model trained on it, tested on the fifth."""

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from understudy.curator.coded_task import Codes, judged_by, likely, positive
from understudy.curator.models import Learner
from understudy.domain import Clique
from understudy.experiments.privci.arms import REAL, arm_named
from understudy.experiments.privci.folds import folds_of
from understudy.experiments.privci.measures import (
    conditional_dependence,
    divergence,
    odds_gap,
    pair_counts,
    pairs_of,
    rows_off,
    total_variation,
    tree_score,
)
from understudy.experiments.privci.tables import TABLES, Table
from understudy.model.information import model_information
from understudy.pipeline import synthesize
from understudy.schema_files import schema_from_json


@dataclass(frozen=True)
class Cell:
    """One arm at one ε on one fold of a table."""

    table: str
    arm: str
    epsilon: float
    fold: int


@dataclass(frozen=True)
class Outcome:
    """What came of a cell."""

    cell: Cell
    q: float | None
    """In rows; None where what was measured is no tree."""
    kl: float
    tv: float
    auc: float
    """Of logistic regression on the fold that was held out."""
    cmi: float
    """In nats, of the rows that were drawn."""
    odds: float
    model_cmi: float | None
    """In nats, of the model itself; None for real rows."""
    seconds: float
    """For the release alone."""
    pairs: tuple[Clique, ...]
    """The pairs of columns that were measured."""


@dataclass(frozen=True, eq=False)
class _Made:
    """Rows to train on, and what is known of where they come from."""

    rows: Codes
    q: float | None = None
    model_cmi: float | None = None
    seconds: float = 0.0
    pairs: tuple[Clique, ...] = ()


def run_trial(cell: Cell, data: Path) -> Outcome:
    """Run one cell."""
    table = next(one for one in TABLES if one.name == cell.table)
    train, test = folds_of(table, data).split(cell.fold)
    made = _Made(train) if cell.arm == REAL else _drawn(table, cell, train)
    truth = test[table.outcome]
    scores = likely(made.rows, test, table.outcome, Learner.LOGISTIC, cell.fold)
    return Outcome(
        cell,
        made.q,
        divergence(train, made.rows, table.sizes),
        total_variation(train, made.rows, table.sizes),
        judged_by(scores, truth).auc,
        conditional_dependence(made.rows, table.independence),
        odds_gap(positive(scores), truth, test[table.protected]),
        made.model_cmi,
        made.seconds,
        made.pairs,
    )


def _drawn(table: Table, cell: Cell, train: Codes) -> _Made:
    """Rows of a release, as many as it was made from."""
    arm = arm_named(cell.arm)
    count = len(train[table.outcome])
    start = time.perf_counter()
    release = synthesize(
        pa.table(dict(train)),
        schema=replace(schema_from_json(dict(table.sizes)), rows_bound=count),
        target=table.outcome,
        epsilon=cell.epsilon,
        delta=1 / count**2,
        mechanism=arm.mechanism,
        constraints=[] if arm.free else [table.independence],
        rows=count,
        seed=cell.fold,
        accept_weak_guarantee=True,  # public benchmarks, with the settings of the paper
    )
    drawn = release.table
    rows = {name: drawn[name].to_numpy().astype(np.int64) for name in drawn.column_names}
    seconds = time.perf_counter() - start
    pairs = pairs_of(one.clique for one in release.model.measurements)
    scores = {pair: rows_off(pair_counts(train, table.sizes, pair)) for pair in pairs}
    return _Made(
        rows,
        tree_score(scores, pairs) if arm.tree else None,
        model_information(release.model, table.independence),
        seconds,
        pairs,
    )
