"""Figures 1 to 5: a panel for each table, a line for each of the paper's methods."""

from collections.abc import Sequence

from understudy.experiments.figures import Figures, lines, panels
from understudy.experiments.privci.arms import SWEPT
from understudy.experiments.privci.found import Found
from understudy.experiments.privci.metrics import AUC, CMI, EO, KL, TV, Metric, Q
from understudy.experiments.privci.tables import TABLES
from understudy.report.frontier import Series

_FIGURES = {
    1: ("The score q of the trees against ε, in rows (higher is better)", (Q,)),
    2: ("KL and TV of pairs of columns against ε (lower is better)", (KL, TV)),
    3: ("AUC of logistic regression against ε (higher is better)", (AUC,)),
    4: ("Conditional mutual information of synthetic rows against ε (lower is better)", (CMI,)),
    5: ("Equalized odds gap of logistic regression against ε (lower is better)", (EO,)),
}


def pictures(found: Found, epsilons: Sequence[float]) -> Figures:
    """By number: what it shows, and the picture; those alone that there are outcomes for."""
    drawn: Figures = {}
    for number, (about, metrics) in _FIGURES.items():
        shown = {
            f"{table.name}: {metric.name}": series
            for table in TABLES
            for metric in metrics
            if (series := _series(found, table.name, epsilons, metric))
        }
        if shown:
            drawn[number] = (about, panels(shown, about))
    return drawn


def _series(found: Found, table: str, epsilons: Sequence[float], metric: Metric) -> list[Series]:
    return lines(
        {
            arm.name: {
                epsilon: found.mean(table, arm.name, epsilon, metric) for epsilon in epsilons
            }
            for arm in SWEPT
        }
    )
