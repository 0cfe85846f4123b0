"""Public facts are checked when they are stated."""

import datetime as dt

import pytest

from understudy.column import Column, Kind, Role, Source
from understudy.errors import SchemaError, UnknownColumn
from understudy.schema import Schema

NOW = dt.datetime(2020, 1, 1, 12, 30, 15, 999, dt.timezone(dt.timedelta(hours=2)))

EARLIEST = dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2)))

WRONG = [
    ("needs a name", {"name": "", "kind": Kind.BOOLEAN}),
    ("belong to categorical", {"kind": Kind.REAL, "categories": ("a",)}),
    ("belong to categorical", {"kind": Kind.BOOLEAN, "other": "x"}),
    ("belong to categorical", {"kind": Kind.BOOLEAN, "categories": ([1],)}),
    ("list is empty", {"kind": Kind.ORDINAL, "categories": ()}),
    ("all strings or all integers", {"kind": Kind.ORDINAL, "categories": ("a", 1)}),
    ("all strings or all integers", {"kind": Kind.ORDINAL, "categories": (1, True)}),
    ("may not be empty", {"kind": Kind.ORDINAL, "categories": ("a", " ")}),
    ("categories repeated: a", {"kind": Kind.ORDINAL, "categories": ("a", "b", " a")}),
    ("within ±2", {"kind": Kind.ORDINAL, "categories": (2**60,)}),
    ("needs categories that are strings", {"kind": Kind.ORDINAL, "categories": (1,), "other": "x"}),
    ("not itself a category", {"kind": Kind.ORDINAL, "categories": ("a",), "other": " a "}),
    ("not itself a category", {"kind": Kind.ORDINAL, "categories": ("a",), "other": " "}),
    ("bounds, atoms belong to", {"kind": Kind.BOOLEAN, "bounds": (0, 1), "atoms": (0,)}),
    ("bins belong to", {"kind": Kind.UNKNOWN, "bins": 3}),
    ("belong to categorical", {"kind": Kind.UNKNOWN, "categories": ("a",)}),
    ("reversed: 9 is greater than 1", {"kind": Kind.INTEGER, "bounds": (9, 1)}),
    ("reversed", {"kind": Kind.DATE, "bounds": (dt.date(2021, 1, 1), dt.date(2020, 1, 1))}),
    ("two values", {"kind": Kind.INTEGER, "bounds": (1, 2, 3)}),
    ("must differ", {"kind": Kind.REAL, "bounds": (1, 1)}),
    ("must be finite", {"kind": Kind.REAL, "bounds": (0, float("inf"))}),
    ("must be finite", {"kind": Kind.REAL, "atoms": (float("nan"),)}),
    ("must be integers", {"kind": Kind.INTEGER, "bounds": (0, 1.5)}),
    ("must be integers", {"kind": Kind.INTEGER, "bounds": (0, 2**53)}),
    ("values of a date column", {"kind": Kind.DATE, "bounds": (0, 1)}),
    ("values of an integer column", {"kind": Kind.INTEGER, "bounds": (0, True)}),
    ("between 1 and", {"kind": Kind.INTEGER, "bounds": (0, 9), "bins": 0}),
    ("between 1 and", {"kind": Kind.INTEGER, "bounds": (0, 9), "bins": 10**6}),
    ("bins must be int, not float", {"kind": Kind.INTEGER, "bounds": (0, 9), "bins": 2.5}),
    ("null must be bool, not str", {"kind": Kind.BOOLEAN, "null": "no"}),
    ("categories must be a list", {"kind": Kind.ORDINAL, "categories": "abc"}),
    ("bounds must be a list", {"kind": Kind.INTEGER, "bounds": 5}),
    ("other must be str", {"kind": Kind.ORDINAL, "other": 5}),
    ("belong to categorical", {"kind": Kind.INTEGER, "categories_file": "x.txt"}),
    ("without NUL", {"name": "x\ud800", "kind": Kind.BOOLEAN}),
    ("kind is unknown; use one of categorical", {"kind": "reel"}),
    ("must be finite", {"kind": Kind.INTEGER, "bounds": (0, 10**400)}),
    ("years 1 to 9999", {"kind": Kind.DATETIME, "bounds": (EARLIEST, EARLIEST)}),
    ("at most 32 atoms", {"kind": Kind.INTEGER, "atoms": tuple(range(33))}),
    ("half a character", {"kind": Kind.ORDINAL, "categories": ("a\ud800",)}),
    ("half a character", {"kind": Kind.ORDINAL, "categories": ("a\0",)}),
    ("not both", {"kind": Kind.INTEGER, "edges": (0, 9), "bins": 2}),
    ("at least two", {"kind": Kind.INTEGER, "edges": (0,)}),
    ("at most", {"kind": Kind.INTEGER, "edges": tuple(range(1026))}),
    ("must increase", {"kind": Kind.INTEGER, "edges": (0, 5, 5)}),
    ("equal the bounds", {"kind": Kind.INTEGER, "edges": (0, 5), "bounds": (0, 6)}),
    ("atoms repeated", {"kind": Kind.INTEGER, "atoms": (0, 0.0)}),
    ("format belongs to date", {"kind": Kind.INTEGER, "format": "%Y"}),
    ("%Y %m %d %b %B %H %M %S %I %p %z, each once", {"kind": Kind.DATE, "format": "%Y-%m-%d %Y"}),
    ("%Y %m %d %b %B %H %M %S %I %p %z, each once", {"kind": Kind.DATE, "format": "%d %j %Y"}),
    ("one of %m, %b and %B", {"kind": Kind.DATE, "format": "%d %m %B %Y"}),
    ("24 or of 12 hours", {"kind": Kind.DATETIME, "format": "%d %m %Y %I:%M"}),
    ("belong to integer and real", {"kind": Kind.DATE, "decimal": ","}),
    ("decimal must be one of", {"kind": Kind.REAL, "decimal": ";"}),
    ("different marks", {"kind": Kind.REAL, "thousands": "."}),
    ("prefix must have", {"kind": Kind.REAL, "prefix": "1$"}),
    ("decimals must be a whole number", {"kind": Kind.REAL, "decimals": 13}),
    ("needs a number of decimals", {"kind": Kind.REAL, "padded": True}),
    ("step must be a number above 0", {"kind": Kind.REAL, "step": 0}),
    ("must be a whole number", {"kind": Kind.INTEGER, "step": 0.5}),
    ("spelling belongs to boolean", {"kind": Kind.REAL, "spelling": ("N", "Y")}),
    ("spelling must be two texts", {"kind": Kind.BOOLEAN, "spelling": ("N",)}),
    ("more than their case", {"kind": Kind.BOOLEAN, "spelling": ("y", "Y")}),
    ("belong to identifiers", {"kind": Kind.REAL, "regenerate": True}),
    ("must hold a #", {"kind": Kind.CATEGORICAL, "role": "id", "pattern": "C-"}),
    ("must contain %Y, %d and the month", {"kind": Kind.DATE, "format": "%Y-%m"}),
    ("between its parts", {"kind": Kind.DATE, "format": "(%Y-%m-%d)"}),
]


@pytest.mark.parametrize(("message", "facts"), WRONG)
def test_contradictory_facts_are_refused(message, facts):
    with pytest.raises(SchemaError, match=message):
        Column(**{"name": "x"} | facts)


def test_values_take_the_columns_own_type():
    assert Column(name="x", kind=Kind.INTEGER, bounds=(0.0, 9)).bounds == (0, 9)
    day = dt.date(2020, 1, 1)
    assert Column(name="x", kind=Kind.DATE, bounds=(NOW, NOW)).bounds == (day, day)
    moments = Column(name="x", kind=Kind.DATETIME, bounds=(day, NOW)).bounds
    assert moments == (dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 10, 30, 15))  # noqa: DTZ001


def test_edges_imply_bounds():
    assert Column(name="x", kind=Kind.REAL, edges=(0, 1, 5)).bounds == (0, 5)


def test_silence_is_listed_and_asks_nothing_of_columns_that_stay_home():
    schema = Schema(
        (
            Column(name="a", kind=Kind.INTEGER),
            Column(name="b", kind=Kind.CATEGORICAL, role=Role.DROP),
            Column(name="c", kind=Kind.BOOLEAN, null=True),
            Column(name="d", kind=Kind.ORDINAL, null=False),
            Column(name="e", kind=Kind.UNKNOWN),
            Column(name="f", kind=Kind.UNKNOWN, null=True),
            Column(name="g", kind=Kind.UNKNOWN, role=Role.ID),
        )
    )
    assert schema.silent == {
        "a": ("bounds", "null"),
        "d": ("categories",),
        "e": ("kind", "null"),
        "f": ("kind",),
    }
    assert [column.name for column in schema.coded] == ["a", "c", "d", "e", "f"]


def test_a_schema_is_a_collection_of_columns():
    columns = (
        Column(name="a", kind=Kind.BOOLEAN, role=Role.TARGET),
        Column(name="b", kind=Kind.BOOLEAN, source=Source.DATA),
    )
    schema = Schema(columns)
    assert schema.target == "a"
    assert tuple(schema) == columns
    assert len(schema) == 2
    assert schema["b"].source is Source.DATA
    assert Schema(columns[1:]).target is None
    with pytest.raises(UnknownColumn):
        schema["z"]


def test_contradictory_schemas_are_refused():
    column = Column(name="a", kind=Kind.BOOLEAN, role=Role.TARGET)
    other = Column(name="b", kind=Kind.BOOLEAN, role=Role.TARGET)
    with pytest.raises(SchemaError, match="at least one column"):
        Schema(())
    with pytest.raises(SchemaError, match="named twice in the schema: a"):
        Schema((column, column))
    with pytest.raises(SchemaError, match="at most one target"):
        Schema((column, other))
    with pytest.raises(SchemaError, match="whole number, at least 1"):
        Schema((column,), rows_bound=0)


def test_roles_given_beside_a_schema_go_before_its_own():
    schema = Schema(
        (
            Column(name="a", kind=Kind.BOOLEAN, role=Role.TARGET),
            Column(name="b", kind=Kind.BOOLEAN, null=True),
            Column(name="c", kind=Kind.BOOLEAN, role=Role.PROTECTED),
        )
    )
    other = schema.with_roles({"b": Role.TARGET, "c": Role.DROP})
    assert [column.role for column in other] == [Role.FEATURE, Role.TARGET, Role.DROP]
    assert other["b"].null is True
    assert schema.with_roles({"b": Role.ID}).target == "a"
    assert schema.with_roles({}) == schema
    with pytest.raises(UnknownColumn, match="'z'"):
        schema.with_roles({"z": Role.DROP})
    with pytest.raises(SchemaError, match="at most one target"):
        schema.with_roles({"b": Role.TARGET, "c": Role.TARGET})


def test_a_schema_describes_exactly_the_columns_that_are_there():
    schema = Schema((Column(name="a", kind=Kind.BOOLEAN), Column(name="b", kind=Kind.BOOLEAN)))
    schema.check_names(["b", "a"])
    with pytest.raises(SchemaError, match=r"does not have: b\. The table has: a, c"):
        schema.check_names(["a", "c"])
    with pytest.raises(SchemaError, match=r"does not mention: c\..*found out.*drop"):
        schema.check_names(["a", "b", "c"])


def test_who_states_the_bound_on_rows_may_be_a_plain_word():
    columns = (Column(name="x", kind=Kind.BOOLEAN, null=False),)
    assert Schema(columns, rows_bound=9, rows_source="data").rows_source is Source.DATA
    with pytest.raises(SchemaError, match="source of the bound on rows is unknown"):
        Schema(columns, rows_bound=9, rows_source="hearsay")
