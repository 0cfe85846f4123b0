"""What a column holds, decided from noisy counts of its shapes alone."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from understudy.column import Column, Kind
from understudy.encode import Encoding
from understudy.encode import shapes as grid
from understudy.encode.ops import Storage
from understudy.privacy.kinds import STANDS_OUT, looks
from understudy.schema import Schema

UNKNOWN = Column(name="x", kind=Kind.UNKNOWN)
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001
DAY = 86400.0


def counts(values, arrow_type=None, column=UNKNOWN):
    """The exact counts of shapes."""
    array = values if isinstance(values, pa.Array) else pa.array(values, arrow_type)
    codes = Encoding(Schema((column,)), shapes=True).codes(pa.table({"x": array}))["x"]
    return np.bincount(codes, minlength=grid.SHAPES).astype(float)


def seen(values, arrow_type=None, column=UNKNOWN, scale=1e-3, storage=Storage.TEXT):
    return looks(column, storage, counts(values, arrow_type, column), scale)


WHOLES = ["1", "2", "30"] * 10
DATES = ["2020-01-02", "1999-12-31"] * 15
MOMENTS = ["2020-01-02 10:30", "1999-12-31T23:59:59"] * 15
WORDS = ["red", "blue"] * 15


@pytest.mark.parametrize(
    ("values", "kind", "null"),
    [
        (WHOLES, Kind.INTEGER, False),
        ([*WHOLES, "0.5"], Kind.REAL, False),
        ([*WHOLES, None], Kind.INTEGER, True),
        (WHOLES + WORDS[:7], Kind.INTEGER, True),
        (WHOLES + WORDS[:8], Kind.CATEGORICAL, False),
        (DATES, Kind.DATE, False),
        (DATES + WORDS[:2], Kind.DATE, True),
        (MOMENTS, Kind.DATETIME, False),
        ([*DATES, MOMENTS[0]], Kind.DATETIME, False),
        (WORDS, Kind.CATEGORICAL, False),
        ([*WORDS, "", None], Kind.CATEGORICAL, True),
        (WHOLES + DATES, Kind.CATEGORICAL, False),
        (WHOLES + DATES + WORDS, Kind.CATEGORICAL, False),
        ([None, ""] * 20, None, True),
        ([], None, False),
    ],
)
def test_the_kind_is_what_most_values_are(values, kind, null):
    look = seen(values, pa.string())
    assert look.kind is kind
    assert look.null is null
    assert (look.span is not None) == (kind is not None and kind.numeric)


@pytest.mark.parametrize(
    ("values", "kind"), [(WHOLES + DATES[:6], Kind.INTEGER), (DATES + WHOLES[:6], Kind.DATE)]
)
def test_whatever_a_kind_cannot_read_counts_as_missing(values, kind):
    # Such as 0 in place of a date: without a missing cell these would join the first bin.
    look = seen(values)
    assert look.kind is kind
    assert look.null


def test_shares_decide_at_four_fifths():
    shapes = np.zeros(grid.SHAPES)
    one = grid.WHOLE.start + grid.MAGNITUDES.index(1.0) + 1
    for words, kind in ((200, Kind.INTEGER), (201, Kind.CATEGORICAL)):
        shapes[one], shapes[grid.TEXT] = 800, words
        assert looks(UNKNOWN, Storage.TEXT, shapes, 1.0).kind is kind


def test_what_does_not_stand_out_decides_nothing():
    shapes, scale = np.zeros(grid.SHAPES), 10.0
    one = grid.WHOLE.start + grid.MAGNITUDES.index(1.0) + 1
    far, half = grid.WHOLE.stop - 1, grid.FRACTION.start + grid.MAGNITUDES.index(0.5) + 1
    hidden, clear = STANDS_OUT * scale, STANDS_OUT * scale + 1
    shapes[one] = 1000
    shapes[[far, half, grid.MISSING]] = hidden
    look = looks(UNKNOWN, Storage.TEXT, shapes, scale)
    assert (look.kind, look.null, look.span.edges) == (Kind.INTEGER, False, (1.0, 2.0))
    shapes[[half, grid.MISSING]] = clear
    look = looks(UNKNOWN, Storage.TEXT, shapes, scale)
    assert (look.kind, look.null, look.span.edges) == (Kind.REAL, True, (0.5, 1.0, 2.0))
    shapes[far] = clear
    assert looks(UNKNOWN, Storage.TEXT, shapes, scale).span.edges[-1] == 1.5 * 2.0**50
    shapes[:] = hidden
    look = looks(UNKNOWN, Storage.TEXT, shapes, scale)
    assert (look.kind, look.span) == (None, None)


def test_noise_makes_no_words_or_dates_of_stored_numbers():
    shapes = counts([1.0, 2.0, 3.0] * 10)
    shapes[grid.TEXT] = shapes[grid.DATE.start + 3] = shapes[grid.MOMENT.start + 3] = 1000
    assert looks(UNKNOWN, Storage.FLOAT, shapes, 1e-3).kind is Kind.INTEGER
    assert looks(UNKNOWN, Storage.TEXT, shapes, 1e-3).kind is Kind.CATEGORICAL


@pytest.mark.parametrize("null", [True, False])
def test_a_stated_null_is_kept(null):
    for values in (WHOLES, [*WHOLES, None, "word"], WORDS, [*WORDS, None]):
        column = Column(name="x", kind=Kind.UNKNOWN, null=null)
        assert seen(values, column=column).null is null


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.REAL, Kind.CATEGORICAL, Kind.ORDINAL])
def test_a_stated_kind_is_kept(kind):
    column = Column(name="x", kind=kind)
    for values in (WHOLES, WHOLES + WORDS, [*WHOLES, "0.5"]):
        look = seen(values, column=column)
        assert look.kind is kind
        assert (look.span is not None) == kind.numeric


def test_a_stated_kind_without_any_such_value_is_nothing_found():
    for kind, values in ((Kind.REAL, WORDS), (Kind.DATE, WORDS), (Kind.DATE, WHOLES)):
        look = seen(values, column=Column(name="x", kind=kind))
        assert (look.kind, look.span) == (None, None)


def check_span(span, numbers):
    """The span holds all numbers, its masses count them, and it is tight up to a factor of two."""
    edges = np.array(span.edges)
    assert (np.diff(edges) > 0).all()
    assert len(span.masses) == len(edges) - 1
    assert edges[0] <= min(numbers)
    assert max(numbers) < edges[-1]
    np.testing.assert_array_equal(span.masses, np.histogram(numbers, edges)[0])
    for end, number in ((edges[0], min(numbers)), (edges[-1], max(numbers))):
        if abs(number) >= 2.0**-20:
            assert abs(number) / 2 <= abs(end) <= abs(number) * 2 or end == 0
    # What lies between zero and the numbers belongs to them, where they begin near it.
    assert span.masses[0] > 0 or (span.edges[0] == 0 and span.edges[1] <= span.edges[-1] / 8)
    assert span.masses[-1] > 0 or (span.edges[-1] == 0 and span.edges[-2] >= span.edges[0] / 8)


SIZES = st.floats(2.0**-20, 2.0**50, exclude_max=True)


@given(st.lists(st.sampled_from([0.0, 0.5]) | SIZES | SIZES.map(lambda x: -x), min_size=1))
def test_bounds_contain_all_numbers_up_to_a_factor_of_two(numbers):
    numbers = [*numbers, 0.5]  # so that the kind is real
    check_span(seen(numbers, pa.float64(), storage=Storage.FLOAT).span, numbers)


@given(st.lists(st.integers(-40, 40) | st.integers(-(2**50) + 1, 2**50 - 1), min_size=1))
def test_spans_of_whole_numbers_have_whole_edges(numbers):
    look = seen(numbers, pa.int64(), Column(name="x", kind=Kind.INTEGER))
    assert all(float(edge).is_integer() for edge in look.span.edges)
    check_span(look.span, numbers)


def test_zero_alone_and_numbers_off_the_grid():
    assert seen([0] * 9, pa.int64()).span.edges == (0.0, 1.0)
    assert seen([0.0, 1e-9] * 9).span.edges == (-(2.0**-20), 2.0**-20)
    assert seen([10**18, -(10**18)], pa.int64()).span.edges[:: 2 * 51 + 2] == (
        -1.5 * 2.0**50,
        1.5 * 2.0**50,
    )
    assert seen([-1e300, 0.5, 1e300]).span.edges[:: 2 * 71 + 1] == (-1.5 * 2.0**50, 1.5 * 2.0**50)


@given(st.lists(st.dates(dt.date(1800, 1, 1), dt.date(2199, 12, 31)), min_size=1))
def test_bounds_contain_all_dates_up_to_a_decade(days):
    span = seen(days, pa.date32()).span
    numbers = [(day - EPOCH.date()).days for day in days]
    assert span.edges[0] <= min(numbers) <= max(numbers) < span.edges[-1]
    assert span.masses.sum() == len(days)
    century = [day for day in (min(days), max(days)) if not 1900 <= day.year < 2100]
    if not century:
        assert span.edges[-1] - span.edges[0] <= max(numbers) - min(numbers) + 2 * 3653


@given(st.lists(st.datetimes(dt.datetime(1800, 1, 1), dt.datetime(2199, 12, 31)), min_size=1))  # noqa: DTZ001
def test_bounds_of_moments_count_seconds(moments):
    moments = [*moments, dt.datetime(2000, 1, 1, 12)]  # noqa: DTZ001 - so that one has a time of day
    look = seen(moments, pa.timestamp("us"))
    seconds = [(moment - EPOCH).total_seconds() for moment in moments]
    assert look.kind is Kind.DATETIME
    assert look.span.edges[0] <= min(seconds) <= max(seconds) < look.span.edges[-1]
    assert all(edge % DAY == 0 for edge in look.span.edges)
    assert look.span.masses.sum() == len(moments)


@given(st.lists(st.floats(-1e9, 1e9), min_size=grid.SHAPES, max_size=grid.SHAPES), st.data())
def test_any_counts_make_a_valid_answer(values, data):
    kind = data.draw(st.sampled_from([k for k in Kind if k is not Kind.BOOLEAN]))
    storage = data.draw(st.sampled_from(Storage))
    scale = data.draw(st.floats(1e-3, 1e9))
    look = looks(Column(name="x", kind=kind), storage, np.array(values), scale)
    assert look.kind is None or kind in {look.kind, Kind.UNKNOWN}
    assert (look.span is not None) == (look.kind is not None and look.kind.numeric)
    if look.span is not None:
        assert (np.diff(look.span.edges) > 0).all()
        assert (look.span.masses >= 0).all()
        assert len(look.span.masses) == len(look.span.edges) - 1


@pytest.mark.statistical
def test_pure_noise_is_seldom_taken_for_values():
    """Expects about 20 alarms among 20,000 empty columns.

    False-alarm rate of this test 1e-6; if 4 deviations stood out instead of 4.5, there would be
    about 180 alarms, which it accepts with a probability below 1e-9.
    """
    rng, columns = np.random.default_rng(0), 20_000
    alarms = 0
    for _ in range(columns):
        noise = 7.0 * rng.standard_normal(grid.SHAPES)
        alarms += looks(UNKNOWN, Storage.TEXT, noise, 7.0).kind is not None
    # Not each cell makes a kind by itself: no whole number lies between 1/4 and 1/2.
    least, most = (1 - norm.cdf(STANDS_OUT) ** cells for cells in (280, grid.SHAPES - 1))
    assert binom.ppf(5e-7, columns, least) <= alarms <= binom.isf(5e-7, columns, most)


def covers(span, ends):
    """Whether a span holds these ends, and at most three cells more at each."""
    if span is None or ends is None:
        return span is None and ends is None
    low, high = span.edges[0], span.edges[-1]
    return -8 <= low <= ends[0] and ends[1] <= high <= 8 * ends[1]


@pytest.mark.statistical
def test_noise_far_below_the_counts_changes_no_decision():
    """Of 200 columns of each kind, at most a few are taken for something else.

    Noise shows as a value or as a missing cell in less than 0.2 % of columns, so the false-alarm
    rate is 3e-7. If 3 deviations stood out, it would in 30 %: more than 40 columns of 200.
    """
    rng, scale = np.random.default_rng(1), 5.0
    cases = [
        (counts([*WHOLES, *WHOLES[:3]] * 20 + [None] * 100), Kind.INTEGER, True, (0.0, 32.0)),
        (counts(["0.75", "1", "40"] * 200), Kind.REAL, False, (0.0, 64.0)),
        (counts(WORDS * 20), Kind.CATEGORICAL, False, None),
    ]
    for exact, kind, null, ends in cases:
        wrong = 0
        for _ in range(200):
            noisy = exact + scale * rng.standard_normal(grid.SHAPES)
            look = looks(UNKNOWN, Storage.TEXT, noisy, scale)
            wrong += (look.kind, look.null) != (kind, null) or not covers(look.span, ends)
        assert wrong <= binom.isf(1e-7, 200, 2e-3)
