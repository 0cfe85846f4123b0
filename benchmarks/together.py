"""Every promise at once: an independence that holds, and records that lose less; and their price.

    python benchmarks/together.py --data DIR

On Adult, Law School and the Dutch census, with the columns, bins and sentences of
`understudy reproduce privci` and five folds: the default at ε = 1 with nothing demanded, with the
independence, with outliers capped besides, and with a public condition capped too. Areas under the
ROC curve are of the fold that was held out.
"""

import argparse
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import track
from rich.table import Table as Page

from understudy.curator.coded_task import Codes, judged_by, likely
from understudy.curator.models import Learner
from understudy.experiments.privci.folds import folds_of
from understudy.experiments.privci.tables import ADULT, DUTCH, LAW, Table
from understudy.model.information import model_information, separated
from understudy.pipeline import synthesize
from understudy.release import Release
from understudy.report.protected import protected
from understudy.schema_files import schema_from_json

EPSILON, CAP = 1.0, 0.5
LEARNERS = (Learner.LOGISTIC, Learner.BOOSTING)
WHERE = {"adult": "age >= 5", "law": "lsat <= 0", "dutch": "age >= 11"}
"""In codes: 65 years and older; below 25 points; the highest age group."""
ARMS = ("nothing", "independence", "and outliers", "and a condition")


@dataclass
class Found:
    """What the folds of a table and an arm gave."""

    areas: list[list[float]] = field(default_factory=list)
    information: list[float | None] = field(default_factory=list)
    by_structure: int = 0
    """In so many folds the model ties the two sides along no path around the given columns."""
    outliers: list[float] = field(default_factory=list)
    conditions: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args()
    page = Page(
        *("table", "demanded", "AUC logistic", "AUC boosting", "model CMI, nats ↓"),
        *("outliers count", "their ε, given the counts ↓", "ε of the condition ↓"),
    )
    for table, arm in track([(t, a) for t in (ADULT, LAW, DUTCH) for a in ("real rows", *ARMS)]):
        found = Found()
        for fold in range(options.folds):
            _judge(table, arm, fold, options.data, found)
        page.add_row(table.name, arm, *_told(found))
    console = Console(width=150)
    console.print(page)
    console.print(f"ε = {EPSILON:g}, caps {CAP:g}; means of folds, and the largest CMI and ε.")


def _judge(table: Table, arm: str, fold: int, data: Path, found: Found) -> None:
    train, test = folds_of(table, data).split(fold)
    rows: Mapping[str, Any] = train
    if arm in ARMS:
        release = _release(table, arm, train, fold)
        rows = {
            name: release.table[name].to_numpy().astype(np.int64)
            for name in release.table.column_names
        }
        _bounds(release, table, found)
    scores = [likely(rows, test, table.outcome, learner, fold) for learner in LEARNERS]
    found.areas.append([judged_by(one, test[table.outcome]).auc for one in scores])


def _release(table: Table, arm: str, train: Codes, fold: int) -> Release:
    count, place = len(train[table.outcome]), ARMS.index(arm)
    return synthesize(
        pa.table(dict(train)),
        schema=replace(schema_from_json(dict(table.sizes)), rows_bound=count),
        target=table.outcome,
        epsilon=EPSILON,
        delta=1 / count**2,
        constraints=[table.independence] if place else [],
        protect_outliers=place > 1,
        protect_where=[WHERE[table.name]] if arm == ARMS[-1] else [],
        outlier_epsilon=CAP if place > 1 else None,
        rows=count,
        seed=fold,
    )


def _bounds(release: Release, table: Table, found: Found) -> None:
    information = model_information(release.model, table.independence)
    found.information.append(information)
    # Where there are too many combinations to compute it.
    found.by_structure += information is None and separated(release.model, table.independence)
    told = protected(release.certificate)
    if told is not None:
        found.weights.append(told.levels[-1].weight)
        found.outliers.append(told.levels[-1].epsilon)
        found.conditions += [one.epsilon for one in told.guarantees]


def _told(found: Found) -> list[str]:
    areas = [f"{statistics.mean(part):.4f}" for part in zip(*found.areas, strict=True)]
    computed = [one for one in found.information if one is not None]
    information = f"{max(computed):.1e}" if computed else "-"
    if found.by_structure:
        information = "0, no path" if not computed else f"{information}; 0, no path"
    weight = f"{statistics.mean(found.weights):.3f}" if found.weights else "-"
    largest = [f"{max(part):.4f}" if part else "-" for part in (found.outliers, found.conditions)]
    return [*areas, information, weight, *largest]


if __name__ == "__main__":
    main()
