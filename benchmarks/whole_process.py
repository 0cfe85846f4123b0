"""Whole-process time of `understudy synthesize` on a raw file, beside another version's.

    python benchmarks/whole_process.py TABLE.csv --old-src OLD/src --new-src src --target income

Each run is a fresh process from start to the written folder. Runs of the two versions alternate,
and which one goes first alternates, too: what else the machine does meets both. A ratio is of two
runs that stand side by side; the median of all ratios is reported with a 95 % interval that makes
no assumption about their distribution.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from scipy import stats

LEVEL = 0.95
FEWEST = 6
"""Pairs of runs; fewer have no such interval of a median."""
START = "import sys; from understudy.cli import main; sys.argv[0] = 'understudy'; main()"


def main() -> int:
    """Measure and print; the exit code is 1 where the median ratio exceeds the limit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", type=Path, metavar="FILE")
    parser.add_argument("--old-src", type=Path, required=True, metavar="DIR")
    parser.add_argument("--new-src", type=Path, required=True, metavar="DIR")
    parser.add_argument("--target", metavar="Y")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--repeats", type=int, default=11, help="pairs of runs, after one of each")
    parser.add_argument("--limit", type=float, default=1.10, help="the largest ratio that passes")
    options = parser.parse_args()
    command = ["synthesize", str(options.table.resolve()), "--epsilon", str(options.epsilon)]
    command += ["--method", options.method, "--json"]
    if options.target is not None:
        command += ["--target", options.target]
    sources = [source.resolve() for source in (options.old_src, options.new_src)]
    for source in sources:
        if not (source / "understudy" / "__init__.py").is_file():
            parser.error(f"{source} holds no package understudy")
        seconds(source, command)  # files that no run has read yet, and bytecode
    old, new = paired(sources, command, options.repeats)
    ratios = [b / a for a, b in zip(old, new, strict=True)]
    median, least, greatest = median_interval(ratios)
    report = Table(title=f"{options.table.name}: {options.repeats} pairs of alternating runs")
    for heading in ("version", "median seconds", "fastest"):
        report.add_column(heading, justify="left" if heading == "version" else "right")
    for name, found in (("old", old), ("new", new)):
        report.add_row(name, f"{statistics.median(found):.2f}", f"{min(found):.2f}")
    console = Console(width=100)
    console.print(report)
    about = "95 % interval" if options.repeats >= FEWEST else "least and greatest"
    console.print(f"new / old: median {median:.3f}, {about} {least:.3f} to {greatest:.3f}")
    console.print(f"fastest new / fastest old: {min(new) / min(old):.3f}")
    return 0 if median <= options.limit else 1


def paired(
    sources: Sequence[Path], command: Sequence[str], repeats: int
) -> tuple[list[float], list[float]]:
    """Return the seconds of the old and of the new version, run side by side."""
    found: tuple[list[float], list[float]] = ([], [])
    for repeat in range(repeats):
        for place in (0, 1) if repeat % 2 == 0 else (1, 0):
            found[place].append(seconds(sources[place], command))
    return found


def seconds(source: Path, command: Sequence[str]) -> float:
    """Return the seconds of one fresh process that runs the version in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-c", START, *command, "--out", f"{folder}/out"]
        began = time.perf_counter()
        ended = subprocess.run(
            line, env=environment, stdout=subprocess.DEVNULL, cwd=folder, check=False
        )
        taken = time.perf_counter() - began
    if ended.returncode:
        sys.exit(f"failed with {source}: understudy {' '.join(command)}")
    return taken


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median, and the ends of its 95 % interval by ranks.

    The number of values below the true median is binomial, whatever the distribution. Fewer than
    `FEWEST` values have no such interval: then it reaches from the least to the greatest.
    """
    ordered, count = sorted(values), len(values)
    rank = max(int(stats.binom.ppf((1 - LEVEL) / 2, count, 0.5)), 1)
    return statistics.median(ordered), ordered[rank - 1], ordered[count - rank]


if __name__ == "__main__":
    sys.exit(main())
