"""What an evaluation tells, in order: headings, tables, sentences and pictures.

Once for all: a console prints them, a page of HTML shows them.
"""

from collections.abc import Sequence

from understudy.curator import pictures
from understudy.curator.attacks import (
    ALL_ROWS,
    DENSITY,
    DISTANCE,
    FULL_LEAK,
    MARGINALS,
    NO_LEAK,
    RELEASE,
    Attacks,
    decile,
)
from understudy.curator.cell_text import (
    LONGEST,
    Cell,
    as_text,
    named,
    number,
    p_value,
    short,
    worst,
)
from understudy.curator.disclosure import Disclosure
from understudy.curator.evaluation import Evaluation
from understudy.curator.fairness import GroupGaps, IndependenceTest
from understudy.curator.fidelity import Fidelity
from understudy.curator.page import Page
from understudy.curator.result import CONFIDENCE, Direction
from understudy.curator.tables import REAL, SYNTHETIC
from understudy.curator.task import GAP, Task
from understudy.curator.told_records import show_records
from understudy.curator.verdict import task_verdict, verdicts
from understudy.report.words import shortened

_FEW_TELLING = 0.5


def tell_evaluation(evaluation: Evaluation, page: Page) -> None:
    """All of it."""
    for alarm in evaluation.attacks.alarms:
        page.warn(alarm)
    rows = ", ".join(f"{count:,} {name}" for name, count in evaluation.rows.items())
    page.say(f"Rows: {rows}. Columns compared: {len(evaluation.columns)}.")
    page.say(
        f"In brackets {CONFIDENCE:.0%} intervals; ↑ higher is better, ↓ lower is better, →0 nearer "
        "to 0 is better."
    )
    for note in evaluation.notes:
        page.say(note)
    if evaluation.task is not None:
        _show_task(page, evaluation.task)
    _show_fidelity(page, evaluation.fidelity)
    _show_independence(page, evaluation.independence)
    _show_gaps(page, evaluation.gaps)
    if evaluation.records is not None:
        show_records(page, evaluation.records)
    _show_attacks(page, evaluation.attacks)
    if evaluation.second_opinion:
        page.head("A second opinion on attacks")
        page.table(("", "risk ↓"), [(result.name, result) for result in evaluation.second_opinion])
    _show_disclosure(page, evaluation.disclosure)


def _show_task(page: Page, task: Task) -> None:
    positive = "" if task.positive is None else f", positive class {task.positive}"
    page.head(f"Task: {task.task} of {task.target}{positive}")
    page.say(str(task_verdict(task)))
    for verdict in verdicts(task):
        page.say(str(verdict))
    page.picture(
        pictures.task_scores,
        task,
        "Circles: trained on synthetic rows; squares: on real rows; lines reach over their "
        "intervals. The further right the better, and the closer a circle is to its square.",
    )
    by_chance = {result.name: result for result in task.baseline.results}
    for model in task.models:
        sides = {
            score.trained_on: {result.name: result for result in score.results}
            for score in task.scores
            if score.model == model
        }
        page.table(
            (model, "trained on synthetic", "trained on real", task.baseline.model),
            [
                (named(ours), ours, sides[REAL].get(name), short(by_chance.get(name)))
                for name, ours in sides[SYNTHETIC].items()
            ],
        )
        gap = next(iter(sides.get(GAP, {}).values()), None)
        if gap is not None and gap.value is not None:
            page.say(f"Synthetic minus real, {named(gap)}: {as_text(gap)}.")
    page.say(f"Read: {task.scores[0].results[0].read}.")
    for note in task.notes:
        page.say(note)


def _show_fidelity(page: Page, fidelity: Fidelity) -> None:
    page.head("Fidelity: how far distributions are apart")
    page.picture(pictures.pair_distances, fidelity, pictures.about_pairs(fidelity))
    pairs = pictures.worst_pairs(fidelity)
    if pairs:
        page.table(
            ("worst pairs of columns", "distance ↓", "by chance"),
            [
                (
                    " and ".join(shortened(name, LONGEST) for name in clique),
                    number(distance),
                    number(chance),
                )
                for clique, distance, chance in pairs
            ],
        )
    lines: list[Sequence[Cell]] = []
    for one in fidelity.marginals:
        lines += [
            (named(one.distance), one.distance, f"{one.floor:.3g} by chance"),
            (worst(one.worst, one.worst_distance), one.worst_distance, ""),
            (named(one.divergence), one.divergence, f"{one.divergence_floor:.3g} by chance"),
        ]
    for moment in fidelity.moments:
        chance = f"{moment.floor:.3g} by chance"
        lines.append((named(moment.difference), moment.difference, chance))
        if moment.worst:
            difference = moment.worst_difference
            lines.append((worst(moment.worst, difference), difference, ""))
    page.table(("", "value", ""), lines)
    page.say("Divergences are in nats, moments in the real table's standard deviations.")
    for note in fidelity.notes:
        page.say(note)
    page.picture(pictures.overlaid_columns, fidelity, "")


def _show_independence(page: Page, tests: Sequence[IndependenceTest]) -> None:
    if not tests:
        return
    page.head("Stated independence, in the rows")
    page.table(
        ("", "information (nats) ↓", "if it held", "p ↑"),
        [
            (
                f"{test.sentence}, {test.table} rows",
                test.information,
                f"{test.expected:.3g}",
                p_value(test.p_value),
            )
            for test in tests
        ],
    )
    page.say("A small p speaks against the independence; a large one does not prove it.")
    for test in tests:
        if test.telling < _FEW_TELLING:
            page.say(
                f"Only {test.telling:.0%} of the {test.table} rows can speak against "
                f"{test.sentence}: in the other strata one side never varies. Give fewer columns, "
                "or coarser ones."
            )


def _show_gaps(page: Page, gaps: Sequence[GroupGaps]) -> None:
    if not gaps:
        return
    page.head("How evenly models treat groups")
    page.table(
        ("groups", "model, trained on", "demographic parity ↓", "equalized odds ↓"),
        [(gap.groups, f"{gap.model}, {gap.trained_on}", gap.parity, gap.odds) for gap in gaps],
    )
    page.say("Gaps: the largest difference between two groups' rates.")


def _show_attacks(page: Page, attacks: Attacks) -> None:
    page.head("Membership attacks: can anyone tell who was in the table?")
    page.picture(
        pictures.attack_strength,
        attacks,
        "What each attack gains over guessing, on all rows. Circle: the release; square: a table "
        "that leaks nothing; diamond: a table that leaks everything.",
    )
    if attacks.strikes:
        struck = [
            (
                attack,
                group,
                attacks.of(attack, RELEASE, group),
                attacks.of(attack, NO_LEAK, group),
                attacks.of(attack, FULL_LEAK, group),
            )
            for attack in (DISTANCE, DENSITY, MARGINALS)
            for group in (ALL_ROWS, decile(5), decile(10))
        ]
        page.say("Advantage over guessing (2·AUC − 1), and p: how often guessing does as well")
        page.table(
            ("attack", "rows", "release ↓", "p ↑", "nothing leaks →0", "all leaks"),
            [
                (
                    attack,
                    group,
                    ours.advantage,
                    p_value(ours.p_value),
                    none.advantage,
                    short(full.advantage),
                )
                for attack, group, ours, none, full in struck
            ],
            decimals=2,
        )
        page.say("Share of members found, at 1 % false alarms")
        page.table(
            ("attack", "rows", "release ↓", "nothing leaks", "all leaks"),
            [
                (attack, group, ours.found, none.found, short(full.found))
                for attack, group, ours, none, full in struck
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
            f"at most {bound.one_record:.3f} in telling whether one {bound.whom} is in the table, "
            f"and {bound.swapped:.3f} in telling which of two is, as is measured here."
        )
    for note in (*attacks.alarms, *attacks.notes):
        page.say(note)


def _show_disclosure(page: Page, disclosure: Disclosure) -> None:
    page.head("Copies and distances: no evidence of privacy")
    page.table(
        ("", f"value ({Direction.NONE})"),
        [(named(result), result) for result in disclosure.results],
    )
    page.say(disclosure.warning)
