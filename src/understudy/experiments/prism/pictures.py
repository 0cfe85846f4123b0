"""Figures 1 to 5, each a picture of its own that needs no page around it."""

from collections.abc import Mapping, Sequence

from understudy.experiments.figures import Figures, alone, lines
from understudy.experiments.prism.found import Found, Value, auc, off
from understudy.experiments.prism.sections import ADULT, MARGINAL, REAL, SPURIOUS, WINS
from understudy.report.dots import Rule
from understudy.report.frontier import frontier

_SCM = {
    "Causal": "PRISM-Causal (Opt)",
    "Graphical": "PRISM-Graphical (Opt)",
    "top-k": "Corr Top-k (Oracle)",
    "MST": "MST",
    "PrivBayes": "PrivBayes",
}
_ADULT = {
    "Predictive": "PRISM-Predictive (Opt)",
    "all features": "All Features (Unif)",
    "MST": "MST",
    "PrivBayes": "PrivBayes",
}
_WINS = {
    "closed form": "Closed-form allocation (oracle weights)",
    "uniform": "Uniform allocation",
    "closed, basic": "Closed-form allocation (oracle weights), as printed",
    "uniform, basic": "Uniform allocation, as printed",
}


def pictures(found: Found, epsilons: Sequence[float]) -> Figures:
    """By number: what it shows, and the picture; those alone that there are outcomes for."""
    drawn = {
        1: ("Spurious shift: AUC against ε", _picture(found, SPURIOUS, _SCM, epsilons, auc())),
        2: ("Marginal shift: AUC against ε", _picture(found, MARGINAL, _SCM, epsilons, auc())),
        3: ("Adult: AUC against ε", _picture(found, ADULT, _ADULT, epsilons, auc())),
        4: (
            "Adult: L1 error of single columns against ε (lower is better)",
            _picture(found, ADULT, _ADULT, epsilons, off, real=False),
        ),
        5: ("Allocation: AUC against ε", _picture(found, WINS, _WINS, epsilons, auc())),
    }
    return {number: (about, text) for number, (about, text) in drawn.items() if text}


def _picture(  # noqa: PLR0913 - the last by name
    found: Found,
    section: str,
    arms: Mapping[str, str],
    epsilons: Sequence[float],
    value: Value,
    *,
    real: bool = True,
) -> str:
    means = {
        name: {epsilon: found.mean(section, arm, epsilon, value) for epsilon in epsilons}
        for name, arm in arms.items()
    }
    series = lines(means)
    if not series:
        return ""
    best = found.mean(section, REAL, 1.0, value) if real else None
    rules = [] if best is None else [Rule(best.value, f"real rows: {best.value:.3f}")]
    return alone(frontier(series, rules, "by method"))
