"""Values with their intervals, one row each, on one scale."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from markupsafe import Markup

from understudy.report.svg import drawing, element, shortened

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
    low, high = min(ends), max(ends)
    margin = (high - low or 1.0) * 0.06
    low, high = low - margin, high + margin

    def across(value: float) -> float:
        return _LABEL + _ROOM * (value - low) / (high - low)

    height = _TOP + _ROW * len(rows)
    drawn = []
    for tick in ticks(low, high, _TICKS):
        x = across(tick)
        drawn.append(element("line", x1=x, x2=x, y1=_TOP, y2=height, class_="axis"))
        drawn.append(
            element("text", f"{tick:g}", x=x, y=height + 16, text_anchor="middle", class_="note")
        )
    for rule in rules:
        x = across(rule.at)
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
        for dot in row.dots:
            drawn += _drawn(dot, across, y)
    drawn.append(element("text", axis, x=_LABEL, y=height + _BOTTOM + 4, class_="note"))
    return drawing(*drawn, width=_LABEL + _ROOM + 20, height=height + _BOTTOM + 10, about=about)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round values between two ends, at most so many.

    >>> ticks(0.83, 0.92, 5)
    [0.84, 0.86, 0.88, 0.9, 0.92]
    """
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(power * part for part in (1, 2, 5, 10) if (high - low) / (power * part) <= most)
    first = -(-low // step)
    found = []
    while first * step <= high + 1e-9 * step:
        found.append(round(first * step, 10))
        first += 1
    return found


def _drawn(dot: Dot, across: Callable[[float], float], y: float) -> list[Markup]:
    x, told = across(dot.value), element("title", dot.about)
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
    whisker = element(
        "line", x1=across(dot.low), x2=across(dot.high), y1=y, y2=y, class_=f"whisker {dot.mark}"
    )
    return [whisker, shapes[dot.mark]()]
