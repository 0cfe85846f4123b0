"""Whose rows are whose, where a person has several."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.errors import UnknownColumn

Persons = NDArray[np.int64]
"""By row, a number that its person's rows share."""


def persons_of(tables: Sequence[pa.Table], column: str) -> list[Persons]:
    """For each table, numbers of persons; a row without an id is a person of its own.

    The first table must have the column.
    """
    ids = []
    if column not in tables[0].column_names:
        raise UnknownColumn(column, tables[0].column_names)
    for table in tables:
        if column in table.column_names:
            ids.append(pc.cast(table[column], pa.string()).combine_chunks())
        else:
            ids.append(pa.nulls(table.num_rows, pa.string()))
    together = pc.dictionary_encode(pa.concat_arrays(ids)).indices
    nobody = np.asarray(pc.is_null(together))
    numbers = np.asarray(pc.fill_null(together, 0)).astype(np.int64)
    numbers[nobody] = -1 - np.arange(nobody.sum())
    return np.split(numbers, np.cumsum([table.num_rows for table in tables])[:-1])
