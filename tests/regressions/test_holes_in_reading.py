"""Records that once changed how others were read, each with the table that showed it."""

import datetime as dt
from decimal import Decimal

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.reading import check_sum, read
from understudy.column import Column, Kind, Role
from understudy.errors import SourceError
from understudy.privacy import csv_records
from understudy.privacy.budget import Budget
from understudy.privacy.csv_records import LONGEST_RECORD
from understudy.privacy.ledger import Ledger
from understudy.privacy.unit import Person
from understudy.schema import Schema

LETTERS = Schema(
    (
        Column(name="x", kind=Kind.CATEGORICAL, categories=("a", "b"), other="other", null=True),
        Column(name="y", kind=Kind.INTEGER, bounds=(0, 9), null=True),
    )
)
NAMED = Schema((Column(name="x", kind=Kind.CATEGORICAL),))
TENTHS = Schema((Column(name="x", kind=Kind.REAL, edges=(0.0, 0.1, 0.3, 1.0), null=True),))


@pytest.fixture
def csv_file(tmp_path):
    def write(*lines):
        path = tmp_path / "t.csv"
        path.write_bytes(b"\n".join([b"x,y", *lines, b""]))
        return path

    return write


# --- one record and a second reader of CSV -------------------------------------------------------


@pytest.mark.parametrize("more", [b"b", b'"x" "",1', b'  "a', b'a"b,1', b"\xff", b'""a",1'])
def test_blanks_before_a_quote_mean_the_same_whatever_another_record_holds(csv_file, more):
    table = [b'  "a",0'] * 5000
    alone = read(csv_file(*table), LETTERS)
    assert alone.codes == {(0, 0): 5000}
    check_sum(read(csv_file(*table, more), LETTERS), alone, read(csv_file(more), LETTERS))
    check_sum(read(csv_file(more, *table), LETTERS), alone, read(csv_file(more), LETTERS))


def test_a_quote_that_stays_open_takes_no_other_record_with_it(csv_file):
    table = [*[b"a,1"] * 2500, b'  "a', *[b"a,1"] * 2500]
    alone = read(csv_file(*table), LETTERS)
    assert alone.rows == 5001
    assert alone.malformed == 1
    check_sum(read(csv_file(*table, b"b"), LETTERS), alone, read(csv_file(b"b"), LETTERS))


@pytest.mark.untraced
@pytest.mark.parametrize("multiline", [False, True])
@pytest.mark.parametrize("shift", [-2, 0, 1])
def test_where_the_eight_millionth_byte_lies_does_not_matter(csv_file, multiline, shift):
    # Lengths of ordinary records decide which cell lies where a reader's buffer ends.
    cell = b'"' + b"a\n" * 40 + b'",1' if multiline else b'  "a"' + b" " * 40 + b",1"
    for end in (8_000_000, 2 * LONGEST_RECORD):
        filler = b"b," + b"2" * 197
        table = [filler] * ((end - 4) // 200)
        table.append(b"b," + b"2" * (end - 4 - 200 * len(table) + shift))
        whole = read(csv_file(*table, *[cell] * 3, b"a,1"), LETTERS, multiline=multiline)
        rest = read(csv_file(*[cell] * 3, b"a,1"), LETTERS, multiline=multiline)
        check_sum(whole, read(csv_file(*table), LETTERS, multiline=multiline), rest)
        assert whole.rows == len(table) + 4


def test_a_byte_order_mark_within_a_file_belongs_to_its_cell(csv_file):
    marked = b"\xef\xbb\xbfa,1"
    both = read(csv_file(marked, b"a,1"), LETTERS)
    assert both.codes == {(2, 1): 1, (0, 1): 1}
    assert read(csv_file(b"a,1", marked), LETTERS).codes == both.codes


# --- Parquet -------------------------------------------------------------------------------------


def not_text(cells):
    """Strings, some of which are not UTF-8."""
    ends = np.cumsum([0, *map(len, cells)]).astype(np.int32)
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(cells))]
    return pa.Array.from_buffers(pa.string(), len(cells), buffers)


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        (pa.decimal256(50, 3), [Decimal("0.1"), Decimal("0.3")]),
        (pa.decimal128(38, 30), [Decimal("0.1"), Decimal("0.3")]),
        (pa.float32(), [0.1, 0.3]),
    ],
    ids=str,
)
def test_text_that_is_not_utf_8_moves_no_number_to_another_bin(tmp_path, kind, cells):
    schema = Schema(
        (*TENTHS, Column(name="y", kind=Kind.CATEGORICAL, categories=("a",), null=True))
    )

    def found(numbers, texts):
        path = tmp_path / "t.parquet"
        pq.write_table(pa.table({"x": pa.array(numbers, kind), "y": not_text(texts)}), path)
        return read(path, schema)

    alone, more = found(cells * 500, [b"a"] * 1000), found([None], [b"\xff"])
    check_sum(found([*cells * 500, None], [*[b"a"] * 1000, b"\xff"]), alone, more)


@pytest.mark.parametrize("role", [Role.DROP, Role.FEATURE])
def test_a_column_of_durations_is_read_or_refused_whatever_a_cell_of_text_holds(tmp_path, role):
    column = Column(name="x", kind=Kind.INTEGER, bounds=(0, 9), null=True, role=role)
    schema = Schema((column, Column(name="y", kind=Kind.CATEGORICAL, categories=("a",), null=True)))

    def found(texts):
        path = tmp_path / "t.parquet"
        durations = pa.array([1] * len(texts), pa.duration("s"))
        pq.write_table(pa.table({"x": durations, "y": not_text(texts)}), path)
        return read(path, schema)

    alone, more = found([b"a"] * 10), found([b"\xff"])
    assert (alone.refusal is None) == (role is Role.DROP)
    check_sum(found([*[b"a"] * 10, b"\xff"]), alone, more)


def test_decimals_of_several_files_are_read_as_each_file_by_itself(tmp_path):
    # The direct cast of Arrow moves every third of them to a double beside the right one.
    cells = [Decimal(k).scaleb(-3) for k in range(1000)]
    edges = tuple(k / 1000 for k in range(1001))
    schema = Schema((Column(name="x", kind=Kind.REAL, edges=edges, null=True),))
    pq.write_table(pa.table({"x": pa.array(cells, pa.decimal128(4, 3))}), tmp_path / "a.parquet")
    alone = read(tmp_path / "*.parquet", schema)
    wider = pa.array([Decimal(1)], pa.decimal128(20, 10))
    pq.write_table(pa.table({"x": wider}), tmp_path / "b.parquet")
    check_sum(read(tmp_path / "*.parquet", schema), alone, read(tmp_path / "b.parquet", schema))


# --- encodings with a state ----------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["iso2022_jp", "iso2022_kr", "hz", "utf-7", "utf-16"])
@pytest.mark.parametrize("more", [b"b,1", b"\x1b$B,1", b"~{,1", b"\x0e,1"])
def test_encodings_in_which_a_record_garbles_later_ones_are_refused(csv_file, encoding, more):
    for lines in ([b"a,1"], [more, b"a,1"]):
        found = read(csv_file(*lines), LETTERS, text_encoding=encoding)
        assert found.refusal is not None
        assert found.refusal[0] == SourceError.__name__


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "shift_jis", "gb18030", "euc_jp"])
def test_an_escape_sequence_changes_no_other_record(csv_file, encoding):
    table, more = [b"a,1"] * 100, b"\x1b$B,1"
    found, alone, one = (
        read(csv_file(*lines), LETTERS, text_encoding=encoding)
        for lines in ([more, *table], table, [more])
    )
    check_sum(found, alone, one)
    assert alone.codes == {(0, 1): 100}


# --- types of frames -----------------------------------------------------------------------------


@pytest.mark.parametrize("blank", [None, float("nan"), "", "x"])
def test_a_blank_cell_changes_nothing_that_a_certificate_says_of_a_pandas_column(blank):
    table = pd.DataFrame({"x": range(100)})
    more = pd.DataFrame({"x": [blank]})
    whole = pd.concat([table, more], ignore_index=True)
    assert whole["x"].dtype != table["x"].dtype
    public = []
    for frame in (table, whole):
        with Ledger.open(frame, None, Budget(1.0, 1e-6), discover=True) as ledger:
            public.append(ledger._core.public)
    assert public[0] == public[1]
    assert public[0]["storage"] == {"x": "text"}
    schema = Schema((Column(name="x", kind=Kind.INTEGER, bounds=(0, 9), null=True),))
    check_sum(read(whole, schema), read(table, schema), read(more, schema))


def test_a_flag_among_numbers_is_a_flag_whatever_the_other_cells_are():
    # A column of 1.5 and True was taken for numbers, until a text stood in it.
    table = pd.DataFrame({"x": pd.Series([1.5, True], dtype=object)})
    more = pd.DataFrame({"x": ["x"]})
    whole = read(pd.concat([table, more]), NAMED, shapes=True)
    assert whole.values["x"] == {"1.5": 1, "true": 1, "x": 1}
    check_sum(whole, read(table, NAMED, shapes=True), read(more, NAMED, shapes=True))


def test_a_period_is_the_text_that_an_owner_writes_whatever_the_other_cells_are():
    table = pd.DataFrame({"x": pd.period_range("2020-01", periods=2, freq="M")})
    more = pd.DataFrame({"x": ["x"]})
    whole = read(pd.concat([table, more]), NAMED, shapes=True)
    assert whole.values["x"] == {"2020-01": 1, "2020-02": 1, "x": 1}
    check_sum(whole, read(table, NAMED, shapes=True), read(more, NAMED, shapes=True))


# --- persons -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pandas", "double"])
def test_a_person_whose_number_a_double_cannot_hold_takes_nobodys_place(kind):
    # 2**53 + 1 becomes 2**53 as a double: two persons would share one cap.
    schema = Schema((Column(name="who", kind=Kind.INTEGER, role=Role.ID), *LETTERS))
    ids = [2**53, 2**53 + 1, -(2**53), 5]
    frame = pd.DataFrame({"who": ids, "x": "a", "y": 1})
    whole = pa.table({"who": pa.array(map(float, ids)), "x": ["a"] * 4, "y": pa.array([1] * 4)})
    found = read(frame if kind == "pandas" else whole, schema, person=Person("who", 1))
    assert found.rows == 1


# --- line breaks where a buffer of Arrow ends ----------------------------------------------------


@pytest.mark.parametrize("before", range(5))
def test_a_line_break_within_quotes_is_the_same_wherever_a_buffer_ends(
    csv_file, monkeypatch, before
):
    # Between two of its buffers Arrow took CR LF for one mark, and dropped the line feed.
    monkeypatch.setattr(csv_records, "_ARROW_BLOCK", 32)
    cell = b'"a\r\nb",1'
    table = [b"a,1"] * 6 + [b"b," + b"1" * before]
    schema = Schema((*NAMED, LETTERS["y"]))
    whole, alone, one = (
        read(csv_file(*lines), schema, shapes=True, multiline=True)
        for lines in ([*table, cell], table, [cell])
    )
    assert one.values["x"] == {"a\r\nb": 1}
    check_sum(whole, alone, one)


# --- decimals with more digits than their type has -----------------------------------------------


@pytest.mark.parametrize("kind", [pa.decimal128(4, 0), pa.decimal128(9, 0), pa.decimal128(5, 1)])
@pytest.mark.parametrize("stored", ["arrow", "parquet"])
def test_a_decimal_beyond_its_type_is_missing_whatever_stands_before_it(tmp_path, kind, stored):
    # The engine narrowed it without a check, and left what another row had put there.
    schema = Schema((Column(name="x", kind=Kind.INTEGER, edges=tuple(range(60)), null=True),))

    def found(*units):
        content = b"".join(one.to_bytes(16, "little", signed=True) for one in units)
        cells = pa.Array.from_buffers(kind, len(units), [None, pa.py_buffer(content)])
        table = pa.table({"x": cells})
        if stored == "arrow":
            return read(table, schema)
        pq.write_table(table, tmp_path / "t.parquet")
        return read(tmp_path / "t.parquet", schema)

    table, more = (50, 60, 70) * 5, 10**kind.precision + 7
    alone, one = found(*table), found(more)
    assert one.codes == {(59,): 1}
    check_sum(found(*table, more), alone, one)


# --- ids and moments that an engine holds and cannot write ---------------------------------------


def sqlite_table(kind, ids):
    engine = ibis.sqlite.connect()
    engine.con.execute(f"CREATE TABLE t (who {kind}, y INTEGER)")
    engine.con.executemany("INSERT INTO t VALUES (?, 1)", [(one,) for one in ids])
    return engine.table("t")


@pytest.mark.parametrize("kind", ["BLOB", "BINARY", "UUID"])
def test_an_id_of_any_bytes_does_not_stop_sqlite(kind):
    schema = Schema((Column(name="who", kind=Kind.CATEGORICAL, role=Role.ID), LETTERS["y"]))
    table, more = [b"p", b"p", b"q", None], [b"\xff\xfe"]
    whole, alone, one = (
        read(sqlite_table(kind, ids), schema, person=Person("who", 1))
        for ids in (table + more, table, more)
    )
    assert (alone.rows, one.rows) == (2, 1)
    check_sum(whole, alone, one)


@pytest.mark.parametrize("stray", ["abc", b"\xff", "", b"0"])
def test_what_is_no_number_is_no_id_in_a_short_column_of_sqlite(stray):
    # As a number, SQLite takes text for 0: somebody without an id took that person's place.
    schema = Schema((Column(name="who", kind=Kind.INTEGER, role=Role.ID), LETTERS["y"]))
    whole = read(sqlite_table("SMALLINT", [0, 2.5, 2, stray]), schema, person=Person("who", 1))
    assert whole.rows == 2  # neither a fraction nor text identifies anybody


@pytest.mark.parametrize("unit", ["s", "ms"])
@pytest.mark.parametrize("moment", [9 * 10**18, -9 * 10**18])
@pytest.mark.parametrize("role", [Role.FEATURE, Role.ID])
def test_a_moment_that_only_a_coarse_clock_holds_does_not_stop_an_engine(unit, moment, role):
    ends = dt.datetime(1999, 1, 1), dt.datetime(2021, 1, 1)  # noqa: DTZ001 - columns are naive
    facts = {"kind": Kind.DATETIME, "bounds": ends, "bins": 3, "null": True}
    facts = facts if role is Role.FEATURE else {"kind": Kind.CATEGORICAL}
    schema = Schema((Column(name="x", role=role, **facts), LETTERS["y"]))

    def found(*moments):
        engine = ibis.duckdb.connect()
        counts = pa.array(moments, pa.int64())
        table = pa.table({"x": counts.view(pa.timestamp(unit)), "y": pa.array([1] * len(moments))})
        person = Person("x", 1) if role is Role.ID else None
        return read(engine.create_table("t", table), schema, person=person)

    table = (0, 10**9)
    assert found(*table).rows == 2
    check_sum(found(*table, moment), found(*table), found(moment))


@pytest.mark.parametrize("cells", [["a"], ["\u20ac"], []])
def test_a_connection_that_lacks_characters_is_refused_before_any_row(postgres_engine, cells):
    # A text that PostgreSQL could not send in such an encoding stopped the answer.
    table = pa.table({"x": pa.array(cells, pa.string())})
    opened = postgres_engine.create_table("lacking", table, overwrite=True)
    assert read(opened, NAMED, shapes=True).refusal is None
    postgres_engine.raw_sql("SET client_encoding = 'LATIN1'").close()
    try:
        refusal = read(opened, NAMED, shapes=True).refusal
    finally:
        postgres_engine.raw_sql("SET client_encoding = 'UTF8'").close()
    assert refusal is not None
    assert "holds text in UTF8 and sends it in LATIN1" in refusal[1]


UNTYPED = {
    "table": lambda engine: engine.table("untyped"),
    "view": lambda engine: engine.table("computed"),
    "query": lambda engine: engine.sql("SELECT coalesce(x, '?') AS x FROM untyped"),
    "query on a table": lambda engine: engine.table("typed").sql("SELECT x || '' AS x FROM typed"),
}


@pytest.mark.parametrize("way", UNTYPED)
@pytest.mark.parametrize("first", ["a", 1, 1.5])
def test_the_first_row_of_sqlite_decides_no_type(way, first):
    # Ibis takes the type of a column that declares none from the first row: after a 1, no "a"
    # was read any more.
    engine = ibis.sqlite.connect()
    with engine.begin() as cursor:
        cursor.execute("CREATE TABLE untyped (x)")
        cursor.execute("CREATE TABLE typed (x TEXT)")
        cursor.execute("CREATE VIEW computed AS SELECT coalesce(x, '?') AS x FROM untyped")
        cursor.executemany("INSERT INTO untyped VALUES (?)", [(first,), ("a",), ("a",)])
        cursor.execute("INSERT INTO typed VALUES ('a')")
    refusal = read(UNTYPED[way](engine), NAMED, shapes=True).refusal
    assert refusal is not None
    assert refusal[0] == "SourceError"
    assert "SQLite knows no type" in refusal[1]


def test_columns_of_sqlite_that_nobody_selects_need_no_type():
    engine = ibis.sqlite.connect()
    with engine.begin() as cursor:
        cursor.execute("CREATE TABLE mixed (x TEXT, y)")
        cursor.execute("INSERT INTO mixed VALUES ('a', 1)")
    table = engine.table("mixed")
    assert read(table.filter(table.x != "b").select("x"), NAMED, shapes=True).rows == 1
    for asked in (
        table,
        table.select(x="y"),
        table.filter(table.y > 0),
        table[["y"]].mutate(x="y"),
    ):
        assert "no type of these columns: y" in read(asked, NAMED, shapes=True).refusal[1]


FILES = {
    "read_csv": lambda engine, path: engine.read_csv(path),
    "view": lambda engine, path: _view(engine, f"SELECT * FROM '{path}'"),
    "function": lambda engine, path: _view(engine, f"SELECT x FROM read_csv_auto('{path}')"),
    "view of a view": lambda engine, path: _view(engine, f"SELECT x FROM '{path}'", "SELECT x"),
    "view that fails": lambda engine, path: _view(engine, f"SELECT * FROM '{path}'", renamed=path),
    "frame": lambda engine, path: _registered(engine, pd.read_csv(path, dtype=object)),
    "join": lambda engine, path: engine.create_table("kept", pa.table({"y": [1]})).cross_join(
        engine.read_csv(path)
    )[["x"]],
}


def _view(engine, sql, outer="SELECT *", renamed=None):
    engine.con.execute(f"CREATE VIEW files AS {sql}")
    engine.con.execute(f"CREATE VIEW seen AS {outer} FROM files")
    table = engine.table("seen")
    if renamed is not None:
        renamed.rename(renamed.with_suffix(".moved"))
    return table


def _registered(engine, frame):
    engine.con.register("frame", frame)
    return engine.table("frame")


def test_tables_and_views_of_duckdb_on_what_declares_types_are_read(tmp_path):
    engine = ibis.duckdb.connect()
    cells = pa.table({"x": ["a", "b"]})
    pq.write_table(cells, tmp_path / "t.parquet")
    engine.con.execute(f"CREATE VIEW v AS SELECT * FROM '{tmp_path / 't.parquet'}'")
    engine.con.register("arrow", cells)
    made = engine.create_table("read_csv", cells)  # a name alone says nothing
    joined = made.join(engine.table("v"), "x").select("x")
    for table in (made, engine.table("v"), engine.table("arrow"), joined, ibis.memtable(cells)):
        assert read(table, NAMED, shapes=True).rows == 2


@pytest.mark.parametrize("way", FILES)
def test_no_view_of_a_file_without_types_is_read(tmp_path, way):
    # One word in the file made text of a column of numbers, so that 1.0 was another label.
    path = tmp_path / "t.csv"
    for last in ("1.0", "word"):
        path.write_text(f"x\n1.0\n1.0\n{last}\n")
        refusal = read(FILES[way](ibis.duckdb.connect(), path), NAMED, shapes=True).refusal
        assert refusal is not None
        assert "DuckDB infers the types of this table" in refusal[1]


@pytest.mark.parametrize("kind", [Kind.UNKNOWN, Kind.INTEGER, Kind.DATE])
def test_a_collation_that_postgresql_does_not_search_stops_nothing(postgres_engine, kind):
    # Empty cells were read, and the first text stopped the release.
    with postgres_engine.begin() as cursor:
        cursor.execute(
            "CREATE COLLATION IF NOT EXISTS odd "
            "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
        cursor.execute("DROP TABLE IF EXISTS collated")
        cursor.execute("CREATE TABLE collated (n INTEGER, x text COLLATE odd)")
        cursor.execute(
            """INSERT INTO collated VALUES (1, NULL), (2, '5'), (2, '2020-01-02'), (2, 'a"\\b')"""
        )
    table = postgres_engine.table("collated")
    schema = Schema((Column(name="x", kind=kind),))
    parts = [read(table.filter(table.n == n).select("x"), schema, shapes=True) for n in (1, 2)]
    whole = read(table.select("x"), schema, shapes=True)
    check_sum(whole, *parts)
    assert whole.refusal is None
    assert len(whole.codes) == 4 if kind is Kind.UNKNOWN else 3
