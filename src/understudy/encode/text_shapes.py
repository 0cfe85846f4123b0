"""The shape of text, value by value, by regular expressions that take linear time (RE2).

Coded here alone, never as SQL: engines differ in their regular expressions, and shapes have many.
Whatever a cell holds, it has a shape, and nothing raises.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.column import WHITESPACE
from understudy.encode.arrow_ops import ArrowOps
from understudy.encode.date_shapes import date_shapes
from understudy.encode.ops import Storage
from understudy.encode.plain_shapes import plain_cells
from understudy.encode.shape_grid import CODES, EMAIL, LONG, MISSING, PHONE, URL, UUID, WORDS, ZEROS
from understudy.encode.written_shapes import written_shapes

LONGEST_CELL = 200
"""Longer text is long text, and no expression is tried on it."""
LONGEST_CATEGORY, MOST_WORDS = 60, 7
"""Text beyond either is long text: no category has so many letters or words."""
_LONGEST_SHAPE = 48
"""Dates, numbers and telephone numbers have no more characters."""

_EMAIL = r"^[^@\s,;<>]+@[^@\s,;<>]+\.[^@\s.,;<>]+$"
_URL = r"^(?i:https?://|ftp://|www\.)\S+$"
_UUID = r"^\{?[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}\}?$"
_EXTENSION = r" ?(?:x|ext\.?|Ext\.?) ?[0-9]{1,6}$"
_AREA = r"\([0-9]{1,5}\)[ ./-]{0,3}"
_PHONE = (
    r"^(?:\+[0-9(][0-9 ()./-]*[0-9]"  # +49 30 1234567
    rf"|(?:{_AREA}|[0-9]{{1,5}}[ ./-]{{1,3}})(?:{_AREA}|[0-9]{{2,9}}[ ./-]{{1,3}}){{1,5}}"
    r"[0-9]{2,9}"  # 555-123-4567
    r"|0[0-9]{1,5}[ /-]{1,3}[0-9]{3,9}"  # 030 1234567
    r"|[0-9]{3}-[0-9]{4}"  # 555-1234
    r"|\([0-9]{2,5}\) ?[0-9][0-9 -]{3,11}[0-9])$"  # (555) 123-4567
)
_ADDRESS = r"^[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$"
"""Of a machine on a network, which has as many digits as a telephone number."""
_DATED = r"^(?:[0-9]{1,4}[-/. ][0-9A-Za-z]+[-/. ][0-9]|[A-Za-z]{3,9} [0-9]{1,2}, )"
_CALLED = r"^[+(]{0,2}[0-9]"
"""How dates and telephone numbers begin: few other texts need the longer expressions."""
_FEWEST_DIGITS, _MOST_DIGITS = 7, 15

_Codes: TypeAlias = NDArray[np.int64]
_Mask: TypeAlias = NDArray[np.bool_]


def text_shapes(text: pa.Array) -> _Codes:
    """Return the cell of each text of an array without invalid bytes."""
    if not len(text):
        return np.zeros(0, np.int64)
    text = pc.utf8_trim(text, WHITESPACE)
    length = _numbers(pc.utf8_length(text))
    codes = np.where(length > 0, WORDS, MISSING)
    codes[length > LONGEST_CELL] = LONG
    tried = np.flatnonzero((length > 0) & (length <= LONGEST_CELL))
    if not tried.size:
        return codes
    text = text.take(pa.array(tried))
    number = ArrowOps().number(text, Storage.TEXT)
    zeros, phones = matches(text, r"^0[0-9]+$"), matches(text, r"^\+[1-9][0-9]{6,14}$")
    plain = ~np.isnan(number) & ~zeros & ~phones
    found = np.where(zeros, ZEROS, PHONE)
    if plain.any():
        found[plain] = plain_cells(number[plain], _ends_in_zero(text)[plain])
    others = np.flatnonzero(~plain & ~zeros & ~phones)
    if others.size:
        found[others] = _other_shapes(text.take(pa.array(others)), length[tried][others])
    codes[tried] = found
    return codes


def matches(text: pa.Array, regex: str) -> _Mask:
    """Return where the regular expression finds something in the text."""
    return np.asarray(pc.match_substring_regex(text, regex).to_numpy(zero_copy_only=False), bool)


def _other_shapes(text: pa.Array, length: _Codes) -> _Codes:
    """Return the cells of text that is neither missing nor a plain number."""
    digits = matches(text, "[0-9]")
    words = _numbers(pc.count_substring_regex(text, r"\s+")) + 1
    codes = np.where(digits, CODES, WORDS)
    codes[(length > LONGEST_CATEGORY) | (words > MOST_WORDS)] = LONG
    codes[matches(text, _UUID)] = UUID
    codes[matches(text, _URL)] = URL
    codes[matches(text, _EMAIL)] = EMAIL
    tried = np.flatnonzero((codes == CODES) & (length <= _LONGEST_SHAPE))
    if tried.size:
        codes[tried] = _digit_shapes(text.take(pa.array(tried)))
    return codes


def _digit_shapes(text: pa.Array) -> _Codes:
    """Return the cells of short text with digits: dates, written numbers, telephone numbers."""
    codes = np.full(len(text), CODES)
    dates, dated = _where(_DATED, text, date_shapes)
    codes[dates >= 0] = dates[dates >= 0]
    # What looks like a date and is none, such as the 30th of February, is nothing else either.
    left = np.flatnonzero(~dated)
    if left.size:
        rest = text.take(pa.array(left))
        numbers = written_shapes(rest)
        phones, _ = _where(_CALLED, rest, _phones)
        codes[left] = np.where(numbers >= 0, numbers, np.where(phones >= 0, phones, CODES))
    return codes


def _where(
    begin: str, text: pa.Array, shapes: Callable[[pa.Array], tuple[_Codes, _Mask]]
) -> tuple[_Codes, _Mask]:
    """Return the shapes of the texts that match the beginning; -1 for all others."""
    codes, looks = np.full(len(text), -1), np.zeros(len(text), bool)
    tried = np.flatnonzero(matches(text, begin))
    if tried.size:
        codes[tried], looks[tried] = shapes(text.take(pa.array(tried)))
    return codes, looks


def _phones(text: pa.Array) -> tuple[_Codes, _Mask]:
    """Return the cell of each telephone number, -1 for what is none; and which are such."""
    text = pc.replace_substring_regex(text, _EXTENSION, "")
    digits = _numbers(pc.binary_length(pc.replace_substring_regex(text, "[^0-9]", "")))
    fits = (digits >= _FEWEST_DIGITS) & (digits <= _MOST_DIGITS)
    grouped = matches(text, r"^\+|[0-9)][ ()./-]+[0-9(]")
    found = fits & grouped & matches(text, _PHONE) & ~matches(text, _ADDRESS)
    return np.where(found, PHONE, -1), found


def _ends_in_zero(text: pa.Array) -> _Mask:
    """Return which plain numbers are written with a zero after the last decimal they need."""
    return matches(text, r"^[^eE]*\.[0-9]*0$")


def _numbers(value: Any) -> _Codes:  # noqa: ANN401 - an Arrow array of any kind of integers
    return np.asarray(pc.fill_null(value, 0).to_numpy(zero_copy_only=False)).astype(np.int64)
