"""Opening what a person hands over: files, frames and tables on an engine.

Nothing here looks at rows to decide anything. Names come from a header or a file's metadata,
text is parsed later by the schema, and no type is inferred: one row can never change a column.
"""

import contextlib
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa

from understudy.encode.arrow_ops import plain_array, plain_type, valid_text
from understudy.encode.ibis_ops import IbisOps
from understudy.encode.ops import Value
from understudy.errors import SourceError
from understudy.privacy.engine import (
    EmbeddedEngine,
    OpenedRows,
    check_names,
    check_plain_names,
    embedded_rows,
    internal_names,
)
from understudy.privacy.files import open_path
from understudy.privacy.tolerant import is_text


def open_rows(data: Any, *, text_encoding: str = "utf-8") -> OpenedRows:  # noqa: ANN401 - see below
    """Open a path, a pandas or polars frame, an Arrow table, or an Ibis table."""
    if isinstance(data, (str, Path)):
        return open_path(str(data), text_encoding)
    if isinstance(data, ibis.expr.types.Table):
        names = tuple(data.columns)
        check_names(names)
        try:
            engine = data.get_backend().name
        except ibis.common.exceptions.IbisError:
            msg = "The Ibis table belongs to no engine; take it from a connection, as con.table(…)."
            raise SourceError(msg) from None
        # SQLite holds values of any type in any column.
        ops = IbisOps(loose_types=engine == "sqlite")
        return OpenedRows(data, dict(zip(names, names, strict=True)), ops)
    if _is_a(data, "pandas", "DataFrame"):
        return _open_arrow(_pandas_names(data), _pandas_columns(data))
    # What libraries say of a frame that they cannot convert may quote its cells.
    table = None
    handed: list[str] = []
    with contextlib.suppress(Exception):
        if _is_a(data, "polars", "DataFrame") or _is_a(data, "polars", "LazyFrame"):
            handed = data.collect_schema().names()
    check_plain_names(handed)  # before polars hands its table over: at NUL it ends the process
    with contextlib.suppress(Exception):
        frame = data.collect() if _is_a(data, "polars", "LazyFrame") else data
        table = pa.table(frame) if hasattr(frame, "__arrow_c_stream__") else None
    if table is not None:
        return _open_arrow(tuple(table.column_names), table.columns)
    msg = (
        f"A {type(data).__name__} cannot be read as a table. Give a path to a CSV or Parquet file, "
        "a pandas or polars frame, an Arrow table, or an Ibis table."
    )
    raise SourceError(msg)


def _is_a(data: object, library: str, kind: str) -> bool:
    """Whether the data is of a library's kind; a library nobody imported made nothing."""
    module = sys.modules.get(library)
    return module is not None and isinstance(data, getattr(module, kind))


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
        # Objects and labels hold anything: as text, one odd value cannot change a column's type.
        if str(column.dtype) == "object":
            columns.append(_object_texts(column))
        elif str(column.dtype) == "category":
            columns.append(_label_texts(column))
        else:
            columns.append(_pandas_column(column, name))
    return columns


def _pandas_column(column: Any, name: str) -> Value:  # noqa: ANN401 - pandas ships no types
    with contextlib.suppress(Exception):  # what it says may quote cells
        return pa.Array.from_pandas(column)
    if str(column.dtype).startswith("str"):
        return _object_texts(column.astype(object))  # half characters
    msg = (
        f"Column {name!r} has the pandas type {column.dtype}, which cannot be read. Convert it to "
        "text, numbers, booleans or dates first."
    )
    raise SourceError(msg)


def _label_texts(column: Any) -> pa.Array:  # noqa: ANN401 - pandas ships no types
    labels = _object_texts(column.cat.categories)
    places = column.cat.codes.to_numpy()
    return labels.take(pa.array(places, mask=places < 0))


def _object_texts(column: Any) -> pa.Array:  # noqa: ANN401 - pandas ships no types
    return pa.array([_cell_text(cell) for cell in column], pa.large_string())


def _cell_text(cell: object) -> str | None:
    """An object as text; missing, like anything that has no text."""
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return None
    if isinstance(cell, float) and math.isnan(cell):
        return None
    with contextlib.suppress(Exception):  # objects may raise anything when asked for text
        text = str(cell)
        return text if is_text(text) else None
    return None
