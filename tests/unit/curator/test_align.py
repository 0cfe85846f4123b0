import datetime as dt
import decimal
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

from understudy.column import Column, Kind, Role
from understudy.curator.align import align
from understudy.curator.source import read_rows
from understudy.curator.stored import LARGEST
from understudy.curator.tables import ComparedColumn, Rows, Sort, joined, row_keys
from understudy.errors import BadInput, UnknownColumn
from understudy.schema import Schema

NAN, INF = math.nan, math.inf
DAY = 86400.0
HIDDEN = "Zebra-4711"


def pair(real, synthetic, test=None, **choices):
    """Tables of one column each."""
    parts = [None if cells is None else pa.table({"x": cells}) for cells in (real, synthetic, test)]
    return align(*parts, **choices)


def cells(tables, rows, name="x"):
    """A column as it was read, missing cells as None."""
    if name in rows.numbers:
        return [None if math.isnan(number) else number for number in rows.numbers[name].tolist()]
    return [tables[name].labels[code] for code in rows.codes[name].tolist()]


def read(real, synthetic, **choices):
    """What one column is compared as, and its cells in both tables."""
    tables = pair(real, synthetic, **choices)
    sort = tables["x"].sort
    return sort, cells(tables, tables.real), cells(tables, tables.synthetic)


def facts(kind, **more):
    return Schema((Column(name="x", kind=kind, **more),))


# --- the same cells, stored in different ways -----------------------------------------------------


def mixed_table():
    moment = dt.datetime(1970, 1, 2, 0, 0, 5)  # noqa: DTZ001 - columns are naive
    return pa.table(
        {
            "count": pa.array([3, None, -7, 3], pa.int32()),
            "size": pa.array([0.5, 1e-3, None, 12.0], pa.float64()),
            "price": pa.array([decimal.Decimal("1.25"), None] * 2, pa.decimal128(9, 2)),
            "day": pa.array([dt.date(1970, 1, 2), None, dt.date(1969, 12, 31), None]),
            "at": pa.array([moment, None, None, moment], pa.timestamp("ms")),
            "flag": pa.array([True, False, None, True]),
            "name": pa.array(["b", "a", None, "b"]),
            "coded": pa.array(["u", "v", "u", None]).dictionary_encode(),
        }
    )


READ = {
    "count": (Sort.NUMBER, [3.0, None, -7.0, 3.0]),
    "size": (Sort.NUMBER, [0.5, 0.001, None, 12.0]),
    "price": (Sort.NUMBER, [1.25, None, 1.25, None]),
    "day": (Sort.MOMENT, [DAY, None, -DAY, None]),
    "at": (Sort.MOMENT, [DAY + 5, None, None, DAY + 5]),
    "flag": (Sort.FLAG, ["true", "false", None, "true"]),
    "name": (Sort.LABEL, ["b", "a", None, "b"]),
    "coded": (Sort.LABEL, ["u", "v", "u", None]),
}


def test_a_csv_file_and_a_parquet_file_read_alike(tmp_path):
    table = mixed_table()
    csv.write_csv(table, tmp_path / "rows.csv")
    pq.write_table(table, tmp_path / "rows.parquet")
    text, typed = read_rows(tmp_path / "rows.csv"), read_rows(tmp_path / "rows.parquet")
    assert {str(kind) for kind in text.schema.types} <= {"string", "large_string"}
    for tables in (align(text, typed, table), align(typed, text), align(text, text)):
        assert tables.names == tuple(READ)
        assert tables.left_out == ()
        for name, (sort, expected) in READ.items():
            assert tables[name].sort is sort
            for rows in (tables.real, tables.synthetic, tables.test or tables.real):
                assert rows.count == 4
                assert cells(tables, rows, name) == expected


@settings(max_examples=25)
@given(st.lists(st.integers(-(10**9), 10**9).map(lambda k: k / 1024) | st.none(), max_size=20))
def test_numbers_as_text_are_the_numbers(numbers):
    texts = ["" if number is None else f" {number!r}" for number in [1.5, *numbers]]
    sort, real, synthetic = read(texts, pa.array([1.5, *numbers], pa.float64()))
    assert sort is Sort.NUMBER
    assert real == synthetic == [1.5, *numbers]


@pytest.mark.parametrize(
    ("real", "synthetic", "sort", "expected"),
    [
        (["1", "2"], [1, 2], Sort.NUMBER, [1.0, 2.0]),
        (["1.0", "2e0"], [1.0, 2.0], Sort.NUMBER, [1.0, 2.0]),
        (["+1", " 2 "], pa.array([1, 2], pa.uint8()), Sort.NUMBER, [1.0, 2.0]),
        ([1, 2], [1.0, 2.0], Sort.NUMBER, [1.0, 2.0]),
        (["0", "1"], ["1", "0"], Sort.NUMBER, None),
        (["1970-01-02", "1970-1-3"], [dt.date(1970, 1, 2), dt.date(1970, 1, 3)], Sort.MOMENT, None),
        (["1970-01-02T00:00:01Z"], ["1970-01-02 00:00:01.0"], Sort.MOMENT, [DAY + 1]),
        (["a", " b "], pa.array(["a", "b"], pa.large_string()), Sort.LABEL, ["a", "b"]),
        (["1", "x"], ["1", "x"], Sort.LABEL, ["1", "x"]),
        # A number that does not exist, or a day: neither makes the column one of numbers.
        (["1", "1_000"], ["1", "1_000"], Sort.LABEL, ["1", "1_000"]),
        (["2021-02-30"], ["2021-02-30"], Sort.LABEL, ["2021-02-30"]),
        (["é", "ü"], ["é", "ü"], Sort.LABEL, ["é", "ü"]),
    ],
    ids=str,
)
def test_what_a_column_is_compared_as(real, synthetic, sort, expected):
    found, left, right = read(real, synthetic)
    assert found is sort
    if expected is None:
        assert sorted(left) == sorted(right)
    else:
        assert left == right == expected


@pytest.mark.parametrize(
    ("yes", "no"), [("true", "false"), ("T", "F"), ("YES", "No"), ("y", "n"), (True, False)]
)
@pytest.mark.parametrize(("one", "zero"), [("True", "False"), ("1", "0"), (1, 0), (1.0, 0.0)])
def test_yes_and_no_are_the_same_in_every_spelling(yes, no, one, zero):
    expected = ["true", "false", None]
    assert read([yes, no, None], [one, zero, None]) == (Sort.FLAG, expected, expected)
    assert read([one, zero, None], [yes, no, None]) == (Sort.FLAG, expected, expected)


def test_a_code_that_only_looks_like_a_number_in_one_table_is_a_label():
    # Synthetic rows happen to hold none of the codes with a letter.
    assert read(["1", "2", "B2"], [1, 2, 2]) == (Sort.LABEL, ["1", "2", "B2"], ["1", "2", "2"])
    assert read(["1", "2", "B2"], [1.0, 2.0, NAN])[2] == ["1", "2", None]
    assert read(["yes", "no"], ["yes", "unsure"]) == (Sort.LABEL, ["yes", "no"], ["yes", "unsure"])


def test_a_flag_and_a_label_agree_on_spelling():
    # Stored as a boolean there, and as text with a third value here.
    found, real, synthetic = read([True, False, True], ["True", "False", "unsure"])
    assert found is Sort.FLAG
    assert real[:2] == synthetic[:2]


# --- missing cells, and labels of one table only --------------------------------------------------


@pytest.mark.parametrize("blank", [None, "", "   ", "\t"])
def test_blank_text_is_missing(blank):
    assert read(["a", blank, "b"], ["a", "b", "a"])[1] == ["a", None, "b"]
    assert read(["1", blank, "2"], [1, 2, 1])[1] == [1.0, None, 2.0]
    assert read(["1970-01-02", blank], [dt.date(1970, 1, 2)])[1] == [DAY, None]
    assert read(["yes", blank], [True, False])[1] == ["true", None]


def test_numbers_that_are_none_are_missing():
    sort, real, synthetic = read([1.5, NAN, INF, -INF, None], ["1.5", "", "2.5"])
    assert sort is Sort.NUMBER
    assert real == [1.5, None, None, None, None]
    assert synthetic == [1.5, None, 2.5]


def test_missing_is_a_label_only_where_a_cell_is_missing():
    assert pair(["a", "b"], ["b", "a"])["x"].labels == ("a", "b")
    assert pair(["a", "b"], ["b", None])["x"].labels == ("a", "b", None)
    assert pair(["a", "b"], ["b", "a"], ["", "b"])["x"].labels == ("b", "a", None)


@pytest.mark.parametrize(
    "kind",
    [
        pa.null(),
        pa.string(),
        pa.int64(),
        pa.float64(),
        pa.bool_(),
        pa.date32(),
        pa.timestamp("us"),
    ],
    ids=str,
)
def test_a_column_without_values_is_missing_everywhere(kind):
    empty = pa.array([None, None], kind)
    tables = pair(empty, empty)
    assert cells(tables, tables.real) == cells(tables, tables.synthetic) == [None, None]
    # The other table decides what the column holds.
    assert read(["a", "b"], empty) == (Sort.LABEL, ["a", "b"], [None, None])
    assert read(empty, ["a", "b"]) == (Sort.LABEL, [None, None], ["a", "b"])


@pytest.mark.parametrize(
    ("values", "kind", "sort"),
    [
        ([1.5, 2.5], pa.float64(), Sort.NUMBER),
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 2)], pa.date32(), Sort.MOMENT),
        ([True, False], pa.bool_(), Sort.FLAG),
    ],
    ids=str,
)
def test_a_table_without_values_takes_the_others_word(values, kind, sort):
    for empty in (pa.array([None, None], kind), pa.array(["", None])):
        found, real, synthetic = read(pa.array(values, kind), empty)
        assert found is sort
        assert None not in real
        assert synthetic == [None, None]


def test_labels_of_one_table_alone_have_a_place_in_all():
    tables = pair(["a", "b", "a"], ["c", "a"], ["d", "b"])
    assert tables["x"].labels[0] == "a"  # the real table's most common
    assert set(tables["x"].labels) == set("abcd")
    assert cells(tables, tables.real) == ["a", "b", "a"]
    assert cells(tables, tables.synthetic) == ["c", "a"]
    assert cells(tables, tables.test) == ["d", "b"]


def test_however_many_labels_there_are_each_keeps_its_code():
    names = [f"town {k}" for k in range(400)]
    tables = pair(names * 2, [names[0], names[-1], "elsewhere", None])
    labels = tables["x"].labels
    assert len(labels) == 402
    assert labels[-1] is None
    assert cells(tables, tables.real) == names * 2
    assert cells(tables, tables.synthetic) == [names[0], names[-1], "elsewhere", None]


def test_real_and_test_rows_count_alike_for_the_order_of_labels():
    counts = {"a": 4, "b": 3, "c": 2, "d": 1}
    lines = [label for label, count in counts.items() for _ in range(count)]
    for seed in range(5):
        dealt = np.random.default_rng(seed).permutation(lines).tolist()
        tables = align(*(pa.table({"x": part}) for part in (dealt[:5], ["d"] * 50, dealt[5:])))
        assert tables["x"].labels == ("a", "b", "c", "d")


def test_far_numbers_are_moved_to_where_squares_still_fit():
    _, real, synthetic = read([1.5e300, -1e308, 2.0], ["1e200", "2", ""])
    assert real == [LARGEST, -LARGEST, 2.0]
    assert synthetic == [LARGEST, 2.0, None]
    assert np.isfinite(np.sum(np.square([LARGEST] * 10**6)))


# --- columns that are left out --------------------------------------------------------------------


def with_filler(values):
    return pa.table({"x": values, "y": [1.5, 2.5] * (len(values) // 2)})


@pytest.mark.parametrize(
    "values",
    [
        list(range(1000, 1100)),
        [float(k) for k in range(100)],
        [str(k) for k in range(100)],
        [f"name {k}" for k in range(102)],
        [f"name {k}" for k in range(101)] + ["name 1"] * 99,
        pa.array([[1]] * 10),
        pa.array([b"bytes"] * 10, pa.binary()),
        pa.array([5] * 10, pa.time32("s")),
    ],
    ids=["ints", "floats", "text", "names", "hardly shared names", "lists", "bytes", "times"],
)
def test_ids_names_and_odd_storage_are_left_out(values):
    table = with_filler(values)
    tables = align(table, table)
    assert tables.names == ("y",)
    assert tables.left_out == ("x",)
    assert set(tables.real.numbers) | set(tables.real.codes) == {"y"}
    with pytest.raises(BadInput, match=r"'x' is left out.*schema"):
        tables["x"]


@pytest.mark.parametrize(
    "values",
    [
        list(range(64)),
        [*range(99), 5],
        [k + 0.5 for k in range(100)],
        [f"name {k}" for k in range(100)],
        [f"name {k}" for k in range(101)] * 2,
    ],
    ids=["few rows", "a number repeats", "not whole", "few names", "shared names"],
)
def test_what_tells_rows_something_in_common_is_kept(values):
    table = with_filler(values)
    assert align(table, table).names == ("x", "y")


def test_columns_to_go_without_may_differ_between_tables():
    real = pa.table({"x": [1, 2], "note": ["a", "b"]})
    synthetic = pa.table({"x": [1, 2], "note": [dt.date(2020, 1, 1)] * 2})
    tables = align(real, synthetic, without=["note"])
    assert tables.names == ("x",)
    assert tables.left_out == ("note",)
    assert align(real, pa.table({"x": [3]}), without=["note"]).names == ("x",)


def test_a_column_of_the_synthetic_table_alone_can_be_left_out():
    # The refusal of different columns names this way out.
    real, synthetic = pa.table({"x": [1, 2]}), pa.table({"x": [1, 2], "note": ["a", "b"]})
    with pytest.raises(BadInput, match="--without"):
        align(real, synthetic)
    assert align(real, synthetic, without=["note"]).names == ("x",)
    assert align(real, real, synthetic, without=["note"]).names == ("x",)


def test_tables_with_nothing_to_compare_are_refused():
    table = pa.table({"x": [1, 2]})
    with pytest.raises(BadInput, match="No column is left"):
        align(table, table, without=["x"])
    ids = pa.table({"x": list(range(100))})
    with pytest.raises(BadInput, match="No column is left"):
        align(ids, ids)


def test_columns_may_stand_in_another_order():
    tables = align(pa.table({"x": [1, 2], "y": ["a", "b"]}), pa.table({"y": ["b"], "x": [3]}))
    assert tables.names == ("x", "y")
    assert cells(tables, tables.synthetic, "x") == [3.0]
    assert cells(tables, tables.synthetic, "y") == ["b"]


# --- what a schema says ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "schema", "sort", "expected"),
    [
        ([1, 2, 1], facts(Kind.CATEGORICAL), Sort.LABEL, ["1", "2", "1"]),
        ([1.0, 2.5, NAN], facts(Kind.ORDINAL), Sort.LABEL, ["1", "2.5", None]),
        (["1", "2", ""], facts(Kind.CATEGORICAL), Sort.LABEL, ["1", "2", None]),
        ([1, 0, None], facts(Kind.BOOLEAN), Sort.FLAG, ["true", "false", None]),
        (["0.0", "1", "?"], facts(Kind.BOOLEAN), Sort.FLAG, ["false", "true", "?"]),
        (["1", "2", "?"], facts(Kind.INTEGER), Sort.NUMBER, [1.0, 2.0, None]),
        (
            ["02.01.1970", "1.1.1970", "soon"],
            facts(Kind.DATE, format="%d.%m.%Y"),
            Sort.MOMENT,
            [DAY, 0.0, None],
        ),
        (["1", "2", "2"], facts(Kind.UNKNOWN), Sort.NUMBER, [1.0, 2.0, 2.0]),
    ],
    ids=str,
)
def test_a_schema_overrules_what_cells_look_like(values, schema, sort, expected):
    assert read(values, values, schema=schema) == (sort, expected, expected)


def test_a_schema_keeps_what_looks_like_an_id():
    values = list(range(100))
    tables = pair(values, values, schema=facts(Kind.INTEGER))
    assert tables.left_out == ()
    assert cells(tables, tables.real) == [float(value) for value in values]


@pytest.mark.parametrize("role", [Role.ID, Role.DROP])
def test_a_schema_leaves_out_what_is_never_released(role):
    schema = Schema((Column(name="x", kind=Kind.INTEGER, role=role),))
    tables = align(pa.table({"x": [1, 2], "y": [1, 2]}), pa.table({"y": [1, 2]}), schema=schema)
    assert tables.names == ("y",)
    assert tables.left_out == ("x",)


def test_integer_categories_are_read_as_the_release_writes_them():
    # Whole numbers beside missing ones are often written with a point.
    schema = facts(Kind.CATEGORICAL, categories=(1, 2))
    expected = ["1", "2", None]
    for real in (["1.0", "2.0", ""], [1.0, 2.0, NAN], [1, 2, None], ["1", "2", None]):
        found = read(real, ["1", "2", ""], schema=schema)
        assert found == (Sort.LABEL, expected, expected)


def test_a_declared_number_may_be_missing_in_most_rows():
    for missing in (None, NAN):
        values = pa.array([1.5, missing, missing, missing], pa.float64())
        expected = [1.5, None, None, None]
        found = read(values, ["1.5", "", "", ""], schema=facts(Kind.REAL))
        assert found == (Sort.NUMBER, expected, expected)


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.REAL, Kind.DATE, Kind.DATETIME])
def test_a_schema_that_no_table_follows_is_refused(kind):
    with pytest.raises(BadInput, match=r"'x'.*schema.*real table.*--without") as refused:
        pair([HIDDEN, "b", "c"], [HIDDEN, "b", "c"], schema=facts(kind))
    assert HIDDEN not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Kind.INTEGER, [dt.date(2020, 1, 1)] * 2),
        (Kind.DATE, [1, 2]),
        (Kind.REAL, [True, False]),
        (Kind.CATEGORICAL, [dt.date(2020, 1, 1)] * 2),
        (Kind.BOOLEAN, [dt.date(2020, 1, 1)] * 2),
    ],
    ids=str,
)
def test_a_schema_that_contradicts_the_storage_is_refused(kind, values):
    with pytest.raises(BadInput, match="'x'"):
        pair(values, values, schema=facts(kind))


# --- refusals -------------------------------------------------------------------------------------


def test_different_columns_are_refused_with_their_names_and_the_way_out():
    real = pa.table({"age": [HIDDEN], "town": ["a"]})
    other = pa.table({"age": [HIDDEN], "city": ["a"]})
    words = r"lacks town and it alone has city.*--without"
    with pytest.raises(BadInput, match=f"The synthetic table.*{words}") as refused:
        align(real, other)
    assert HIDDEN not in str(refused.value)
    with pytest.raises(BadInput, match=f"The test table.*{words}"):
        align(real, real, other)


def test_columns_of_the_same_name_are_refused():
    twice = pa.table([pa.array([1]), pa.array([2])], names=["x", "x"])
    with pytest.raises(BadInput, match="synthetic table has columns of the same name"):
        align(pa.table({"x": [1]}), twice)
    with pytest.raises(BadInput, match="real table has columns of the same name"):
        align(twice, twice)


@pytest.mark.parametrize(
    ("real", "synthetic", "told"),
    [
        ([HIDDEN, "b"], [4711, 5], "labels in the real table and numbers in the synthetic table"),
        ([4711, 5], [HIDDEN, "b"], "numbers in the real table and labels in the synthetic table"),
        ([4711, 5], [dt.date(2020, 1, 1)], "numbers in the real table and moments in the synth"),
        ([True, False], [4711, 5], "flags in the real table and numbers in the synthetic table"),
        ([HIDDEN, "b"], ["2020-01-01"], "labels in the real table and moments in the synthetic"),
    ],
    ids=str,
)
def test_different_types_are_refused_without_a_cell_and_with_the_way_out(real, synthetic, told):
    with pytest.raises(BadInput, match=rf"'x' holds {told}.*--schema.*--without") as refused:
        pair(real, synthetic)
    for value in (HIDDEN, "Zebra", "4711"):
        assert value not in str(refused.value)
    # Left out, as the message says, it stands in nobody's way.
    tables = [pa.table({"x": v, "y": [1] * len(v)}) for v in (real, synthetic)]
    assert align(*tables, without=["x"]).names == ("y",)


def test_the_schema_is_a_way_out_of_different_types():
    found = read([HIDDEN, "b"], [4711, 5], schema=facts(Kind.CATEGORICAL))
    assert found == (Sort.LABEL, [HIDDEN, "b"], ["4711", "5"])


def test_an_unknown_name_to_go_without_is_refused_with_a_near_one():
    table = pa.table({"age": [1], "town": ["a"]})
    with pytest.raises(UnknownColumn, match=r"'agee'.*Did you mean 'age'") as refused:
        align(table, table, without=["agee"])
    assert isinstance(refused.value, BadInput)


def test_an_unknown_name_is_refused():
    with pytest.raises(UnknownColumn, match=r"'z'.*The columns are: x"):
        pair([1, 2], [1, 2])["z"]
    assert pair([1, 2], [1, 2])["x"] == ComparedColumn("x", Sort.NUMBER)


# --- rows -----------------------------------------------------------------------------------------

PARTS = st.lists(
    st.lists(
        st.tuples(st.sampled_from([NAN, 0.0, -0.0, 1.0, 2.5]), st.sampled_from([NAN, 7.0, 1e100])),
        max_size=8,
    ),
    min_size=1,
    max_size=3,
)


def rows_of(lines):
    first = np.array([line[0] for line in lines], np.float64)
    second = np.array([line[1] for line in lines], np.float64)
    codes = np.array([k % 2 for k in range(len(lines))], np.int32)
    return Rows(len(lines), {"a": first, "b": second}, {"c": codes})


@settings(max_examples=25)
@given(PARTS)
def test_rows_have_the_same_key_if_and_only_if_they_are_equal(parts):
    keys = row_keys([rows_of(lines) for lines in parts])
    assert [len(key) for key in keys] == [len(lines) for lines in parts]
    # NaN stands for missing, and two missing cells are alike.
    lines = [
        (*("missing" if math.isnan(value) else value for value in line), place % 2)
        for part in parts
        for place, line in enumerate(part)
    ]
    found = np.concatenate(keys).tolist()
    for i, line in enumerate(lines):
        for j, other in enumerate(lines):
            assert (found[i] == found[j]) == (line == other)


def test_keys_stay_exact_over_many_columns():
    # As many different values as rows, over and over: a product of the numbers would overflow.
    rng = np.random.default_rng(0)
    numbers = {f"x{k}": rng.permutation(400).astype(np.float64) for k in range(40)}
    rows = Rows(400, numbers, {})
    changed = {name: values.copy() for name, values in numbers.items()}
    changed["x17"][::2] += 0.5
    first, second = row_keys([rows, Rows(400, changed, {})])
    assert len(set(first.tolist())) == 400
    np.testing.assert_array_equal(first == second, np.arange(400) % 2 == 1)


def test_rows_can_be_taken_narrowed_and_joined():
    rows = rows_of([(1.0, 2.0), (3.0, NAN), (5.0, 6.0)])
    some = rows.take(np.array([2, 0]))
    assert some.count == 2
    assert some.numbers["a"].tolist() == [5.0, 1.0]
    assert rows.take(np.array([False, True, False])).codes["c"].tolist() == [1]
    assert set(rows.only({"a", "c"}).numbers) == {"a"}
    assert set(rows.only({"a", "c"}).codes) == {"c"}
    both = joined([some, rows])
    assert both.count == 5
    assert both.numbers["a"].tolist() == [5.0, 1.0, 1.0, 3.0, 5.0]
    assert both.codes["c"].tolist() == [0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    "values", [["a", "b"], [1, 2], [0.5, 1.5], [True, False], [dt.date(2020, 1, 1)]], ids=str
)
def test_a_table_without_rows_reads_like_the_other(values):
    real = pa.table({"x": values})
    tables = align(real, real.slice(0, 0), pa.table({"x": pa.array([], pa.string())}))
    assert tables["x"] == align(real, real)["x"]
    for rows in (tables.synthetic, tables.test):
        assert rows.count == 0
        assert cells(tables, rows) == []


def test_numbers_that_a_release_could_only_find_to_be_labels_stay_numbers():
    bought = Column(
        name="x",
        kind=Kind.CATEGORICAL,
        categories=("7",),
        other="other",
        null=False,
        source="bought",
    )
    tables = align(
        pa.table({"x": ["7", "8.5", "9"]}),
        pa.table({"x": ["other", "7", "other"]}),
        schema=Schema((bought,)),
    )
    assert tables["x"].sort is Sort.NUMBER
    assert tables.real.numbers["x"].tolist() == [7.0, 8.5, 9.0]
    np.testing.assert_array_equal(tables.synthetic.numbers["x"], [NAN, 7.0, NAN])


def test_names_that_are_left_out_are_still_looked_up_for_copies():
    names = [f"Ann {k}" for k in range(300)]
    real, synthetic, test = (
        pa.table({"who": part, "y": [1.5, 2.5] * (len(part) // 2)})
        for part in (names, names[:10] + [f"Bob {k}" for k in range(90)], names[:4] + ["Eve"] * 6)
    )
    tables = align(real, synthetic, test)
    assert tables.left_out == ("who",)
    assert tables.shared_names == {"who": (10, 4)}
    assert align(real, synthetic, named=["who"]).names == ("who", "y")


def test_whole_numbers_that_stand_for_labels_are_read_as_the_encoding_reads_them():
    codes = Column(name="x", kind=Kind.CATEGORICAL, categories=(1, 2), null=True)
    tables = align(
        pa.table({"x": ["1.0", "2", "9", "", "odd"]}),
        pa.table({"x": ["1", "2.0", None]}),
        schema=Schema((codes,)),
    )
    assert cells(tables, tables.real) == ["1", "2", "9", None, "odd"]
    assert cells(tables, tables.synthetic) == ["1", "2", None]
