"""The results of `utility.py` as a page in Markdown."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from understudy.experiments.markdown import shown
from understudy.experiments.markdown import table as markdown
from utility_jobs import DISCOVERY, PEER_EPSILONS, SCHEMA, Job
from utility_learners import LEARNERS
from utility_summary import Setting, Summary, Versus, mean
from utility_tables import DEVELOPMENT, LEAST_ROWS, Table
from utility_tools import PEERS, REAL, TOOLS

AUTO = "auto"
MARK = "†"
TITLES = {
    SCHEMA: "The same public codes for all",
    DISCOVERY: "Raw values, nothing declared",
}
TEXT = """# Utility on public tables

    python benchmarks/utility.py --data DIR --results FILE --venvs VENVS
    python benchmarks/utility.py --results FILE --page docs/results/utility.md

Models are trained on synthetic rows and judged on real ones: areas under the ROC curve, larger is
better. Four fifths of the rows of each class are given to a tool, which draws as many; equal rows
stay on one side of the split; δ = 1/n² for n rows given. Split, noise and rows are drawn anew for
each seed: up to {ours} for our methods, {peers} for peers. Learners are logistic regression and
boosting. ± is a 95 % interval (Student) over seeds, or over tables where means of tables are shown;
of one value there is none, and nothing is won by one seed.

- **{schema}** (track `{a}`): every column is cut by public rules
  (`benchmarks/utility_tables.py`), every tool is given these codes, and n is public. Missing cells
  are a code.
- **{discovery}** (track `{b}`): `understudy.synthesize` is given raw rows and
  the target's name. What columns hold is found out from the same ε. Learners see the values.

{mark}: the rule of `auto` was chosen by these tables ({development}); "without {mark}" leaves them
out. Made by {commits};
{versions}.
"""
READ = """Gap: area of real rows less the tool's, mean over tables (smaller is better). Rank: mean
place among the tools that have results on a table. Then `auto` less the tool on the same splits,
mean over tables, and tables that `auto` wins, leaves open and loses by the interval over seeds.
"""


def page(lines: Mapping[Job, Mapping[str, Any]], tables: Sequence[Table]) -> str:
    """The whole page."""
    summary = Summary(lines)
    parts = [_head(lines)]
    for track, title in TITLES.items():
        names = [
            table.name
            for table in tables
            if any((job.track, job.table) == (track, table.name) for job in lines)
        ]
        epsilons = sorted(
            {job.epsilon for job in lines if job.track == track and job.epsilon is not None}
        )
        if not epsilons:
            continue
        parts += [f"## {title}\n", READ]
        settings = [
            Setting(track, epsilon, learner) for epsilon in epsilons for learner in LEARNERS
        ]
        for setting in settings:
            parts.append(f"### ε = {setting.epsilon:g}, {setting.learner}\n")
            parts.append(_compared(summary, setting, names))
        parts += _with_less(summary, track, names)
        for name in names:
            parts += [f"### {_marked(name)}\n", _areas(summary, settings, name)]
        parts += ["### Seconds\n", _seconds(lines, track, names)]
    return "\n".join([*parts, *_left_out(lines, tables)])


def _head(lines: Mapping[Job, Mapping[str, Any]]) -> str:
    commits = sorted({str(line["commit"]) for line in lines.values()})
    versions = sorted(
        {f"{name} {told}" for line in lines.values() for name, told in line["versions"].items()}
    )
    seeds = {
        peers: len({job.seed for job in lines if (job.tool in PEERS) == peers})
        for peers in (False, True)
    }
    return TEXT.format(
        ours=seeds[False],
        peers=seeds[True],
        schema=TITLES[SCHEMA],
        discovery=TITLES[DISCOVERY],
        a=SCHEMA,
        b=DISCOVERY,
        mark=MARK,
        development=", ".join(DEVELOPMENT),
        commits=f"commit {', '.join(commits)}",
        versions=", ".join(versions),
    )


def _compared(summary: Summary, setting: Setting, names: Sequence[str]) -> str:
    """A line for each tool: over all tables, and over those that decided nothing."""
    others = [name for name in names if name not in DEVELOPMENT]
    head = ["tool", "tables", "gap", f"gap without {MARK}", "rank", f"rank without {MARK}"]
    head += [f"{AUTO} − tool", "won, open, lost"]
    head += [f"{AUTO} − tool without {MARK}", f"won, open, lost without {MARK}"]
    return markdown(head, _compared_lines(summary, setting, names, others))


def _compared_lines(
    summary: Summary, setting: Setting, names: Sequence[str], others: Sequence[str]
) -> Iterator[list[str]]:
    for tool in summary.tools(setting, names):
        count = sum(bool(summary.areas(setting, name, tool)) for name in names)
        gaps = [shown(summary.gap(setting, some, tool)) for some in (names, others)]
        ranks = [summary.rank(setting, some, tool) for some in (names, others)]
        places = ["" if rank is None else f"{rank:.2f}" for rank in ranks]
        against = ["", "", "", ""]
        if tool != AUTO:
            against = [
                text
                for some in (names, others)
                for text in _against(summary.versus(setting, some, AUTO, tool))
            ]
        yield [tool, str(count), *gaps, *places, *against]


def _with_less(summary: Summary, track: str, names: Sequence[str]) -> Iterator[str]:
    """Ours with the smaller ε beside peers with the larger one."""
    small, large = min(PEER_EPSILONS), max(PEER_EPSILONS)
    others = [name for name in names if name not in DEVELOPMENT]
    rows = []
    for learner in LEARNERS:
        ours, theirs = (Setting(track, epsilon, learner) for epsilon in (small, large))
        for peer in [tool for tool in summary.tools(theirs, names) if tool in PEERS]:
            found = [summary.versus(ours, some, AUTO, peer, theirs) for some in (names, others)]
            if found[0].difference is not None:
                rows.append([learner, peer, *(text for one in found for text in _against(one))])
    if rows:
        head = ["learner", "peer", f"{AUTO} − peer", "won, open, lost"]
        head += [f"{AUTO} − peer without {MARK}", f"won, open, lost without {MARK}"]
        yield f"### {AUTO} at ε = {small:g}, peers at ε = {large:g}\n"
        yield markdown(head, rows)


def _against(found: Versus) -> tuple[str, str]:
    if found.difference is None:
        return "", ""
    sign = "+" if found.difference.value >= 0 else ""
    return sign + shown(found.difference), f"{found.wins}, {found.ties}, {found.losses}"


def _areas(summary: Summary, settings: Sequence[Setting], name: str) -> str:
    head = ["tool", *(f"ε = {each.epsilon:g}, {each.learner}" for each in settings)]
    rows = []
    for tool in TOOLS:
        means = [mean(summary.areas(each, name, tool).values()) for each in settings]
        if any(means):
            rows.append([tool, *map(shown, means)])
    return markdown(head, rows)


def _seconds(lines: Mapping[Job, Mapping[str, Any]], track: str, names: Sequence[str]) -> str:
    """The median of all runs that ended well, whatever their ε."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for job, line in lines.items():
        if job.track == track and "failed" not in line:
            found[job.tool, job.table].append(line["seconds"])
    rows = [
        [tool, *(_median(found.get((tool, name), ())) for name in names)]
        for tool in TOOLS
        if tool != REAL and any((tool, name) in found for name in names)
    ]
    note = "To fit and to draw; of peers the whole process, in which JAX may find programs that an "
    note += "earlier one compiled. On a shared machine.\n\n"
    return note + markdown(["tool", *map(_marked, names)], rows)


def _median(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.1f}" if values else ""


def _left_out(lines: Mapping[Job, Mapping[str, Any]], tables: Sequence[Table]) -> Iterator[str]:
    """Failed runs with their reasons, and what was not tried."""
    yield "## Failed and left out\n"
    failed: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for job, line in lines.items():
        if "failed" in line:
            where = f"{TITLES[job.track].lower()}, ε = {job.epsilon:g}"
            failed[job.tool, job.table, where, str(line["failed"])].append(job.seed)
    for (tool, name, where, reason), seeds in sorted(failed.items()):
        told = ", ".join(map(str, sorted(seeds)))
        yield f"- {tool} on {name} ({where}, seeds {told}): {reason}."
    if not failed:
        yield "- No run failed."
    small = _listed(f"{one.name} ({one.rows:,})" for one in tables if one.rows < LEAST_ROWS)
    if small:
        yield f"- Too small for discovery, with fewer than {LEAST_ROWS:,} rows: {small}."
    coded = _listed(one.name for one in tables if not one.raw)
    if coded:
        yield f"- Not given to discovery, for the file holds codes: {coded}."
    unlisted = _listed(f"{name} of {one.name}" for one in tables for name in one.raw_only)
    if unlisted:
        yield f"- Not among the public codes, for no list of its values is public: {unlisted}."
    if not any(job.tool in PEERS for job in lines):
        yield "- No peer was run."
    yield ""


def _marked(name: str) -> str:
    return f"{name} {MARK}" if name in DEVELOPMENT else name


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
