"""Ids of different persons that were taken for one, or that stopped a release.

Two persons under one id share a person's rows: without the one, rows of the other take their
place, so that up to 2 k rows change where k were promised.
"""

from decimal import Decimal

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from understudy.column import Column, Kind, Role
from understudy.privacy import people
from understudy.privacy.table import PrivateTable
from understudy.privacy.unit import Person
from understudy.schema import Schema

SCHEMA = Schema(
    (
        Column(name="who", kind=Kind.CATEGORICAL, role=Role.ID),
        Column(name="x", kind=Kind.INTEGER, bounds=(0, 9), null=False),
    )
)
NEXT = 0.1 + 2**-55
"""The double after 0.1: SQLite writes both alike."""


def loose(declared, ids):
    engine = ibis.sqlite.connect()
    with engine.begin() as cursor:
        cursor.execute(f"CREATE TABLE t (who {declared}, x INTEGER)")
        cursor.executemany("INSERT INTO t VALUES (?, ?)", [(who, 1) for who in ids])
    return engine.table("t")


def persons(table):
    """How many persons there seem to be, where each counts once."""
    return int(PrivateTable(table, SCHEMA, person=Person("who", 1)).count([()])[0])


@pytest.mark.parametrize("declared", ["INTEGER", "BIGINT", "SMALLINT", "TINYINT"])
def test_what_is_no_whole_number_identifies_nobody_in_sqlite(declared):
    # Small types were cast first: all words became person 0, and 1.5 became person 1.
    assert persons(loose(declared, [0, 1, 1, 1.5, "abc", "unknown", b"\xff", 9e99, None])) == 2


@pytest.mark.parametrize(
    ("declared", "ids", "count"),
    [
        ("BLOB", [b"\xff\xfe", b"\xff\xfe", b"\xff\xfd", b"a\x00b", b"a\x00c", b"", None], 4),
        ("BLOB COLLATE NOCASE", ["a", "A", b"a", 1, NEXT, 0.1], 5),
        ("UUID", [b"\xff" * 16, "f" * 32, "F" * 32], 3),
        ("REAL", [0.1, NEXT, 0.1, 2.0**53], 2),
        ("DECIMAL(10, 0)", [1, 1.0, 2**53, 2**53 + 1, 1e19, 1.0000000000000002e19], 3),
        ("DATE", [0.1, NEXT, "2020-01-01", "2020-01-01 "], 3),
    ],
)
def test_sqlite_tells_persons_apart_as_they_are_stored(declared, ids, count):
    # Bytes that are no text stopped the release, and fractions were compared by 15 digits.
    assert persons(loose(declared, ids)) == count


def test_decimals_tell_persons_apart_by_all_their_digits(engine):
    ids = ["123456789012345.6788", "123456789012345.6789", "1.5", "1.5", "100", "10"]
    who = pa.array(map(Decimal, ids), pa.decimal128(20, 4))
    table = pa.table({"who": who, "x": [1] * len(ids)})
    if engine.name == "sqlite":  # keeps decimals as doubles
        return
    elsewhere = engine.create_table("decimal_ids", table, overwrite=True)
    assert persons(table) == persons(elsewhere) == 5


def test_decimals_of_any_scale_are_the_same_person(postgres_engine):
    postgres_engine.raw_sql("CREATE TABLE any_scale (who numeric, x int)")
    postgres_engine.raw_sql(
        "INSERT INTO any_scale SELECT v::numeric, 1 FROM unnest(ARRAY["
        "'1', '1.0', '1.00', '10', '9007199254740992', '9007199254740993', 'NaN']) AS v"
    )
    assert persons(postgres_engine.table("any_scale")) == 4


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame])
def test_large_numbers_of_single_precision_identify_nobody(make):
    ids = np.array([1, 2, 2**24 - 1, 2**24, 2**24 + 2], np.float32)
    assert persons(make({"who": ids, "x": np.ones(len(ids), int)})) == 3
    if make is pd.DataFrame:
        assert persons(make({"who": pd.Series(list(ids), dtype=object), "x": 1})) == 3


def test_moments_identify_persons_by_all_their_digits():
    moments = pd.to_datetime(["2020-01-01 00:00:00.1", "2020-01-01 00:00:00.2", None, None])
    for who in (moments, moments.tz_localize("Europe/Berlin"), moments.astype(object)):
        assert persons(pd.DataFrame({"who": who, "x": 1})) == 2


def test_rows_of_a_person_that_a_collation_takes_for_the_same_are_ordered(monkeypatch):
    # Whose spelling was told depended on the order in which the engine found the rows.
    monkeypatch.setattr(people, "_key", lambda: 7)
    schema = Schema((SCHEMA["who"], Column(name="y", kind=Kind.CATEGORICAL, categories=("z",))))
    told = []
    for spellings in (["a", "A"], ["A", "a"]):
        engine = ibis.duckdb.connect()
        engine.con.execute("CREATE TABLE t (who INTEGER, y VARCHAR COLLATE nocase)")
        engine.con.executemany("INSERT INTO t VALUES (1, ?)", [[one] for one in spellings])
        table = PrivateTable(engine.table("t"), schema, person=Person("who", 1))
        told.append(table.values({"y": None})["y"].values.to_pylist())
    assert told[0] == told[1]


@pytest.mark.parametrize("where", ["arrow", "duckdb", "sqlite", "postgres"])
def test_long_whole_numbers_are_one_person_however_they_are_written(where, request):
    # Ids beyond 2**52 were compared as text: the rows of one person counted once for each spelling.
    # Others were compared as doubles, for which a small fraction is none.
    long = "110101199003071234"
    ids = [long, f"0{long}", f"+{long}", f"{long}.0", f" {long}. ", "0" * 70 + long]
    ids += [f"-{long}", f"-00{long}", f"{long}5", f"{long}.5", f"{long}x"]
    ids += ["7", "007", "0" * 70 + "7", "7.00000000000000000001"]
    ids += ["1000", "1e3", "0", "-0", "0" * 70, "0.0"]
    table = pa.table({"who": ids, "x": [1] * len(ids)})
    if where != "arrow":
        engine = request.getfixturevalue(f"{where}_engine")
        table = engine.create_table("long_ids", table, overwrite=True)
    schema = Schema((Column(name="who", kind=Kind.INTEGER, role=Role.ID), SCHEMA["x"]))
    kept = PrivateTable(table, schema, person=Person("who", 1))
    assert int(kept.count([()])[0]) == 9
