"""DuckDB in this process, and what it needs to read and encode one table of rows."""

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import duckdb
import ibis
import pyarrow as pa

from understudy.column import WHITESPACE, is_plain_text
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
    "SET arrow_large_buffer_size = true",  # or texts of 2 GiB stop a batch
)


class ReadError(Exception):
    """The engine stopped at something; what it says of it quotes rows, and is not passed on."""


@contextlib.contextmanager
def _told_nothing() -> Iterator[None]:
    """Turn whatever the engine raises into a `ReadError` without a message or a context."""
    stopped = interrupted = False
    try:
        yield
    except (duckdb.Error, OSError, pa.ArrowException):
        # While rows are under way, errors come dressed as Arrow's or the system's.
        stopped = True
    except RuntimeError as error:
        # So the engine says that somebody pressed Ctrl-C.
        interrupted = "interrupt" in str(error).lower()
        stopped = True
    if interrupted:
        raise KeyboardInterrupt
    if stopped:
        raise ReadError


class EmbeddedEngine:
    """DuckDB in this process, holding one table of rows."""

    def __init__(self) -> None:
        self._enums: dict[tuple[str, ...], Callable[[Value], Value]] = {}
        self._definitions: list[str] = list(_SETTINGS)
        self.renew()

    def renew(self) -> None:
        """Start anew with no rows: an engine that failed once may refuse everything after."""
        self._backend = ibis.duckdb.connect()
        for statement in self._definitions:
            self.run(statement)

    def run(self, sql: str) -> None:
        """Run a statement that returns nothing."""
        with _told_nothing():
            self._backend.con.execute(sql)

    def _define(self, sql: str) -> None:
        self._definitions.append(sql)
        self.run(sql)

    def attach(self, data: Value) -> None:
        """Make Arrow data the rows."""
        self._detach()
        with _told_nothing():
            self._backend.con.register(_VIEW, data)

    def _detach(self) -> None:
        self._backend.con.unregister(_VIEW)
        self.run(f"DROP VIEW IF EXISTS {_VIEW}")

    def rows(self) -> Value:
        """The rows as an Ibis table."""
        with _told_nothing():
            return self._backend.table(_VIEW)

    def held(self, name: str, data: pa.Table) -> Value:
        """An Arrow table beside the rows, as an Ibis table."""
        with _told_nothing():
            self._backend.con.register(name, data)
            return self._backend.table(name)

    def let_go(self, name: str) -> None:
        """Forget a table that was held."""
        self._backend.con.unregister(name)

    def batches(self, query: Value, rows: int) -> Iterator[pa.RecordBatch]:
        """Run a query and hand its result over in batches; stop with `ReadError`."""
        sql = self._backend.compile(query)
        with _told_nothing():
            yield from self._backend.con.sql(sql).to_arrow_reader(rows)

    def position(self, text: Value, labels: tuple[str, ...], otherwise: Value) -> Value:
        """Where the stripped text stands among the labels: a cast to an enum is one look-up."""
        if labels not in self._enums:
            self._enums[labels] = self._enum(labels)
        return ibis.coalesce(self._enums[labels](text), otherwise)

    def _enum(self, labels: tuple[str, ...]) -> Callable[[Value], Value]:
        name = f"position_{len(self._enums)}"
        self._define(f"CREATE TYPE {name}_label AS ENUM ({', '.join(map(quoted, labels))})")
        # Most text needs no stripping: it is looked up as it stands, and stripped if not found.
        code = f"CAST(enum_code(TRY_CAST({{}} AS {name}_label)) AS INTEGER)"
        # Spelled as two steps: DuckDB would compute one that occurs elsewhere for every row.
        stripped = f"rtrim(ltrim(x, {quoted(WHITESPACE)}), {quoted(WHITESPACE)})"
        self._define(
            f"CREATE MACRO {name}(x) AS coalesce({code.format('x')}, {code.format(stripped)})"
        )
        position: Callable[[Value], Value] = ibis.udf.scalar.builtin(
            lambda text: text, name=name, signature=(("string",), "int32")
        )
        return position


Attach: TypeAlias = Callable[[Collection[str]], None]
"""Makes the rows those of our engine, with at least these of its columns."""


@dataclass(frozen=True)
class OpenedRows:
    """A table of rows that an engine can read, under the names its owner gave the columns."""

    table: Value = field(repr=False)  # an interactive Ibis shows rows
    """The rows as an Ibis table."""
    columns: dict[str, str]
    """By public name, the engine's name of the column."""
    ops: IbisOps
    engine: EmbeddedEngine | None = None
    """The engine, where it is ours and rows may be read into memory as codes."""
    attach: Attach | None = None
    """Attaches the rows to our engine; anew for each pass, for a file is read as it streams by."""
    malformed: Callable[[], int] | None = None
    """How many records of the last pass were malformed, where a source can have such."""
    reading: Mapping[str, str | bool] = field(default_factory=dict)
    """How the source is read: public facts."""


def embedded_rows(  # noqa: PLR0913, PLR0917 - the parts of one value
    engine: EmbeddedEngine,
    columns: dict[str, str],
    schema: pa.Schema,
    attach: Attach,
    reading: Mapping[str, str | bool],
    malformed: Callable[[], int] | None = None,
) -> OpenedRows:
    """Rows for our own engine, whose columns have the types of the schema."""
    with contextlib.suppress(ReadError):
        engine.attach(schema.empty_table())
        ops = IbisOps(engine.position, try_cast=True)
        return OpenedRows(engine.rows(), columns, ops, engine, attach, malformed, reading)
    msg = (
        "The table has a column of a type that cannot be read. Convert unusual types to text, "
        "numbers, booleans or dates first."
    )
    raise SourceError(msg)


def internal_names(names: Sequence[str]) -> dict[str, str]:
    """Names for the engine, which does not tell upper from lower case."""
    return {name: f"c{place}" for place, name in enumerate(names)}


MOST_COLUMNS = 2**11
"""Of a table: what is done for every pair of columns grows with their square."""


def check_names(names: Sequence[str]) -> None:
    """Refuse tables without columns, with too many, or with some that cannot be told apart."""
    if not names:
        msg = "The table has no columns. A CSV file needs a header line with their names."
        raise SourceError(msg)
    if len(names) > MOST_COLUMNS:
        msg = (
            f"The table has {len(names):,} columns; up to {MOST_COLUMNS:,} can be released "
            "together. Choose those that its readers need."
        )
        raise SourceError(msg)
    check_plain_names(names)
    twice = repeated(names)
    if twice:
        msg = f"Column names occur twice: {listed(twice)}. Rename them so that each is unique."
        raise SourceError(msg)


def check_plain_names(names: Sequence[str]) -> None:
    """Refuse names that not every engine can hold."""
    if not all(map(is_plain_text, names)):
        msg = "A column name holds NUL or half a character. Rename the column."
        raise SourceError(msg)


def quoted(text: str) -> str:
    """A string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"
