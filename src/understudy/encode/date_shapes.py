"""The shape of a date written as text: its format, its time of day and its decade."""

from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.encode.shape_grid import (
    CLOCKS,
    DATE_FORMATS,
    DATED,
    DECADES,
    ISO,
    MIDNIGHT_MINUTES,
    MIDNIGHT_SECONDS,
    MINUTES,
    NO_CLOCK,
    PERIODS,
    SECONDS,
)

_CLOCK = (
    r"(?:(?P<t>[T ])(?P<H>[0-9]{1,2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:\.[0-9]*)?)?"
    r"(?P<p> ?[AaPp][Mm])?(?P<z> ?(?:[Zz]|[+-][0-9]{2}:?[0-9]{2}))?)?$"
)
_NUMERIC = r"^(?P<a>[0-9]{1,4})(?P<u>[-/.])(?P<b>[0-9]{1,2})(?P<v>[-/.])(?P<c>[0-9]{1,4})" + _CLOCK
_DAY_NAMED = r"^(?P<a>[0-9]{1,2})(?P<u>[ -])(?P<m>[A-Za-z]{3,9})(?P<v>[ -])(?P<c>[0-9]{4})" + _CLOCK
_NAMED = r"^(?P<m>[A-Za-z]{3,9})(?P<u> )(?P<a>[0-9]{1,2})(?P<v>, )(?P<c>[0-9]{4})" + _CLOCK
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_SHORT = tuple(month[:3] for month in _MONTHS)
_AMBIGUOUS, _YEAR_FIRST = 2, {"/": "%Y/%m/%d", ".": "%Y.%m.%d"}
_MARKS = ("/", ".", "-")
"""In the order of the formats in the grid: day first, month first and ambiguous with each."""

_Ints: TypeAlias = NDArray[np.int64]
_Mask: TypeAlias = NDArray[np.bool_]


def date_shapes(text: pa.Array) -> tuple[_Ints, _Mask]:
    """Return the cell of each date, -1 for what is none; and which texts look like dates."""
    codes, looks = np.full(len(text), -1), np.zeros(len(text), bool)
    for regex, shape in (
        (_NUMERIC, _numeric),
        (_DAY_NAMED, _day_named),
        (_NAMED, _month_named),
    ):
        left = np.flatnonzero(~looks)
        if not left.size:
            break
        groups = pc.extract_regex(text.take(pa.array(left)), regex)
        found = np.asarray(pc.is_valid(groups))
        if found.any():
            place = left[found]
            looks[place] = True
            codes[place] = shape(_Groups(groups.filter(pa.array(found))))
    return codes, looks


class _Groups:
    """What the groups of an expression hold, of texts that it matches."""

    def __init__(self, groups: pa.Array) -> None:
        self._groups = groups

    def text(self, name: str) -> pa.Array:
        """Return the text of a group, empty where it is absent."""
        return pc.struct_field(self._groups, name)

    def is_text(self, name: str, word: str) -> _Mask:
        """Return where a group holds the word."""
        return np.asarray(pc.equal(self.text(name), word))

    def number(self, name: str) -> _Ints:
        """Return the number of a group; 0 where it is absent."""
        digits = self.text(name)
        filled = pc.if_else(pc.equal(digits, ""), "0", digits)
        return np.asarray(pc.cast(filled, pa.int64()))

    def length(self, name: str) -> _Ints:
        """Return how many characters a group holds."""
        return np.asarray(pc.binary_length(self.text(name)), np.int64)

    def position(self, name: str, words: tuple[str, ...]) -> _Ints:
        """Return the place of the group's text in lower case among words; -1 if nowhere."""
        lower = pc.ascii_lower(pc.ascii_trim_whitespace(self.text(name)))
        found = pc.index_in(lower, value_set=pa.array(words, lower.type))
        return np.asarray(pc.fill_null(found, -1), np.int64)

    @property
    def clock(self) -> _Ints:
        """The clock of the grid; -1 where there is no such time of day."""
        hour, minute, second = self.number("H"), self.number("M"), self.number("S")
        half, seconds = self.position("p", ("am", "pm")), self.length("S") > 0
        fits = (hour < 24) & (minute < 60) & (second < 60)  # noqa: PLR2004 - a clock
        fits &= (half < 0) | ((hour >= 1) & (hour <= 12))  # noqa: PLR2004 - of twelve hours
        hour = np.where(half >= 0, hour % 12 + 12 * half, hour)
        midnight = (hour == 0) & (minute == 0) & (second == 0)
        with_minutes = np.where(midnight, MIDNIGHT_MINUTES, MINUTES)
        with_seconds = np.where(midnight, MIDNIGHT_SECONDS, SECONDS)
        clock = np.where(seconds, with_seconds, with_minutes)
        clock = np.where(self.length("t") > 0, clock, NO_CLOCK)
        return np.where(fits, clock, -1)

    @property
    def half(self) -> _Mask:
        """Where the clock has twelve hours."""
        return self.length("p") > 0

    @property
    def zone(self) -> _Mask:
        """Where there is a zone."""
        return self.length("z") > 0


def _numeric(groups: _Groups) -> _Ints:
    """Return the cells of dates with a numbered month."""
    first, middle, last = (groups.number(name) for name in "abc")
    year_first = (groups.length("a") == 4) & (groups.length("c") <= 2)  # noqa: PLR2004 - digits
    year_last = (groups.length("a") <= 2) & (groups.length("c") == 4)  # noqa: PLR2004 - as above
    same = np.asarray(pc.equal(groups.text("u"), groups.text("v")))
    codes = np.full(len(first), -1)

    by_year = _exists(first, middle, last)
    iso = year_first & same & groups.is_text("u", "-")
    # T stands before a time alone.
    late = groups.is_text("t", "T")
    form = np.where(late, 1, 0) + np.where(groups.zone, 2, 0)
    cell = _cell(ISO.start, form, groups.clock, np.searchsorted(DECADES, first, "right"), ISO.width)
    codes = np.where(iso & by_year & ~groups.half, cell, codes)

    plain = ~late & ~groups.zone & same
    for mark, name in _YEAR_FIRST.items():
        fits = year_first & by_year & plain & groups.is_text("u", mark) & ~groups.half
        codes = np.where(
            fits, _dated(np.full(len(first), _place(name)), groups.clock, first), codes
        )
    day_first, month_first = _exists(last, middle, first), _exists(last, first, middle)
    both = day_first & month_first
    order = np.where(both, _AMBIGUOUS, np.where(month_first, 1, 0))
    for number, mark in enumerate(_MARKS):
        fits = year_last & (day_first | month_first) & plain & groups.is_text("u", mark)
        codes = np.where(fits & ~groups.half, _dated(3 * number + order, groups.clock, last), codes)
    # With a clock of twelve hours, only those that month-first fits.
    form = np.where(both, _place("ambiguous %p"), _place("%m/%d/%Y %p"))
    fits = year_last & month_first & plain & groups.half & groups.is_text("u", "/")
    return np.where(fits, _dated(form, groups.clock, last), codes)


def _day_named(groups: _Groups) -> _Ints:
    """Return the cells of dates such as 31 Jan 2024."""
    short, full = groups.position("m", _SHORT), groups.position("m", _MONTHS)
    marks = np.asarray(pc.equal(groups.text("u"), groups.text("v")))
    dashes = groups.is_text("u", "-")
    form = np.where(short >= 0, _place("%d %b %Y"), _place("%d %B %Y"))
    form = np.where(dashes, _place("%d-%b-%Y"), form)
    fits = marks & ~(dashes & (short < 0))
    return _named(groups, np.where(short >= 0, short, full), form, fits)


def _month_named(groups: _Groups) -> _Ints:
    """Return the cells of dates such as Jan 31, 2024."""
    short, full = groups.position("m", _SHORT), groups.position("m", _MONTHS)
    form = np.where(short >= 0, _place("%b %d, %Y"), _place("%B %d, %Y"))
    return _named(groups, np.where(short >= 0, short, full), form, np.ones(len(form), bool))


def _named(groups: _Groups, month: _Ints, form: _Ints, fits: _Mask) -> _Ints:
    year, day = groups.number("c"), groups.number("a")
    fits = fits & (month >= 0) & _exists(year, month + 1, day)
    fits &= ~groups.half & ~groups.zone & ~groups.is_text("t", "T")
    return np.where(fits, _dated(form, groups.clock, year), -1)


def _place(name: str) -> int:
    return DATE_FORMATS.index(name)


def _dated(form: _Ints, clock: _Ints, year: _Ints) -> _Ints:
    return _cell(DATED.start, form, clock, np.searchsorted(PERIODS, year, "right"), DATED.width)


def _cell(start: int, form: _Ints, clock: _Ints, place: _Ints, width: int) -> _Ints:
    """Return a cell of the grid; -1 where there is no such time of day."""
    return np.where(clock < 0, -1, start + (form * len(CLOCKS) + clock) * width + place)


def _exists(year: _Ints, month: _Ints, day: _Ints) -> _Mask:
    """Return which days are in the calendar."""
    leap = ((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0)
    days = np.array((0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31))
    inside = (month >= 1) & (month <= 12) & (year >= 1)  # noqa: PLR2004 - months
    last = days[np.where(inside, month, 0)] + (leap & (month == 2))  # noqa: PLR2004 - February
    return np.asarray(inside & (day >= 1) & (day <= last))
