"""Figures 1 to 6: those of the paper, with our metric where it has none that can be trusted."""

from collections.abc import Sequence

from understudy.curator.coded_task import Mean
from understudy.experiments.figures import Figures, lines, panels
from understudy.experiments.reps.arms import (
    EXACT,
    NOBODY,
    RANDOM,
    RELEASED,
    REMOVAL,
    REPS,
    SPLIT,
    UNIFORM,
    Arm,
)
from understudy.experiments.reps.deciles import decile_panels
from understudy.experiments.reps.found import Found, Metric
from understudy.experiments.reps.matched import DECILES
from understudy.experiments.reps.metrics import (
    correlation,
    loss,
    matched_in,
    recall,
    top,
    utility,
)
from understudy.experiments.reps.tables import Table
from understudy.report.frontier import Series

_METHODS = (EXACT, UNIFORM, SPLIT, REPS, RANDOM, REMOVAL, RELEASED)
_WEIGHED = (REPS, RANDOM, REMOVAL, RELEASED)
_BY_DECILE = (EXACT, UNIFORM, REPS, NOBODY)
_SHOWN = (1.0, 4.0)
_BY_TABLE: dict[int, tuple[str, Metric, tuple[Arm, ...]]] = {
    1: ("Utility: TSTR AUROC against ε (higher is better)", utility, _METHODS),
    2: ("Top-10% advantage as the paper defines it, against ε", top, _METHODS),
    6: ("Inequality: Gini of the bounds by record, against ε", loss("gini"), _WEIGHED),
}
_BY_SCORER: dict[int, tuple[str, Metric]] = {
    4: (
        "Scorer: Spearman correlation with outlier scores against ε (higher is better)",
        correlation,
    ),
    5: ("Scorer: recall of the top tenth against ε (higher is better)", recall),
}


def pictures(found: Found, tables: Sequence[Table], epsilons: Sequence[float]) -> Figures:
    """By number: what it shows, and the picture; those alone that there are outcomes for."""
    drawn: Figures = {}
    for number, (about, metric, arms) in _BY_TABLE.items():
        titled = {
            table.name: series
            for table in tables
            if (series := _series(found, table, arms, epsilons, metric))
        }
        if titled:
            drawn[number] = (about, panels(titled, about))
    about = "Matched advantage by outlier decile (0 is guessing)"
    by_decile = {
        f"{table.name}, ε = {epsilon:g}": {
            arm.short: _deciles(found, table, arm, epsilon) for arm in _BY_DECILE
        }
        for table in tables
        for epsilon in epsilons
        if epsilon in _SHOWN and found.of(table.name, REPS)
    }
    if by_decile:
        drawn[3] = (about, decile_panels(by_decile, about))
    for number, (about, metric) in _BY_SCORER.items():
        means = {
            table.name: {
                epsilon: found.mean(table.name, REPS, epsilon, metric) for epsilon in epsilons
            }
            for table in tables
        }
        if series := lines(means):
            drawn[number] = (about, panels({"REPS": series}, about))
    return dict(sorted(drawn.items()))


def _series(
    found: Found, table: Table, arms: Sequence[Arm], epsilons: Sequence[float], metric: Metric
) -> list[Series]:
    return lines(
        {
            arm.short: {
                epsilon: found.mean(table.name, arm, epsilon, metric) for epsilon in epsilons
            }
            for arm in arms
        }
    )


def _deciles(found: Found, table: Table, arm: Arm, epsilon: float) -> list[Mean | None]:
    return [
        found.mean(table.name, arm, epsilon, matched_in(decile)) for decile in range(1, DECILES + 1)
    ]
