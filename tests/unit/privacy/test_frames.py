"""Cells of pandas frames: each is read by itself, whatever the type of its column."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from understudy.column import Column, Kind
from understudy.encode.arrow_ops import ArrowOps
from understudy.encode.ops import Storage
from understudy.privacy.frames import CellWriter, text_columns, typed_table
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema

CELLS = {
    "whole numbers": [1, -7, 0, 2**53, -(2**53), 2**53 + 2, 10**17],
    "negative numbers": [1, -(2**53), -(2**53) - 2, -(2**60) - 1],
    "fractions": [0.1, 1.0, -0.0, 1e-7, 1.5e22, 1e299, 5e-324, 1.7e308, -2.5, 1e16],
    "flags": [True, False],
    "moments": [pd.Timestamp("2020-02-29 13:14:15.999"), pd.Timestamp("1900-01-01")],
    "texts": ["a", "", " b ", "007", "1.0", "é"],
}


def texts(column, **options):
    return CellWriter(**options).texts(column).to_pylist()


@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS)
@pytest.mark.parametrize("other", [None, np.nan, pd.NA, "text", 7, 0.5, True, pd.NaT])
def test_one_cell_more_changes_no_other(cells, other):
    alone = texts(pd.Series(cells))
    assert texts(pd.Series(cells, dtype=object)) == alone
    with_other = pd.concat([pd.Series(cells), pd.Series([other])], ignore_index=True)
    assert texts(with_other)[:-1] == alone
    assert texts(pd.Series([*cells, other], dtype=object))[:-1] == alone


def test_cells_are_written_as_an_owner_would():
    assert texts(pd.Series([1.0, 2.5, np.nan, 3.0])) == ["1", "2.5", None, "3"]
    assert texts(pd.Series([True, None])) == ["true", None]
    assert texts(pd.Series([dt.date(2020, 1, 2), Decimal("1.10"), Decimal("nan")])) == [
        *("2020-01-02", "1.10", None)
    ]
    assert texts(pd.Series(pd.to_datetime(["2020-01-02", None]))) == ["2020-01-02 00:00:00", None]
    zoned = pd.Series(pd.to_datetime(["2020-01-02 01:00+02:00"]))
    assert texts(zoned) == texts(zoned.astype(object)) == ["2020-01-01 23:00:00"]
    assert texts(pd.Series(["b", None, "a"], dtype="category")) == ["b", None, "a"]
    assert texts(pd.Series([np.inf, -np.inf])) == [None, None]
    assert texts(pd.Series(pd.arrays.SparseArray([1, 0, 2]))) == ["1", "0", "2"]


def test_dates_and_flags_are_written_as_the_schema_reads_them():
    day = Column(name="day", kind=Kind.DATE, format="%d/%m/%Y", bounds=(dt.date(2020, 1, 1),) * 2)
    flag = Column(name="flag", kind=Kind.INTEGER, bounds=(0, 1))
    frame = pd.DataFrame({"day": pd.to_datetime(["2020-02-01", None]), "flag": [True, False]})
    written = text_columns(frame, {"day": day, "flag": flag}, ())
    assert [column.to_pylist() for column in written] == [["01/02/2020", None], ["1", "0"]]
    objects = text_columns(frame.astype(object), {"day": day, "flag": flag}, ())
    assert objects == written


def test_numbers_come_back_as_the_same_doubles():
    rng = np.random.default_rng(0)
    bits = rng.integers(-(2**62), 2**62, 5000).view(np.float64)
    numbers = np.concatenate([bits[np.isfinite(bits)], 10.0 ** rng.integers(-300, 299, 500)])
    read = ArrowOps().number(CellWriter().texts(pd.Series(numbers)), Storage.TEXT)
    expected = np.clip(np.where(np.abs(numbers) < 1e-299, 0, numbers), -1e299, 1e299)
    assert np.array_equal(read, expected)


def test_numbers_that_a_double_merges_identify_nobody():
    big = [2**53 - 1, 2**53, 2**60, -(2**60)]
    assert texts(pd.Series(big), exact=True) == [str(2**53 - 1), None, None, None]
    assert texts(pd.Series([*map(float, big), None]), exact=True)[1:] == [None] * 4
    assert texts(pd.Series([str(2**60)]), exact=True) == [str(2**60)]


def test_a_pandas_column_is_text_in_public_whatever_its_type():
    schema = Schema((Column(name="n", kind=Kind.INTEGER, bounds=(0, 9), null=True),))
    for cells in ([1, 2], [1.0, None], [1, "x"], [True, None]):
        table = PrivateTable(pd.DataFrame({"n": cells}), schema)
        assert table.storage == {"n": Storage.TEXT}


def test_types_of_a_frame_are_kept_for_internal_use():
    frame = pd.DataFrame({"n": [1, 2], "x": [0.5, None], "t": ["a", None]})
    assert [str(kind) for kind in typed_table(frame).schema.types] == [
        *("int64", "double", "large_string")
    ]


def column_of(cells):
    """A pandas column of objects, exactly these."""
    objects = np.empty(len(cells), object)
    for place, cell in enumerate(cells):
        objects[place] = cell
    return pd.Series(objects, dtype=object)


EAST, WEST = (dt.timezone(dt.timedelta(hours=hours)) for hours in (5, -5))
MIXED = [
    *("a", "1", None, np.nan, pd.NA, pd.NaT, 1, 1.0, 0.1, True, 2**53 + 1, 2**64, 1j, 2 + 0j),
    *(np.True_, np.int8(3), np.uint64(2**63), np.float32(0.1), np.float16(0.1), np.complex64(3)),
    *(dt.datetime(2020, 1, 1, 5, 6, 7), dt.datetime(1, 1, 1)),  # noqa: DTZ001 - naive on purpose
    *(dt.date(2020, 1, 1), dt.time(1, 2)),
    dt.datetime(9999, 12, 31, 23, tzinfo=WEST),
    dt.datetime(1, 1, 1, 1, tzinfo=EAST),
    *(pd.Timestamp("2020-01-01 01:02:03.5"), pd.Timestamp("2020-01-01", tz="Asia/Tokyo")),
    *(np.datetime64("2020-01-01"), np.datetime64("1960-01-01T00:00:00.5", "us")),
    *(dt.timedelta(1, 5), dt.timedelta(-1, 5, 7), pd.Timedelta(-1, "ns"), pd.Timedelta(2, "s")),
    *(np.timedelta64(5, "s"), np.timedelta64(-5, "ns"), np.timedelta64("NaT")),
    *(Decimal("1.0"), b"a", b"\xff", pd.Period("2020-01", "M"), pd.Interval(0, 1), [1], {"a": 1}),
]


@pytest.mark.parametrize("first", MIXED, ids=lambda cell: f"{type(cell).__name__} {cell}")
def test_no_cell_changes_how_another_is_written(first):
    def alone(cell):
        return texts(column_of([cell, "text", ("a", 1), 0.5]))[0]

    for second in MIXED:
        cells = [first, second, first]
        assert texts(column_of(cells)) == [alone(cell) for cell in cells]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.period_range("2020-01", periods=2, freq="M")),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series([dt.timedelta(1), dt.timedelta(2, 3, 4)]),
        pd.Series(pd.arrays.SparseArray([0.5, np.nan])),
    ],
    ids=lambda column: str(column.dtype),
)
def test_a_stray_text_does_not_change_other_cells_of_an_unusual_type(column):
    stray = pd.concat([column.astype(object), column_of(["text"])], ignore_index=True)
    assert texts(stray) == [*texts(column), "text"]


def test_a_complex_cell_does_not_change_numbers():
    assert texts(pd.Series([1.0, 2.5, 1j])) == ["1", "2.5", None]


def not_utf8(cells=2):
    offsets = pa.py_buffer(np.arange(cells + 1, dtype=np.int32).tobytes())
    data = pa.py_buffer(b"a" * (cells - 1) + b"\xff")
    return pa.Array.from_buffers(pa.string(), cells, [None, offsets, data])


def of_arrow(values):
    return pd.Series(pd.arrays.ArrowExtensionArray(values))


def test_no_cell_of_an_arrow_column_stops_reading():
    far = pa.array([0, 2**62])
    labels = pa.DictionaryArray.from_arrays(pa.array([0, 1]), not_utf8())
    day = ["1970-01-01", "9999-12-31"]
    assert texts(of_arrow(pa.array([0, 10**8], pa.int32()).cast(pa.date32()))) == day
    assert texts(of_arrow(far.cast(pa.date64()))) == day
    assert texts(of_arrow(far.cast(pa.duration("s")))) == ["0 days 00:00:00", None]
    assert texts(of_arrow(pa.chunked_array([labels, labels]))) == ["a", None, "a", None]
    assert texts(of_arrow(pa.ListArray.from_arrays([0, 1, 2], not_utf8()))) == ["['a']", None]


def test_texts_of_a_kind_of_their_own_are_plain_texts():
    class Text(str):
        __slots__ = ()

        def encode(self, *_):
            raise ValueError(self)

    assert texts(column_of([Text("a"), b"b"])) == ["a", "b'b'"]


@pytest.mark.parametrize("exact", [False, True], ids=["a value", "an id"])
@pytest.mark.parametrize(
    "cells",
    [
        [pd.Timestamp.min],
        [pd.Timestamp.min, pd.Timestamp.max, pd.NaT],
        [pd.Timestamp("1969-12-31 23:59:59.999999999"), pd.NaT],
        [np.datetime64("2020-01-01"), np.datetime64("NaT")],
        [np.datetime64("2020-01-01"), pd.Timestamp("2020-01-01")],
        [np.datetime64("2020-01-01T00:00:00.5"), pd.Timestamp("2020-01-01 00:00:00.5")],
        [np.datetime64("2020-01-01T00:00:00.000000001")],
    ],
)
def test_a_stray_text_does_not_change_moments(cells, exact):
    writer = CellWriter(exact=exact)
    alone = writer.texts(pd.Series(cells)).to_pylist()
    *beside, _ = writer.texts(pd.Series([*cells, "unknown"])).to_pylist()
    assert beside == alone
