"""Rows of a table as arrays, one for each column: numbers, or text."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.schema import Schema

Rows = Mapping[str, NDArray[Any]]


def count_of(rows: Rows) -> int:
    """How many there are."""
    return len(next(iter(rows.values())))


def taken(rows: Rows, places: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Some of them, by place or by a mark for each."""
    return {name: column[places] for name, column in rows.items()}


def from_arrow(table: pa.Table, schema: Schema) -> dict[str, NDArray[Any]]:
    """The schema's columns of a table; numbers may be written as text there."""
    found: dict[str, NDArray[Any]] = {}
    for column in schema:
        cells = table[column.name].to_pylist()
        if column.kind.numeric:
            found[column.name] = np.array(cells, np.float64)
        else:
            found[column.name] = np.array([str(cell) for cell in cells], object)
    return found


def to_arrow(rows: Rows) -> pa.Table:
    """As a table that a ledger opens."""
    return pa.table(
        {
            name: pa.array(column, pa.string() if column.dtype == object else None)
            for name, column in rows.items()
        }
    )
