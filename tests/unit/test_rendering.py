"""Values become text as their owner writes them, and come back exactly."""

import datetime as dt
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import understudy as us
from helpers.tables import as_written, columns
from understudy.column import Column, Kind
from understudy.curator.subject import read_subject
from understudy.curator.tables import Sort
from understudy.encode import Encoding
from understudy.encode.moments import resolution
from understudy.rendering import held_as_text, is_text, longest, rendered, restored, written
from understudy.schema import Schema
from understudy.table_files import write_rows

NUMERIC = [kind for kind in Kind if kind.numeric]
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - columns are naive


def texts(values, **facts):
    kind = facts.pop("kind", Kind.REAL)
    column = Column(name="x", kind=kind, **facts)
    table = pa.table({"x": values})
    return rendered(table, {"x": column})["x"].to_pylist()


@pytest.mark.parametrize(
    ("facts", "values", "expected"),
    [
        ({"decimal": ","}, [1.5, -0.25, 3.0, None], ["1,5", "-0,25", "3", None]),
        ({"decimal": ",", "thousands": "."}, [1234567.5, 999.0], ["1.234.567,5", "999"]),
        ({"prefix": "$", "thousands": ","}, [24635.0, -5.0, 1000.0], ["$24,635", "-$5", "$1,000"]),
        ({"suffix": " €", "decimals": 2, "padded": True}, [12.5, 0.0], ["12.50 €", "0.00 €"]),
        ({"suffix": "%"}, [0.30000000000000004], ["0.30000000000000004%"]),
        ({"decimals": 2, "prefix": "£"}, [0.3, 12.5, 12.0], ["£0.3", "£12.5", "£12"]),
        ({"prefix": "x"}, [1e-9, 1e22], ["x0.000000001", "x10000000000000000000000"]),
        ({"decimal": ","}, [-0.0], ["0"]),
    ],
)
def test_numbers_with_marks(facts, values, expected):
    assert texts(pa.array(values, pa.float64()), **facts) == expected


def test_dates_by_their_format():
    moments = pa.array([dt.datetime(2024, 3, 5, 14, 30), None], pa.timestamp("s"))  # noqa: DTZ001
    for pattern, expected in {
        "%d/%m/%Y": "05/03/2024",
        "%d %B %Y %I:%M %p": "05 March 2024 02:30 PM",
        "%Y-%m-%dT%H:%M:%S%z": "2024-03-05T14:30:00+00:00",
        "%Y%m%d %H%M%z": "20240305 1430+0000",
    }.items():
        assert texts(moments, kind=Kind.DATETIME, format=pattern) == [expected, None]
    early = pa.array([dt.date(33, 4, 3)], pa.date32())
    assert texts(early, kind=Kind.DATE, format="%d.%m.%Y") == ["03.04.0033"]


@pytest.mark.untraced
@given(columns(Kind.DATE) | columns(Kind.DATETIME) | columns(Kind.INTEGER), st.integers(0, 99))
def test_text_is_as_python_writes_it(column, seed):
    assume(is_text(column))
    table = drawn(column, seed)
    values = table["x"].to_pylist()
    if column.format is not None and "%z" in column.format:
        return  # the offset is checked above
    expected = [None if value is None else as_written(value, column) for value in values]
    assert rendered(table, {"x": column})["x"].to_pylist() == expected


def drawn(column, seed):
    encoding = Encoding(Schema((column,)))
    codes = np.repeat(np.arange(encoding.domain.sizes["x"]), 10)
    table = encoding.decode({"x": codes}, np.random.default_rng(seed))
    if column.format is not None and column.kind is Kind.DATETIME:
        step = dt.timedelta(seconds=resolution(column.format))
        assume(not any(v is not None and (v - EPOCH) % step for v in table["x"].to_pylist()))
    return table


@pytest.mark.untraced
@pytest.mark.parametrize("kind", NUMERIC)
def test_text_comes_back_exactly_and_is_bounded(kind):
    @given(columns(kind), st.integers(0, 99))
    def holds(column, seed):
        table = drawn(column, seed)
        names = written(Schema((column,)))
        text = rendered(table, names)
        assert restored(text, names, {"x": table["x"].type}).equals(table)
        if names:
            assert max((len(one) for one in text["x"].to_pylist() if one), default=0) <= longest(
                column
            )

    holds()


def test_text_that_is_not_written_so_is_refused():
    column = Column(name="x", kind=Kind.INTEGER, bounds=(0, 9), suffix="%")
    for text in ("5.5%", "x", "", "5 %%"):
        with pytest.raises(ValueError, match="not written"):
            restored(pa.table({"x": [text]}), {"x": column}, {"x": pa.int64()})


def test_cells_stand_in_quotes_where_the_delimiter_is_in_them():
    schema = Schema(
        (
            Column(name="price", kind=Kind.REAL, bounds=(-9, 9), decimal=",", null=True),
            Column(name="a;b", kind=Kind.CATEGORICAL, categories=("=x", 'q"'), null=True),
        )
    )
    table = pa.table({"price": [-5.25, None, 2.0], "a;b": ["=x", 'q"', None]})
    for delimiter, expected in {
        ",": 'price,a;b\n"-5,25",\'=x\n,"q"""\n2,\n',
        ";": 'price;"a;b"\n-5,25;\'=x\n;"q"""\n2;\n',
    }.items():
        sink = io.BytesIO()
        write_rows([table], schema, "csv", sink, raw_text=False, delimiter=delimiter)
        assert sink.getvalue().decode() == expected


PUBLIC = {"storage": {"x": "text"}, "reading": {"source": "pandas"}}


@pytest.mark.parametrize(
    ("facts", "public", "text"),
    [
        ({"format": "%d.%m.%Y", "kind": Kind.DATE}, PUBLIC, True),
        ({"decimal": ",", "kind": Kind.REAL}, PUBLIC, True),
        ({"decimals": 2, "kind": Kind.REAL}, PUBLIC, False),
        ({"decimals": 2, "padded": True, "kind": Kind.REAL}, PUBLIC, True),
        ({"decimal": ",", "kind": Kind.REAL}, PUBLIC | {"reading": {"source": "csv"}}, False),
        ({"decimal": ",", "kind": Kind.REAL}, PUBLIC | {"storage": {"x": "number"}}, False),
        ({"decimal": ",", "kind": Kind.REAL}, {}, False),
        ({"decimal": ",", "kind": Kind.REAL}, {"reading": "pandas", "storage": 7}, False),
    ],
)
def test_which_columns_a_data_frame_holds_as_text(facts, public, text):
    schema = Schema((Column(name="x", **facts),))
    assert set(held_as_text(schema, public)) == ({"x"} if text else set())


def messy(rows=400):
    rng = np.random.default_rng(5)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, rows), "D")
    price = rng.integers(100, 999_999, rows) / 100
    return pd.DataFrame(
        {
            "day": days.strftime("%d/%m/%Y"),
            "price": [f"{p:,.2f}".translate(str.maketrans(",.", ".,")) + " €" for p in price],
            "stars": rng.integers(2, 11, rows) / 2,
            "ok": rng.choice(["N", "Y"], rows),
        }
    )


SCHEMA = Schema(
    (
        Column(
            name="day",
            kind=Kind.DATE,
            format="%d/%m/%Y",
            bounds=(dt.date(2020, 1, 1), dt.date(2022, 12, 31)),
            null=False,
        ),
        Column(
            name="price",
            kind=Kind.REAL,
            bounds=(0, 10_000),
            decimal=",",
            thousands=".",
            suffix=" €",
            decimals=2,
            padded=True,
            null=False,
        ),
        Column(name="stars", kind=Kind.REAL, bounds=(1, 5), step=0.5, bins=9, null=False),
        Column(name="ok", kind=Kind.BOOLEAN, spelling=("N", "Y"), null=False),
    )
)


def check_messy(frame):
    assert frame["day"].str.fullmatch(r"\d\d/\d\d/20\d\d").all()
    assert frame["price"].str.fullmatch(r"\d{1,3}(\.\d{3})*,\d\d €").all()
    assert set(frame["stars"]) <= {n / 2 for n in range(2, 11)}
    assert set(frame["ok"]) <= {"N", "Y"}


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_a_frame_of_text_gets_text_back(tmp_path, name):
    release = us.synthesize(messy(), schema=SCHEMA, epsilon=5, mechanism="independent", seed=1)
    check_messy(release.data)
    check_messy(release.sample(50, seed=2))
    assert release.table["day"].type == pa.date32()
    again = us.load(release.save(tmp_path / "out", format=name))
    assert again.table.equals(release.table)
    pd.testing.assert_frame_equal(again.data, release.data)
    path = tmp_path / "out" / f"synthetic.{name}"
    check_messy(pd.read_csv(path) if name == "csv" else pd.read_parquet(path))


def test_a_csv_file_gets_its_own_spelling_back_and_python_gets_dates(tmp_path):
    messy().to_csv(tmp_path / "in.csv", sep=";", index=False)
    release = us.synthesize(
        tmp_path / "in.csv", schema=SCHEMA, epsilon=5, mechanism="independent", seed=1
    )
    assert str(release.data["day"].dtype).startswith("datetime64")
    assert release.data["price"].dtype == float
    folder = release.save(tmp_path / "out")
    check_messy(pd.read_csv(folder / "synthetic.csv", sep=";"))
    assert us.load(folder).table.equals(release.table)
    release.save(tmp_path / "two", format="parquet")
    assert us.load(tmp_path / "two").table.equals(release.table)
    subject = read_subject(
        tmp_path / "in.csv",
        folder,
        None,
        release=us.load(folder),
        schema=None,
        promise=None,
        person=None,
        without=(),
        named=(),
        text_encoding="utf-8",
    )
    sorts = {column.name: column.sort for column in subject.tables.columns}
    assert sorts == {
        "day": Sort.MOMENT,
        "price": Sort.NUMBER,
        "stars": Sort.NUMBER,
        "ok": Sort.FLAG,
    }
    assert subject.tables["ok"].labels in {("true", "false"), ("false", "true")}
    assert not np.isnan(subject.tables.real.numbers["price"]).any()
    assert not np.isnan(subject.tables.real.numbers["day"]).any()
