"""Release folders that stand for far more than they weigh: refused before they are decoded."""

import json
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.column import Column, Kind
from understudy.encode import Encoding
from understudy.errors import BadInput, ReleaseTooLarge
from understudy.model.graphical import GraphicalModel
from understudy.model.product import ProductModel
from understudy.parquet_footer import row_groups
from understudy.privacy.budget import Budget
from understudy.privacy.facts import spelled_out
from understudy.privacy.folder import publish
from understudy.privacy.ledger import Ledger
from understudy.privacy.spelling import DEFECTS
from understudy.release import Release, load
from understudy.schema import Schema
from understudy.stored_files import read_rows
from understudy.synthetic_rows import DrawnRows

LONG = "long " * 200 + "label"
SCHEMA = Schema(
    (
        Column(name="town", kind=Kind.CATEGORICAL, categories=(LONG, "short"), null=True),
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 9), null=False),
    )
)
AT_ONCE = 2**24
SOON = 5.0
"""Seconds on a busy machine; decoding the smallest of these takes longer, or more memory."""


@pytest.fixture(scope="module")
def certificate():
    table = pa.table({"town": ["short"] * 4, "age": [1, 2, 3, 4]})
    with Ledger.open(table, SCHEMA, Budget(1.0, 1e-9)) as ledger:
        return ledger.close()


@pytest.fixture
def release(certificate):
    shares = {"town": np.full(3, 1 / 3), "age": np.full(11, 1 / 11)}  # no ages have a code too
    model = ProductModel(Encoding(SCHEMA).domain, 100.0, shares)
    return Release(DrawnRows.of(model, SCHEMA, 100, seed=1), certificate, SCHEMA, model)


def with_file(release, folder, name, content, **described):
    """The folder of a release with another file of rows, hashed and certified as if it were so."""
    made = release.save(folder.with_name(f"{folder.name}-made"), format="parquet")
    model = json.loads((made / "model.json").read_bytes()) | described
    files = {name: content, "model.json": json.dumps(model).encode()}
    publish(folder, files, replace(release.certificate, files={}))
    return folder


def parquet(groups, rows=AT_ONCE, label=LONG, **options):
    """Row groups in which all rows are alike."""
    town = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [label])
    table = pa.table({"town": town, "age": np.zeros(rows, np.int64)})
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, write_statistics=False, **options) as file:
        for _ in range(groups):
            file.write_table(table, row_group_size=rows)
    return sink.getvalue().to_pybytes()


def refused_soon(folder, match, kind=ReleaseTooLarge, **options):
    begun = time.process_time()
    with pytest.raises(kind, match=match) as caught:
        load(folder, **options)
    assert time.process_time() - begun < SOON
    assert type(caught.value) is kind
    return str(caught.value)


def varint(number, length=None):
    """A whole number as Thrift's compact protocol writes it; filled up to so many bytes."""
    number, digits = number * 2, []
    while number or not digits:
        digits.append(number & 127)
        number >>= 7
    digits += [0] * ((length or 0) - len(digits))
    return bytes([*(digit | 128 for digit in digits[:-1]), digits[-1]])


def with_footer(content, old, new):
    """A file whose footer says another number."""
    size = int.from_bytes(content[-8:-4], "little")
    footer, before = content[-8 - size : -8], varint(old)
    assert before in footer
    return content[: -8 - size] + footer.replace(before, varint(new, len(before))) + content[-8:]


def test_a_parquet_bomb_is_refused_by_its_footer(release, tmp_path):
    bomb = parquet(groups=8)
    assert len(bomb) < 2**21
    folder = with_file(release, tmp_path / "bomb", "synthetic.parquet", bomb)
    message = refused_soon(folder, "In memory, the table in .* needs at least 1,610,612,736 bytes")
    assert "max_bytes=" in message
    # Whoever trusts it raises the limit, and 130 gigabytes of text are not decoded even then.
    refused_soon(folder, "In memory, the table in", max_bytes=2**31)


def test_more_rows_than_any_release_has_are_refused(release, tmp_path, monkeypatch):
    monkeypatch.setattr("understudy.stored_files._USUAL_BYTES", 2**62)
    monkeypatch.setattr("understudy.stored_files._MOST_BYTES", 2**62)
    folder = with_file(release, tmp_path / "rows", "synthetic.parquet", parquet(groups=8))
    refused_soon(folder, "has 134,217,728 rows or more, and no release is saved with more")


def test_text_that_one_dictionary_repeats_is_counted_as_it_is_decoded(release, tmp_path):
    content = parquet(groups=1)
    assert len(content) < 2**18
    folder = with_file(release, tmp_path / "text", "synthetic.parquet", content)
    refused_soon(folder, "In memory, the table in")


def test_a_footer_that_lies_changes_nothing(release, tmp_path):
    content = parquet(groups=1)
    footer = pq.ParquetFile(pa.BufferReader(content)).metadata.row_group(0)
    stored = footer.column(0).total_compressed_size
    lies = {
        # Fewer bytes than there are, and more than the file has.
        "small": with_footer(content, footer.column(0).total_uncompressed_size, 10),
        "rows": with_footer(content, AT_ONCE, 3),
        "stored": with_footer(content, stored, 2**20),
    }
    for name, lie in lies.items():
        folder = with_file(release, tmp_path / name, "synthetic.parquet", lie)
        begun = time.process_time()
        if name == "rows":  # only as many are decoded
            assert load(folder).table.num_rows == 3
        else:
            with pytest.raises(BadInput):
                load(folder)
        assert time.process_time() - begun < SOON


@pytest.mark.parametrize("codec", ["zstd", "gzip", "brotli"])
def test_pages_that_inflate_without_measure_are_refused(release, tmp_path, codec):
    label = "x" * 2**24
    content = parquet(groups=3, rows=3, label=label, compression=codec, use_dictionary=False)
    assert len(content) < 2**18
    folder = with_file(release, tmp_path / codec, "synthetic.parquet", content)
    refused_soon(folder, "no release that this version can read", BadInput)


def table_of(columns):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    "columns",
    [
        {"town": pa.array([["short"]]), "age": pa.array([1])},
        {"town": pa.array(["short"]), "age": pa.array([1], pa.int32())},
        {"town": pa.array(["short"])},
        {"age": pa.array([1]), "town": pa.array(["short"])},
        {"town": pa.array(["short"]), "age": pa.array([1]), "more": pa.array([1])},
        {"town": pa.array(["nowhere"]), "age": pa.array([1])},
        {"town": pa.array([{"a": "short"}]), "age": pa.array([1])},
    ],
    ids=["list", "type", "missing", "order", "more", "label", "nested"],
)
def test_a_parquet_file_of_another_shape_is_refused(release, tmp_path, columns):
    folder = with_file(release, tmp_path / "out", "synthetic.parquet", table_of(columns))
    refused_soon(folder, "no release that this version can read", BadInput)


def test_two_files_of_rows_are_refused(release, tmp_path):
    made = release.save(tmp_path / "made")
    files = {name: (made / name).read_bytes() for name in ("synthetic.csv", "model.json")}
    rows = table_of({"town": pa.array(["short"]), "age": pa.array([1])})
    publish(tmp_path / "two", {**files, "synthetic.parquet": rows}, release.certificate)
    refused_soon(tmp_path / "two", "no release that this version can read", BadInput)


def test_a_csv_file_beyond_the_limit_is_refused_by_its_size(release, tmp_path, monkeypatch):
    folder = release.save(tmp_path / "out")
    monkeypatch.setattr("understudy.release._LARGEST", {"synthetic.csv": 100})
    message = refused_soon(folder, r"The file .*synthetic.csv needs at least [\d,]+ bytes")
    assert "max_bytes=" in message
    assert load(folder, max_bytes=10**6).table.equals(release.table)


def test_a_header_with_a_million_names_is_refused(release, tmp_path):
    content = b",".join(b"c%d" % place for place in range(10**6)) + b"\n"
    folder = with_file(release, tmp_path / "wide", "synthetic.csv", content, text="raw")
    refused_soon(folder, "no release that this version can read", BadInput)


@pytest.mark.parametrize("name", ["certificate.json", "model.json"])
def test_a_description_beyond_the_limit_is_not_parsed(release, tmp_path, monkeypatch, name):
    folder = release.save(tmp_path / "out")
    monkeypatch.setattr("understudy.release._LARGEST", {name: 100})
    refused_soon(folder, f"The file .*{name} needs at least")


def test_a_schema_with_millions_of_bins_is_refused(release, tmp_path):
    columns = tuple(
        Column(name=f"c{place}", kind=Kind.REAL, bounds=(0.0, 1.0), bins=2**16, null=False)
        for place in range(500)
    )
    folder = with_file(
        release, tmp_path / "bins", "synthetic.csv", b"", schema=spelled_out(Schema(columns))
    )
    refused_soon(folder, "describes 500 columns with 32,768,000 bins")


@pytest.mark.untraced
def test_a_model_whose_tree_takes_long_to_find_is_refused(monkeypatch):
    monkeypatch.setattr("understudy.model.graphical._MOST_WORK", 2**20)
    rng = np.random.default_rng(0)
    names = [f"c{place}" for place in range(2048)]
    factors = [
        {"clique": [names[one], names[other]], "log": [0.0]}
        for one, other in (rng.choice(2048, 2, replace=False) for _ in range(20_000))
    ]
    content = {
        "domain": [[name, 1] for name in names],
        "total": 5.0,
        "factors": factors,
        "rounded": True,
        "measurements": [],
    }
    with pytest.raises(BadInput, match="no tree of them can be found in time"):
        GraphicalModel.from_json(content)
    many = content | {"domain": [[f"c{place}", 1] for place in range(50_000)], "factors": []}
    with pytest.raises(BadInput, match="up to 2,048 columns"):
        GraphicalModel.from_json(many)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_release_of_many_rows_is_loaded(release, tmp_path, kind):
    large = replace(release, rows=DrawnRows.of(release.model, SCHEMA, 300_000, seed=1))
    folder = large.save(tmp_path / "out", format=kind)
    assert load(folder).table.equals(large.table)


# --- the footer of a Parquet file -----------------------------------------------------------------


def small(**options):
    table = pa.table({"town": ["short", None, LONG] * 40, "age": [1, 2, 3] * 40})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=50, write_statistics=False, **options)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("codec", "number"), [("none", 0), ("snappy", 1), ("gzip", 2), ("zstd", 6)]
)
def test_the_footer_is_read_as_arrow_reads_it(tmp_path, codec, number):
    path = tmp_path / "rows.parquet"
    path.write_bytes(small(compression=codec))
    footer = pq.read_metadata(path)
    expected = [
        (
            footer.row_group(place).num_rows,
            [
                (number, footer.row_group(place).column(column).total_compressed_size)
                for column in range(2)
            ],
        )
        for place in range(3)
    ]
    found = [
        (group.rows, [(chunk.codec, chunk.stored) for chunk in group.chunks])
        for group in row_groups(path)
    ]
    assert found == expected


@pytest.mark.untraced
def test_no_changed_byte_of_a_footer_ends_the_process_or_raises_anything_odd(tmp_path):
    # Arrow itself aborts the process where it is asked for a compression that does not exist.
    content = small()
    size = int.from_bytes(content[-8:-4], "little") + 8
    path = tmp_path / "synthetic.parquet"
    outcomes = {"read": 0, "refused": 0}
    for place in range(len(content) - size, len(content)):
        for change in (1, 0x4E, 0xFF) if place % 2 else (0x10, 0x80):
            changed = bytearray(content)
            changed[place] ^= change
            path.write_bytes(changed)
            try:
                read_rows(tmp_path, {path.name: ""}, SCHEMA, text="raw")
                outcomes["read"] += 1
            except (*DEFECTS, OSError, pa.ArrowException):
                outcomes["refused"] += 1
    assert min(outcomes.values()) > 100


@pytest.mark.parametrize(
    "footer",
    [
        b"",
        b"\xff" * 40,
        b"\x1c" * 1000,  # structs in structs
        b"\x19" + b"\xf9\xff\xff\xff\xff\x0f" * 50,  # lists of endless length
        b"\x15\x02" * 2 + b"\x00",  # no row groups
        b"\x49\x0c\x09\x0c\x00",  # row groups twice
        b"\x18\xff\xff\xff\xff\x07ab",
    ],
)
def test_a_footer_that_nobody_wrote_is_refused(tmp_path, footer):
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ValueError, match="no footer that can be read"):
        row_groups(path)
    for content in (b"", b"PAR1", b"PAR1" + footer, b"\xff" * 4 + b"PAR1"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="no footer that can be read"):
            row_groups(path)
