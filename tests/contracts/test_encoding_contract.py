"""The same code for the same cell, whether NumPy or an engine computes it."""

import datetime as dt
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.tables import ARROW_TYPES, DESCRIBED, load, storages, stored_columns
from helpers.tables import cells as stored_cells
from understudy.column import Column, Kind
from understudy.encode import Encoding, ibis_ops
from understudy.encode.arrow_ops import plain_array
from understudy.encode.ibis_ops import IbisOps, code_batch, coded_table
from understudy.encode.ops import Storage
from understudy.encode.shape_grid import DECADES, MAGNITUDES
from understudy.encode.shapes import ShapeCells, coded_here
from understudy.privacy.pushdown import execute
from understudy.privacy.source import open_rows
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema

EXAMPLES = {"duckdb": 6, "sqlite": 8, "postgres": 5, "embedded": 10}
FEWER = 8
"""A search over the whole public grid takes an engine long to compile."""
OPEN = [kind for kind in Kind if kind is not Kind.BOOLEAN]
"""A boolean has its two values by itself; all others can be open."""


def _near_cuts(storage: Storage) -> st.SearchStrategy:
    """Values at the cuts of the public grid, and right beside them."""
    steps = st.sampled_from([-1.0, 0.0, 1.0])
    numbers = st.builds(
        lambda cut, step: np.nextafter(cut, step * np.inf) if step else cut,
        st.sampled_from(MAGNITUDES),
        steps,
    ).map(float)
    firsts = st.sampled_from([dt.datetime(year, 1, 1) for year in DECADES])  # noqa: DTZ001
    moments = st.builds(lambda first, step: first + dt.timedelta(seconds=step), firsts, steps)
    ways = st.sampled_from(
        ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y", "%b %d, %Y"]
    )
    written = st.builds(dt.datetime.strftime, moments, ways)
    return {
        Storage.TEXT: written | numbers.map(repr) | numbers.map("${:,.2f}".format),
        Storage.INTEGER: numbers.map(int),
        Storage.FLOAT: numbers,
        Storage.BOOLEAN: st.booleans(),
        Storage.DATE: moments.map(dt.datetime.date),
        Storage.TIMESTAMP: moments,
    }[storage]


@st.composite
def undescribed_columns(draw, kind: Kind):
    """A column that nobody has described, or of which only the kind is known, and its cells."""
    storage = draw(st.sampled_from(list(Storage) if kind is Kind.UNKNOWN else storages(kind)))
    dated = kind in {Kind.DATE, Kind.DATETIME} and storage is Storage.TEXT
    written = draw(st.sampled_from([None, "%d.%m.%Y"])) if dated else None
    column = Column(name="x", kind=kind, format=written)
    values = draw(st.lists(stored_cells(column, storage) | _near_cuts(storage), max_size=40))
    return column, pa.array(values, ARROW_TYPES[storage])


def codes_by_engine(table, encoding: Encoding, columns: dict[str, str], ops: IbisOps) -> np.ndarray:
    # Text whose shape is asked for comes as the engine holds it, and is coded here.
    storage = ops.storage("x", table[columns["x"]].type())
    here = ["x"] if coded_here(encoding.schema["x"], storage) else []
    row = {"row": table[columns["row"]]}
    coded = coded_table(table, encoding, columns, ops, as_stored=here, also=row)
    found = execute(coded.order_by("row"))
    if here:
        return encoding.column_codes("x", found["code0"].combine_chunks())
    return found["code0"].to_numpy()


def numbered(values: pa.Array) -> pa.Table:
    return pa.table({"x": values, "row": pa.array(range(len(values)), pa.int64())})


def check(engine, kind: Kind, examples: int, *, shapes: bool = False) -> None:
    """Compare codes on random facts and cells; without an engine, the embedded one."""

    @settings(max_examples=examples)
    @given(undescribed_columns(kind) if shapes else stored_columns(kind))
    def holds(stored):
        column, values = stored
        encoding, table = Encoding(Schema((column,)), shapes=shapes), numbered(values)
        assert isinstance(encoding.cells["x"], ShapeCells) == shapes
        if engine is None:
            rows = open_rows(table)
            codes = codes_by_engine(rows.table, encoding, rows.columns, rows.ops)
        else:
            there = load(engine, table, "cells")
            codes = codes_by_engine(there, encoding, {"x": "x", "row": "row"}, IbisOps())
        np.testing.assert_array_equal(codes, encoding.codes(table)["x"])

    holds()


@pytest.mark.untraced
@pytest.mark.parametrize("kind", DESCRIBED)
def test_every_engine_gives_the_codes_of_numpy(engine, kind):
    check(engine, kind, EXAMPLES[engine.name])


@pytest.mark.untraced
@pytest.mark.parametrize("kind", DESCRIBED)
def test_the_shortcuts_of_the_embedded_engine_give_the_codes_of_numpy(kind):
    check(None, kind, EXAMPLES["embedded"])


@pytest.mark.untraced
def test_every_engine_gives_the_shapes_of_numpy(engine):
    check(engine, Kind.UNKNOWN, FEWER, shapes=True)


@pytest.mark.untraced
@pytest.mark.parametrize("kind", [Kind.UNKNOWN, Kind.CATEGORICAL, Kind.DATE])
def test_the_shortcuts_of_the_embedded_engine_give_the_shapes_of_numpy(kind):
    check(None, kind, FEWER, shapes=True)


@pytest.mark.untraced
@pytest.mark.parametrize("kind", [Kind.CATEGORICAL, Kind.REAL, Kind.DATETIME, Kind.UNKNOWN])
def test_columns_that_come_as_stored_get_the_same_codes(kind):
    shapes = kind is Kind.UNKNOWN

    @settings(max_examples=FEWER)
    @given(undescribed_columns(kind) if shapes else stored_columns(kind))
    def holds(stored):
        column, values = stored
        encoding, rows = Encoding(Schema((column,)), shapes=shapes), open_rows(numbered(values))
        row = rows.table[rows.columns["row"]]
        here = coded_table(
            rows.table, encoding, rows.columns, rows.ops, as_stored=["x"], also={"row": row}
        )
        batches = [
            (code_batch(batch, encoding, ["x"])["x"], batch["row"].to_numpy())
            for batch in rows.engine.batches(here, 7)
        ]
        codes = np.concatenate([np.zeros(0, int), *(codes for codes, _ in batches)])
        order = np.concatenate([np.zeros(0, int), *(order for _, order in batches)])
        there = codes_by_engine(rows.table, encoding, rows.columns, rows.ops)
        np.testing.assert_array_equal(codes[np.argsort(order)], there)

    holds()


BYTES = st.binary(max_size=3) | st.sampled_from([b"", b" ", b"7", b"\xff", b"2020-01-02", b"a"])


@pytest.mark.untraced
@pytest.mark.parametrize("kind", list(Kind))
def test_text_is_coded_alike_whether_each_value_is_read_once_or_each_cell(kind):
    shapes = kind is Kind.UNKNOWN

    @settings(max_examples=50)
    @given(
        undescribed_columns(kind) if shapes else stored_columns(kind), st.lists(st.none() | BYTES)
    )
    def holds(stored, cells_of_bytes):
        column, values = stored
        encoding = Encoding(Schema((column,)), shapes=shapes)
        odd = pa.array(cells_of_bytes, pa.binary())
        # Text that is no UTF-8, as a careless writer leaves it in an Arrow column.
        broken = pa.Array.from_buffers(pa.string(), len(odd), odd.buffers())
        texts = [broken, broken.slice(len(odd) // 2), broken.dictionary_encode()]
        if values.type == pa.string():
            texts += [values, pa.concat_arrays([values, values])]
        for text in texts:
            each_cell = encoding._read("x", plain_array(text), Storage.TEXT)
            np.testing.assert_array_equal(encoding.column_codes("x", text), each_cell)

    holds()


DATES = (dt.datetime(2019, 12, 31, 22), dt.datetime(2020, 6, 1, 23, 59, 59, 999999))  # noqa: DTZ001
MOMENTS = [*DATES, dt.datetime(1969, 12, 31, 23, 59, 59, 1), None]  # noqa: DTZ001
VARIANTS = [
    *(pa.array(MOMENTS, pa.timestamp(unit)) for unit in ("us", "ns")),
    *(pa.array(MOMENTS, pa.timestamp(unit, "Asia/Tokyo")) for unit in ("us", "ns")),
    *(pa.array([2**62, -(2**62), None], pa.int64()).cast(pa.timestamp(u)) for u in ("s", "ms")),
    pa.array([2**62, -(2**62), 2**63 - 1], pa.int64()).cast(pa.timestamp("us", "UTC")),
    pa.array([2**31 - 1, -(2**31), 0, None], pa.int32()).cast(pa.date32()),
    pa.array([86_400_000 * 18_300, None], pa.int64()).cast(pa.date64()),
    *(pa.array([0, 2, 9, None], kind) for kind in (pa.uint8(), pa.int16(), pa.uint64())),
    pa.array([2**64 - 1], pa.uint64()),
    *(pa.array([0.5, 2.0, -1.0, None], kind) for kind in (pa.float32(), pa.float64())),
    pa.array(["0.1707", "2.5000", None]).cast(pa.decimal128(18, 4)),
    pa.array(["0.1707", "2.5000", None]).cast(pa.string_view()),
    pa.array(["1", "x", None]).dictionary_encode(),
    pa.nulls(2),
]


@pytest.mark.parametrize("values", VARIANTS, ids=lambda values: f"{values.type}-{len(values)}")
def test_every_arrow_type_gives_the_codes_of_numpy(values):
    dated = pa.types.is_temporal(values.type)
    facts = (
        {"kind": Kind.DATETIME, "bounds": DATES, "bins": 7, "null": True}
        if dated
        else {"kind": Kind.REAL, "bounds": (0, 3), "bins": 7, "atoms": (0.1707, 2), "null": True}
    )
    schema = Schema((Column(name="x", **facts),))
    table = numbered(values)
    rows = open_rows(table)
    undescribed = Schema((Column(name="x", kind=Kind.UNKNOWN),))
    for encoding in (Encoding(schema), Encoding(undescribed, shapes=True)):
        codes = codes_by_engine(rows.table, encoding, rows.columns, rows.ops)
        np.testing.assert_array_equal(codes, encoding.codes(table)["x"])


def test_nanoseconds_of_an_engine(duckdb_engine, tmp_path):
    moments = pa.table({"x": pa.array(MOMENTS, pa.timestamp("ns"))})
    days = (dt.date(2019, 12, 31), dt.date(2020, 6, 1))
    schema = Schema((Column(name="x", kind=Kind.DATE, bounds=days, bins=2, null=True),))
    there = load(duckdb_engine, moments, "nanoseconds")
    assert PrivateTable(there, schema).count([("x",)])[0].tolist() == [2, 1, 1]
    pq.write_table(moments, tmp_path / "t.parquet")
    table = PrivateTable(tmp_path / "t.parquet", schema)
    assert table.count([("x",)])[0].tolist() == [2, 1, 1]


def test_sqlite_columns_that_hold_values_of_other_types(sqlite_engine):
    sqlite_engine.drop_table("loose", force=True)
    with sqlite_engine.begin() as cursor:
        cursor.execute("CREATE TABLE loose (t TEXT, n REAL, w TEXT, d DATE, b BOOLEAN)")
        cursor.execute(
            """
            INSERT INTO loose VALUES
                ('2', 2, 'é', '2020-01-02', 1),
                (x'ff32', 'two', CAST(x'ff61' AS TEXT), CAST(x'ff' AS TEXT), 'yes'),
                (CAST(x'ff' AS TEXT), x'32', x'61', 'zz', 7),
                (NULL, NULL, '\U0001f600', '2020-01-02 10:30:00.5', 0)
            """
        )
    numbers = {"kind": Kind.INTEGER, "bounds": (0, 3), "null": True}
    days = (dt.date(2020, 1, 1), dt.date(2020, 1, 3))
    schema = Schema(
        (
            Column(name="t", **numbers),
            Column(name="n", **numbers),
            Column(
                name="w",
                kind=Kind.CATEGORICAL,
                categories=("é", "\U0001f600"),
                other="o",
                null=True,
            ),
            Column(name="d", kind=Kind.DATE, bounds=days, null=True),
            Column(name="b", kind=Kind.BOOLEAN, null=True),
        )
    )
    table = PrivateTable(sqlite_engine.table("loose"), schema)
    counts = [count.tolist() for count in table.count([(name,) for name in "tnwdb"])]
    assert counts == [[0, 0, 1, 0, 3], [0, 0, 1, 0, 3], [1, 1, 0, 2], [0, 2, 0, 2], [1, 1, 2]]


@given(st.binary(max_size=4))
@example("\ud800".encode("utf-8", "surrogatepass"))
@example(b"\xf4\x90\x80\x80")
@example(b"\xe0\x80\x80")
def test_the_bytes_of_utf8_are_told_from_others(data):
    try:
        data.decode("utf-8")
        valid = True
    except UnicodeDecodeError:
        valid = False
    assert bool(re.search(ibis_ops._UTF8, data.hex().upper())) == valid


@pytest.mark.parametrize("stored", ["DATE", "TIMESTAMP", "TIMESTAMPTZ"])
def test_dates_beyond_all_calendars_move_to_the_nearer_bound(engine, stored):
    if engine.name == "sqlite":
        pytest.skip("SQLite has no infinite dates")
    ancient = "44-03-15 (BC)" if engine.name == "duckdb" else "0044-03-15 BC"
    cells = ["infinity", "12000-01-01", "-infinity", ancient, "2020-01-02", None]
    engine.drop_table("beyond", force=True)
    values = ", ".join("(NULL)" if cell is None else f"('{cell}'::{stored})" for cell in cells)
    engine.raw_sql(f"CREATE TABLE beyond AS SELECT * FROM (VALUES {values}) AS t(x)")
    if engine.name == "postgres":
        engine.con.commit()
    days = (dt.date(2020, 1, 1), dt.date(2020, 1, 3))
    schema = Schema((Column(name="x", kind=Kind.DATE, bounds=days, null=True),))
    (count,) = PrivateTable(engine.table("beyond"), schema).count([("x",)])
    assert count.tolist() == [2, 1, 2, 1]


def test_numbers_that_make_postgres_raise_are_absorbed(postgres_engine):
    # Its arithmetic raises on underflow, and its decimals may be too large for a double.
    doubles = ["5e-324", "1e-310", "1e308", "'NaN'", "'inf'", "NULL"]
    decimals = ["1e-400::numeric", "1e400::numeric", "'NaN'", "'-Infinity'", "1e200::numeric"]
    facts = {"kind": Kind.REAL, "bounds": (0, 1e300), "bins": 4, "null": True}
    expected = {"double precision": [2, 0, 0, 1, 3], "numeric": [2, 0, 0, 0, 3]}
    for stored, cells in (("double precision", doubles), ("numeric", decimals)):
        postgres_engine.drop_table("extreme", force=True)
        postgres_engine.raw_sql(f"CREATE TABLE extreme (x {stored})")
        values = ", ".join(f"({cell})" for cell in cells)
        postgres_engine.raw_sql(f"INSERT INTO extreme VALUES {values}")
        postgres_engine.con.commit()
        table = PrivateTable(postgres_engine.table("extreme"), Schema((Column(name="x", **facts),)))
        assert table.count([("x",)])[0].tolist() == expected[stored]


@pytest.mark.slow
@pytest.mark.parametrize("kind", DESCRIBED)
def test_every_engine_gives_the_codes_of_numpy_at_length(engine, kind):
    check(engine, kind, 35 * EXAMPLES[engine.name])


@pytest.mark.slow
@pytest.mark.parametrize("kind", DESCRIBED)
def test_the_shortcuts_of_the_embedded_engine_at_length(kind):
    check(None, kind, 40 * EXAMPLES["embedded"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", OPEN)
def test_every_engine_gives_the_shapes_of_numpy_at_length(engine, kind):
    check(engine, kind, 10 * FEWER, shapes=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", OPEN)
def test_the_shortcuts_of_the_embedded_engine_give_the_shapes_of_numpy_at_length(kind):
    check(None, kind, 10 * FEWER, shapes=True)
