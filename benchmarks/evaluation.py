"""A whole evaluation: time and memory, as a ratio to the model fits alone, within one run.

    python benchmarks/evaluation.py
    python benchmarks/evaluation.py --rows 20000 --columns 10

The table is drawn here: half numbers, half labels, with a class to predict. "Fits alone" is what
nobody can leave out: scikit-learn trains logistic regression and boosting on either table.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

FITS = """
import sys
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
real, synthetic, test = (pd.read_parquet(path) for path in sys.argv[1:4])
inputs = [name for name in real if name != "y"]
labels = [name for name in inputs if name.startswith("label")]
numbers = [name for name in inputs if name not in labels]
for table in (real, synthetic, test):
    table[labels] = table[labels].astype("category")
prepared = make_column_transformer(
    (StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), labels)
)
for table in (real, synthetic):
    for model in (
        make_pipeline(prepared, LogisticRegression(max_iter=200)),
        HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0),
    ):
        model.fit(table[inputs], table["y"]).predict_proba(test[inputs])
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=30)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, share in (("real", 1.0), ("synthetic", 1.0), ("test", 0.2)):
            paths.append(Path(folder) / f"{name}.parquet")
            pq.write_table(_table(int(options.rows * share), options.columns, rng), paths[-1])
        real, synthetic, test = map(str, paths)
        console = str(Path(sys.executable).with_name("understudy"))
        ours = [console, "evaluate", real, synthetic, "--test", test, "--target", "y"]
        ours += ["--seeds", "1", "--attack-rows", "5000", "--epsilon", "1", "--json"]
        seconds, memory = _run(ours)
        fits, fits_memory = _run([sys.executable, "-c", FITS, real, synthetic, test])
    report = Table(
        title=f"{options.rows:,} × {options.columns} real against synthetic, one seed, "
        "attacks on 5,000 members and 5,000 non-members"
    )
    for heading in ("", "seconds", "MB"):
        report.add_column(heading, justify="left" if not heading else "right")
    report.add_row("understudy evaluate", f"{seconds:.1f}", f"{memory:.0f}")
    report.add_row("its model fits alone, in scikit-learn", f"{fits:.1f}", f"{fits_memory:.0f}")
    report.add_row("ratio", f"{seconds / fits:.1f}", f"{memory / fits_memory:.1f}")
    Console(width=110).print(report)


def _table(rows: int, columns: int, rng: np.random.Generator) -> pa.Table:
    """Numbers and labels that hang together through a hidden number, and a class."""
    hidden = rng.normal(size=rows)
    table: dict[str, pa.Array] = {}
    for k in range((columns - 1) // 2):
        table[f"number{k}"] = pa.array(hidden * rng.normal() + rng.normal(size=rows))
    for k in range(columns - 1 - len(table)):
        labels = np.digitize(hidden + rng.normal(size=rows), np.linspace(-2, 2, 4 + k % 12))
        table[f"label{k}"] = pa.array([f"v{label}" for label in labels])
    table["y"] = pa.array(np.where(hidden + rng.normal(size=rows) > 1, "yes", "no"))
    return pa.table(table)


def _run(command: list[str]) -> tuple[float, float]:
    """Seconds and megabytes of a command."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    if status:
        sys.exit(f"failed: {' '.join(command[:3])}")
    return seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


if __name__ == "__main__":
    main()
