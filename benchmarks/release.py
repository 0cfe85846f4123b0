"""A whole release, from a CSV to a folder: time and memory, as ratios within one run.

    python benchmarks/release.py --data DIR     tables named *.csv.gz in DIR, such as adult.csv.gz

Against the least that any tool does: the same file read by pandas, each column drawn anew from its
own values, and written. That keeps no promise at all.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

REPEATS = 3
PLAIN = """
import sys
import pandas as pd
table = pd.read_csv(sys.argv[1])
drawn = {name: table[name].sample(len(table), replace=True).to_numpy() for name in table}
pd.DataFrame(drawn).to_csv(sys.argv[2], index=False)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--tables", nargs="*", default=["adult", "smoking", "insurance"])
    options = parser.parse_args()
    report = Table(title=f"One release at epsilon 1, nothing declared; median of {REPEATS}")
    for heading in ("table", "seconds", "MB", "pandas, no privacy: seconds", "MB", "ratio of time"):
        report.add_column(heading, justify="left" if heading == "table" else "right")
    for name in options.tables:
        path = options.data / f"{name}.csv.gz"
        if not path.exists():
            print(f"{path} is not there, and is left out.", file=sys.stderr)
            continue
        ours = [_run(_release_command(path)) for _ in range(REPEATS)]
        plain = [_run([sys.executable, "-c", PLAIN, str(path)]) for _ in range(REPEATS)]
        (seconds, memory), (others, other_memory) = map(_median, (ours, plain))
        report.add_row(
            name,
            f"{seconds:.2f}",
            f"{memory:.0f}",
            f"{others:.2f}",
            f"{other_memory:.0f}",
            f"{seconds / others:.1f}",
        )
    Console(width=110).print(report)


def _release_command(path: Path) -> list[str]:
    console = Path(sys.executable).with_name("understudy")
    return [str(console), "synthesize", str(path), "--epsilon", "1", "--json", "--out"]


def _run(command: list[str]) -> tuple[float, float]:
    """Seconds and megabytes of a command that writes to a path given last."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        process = subprocess.Popen([*command, f"{folder}/out"], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
    if status:
        sys.exit(f"failed: {' '.join(command)}")
    return seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def _median(runs: list[tuple[float, float]]) -> tuple[float, float]:
    seconds, memory = zip(*runs, strict=True)
    return statistics.median(seconds), statistics.median(memory)


if __name__ == "__main__":
    main()
