"""Records that once changed what was inferred from others, each with the table that showed it."""

import datetime as dt
from decimal import Decimal

import ibis
import numpy as np
import pytest

from understudy.chosen import Chosen
from understudy.column import Column, Kind, Role
from understudy.privacy.table import PrivateTable
from understudy.privacy.unit import Person
from understudy.schema import Schema

OPEN = Schema(
    (
        Column(name="who", kind=Kind.UNKNOWN, role=Role.ID),
        Column(name="x", kind=Kind.UNKNOWN),
    )
)
FINE = tuple(float(edge) for edge in range(101))


def fine(kind, edges):
    """A column that is coded by a grid too fine for SQL."""
    return Schema((Column(name="x", kind=kind, edges=edges, null=True),))


def counted(table, schema, person=None, *, shapes=False):
    (cells,) = PrivateTable(table, schema, person=person, shapes=shapes).count([("x",)])
    return cells


# --- values that do not fit the type that an engine states ---------------------------------------


@pytest.mark.parametrize("stated", ["DECIMAL(10, 2)", "NUMERIC", "INTEGER", "REAL"])
@pytest.mark.parametrize(
    ("odd", "cell"),
    [(2**62 + 1, 99), (1e300, 99), (-1e300, 0), (-3.5, 0), (1.123456789012, 1), ("abc", 100)],
)
def test_a_value_that_its_column_should_not_hold_has_a_cell_and_moves_no_other(stated, odd, cell):
    engine = ibis.sqlite.connect()
    engine.con.execute(f"CREATE TABLE t (x {stated})")
    engine.con.executemany("INSERT INTO t VALUES (?)", [(value / 4,) for value in range(400)])
    schema = fine(Kind.REAL, FINE)
    before = counted(engine.table("t"), schema)
    engine.con.execute("INSERT INTO t VALUES (?)", (odd,))
    added = counted(engine.table("t"), schema) - before
    assert added.sum() == 1
    assert added[[*{cell, 100}]].sum() == 1  # an unbounded decimal beyond all digits is missing


@pytest.mark.parametrize(
    ("stated", "kind", "edges", "odd"),
    [
        ("NUMERIC", Kind.REAL, FINE, "1e300"),
        ("NUMERIC", Kind.REAL, FINE, "'NaN'"),
        ("NUMERIC", Kind.REAL, FINE, "1.1234567890123456789012345678901234567890123"),
        ("DOUBLE PRECISION", Kind.REAL, FINE, "'infinity'"),
        ("TIMESTAMP", Kind.DATETIME, None, "'infinity'"),
        ("TIMESTAMP", Kind.DATETIME, None, "'20000-01-01'"),
        ("DATE", Kind.DATE, None, "'-infinity'"),
    ],
)
def test_postgres_reads_what_no_type_of_ours_can_hold(postgres_engine, stated, kind, edges, odd):
    start = dt.datetime(2020, 1, 1)  # noqa: DTZ001 - columns are naive
    days = [start + dt.timedelta(days=k) for k in range(101)]
    if kind is Kind.DATE:
        days = [day.date() for day in days]
    schema = fine(kind, edges or tuple(days))
    rows = [Decimal(k) / 4 for k in range(400)] if edges else days
    cells = ", ".join(f"({one!s})" if edges else f"('{one}')" for one in rows)
    postgres_engine.raw_sql("DROP TABLE IF EXISTS odd_values").close()
    postgres_engine.raw_sql(f"CREATE TABLE odd_values (x {stated})").close()
    postgres_engine.raw_sql(f"INSERT INTO odd_values VALUES {cells}").close()
    before = counted(postgres_engine.table("odd_values"), schema)
    postgres_engine.raw_sql(f"INSERT INTO odd_values VALUES ({odd})").close()
    added = counted(postgres_engine.table("odd_values"), schema) - before
    assert sorted(added[added != 0].tolist()) == [1]


# --- a row without an id, and the ids of others ---------------------------------------------------


@pytest.mark.parametrize("engine", ["sqlite", "postgres"], indirect=True)
def test_a_row_of_nobody_makes_no_two_persons_one(engine):
    """Beside a missing id, whole numbers from 2**53 on once travelled as rounded doubles."""
    table = f"persons_{engine.name}"
    engine.raw_sql(f"DROP TABLE IF EXISTS {table}").close()
    engine.raw_sql(f"CREATE TABLE {table} (who BIGINT, x TEXT)").close()
    cells = ", ".join(f"({2**60 + k}, 'a')" for k in range(50))
    engine.raw_sql(f"INSERT INTO {table} VALUES {cells}").close()
    person = Person("who", 1)
    before = counted(engine.table(table), OPEN, person, shapes=True)
    assert before.sum() == 50
    engine.raw_sql(f"INSERT INTO {table} VALUES (NULL, 'a')").close()
    np.testing.assert_array_equal(counted(engine.table(table), OPEN, person, shapes=True), before)


# --- names of parameters -------------------------------------------------------------------------


def test_a_parameter_that_is_called_like_a_column_does_not_name_it():
    """Such a column was once exempt from being recognised as personal."""
    chosen = Chosen.of(epsilon=1.0, delta=1e-9, target="y", parents=["causes"])
    assert {"y", "causes"} <= chosen.personal.used
    assert not {"labels", "split", "target", "also"} & chosen.personal.used
