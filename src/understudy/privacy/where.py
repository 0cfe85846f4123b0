"""Public conditions on one column, such as "age >= 90": which codes may belong to them."""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import WHITESPACE, Column, Kind, Source
from understudy.encode import Encoding
from understudy.encode.labels import NO_WORDS, YES_WORDS, LabelCells
from understudy.encode.moments import MomentPattern
from understudy.encode.numbers import NumberCells
from understudy.encode.ops import NUMBER, NUMBER_STORAGE, Storage
from understudy.errors import BadInput, UnknownColumn, listed
from understudy.schema import Schema

_LAST_DIGITS = 1e-9
_HALF_PRECISION, _LAST_BITS = 2**-10, 2**-50
_SECONDS = {"S": 1, "M": 60, "H": 3600, "I": 3600, "d": 86400}
_PLAIN: dict[str, Any] = dict.fromkeys(("decimal", "thousands", "prefix", "suffix"))
"""Facts by which numbers are written otherwise than as digits and a point."""
_SENTENCE = re.compile(
    r"^(?P<column>[^<>=].*?)\s*(?P<how>>=|<=|==|=|>|<)(?![<>=])\s*(?P<value>.+)$", re.DOTALL
)
_QUOTES = "'\""
_ANOTHER = re.compile(r"(?:\b(?:and|or)\b|[,;&|]).*[<>=]", re.IGNORECASE | re.DOTALL)
"""In a value: what reads like a second condition after the first."""
_BETWEEN = re.compile(r"\b(?:and|or|not)\b|[,;/&|()\[\]{}'\"]")
"""In a value: what stands between several."""


class Comparison(StrEnum):
    """How a value is compared; without its edge is treated as with it, which protects more."""

    AT_LEAST = ">="
    AT_MOST = "<="
    IS = "="


_SPELLED = {
    ">=": Comparison.AT_LEAST,
    ">": Comparison.AT_LEAST,
    "<=": Comparison.AT_MOST,
    "<": Comparison.AT_MOST,
    "=": Comparison.IS,
    "==": Comparison.IS,
}


def _parts(sentence: str) -> tuple[str, Comparison, str] | None:
    """What a sentence says of which column; None where it says nothing."""
    match = _SENTENCE.match(sentence.strip())
    if match is None:
        return None
    value = match["value"].strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in _QUOTES:
        value = value[1:-1]
    return match["column"].strip(), _SPELLED[match["how"]], value


def _states_another(sentence: str) -> bool:
    """Whether the value of a sentence reads like a second condition, and stands in no quotes."""
    match = _SENTENCE.match(sentence.strip())
    value = "" if match is None else match["value"].strip()
    mark, inner = value[:1], value[1:-1]
    quoted = value == f"{mark}{inner}{mark}" and mark in set(_QUOTES) and mark not in inner
    return not quoted and _ANOTHER.search(value) is not None


class Also(StrEnum):
    """Values that meet every condition on their column: nobody can tell that they do not."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    NOT_LISTED = "not listed"


def also_meeting(column: Column) -> tuple[Also, ...]:
    """Return which values of a column meet every condition on it."""
    numeric = column.kind.numeric or column.kind is Kind.BOOLEAN
    if numeric and not set(column.silent) - {"null"}:
        return Also.MISSING, Also.UNREADABLE
    return tuple(Also)  # an open column may turn out to be a list of categories


def in_words(where: str, also: Sequence[str]) -> str:
    """Return a condition as people read it, with the values that always meet it.

    >>> in_words("age >= 90", ["missing", "unreadable"])
    'age >= 90, missing or unreadable'
    """
    if not also:
        return where
    *others, last = also
    return f"{', '.join([where, *others])} or {last}"


def _endless(value: str) -> bool:
    """Whether a value is read as a number, but as none that is finite."""
    try:
        return not math.isfinite(float(value))
    except ValueError:
        return False


@dataclass(frozen=True)
class Where:
    """A condition on one column, decided before any row was looked at.

    >>> print(Where.parse("age >= 90"))
    age >= 90
    """

    column: str
    comparison: Comparison
    value: str

    def __post_init__(self) -> None:
        if _parts(str(self)) != (self.column, self.comparison, self.value):
            msg = (
                f"{str(self)!r} reads as another condition: one on a column with <, > or = in its "
                "name cannot be told. Rename the column."
            )
            raise BadInput(msg)
        if self.comparison is not Comparison.IS and _endless(self.value):
            msg = f"{self}: compare with a finite number."
            raise BadInput(msg)

    @classmethod
    def parse(cls, sentence: str) -> "Where":
        """The condition that a sentence states."""
        parts = _parts(sentence)
        if parts is None:
            msg = (
                f"{sentence!r} is no condition. Write a column, one of >=, <=, =, and a value: "
                '"age >= 90".'
            )
            raise BadInput(msg)
        if _states_another(sentence):
            msg = (
                f"{sentence!r} reads as several conditions. State each by itself: a record that "
                "meets any of them is protected. If it is one value, put it in quotes."
            )
            raise BadInput(msg)
        return cls(*parts)

    def codes(self, encoding: Encoding, storage: Mapping[str, Storage]) -> tuple[bool, ...]:
        """By code, whether a record that meets the condition may have it; rather too many.

        The value is coded as the column's stored values are. A stored value that is missing,
        unreadable or not listed meets every condition on its column: nobody can tell that it does
        not. Where a column turned out to hold what cannot be compared, all codes are marked.

        Args:
            encoding: How values become codes.
            storage: By column, how the table stores it.
        """
        stated = self.stated(encoding, storage)
        fallback = encoding.cells[self.column].fallback
        return tuple(one or code in fallback for code, one in enumerate(stated))

    def stated(self, encoding: Encoding, storage: Mapping[str, Storage]) -> tuple[bool, ...]:
        """By code, whether a record may have it whose value is read and meets the condition."""
        if self.column not in encoding.cells:
            raise UnknownColumn(self.column, tuple(encoding.cells))
        cells = encoding.cells[self.column]
        if isinstance(cells, NumberCells):
            marked = self._numbers(cells, storage[self.column])
        elif isinstance(cells, LabelCells):
            marked = self._labels(cells, storage[self.column], encoding)
        else:  # of an open column nothing is known yet
            marked = np.ones(cells.size, bool)
        return tuple(bool(one) for one in marked)

    def described(self, schema: Schema) -> str:
        """The condition in words, with the values that always meet it."""
        return in_words(str(self), also_meeting(schema[self.column]))

    def check(self, encoding: Encoding, storage: Mapping[str, Storage]) -> None:
        """Refuse, by public facts, a condition that the schema cannot decide."""
        self.codes(encoding, storage)

    def _numbers(self, cells: NumberCells, storage: Storage) -> NDArray[np.bool_]:
        """Cells of numbers and dates that meet the condition."""
        marked = np.zeros(cells.size, bool)
        meant = _meant(self.value, cells, storage)
        if not meant:
            self._refuse_unless_found(cells.column)
            return ~marked
        for low, high in meant:
            if self.comparison is Comparison.AT_LEAST:
                marked |= _beside(cells, low, up=True)
            elif self.comparison is Comparison.AT_MOST:
                marked |= _beside(cells, high, up=False)
            elif low < high:
                marked |= _beside(cells, low, up=True) & _beside(cells, high, up=False)
            else:
                marked[cells.cell_of(low)] = True
        return marked

    def _labels(self, cells: LabelCells, storage: Storage, encoding: Encoding) -> NDArray[np.bool_]:
        """Cells of labels that equal the value: as text, as a number, or as a boolean."""
        marked = np.zeros(cells.size, bool)
        if self.comparison is not Comparison.IS:
            why = f"{self}: {self.column!r} holds labels, which are compared by = alone."
            self._refuse_unless_found(cells.column, why)
            return ~marked
        value, truth = self.value.strip(WHITESPACE), _truth(self.value)
        if cells.column.kind is Kind.BOOLEAN:
            spelled = _spelled_truth(value, cells.column)
            truth = truth if spelled is None else spelled
            if truth is None:
                self._refuse_unless_found(cells.column)
                return ~marked
            marked[int(truth)] = True
            return marked
        labels = [str(label) for label in cells.labels]
        marked[: len(labels)] = [_same(one, value) for one in labels]
        if storage is Storage.BOOLEAN and truth is not None:
            marked[encoding.column_codes(self.column, pa.array([truth]))] = True
        if not marked.any():
            folded = _seen(value).casefold()
            several = (folded, *(part.strip() for part in _BETWEEN.split(folded)))
            alike = [any(_same(_seen(one).casefold(), part) for part in several) for one in labels]
            if any(alike) or cells.other is None:
                near = listed(repr(one) for one, fits in zip(labels, alike, strict=True) if fits)
                hint = f" The schema lists {near}; a condition names one value." if near else ""
                self._refuse_unless_found(cells.column, self._no_value() + hint)
            marked[: len(labels)] = alike
        return marked

    def _refuse_unless_found(self, column: Column, why: str | None = None) -> None:
        """Refuse, unless the column was inferred: by then it is too late."""
        if column.source is not Source.BOUGHT:
            raise BadInput(why or self._no_value())

    def _no_value(self) -> str:
        return f"{self}: {self.value!r} is no value of {self.column!r}. Correct the condition."

    def __str__(self) -> str:
        value, start = self.value, f"{self.column} {self.comparison} "
        bare = value and value == value.strip() and value[0] not in _QUOTES
        mark = "'" if '"' in value else '"'
        return start + (value if bare and not _ANOTHER.search(value) else f"{mark}{value}{mark}")


def _beside(cells: NumberCells, number: float, *, up: bool) -> NDArray[np.bool_]:
    """Cells of numbers from this one on, upwards or downwards.

    Codes of bins keep the order of values; a value beyond the bounds is moved there, unless it is
    an atom.
    """
    marked = np.zeros(cells.size, bool)
    code = cells.cell_of(number)
    marked[code] = True
    number = math.floor(number) if cells.column.kind is not Kind.REAL else number
    least, greatest = cells.span
    inside = min(max(number, least), greatest)
    bins = len(cells.bins)
    if code < bins:
        places = np.arange(bins)
        marked[:bins] = places >= code if up else places <= code
    else:
        # Where a bin ends is known but for the last digits.
        room = (greatest - least) * _LAST_DIGITS
        lows, highs = np.array(cells.bins).reshape(-1, 2).T
        marked[:bins] = highs >= inside - room if up else lows <= inside + room
    for place, atom in enumerate(cells.atoms, start=bins):
        edge = inside if least <= atom <= greatest else number
        marked[place] = atom >= edge if up else atom <= edge
    return marked


def _meant(text: str, cells: NumberCells, storage: Storage) -> list[tuple[float, float]]:
    """Return the stored numbers that a person may take for a value, from the least to the greatest.

    There is one range for each way to read the value, and none if it is unreadable.
    """
    column = cells.column
    if column.kind in {Kind.DATE, Kind.DATETIME}:
        patterns = dict.fromkeys((column.format, None))
        return [one for pattern in patterns if (one := _moments(text, column, pattern))]
    plain = NumberCells(replace(column, **_PLAIN))
    read = (way.number_of(text) for way in (cells, plain))
    numbers = {number for number in read if number is not None}
    truth = _truth(text)
    if not numbers and storage is Storage.BOOLEAN and truth is not None:
        numbers = {float(truth)}
    # Whole numbers, too, may be stored in single precision; but never as text.
    stored = storage.public == NUMBER_STORAGE
    near = stored or column.kind is Kind.REAL
    ways = [_nearby(number) if near else [number] for number in numbers]
    return [(min(way), max(way)) for way in ways]


def _nearby(number: float) -> list[float]:
    """Return what a fraction such as 0.7 becomes in columns of lower precision, or by an engine."""
    with np.errstate(over="ignore"):
        single, half = float(np.float32(number)), float(np.float16(number))
    if number in {single, half}:  # exact in binary
        return [number]
    near = [one for one in (single, half) if math.isclose(one, number, rel_tol=_HALF_PRECISION)]
    return [number, number * (1 - _LAST_BITS), number * (1 + _LAST_BITS), *near]


def _moments(text: str, column: Column, pattern: str | None) -> tuple[float, float] | None:
    """Return the first and last moment of a written date: the whole day where no clock is given.

    Written by a pattern, or as ISO 8601 without one.
    """
    first = NumberCells(replace(column, format=pattern)).number_of(text)
    if first is None:
        return None
    # Stored moments are compared in UTC, and people read the clock that stands beside a zone.
    zoned = "%z" in (column.format or "") and "%z" not in (pattern or "")
    if column.kind is Kind.DATE:
        return first - zoned, first + zoned
    reading = MomentPattern(pattern)
    match = re.match(reading.regex, text)
    given = {part for part, group in reading.groups.items() if match and match[group]}
    length = next((_SECONDS[part] for part in "SMHI" if part in given), _SECONDS["d"])
    beside = _SECONDS["d"] if zoned else 0
    return first - beside, first + length - 1 + beside


def _same(label: str, value: str) -> bool:
    """Whether a label is a value: as a person sees it, or as a number."""
    number = _decimal(value)
    return _seen(label) == _seen(value) or (number is not None and number == _decimal(label))


def _seen(text: str) -> str:
    """Return a text without what nobody sees: how characters are composed, kinds of blanks."""
    plain = unicodedata.normalize("NFKC", text)
    return " ".join("".join(c for c in plain if unicodedata.category(c) != "Cf").split())


def _decimal(text: str) -> Decimal | None:
    """Return the number that a text states; None if it is none."""
    return Decimal(text.strip(WHITESPACE)) if re.match(NUMBER, text) else None


def _truth(text: str) -> bool | None:
    """Return the boolean that a text states; None if it is none."""
    word, number = text.strip(WHITESPACE).lower(), _decimal(text)
    if word in YES_WORDS or number == 1:
        return True
    return False if word in NO_WORDS or number == 0 else None


def _spelled_truth(value: str, column: Column) -> bool | None:
    """Return the boolean that a value is in the spelling of a column; None if it is none."""
    spelling = column.spelling or ()
    exact = [word == value for word in spelling]
    alike = [_same(word.casefold(), value.casefold()) for word in spelling]
    matches = exact if any(exact) else alike
    return matches.index(True) == 1 if any(matches) else None
