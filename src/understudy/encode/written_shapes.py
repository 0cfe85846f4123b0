"""The shape of a number written with marks, a currency or a unit."""

import re
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.encode.shape_grid import (
    AFFIXED,
    AFFIXES,
    AMBIGUOUS,
    COARSE_MAGNITUDES,
    COMMA_MORE,
    COMMA_ONE,
    COMMAS,
    COMMAS_POINT,
    DECIMAL_MAGNITUDES,
    FORMS,
    PLAIN_WHOLE,
    POINTS,
    POINTS_COMMA,
    QUOTES,
    QUOTES_POINT,
    SPACES,
    SPACES_COMMA,
    SPACES_POINT,
    WRITTEN,
)

_BEFORE = tuple(dict.fromkeys(before.strip() for before, _ in AFFIXES if before))
_AFTER = tuple(dict.fromkeys(after.strip() for _, after in AFFIXES if after))
_NARROW = "[\u00a0\u202f]"
"""Blanks that do not break."""
_AROUND = (
    rf"^(?P<sign>[+-]?)(?P<before>{'|'.join(map(re.escape, _BEFORE))})?(?P<gap> ?)(?P<inner>[+-]?)"
    r"(?P<core>[0-9.,](?:[0-9.,' ]*[0-9.,])?)"
    rf"(?P<blank> ?)(?P<after>{'|'.join(map(re.escape, _AFTER))})?$"
)
_GROUPS = "[1-9][0-9]{{0,2}}(?:{}[0-9]{{3}})"
_POINTS = _GROUPS.format(r"\.")
_STYLES = (
    (r"^(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$", "", ".", None),
    (r"^[0-9]*,[0-9]+$", "", ",", None),
    (rf"^{_GROUPS.format(',')}+(?:\.[0-9]*)?$", ",", ".", (COMMAS, COMMAS_POINT)),
    (rf"^{_POINTS}+,[0-9]*$|^{_POINTS}{{2,}}$", ".", ",", (POINTS, POINTS_COMMA)),
    (rf"^{_GROUPS.format(' ')}+(?:,[0-9]*)?$", " ", ",", (SPACES, SPACES_COMMA)),
    (rf"^{_GROUPS.format(' ')}+\.[0-9]*$", " ", ".", (SPACES, SPACES_POINT)),
    (rf"^{_GROUPS.format(chr(39))}+(?:\.[0-9]*)?$", "'", ".", (QUOTES, QUOTES_POINT)),
)
"""Expression, mark between groups, decimal mark, and the forms without and with decimals."""
_TELEPHONE = "^[0-9]{3}(?: [0-9]{3}){2,}$"
"""Three digits each and blanks between them: rather a telephone number than a hundred millions."""
_ONE_COMMA = "^[1-9][0-9]{0,2},[0-9]{3}$"

_Ints: TypeAlias = NDArray[np.int64]
_Numbers: TypeAlias = NDArray[np.float64]


def written_shapes(text: pa.Array) -> _Ints:
    """Return the cell of each written number; -1 for what is none."""
    text = pc.replace_substring_regex(text, _NARROW, " ")
    codes = np.full(len(text), -1)
    groups = pc.extract_regex(text, _AROUND)
    found = np.flatnonzero(np.asarray(pc.is_valid(groups)))
    if not found.size:
        return codes
    groups = groups.take(pa.array(found))
    filled = {
        name: np.asarray(pc.greater(pc.binary_length(pc.struct_field(groups, name)), 0))
        for name in ("sign", "before", "gap", "inner", "blank", "after")
    }
    core = pc.struct_field(groups, "core")
    form, size = _forms(core)
    minus = pc.or_(*(pc.equal(pc.struct_field(groups, name), "-") for name in ("sign", "inner")))
    number = np.where(np.asarray(minus), -size, size)
    affix = _affixes(groups, filled["gap"], filled["blank"])
    bare = ~filled["before"] & ~filled["after"]
    # A blank belongs to an affix, and there is one sign.
    fits = (form >= 0) & (filled["before"] | ~filled["gap"]) & (filled["after"] | ~filled["blank"])
    fits &= ~(filled["sign"] & filled["inner"]) & (bare | (affix >= 0))
    fits &= ~bare | (form >= AMBIGUOUS)
    alone = np.searchsorted(COARSE_MAGNITUDES, number, "right")
    alone = WRITTEN.start + form * WRITTEN.width + alone
    together = np.searchsorted(DECIMAL_MAGNITUDES, number, "right")
    together = AFFIXED.start + (affix * len(FORMS) + form) * AFFIXED.width + together
    codes[found] = np.where(fits, np.where(bare, alone, together), -1)
    return codes


def _forms(core: pa.Array) -> tuple[_Ints, _Numbers]:
    """Return the form of each number without its sign, -1 for what is none, and the number."""
    forms, numbers = np.full(len(core), -1), np.zeros(len(core))
    spaced = ~_matches(core, _TELEPHONE)
    for regex, mark, decimal, grouped in _STYLES:
        place = np.flatnonzero((forms < 0) & spaced & _matches(core, regex))
        if not place.size:
            continue
        texts = core.take(pa.array(place))
        ambiguous = _matches(texts, _ONE_COMMA)
        plain = pc.replace_substring(texts, mark, "") if mark else texts
        plain = plain if decimal == "." else pc.replace_substring(plain, decimal, ".")
        numbers[place] = np.asarray(pc.cast(plain, pa.float64()))
        points = np.asarray(pc.find_substring(plain, "."), np.int64)
        length = np.asarray(pc.binary_length(plain), np.int64)
        decimals = np.where(points < 0, 0, length - points - 1)
        forms[place] = _form(decimals, decimal, grouped)
        forms[place[ambiguous]] = AMBIGUOUS
    # Of one comma before three digits, the number is the one with thousands.
    numbers[forms == AMBIGUOUS] *= 1000.0
    return forms, numbers


def _form(decimals: _Ints, decimal: str, grouped: tuple[int, int] | None) -> _Ints:
    if grouped is not None:
        return np.asarray(np.where(decimals > 0, grouped[1], grouped[0]))
    if decimal == ".":
        return np.asarray(PLAIN_WHOLE + np.minimum(decimals, 3))
    return np.asarray(np.minimum(COMMA_ONE + np.maximum(decimals, 1) - 1, COMMA_MORE))


def _affixes(groups: pa.Array, gap: NDArray[np.bool_], blank: NDArray[np.bool_]) -> _Ints:
    """Return the place of the affix; -1 where there is none, or one on either side."""
    places = np.full(len(groups), -1)
    before = pc.struct_field(groups, "before")
    after = pc.struct_field(groups, "after")
    empty = {"before": np.asarray(pc.equal(before, "")), "after": np.asarray(pc.equal(after, ""))}
    # Those with as many blanks as written come last, so that they stay.
    for exact in (False, True):
        for place, (prefix, suffix) in enumerate(AFFIXES):
            if prefix:
                same = np.asarray(pc.equal(before, prefix.strip())) & empty["after"]
                spaced = gap == prefix.endswith(" ")
            else:
                same = np.asarray(pc.equal(after, suffix.strip())) & empty["before"]
                spaced = blank == suffix.startswith(" ")
            places[same & (spaced | ~np.bool_(exact))] = place
    return places


def _matches(text: pa.Array, regex: str) -> NDArray[np.bool_]:
    return np.asarray(pc.match_substring_regex(text, regex).to_numpy(zero_copy_only=False), bool)
