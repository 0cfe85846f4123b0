"""What a change of the code does to utility, from two results files of `utility.py`.

    python benchmarks/utility.py --data DIR --results BEFORE --tracks discovery --methods auto
    python benchmarks/utility.py --data DIR --results AFTER --tracks discovery --methods auto
    python benchmarks/discovery_change.py BEFORE AFTER

The first command runs on the old checkout, the second on the new one. Differences are paired by
seed: both runs split the rows alike. A table is worse where the 95 % interval (Student) over seeds
lies below zero; the mean change is over tables, with an interval over them.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.curator.coded_task import Mean
from understudy.experiments.markdown import shown
from understudy.experiments.markdown import table as markdown
from utility_jobs import DISCOVERY, TRACKS, Job, Results
from utility_learners import LEARNERS
from utility_summary import LEVEL, Setting, Summary, mean
from utility_tools import REAL, TOOLS

BY_ACCIDENT = 1 - LEVEL
"""How often a table on which nothing changed is worse by more than its interval."""
Lines = Mapping[Job, Mapping[str, Any]]


@dataclass(frozen=True)
class Change:
    """How much larger the areas of one table are after than before."""

    table: str
    setting: Setting
    before: Mean
    after: Mean
    difference: Mean

    @property
    def verdict(self) -> str:
        """Worse or better by more than the interval, or neither; of one seed nothing is said."""
        if self.difference.repetitions == 1:
            return "one seed"
        if self.difference.value + self.difference.half < 0:
            return "worse"
        return "better" if self.difference.value - self.difference.half > 0 else "open"


def main() -> int:
    """Print the page; the exit code is 1 where a table is worse or a job failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path, metavar="BEFORE")
    parser.add_argument("after", type=Path, metavar="AFTER")
    parser.add_argument("--tool", default="auto", choices=[tool for tool in TOOLS if tool != REAL])
    parser.add_argument("--track", default=DISCOVERY, choices=TRACKS)
    options = parser.parse_args()
    for path in (options.before, options.after):
        if not path.is_file():
            parser.error(f"{path} is no results file of utility.py")
    lines = [Results(path).lines() for path in (options.before, options.after)]
    text, sound = page(lines[0], lines[1], options.tool, options.track)
    print(text)
    return 0 if sound else 1


def page(before: Lines, after: Lines, tool: str, track: str) -> tuple[str, bool]:
    """Return the page, and whether no table is worse and no job is missing."""
    found = [*changes(before, after, tool, track)]
    missing = sorted(_missing(before, after, tool, track))
    worse = [one for one in found if one.verdict == "worse"]
    parts = [f"# Change of `{tool}` on the track `{track}`\n", _commits(before, after)]
    for setting in dict.fromkeys(one.setting for one in found):
        parts.append(f"## ε = {setting.epsilon:g}, {setting.learner}\n")
        parts.append(_compared([one for one in found if one.setting == setting]))
    parts.append("## Verdict\n")
    parts += [
        f"- Worse by more than its interval: {one.table} (ε = {one.setting.epsilon:g}, "
        f"{one.setting.learner}): {_signed(one.difference)}."
        for one in worse
    ]
    if found and not worse:
        parts.append("- No table is worse by more than its interval.")
    decided = sum(one.difference.repetitions > 1 for one in found)
    parts.append(
        f"- Of {decided} comparisons, {BY_ACCIDENT * decided:.1f} would be worse by accident."
    )
    parts += [f"- Not compared: {line}." for line in missing]
    if not found:
        parts.append("- The two files have no jobs in common.")
    return "\n".join(parts), bool(found) and not worse and not missing


def changes(before: Lines, after: Lines, tool: str, track: str) -> Iterator[Change]:
    """By ε, learner and table, over the seeds that both files have."""
    old, new = Summary(before), Summary(after)
    jobs = [job for job in before if (job.tool, job.track) == (tool, track)]
    tables = list(dict.fromkeys(job.table for job in jobs))
    for epsilon in sorted({job.epsilon for job in jobs if job.epsilon is not None}):
        for learner in LEARNERS:
            setting = Setting(track, epsilon, learner)
            for table in tables:
                one, other = (summary.areas(setting, table, tool) for summary in (old, new))
                seeds = sorted(one.keys() & other.keys())
                difference = mean(other[seed] - one[seed] for seed in seeds)
                means = [mean(areas[seed] for seed in seeds) for areas in (one, other)]
                if difference is not None and means[0] is not None and means[1] is not None:
                    yield Change(table, setting, means[0], means[1], difference)


def _missing(before: Lines, after: Lines, tool: str, track: str) -> Iterator[str]:
    """Jobs that ended well in one file alone."""
    for job in {*before, *after}:
        if (job.tool, job.track) != (tool, track):
            continue
        well = [job in lines and "failed" not in lines[job] for lines in (before, after)]
        if well[0] != well[1]:
            where = "after" if well[0] else "before"
            yield f"{job.table}, ε = {job.epsilon:g}, seed {job.seed} has no result {where}"


def _commits(before: Lines, after: Lines) -> str:
    named = [
        ", ".join(sorted({str(line["commit"]) for line in lines.values()})) or "nothing"
        for lines in (before, after)
    ]
    return f"Areas under the ROC curve, larger is better. Before: {named[0]}. After: {named[1]}.\n"


def _compared(found: list[Change]) -> str:
    """A line for each table, and their mean."""
    rows = [
        [
            one.table,
            str(one.difference.repetitions),
            shown(one.before, 4),
            shown(one.after, 4),
            _signed(one.difference),
            one.verdict,
        ]
        for one in found
    ]
    average = mean(one.difference.value for one in found)
    if average is not None:
        rows.append(["mean of tables", "", "", "", _signed(average), ""])
    return markdown(["table", "seeds", "before", "after", "after − before", "verdict"], rows)


def _signed(difference: Mean) -> str:
    return f"{'+' if difference.value >= 0 else ''}{shown(difference, 4)}"


if __name__ == "__main__":
    sys.exit(main())
