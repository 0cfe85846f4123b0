"""Where rows of a foreign engine are coded: there by SQL, or here once where SQL would be long."""

import datetime as dt
import sqlite3

import ibis
import numpy as np
import pyarrow as pa
import pytest

from helpers.tables import load
from understudy.column import Column, Kind, Role
from understudy.encode.ibis_ops import is_utf8
from understudy.privacy import coded_rows
from understudy.privacy.table import PrivateTable
from understudy.privacy.unit import Person
from understudy.schema import Schema

GRADE = Column(name="grade", kind=Kind.CATEGORICAL, categories=("a", "b"), other="o", null=True)
POINTS = Column(name="points", kind=Kind.INTEGER, bounds=(0, 4), null=True)
PRICE = Column(name="price", kind=Kind.REAL, bounds=(0.0, 9.0), bins=3, prefix="$", null=True)
DAY = Column(
    name="day",
    kind=Kind.DATE,
    bounds=(dt.date(2020, 1, 1), dt.date(2020, 12, 31)),
    format="%d/%m/%Y",
    bins=4,
    null=True,
)
UNEQUAL = Column(name="points", kind=Kind.INTEGER, bounds=(0, 4), edges=(0, 1, 4), null=True)
ROWS = pa.table(
    {
        "who": ["p", "p", "p", "q", "r", "r"],
        "grade": ["a", " b ", "c", None, "a", ""],
        "points": ["0", "4", "x", None, " 2 ", "2"],
        "price": ["$1", "5", "x", "$8.5", None, "$0"],
        "day": ["01/02/2020", "31/12/2020", "2020-01-01", None, "30/02/2020", "1/1/2019"],
    }
)


@pytest.fixture
def asked(monkeypatch):
    """The queries whose rows travel."""
    queries = []
    batches = coded_rows.batches

    def counted(query, rows):
        queries.append(query)
        return batches(query, rows)

    monkeypatch.setattr(coded_rows, "batches", counted)
    return queries


def pairs_of(table):
    """All marginals of one and two columns, asked for one by one."""
    names = table.domain.names
    cliques = [(name,) for name in names] + [(a, b) for a in names for b in names if a < b]
    return [table.count([clique])[0] for clique in cliques]


@pytest.mark.parametrize("slow", [PRICE, DAY, UNEQUAL], ids=["marks", "format", "edges"])
def test_rows_are_read_once_where_sql_would_be_long(engine, asked, slow):
    schema, rows = Schema((GRADE, slow)), ROWS.select(["grade", slow.name])
    found = pairs_of(PrivateTable(load(engine, rows, "once"), schema))
    assert len(asked) == 1
    for one, other in zip(found, pairs_of(PrivateTable(rows, schema)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_do_not_travel_where_sql_is_short(engine, asked):
    schema, rows = Schema((GRADE, POINTS)), ROWS.select(["grade", "points"])
    found = pairs_of(PrivateTable(load(engine, rows, "short"), schema))
    assert asked == []
    for one, other in zip(found, pairs_of(PrivateTable(rows, schema)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("person", [None, Person("who", rows=1)])
def test_values_are_read_alike_wherever_text_is_coded(engine, person):
    columns = (Column(name="who", kind=Kind.CATEGORICAL, role=Role.ID), GRADE, POINTS, PRICE)
    wanted = {"grade": None, "points": None, "price": None}

    def values(data, *facts):
        table = PrivateTable(data, Schema((*columns, *facts)), person=person)
        # Rows whose codes tie are told apart by their values; only totals are alike.
        found = table.values(wanted)
        return {
            name: sorted(zip(one.values.to_pylist(), one.counts.tolist(), strict=True))
            for name, one in found.items()
        }

    there = values(load(engine, ROWS, "read"), DAY)
    if person is None:
        assert there == values(ROWS, DAY)
        assert there["grade"] == [("a", 2), ("b", 1), ("c", 1)]
        assert there["points"] == [(0, 1), (2, 2), (4, 1)]
        assert there["price"] == [(0.0, 1), (1.0, 1), (5.0, 1), (8.5, 1)]
    else:
        assert sum(count for _, count in there["points"]) <= 3
        assert {value for value, _ in there["points"]} <= {0, 2, 4}


def test_infinite_dates_break_no_fine_grid(postgres_engine):
    postgres_engine.raw_sql("CREATE TABLE endless (day date, at timestamp)")
    postgres_engine.raw_sql(
        "INSERT INTO endless VALUES ('infinity', '-infinity'), ('2020-01-02', '2020-01-02')"
    )
    days = tuple(dt.date(2020, 1, 1) + dt.timedelta(days=k) for k in range(0, 200, 2))
    moments = tuple(dt.datetime(day.year, day.month, day.day) for day in days)  # noqa: DTZ001
    schema = Schema(
        (
            Column(name="day", kind=Kind.DATE, bounds=(days[0], days[-1]), edges=days),
            Column(name="at", kind=Kind.DATETIME, bounds=(moments[0], moments[-1]), edges=moments),
        )
    )
    counts = PrivateTable(postgres_engine.table("endless"), schema).count([("day",), ("at",)])
    assert np.flatnonzero(counts[0]).tolist() == [0, 98]
    assert counts[1][0] == 2


ODD = (
    *(b"abc", b"", b"\x7f", b"\x80", b"\xc1\x81", b"\xff", b"a\x00b", b"a\x00\xff", b"\x00\x80"),
    *("é".encode(), "é".encode()[:1], b"\xed\xa0\x80", "a\U0001f600".encode(), b"x" * 100),
)


def test_sqlite_says_which_text_is_utf8(tmp_path):
    path = tmp_path / "odd.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (place BIGINT, x TEXT)")
    for place, one in enumerate(ODD):
        connection.execute(f"INSERT INTO t VALUES ({place}, CAST(x'{one.hex()}' AS TEXT))")
    connection.commit()
    connection.close()
    table = ibis.sqlite.connect(path).table("t")
    found = table.select(table.place, fits=is_utf8(table.x)).order_by("place").to_pyarrow()

    def decodes(one):
        try:
            one.decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True

    assert found["fits"].to_pylist() == [decodes(one) for one in ODD]
