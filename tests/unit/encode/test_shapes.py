"""Every value has one cell of the public grid, whatever nobody has said about its column."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.tables import DATE_LIKE, DATES, FLOATS, MOMENTS, NUMBER_LIKE, TEXT
from understudy.column import Column, Kind
from understudy.encode import Encoding
from understudy.encode import shapes as grid
from understudy.encode.shapes import DECADES, MAGNITUDES, SHAPES, ShapeCells
from understudy.errors import SchemaError
from understudy.schema import Schema

UNKNOWN = Column(name="x", kind=Kind.UNKNOWN)
ZERO = len(MAGNITUDES) // 2
"""The place of numbers that are as good as zero, among the magnitudes."""
EXPONENTS = range(-20, 51)


def shapes(values, arrow_type=None, column=UNKNOWN):
    array = values if isinstance(values, pa.Array) else pa.array(values, arrow_type)
    codes = Encoding(Schema((column,)), shapes=True).codes(pa.table({"x": array}))["x"]
    return [int(code) for code in codes]


def whole(place):
    return grid.WHOLE.start + place


def fraction(place):
    return grid.FRACTION.start + place


def magnitude(number):
    """How many cuts of the grid are at most the number, counted one by one."""
    return sum(cut <= number for cut in MAGNITUDES)


def dated(year, start=grid.DATE.start):
    return start + sum(decade <= year for decade in DECADES)


def test_the_grid_is_the_same_for_every_column_and_its_parts_lie_side_by_side():
    parts = [grid.WHOLE, grid.FRACTION, grid.DATE, grid.MOMENT]
    places = [grid.MISSING, grid.TEXT, *(k for part in parts for k in range(part.start, part.stop))]
    assert places == list(range(SHAPES))
    assert list(MAGNITUDES) == sorted({s * 2.0**k for s in (-1, 1) for k in EXPONENTS})
    assert ShapeCells(UNKNOWN).size == SHAPES
    assert Encoding(Schema((UNKNOWN,)), shapes=True).domain.sizes == {"x": SHAPES}


@pytest.mark.parametrize("stored", [pa.float64(), pa.string()], ids=str)
def test_whole_numbers_and_fractions_by_magnitude(stored):
    numbers = [0.0, -0.0, 1.0, 1.5, 2.0, 3.0, -1.0, -1.5, -2.0, 0.1, -0.1, 1e9, 1e9 + 0.5]
    cells = shapes([repr(n) if stored == pa.string() else n for n in numbers], stored)
    assert cells == [
        (whole if number.is_integer() else fraction)(magnitude(number)) for number in numbers
    ]
    assert cells[0] == cells[1] == whole(ZERO)


def test_tiny_and_huge_numbers():
    tiny = [5e-324, 1e-300, -1e-300, 2.0**-21]
    assert shapes(tiny) == [fraction(ZERO)] * 4
    assert shapes([1e308, 2.0**51, 1e300]) == [whole(len(MAGNITUDES))] * 3
    assert shapes([-1e308, -(2.0**51)]) == [whole(0)] * 2
    # Beyond 2**52 a double has no fraction; below, a half still shows.
    assert shapes([2.0**51 + 0.5, -(2.0**51) - 0.5]) == [fraction(len(MAGNITUDES)), fraction(0)]
    largest = [2**63 - 1, -(2**63), 2**62]
    assert shapes(largest, pa.int64()) == [
        whole(len(MAGNITUDES)),
        whole(0),
        whole(len(MAGNITUDES)),
    ]
    assert shapes([2**64 - 1], pa.uint64()) == [whole(len(MAGNITUDES))]
    assert shapes(["9" * 64, "9" * 65, "1e400"]) == [whole(len(MAGNITUDES)), grid.TEXT, grid.TEXT]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_a_cell_begins_at_its_power_of_two(exponent, sign):
    cut = sign * 2.0**exponent
    below, above = np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf)
    place = MAGNITUDES.index(cut) + 1
    kind = whole if cut.is_integer() else fraction
    found = shapes([below, cut, above])
    assert found == [fraction(place - 1), kind(place), fraction(place)]


def test_integers_and_booleans_as_stored():
    assert shapes([0, 7, -7, None], pa.int16()) == [
        whole(ZERO),
        whole(magnitude(7)),
        whole(magnitude(-7)),
        grid.MISSING,
    ]
    assert shapes([True, False, None], pa.bool_()) == [
        whole(magnitude(1)),
        whole(ZERO),
        grid.MISSING,
    ]


def test_dates_and_moments_in_text():
    cells = {
        "2024-02-29": dated(2024),
        " 1899-12-31\t": dated(1899),
        "1900-01-01": dated(1900),
        "1909-12-31": dated(1909),
        "1910-1-1": dated(1910),
        "2100-01-01": dated(2100),
        "9999-12-31": dated(9999),
        "2024-02-29T00:00:00": dated(2024),
        "2024-02-29 00:00:00.999Z": dated(2024),
        "2024-02-29 10:30": dated(2024, grid.MOMENT.start),
        "2024-02-29T00:00:01Z": dated(2024, grid.MOMENT.start),
        "1899-12-31 23:59:59": dated(1899, grid.MOMENT.start),
        "29.02.2024": grid.TEXT,
        "2024-02": grid.TEXT,
        "0000-01-01": grid.TEXT,
    }
    assert dict(zip(cells, shapes(list(cells)), strict=True)) == cells
    assert dated(1899) == grid.DATE.start
    assert dated(2100) == grid.DATE.stop - 1


@pytest.mark.parametrize("year", [1, 1899, 1900, 1969, 1970, 1999, 2000, 2099, 2100, 9999])
def test_stored_dates_fall_into_the_decades_of_text(year):
    days = [dt.date(year, 1, 1), dt.date(year, 12, 31), None]
    assert shapes(days, pa.date32()) == [dated(year), dated(year), grid.MISSING]
    late = dt.datetime(year, 12, 31, 23, 59, 59)  # noqa: DTZ001
    moments = [late.replace(hour=0, minute=0, second=0), late, None]
    expected = [dated(year), dated(year, grid.MOMENT.start), grid.MISSING]
    assert shapes(moments, pa.timestamp("us")) == expected
    assert shapes([str(day) for day in days[:2]]) == shapes(days[:2], pa.date32())
    assert shapes([str(moment) for moment in moments[:2]]) == expected[:2]


def test_what_is_missing():
    assert shapes([None, "", "  ", "\t\n"]) == [grid.MISSING] * 4
    odd = [float("nan"), float("inf"), float("-inf"), None]
    assert shapes(odd, pa.float64()) == [grid.MISSING] * 4
    # Text that no rule reads as a number is text: nobody can know that it means "missing".
    words = ["nan", "inf", "null", "None", "NA", "-", "1_000", "1,5", "0x1F", "١٢", "\x01", "?"]
    assert shapes(words) == [grid.TEXT] * len(words)
    assert shapes(pa.nulls(2)) == [grid.MISSING] * 2


@pytest.mark.parametrize("kind", [Kind.CATEGORICAL, Kind.ORDINAL])
def test_of_a_listed_column_only_whether_there_is_a_value(kind):
    column = Column(name="x", kind=kind)
    cells = ["a", "7", "0.5", "2020-01-01", "", " ", None]
    assert shapes(cells, column=column) == [grid.TEXT] * 4 + [grid.MISSING] * 3
    assert shapes([7, None], pa.int64(), column) == [grid.TEXT, grid.MISSING]
    assert shapes([True, None], pa.bool_(), column) == [grid.TEXT, grid.MISSING]
    # A fraction is no label: see LabelCells, by which the column is coded later.
    assert shapes([7.0, 0.5, float("nan")], pa.float64(), column) == [
        grid.TEXT,
        grid.MISSING,
        grid.MISSING,
    ]


def test_dates_in_the_format_that_somebody_declared():
    column = Column(name="x", kind=Kind.DATE, format="%d.%m.%Y")
    assert shapes(["29.02.2024", "2024-02-29", "7"], column=column) == [
        dated(2024),
        grid.TEXT,
        whole(magnitude(7)),
    ]


def test_each_cell_has_its_own_words():
    cells = ShapeCells(UNKNOWN)
    words = [cells.describe(code) for code in range(SHAPES)]
    assert len(set(words)) == SHAPES
    assert words[grid.MISSING] == "missing"
    assert words[whole(magnitude(5))] == "whole number from 4 below 8"
    assert words[fraction(0)].startswith("fraction below -1.1")
    assert words[dated(2024)] == "date from 2020 below 2030"
    assert words[grid.MOMENT.stop - 1] == "moment from 2100"
    with pytest.raises(ValueError, match="no shape"):
        cells.describe(SHAPES)


def test_a_shape_is_never_decoded_and_the_message_tells_the_way_out():
    encoding = Encoding(Schema((UNKNOWN,)), shapes=True)
    with pytest.raises(SchemaError, match=r"'x': only its shape is known\. Declare"):
        encoding.decode({"x": np.array([grid.TEXT])}, np.random.default_rng(0))
    with pytest.raises(SchemaError, match="Declare its kind"):
        _ = encoding.cells["x"].arrow_type


def test_columns_with_all_facts_have_no_shapes():
    columns = (
        Column(name="a", kind=Kind.INTEGER, bounds=(0, 9)),
        Column(name="b", kind=Kind.BOOLEAN),
        Column(name="c", kind=Kind.CATEGORICAL, categories=("u", "v")),
        UNKNOWN,
    )
    cells = Encoding(Schema(columns), shapes=True).cells
    assert [isinstance(c, ShapeCells) for c in cells.values()] == [False, False, False, True]
    with pytest.raises(SchemaError, match=r"leaves open what an encoding needs: x \(kind\)"):
        Encoding(Schema(columns))


@given(st.lists(st.none() | TEXT | NUMBER_LIKE | DATE_LIKE | st.text()))
@example(["\x00", "\ufeff1", "1\x00", "2020-01-01\x00", "\U0001f600"])
def test_any_text_has_one_cell(cells):
    found = shapes(cells, pa.string())
    assert len(found) == len(cells)
    for cell, code in zip(cells, found, strict=True):
        assert 0 <= code < SHAPES
        blank = cell is None or not cell.strip(" \t\n\r\v\f")
        assert (code == grid.MISSING) == blank


@given(st.lists(st.none() | st.binary(max_size=6)))
def test_bytes_that_are_no_text_are_missing_and_nothing_raises(cells):
    raw = pa.array(cells, pa.binary())
    found = shapes(pa.Array.from_buffers(pa.string(), len(raw), raw.buffers()))
    for cell, code in zip(cells, found, strict=True):
        assert 0 <= code < SHAPES
        try:
            cell is None or cell.decode()
        except UnicodeDecodeError:
            assert code == grid.MISSING


@given(st.lists(FLOATS))
def test_any_number_lies_in_the_cell_that_its_words_name(numbers):
    for number, code in zip(numbers, shapes(numbers, pa.float64()), strict=True):
        if not np.isfinite(number):
            assert code == grid.MISSING
            continue
        part = grid.WHOLE if float(number).is_integer() else grid.FRACTION
        assert part.start <= code < part.stop
        place = code - part.start
        assert place == 0 or MAGNITUDES[place - 1] <= number
        assert place == len(MAGNITUDES) or number < MAGNITUDES[place]


@given(st.lists(st.none() | DATES), st.lists(st.none() | MOMENTS))
def test_any_date_lies_in_its_decade(days, moments):
    for day, code in zip(days, shapes(days, pa.date32()), strict=True):
        assert code == (grid.MISSING if day is None else dated(day.year))
    for moment, code in zip(moments, shapes(moments, pa.timestamp("us")), strict=True):
        midnight = moment is not None and moment.replace(microsecond=0).time() == dt.time()
        start = (grid.DATE if midnight else grid.MOMENT).start
        assert code == (grid.MISSING if moment is None else dated(moment.year, start))


def test_numbers_and_dates_in_text_read_as_they_do_stored():
    rng = np.random.default_rng(0)
    numbers = np.concatenate([rng.normal(size=200) * 10.0 ** rng.integers(-9, 18, 200), [0.0]])
    assert shapes([repr(float(n)) for n in numbers]) == shapes(numbers, pa.float64())
    integers = [int(n) for n in rng.integers(-(2**53), 2**53, 100)]
    assert shapes([str(n) for n in integers]) == shapes(integers, pa.int64())
