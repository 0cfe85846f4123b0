"""One trial on a real table: what is told, what the public gains, and what privacy would cost.

Mode `lid` is not private. These are public benchmarks, and it is run on them outside any ledger.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from understudy.curator.disclosure import interval_disclosure
from understudy.curator.regression_metrics import improvement
from understudy.errors import BadInput
from understudy.experiments.folder import whole_rows
from understudy.experiments.lk2ss.found import Figures, Key
from understudy.experiments.lk2ss.publics import Rows, errors, models, settled
from understudy.experiments.lk2ss.tables import TABLES, Table, table_named
from understudy.mechanisms.lk2ss import Lk2ss
from understudy.model.kernels import Wendland
from understudy.pipeline import synthesize
from understudy.twostage.first_stages import LatinHypercube
from understudy.twostage.flow import INPUTS, OUTPUT, TwoStages, ranked_inputs
from understudy.twostage.frame import Frame
from understudy.twostage.hybrid import Hybrid
from understudy.twostage.responses import KernelRidge

ALPHA, ETA = 0.5, 0.001


@lru_cache(maxsize=len(TABLES))
def rows_of(table: Table, data: Path) -> pa.Table:
    """The table's columns, without rows that lack a cell."""
    rows = whole_rows(data / table.file, table.schema.names)
    if len(rows) < table.used:
        msg = f"{table.file} has {len(rows):,} whole rows; the paper takes {table.used:,}."
        raise BadInput(msg)
    return rows


@dataclass(frozen=True, eq=False)
class Scaled:
    """Numbers in units of their range among the rows of a trial, labels as an axis each."""

    table: Table
    ranges: Mapping[str, tuple[float, float]]

    @classmethod
    def of(cls, table: Table, rows: pa.Table) -> "Scaled":
        """By the ranges of some rows."""
        numbers = Frame.of(rows, table.schema).numbers
        return cls(table, {name: (float(x.min()), float(x.max())) for name, x in numbers.items()})

    def rows(self, rows: pa.Table) -> Rows:
        """Rows as inputs and outputs."""
        frame = Frame.of(rows, self.table.schema)
        columns = []
        for column in self.table.columns:
            if column.name in self.ranges:
                low, high = self.ranges[column.name]
                columns.append((frame.numbers[column.name] - low) / (high - low or 1.0))
            else:
                labels = frame.labels[column.name]
                columns += [(labels == label) * 1.0 for label in column.categories or ()]
        found = np.column_stack(columns)
        return Rows(found[:, :-1], found[:, -1:])


def run_real(name: str, seed: int, epsilons: Sequence[float], data: Path) -> Figures:
    """One trial: rows are dealt anew, and each way to make others is judged."""
    table, rng = table_named(name), np.random.default_rng([47, seed])
    whole = rows_of(table, data)
    chosen = whole.take(rng.permutation(len(whole))[: table.used])
    private, rest = chosen.slice(0, table.private), chosen.slice(table.private)
    stages = TwoStages(
        ranked_inputs(LatinHypercube(), table.target),
        Hybrid(alpha=ALPHA, eta=ETA),
        KernelRidge(Wendland(), table.ridges),
    )
    made = stages.made(private, table.schema, rng)
    scaled = Scaled.of(table, chosen)
    judge = _Judge(table, scaled.rows(private), scaled.rows(rest), rng)
    found: dict[Key, float] = {
        ("lid", name, "input"): made.told[INPUTS],
        ("lid", name, "output"): made.told[OUTPUT],
    }
    for side, share in _told_by_deviation(table, private, made.table).items():
        found["lid by deviation", name, side] = share
    ways = {"lid": made.table}
    ways |= {f"{epsilon:g}": private_rows(table, private, epsilon, seed) for epsilon in epsilons}
    for way, rows in ways.items():
        found |= judge.judged(way, scaled.rows(rows))
    return found | judge.of_real()


def private_rows(table: Table, private: pa.Table, epsilon: float, seed: int) -> pa.Table:
    """Rows of mode `dp`; n is declared public."""
    count = len(private)
    return synthesize(
        private,
        schema=replace(table.schema, rows_bound=count),
        epsilon=epsilon,
        delta=1 / count**2,
        mechanism=Lk2ss(),
        rows=count,
        seed=seed,
        accept_weak_guarantee=True,  # public benchmarks, with the settings of the paper
    ).table


def _told_by_deviation(table: Table, private: pa.Table, made: pa.Table) -> dict[str, float]:
    """LID where η is a share of each column's standard deviation, not of its range."""
    real, other = (Frame.of(rows, table.schema) for rows in (private, made))
    inputs = [name for name in real.numbers if name != table.target]
    told = {}
    for side, names in (("input", inputs), ("output", [table.target])):
        spread = real.matrix(names).std(axis=0)
        before, after = (frame.matrix(names) / spread for frame in (real, other))
        told[side] = interval_disclosure(before, after, ETA)
    return told


class _Judge:
    """The public: with rows of its own, and without."""

    def __init__(self, table: Table, private: Rows, rest: Rows, rng: np.random.Generator) -> None:
        self.table, self.private, self.rng = table, private, rng
        places = np.arange(len(rest))
        self.own = rest.part(places[: table.public])
        self.test = rest.part(places[table.public : table.public + table.test])
        self.alone = rest.part(places[-table.alone :])
        self.responses = models(Wendland(), table.ridges)
        self.before = self._errors(self.own, self.test)

    def judged(self, way: str, made: Rows) -> dict[Key, float]:
        """ΔMSE for who has rows, and the error for who has none."""
        name, found = self.table.name, {}
        after = self._errors(self.own + made, self.test)
        for model, error in after.items():
            found["gone", name, way, model] = improvement(self.before[model], error)
        return found | self._alone(way, made)

    def of_real(self) -> dict[Key, float]:
        """The same for who has the real rows, and for who says their mean."""
        found = self._alone("real", self.private)
        mean = self.private.outputs.mean()
        found["alone", self.table.name, "mean"] = float(((self.alone.outputs - mean) ** 2).mean())
        return found

    def _alone(self, way: str, rows: Rows) -> dict[Key, float]:
        told = self._errors(rows, self.alone)
        return {("alone", self.table.name, way, model): error for model, error in told.items()}

    def _errors(self, rows: Rows, test: Rows) -> dict[str, float]:
        """By model, its settings chosen on the rows that it learns from."""
        return errors(settled(self.responses, rows, self.rng), rows, test)
