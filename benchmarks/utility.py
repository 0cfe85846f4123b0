"""How well readers' models do on public tables: train on synthetic rows, test on real ones.

    python benchmarks/utility.py --data DIR --results FILE                   ours
    python benchmarks/utility.py --data DIR --results FILE --venvs VENVS     and peers
    python benchmarks/utility.py --results FILE --page docs/results/utility.md

DIR holds the public tables and VENVS the environments of peers, as peers/README.md makes them. Each
job that ends adds a line to FILE; whoever starts again goes on where it stopped. `--shard 1/2` and
`--shard 2/2` may run side by side with one FILE.
"""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_limits

from utility_jobs import EPSILONS, SCHEMA, TRACKS, Job, Results, Wish, jobs, share
from utility_learners import areas
from utility_page import page
from utility_rows import Split, split_of
from utility_tables import TABLES, Table
from utility_tools import (
    OURS,
    PEERS,
    REAL,
    TOOLS,
    drawn_by,
    drawn_by_peer,
    versions_of,
)

HERE = Path(__file__).parent
SAID = 200
"""Characters of what a failed run said last."""


def main() -> None:
    """Run what is missing, or write the page."""
    options = _options()
    results = Results(options.results)
    if options.page is not None:
        options.page.write_text(page(results.lines(), TABLES), encoding="utf-8")
        return
    tools = [tool for tool in options.methods if _there(tool, options.venvs)]
    tables = [table for table in TABLES if table.name in options.tables]
    wish = Wish(tables, tools, options.tracks, options.epsilons, options.seeds)
    run(share(jobs(wish), options.shard), results, options, {one.name: one for one in tables})


def run(
    wanted: list[Job], results: Results, options: argparse.Namespace, tables: dict[str, Table]
) -> int:
    """Run jobs that have not ended yet, and tell how many there were."""
    commit, count = _commit(), 0
    for place, job in enumerate(wanted, start=1):
        # Looked up again each time: another shard, or an earlier wish, may have done it.
        if results.done(job, again=options.again):
            continue
        # Threads that wait for each other on a busy machine take minutes for a second's work.
        with threadpool_limits(1):
            outcome = _outcome(job, tables[job.table], options)
        versions = versions_of(job.tool, options.venvs)
        results.append(job, {**outcome, "commit": commit, "versions": versions})
        print(f"{place} of {len(wanted)}: {job}: {outcome}", file=sys.stderr)
        count += 1
    return count


def _outcome(job: Job, table: Table, options: argparse.Namespace) -> dict[str, Any]:
    """Areas by learner, or why there are none; and seconds."""
    split = split_of(table, options.data, job.seed, coded=job.track == SCHEMA)
    began = time.perf_counter()
    try:
        drawn = _drawn(job, split, options)
        seconds = time.perf_counter() - began
        scores = {f"auc_{name}": round(area, 6) for name, area in areas(split, drawn).items()}
    except Exception as error:  # noqa: BLE001 - it is written down, and the sweep goes on
        seconds = time.perf_counter() - began
        reason = getattr(error, "reason", type(error).__name__)
        said = getattr(error, "said", str(error))[:SAID]
        return {"failed": reason, "said": said, "seconds": round(seconds, 2)}
    return {**scores, "seconds": round(seconds, 2)}


def _drawn(job: Job, split: Split, options: argparse.Namespace) -> pd.DataFrame:
    if job.epsilon is None:
        return split.train
    if job.tool in PEERS:
        return drawn_by_peer(job.tool, split, job.epsilon, options.venvs, options.limit)
    return drawn_by(job.tool, split, job.epsilon, job.seed)


def _there(tool: str, venvs: Path | None) -> bool:
    if tool not in PEERS:
        return True
    if venvs is not None and (venvs / PEERS[tool].environment / "bin/python").exists():
        return True
    print(f"{tool} is left out: there is no environment for it.", file=sys.stderr)
    return False


def _commit() -> str:
    git = shutil.which("git")
    if git is None:
        return "unknown"
    command = [git, "-C", str(HERE), "describe", "--always", "--dirty"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.stdout.strip() or "unknown"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [table.name for table in TABLES]
    parser.add_argument("--results", type=Path, required=True, metavar="FILE")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page, run nothing")
    parser.add_argument("--data", type=Path, metavar="DIR")
    parser.add_argument("--venvs", type=Path, metavar="DIR", help="environments of peers")
    told = f"of {', '.join((*OURS, *PEERS))}; {REAL} is always run"
    parser.add_argument("--methods", nargs="+", default=TOOLS, choices=TOOLS, help=told)
    parser.add_argument("--tables", nargs="+", default=names, choices=names)
    parser.add_argument("--tracks", nargs="+", default=TRACKS, choices=TRACKS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0 on")
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="every N-th job")
    parser.add_argument("--limit", type=float, default=600, help="seconds of a peer's run")
    parser.add_argument("--again", action="store_true", help="try again what failed")
    options = parser.parse_args()
    if options.page is None and options.data is None:
        parser.error("give --data to run, or --page to write the page")
    return options


if __name__ == "__main__":
    main()
