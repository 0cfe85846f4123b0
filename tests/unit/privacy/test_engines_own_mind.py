"""What an engine takes for equal, or keeps where it should not, changes no promise."""

import datetime as dt
import sqlite3

import ibis
import pyarrow as pa
import pytest

from understudy.column import Column, Kind, Role
from understudy.pipeline import synthesize
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.table import PrivateTable
from understudy.privacy.unit import Person
from understudy.privacy.values import LONGEST_VALUE, count_values
from understudy.privacy.weights import UNIT, RowWeights, ScoreTable
from understudy.schema import Schema

NAMES = Schema((Column(name="y", kind=Kind.CATEGORICAL, null=False),))


@pytest.fixture
def careless():
    """A table whose engine takes BoB and bob for the same; one record writes BoB."""
    connection = ibis.duckdb.connect()
    connection.con.execute("CREATE TABLE t (y VARCHAR COLLATE nocase)")
    connection.con.execute("INSERT INTO t VALUES ('BoB')")
    connection.con.execute("INSERT INTO t SELECT 'bob' FROM range(20000)")
    return connection.table("t")


def test_a_spelling_of_one_record_is_not_told_for_all_that_an_engine_takes_for_it(careless):
    for seed in range(5):
        release = synthesize(careless, schema=NAMES, epsilon=1.0, source=SeededForTests(seed))
        assert release.schema["y"].categories == ("bob",)


def told_apart(table, values):
    """Counts of listed labels, and which codes a condition on each names."""
    column = Column(name="y", kind=Kind.CATEGORICAL, categories=values, other="other", null=True)
    private = PrivateTable(table, Schema((column,)))
    return private.count([("y",)])[0].tolist()


def test_labels_that_an_engine_takes_for_one_are_told_apart(careless):
    assert told_apart(careless, ("BoB", "bob")) == [1, 20000, 0, 0]


def test_labels_that_a_collation_of_postgres_takes_for_one_are_told_apart(postgres_engine):
    postgres_engine.raw_sql(
        "CREATE COLLATION IF NOT EXISTS careless "
        "(provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
    )
    postgres_engine.raw_sql("CREATE TABLE careless_labels (y text COLLATE careless)")
    postgres_engine.raw_sql(
        """INSERT INTO careless_labels VALUES ('a'), ('A'), (' a '), ('á'), ('"'), (NULL), ('')"""
    )
    table = postgres_engine.table("careless_labels")
    assert told_apart(table, ("A", "a", '"')) == [1, 2, 1, 1, 2]


def test_persons_that_an_engine_takes_for_one_have_a_cap_each():
    connection = ibis.duckdb.connect()
    connection.con.execute("CREATE TABLE t (who VARCHAR COLLATE nocase, x INTEGER)")
    connection.con.execute("INSERT INTO t VALUES ('a', 1), ('a', 2), ('a', 3), ('A', 1), ('A', 2)")
    schema = Schema(
        (
            Column(name="who", kind=Kind.CATEGORICAL, role=Role.ID),
            Column(name="x", kind=Kind.INTEGER, bounds=(0, 9), null=False),
        )
    )
    ledger = Ledger.open(
        connection.table("t"),
        schema,
        Budget(1e3, 1e-9),
        unit=Person("who", 2),
        source=SeededForTests(0),
    )
    (total,) = ledger.measure([()], scale=0.1)
    assert float(total.values) == 4


def test_fractions_in_a_column_of_whole_numbers_are_categories_like_any_other(tmp_path):
    path = tmp_path / "loose.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (y INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?)", [(1.5,), (2,)] * 3000)
    connection.close()
    table = ibis.sqlite.connect(path).table("t")
    release = synthesize(table, schema=NAMES, epsilon=10.0)
    assert release.schema["y"].categories == ("1.5", "2")


@pytest.mark.parametrize("rows", [20, 20_000])
def test_declared_moments_of_stored_dates_make_a_release_of_any_size(rows):
    moments = (dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 12))  # noqa: DTZ001 - naive
    schema = Schema((Column(name="y", kind=Kind.DATETIME, atoms=moments),))
    table = pa.table({"y": pa.array([dt.date(2020, 1, 1)] * rows, pa.date32())})
    release = synthesize(table, schema=schema, epsilon=1.0)
    if rows == 20:  # too few to infer bounds: no date comes out of noise
        assert release.schema["y"].categories == ()
        assert release.data["y"].isna().all()
    else:
        assert release.schema["y"].kind is Kind.DATETIME


def test_free_text_is_not_held_while_values_are_counted():
    texts = ["short"] * 3 + ["long" * LONGEST_VALUE, "x" * LONGEST_VALUE]
    batch = pa.record_batch({"value0": pa.array(texts)})
    found = count_values([({}, batch)], {"y": "value0"}, {"y": None})["y"]
    counts = dict(zip(found.values.to_pylist(), found.counts.tolist(), strict=True))
    assert counts == {"short": 3, "x" * LONGEST_VALUE: 1}


@pytest.mark.parametrize("atoms", [3, 32])
@pytest.mark.parametrize("person", [None, Person("who", 1)], ids=["record", "person"])
def test_sqlite_counts_dates_however_many_atoms_they_have(atoms, person):
    # Written one within the other, codes of dates went beyond what its parser's stack holds.
    engine = ibis.sqlite.connect()
    engine.raw_sql('CREATE TABLE "t" ("day" TEXT, "kind" TEXT, "who" INTEGER)')
    engine.raw_sql("INSERT INTO \"t\" VALUES ('2000-01-01', 'x', 1), ('2000-07-01', 'y', 2)")
    first, last = dt.date(2000, 1, 1), dt.date(2001, 1, 1)
    values = (*(first + dt.timedelta(days=day) for day in range(atoms - 1)), last)
    day = Column(name="day", kind=Kind.DATE, bounds=(first, last), atoms=values, null=True)
    kind = Column(name="kind", kind=Kind.CATEGORICAL, categories=("x",), null=True)
    who = Column(name="who", kind=Kind.INTEGER, role=Role.ID)
    private = PrivateTable(engine.table("t"), Schema((day, kind, who)), person=person)
    sizes = private.domain.shape(("day", "kind"))
    scores = ScoreTable(("day", "kind"), sizes, tuple(k % 9 for k in range(sizes[0] * sizes[1])))
    half = UNIT // 2
    for tables in [(), (scores,)]:
        (total,) = private.count([()], RowWeights(tables, (), (half,)))
        assert total == 2 * half
    (days,) = private.count([("day",)])
    assert days.sum() == 2
    assert days[sizes[0] - 1 - atoms] == 1  # the first atom stands behind all bins
