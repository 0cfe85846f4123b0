"""Public mistakes are refused with the way out; what rows contain is absorbed."""

import csv
import gzip
from decimal import Decimal

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.column import Column, Kind, Role
from understudy.encode.arrow_ops import plain_array, plain_type
from understudy.errors import SchemaError, SourceError
from understudy.privacy import files
from understudy.privacy.engine import EmbeddedEngine
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema

LETTERS = Schema(
    tuple(
        Column(name=name, kind=Kind.CATEGORICAL, categories=("a", "b"), other="o", null=True)
        for name in ("x", "y")
    )
)
NUMBER = Schema((Column(name="x", kind=Kind.INTEGER, bounds=(0, 3), null=True),))


def letters(source, **options):
    """Counts of a, b, other and missing in x and in y."""
    x, y = PrivateTable(source, LETTERS, **options).count([("x",), ("y",)])
    return x.tolist(), y.tolist()


def numbers(source):
    return PrivateTable(source, NUMBER).count([("x",)])[0].tolist()


@pytest.fixture
def write(tmp_path):
    def write(content, name="t.csv"):
        content = content if isinstance(content, bytes) else content.encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


# --- every kind of source ---------------------------------------------------------------------

TABLE = pa.table({"x": ["a", "b", "c", None], "y": ["b", "b", "", "a"]})
EXPECTED = ([1, 1, 1, 1], [1, 2, 0, 1])


def test_csv_and_gzipped_csv(write):
    text = "x,y\na,b\nb,b\nc,\n,a\n"
    assert letters(write(text)) == EXPECTED
    assert letters(str(write(text))) == EXPECTED
    assert letters(write(text, "t.csv.gz")) == EXPECTED
    assert letters(write(text.replace(",", "\t"), "t.tsv")) == EXPECTED
    assert letters(write(text.replace(",", ";"))) == EXPECTED
    assert letters(write(text.replace("\n", "\r\n"))) == EXPECTED
    assert letters(write(b"\xef\xbb\xbf" + text.encode())) == EXPECTED


def test_parquet_file_and_glob(tmp_path):
    pq.write_table(TABLE.slice(0, 1), tmp_path / "1.parquet")
    pq.write_table(TABLE.slice(1), tmp_path / "2.parquet")
    assert letters(str(tmp_path / "*.parquet")) == EXPECTED
    odd = tmp_path / "[odd] na'me*.parquet"
    pq.write_table(TABLE, odd)
    assert letters(odd) == EXPECTED


def test_frames():
    frame = TABLE.to_pandas()
    assert letters(TABLE) == EXPECTED
    assert letters(frame) == EXPECTED
    assert letters(frame.astype(object)) == EXPECTED
    assert letters(frame.astype("category")) == EXPECTED
    assert letters(pl.from_arrow(TABLE)) == EXPECTED
    assert letters(pl.from_arrow(TABLE).lazy()) == EXPECTED
    assert letters(pl.from_arrow(TABLE).cast(pl.Categorical)) == EXPECTED
    assert (
        letters(pa.table([column.dictionary_encode() for column in TABLE], ["x", "y"])) == EXPECTED
    )


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.decimal128(5, 2), pa.decimal256(40, 2)],
)
def test_numbers_of_every_width(kind):
    cells = [1, None, 9, 0]
    if pa.types.is_decimal(kind):
        cells = [None if cell is None else Decimal(cell) for cell in cells]
    assert numbers(pa.table({"x": pa.array(cells, kind)})) == [1, 1, 0, 1, 1]


def test_missing_numbers_of_pandas():
    assert numbers(pd.DataFrame({"x": [1, np.nan, 9, 0]})) == [1, 1, 0, 1, 1]
    assert numbers(pd.DataFrame({"x": pd.array([1, None, 9, 0], "Int64")})) == [1, 1, 0, 1, 1]


def test_columns_that_differ_only_in_case_or_are_called_oddly():
    names = ["x", "X", 'a "b"; DROP TABLE rows', "código", "rows", "c0"]
    schema = Schema(
        tuple(Column(name=n, kind=Kind.INTEGER, bounds=(0, 9), null=False) for n in names)
    )
    source = pa.table([[place] for place in range(len(names))], names)
    counts = PrivateTable(source, schema).count([(name,) for name in names])
    assert [int(count.argmax()) for count in counts] == list(range(len(names)))


def test_columns_that_stay_home_may_have_any_type():
    schema = Schema((*LETTERS.columns, Column(name="z", kind=Kind.REAL, role=Role.DROP)))
    table = TABLE.append_column("z", pa.array([[1], [], None, [2]]))
    assert PrivateTable(table, schema).count([()])[0] == 4


# --- refused ----------------------------------------------------------------------------------


def refused(message, source, schema=LETTERS, error=SourceError, **options):
    with pytest.raises(error, match=message):
        PrivateTable(source, schema, **options)


def test_files_that_are_not_there_or_not_tables(write, tmp_path):
    refused("There is no file .*gone.csv", tmp_path / "gone.csv")
    refused("No file matches", str(tmp_path / "*.parquet"))
    refused("neither CSV", write("x,y\n", "t.xlsx"))
    refused("neither CSV", tmp_path)
    refused("not a readable Parquet file", write("x,y\n", "t.parquet"))
    refused("has no columns", write(""))
    refused("has no columns", write("\n\na,b\n"))
    refused("has no columns", pa.table({}))
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"x,y\n" + bytes(10**5))[:20])
    refused("not a whole", tmp_path / "cut.csv.gz")
    refused("A dict cannot be read as a table", {"x": [1]})
    for odd in (pd.Series([1]), pl.Series([1]), pa.chunked_array([[1]]), 7, None):
        refused("cannot be read as a table", odd)
    write("x,y\n", "1.csv")
    write("x,y\n", "2.csv")
    refused("only Parquet files can be read together", str(tmp_path / "?.csv"))


def test_a_name_beyond_reason(write):
    before = csv.field_size_limit(1000)
    try:
        refused("has no columns", write("x" * 2000 + "\n"))
    finally:
        csv.field_size_limit(before)


def test_a_header_that_does_not_end_shows_no_rows(write):
    with pytest.raises(SourceError, match="does not end where its line does") as caught:
        PrivateTable(write('x,"y\nsecret,4711\n'), LETTERS)
    assert "secret" not in str(caught.value)


def test_columns_that_cannot_be_told_apart(write):
    refused("occur twice: x", write("x,y,x\n"))
    refused("occur twice: x", pd.DataFrame([[1, 2]], columns=["x", "x"]))


def test_a_header_in_another_encoding(write):
    path = write("x,y,é\n".encode("latin-1"))
    refused("header .* is not utf-8 text.*latin-1", path)
    for odd in ("klingon", "hex", "rot13", None, "undefined"):
        refused("encoding .* is unknown|cannot be read", path, text_encoding=odd)
    refused("does not end", write("x,y" * 400_000))


def test_a_schema_about_other_columns(write):
    refused("does not have: y", write("x,z\n"), error=SchemaError)
    refused("does not mention: z", write("x,y,z\n"), error=SchemaError)


def test_parquet_files_that_differ(tmp_path):
    pq.write_table(TABLE, tmp_path / "1.parquet")
    pq.write_table(TABLE.rename_columns(["x", "z"]), tmp_path / "2.parquet")
    refused("2.parquet has other columns than", str(tmp_path / "*.parquet"))


def test_types_without_cells():
    refused("stored as array<int64>", pa.table({"x": [[1]]}), NUMBER)
    refused("stored as time", pa.table({"x": pa.array([0], pa.time64("us"))}), NUMBER)
    refused(
        "type that cannot be read", pa.table({"x": pa.nulls(1, pa.list_(pa.float16()))}), NUMBER
    )


# --- absorbed ---------------------------------------------------------------------------------


def test_no_rows_and_one_row(write):
    assert letters(write("x,y\n")) == ([0] * 4, [0] * 4)
    assert letters(write("x,y")) == ([0] * 4, [0] * 4)
    assert letters(write("x,y\na,b")) == ([1, 0, 0, 0], [0, 1, 0, 0])
    assert letters(TABLE.slice(0, 0)) == ([0] * 4, [0] * 4)


def test_constant_and_all_missing_columns(write):
    assert letters(write("x,y\n" + "a,\n" * 5)) == ([5, 0, 0, 0], [0, 0, 0, 5])
    assert letters(pa.table({"x": pa.nulls(3), "y": pa.nulls(3)})) == ([0, 0, 0, 3],) * 2


def test_ragged_lines(write):
    assert letters(write("x,y\na\nb,b,b,b\na,b,,\n\n\n")) == ([2, 0, 0, 1], [0, 1, 0, 2])


def test_stray_quotes_and_huge_cells(write):
    assert letters(write('x,y\na"a,b\n"a" a,b\n')) == ([0, 0, 1, 1], [0, 1, 0, 1])
    assert letters(write(f"x,y\n{'q' * 3_000_000},b\na,b\n")) == ([1, 0, 1, 0], [0, 2, 0, 0])
    # A quote that is never closed takes the rest of the file only where that was declared.
    open_quote = write('x,y\na,b\n"a,b\nb,b\n')
    assert letters(open_quote) == ([1, 1, 0, 1], [0, 2, 0, 1])
    assert letters(open_quote, multiline=True) == ([1, 0, 0, 1], [0, 1, 0, 1])


def test_bytes_that_are_not_text(write):
    text = b"x,y\na\xff,b\na,b\nb,\xe9\n"
    assert letters(write(text)) == ([1, 1, 0, 1], [0, 2, 0, 1])
    assert letters(write(text), text_encoding="latin-1") == ([1, 1, 1, 0], [0, 2, 1, 0])


@pytest.mark.untraced
@pytest.mark.parametrize("before", [10, 5_000, 40_000])
@pytest.mark.parametrize(
    ("bad", "x", "y"),
    [
        (b"secret-4711\n", [0, 0, 1, 0], [0, 0, 0, 1]),
        (b"a\xff,b\n", [0, 0, 0, 1], [0, 1, 0, 0]),
        (b'"a" q,b\n', [0, 0, 0, 1], [0, 0, 0, 1]),
        (b"a,b,b\n", [0, 0, 0, 1], [0, 0, 0, 1]),
        (b"q" * 3_000_000 + b",b\n", [0, 0, 1, 0], [0, 1, 0, 0]),
    ],
    ids=["short", "bytes", "quote", "surplus", "long"],
)
def test_a_bad_row_is_absorbed_wherever_it_stands(write, before, bad, x, y):
    path = write(b"x,y\n" + b'a, "b"\n' * before + bad + b"b,a\n")
    around_x, around_y = np.array([before, 1, 0, 0]), np.array([1, before, 0, 0])
    assert letters(path) == ((around_x + x).tolist(), (around_y + y).tolist())


def test_a_file_that_breaks_off_says_nothing_of_its_rows(tmp_path):
    rng = np.random.default_rng(0)
    lines = "".join(f"secret-{k},{rng.random()}\n" for k in range(50_000))
    whole = gzip.compress(f"x,y\n{lines}".encode())
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) * 6 // 10])
    table = PrivateTable(tmp_path / "cut.csv.gz", LETTERS)
    with pytest.raises(SourceError, match="cannot be read to its end") as caught:
        table.count([("x",)])
    assert caught.value.__context__ is None


def test_late_damage_in_parquet_says_nothing_of_its_rows(tmp_path):
    strings = [f"secret-{k}" for k in range(300_000)]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": strings, "y": strings}), path, row_group_size=50_000)
    damaged = bytearray(path.read_bytes())
    middle = len(damaged) * 2 // 3
    damaged[middle : middle + 5000] = bytes(5000)
    path.write_bytes(damaged)
    table = PrivateTable(path, LETTERS)
    with pytest.raises(SourceError, match="cannot be read to its end") as caught:
        table.count([("x",), ("y",)])
    assert caught.value.__context__ is None


def test_a_column_of_nulls_in_parquet(tmp_path):
    table = pa.table({"x": pa.nulls(3), "y": ["a", "b", None]})
    pq.write_table(table, tmp_path / "t.parquet")
    assert letters(tmp_path / "t.parquet") == ([0, 0, 0, 3], [1, 1, 0, 1])


def test_damaged_text_beside_unusual_types_in_parquet(tmp_path):
    offsets = pa.py_buffer(np.array([0, 1, 3], np.int32))
    bad = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"a\xff\xfe")])
    places = pa.array([0, 1], pa.int32())
    table = pa.table(
        {"x": pa.DictionaryArray.from_arrays(places, bad), "y": pa.array([1, 2], pa.float16())}
    )
    pq.write_table(table, tmp_path / "t.parquet")
    assert letters(tmp_path / "t.parquet") == ([1, 0, 0, 1], [0, 0, 2, 0])


def test_frames_that_cannot_be_converted_quote_no_cells():
    class Frame(pd.DataFrame):
        pass

    odd = Frame({"x": pd.Series([1, "secret-4711"], dtype=object), "y": ["a", "b"]})
    assert letters(odd) == ([0, 0, 2, 0], [1, 1, 0, 0])
    lazy = pl.LazyFrame({"x": ["secret-4711"]}).select(pl.col("x").cast(pl.Int64))
    relation = duckdb.sql("SELECT x::INT AS x FROM (VALUES ('secret-4711')) AS t(x)")
    for source in (lazy, relation):
        with pytest.raises(SourceError, match="cannot be read as a table") as caught:
            PrivateTable(source, NUMBER)
        assert "secret" not in str(caught.value)
        assert caught.value.__context__ is None


def test_labels_of_several_types_and_half_characters_in_pandas():
    mixed = pd.DataFrame({"x": pd.Categorical(["a", 1, None]), "y": ["a", "b", None]})
    assert letters(mixed) == ([1, 0, 1, 1], [1, 1, 0, 1])
    half = pd.DataFrame({"x": pd.array(["a", "\ud800"], "string[python]"), "y": ["a", "b"]})
    assert letters(half) == ([1, 0, 0, 1], [1, 1, 0, 0])


def test_text_that_is_not_utf8_in_parquet_and_arrow(tmp_path):
    offsets = pa.py_buffer(np.array([0, 1, 3], np.int32))
    bad = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"a\xff\xfe")])
    table = pa.table({"x": bad, "y": ["a", "b"]})
    pq.write_table(table, tmp_path / "t.parquet")
    expected = ([1, 0, 0, 1], [1, 1, 0, 0])
    assert letters(table) == expected
    assert letters(tmp_path / "t.parquet") == expected


def test_objects_of_any_kind():
    odd = ["a", 1, 2.5, None, float("nan"), pd.NaT, pd.NA, b"b", "\ud800", ["q"], "é"]
    odd += [np.array([1, 2]), pd.DataFrame({"a": [1]}), 10**5000, Decimal("sNaN")]
    frame = pd.DataFrame({"x": pd.Series(odd, dtype=object), "y": ["a"] * len(odd)})
    assert letters(frame)[0] == [1, 0, 7, 7]


def test_values_outside_the_domain_and_numbers_that_are_none(write):
    cells = ["-7", "99", "nan", "inf", "-inf", "1e999", "1e308", "x", "", "2", "9" * 400]
    assert numbers(write("x\n" + "\n".join(cells) + "\n")) == [1, 0, 1, 1, 8]
    floats = [-7, 99, np.nan, np.inf, -np.inf, 1e308, -0.0, 2]
    assert numbers(pd.DataFrame({"x": floats})) == [2, 0, 1, 2, 3]


@pytest.mark.untraced
def test_a_million_distinct_strings_where_few_were_declared():
    strings = pa.array(np.arange(10**6)).cast(pa.string())
    table = pa.table({"x": strings, "y": strings})
    assert letters(table) == ([0, 0, 10**6, 0],) * 2


def test_one_row_never_changes_a_columns_type(write):
    lines = ["1"] * 50_000
    without = numbers(write("x\n" + "\n".join(lines)))
    odd = numbers(write("x\n" + "\n".join([*lines, "2020-01-01", '"not a number"', "true"])))
    assert odd == [*without[:-1], without[-1] + 3]


def test_run_lengths_of_text_that_is_not_utf8_are_read_cell_by_cell():
    offsets = pa.py_buffer(np.array([0, 1, 2], np.int32).tobytes())
    values = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"a\xff")])
    kind = pa.run_end_encoded(pa.int32(), pa.string())
    ends = pa.array([2, 3], pa.int32())
    cells = pa.Array.from_buffers(kind, 3, [None], children=[ends, values])
    assert letters(pa.table({"x": cells, "y": ["b"] * 3})) == ([2, 0, 0, 1], [0, 3, 0, 0])


def test_rows_after_carriage_returns_choose_no_message(write):
    messages = set()
    for rows in (b"1,2\r", b'1,"2\r', b"1,\xff\r"):
        with pytest.raises(SourceError) as refused:
            letters(write(b"x,y\r" + rows))
        messages.add(str(refused.value))
    assert len(messages) == 1


# --- text that 32 bits cannot count ---------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "c", None, "a"]).dictionary_encode(),
        pa.RunEndEncodedArray.from_arrays([1, 2, 3, 5], ["a", "c", None, "a"]).slice(0, 4),
    ],
    ids=["dictionary", "runs"],
)
def test_text_that_is_held_once_is_written_out_with_64_bits(column):
    """Written out, a few texts can take more than 2 GiB, and one row more would stop reading."""
    assert plain_type(column.type) == plain_array(column).type == pa.large_string()
    assert plain_array(column.slice(1)).to_pylist() == ["c", None, "a"]
    assert letters(pa.table({"x": column, "y": column}))[0] == [2, 0, 1, 1]


def test_text_leaves_the_engine_with_64_bits():
    engine = EmbeddedEngine()
    engine.attach(pa.table({"x": ["a"]}))
    (batch,) = engine.batches(engine.rows(), 10)
    assert batch.schema.field("x").type == pa.large_string()


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", None])
def test_parquet_text_too_long_for_a_dictionary_is_read_without(encoding, tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    how = {} if encoding is None else {"column_encoding": dict.fromkeys("xy", encoding)}
    pq.write_table(TABLE, path, use_dictionary=encoding is None, row_group_size=3, **how)
    short = files._short(pq.read_metadata(path), ["y"])
    assert short == ([] if encoding and encoding.startswith("DELTA") else ["y"])
    assert letters(path) == EXPECTED
    monkeypatch.setattr(files, "_SHORT", 1)
    assert not files._short(pq.read_metadata(path), ["x", "y"])
    assert letters(path) == EXPECTED


@pytest.mark.slow
def test_more_than_2_gib_of_text_is_read(tmp_path):
    text, rows = "x" * 4_000_000, 545
    column = pa.DictionaryArray.from_arrays([0] * rows, [text])
    table = pa.table({"x": column, "y": pa.array(["a"] * rows)})
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, compression="zstd")
    assert letters(table) == letters(path) == ([0, 0, rows, 0], [rows, 0, 0, 0])
    unknown = Schema(tuple(Column(name=name, kind=Kind.UNKNOWN) for name in "xy"))
    assert PrivateTable(path, unknown, shapes=True).count([()])[0] == rows


def test_an_engine_whose_reading_nobody_tested_is_refused():
    frame = pl.DataFrame({"x": ["a"], "y": ["b"]})
    table = ibis.polars.connect({"t": frame}).table("t")
    with pytest.raises(SourceError, match=r"Tables on polars are not read.*export the table to"):
        PrivateTable(table, LETTERS)
