"""`--independent` on the command line: what it keeps, what it tells, what it refuses."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from typer.testing import CliRunner

from understudy import cli, demanded, load
from understudy.column import Column, Kind, Role
from understudy.errors import BadInput, UnknownColumn
from understudy.knowledge import Independence
from understudy.mechanisms.prism import Prism
from understudy.model.information import model_information
from understudy.pipeline import synthesize
from understudy.privacy.budget import Budget
from understudy.privacy.ledger_file import create_ledger, read_ledger
from understudy.report import public
from understudy.schema import Schema
from understudy.schema_files import write_schema
from understudy.select.regimes import Causal, Graphical

FAIR = "hired _||_ sex | degree"
SCHEMA = Schema(
    (
        Column(name="who", kind=Kind.INTEGER, role=Role.ID),
        Column(name="sex", kind=Kind.CATEGORICAL, categories=("f", "m"), null=False),
        Column(name="degree", kind=Kind.INTEGER, bounds=(0, 3), null=False),
        Column(name="town", kind=Kind.CATEGORICAL, categories=("a", "b", "c"), null=False),
        Column(name="hired", kind=Kind.BOOLEAN, null=False, role=Role.TARGET),
    ),
    rows_bound=10_000,
)


def private_rows(count=800):
    rng = np.random.default_rng(0)
    male, degree = rng.random(count) < 0.5, rng.integers(0, 4, count)
    return pa.table(
        {
            "who": np.arange(count),
            "sex": np.where(male, "m", "f"),
            "degree": degree,
            "town": rng.choice(["a", "b", "c"], count),
            "hired": rng.random(count) < 0.1 + 0.15 * degree + 0.3 * male,
        }
    )


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Each test stands in a folder of its own, with a table and what is public about it."""
    monkeypatch.chdir(tmp_path)
    csv.write_csv(private_rows(), "hired.csv")
    write_schema(SCHEMA, tmp_path / "schema.toml")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(cli.app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def synthesized(*arguments, epsilon="5"):
    return run(
        *("synthesize", "hired.csv", "--schema", "schema.toml", "--epsilon", epsilon),
        *("--out", "out", *arguments),
    )


def planned(*arguments):
    return run("plan", "schema.toml", "--epsilon", "1", *arguments)


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize("method", ["auto", "privci", "prefair"])
def test_a_stated_independence_is_kept_listed_and_shown(method, folder):
    result = synthesized("--independent", FAIR, "--method", method)
    assert result.exit_code == 0, result.stderr
    release = load(folder / "out")
    assert release.certificate.public["independences"] == [
        {"outcome": ["hired"], "protected": ["sex"], "given": ["degree"]}
    ]
    assert model_information(release.model, Independence.parse(FAIR)) < 1e-9
    page = words((folder / "out" / "report.html").read_text(encoding="utf-8"))
    told = re.sub("<[^>]*>", "", page)
    assert "Independences that were demanded" in told
    assert "hired ⟂ sex | degree" in told
    assert "hired tells nothing about sex, once degree is known" in told
    assert "Nothing is claimed beyond that" in told
    assert "diamond" in page.lower()
    assert run("verify", "out").exit_code == 0


def test_without_one_nothing_is_said_of_any(folder):
    assert synthesized().exit_code == 0
    release = load(folder / "out")
    assert "independences" not in release.certificate.public
    assert demanded.read(release.certificate.public) == ()
    assert "Independences" not in (folder / "out" / "report.html").read_text(encoding="utf-8")


def test_several_can_be_stated(folder):
    result = synthesized("--independent", FAIR, "--independent", "hired, degree _||_ town")
    assert result.exit_code == 0, result.stderr
    both = demanded.read(load(folder / "out").certificate.public)
    assert list(map(str, both)) == ["hired ⟂ sex | degree", "hired, degree ⟂ town"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "privci"], "privci keeps an independence: state one, such as --independent"),
        (["--method", "prefair"], "prefair keeps an independence: state one"),
        (["--independent", "hired _||_ gender | degree"], "gender"),
        (["--independent", "hired _||_ who | degree"], "who"),
        (["--independent", "hired _||_ hired"], "names each column once; named twice: hired"),
        (["--independent", "hired _||_ sex | sex"], "names each column once; named twice: sex"),
        (["--independent", "hired and sex"], "is no independence. Write the outcome"),
        (
            ["--independent", FAIR, "--parents", "sex,degree"],
            "to learn hired from sex, hired from degree: together, a stated independence does not",
        ),
        (
            [
                *("--independent", "hired _||_ town", "--independent", "sex _||_ town"),
                *("--method", "prefair", "--param", "search=exhaustive"),
            ],
            "knows one independence; take privci for several",
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("command", [synthesized, planned], ids=["synthesize", "plan"])
def test_what_makes_no_sense_is_refused_and_costs_nothing(arguments, message, command, folder):
    create_ledger(folder / "table.ledger", Budget(9.0, 1e-6))
    ledger = ["--ledger", "table.ledger"] if command is synthesized else []
    result = command(*arguments, *ledger)
    assert result.exit_code != 0
    assert message in words(result.stderr)
    assert not (folder / "out").exists()
    assert read_ledger(folder / "table.ledger").spent == 0


def test_a_graph_that_contradicts_is_refused_by_its_blanket(folder):
    (folder / "causes.json").write_text('[["sex", "hired"], ["degree", "hired"]]')
    result = synthesized("--independent", FAIR, "--graph", "causes.json")
    assert result.exit_code != 0
    assert "does not allow that. Leave out the columns" in words(result.stderr)
    # Where the graph agrees, it goes on.
    (folder / "causes.json").write_text('[["sex", "degree"], ["degree", "hired"]]')
    assert synthesized("--independent", FAIR, "--graph", "causes.json").exit_code == 0


NOTHING_GIVEN = "and nothing given, every column may be tied to one of the two sides alone"
ALONE = "No column may be measured together with hired: the independences leave it alone"


@pytest.mark.parametrize(
    ("sentence", "told"),
    [("hired _||_ sex", NOTHING_GIVEN), ("hired _||_ sex, degree, town", ALONE)],
    ids=["nothing given", "a target alone"],
)
def test_what_it_costs_is_said_before_anything_is_spent_and_kept_in_the_notes(
    sentence, told, folder
):
    result = synthesized("--independent", sentence)
    assert result.exit_code == 0, result.stderr
    said = words(result.stderr)
    assert told in said
    assert said.index(told) < said.index("Asking and fitting")
    assert any(told in note for note in load(folder / "out").notes)
    plan = planned("--independent", sentence)
    assert plan.exit_code == 0
    assert told in words(plan.stdout)
    assert told not in words(planned("--independent", FAIR).stdout)


def test_costs_come_before_finding_out_as_well():
    told = []
    made = synthesize(
        private_rows(3000).drop_columns(["who"]),
        epsilon=5.0,
        target="hired",
        constraints=["hired _||_ sex"],
        tell=told.append,
    )
    places = [
        next(k for k, one in enumerate(told) if w in one)
        for w in (NOTHING_GIVEN, "Inferring the schema")
    ]
    assert places == sorted(places)
    assert model_information(made.model, Independence("hired", "sex")) < 1e-9
    with pytest.raises(UnknownColumn, match="nowhere"):
        synthesize(private_rows(), epsilon=1.0, constraints=["hired _||_ nowhere"])


def test_a_plan_tells_what_would_be_bought(folder):
    result = planned("--independent", FAIR, "--method", "privci", "--json")
    assert result.exit_code == 0, result.stderr
    page = json.loads(result.stdout)
    assert page["method"] == "privci"
    assert not (folder / "out").exists()


def test_evaluating_such_a_release_tests_it_unasked(folder):
    assert synthesized("--independent", FAIR, "--method", "privci").exit_code == 0
    quick = ("--models", "logistic", "--seeds", "1")
    result = run("evaluate", "hired.csv", "out", "--target", "hired", *quick, "--json")
    assert result.exit_code == 0, result.stderr
    page = json.loads(result.stdout)
    tests = [t for t in page["independence"] if t["sentence"] == "hired ⟂ sex | degree"]
    by_table = {one["table"]: one["p_value"] for one in tests}
    assert by_table["real"] <= 0.01  # the private rows do break it
    assert by_table["synthetic"] > 0.001


# --- contradictions, and names --------------------------------------------------------------------


@pytest.mark.parametrize(
    "regime", [Causal(["sex"]), Graphical([("sex", "hired"), ("degree", "hired")])], ids=str
)
def test_prism_refuses_what_contradicts_before_a_table_is_opened(regime):
    with pytest.raises(BadInput, match="does not allow"):
        synthesize(
            "no/such/file.csv",
            epsilon=1.0,
            target="hired",
            mechanism=Prism(regime=regime),
            constraints=[FAIR],
        )


ODD = [
    Independence(["a, b", "c|d"], "e ⟂ f", ["g _||_ h", " i "]),
    Independence("x", ["y,z", "y", "z"]),
    Independence('"', "<i>", "ä, \n"),
]


def test_names_with_commas_and_signs_come_back_from_a_certificate():
    text = json.dumps({demanded.INDEPENDENCES: demanded.written(ODD)})
    assert demanded.read(json.loads(text)) == tuple(ODD)
    assert demanded.read({}) == ()
    assert json.loads(text)["independences"][0] == {
        "outcome": ["a, b", "c|d"],
        "protected": ["e ⟂ f"],
        "given": ["g _||_ h", " i "],
    }


@pytest.mark.parametrize(
    "listed", [[{"outcome": "a"}], "a", [3], [{"outcome": 3, "protected": 4}], {"a": "b"}], ids=str
)
def test_a_certificate_that_lists_nonsense_is_refused(listed):
    with pytest.raises(BadInput, match=r"cannot be read|is 3; name columns"):
        demanded.read({demanded.INDEPENDENCES: listed})


def test_columns_with_odd_names_are_kept_apart_all_the_way(folder):
    rng = np.random.default_rng(0)
    names = ["a, b", "c|d", "e ⟂ f", "<i>"]
    table = pa.table({name: rng.integers(0, 2, 400) for name in names})
    odd = Independence("a, b", "c|d", "e ⟂ f")
    made = synthesize(
        table, epsilon=30.0, mechanism="privci", constraints=[odd], accept_weak_guarantee=True
    )
    made.save(folder / "odd")
    again = load(folder / "odd")
    assert demanded.read(again.certificate.public) == (odd,)
    assert model_information(again.model, odd) < 1e-9
    assert "<i>" not in (folder / "odd" / "report.html").read_text(encoding="utf-8")
    assert public.choices(again.certificate)["independences"] == "a, b ⟂ c|d | e ⟂ f"
