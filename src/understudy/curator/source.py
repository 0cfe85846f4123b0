"""The rows of a table, for internal use."""

import contextlib
from typing import Any

import pyarrow as pa

from understudy.errors import SourceError
from understudy.privacy.engine import ReadError
from understudy.privacy.source import open_rows

_ROWS_PER_BATCH = 2**17


def read_rows(data: Any, *, text_encoding: str = "utf-8") -> pa.Table:  # noqa: ANN401 - see open_rows
    """All rows, read as the private table reads them; cells of a CSV file are text."""
    rows = open_rows(data, text_encoding=text_encoding)
    query = rows.table.select(list(rows.columns.values()))
    if rows.engine is None:
        return query.to_pyarrow().rename_columns(list(rows.columns))
    for attach in rows.readers:
        with contextlib.suppress(ReadError):
            attach()
            batches = list(rows.engine.batches(query, _ROWS_PER_BATCH))
            schema = query.schema().to_pyarrow() if not batches else batches[0].schema
            return pa.Table.from_batches(batches, schema).rename_columns(list(rows.columns))
    msg = "The table cannot be read to its end. Check that the file is whole."
    raise SourceError(msg)
