"""DuckDB in this process, and what it needs to read and encode one table of rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import duckdb
import ibis
import pyarrow as pa

from understudy.column import WHITESPACE
from understudy.domain import repeated
from understudy.encode.ibis_ops import IbisOps
from understudy.encode.ops import Value
from understudy.errors import SourceError, listed

_VIEW = "rows"
_SETTINGS = (
    "SET temp_directory = ''",  # rows are never spilled to disk
    "SET preserve_insertion_order = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_progress_bar = false",
    "SET TimeZone = 'UTC'",
)


ReadError = duckdb.Error
"""What the embedded engine raises on a row that it cannot read; its message quotes the row."""


class EmbeddedEngine:
    """DuckDB in this process, holding one table of rows."""

    def __init__(self) -> None:
        self._backend = ibis.duckdb.connect()
        self._enums: dict[tuple[str, ...], Callable[[Value], Value]] = {}
        for setting in _SETTINGS:
            self.run(setting)

    def run(self, sql: str) -> None:
        """Run a statement that returns nothing."""
        self._backend.con.execute(sql)

    def attach(self, data: Value) -> None:
        """Make Arrow data the rows."""
        self._detach()
        self._backend.con.register(_VIEW, data)

    def attach_file(self, reader: str, columns: Sequence[str]) -> None:
        """Make what a table function of the engine reads the rows."""
        self._detach()
        names = ", ".join(columns)
        self.run(f"CREATE VIEW {_VIEW}({names}) AS SELECT * FROM {reader}")  # noqa: S608 - ours

    def _detach(self) -> None:
        self._backend.con.unregister(_VIEW)
        self.run(f"DROP VIEW IF EXISTS {_VIEW}")

    def rows(self) -> Value:
        """The rows as an Ibis table."""
        return self._backend.table(_VIEW)

    def batches(self, query: Value, rows: int) -> pa.RecordBatchReader:
        """Run a query and hand its result over in batches."""
        return self._backend.con.sql(self._backend.compile(query)).to_arrow_reader(rows)

    def position(self, text: Value, labels: tuple[str, ...], otherwise: Value) -> Value:
        """Where the stripped text stands among the labels: a cast to an enum is one look-up."""
        if labels not in self._enums:
            self._enums[labels] = self._enum(labels)
        return ibis.coalesce(self._enums[labels](text), otherwise)

    def _enum(self, labels: tuple[str, ...]) -> Callable[[Value], Value]:
        name = f"position_{len(self._enums)}"
        self.run(f"CREATE TYPE {name}_label AS ENUM ({', '.join(map(quoted, labels))})")
        # Most text needs no stripping: it is looked up as it stands, and stripped if not found.
        code = f"CAST(enum_code(TRY_CAST({{}} AS {name}_label)) AS INTEGER)"
        stripped = f"trim(x, {quoted(WHITESPACE)})"
        self.run(f"CREATE MACRO {name}(x) AS coalesce({code.format('x')}, {code.format(stripped)})")
        position: Callable[[Value], Value] = ibis.udf.scalar.builtin(
            lambda text: text, name=name, signature=(("string",), "int32")
        )
        return position


@dataclass(frozen=True)
class OpenedRows:
    """A table of rows that an engine can read, under the names its owner gave the columns."""

    table: Value
    """The rows as an Ibis table."""
    columns: dict[str, str]
    """By public name, the engine's name of the column."""
    ops: IbisOps
    engine: EmbeddedEngine | None = None
    """The engine, where it is ours and rows may be read into memory as codes."""
    readers: tuple[Callable[[], None], ...] = ()
    """Each attaches the rows to our engine anew; the next is for rows that one stops at."""


def embedded_rows(
    engine: EmbeddedEngine,
    columns: dict[str, str],
    outline: Callable[[], None],
    readers: tuple[Callable[[], None], ...],
) -> OpenedRows:
    """Rows for our own engine; `outline` attaches something with their columns and types."""
    try:
        outline()
        table = engine.rows()
    except ReadError:
        msg = (
            "The table has a column of a type that cannot be read. Convert unusual types to text, "
            "numbers, booleans or dates first."
        )
        raise SourceError(msg) from None
    return OpenedRows(table, columns, IbisOps(engine.position, try_cast=True), engine, readers)


def internal_names(names: Sequence[str]) -> dict[str, str]:
    """Names for the engine, which does not tell upper from lower case."""
    return {name: f"c{place}" for place, name in enumerate(names)}


def check_names(names: Sequence[str]) -> None:
    """Refuse tables whose columns cannot be told apart."""
    if not names:
        msg = "The table has no columns. A CSV file needs a header line with their names."
        raise SourceError(msg)
    twice = repeated(names)
    if twice:
        msg = f"Column names occur twice: {listed(twice)}. Rename them so that each is unique."
        raise SourceError(msg)


def quoted(text: str) -> str:
    """A string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"
