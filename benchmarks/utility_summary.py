"""What the lines of `utility.py` say together: gaps to real rows, ranks, and paired differences."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy import stats

from understudy.curator.coded_task import Mean
from utility_jobs import Job
from utility_learners import LEARNERS
from utility_tools import REAL, TOOLS

LEVEL = 0.975
"""Of Student's distribution: 95 % intervals have two sides."""


@dataclass(frozen=True)
class Setting:
    """One comparison: by track, ε and learner."""

    track: str
    epsilon: float
    learner: str


@dataclass(frozen=True)
class Versus:
    """One tool against another: over tables, and how many were decided."""

    difference: Mean | None
    """The mean over tables of mean paired differences."""
    wins: int
    ties: int
    losses: int


class Summary:
    """Areas by tool, table and seed."""

    def __init__(self, lines: Mapping[Job, Mapping[str, Any]]) -> None:
        self._areas: dict[tuple[str, float | None, str, str, str], dict[int, float]]
        self._areas = defaultdict(dict)
        for job, line in lines.items():
            for learner in LEARNERS if "failed" not in line else ():
                key = (job.track, job.epsilon, learner, job.table, job.tool)
                self._areas[key][job.seed] = line[f"auc_{learner}"]

    def areas(self, setting: Setting, table: str, tool: str) -> dict[int, float]:
        """By seed; those of real rows are the same for every ε."""
        epsilon = None if tool == REAL else setting.epsilon
        key = (setting.track, epsilon, setting.learner, table, tool)
        return self._areas.get(key, {})

    def tools(self, setting: Setting, tables: Iterable[str]) -> list[str]:
        """Those that have results on any of these tables."""
        tables = list(tables)
        return [
            tool
            for tool in TOOLS
            if tool != REAL and any(self.areas(setting, table, tool) for table in tables)
        ]

    def gap(self, setting: Setting, tables: Iterable[str], tool: str) -> Mean | None:
        """How far below real rows, on the same splits: the mean over tables."""
        return mean(
            statistics.fmean(found)
            for table in tables
            if (found := self.paired(setting, table, REAL, tool))
        )

    def rank(self, setting: Setting, tables: Iterable[str], tool: str) -> float | None:
        """The mean place over tables, by mean area over seeds; 1 is the best."""
        places = [ranks[tool] for table in tables if tool in (ranks := self._ranks(setting, table))]
        return statistics.fmean(places) if places else None

    def versus(
        self,
        setting: Setting,
        tables: Iterable[str],
        one: str,
        other: str,
        theirs: Setting | None = None,
    ) -> Versus:
        """How much larger the areas of one are; a table is won where the interval says so.

        `theirs` is the other's setting, where it is another.
        """
        found = [
            each
            for table in tables
            if (each := mean(self.paired(setting, table, one, other, theirs))) is not None
        ]
        decided = [each for each in found if each.repetitions > 1]
        wins = sum(each.value - each.half > 0 for each in decided)
        losses = sum(each.value + each.half < 0 for each in decided)
        return Versus(mean(each.value for each in found), wins, len(found) - wins - losses, losses)

    def paired(
        self, setting: Setting, table: str, one: str, other: str, theirs: Setting | None = None
    ) -> list[float]:
        """Differences of areas on the splits that both have."""
        mine = self.areas(setting, table, one)
        others = self.areas(theirs or setting, table, other)
        return [mine[seed] - others[seed] for seed in sorted(mine) if seed in others]

    def _ranks(self, setting: Setting, table: str) -> dict[str, float]:
        tools = self.tools(setting, [table])
        means = [-statistics.fmean(self.areas(setting, table, tool).values()) for tool in tools]
        return dict(zip(tools, map(float, stats.rankdata(means)), strict=True))


def mean(values: Iterable[float]) -> Mean | None:
    """A mean with Student's 95 % interval; nothing of nothing."""
    known: Sequence[float] = list(values)
    if not known:
        return None
    half, count = 0.0, len(known)
    if count > 1:
        half = stats.t.ppf(LEVEL, count - 1) * statistics.stdev(known) / count**0.5
    return Mean(statistics.fmean(known), float(half), count)
