"""Accuracy against seconds, as in the paper's Figure 4: a panel for each table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from understudy.experiments.dpdsyn.arms import BOTH, NOISY
from understudy.experiments.dpdsyn.found import Found
from understudy.experiments.dpdsyn.tables import TABLES
from understudy.experiments.figures import Figures, alone
from understudy.report.scale import Scale
from understudy.report.svg import drawing, element

_LEFT, _TOP, _WIDTH, _HEIGHT, _RIGHT = 52.0, 34.0, 400.0, 200.0, 120.0
_HUES = dict(zip(BOTH, ("one", "two"), strict=True))
_ACROSS = 2
_LINE, _LETTER = 14.0, 7.0
"""About how high a name is, and how wide a letter."""


@dataclass(frozen=True)
class _Dot:
    """A method's accuracy, and its seconds."""

    name: str
    hue: str
    seconds: float
    value: float
    half: float


def pictures(found: Found, epsilons: Sequence[float]) -> Figures:
    """By number: what it shows, and the picture; one for each ε that there are outcomes for."""
    drawn: Figures = {}
    for epsilon in epsilons:
        by_table = {table.name: _dots(found, table.name, epsilon) for table in TABLES}
        dots = {name: found_dots for name, found_dots in by_table.items() if found_dots}
        if dots:
            about = (
                f"Accuracy against seconds of a release at ε = {epsilon:g} "
                "(blue: MLP, brown: SVM; up and left is better)"
            )
            drawn[len(drawn) + 1] = (about, _panels(dots, about))
    return drawn


def _dots(found: Found, table: str, epsilon: float) -> list[_Dot]:
    dots = []
    for arm in NOISY:
        seconds = found.seconds(table, arm, epsilon)
        for learner in arm.learners:
            mean = found.mean(table, arm, epsilon, learner)
            if mean is not None and seconds is not None:
                hue = _HUES[learner]
                dots.append(_Dot(arm.short, hue, seconds.value, mean.value, mean.half))
    return dots


def _panels(titled: dict[str, list[_Dot]], about: str) -> str:
    wide, high = _LEFT + _WIDTH + _RIGHT, _TOP + _HEIGHT + 44
    drawn = []
    for place, (title, dots) in enumerate(titled.items()):
        x, y = place % _ACROSS * wide, place // _ACROSS * high
        inside = [element("text", title, x=_LEFT, y=20), *_panel(dots)]
        drawn.append(element("g", *inside, transform=f"translate({x:g} {y:g})"))
    down = -(-len(titled) // _ACROSS)
    return alone(drawing(*drawn, width=wide * _ACROSS, height=high * down, about=about))


def _panel(dots: Sequence[_Dot]) -> list[Markup]:
    ends = [dot.value + way * dot.half for dot in dots for way in (-1, 1)]
    down = Scale.around(ends, _TOP + _HEIGHT, _TOP)
    across = Scale.around([math.log10(dot.seconds) for dot in dots], _LEFT, _LEFT + _WIDTH)
    drawn = [*_axes(across, down)]
    taken: list[tuple[float, float, float]] = []
    for dot in sorted(dots, key=lambda dot: -dot.value):
        x, y = across.place(math.log10(dot.seconds)), down.place(dot.value)
        low, high = down.place(dot.value - dot.half), down.place(dot.value + dot.half)
        drawn.append(element("line", x1=x, x2=x, y1=low, y2=high, class_=f"whisker {dot.hue}"))
        told = f"{dot.name}: {dot.value:.4f} ± {dot.half:.4f}, {dot.seconds:.1f} s"
        drawn.append(element("circle", element("title", told), cx=x, cy=y, r=4.5, class_=dot.hue))
        word = _free(x, y, _LETTER * len(dot.name), taken)
        drawn.append(element("text", dot.name, x=x + 7, y=word + 4, class_=f"{dot.hue} halo"))
    return drawn


def _free(x: float, y: float, wide: float, taken: list[tuple[float, float, float]]) -> float:
    """Where a name lies on no other one: as high as its dot, or lower."""
    while any(x < a + w and a < x + wide and abs(y - b) < _LINE for a, b, w in taken):
        y += 1.0
    taken.append((x, y, wide))
    return y


def _axes(across: Scale, down: Scale) -> list[Markup]:
    drawn = []
    for y, label in down.marks(5):
        drawn.append(element("line", x1=_LEFT, x2=_LEFT + _WIDTH, y1=y, y2=y, class_="axis"))
        drawn.append(element("text", label, x=_LEFT - 6, y=y + 4, text_anchor="end", class_="note"))
    for power in range(-2, 5):
        for digit in (1, 2, 5):
            at = math.log10(digit) + power
            if across.low <= at <= across.high:
                x, y, word = across.place(at), _TOP + _HEIGHT + 18, f"{digit * 10.0**power:g}"
                drawn.append(element("text", word, x=x, y=y, text_anchor="middle", class_="note"))
    x, y = _LEFT + _WIDTH / 2, _TOP + _HEIGHT + 36
    drawn.append(element("text", "seconds", x=x, y=y, text_anchor="middle", class_="note"))
    return drawn
