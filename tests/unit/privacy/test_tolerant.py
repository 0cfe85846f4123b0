"""The readers that go on where others stop."""

import csv
import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.encode.arrow_ops import valid_text
from understudy.privacy import tolerant
from understudy.privacy.tolerant import csv_batches, parquet_batches


def rows(path, *, width=2, encoding="utf-8", delimiter=","):
    table = csv_batches(path, encoding, delimiter, [f"c{k}" for k in range(width)]).read_all()
    return [tuple(row.values()) for row in table.to_pylist()]


def test_short_lines_are_padded_and_long_ones_cut(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y\na\n\nb,c,d\n,\n")
    assert rows(path) == [("a", None), ("b", "c"), ("", "")]


def test_a_blank_line_is_a_row_where_rows_have_one_cell(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x\na\n\nb\n")
    assert rows(path, width=1) == [("a",), (None,), ("b",)]


def test_cells_that_are_not_text_are_missing_and_their_neighbours_are_not(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"x;y\na\xff;b\n\xfe;\xfd\n"))
    assert rows(path, delimiter=";") == [(None, "b"), (None, None)]


def test_all_line_ends_and_no_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y\r\na,b\nc,d\re,f")
    assert rows(path) == [("a", "b"), ("c", "d"), ("e", "f")]
    path.write_bytes(b"x,y\n")
    assert rows(path) == []
    path.write_bytes(b"")
    assert rows(path) == []


def test_large_files_come_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(tolerant, "_ROWS_PER_BATCH", 3)
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{k},{k}\n" for k in range(6)))
    reader = csv_batches(path, "utf-8", ",", ["c0", "c1"])
    assert [batch.num_rows for batch in reader] == [3, 3]


def test_a_record_that_the_csv_module_gives_up_on_is_a_row_of_missing_cells():
    class Reader:
        records = iter([["a"], csv.Error("line contains a row"), ["b"]])

        def __next__(self):
            record = next(self.records)
            if isinstance(record, csv.Error):
                raise record
            return record

    (a, unreadable, b) = tolerant._records(Reader())
    assert (a, b) == (["a"], ["b"])
    assert not tolerant.is_text(*unreadable)


def test_only_decoding_is_forgiven():
    with pytest.raises(UnicodeEncodeError):
        "\ud800".encode("utf-8", tolerant._KEEP_LOST)


def test_parquet_text_is_checked_and_the_rest_is_left_alone(tmp_path):
    offsets = pa.array([0, 1, 2, 2], pa.int32()).buffers()[1]
    bad = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"a\xff")])
    pq.write_table(pa.table({"x": bad, "y": [1, 2, 3]}), tmp_path / "t.parquet")
    table = parquet_batches([tmp_path / "t.parquet"], ["c0", "c1"]).read_all()
    assert table.to_pydict() == {"c0": ["a", None, ""], "c1": [1, 2, 3]}
    assert valid_text(pa.array(["é", None])).to_pylist() == ["é", None]
    assert valid_text(pa.concat_arrays([bad, pa.nulls(1, pa.string())])).to_pylist() == [
        *("a", None, "", None)
    ]


def test_a_quote_that_nobody_closes_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(tolerant, "_LONGEST_CELL", 100)
    path = tmp_path / "open.csv"
    path.write_text('a,b\n1,"' + "2,3\n" * 1000)
    sizes = [
        max(len(cell or "") for cell in row.values())
        for row in tolerant.csv_batches(path, "utf-8", ",", ["a", "b"]).read_all().to_pylist()
    ]
    assert len(sizes) > 900
    assert max(sizes) <= 100


def test_a_line_end_that_is_cut_in_two_makes_no_row(tmp_path, monkeypatch):
    monkeypatch.setattr(tolerant, "_LONGEST_LINE", 8)
    path = tmp_path / "one.csv"
    path.write_bytes(b"a\r\n1234567\r\n2\r\n\r\n")
    rows = tolerant.csv_batches(path, "utf-8", ",", ["a"]).read_all().to_pylist()
    assert [row["a"] for row in rows] == ["1234567", "2", None]


@pytest.mark.parametrize("cell", ["x" * 50, '"' + "x" * 50 + '"', '"' + 'a""b' * 20 + '"'])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_that_is_too_long_changes_no_other_line(tmp_path, monkeypatch, cell, end):
    monkeypatch.setattr(tolerant, "_LONGEST_LINE", 16)
    path = tmp_path / "long.csv"
    lines = ["a,b", "1,2", f"{cell},3", '4,"five, six"', "7,8"]
    path.write_bytes(end.join([*lines, ""]).encode())
    rows = tolerant.csv_batches(path, "utf-8", ",", ["a", "b"]).read_all().to_pylist()
    assert len(rows) == 4
    assert len(rows[1]["a"]) <= 16
    assert [row["b"] for row in (rows[0], *rows[2:])] == ["2", "five, six", "8"]
