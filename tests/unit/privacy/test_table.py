"""What a private table tells, and what it keeps."""

import copy
import itertools
import pickle
import traceback

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pytest

from understudy.column import Column, Kind
from understudy.errors import BadInput, MarginalTooLarge, RowsAreSealed, SourceError, UnknownColumn
from understudy.privacy.cache import MarginalCache
from understudy.privacy.engine import EmbeddedEngine
from understudy.privacy.table import PrivateTable
from understudy.privacy.weights import RowWeights
from understudy.schema import Schema

SCHEMA = Schema(
    (
        Column(name="x", kind=Kind.CATEGORICAL, categories=("a", "b"), null=False),
        Column(name="y", kind=Kind.INTEGER, bounds=(0, 9), null=False),
    )
)
ROWS = pa.table({"x": ["secret-4711", "b", "a"], "y": [1, 2, 3]})


def test_it_shows_its_schema_and_nothing_else():
    table = PrivateTable(ROWS, SCHEMA)
    table.count([("x",)])
    assert repr(table) == str(table) == "PrivateTable(x: categorical, y: integer)"
    assert table.schema is SCHEMA
    assert table.domain.sizes == {"x": 3, "y": 11}
    assert table.encoding.schema is SCHEMA
    public = {name for name in dir(table) if not name.startswith("_")}
    # Of these only five touch rows, and only the ledger can call them.
    touching = {"count", "blocks", "values", "reveal", "malformed"}
    facts = {"schema", "encoding", "domain", "storage", "recoded", "check", "can_be_malformed"}
    assert public == facts | touching


def test_the_same_rows_under_other_facts_are_a_table_of_its_own():
    table = PrivateTable(ROWS, SCHEMA, most_cells=100)
    (before,) = table.count([("x", "y")])
    other = Schema((Column(name="x", kind=Kind.CATEGORICAL, categories=("b",)), SCHEMA["y"]))
    recoded = table.recoded(other)
    assert recoded.count([("x",)])[0].tolist() == [1, 2]
    assert recoded._most_cells == 100
    assert table.schema is SCHEMA
    np.testing.assert_array_equal(table.count([("x", "y")])[0], before)
    with pytest.raises(RowsAreSealed):
        pickle.dumps(recoded)


def test_what_a_table_says_of_the_values_in_it_hides_them_from_a_log():
    values = PrivateTable(ROWS, SCHEMA).values({"x": None, "y": None})
    assert sorted(values["x"].values.to_pylist()) == ["a", "b", "secret-4711"]
    assert "secret" not in repr(values)
    assert repr(values["y"]) == "ValueCounts()"


def test_rows_do_not_leave_by_pickle_copy_iteration_or_length():
    table = PrivateTable(ROWS, SCHEMA)
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(RowsAreSealed, match="stay where they are"):
            leave(table)
    for ask in (iter, len, list):
        with pytest.raises(TypeError):
            ask(table)
    with pytest.raises(AttributeError):
        table.note = "no room for attributes"


def test_answers_cannot_be_changed_behind_the_tables_back():
    table = PrivateTable(ROWS, SCHEMA)
    (count,) = table.count([("x", "y")])
    with pytest.raises(ValueError, match="read-only"):
        count[0, 0] = 7


def test_counts_are_asked_once():
    table = PrivateTable(ROWS, SCHEMA)
    (first,) = table.count([("x", "y")])
    table._counter = None  # whoever counts again now has to open the table again
    (again,) = table.count([("y", "x")])
    assert table._counter is None
    np.testing.assert_array_equal(first.T, again)
    weights = RowWeights.of({}, [], [512])
    (weighted,) = table.count([("x", "y")], weights)
    np.testing.assert_array_equal(weighted, 512 * first)


def test_the_cache_lets_the_oldest_go():
    cache = MarginalCache(most_bytes=40)
    for name in "abc":
        cache.keep((None, (name,)), np.zeros(2, np.int64))
    assert [cache.get((None, (name,))) is None for name in "abc"] == [True, False, False]
    cache.keep((None, ("huge",)), np.zeros(100, np.int64))
    assert cache.get((None, ("huge",))) is None


def test_a_requested_marginal_has_a_limit_and_the_product_of_all_columns_has_none():
    columns = tuple(
        Column(name=f"x{k}", kind=Kind.INTEGER, bounds=(0, 998), bins=999, null=False)
        for k in range(30)
    )
    row = pa.table({column.name: [1] for column in columns})
    table = PrivateTable(row, Schema(columns), most_cells=10**6)
    assert table.count([("x0", "x1")])[0].sum() == 1
    with pytest.raises(MarginalTooLarge, match="1,000,000,000 cells; the limit is 1,000,000"):
        table.count([("x0",), ("x0", "x1", "x2")])


def test_public_mistakes_in_a_request():
    table = PrivateTable(ROWS, SCHEMA)
    with pytest.raises(UnknownColumn, match="There is no column 'z'"):
        table.count([("z",)])
    with pytest.raises(BadInput, match="names x twice"):
        table.count([("x", "x")])
    with pytest.raises(BadInput, match="entries for 11 codes"):
        table.count([("x",)], RowWeights.of({"y": [1]}, [], [1]))
    with pytest.raises(BadInput, match="tuple of names"):
        table.count(["x"])
    assert table.count([]) == []
    with pytest.raises(SourceError, match="belongs to no engine"):
        PrivateTable(ibis.table({"x": "string"}, name="t"), SCHEMA)


def test_a_failing_engine_quotes_no_rows():
    engine = ibis.duckdb.connect()
    rows = engine.create_table("t", ROWS)
    # An expression that fails on the value of a row, as a broken view would.
    broken = rows.mutate(y=rows.x.cast("int64"))
    table = PrivateTable(broken, SCHEMA)
    with pytest.raises(SourceError, match="message is withheld") as caught:
        table.count([("x", "y")])
    assert "secret" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None
    # The engine's own error does quote the row: there was something to withhold.
    with pytest.raises(duckdb.ConversionException, match="secret-4711"):
        engine.con.sql(ibis.to_sql(broken)).fetchall()


def test_a_file_that_breaks_off_quotes_no_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\na,1\n")
    table = PrivateTable(path, SCHEMA)
    path.unlink()
    with pytest.raises(SourceError, match="cannot be read to its end"):
        table.count([("x",)])


def test_the_embedded_engine_keeps_rows_in_memory_and_speaks_utc():
    engine = EmbeddedEngine()
    for _ in range(2):
        settings = "temp_directory", "autoinstall_known_extensions", "TimeZone"
        values = [
            engine._backend.con.sql(f"SELECT current_setting('{s}')").fetchall()[0][0]
            for s in settings
        ]
        assert values == ["", False, "UTC"]
        engine.renew()


def test_one_cell_beside_many():
    # An index that fits a byte, made with a size that does not.
    for size in (256, 2**16):
        columns = (
            Column(name="a", kind=Kind.CATEGORICAL, categories=(), other="only", null=False),
            Column(name="b", kind=Kind.INTEGER, bounds=(0, size - 2), bins=size - 1, null=True),
        )
        rows = pa.table({"a": ["any"], "b": pa.array([None], pa.int64())})
        table = PrivateTable(rows, Schema(columns))
        assert table.domain.sizes == {"a": 1, "b": size}
        assert table.count([("a", "b")])[0][0, -1] == 1
        weights = RowWeights.of({"a": [1], "b": [0] * (size - 1) + [5]}, [6], [1, 7])
        assert table.count([("a", "b")], weights)[0][0, -1] == 7


@pytest.mark.untraced
def test_adding_or_removing_one_record_moves_one_cell_by_one():
    # All tables of up to two records over a small domain, and every record that can be added.
    cells = ["a", "zz", None]
    records = list(itertools.product(cells, [0, 9, None]))
    tables = [
        list(t) for n in range(3) for t in itertools.combinations_with_replacement(records, n)
    ]
    for rows in tables[::5]:
        before = _joint(rows)
        for record in records[::2]:
            change = _joint([*rows, record]) - before
            assert (change.sum(), np.abs(change).sum()) == (1, 1)


def _joint(rows):
    columns = list(zip(*rows, strict=True)) if rows else [[], []]
    source = pa.table(
        {"x": pa.array(columns[0], pa.string()), "y": pa.array(columns[1], pa.int64())}
    )
    return PrivateTable(source, SCHEMA).count([("x", "y")])[0]
