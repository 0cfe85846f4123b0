import datetime as dt
import json
import math
import re
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import understudy as us
from helpers.tables import load as load_into
from understudy import pipeline
from understudy.column import Column, Kind, Role, Source
from understudy.curator.draft_schema import draft, draft_text
from understudy.encode import Encoding
from understudy.errors import BadInput, BudgetSpent, PrivacyRefused, SchemaError, UnknownColumn
from understudy.mechanisms.independent import IndependentColumns
from understudy.mechanisms.mst import Mst
from understudy.pipeline import synthesize
from understudy.privacy.budget import Budget
from understudy.privacy.folder import verify
from understudy.privacy.ledger_file import create_ledger, read_ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.unit import Person, Record, Replacement
from understudy.schema import Schema
from understudy.schema_files import schema_from_toml, write_schema
from understudy.synthetic_rows import DrawnRows

ROWS = 2000
NAMES = ["who", "age", "city", "score", "ill"]
SCHEMA = Schema(
    (
        Column(name="who", kind=Kind.INTEGER, role=Role.ID),
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), bins=10, null=False),
        Column(name="city", kind=Kind.CATEGORICAL, categories=("a", "b", "c"), null=False),
        Column(name="score", kind=Kind.REAL, bounds=(0.0, 10.0), bins=5, null=True),
        Column(name="ill", kind=Kind.BOOLEAN, null=False),
    ),
    rows_bound=100_000,
)
CODED = NAMES[1:]


def private_rows(count=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "who": np.arange(count) // 2,
            "age": rng.integers(0, 100, count),
            "city": rng.choice(["a", "b", "c"], count, p=[0.5, 0.3, 0.2]),
            "score": rng.normal(5, 1, count).round(2),
            "ill": rng.random(count) < 0.3,
        }
    )


@pytest.fixture(scope="module")
def table():
    return private_rows()


def valid(release, names=CODED, epsilon=1.0):
    assert release.table.column_names == names
    assert release.certificate.epsilon == epsilon
    assert not release.certificate.not_private
    assert release.table.num_rows >= 1
    codes = Encoding(release.schema).codes(release.table)
    assert set(codes) == set(names)
    for name in names:
        if release.schema[name].null is False:
            assert release.table[name].null_count == 0
    return True


def source(name, table, folder, engine):
    match name:
        case "csv":
            return _csv(table, folder)
        case "csv as text":
            return str(_csv(table, folder))
        case "parquet":
            return _parquet(table, folder)
        case "pandas":
            return table.to_pandas()
        case "polars":
            return pl.from_arrow(table)
        case "arrow":
            return table
        case "ibis":
            return load_into(engine, table, "pipeline")


def _csv(table, folder):
    path = folder / "rows.csv"
    csv.write_csv(table, path)
    return path


def _parquet(table, folder):
    path = folder / "rows.parquet"
    pq.write_table(table, path)
    return path


@pytest.mark.parametrize(
    "name", ["csv", "csv as text", "parquet", "pandas", "polars", "arrow", "ibis"]
)
def test_a_table_may_come_from_anywhere(table, tmp_path, duckdb_engine, name):
    data = source(name, table, tmp_path, duckdb_engine)
    release = synthesize(data, epsilon=1.0, schema=SCHEMA, unit="person:who:2", target="ill")
    assert valid(release)
    assert release.certificate.public["target"] == release.schema.target == "ill"
    assert release.certificate.bought == ()
    assert all(check.passed for check in verify(release.save(tmp_path / "out")))
    # Noise of tens on two thousand rows: a total that is off by half is never seen.
    assert 0.5 * ROWS < release.table.num_rows < 1.5 * ROWS


@pytest.mark.parametrize("name", ["csv", "parquet", "pandas", "polars", "ibis"])
def test_what_nobody_described_may_come_from_anywhere(table, tmp_path, duckdb_engine, name):
    data = source(name, table.select(["who", "city"]), tmp_path, duckdb_engine)
    release = synthesize(data, epsilon=1.0, unit="person:who:2", target="city")
    assert valid(release, ["city"])
    assert release.certificate.bought == ("city: kind, categories, null",)
    assert 0.5 * ROWS < release.table.num_rows < 1.5 * ROWS


def test_without_a_schema_facts_are_bought_and_named(table):
    release = synthesize(table, epsilon=20.0, accept_weak_guarantee=True, unit="person:who:2")
    assert release.certificate.bought == (
        "age: kind, bounds, null",
        "city: kind, categories, null",
        "score: kind, bounds, null, precision",
        "ill: null",
    )
    assert {c.source for c in release.schema.coded} == {Source.BOUGHT}
    assert release.schema["city"].categories == ("a", "b", "c")
    kinds = [c.kind for c in release.schema.coded]
    assert kinds == [Kind.INTEGER, Kind.CATEGORICAL, Kind.REAL, Kind.BOOLEAN]
    share = release.certificate.public["discovery"]
    assert share == {"share": pytest.approx(1 / 3), "columns": CODED}


def test_only_what_is_open_is_bought(table):
    open_city = replace(
        SCHEMA,
        columns=tuple(
            Column(name="city", kind=Kind.CATEGORICAL) if c.name == "city" else c for c in SCHEMA
        ),
    )
    release = synthesize(table, epsilon=20.0, accept_weak_guarantee=True, schema=open_city)
    # The count of strays decides the precision of reals that the schema leaves open.
    assert release.certificate.bought == ("city: categories, null", "score: precision")
    assert release.schema["age"] == SCHEMA["age"]
    assert release.certificate.public["discovery"]["columns"] == ["city"]
    assert release.certificate.public["discovery"]["share"] == pytest.approx(1 / 12)


def test_facts_that_are_stated_leave_the_whole_budget_to_the_mechanism(table):
    release = synthesize(table, epsilon=1.0, schema=SCHEMA, mechanism="independent")
    strays, counts = release.certificate.entries  # a hundredth tells what misses these facts
    assert strays.request["strays"]
    assert counts.request["door"] == "measure"
    assert release.certificate.budget.thresholds == 0
    assert "discovery" not in release.certificate.public


# --- how many rows --------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 17, 3 * ROWS])
def test_there_are_as_many_rows_as_asked_for(table, rows):
    # Noise that never changes: a column in a thousand has a note by noise alone.
    release = synthesize(table, epsilon=1.0, schema=SCHEMA, rows=rows, source=SeededForTests(5))
    assert release.table.num_rows == rows
    assert release.certificate.public["rows"] == rows
    assert release.notes == ()


@pytest.mark.parametrize("rows", [0, -3, 2.5, "10", True, 10.0])
def test_an_impossible_number_of_rows_is_refused(table, tmp_path, rows):
    file = tmp_path / "table.ledger"
    create_ledger(file, Budget(4.0, 1e-8))
    before = file.read_bytes()
    with pytest.raises(BadInput, match="at least 1"):
        synthesize(table, epsilon=1.0, schema=SCHEMA, rows=rows, ledger=file)
    assert file.read_bytes() == before


def counts_under_noise(**options):
    """What comes of a table of twenty rows whose total drowns in noise of a hundred thousand."""
    return [
        synthesize(private_rows(20), epsilon=1e-3, source=SeededForTests(seed), **options)
        for seed in range(6)
    ]


def test_an_absurd_total_is_capped_by_the_bound_on_rows_and_noted():
    bounded = replace(SCHEMA, rows_bound=50)
    releases = counts_under_noise(schema=bounded)
    sizes = [release.table.num_rows for release in releases]
    assert set(sizes) == {1, 50}
    for release, size in zip(releases, sizes, strict=True):
        if size == 50:
            (note,) = release.notes
            assert re.fullmatch(
                r"The table seems to have [\d,]+ rows; 50 were drawn\. .*rows.*", note
            )
        else:
            assert release.notes == ()


def test_an_absurd_total_is_capped_where_nobody_stated_a_bound(monkeypatch):
    assert pipeline.MOST_ROWS == 10**6
    monkeypatch.setattr(pipeline, "MOST_ROWS", 300)
    releases = counts_under_noise()
    sizes = [release.table.num_rows for release in releases]
    assert min(sizes) == 1
    assert max(sizes) == 300
    for release, size in zip(releases, sizes, strict=True):
        assert any("300 were drawn" in note for note in release.notes) == (size == 300)
        assert any("carry no usable signal" in note for note in release.notes)


def test_a_request_for_rows_is_not_capped(monkeypatch):
    monkeypatch.setattr(pipeline, "MOST_ROWS", 10)
    bounded = replace(SCHEMA, rows_bound=50)
    release = synthesize(private_rows(20), epsilon=1.0, schema=bounded, rows=200)
    assert release.table.num_rows == 200


@pytest.mark.parametrize("count", [0, 2])
def test_next_to_no_rows_make_a_release(count, tmp_path):
    for schema in (SCHEMA, None):
        release = synthesize(private_rows(count), epsilon=1.0, schema=schema, unit="person:who:2")
        assert valid(release)
        folder = release.save(tmp_path / f"{schema is None}")
        assert us.load(folder).table.equals(release.table)


NASTY = {
    "far whole numbers": pa.array([-(2**60), 2**60] * 1000),
    "the farthest": pa.array([-(2**63), 2**63 - 1] * 1000),
    "far fractions": pa.array([-1e308, 1e308, 0.5, 5e-324] * 500),
    "no numbers": pa.array([math.nan, math.inf, -math.inf, None] * 500, pa.float64()),
    "one value": pa.array([7] * 2000),
    "zeros": pa.array([0.0, -0.0] * 1000),
    "all missing": pa.array([None] * 2000, pa.string()),
    "blanks": pa.array(["", " ", "\t"] * 700),
    "numbers as text": pa.array(["-1e18", "1e18", "1e400", "nan"] * 500),
    "long text": pa.array(["x" * 5000, "y"] * 1000),
    "odd text": pa.array(["\0", "a\nb", "'\";--", "🎭"] * 500),
    "names": pa.array([f"name {k}" for k in range(2000)]),
    "other": pa.array(["other", "__other__", "none of these"] * 700),
    "first and last days": pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31)] * 1000),
    "days as text": pa.array(["0001-01-01", "9999-12-31", "2020-02-30"] * 700),
}


@pytest.mark.parametrize("cells", NASTY.values(), ids=list(NASTY))
def test_whatever_rows_hold_a_release_comes_out(cells, tmp_path):
    rows = pa.table({"x": cells, "y": pa.array([True, False] * 1500)[: len(cells)]})
    release = synthesize(rows, epsilon=20.0, accept_weak_guarantee=True, rows=100)
    assert valid(release, ["x", "y"], epsilon=20.0)
    assert us.load(release.save(tmp_path / "out")).table.equals(release.table)


def test_a_small_table_is_told_what_it_misses():
    release = synthesize(private_rows(100), epsilon=1.0, unit="person:who:2")
    nothing, small = release.notes
    assert re.match(r"\d of 4 columns carry no usable signal at this epsilon: .*city", nothing)
    assert "`understudy schema`" in nothing
    assert "cannot be distinguished from noise" in small
    assert set(release.table["city"].to_pylist()) == {"other"}


# --- roles ----------------------------------------------------------------------------------------


def test_a_target_named_here_goes_before_the_schemas(table):
    stated = SCHEMA.with_roles({"ill": Role.TARGET})
    assert synthesize(table, epsilon=1.0, schema=stated).schema.target == "ill"
    release = synthesize(table, epsilon=1.0, schema=stated, target="city")
    assert release.schema.target == release.certificate.public["target"] == "city"
    assert release.schema["ill"].role is Role.FEATURE
    assert synthesize(table, epsilon=1.0, schema=SCHEMA).certificate.public["target"] is None


@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["undescribed", "described"])
def test_an_unknown_target_is_refused_before_any_cost(table, tmp_path, schema):
    file = tmp_path / "table.ledger"
    create_ledger(file, Budget(4.0, 1e-8, thresholds=1e-9))
    before = file.read_bytes()
    with pytest.raises(UnknownColumn, match="Did you mean 'city'"):
        synthesize(table, epsilon=1.0, schema=schema, target="citty", ledger=file)
    assert file.read_bytes() == before


def test_a_target_that_the_schema_drops_is_released(table):
    dropped = replace(
        SCHEMA,
        columns=tuple(
            Column(name="city", kind=Kind.CATEGORICAL, role=Role.DROP) if c.name == "city" else c
            for c in SCHEMA
        ),
    )
    assert "city" not in synthesize(table, epsilon=1.0, schema=dropped).table.column_names
    release = synthesize(
        table, epsilon=20.0, accept_weak_guarantee=True, schema=dropped, target="city"
    )
    assert release.schema.target == "city"
    assert "city" in release.table.column_names


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        (None, Record()),
        ("record", Record()),
        ("replace", Replacement()),
        ("person:who:2", Person("who", 2)),
        (Person("who", 3), Person("who", 3)),
    ],
)
def test_whose_privacy_is_protected_is_stated(table, unit, expected):
    release = synthesize(table, epsilon=1.0, schema=SCHEMA, unit=unit, mechanism="mst")
    assert release.certificate.unit == str(expected)
    assert release.certificate.public["unit"] == str(expected)
    strays, first, *_ = release.certificate.entries
    assert strays.request["strays"]
    squared = first.event.sensitivity_squared
    assert squared == {Record(): 4, Replacement(): 8}.get(expected) or 4 * expected.rows**2


def test_an_id_that_tells_persons_apart_is_never_released(table):
    release = synthesize(table, epsilon=1.0, unit="person:who:2")
    assert release.schema["who"].role is Role.ID
    assert "who" not in release.table.column_names


def test_an_id_may_have_colons_in_its_name():
    rows = private_rows(200).rename_columns(["a:b", *CODED])
    release = synthesize(rows, epsilon=1.0, unit="person:a:b:2")
    assert release.certificate.unit == str(Person("a:b", 2))


@pytest.mark.parametrize(
    "unit",
    ["persons", "person", "person:who", "person:who:0", "person:who:x", "person::2", "Record", ""],
)
def test_an_unknown_unit_is_refused(table, unit):
    with pytest.raises(BadInput, match=r"person:ID:3|at least 1"):
        synthesize(table, epsilon=1.0, schema=SCHEMA, unit=unit)


def test_persons_are_told_apart_by_a_column_that_is_there_and_no_target(table):
    with pytest.raises(UnknownColumn, match="Did you mean 'who'"):
        synthesize(table, epsilon=1.0, unit="person:whom:2")
    with pytest.raises(BadInput, match="cannot be the target"):
        synthesize(table, epsilon=1.0, unit="person:who:2", target="who")


# --- schemas --------------------------------------------------------------------------------------


def test_a_schema_may_be_an_object_or_a_file(table, tmp_path):
    path = tmp_path / "schema.toml"
    write_schema(SCHEMA, path)
    for schema in (SCHEMA, path, str(path)):
        release = synthesize(table, epsilon=1.0, schema=schema, strict=True)
        assert release.schema == SCHEMA


def test_codes_by_an_mbi_domain(tmp_path):
    rng = np.random.default_rng(0)
    codes = pa.table({"x": rng.integers(0, 5, 500), "y": rng.integers(0, 2, 500)})
    path = tmp_path / "domain.json"
    path.write_text(json.dumps({"x": 5, "y": 2}))
    release = synthesize(codes, epsilon=1.0, schema=path, strict=True, target="y")
    assert set(release.table["x"].to_pylist()) <= set(range(5))
    assert set(release.table["y"].to_pylist()) <= {0, 1}
    assert release.certificate.bought == ()


def test_sdv_metadata_names_kinds_and_leaves_the_rest_to_be_bought(table, tmp_path):
    kinds = {"who": "id", "age": "numerical", "city": "categorical", "score": "numerical"}
    columns = {name: {"sdtype": kind} for name, kind in kinds.items()}
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps({"columns": {**columns, "ill": {"sdtype": "boolean"}}}))
    release = synthesize(
        table, epsilon=20.0, accept_weak_guarantee=True, schema=path, unit="person:who:2"
    )
    assert valid(release, epsilon=20.0)
    assert len(release.certificate.bought) == 4


def test_a_schema_of_another_table_is_refused(table, tmp_path):
    fewer = replace(SCHEMA, columns=SCHEMA.columns[:-1])
    with pytest.raises(SchemaError, match="does not mention: ill"):
        synthesize(table, epsilon=1.0, schema=fewer)
    with pytest.raises(SchemaError, match="does not have: ill"):
        synthesize(table.drop_columns("ill"), epsilon=1.0, schema=SCHEMA)
    with pytest.raises(SchemaError, match="cannot be read"):
        synthesize(table, epsilon=1.0, schema=tmp_path / "none.toml")


def test_strict_refuses_what_would_have_to_be_found_out(table, tmp_path):
    file = tmp_path / "table.ledger"
    create_ledger(file, Budget(4.0, 1e-8, thresholds=1e-9))
    before = file.read_bytes()
    with pytest.raises(PrivacyRefused) as refused:
        synthesize(table, epsilon=1.0, strict=True, ledger=file)
    for name in NAMES:
        assert f"{name}: " in str(refused.value)
    for way in ("Declare:", "Buy:", "Reveal:"):
        assert way in str(refused.value)
    assert file.read_bytes() == before


def test_strict_buys_nothing(table):
    open_null = replace(
        SCHEMA, columns=tuple(replace(c, null=None) if c.coded else c for c in SCHEMA)
    )
    try:
        release = synthesize(table, epsilon=1.0, schema=open_null, strict=True)
    except PrivacyRefused:
        return
    assert release.certificate.bought == ()


def test_a_draft_that_nobody_reviewed_is_refused(table, tmp_path):
    file = tmp_path / "table.ledger"
    create_ledger(file, Budget(4.0, 1e-8))
    before = file.read_bytes()
    for schema in (draft(table), schema_from_toml(draft_text(draft(table)))):
        with pytest.raises(PrivacyRefused, match="rests on the private table"):
            synthesize(table, epsilon=1.0, schema=schema, ledger=file)
    assert file.read_bytes() == before


def test_one_unreviewed_fact_is_enough(table):
    for columns, source in (
        ((*SCHEMA.columns[:-1], replace(SCHEMA["ill"], source=Source.DATA)), Source.DECLARED),
        (SCHEMA.columns, Source.DATA),
        (SCHEMA.columns, "data"),
    ):
        schema = Schema(columns, rows_bound=10**5, rows_source=source)
        with pytest.raises(PrivacyRefused, match="read off the data"):
            synthesize(table, epsilon=1.0, schema=schema)


def test_a_draft_used_as_it_is_makes_a_release_that_says_not_private_first(table, tmp_path):
    release = synthesize(table, epsilon=1.0, schema=draft(table), allow_non_private=True)
    certificate = release.certificate
    assert certificate.epsilon == math.inf
    assert certificate.to_json()["promise"]["status"] == "NOT PRIVATE"
    assert certificate.to_json()["promise"]["epsilon"] == "infinity"
    assert str(certificate).startswith("NOT PRIVATE: facts read off the data")
    assert certificate.promise[0].startswith("NOT PRIVATE")
    assert repr(release).endswith(f"; {certificate})")
    for page in (release._repr_html_(), certificate._repr_html_()):
        assert re.search(r"<ul><li>NOT PRIVATE", page)
    folder = release.save(tmp_path / "out")
    assert verify(folder)[0].note.startswith("NOT PRIVATE")
    assert us.load(folder).certificate.not_private


def reviewed(schema):
    columns = tuple(replace(column, source=Source.DECLARED) for column in schema)
    return replace(schema, columns=columns, rows_source=Source.DECLARED)


def test_a_reviewed_draft_is_a_schema_like_any_other(table):
    release = synthesize(table, epsilon=1.0, schema=reviewed(draft(table)), strict=True)
    assert valid(release, NAMES)
    text = draft_text(draft(table)).replace('source = "data"', 'source = "declared"')
    again = synthesize(table, epsilon=0.5, schema=schema_from_toml(text), strict=True)
    assert again.certificate.epsilon == 0.5
    assert not again.certificate.not_private


def test_to_allow_what_is_not_private_changes_nothing_where_all_is(table):
    release = synthesize(table, epsilon=1.0, schema=SCHEMA, allow_non_private=True)
    assert valid(release)


# --- budget and ledger file -----------------------------------------------------------------------


def test_the_promise_is_the_one_that_was_asked_for(table, tmp_path):
    for schema in (SCHEMA, None):
        release = synthesize(table, epsilon=0.7, delta=1e-7, schema=schema)
        certificate = release.certificate
        assert (certificate.epsilon, certificate.delta) == (0.7, 1e-7)
        assert certificate.spent <= certificate.budget.rho
        # All of it is used: what rounding leaves is next to nothing.
        assert certificate.spent > 0.99 * float(certificate.budget.rho)
        assert certificate.spent_delta <= certificate.budget.thresholds
        folder = release.save(tmp_path / f"{schema is None}")
        assert all(check.passed for check in verify(folder))


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": "1"},
        {"delta": 0},
        {"delta": 1},
        {"delta": math.nan},
        {"discovery_share": 0},
        {"discovery_share": 1},
        {"discovery_share": -0.1},
        {"discovery_share": math.nan},
        {"mechanism": "no such method"},
        {"seed": -1},
        {"seed": "x"},
        {"text_encoding": "no such encoding"},
    ],
    ids=str,
)
def test_impossible_requests_are_bad_input_and_cost_nothing(table, tmp_path, options):
    file = tmp_path / "table.ledger"
    create_ledger(file, Budget(4.0, 1e-8, thresholds=1e-9))
    before = file.read_bytes()
    path = _csv(table, tmp_path)
    with pytest.raises(BadInput):
        synthesize(path, **{"epsilon": 1.0, "schema": SCHEMA, "ledger": file, **options})
    assert file.read_bytes() == before


def test_a_delta_that_allows_to_publish_a_row_is_refused(table):
    with pytest.raises(PrivacyRefused, match="publishing a random row"):
        synthesize(table, epsilon=1.0, delta=1e-5, schema=SCHEMA)


def test_a_table_that_is_not_there_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match=r"none\.csv"):
        synthesize(tmp_path / "none.csv", epsilon=1.0)


def test_a_ledger_file_counts_what_was_spent_and_that_it_ended(table, tmp_path):
    file = tmp_path / "table.ledger"
    create_ledger(file, Budget(2.0, 1e-8, thresholds=1e-9))
    described = synthesize(table, epsilon=0.5, schema=SCHEMA, ledger=file, unit="person:who:2")
    found_out = synthesize(table, epsilon=0.5, ledger=str(file), unit="person:who:2")
    record = read_ledger(file)
    releases = (described, found_out)
    assert [r.ended for r in record.releases] == [True, True]
    assert record.spent == sum(release.certificate.spent for release in releases)
    assert [len(r.events) for r in record.releases] == [
        len(release.certificate.entries) for release in releases
    ]
    for release, name in zip(releases, ("a", "b"), strict=True):
        folder = release.save(tmp_path / name)
        assert all(check.passed for check in verify(folder, ledger=record))


def test_a_spent_ledger_file_refuses_and_writes_nothing(table, tmp_path):
    file = tmp_path / "table.ledger"
    create_ledger(file, Budget(1.0, 1e-8))
    synthesize(table, epsilon=0.9, schema=SCHEMA, ledger=file)
    before = file.read_bytes()
    with pytest.raises(BudgetSpent, match="left"):
        synthesize(table, epsilon=0.9, schema=SCHEMA, ledger=file)
    assert file.read_bytes() == before
    synthesize(table, epsilon=0.05, schema=SCHEMA, ledger=file)


def test_a_missing_ledger_file_is_bad_input_and_is_not_made(table, tmp_path):
    with pytest.raises(BadInput, match="--create"):
        synthesize(table, epsilon=1.0, schema=SCHEMA, ledger=tmp_path / "none.ledger")
    assert list(tmp_path.iterdir()) == []


@dataclass(frozen=True)
class Broken:
    """Asks, and fails."""

    name: ClassVar[str] = "broken"
    error: ClassVar[type[BaseException]]

    def fit(self, ledger, known, allowed):
        ledger.measure([()], rho=ledger.rest() / 2)
        raise self.error(known, allowed)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_run_that_breaks_stays_charged_and_lets_the_next_one_begin(
    table, tmp_path, monkeypatch, error
):
    monkeypatch.setattr(Broken, "error", error, raising=False)
    file = tmp_path / "table.ledger"
    create_ledger(file, Budget(4.0, 1e-8))
    with pytest.raises(error):
        synthesize(table, epsilon=1.0, schema=SCHEMA, mechanism=Broken(), ledger=file)
    record = read_ledger(file)
    assert [r.ended for r in record.releases] == [False]
    assert record.spent > 0
    synthesize(table, epsilon=1.0, schema=SCHEMA, ledger=file)
    assert [r.ended for r in read_ledger(file).releases] == [False, True]


# --- randomness -----------------------------------------------------------------------------------


def test_seeded_noise_is_not_private_and_takes_no_ledger_file(table, tmp_path):
    release = synthesize(table, epsilon=1.0, schema=SCHEMA, source=SeededForTests(1))
    assert release.certificate.epsilon == math.inf
    assert str(release.certificate).startswith("NOT PRIVATE: the noise came from a seeded source")
    assert release.certificate.promise[0].startswith("NOT PRIVATE")
    file = tmp_path / "table.ledger"
    create_ledger(file, Budget(4.0, 1e-8))
    with pytest.raises(BadInput, match="only takes real noise"):
        synthesize(table, epsilon=1.0, schema=SCHEMA, source=SeededForTests(1), ledger=file)


def test_a_seed_decides_the_rows_but_never_the_noise(table, tmp_path):
    one, other = (synthesize(table, epsilon=1.0, schema=SCHEMA, seed=5, rows=200) for _ in "ab")
    assert one.model.to_json() != other.model.to_json()
    # From the recorded model the same rows come again.
    again = us.load(one.save(tmp_path / "out"))
    assert DrawnRows.of(again.model, again.schema, 200, 5).table.equals(one.table)
    assert again.sample(200, seed=5).equals(one.data)


def test_where_noise_is_seeded_too_everything_comes_again(table, tmp_path):
    folders = []
    for name in "ab":
        release = synthesize(table, epsilon=1.0, seed=5, source=SeededForTests(2))
        folders.append(release.save(tmp_path / name))
    for path in folders[0].iterdir():
        assert path.read_bytes() == (folders[1] / path.name).read_bytes(), path.name


def test_without_a_seed_rows_are_drawn_anew(table):
    one, other = (
        synthesize(table, epsilon=1.0, schema=SCHEMA, source=SeededForTests(3)) for _ in "ab"
    )
    assert one.model.to_json() == other.model.to_json()
    assert not one.table.equals(other.table)


# --- what is told ---------------------------------------------------------------------------------


def told_of(data, **options):
    lines = []
    synthesize(data, tell=lines.append, epsilon=1.0, **options)
    return lines


def test_steps_are_told_in_order(table):
    assert told_of(table, schema=SCHEMA, rows=1234) == [
        "Opening the table",
        "Asking and fitting: tailored",
    ]
    steps = told_of(table)
    assert [step.split()[0] for step in steps] == ["Opening", "Inferring", "Asking"]
    assert re.search(r"5 columns with 33% of the budget \(noise ±\d+ rows", steps[1])


def test_what_is_told_does_not_depend_on_the_rows():
    other = pa.table(
        {
            "who": [1] * 50,
            "age": pa.array([None] * 50, pa.int64()),
            "city": [f"secret {k}" for k in range(50)],
            "score": [math.nan] * 50,
            "ill": [None] * 49 + [True],
        }
    ).cast(private_rows().schema)
    for schema in (SCHEMA, None):
        one, two = (told_of(data, schema=schema, rows=10) for data in (private_rows(), other))
        assert one == two


def test_it_works_with_frames_whatever_their_index(table):
    frame = table.to_pandas()
    frame.index = pd.Index(np.arange(ROWS) * 7, name="secret")
    release = synthesize(frame, epsilon=1.0, schema=SCHEMA)
    assert list(release.data.index[:3]) == [0, 1, 2]
    assert valid(release)


def test_the_method_and_its_parameters_are_in_the_certificate(table):
    by_itself = {"name": "independent", "parameters": {}}
    usual = {"allocation": "uniform", "rarity": 3.0, "model_bytes": 2**25}
    tree = {"name": "mst", "parameters": usual}
    asked = {"mst": tree, "independent": by_itself, IndependentColumns(): by_itself}
    for mechanism, told in asked.items():
        release = synthesize(table, epsilon=1.0, schema=SCHEMA, mechanism=mechanism)
        assert release.certificate.public["method"] == told
    automatic = synthesize(table, epsilon=1.0, schema=SCHEMA).certificate.public["method"]
    assert automatic["name"] == "tailored"
    assert automatic["parameters"]["labels"] == "rule"


def test_an_unknown_method_is_refused_with_those_that_there_are(table):
    with pytest.raises(BadInput, match="Known: auto, tailored, prism, "):
        synthesize(table, epsilon=1.0, schema=SCHEMA, mechanism="independant")


def test_a_blanket_is_learned_where_that_is_asked_for(table):
    release = synthesize(table, epsilon=4.0, schema=SCHEMA, target="ill", graph="learn")
    told = release.certificate.public["method"]["parameters"]["regime"]
    assert told.startswith("graphical, learned")
    causal = synthesize(table, epsilon=4.0, schema=SCHEMA, target="ill", parents=["age"])
    assert causal.certificate.public["method"]["parameters"]["regime"] == "causal: age"


def test_what_is_known_is_stated_once(table):
    with pytest.raises(BadInput, match="not both"):
        synthesize(
            table, epsilon=1.0, schema=SCHEMA, target="ill", parents=["age"], graph=[("age", "ill")]
        )
    with pytest.raises(BadInput, match="has its parameters and its regime already"):
        synthesize(table, epsilon=1.0, schema=SCHEMA, mechanism=Mst(), parents=["age"])
