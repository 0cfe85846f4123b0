"""The public grid of shapes: what a value of a column that nobody described may look like.

A value has exactly one cell of the grid: missing; a class of text; a plain number by precision and
magnitude; a number written with marks or an affix; a date by format and decade. The grid is the
same for every table. One noisy count of it per column tells kind, format, precision and bounds.
"""

import itertools
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

MISSING, WORDS, CODES, ZEROS, EMAIL, URL, UUID, PHONE, LONG = range(9)
"""Missing; text without digits; with digits; digits after a leading zero; personal fields; and
text that is too long for a category."""
TEXT_CLASSES = (
    *("missing", "text without digits", "text with digits", "digits after a leading zero"),
    *("e-mail address", "URL", "UUID", "telephone number", "long text"),
)

_POWERS = tuple(2.0**k for k in range(-20, 51))
MAGNITUDES = (*(-power for power in reversed(_POWERS)), *_POWERS)
"""Where the magnitude of a plain number changes: ±2⁻²⁰ … ±2⁵⁰. What lies between the middle two
is as good as zero."""
_COARSE_POWERS = tuple(4.0**k for k in range(17))
COARSE_MAGNITUDES = (*(-power for power in reversed(_COARSE_POWERS)), *_COARSE_POWERS)
"""The same for numbers written with marks."""
DECIMAL_MAGNITUDES = (0.0, *(10.0**k for k in range(7)))
"""The same for numbers with a currency or a unit."""
DECADES = tuple(range(1900, 2101, 10))
"""The first years of decades."""
PERIODS = (1900, 1940, 1960, 1980, 1990, 2000, 2010, 2020, 2040, 2100)
"""The first years of the periods of dates that are not written ISO 8601."""

WHOLE, WHOLE_ZERO, HALF, HALF_ZERO, ONE, ONE_ZERO, QUARTER, TWO = range(8)
MORE_ZERO, THREE, FOUR, SIX, MANY = range(8, 13)
PRECISIONS = (
    *("whole number", "whole number with .0", "half", "half with a zero"),
    *("number of 1 decimal", "number of 1 decimal with a zero", "quarter", "number of 2 decimals"),
    *("number of 2 or more decimals with a zero", "number of 3 decimals", "number of 4 decimals"),
    *("number of 5 or 6 decimals", "number of 7 or more decimals"),
)
"""How precise a plain number is. A half is a multiple of 0.5, a quarter one of 0.25. A zero is one
that the text writes after the last decimal that it needs."""
DECIMALS = (0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, None)
"""By precision, the decimals that it needs; none are known of the last."""

PLAIN_WHOLE, PLAIN_ONE, PLAIN_TWO, PLAIN_MORE, AMBIGUOUS = range(5)
COMMA_ONE, COMMA_TWO, COMMA_MORE, COMMAS, COMMAS_POINT, POINTS, POINTS_COMMA = range(5, 12)
SPACES, SPACES_COMMA, SPACES_POINT, QUOTES, QUOTES_POINT = range(12, 17)
FORMS = (
    *("12", "1.5", "1.25", "1.125", "1,234", "1,5", "1,25", "12,125", "1,234,567", "1,234.5"),
    *("1.234.567", "1.234,5", "1 234", "1 234,5", "1 234.5", "1'234", "1'234.5"),
)
"""How a number is written, by example. One comma before three digits may stand between thousands
or before decimals: a form of its own."""
AFFIXES = (
    *(("$", ""), ("€", ""), ("€ ", ""), ("£", ""), ("¥", "")),
    *(("USD ", ""), ("EUR ", ""), ("GBP ", ""), ("CHF ", "")),
    *(("", "%"), ("", " %"), ("", "€"), ("", " €"), ("", " EUR"), ("", " USD"), ("", " zł")),
    *(("", "kg"), ("", " kg")),
)
"""Currencies and units that are recognised, before and after a number."""

ISO_FORMATS = ("%Y-%m-%d", "%Y-%m-%dT", "%Y-%m-%d zone", "%Y-%m-%dT zone")
DATE_FORMATS = (
    *("%d/%m/%Y", "%m/%d/%Y", "ambiguous /", "%d.%m.%Y", "%m.%d.%Y", "ambiguous ."),
    *("%d-%m-%Y", "%m-%d-%Y", "ambiguous -", "%Y/%m/%d", "%Y.%m.%d"),
    *("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y"),
    *("%m/%d/%Y %p", "ambiguous %p"),
)
"""Formats of dates. A date that fits day-first and month-first is ambiguous."""
NO_CLOCK, MINUTES, SECONDS, MIDNIGHT_MINUTES, MIDNIGHT_SECONDS = range(5)
CLOCKS = ("", " with minutes", " with seconds", " at 00:00", " at 00:00:00")
"""How a date writes the time of day."""

_Row = TypeVar("_Row")


@dataclass(frozen=True)
class Part(Generic[_Row]):
    """A part of the grid: for each of its rows, cells side by side."""

    start: int
    rows: tuple[_Row, ...]
    width: int

    @property
    def stop(self) -> int:
        """The first cell after the part."""
        return self.start + len(self.rows) * self.width

    def of(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the part of a count of all shapes, one row of cells for each of its rows."""
        return counts[self.start : self.stop].reshape(len(self.rows), self.width)

    def row(self, place: int) -> slice:
        """Return the cells of one row."""
        first = self.start + place * self.width
        return slice(first, first + self.width)


PLAIN = Part(len(TEXT_CLASSES), PRECISIONS, len(MAGNITUDES) + 1)
"""Plain numbers, by precision and magnitude."""
WRITTEN = Part(PLAIN.stop, FORMS, len(COARSE_MAGNITUDES) + 1)
"""Numbers written with marks."""
AFFIXED = Part(WRITTEN.stop, tuple(itertools.product(AFFIXES, FORMS)), len(DECIMAL_MAGNITUDES) + 1)
"""Numbers with a currency or a unit."""
ISO = Part(AFFIXED.stop, tuple(itertools.product(ISO_FORMATS, CLOCKS)), len(DECADES) + 1)
"""Dates written ISO 8601, and stored ones."""
DATED = Part(ISO.stop, tuple(itertools.product(DATE_FORMATS, CLOCKS)), len(PERIODS) + 1)
"""Dates in other formats."""
SHAPES = DATED.stop
"""How many cells there are."""


def _possible() -> NDArray[np.bool_]:
    """Return which cells of plain numbers some number lies in: no whole one lies near 0.3."""
    edges = np.array((-np.inf, *MAGNITUDES, np.inf))
    # The greatest absolute value of each cell, which no multiple of a larger step reaches.
    greatest = np.maximum(np.abs(edges[:-1]), np.abs(edges[1:]))
    zero = (edges[:-1] < 0) & (edges[1:] > 0)
    steps = np.array((1, 1, 0.5, 0.5, 0.1, 0.1, 0.25, 0.01, 0.01, 1e-3, 1e-4, 1e-6, 0))
    possible = greatest[None, :] > steps[:, None]
    positive = (edges[:-1] >= 0)[None, :]
    # A negative cell ends just above its greater edge's absolute value, a positive one below it.
    possible |= ~positive & (greatest[None, :] >= steps[:, None])
    possible[[WHOLE, WHOLE_ZERO]] |= zero
    return np.asarray(possible)


POSSIBLE = _possible()


def described(code: int) -> str:
    """Return a cell in words.

    >>> described(MISSING), described(PLAIN.row(WHOLE).stop - 1)
    ('missing', 'whole number from 1.1259e+15')
    """
    if not 0 <= code < SHAPES:
        msg = f"There is no shape {code}."
        raise ValueError(msg)
    if code < len(TEXT_CLASSES):
        return TEXT_CLASSES[code]
    for part, edges in (
        (PLAIN, MAGNITUDES),
        (WRITTEN, COARSE_MAGNITUDES),
        (AFFIXED, DECIMAL_MAGNITUDES),
        (ISO, DECADES),
    ):
        if code < part.stop:
            return _words(part, edges, code)
    return _words(DATED, PERIODS, code)


def _words(part: Part[Any], edges: tuple[float, ...], code: int) -> str:
    row, place = divmod(code - part.start, part.width)
    low = f" from {edges[place - 1]:g}" if place else ""
    high = f" below {edges[place]:g}" if place < len(edges) else ""
    return _row_words(part.rows[row]) + low + high


def _row_words(row: object) -> str:
    if isinstance(row, str):
        return row if row in PRECISIONS else f"number such as {row}"
    assert isinstance(row, tuple)  # noqa: S101 - rows of pairs
    first, second = row
    if isinstance(first, tuple):
        return f"number such as {first[0]}{second}{first[1]}"
    return f"date {first}{second}"
