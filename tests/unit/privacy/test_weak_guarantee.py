"""Settings that protect too little are refused; once accepted, every page begins with that."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from typer.testing import CliRunner

from understudy import cli, load, verify
from understudy.column import Column, Kind
from understudy.errors import BadInput, PrivacyRefused
from understudy.pipeline import synthesize
from understudy.plan import plan, plan_html
from understudy.privacy.budget import Budget
from understudy.privacy.certificate import certificate_from_json
from understudy.privacy.facts import spelled_bound, spelled_out
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger_file import create_ledger, read_ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.promise import MOST_DELTA, MOST_EPSILON, promise, weaknesses
from understudy.privacy.spelling import digest, spelled, spelled_for_people
from understudy.release_page import release_page
from understudy.report.odds import odds
from understudy.schema import Schema
from understudy.schema_files import write_schema

RECORD = "one record, added or removed"
SCHEMA = Schema(
    (
        Column(name="ill", kind=Kind.BOOLEAN, null=False),
        Column(name="ward", kind=Kind.CATEGORICAL, categories=("a", "b", "c"), null=False),
    ),
    rows_bound=1_000_000,
)
WEAK = [
    ({"epsilon": 10.001}, "epsilon 10.01 is above 10"),
    ({"epsilon": 1000.0}, "epsilon 1,000 is above 10"),
    ({"epsilon": 1.0, "delta": 0.5, "schema": None}, "delta 0.5 is above 1e-05"),
    ({"epsilon": 1.0, "delta": 1.1e-5, "schema": None}, "delta 1.1e-05 is above 1e-05"),
    (
        {"epsilon": 1.0, "delta": 1e-6},
        "delta 1e-06 is not below 1 / 1,000,000 (the declared bound on rows)",
    ),
]


def table(rows=400):
    rng = np.random.default_rng(0)
    return pa.table({"ill": rng.random(rows) < 0.4, "ward": rng.choice(["a", "b", "c"], rows)})


def made(**options):
    settings = {"epsilon": 1000.0, "schema": SCHEMA, "mechanism": "independent", "seed": 0}
    return synthesize(table(), **{**settings, **options}, accept_weak_guarantee=True)


def run(*arguments):
    return CliRunner().invoke(cli.app, [str(a) for a in arguments])


# --- thresholds ----------------------------------------------------------------------------------


def test_numbers_at_the_threshold_are_no_weak_guarantee():
    assert weaknesses(MOST_EPSILON, MOST_DELTA) == ()
    assert weaknesses(1.0, 9.9e-7, 1_000_000) == ()
    assert weaknesses(math.nextafter(MOST_EPSILON, 11), MOST_DELTA)
    assert weaknesses(1.0, math.nextafter(MOST_DELTA, 1))
    release = synthesize(table(), epsilon=10.0, delta=1e-5, mechanism="independent")
    assert release.certificate.weak == ()
    assert "WEAK" not in "".join([*release.certificate.promise, release._repr_html_()])


@pytest.mark.parametrize(("settings", "reason"), WEAK)
def test_a_weak_guarantee_is_refused_before_anything_is_opened(settings, reason, tmp_path):
    ledger = tmp_path / "table.ledger"
    create_ledger(ledger, Budget(4.0, 1e-8))
    before = ledger.read_bytes()
    options = {"schema": SCHEMA, **settings}
    with pytest.raises(PrivacyRefused, match=re.escape(reason)) as refused:
        synthesize(tmp_path / "no such file.csv", ledger=ledger, **options)
    assert "--accept-weak-guarantee" in str(refused.value)
    assert ledger.read_bytes() == before
    if options["schema"] is not None:
        with pytest.raises(PrivacyRefused, match=re.escape(reason)):
            plan(**options)


@pytest.mark.parametrize(("settings", "reason"), WEAK)
def test_an_accepted_one_is_said_first_wherever_the_guarantee_is_told(settings, reason, tmp_path):
    release = made(**{"schema": SCHEMA, **settings})
    first = f"WEAK GUARANTEE: {reason}."
    assert release.certificate.promise[0] == first == release.certificate.warning
    assert str(release.certificate).startswith(f"WEAK GUARANTEE ({reason}): epsilon ")
    shown = first.replace("'", "&#x27;")
    for page in (release._repr_html_(), release.certificate._repr_html_()):
        assert re.sub(r"<[^>]+>", "", page).startswith(shown)
        assert page.count("WEAK") == 1
    folder = release.save(tmp_path / "out")
    body = (folder / "report.html").read_text(encoding="utf-8").split("<body>")[1]
    assert re.sub(r"<[^>]+>", "", body).strip().startswith(first)
    assert release_page(release, folder)["promise"][0] == first
    assert all(check.passed for check in verify(folder))
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    assert certificate["promise"]["weak"] == [reason]
    told = run("verify", folder)
    assert told.exit_code == 0
    assert told.stdout.startswith(f"{first}\n")
    assert "the guarantee is weak" in told.stdout
    assert json.loads(run("verify", folder, "--json").stdout)["weak"] == [reason]
    assert load(folder).certificate.promise[0] == first


def test_a_release_without_a_guarantee_is_not_private_and_nothing_weaker():
    release = made(source=SeededForTests(0))
    assert release.certificate.promise[0].startswith("NOT PRIVATE")
    assert release.certificate.weak == ()


# --- it cannot be left out -----------------------------------------------------------------------


def edited(folder, change):
    """Change a certificate, and hash it again as somebody would who forges it."""
    path = folder / "certificate.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    content.pop("sha256")
    path.write_bytes(spelled_for_people({**content, "sha256": digest(spelled(content))}))
    return [check for check in verify(folder) if not check.passed]


def test_a_certificate_that_hides_that_it_is_weak_does_not_verify(tmp_path):
    folder = made().save(tmp_path / "out")
    assert edited(folder, dict.keys) == []
    hidden = edited(folder, lambda content: content["promise"].pop("weak"))
    assert [check.what for check in hidden] == [
        "the promise follows from the budget and the events"
    ]
    assert run("verify", folder).exit_code == 1


def test_a_certificate_with_other_numbers_does_not_verify(tmp_path):
    folder = made().save(tmp_path / "out")

    def smaller(content):
        content["promise"].pop("weak")
        content["promise"]["epsilon"] = content["budget"]["epsilon"] = 1.0

    assert edited(folder, smaller)


def test_certificates_of_format_1_say_it_although_they_have_no_field_for_it():
    release = made()
    old = replace(release.certificate, format_version=1).to_json()
    assert "weak" not in old["promise"]
    read = certificate_from_json(old)
    assert read.promise[0] == "WEAK GUARANTEE: epsilon 1,000 is above 10."


@pytest.mark.parametrize(
    "spelling",
    [
        "[rows]\nbound = 1000000",
        "[rows]\nbound = 1_000_000",
        "[rows]\nbound = +1000000  # many",
        '["rows"]\nsource = "declared"\nbound = 1000000',
        "[ rows ] # of the table\nbound = 0xF4240",
        "[rows]\nbound = 0b11110100001001000000",
    ],
)
def test_the_bound_on_rows_is_read_in_every_spelling(spelling):
    assert spelled_bound(spelling) == 1_000_000


def test_the_bound_on_rows_is_that_of_the_rows():
    assert spelled_bound(spelled_out(SCHEMA)) == 1_000_000
    assert spelled_bound(spelled_out(replace(SCHEMA, rows_bound=None))) is None
    assert spelled_bound('[columns.rows]\nbound = 5\n[rows]\nsource = "declared"') is None
    assert spelled_bound("[rows]\nbound = many") is None
    assert spelled_bound(None) is spelled_bound(["[rows]", "bound = 5"]) is None


# --- sentences go by the numbers -----------------------------------------------------------------

CLAIMS = re.compile(r"nobody can|cannot learn|is anonymous|much more about", re.IGNORECASE)


@pytest.mark.parametrize("settings", [{"epsilon": 1000.0}, {"epsilon": 1.0, "delta": 0.5}])
def test_no_sentence_claims_what_the_numbers_do_not_give(settings, tmp_path):
    release = made(schema=None, **settings)
    folder = release.save(tmp_path / "out")
    page = (folder / "report.html").read_text(encoding="utf-8")
    told = [page, release._repr_html_(), run("verify", folder).stdout]
    assert not [CLAIMS.search(text) for text in told if CLAIMS.search(text)]
    assert "the limits are loose" in page
    assert "Publishing because of its guarantee" in page
    fine = synthesize(table(), epsilon=1.0, mechanism="independent").save(tmp_path / "fine")
    assert "loose" not in (fine / "report.html").read_text(encoding="utf-8")


def test_a_large_delta_says_that_records_may_be_released():
    (last,) = [line for line in promise(1.0, 0.5, RECORD, ()) if "records as they are" in line]
    assert "probability of up to 0.5" in last
    assert not any("records as they are" in line for line in promise(20.0, 1e-9, RECORD, ()))
    assert not any("protects little" in line for line in promise(1.0, 0.5, RECORD, ()))


def test_what_somebody_holds_has_no_bound_where_two_steps_use_up_delta():
    assert [one.holds for one in odds(1.0, 0.3, RECORD)] == [1.0] * 4
    assert all(one.holds < 0.9 for one in odds(1.0, 0.2, RECORD))
    assert all(one.holds == 1.0 for one in odds(2.0, 0.3, RECORD))


# --- the other commands --------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv.write_csv(table(), "rows.csv")
    write_schema(SCHEMA, "schema.toml")
    return tmp_path


def test_the_screen_begins_with_it(files):
    given = ("synthesize", "rows.csv", "--schema", "schema.toml", "--epsilon", "20", "--out", "out")
    refused = run(*given)
    assert refused.exit_code == 3
    assert "epsilon 20 is above 10" in refused.stderr
    assert not (files / "out").exists()
    done = run(*given, "--accept-weak-guarantee")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("WEAK GUARANTEE: epsilon 20 is above 10.\n")
    assert done.stdout.count("WEAK") == 1


def test_a_plan_is_refused_as_the_release_would_be(files):
    given = ("plan", "schema.toml", "--epsilon", "20")
    assert run(*given).exit_code == 3
    accepted = run(*given, "--accept-weak-guarantee", "--out", "plan.html")
    assert accepted.exit_code == 0, accepted.stderr
    assert accepted.stdout.startswith("WEAK GUARANTEE: epsilon 20 is above 10.\n")
    body = (files / "plan.html").read_text(encoding="utf-8").split("<body>")[1]
    assert re.sub(r"<[^>]+>", "", body).strip().startswith("WEAK GUARANTEE")
    fine = run("plan", "schema.toml", "--epsilon", "2")
    assert "WEAK" not in fine.stdout


def test_a_bound_beside_the_schema_counts_in_a_plan():
    schema = replace(SCHEMA, rows_bound=None)
    with pytest.raises(PrivacyRefused, match="declared bound on rows"):
        plan(schema, epsilon=1.0, delta=1e-5, rows=200_000)
    planned = plan(schema, epsilon=1.0, delta=1e-5, rows=200_000, accept_weak_guarantee=True)
    assert "not below 1 / 200,000" in planned.promise[0]
    assert planned.warning in plan_html(planned)


@pytest.mark.parametrize("wrong", [("--epsilon", "1,20"), ("--epsilon", "1", "--delta", "0.01")])
def test_a_comparison_asks_before_it_reads_the_table(files, wrong):
    refused = run("compare", "rows.csv", "--target", "ill", *wrong, "--out", "compared")
    assert refused.exit_code == 3
    assert "--accept-weak-guarantee" in refused.stderr
    assert not (files / "compared").exists()


def test_a_comparison_of_weak_releases_says_so_first(files):
    done = run(
        *("compare", "rows.csv", "--target", "ill", "--schema", "schema.toml", "--epsilon", "20"),
        *("--methods", "independent", "--seeds", "1", "--models", "logistic"),
        *("--accept-weak-guarantee", "--out", "compared"),
    )
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("WEAK GUARANTEE: epsilon 20 is above 10.")


# --- the ledger ----------------------------------------------------------------------------------


def test_the_ledger_itself_refuses_a_delta_that_would_publish_a_row():
    budget = Budget(1.0, 1e-6)
    with pytest.raises(PrivacyRefused, match="publishing a random row"):
        Ledger.open(table(), SCHEMA, budget)
    with Ledger.open(table(), SCHEMA, budget, accept_weak_guarantee=True) as ledger:
        assert ledger.close().weak


# --- no ε where none is spent --------------------------------------------------------------------


def numbers():
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    return pa.table({"x": x, "y": 2 * x + rng.normal(size=200)})


def test_a_method_that_reads_rows_as_they_are_needs_no_epsilon(files):
    csv.write_csv(numbers(), "numbers.csv")
    given = ("synthesize", "numbers.csv", "--target", "y", "--method", "lk2ss", "--param")
    refused = run(*given, "mode=lid", "--out", "out")
    assert refused.exit_code == 3
    assert "--allow-non-private" in refused.stderr
    done = run(*given, "mode=lid", "--allow-non-private", "--out", "out")
    assert done.exit_code == 0, done.stderr
    assert "NOT PRIVATE" in done.stdout
    release = load(files / "out")
    assert release.certificate.epsilon == np.inf
    assert all(check.passed for check in verify(files / "out"))


@pytest.mark.parametrize("more", [(), ("--method", "mst"), ("--method", "lk2ss")])
def test_every_other_method_says_that_it_needs_one(files, more):
    csv.write_csv(numbers(), "numbers.csv")
    result = run("synthesize", "numbers.csv", "--target", "y", *more, "--out", "out")
    assert result.exit_code == 2
    assert "add --epsilon, such as --epsilon 1" in result.stderr
    assert not (files / "out").exists()


def test_a_first_stage_that_spends_needs_one():
    options = {"first_stage": "mst", "mode": "lid"}
    with pytest.raises(BadInput, match="for its first stage: add --epsilon"):
        synthesize(
            numbers(), target="y", mechanism="lk2ss", parameters=options, allow_non_private=True
        )


def test_no_epsilon_goes_into_the_tables_ledger_but_the_reveal(tmp_path):
    ledger = tmp_path / "table.ledger"
    create_ledger(ledger, Budget(4.0, 1e-8))
    synthesize(
        numbers(),
        target="y",
        mechanism="lk2ss",
        parameters={"mode": "lid"},
        allow_non_private=True,
        ledger=ledger,
    )
    assert read_ledger(ledger).rest == 0
