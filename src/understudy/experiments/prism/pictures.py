"""Figures 1 to 5, each a picture of its own that needs no page around it."""

from collections.abc import Mapping, Sequence

from understudy.experiments.prism.found import Found, Value, auc, off
from understudy.experiments.prism.sections import ADULT, MARGINAL, REAL, SPURIOUS, WINS
from understudy.report.dots import Rule
from understudy.report.frontier import Point, Series, frontier

_STYLE = (
    "<style>svg{background:#fff}text{fill:#1b2330;font:13px system-ui,'DejaVu Sans',sans-serif}"
    ".note{fill:#5b6675;font-size:12px}.halo{paint-order:stroke;stroke:#fff;stroke-width:4px}"
    ".axis{stroke:#d8dee6;fill:none}.rule{stroke:#1b2330;stroke-width:1.5;stroke-dasharray:6 4}"
    ".whisker{stroke-width:3;opacity:.55}.line{fill:none;stroke-width:2.5}"
    ".one{fill:#20639b}.two{fill:#a8520f}.three{fill:#3a7d44}.four{fill:#7a5195}.five{fill:#0b6e6e}"
    ".line.one,.whisker.one{stroke:#20639b}.line.two,.whisker.two{stroke:#a8520f}"
    ".line.three,.whisker.three{stroke:#3a7d44}.line.four,.whisker.four{stroke:#7a5195}"
    ".line.five,.whisker.five{stroke:#0b6e6e}.line{fill:none}</style>"
)
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


def pictures(found: Found, epsilons: Sequence[float]) -> dict[int, tuple[str, str]]:
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
    series = []
    for name, arm in arms.items():
        means = {epsilon: found.mean(section, arm, epsilon, value) for epsilon in epsilons}
        points = tuple(
            Point(epsilon, mean.value, mean.value - mean.half, mean.value + mean.half)
            for epsilon, mean in means.items()
            if mean is not None
        )
        if points:
            series.append(Series(name, points))
    if not series:
        return ""
    best = found.mean(section, REAL, 1.0, value) if real else None
    rules = [] if best is None else [Rule(best.value, f"real rows: {best.value:.3f}")]
    drawn = str(frontier(series, rules, "by method"))
    head = '<svg xmlns="http://www.w3.org/2000/svg"'
    return drawn.replace("<svg", head, 1).replace(">", f">{_STYLE}", 1) + "\n"
