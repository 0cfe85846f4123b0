"""Numbers as a histogram: ranges to scale, in which the area of a bar is its share of the rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.column import Kind
from understudy.encode.numbers import NumberCells

MOST_BARS = 40
"""A histogram of more ranges is shown coarser."""
THINNEST = 0.006
"""Of the whole width: thinner bars could not be seen. They are drawn as wide, and as much lower."""
_MANY = 0.01
_MOST_APART = 12


@dataclass(frozen=True)
class Step:
    """A bar, in shares of the picture's width and height."""

    label: str
    share: float
    left: float
    width: float
    height: float


@dataclass(frozen=True)
class Histogram:
    """The bars, and the cells that are told apart from them."""

    steps: tuple[Step, ...]
    apart: tuple[int, ...]
    """Cells of a single number that many rows share, and that would be too thin to be seen."""


def histogram(cells: NumberCells, shares: NDArray[np.float64]) -> Histogram:
    """The ranges of a column; neighbours together where there are many."""
    # A whole number takes the place of 1.
    room = 0.0 if cells.column.kind is Kind.REAL else 1.0
    least, greatest = cells.span
    whole = greatest - least + room or 1.0
    single = [
        place
        for place, (first, last) in enumerate(cells.bins)
        if room and first == last and room / whole < THINNEST and shares[place] >= _MANY
    ]
    apart = sorted(sorted(single, key=lambda place: -shares[place])[:_MOST_APART])
    shown = [place for place in range(len(cells.bins)) if place not in apart]
    together = max(1, -(-len(shown) // MOST_BARS))
    steps = []
    for group in (shown[k : k + together] for k in range(0, len(shown), together)):
        first, last = cells.bins[group[0]][0], cells.bins[group[-1]][1]
        width = max((last - first + room) / whole, THINNEST)
        left = min((first - least) / whole, 1 - THINNEST)
        share = float(shares[group].sum())
        steps.append(Step(_span(cells, group), share, left, width, share / width))
    most = max((step.height for step in steps), default=0.0) or 1.0
    return Histogram(
        tuple(Step(s.label, s.share, s.left, s.width, s.height / most) for s in steps),
        tuple(apart),
    )


def _span(cells: NumberCells, group: Sequence[int]) -> str:
    first = cells.describe(group[0])
    return first if len(group) == 1 else f"{first} … {cells.describe(group[-1])}"
