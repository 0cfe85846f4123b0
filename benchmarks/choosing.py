"""Where labels should come from: what the rule of `tailored` rests on.

    python benchmarks/choosing.py --data DIR

On the tables that are named for it (`DEVELOPMENT`), with the splits, codes and models of
`utility.py`: readers' models on releases whose labels come from the joint model, from a model that
the joint model's rows taught, and from one that was trained further on private rows. Reach is what
the rule looks at, here with the number of rows that there are.
"""

import argparse
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table as Page

import understudy as us
from understudy.privacy.budget import Budget
from understudy.schema_files import schema_from_json
from utility_learners import LEARNERS, areas
from utility_rows import Split, split_of
from utility_tables import DEVELOPMENT, TABLES

EPSILONS = (0.2, 1.0, 4.0)
USUAL = us.Tailored()
ARMS = {
    "joint": replace(USUAL, labels=us.LabelsBy.JOINT),
    "shown": replace(USUAL, labels=us.LabelsBy.SHOWN),
    "trained, split 0.3": replace(USUAL, labels=us.LabelsBy.TRAINED, split=0.3),
    "trained, split 0.5": replace(USUAL, labels=us.LabelsBy.TRAINED, split=0.5),
    "trained, split 0.7": replace(USUAL, labels=us.LabelsBy.TRAINED, split=0.7),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    page = Page("table", "ε", "reach", "real", *ARMS)
    named = [table for table in TABLES if table.name in DEVELOPMENT]
    lines = []
    for table, epsilon in track([(t, e) for t in named for e in EPSILONS]):
        splits = [split_of(table, options.data, seed, coded=True) for seed in range(options.seeds)]
        real = [areas(split, split.train) for split in splits]
        found = {
            name: [areas(split, _drawn(split, arm, epsilon)) for split in splits]
            for name, arm in ARMS.items()
        }
        rho = Budget(epsilon, splits[0].delta).rho
        reach = USUAL.label_model.reach(len(splits[0].train), rho)
        means = [_told(real), *(_told(one) for one in found.values())]
        lines.append((reach, [table.name, f"{epsilon:g}", f"{reach:.0f}", *means]))
    for _, line in sorted(lines):
        page.add_row(*line)
    console = Console(width=140)
    console.print(page)
    console.print("Areas under the ROC curve on real rows: logistic regression / boosting.")


def _drawn(split: Split, arm: us.Tailored, epsilon: float):  # noqa: ANN202 - a data frame
    assert split.sizes is not None  # noqa: S101 - codes have sizes
    release = us.synthesize(
        split.train,
        epsilon=epsilon,
        delta=split.delta,
        target=split.table.target,
        schema=schema_from_json(dict(split.sizes)),
        mechanism=arm,
        rows=len(split.train),
    )
    return release.data.astype(np.int64)


def _told(found: list[dict[str, float]]) -> str:
    return " / ".join(f"{statistics.mean(one[name] for one in found):.3f}" for name in LEARNERS)


if __name__ == "__main__":
    main()
