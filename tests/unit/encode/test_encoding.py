"""Named cases of the rules that the laws only hold in general."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from understudy.column import Column, Kind, Role
from understudy.encode import Encoding
from understudy.encode.numbers import NumberCells
from understudy.errors import BadInput, SchemaError, SourceError, UnknownColumn
from understudy.schema import Schema


def codes(values, arrow_type=None, **facts):
    column = Column(name="x", **facts)
    array = values if isinstance(values, pa.Array) else pa.array(values, arrow_type)
    return Encoding(Schema((column,))).codes(pa.table({"x": array}))["x"].tolist()


def test_labels_other_and_missing():
    facts = {"kind": Kind.CATEGORICAL, "categories": ("a", "b")}
    cells = ["a", " b\t", "c", "", None, "A"]
    assert codes(cells, **facts) == [0, 1, 2, 2, 2, 2]
    assert codes(cells, **facts, other="rest") == [0, 1, 2, 3, 3, 2]
    assert codes(cells, **facts, other="rest", null=False) == [0, 1, 2, 2, 2, 2]
    # Nobody is dropped, and no value becomes another, where the facts say that no such cell exists.
    assert codes(cells, **facts, null=False) == [0, 1, 2, 2, 2, 2]


def test_integer_labels_are_numbers_however_they_are_written():
    facts = {"kind": Kind.ORDINAL, "categories": (3, 1, 2)}
    assert codes(["3", "01", "2.0", " 1", "1e0", "x", "1.5"], **facts) == [0, 1, 2, 1, 1, 3, 3]
    assert codes([3, 1, 2, 7, None], pa.int64(), **facts) == [0, 1, 2, 3, 3]
    assert codes([3.0, 1.5, float("nan"), 1e300], pa.float64(), **facts) == [0, 3, 3, 3]
    assert codes([True, False], pa.bool_(), **facts) == [1, 3]


def test_text_labels_match_whole_numbers_of_a_float_column():
    # pandas makes floats of integers as soon as one is missing.
    facts = {"kind": Kind.CATEGORICAL, "categories": ("1", "2")}
    assert codes([1.0, 2.0, None, 2.5], pa.float64(), **facts) == [0, 1, 2, 2]


def test_booleans():
    cells = ["true", "F", "Yes", "no", "1", "0.0", " TRUE ", "maybe", ""]
    assert codes(cells, kind=Kind.BOOLEAN) == [1, 0, 1, 0, 1, 0, 1, 2, 2]
    assert codes([1, 0, 2], pa.int8(), kind=Kind.BOOLEAN) == [1, 0, 2]


def test_integers_bins_atoms_and_bounds():
    facts = {"kind": Kind.INTEGER, "bounds": (0, 99), "bins": 10, "atoms": (0, -1), "null": True}
    cells = ["0", "1", "9", "10", "99", "100", "-5", "-1", "9.99", "", "ten"]
    #         atom bin  bin  bin   bin   clamp  clamp→atom 0, atom outside the bounds
    assert codes(cells, **facts) == [10, 0, 0, 1, 9, 9, 10, 11, 0, 12, 12]


def test_a_bin_that_holds_nothing_but_an_atom_has_no_cell():
    facts = {"kind": Kind.INTEGER, "bounds": (0, 4), "atoms": (0, 3), "null": False}
    assert Encoding(Schema((Column(name="x", **facts),))).domain.sizes == {"x": 5 + 1}
    assert codes(range(5), pa.int64(), **facts) == [3, 0, 1, 4, 2]


def test_unequal_bins_of_whole_numbers():
    cells = Encoding(Schema((Column(name="x", kind=Kind.INTEGER, bounds=(0, 6), bins=3),))).cells[
        "x"
    ]
    assert cells.bins == ((0, 2), (3, 4), (5, 6))


def test_a_fraction_goes_with_the_whole_number_below():
    facts = {"kind": Kind.INTEGER, "bounds": (0, 120), "bins": 24, "null": False}
    numbers = np.arange(0, 121, 0.25)
    whole = codes(np.floor(numbers), pa.float64(), **facts)
    assert codes(numbers, pa.float64(), **facts) == whole
    days = {"kind": Kind.DATE, "bounds": (dt.date(2020, 1, 1), dt.date(2020, 12, 31)), "bins": 12}
    late = [dt.datetime(2020, 1, 1, 23, 59) + dt.timedelta(days=day) for day in range(366)]  # noqa: DTZ001
    dates = [moment.date() for moment in late]
    assert codes(late, pa.timestamp("s"), **days) == codes(dates, pa.date32(), **days)


def test_wide_whole_numbers_find_the_bins_they_are_drawn_from():
    column = Column(name="x", kind=Kind.INTEGER, bounds=(0, 2**52 - 1), bins=1000, null=False)
    encoding = Encoding(Schema((column,)))
    ends = pa.array([int(end) for both in encoding.cells["x"].bins for end in both])
    expected = np.repeat(np.arange(1000), 2)
    np.testing.assert_array_equal(encoding.codes(pa.table({"x": ends}))["x"], expected)


def test_an_atom_anywhere_in_a_real_bin():
    for atoms in [(1.5,), (1.0,), (1.5, 1.8, 2.1, 2.4, 2.7)]:
        column = Column(name="x", kind=Kind.REAL, bounds=(0, 3), bins=1, atoms=atoms, null=False)
        assert Encoding(Schema((column,))).domain.sizes == {"x": 1 + len(atoms) + 1}


@pytest.mark.parametrize("size", [7, 49, 64, 85, 1000])
def test_one_cell_for_each_whole_number(size):
    facts = {"kind": Kind.INTEGER, "bounds": (0, size - 1), "bins": size, "null": False}
    assert codes(range(size), pa.int64(), **facts) == list(range(size))


def test_reals_the_last_bin_holds_both_its_ends():
    facts = {"kind": Kind.REAL, "bounds": (0, 1), "bins": 4, "null": True}
    cells = [0.0, 0.25, 0.999, 1.0, 5.0, -0.0, float("inf"), float("nan")]
    assert codes(cells, pa.float64(), **facts) == [0, 1, 3, 3, 3, 0, 4, 4]
    edges = {"kind": Kind.REAL, "edges": (0, 0.1, 10), "null": True}
    assert codes([0.05, 0.1, 10.0, 11.0], pa.float64(), **edges) == [0, 1, 1, 1]


def test_numbers_as_text_follow_one_grammar():
    facts = {"kind": Kind.REAL, "bounds": (0, 100), "bins": 100, "null": True}
    read = {"7": 7, "+7.5": 7, ".5e1": 5, "5.": 5, "2E1": 20, "\t8 \n": 8, "-3": 0}
    unread = ["1_0", "0x1F", "1,5", "inf", "NaN", "1e400", "٣", "", "--1", "1e", "9" * 65]
    assert codes([*read, *unread], **facts) == [*read.values(), *([100] * len(unread))]


def test_decimals_and_wide_integers_of_arrow():
    facts = {"kind": Kind.INTEGER, "bounds": (0, 9), "null": True}
    assert codes(pa.array([3, None, 2**64 - 1], pa.uint64()), **facts) == [3, 10, 9]
    decimals = pa.array(["3.00", "7.99"]).cast(pa.decimal128(5, 2))
    assert codes(decimals, **facts) == [3, 7]
    assert codes(pa.array(["3", "4"]).dictionary_encode(), **facts) == [3, 4]
    assert codes(pa.nulls(2), **facts) == [10, 10]


def test_decimals_are_read_to_the_last_digit():
    values = [f"{k / 10000:.4f}" for k in range(300)]
    for kind in (pa.decimal128(18, 4), pa.decimal256(40, 4)):
        facts = {"kind": Kind.REAL, "bounds": (0, 1), "bins": 1, "null": False}
        for value in values[1::17]:
            atom = facts | {"atoms": (float(value),)}
            assert codes(pa.array([Decimal(value)], kind), **atom) == [1]


def test_numbers_with_large_exponents_as_text():
    facts = {"kind": Kind.REAL, "bounds": (1e100, 1e200), "bins": 4, "null": True}
    cells = ["1e+150", "2.5e100", "1e-200", "1e299", "1.2345678901234567e+150", "1E+005"]
    assert codes(cells, **facts) == [0, 0, 0, 3, 0, 0]


def test_dates_beyond_the_calendar_move_to_the_nearer_bound():
    days = (dt.date(2020, 1, 1), dt.date(2020, 1, 3))
    facts = {"kind": Kind.DATE, "bounds": days, "null": True}
    for unit in ("s", "ms", "us", "ns"):
        wide = pa.array([2**62, -(2**62), None], pa.int64()).cast(pa.timestamp(unit))
        assert codes(wide, **facts) == [2, 0, 3]
    far = pa.array([2**31 - 1, -(2**31), None], pa.int32()).cast(pa.date32())
    assert codes(far, **facts) == [2, 0, 3]
    day = 86_400_000
    far = pa.array([2**62 // day * day, -(2**62) // day * day, None], pa.int64()).cast(pa.date64())
    assert codes(far, **facts) == [2, 0, 3]


def test_dates_as_text():
    days = (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
    facts = {"kind": Kind.DATE, "bounds": days, "bins": 366, "null": True}
    cells = ["2020-01-01", "2020-2-29", "2020-02-30", "2020-12-31T23:59:59.5Z", "1999-01-01"]
    cells += ["2021-01-01", "0000-01-01", "2020-13-01", "20200101", "2020-01-01T25:00", None]
    assert codes(cells, **facts) == [0, 59, 366, 365, 0, 365, 366, 366, 366, 366, 366]
    german = facts | {"format": "%d.%m.%Y"}
    assert codes(["1.2.2020", "31.11.2020", "2020-01-01"], **german) == [31, 366, 366]


def test_stored_dates_and_moments():
    days = (dt.date(1969, 12, 30), dt.date(1970, 1, 2))
    facts = {"kind": Kind.DATE, "bounds": days, "null": True}
    cells = [dt.date(1969, 12, 31), dt.date(1970, 1, 1), None, dt.date(1, 1, 1)]
    assert codes(cells, pa.date32(), **facts) == [1, 2, 4, 0]
    assert codes(cells, pa.date64(), **facts) == [1, 2, 4, 0]
    late = [dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(1970, 1, 1)]  # noqa: DTZ001
    for unit in ("us", "ns"):
        assert codes(late, pa.timestamp(unit), **facts) == [1, 2]


def test_moments_keep_seconds():
    ends = (dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 0, 0, 3))  # noqa: DTZ001
    facts = {"kind": Kind.DATETIME, "bounds": ends, "null": True}
    cells = ["2020-01-01", "2020-01-01 00:00:01", "2020-01-01T00:00:02.9", "2020-01-01 0:00"]
    assert codes(cells, **facts) == [0, 1, 2, 0]


def test_text_that_is_not_utf8_is_missing():
    broken = pa.array([b"\xff", b"a"]).view(pa.string())
    assert codes(broken, kind=Kind.CATEGORICAL, categories=("a",)) == [1, 0]
    assert codes(broken, kind=Kind.INTEGER, bounds=(0, 1)) == [2, 2]


def test_codes_are_as_narrow_as_they_can_be():
    def dtype(size):
        column = Column(name="x", kind=Kind.INTEGER, bounds=(0, size - 1), bins=size, null=False)
        return Encoding(Schema((column,))).dtype("x")

    # With the hidden code, which comes last.
    assert [dtype(size - 1) for size in (2, 256, 257, 2**16)] == ["u1", "u1", "u2", "u2"]


def test_columns_draw_independently_of_each_other():
    facts = {"kind": Kind.REAL, "bounds": (0, 1), "bins": 1, "null": False}
    encoding = Encoding(Schema((Column(name="a", **facts), Column(name="b", **facts))))
    zeros = np.zeros(2000, int)
    table = encoding.decode({"a": zeros, "b": zeros}, np.random.default_rng(0))
    assert abs(np.corrcoef(table["a"].to_numpy(), table["b"].to_numpy())[0, 1]) < 0.15


def test_public_mistakes_are_refused():
    open_facts = Schema((Column(name="x", kind=Kind.INTEGER), Column(name="y", kind=Kind.ORDINAL)))
    with pytest.raises(SchemaError, match=r"x \(bounds\), y \(categories\)"):
        Encoding(open_facts)
    with pytest.raises(SchemaError, match="nothing to encode"):
        Encoding(Schema((Column(name="x", kind=Kind.INTEGER, role=Role.DROP),)))
    number = Schema((Column(name="x", kind=Kind.INTEGER, bounds=(0, 1)),))
    with pytest.raises(SchemaError, match="stored as date"):
        Encoding(number).codes(pa.table({"x": pa.array([None], pa.date32())}))
    with pytest.raises(SourceError, match="list<item: int64>"):
        Encoding(number).codes(pa.table({"x": [[1]]}))
    with pytest.raises(BadInput, match="columns of the schema once: x"):
        Encoding(number).codes(pa.table({"y": [1]}))
    with pytest.raises(UnknownColumn, match="no column 'q'"):
        Encoding(number).decode({"q": np.array([0])}, np.random.default_rng(0))
    with pytest.raises(BadInput, match="outside 0 … 2"):
        Encoding(number).decode({"x": np.array([3])}, np.random.default_rng(0))
    label = Schema((Column(name="x", kind=Kind.CATEGORICAL, categories=("a",)),))
    with pytest.raises(SchemaError, match="Declare it as date or datetime"):
        Encoding(label).codes(pa.table({"x": pa.array([None], pa.date32())}))
    wide = Column(name="x", kind=Kind.REAL, bounds=(-1e308, 1e308))
    with pytest.raises(SchemaError, match="too wide"):
        _ = Encoding(Schema((wide,))).cells
    with pytest.raises(SchemaError, match="bounds are not declared"):
        NumberCells(Column(name="x", kind=Kind.REAL))
    far = Column(name="x", kind=Kind.INTEGER, bounds=(-(2**52), 2**52))
    with pytest.raises(SchemaError, match="further apart"):
        _ = Encoding(Schema((far,))).cells
    fine = Column(name="x", kind=Kind.INTEGER, bounds=(0, 2**45), bins=4000)
    with pytest.raises(SchemaError, match="too wide for so many bins"):
        _ = Encoding(Schema((fine,))).cells
    narrow = Column(name="x", kind=Kind.REAL, bounds=(1, 1 + 1e-15), bins=64)
    with pytest.raises(SchemaError, match="too narrow"):
        _ = Encoding(Schema((narrow,))).cells


@pytest.mark.parametrize(
    ("kind", "bounds", "step", "bins"),
    [
        (Kind.REAL, (0.5, 5.0), 0.5, 10),
        (Kind.REAL, (0.3, 9.9), 0.7, 14),
        (Kind.REAL, (0.0, 100.0), 0.1, 32),
        (Kind.INTEGER, (0, 100), 5, 21),
        (Kind.INTEGER, (3, 97), 5, 19),
        (Kind.INTEGER, (0, 64), 2, 32),
    ],
)
def test_bins_by_default_hold_a_multiple_of_a_declared_step_each(kind, bounds, step, bins):
    cells = NumberCells(Column(name="x", kind=kind, bounds=bounds, step=step, null=False))
    assert len(cells.bins) == bins
    codes = np.repeat(np.arange(bins), 20).astype(np.uint8)
    found = np.asarray(cells.decode(codes, np.random.default_rng(0)))
    np.testing.assert_allclose(found / step, np.round(found / step), atol=1e-9)
    # A number of bins that a person declares stays.
    own = Column(name="x", kind=kind, bounds=bounds, step=step, bins=40, null=False)
    assert len(NumberCells(own).bins) == 40
