"""Public conditions on one column, such as "age >= 90": which codes may belong to them."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import WHITESPACE, Column, Kind, Source
from understudy.encode import Encoding
from understudy.encode.labels import NO_WORDS, YES_WORDS, LabelCells
from understudy.encode.numbers import NumberCells
from understudy.encode.ops import NUMBER, Storage
from understudy.errors import BadInput, UnknownColumn, listed

_LAST_DIGITS = 1e-9
_HALF_PRECISION = 2**-10
_SENTENCE = re.compile(
    r"^(?P<column>[^<>=].*?)\s*(?P<how>>=|<=|==|=|>|<)(?![<>=])\s*(?P<value>.+)$", re.DOTALL
)
_QUOTES = "'\""


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
        if self.column not in encoding.cells:
            raise UnknownColumn(self.column, tuple(encoding.cells))
        cells = encoding.cells[self.column]
        if isinstance(cells, NumberCells):
            marked = self._numbers(cells, storage[self.column])
        elif isinstance(cells, LabelCells):
            marked = self._labels(cells, storage[self.column], encoding)
        else:  # of an open column nothing is known yet
            return (True,) * cells.size
        marked[[*cells.fallback]] = True
        return tuple(bool(one) for one in marked)

    def check(self, encoding: Encoding, storage: Mapping[str, Storage]) -> None:
        """Refuse, by public facts, a condition that the schema cannot decide."""
        self.codes(encoding, storage)

    def _numbers(self, cells: NumberCells, storage: Storage) -> NDArray[np.bool_]:
        """Cells of numbers and dates that meet the condition."""
        marked = np.zeros(cells.size, bool)
        numbers = _read(self.value, cells, storage)
        if not numbers:
            self._refuse_unless_found(cells.column)
            return ~marked
        for number in numbers:
            code = cells.cell_of(number)
            marked[code] = True
            if self.comparison is not Comparison.IS:
                marked |= self._beside(cells, code, number)
        return marked

    def _labels(self, cells: LabelCells, storage: Storage, encoding: Encoding) -> NDArray[np.bool_]:
        """Cells of labels that equal the value: as text, as a number, or as a boolean."""
        marked = np.zeros(cells.size, bool)
        if self.comparison is not Comparison.IS:
            why = f"{self}: {self.column!r} holds labels, which are compared by = alone."
            self._refuse_unless_found(cells.column, why)
            return ~marked
        value, number, truth = (
            self.value.strip(WHITESPACE),
            _decimal(self.value),
            _truth(self.value),
        )
        if cells.column.kind is Kind.BOOLEAN:
            if truth is None:
                self._refuse_unless_found(cells.column)
                return ~marked
            marked[int(truth)] = True
            return marked
        for code, label in enumerate(map(str, cells.labels)):
            marked[code] = value == label or (number is not None and number == _decimal(label))
        if storage is Storage.BOOLEAN and truth is not None:
            marked[encoding.column_codes(self.column, pa.array([truth]))] = True
        if not marked.any():
            alike = [one for one in map(str, cells.labels) if one.casefold() == value.casefold()]
            if alike or cells.other is None:
                hint = f" The schema lists {listed(map(repr, alike))}." if alike else ""
                self._refuse_unless_found(cells.column, self._no_value() + hint)
            marked[[code for code, one in enumerate(map(str, cells.labels)) if one in alike]] = True
        return marked

    def _refuse_unless_found(self, column: Column, why: str | None = None) -> None:
        """Refuse, unless the column was inferred: by then it is too late."""
        if column.source is not Source.BOUGHT:
            raise BadInput(why or self._no_value())

    def _no_value(self) -> str:
        return f"{self}: {self.value!r} is no value of {self.column!r}. Correct the condition."

    def _beside(self, cells: NumberCells, code: int, number: float) -> NDArray[np.bool_]:
        """Cells of numbers on the condition's side."""
        marked = np.zeros(cells.size, bool)
        if self.comparison is Comparison.IS:
            return marked
        up = self.comparison is Comparison.AT_LEAST
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

    def __str__(self) -> str:
        bare = self.value and self.value == self.value.strip() and self.value[0] not in _QUOTES
        return f"{self.column} {self.comparison} " + (self.value if bare else f'"{self.value}"')


def _read(text: str, cells: NumberCells, storage: Storage) -> list[float]:
    """Return what stored values that a person takes for this one are read as; none if unreadable.

    Dates are written in the column's format or as ISO 8601. Of a fraction such as 5.2, a column of
    single or half precision stores the nearest one that it has.
    """
    column = cells.column
    found = [cells.number_of(text)]
    if column.kind in {Kind.DATE, Kind.DATETIME}:
        if column.format is not None:
            found.append(NumberCells(replace(column, format=None)).number_of(text))
    elif storage is Storage.BOOLEAN:
        truth = _truth(text)
        found.append(None if truth is None else float(truth))
    numbers = [number for number in found if number is not None]
    if column.kind is Kind.REAL:
        exact = [number for number in numbers if not number.is_integer()]
        with np.errstate(over="ignore"):
            near = [float(kind(one)) for one in exact for kind in (np.float32, np.float16)]
        numbers += [one for one in near if math.isclose(one, exact[0], rel_tol=_HALF_PRECISION)]
    return numbers


def _decimal(text: str) -> Decimal | None:
    """Return the number that a text states; None if it is none."""
    return Decimal(text.strip(WHITESPACE)) if re.match(NUMBER, text) else None


def _truth(text: str) -> bool | None:
    """Return the boolean that a text states; None if it is none."""
    word, number = text.strip(WHITESPACE).lower(), _decimal(text)
    if word in YES_WORDS or number == 1:
        return True
    return False if word in NO_WORDS or number == 0 else None
