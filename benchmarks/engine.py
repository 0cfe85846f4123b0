"""MST and AIM as whole processes, from a CSV to files: time, memory and error, beside peers.

    python benchmarks/engine.py --data DIR                    ours alone, adult_encoded.* in DIR
    python benchmarks/engine.py --data DIR --peers VENVS      and peers, as peers/README.md sets up
    python benchmarks/engine.py --scale [--sizes 10000 ...]   many columns, many rows

The error is the mean total variation distance between the pairs of columns that went in and those
that came out: being fast and wrong is no feat. AIM has no peers here, since they take over ten
minutes, where they end at all: on the 12 columns and one core, OpenDP's took 868 s and 5.9 GB;
dpmm's was stopped at 600 s, smartnoise's at 742 s and 5.3 GB, and one on mbi 2.0 ran out of memory
maps after 540 s.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from adult_table import adult

EPSILON, DELTA = "1", "6.55e-10"
HERE = Path(__file__).parent
CONSOLE = Console(width=110)
PEERS = {
    "mbi 2.0": ("mbi", []),
    "mbi 2.0, pairs by hand": ("mbi", ["--by-hand"]),
    "OpenDP 0.16": ("opendp", []),
    "dpmm 0.1.9": ("dpmm", []),
    "smartnoise-synth 1.0.8": ("smartnoise", []),
}
COSTS = ["seconds", "CPU seconds", "MB", "error of pairs"]
# A process counts as its own what its parent held when it was started. So a small one starts it.
STARTER = """
import json, os, signal, sys, time
began = time.perf_counter()
child = os.posix_spawn(
    sys.argv[2], sys.argv[2:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)]
)
signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
_, status, usage = os.wait4(child, 0)
seconds = time.perf_counter() - began
print(json.dumps([seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, status]))
"""
CODES = 10
WIDE = (100_000, 100)
TALL_COLUMNS = 20


@dataclass(frozen=True)
class Cost:
    """What one run took, and how far its rows are from those it read."""

    seconds: float
    cpu: float
    """Seconds of all cores together: what is left to compare where others use the machine."""
    megabytes: float
    error: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, metavar="DIR")
    parser.add_argument("--peers", type=Path, metavar="VENVS", help="a folder of environments")
    parser.add_argument("--tables", nargs="*", default=["adult12", "adult14"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=600, help="seconds that one run may take")
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--sizes", nargs="*", type=int, default=[10**4, 10**5, 10**6, 10**7])
    options = parser.parse_args()
    if options.data is None and not options.scale:
        parser.error("give --data, --scale or both")
    with tempfile.TemporaryDirectory() as folder:
        if options.data is not None:
            for name in options.tables:
                _compare(name, options, Path(folder))
        if options.scale:
            _scale(options, Path(folder))


def _compare(name: str, options: argparse.Namespace, folder: Path) -> None:
    """One table of Adult, ours beside peers."""
    table, sizes = adult(options.data, name)
    train, domain = folder / f"{name}.csv", folder / f"{name}.json"
    table.to_csv(train, index=False)
    domain.write_text(json.dumps(sizes))
    shape = f"{len(table):,} rows × {len(sizes)} columns of {min(sizes.values())} to "
    title = f"{name}: {shape}{max(sizes.values())} codes, epsilon 1; median of {options.repeats}"
    report = _report(
        title, ["tool", "seconds", "CPU seconds", "MB", "ratio of time", "error of pairs"]
    )
    commands = {
        f"ours: {method}": _ours(train, domain, method, len(table)) for method in ("mst", "aim")
    }
    for label, (environment, further) in PEERS.items():
        python = None if options.peers is None else options.peers / environment / "bin/python"
        if python is None or not python.exists():
            print(f"{label} is left out: there is no environment for it.", file=sys.stderr)
            continue
        runner = str(HERE / "peers" / f"mst_{environment}.py")
        arguments = [str(train), str(domain), EPSILON, DELTA]
        commands[f"{label}: mst"] = [str(python), runner, *further, *arguments]
    unit = None
    for label, command in commands.items():
        cost = _measured(command, table, options, name="drawn.csv")
        unit = unit or (cost.seconds if cost else None)
        report.add_row(label, *_told(cost, options.limit, unit))
    CONSOLE.print(report)


def _scale(options: argparse.Namespace, folder: Path) -> None:
    """Ours alone, on tables that grow."""
    title = f"ours: mst, Parquet to Parquet, {CODES} codes a column; median of {options.repeats}"
    report = _report(title, ["rows", "columns", *COSTS])
    for rows, columns in [WIDE, *((rows, TALL_COLUMNS) for rows in options.sizes)]:
        table = _forest(rows, columns, np.random.default_rng(0))
        train, domain = folder / "train.parquet", folder / "domain.json"
        table.to_parquet(train, index=False)
        domain.write_text(json.dumps(dict.fromkeys(table, CODES)))
        command = _ours(train, domain, "mst", rows, "parquet")
        cost = _measured(command, table, options, name="drawn.parquet")
        seconds, cpu, memory, _, error = _told(cost, options.limit, None)
        report.add_row(f"{rows:,}", f"{columns}", seconds, cpu, memory, error)
    CONSOLE.print(report)


def _report(title: str, headings: Sequence[str]) -> Table:
    report = Table(title=title)
    for heading in headings:
        report.add_column(heading, justify="left" if heading == "tool" else "right")
    return report


def _told(cost: Cost | None, limit: float, unit: float | None) -> tuple[str, ...]:
    if cost is None:
        return f"over {limit:.0f}", "", "", f"over {limit / unit:.0f}" if unit else "", ""
    ratio = f"{cost.seconds / unit:.1f}" if unit else ""
    times = (f"{cost.seconds:.2f}", f"{cost.cpu:.2f}")
    return *times, f"{cost.megabytes:.0f}", ratio, f"{cost.error:.4f}"


def _forest(rows: int, columns: int, rng: np.random.Generator) -> pd.DataFrame:
    """Each column follows a random earlier one in two rows of three, else it is anything."""
    codes = [rng.integers(0, CODES, rows, np.uint8)]
    for _ in range(1, columns):
        parent = codes[rng.integers(len(codes))]
        follows = rng.random(rows, np.float32) < 2 / 3
        other = rng.integers(0, CODES, rows, np.uint8)
        codes.append(np.where(follows, rng.permutation(CODES).astype(np.uint8)[parent], other))
    return pd.DataFrame({f"x{place}": code for place, code in enumerate(codes)})


def _ours(train: Path, domain: Path, method: str, rows: int, kind: str = "csv") -> list[str]:
    console = Path(sys.executable).with_name("understudy")
    told = ["--schema", domain, "--epsilon", EPSILON, "--delta", DELTA, "--method", method]
    told += ["--rows", rows, "--format", kind, "--json", "--out"]
    return [str(part) for part in (console, "synthesize", train, *told)]


def _measured(
    command: list[str], real: pd.DataFrame, options: argparse.Namespace, *, name: str
) -> Cost | None:
    """The median of some runs; nothing if one takes too long."""
    costs = []
    for _ in range(options.repeats):
        cost = _run(command, real, options.limit, name)
        if cost is None:
            return None
        costs.append(cost)
    return Cost(*(statistics.median(part) for part in zip(*map(astuple, costs), strict=True)))


def _run(command: list[str], real: pd.DataFrame, limit: float, name: str) -> Cost | None:
    """One run of a command that writes to a path given last: a file, or our release folder."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / name
        started = [sys.executable, "-I", "-S", "-c", STARTER, str(limit), *command, str(out)]
        ended = subprocess.run(started, capture_output=True, check=True)
        seconds, cpu, memory, status = json.loads(ended.stdout)
        if os.WIFSIGNALED(status) and seconds >= limit:
            return None
        if status:
            sys.exit(f"{ended.stderr.decode(errors='replace')}\nfailed: {' '.join(command)}")
        print(f"{seconds:.1f} s: {' '.join(command)}", file=sys.stderr)
        file = out / f"synthetic{out.suffix}" if out.is_dir() else out
        drawn = pd.read_csv(file) if file.suffix == ".csv" else pd.read_parquet(file)
        megabytes = memory * (1 if sys.platform == "darwin" else 1024) / 1e6
        return Cost(seconds, cpu, megabytes, _error(real, drawn))


def _error(real: pd.DataFrame, drawn: pd.DataFrame) -> float:
    """Over all pairs of columns, the mean total variation distance."""
    if len(real) != len(drawn):
        sys.exit(f"{len(drawn)} rows were written, and {len(real)} were read.")
    sizes = {name: 1 + int(max(real[name].max(), drawn[name].max())) for name in real}
    far = []
    for a, b in combinations(real, 2):
        cells = sizes[a] * sizes[b]
        counts = [
            np.bincount(
                table[a].to_numpy(np.int64) * sizes[b] + table[b].to_numpy(np.int64),
                minlength=cells,
            )
            for table in (real, drawn)
        ]
        far.append(np.abs(counts[0] - counts[1]).sum() / (2 * len(real)))
    return float(np.mean(far))


if __name__ == "__main__":
    main()
