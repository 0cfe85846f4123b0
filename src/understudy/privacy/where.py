"""Public conditions on one column, such as "age >= 90": which codes may belong to them."""

import re
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.encode import Encoding
from understudy.encode.numbers import NumberCells
from understudy.errors import BadInput, UnknownColumn

_SENTENCE = re.compile(r"^(?P<column>.+?)\s*(?P<how>>=|<=|==|=|>|<)\s*(?P<value>.+)$")


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


@dataclass(frozen=True)
class Where:
    """A condition on one column, decided before any row was looked at.

    >>> print(Where.parse("age >= 90"))
    age >= 90
    """

    column: str
    comparison: Comparison
    value: str

    @classmethod
    def parse(cls, sentence: str) -> "Where":
        """The condition that a sentence states."""
        match = _SENTENCE.match(sentence.strip())
        if match is None:
            msg = (
                f"{sentence!r} is no condition. Write a column, one of >=, <=, =, and a value: "
                '"age >= 90".'
            )
            raise BadInput(msg)
        value = match["value"].strip().strip("'\"")
        return cls(match["column"].strip(), _SPELLED[match["how"]], value)

    def codes(self, encoding: Encoding) -> tuple[bool, ...]:
        """By code, whether a record that meets the condition may have it; rather too many.

        Codes keep the order of values: values beyond a bound are moved there, and so is the
        condition's own.
        """
        if self.column not in encoding.cells:
            raise UnknownColumn(self.column, tuple(encoding.cells))
        cells = encoding.cells[self.column]
        (code,) = encoding.column_codes(self.column, pa.array([self.value]))
        if code == cells.missing:
            msg = f"{self}: {self.value!r} is no value of {self.column!r}. Correct the condition."
            raise BadInput(msg)
        marked = np.arange(cells.size) == code
        if isinstance(cells, NumberCells):
            marked |= self._beside(cells, int(code))
        elif self.comparison is not Comparison.IS:
            msg = f"{self}: {self.column!r} holds labels, which are compared by = alone."
            raise BadInput(msg)
        return tuple(bool(one) for one in marked)

    def _beside(self, cells: NumberCells, code: int) -> NDArray[np.bool_]:
        """Cells of numbers on the condition's side."""
        lows = np.array([*(low for low, _ in cells.bins), *cells.atoms])
        highs = np.array([*(high for _, high in cells.bins), *cells.atoms])
        # A value beyond the bounds is moved there, unless it is an atom.
        low, high = (float(np.clip(ends[code], *cells.span)) for ends in (lows, highs))
        marked = np.zeros(cells.size, bool)
        if self.comparison is Comparison.AT_LEAST:
            marked[: len(lows)] = highs >= low
        elif self.comparison is Comparison.AT_MOST:
            marked[: len(lows)] = lows <= high
        return marked

    def __str__(self) -> str:
        return f"{self.column} {self.comparison} {self.value}"
