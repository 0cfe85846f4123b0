"""One trial: a release of some rows, models trained on it, tested on others."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from understudy.curator.coded_task import Codes, Judged, judged
from understudy.curator.models import Learner
from understudy.experiments.prism.arms import PAPER_ROWS
from understudy.experiments.prism.sections import REAL, Section, sections
from understudy.pipeline import synthesize
from understudy.schema_files import schema_from_json


@dataclass(frozen=True)
class Cell:
    """One repetition of one arm at one ε."""

    section: str
    arm: str
    epsilon: float
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What came of a cell."""

    cell: Cell
    scores: Mapping[Learner, Judged]
    """By model."""
    off: float
    """The mean L1 distance of single columns from those of the rows learned from."""
    seconds: float
    """For the release alone."""
    notes: tuple[str, ...]
    """What the release says about itself."""


def run_trial(cell: Cell, data: Path | None) -> Outcome:
    """Run one cell."""
    section = _sections(data)[cell.section]
    benchmark = section.benchmark
    train, test = benchmark.make(cell.seed)
    rows, seconds = train, 0.0
    notes: tuple[str, ...] = ()
    if cell.arm != REAL:
        start = time.perf_counter()
        rows, notes = _drawn(section, cell, train)
        seconds = time.perf_counter() - start
    scores = {
        learner: judged(rows, test, benchmark.target, learner, cell.seed)
        for learner in section.learners
    }
    return Outcome(cell, scores, _off(train, rows, benchmark.sizes), seconds, notes)


def _drawn(section: Section, cell: Cell, train: Codes) -> tuple[Codes, tuple[str, ...]]:
    """Rows of a release, and its notes."""
    arm, benchmark = section.arm(cell.arm), section.benchmark
    count = len(train[benchmark.target])
    release = synthesize(
        pa.table(dict(train)),
        schema=replace(schema_from_json(dict(benchmark.sizes)), rows_bound=count),
        target=benchmark.target,
        epsilon=cell.epsilon,
        delta=1 / count**2,
        mechanism=arm.mechanism(benchmark, train),
        unit=arm.unit,
        rows=PAPER_ROWS if arm.as_printed else count,
        seed=cell.seed,
        accept_weak_guarantee=True,  # public benchmarks, with the settings of the paper
    )
    table = release.table
    drawn = {name: table[name].to_numpy().astype(np.int64) for name in table.column_names}
    return drawn, release.notes


def _off(train: Codes, rows: Codes, sizes: Mapping[str, int]) -> float:
    off = []
    for name, size in sizes.items():
        shares = [np.bincount(one[name], minlength=size) / len(one[name]) for one in (train, rows)]
        off.append(np.abs(shares[0] - shares[1]).sum())
    return float(np.mean(off))


@lru_cache(maxsize=1)
def _sections(data: Path | None) -> Mapping[str, Section]:
    return sections(data)
