"""Opening what a person hands over: files, frames and tables on an engine.

Nothing here looks at rows to decide anything. Names come from a header or a file's metadata,
text is parsed later by the schema, and no type is inferred: one row can never change a column.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa

from understudy.encode.arrow_ops import plain_array, plain_type
from understudy.encode.ibis_ops import IbisOps
from understudy.encode.ops import Value
from understudy.errors import SourceError
from understudy.privacy.engine import (
    EmbeddedEngine,
    OpenedRows,
    check_names,
    embedded_rows,
    internal_names,
)
from understudy.privacy.files import open_path
from understudy.privacy.tolerant import valid_text


def open_rows(data: Any, *, text_encoding: str = "utf-8") -> OpenedRows:  # noqa: ANN401 - see below
    """Open a path, a pandas or polars frame, an Arrow table, or an Ibis table."""
    if isinstance(data, (str, Path)):
        return open_path(str(data), text_encoding)
    if isinstance(data, ibis.expr.types.Table):
        names = tuple(data.columns)
        check_names(names)
        return OpenedRows(data, dict(zip(names, names, strict=True)), IbisOps())
    if type(data).__module__.partition(".")[0] == "pandas":
        return _open_arrow(_pandas_names(data), _pandas_columns(data))
    if hasattr(data, "collect") and not hasattr(data, "__arrow_c_stream__"):
        data = data.collect()  # a polars LazyFrame
    if hasattr(data, "__arrow_c_stream__"):
        table = pa.table(data)
        return _open_arrow(tuple(table.column_names), table.columns)
    msg = (
        f"A {type(data).__name__} is not a table. Give a path to a CSV or Parquet file, a pandas "
        "or polars frame, an Arrow table, or an Ibis table."
    )
    raise SourceError(msg)


def _open_arrow(names: Sequence[str], values: Sequence[Value]) -> OpenedRows:
    check_names(names)
    columns = internal_names(names)
    table = pa.table([_plain(value) for value in values], names=list(columns.values()))
    engine = EmbeddedEngine()

    def attach() -> None:
        engine.attach(table)

    return embedded_rows(engine, columns, attach, (attach,))


def _plain(value: Value) -> Value:
    """A column that the engine can read, with null in place of text that is not UTF-8."""
    chunks = value.chunks if isinstance(value, pa.ChunkedArray) else [value]
    plain = [valid_text(plain_array(chunk)) for chunk in chunks]
    return pa.chunked_array(plain, plain_type(value.type))


def _pandas_names(frame: Any) -> tuple[str, ...]:  # noqa: ANN401 - pandas ships no types
    return tuple(str(name) for name in frame.columns)


def _pandas_columns(frame: Any) -> list[Value]:  # noqa: ANN401 - pandas ships no types
    columns = []
    for place, name in enumerate(_pandas_names(frame)):
        column = frame.iloc[:, place]
        if str(column.dtype) == "object":
            # Objects hold anything: as text, one odd value cannot change the column's type.
            columns.append(pa.array([_cell_text(cell) for cell in column], pa.large_string()))
            continue
        try:
            columns.append(pa.Array.from_pandas(column))
        except (pa.ArrowException, TypeError, ValueError):
            msg = f"Column {name!r} has the pandas type {column.dtype}, which Arrow cannot hold."
            raise SourceError(msg) from None
    return columns


def _cell_text(cell: object) -> str | None:
    """An object as text; missing, like anything that has no text."""
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"} or cell != cell:  # noqa: PLR0124
        return None
    text = str(cell)
    return text if text.isascii() or _encodable(text) else None


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
