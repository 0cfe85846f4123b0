"""Whose rows are whose, where a person has several."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.curator.stored import StoredColumn
from understudy.curator.tables import Sort
from understudy.errors import UnknownColumn

Persons = NDArray[np.int64]
"""By row, a number that its person's rows share; below 0, nobody's."""


def persons_of(tables: Sequence[pa.Table], column: str) -> list[Persons]:
    """For each table, numbers of persons. The first table must have the column."""
    if column not in tables[0].column_names:
        raise UnknownColumn(column, tables[0].column_names)
    numbers: dict[str, int] = {}
    found: list[Persons] = []
    for table in tables:
        # Below 0, and another number for each, whichever table it is in.
        nobody = -1 - sum(map(len, found)) - np.arange(table.num_rows)
        if column not in table.column_names:
            found.append(nobody)
            continue
        stored = StoredColumn.of(column, table[column])
        of_values = [
            -1 if text is None else numbers.setdefault(text, len(numbers))
            for text in stored.texts(Sort.LABEL)
        ]
        persons = np.array(of_values, np.int64).take(stored.places)
        found.append(np.where(persons < 0, nobody, persons))
    return found
