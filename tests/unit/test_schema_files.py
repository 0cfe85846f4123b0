"""Schemas in files: ours, and those of neighbours."""

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.tables import columns
from understudy import schema_files
from understudy.column import Column, Kind, Role, Source
from understudy.errors import BadInput, SchemaError
from understudy.schema import Schema
from understudy.schema_files import (
    read_schema,
    schema_from_json,
    schema_from_toml,
    schema_to_toml,
    write_schema,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "schema.toml"


def test_the_golden_file_is_read_and_written_to_the_byte():
    schema = read_schema(GOLDEN)
    assert schema["icd"].categories == ("A00", "B01.1", "C02")
    assert schema["age"].bins == 24
    assert schema.rows_bound == 100_000
    assert schema_to_toml(schema) == GOLDEN.read_text(encoding="utf-8")


@settings(max_examples=200)
@given(
    st.lists(columns() | columns(Kind.UNKNOWN), min_size=1, max_size=5),
    st.none() | st.integers(1, 10**9),
    st.sampled_from(Source),
)
def test_every_schema_comes_back_from_toml(drawn, bound, source):
    named = [
        Column(**{**vars(column), "name": f"{column.name} {place}", "source": source})
        for place, column in enumerate(drawn)
    ]
    schema = Schema(tuple(named), rows_bound=bound)
    assert schema_from_toml(schema_to_toml(schema)) == schema


def test_a_written_schema_is_read_back(tmp_path):
    schema = Schema((Column(name="a.b 'c'", kind=Kind.BOOLEAN),))
    write_schema(schema, tmp_path / "s.toml")
    assert read_schema(tmp_path / "s.toml") == schema


def test_a_column_that_stays_home_needs_no_kind():
    for role in ("id", "drop"):
        column = schema_from_toml(f'[columns.x]\nrole = "{role}"').columns[0]
        assert column.role is Role(role)
        assert column.kind is Kind.CATEGORICAL
        assert column.silent == ()


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        ("[columns.x]", ("kind", "null")),
        ("[columns.x]\nnull = true", ("kind",)),
        ('[columns.x]\nrole = "target"', ("kind", "null")),
        ('[columns.x]\nkind = "unknown"\nnull = false', ("kind",)),
    ],
)
def test_a_column_without_a_kind_is_left_to_be_found_out(text, silent):
    schema = schema_from_toml(text)
    assert schema["x"].kind is Kind.UNKNOWN
    assert schema.silent == {"x": silent}
    assert schema_from_toml(schema_to_toml(schema)) == schema


def test_a_code_list_that_lies_elsewhere_is_written_into_the_schema(tmp_path):
    schema = read_schema(GOLDEN)
    write_schema(schema, tmp_path / "s.toml")
    again = read_schema(tmp_path / "s.toml")
    assert again["icd"].categories == schema["icd"].categories
    assert again["icd"].categories_file is None
    (tmp_path / "codes.txt").write_text((GOLDEN.parent / "codes.txt").read_text())
    write_schema(schema, tmp_path / "s.toml")
    assert read_schema(tmp_path / "s.toml") == schema
    for name in ("none/s.toml", "a\0b.toml"):
        with pytest.raises(BadInput, match="cannot be written"):
            write_schema(schema, tmp_path / name)


def test_a_code_list_lies_beside_its_schema_and_nowhere_else(tmp_path):
    folder = tmp_path / "schemas"
    (folder / "lists").mkdir(parents=True)
    elsewhere = [tmp_path / "secret.txt", folder / "lists" / "codes.txt"]
    for path in elsewhere:
        path.write_text("a\nb\n")
    (folder / "link.txt").symlink_to(elsewhere[0])
    os.mkfifo(folder / "pipe.txt")
    for name in (
        "../secret.txt",
        str(elsewhere[0]),
        "link.txt",
        "lists/codes.txt",
        "..",
        "pipe.txt",
    ):
        schema = f"[columns.x]\nkind='ordinal'\ncategories_file='{name}'"
        with pytest.raises(SchemaError, match="must be a file beside the schema"):
            schema_from_toml(schema, folder=folder)


def test_no_file_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(schema_files, "_LONGEST", 30)
    (tmp_path / "s.toml").write_text("[columns.x]\nkind='real'\n" + "#" * 30)
    with pytest.raises(SchemaError, match="far more than a schema"):
        read_schema(tmp_path / "s.toml")


WRONG_TOML = {
    "not valid TOML": "[columns",
    "nested too deeply": "a=" + "[" * 10**4,
    "at least one column": "",
    "nobody reads: colums": "[colums.x]\nkind='real'",
    "nobody reads: bond": "[rows]\nbond = 3\n[columns.x]\nkind='real'",
    "nobody reads: bound": "[columns.x]\nkind='real'\nbound=[0, 1]",
    "must be a table": "columns = 3",
    "bounds belong to integer, real, date.*is unknown": "[columns.x]\nbounds=[0, 1]",
    "categories and other belong to categorical": "[columns.x]\ncategories=['a']",
    "format belongs to date": "[columns.x]\nformat='%Y-%m-%d'",
    "kind 'reel' is unknown; use one of categorical": "[columns.x]\nkind='reel'",
    "role 'boss' is unknown": "[columns.x]\nkind='real'\nrole='boss'",
    "source 'me' is unknown": "[columns.x]\nkind='real'\nsource='me'",
    "bounds must be a list": "[columns.x]\nkind='real'\nbounds=3",
    "bins must be int, not bool": "[columns.x]\nkind='real'\nbins=true",
    "null must be bool, not str": "[columns.x]\nkind='real'\nnull='no'",
    "other must be str, not bool": "[columns.x]\nkind='categorical'\nother=true",
    "bound must be int, not float": "[rows]\nbound=1.5\n[columns.x]\nkind='real'",
    "bounds are reversed": "[columns.x]\nkind='real'\nbounds=[1, 0]",
    "not both": "[columns.x]\nkind='ordinal'\ncategories=['a']\ncategories_file='f'",
    "f.txt cannot be read: No such file": "[columns.x]\nkind='ordinal'\ncategories_file='f.txt'",
}


@pytest.mark.parametrize(("message", "text"), WRONG_TOML.items())
def test_mistakes_in_toml_are_named(message, text):
    with pytest.raises(SchemaError, match=message):
        schema_from_toml(text)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(SchemaError, match=r"none\.toml cannot be read"):
        read_schema(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"[columns.x]\nkind = '\xe9'")
    with pytest.raises(SchemaError, match="not UTF-8"):
        read_schema(tmp_path / "latin.toml")
    (tmp_path / "deep.json").write_text("[" * 10**5)
    with pytest.raises(SchemaError, match="nested too deeply"):
        read_schema(tmp_path / "deep.json")
    (tmp_path / "half.json").write_text("{")
    with pytest.raises(SchemaError, match="not valid JSON"):
        read_schema(tmp_path / "half.json")


def test_mbi_domains_are_codes(tmp_path):
    (tmp_path / "domain.json").write_text('{"age": 85, "sex": 2}')
    schema = read_schema(tmp_path / "domain.json")
    assert schema["age"] == Column(
        name="age", kind=Kind.INTEGER, bounds=(0, 84), bins=85, null=False
    )
    with pytest.raises(SchemaError, match="others for: x"):
        schema_from_json({"x": 0})
    with pytest.raises(SchemaError, match="1 to 65,536 codes"):
        schema_from_json({"x": 10**400})


SDV = {
    "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
    "primary_key": "guest",
    "columns": {
        "guest": {"sdtype": "id"},
        "kind": {"sdtype": "categorical"},
        "rewards": {"sdtype": "boolean"},
        "nights": {"sdtype": "numerical", "computer_representation": "Int64"},
        "rate": {"sdtype": "numerical", "computer_representation": "Float"},
        "stars": {"sdtype": "numerical"},
        "checkin": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
        "left": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d %H:%M:%S"},
        "email": {"sdtype": "email", "pii": True},
    },
}


@pytest.mark.parametrize("content", [SDV, {"tables": {"hotel": SDV}}])
def test_sdv_metadata_gives_kinds_and_roles_and_leaves_values_open(content):
    schema = schema_from_json(json.loads(json.dumps(content)))
    kinds = {column.name: column.kind.value for column in schema.coded}
    assert kinds == {
        "kind": "categorical",
        "rewards": "boolean",
        "nights": "integer",
        "rate": "real",
        "stars": "unknown",
        "checkin": "date",
        "left": "datetime",
    }
    assert schema["checkin"].format == "%d.%m.%Y"
    assert schema["left"].format is None
    assert schema["guest"].role is Role.ID
    assert schema["email"].role is Role.EMAIL
    roles = {"first_name": Role.NAME, "ssn": Role.ID, "street_address": Role.ADDRESS}
    for sdtype, role in (roles | {"text": Role.FREE_TEXT, "credit_card_number": Role.ID}).items():
        assert schema_from_json({"columns": {"a": {"sdtype": sdtype}}})["a"].role is role
    assert schema.silent["kind"] == ("categories", "null")


@pytest.mark.parametrize(
    ("sdtype", "role"),
    [
        ("phone_number", Role.PHONE),
        ("first_name", Role.NAME),
        ("street_address", Role.ADDRESS),
        ("url", Role.URL),
        ("ssn", Role.ID),
        ("text", Role.FREE_TEXT),
        ("ipv4_address", Role.DROP),
    ],
)
def test_personal_fields_of_sdv_have_roles_of_their_own(sdtype, role):
    assert schema_from_json({"columns": {"a": {"sdtype": sdtype}}})["a"].role is role


@pytest.mark.parametrize(
    ("regex", "pattern"),
    [
        ("C-[0-9]{4}", "C-####"),
        (r"\d{3}-\d{2}-\d", "###-##-#"),
        (r"A\.[0-9]", "A.#"),
        ("[A-Z]{3}[0-9]", None),
        ("[0-9]+", None),
        ("A.[0-9]", None),
        ("ABC", None),
        ("[0-9]{99}", None),
        (7, None),
    ],
)
def test_the_regex_of_an_sdv_id_becomes_a_pattern_where_it_can(regex, pattern):
    schema = schema_from_json({"columns": {"a": {"sdtype": "id", "regex_format": regex}}})
    assert schema["a"].pattern == pattern


def test_formats_of_sdv_moments():
    def described(pattern):
        facts = {"sdtype": "datetime", "datetime_format": pattern}
        column = schema_from_json({"columns": {"a": facts}})["a"]
        return column.kind, column.format

    assert described("%d %b %Y") == (Kind.DATE, "%d %b %Y")
    assert described("%m/%d/%Y %I:%M %p") == (Kind.DATETIME, "%m/%d/%Y %I:%M %p")
    assert described("%d.%m.%Y %H:%M:%S.%f") == (Kind.DATETIME, "%d.%m.%Y %H:%M:%S")


def test_other_json_is_refused():
    for content in ([], {}, {"a": "b"}):
        with pytest.raises(SchemaError, match="neither an mbi domain"):
            schema_from_json(content)
    with pytest.raises(SchemaError, match="several tables"):
        schema_from_json({"tables": {"a": SDV, "b": SDV}})
    with pytest.raises(SchemaError, match="must be a table"):
        schema_from_json({"columns": {"a": 3}})
    assert schema_from_json({"columns": {"a": {"sdtype": []}}})["a"].role is Role.DROP
    with pytest.raises(SchemaError, match="datetime_format must be str"):
        schema_from_json({"columns": {"a": {"sdtype": "datetime", "datetime_format": 3}}})


# --- texts that take long to read -----------------------------------------------------------------

_DOTS = "a." * 300_000 + "a = 1"


@pytest.mark.parametrize(
    "text",
    [
        _DOTS,
        '"a".' * 200_000 + "a = 1",
        "[" + "a . " * 200_000 + "a]",
        "columns = {" + _DOTS + "}",
        'columns = {x = """ " """, ' + _DOTS + ', z = "q"}',
        "columns = {x = ''' ' ''', " + _DOTS + ", z = 'q'}",
        '# "\n' + _DOTS,
    ],
    ids=["bare", "quoted", "header", "inline", "behind quotes", "behind apostrophes", "comment"],
)
def test_a_key_of_endless_parts_is_refused_before_it_is_parsed(text):
    begun = time.process_time()
    with pytest.raises(SchemaError, match="more than 16 parts"):
        schema_from_toml(text)
    assert time.process_time() - begun < 2.0


@pytest.mark.untraced
@pytest.mark.parametrize("text", ['x = "' + '\\"' * 500_000, '"' * 999_999, '"""' + "\\" * 500_001])
def test_strings_that_never_end_are_refused_soon(text):
    begun = time.process_time()
    with pytest.raises(SchemaError):
        schema_from_toml(text)
    assert time.process_time() - begun < 5.0


def test_dots_in_names_and_labels_are_no_parts_of_keys():
    dots = "1." * 100 + "1"
    schema = Schema(
        (Column(name=dots, kind=Kind.CATEGORICAL, categories=(dots, f"'{dots}", f'"{dots}')),)
    )
    assert schema_from_toml(schema_to_toml(schema)) == schema
