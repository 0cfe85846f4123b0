"""The columns of a release: what is known about each, and how its synthetic values spread."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.column import Column, Kind, Source
from understudy.encode import Encoding
from understudy.encode.encoding import Cells
from understudy.encode.numbers import NumberCells

MOST_BARS = 40
"""A histogram of more ranges is shown coarser."""
MOST_SHOWN = 150
"""A page with more columns than this would be too long to load; the others are listed."""
_MOST_LABELS = 12
"""Of more values the commonest are shown."""

Codes = Mapping[str, NDArray[np.unsignedinteger]]


@dataclass(frozen=True)
class Bar:
    """One bar: what it counts, and which share of the rows that is."""

    label: str
    share: float


@dataclass(frozen=True)
class Step:
    """A bar of a histogram, in shares of its width and height: its area is the share of rows."""

    label: str
    share: float
    left: float
    width: float
    height: float


@dataclass(frozen=True)
class ShownColumn:
    """One column on the page."""

    name: str
    kind: str
    role: str
    holds: str
    """Its values in words."""
    source: str
    """Who says so."""
    ends: tuple[str, str] | None
    """Of numbers, the least and the greatest."""
    steps: tuple[Step, ...]
    """Of numbers: a histogram, from the least to the greatest."""
    bars: tuple[Bar, ...]
    """Of labels, the commonest first; of numbers, those that have a cell of their own."""
    rest: tuple[Bar, ...]
    """Apart from the others: missing values, and what is too rare to be shown by itself."""

    @property
    def most(self) -> float:
        """The largest share."""
        return max((bar.share for bar in (*self.bars, *self.rest)), default=0.0) or 1.0


def shown_columns(encoding: Encoding, codes: Codes) -> list[ShownColumn]:
    """All columns, or as many as a page can hold."""
    return [_shown(cells, codes[name]) for name, cells in list(encoding.cells.items())[:MOST_SHOWN]]


def holds(column: Column) -> str:
    """The values of a column in words.

    >>> from understudy.column import Kind
    >>> holds(Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), null=True))
    '0 to 99, or missing'
    """
    if column.bounds is not None:
        words = f"{column.bounds[0]} to {column.bounds[1]}"
        if column.atoms:
            words += f"; often {', '.join(str(atom) for atom in sorted(column.atoms)[:3])}"
    elif column.categories is not None:
        words = f"{len(column.categories)} values"
        words += "" if column.other is None else f", and {column.other!r} for all others"
    else:
        words = str(column.kind)
    return words + (", or missing" if column.null is not False else "")


def _shown(cells: Cells, codes: NDArray[np.unsignedinteger]) -> ShownColumn:
    column = cells.column
    shares = np.bincount(codes, minlength=cells.size) / max(len(codes), 1)
    missing = cells.missing
    binned = len(cells.bins) if isinstance(cells, NumberCells) else 0
    places = [place for place in range(binned, cells.size) if place != missing]
    order = sorted(places, key=lambda place: -shares[place])
    bars = [Bar(cells.describe(p), float(shares[p])) for p in order[:_MOST_LABELS]]
    rest = [] if missing is None else [Bar("missing", float(shares[missing]))]
    if order[_MOST_LABELS:]:
        others = float(shares[order[_MOST_LABELS:]].sum())
        rest.insert(0, Bar(f"{len(order) - _MOST_LABELS} more values", others))
    return ShownColumn(
        column.name,
        str(column.kind),
        str(column.role),
        holds(column),
        "found out with noise" if column.source is Source.BOUGHT else "declared",
        None if column.bounds is None else (str(column.bounds[0]), str(column.bounds[1])),
        _histogram(cells, shares) if isinstance(cells, NumberCells) else (),
        tuple(bars),
        tuple(rest),
    )


def _histogram(cells: NumberCells, shares: NDArray[np.float64]) -> tuple[Step, ...]:
    """Ranges to scale; neighbours together where there are many."""
    bins = cells.bins
    together = -(-len(bins) // MOST_BARS)
    groups = [range(k, min(k + together, len(bins))) for k in range(0, len(bins), together)]
    # A whole number takes the place of 1.
    room = 0.0 if cells.column.kind is Kind.REAL else 1.0
    least, whole = bins[0][0], bins[-1][1] - bins[0][0] + room or 1.0
    widths = [(bins[g[-1]][1] - bins[g[0]][0] + room) / whole for g in groups]
    parts = [float(shares[list(group)].sum()) for group in groups]
    dense = [part / width if width else 0.0 for part, width in zip(parts, widths, strict=True)]
    most = max(dense, default=0.0) or 1.0
    return tuple(
        Step(
            _span(cells, group),
            part,
            (bins[group[0]][0] - least) / whole,
            width,
            height / most,
        )
        for group, part, width, height in zip(groups, parts, widths, dense, strict=True)
    )


def _span(cells: NumberCells, group: range) -> str:
    first = cells.describe(group[0])
    return first if len(group) == 1 else f"{first} … {cells.describe(group[-1])}"
