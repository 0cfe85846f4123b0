"""Identifiers and personal fields in a release: left out, or filled with invented values."""

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from typer.testing import CliRunner

import understudy as us
from understudy.chosen import Chosen
from understudy.cli.app import app
from understudy.column import Column, Kind, Role
from understudy.encode.ops import Storage
from understudy.errors import BadInput, PrivacyRefused, UnknownColumn
from understudy.mechanisms.prism import Prism
from understudy.personal import By, Personal, PersonalField, personal_fields, personal_notes
from understudy.pipeline import synthesize
from understudy.plan import plan
from understudy.plan_page import plan_page
from understudy.privacy.budget import Budget
from understudy.privacy.ledger_file import create_ledger, read_ledger
from understudy.release import load
from understudy.schema import Schema
from understudy.schema_files import schema_from_toml
from understudy.select.regimes import Causal
from understudy.stored_files import read_rows

ROWS = 1500
DOMAIN = "secret-hospital.test"
INVENTED = ["id", "email", "phone", "profile_url"]
SCHEMA = Schema(
    (
        Column(
            name="code", kind=Kind.CATEGORICAL, role=Role.ID, regenerate=True, pattern="C-######"
        ),
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), bins=10, null=False),
        Column(name="mail", kind=Kind.CATEGORICAL, role=Role.EMAIL, regenerate=True),
        Column(name="story", kind=Kind.CATEGORICAL, role=Role.FREE_TEXT),
        Column(name="ill", kind=Kind.BOOLEAN, null=False, role=Role.TARGET),
        Column(name="number", kind=Kind.INTEGER, role=Role.ID, regenerate=True),
    )
)


@pytest.fixture(autouse=True)
def no_library(monkeypatch):
    """The library of names is an extra: none of these tests needs it."""
    monkeypatch.setitem(sys.modules, "faker", None)


def people(rows=ROWS, seed=0):
    """A table that nobody has described."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    return pa.table(
        {
            "id": rng.permutation(10**6)[:rows],
            "email": [f"person{one}@{DOMAIN}" for one in rng.permutation(10**6)[:rows]],
            "age": age,
            "phone": [f"+49 89 {one:07}" for one in rng.permutation(10**6)[:rows]],
            "ill": np.where(rng.random(rows) < age / 100, "yes", "no"),
            "profile_url": [f"https://{DOMAIN}/{one}" for one in range(rows)],
            "comment_count": rng.integers(0, 4, rows),
        }
    )


def described(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "code": [f"K-{one}" for one in range(rows)],
            "age": rng.integers(0, 100, rows),
            "mail": [f"{one}@{DOMAIN}" for one in range(rows)],
            "story": [f"story {one}" for one in range(rows)],
            "ill": rng.random(rows) < 0.4,
            "number": rng.permutation(rows) + 5000,
        }
    )


def release_of(data, **choices):
    choices = {"epsilon": 4.0, "mechanism": "independent", "seed": 7, **choices}
    return synthesize(data, **choices)


def fields(release):
    return personal_fields(release.certificate.public, release.schema)


def test_columns_with_certain_names_are_left_out_and_cost_nothing():
    release = release_of(people())
    assert release.table.column_names == ["age", "ill", "comment_count"]
    assert release.model.domain.names == ("age", "ill", "comment_count")
    assert release.certificate.public["discovery"]["columns"] == ["age", "ill", "comment_count"]
    assert fields(release) == [
        PersonalField("id", "id", "name", regenerated=False),
        PersonalField("email", "email", "name", regenerated=False),
        PersonalField("phone", "phone", "name", regenerated=False),
        PersonalField("profile_url", "url", "name", regenerated=False),
    ]
    note = next(note for note in release.notes if "left out" in note)
    assert "Columns id, email, phone, profile_url are left out" in note
    assert "--regenerate" in note
    assert "declare its kind" in note
    for entry in release.certificate.entries:
        assert not set(INVENTED) & set(re.findall(r"\w+", json.dumps(entry.request)))


def test_a_declared_kind_makes_it_a_feature():
    names = people().column_names
    facts = {
        "email": {"kind": Kind.CATEGORICAL},
        "phone": {"kind": Kind.CATEGORICAL, "null": False},
        "profile_url": {"kind": Kind.UNKNOWN, "null": False},
    }
    schema = Schema(
        tuple(Column(name=name, **facts.get(name, {"kind": Kind.UNKNOWN})) for name in names)
    )
    release = release_of(people(), schema=schema)
    assert release.table.column_names == ["email", "age", "phone", "ill", "comment_count"]
    # With another fact than its kind, the name decides nothing; the shape of the values does.
    assert [(one.column, one.by) for one in fields(release)] == [
        ("id", "name"),
        ("profile_url", "shape"),
    ]


def test_stored_truth_values_are_no_emails():
    table = people().set_column(1, "email", pa.array([True, False] * (ROWS // 2)))
    assert "email" in release_of(table).table.column_names


@pytest.mark.parametrize("data", [people(), people().to_pandas()], ids=["arrow", "pandas"])
def test_invented_values_stand_at_their_columns_places(data):
    release = release_of(data, regenerate=True)
    assert release.table.column_names == people().column_names
    assert release.model.domain.names == ("age", "ill", "comment_count")
    rows = release.rows.count
    for name in INVENTED:
        assert len(release.table[name].unique()) == rows
    # A column of pandas counts as text, whatever it holds.
    whole = not isinstance(data, pd.DataFrame)
    assert release.table["id"].type == (pa.int64() if whole else pa.string())
    assert int(release.table["id"][0].as_py()) == 1
    assert DOMAIN not in str(release.table.to_pylist())
    assert [one.regenerated for one in fields(release)] == [True] * 4
    assert release.certificate.public["regenerate"] is True
    assert any("filled with invented values" in note for note in release.notes)
    assert "× 7 columns" in repr(release)


def test_invented_values_depend_on_the_seed_alone():
    one, other = (release_of(people(seed=s), regenerate=True, rows=400) for s in (0, 1))
    again = release_of(people(rows=700, seed=2), regenerate=True, rows=900, epsilon=1.0)
    seeded = release_of(people(), regenerate=True, rows=400, seed=8)
    for name in INVENTED:
        assert one.table[name].equals(other.table[name])
        assert again.table[name][:400].equals(one.table[name])
    assert not seeded.table["phone"].equals(one.table["phone"])


def test_drawn_columns_are_the_same_with_and_without_invented_ones():
    release = release_of(people(), regenerate=True, rows=500)
    bare = replace(release.rows, schema=replace_regenerated(release.schema))
    drawn = ["age", "ill", "comment_count"]
    assert bare.table.column_names == drawn
    assert bare.table.equals(release.table.select(drawn))


def replace_regenerated(schema):
    return Schema(tuple(replace(column, regenerate=None) for column in schema))


def test_columns_can_be_named():
    release = release_of(people(), regenerate=["phone", "email"])
    assert release.table.column_names == ["email", "age", "phone", "ill", "comment_count"]
    assert release.certificate.public["regenerate"] == ["phone", "email"]


def test_a_named_column_has_the_role_that_its_name_suggests():
    table = people().append_column("store_id", pa.array(np.arange(ROWS) % 7))
    assert "store_id" not in {one.column for one in fields(release_of(table))}
    release = release_of(table, regenerate=["store_id"])
    assert PersonalField("store_id", "id", "name", regenerated=True) in fields(release)
    assert release.table["store_id"][:3].to_pylist() == [1, 2, 3]


def test_a_named_column_must_be_an_identifier():
    with pytest.raises(BadInput, match="'age' cannot be regenerated") as refused:
        release_of(people(), regenerate=["age"])
    assert "role" in str(refused.value)
    with pytest.raises(UnknownColumn):
        release_of(people(), regenerate=["nobody"])
    with pytest.raises(BadInput, match="a list of column names"):
        release_of(people(), regenerate="email")


def test_declared_columns_are_regenerated_as_the_schema_says():
    release = release_of(described(), schema=SCHEMA, strict=True)
    assert release.table.column_names == ["code", "age", "mail", "ill", "number"]
    assert release.table["code"][:2].to_pylist() == ["C-000001", "C-000002"]
    assert release.table["number"].type == pa.int64()
    assert fields(release) == [
        PersonalField("code", "id", "declared", regenerated=True),
        PersonalField("mail", "email", "declared", regenerated=True),
        PersonalField("story", "free_text", "declared", regenerated=False),
        PersonalField("number", "id", "declared", regenerated=True),
    ]
    assert not any("left out" in note for note in release.notes)
    every = release_of(described(), schema=SCHEMA, strict=True, regenerate=True)
    assert every.table.column_names == release.table.column_names, "free text is never invented"


def test_a_schema_can_except_a_column():
    columns = [
        replace(c, regenerate=False, pattern=None) if c.name == "mail" else c for c in SCHEMA
    ]
    release = release_of(described(), schema=Schema(tuple(columns)), regenerate=True)
    assert "mail" not in release.table.column_names


def test_strict_refuses_open_facts_and_names_suffice_for_personal_fields():
    open_facts = Schema((*SCHEMA.columns, Column(name="email", kind=Kind.UNKNOWN)))
    table = described().append_column("email", pa.array(["a@b.c"] * ROWS))
    assert "email" not in release_of(table, schema=open_facts, strict=True).table.column_names
    with pytest.raises(PrivacyRefused, match="city"):
        release_of(
            table.append_column("city", pa.array(["x"] * ROWS)),
            schema=Schema((*open_facts.columns, Column(name="city", kind=Kind.UNKNOWN))),
            strict=True,
        )


@pytest.mark.parametrize(
    "choices",
    [
        {"target": "phone"},
        {"target": "ill", "parents": ["phone"], "mechanism": "prism"},
        {"target": "ill", "graph": [("phone", "ill")], "mechanism": "prism"},
        {"target": "ill", "mechanism": Prism(regime=Causal(["phone"]))},
        {"constraints": ["ill _||_ age | phone"]},
        {"protect_where": ["phone = 5"]},
        {"unit": "person:phone:2"},
    ],
    ids=["target", "parents", "graph", "mechanism", "constraint", "condition", "unit"],
)
def test_columns_that_other_choices_name_get_no_role_by_name(choices):
    chosen = Chosen.of(**{"epsilon": 1.0, "delta": 1e-9, "mechanism": "mst"} | choices)
    assert "phone" in chosen.personal.used
    schema = Schema(
        tuple(Column(name=name, kind=Kind.UNKNOWN) for name in ("phone", "email", "ill", "age"))
    )
    made = chosen.personal.described(schema, lambda names: dict.fromkeys(names, Storage.TEXT))
    assert made["phone"].role is Role.FEATURE
    assert made["email"].role is Role.EMAIL


def test_the_unit_may_be_invented_anew():
    release = release_of(people(), unit="person:id:1", regenerate=True)
    assert PersonalField("id", "id", "declared", regenerated=True) in fields(release)
    assert len(release.table["id"].unique()) == release.rows.count


def test_uncertain_names_are_suggestions_for_discovery():
    schema = Schema(
        tuple(Column(name=name, kind=Kind.UNKNOWN) for name in ("notes", "email", "age", "name"))
    )
    storage = dict.fromkeys(schema.names, Storage.TEXT)
    assert Personal().uncertain(schema, storage) == {"notes": Role.FREE_TEXT, "name": Role.NAME}
    assert Personal(used=frozenset({"name"})).uncertain(schema, storage) == {
        "notes": Role.FREE_TEXT
    }


def test_what_cannot_be_invented_is_refused_before_anything_is_spent(tmp_path):
    ledger = tmp_path / "table.ledger"
    create_ledger(ledger, Budget(8.0, 1e-8))
    table = people().append_column("first_name", pa.array(["Ann"] * ROWS))
    with pytest.raises(BadInput, match=r"understudy\[fake\]"):
        release_of(table, regenerate=True, ledger=ledger)
    few = Schema(tuple(replace(c, pattern="#") if c.name == "code" else c for c in SCHEMA))
    with pytest.raises(BadInput, match="has 9 identifiers"):
        release_of(described(), schema=few, rows=10, ledger=ledger)
    assert not read_ledger(ledger).releases
    wider = release_of(described(), schema=few)
    assert len(wider.table["code"].unique()) == wider.rows.count


def test_a_name_that_discovery_finds_is_left_out_where_the_library_is_missing():
    found = Schema(
        (
            Column(name="who", kind=Kind.UNKNOWN, role=Role.NAME),
            Column(name="contact", kind=Kind.UNKNOWN, role=Role.EMAIL),
            Column(name="age", kind=Kind.INTEGER, bounds=(0, 9)),
        )
    )
    made = Personal(regenerate=True).finished(found)
    assert not made["who"].regenerated
    assert made["contact"].regenerated
    public = {"schema": "[columns.who]\n[columns.contact]\n[columns.age]\n", "regenerate": True}
    left_out, invented = personal_notes(public, made)
    assert "Column 'who' is left out" in left_out
    assert "inferred under DP" in left_out
    assert "pip install 'understudy[fake]'" in left_out
    assert "Column 'contact' is filled with invented values" in invented
    assert personal_fields(public, made) == [
        PersonalField("who", "name", By.SHAPE, regenerated=False),
        PersonalField("contact", "email", By.SHAPE, regenerated=True),
    ]


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("raw_text", [False, True])
def test_releases_with_invented_values_are_saved_loaded_and_verified(tmp_path, format, raw_text):  # noqa: A002
    release = release_of(people(), regenerate=True)
    folder = release.save(tmp_path / "release", format=format, raw_text=raw_text)
    assert all(check.passed for check in us.verify(folder))
    loaded = load(folder)
    assert loaded.table.equals(release.table)
    assert loaded.schema == release.schema
    assert loaded.sample(600, seed=7)["phone"].tolist() == (
        release.sample(600, seed=7)["phone"].tolist()
    )
    assert loaded.data.dtypes.equals(release.data.dtypes)
    assert fields(loaded) == fields(release)
    schema = schema_from_toml(json.loads((folder / "model.json").read_text())["schema"])
    assert [c.name for c in schema if c.regenerate] == INVENTED
    page = (folder / "report.html").read_text()
    assert re.search('id="invented">.*<bdi>phone</bdi>', page)
    assert "7 columns" in page
    for file in folder.iterdir():
        assert DOMAIN.encode() not in file.read_bytes()


def test_text_that_is_too_long_to_be_invented_is_not_read(tmp_path):
    schema = Schema((SCHEMA["mail"], SCHEMA["ill"]))
    for mail, fits in (("x" * 512, True), ("x" * 513, False)):
        table = pa.table({"mail": [mail, "y"], "ill": [True, False]})
        csv.write_csv(table, tmp_path / "synthetic.csv")
        pq.write_table(table, tmp_path / "synthetic.parquet")
        for name in ("synthetic.csv", "synthetic.parquet"):
            if fits:
                assert read_rows(tmp_path, {name: ""}, schema, text="raw").equals(table)
                continue
            with pytest.raises(ValueError, match="not one that a release"):
                read_rows(tmp_path, {name: ""}, schema, text="raw")


def test_a_file_of_invented_text_has_groups_of_as_many_rows_as_are_written(tmp_path):
    schema = Schema((SCHEMA["mail"], SCHEMA["ill"]))
    path = tmp_path / "synthetic.parquet"
    for rows, fits in ((2**20, True), (2**20 + 1, False)):
        cells = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), pa.array(["a@b.c"]))
        table = pa.table({"mail": cells.cast(pa.string()), "ill": np.ones(rows, bool)})
        pq.write_table(table, path, row_group_size=rows)
        if fits:
            assert read_rows(tmp_path, {path.name: ""}, schema, text="raw").num_rows == rows
            continue
        with pytest.raises(ValueError, match="not one that a release"):
            read_rows(tmp_path, {path.name: ""}, schema, text="raw")


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def test_the_command_line_regenerates_and_says_so(tmp_path):
    csv.write_csv(people(), tmp_path / "people.csv")
    command = ("synthesize", tmp_path / "people.csv", "--epsilon", 4, "--method", "independent")
    done = run(*command, "--regenerate", "--json", "--out", tmp_path / "one")
    assert done.exit_code == 0, done.output
    page = json.loads(done.stdout)
    assert page["columns"] == people().column_names
    assert page["personal"] == [
        {"column": name, "role": role, "by": "name", "regenerated": True}
        for name, role in zip(INVENTED, ("id", "email", "phone", "url"), strict=True)
    ]
    assert page["choices"]["regenerate"] == "all identifiers and personal fields"
    assert "Which columns hold invented values: id, email, phone, profile_url" in page["general"]
    written = csv.read_csv(tmp_path / "one" / "synthetic.csv")
    assert written.column_names == people().column_names
    assert written["id"][0].as_py() in (1, "0000001")

    done = run(*command, "--json", "--out", tmp_path / "two")
    page = json.loads(done.stdout)
    assert page["columns"] == ["age", "ill", "comment_count"]
    assert [one["regenerated"] for one in page["personal"]] == [False] * 4
    assert "Which columns were left out: id, email, phone, profile_url" in page["general"]

    done = run("evaluate", tmp_path / "people.csv", tmp_path / "one", "--json", "--target", "ill")
    assert done.exit_code == 0, done.output


def test_a_plan_lists_them():
    told = plan(
        Schema((*SCHEMA.columns, Column(name="email", kind=Kind.UNKNOWN))),
        epsilon=1.0,
        rows=2000,
        mechanism="independent",
    )
    page = plan_page(told)
    assert {"column": "email", "role": "email", "by": "name", "regenerated": False} in page[
        "personal"
    ]
    assert {"column": "code", "role": "id", "by": "declared", "regenerated": True} in page[
        "personal"
    ]
    assert "email" not in page["open_facts"]
    assert any("Column 'email' is left out" in note for note in page["notes"])
    assert set(page["codes"]) == {"age", "ill"}
    named = Schema((*SCHEMA.columns, Column(name="n", kind=Kind.CATEGORICAL, role=Role.NAME)))
    with pytest.raises(BadInput, match=r"understudy\[fake\]"):
        plan(named, epsilon=1.0, rows=2000, mechanism="independent", regenerate=True)
