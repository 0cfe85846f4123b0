"""Values with their intervals, one row each, on one scale."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from markupsafe import Markup

from understudy.report.scale import Scale
from understudy.report.svg import drawing, element
from understudy.report.words import shortened

_LABEL, _ROOM, _ROW, _TOP, _BOTTOM = 230.0, 400.0, 26.0, 26.0, 30.0
_LONGEST = 32
_TICKS = 5


class Mark(StrEnum):
    """How a value is drawn: shape and colour, so that colour is never alone."""

    CIRCLE = "one"
    SQUARE = "two"
    DIAMOND = "three"


@dataclass(frozen=True)
class Dot:
    """A value and its interval."""

    mark: Mark
    value: float
    low: float
    high: float
    about: str


@dataclass(frozen=True)
class DotRow:
    """What stands on one line."""

    label: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Rule:
    """A value that others are read against."""

    at: float
    label: str


def dot_plot(rows: Sequence[DotRow], rules: Sequence[Rule], about: str, axis: str) -> Markup:
    """Rows of dots above a scale; `axis` says what is measured, and which end is good."""
    ends = [end for row in rows for dot in row.dots for end in (dot.low, dot.high)]
    ends += [rule.at for rule in rules]
    scale = Scale.around(ends, _LABEL, _LABEL + _ROOM)
    height = _TOP + _ROW * len(rows)
    drawn = []
    for x, label in scale.marks(_TICKS):
        drawn.append(element("line", x1=x, x2=x, y1=_TOP, y2=height, class_="axis"))
        drawn.append(
            element("text", label, x=x, y=height + 16, text_anchor="middle", class_="note")
        )
    for rule in rules:
        x = scale.place(rule.at)
        drawn.append(element("line", x1=x, x2=x, y1=_TOP - 6, y2=height, class_="rule"))
        end = x > _LABEL + _ROOM / 2
        drawn.append(
            element(
                "text",
                rule.label,
                x=x,
                y=_TOP - 10,
                class_="note",
                text_anchor="end" if end else "start",
            )
        )
    for place, row in enumerate(rows):
        y = _TOP + _ROW * (place + 0.5)
        label = shortened(row.label, _LONGEST)
        drawn.append(element("text", element("title", row.label), label, x=0, y=y + 4))
        for dot in (dot for dot in row.dots if math.isfinite(dot.value)):
            drawn += _drawn(dot, scale, y)
    drawn.append(element("text", axis, x=_LABEL, y=height + _BOTTOM + 4, class_="note"))
    return drawing(*drawn, width=_LABEL + _ROOM + 20, height=height + _BOTTOM + 10, about=about)


def _drawn(dot: Dot, scale: Scale, y: float) -> list[Markup]:
    x, told = scale.place(dot.value), element("title", dot.about)
    shapes = {
        Mark.CIRCLE: lambda: element("circle", told, cx=x, cy=y, r=5.5, class_=dot.mark),
        Mark.SQUARE: lambda: element(
            "rect", told, x=x - 5, y=y - 5, width=10, height=10, class_=dot.mark
        ),
        Mark.DIAMOND: lambda: element(
            "path",
            told,
            d=f"M {x:.1f} {y - 6.5} l 6.5 6.5 l -6.5 6.5 l -6.5 -6.5 z",
            class_=dot.mark,
        ),
    }
    low, high = scale.place(dot.low), scale.place(dot.high)
    whisker = element("line", x1=low, x2=high, y1=y, y2=y, class_=f"whisker {dot.mark}")
    return [whisker, shapes[dot.mark]()]
