"""Figures of results: lines against ε, or α, in pictures that need no page around them."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from understudy.curator.coded_task import Mean
from understudy.report.frontier import EPSILON, Axis, Point, Series, frontier
from understudy.report.svg import drawing, element

Figures = dict[int, tuple[str, str]]
"""By number: what it shows, and the picture."""
Lines = Mapping[str, Mapping[float, Mean | None]]
"""By name and ε: a mean, where there is one."""

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
_ACROSS = 2
_WIDTH, _HEIGHT, _TITLE = 632.0, 330.0, 30.0


def lines(means: Lines) -> list[Series]:
    """One line for each name that has any mean."""
    series = []
    for name, found in means.items():
        points = tuple(
            Point(epsilon, mean.value, mean.value - mean.half, mean.value + mean.half)
            for epsilon, mean in found.items()
            if mean is not None
        )
        if points:
            series.append(Series(name, points))
    return series


def alone(picture: Markup) -> str:
    """A picture as a file of its own."""
    head = '<svg xmlns="http://www.w3.org/2000/svg"'
    return str(picture).replace("<svg", head, 1).replace(">", f">{_STYLE}", 1) + "\n"


def panels(titled: Mapping[str, Sequence[Series]], about: str, axis: Axis = EPSILON) -> str:
    """Small pictures side by side, each with a title and a scale of its own."""
    drawn = []
    for place, (title, series) in enumerate(titled.items()):
        x, y = place % _ACROSS * _WIDTH, place // _ACROSS * (_TITLE + _HEIGHT)
        inside = frontier(series, [], title, axis)
        drawn += [
            element("text", title, x=x + 52, y=y + 22),
            element("svg", inside, x=x, y=y + _TITLE, width=_WIDTH, height=_HEIGHT),
        ]
    down = -(-len(titled) // _ACROSS)
    width, height = _WIDTH * min(_ACROSS, len(titled)), down * (_TITLE + _HEIGHT)
    return alone(drawing(*drawn, width=width, height=height, about=about))
