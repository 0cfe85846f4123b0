"""One cell: split the rows, make a release of some, and try models on the others."""

import os
import time
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.curator.align import align
from understudy.curator.source import read_rows
from understudy.curator.split import TEST_SHARE
from understudy.curator.tables import REAL as REAL_ROWS
from understudy.curator.tables import SYNTHETIC
from understudy.curator.target import Target
from understudy.curator.task import judge
from understudy.curator.trials import BASELINE, run_trials
from understudy.errors import UnderstudyError, UnknownColumn
from understudy.experiments.compare.plan import Cell, Plan
from understudy.pipeline import synthesize
from understudy.schema_files import schema_from_toml


@dataclass(frozen=True)
class Outcome:
    """What came of a cell."""

    method: str
    epsilon: float | None
    seed: int
    scores: dict[str, dict[str, float | None]]
    """By model and score."""
    seconds: float
    """For the release alone; for real rows 0."""
    rho: str = "0"
    """What publishing the release would cost, exactly."""
    delta: str = "0"
    """What it would cost in δ by itself."""
    failed: str | None = None
    """Why there are no scores."""

    @property
    def cell(self) -> Cell:
        """Which cell it is."""
        return Cell(self.method, self.epsilon, self.seed)

    def to_json(self) -> dict[str, Any]:
        """The outcome as plain data."""
        return {**asdict(self), "internal": True}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Outcome":
        """The outcome that `to_json` wrote."""
        return cls(**{key: value for key, value in content.items() if key != "internal"})


def run_cell(plan: Plan, cell: Cell) -> Outcome:
    """Run one cell; what a method refuses is its outcome."""
    train, test = _split(plan.data, plan.text_encoding, cell.seed)
    schema = None if plan.schema is None else schema_from_toml(plan.schema, folder=None)
    release, seconds = None, 0.0
    try:
        if cell.epsilon is not None:
            start = time.perf_counter()
            release = synthesize(
                train,
                epsilon=cell.epsilon,
                delta=plan.delta,
                target=plan.target,
                schema=schema,
                mechanism=cell.method,
                seed=cell.seed,
            )
            rows = release.table
            seconds = time.perf_counter() - start
        else:
            rows = train
    except UnderstudyError as error:
        return Outcome(cell.method, cell.epsilon, cell.seed, {}, 0.0, failed=str(error))
    known = schema if release is None else release.schema
    tables = align(train, rows, test, schema=known, without=(), named={plan.target})
    aim = Target.of(tables, plan.target, task=None, positive=None)
    side = REAL_ROWS if release is None else SYNTHETIC
    trials = run_trials(tables, aim, plan.models, seeds=1, sides=(side,))
    judged = judge(tables, aim, trials)
    scores = {
        one.model: {result.name: result.value for result in one.results}
        for one in judged.scores
        if one.model not in BASELINE.values()
    }
    spent, spent_delta = Fraction(0), Fraction(0)
    if release is not None:
        spent = Fraction(release.certificate.budget.rho)
        spent_delta = release.certificate.spent_delta
    return Outcome(
        cell.method, cell.epsilon, cell.seed, scores, seconds, str(spent), str(spent_delta)
    )


def check_target(plan: Plan) -> None:
    """Refuse a target that the table lacks, before any cell fails by it."""
    names = _rows(plan.data, plan.text_encoding).column_names
    if plan.target not in names:
        raise UnknownColumn(plan.target, names)


def be_one_of_several() -> None:
    """In a process beside others: no threads of its own."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - in the worker alone

    os.environ["OMP_NUM_THREADS"] = "1"
    threadpool_limits(1)


@lru_cache(maxsize=1)
def _split(data: str, text_encoding: str, seed: int) -> tuple[pa.Table, pa.Table]:
    rows = _rows(data, text_encoding)
    order = np.random.default_rng(seed).permutation(rows.num_rows)
    tested = round(TEST_SHARE * rows.num_rows)
    # In their own order, so that nothing depends on the shuffle.
    return rows.take(np.sort(order[tested:])), rows.take(np.sort(order[:tested]))


@lru_cache(maxsize=1)
def _rows(data: str, text_encoding: str) -> pa.Table:
    return read_rows(data, text_encoding=text_encoding)
