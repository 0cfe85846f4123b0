"""The columns of a release: what is known about each, and how its synthetic values spread."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.column import Column, Kind
from understudy.encode import Encoding
from understudy.encode.encoding import Cells
from understudy.encode.numbers import NumberCells
from understudy.report.histogram import Histogram, Step, histogram
from understudy.report.public import who_says
from understudy.report.words import number_of, shortened
from understudy.schema import Schema

MOST_SHOWN = 150
"""A page with more columns than this would be too long to load; the others are listed."""
_MOST_LABELS = 12
"""Of more values the commonest are shown."""
_LONGEST = 60
"""Letters of a label; longer ones, by the thousand, would make a page too large to load."""

Codes = Mapping[str, NDArray[np.unsignedinteger]]


@dataclass(frozen=True)
class Bar:
    """One bar: what it counts, and which share of the rows that is."""

    label: str
    share: float


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
    """Of labels, the commonest first, or in their order; of numbers, those that are told apart."""
    rest: tuple[Bar, ...]
    """Apart from the others: missing values, and what is too rare to be shown by itself."""

    @property
    def most(self) -> float:
        """The largest share."""
        return max((bar.share for bar in (*self.bars, *self.rest)), default=0.0) or 1.0


def shown_columns(encoding: Encoding, codes: Codes, opening: Schema | None) -> list[ShownColumn]:
    """All columns, or as many as a page can hold; `opening` is what was stated beforehand."""
    some = list(encoding.cells.items())[:MOST_SHOWN]
    return [_shown(cells, codes[name], opening) for name, cells in some]


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
        words = number_of(len(column.categories), "value")
        if column.other is not None:
            words += f", and {shortened(column.other, _LONGEST)!r} for all others"
    else:
        words = str(column.kind)
    return words + (", or missing" if column.null is not False else "")


def _shown(cells: Cells, codes: NDArray[np.unsignedinteger], opening: Schema | None) -> ShownColumn:
    column = cells.column
    shares = np.bincount(codes, minlength=cells.size) / max(len(codes), 1)
    missing = cells.missing if cells.hidden is None else None
    numbers, binned = Histogram((), ()), 0
    if isinstance(cells, NumberCells):
        numbers, binned = histogram(cells, shares), len(cells.bins)
    places = [place for place in range(binned, cells.size) if place != cells.missing]
    common = sorted([*numbers.apart, *places], key=lambda place: -shares[place])
    shown = common[:_MOST_LABELS]
    if column.kind is Kind.ORDINAL:
        shown.sort()
    bars = [Bar(_label(cells, p, apart=p < binned), float(shares[p])) for p in shown]
    rest = [] if missing is None else [Bar("missing", float(shares[missing]))]
    if len(common) > _MOST_LABELS:
        others = common[_MOST_LABELS:]
        words = number_of(len(others), "more value", "more values")
        rest.insert(0, Bar(words, float(shares[others].sum())))
    return ShownColumn(
        column.name,
        str(column.kind),
        str(column.role),
        holds(column),
        who_says(column, opening),
        None if column.bounds is None else (str(column.bounds[0]), str(column.bounds[1])),
        numbers.steps,
        tuple(bars),
        tuple(rest),
    )


def _label(cells: Cells, place: int, *, apart: bool) -> str:
    words = f"exactly {cells.describe(place)}" if apart else cells.describe(place)
    return shortened(words, _LONGEST)
