"""Every value has one cell of the public grid, whatever nobody has said about its column."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.tables import DATE_LIKE, DATES, FLOATS, MOMENTS, NUMBER_LIKE, TEXT
from helpers.value_shapes import plain, precision, shape
from understudy.column import Column, Kind
from understudy.encode import Encoding
from understudy.encode import shape_grid as grid
from understudy.encode.shape_grid import DECADES, MAGNITUDES, SHAPES
from understudy.encode.shapes import ShapeCells
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
    return grid.PLAIN.row(grid.WHOLE).start + place


def many(place):
    return grid.PLAIN.row(grid.MANY).start + place


def magnitude(number):
    """How many cuts of the grid are at most the number, counted one by one."""
    return sum(cut <= number for cut in MAGNITUDES)


def dated(year, clock=grid.NO_CLOCK):
    return grid.ISO.row(clock).start + sum(decade <= year for decade in DECADES)


def test_the_grid_is_the_same_for_every_column_and_its_parts_lie_side_by_side():
    parts = [grid.PLAIN, grid.WRITTEN, grid.AFFIXED, grid.ISO, grid.DATED]
    assert parts[0].start == len(grid.TEXT_CLASSES) == grid.LONG + 1
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        assert part.stop == (SHAPES if following is None else following.start)
        assert part.stop - part.start == len(part.rows) * part.width
    assert list(MAGNITUDES) == sorted({s * 2.0**k for s in (-1, 1) for k in EXPONENTS})
    assert ShapeCells(UNKNOWN).size == SHAPES
    assert Encoding(Schema((UNKNOWN,)), shapes=True).domain.sizes == {"x": SHAPES}


def test_noise_on_the_shapes_of_many_columns_takes_little_time():
    # 15 columns of text, as on Adult: what is drawn for one query stays below a hundred thousand.
    assert 15 * SHAPES < 110_000


EXAMPLES = {
    "": "missing",
    "red": "text without digits",
    "-": "text without digits",
    "V45": "text with digits",
    "E812.1": "text with digits",
    "12:30": "text with digits",
    "192.168.1.10": "text with digits",
    "2010-2015": "text with digits",
    "12345-6789": "text with digits",
    "1,23,4": "text with digits",
    "2024-02-30": "text with digits",
    "$5%": "text with digits",
    "007": "digits after a leading zero",
    "01234": "digits after a leading zero",
    "a.b@c.org": "e-mail address",
    "https://a.org/x?y=1": "URL",
    "www.a.org": "URL",
    "123e4567-e89b-12d3-a456-426614174000": "UUID",
    "+49 30 1234567": "telephone number",
    "+4930123456": "telephone number",
    "030 1234567": "telephone number",
    "(555) 123-4567": "telephone number",
    "(555)123-4567": "telephone number",
    "555-123-4567": "telephone number",
    "01 23 45 67 89": "telephone number",
    "123 456 789": "telephone number",
    "555-123-4567 x12": "telephone number",
    "x" * 61: "long text",
    "a b c d e f g h": "long text",
    "9" * 201: "long text",
    "34": "whole number from 32 below 64",
    "34.": "whole number from 32 below 64",
    "34.0": "whole number with .0 from 32 below 64",
    "12.5": "half from 8 below 16",
    "12.50": "half with a zero from 8 below 16",
    "12.25": "quarter from 8 below 16",
    "12.250": "number of 2 or more decimals with a zero from 8 below 16",
    "3.1": "number of 1 decimal from 2 below 4",
    "3.10": "number of 1 decimal with a zero from 2 below 4",
    "3.14": "number of 2 decimals from 2 below 4",
    "3.141": "number of 3 decimals from 2 below 4",
    "3.1415": "number of 4 decimals from 2 below 4",
    "3.14159": "number of 5 or 6 decimals from 2 below 4",
    "3.141593": "number of 5 or 6 decimals from 2 below 4",
    "3.1415927": "number of 7 or more decimals from 2 below 4",
    "1e5": "whole number from 65536 below 131072",
    "1,234": "number such as 1,234 from 1024 below 4096",
    "-1,234": "number such as 1,234 from -4096 below -1024",
    "0,123": "number such as 12,125 from -1 below 1",
    "1,5": "number such as 1,5 from 1 below 4",
    "12,25": "number such as 1,25 from 4 below 16",
    "1.234,56": "number such as 1.234,5 from 1024 below 4096",
    "1.234.567": "number such as 1.234.567 from 1.04858e+06 below 4.1943e+06",
    "1,234,567": "number such as 1,234,567 from 1.04858e+06 below 4.1943e+06",
    "1,234.5": "number such as 1,234.5 from 1024 below 4096",
    "1 234": "number such as 1 234 from 1024 below 4096",
    "1\u00a0234,5": "number such as 1 234,5 from 1024 below 4096",
    "1 234.5": "number such as 1 234.5 from 1024 below 4096",
    "1'234.50": "number such as 1'234.5 from 1024 below 4096",
    "$24,635": "number such as $1,234 from 10000 below 100000",
    "$24,635.10": "number such as $1,234.5 from 10000 below 100000",
    "-$3.50": "number such as $1.25 below 0",
    "$-3": "number such as $12 below 0",
    "12,50 €": "number such as 1,25 € from 10 below 100",
    "€ 5": "number such as € 12 from 1 below 10",
    "45%": "number such as 12% from 10 below 100",
    "45.5 %": "number such as 1.5 % from 10 below 100",
    "CHF 1'234.50": "number such as CHF 1'234.5 from 1000 below 10000",
    "5 kg": "number such as 12 kg from 1 below 10",
    "2024-02-29": "date %Y-%m-%d from 2020 below 2030",
    "2024-02-29 10:30": "date %Y-%m-%d with minutes from 2020 below 2030",
    "2024-02-29 00:00:00.999": "date %Y-%m-%d at 00:00:00 from 2020 below 2030",
    "2024-02-29T10:30:00": "date %Y-%m-%dT with seconds from 2020 below 2030",
    "2024-02-29T10:30:00Z": "date %Y-%m-%dT zone with seconds from 2020 below 2030",
    "2024-02-29 10:30:00+02:00": "date %Y-%m-%d zone with seconds from 2020 below 2030",
    "31/12/2024": "date %d/%m/%Y from 2020 below 2040",
    "12/31/2024": "date %m/%d/%Y from 2020 below 2040",
    "1/2/2024": "date ambiguous / from 2020 below 2040",
    "31.12.1969": "date %d.%m.%Y from 1960 below 1980",
    "12-31-2024 10:30": "date %m-%d-%Y with minutes from 2020 below 2040",
    "2024/01/31": "date %Y/%m/%d from 2020 below 2040",
    "2024.01.31": "date %Y.%m.%d from 2020 below 2040",
    "31 Jan 2024": "date %d %b %Y from 2020 below 2040",
    "31-jan-2024": "date %d-%b-%Y from 2020 below 2040",
    "31 January 2024": "date %d %B %Y from 2020 below 2040",
    "Jan 31, 2024": "date %b %d, %Y from 2020 below 2040",
    "January 31, 2024": "date %B %d, %Y from 2020 below 2040",
    "3 May 2024": "date %d %b %Y from 2020 below 2040",
    "1/31/2024 1:30 PM": "date %m/%d/%Y %p with minutes from 2020 below 2040",
    "1/2/2024 12:00:00 AM": "date ambiguous %p at 00:00:00 from 2020 below 2040",
}


@pytest.mark.parametrize("text", EXAMPLES, ids=repr)
def test_each_text_has_the_one_cell_that_its_words_name(text):
    (code,) = shapes([text], pa.string())
    assert ShapeCells(UNKNOWN).describe(code) == EXAMPLES[text]
    assert code == shape(text)
    assert shapes([f" {text}\t"], pa.large_string()) == [code], "blanks around it mean nothing"


FRAGMENTS = (
    *("1", "12", "123", "1234", "0", "00", "007", "999", "2024", "31", "28", "29", "500"),
    *("Feb", "Jan", "January", "May", "T", "Z", "AM", "pm", "10:30", "00:00", "12:00:00"),
    *("-", "/", ".", ",", " ", ":", "+", "'", "(", ")", "@", "e", "x", "\u00a0", "1,234", "1.234"),
    *("$", "€", "EUR", "USD ", "%", "kg", "zł", "www.", "http://", "a"),
)
PIECES = st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join)


@given(st.lists(PIECES | NUMBER_LIKE | DATE_LIKE | TEXT, max_size=60))
@example(["5000079991231.234", "2251799813685249.5", "-0.0", "1e-300", "0." + "0" * 40 + "1"])
def test_any_text_has_the_cell_of_the_reference(cells):
    assert shapes(cells, pa.string()) == [shape(cell) for cell in cells]


@given(st.lists(PIECES | TEXT, min_size=1, max_size=30), st.data())
def test_the_cell_of_a_text_depends_on_no_other(cells, data):
    order = data.draw(st.permutations(range(len(cells))))
    found = shapes(cells, pa.string())
    assert shapes([cells[k] for k in order], pa.string()) == [found[k] for k in order]
    assert [shapes([cell], pa.string())[0] for cell in cells] == found


def test_what_fits_two_formats_stays_so_whatever_stands_beside_it():
    # A reader that guesses a format from all cells would let one record change another's cell.
    cells = ["1/2/2024", "1,234", "1 234", "1/2/2024 1:30 PM"]
    alone = shapes(cells, pa.string())
    assert alone == [shape(cell) for cell in cells]
    for beside in ("12/31/2024", "31/12/2024", "1,5", "1,234.5", "1 234,5", "12/31/2024 1:30 PM"):
        assert shapes([*cells, beside], pa.string())[: len(cells)] == alone


def test_hostile_text_takes_no_longer_than_its_length():
    # Expressions that backtrack would take longer than the universe has existed.
    hostile = ["1" * 190 + "x", "(" * 190, "1 " * 95, "a@" * 90, "1,234" * 38, "9/" * 90]
    found = shapes([*hostile, *("1" * 10**6 + tail for tail in ("", "@", ","))], pa.string())
    assert len(found) == len(hostile) + 3
    assert found[-3:] == [grid.LONG] * 3


@pytest.mark.parametrize("stored", [pa.float64(), pa.string()], ids=str)
def test_whole_numbers_and_fractions_by_magnitude(stored):
    numbers = [0.0, -0.0, 1.0, 1.5, 2.0, 3.0, -1.0, -1.5, -2.0, 0.1, -0.1, 1e9, 1e9 + 0.5]
    cells = shapes([repr(n) if stored == pa.string() else n for n in numbers], stored)
    # Text shows the zero that Python writes after a whole number.
    texts = [repr(number) if stored == pa.string() else None for number in numbers]
    assert cells == [plain(number, text) for number, text in zip(numbers, texts, strict=True)]
    assert cells[0] == cells[1] == plain(0.0, texts[0])


def test_tiny_and_huge_numbers():
    tiny = [5e-324, 1e-300, -1e-300, 2.0**-21]
    assert shapes(tiny) == [many(ZERO)] * 4
    assert shapes([1e308, 2.0**51, 1e300]) == [whole(len(MAGNITUDES))] * 3
    assert shapes([-1e308, -(2.0**51)]) == [whole(0)] * 2
    # Beyond 2**52 a double has no fraction; below, a half still shows.
    halves = grid.PLAIN.row(grid.HALF)
    assert shapes([2.0**50 + 0.5, -(2.0**50) - 0.5]) == [halves.stop - 1, halves.start]
    largest = [2**63 - 1, -(2**63), 2**62]
    assert shapes(largest, pa.int64()) == [
        whole(len(MAGNITUDES)),
        whole(0),
        whole(len(MAGNITUDES)),
    ]
    assert shapes([2**64 - 1], pa.uint64()) == [whole(len(MAGNITUDES))]
    found = shapes(["9" * 60, "9" * 64, "9" * 65, "1e400"])
    assert found == [whole(len(MAGNITUDES))] * 2 + [grid.LONG, grid.CODES]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_a_cell_begins_at_its_power_of_two(exponent, sign):
    cut = sign * 2.0**exponent
    below, above = np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf)
    place = MAGNITUDES.index(cut) + 1
    found = shapes([below, cut, above])
    assert found == [plain(number) for number in (below, cut, above)]
    places = [(code - grid.PLAIN.start) % grid.PLAIN.width for code in found]
    assert places == [place - 1, place, place]


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
        "2024-02-29 10:30:59": dated(2024, grid.SECONDS),
        "1899-12-31 23:59:59": dated(1899, grid.SECONDS),
        "2024-02": grid.CODES,
        "0000-01-01": grid.CODES,
    }
    assert dict(zip(cells, shapes(list(cells)), strict=True)) == cells
    assert dated(1899) == grid.ISO.start
    assert dated(2100) == grid.ISO.row(grid.NO_CLOCK).stop - 1


@pytest.mark.parametrize("year", [1, 1899, 1900, 1969, 1970, 1999, 2000, 2099, 2100, 9999])
def test_stored_dates_fall_into_the_decades_of_text(year):
    days = [dt.date(year, 1, 1), dt.date(year, 12, 31), None]
    assert shapes(days, pa.date32()) == [dated(year), dated(year), grid.MISSING]
    late = dt.datetime(year, 12, 31, 23, 59, 59)  # noqa: DTZ001
    moments = [late.replace(hour=0, minute=0, second=0), late, None]
    expected = [dated(year), dated(year, grid.SECONDS), grid.MISSING]
    assert shapes(moments, pa.timestamp("us")) == expected
    assert shapes([str(day) for day in days[:2]]) == shapes(days[:2], pa.date32())
    # Text shows that there is a time of day even at midnight.
    midnight = dated(year, grid.MIDNIGHT_SECONDS)
    assert shapes([str(moment) for moment in moments[:2]]) == [midnight, expected[1]]


def test_what_is_missing():
    assert shapes([None, "", "  ", "\t\n"]) == [grid.MISSING] * 4
    odd = [float("nan"), float("inf"), float("-inf"), None]
    assert shapes(odd, pa.float64()) == [grid.MISSING] * 4
    # Text that no rule reads as a number is text: nobody can know that it means "missing".
    words = ["nan", "inf", "null", "None", "NA", "-", "١٢", "\x01", "?"]
    assert shapes(words) == [grid.WORDS] * len(words)
    assert shapes(["1_000", "0x1F"]) == [grid.CODES] * 2
    assert shapes(pa.nulls(2)) == [grid.MISSING] * 2


@pytest.mark.parametrize("kind", [Kind.CATEGORICAL, Kind.ORDINAL])
def test_of_a_listed_column_only_whether_there_is_a_value(kind):
    column = Column(name="x", kind=kind)
    cells = ["a", "7", "0.5", "2020-01-01", "", " ", None]
    assert shapes(cells, column=column) == [grid.WORDS] * 4 + [grid.MISSING] * 3
    assert shapes([7, None], pa.int64(), column) == [grid.WORDS, grid.MISSING]
    assert shapes([True, None], pa.bool_(), column) == [grid.WORDS, grid.MISSING]
    # A fraction is no label: see LabelCells, by which the column is coded later.
    assert shapes([7.0, 0.5, float("nan")], pa.float64(), column) == [
        grid.WORDS,
        grid.MISSING,
        grid.MISSING,
    ]


def test_dates_in_the_format_that_somebody_declared():
    column = Column(name="x", kind=Kind.DATE, format="%d.%m.%Y")
    assert shapes(["29.02.2024", "2024-02-29", "7"], column=column) == [
        dated(2024),
        grid.WORDS,
        whole(magnitude(7)),
    ]


def test_each_cell_has_its_own_words():
    cells = ShapeCells(UNKNOWN)
    words = [cells.describe(code) for code in range(SHAPES)]
    assert len(set(words)) == SHAPES
    assert words[grid.MISSING] == "missing"
    assert words[whole(magnitude(5))] == "whole number from 4 below 8"
    assert words[many(0)].startswith("number of 7 or more decimals below -1.1")
    assert words[dated(2024)] == "date %Y-%m-%d from 2020 below 2030"
    assert words[-1] == "date ambiguous %p at 00:00:00 from 2100"
    with pytest.raises(ValueError, match="no shape"):
        cells.describe(SHAPES)


def test_a_shape_is_never_decoded_and_the_message_tells_the_way_out():
    encoding = Encoding(Schema((UNKNOWN,)), shapes=True)
    with pytest.raises(SchemaError, match=r"'x': only its shape is known\. Declare"):
        encoding.decode({"x": np.array([grid.WORDS])}, np.random.default_rng(0))
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
        part = grid.PLAIN.row(precision(float(number)))
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
        clock = grid.NO_CLOCK if midnight else grid.SECONDS
        assert code == (grid.MISSING if moment is None else dated(moment.year, clock))


def test_numbers_in_text_have_the_cells_of_stored_ones():
    rng = np.random.default_rng(0)
    numbers = np.concatenate([rng.normal(size=200) * 10.0 ** rng.integers(-9, 12, 200), [0.5]])
    assert shapes([repr(float(n)) for n in numbers]) == shapes(numbers, pa.float64())
    integers = [int(n) for n in rng.integers(-(2**53), 2**53, 100)]
    assert shapes([str(n) for n in integers]) == shapes(integers, pa.int64())
    cents = [float(cent) for cent in np.round(rng.uniform(-1e6, 1e6, 500), 2)]
    assert shapes([repr(n) for n in cents if not n.is_integer()]) == shapes(
        [n for n in cents if not n.is_integer()], pa.float64()
    )


def test_impossible_cells_are_those_in_which_no_number_lies():
    # Multiples of each step that lie nearest to zero and to each cut.
    for row in range(grid.MANY):
        steps = {grid.ONE: 0.1, grid.ONE_ZERO: 0.1, grid.TWO: 0.01, grid.THREE: 1e-3}
        steps |= {grid.FOUR: 1e-4, grid.SIX: 1e-6, grid.MORE_ZERO: 0.01}
        steps |= {grid.HALF: 0.5, grid.HALF_ZERO: 0.5, grid.QUARTER: 0.25}
        step = steps.get(row, 1)
        near = [k * step for k in range(-300, 301)]
        seen = {magnitude(number) for number in near}
        if row not in {grid.WHOLE, grid.WHOLE_ZERO}:
            seen = {magnitude(number) for number in near if number}
        assert all(grid.POSSIBLE[row, place] for place in seen)
        assert not grid.POSSIBLE[row, magnitude(step / 5)]
    assert grid.POSSIBLE[grid.MANY].all()
