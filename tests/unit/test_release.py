import datetime as dt
import html
import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding as KeyEncoding,
)
from cryptography.hazmat.primitives.serialization import (
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pyarrow import csv

import understudy as us
from helpers.tables import TEXT, columns
from helpers.tamper import changed_bytes
from understudy.column import Column, Kind, Role
from understudy.encode import Encoding
from understudy.encode.moments import resolution
from understudy.errors import BadInput, CheckFailed
from understudy.model.product import ProductModel
from understudy.pipeline import synthesize
from understudy.privacy import folder as folder_module
from understudy.privacy.budget import Budget
from understudy.privacy.folder import verify
from understudy.privacy.ledger import Ledger
from understudy.release import Release, load
from understudy.schema import Schema
from understudy.schema_files import read_schema
from understudy.synthetic_rows import DrawnRows
from understudy.table_files import check_format

EVIL = "<script>alert('x')</script>"
ODD = (
    *("1", "01", "1.0", "1e3", "true", "nan", "null", "NA", "None", "2020-01-01"),
    *(
        "a,b",
        'say "hi"',
        '"',
        "'",
        "two\nlines",
        "cr\rhere",
        "both\r\nhere",
        "tab\there",
        ";",
        "\\",
    ),
    *("é ü ß", "漢字", "🎭", "\N{ZERO WIDTH SPACE}x", "\N{BYTE ORDER MARK}x", "\xa0hard blank"),
    *("=1+1", "+1", "-1", "@sum", "#REF!", EVIL, "a\x01b", "\u2028line"),
)
SCHEMA = Schema(
    (
        Column(name="who", kind=Kind.CATEGORICAL, role=Role.ID),
        Column(name="odd", kind=Kind.CATEGORICAL, categories=ODD, null=True),
        Column(name="level", kind=Kind.ORDINAL, categories=(3, 1, 2), null=False),
        Column(name="level or none", kind=Kind.CATEGORICAL, categories=(10, 20), null=True),
        Column(name="age", kind=Kind.INTEGER, bounds=(-5, 120), null=False),
        Column(name="visits", kind=Kind.INTEGER, bounds=(0, 9), null=True),
        Column(name="dose", kind=Kind.REAL, bounds=(-1.5, 1e6), atoms=(0.0,), bins=5, null=True),
        Column(name="ill", kind=Kind.BOOLEAN, null=False, role=Role.TARGET),
        Column(name="smoker", kind=Kind.BOOLEAN, null=True),
        Column(name="born", kind=Kind.DATE, bounds=(dt.date(1, 1, 1), dt.date(9999, 12, 31))),
        Column(
            name="seen",
            kind=Kind.DATETIME,
            bounds=(dt.datetime(1990, 1, 1), dt.datetime(2030, 1, 1)),  # noqa: DTZ001 - naive
            null=False,
        ),
    )
)
NULLABLE = {"odd", "level or none", "visits", "dose", "smoker", "born"}
FILES = {"certificate.json", "model.json", "report.html"}


def private_rows(schema=SCHEMA, rows=8):
    """Some rows that fit; what they hold matters little here."""
    domain = Encoding(schema).domain
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, size, rows) for name, size in domain.sizes.items()}
    table = Encoding(schema).decode(codes, rng)
    for column in schema:
        if not column.coded:
            table = table.append_column(column.name, pa.array(["p"] * rows))
    return table


@pytest.fixture(scope="module")
def certificate():
    with Ledger.open(private_rows(), SCHEMA, Budget(1.0, 1e-9)) as ledger:
        ledger.measure([("age",)], rho=ledger.rest())
        return ledger.close()


def even(schema):
    """A model in which every cell is as likely as any other."""
    domain = Encoding(schema).domain
    shares = {name: np.full(size, 1 / size) for name, size in domain.sizes.items()}
    return ProductModel(domain, 100.0, shares)


def of(schema, certificate, rows=400, notes=()):
    model = even(schema)
    return Release(DrawnRows.of(model, schema, rows, seed=1), certificate, schema, model, notes)


@pytest.fixture
def release(certificate):
    return of(SCHEMA, certificate, notes=("a note", 'with "quotes"', EVIL))


def stated(release):
    """All that a certificate says, but for the files that it was saved with."""
    content = replace(release.certificate, files={}).to_json()
    return json.loads(json.dumps(content))


def same(one, other):
    assert other.table.column_names == one.table.column_names
    assert other.table.cast(one.table.schema).equals(one.table)
    assert other.schema == one.schema
    assert other.notes == one.notes
    assert other.certificate.epsilon == one.certificate.epsilon
    assert stated(other) == stated(one)
    assert json.dumps(other.model.to_json()) == json.dumps(one.model.to_json())
    assert other.sample(50, seed=3).equals(one.sample(50, seed=3))


# --- as a data frame ------------------------------------------------------------------------------


def test_a_frame_has_the_types_of_the_schema(release):
    frame = release.data
    assert list(frame.columns) == [c.name for c in SCHEMA.coded]
    assert len(frame) == 400
    types = {name: str(kind) for name, kind in frame.dtypes.items()}
    text = types.pop("odd")
    assert text in {"object", "str", "string"}
    assert types == {
        "level": "int64",
        "level or none": "Int64",
        "age": "int64",
        "visits": "Int64",
        "dose": "float64",
        "ill": "bool",
        "smoker": "boolean",
        "born": "datetime64[ms]",
        "seen": "datetime64[s]",
    }


@pytest.mark.parametrize("rows", [1, 5, 200])
def test_a_columns_type_does_not_depend_on_the_rows_drawn(release, rows):
    for seed in range(5):
        assert release.sample(rows, seed=seed).dtypes.equals(release.data.dtypes)


def test_a_frame_holds_what_the_table_holds(release):
    frame = release.data
    for name in release.table.column_names:
        expected = release.table[name].to_pylist()
        found = [None if pd.isna(value) else value for value in frame[name]]
        if name in {"born", "seen"}:
            found = [None if v is None else v.to_pydatetime() for v in found]
            expected = [
                v
                if v is None or isinstance(v, dt.datetime)
                else dt.datetime(v.year, v.month, v.day)  # noqa: DTZ001
                for v in expected
            ]
        assert found == expected, name


def test_nulls_and_bounds_are_those_of_the_schema(release):
    assert {n for n in release.table.column_names if release.table[n].null_count} == NULLABLE
    frame = release.data
    assert set(frame["odd"].dropna()) <= set(ODD)
    assert set(frame["level"]) == {1, 2, 3}
    assert frame["age"].between(-5, 120).all()
    assert frame["dose"].dropna().between(-1.5, 1e6).all()


def test_more_rows_come_from_the_same_model(release):
    assert len(release.sample()) == 400
    assert len(release.sample(7)) == 7
    assert release.sample(50, seed=1).equals(release.sample(50, seed=1))
    assert not release.sample(50, seed=1).equals(release.sample(50, seed=2))
    assert not release.sample(50).equals(release.sample(50))


@pytest.mark.parametrize("rows", [0, -1, 2.0, "7", True])
def test_an_impossible_number_of_rows_is_refused(release, rows):
    with pytest.raises(BadInput, match="at least 1"):
        release.sample(rows)


# --- to a folder and back -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_a_folder_holds_the_table_the_certificate_the_model_and_nothing_else(
    release, tmp_path, name
):
    folder = release.save(tmp_path / "out", format=name)
    assert folder == tmp_path / "out"
    assert {path.name for path in folder.iterdir()} == {*FILES, f"synthetic.{name}"}
    assert all(check.passed for check in us.verify(str(folder)))


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_what_was_saved_comes_back(release, tmp_path, name):
    again = load(release.save(tmp_path / "out", format=name))
    same(release, again)
    assert set(again.certificate.files) == {f"synthetic.{name}", "model.json", "report.html"}


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_types_come_back_too(release, tmp_path, name):
    again = load(release.save(tmp_path / "out", format=name))
    assert again.table.schema.equals(release.table.schema)
    assert again.data.dtypes.equals(release.data.dtypes)


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_a_text_column_without_any_value_comes_back(tmp_path, name):
    schema = Schema((Column(name="x", kind=Kind.CATEGORICAL, categories=("a",), null=True),))
    release = synthesize(
        pa.table({"x": pa.nulls(900, pa.string())}),
        schema=schema,
        epsilon=20.0,
        accept_weak_guarantee=True,
    )
    assert release.table["x"].null_count == release.table.num_rows
    same(release, load(release.save(tmp_path / "out", format=name)))


def test_it_comes_back_from_a_path_that_is_text(release, tmp_path):
    release.save(f"{tmp_path}/out")
    same(release, us.load(f"{tmp_path}/out"))


def test_a_release_made_by_the_pipeline_comes_back(tmp_path):
    release = synthesize(private_rows(rows=500), epsilon=1.0, target="ill", unit="person:who:3")
    same(release, load(release.save(tmp_path / "out")))


def test_it_can_be_saved_again_after_it_came_back(release, tmp_path):
    first = release.save(tmp_path / "first")
    second = load(first).save(tmp_path / "second")
    for path in first.iterdir():
        assert (second / path.name).read_bytes() == path.read_bytes()


def test_where_a_folder_lies_does_not_matter(release, tmp_path):
    # A name that data tools like to take for a column.
    folder = release.save(tmp_path / "year=2020" / "x=1", format="parquet")
    same(release, load(folder))


@st.composite
def schemas(draw):
    """Columns of any kind with odd names, one that is never missing, and one of odd words."""
    usable = columns().filter(lambda column: column.kind is not Kind.UNKNOWN)
    words = TEXT.map(lambda text: text.strip(" \t\n\r\v\f")).filter(bool)
    listed = tuple(draw(st.lists(words, min_size=1, max_size=5, unique=True)))
    parts = [
        *draw(st.lists(usable, min_size=1, max_size=2)),
        Column(name="whole", kind=Kind.BOOLEAN, null=False),
        Column(name="words", kind=Kind.CATEGORICAL, categories=listed, null=True),
    ]
    odd = st.text("ab,\"'; é\t\\", min_size=1, max_size=5)
    names = draw(st.lists(odd, min_size=len(parts), max_size=len(parts), unique=True))
    return Schema(tuple(replace(c, name=name) for c, name in zip(parts, names, strict=True)))


@pytest.mark.parametrize("name", ["csv", "parquet"])
@settings(max_examples=25)
@given(schemas())
def test_whatever_a_schema_allows_comes_back(certificate, tmp_path_factory, name, schema):
    release = of(schema, certificate, rows=30)
    # Moments of a bin without a whole minute, say, are written to the minute all the same.
    coarse = [c for c in schema if c.format and c.kind is Kind.DATETIME]
    assume(all(_writable(release.table[c.name].to_pylist(), c.format) for c in coarse))
    same(release, load(release.save(tmp_path_factory.mktemp("any") / "out", format=name)))


def _writable(moments, template):
    epoch = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - columns are naive
    step = dt.timedelta(seconds=resolution(template))
    return not any(moment is not None and (moment - epoch) % step for moment in moments)


def test_a_single_column_with_missing_cells_comes_back(certificate, tmp_path):
    schema = Schema((Column(name="x", kind=Kind.CATEGORICAL, categories=("a",), null=True),))
    release = of(schema, certificate)
    same(release, load(release.save(tmp_path / "out")))


def test_a_column_name_of_two_lines_comes_back(certificate, tmp_path):
    two = Column(name="two\nlines", kind=Kind.BOOLEAN, null=False)
    release = of(Schema((two, Column(name="x", kind=Kind.BOOLEAN, null=True))), certificate)
    same(release, load(release.save(tmp_path / "out")))


def test_a_schema_with_a_code_list_comes_back(tmp_path):
    (tmp_path / "codes.txt").write_text("a\nb\n")
    (tmp_path / "schema.toml").write_text(
        '[columns.x]\nkind = "categorical"\ncategories_file = "codes.txt"\nnull = false\n'
    )
    release = synthesize(
        pa.table({"x": ["a", "b"] * 50}), epsilon=1.0, schema=read_schema(tmp_path / "schema.toml")
    )
    again = load(release.save(tmp_path / "out"))
    assert again.table.equals(release.table)
    assert again.schema["x"].categories == ("a", "b")


def test_text_is_written_as_other_tools_read_it(release, tmp_path):
    folder = release.save(tmp_path / "out", raw_text=True)
    frame = pd.read_csv(folder / "synthetic.csv", keep_default_na=False, dtype=str)
    assert list(frame.columns) == release.table.column_names
    expected = [text or "" for text in release.table["odd"].to_pylist()]
    # Readers make one kind of line end of all.
    assert [re.sub("\r\n?", "\n", t) for t in frame["odd"]] == [
        re.sub("\r\n?", "\n", t) for t in expected
    ]
    assert frame["age"].astype(int).tolist() == release.table["age"].to_pylist()


def test_parquet_carries_nothing_but_the_rows(release, tmp_path):
    folder = release.save(tmp_path / "out", format="parquet")
    table = pq.read_table(folder / "synthetic.parquet")
    assert table.cast(release.table.schema).equals(release.table)
    assert table.schema.metadata is None


def test_only_known_formats_are_written(release, tmp_path):
    for name in ("xlsx", "CSV", "", "../x"):
        with pytest.raises(BadInput, match="use csv or parquet"):
            release.save(tmp_path / "out", format=name)
        with pytest.raises(BadInput, match="use csv or parquet"):
            check_format(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["certificate.json", "model.json", "report.html", "synthetic.csv"])
def test_a_changed_byte_is_refused(release, tmp_path, name):
    folder = release.save(tmp_path / "out")
    places = changed_bytes(folder / name, lambda byte: byte ^ 1)
    for count, _ in enumerate(places):
        if count % 997 == 0:
            with pytest.raises(CheckFailed, match="is not as it was released"):
                load(folder)
    same(release, load(folder))


def test_a_missing_or_an_added_file_is_refused(release, tmp_path):
    folder = release.save(tmp_path / "out")
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(CheckFailed, match=r"no other files \(notes\.txt\)"):
        load(folder)
    (folder / "notes.txt").unlink()
    (folder / "model.json").unlink()
    with pytest.raises(CheckFailed, match=r"model\.json is as it was released \(missing\)"):
        load(folder)


def test_what_is_no_release_is_refused(release, certificate, tmp_path):
    with pytest.raises(BadInput, match="Name the folder of a release"):
        load(tmp_path)
    with pytest.raises(BadInput, match="Name the folder of a release"):
        load(tmp_path / "nowhere")
    # Sound, but of something else.
    for files in ({}, {"model.json": b"{}"}, {"model.json": b'{"format":"understudy model 9"}'}):
        folder = tmp_path / f"other{len(list(tmp_path.iterdir()))}"
        folder_module.publish(folder, files, certificate)
        with pytest.raises(BadInput, match="no release that this version can read"):
            load(folder)


# --- formulas -------------------------------------------------------------------------------------

FORMULAS = ("=cmd()", "+1+1", "-1+1", "@SUM(A1)", "=1", "plain", "a=1", "'=1", "''=1", "'x", "-1")
FORMULA_SCHEMA = Schema(
    (
        Column(name="=name", kind=Kind.CATEGORICAL, categories=FORMULAS, null=True),
        Column(name="'=name", kind=Kind.CATEGORICAL, categories=("+5", "-1e5"), null=False),
        Column(name="number", kind=Kind.INTEGER, bounds=(-5, -1), null=False),
    )
)


def cells_of(folder):
    types = dict.fromkeys(("=name", "'=name", "''=name"), pa.string())
    options = csv.ConvertOptions(column_types=types, strings_can_be_null=True)
    return csv.read_csv(folder / "synthetic.csv", convert_options=options)


def test_no_formula_reaches_the_csv_file_unless_raw_text_is_asked_for(certificate, tmp_path):
    release = of(FORMULA_SCHEMA, certificate)
    safe = release.save(tmp_path / "safe")
    assert cells_of(safe).column_names == ["'=name", "''=name", "number"]
    assert set(cells_of(safe)["'=name"].to_pylist()) == {
        *("'=cmd()", "'+1+1", "'-1+1", "'@SUM(A1)", "'=1", "plain", "a=1", "''=1", "'''=1", "'x"),
        *("-1", None),
    }
    # Plain numbers stay as they are.
    assert set(cells_of(safe)["''=name"].to_pylist()) == {"+5", "-1e5"}
    assert set(cells_of(safe)["number"].to_pylist()) == {-5, -4, -3, -2, -1}
    raw = release.save(tmp_path / "raw", raw_text=True)
    assert cells_of(raw).column_names == release.table.column_names
    assert set(cells_of(raw)["=name"].to_pylist()) == {*FORMULAS, None}
    # Only the file is changed: the release itself is as it was, and read as it was.
    for folder in (safe, raw, release.save(tmp_path / "parquet", format="parquet")):
        assert all(check.passed for check in verify(folder))
        assert load(folder).table.equals(release.table)
    parquet = pq.read_table(tmp_path / "parquet/synthetic.parquet")
    assert set(parquet["=name"].to_pylist()) == {*FORMULAS, None}


def test_the_options_of_version_0_1_keep_their_meaning(certificate, tmp_path):
    release = of(FORMULA_SCHEMA, certificate)
    safe = release.save(tmp_path / "safe", formula_safe=True)
    assert cells_of(safe).equals(cells_of(release.save(tmp_path / "default")))
    raw = release.save(tmp_path / "raw", formula_safe=False)
    assert set(cells_of(raw)["=name"].to_pylist()) == {*FORMULAS, None}
    with pytest.raises(BadInput, match="both raw and formula-safe"):
        release.save(tmp_path / "both", raw_text=True, formula_safe=True)
    assert not (tmp_path / "both").exists()


def as_version_0_1(release, folder, *, formula_safe):
    """The folder that version 0.1.0 wrote: its file does not say how it spells text."""
    table = release.table
    if formula_safe:
        start = r"^[=+\-@\t\r]"
        columns = [
            pc.replace_substring_regex(column, start, r"'\0")
            if pa.types.is_string(column.type)
            else column
            for column in table.columns
        ]
        names = [re.sub(start, r"'\g<0>", name) for name in table.column_names]
        table = pa.table(columns, names=names)
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink, csv.WriteOptions(quoting_style="needed"))
    made = json.loads((release.save(folder.with_suffix(".new")) / "model.json").read_bytes())
    del made["text"]
    model = json.dumps(made, indent=2, ensure_ascii=False).encode() + b"\n"
    files = {"synthetic.csv": sink.getvalue().to_pybytes(), "model.json": model}
    folder_module.publish(folder, files, release.certificate)
    return folder


@pytest.mark.parametrize("formula_safe", [False, True])
def test_releases_of_version_0_1_are_loaded(certificate, tmp_path, formula_safe):
    schema = Schema(
        (
            Column(name="=name", kind=Kind.CATEGORICAL, categories=FORMULAS[:7], null=True),
            Column(name="number", kind=Kind.INTEGER, bounds=(-5, -1), null=False),
        )
    )
    for made in (of(schema, certificate), of(SCHEMA, certificate)):
        folder = tmp_path / f"old-{len(made.schema)}"
        folder = as_version_0_1(made, folder, formula_safe=formula_safe)
        assert load(folder).table.equals(made.table)


def test_a_file_that_spells_text_otherwise_than_its_model_says_is_refused(certificate, tmp_path):
    release = of(FORMULA_SCHEMA, certificate)
    for place, spelled in enumerate(("raw", "escaped", 1, ["raw"], {})):
        made = release.save(tmp_path / f"made{place}")
        content = json.loads((made / "model.json").read_bytes()) | {"text": spelled}
        files = {
            "synthetic.csv": (made / "synthetic.csv").read_bytes(),
            "model.json": json.dumps(content).encode(),
        }
        folder = tmp_path / f"other{place}"
        folder_module.publish(folder, files, release.certificate)
        with pytest.raises(BadInput, match="no release that this version can read"):
            load(folder)


ALPHABET = "=+-@\t\r\n'\"0159.eE aé,;\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
LABELS = st.lists(
    st.text(st.sampled_from(ALPHABET), min_size=1, max_size=5), min_size=1, max_size=8
)


@given(LABELS, LABELS, st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_text_comes_back_as_it_was(certificate, tmp_path_factory, names, labels, raw):
    named = [*dict.fromkeys(name.strip() for name in names if name.strip().isprintable())]
    listed = [*dict.fromkeys(label for label in (one.strip() for one in labels) if label)]
    schema = Schema(
        tuple(
            Column(name=name, kind=Kind.CATEGORICAL, categories=listed or ["x"], null=True)
            for name in [name for name in named if name] or ["x"]
        )
    )
    release = of(schema, certificate, rows=60)
    folder = release.save(tmp_path_factory.mktemp("any") / "out", raw_text=raw)
    assert load(folder).table.equals(release.table)


# --- signing --------------------------------------------------------------------------------------


def keys():
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(KeyEncoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(KeyEncoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return private, public


def test_a_signed_release_verifies_with_the_curators_key_only(release, tmp_path):
    (private, public), (_, other) = keys(), keys()
    folder = release.save(tmp_path / "out", key=private)
    assert all(check.passed for check in us.verify(folder, public_key=public))
    assert not all(check.passed for check in us.verify(folder, public_key=other))
    same(release, load(folder))
    unsigned = release.save(tmp_path / "unsigned")
    assert not all(check.passed for check in us.verify(unsigned, public_key=public))


def test_with_a_key_that_is_none_nothing_is_written(release, tmp_path):
    with pytest.raises(BadInput, match="not an Ed25519 private key"):
        release.save(tmp_path / "out", key=b"none")
    assert list(tmp_path.iterdir()) == []


# --- where it is saved ----------------------------------------------------------------------------


def test_a_folder_that_holds_something_is_left_alone(release, tmp_path):
    for kept in ("notes.txt", ".hidden"):
        folder = tmp_path / kept / "out"
        folder.mkdir(parents=True)
        (folder / kept).write_text("mine")
        with pytest.raises(BadInput, match="nothing is overwritten"):
            release.save(folder)
        assert [path.name for path in folder.iterdir()] == [kept]
        assert (folder / kept).read_text() == "mine"
        assert [path.name for path in folder.parent.iterdir()] == ["out"]


def test_a_second_release_does_not_replace_the_first(release, tmp_path):
    folder = release.save(tmp_path / "out")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(BadInput, match="nothing is overwritten"):
        release.save(folder, format="parquet")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_empty_folder_and_one_that_is_missing_will_do(release, tmp_path):
    (tmp_path / "empty").mkdir()
    same(release, load(release.save(tmp_path / "empty")))
    same(release, load(release.save(tmp_path / "new" / "deep" / "out")))


def test_the_folder_one_stands_in_will_do_or_is_refused(release, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        release.save(".")
    except BadInput:
        assert list(tmp_path.iterdir()) == []
    else:
        same(release, load(tmp_path))


class Stop(BaseException):
    """Neither an error of ours nor of the system."""


@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError, Stop, OSError(28, "No space")])
@pytest.mark.parametrize("after", range(6))
def test_a_stop_while_saving_leaves_nothing(release, tmp_path, monkeypatch, stop, after):
    whole, calls = os.fsync, []

    def fsync(handle):
        if len(calls) == after:
            raise stop
        calls.append(handle)
        whole(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    folder = tmp_path / "out"
    expected = BadInput if isinstance(stop, OSError) else stop
    if after < 5:  # four files and their folder
        with pytest.raises(expected):
            release.save(folder)
        assert list(tmp_path.iterdir()) == []
    else:  # it stands already, and is whole
        with pytest.raises(BaseException):  # noqa: B017, PT011 - whatever stops it
            release.save(folder)
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
        monkeypatch.setattr(os, "fsync", whole)
        same(release, load(folder))


def test_a_stop_before_the_last_step_leaves_nothing(release, tmp_path, monkeypatch):
    def rename(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(KeyboardInterrupt):
        release.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


# --- for the eye ----------------------------------------------------------------------------------


def evil(certificate):
    schema = Schema(
        (
            Column(name=EVIL, kind=Kind.CATEGORICAL, categories=(EVIL, "<b>&amp;"), null=False),
            Column(name="<img src=x onerror=y>", kind=Kind.BOOLEAN, null=False),
        )
    )
    return of(schema, certificate, notes=(EVIL,))


def test_pages_escape_names_and_values(certificate):
    page = evil(certificate)._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    assert "<b>" not in page
    assert page.count(html.escape("<script>")) >= 3  # a name, a note, and cells
    certificate = replace(certificate, bought=(f"{EVIL}: kind",), unit=EVIL)
    assert "<script" not in certificate._repr_html_()
    assert html.escape("<script>") in certificate._repr_html_()


def test_pages_need_no_network_and_run_nothing(release, certificate):
    for page in (release._repr_html_(), certificate._repr_html_()):
        tags = set(re.findall(r"<([a-z]+)", page))
        assert tags <= {
            "div",
            "strong",
            "ul",
            "li",
            "p",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
        }
        assert not re.search(r"<[^>]*(src|href|url|on[a-z]+)\s*=", page)


def test_the_page_of_a_release_shows_promise_notes_and_a_few_rows(release):
    page = release._repr_html_()
    for line in (*release.certificate.promise, *release.notes):
        assert html.escape(line) in page
    assert page.count("<tr") == 6
    assert "400 rows × 10 columns" in page
    assert "<th>age</th>" in page


def test_in_one_line_it_says_its_size_and_promise(release):
    assert repr(release) == (
        "Release(400 rows × 10 columns; epsilon 1 at delta 1e-09, for one record, added or removed)"
    )


def test_not_private_comes_first_everywhere(certificate):
    release = of(SCHEMA, replace(certificate, private_noise=False))
    bad = release.certificate
    assert bad.epsilon == math.inf
    assert str(bad).startswith("NOT PRIVATE")
    assert bad.promise[0].startswith("NOT PRIVATE")
    assert "; NOT PRIVATE" in repr(release)
    for page in (release._repr_html_(), bad._repr_html_()):
        assert re.search(r"<ul><li>NOT PRIVATE", page)
        assert "Differentially private" not in page
    assert bad.to_json()["promise"]["status"] == "NOT PRIVATE"
