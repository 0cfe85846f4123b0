"""Real, synthetic and test rows, read alike, so that they can be compared."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import BadInput, UnknownColumn

REAL, SYNTHETIC, TEST = "real", "synthetic", "test"
Tell = Callable[[str], None]
"""Told what is being done."""


class Sort(StrEnum):
    """What a column is compared as."""

    NUMBER = "number"
    MOMENT = "moment"
    FLAG = "flag"
    LABEL = "label"

    @property
    def counted(self) -> bool:
        """Whether values are numbers."""
        return self in {Sort.NUMBER, Sort.MOMENT}


@dataclass(frozen=True)
class ComparedColumn:
    """A column that all tables have."""

    name: str
    sort: Sort
    labels: tuple[str | None, ...] = ()
    """By code; None stands for missing."""


@dataclass(frozen=True, eq=False)
class Rows:
    """One table's rows."""

    count: int
    numbers: Mapping[str, NDArray[np.float64]]
    """By column; NaN is missing."""
    codes: Mapping[str, NDArray[np.int32]]
    """By column, places among its labels."""

    def take(self, places: NDArray[np.intp] | NDArray[np.bool_]) -> "Rows":
        """Some of the rows."""
        numbers = {name: values[places] for name, values in self.numbers.items()}
        codes = {name: values[places] for name, values in self.codes.items()}
        kept = np.arange(self.count)[places]
        return Rows(len(kept), numbers, codes)

    def some(self, most: int, rng: np.random.Generator) -> "Rows":
        """A random choice of at most so many rows."""
        return self if self.count <= most else self.take(rng.permutation(self.count)[:most])

    def only(self, names: Collection[str]) -> "Rows":
        """Some of the columns."""
        numbers = {name: values for name, values in self.numbers.items() if name in names}
        codes = {name: values for name, values in self.codes.items() if name in names}
        return Rows(self.count, numbers, codes)


def joined(parts: Sequence[Rows]) -> Rows:
    """The rows of several tables, one after the other."""
    first = parts[0]
    numbers = {name: np.concatenate([p.numbers[name] for p in parts]) for name in first.numbers}
    codes = {name: np.concatenate([p.codes[name] for p in parts]) for name in first.codes}
    return Rows(sum(part.count for part in parts), numbers, codes)


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of one evaluation."""

    columns: tuple[ComparedColumn, ...]
    real: Rows
    synthetic: Rows
    test: Rows | None
    left_out: tuple[str, ...]
    """Columns that are not compared: ids, names, and what nobody wanted."""
    shared_names: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By column left out, how many synthetic and how many test rows have a real row's value."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are compared."""
        return tuple(column.name for column in self.columns)

    def __getitem__(self, name: str) -> ComparedColumn:
        for column in self.columns:
            if column.name == name:
                return column
        if name in self.left_out:
            msg = (
                f"Column {name!r} is left out of the comparison: by the schema, by --without, as "
                "the id of persons, or because its cells are lists. Name another, or let it in."
            )
            raise BadInput(msg)
        raise UnknownColumn(name, self.names)


def row_keys(parts: Sequence[Rows]) -> list[NDArray[np.int64]]:
    """For each table a number per row; rows are equal in every column if the numbers are."""
    rows = joined(parts)
    key = np.zeros(rows.count, np.int64)
    columns: list[NDArray[Any]] = [*rows.numbers.values(), *rows.codes.values()]
    for values in columns:
        place = distinct(values)
        key = distinct(key * (int(place.max(initial=0)) + 1) + place)
    return np.split(key, np.cumsum([part.count for part in parts])[:-1])


def distinct(values: NDArray[Any]) -> NDArray[np.int64]:
    """Where each value stands among the different ones."""
    _, places = np.unique(values, return_inverse=True)
    return places.astype(np.int64)
