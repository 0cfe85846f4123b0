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
)
from understudy.curator.fidelity import Fidelity
from understudy.curator.result import Result
from understudy.curator.tables import REAL, SYNTHETIC
from understudy.curator.task import Task
from understudy.curator.verdict import main_score
from understudy.report.dots import Dot, DotRow, Mark, Rule, dot_plot
from understudy.report.heat_map import heat_map
from understudy.report.pages import rendered

_MOST_MAPPED = 60
"""A map of more columns shows those with the largest differences."""
_MOST_OVERLAID = 100


def task_scores(task: Task) -> Markup | None:
    """Each model's main score, trained on synthetic and on real rows."""
    models = [score.model for score in task.scores if score.trained_on == SYNTHETIC]
    baseline = next(score for score in task.scores if score.model not in models)
    rows, name = [], ""
    for model in models:
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


def pair_distances(fidelity: Fidelity) -> Markup | None:
    """How far apart each pair of columns is in the two tables; single columns on the diagonal."""
    told = {order.order: order.distances for order in fidelity.marginals if order.order <= 2}  # noqa: PLR2004
    if 2 not in told:  # noqa: PLR2004 - pairs
        return None
    values: dict[tuple[str, str], float] = {}
    for clique, distance, _ in told[1]:
        values[clique[0], clique[0]] = distance
    for clique, distance, _ in told[2]:
        values[clique[0], clique[1]] = distance
    worst = list(dict.fromkeys(name for clique, _, _ in told[2] for name in clique))
    kept = {*worst[:_MOST_MAPPED]}
    names = [column.name for column in fidelity.columns if column.name in kept]
    most = max(0.05, *(value for pair, value in values.items() if kept.issuperset(pair)))
    about = (
        f"Total variation distance of each pair of {len(names)} columns, up to {most:.2f}; single "
        "columns on the diagonal. Small and pale is better"
    )
    return heat_map(names, values, most, about)


def overlaid_columns(fidelity: Fidelity) -> Markup | None:
    """Each column's shares in the two tables, one beside the other."""
    if not fidelity.columns:
        return None
    page = rendered(
        "overlaid.html",
        __package__ or "understudy.curator",
        columns=fidelity.columns[:_MOST_OVERLAID],
        others=[column.name for column in fidelity.columns[_MOST_OVERLAID:]],
    )
    return Markup(page)  # noqa: S704 - escaped by the template


def _dot(mark: Mark, result: Result) -> Dot:
    value = float(result.value or 0.0)
    low, high = (value if end is None else end for end in (result.low, result.high))
    return Dot(mark, value, low, high, f"{value:.3f} [{low:.3f}, {high:.3f}]")
