"""Records of CSV files: one grammar, whichever way a record is parsed."""

import gzip
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from understudy.errors import SourceError
from understudy.privacy import csv_records
from understudy.privacy.csv_records import (
    CsvFormat,
    CsvReader,
    Record,
    decoded,
    parse_record,
)
from understudy.privacy.files import _SEVERAL_BYTES, ENCODINGS, open_path, text_codec


def rows(  # noqa: PLR0913 - by name
    path, *, width=2, encoding="utf-8", delimiter=",", multiline=False, needed=None
):
    names = [f"c{k}" for k in range(width)]
    reader = CsvReader(path, CsvFormat(encoding, delimiter, multiline), names)
    table = reader.batches(names if needed is None else needed).read_all()
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr), reader.malformed


@pytest.fixture
def write(tmp_path):
    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("a,b", ("a", "b")),
        (" a , b ", (" a ", " b ")),
        (",", (None, None)),
        ('"",""', (None, None)),
        ('"a,b",c', ("a,b", "c")),
        ('"a""b",""""', ('a"b', '"')),
        ('  "a" ,\t"b"\t', ("a", "b")),
        ('a"b,c""d', ('a"b', 'c""d')),
        ("a\rb,c", ("a\rb", "c")),
        ("a,b,, ", ("a", "b")),
    ],
)
def test_cells_of_a_well_formed_record(text, cells):
    assert parse_record(text, ",", 2) == Record(cells, malformed=False)


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("a", ("a", None)),
        (" ", (" ", None)),
        ("a,b,c", (None, None)),
        ('"a', (None, None)),
        ('a,"b', (None, None)),
        ('"a"b,c', (None, None)),
        ('"x" "",y', (None, None)),
        ('"a" b,c', (None, None)),
    ],
)
def test_a_malformed_record_is_padded_where_short_and_missing_otherwise(text, cells):
    assert parse_record(text, ",", 2) == Record(cells, malformed=True)


def test_a_blank_line_is_a_record_only_where_records_have_one_cell(write):
    assert parse_record("", ",", 2) is None
    assert parse_record("", ",", 1) == Record((None,), malformed=False)
    assert rows(write(b"x\na\n\nb\n"), width=1)[0] == [("a",), ("b",), (None,)]
    assert rows(write(b"x\r\na\r\n\r\nb\r\n"), width=1)[0] == [("a",), ("b",), (None,)]
    assert rows(write(b"x,y\na,b\n\n\r\nc,d\n"))[0] == [("a", "b"), ("c", "d")]


def test_the_end_of_a_line_belongs_to_no_cell(write):
    expected = [("a", "b"), ("c", "d"), ("e\rf", "g")]
    content = b"x,y\r\na,b\nc,d\r\ne\rf,g"
    assert rows(write(content)) == (expected, 0)
    assert rows(write(content + b"\n")) == (expected, 0)
    assert rows(write(b'\xef\xbb\xbfx,y\n"a","b"\r\n"c",d\r\n"e\rf","g"\r\n')) == (expected, 0)
    assert rows(write(b"x,y\r\na\r\nb,c\r\n")) == ([("a", None), ("b", "c")], 1)
    for nothing in (b"", b"x,y", b"x,y\n"):
        assert rows(write(nothing)) == ([], 0)


def test_cells_that_are_not_text_are_missing_and_their_neighbours_are_not(write):
    content = b"x;y\na\xff;b\n\xfe;\xfd\nc;d\n"
    expected = ([("c", "d"), (None, "b"), (None, None)], 0)
    assert rows(write(content, "t.csv.gz"), delimiter=";") == expected
    assert rows(write(content), delimiter=";") == expected


def test_quoted_line_breaks_are_records_unless_declared(write):
    content = b'x,y\n1,"a\nb"\n2,c\n'
    # The rest of a cell that was broken off is a short line.
    assert rows(write(content)) == ([("2", "c"), ('b"', None), (None, None)], 2)
    assert rows(write(content), multiline=True) == ([("1", "a\nb"), ("2", "c")], 0)
    crlf = content.replace(b"\n", b"\r\n")
    assert rows(write(crlf), multiline=True) == ([("1", "a\r\nb"), ("2", "c")], 0)


def test_an_open_quote_swallows_the_rest_only_where_line_breaks_are_declared(write):
    content = b'x,y\n1,a\n2,"b\n3,c\n'
    assert rows(write(content)) == ([("1", "a"), ("3", "c"), (None, None)], 1)
    assert rows(write(content), multiline=True) == ([("1", "a"), (None, None)], 1)


def test_only_the_columns_that_are_needed_are_handed_over(write):
    path = write(b'x,y,z\na,b,c\nd\n"e,e",f,g\n')
    assert rows(path, width=3, needed=["c1"])[0] == [("b",), ("f",), (None,)]


@pytest.mark.parametrize("multiline", [False, True])
@pytest.mark.parametrize("cell", [b"x" * 50, b'"' + b"x" * 50 + b'"', b'"' + b'a""b' * 20 + b'"'])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("chunk", [3, 16, 30, 2**24])
def test_a_record_that_is_too_long_is_missing_and_changes_no_other(  # noqa: PLR0913, PLR0917 - cases
    write, monkeypatch, multiline, cell, end, chunk
):
    monkeypatch.setattr(csv_records, "LONGEST_RECORD", 17)
    monkeypatch.setattr(csv_records, "_CHUNK", chunk)
    lines = [b"a,b", b"1,2", cell + b",3", b'4,"five, six"', b"7,8"]
    expected = [("1", "2"), ("4", "five, six"), ("7", "8"), (None, None)]
    for content in (end.join([*lines, b""]), end.join([*lines[:2], *lines[3:], lines[2]])):
        assert rows(write(content), multiline=multiline) == (expected, 1)


@pytest.mark.parametrize("chunk", [1, 2, 5, 13])
def test_where_a_chunk_ends_does_not_matter(write, monkeypatch, chunk):
    content = 'x,y\né,"a\n1,2\n"b""c",d\r\n3,"e,\nf"\nü\n'
    whole = {
        (encoding, multiline): rows(
            write(content.encode(encoding)), encoding=encoding, multiline=multiline
        )
        for encoding in ("utf-8", "iso8859-1", "gbk", "gb18030")
        for multiline in (False, True)
    }
    assert len({str(read) for (_, multiline), read in whole.items() if multiline}) == 1
    monkeypatch.setattr(csv_records, "_CHUNK", chunk)
    for (encoding, multiline), expected in whole.items():
        path = write(content.encode(encoding))
        assert rows(path, encoding=encoding, multiline=multiline) == expected


@pytest.mark.parametrize("before", range(20))
@pytest.mark.parametrize("chunk", [7, 2**24])
def test_whether_a_record_is_too_long_is_its_own_property(write, monkeypatch, before, chunk):
    monkeypatch.setattr(csv_records, "LONGEST_RECORD", 16)
    monkeypatch.setattr(csv_records, "_CHUNK", chunk)
    first = f"{'y' * before}\n"
    for length in (15, 16, 17, 18, 31, 33):
        cell = "x" * length
        read, malformed = rows(write(f"c\n{first}{cell}\n{first}".encode()), width=1)
        kept = cell if length <= 16 else None
        other = None if not 0 < before <= 16 else "y" * before
        assert Counter(read) == Counter([(kept,), (other,), (other,)])
        assert malformed == (length > 16) + 2 * (before > 16)


def test_malformed_records_are_counted_anew_in_each_pass(write):
    reader = CsvReader(write(b"x,y\n1\n1,2\n"), CsvFormat("utf-8", ","), ["x", "y"])
    for _ in range(2):
        reader.batches(["x"]).read_all()
        assert reader.malformed == 1


# --- one grammar ------------------------------------------------------------------------------

HOSTILE = st.text('ab",\n\n\r \t\0é\ufdd0', max_size=12).map(str.encode)
LINES = st.lists(HOSTILE | st.binary(max_size=6) | st.just(b'a,"b"') | st.just(b"a,b"), max_size=12)


def one_by_one(content, encoding="utf-8", width=2):
    """What the definition says: every physical line is parsed by itself."""
    lines = content.split(b"\n")
    lines = lines[:-1] if lines[-1] == b"" else lines
    parsed = [
        parse_record(decoded(line.removesuffix(b"\r"), encoding), ",", width) for line in lines
    ]
    records = [record for record in parsed if record is not None]
    return Counter(record.cells for record in records), sum(r.malformed for r in records)


@settings(max_examples=400, deadline=None)
@given(lines=LINES, width=st.integers(1, 3), chunk=st.sampled_from([7, 2**24]))
@example(lines=[b'a,"b"', b'x""y,"'], width=2, chunk=7)
@example(lines=[b'  "a",0', b"b"], width=2, chunk=7)
@example(lines=[b'"x" "",1', b"a,b"], width=2, chunk=7)
@example(lines=[b'"",', b'""",a"'], width=2, chunk=2**24)
def test_a_file_is_parsed_as_its_lines_are_one_by_one(
    tmp_path_factory, monkeypatch, lines, width, chunk
):
    content = b"\n".join(lines)
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(b"header\n" + content)
    with monkeypatch.context() as patched:
        patched.setattr(csv_records, "_CHUNK", chunk)
        found, malformed = rows(path, width=width)
    assert (Counter(found), malformed) == one_by_one(content, width=width)


@settings(max_examples=200, deadline=None)
@given(
    records=st.lists(
        st.lists(st.text('ab",\n\r é', max_size=5), min_size=2, max_size=2), max_size=8
    ),
    chunk=st.sampled_from([7, 2**24]),
)
def test_balanced_records_of_several_lines_are_parsed_as_one_by_one(
    tmp_path_factory, monkeypatch, records, chunk
):
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in records]
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes("\n".join(["x,y", *quoted, ""]).encode())
    with monkeypatch.context() as patched:
        patched.setattr(csv_records, "_CHUNK", chunk)
        found, malformed = rows(path, multiline=True)
    assert malformed == 0
    assert Counter(found) == Counter(tuple(cell or None for cell in row) for row in records)


# --- encodings --------------------------------------------------------------------------------


SINGLE = (10, 13, 34, 44)
"""Line feed, carriage return, quote and comma."""


def holders(encoding, points):
    """By byte, the characters that hold it."""
    found = {code: [] for code in SINGLE}
    for point in points:
        try:
            spelled = chr(point).encode(encoding)
        except UnicodeEncodeError:
            continue
        for code in found.keys() & {*spelled}:
            found[code].append(point)
    return found


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_marks_of_the_grammar_are_single_bytes_in_every_encoding(encoding):
    for code in (9, 10, 13, *map(ord, ' ",;')):
        assert bytes([code]).decode(encoding) == chr(code)
    # No character but these holds their bytes, so that lines and quotes are found before decoding.
    several = encoding in _SEVERAL_BYTES
    points = range(0x2_0000) if several else map(ord, decoded(bytes(range(256)), encoding))
    assert holders(encoding, points) == {code: [code] for code in SINGLE}


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_a_line_decodes_by_itself(encoding):
    hostile = [b"\x1b$B", b"\x1b(J", b"\x0e", b"~{", b"+AGE-", b"\x81", b"\xff\xfe", b"\x8f\xa2"]
    for line in hostile:
        both = b"\n".join([line, b"plain, text"])
        assert decoded(both, encoding).split("\n")[-1] == "plain, text"


@pytest.mark.parametrize(
    "encoding",
    [
        "iso2022_jp",
        "iso2022_kr",
        "hz",
        "utf-7",
        "utf-16",
        "utf-32",
        "utf-16-le",
        "cp037",
        "punycode",
    ],
)
def test_encodings_in_which_lines_depend_on_each_other_are_refused(encoding):
    with pytest.raises(SourceError, match="Save the file as UTF-8"):
        text_codec(encoding)


def test_a_file_in_utf_16_is_recognised(write):
    with pytest.raises(SourceError, match="UTF-16 or UTF-32"):
        open_path(str(write("x,y\na,b\n".encode("utf-16"))))


def test_lines_that_end_in_a_carriage_return_alone_are_refused(write):
    with pytest.raises(SourceError, match="carriage return alone"):
        open_path(str(write(b"x,y\ra,b\rc,d\r")))


def test_only_decoding_is_forgiven():
    with pytest.raises(UnicodeEncodeError):
        "\ud800".encode("utf-8", csv_records._HANDLER)


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("cell", ["\ufeffx", '\ufeff"x"', "\ufeff", "\ufeff\ufeff"])
def test_a_byte_order_mark_is_read_alike_in_every_record(write, width, cell):
    record = ",".join([cell] * width) + "\n"
    other = ",".join(["y"] * width) + "\n"
    header = ",".join(f"c{k}" for k in range(width)) + "\n"
    expected = parse_record(record[:-1], ",", width).cells
    alone, _ = rows(write((header + record).encode()), width=width)
    second, _ = rows(write((header + other + record).encode()), width=width)
    assert alone == [expected]
    assert second == sorted([expected, ("y",) * width], key=repr)
