"""What the engine of an Ibis table says of it, as far as no row may decide that."""

import contextlib
import json
import re
from typing import Any

import duckdb
from ibis.expr import operations as ops

from understudy.errors import SourceError, listed

_INFERRING = re.compile(r"(READ|SNIFF)_(CSV|JSON|NDJSON|XLSX)|PANDAS_SCAN")
"""Operators in a plan of DuckDB that take the types of columns from rows."""


_ENGINES = ("duckdb", "postgres", "pyspark", "sqlite")
"""Others may compare text by a collation that takes two persons for one, or stop at a cell."""


def check_catalogue(asked: Any, backend: Any) -> None:  # noqa: ANN401 - Ibis's own, as below
    """Refuse what a single row could decide: types that are read off rows, and encodings."""
    if backend.name not in _ENGINES:
        msg = (
            f"Tables on {backend.name} are not read: whether one record changes how others are "
            f"read there is unknown. Use one of {listed(_ENGINES)}, or export the table to Parquet."
        )
        raise SourceError(msg)
    if backend.name == "postgres":
        _check_encodings(backend.con.info)
    elif backend.name == "sqlite":
        _check_declared(asked, backend.con)
    elif backend.name == "duckdb":
        _check_files(asked, backend)


def has_odd_collations(connection: Any) -> bool:  # noqa: ANN401
    """Whether a column in PostgreSQL has a collation under which it searches no text."""
    sql = (
        "SELECT count(*) FROM pg_attribute a JOIN pg_collation c ON c.oid = a.attcollation "
        "WHERE to_jsonb(c) ->> 'collisdeterministic' = 'false'"
    )
    with connection.cursor() as cursor, connection.transaction():
        return bool(cursor.execute(sql).fetchone()[0])


def _check_encodings(connection: Any) -> None:  # noqa: ANN401
    """Refuse PostgreSQL databases and connections in which a single text can stop an answer."""
    server, client = map(connection.parameter_status, ("server_encoding", "client_encoding"))
    if server not in {"UTF8", "LATIN1"} or client not in {"UTF8", server}:
        msg = (
            f"The PostgreSQL database holds text in {server} and sends it in {client}, where not "
            "every character is known. Use a database and a connection in UTF8."
        )
        raise SourceError(msg)


def _check_declared(asked: Any, connection: Any) -> None:  # noqa: ANN401
    """Refuse columns of SQLite without a declared type: Ibis takes that of the first row."""
    if asked.find((ops.SQLQueryResult, ops.SQLStringView)):
        msg = (
            "SQLite knows no types of a query in SQL, so that Ibis takes those of its first row. "
            "Hand over a table, or an expression of Ibis on one."
        )
        raise SourceError(msg)
    used = {field.name for field in asked.find(ops.Field)}
    for table in asked.find(ops.DatabaseTable):
        place = [table.name, *filter(None, [table.namespace.database])]
        sql = f"SELECT name FROM pragma_table_info({', '.join('?' * len(place))}) WHERE type = ''"  # noqa: S608 - marks alone
        untyped = [name for (name,) in connection.execute(sql, place)]
        # What a selection does not name does not come out of it.
        read = [name for name in untyped if name in used or not isinstance(asked, ops.Project)]
        if read:
            msg = (
                f"SQLite knows no type of these columns: {listed(read)}. Ibis takes that of the "
                "first row. Hand over a table that declares the types of its columns (a view "
                "declares none for what it computes), or select other columns."
            )
            raise SourceError(msg)


def _check_files(asked: Any, backend: Any) -> None:  # noqa: ANN401
    """Refuse what DuckDB reads from text files and pandas: it infers types at each query."""
    for table in asked.find((ops.DatabaseTable, ops.SQLQueryResult)):
        operators = _operators(backend, table)
        # One message for both: whether such a view can be read at all may depend on rows.
        if not operators or any(map(_INFERRING.match, operators)):
            msg = (
                "DuckDB infers the types of this table from its rows, because it is a view on a "
                "text file or a pandas frame, or DuckDB cannot read it. Hand over the path of the "
                "file or the frame itself, or a table with declared types."
            )
            raise SourceError(msg)


def _operators(backend: Any, table: Any) -> list[str]:  # noqa: ANN401
    """The operators of the plan by which DuckDB reads a table, views resolved; none if it fails."""
    sql = f"EXPLAIN (FORMAT json) {backend.compile(table.to_expr())}"
    plans: list[tuple[str, str]] = []
    with contextlib.suppress(duckdb.Error):  # what it says may quote rows
        plans = backend.con.execute(sql).fetchall()
    waiting = [part for _, plan in plans for part in json.loads(plan)]
    operators = []
    while waiting:
        part = waiting.pop()
        waiting += part["children"]
        operators.append(part["name"].strip())
    return operators
