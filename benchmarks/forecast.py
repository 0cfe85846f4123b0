"""What `understudy plan` foresees, beside what `understudy synthesize` then takes.

    python benchmarks/forecast.py --data DIR              tables named *.csv.gz in DIR
    python benchmarks/forecast.py --data DIR --large      and a made-up table of a million rows

Wall seconds and peak memory of whole programs, from start to exit. `plan` is given the number of
rows as their bound; schemas are drafts, taken as declared: this measures time and nothing else. A
ratio above 1 means that the forecast was too high; all should lie between a half and two.
"""

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

METHODS = ("auto", "mst", "prism", "dpdsyn")
TABLES = {
    "adult": ("adult", "income"),
    "law": ("law_school", "pass_bar"),
    "compas": ("compas", "two_year_recid"),
    "german": ("german_credit_kaggle", "risk"),
}
LARGE = ("large", "y")
LARGE_ROWS = 10**6
_MAKE_LARGE = """
import sys
import numpy as np
import pyarrow as pa
from pyarrow import csv
rng, count = np.random.default_rng(0), int(sys.argv[1])
hidden = rng.integers(0, 5, count)
columns = {}
for place, size in enumerate((2, 3, 4, 5, 8, 10, 12, 16, 20, 6, 7, 9, 3, 4)):
    codes = (hidden * (rng.random(count) < 0.4) + rng.integers(0, size, count)) % size
    columns[f"listed{place}"] = np.array([f"label {code:02d}" for code in range(size)])[codes]
for place in range(5):
    numbers = np.clip(100 * (hidden + rng.normal(size=count)), -500, 1000)
    columns[f"number{place}"] = numbers.astype(int)
columns["y"] = np.where(rng.random(count) < 0.2 + 0.1 * hidden, "yes", "no")
csv.write_csv(pa.table(columns), sys.argv[2])
"""


@dataclass(frozen=True)
class Subject:
    """A table to be planned, and released."""

    name: str
    target: str
    data: Path
    schema: Path
    rows: int


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--tables", nargs="*", default=[*TABLES], choices=[*TABLES])
    parser.add_argument("--methods", nargs="*", default=[*METHODS])
    parser.add_argument("--large", action="store_true", help="also a million rows × 20 columns")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--repeats", type=int, default=1, help="medians of so many runs of each")
    options = parser.parse_args()
    report = Table(title=f"Forecast ÷ measured, ε = {options.epsilon}; between ½ and 2 is good")
    for heading in ("table", "rows", "method", "seconds", "foreseen", "ratio"):
        report.add_column(heading, justify="right")
    for heading in ("MiB", "foreseen", "ratio", "seconds of plan"):
        report.add_column(heading, justify="right")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subjects = [_subject(options.data, one, folder) for one in options.tables]
        subjects += [_large(folder)] if options.large else []
        for subject in subjects:
            for method in options.methods:
                line = _line(subject, method, options, folder)
                print(*line, flush=True, file=sys.stderr)
                report.add_row(*line)
    Console(width=120).print(report)


def _subject(data: Path, name: str, folder: Path) -> Subject:
    file, target = TABLES[name]
    path = folder / f"{name}.csv"
    with gzip.open(data / f"{file}.csv.gz") as packed, path.open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    return _drafted(name, target, path)


def _large(folder: Path) -> Subject:
    name, target = LARGE
    path = folder / f"{name}.csv"
    _run([sys.executable, "-c", _MAKE_LARGE, str(LARGE_ROWS), str(path)])
    return _drafted(name, target, path)


def _drafted(name: str, target: str, path: Path) -> Subject:
    schema = path.with_suffix(".toml")
    _run(_command("schema", str(path), "-o", str(schema)))
    declared = schema.read_text().replace('source = "data"', 'source = "declared"')
    schema.write_text(declared)
    with path.open("rb") as lines:
        rows = sum(1 for _ in lines) - 1
    return Subject(name, target, path, schema, rows)


def _line(subject: Subject, method: str, options: argparse.Namespace, folder: Path) -> list[str]:
    """Both programs in turn, and their medians."""
    choices = ["--target", subject.target, "--epsilon", options.epsilon, "--method", method]
    choices.append("--json")
    plan = ["plan", str(subject.schema), *choices, "--rows-bound", str(subject.rows)]
    out = folder / "release"
    made = [str(subject.data), "--schema", str(subject.schema), *choices, "--out", str(out)]
    runs = []
    for _ in range(options.repeats):
        planning, _, said = _run(_command(*plan))
        foreseen = json.loads(said)["forecast"]
        seconds, memory, _ = _run(_command("synthesize", *made))
        shutil.rmtree(out)
        runs.append((planning, foreseen["seconds"], foreseen["bytes"], seconds, memory))
    planning, expected, held, seconds, memory = map(statistics.median, zip(*runs, strict=True))
    return [
        subject.name,
        f"{subject.rows:,}",
        method,
        f"{seconds:.1f}",
        f"{expected:.1f}",
        f"{expected / seconds:.2f}",
        f"{memory / 2**20:.0f}",
        f"{held / 2**20:.0f}",
        f"{held / memory:.2f}",
        f"{planning:.1f}",
    ]


def _command(*words: str) -> list[str]:
    return [str(Path(sys.executable).with_name("understudy")), *words]


def _run(command: list[str]) -> tuple[float, int, str]:
    """Seconds, bytes at the peak, and what was said."""
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        said.seek(0)
        text = said.read().decode()
    if status:
        sys.exit(f"failed: {' '.join(command)}")
    return seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024), text


if __name__ == "__main__":
    main()
