"""How the cells of a text column are written, read off all of them by exact rules.

A fact is drafted only if every filled cell agrees with it: the draft is for a person to review.
"""

import itertools
import re
import unicodedata
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.column import MOST_DECIMALS, WHITESPACE, Column, Kind, Role
from understudy.encode.arrow_ops import ArrowOps
from understudy.encode.moments import MomentPattern, is_moment, resolution, seconds_since_1970
from understudy.encode.ops import Storage
from understudy.encode.written_numbers import NumberPattern, plain_number

_DATES = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d"),
    *("%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%d. %B %Y"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S")
FORMATS = (
    *(date + clock for clock, date in itertools.product(_CLOCKS, _DATES)),
    *("%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S%z", "%Y-%m-%d %H:%M:%S %z"),
)
"""Formats of dates that are tried, after ISO 8601 and in this order."""
_AFFIX = r"([^0-9+\-.,'\"\\]{0,8}"
_NUMBER = re.compile(
    rf"^[+-]?{_AFFIX}?)[+-]?(?!0[0-9])[0-9](?:[0-9., '\u00a0\u202f\u2019]*[0-9])?{_AFFIX})$"
)
_UNITS = {
    *("USD", "EUR", "GBP", "CHF", "JPY", "INR", "CAD", "AUD", "Fr.", "R$", "US$", "kr", "zł", "Kč"),
    *("kg", "g", "mg", "km", "m", "cm", "mm", "l", "ml", "h", "min", "s", "°C", "°F", "kWh", "kW"),
}
"""Affixes that are drafted, beside signs of currencies and shares."""
_MARKS = (
    *((None, None), (None, ","), (",", None), (",", "."), (",", " "), (None, " ")),
    *((None, "'"), (",", "'")),
)
"""Decimal and thousands marks that are tried, in this order."""
_BLANKS = WHITESPACE + "\u00a0\u202f"
_EMAIL = r"^[^@\s]+@[^@\s]+\.[^@\s.]+$"
_URL = r"(?i)^(?:https?://|www\.)\S+$"
_PHONE = r"^(?:\+|\(0|0)[0-9 ()/.\-]{6,20}$"
_MOST_SPACED = 5
"""Words: text with more of them on average is free text."""
_STEPS = (0.25, 0.5)


def written_numbers(name: str, cells: pa.Array) -> tuple[Column, NDArray[np.float64]] | None:
    """Return the facts by which all filled cells are numbers, and these numbers; None otherwise."""
    texts = [text.strip(WHITESPACE) for text in pc.drop_null(cells).to_pylist()]
    found = [_NUMBER.match(text) for text in texts if text]
    if not found or not all(found):
        return None
    prefixes = {one[1].strip(_BLANKS): one[1] for one in found if one}
    suffixes = {one[2].strip(_BLANKS): one[2] for one in found if one}
    if len(prefixes) > 1 or len(suffixes) > 1:
        return None
    if not all(_is_unit(affix) for affix in (*prefixes, *suffixes)):
        return None
    ((prefix, before),) = prefixes.items()
    ((suffix, after),) = suffixes.items()
    filled, ops = ArrowOps().filled(cells), ArrowOps()
    for decimal, thousands in _MARKS:
        column = Column(
            name=name,
            kind=Kind.REAL,
            decimal=decimal,
            thousands=thousands,
            prefix=before if prefix else None,
            suffix=after if suffix else None,
        )
        pattern = NumberPattern.of(column)
        plain = cells if pattern is None else plain_number(cells, pattern, ops)
        number = ops.number(plain, Storage.TEXT)
        if ops.known(number)[filled].all():
            bare = [text.strip(_BLANKS + prefix + suffix) for text in texts if text]
            return _with_decimals(column, bare), number
    return None


def _is_unit(affix: str) -> bool:
    """Whether an affix belongs to numbers, and does not make names or codes of them."""
    signs = all(mark in "%‰°" or unicodedata.category(mark) == "Sc" for mark in affix)
    return affix in _UNITS or signs


def _with_decimals(column: Column, texts: list[str]) -> Column:
    """The column with the decimals of its cells, and whether all have as many."""
    counts = {len(text.partition(column.decimal or ".")[2]) for text in texts}
    if max(counts) > MOST_DECIMALS or any("e" in text.lower() for text in texts):
        return column
    padded = len(counts) == 1 and max(counts) > 0 and any(text.endswith("0") for text in texts)
    return replace(column, decimals=max(counts), padded=True if padded else None)


def precision(numbers: NDArray[np.float64]) -> dict[str, int | float]:
    """Return the decimals or the step of all numbers; nothing if they have many digits."""
    known = np.unique(numbers[~np.isnan(numbers)])
    for step in reversed(_STEPS):
        if len(known) > 2 and (known % step == 0).all() and (known % 1 != 0).any():  # noqa: PLR2004
            return {"step": step}
    for decimals in range(7):
        with np.errstate(over="ignore", invalid="ignore"):
            if (np.round(known, decimals) == known).all():
                return {"decimals": decimals}
    return {}


def written_moments(cells: pa.Array) -> tuple[str, NDArray[np.float64], bool] | None:
    """Return the first format that all filled cells fit, seconds, and whether it is a date."""
    ops = ArrowOps()
    filled = ops.filled(cells)
    for template in FORMATS:
        pattern = MomentPattern(template)
        dated = ops.matching(cells, pattern.regex)
        if np.asarray(pc.is_null(dated))[filled].any():
            continue
        parts = ops.moment_parts(dated, pattern)
        exists = np.asarray(pc.is_valid(dated)) & np.asarray(is_moment(parts, ops))
        if exists[filled].all():
            seconds = np.where(exists, seconds_since_1970(parts, ops), np.nan)
            return template, seconds, resolution(template) > 3600  # noqa: PLR2004 - an hour
    return None


def leading_zeros(cells: pa.Array) -> bool:
    """Whether a cell is a number with zeros before it, which is a code and no number."""
    return bool(pc.any(pc.match_substring_regex(cells, r"^\s*0[0-9]")).as_py())


def personal_role(values: set[str]) -> Role | None:
    """Return the role of a text column whose values all look like e-mail addresses or the like."""
    for pattern, role in ((_EMAIL, Role.EMAIL), (_URL, Role.URL), (_PHONE, Role.PHONE)):
        if all(re.search(pattern, value) for value in values):
            return role
    words = sum(len(value.split()) for value in values) / len(values)
    return Role.FREE_TEXT if words > _MOST_SPACED else None
