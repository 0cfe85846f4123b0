"""What holds for every encoding, whatever the facts and the cells."""

import datetime as dt
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers.tables import DESCRIBED, as_written, columns, stored_columns
from understudy.column import Column, Kind
from understudy.encode import Encoding
from understudy.encode.moments import resolution
from understudy.schema import Schema

ARROW_TYPES = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INTEGER: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.DATE: pa.date32(),
    Kind.DATETIME: pa.timestamp("s"),
}


@pytest.mark.untraced
@pytest.mark.parametrize("kind", DESCRIBED)
class TestEveryKind:
    def test_a_decoded_code_encodes_to_itself(self, kind):
        @given(columns(kind), st.integers(0, 2**32))
        def holds(column, seed):
            encoding = Encoding(Schema((column,)))
            size = encoding.domain.sizes["x"]
            codes = np.repeat(np.arange(size), 30).astype(encoding.dtype("x"))
            table = encoding.decode({"x": codes}, np.random.default_rng(seed))
            np.testing.assert_array_equal(encoding.codes(table)["x"], codes)

        holds()

    def test_a_decoded_code_read_back_from_text_encodes_to_itself(self, kind):
        @settings(max_examples=25)
        @given(columns(kind), st.integers(0, 2**32))
        def holds(column, seed):
            encoding = Encoding(Schema((column,)))
            size = encoding.domain.sizes["x"]
            codes = np.repeat(np.arange(size), 5).astype(encoding.dtype("x"))
            values = encoding.decode({"x": codes}, np.random.default_rng(seed))["x"].to_pylist()
            assume(not _coarse(column, values))
            text = pa.array([None if v is None else as_written(v, column) for v in values])
            np.testing.assert_array_equal(encoding.codes(pa.table({"x": text}))["x"], codes)

        holds()

    def test_every_cell_gets_a_code_of_the_domain(self, kind):
        @given(stored_columns(kind))
        def holds(stored):
            column, values = stored
            encoding = Encoding(Schema((column,)))
            codes = encoding.codes(pa.table({"x": values}))["x"]
            assert len(codes) == len(values)
            assert all(0 <= int(code) < encoding.domain.sizes["x"] for code in codes)

        holds()

    def test_missing_cells_go_to_the_missing_cell(self, kind):
        @given(columns(kind))
        def holds(column):
            encoding = Encoding(Schema((column,)))
            (code,) = encoding.codes(pa.table({"x": pa.array([None], pa.string())}))["x"]
            cells = encoding.cells["x"]
            if column.null is not False:
                assert code == cells.missing == cells.size - 1
                assert cells.hidden is None
            elif column.other:
                assert cells.missing is cells.hidden is None
                assert code == len(column.categories)
            else:
                assert code == cells.missing == cells.hidden == cells.size - 1

        holds()

    def test_decoded_values_respect_the_facts(self, kind):
        @given(columns(kind), st.integers(0, 2**32))
        def holds(column, seed):
            encoding = Encoding(Schema((column,)))
            cells = encoding.cells["x"]
            codes = np.repeat(np.arange(cells.size), 30)
            decoded = encoding.decode({"x": codes}, np.random.default_rng(seed))["x"]
            usual = pa.string() if column.spelling else ARROW_TYPES.get(kind, cells.arrow_type)
            assert decoded.type == cells.arrow_type == usual
            for code, value in zip(codes, decoded.to_pylist(), strict=True):
                assert (value is None) == (code == cells.missing)
                if value is None:
                    continue
                if kind.listed:
                    assert value in {*column.categories, column.other}
                if column.spelling:
                    assert value == column.spelling[code]
                if kind.numeric:
                    least, greatest = column.bounds
                    assert least <= value <= greatest or value in column.atoms

        holds()

    def test_each_cell_has_its_own_words(self, kind):
        @given(columns(kind))
        def holds(column):
            cells = Encoding(Schema((column,))).cells["x"]
            words = [cells.describe(code) for code in range(cells.size)]
            # Reals are shown with six digits, so narrow bins may look alike.
            assert kind is Kind.REAL or len(set(words)) == len(words)

        holds()


def _coarse(column, values):
    """Whether a value cannot be written as precisely as it was drawn: no multiple was there."""
    return any(
        value is not None
        and (
            (column.format is not None and _seconds(value) % resolution(column.format))
            or (column.padded and round(value, column.decimals) != value)
        )
        for value in values
    )


def _seconds(value):
    epoch = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - columns are naive
    return int((value - epoch).total_seconds()) if isinstance(value, dt.datetime) else 0


def _unit(column):
    if column.kind is Kind.REAL and column.step is None:
        return None if column.decimals is None else Fraction(1, 10**column.decimals)
    return None if column.step is None else Fraction(str(column.step))


@pytest.mark.untraced
@given(columns(Kind.INTEGER) | columns(Kind.REAL), st.integers(0, 2**32))
def test_drawn_numbers_are_multiples_wherever_their_bin_holds_one(column, seed):
    unit = _unit(column)
    assume(unit is not None)
    encoding = Encoding(Schema((column,)))
    cells = encoding.cells["x"]
    codes = np.repeat(np.arange(len(cells.bins)), 20)
    drawn = encoding.decode({"x": codes}, np.random.default_rng(seed))["x"].to_pylist()
    for code, value in zip(codes, drawn, strict=True):
        multiple = round(Fraction(value) / unit)
        if value == float(multiple * unit):
            continue
        # No multiple is in the bin, as far as its code tells.
        first, last = (int(Fraction(end) / unit) for end in cells.bins[code])
        assume(last - first < 1000)
        for near in range(first - 2, last + 3):
            number = float(near * unit)
            inside = column.bounds[0] <= number <= column.bounds[1]
            assert not inside or cells.cell_of(number) != code


def test_every_multiple_of_a_bin_is_drawn():
    column = Column(
        name="x", kind=Kind.REAL, bounds=(0, 10), bins=4, atoms=(0.5, 9), step=0.5, null=False
    )
    encoding = Encoding(Schema((column,)))
    codes = np.repeat(np.arange(4), 200)
    drawn = encoding.decode({"x": codes}, np.random.default_rng(1))["x"].to_numpy()
    expected = [
        {0, 1, 1.5, 2},
        {2.5, 3, 3.5, 4, 4.5},
        {5, 5.5, 6, 6.5, 7},
        {7.5, 8, 8.5, 9.5, 10},
    ]
    for code, values in enumerate(expected):
        assert set(drawn[codes == code].tolist()) == values


@given(columns(Kind.REAL, precise=False), st.integers(0, 2**32))
def test_reals_have_few_digits(column, seed):
    assume(min(b - a for a, b in zip(column.bounds, column.bounds[1:], strict=False)) > 1)
    encoding = Encoding(Schema((column,)))
    cells = encoding.cells["x"]
    codes = np.repeat(np.arange(len(cells.bins)), 20)
    drawn = encoding.decode({"x": codes}, np.random.default_rng(seed))["x"].to_pylist()
    for code, value in zip(codes, drawn, strict=True):
        first, last = cells.bins[code]
        decimals = 3 - np.floor(np.log10(last - first))
        if decimals <= 9:
            assert len(repr(value).partition(".")[2]) <= max(decimals, 1), value


@given(
    columns(Kind.INTEGER, precise=False) | columns(Kind.DATE, precise=False), st.integers(0, 2**32)
)
def test_every_value_of_a_whole_number_bin_is_drawn(column, seed):
    encoding = Encoding(Schema((column,)))
    cells = encoding.cells["x"]
    for code, (first, last) in enumerate(cells.bins):
        room = {n for n in range(int(first), int(last) + 1) if n not in cells.atoms}
        if len(room) > 6:
            continue
        codes = np.full(40 * len(room), code)
        drawn = encoding.decode({"x": codes}, np.random.default_rng(seed))["x"]
        kind = pa.int64() if column.kind is Kind.INTEGER else pa.int32()
        assert set(drawn.cast(kind).to_pylist()) == room
        return


@given(columns(Kind.REAL, precise=False), st.integers(0, 2**32))
def test_reals_are_drawn_over_the_whole_bin(column, seed):
    encoding = Encoding(Schema((column,)))
    first, last = encoding.cells["x"].bins[0]
    drawn = encoding.decode({"x": np.zeros(400, int)}, np.random.default_rng(seed))["x"].to_numpy()
    inside = (drawn - first) / (last - first)
    assert inside.min() < 0.1
    assert inside.max() > 0.9
    # The mean of 400 even draws lies this far from a half once in ten thousand million runs.
    assert abs(inside.mean() - 0.5) < 6.5 * np.sqrt(1 / 12 / 400)
