"""Public conditions on one column, such as "age >= 90": which codes may belong to them."""

import math
import re
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import Kind, Source
from understudy.encode import Encoding
from understudy.encode.encoding import Cells
from understudy.encode.labels import LabelCells
from understudy.encode.numbers import NumberCells
from understudy.encode.shapes import ShapeCells
from understudy.errors import BadInput, UnknownColumn

_LAST_DIGITS = 1e-9
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

    def codes(self, encoding: Encoding) -> tuple[bool, ...]:
        """By code, whether a record that meets the condition may have it; rather too many.

        Codes of bins keep the order of values; a value beyond the bounds is moved there, unless
        it is an atom. What is no finite number is read as missing, and meets no condition. Where
        a column turned out to hold what cannot be compared, all codes may.
        """
        if self.column not in encoding.cells:
            raise UnknownColumn(self.column, tuple(encoding.cells))
        cells = encoding.cells[self.column]
        (code,) = encoding.column_codes(self.column, pa.array([self.value]))
        number = cells.number_of(self.value) if isinstance(cells, NumberCells) else None
        marked = np.arange(cells.size) == code
        # Too late to refuse what was not known when the condition was stated.
        found = cells.column.source is Source.BOUGHT
        if isinstance(cells, NumberCells):
            if number is None and not found:
                raise BadInput(self._no_value())
            marked |= True if number is None else self._beside(cells, int(code), number)
        elif self.comparison is not Comparison.IS:
            if not found:
                msg = f"{self}: {self.column!r} holds labels, which are compared by = alone."
                raise BadInput(msg)
            marked |= True
        elif not found and not self._readable(cells):
            raise BadInput(self._no_value())
        return tuple(bool(one) for one in marked)

    def _readable(self, cells: Cells) -> bool:
        """Whether a label is listed; or is none that only looks like one, where others may be."""
        if not isinstance(cells, LabelCells):
            return True
        listed = {str(label) for label in cells.labels}
        alike = {label.casefold() for label in listed}
        if cells.column.kind is Kind.BOOLEAN:
            return self.value.casefold() in alike
        strange = cells.other is not None and self.value.casefold() not in alike
        return self.value in listed or strange

    def _no_value(self) -> str:
        return f"{self}: {self.value!r} is no value of {self.column!r}. Correct the condition."

    def check(self, encoding: Encoding) -> None:
        """Refuse what can be refused already; of an open column only its name is known."""
        if not isinstance(encoding.cells.get(self.column), ShapeCells):
            self.codes(encoding)

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
