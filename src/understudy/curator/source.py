"""The rows of a table, for internal use."""

import contextlib
import sys
from typing import Any

import pyarrow as pa

from understudy.errors import SourceError
from understudy.privacy.engine import ReadError, check_names
from understudy.privacy.frames import frame_names, typed_table
from understudy.privacy.source import open_rows

_ROWS_PER_BATCH = 2**17


def read_rows(
    data: Any,  # noqa: ANN401 - see open_rows
    *,
    text_encoding: str = "utf-8",
    multiline: bool = False,
) -> pa.Table:
    """All rows, read as the private table reads them; cells of a CSV file are text.

    Columns of a pandas frame have their types here.
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        check_names(frame_names(data))
        data = typed_table(data)
    rows = open_rows(data, text_encoding=text_encoding, multiline=multiline)
    query = rows.table.select(list(rows.columns.values()))
    if rows.engine is None or rows.attach is None:
        return query.to_pyarrow().rename_columns(list(rows.columns))
    with contextlib.suppress(ReadError):
        rows.attach(query.columns)
        batches = list(rows.engine.batches(query, _ROWS_PER_BATCH))
        schema = query.schema().to_pyarrow() if not batches else batches[0].schema
        return pa.Table.from_batches(batches, schema).rename_columns(list(rows.columns))
    msg = "The table cannot be read to its end. Check that the file is whole."
    raise SourceError(msg)
