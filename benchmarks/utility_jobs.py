"""The jobs of `utility.py`: which there are, in which order, and which are done."""

import json
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from utility_tables import Table
from utility_tools import PEERS, REAL, TOOLS

SCHEMA, DISCOVERY = "schema", "discovery"
TRACKS = (SCHEMA, DISCOVERY)
"""The same public codes for all; or raw values, about which nothing is declared."""
EPSILONS = (1.0, 0.2, 4.0)
"""In the order of the work: a sweep that is cut short has the first of them."""
PEER_EPSILONS, PEER_SEEDS = (0.2, 1.0), 3


@dataclass(frozen=True)
class Job:
    """One repetition of one tool on one table."""

    tool: str
    table: str
    track: str
    epsilon: float | None
    """None for real rows, which are the same for all."""
    seed: int


@dataclass(frozen=True)
class Wish:
    """What somebody wants to be run."""

    tables: Sequence[Table]
    tools: Collection[str] = TOOLS
    tracks: Sequence[str] = TRACKS
    epsilons: Sequence[float] = EPSILONS
    seeds: int = 5


def jobs(wish: Wish) -> list[Job]:
    """All jobs: at the first ε every tool on every table for one seed, then the next seed."""
    found = [
        Job(tool, table.name, track, None if tool == REAL else epsilon, seed)
        for epsilon in sorted(wish.epsilons, key=_rank)
        for seed in range(wish.seeds)
        for track in wish.tracks
        for table in wish.tables
        if track == SCHEMA or table.discovered
        for tool in TOOLS
        if (tool in wish.tools or tool == REAL) and _run(tool, track, epsilon, seed)
    ]
    return list(dict.fromkeys(found))  # real rows once


def _rank(epsilon: float) -> tuple[int, float]:
    return (EPSILONS.index(epsilon) if epsilon in EPSILONS else len(EPSILONS), epsilon)


def _run(tool: str, track: str, epsilon: float, seed: int) -> bool:
    """Peers take minutes and codes: fewer of their jobs are run."""
    if tool not in PEERS:
        return True
    return track == SCHEMA and epsilon in PEER_EPSILONS and seed < PEER_SEEDS


def share(all_jobs: Sequence[Job], shard: str) -> list[Job]:
    """Every N-th job from the K-th, for a shard K/N."""
    first, _, every = shard.partition("/")
    if not (first.isdecimal() and every.isdecimal() and 1 <= int(first) <= int(every)):
        sys.exit(f"--shard {shard}: give K/N, such as 1/2 and 2/2.")
    return list(all_jobs[int(first) - 1 :: int(every)])


class Results:
    """A file with a line for each job that has ended, well or not."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> dict[Job, dict[str, Any]]:
        """By job, the last line about it."""
        found = {}
        for line in self._told():
            names = ("tool", "table", "track", "epsilon", "seed")
            found[Job(*(line[name] for name in names))] = line
        return found

    def append(self, job: Job, outcome: dict[str, Any]) -> None:
        """Add a line in one write, so that several shards may share the file."""
        names = ("tool", "table", "track", "epsilon", "seed")
        line = {**dict(zip(names, astuple(job), strict=True)), **outcome}
        told = (json.dumps(line, ensure_ascii=False) + "\n").encode()
        opened = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(opened, told)
        finally:
            os.close(opened)

    def done(self, job: Job, *, again: bool) -> bool:
        """Whether a job has ended; one that failed counts as such unless it is tried again."""
        line = self.lines().get(job)
        return line is not None and not (again and "failed" in line)

    def _told(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        for line in self.path.read_text("utf-8").splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue  # half a line of a machine that went down: the job is run again
