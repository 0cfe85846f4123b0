"""Pictures of an evaluation."""

from markupsafe import Markup

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
from understudy.curator.deciles import DECILES
from understudy.curator.fidelity import Fidelity
from understudy.curator.pair_map import pair_map
from understudy.curator.records import RecordLosses
from understudy.curator.result import Result
from understudy.curator.tables import REAL, SYNTHETIC
from understudy.curator.task import Task
from understudy.curator.verdict import main_score
from understudy.domain import Clique
from understudy.report.dots import Dot, DotRow, Mark, Rule, dot_plot
from understudy.report.pages import rendered
from understudy.report.words import shortened

_MOST_MAPPED = 60
"""A map of more columns shows those with the largest differences."""
_MOST_OVERLAID = 100
_MOST_LISTED = 10


def task_scores(task: Task) -> Markup | None:
    """Each model's main score, trained on synthetic and on real rows."""
    baseline = task.baseline
    rows, name = [], ""
    for model in task.models:
        for side, mark in ((SYNTHETIC, Mark.CIRCLE), (REAL, Mark.SQUARE)):
            result = main_score(task.of(model, side).results)
            if result is not None:
                name = result.name
                rows.append(DotRow(f"{model}, {side}", (_dot(mark, result),)))
    if not rows:
        return None
    chance = next((one for one in baseline.results if one.name == name), None)
    rules = [] if chance is None or chance.value is None else [Rule(chance.value, baseline.model)]
    about = f"{name} of models trained on synthetic (circles) and on real rows (squares)"
    return dot_plot(rows, rules, about, f"{name}: to the right is better")


def attack_strength(attacks: Attacks) -> Markup | None:
    """Each attack's advantage on the release, beside its controls and the bound."""
    if not attacks.strikes:
        return None
    rows = []
    tables = ((RELEASE, Mark.CIRCLE), (NO_LEAK, Mark.SQUARE), (FULL_LEAK, Mark.DIAMOND))
    for attack in (DISTANCE, DENSITY, MARGINALS):
        dots = [
            _dot(mark, result)
            for table, mark in tables
            if (result := attacks.of(attack, table, ALL_ROWS).advantage).value is not None
        ]
        rows.append(DotRow(attack, tuple(dots)))
    if not any(row.dots for row in rows):
        return None
    bound = attacks.ceiling
    rules = [Rule(0.0, "guessing")]
    rules += [] if bound is None else [Rule(bound.swapped, "the most that is promised")]
    about = "Advantage of attacks on the release, and on tables that leak nothing and everything"
    return dot_plot(rows, rules, about, "advantage: to the left is better")


def losses_by_decile(lost: RecordLosses) -> Markup | None:
    """What records lost by how rare they are, beside what all would lose who counted fully."""
    if not lost.deciles:
        return None
    marked = (
        (Mark.DIAMOND, "by distance:", lost.by_distance),
        (Mark.CIRCLE, "by our score:", lost.deciles),
    )
    full = Dot(Mark.SQUARE, lost.uniform, lost.uniform, lost.uniform, f"{lost.uniform:.3f}")
    rows = []
    for place in range(1, DECILES + 1):
        found = [
            Dot(mark, one.mean, one.mean, one.mean, f"{words} {one.mean:.3f}")
            for mark, words, losses in marked
            for one in losses
            if one.decile == place
        ]
        if found:
            rows.append(DotRow(decile(place), (full, *found)))
    rules = [Rule(lost.scoring, "before")]
    rules += [] if lost.cap is None else [Rule(lost.cap, "cap")]
    about = "What records lost, as ε, by how rare their values are, with and without weights"
    return dot_plot(rows, rules, about, "mean ε given the released counts: to the left is better")


def pair_distances(fidelity: Fidelity) -> Markup | None:
    """How far apart each pair of columns is in the two tables; single columns on the diagonal."""
    orders = _by_order(fidelity)
    if 2 not in orders:  # noqa: PLR2004 - pairs
        return None
    values: dict[tuple[str, str], float] = {}
    for clique, distance, _ in orders[1]:
        values[clique[0], clique[0]] = distance
    for clique, distance, _ in orders[2]:
        values[clique[0], clique[1]] = distance
    names = _mapped(fidelity)
    kept = {*names}
    most = max(0.05, *(value for pair, value in values.items() if kept.issuperset(pair)))
    about = f"Total variation distance of each pair of {len(names)} columns, up to {most:.2f}"
    return pair_map(names, values, most, about)


def about_pairs(fidelity: Fidelity) -> str:
    """What the map of pairs shows, and what it leaves out."""
    drawn, there = len(_mapped(fidelity)), len(fidelity.columns)
    which = (
        ""
        if drawn == there
        else f" Drawn are the {drawn} columns with the worst pairs, of {there}."
    )
    return (
        "How far each pair of columns is from its real distribution (total variation distance ↓); "
        f"on the diagonal, single columns. Smaller and paler squares are better.{which}"
    )


def worst_pairs(fidelity: Fidelity) -> list[tuple[Clique, float, float]]:
    """Pairs of columns, with their distance and what chance gives, the worst beyond it first."""
    return list(_by_order(fidelity).get(2, ())[:_MOST_LISTED])


def _by_order(fidelity: Fidelity) -> dict[int, tuple[tuple[Clique, float, float], ...]]:
    return {order.order: order.distances for order in fidelity.marginals}


def _mapped(fidelity: Fidelity) -> list[str]:
    """The columns with the worst pairs, in the table's order."""
    pairs = _by_order(fidelity).get(2, ())
    worst = list(dict.fromkeys(name for clique, _, _ in pairs for name in clique))
    kept = {*worst[:_MOST_MAPPED]}
    return [column.name for column in fidelity.columns if column.name in kept]


def overlaid_columns(fidelity: Fidelity) -> Markup | None:
    """Each column's shares in the two tables, one beside the other."""
    if not fidelity.columns:
        return None
    page = rendered(
        "overlaid.html",
        __package__ or "understudy.curator",
        columns=fidelity.columns[:_MOST_OVERLAID],
        others=[column.name for column in fidelity.columns[_MOST_OVERLAID:]],
        shortened=shortened,
    )
    return Markup(page)  # noqa: S704 - escaped by the template


def _dot(mark: Mark, result: Result) -> Dot:
    value = float(result.value or 0.0)
    low, high = (value if end is None else end for end in (result.low, result.high))
    return Dot(mark, value, low, high, f"{value:.3f} [{low:.3f}, {high:.3f}]")
