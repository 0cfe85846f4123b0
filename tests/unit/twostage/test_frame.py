"""Rows as numbers and labels: by what they hold, and by what the schema says of them."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from understudy.column import Column, Kind, Role, Source
from understudy.encode import Encoding
from understudy.schema import Schema
from understudy.twostage.frame import Frame, facts_of, known_labels, table_of

DATA = {
    "real": pa.array([1.5, None, float("nan"), float("inf")]),
    "whole": pa.array([1, 2, None, 4]),
    "text numbers": pa.array([" 1", "2.5", "", None]),
    "words": pa.array(["a ", " b", "  ", None]),
    "mixed": pa.array(["1", "2", "x", None]),
    "yes": pa.array([True, False, None, True]),
    "days": pa.array([dt.date(2020, 1, 1), None, dt.date(2021, 1, 1), None]),
    "blank": pa.array(["", " ", None, ""]),
    "nothing": pa.nulls(4),
}
NUMBERS = {"real", "whole", "text numbers", "nothing"}


def schema_of(kinds=None, **facts):
    named = dict.fromkeys(DATA, Kind.UNKNOWN) | (kinds or {})
    return Schema(tuple(Column(name=name, kind=kind, **facts) for name, kind in named.items()))


def frame(kinds=None):
    return Frame.of(pa.table(DATA), schema_of(kinds))


def test_what_is_all_numbers_is_numbers_and_the_rest_labels():
    found = frame()
    assert {*found.numbers} == NUMBERS
    assert {*found.labels} == {*DATA} - NUMBERS
    np.testing.assert_array_equal(found.numbers["real"], [1.5, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(found.numbers["text numbers"], [1, 2.5, np.nan, np.nan])
    assert found.labels["words"].tolist() == ["a", "b", None, None]
    assert found.labels["yes"].tolist() == ["true", "false", None, "true"]
    assert found.labels["days"].tolist() == ["2020-01-01", None, "2021-01-01", None]
    assert found.labels["blank"].tolist() == [None] * 4
    assert found.rows == 4


def test_the_schema_knows_better():
    kinds = {"whole": Kind.CATEGORICAL, "text numbers": Kind.ORDINAL, "mixed": Kind.INTEGER}
    found = frame(kinds)
    assert found.labels["whole"].tolist() == ["1", "2", None, "4"]
    assert found.labels["text numbers"].tolist() == ["1", "2.5", None, None]
    # What is no number there is missing.
    np.testing.assert_array_equal(found.numbers["mixed"], [1, 2, np.nan, np.nan])
    assert "real" in frame({"real": Kind.BOOLEAN}).labels


def test_missing_numbers_count_as_the_median():
    found = frame().matrix(["whole", "real", "nothing"])
    np.testing.assert_array_equal(found, [[1, 1.5, 0], [2, 1.5, 0], [2, 1.5, 0], [4, 1.5, 0]])
    assert frame().matrix([]).shape == (4, 0)


def test_labels_are_told_one_by_one():
    found = frame().indicators(["words", "yes"])
    np.testing.assert_array_equal(found, [[1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]])
    assert known_labels(frame().labels["blank"]) == []
    assert frame().indicators([]).shape == (4, 0)


def test_labels_of_another_frame_stand_in_the_same_places():
    some = Frame({}, {"words": np.array(["b", None, "z"], object)})
    found = some.indicators(["words"], like=frame())
    np.testing.assert_array_equal(found, [[0, 1], [0, 0], [0, 0]])


def test_rows_come_back_with_what_was_missing():
    table = table_of(frame(), list(DATA))
    assert table.column_names == list(DATA)
    assert table["whole"].to_pylist() == [1, 2, None, 4]
    assert table["words"].to_pylist() == ["a", "b", None, None]
    assert table["nothing"].null_count == 4
    again = Frame.of(table, schema_of())
    for name, column in again.numbers.items():
        if name in NUMBERS:
            np.testing.assert_array_equal(column, frame().numbers[name])


def test_facts_are_those_that_the_rows_show():
    table = table_of(frame(), list(DATA))
    facts = facts_of(table, schema_of(role=Role.FEATURE))
    assert facts["whole"].bounds == (1, 4)
    assert facts["words"].categories == ("a", "b")
    assert facts["blank"].categories == ("none",)
    assert all(column.source is Source.DATA for column in facts)
    codes = Encoding(facts).codes(table)
    assert {name: len(column) for name, column in codes.items()} == dict.fromkeys(DATA, 4)


@pytest.mark.parametrize("value", [0.0, 1e-300, -5.0, 1e9, 1e300])
def test_a_constant_column_has_bounds_all_the_same(value):
    table = pa.table({"x": [value] * 3})
    facts = facts_of(table, Schema((Column(name="x", kind=Kind.REAL),)))
    low, high = facts["x"].bounds
    assert low == value < high
    Encoding(facts).codes(table)
