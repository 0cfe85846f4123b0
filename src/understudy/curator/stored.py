"""One column as a table stores it, and as what it can be read."""

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.column import Column
from understudy.curator.tables import Sort
from understudy.encode.arrow_ops import ArrowOps, arrow_storage, plain_array, valid_text
from understudy.encode.labels import NO_WORDS, YES_WORDS
from understudy.encode.moments import MomentPattern, is_moment, seconds_since_1970
from understudy.encode.ops import Storage
from understudy.encode.written_numbers import read_number

LARGEST = 1e100
"""Numbers beyond are moved here, so that squares and their sums stay within a double."""
FLAGS = {*NO_WORDS, *YES_WORDS}
_MISSING = {"", "nan"}


@dataclass(frozen=True, eq=False)
class StoredColumn:
    """One column of one table: its distinct values, and where they stand."""

    storage: Storage
    values: pa.Array
    places: NDArray[np.intp]

    @classmethod
    def of(cls, name: str, column: pa.ChunkedArray) -> "StoredColumn":
        """The column of a table; refused if its cells are lists, bytes or the like."""
        cells = plain_array(column.combine_chunks())
        storage = arrow_storage(name, cells.type)
        coded = pc.dictionary_encode(valid_text(cells), null_encoding="encode")
        return cls(storage, coded.dictionary, coded.indices.to_numpy().astype(np.intp))

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Which of the values are there."""
        if self.storage is Storage.TEXT:
            return ArrowOps().filled(self.values)
        if self.storage is Storage.FLOAT:
            return ~np.isnan(ArrowOps().number(self.values, self.storage))
        return np.asarray(pc.is_valid(self.values))

    @property
    def sort(self) -> Sort | None:
        """What the values look like; nothing, if there are none."""
        if not self.filled.any():
            return None
        if self.storage is Storage.BOOLEAN:
            return Sort.FLAG
        if self.storage in {Storage.INTEGER, Storage.FLOAT}:
            return Sort.NUMBER
        if self.storage is not Storage.TEXT:
            return Sort.MOMENT
        for sort in (Sort.NUMBER, Sort.MOMENT):
            if not np.isnan(self._numbers(sort, None)[self.filled]).any():
                return sort
        return Sort.FLAG if self.words <= FLAGS else Sort.LABEL

    @property
    def words(self) -> set[str]:
        """The values as text, in small letters."""
        return {text.lower() for text in self.texts(Sort.LABEL) if text is not None}

    def numbers(self, sort: Sort, fact: Column | None) -> NDArray[np.float64]:
        """A number per row."""
        numbers = self._numbers(sort, fact)
        return np.clip(numbers, -LARGEST, LARGEST).take(self.places)

    def texts(
        self, sort: Sort, *, whole: bool = False, spelling: tuple[str, str] | None = None
    ) -> list[str | None]:
        """The distinct values as text, whole numbers without a point; None if missing.

        Args:
            sort: What the column is compared as.
            whole: Read text as numbers, where a schema says that they stand for labels.
            spelling: How a schema says that no and yes are written.
        """
        if self.storage is Storage.FLOAT:
            values = ArrowOps().number(self.values, self.storage).tolist()
        elif self.storage in {Storage.DATE, Storage.TIMESTAMP}:
            values = pc.cast(self.values, pa.string()).to_pylist()
        else:
            values = ArrowOps().text(self.values, self.storage).to_pylist()
        if self.storage is Storage.FLOAT or whole:
            numbers = ArrowOps().number(self.values, self.storage).tolist()
            values = [
                value if math.isnan(number) or number % 1 else int(number)
                for value, number in zip(values, numbers, strict=True)
            ]
        texts = ["" if value is None else str(value).strip() for value in values]
        known = [flag(text, spelling) if sort is Sort.FLAG else text for text in texts]
        return [None if text in _MISSING else text for text in known]

    def _numbers(self, sort: Sort, fact: Column | None) -> NDArray[np.float64]:
        ops = ArrowOps()
        if sort is Sort.NUMBER:
            if fact is None:
                return ops.number(self.values, self.storage)
            return np.asarray(read_number(self.values, self.storage, fact, ops))
        if self.storage is not Storage.TEXT:
            return ops.moment(self.values, self.storage)
        pattern = MomentPattern(None if fact is None else fact.format)
        dated = ops.matching(self.values, pattern.regex)
        parts = ops.moment_parts(dated, pattern)
        exists = np.asarray(pc.is_valid(dated)) & np.asarray(is_moment(parts, ops))
        return np.where(exists, seconds_since_1970(parts, ops), np.nan)


def flag(text: str, spelling: tuple[str, str] | None = None) -> str:
    """A truth value, however it is written, as true or false."""
    word = text.lower()
    for one, meaning in zip(spelling or (), ("false", "true"), strict=False):
        if word == one.lower():
            return meaning
    return "true" if word in YES_WORDS else "false" if word in NO_WORDS else text
