import datetime as dt
import decimal
import math
import os
import stat
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv

from helpers.tables import DATES, FLOATS, MOMENTS, TEXT
from understudy.column import Kind, Role, Source
from understudy.curator.draft_schema import MOST_CATEGORIES, draft, draft_text
from understudy.curator.internal import write_internal
from understudy.curator.source import read_rows
from understudy.encode import Encoding
from understudy.errors import BadInput, SourceError
from understudy.experiments.demo import demo_table
from understudy.privacy.facts import revealed
from understudy.schema_files import read_schema, schema_from_toml

NAN, INF = math.nan, math.inf


def column(values, kind=None):
    """What is drafted of one column; a second one keeps the table from being empty of facts."""
    return draft(pa.table({"x": pa.array(values, kind), "y": [True] * len(values)}))["x"]


def facts(values, kind=None):
    """Kind, categories or bounds, and nulls."""
    found = column(values, kind)
    assert found.role is Role.FEATURE
    return found.kind, found.categories or found.bounds, found.null


def moment(*parts):
    return dt.datetime(*parts)  # noqa: DTZ001 - columns are naive


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([3, 1, 9], pa.int64(), (Kind.INTEGER, (1, 9), False)),
        ([3, None, 9], pa.int8(), (Kind.INTEGER, (3, 9), True)),
        ([7, 7], pa.uint32(), (Kind.INTEGER, (7, 7), False)),
        ([-17, 90], pa.int64(), (Kind.INTEGER, (-17, 90), False)),
        ([1.0, 4.0], pa.float64(), (Kind.INTEGER, (1, 4), False)),
        ([1.5, 2.25], pa.float32(), (Kind.REAL, (1.5, 2.3), False)),
        ([0.5, NAN], pa.float64(), (Kind.REAL, (0.5, 1.5), True)),
        ([decimal.Decimal("1.5"), decimal.Decimal("3.5")], None, (Kind.REAL, (1.0, 4.0), False)),
        (["3", " 12 ", "5"], None, (Kind.INTEGER, (3, 12), False)),
        (["3", "", "5"], None, (Kind.INTEGER, (3, 5), True)),
        (["0.5", "1e2", None], None, (Kind.REAL, (0.0, 100.0), True)),
        (["b", "a", " b "], None, (Kind.CATEGORICAL, ("a", "b"), False)),
        (["b", "  ", "a"], pa.large_string(), (Kind.CATEGORICAL, ("a", "b"), True)),
        (["5", "five"], None, (Kind.CATEGORICAL, ("5", "five"), False)),
        (pa.array(["b", "a"]).dictionary_encode(), None, (Kind.CATEGORICAL, ("a", "b"), False)),
        ([True, False], None, (Kind.BOOLEAN, None, False)),
        ([True, None], None, (Kind.BOOLEAN, None, True)),
        (["yes", "No"], None, (Kind.BOOLEAN, None, False)),
        (["t", "f", ""], None, (Kind.BOOLEAN, None, True)),
        (["TRUE", "false"], None, (Kind.BOOLEAN, None, False)),
        (["y", "y"], None, (Kind.CATEGORICAL, ("y",), False)),
        (
            [dt.date(2020, 5, 1), dt.date(2021, 2, 3)],
            None,
            (Kind.DATE, (dt.date(2020, 1, 1), dt.date(2021, 12, 31)), False),
        ),
        (
            ["2020-05-01", "2020-5-2", None],
            None,
            (Kind.DATE, (dt.date(2020, 1, 1), dt.date(2020, 12, 31)), True),
        ),
        (
            [moment(2020, 5, 1, 10), moment(2022, 1, 1)],
            pa.timestamp("us"),
            (Kind.DATETIME, (moment(2020, 1, 1), moment(2022, 12, 31, 23, 59, 59)), False),
        ),
        (
            ["2020-05-01 10:00", "2020-05-01T10:00:01"],
            None,
            (Kind.DATETIME, (moment(2020, 1, 1), moment(2020, 12, 31, 23, 59, 59)), False),
        ),
        (
            [moment(2020, 5, 1), None],
            pa.timestamp("ns"),
            (Kind.DATE, (dt.date(2020, 1, 1), dt.date(2020, 12, 31)), True),
        ),
    ],
    ids=str,
)
def test_kinds_bounds_categories_and_nulls(values, kind, expected):
    assert facts(values, kind) == expected


def test_many_different_numbers_have_round_bounds():
    found = column([*range(17, 87), 17])
    assert found.bounds == (10, 90)
    assert column(np.linspace(0.013, 0.97, 200)).bounds == (0.0, 1.0)
    assert column(np.linspace(-1234.5, 98765.25, 200)).bounds == (-10000.0, 100000.0)


def test_a_number_of_its_own_for_every_row_is_an_id():
    found = column(list(range(1000, 1100)))
    assert found.role is Role.ID
    assert found.bounds is None
    # Few rows say little, and a number that repeats counts something.
    assert column(list(range(10))).role is Role.FEATURE
    assert column([*range(100), 5]).role is Role.FEATURE


def test_names_and_free_text_are_left_out():
    words = [f"name {k}" for k in range(MOST_CATEGORIES + 1)]
    assert column(words).role is Role.DROP
    assert column(words).categories is None
    assert len(column(words[1:] * 2).categories) == MOST_CATEGORIES
    assert column(words[1:]).role is Role.DROP  # hardly anyone shares a name


def test_what_is_left_out_has_the_role_that_its_name_suggests():
    words = [f"number {k}" for k in range(MOST_CATEGORIES + 1)]
    emails = [f"{word}@example.org" for word in words]
    table = pa.table(
        {"email": emails, "notes": words, "words": words, "w": emails, "phone": ["a"] * len(words)}
    )
    roles = {found.name: found.role for found in draft(table)}
    # A column of few values is a feature for its owner to judge.
    assert roles == {
        "email": Role.EMAIL,
        "notes": Role.FREE_TEXT,
        "words": Role.DROP,
        "w": Role.EMAIL,  # by the shape of its values
        "phone": Role.FEATURE,
    }


def test_a_value_that_many_share_is_an_atom():
    found = column([0.0] * 30 + [k + 0.5 for k in range(100)])
    assert found.atoms == (0.0,)
    assert column([0] * 30 + list(range(1, 100))).atoms == (0,)
    # Where every value has a cell anyway there is no need.
    assert column([0] * 30 + list(range(5))).atoms == ()


@pytest.mark.parametrize(
    "empty",
    [
        pa.array([None, None], pa.string()),
        pa.array(["", "  "]),
        pa.array([None, None], pa.null()),
        pa.array([None, None], pa.int64()),
        pa.array([NAN, None], pa.float64()),
        pa.array([None, None], pa.date32()),
        pa.array([None, None], pa.timestamp("s")),
    ],
    ids=lambda array: str(array.type),
)
def test_a_column_without_values_is_left_out(empty):
    found = column(empty)
    assert found.role is Role.DROP
    assert found.source is Source.DATA


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.int64(), pa.float64(), pa.date32(), pa.timestamp("s")], ids=str
)
def test_a_table_without_rows_has_a_draft(kind):
    schema = draft(pa.table({"x": pa.array([], kind), "y": pa.array([], pa.bool_())}))
    assert schema["x"].role is Role.DROP
    assert schema["y"].kind is Kind.BOOLEAN
    assert schema.rows_bound >= 1


def test_everything_is_marked_as_read_off_the_data():
    schema = draft(demo_table(300))
    assert {c.source for c in schema} == {Source.DATA}
    assert schema.rows_source is Source.DATA
    assert schema.names == tuple(demo_table(1).column_names)
    assert revealed(schema) == [
        f"facts read off the data: {', '.join(schema.names[:12])} and 2 more",
        "the bound on rows was read off the data",
    ]


@pytest.mark.parametrize(("rows", "bound"), [(1, 1), (2, 2), (99, 100), (5000, 5000), (5001, 6000)])
def test_the_bound_on_rows_holds_and_is_round(rows, bound):
    found = draft(pa.table({"x": [True] * rows})).rows_bound
    assert found >= rows
    assert found == bound


# --- what it says of a table fits that table ------------------------------------------------------


def fits(schema, table):
    """Every cell of the table has its place: none is moved, lost or taken for another."""
    encoding = Encoding(schema)
    codes = encoding.codes(table)
    back = encoding.decode(codes, np.random.default_rng(0))
    for name, code in codes.items():
        cells, found = encoding.cells[name], schema[name]
        missing = np.zeros(len(code), bool) if cells.missing is None else code == cells.missing
        values = table[name].to_pylist()
        blank = np.array([_blank(value) for value in values], bool)
        np.testing.assert_array_equal(missing, blank, err_msg=name)
        known = [v for v, empty in zip(values, blank, strict=True) if not empty]
        again = [v for v, empty in zip(back[name].to_pylist(), blank, strict=True) if not empty]
        if found.kind is Kind.CATEGORICAL:
            assert again == [str(value).strip(" \t\n\r\v\f") for value in known]
        elif found.kind is Kind.BOOLEAN:
            yes = {"true", "t", "yes", "y"}
            assert [str(value).lower() in yes for value in again] == [
                str(value).strip().lower() in yes for value in known
            ]
        elif found.kind in {Kind.INTEGER, Kind.REAL} and known:
            numbers = [cells.number_of(v) if isinstance(v, str) else float(v) for v in known]
            assert found.bounds[0] <= min(numbers)
            assert max(numbers) <= found.bounds[1]
        elif known and not isinstance(known[0], str):
            days = [v.date() if isinstance(v, dt.datetime) else v for v in known]
            least, greatest = (
                end.date() if isinstance(end, dt.datetime) else end for end in found.bounds
            )
            assert least <= min(days)
            assert max(days) <= greatest
    return True


def _blank(value):
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return True
    return isinstance(value, str) and not value.strip(" \t\n\r\v\f")


def test_the_demo_table_fits_its_draft():
    table = demo_table(2000)
    assert fits(draft(table), table)


def test_a_file_fits_its_draft(tmp_path):
    table = demo_table(500)
    csv.write_csv(table, tmp_path / "rows.csv")
    pq.write_table(table, tmp_path / "rows.parquet")
    for data in (tmp_path / "rows.csv", str(tmp_path / "rows.parquet"), pl.from_arrow(table)):
        rows = read_rows(data)
        schema = draft(rows)
        assert schema.names == tuple(table.column_names)
        assert fits(schema, rows)
        assert fits(schema, table)
        kinds = {c.name: c.kind for c in schema if c.coded}
        assert kinds == {c.name: c.kind for c in draft(table) if c.coded}


# Text that can be a label at all: nothing else is a category.
LABELS = TEXT.filter(lambda text: "\0" not in text)
NUMBERS = st.one_of(
    st.lists(st.integers(-(2**62), 2**62) | st.none(), max_size=80).map(
        lambda v: pa.array(v, pa.int64())
    ),
    st.lists(st.integers(-50, 300) | st.none(), max_size=80).map(lambda v: pa.array(v, pa.int64())),
    st.lists(st.floats(-1e9, 1e9) | st.none(), max_size=80).map(
        lambda v: pa.array(v, pa.float64())
    ),
    st.lists(st.integers(-9, 9).map(lambda k: k / 4), max_size=80).map(
        lambda v: pa.array(v, pa.float64())
    ),
)
OTHERS = st.one_of(
    st.lists(LABELS | st.none(), max_size=30).map(lambda v: pa.array(v, pa.string())),
    st.lists(st.sampled_from(["yes", "No", "", None]), max_size=9).map(
        lambda v: pa.array(v, pa.string())
    ),
    st.lists(st.booleans() | st.none(), max_size=9).map(lambda v: pa.array(v, pa.bool_())),
    st.lists(DATES | st.none(), max_size=9).map(lambda v: pa.array(v, pa.date32())),
    st.lists(MOMENTS | st.none(), max_size=9).map(lambda v: pa.array(v, pa.timestamp("us"))),
)


@given(NUMBERS | OTHERS)
def test_every_table_fits_its_draft(cells):
    table = pa.table({"x": cells, "y": pa.array([True] * len(cells), pa.bool_())})
    schema = draft(table)
    assert fits(schema, table)
    assert schema_from_toml(draft_text(schema)) == schema


@given(st.lists(FLOATS, min_size=1, max_size=80))
def test_numbers_of_every_size_have_a_draft_that_holds_them(numbers):
    table = pa.table({"x": pa.array(numbers, pa.float64()), "y": [True] * len(numbers)})
    assert fits(draft(table), table)


@pytest.mark.parametrize(
    "numbers",
    [
        [1e308, -1e308],
        [1e300, 1e300],
        [2.0**53, 2.0**53 + 2],
        [1234567890126.3, 1234567890126.8],
        [1e15 + 0.5, 1e15 + 1.5],
        [5e-324, 1.5],
    ],
    ids=str,
)
def test_far_numbers_have_a_draft_that_holds_them(numbers):
    table = pa.table({"x": numbers, "y": [True] * len(numbers)})
    assert fits(draft(table), table)


def test_text_that_can_be_no_category_has_its_place():
    table = pa.table({"x": ["a\0b", "c", "d"]})
    encoding = Encoding(draft(table))
    odd, *rest = encoding.codes(table)["x"]
    assert odd not in rest


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.binary(), pa.list_(pa.int64())], ids=str)
def test_storage_that_no_rule_reads_is_left_out_or_refused_with_a_way_out(kind):
    table = pa.table({"x": pa.array([None], kind), "y": [True]})
    try:
        assert draft(table)["x"].role is Role.DROP
    except SourceError as refused:
        assert "'x'" in str(refused)  # noqa: PT017 - one of two ways


# --- the draft as a file --------------------------------------------------------------------------


def test_the_text_is_the_schema_with_instructions():
    schema = draft(demo_table(200))
    text = draft_text(schema)
    assert schema_from_toml(text) == schema
    head, _, rest = text.partition("\n\n")
    assert all(line.startswith("#") for line in head.splitlines())
    for words in (
        "INTERNAL, do not publish",
        "keeps no promise",
        "Review each column",
        'source = "declared"',
        'role = "drop"',
        'role = "target"',
        "[rows]",
    ):
        assert words in head, words
    assert rest.count('source = "data"') == len(schema.names) + 1


def test_a_reviewed_text_rests_on_nothing_but_what_was_declared():
    schema = draft(demo_table(200))
    text = draft_text(schema).replace('source = "data"', 'source = "declared"')
    declared = schema_from_toml(text)
    assert revealed(declared) == []
    assert [replace(c, source=Source.DATA) for c in declared] == list(schema)


def test_an_internal_file_is_for_its_owner_alone(tmp_path):
    path = tmp_path / "schema.toml"
    before = os.umask(0)
    try:
        write_internal(path, draft_text(draft(demo_table(50))))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_schema(path) == draft(demo_table(50))


def test_an_internal_file_is_never_written_over(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    for taken in (path, link):
        with pytest.raises(BadInput, match="nothing is overwritten"):
            write_internal(taken, "other")
    assert path.read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(BadInput, match="cannot be written"):
        write_internal(tmp_path / "no" / "folder", "text")


# --- how values are written -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "facts"),
    [
        (["1.234,50", "12,25", "-7,00"], {"decimal": ",", "thousands": ".", "decimals": 2}),
        (["1,5", "2,25"], {"decimal": ",", "decimals": 2, "kind": Kind.REAL}),
        (["$24,635", "-$5", "$1,000"], {"prefix": "$", "thousands": ",", "kind": Kind.INTEGER}),
        (["12.50 €", "3.00 €"], {"suffix": " €", "decimals": 2, "padded": True}),
        (["12%", "7%"], {"suffix": "%", "kind": Kind.INTEGER}),
        (["1\u202f234", "56"], {"thousands": " ", "kind": Kind.INTEGER}),
        (["0.5", "1", "4.5", "3"], {"step": 0.5, "kind": Kind.REAL}),
        (["0.125", "7"], {"decimals": 3, "padded": None, "decimal": None}),
        (["31/12/2024", "01/02/2024"], {"kind": Kind.DATE, "format": "%d/%m/%Y"}),
        (["12/31/2024", "01/02/2024"], {"kind": Kind.DATE, "format": "%m/%d/%Y"}),
        (["5 Mar 2024 1:30 PM"], {"kind": Kind.DATETIME, "format": "%d %b %Y %I:%M %p"}),
        (["2024-03-05T10:00:00+02:00"], {"kind": Kind.DATETIME, "format": "%Y-%m-%dT%H:%M:%S%z"}),
        (["Y", "N", "Y"], {"kind": Kind.BOOLEAN, "spelling": ("N", "Y")}),
        (["true", "false"], {"kind": Kind.BOOLEAN, "spelling": None}),
        (["007", "123"], {"kind": Kind.CATEGORICAL, "categories": ("007", "123")}),
        (["$5", "5 €"], {"kind": Kind.CATEGORICAL}),
        (["1.2.3", "4.5.6"], {"kind": Kind.CATEGORICAL}),
    ],
)
def test_how_cells_are_written_is_drafted(cells, facts):
    table = pa.table({"x": [*cells, None], "y": [True] * (len(cells) + 1)})
    drafted = draft(table)
    assert {fact: getattr(drafted["x"], fact) for fact in facts} == facts
    assert schema_from_toml(draft_text(drafted)) == drafted
    if drafted["x"].kind.numeric:
        codes = Encoding(drafted).codes(table)["x"]
        assert (codes[:-1] != Encoding(drafted).cells["x"].missing).all()


@pytest.mark.parametrize(
    ("make", "role"),
    [
        (lambda k: f"person{k}@example.org", Role.EMAIL),
        (lambda k: f"https://example.org/{k}", Role.URL),
        (lambda k: f"+49 30 {1000 + k} {k:02d}", Role.PHONE),
        (lambda k: f"Patient number {k} came in on a rainy day", Role.FREE_TEXT),
        (lambda k: f"name {k}", Role.DROP),
    ],
)
def test_personal_fields_get_their_role(make, role):
    table = pa.table({"x": [make(k) for k in range(60)], "y": [True] * 60})
    assert draft(table)["x"].role is role
