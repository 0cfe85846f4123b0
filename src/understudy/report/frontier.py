"""Scores against ε, or another number: a line for each method, and what real rows reach."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from understudy.report.dots import Rule
from understudy.report.scale import Doublings, Scale
from understudy.report.svg import drawing, element

_LEFT, _TOP, _WIDTH, _HEIGHT = 52.0, 16.0, 470.0, 270.0
_LINE = 16.0
_MARKS = 10
_HUES = ("one", "two", "three", "four", "five")
_DASHES = ("", "7 4", "2 4", "10 3 2 3")


@dataclass(frozen=True)
class Point:
    """A score at one ε, or at one of another axis."""

    epsilon: float
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """A method's scores."""

    name: str
    points: tuple[Point, ...]

    @property
    def known(self) -> tuple[Point, ...]:
        """Those that have a place."""
        return tuple(point for point in self.points if math.isfinite(point.value))


@dataclass(frozen=True)
class Axis:
    """What scores stand against."""

    letter: str
    label: str
    doubling: bool
    """Whether doubling is a step, or each one as long as it is."""


EPSILON = Axis("ε", "ε (lower is safer)", doubling=True)


def frontier(
    series: Sequence[Series],
    rules: Sequence[Rule],
    about: str,
    axis: Axis = EPSILON,
    upwards: type[Scale | Doublings] = Scale,
) -> Markup:
    """The lines; ε on a scale where doubling is a step, and scores on one of either kind."""
    points = [point for one in series for point in one.known]
    ends = [end for point in points for end in (point.low, point.high)] + [r.at for r in rules]
    down = upwards.around(ends, _TOP + _HEIGHT, _TOP)
    epsilons = sorted({point.epsilon for point in points})
    across = _doubling(epsilons) if axis.doubling else _even(epsilons)
    drawn = []
    for y, label in down.marks(6):
        drawn.append(element("line", x1=_LEFT, x2=_LEFT + _WIDTH, y1=y, y2=y, class_="axis"))
        drawn.append(element("text", label, x=_LEFT - 6, y=y + 4, text_anchor="end", class_="note"))
    marks = [(across.place(epsilon), f"{epsilon:g}") for epsilon in epsilons]
    if not axis.doubling:
        marks = across.marks(_MARKS)
    drawn += [
        element("text", label, x=x, y=_TOP + _HEIGHT + 18, text_anchor="middle", class_="note")
        for x, label in marks
    ]
    drawn.append(
        element(
            "text",
            axis.label,
            x=_LEFT + _WIDTH / 2,
            y=_TOP + _HEIGHT + 36,
            text_anchor="middle",
            class_="note",
        )
    )
    for rule in rules:
        y = down.place(rule.at)
        drawn.append(element("line", x1=_LEFT, x2=_LEFT + _WIDTH, y1=y, y2=y, class_="rule"))
        drawn.append(element("text", rule.label, x=_LEFT + 4, y=y - 6, class_="note halo"))
    for place, one in enumerate(series):
        drawn += _line(one, axis.letter, place, len(series), across, down)
    drawn += _names(series, down)
    return drawing(*drawn, width=_LEFT + _WIDTH + 110, height=_TOP + _HEIGHT + 44, about=about)


def _doubling(epsilons: Sequence[float]) -> Doublings:
    """A scale from the least to the greatest; any, where there are none."""
    ends = (epsilons[0], epsilons[-1]) if epsilons else (1.0, 1.0)
    return Doublings(*ends, _LEFT + 16, _LEFT + _WIDTH - 16)


def _even(numbers: Sequence[float]) -> Scale:
    return Scale.around(numbers, _LEFT + 16, _LEFT + _WIDTH - 16)


def _line(  # noqa: PLR0913, PLR0917 - what there is to say of a line
    one: Series,
    letter: str,
    place: int,
    of: int,
    across: Doublings | Scale,
    down: Doublings | Scale,
) -> Iterator[Markup]:
    """A line with its own hue and dashes, named at its right end; intervals side by side."""
    hue, dashes = _HUES[place % len(_HUES)], _DASHES[(place + place // len(_HUES)) % len(_DASHES)]
    aside = 5.0 * (place - (of - 1) / 2)
    points = sorted(one.known, key=lambda point: point.epsilon)
    if not points:
        return
    path = " L ".join(
        f"{across.place(p.epsilon) + aside:.1f} {down.place(p.value):.1f}" for p in points
    )
    yield element("path", d=f"M {path}", class_=f"line {hue}", stroke_dasharray=dashes)
    for point in points:
        x, y = across.place(point.epsilon) + aside, down.place(point.value)
        yield element(
            "line",
            x1=x,
            x2=x,
            y1=down.place(point.low),
            y2=down.place(point.high),
            class_=f"whisker {hue}",
        )
        told = f"{one.name}, {letter} = {point.epsilon:g}: {point.value:.4g}"
        if point.low < point.high:
            told += f" [{point.low:.4g}, {point.high:.4g}]"
        yield element("circle", element("title", told), cx=x, cy=y, r=4.5, class_=hue)


def _names(series: Sequence[Series], down: Doublings | Scale) -> Iterator[Markup]:
    """Each method's name where its line ends, moved down where two would lie on each other."""
    ends = sorted(
        (down.place(max(one.known, key=lambda point: point.epsilon).value), place, one.name)
        for place, one in enumerate(series)
        if one.known
    )
    lowest = -math.inf
    for y, place, name in ends:
        lowest = max(y, lowest + _LINE)
        yield element(
            "text", name, x=_LEFT + _WIDTH + 6, y=lowest + 4, class_=_HUES[place % len(_HUES)]
        )
