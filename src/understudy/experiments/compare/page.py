"""A comparison as a page: the frontier of each model, a table, and what it would cost."""

from markupsafe import Markup

from understudy.experiments.compare.plan import REAL
from understudy.experiments.compare.summary import Comparison, Line
from understudy.report.dots import Rule
from understudy.report.frontier import Point, Series, frontier
from understudy.report.pages import plain, rendered


def comparison_page(comparison: Comparison) -> str:
    """The page: one file, for its owner alone."""
    pictures = [
        (model, score, _picture(comparison, model, score))
        for model in comparison.models
        if (score := comparison.main_score(model)) is not None
    ]
    return rendered(
        "comparison.html",
        __package__,
        comparison=comparison,
        plan=comparison.plan,
        pictures=pictures,
        heads=[f"{model}, {score} ↑" for model, score, _ in pictures],
        rows=rows(comparison),
        cost=None if comparison.epsilon_of_all is None else plain(comparison.epsilon_of_all),
    )


def rows(comparison: Comparison) -> list[list[str]]:
    """For each method and ε, each model's main score: the mean, and its range."""
    plan = comparison.plan
    keys: list[tuple[str, float | None]] = [(REAL, None)]
    keys += [(method, epsilon) for method in plan.methods for epsilon in plan.epsilons]
    scores = [(model, comparison.main_score(model)) for model in comparison.models]
    found = []
    for method, epsilon in keys:
        cells = [
            shown(comparison.of(method, epsilon, model, score)) if score else ""
            for model, score in scores
        ]
        seconds = comparison.seconds.get(method) if epsilon is not None else None
        found.append(
            [
                method,
                "" if epsilon is None else f"{epsilon:g}",
                *cells,
                "" if seconds is None else f"{seconds:.1f}",
            ]
        )
    return found


def shown(line: Line | None) -> str:
    """A line's mean and range."""
    if line is None:
        return "none"
    spread = f" [{line.least:.3f}, {line.most:.3f}]" if line.repetitions > 1 else ""
    return f"{line.mean:.3f}{spread}"


def _picture(comparison: Comparison, model: str, score: str) -> Markup:
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
    real = comparison.of(REAL, None, model, score)
    rules = [] if real is None else [Rule(real.mean, f"real rows: {real.mean:.3f}")]
    return frontier(series, rules, f"{score} of {model} against ε, for each method")
