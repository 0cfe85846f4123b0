"""What the engine of an Ibis table says of it, as far as no row may decide that."""

from typing import Any

from ibis.expr import operations as ops

from understudy.errors import SourceError, listed

_TEXT_FILE = r"read_(csv|json|ndjson|xlsx)|\.(csv|tsv|txt|json|jsonl|ndjson)(\.gz|\.zst)?[\'\"]"
"""In a view of DuckDB: what reads a file that declares no types."""


def check_catalogue(asked: Any, backend: Any) -> None:  # noqa: ANN401 - Ibis's own, as below
    """Refuse what a single row could decide: types that are read off rows, and encodings."""
    if backend.name == "postgres":
        _check_encodings(backend.con.info)
    elif backend.name == "sqlite":
        _check_declared(asked, backend.con)
    elif backend.name == "duckdb":
        _check_files(asked, backend.con)


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


def _check_files(asked: Any, connection: Any) -> None:  # noqa: ANN401
    """Refuse views of DuckDB on files without types: it infers them from rows at each query."""
    sql = "SELECT sql FROM duckdb_views() WHERE view_name = ? AND regexp_matches(sql, ?, 'i')"
    for table in asked.find(ops.DatabaseTable):
        if connection.execute(sql, [table.name, _TEXT_FILE]).fetchall():
            msg = (
                f"The view {table.name!r} of DuckDB reads a file whose types it infers from the "
                "rows. Hand over the path of the file, or a table with declared types."
            )
            raise SourceError(msg)
