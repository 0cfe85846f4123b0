"""An evaluation for the eye: tables of numbers, each with its interval and direction."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table

from understudy.curator.attacks import (
    ALL_ROWS,
    DENSITY,
    DISTANCE,
    FULL_LEAK,
    MARGINALS,
    NO_LEAK,
    RELEASE,
    Attacks,
    Strike,
    decile,
)
from understudy.curator.disclosure import Disclosure
from understudy.curator.evaluation import Evaluation
from understudy.curator.fairness import GroupGaps, IndependenceTest
from understudy.curator.fidelity import Fidelity
from understudy.curator.result import CONFIDENCE, Direction, Result
from understudy.curator.task import GAP, REAL, SYNTHETIC, Task

_ARROWS = {
    Direction.HIGHER: "↑",
    Direction.LOWER: "↓",
    Direction.ZERO: "→0",
    Direction.ONE: "→1",
    Direction.NONE: "",
}


class _Page:
    """Prints headings, tables and sentences."""

    def __init__(self) -> None:
        self.console = Console(markup=False, highlight=False, emoji=False)

    def head(self, text: str) -> None:
        self.console.print(f"\n{text}", style="bold")

    def say(self, text: str) -> None:
        for line in textwrap.wrap(text, self.console.width - 2, break_long_words=False):
            self.console.print(f"  {line}", soft_wrap=True)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*row)
        self.console.print(table)


def show(evaluation: Evaluation) -> None:
    """Print an evaluation."""
    page = _Page()
    page.console.print("Evaluation: INTERNAL, it compares with real rows", style="bold")
    rows = ", ".join(f"{count:,} {name}" for name, count in evaluation.rows.items())
    page.say(f"Rows: {rows}. Columns compared: {len(evaluation.columns)}.")
    page.say(f"In brackets {CONFIDENCE:.0%} intervals; ↑ higher is better, ↓ lower is better.")
    for note in evaluation.notes:
        page.say(note)
    if evaluation.task is not None:
        _show_task(page, evaluation.task)
    _show_fidelity(page, evaluation.fidelity)
    _show_fairness(page, evaluation.independence, evaluation.gaps)
    _show_attacks(page, evaluation.attacks)
    if evaluation.second_opinion:
        page.head("A second opinion on attacks")
        page.table(("", "risk"), [(r.name, _told(r)) for r in evaluation.second_opinion])
    _show_disclosure(page, evaluation.disclosure)


def _show_task(page: _Page, task: Task) -> None:
    positive = "" if task.positive is None else f", positive class {task.positive}"
    page.head(f"Task: {task.task} of {task.target}{positive}")
    models = [score.model for score in task.scores if score.trained_on == SYNTHETIC]
    baseline = next(score for score in task.scores if score.model not in models)
    by_chance = {result.name: result for result in baseline.results}
    for model in models:
        ours, theirs = task.of(model, SYNTHETIC).results, task.of(model, REAL).results
        real = {result.name: result for result in theirs}
        page.table(
            (model, "trained on synthetic", "trained on real", baseline.model),
            [
                (
                    _named(one),
                    _told(one),
                    _told(real.get(one.name)),
                    _short(by_chance.get(one.name)),
                )
                for one in ours
            ],
        )
        gap = next(
            (s.results[0] for s in task.scores if (s.model, s.trained_on) == (model, GAP)), None
        )
        if gap is not None and gap.value is not None:
            page.say(f"Synthetic minus real, {gap.name}: {_told(gap)}.")
    page.say(f"Read: {task.scores[0].results[0].read}.")
    for note in task.notes:
        page.say(note)


def _show_fidelity(page: _Page, fidelity: Fidelity) -> None:
    page.head("Fidelity: how far distributions are apart")
    lines = []
    for one in fidelity.marginals:
        lines.append((_named(one.distance), _told(one.distance), f"{one.floor:.3g} by chance"))
        lines.append((f"  worst: {', '.join(one.worst)}", _told(one.worst_distance), ""))
        lines.append((_named(one.divergence), _told(one.divergence), "nats"))
    for moment in fidelity.moments:
        unit = "" if moment.kind == "correlation" else "real deviations"
        lines.append((_named(moment.difference), _told(moment.difference), unit))
        if moment.worst:
            worst = f"  worst: {', '.join(moment.worst)}"
            lines.append((worst, _told(moment.worst_difference), ""))
    page.table(("", "value", ""), lines)
    for note in fidelity.notes:
        page.say(note)


def _named(result: Result) -> str:
    return f"{result.name} {_ARROWS[result.direction]}"


def _show_fairness(
    page: _Page, tests: Sequence[IndependenceTest], gaps: Sequence[GroupGaps]
) -> None:
    if tests:
        page.head("Stated independence, in the rows")
        page.table(
            ("", "information (nats) ↓", "if it held", "p"),
            [
                (
                    f"{test.sentence}, {test.table} rows",
                    _told(test.information),
                    f"{test.expected:.3g}",
                    f"{test.p_value:.3g}",
                )
                for test in tests
            ],
        )
        page.say("A small p speaks against the independence.")
    if gaps:
        page.head("How evenly models treat groups")
        page.table(
            ("groups", "model, trained on", "demographic parity ↓", "equalized odds ↓"),
            [
                (gap.groups, f"{gap.model}, {gap.trained_on}", _told(gap.parity), _told(gap.odds))
                for gap in gaps
            ],
        )
        page.say("Gaps: the largest difference between two groups' rates.")


def _show_attacks(page: _Page, attacks: Attacks) -> None:
    page.head("Membership attacks: can anyone tell who was in the table?")
    if attacks.strikes:
        page.say("Advantage over guessing (2·AUC − 1), and p: how often guessing does as well")
        page.table(
            ("attack", "rows", "release ↓", "p", "nothing leaks →0", "all leaks"),
            [
                (
                    attack,
                    group,
                    _told(ours.advantage, 2),
                    _p_value(ours.p_value),
                    _told(none, 2),
                    _short(full),
                )
                for attack, group, ours, none, full in _compared(attacks, "advantage")
            ],
        )
        page.say("Share of members found, at 1 % false alarms")
        page.table(
            ("attack", "rows", "release ↓", "nothing leaks", "all leaks"),
            [
                (attack, group, _told(ours.found), _told(none), _short(full))
                for attack, group, ours, none, full in _compared(attacks, "found")
            ],
        )
        page.say(
            "Two controls: where nothing leaks, an attack must find about 0; where all leaks, it "
            "shows the most it can find. Decile 10 holds the rarest rows, decile 5 ordinary ones."
        )
    if attacks.ceiling is not None:
        bound = attacks.ceiling
        page.say(
            f"The promise (ε = {bound.epsilon:.4g}, δ = {bound.delta:.3g}) allows an advantage of "
            f"at most {bound.one_record:.3f} in telling whether one record is in the table, and "
            f"{bound.swapped:.3f} in telling which of two is, as is measured here."
        )
    for note in attacks.notes:
        page.say(note)


def _compared(attacks: Attacks, what: str) -> Iterator[tuple[str, str, Strike, Result, Result]]:
    """By attack and group of rows: the release, and a number of both controls."""
    for attack in (DISTANCE, DENSITY, MARGINALS):
        for group in (ALL_ROWS, decile(5), decile(10)):
            ours, none, full = (
                attacks.of(attack, table, group) for table in (RELEASE, NO_LEAK, FULL_LEAK)
            )
            yield attack, group, ours, getattr(none, what), getattr(full, what)


def _p_value(p_value: float | None) -> str:
    return "" if p_value is None else f"{p_value:.3g}"


def _show_disclosure(page: _Page, disclosure: Disclosure) -> None:
    page.head("Copies and distances: no evidence of privacy")
    page.table(("", "value"), [(r.name, _told(r)) for r in disclosure.results])
    page.say(disclosure.warning)


def _told(result: Result | None, decimals: int = 3) -> str:
    """Value and interval; or why there is none."""
    if result is None:
        return ""
    if result.value is None:
        return f"none ({result.note})"
    ends = ", ".join(_number(end, decimals) for end in (result.low, result.high))
    return f"{_number(result.value, decimals)} [{ends}]"


def _short(result: Result | None) -> str:
    return "" if result is None or result.value is None else _number(result.value)


def _number(value: float | None, decimals: int = 3) -> str:
    """The number for the eye: large ones in powers of ten, and no minus before a zero."""
    if value is None:
        return ""
    if abs(value) >= 1000:  # noqa: PLR2004 - for the eye
        return f"{value:.3g}"
    return f"{value:.{decimals}f}".replace("-0." + "0" * decimals, "0." + "0" * decimals)
