"""Twelve columns of Adult: what logistic regression and boosting learn from our rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from understudy.curator.coded_task import Codes, Mean, judged, mean_of
from understudy.curator.models import Learner
from understudy.experiments.adult import ADULT_TARGET, adult_codes, split_by_class
from understudy.experiments.markdown import shown, table
from understudy.experiments.reproduced import Aim
from understudy.mechanisms.api import Mechanism
from understudy.mechanisms.dpdsyn import DpdSyn
from understudy.mechanisms.mst import Mst
from understudy.pipeline import synthesize
from understudy.schema_files import schema_from_json

REAL, SINGLE, TREE = "real rows", "columns by themselves", "a tree of columns (MST)"
_MECHANISMS: Mapping[str, Mechanism] = {SINGLE: DpdSyn(), TREE: DpdSyn(features=Mst())}
EPSILONS = (0.2, 1.0)
_AIMS = {1.0: 0.898, 0.2: 0.88}
_LEARNERS = (Learner.LOGISTIC, Learner.BOOSTING)
_ENOUGH = 5


@dataclass(frozen=True)
class TwelveCell:
    """One repetition."""

    features: str
    epsilon: float | None
    """None for real rows."""
    seed: int


@dataclass(frozen=True)
class TwelveOutcome:
    """What came of it: the AUC of each learner on real test rows."""

    cell: TwelveCell
    auc: Mapping[Learner, float]


def twelve_cells(seeds: int) -> Iterator[TwelveCell]:
    """All repetitions."""
    for seed in range(seeds):
        yield TwelveCell(REAL, None, seed)
        for epsilon in EPSILONS:
            for features in _MECHANISMS:
                yield TwelveCell(features, epsilon, seed)


def run_twelve(cell: TwelveCell, data: Path) -> TwelveOutcome:
    """Run one."""
    codes, sizes = adult_codes(data)
    train, test = split_by_class(codes, cell.seed)
    rows = train if cell.epsilon is None else _made(cell, cell.epsilon, train, sizes)
    auc = {one: judged(rows, test, ADULT_TARGET, one, cell.seed).auc for one in _LEARNERS}
    return TwelveOutcome(cell, auc)


def _made(cell: TwelveCell, epsilon: float, train: Codes, sizes: Mapping[str, int]) -> Codes:
    count = len(train[ADULT_TARGET])
    release = synthesize(
        pa.table(dict(train)),
        schema=schema_from_json(dict(sizes)),
        target=ADULT_TARGET,
        epsilon=epsilon,
        delta=1 / count**2,
        mechanism=_MECHANISMS[cell.features],
        rows=count,
        seed=cell.seed,
        accept_weak_guarantee=True,  # public benchmarks, with the settings of the paper
    )
    return {name: release.table[name].to_numpy() for name in train}


def twelve_aims(found: Sequence[TwelveOutcome]) -> list[Aim]:
    """What a rough prototype had promised, for labels by logistic regression on tree features."""
    aims = []
    for epsilon, wished in _AIMS.items():
        mean = _mean(found, TREE, epsilon, Learner.LOGISTIC)
        what = f"12-column Adult, ε = {epsilon:g}: TSTR AUC of logistic regression, tree features"
        met = None if mean is None or mean.repetitions < _ENOUGH else mean.value >= wished
        value, half = (None, None) if mean is None else (mean.value, mean.half)
        aims.append(Aim(what, "", f"≥ {wished}", value, half, shown(mean, 4), met))
    return aims


def twelve_table(found: Sequence[TwelveOutcome]) -> str:
    """The figures by ε."""
    lines: list[tuple[str, float | None]] = [(REAL, None)]
    lines += [(features, epsilon) for epsilon in EPSILONS for features in _MECHANISMS]
    rows = [
        [
            features,
            "" if epsilon is None else f"{epsilon:g}",
            *(shown(_mean(found, features, epsilon, one)) for one in _LEARNERS),
        ]
        for features, epsilon in lines
    ]
    return table(["features", "ε", "logistic regression ↑", "boosting ↑"], rows)


def _mean(
    found: Sequence[TwelveOutcome], features: str, epsilon: float | None, learner: Learner
) -> Mean | None:
    values = [
        one.auc[learner]
        for one in found
        if (one.cell.features, one.cell.epsilon) == (features, epsilon)
    ]
    return mean_of(values) if values else None
