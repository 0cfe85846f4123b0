"""Conditions on a column: whoever meets one has one of its codes."""

import datetime as dt
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.tables import columns
from understudy.column import Column, Kind, Source
from understudy.encode import Encoding
from understudy.encode.ops import Storage
from understudy.errors import BadInput, UnknownColumn
from understudy.privacy.where import Comparison, Where, also_meeting, in_words
from understudy.schema import Schema

NUMERIC = [Kind.INTEGER, Kind.REAL, Kind.DATE, Kind.DATETIME]
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - naive, as columns are


def encoded(column):
    return Encoding(Schema((column,)))


def meets(value, how, edge):
    if how is Comparison.IS:
        return value == edge
    return value >= edge if how is Comparison.AT_LEAST else value <= edge


def stored(column, storage=Storage.TEXT):
    return {column.name: storage}


def marked(condition, column, storage=Storage.TEXT):
    codes = Where.parse(condition).codes(encoded(column), stored(column, storage))
    return [place for place, held in enumerate(codes) if held]


@st.composite
def values_near(draw, column):
    """A value around the column's facts: inside, at, and beyond its bounds and atoms."""
    facts = [*(column.bounds or ()), *(column.edges or ()), *column.atoms]
    near = draw(st.sampled_from(facts))
    if column.kind is Kind.DATE:
        return near + dt.timedelta(days=draw(st.integers(-3, 3) | st.integers(-9000, 9000)))
    if column.kind is Kind.DATETIME:
        return near + dt.timedelta(seconds=draw(st.integers(-3, 3) | st.integers(-(10**8), 10**8)))
    steps = st.sampled_from([0, 1, -1, 0.5, -0.25, 1e-9, -1e-9])
    return float(near) + draw(steps | st.floats(-400, 400).map(lambda x: round(x, 2)))


@settings(max_examples=400)
@given(st.data())
def test_no_record_that_meets_a_condition_has_a_code_outside_of_it(data):
    column = data.draw(columns(data.draw(st.sampled_from(NUMERIC))))
    encoding = encoded(column)
    edge = data.draw(values_near(column))
    how = data.draw(st.sampled_from(list(Comparison)))
    codes = Where(column.name, how, str(edge)).codes(encoding, stored(column))
    for value in [edge, *data.draw(st.lists(values_near(column), min_size=1, max_size=12))]:
        if meets(value, how, edge):
            (code,) = encoding.column_codes(column.name, pa.array([str(value)]))
            assert codes[code], (column, how, edge, value)


@settings(max_examples=100)
@given(st.data())
def test_whoever_holds_a_named_label_has_one_of_its_codes(data):
    column = data.draw(columns(data.draw(st.sampled_from([Kind.CATEGORICAL, Kind.BOOLEAN]))))
    encoding = encoded(column)
    for label in encoding.cells[column.name].labels:
        codes = Where(column.name, Comparison.IS, str(label)).codes(encoding, stored(column))
        (code,) = encoding.column_codes(column.name, pa.array([str(label)]))
        assert codes[code]
        assert {*np.flatnonzero(codes)} == {code, *encoding.cells[column.name].fallback}


AGE = Column(name="age", kind=Kind.INTEGER, bounds=(0, 9), null=True)
ODD = Column(name="age", kind=Kind.REAL, bounds=(0, 100), bins=4, atoms=(100, -20, 120), null=True)
DAY = Column(
    name="day", kind=Kind.DATE, bounds=(dt.date(2020, 1, 1), dt.date(2020, 1, 4)), null=False
)
JOB = Column(name="job", kind=Kind.CATEGORICAL, categories=("a", "b"), other="else", null=True)


GERMAN = Column(name="day", kind=Kind.DATE, bounds=DAY.bounds, null=True, format="%d.%m.%Y")
CODE = Column(name="code", kind=Kind.CATEGORICAL, categories=("1", "2", "2.0"), null=True)
NUMBERS = Column(name="code", kind=Kind.ORDINAL, categories=(1, 3), null=True)
SEX = Column(name="sex", kind=Kind.BOOLEAN, null=True)
SHARE = Column(name="share", kind=Kind.REAL, bounds=(0, 1), bins=10, null=True)
FLAG = Column(name="flag", kind=Kind.CATEGORICAL, categories=("false", "true", "x"), null=True)


@pytest.mark.parametrize(
    ("condition", "column", "codes"),
    [
        # The last cell is that of missing and unreadable values.
        ("age >= 8", AGE, [8, 9, 10]),
        ("age > 8", AGE, [8, 9, 10]),
        ("age >= 8.5", AGE, [8, 9, 10]),
        ("age <= 1", AGE, [0, 1, 10]),
        ("age == 3", AGE, [3, 10]),
        ("age >= 42", AGE, [9, 10]),
        ("age <= -1", AGE, [0, 10]),
        ("age >= -1", AGE, list(range(11))),
        # Bins 0-3, then the atoms 100 (at the bound, where all beyond it go), -20 and 120.
        ("age >= 75", ODD, [3, 4, 6, 7]),
        ("age >= 110", ODD, [3, 4, 6, 7]),
        ("age >= 130", ODD, [3, 4, 7]),
        ("age >= -50", ODD, [0, 1, 2, 3, 4, 5, 6, 7]),
        ("age >= -10", ODD, [0, 1, 2, 3, 4, 6, 7]),
        ("age <= 130", ODD, [0, 1, 2, 3, 4, 5, 6, 7]),
        ("age <= 110", ODD, [0, 1, 2, 3, 4, 5, 7]),
        ("age <= -20", ODD, [0, 5, 7]),
        ("age = 120", ODD, [6, 7]),
        # Without a cell of their own, missing values have the hidden one.
        ("day >= 2020-01-03", DAY, [2, 3, 4]),
        ("day >= 2020-01-03 12:30", DAY, [2, 3, 4]),
        ("day <= 1999-12-31", DAY, [0, 4]),
        # A column's own format, or ISO 8601.
        ("day >= 3.1.2020", GERMAN, [2, 3, 4]),
        ("day >= 2020-01-03", GERMAN, [2, 3, 4]),
        ("job = b", JOB, [1, 2, 3]),
        ("job = 'b'", JOB, [1, 2, 3]),
        ("job = c", JOB, [2, 3]),
        # Numbers are compared as numbers, however they are written.
        ("code = 1", CODE, [0, 3]),
        ("code = 1.0", CODE, [0, 3]),
        ("code = 2.0", CODE, [1, 2, 3]),
        ("code = 3e0", NUMBERS, [1, 2]),
        ("sex = TRUE", SEX, [1, 2]),
        ("sex = no", SEX, [0, 2]),
        ("sex = 1", SEX, [1, 2]),
        ("sex = 1.0", SEX, [1, 2]),
        # In single precision 0.7 is a little less, and lies in the bin below.
        ("share >= 0.7", SHARE, [6, 7, 8, 9, 10]),
        ("share >= 0.75", SHARE, [7, 8, 9, 10]),
        ("share > 0", SHARE, list(range(11))),
    ],
)
def test_a_condition_marks_its_side(condition, column, codes):
    assert marked(condition, column) == codes


@pytest.mark.parametrize(
    ("condition", "column", "why"),
    [
        ("age", AGE, "is no condition"),
        (">= 90", AGE, "is no condition"),
        ("age >=", AGE, "is no condition"),
        ("age >= old", AGE, "'old' is no value of 'age'"),
        ("day >= tomorrow", DAY, "'tomorrow' is no value of 'day'"),
        ("job >= b", JOB, "holds labels"),
        ("job = c", Column(name="job", kind=Kind.CATEGORICAL, categories=("a",)), "no value"),
        ("code = 4", CODE, "no value of 'code'"),
        ("code = 1.5", NUMBERS, "no value of 'code'"),
        ("code >= 1", NUMBERS, "holds labels"),
        ("sex = maybe", SEX, "no value of 'sex'"),
        ("flag = yes", FLAG, "no value of 'flag'"),
        ("job = A", JOB, "The schema lists 'a'"),
        ("age >= " + "9" * 80, AGE, "no value of 'age'"),
    ],
)
def test_conditions_that_say_nothing_are_refused(condition, column, why):
    with pytest.raises(BadInput, match=why):
        marked(condition, column)


FOUND = [
    Column(name="age", kind=Kind.CATEGORICAL, categories=("other",), source=Source.BOUGHT),
    Column(name="age", kind=Kind.DATE, bounds=DAY.bounds, source=Source.BOUGHT),
]


@pytest.mark.parametrize("column", FOUND, ids=lambda column: column.kind)
def test_of_a_column_that_turned_out_otherwise_all_codes_may_meet_a_condition(column):
    # It was paid for by then, and a record of 95 is in whatever cell such values fell into.
    assert marked("age >= 90", column) == list(range(encoded(column).domain.sizes["age"]))


def test_a_label_that_was_not_found_is_where_rare_values_are():
    rare = Column(name="job", kind=Kind.CATEGORICAL, categories=("a",), source=Source.BOUGHT)
    assert marked("job = spy", rare) == [1]


def test_a_condition_on_no_column_is_refused():
    with pytest.raises(UnknownColumn):
        marked("agee >= 90", AGE)


def test_a_condition_reads_as_it_was_written():
    for text in ("age >= 90", "age <= 3", "job = never married", "income = <=50K", "a b = c=d"):
        assert str(Where.parse(text)) == text
        assert Where.parse(str(Where.parse(text))) == Where.parse(text)


def test_of_an_open_column_only_the_name_is_checked():
    column = Column(name="age", kind=Kind.UNKNOWN)
    encoding = Encoding(Schema((column,)), shapes=True)
    Where.parse("age >= old").check(encoding, stored(column))
    with pytest.raises(UnknownColumn):
        Where.parse("agee >= 1").check(encoding, stored(column))
    with pytest.raises(BadInput, match="no value"):
        Where.parse("age >= old").check(encoded(AGE), stored(AGE))
    # Until it is known what the column holds, any record may meet the condition.
    assert all(Where.parse("age = 5").codes(encoding, stored(column)))


@settings(max_examples=60)
@given(st.data())
def test_a_number_is_read_as_cells_read_it(data):
    column = data.draw(columns(data.draw(st.sampled_from(NUMERIC)), written=False))
    value = data.draw(values_near(column))
    number = encoded(column).cells[column.name].number_of(str(value))
    if column.kind is Kind.DATE:
        assert number == value.toordinal() - EPOCH.toordinal()
    elif column.kind is Kind.DATETIME:
        assert number == (value - EPOCH).total_seconds()
    else:
        assert np.isclose(number, value, rtol=1e-15, atol=0)
    assert encoded(column).cells[column.name].number_of("x") is None


@pytest.mark.parametrize(
    "parts", [("a = b", Comparison.IS, "3"), ("a>", Comparison.IS, "3"), (" a", Comparison.IS, "3")]
)
def test_a_condition_that_would_read_as_another_is_refused(parts):
    with pytest.raises(BadInput, match="reads as another condition"):
        Where(*parts)
    assert Where("a", Comparison.IS, "b = 3") == Where.parse("a = b = 3")


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "1e400"])
def test_nothing_is_compared_with_the_infinite(value):
    with pytest.raises(BadInput, match="finite number"):
        Where.parse(f"age >= {value}")


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_is_no_finite_number_is_read_as_missing_and_meets_every_condition(value):
    column = Column(name="x", kind=Kind.REAL, bounds=(0, 100), bins=10, null=True)
    encoding = Encoding(Schema((column,)))
    (code,) = encoding.column_codes("x", pa.array([value]))
    assert code == encoding.cells["x"].missing
    for condition in ("x >= 90", "x <= 3", "x = 5"):
        assert Where.parse(condition).codes(encoding, stored(column, Storage.FLOAT))[code]


@pytest.mark.parametrize(("value", "fits"), [("Paris", True), ("paris", False), ("Oslo", True)])
def test_a_label_in_other_letters_is_refused(value, fits):
    column = Column(name="x", kind=Kind.CATEGORICAL, categories=("Paris", "Rome"), other="?")
    encoding = Encoding(Schema((column,)))
    condition = Where.parse(f"x = {value}")
    if fits:
        assert sum(condition.codes(encoding, stored(column))) == (3 if value == "Paris" else 2)
    else:
        with pytest.raises(BadInput, match="no value of 'x'"):
            condition.codes(encoding, stored(column))


@pytest.mark.parametrize("value", ["yes", "TRUE", "1", "1.0", "t"])
def test_stored_booleans_are_compared_as_booleans(value):
    # False, true, x and missing: a stored true is coded as the label "true".
    assert marked(f"flag = {value}", FLAG, Storage.BOOLEAN) == [1, 3]
    ones = Column(name="flag", kind=Kind.INTEGER, bounds=(0, 1), null=True)
    assert marked(f"flag >= {value}", ones, Storage.BOOLEAN) == [1, 2]


@pytest.mark.parametrize("storage", [Storage.TEXT, Storage.INTEGER, Storage.FLOAT])
@pytest.mark.parametrize("condition", ["code = 1", "code = 1.0", "code = +1", "code = 1e0"])
def test_integers_and_floats_are_compared_alike(condition, storage):
    # One missing cell makes a column of integers one of floats.
    assert marked(condition, CODE, storage) == [0, 3]


def test_the_hidden_cell_is_marked_for_stray_values_have_it():
    for column in (replace(AGE, null=False), replace(CODE, null=False), replace(SEX, null=False)):
        cells = Encoding(Schema((column,))).cells[column.name]
        found = marked(f"{column.name} = 1", column)
        assert found[-1] == cells.hidden == cells.size - 1
        assert len(found) == 2  # and the cell of the value
    # With a cell for unlisted values, missing ones are there, and none in the first.
    assert marked("job = b", replace(JOB, null=False)) == [1, 2]


def test_a_condition_says_in_words_what_else_meets_it():
    unread, unlisted = ("missing", "unreadable"), ("missing", "unreadable", "not listed")
    assert also_meeting(AGE) == also_meeting(SEX) == also_meeting(DAY) == unread
    assert also_meeting(replace(AGE, null=None)) == unread
    assert also_meeting(JOB) == also_meeting(NUMBERS) == unlisted
    # An open column may turn out to hold categories.
    assert also_meeting(Column(name="age", kind=Kind.UNKNOWN)) == unlisted
    assert also_meeting(Column(name="age", kind=Kind.INTEGER)) == unlisted
    assert in_words("job = b", unlisted) == "job = b, missing, unreadable or not listed"
    assert in_words("job = b", ()) == "job = b"


CITY = Column(
    name="city",
    kind=Kind.CATEGORICAL,
    categories=("Zürich", "New York", "F", "M", "1"),
    other="elsewhere",
    null=False,
)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("Zu\u0308rich", 0),
        ("New\u00a0York", 1),
        ("New  York", 1),
        ("\u200bF", 2),
        ("\uff11", 4),
    ],
)
def test_a_label_is_the_one_that_a_person_sees(value, code):
    # Coded as "other", the value that the certificate names counted fully.
    assert marked(f"city = {value}", CITY) == [code, 5]


@pytest.mark.parametrize(
    "value", ["F or M", "F, M", "(F)", "F;", "F/M", "not F", "f or X", "1.0, 2"]
)
def test_several_labels_are_not_taken_for_one_that_is_not_listed(value):
    with pytest.raises(BadInput, match="a condition names one value"):
        marked(f"city = {value}", CITY)
    found = replace(CITY, source=Source.BOUGHT)  # too late to be refused
    assert {2, 4} & {*marked(f"city = {value}", found)}


@pytest.mark.parametrize(
    "sentence",
    [
        "city = F or city = M",
        "city = 'F' or city = 'M'",
        'city = "F" AND age >= 90',
        "city = F, age >= 90",
        "city = F & age >= 90",
    ],
)
def test_several_conditions_are_refused(sentence):
    # Even where nothing is known of the column yet.
    with pytest.raises(BadInput, match="reads as several conditions"):
        Where.parse(sentence)
    value = sentence.removeprefix("city = ").replace('"', "")
    quoted = Where.parse(f'city = "{value}"')
    assert quoted.value == value
    assert Where.parse(str(quoted)) == quoted


def test_whole_numbers_in_single_precision_meet_what_they_read_as():
    # It reads as 716271500000, and is a little more.
    stored_as = pa.array(np.array([716271508297], np.float32))
    column = Column(
        name="x", kind=Kind.INTEGER, edges=(0, 716271508298, 2**40), null=True, bounds=None
    )
    encoding = Encoding(Schema((column,)))
    (code,) = encoding.column_codes("x", stored_as)
    for storage in (Storage.FLOAT, Storage.INTEGER):  # one cell can decide which it is
        meets = Where.parse("x <= 716271508297").codes(encoding, {"x": storage})
        assert code == 1
        assert meets[code]


PRICE = Column(
    name="x", kind=Kind.REAL, bounds=(0, 10_000), bins=10, decimal=",", thousands=".", null=False
)


@pytest.mark.parametrize(
    ("condition", "first"),
    [
        ("x >= 2.500,50", 2),
        ("x >= 2500.5", 2),
        ("x >= 2500", 2),
        # Either 2,500 or two and a half: both readings are protected.
        ("x >= 2.500", 0),
    ],
)
def test_a_number_in_a_condition_is_read_as_its_column_is_written_or_plainly(condition, first):
    stated = Where.parse(condition).stated(encoded(PRICE), stored(PRICE, Storage.TEXT))
    assert stated == (*(place >= first for place in range(10)), False), "the hidden code is last"


def test_a_day_in_a_condition_covers_it_in_every_zone():
    bounds = (dt.datetime(2024, 3, 1), dt.datetime(2024, 3, 11))  # noqa: DTZ001 - columns are naive
    column = Column(
        name="x",
        kind=Kind.DATETIME,
        bounds=bounds,
        bins=240,
        format="%Y-%m-%dT%H:%M:%S%z",
        null=False,
    )
    late = encoded(column).column_codes("x", pa.array(["2024-03-05T23:30:00-05:00"]))[0]
    storage = stored(column, Storage.TEXT)
    assert Where.parse("x <= 2024-03-05").stated(encoded(column), storage)[late]
    assert not Where.parse("x <= 2024-03-04").stated(encoded(column), storage)[late]
    # With a zone of its own, a value is one moment.
    sharp = Where.parse("x <= 2024-03-06T00:00:00-05:00").stated(encoded(column), storage)
    assert sharp[late]
    assert not sharp[late + 1]


def test_a_boolean_in_a_condition_is_read_in_its_spelling_and_in_usual_words():
    column = Column(name="x", kind=Kind.BOOLEAN, spelling=("1", "2"), null=False)
    meets = {
        value: Where.parse(f"x = {value}").stated(encoded(column), stored(column, Storage.TEXT))
        for value in ("2", "1", "no")
    }
    assert meets == {
        "2": (False, True, False),
        "1": (True, False, False),
        "no": (True, False, False),
    }
