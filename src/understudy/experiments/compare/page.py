"""A comparison as a page: the frontier of each model, a table, and what it would cost."""

from markupsafe import Markup

from understudy.experiments.compare.plan import REAL
from understudy.experiments.compare.summary import Comparison, Line
from understudy.report.dots import Rule
from understudy.report.frontier import Point, Series, frontier
from understudy.report.pages import plain, rendered

_MOST_NOTES = 12


def comparison_page(comparison: Comparison) -> str:
    """The page: one file, for its owner alone."""
    pictures = [
        (model, score, _picture(comparison, model, score)) for model, score in comparison.shown
    ]
    return rendered(
        "comparison.html",
        __package__,
        comparison=comparison,
        plan=comparison.plan,
        pictures=pictures,
        heads=heads(comparison),
        rows=rows(comparison),
        read=reading(comparison),
        cost=cost(comparison),
        notes=notes(comparison),
    )


def heads(comparison: Comparison) -> list[str]:
    """Of the table's columns."""
    scores = [f"{model}, {score} ↑" for model, score in comparison.shown]
    return ["method", "ε ↓", *scores, "seconds ↓"]


def rows(comparison: Comparison) -> list[list[str]]:
    """For each method and ε, each model's main score: the mean, and its range."""
    plan = comparison.plan
    keys: list[tuple[str, float | None]] = [(REAL, None)]
    keys += [(method, epsilon) for method in plan.methods for epsilon in plan.epsilons]
    found = []
    for method, epsilon in keys:
        cells = [
            shown(comparison.of(method, epsilon, model, score), plan.seeds)
            for model, score in comparison.shown
        ]
        seconds = None if epsilon is None else comparison.seconds(method, epsilon)
        found.append(
            [
                method,
                "" if epsilon is None else f"{epsilon:g}",
                *cells,
                "" if seconds is None else f"{seconds:.1f}",
            ]
        )
    return found


def shown(line: Line | None, planned: int) -> str:
    """A line's mean and range; and how many repetitions it has, where some are lacking."""
    if line is None:
        return "none"
    spread = f" [{line.least:.3f}, {line.most:.3f}]" if line.repetitions > 1 else ""
    few = f" ({line.repetitions} of {planned})" if line.repetitions < planned else ""
    return f"{line.mean:.3f}{spread}{few}"


def reading(comparison: Comparison) -> str:
    """How the numbers of the table are to be read."""
    seeds = comparison.plan.seeds
    few = any(line.repetitions < seeds for line in comparison.lines)
    lacking = " In round brackets, how many of them have a score." if few else ""
    if seeds == 1:
        return "One repetition, so nobody can say how far these numbers spread."
    return f"Means over {seeds} repetitions, in brackets the worst and the best.{lacking}"


def cost(comparison: Comparison) -> str:
    """What publishing all of it would cost, as a sentence; empty without releases."""
    if not comparison.releases:
        return ""
    which = "the one release" if comparison.releases == 1 else f"all {comparison.releases} releases"
    if comparison.epsilon_of_all is None:
        return (
            f"What publishing {which} would cost together is not known: the methods draw noise of "
            "kinds whose costs are not added up here, or make no promise."
        )
    return (
        f"Publishing {which} would cost at most ε = {plain(comparison.epsilon_of_all)} together "
        f"(δ = {plain(comparison.delta_of_all)}), for one record more or less in the table."
    )


def notes(comparison: Comparison) -> list[str]:
    """What failed, and what a person should know about the rows."""
    said = [*map(str, comparison.failures), *comparison.notes]
    more = len(said) - _MOST_NOTES
    return said if more <= 0 else [*said[:_MOST_NOTES], f"And {more} more; see comparison.json."]


def _picture(comparison: Comparison, model: str, score: str) -> Markup | None:
    series = []
    for method in comparison.plan.methods:
        lines = [comparison.of(method, e, model, score) for e in comparison.plan.epsilons]
        points = tuple(
            Point(line.epsilon, line.mean, line.least, line.most)
            for line in lines
            if line is not None and line.epsilon is not None
        )
        if points:
            series.append(Series(method, points))
    if not series:
        return None
    real = comparison.of(REAL, None, model, score)
    rules = [] if real is None else [Rule(real.mean, f"real rows: {real.mean:.3f}")]
    return frontier(series, rules, f"{score} of {model} against ε, for each method")
