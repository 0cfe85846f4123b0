"""LK-2SS: one mode that promises nothing and says so, and one that keeps its promise."""

import json
import re
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from typer.testing import CliRunner

from understudy import cli
from understudy.column import Column, Kind, Role, Source
from understudy.errors import BadInput, PrivacyRefused, UnknownColumn
from understudy.knowledge import Independence
from understudy.mechanisms.copula import Copula
from understudy.mechanisms.dpdsyn import DpdSyn
from understudy.mechanisms.kernel_labels import KernelLabelModel
from understudy.mechanisms.labelling import INPUTS
from understudy.mechanisms.lk2ss import LID, Answer, Lk2ss, Mode
from understudy.mechanisms.mst import Mst
from understudy.mechanisms.prism import Prism
from understudy.model.information import model_information
from understudy.model.labelled import LabelledModel
from understudy.model.labels import ClassLabels, NumberLabels
from understudy.pipeline import synthesize
from understudy.plan import plan
from understudy.privacy.budget import Budget
from understudy.privacy.folder import verify
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger_file import create_ledger
from understudy.privacy.noise import SeededForTests
from understudy.release import load
from understudy.schema import Schema
from understudy.twostage.first_stages import Cauchy, LatinHypercube, Uniform, Weibull
from understudy.twostage.hybrid import Hybrid
from understudy.twostage.responses import NadarayaWatson, RandomForest

ROWS = 400


def real(name, low, high, role=Role.FEATURE, **facts):
    facts = {"kind": Kind.REAL, "bounds": (low, high), "bins": 32, "null": False} | facts
    return Column(name=name, role=role, **facts)


TOWN = Column(name="town", kind=Kind.CATEGORICAL, categories=("bonn", "kiel", "ulm"), null=False)
SCHEMA = Schema(
    (real("y", -2, 4, Role.TARGET), real("u", 0, 1), real("v", 0, 10), TOWN), rows_bound=10**5
)


def table(rows=ROWS, seed=0):
    """y is smooth in u and v; v goes with u."""
    rng = np.random.default_rng(seed)
    u = rng.random(rows)
    v = np.clip(10 * u + rng.normal(0, 1.5, rows), 0, 10)
    y = np.clip(truth(u, v) + rng.normal(0, 0.1, rows), -2, 4)
    town = np.array(["bonn", "kiel", "ulm"])[rng.integers(0, 3, rows)]
    return pa.table({"y": y, "u": u, "v": v, "town": town})


def truth(u, v):
    return np.sin(6 * u) + v / 5


def lid(data=None, mechanism=None, **options):
    mechanism = Lk2ss(mode="lid") if mechanism is None else mechanism
    options = {"target": "y", "allow_non_private": True, "epsilon": 1.0} | options
    return synthesize(table() if data is None else data, mechanism=mechanism, **options)


# --- mode lid: not private ------------------------------------------------------------------------


def test_without_leave_it_is_refused_before_anything_is_read_or_spent(tmp_path):
    file = tmp_path / "ledger.jsonl"
    create_ledger(file, Budget(5.0, 1e-9))
    before, said = file.read_bytes(), []
    with pytest.raises(PrivacyRefused, match=r"mode=dp.*--allow-non-private"):
        lid(tmp_path / "no such table.csv", allow_non_private=False, ledger=file, tell=said.append)
    assert file.read_bytes() == before
    assert said == []


def test_the_certificate_says_first_that_nothing_is_promised():
    release = lid(mechanism=Lk2ss(mode="lid", hybrid=Hybrid(lid=0.3)))
    certificate = release.certificate
    assert "NOT PRIVATE" in certificate.promise[0]
    assert certificate.not_private
    told = certificate.public[LID]
    assert {*told["told"]} == {"u", "v", "all inputs", "the target"}
    assert 0.2 < told["told"]["all inputs"] <= 0.3
    assert 0 < told["alpha"] < 1
    assert told["eta"] == 0.001
    assert [entry.request["door"] for entry in certificate.entries] == ["reveal"]
    assert any("may give people away" in note for note in release.notes)


def test_a_folder_holds_rows_and_no_model(tmp_path):
    release = lid(table().slice(0, 100))
    release.save(tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"certificate.json", "columns.json", "report.html", "synthetic.csv"}
    assert all(check.passed for check in verify(tmp_path / "out"))
    assert json.loads((tmp_path / "out" / "columns.json").read_text("utf-8"))["model"] == {}
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "could not be made" not in page
    assert "NOT PRIVATE" in page
    back = load(tmp_path / "out")
    assert back.table.equals(release.table)
    assert back.schema == release.schema
    for one in (release, back):
        with pytest.raises(BadInput, match="holds real rows, and it was not kept"):
            one.sample(5)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_labels_and_gaps_come_back(tmp_path, kind):
    town = pa.array(["=1+1", None, 'say "hi", you', "two\nlines"] * 25)
    data = table(100).set_column(3, "town", town)
    data = data.set_column(1, "u", pa.array([None, 1.0, 1e-7, 1e15] * 25))
    release = lid(data)
    release.save(tmp_path / "out", format=kind, formula_safe=True)
    back = load(tmp_path / "out")
    assert back.table["town"].to_pylist() == town.to_pylist()
    assert back.table["u"].to_pylist() == release.table["u"].to_pylist()
    assert back.table["u"].is_null().to_pylist() == [True, False, False, False] * 25


def test_the_command_line_makes_a_release_of_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv.write_csv(table(200), "rows.csv")
    arguments = [
        *("synthesize", "rows.csv", "--target", "y", "--epsilon", "1", "--method", "lk2ss"),
        *("--param", "mode=lid", "--param", "lid=0.2", "--param", "response=nadaraya-watson"),
        *("--out", "out"),
    ]
    refused = CliRunner().invoke(cli.app, arguments)
    assert refused.exit_code != 0
    assert "--allow-non-private" in re.sub(r"\s+", " ", refused.output)
    result = CliRunner().invoke(cli.app, [*arguments, "--allow-non-private"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "report.html").exists()
    release = load("out")
    assert release.rows.count == 200
    assert release.certificate.public[LID]["told"]["all inputs"] <= 0.2
    # Numbers in a text file are numbers, and nothing was bought.
    assert release.schema["u"].kind is Kind.REAL
    assert release.schema["u"].source is Source.DATA


@pytest.mark.parametrize("stage", [Uniform(), Weibull(), Cauchy(), LatinHypercube()], ids=str)
def test_the_papers_controls_are_first_stages(stage):
    release = lid(mechanism=Lk2ss(stage, mode="lid", response=NadarayaWatson()))
    assert release.table.num_rows == ROWS
    assert release.certificate.public["method"]["parameters"]["first_stage"].startswith(stage.name)


@pytest.mark.parametrize("keep_labels", [True, False])
def test_inputs_may_come_from_a_private_method(keep_labels):
    method = Lk2ss(Mst(), mode="lid", keep_labels=keep_labels)
    release = lid(mechanism=method, schema=SCHEMA, target=None)
    doors = [entry.request["door"] for entry in release.certificate.entries]
    assert doors[-1] == "reveal"
    assert "measure" in doors
    assert release.certificate.not_private
    assert release.table.num_rows == ROWS
    assert (release.table["town"].to_pylist() == table()["town"].to_pylist()) == keep_labels


def test_inputs_of_a_private_method_may_have_to_be_found_out():
    release = lid(table(3000), Lk2ss(Mst(), mode="lid", response="nadaraya-watson"), epsilon=20.0)
    assert release.table.num_rows == 3000
    assert "discovery" in release.certificate.public


def test_responses_have_names():
    names = [answer.response.name for answer in Answer]
    assert names == ["kernel ridge", "Nadaraya-Watson", "AdaBoost", "random forest"]
    trees = RandomForest(depths=(2,), trees=3)
    for response in ("kernel-ridge", "nadaraya-watson", trees):
        release = lid(table(60), Lk2ss(mode="lid", response=response, residual=True))
        assert release.table["y"].null_count == 0


def test_identifiers_stay_behind_and_fewer_rows_may_be_asked_for():
    schema = Schema((*SCHEMA, Column(name="who", kind=Kind.CATEGORICAL, role=Role.ID)))
    data = table().append_column("who", pa.array([f"p{k}" for k in range(ROWS)]))
    release = lid(data, schema=schema, target=None, rows=50)
    assert release.table.column_names == ["y", "u", "v", "town"]
    assert release.table.num_rows == 50


def test_more_rows_than_there_are_cannot_be_had_nor_the_same_ones_again():
    release = lid(table(30), rows=50, seed=1)
    assert release.table.num_rows == 30
    assert any("50 rows were asked for; there are 30" in note for note in release.notes)
    assert any("The seed had no use" in note for note in release.notes)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_hardly_any_rows_are_absorbed(tmp_path, rows):
    release = lid(table(5).slice(0, rows), schema=SCHEMA, target=None)
    release.save(tmp_path / "out")
    assert load(tmp_path / "out").table.num_rows == rows


def test_no_stated_independence_is_kept_by_real_rows():
    with pytest.raises(BadInput, match="Mode lid keeps no stated independence"):
        lid(constraints=["y _||_ town"])


def test_a_wish_that_no_alpha_meets_is_refused():
    with pytest.raises(BadInput, match=r"it is \d.*% at eta=0.3"):
        lid(mechanism=Lk2ss(mode="lid", hybrid=Hybrid(lid=0.01, eta=0.3)))


# --- mode dp: private -----------------------------------------------------------------------------


def opened(data=None, schema=SCHEMA, epsilon=3.0):
    data = table() if data is None else data
    return Ledger.open(data, schema, Budget(epsilon, 1e-9), source=SeededForTests(1))


def private(data=None, mechanism=None, **options):
    options = {"schema": SCHEMA, "epsilon": 2.0} | options
    return synthesize(table() if data is None else data, mechanism=mechanism or Lk2ss(), **options)


@pytest.mark.parametrize("unit", ["record", "replace"])
@pytest.mark.parametrize("stage", [None, Mst()], ids=["a copula", "a tree"])
def test_all_of_the_budget_is_spent_and_no_more(unit, stage):
    release = private(mechanism=Lk2ss(stage), unit=unit, rows=30)
    certificate = release.certificate
    assert not certificate.not_private
    assert certificate.budget.rho * (1 - Fraction(1, 10**6)) < certificate.spent
    assert certificate.spent <= certificate.budget.rho
    doors = [entry.request["door"] for entry in certificate.entries]
    assert doors[-1] == "sum"
    assert "reveal" not in doors
    assert LID not in certificate.public
    assert release.sample(20, seed=1).shape == (20, 4)


def test_a_private_release_comes_back_and_draws_the_same(tmp_path):
    release = private(rows=40)
    release.save(tmp_path / "out")
    assert (tmp_path / "out" / "model.json").exists()
    assert all(check.passed for check in verify(tmp_path / "out"))
    back = load(tmp_path / "out")
    assert back.sample(300, seed=3).equals(release.sample(300, seed=3))
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "could not be made" not in page


def middles(codes, name):
    low, high = SCHEMA[name].bounds
    return low + (codes[name] + 0.5) * (high - low) / 32


def test_with_much_to_spend_it_learns_a_smooth_function():
    with opened(table(5000), epsilon=50.0) as ledger:
        model = Lk2ss().fit(ledger)
    assert isinstance(model, LabelledModel)
    assert isinstance(model.labels, NumberLabels)
    drawn = model.sample(4000, np.random.default_rng(0))
    u, v = middles(drawn, "u"), middles(drawn, "v")
    said = model.labels.scorer(drawn)[:, 0]
    assert np.corrcoef(said, truth(u, v))[0, 1] > 0.9
    assert np.corrcoef(middles(drawn, "y"), truth(u, v))[0, 1] > 0.85
    assert np.corrcoef(u, v)[0, 1] > 0.8
    # The law of the target stays, with the spread that no input explains.
    found = table(5000)["y"].to_numpy()
    assert middles(drawn, "y").std() == pytest.approx(found.std(), rel=0.05)


def test_with_little_to_spend_it_still_draws():
    with opened(epsilon=0.01) as ledger:
        model = Lk2ss().fit(ledger)
    drawn = model.sample(500, np.random.default_rng(0))
    assert all((drawn[name] < size).all() for name, size in model.domain.sizes.items())


def classes(labels, *, null=False):
    target = Column(
        name="y", kind=Kind.CATEGORICAL, categories=("no", "yes"), null=null, role=Role.TARGET
    )
    schema = Schema((target, *(column for column in SCHEMA if column.name != "y")), rows_bound=9999)
    data = table(len(labels)).set_column(0, "y", pa.array(labels, pa.string()))
    return opened(data, schema, epsilon=30.0)


def test_classes_follow_the_inputs():
    u = table(4000)["u"].to_numpy()
    with classes(np.where(u > 0.5, "yes", "no").tolist()) as ledger:
        model = Lk2ss().fit(ledger)
    assert isinstance(model.labels, ClassLabels)
    drawn = model.sample(4000, np.random.default_rng(0))
    assert np.mean((drawn["y"] == 1) == (middles(drawn, "u") > 0.5)) > 0.85
    assert np.mean(drawn["y"]) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    "labels",
    [["no"] * 90, ["no"] * 89 + ["yes"], [None] * 90, ["no", None, "yes"] * 30],
    ids=["one class", "a class of one row", "none known", "some known"],
)
def test_odd_classes_are_absorbed(labels):
    with classes(labels, null=True) as ledger:
        model = Lk2ss().fit(ledger)
        assert ledger.rest() < Fraction(1, 10**6)
    drawn = model.sample(300, np.random.default_rng(0))
    assert {*drawn["y"].tolist()} <= {0, 1, 2}
    missing = sum(label is None for label in labels) / len(labels)
    assert np.mean(drawn["y"] == 2) == pytest.approx(missing, abs=0.15)


def test_missing_numbers_and_targets_are_absorbed():
    rng = np.random.default_rng(0)
    gone = [rng.random(3000) < 0.2 for _ in range(2)]
    data = table(3000)
    for place, name in enumerate(("y", "u")):
        masked = pa.array(data[name].to_numpy(), mask=gone[place])
        data = data.set_column(place, name, masked)
    schema = Schema(
        (real("y", -2, 4, Role.TARGET, null=True), real("u", 0, 1, null=True), *(list(SCHEMA)[2:]))
    )
    with opened(data, schema, epsilon=20.0) as ledger:
        model = Lk2ss().fit(ledger)
    drawn = model.sample(4000, np.random.default_rng(0))
    for name in ("y", "u"):
        assert np.mean(drawn[name] == 32) == pytest.approx(0.2, abs=0.04)


def test_a_target_alone_is_counted():
    schema = Schema((real("y", -2, 4, Role.TARGET),), rows_bound=1000)
    with opened(table().select(["y"]), schema) as ledger:
        drawn = Lk2ss().fit(ledger).sample(10, np.random.default_rng(0))
    assert list(drawn) == ["y"]


def test_a_target_of_one_value_is_absorbed():
    single = Column(
        name="y", kind=Kind.CATEGORICAL, categories=("x",), null=False, role=Role.TARGET
    )
    schema = Schema((single, real("u", 0, 1)), rows_bound=1000)
    data = pa.table({"y": ["x"] * 50, "u": np.linspace(0, 1, 50)})
    with opened(data, schema) as ledger:
        model = Lk2ss().fit(ledger)
    assert {*model.sample(20, np.random.default_rng(0))["y"].tolist()} == {0}


@pytest.mark.parametrize("stage", [None, Mst()], ids=["a copula", "a tree"])
def test_stated_independences_are_kept(stage):
    release = private(
        table(2000), Lk2ss(stage), constraints=["y _||_ town | u"], epsilon=5.0, seed=1
    )
    told = release.certificate.public[INPUTS]
    assert "town" in told["left out"]
    if stage is None:  # a copula ties all inputs: others would tell of the town
        assert told["columns"] == list(release.model.inputs) == ["u"]
    else:
        assert model_information(release.model, Independence("y", "town", "u")) < 1e-9
    assert any("do not go by" in note for note in release.notes)


def test_where_inputs_are_independent_of_each_other_no_correlation_is_asked_for():
    release = private(table(2000), constraints=["u _||_ town"], epsilon=5.0)
    maps = [entry.request.get("row_map") for entry in release.certificate.entries]
    assert "NormalScores" not in maps
    assert model_information(release.model, Independence("u", "town")) < 1e-9


@pytest.mark.parametrize(
    "options",
    [{"protect_outliers": True}, {"protect_where": ["u >= 0.9"]}],
    ids=["outliers", "a condition"],
)
def test_some_may_lose_less(options):
    release = private(table(1500), rows=20, **options)
    assert not release.certificate.not_private
    asked = [entry.request for entry in release.certificate.entries]
    assert any(one.get("row_map") == "InducingFeatures" and "weights" in one for one in asked)


def test_where_there_are_few_rows_a_person_is_told():
    few = private(rows=20)
    assert any("learned from little but noise" in note for note in few.notes)
    many = private(table(6000), epsilon=8.0, rows=20)
    assert not any("little but noise" in note for note in many.notes)


def test_a_plan_tells_which_mode_suits():
    small = plan(Schema(tuple(SCHEMA), rows_bound=1000), epsilon=1.0, mechanism=Lk2ss(), rows=1000)
    assert any("mode=lid" in note for note in small.notes)
    large = plan(SCHEMA, epsilon=1.0, mechanism=Lk2ss(), rows=50_000)
    assert not any("mode=lid" in note for note in large.notes)


def test_of_mode_lid_there_is_nothing_to_plan():
    with pytest.raises(BadInput, match=r"nothing to plan.*mode=dp"):
        plan(SCHEMA, epsilon=1.0, mechanism=Lk2ss(mode="lid"), rows=20_000)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Lk2ss(mode="private"), "mode is private; give one of dp, lid"),
        (lambda: Lk2ss(mode=None), "mode is None; give one of dp, lid"),
        (lambda: Lk2ss(response="forest"), "response is forest; give one of kernel-ridge"),
        (lambda: Lk2ss(response=3), "such as KernelRidge"),
        (lambda: Lk2ss(first_stage="mst"), "as a value, such as Mst"),
        (lambda: Lk2ss(hybrid=0.5), "hybrid takes a Hybrid"),
        (lambda: Lk2ss(kernel_labels=3), "kernel_labels takes a KernelLabelModel"),
        (lambda: Lk2ss(Uniform()), "look at real rows"),
        (lambda: Lk2ss(Weibull()), "look at real rows"),
        (lambda: Lk2ss(Cauchy()), "look at real rows"),
        (lambda: Lk2ss(split=0.0), "between 0 and 1"),
        (lambda: Lk2ss(split=1.0), "between 0 and 1"),
        (lambda: Lk2ss(split=float("nan")), "split"),
        (lambda: KernelLabelModel(points=-1), "points"),
        (lambda: KernelLabelModel(length=0.0), "length"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(BadInput, match=message):
        make()


@pytest.mark.parametrize("mode", Mode)
def test_a_target_is_needed(mode):
    with pytest.raises(BadInput, match="--target"):
        lid(target=None, mechanism=Lk2ss(mode=mode))
    with pytest.raises(UnknownColumn, match="'z'"):
        lid(target="z", mechanism=Lk2ss(mode=mode))


def test_the_inputs_method_is_checked_too():
    with pytest.raises(BadInput, match="--target"):
        Lk2ss(Prism()).check(["u"], None)
    Lk2ss(Copula()).check(["u", "y"], "y")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Lk2ss(DpdSyn()),
        lambda: Lk2ss(Lk2ss()),
        lambda: DpdSyn(features=Lk2ss()),
        lambda: DpdSyn(features=Lk2ss(mode="lid")),
    ],
)
def test_a_method_that_labels_rows_gives_no_features(make):
    with pytest.raises(BadInput, match="labels rows itself"):
        make()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hybrid": Hybrid(alpha=0.9)}, r"hybrid \(alpha, lid, eta, matching\): only mode=lid"),
        ({"response": "adaboost", "residual": True}, "response, residual: only mode=lid"),
        ({"split": 0.3, "mode": "lid"}, "split: only mode=dp"),
    ],
)
def test_what_the_mode_has_no_use_for_is_refused(parameters, message):
    with pytest.raises(BadInput, match=message):
        Lk2ss(**parameters)


def test_a_certificate_lists_what_the_mode_uses():
    release = synthesize(table(), epsilon=1.0, schema=SCHEMA, mechanism=Lk2ss())
    assert {*release.certificate.public["method"]["parameters"]} == {
        *("kernel_labels", "mode", "split")
    }


def test_missing_targets_do_not_make_the_others_noisier():
    rows = 20_000
    data = table(rows)
    some = np.where(np.random.default_rng(5).random(rows) < 0.5, np.nan, data["y"].to_numpy())
    schema = Schema((real("y", -2, 4, Role.TARGET, null=True), *SCHEMA.columns[1:]))
    spread = []
    for target in (data["y"].to_numpy(), some):
        taken = data.set_column(0, "y", pa.array(target, from_pandas=True))
        made = synthesize(
            taken,
            epsilon=20.0,
            schema=schema,
            mechanism=Lk2ss(),
            rows=10,
            accept_weak_guarantee=True,
        )
        spread.append(made.model.labels.spread)
    # Of eight runs the largest ratio was 1.8.
    assert spread[1] < 2.5 * spread[0]


def test_labels_that_are_copied_are_named_in_the_notes():
    release = lid()
    assert any("Copied as they are: town" in note for note in release.notes)
    drawn = lid(mechanism=Lk2ss(mode="lid", keep_labels=False))
    assert not any("Copied" in note for note in drawn.notes)


def test_odd_names_and_huge_numbers_are_absorbed():
    u = np.linspace(0, 1, 60)
    odd = pa.table({"self": u, "big": np.where(u > 0.9, 1e308, u), "y": np.sin(3 * u)})
    release = lid(odd)
    assert np.isfinite(release.table["y"].to_numpy()).all()
    assert release.table["big"].null_count == (u > 0.9).sum()


def test_a_unit_too_large_for_noise_is_absorbed():
    data = table().append_column("who", pa.array(np.arange(ROWS)))
    who = Column(name="who", kind=Kind.INTEGER, role=Role.ID)
    schema = Schema((*SCHEMA.columns, who), rows_bound=10**5)
    release = synthesize(
        data, epsilon=0.01, schema=schema, mechanism=Lk2ss(), unit="person:who:1000", rows=5
    )
    assert not release.certificate.not_private


def test_more_points_suit_more_rows_and_a_larger_budget():
    model = KernelLabelModel()
    counts = [model.count(rows, Fraction(1, 10)) for rows in (10, 1000, 10**4, 10**7)]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (8, 256)
    assert KernelLabelModel(points=40).count(10, Fraction(1)) == 40
