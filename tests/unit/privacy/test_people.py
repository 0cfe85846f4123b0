"""At most k rows of each person count, and nobody's rows depend on somebody else."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from helpers.tables import load
from understudy.column import Column, Kind, Role
from understudy.encode import Encoding
from understudy.errors import BadInput, SourceError, UnknownColumn
from understudy.experiments.demo import demo_schema, demo_table
from understudy.privacy import people
from understudy.privacy.table import PrivateTable
from understudy.privacy.unit import Person
from understudy.schema import Schema

SCHEMA = Schema(
    (
        Column(name="who", kind=Kind.CATEGORICAL, role=Role.ID),
        Column(name="x", kind=Kind.INTEGER, bounds=(0, 49), null=False),
        Column(name="y", kind=Kind.INTEGER, bounds=(0, 3), null=False),
    )
)


def visits(people_, rows, seed=0, kind=None):
    """One row per visit; person p visits only where x is in their own ten cells."""
    rng = np.random.default_rng(seed)
    who = rng.integers(0, people_, rows)
    x = who * 10 + rng.integers(0, 10, rows)
    ids = pa.array([f"p{w}" for w in who]) if kind is None else pa.array(who).cast(kind)
    return pa.table({"who": ids, "x": x, "y": rng.integers(0, 4, rows)})


@pytest.fixture
def fixed_key(monkeypatch):
    """The same secret in every table that is opened."""

    def fix():
        keys = itertools.count(12345, 7919)
        monkeypatch.setattr(people, "_key", lambda: next(keys))

    return fix


def counted(source, k, cliques=(("x", "y"),)):
    return PrivateTable(source, SCHEMA, person=Person("who", k)).count(list(cliques))


def by_person(count):
    """Return how many visits of each of five people count; every value has a code of its own."""
    assert count[-1].sum() == count[:, -1].sum() == 0, "the hidden codes count nothing"
    return count[:-1].sum(axis=1).reshape(5, 10).sum(axis=1)


@pytest.mark.parametrize("kind", [None, pa.int64(), pa.uint64(), pa.float64()])
@pytest.mark.parametrize("k", [1, 3, 1000])
def test_nobody_counts_more_than_k_times_and_nobody_less_than_they_may(k, kind):
    table = visits(5, 200, kind=kind)
    (count,) = counted(table, k)
    held = np.bincount(table["x"].to_numpy() // 10, minlength=5)
    np.testing.assert_array_equal(by_person(count), np.minimum(held, k))


def test_every_engine_keeps_at_most_k(engine):
    table = visits(5, 100)
    (count,) = counted(load(engine, table, "visits"), 2)
    assert (by_person(count) == 2).all()
    numbered = table.set_column(0, "who", pa.array(table["x"].to_numpy() // 10 - 2))
    (count,) = counted(load(engine, numbered, "visits"), 2)
    assert (by_person(count) == 2).all()


def test_all_engines_keep_the_same_rows_of_numbered_people(engine, fixed_key):
    table = visits(5, 60, kind=pa.int64())
    fixed_key()
    (embedded,) = counted(table, 2)
    fixed_key()
    (elsewhere,) = counted(load(engine, table, "visits"), 2)
    np.testing.assert_array_equal(embedded, elsewhere)


def test_counts_of_one_table_are_about_the_same_rows(engine):
    table = PrivateTable(load(engine, visits(5, 100), "visits"), SCHEMA, person=Person("who", 2))
    (joint,) = table.count([("x", "y")])
    x, y, total = table.count([("x",), ("y",), ()])
    np.testing.assert_array_equal(joint.sum(axis=1), x)
    np.testing.assert_array_equal(joint.sum(axis=0), y)
    assert total == joint.sum() == 10


def test_removing_a_person_changes_nobody_elses_rows(fixed_key):
    table = visits(5, 200)
    fixed_key()
    (whole,) = counted(table, 3)
    for person in range(5):
        fixed_key()
        (without,) = counted(table.filter(pa.array(table["x"].to_numpy() // 10 != person)), 3)
        rest = np.delete(np.arange(50), np.arange(person * 10, person * 10 + 10))
        np.testing.assert_array_equal(whole[rest], without[rest])
        assert np.abs(whole - without).sum() == 3


def test_the_order_of_rows_does_not_matter(fixed_key):
    table = visits(5, 200)
    shuffled = table.take(np.random.default_rng(1).permutation(200))
    fixed_key()
    (one,) = counted(table, 3)
    fixed_key()
    (other,) = counted(shuffled, 3)
    np.testing.assert_array_equal(one, other)


def test_the_key_is_secret_and_new_for_every_table():
    table = visits(5, 200)
    distinct = {counted(table, 1)[0].tobytes() for _ in range(10)}
    assert len(distinct) > 5


def test_blanks_around_an_id_do_not_make_another_person():
    ids = ["p", " p", "p ", "\tp", "q"]
    table = pa.table({"who": ids * 3, "x": list(range(15)), "y": [0] * 15})
    assert counted(table, 2)[0].sum() == 4


def test_rows_without_an_id_are_nobodys_and_never_count():
    # Counting them as one person's would let one stranger's row take another's place.
    table = pa.table({"who": [None, "", " ", "p"] * 5, "x": [1] * 20, "y": [0] * 20})
    assert counted(table, 3)[0].sum() == 3


def test_an_id_is_the_same_however_a_number_is_written():
    columns = (Column(name="who", kind=Kind.INTEGER, role=Role.ID), *SCHEMA.columns[1:])
    ids = ["1", "01", " 1", "1.0", "+1", "2", "P1", " P1", str(10**17), str(10**17 + 1), None]
    table = pa.table({"who": ids, "x": list(range(11)), "y": [0] * 11})
    capped = PrivateTable(table, Schema(columns), person=Person("who", 1))
    assert capped.count([()])[0] == 5
    wide = table.set_column(
        0, "who", pa.array([2**64 - 1 - k // 2 for k in range(11)], pa.uint64())
    )
    assert PrivateTable(wide, Schema(columns), person=Person("who", 1)).count([()])[0] == 6


@pytest.mark.statistical
def test_each_of_a_persons_rows_is_as_likely_to_stay():
    # 3,000 people with the same ten rows each; one row of each stays.
    rows = [(f"p{p}", x, 0) for p in range(3000) for x in range(10)]
    table = pa.table(list(zip(*rows, strict=True)), ["who", "x", "y"])
    chi_squares = []
    for _ in range(20):  # as many keys: a weak hash spreads evenly under most
        (count,) = counted(table, 1, [("x",)])
        kept = count[:10]
        assert kept.sum() == 3000
        chi_squares.append(((kept - 300) ** 2 / 300).sum())
    # χ² with 180 degrees of freedom exceeds 320 once in a billion runs; a hash that squares only
    # once gives about 430, and keeping one row twice as often as the others about 5,000.
    assert sum(chi_squares) < 320


def test_ids_that_are_no_numbers_in_a_column_of_doubles():
    ids = [0.0, -0.0, 1.5, float("nan"), None, float("inf")]
    table = pa.table({"who": ids * 3, "x": list(range(18)), "y": [0] * 18})
    assert counted(table, 1)[0].sum() == 2


def test_ids_of_other_types_in_a_loose_engine(sqlite_engine):
    sqlite_engine.drop_table("loose_ids", force=True)
    with sqlite_engine.begin() as cursor:
        cursor.execute("CREATE TABLE loose_ids (who TEXT, x INTEGER, y INTEGER)")
        cursor.execute("INSERT INTO loose_ids VALUES ('p', 1, 1), ('p', 2, 1), (x'ff', 3, 1)")
        cursor.execute("INSERT INTO loose_ids VALUES (CAST(x'ff' AS TEXT), 4, 1)")
    assert counted(sqlite_engine.table("loose_ids"), 1)[0].sum() == 1


@pytest.mark.parametrize("declared", ["INTEGER", "BIGINT", "TEXT"])
def test_a_loose_column_of_ids_may_hold_anything(declared, sqlite_engine):
    sqlite_engine.drop_table("odd_ids", force=True)
    with sqlite_engine.begin() as cursor:
        cursor.execute(f"CREATE TABLE odd_ids (who {declared}, x INTEGER, y INTEGER)")
        ids = ["1", "1", "2", "'abc'", "x'ff'", "7.5", "9e999", "NULL"]
        for place, who in enumerate(ids):
            cursor.execute(f"INSERT INTO odd_ids VALUES ({who}, {place}, 1)")
    for kind in (Kind.CATEGORICAL, Kind.INTEGER):
        schema = Schema((Column(name="who", kind=kind, role=Role.ID), *SCHEMA.columns[1:]))
        table = PrivateTable(sqlite_engine.table("odd_ids"), schema, person=Person("who", 1))
        (count,) = table.count([("x",)])
        assert count[:2].sum() == count[2] == 1
        assert count.sum() >= 2


def test_ids_that_cannot_be_compared_are_refused():
    table = pa.table({"who": [[1]], "x": [1], "y": [1]})
    with pytest.raises(SourceError, match="array<int64>"):
        counted(table, 1)


def test_universal_ids():
    ids = [bytes([k // 2] * 16) for k in range(6)]
    table = pa.table({"who": pa.array(ids, pa.uuid()), "x": list(range(6)), "y": [0] * 6})
    assert counted(table, 1)[0].sum() == 3


def test_extreme_ids_are_people_too():
    ids = [-(2**63), 2**63 - 1, 0, -1, None]
    table = pa.table({"who": ids * 4, "x": list(range(20)), "y": [0] * 20})
    assert counted(table, 2)[0].sum() == 8


def test_mistakes_are_refused():
    table = visits(2, 3)
    with pytest.raises(UnknownColumn, match="whom"):
        PrivateTable(table, SCHEMA, person=Person("whom", 1))
    with pytest.raises(BadInput, match='give it role = "id"'):
        PrivateTable(table, SCHEMA, person=Person("x", 1))
    for rows in (0, 1.5, float("inf"), True):
        with pytest.raises(BadInput, match="whole number, at least 1"):
            Person("who", rows)


@pytest.mark.untraced
@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_labels_numbers_and_dates_of_a_person_all_take_part(engine, request):
    # Codes are held in as few bits as they need, and the keys they are multiplied by are long.
    table = demo_table(500)
    expected = Encoding(demo_schema()).codes(table)["age"]
    elsewhere = load(request.getfixturevalue(f"{engine}_engine"), table, "demo_people")
    for source in (table, elsewhere):
        for _ in range(3):
            private = PrivateTable(source, demo_schema(), person=Person("patient_id", 50))
            np.testing.assert_array_equal(
                private.count([("age",)])[0], np.bincount(expected, minlength=9)
            )


def test_a_collation_takes_no_two_persons_for_one(postgres_engine):
    postgres_engine.raw_sql(
        "CREATE COLLATION blind (provider=icu, locale='und-u-ks-level2', deterministic=false)"
    )
    postgres_engine.raw_sql("CREATE TABLE visits_blind (who text COLLATE blind, x int, y int)")
    postgres_engine.raw_sql("INSERT INTO visits_blind VALUES ('P', 1, 1), ('p', 2, 2), ('p', 3, 3)")
    table = PrivateTable(postgres_engine.table("visits_blind"), SCHEMA, person=Person("who", 1))
    (count,) = table.count([()])
    assert count.item() == 2
