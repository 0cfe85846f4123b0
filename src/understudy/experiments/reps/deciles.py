"""A picture of figures by outlier decile."""

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from understudy.curator.coded_task import Mean
from understudy.experiments.figures import alone
from understudy.report.scale import Scale
from understudy.report.svg import drawing, element

_LEFT, _TOP, _WIDTH, _HEIGHT, _RIGHT = 52.0, 34.0, 400.0, 200.0, 90.0
_HUES = ("one", "two", "three", "four", "five")
_ACROSS = 2

ByDecile = Mapping[str, Sequence[Mean | None]]
"""By name: a mean for each decile, where there is one."""


def decile_panels(titled: Mapping[str, ByDecile], about: str) -> str:
    """Small pictures side by side, each with a title and a scale of its own."""
    wide, high = _LEFT + _WIDTH + _RIGHT, _TOP + _HEIGHT + 44
    drawn = []
    for place, (title, lines) in enumerate(titled.items()):
        x, y = place % _ACROSS * wide, place // _ACROSS * high
        inside = [element("text", title, x=_LEFT, y=20), *_panel(lines)]
        drawn.append(element("g", *inside, transform=f"translate({x:g} {y:g})"))
    down = -(-len(titled) // _ACROSS)
    width = wide * min(_ACROSS, len(titled))
    return alone(drawing(*drawn, width=width, height=high * down, about=about))


def _panel(lines: ByDecile) -> list[Markup]:
    known = [mean for line in lines.values() for mean in line if mean is not None]
    ends = [mean.value + way * mean.half for mean in known for way in (-1, 1)]
    down = Scale.around([0.0, *ends], _TOP + _HEIGHT, _TOP)
    count = max(map(len, lines.values()), default=1)
    drawn = []
    for y, label in down.marks(5):
        drawn.append(element("line", x1=_LEFT, x2=_LEFT + _WIDTH, y1=y, y2=y, class_="axis"))
        drawn.append(element("text", label, x=_LEFT - 6, y=y + 4, text_anchor="end", class_="note"))
    for decile in range(1, count + 1):
        x, y = _across(decile, count), _TOP + _HEIGHT + 18
        drawn.append(element("text", str(decile), x=x, y=y, text_anchor="middle", class_="note"))
    words = "outlier decile (10 stands out most)"
    x, y = _LEFT + _WIDTH / 2, _TOP + _HEIGHT + 36
    drawn.append(element("text", words, x=x, y=y, text_anchor="middle", class_="note"))
    lowest = -math.inf
    for place, (name, line) in enumerate(lines.items()):
        hue = _HUES[place % len(_HUES)]
        aside = 4.0 * (place - (len(lines) - 1) / 2)
        at = [
            (_across(k, count) + aside, mean)
            for k, mean in enumerate(line, start=1)
            if mean is not None
        ]
        if not at:
            continue
        path = " L ".join(f"{x:.1f} {down.place(mean.value):.1f}" for x, mean in at)
        drawn.append(element("path", d=f"M {path}", class_=f"line {hue}"))
        for x, mean in at:
            low, high = (down.place(mean.value + way * mean.half) for way in (-1, 1))
            drawn.append(element("line", x1=x, x2=x, y1=low, y2=high, class_=f"whisker {hue}"))
        lowest = max(down.place(at[-1][1].value), lowest + 16)
        drawn.append(element("text", name, x=_LEFT + _WIDTH + 6, y=lowest + 4, class_=hue))
    return drawn


def _across(decile: int, count: int) -> float:
    return _LEFT + 16 + (_WIDTH - 32) * (decile - 1) / max(count - 1, 1)
