"""Opening what a person hands over: files, frames and tables on an engine.

Nothing here looks at rows to decide anything. Names come from a header or a file's metadata,
text is parsed later by the schema, and no type is inferred: one row can never change a column.
"""

import contextlib
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa

from understudy.column import Column
from understudy.encode.arrow_ops import plain_type, readable
from understudy.encode.ibis_ops import IbisOps, exact_position
from understudy.encode.ops import Value
from understudy.errors import SourceError
from understudy.privacy.catalogue import check_catalogue, has_odd_collations
from understudy.privacy.engine import (
    EmbeddedEngine,
    OpenedRows,
    check_names,
    check_plain_names,
    embedded_rows,
    internal_names,
)
from understudy.privacy.files import open_path
from understudy.privacy.frames import frame_names, text_columns


def open_rows(
    data: Any,  # noqa: ANN401 - see below
    *,
    text_encoding: str = "utf-8",
    multiline: bool = False,
    facts: Mapping[str, Column] | None = None,
    ids: Collection[str] = (),
) -> OpenedRows:
    """Open a path, a pandas or polars frame, an Arrow table, or an Ibis table.

    `facts` are what is declared about columns, and `ids` name those that identify persons.
    """
    if isinstance(data, (str, Path)):
        return open_path(str(data), text_encoding, multiline=multiline)
    if multiline:
        msg = "Only a CSV file can be multiline. Leave the option out."
        raise SourceError(msg)
    if isinstance(data, ibis.expr.types.Table):
        names = tuple(data.columns)
        check_names(names)
        try:
            backend = data.get_backend()
        except ibis.common.exceptions.IbisError:
            msg = "The Ibis table belongs to no engine; take it from a connection, as con.table(…)."
            raise SourceError(msg) from None
        engine = backend.name
        check_catalogue(data.op(), backend)
        # SQLite holds values of any type in any column.
        ops = IbisOps(
            exact_position(engine),
            loose_types=engine == "sqlite",
            collated=engine == "postgres" and has_odd_collations(backend.con),
        )
        columns = dict(zip(names, names, strict=True))
        return OpenedRows(data, columns, ops, reading={"source": str(engine)})
    if _is_a(data, "pandas", "DataFrame"):
        names = frame_names(data)
        check_names(names)
        return _open_arrow(names, text_columns(data, facts or {}, ids), "pandas")
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
        return _open_arrow(tuple(table.column_names), table.columns, "arrow")
    msg = (
        f"A {type(data).__name__} cannot be read as a table. Give a path to a CSV or Parquet file, "
        "a pandas or polars frame, an Arrow table, or an Ibis table."
    )
    raise SourceError(msg)


def _is_a(data: object, library: str, kind: str) -> bool:
    """Whether the data is of a library's kind; a library nobody imported made nothing."""
    module = sys.modules.get(library)
    return module is not None and isinstance(data, getattr(module, kind))


def _open_arrow(names: Sequence[str], values: Sequence[Value], source: str) -> OpenedRows:
    check_names(names)
    columns = internal_names(names)
    table = pa.table([_plain(value) for value in values], names=list(columns.values()))
    engine = EmbeddedEngine()

    def attach(needed: Collection[str]) -> None:
        engine.attach(table.select([name for name in table.column_names if name in needed]))

    rows = embedded_rows(engine, columns, table.schema, attach, {"source": source})
    attach(table.column_names)  # it lies in memory, and needs no further pass
    return rows


def _plain(value: Value) -> Value:
    """A column that the engine can read, with null in place of text that is not UTF-8."""
    chunks = value.chunks if isinstance(value, pa.ChunkedArray) else [value]
    plain = [readable(chunk) for chunk in chunks]
    return pa.chunked_array(plain, plain_type(value.type))
