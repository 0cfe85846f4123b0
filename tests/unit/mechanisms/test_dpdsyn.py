"""DPDSyn: one account for features and labels, labels that follow the task, and odd tables."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from helpers.tables import load as load_into
from understudy.column import Column, Kind, Role
from understudy.errors import BadInput, UnknownColumn
from understudy.knowledge import Independence
from understudy.mechanisms.dpdsyn import DpdSyn
from understudy.mechanisms.label_model import Label, LabelModel
from understudy.mechanisms.labelling import INPUTS
from understudy.mechanisms.mst import Mst
from understudy.mechanisms.prism import Prism
from understudy.model.information import conditional_information, model_information
from understudy.model.labelled import LabelledModel
from understudy.model.labels import ClassLabels, NumberLabels
from understudy.model.product import ProductModel
from understudy.pipeline import synthesize
from understudy.plan import plan
from understudy.privacy.accountant import cost
from understudy.privacy.budget import Budget
from understudy.privacy.folder import verify
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.table import PrivateTable
from understudy.privacy.weights import UNIT
from understudy.release import load
from understudy.report.public import choices
from understudy.schema import Schema

ROWS = 4000


def column(name, size=4, role=Role.FEATURE, **facts):
    facts = {"kind": Kind.INTEGER, "bounds": (0, size - 1), "null": False} | facts
    return Column(name=name, role=role, **facts)


def schema_of(target, *others):
    return Schema((target, *others), rows_bound=10**5)


SCHEMA = schema_of(
    Column(name="y", kind=Kind.CATEGORICAL, categories=("no", "yes"), null=False, role=Role.TARGET),
    column("a"),
    column("b"),
    column("noise"),
)


def table(rows=ROWS, seed=0):
    """y goes by a alone; b goes with a."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, rows)
    y = np.where(rng.random(rows) < np.array([0.05, 0.2, 0.8, 0.95])[a], "yes", "no")
    b = np.where(rng.random(rows) < 0.8, a, rng.integers(0, 4, rows))
    return pa.table({"y": y, "a": a, "b": b, "noise": rng.integers(0, 4, rows)})


def opened(data=None, schema=SCHEMA, epsilon=3.0):
    data = table() if data is None else data
    return Ledger.open(data, schema, Budget(epsilon, 1e-9), source=SeededForTests(1))


def share_of_yes(drawn):
    return [float(np.mean(drawn["y"][drawn["a"] == code] == 1)) for code in range(4)]


@pytest.mark.parametrize(
    "label_model", [*Label, LabelModel(rate=0.1), LabelModel(tries=4)], ids=str
)
def test_labels_follow_what_predicts_them(label_model):
    with opened() as ledger:
        model = DpdSyn(label_model=label_model).fit(ledger)
    drawn = model.sample(8000, np.random.default_rng(0))
    np.testing.assert_allclose(share_of_yes(drawn), [0.05, 0.2, 0.8, 0.95], atol=0.13)
    assert np.mean(drawn["y"]) == pytest.approx(0.5, abs=0.03)


def test_features_and_labels_share_one_budget():
    with opened() as ledger:
        whole = ledger.rest()
        DpdSyn(split=0.7).fit(ledger)
        doors = [entry.request["door"] for entry in ledger.entries]
        assert doors == ["measure", "measure", "train", "sum"]
        assert 0 <= ledger.rest() < whole * Fraction(1, 10**6)
        costs = [cost(entry.event, ledger.budget.order) for entry in ledger.entries]
        labels, features, training, calibration = costs
        assert float((training + calibration) / whole) == pytest.approx(0.7, rel=1e-6)
        assert float(calibration / training) == pytest.approx(0.05 / 0.95, rel=1e-6)
        assert float(labels / (labels + features)) == pytest.approx(0.02, rel=1e-6)


@pytest.mark.parametrize("method", [Mst(), Prism()], ids=lambda one: one.name)
def test_features_come_from_any_method(method):
    with opened() as ledger:
        model = DpdSyn(method).fit(ledger)
        asked = [clique for entry in ledger.entries for clique in entry.request.get("cliques", [])]
    assert isinstance(model, LabelledModel)
    # Only a method that cannot do without it counts the target with others.
    assert any("y" in clique and len(clique) > 1 for clique in asked) == (method == Prism())
    drawn = model.sample(8000, np.random.default_rng(0))
    assert list(drawn) == ["y", "a", "b", "noise"]
    assert np.mean(drawn["a"] == drawn["b"]) > 0.6
    np.testing.assert_allclose(share_of_yes(drawn), [0.05, 0.2, 0.8, 0.95], atol=0.13)


def spread_apart(rows=ROWS):
    """Columns that go together: drawn by themselves, rows are less extreme, and yes is rarer."""
    rng = np.random.default_rng(3)
    a = rng.choice(4, rows, p=[0.7, 0.1, 0.1, 0.1])
    y = np.where(rng.random(rows) < np.where(a == 0, 0.02, 0.97), "yes", "no")
    return pa.table({"y": y, "a": a, "b": a, "noise": a})


def test_labels_are_right_for_rows_and_not_moved_unless_asked():
    shares = {}
    for match in (False, True):
        method = DpdSyn(match=match)
        with opened(spread_apart(), epsilon=20.0) as ledger:
            model = method.fit(ledger)
        told = any("more or less common" in note for note in method.remarks(model, "y"))
        assert told != match
        shares[match] = np.mean(model.sample(20_000, np.random.default_rng(0))["y"])
    assert shares[True] == pytest.approx(0.305, abs=0.02)
    assert abs(shares[False] - shares[True]) > 0.02


@pytest.mark.untraced
@pytest.mark.parametrize("label_model", [Label.SVM, Label.MLP])
def test_a_model_that_is_too_sure_is_told_how_sure_it_may_be(label_model):
    apart = {}
    for part in (0.0, 0.05):
        with opened(table(20_000), epsilon=10.0) as ledger:
            model = DpdSyn(label_model=LabelModel(label_model, calibration=part)).fit(ledger)
        rows = {"a": np.arange(4), "b": np.arange(4), "noise": np.arange(4)}
        chances = model.labels.chances(rows)[:, 1]
        apart[part] = np.abs(chances - [0.05, 0.2, 0.8, 0.95]).max()
    assert apart[0.05] < min(0.1, 0.7 * apart[0.0] + 0.03)


def test_settings_are_tried_from_the_same_budget_and_the_certificate_lists_them(tmp_path):
    said = []
    release = synthesize(
        table(),
        epsilon=3.0,
        schema=SCHEMA,
        mechanism=DpdSyn(label_model=LabelModel(tries=4.0)),
        rows=20,
        tell=said.append,
    )
    assert not [line for line in said if line.startswith("Training")]
    certificate = release.certificate
    assert [entry.request["door"] for entry in certificate.entries][-2] == "select_best"
    assert certificate.budget.rho * (1 - Fraction(1, 10**6)) < certificate.spent
    assert certificate.spent <= certificate.budget.rho
    request = certificate.entries[-2].request
    assert request["candidates"] == len(request["settings"]) == 6
    assert len({(one["clip"], one["learning_rate"]) for one in request["settings"]}) == 6
    release.save(tmp_path / "release")
    assert all(check.passed for check in verify(tmp_path / "release"))
    page = (tmp_path / "release" / "report.html").read_text("utf-8")
    assert "the best of about 4 runs of 6 settings towards y" in page


def test_likeliest_labels_are_surer_than_any_model():
    with opened() as ledger:
        model = DpdSyn(hard=True).fit(ledger)
    assert {*share_of_yes(model.sample(2000, np.random.default_rng(0)))} == {0.0, 1.0}


def test_where_independences_name_the_target_labels_go_by_what_keeps_them():
    release = synthesize(
        table(),
        epsilon=5.0,
        schema=SCHEMA,
        mechanism=DpdSyn(Mst()),
        constraints=["y _||_ b | noise"],
        seed=1,
    )
    told = release.certificate.public[INPUTS]
    assert "b" in told["left out"]
    assert set(told["columns"]) | set(told["left out"]) == {"a", "b", "noise"}
    assert any("do not go by" in note for note in release.notes)
    drawn = release.model.sample(20_000, np.random.default_rng(0))
    by_b = [np.mean(drawn["y"][drawn["b"] == code]) for code in range(4)]
    assert max(by_b) - min(by_b) < 0.04
    assert model_information(release.model, Independence("y", "b", "noise")) < 1e-9


@pytest.mark.parametrize("features", [None, Mst()], ids=["single columns", "a tree"])
def test_how_much_labels_tell_is_computed_from_the_model(features):
    with opened() as ledger:
        model = DpdSyn(features).fit(ledger)
    drawn = model.sample(200_000, np.random.default_rng(0))
    for other in ("a", "b", "noise"):
        counts = np.zeros((model.domain.sizes["y"], model.domain.sizes[other], 1))
        np.add.at(counts, (drawn["y"].astype(int), drawn[other].astype(int), 0), 1)
        found = model_information(model, Independence("y", other))
        assert found == pytest.approx(conditional_information(counts), abs=0.008)
    assert model_information(model, Independence("y", "a")) > 0.2
    tied = model_information(model, Independence("a", "b"))
    assert (tied > 0.2) == (features is not None)
    given = model_information(model, Independence("y", "b", "a"))
    assert given < model_information(model, Independence("y", "a"))


def test_weights_reach_training():
    with opened() as ledger:
        light = ledger.weighted(ledger.weigh({"a": [0, 0, 0, 1, 1]}, [1], [UNIT // 2, UNIT // 4]))
        DpdSyn().fit(light)
        assert all(entry.request["weights"]["most"] == UNIT // 2 for entry in ledger.entries)
    release = synthesize(
        table(500),
        epsilon=2.0,
        schema=SCHEMA,
        mechanism="dpdsyn",
        protect_where=["a >= 3"],
        rows=20,
    )
    assert not release.certificate.not_private


# --- targets of every kind ------------------------------------------------------------------------


def test_of_many_classes_nothing_is_calibrated_and_nothing_refused():
    names = tuple(f"c{k}" for k in range(400))
    target = Column(name="y", kind=Kind.CATEGORICAL, categories=names, null=False, role=Role.TARGET)
    data = pa.table({"y": [names[k % 400] for k in range(500)], "a": [k % 4 for k in range(500)]})
    with opened(data, schema_of(target, column("a"))) as ledger:
        DpdSyn(label_model=LabelModel(most_steps=3)).fit(ledger)
        assert [entry.request["door"] for entry in ledger.entries][-1] == "train"


def test_tries_that_cannot_be_paid_for_are_refused_before_anything_is_spent():
    with opened(epsilon=1.0) as ledger:
        with pytest.raises(BadInput, match="larger split"):
            DpdSyn(split=0.05, label_model=LabelModel(tries=20)).fit(ledger)
        assert not ledger.entries


def test_where_no_column_may_tell_labels_the_note_names_all():
    release = synthesize(
        table(400),
        epsilon=5.0,
        schema=SCHEMA,
        mechanism=DpdSyn(),
        constraints=["y _||_ a, b, noise"],
        rows=20,
    )
    assert release.model.inputs == ()
    assert any("do not go by any other column" in note for note in release.notes)
    assert model_information(release.model, Independence("y", "a")) < 1e-9


def test_several_classes():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, ROWS)
    kind = np.array(["u", "v", "w"])[np.minimum(a, 2)]
    target = Column(
        name="y", kind=Kind.CATEGORICAL, categories=("u", "v", "w"), null=False, role=Role.TARGET
    )
    for label_model in Label:
        with opened(pa.table({"y": kind, "a": a}), schema_of(target, column("a"))) as ledger:
            model = DpdSyn(label_model=label_model).fit(ledger)
        assert isinstance(model.labels, ClassLabels)
        drawn = model.sample(4000, np.random.default_rng(0))
        assert np.mean(drawn["y"] == np.minimum(drawn["a"], 2)) > 0.75


def test_numbers():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, ROWS)
    y = np.clip(10 * a + rng.normal(5, 4, ROWS), 0, 40)
    target = column("y", kind=Kind.REAL, bounds=(0, 40), bins=20, null=True, role=Role.TARGET)
    data = pa.table({"y": pa.array(y, mask=rng.random(ROWS) < 0.1), "a": a})
    with opened(data, schema_of(target, column("a"))) as ledger:
        model = DpdSyn().fit(ledger)
    assert isinstance(model.labels, NumberLabels)
    drawn = model.sample(8000, np.random.default_rng(0))
    assert np.mean(drawn["y"] == 20) == pytest.approx(0.1, abs=0.02)
    middles = [drawn["y"][(drawn["a"] == code) & (drawn["y"] < 20)].mean() for code in range(4)]
    np.testing.assert_allclose(middles, [2.1, 7, 12, 17], atol=1.5)


@pytest.mark.parametrize(
    "labels",
    [["no"] * 50, ["no"] * 49 + ["yes"], [None] * 50, ["no"] * 25 + [None] * 25],
    ids=["one class", "a class of one row", "none known", "some known"],
)
@pytest.mark.parametrize("label_model", Label)
def test_odd_targets_are_absorbed(labels, label_model):
    target = Column(
        name="y", kind=Kind.CATEGORICAL, categories=("no", "yes"), null=True, role=Role.TARGET
    )
    data = pa.table({"y": pa.array(labels, pa.string()), "a": [0, 1] * 25})
    with opened(data, schema_of(target, column("a"))) as ledger:
        model = DpdSyn(label_model=label_model).fit(ledger)
    assert set(model.sample(100, np.random.default_rng(0))["y"].tolist()) <= {0, 1, 2}


def test_a_target_of_one_value_or_alone_is_absorbed():
    single = Column(
        name="y", kind=Kind.CATEGORICAL, categories=("x",), null=False, role=Role.TARGET
    )
    with opened(pa.table({"y": ["x"] * 9, "a": [1] * 9}), schema_of(single, column("a"))) as ledger:
        model = DpdSyn().fit(ledger)
        assert set(model.sample(20, np.random.default_rng(0))["y"].tolist()) == {0}
    with opened(pa.table({"y": ["x"] * 9}), schema_of(single)) as ledger:
        assert isinstance(DpdSyn().fit(ledger), ProductModel)


def test_a_release_comes_back_and_draws_the_same(tmp_path):
    release = synthesize(table(300), epsilon=1.0, schema=SCHEMA, mechanism=DpdSyn(Mst()), rows=40)
    release.save(tmp_path / "release")
    back = load(tmp_path / "release")
    assert back.sample(30, seed=3).equals(release.sample(30, seed=3))
    page = (tmp_path / "release" / "report.html").read_text("utf-8")
    assert "could not be made" not in page


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DpdSyn(label_model="forest"), "no model of labels 'forest'. Known: logistic"),
        (lambda: DpdSyn(split=0.0), "between 0 and 1"),
        (lambda: DpdSyn(split=1.0), "between 0 and 1"),
        (lambda: DpdSyn(features="mst"), "as a value"),
        (lambda: LabelModel(momentum=1.0), "momentum"),
        (lambda: LabelModel(rate=1.5), "rate"),
        (lambda: LabelModel(hidden=0), "hidden"),
        (lambda: LabelModel(calibration=1.0), "calibration"),
        (lambda: LabelModel(tries=-1.0), "tries"),
        (lambda: LabelModel(tries=1.0), "above 1"),
        (lambda: LabelModel(tries=21.0), "up to 20"),
        (lambda: LabelModel(tries=5.0, rate=0.1), "no rate"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(BadInput, match=message):
        make()


def test_a_target_is_needed():
    with pytest.raises(BadInput, match="name it with --target"):
        DpdSyn().check(["a"], None)
    with pytest.raises(UnknownColumn):
        DpdSyn().check(["a"], "y")


def test_the_longer_a_run_the_less_noise_there_is():
    usual = LabelModel()
    few, small = usual.steps(1000, Fraction(1, 1000)), usual.steps(1000, Fraction(1, 10**7))
    many = usual.steps(10**6, Fraction(1, 10))
    assert small[0] <= few[0] <= many[0] == usual.most_steps
    assert small[1] <= few[1] <= many[1]


@pytest.mark.parametrize(("rows", "wished"), [(1000, 0.8), (20_000, 0.6), (10**6, 0.4)])
def test_plans_advise_a_split_by_rows_and_budget(rows, wished):
    made = plan(replace(SCHEMA, rows_bound=None), epsilon=1.0, mechanism=DpdSyn(), rows=rows)
    told = [note for note in made.notes if "Advised: split=" in note]
    assert [f"split={wished}" in note for note in told] == ([] if wished == 0.6 else [True])
    assert not DpdSyn(split=wished).advice(Budget(1.0, 1e-9).rho, rows)


def test_how_far_training_has_come_is_told_by_steps_alone():
    told = []
    synthesize(table(), epsilon=3.0, schema=SCHEMA, mechanism=DpdSyn(), rows=5, tell=told.append)
    steps = [line for line in told if line.startswith("Training")]
    assert len(steps) == 9
    assert all(re.fullmatch(r"Training: \d+ of \d+ steps", line) for line in steps)


def test_rows_of_a_database_are_coded_once_for_all_steps(engine, monkeypatch):
    reads = []
    whole = PrivateTable._streamed

    def streamed(self):
        reads.append(1)
        return whole(self)

    monkeypatch.setattr(PrivateTable, "_streamed", streamed)
    stored = load_into(engine, table(300), "labelled")
    release = synthesize(stored, epsilon=2.0, schema=SCHEMA, mechanism=DpdSyn(), rows=20)
    (training,) = (e for e in release.certificate.entries if e.request["door"] == "train")
    assert training.request["steps"] > 5
    assert len(reads) == 2  # and once more, to see how sure the model may be


def test_what_labels_go_by_came_of_answers_and_is_no_choice_on_the_page():
    release = synthesize(table(300), epsilon=1.0, schema=SCHEMA, mechanism=DpdSyn(Mst()), rows=9)
    assert INPUTS in release.certificate.public
    assert INPUTS not in choices(release.certificate)


def test_a_column_of_too_many_codes_is_no_input_of_labels():
    # One input for each code would take 32 GB.
    columns = (
        Column(name="x", kind=Kind.INTEGER, bounds=(0, 100_000), bins=2**16, null=True),
        Column(name="y", kind=Kind.CATEGORICAL, categories=("a", "b"), null=False),
        Column(name="z", kind=Kind.BOOLEAN, null=False),
    )
    table = pa.table({"x": range(40), "y": ["a", "b"] * 20, "z": [True, False] * 20})
    for named in (columns, (columns[0], columns[2])):
        made = synthesize(
            table.select([column.name for column in named]),
            epsilon=1.0,
            schema=Schema(named),
            target="z",
            mechanism="dpdsyn",
            rows=5,
        )
        assert made.certificate.public[INPUTS]["left out"] == ["x"]
        assert "x" not in made.model.inputs or len(named) == 2
