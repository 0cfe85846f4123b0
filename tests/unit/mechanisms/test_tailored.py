"""The default: which labels it gives by which rule, one budget for all, and every promise kept."""

import html
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from understudy.column import Column, Kind, Role
from understudy.errors import BadInput, UnknownColumn
from understudy.knowledge import Independence
from understudy.mechanisms.label_model import Label, LabelModel
from understudy.mechanisms.labelling import INPUTS
from understudy.mechanisms.tailored import HOW_LABELS, LabelsBy, Tailored
from understudy.model.information import model_information
from understudy.model.labelled import LabelledModel
from understudy.model.merged import MergedModel
from understudy.model.product import ProductModel
from understudy.pipeline import synthesize
from understudy.privacy.accountant import cost
from understudy.privacy.answers import Measurement
from understudy.privacy.budget import Budget
from understudy.privacy.folder import verify
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.unit import Person, Record, Replacement
from understudy.release import load
from understudy.report.public import how_labels
from understudy.schema import Schema
from understudy.select.label_inputs import input_tables
from understudy.select.labels_told import LabelsTold
from understudy.select.regimes import Causal
from understudy.separation import Separation
from understudy.workload import Weights

ROWS = 4000
CHANCES = [0.05, 0.2, 0.8, 0.95]


def column(name, role=Role.FEATURE, **facts):
    facts = {"kind": Kind.INTEGER, "bounds": (0, 3), "null": False} | facts
    return Column(name=name, role=role, **facts)


YES = {"kind": Kind.CATEGORICAL, "categories": ("no", "yes"), "bounds": None}
SCHEMA = Schema(
    (column("y", Role.TARGET, **YES), column("a"), column("b"), column("other")), rows_bound=10**5
)


def table(rows=ROWS, seed=0):
    """y goes by a alone; b goes with a."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, rows)
    y = np.where(rng.random(rows) < np.array(CHANCES)[a], "yes", "no")
    b = np.where(rng.random(rows) < 0.8, a, rng.integers(0, 4, rows))
    return pa.table({"y": y, "a": a, "b": b, "other": rng.integers(0, 4, rows)})


def opened(data=None, schema=SCHEMA, epsilon=3.0):
    data = table() if data is None else data
    return Ledger.open(data, schema, Budget(epsilon, 1e-9), source=SeededForTests(1))


def fitted(method, **given):
    with opened(**given) as ledger:
        model = method.fit(ledger)
        doors = [entry.request["door"] for entry in ledger.entries]
        whole = ledger.budget.rho
        spent = sum(cost(entry.event, ledger.budget.order) for entry in ledger.entries)
    assert 0 <= whole - spent < whole * Fraction(1, 10**5)
    return model, doors


@pytest.mark.parametrize("labels", LabelsBy)
def test_labels_follow_what_predicts_them_wherever_they_come_from(labels):
    model, doors = fitted(Tailored(labels=labels), epsilon=5.0)
    drawn = model.sample(8000, np.random.default_rng(0))
    assert list(drawn) == ["y", "a", "b", "other"]
    shares = [np.mean(drawn["y"][drawn["a"] == code] == 1) for code in range(4)]
    np.testing.assert_allclose(shares, CHANCES, atol=0.15)
    assert np.mean(drawn["y"]) == pytest.approx(0.5, abs=0.04)
    assert np.mean(drawn["a"] == drawn["b"]) > 0.6
    assert ("train" in doors) == (labels in {LabelsBy.RULE, LabelsBy.TRAINED})
    assert isinstance(model, MergedModel if labels is LabelsBy.JOINT else LabelledModel)


@pytest.mark.parametrize(
    ("rows", "epsilon", "trains"), [(300, 1.0, False), (4000, 0.2, False), (4000, 5.0, True)]
)
def test_training_begins_where_rows_and_budget_are_worth_it(rows, epsilon, trains):
    _, doors = fitted(Tailored(), data=table(rows), epsilon=epsilon)
    assert ("train" in doors) == trains


def test_training_gets_its_part_of_the_budget_and_goes_on_from_the_joint_model():
    with opened() as ledger:
        whole = ledger.rest()
        Tailored(labels="trained", split=0.3).fit(ledger)
        costs = {e.request["door"]: cost(e.event, ledger.budget.order) for e in ledger.entries}
        assert float((costs["train"] + costs["sum"]) / whole) == pytest.approx(0.3, rel=1e-6)
        (training,) = (e.request for e in ledger.entries if e.request["door"] == "train")
        assert training["begun"]


@pytest.mark.parametrize(
    "method",
    [
        Tailored(also=Weights({"b": 1.0})),
        Tailored(regime=Causal(["a"])),
        Tailored(regime={"y": Causal(["a"])}),
    ],
    ids=["several targets", "causes", "causes of one"],
)
def test_what_only_the_joint_model_keeps_comes_from_it(method):
    model, doors = fitted(method)
    assert isinstance(model, MergedModel)
    assert "train" not in doors


@pytest.mark.parametrize("labels", LabelsBy)
def test_numbers_follow_what_predicts_them(labels):
    target = column("y", Role.TARGET, kind=Kind.REAL, bounds=(0.0, 30.0), bins=30)
    schema = Schema((target, *SCHEMA.columns[1:]), rows_bound=10**5)
    rows = table()
    numbers = pa.array(rows["a"].to_numpy() * 7.0 + 1)
    rows = rows.set_column(0, "y", numbers)
    model, doors = fitted(Tailored(labels=labels), data=rows, schema=schema)
    drawn = model.sample(4000, np.random.default_rng(0))
    assert np.corrcoef(drawn["y"], drawn["a"])[0, 1] > 0.9
    assert ("train" in doors) == (labels in {LabelsBy.RULE, LabelsBy.TRAINED})


def test_classes_may_be_many():
    facts = {"kind": Kind.CATEGORICAL, "categories": tuple("pqrs"), "bounds": None}
    schema = Schema((column("y", Role.TARGET, **facts), *SCHEMA.columns[1:]), rows_bound=10**5)
    rows = table()
    letters = pa.array(np.array([*"pqrs"])[rows["a"].to_numpy()])
    model, _ = fitted(Tailored(), data=rows.set_column(0, "y", letters), schema=schema)
    drawn = model.sample(4000, np.random.default_rng(0))
    assert np.mean(drawn["y"] == drawn["a"]) > 0.9


def test_without_a_target_a_tree_of_pairs_is_kept():
    schema = Schema(tuple(SCHEMA.columns[1:]), rows_bound=10**5)
    rows = table().drop_columns(["y"])
    model, doors = fitted(Tailored(), data=rows, schema=schema, epsilon=2.0)
    assert {*doors} == {"measure", "select"}
    drawn = model.sample(4000, np.random.default_rng(0))
    assert np.mean(drawn["a"] == drawn["b"]) > 0.7
    assert Tailored().remarks(model, None) == ()


def test_a_single_column_is_counted():
    schema = Schema((SCHEMA.columns[0],), rows_bound=10**5)
    model, _ = fitted(Tailored(), data=table().select(["y"]), schema=schema)
    assert np.mean(model.sample(4000, np.random.default_rng(0))["y"]) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("labels", ["trained", "shown"])
def test_independences_hold_and_what_labels_do_not_go_by_is_told(labels):
    apart = Independence("y", "b", ["a"])
    method = Tailored(labels=labels)
    with opened() as ledger:
        model = method.fit(ledger, allowed=Separation([apart]))
        certificate = ledger.close()
    assert certificate.public[INPUTS] == {
        "columns": ["a", "other"],
        "left out": ["b"],
        "by": labels,
    }
    assert model_information(model, apart) <= 1e-9
    assert any("do not go by b" in remark for remark in method.remarks(model, "y"))


@pytest.mark.parametrize(
    "apart",
    [
        [Independence("y", name) for name in ("a", "b", "other")],
        [Independence("a", "other", ["y"])],
    ],
    ids=["nothing goes with it", "it is given"],
)
def test_where_labels_may_go_by_nothing_the_joint_model_gets_all(apart):
    with opened() as ledger:
        model = Tailored(labels="trained").fit(ledger, allowed=Separation(apart))
        assert ledger.rest() < ledger.budget.rho * Fraction(1, 10**5)
        assert "train" not in [entry.request["door"] for entry in ledger.entries]
    assert isinstance(model, MergedModel | ProductModel)
    for one in apart:
        assert model_information(model, one) <= 1e-9
    drawn = model.sample(8000, np.random.default_rng(0))
    assert np.mean(drawn["y"]) == pytest.approx(0.5, abs=0.05)


def test_a_release_keeps_every_promise_at_once(tmp_path):
    release = synthesize(
        table(),
        epsilon=4.0,
        delta=1e-6,
        target="y",
        schema=SCHEMA,
        constraints=["y _||_ b | a"],
        protect_outliers=True,
        protect_where=["a >= 3"],
    )
    certificate = release.certificate
    assert certificate.public["method"]["name"] == "tailored"
    assert certificate.epsilon <= 4.0
    assert {cap.where for cap in certificate.caps} == {"a >= 3"}
    assert all(cap.budget.epsilon <= 2.0 for cap in certificate.caps)
    assert model_information(release.model, Independence("y", "b", ["a"])) <= 1e-9
    told = how_labels(certificate)
    assert told.startswith(HOW_LABELS[LabelsBy.TRAINED])
    assert "They go by a" in told
    release.save(tmp_path / "out")
    assert told in html.unescape((tmp_path / "out" / "report.html").read_text("utf-8"))
    assert all(check.passed for check in verify(tmp_path / "out"))
    again = load(tmp_path / "out")
    one, two = (r.model.sample(500, np.random.default_rng(3)) for r in (release, again))
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


@pytest.mark.parametrize(
    "told", [None, 3, [], {}, {"by": []}, {"by": "magic"}, {"by": "shown", "columns": 7}], ids=str
)
def test_what_a_strange_certificate_says_of_labels_is_told_in_words_or_not_at_all(told):
    release = synthesize(table(200), epsilon=1.0, delta=1e-6, target="y", schema=SCHEMA)
    certificate = replace(release.certificate, public={INPUTS: told})
    expected = f"{HOW_LABELS[LabelsBy.SHOWN]}. They go by no column."
    assert how_labels(certificate) in {"", expected}


@pytest.mark.parametrize(
    ("rows", "kind"), [(0, LabelledModel), (1, LabelledModel), (2, LabelledModel)]
)
def test_tables_with_next_to_nothing_in_them(rows, kind):
    model, _ = fitted(Tailored(), data=table(max(rows, 1)).slice(0, rows), epsilon=1.0)
    assert isinstance(model, kind)
    assert len(model.sample(10, np.random.default_rng(0))["y"]) == 10


@pytest.mark.parametrize(("classes", "codes"), [(21, 4), (2, 2001), (1, 4)])
def test_tables_that_no_model_of_the_task_suits_are_left_to_the_joint_model(classes, codes):
    labels = tuple(f"c{k}" for k in range(classes))
    target = column("y", Role.TARGET, kind=Kind.CATEGORICAL, categories=labels, bounds=None)
    wide = column("a", kind=Kind.CATEGORICAL, categories=tuple(range(codes)), bounds=None)
    rng = np.random.default_rng(0)
    rows = pa.table({"y": rng.choice(labels, 500), "a": rng.integers(0, codes, 500)})
    model, doors = fitted(Tailored(labels="trained"), data=rows, schema=Schema((target, wide)))
    assert "train" not in doors
    assert len(model.sample(10, np.random.default_rng(0))["y"]) == 10


def test_somebody_with_many_rows_makes_training_less_worth_it():
    rows = table().append_column("who", pa.array(np.arange(ROWS) // 20))
    who = Column(name="who", kind=Kind.INTEGER, role=Role.ID)
    schema = Schema((*SCHEMA.columns, who), rows_bound=10**5)
    for unit, trains in ((Record(), True), (Person("who", 20), False)):
        budget, source = Budget(5.0, 1e-9), SeededForTests(1)
        with Ledger.open(rows, schema, budget, unit=unit, source=source) as ledger:
            Tailored().fit(ledger)
            doors = [entry.request["door"] for entry in ledger.entries]
        assert ("train" in doors) == trains


def test_one_class_alone_is_drawn_alone():
    rows = table().set_column(0, "y", pa.array(["no"] * ROWS))
    model, _ = fitted(Tailored(), data=rows)
    assert np.mean(model.sample(4000, np.random.default_rng(0))["y"]) < 0.02


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (lambda: Tailored(labels="best"), BadInput, "rule, trained, shown, joint"),
        (lambda: Tailored(split=0.0), BadInput, "between 0 and 1"),
        (lambda: Tailored(split=1.0), BadInput, "between 0 and 1"),
        (lambda: Tailored(also=Weights({"y": 1.0})).check(["y", "a"], "y"), BadInput, "already"),
        (lambda: Tailored(labels="shown", regime=Causal(["a"])), BadInput, "joint model"),
        (lambda: Tailored(regime=Causal(["a"])).check(["y", "a"], None), BadInput, "--target"),
        (lambda: Tailored(labels="shown").check(["y", "a"], None), BadInput, "--target"),
        (lambda: Tailored("z").check(["y", "a"], None), UnknownColumn, "z"),
    ],
)
def test_mistakes_are_refused_with_the_way_out(wrong, error, words):
    with pytest.raises(error, match=words):
        wrong()


def test_other_models_of_the_task_may_be_asked_for():
    for label in Label:
        model, doors = fitted(
            Tailored(labels="trained", label_model=LabelModel(label, most_steps=30))
        )
        assert "train" in doors
        drawn = model.sample(4000, np.random.default_rng(0))
        assert np.mean(drawn["y"][drawn["a"] == 3]) > np.mean(drawn["y"][drawn["a"] == 0]) + 0.3


@pytest.mark.parametrize(("unit", "times"), [(Replacement(), 2), (Person("who", 5), 5)], ids=str)
def test_training_is_as_long_as_its_noise_allows_whoever_is_protected(unit, times):
    # Noise is so many times as large: as if a record had the same with so much less to spend.
    who = Column(name="who", kind=Kind.INTEGER, role=Role.ID)
    schema = Schema((*SCHEMA.columns, who), rows_bound=10**5)
    data = table(20_000).append_column("who", pa.array(range(20_000)))
    model = LabelModel()
    told = []
    for whose in (unit, Record()):
        with Ledger.open(
            data, schema, Budget(0.5, 1e-9), unit=whose, source=SeededForTests(1)
        ) as ledger:
            part = ledger if whose == unit else ledger.split(1 / times**2)[0]
            counted = [Measurement(("y",), np.array([1e4, 1e4, 0.0]), 1.0)]
            labels = LabelsTold.of(ledger.encoding.cells["y"], "y", counted)
            inputs = input_tables(ledger.encoding.cells, ["a"])
            model.taught(part, labels, inputs, 20_000.0)
            told += [one.request["steps"] for one in ledger.entries if "steps" in one.request]
    assert told == [told[0]] * 2
    assert 1 < told[0] < model.most_steps


def test_labels_that_nothing_was_trained_for_are_not_said_to_be_trained():
    made = synthesize(
        table(), schema=SCHEMA, epsilon=1e-6, mechanism=Tailored(labels="trained"), rows=10
    )
    assert not any(entry.request["door"] == "train" for entry in made.certificate.entries)
    assert made.certificate.public[INPUTS]["by"] == "shown"


def test_the_columns_that_labels_are_said_to_go_by_are_those_they_go_by():
    for epsilon in (1e-6, 3.0):
        made = synthesize(table(), schema=SCHEMA, epsilon=epsilon, rows=10)
        told = made.certificate.public[INPUTS]
        assert told["columns"] == [*made.model.inputs]


def test_a_method_and_a_table_have_the_same_target_or_none_of_their_own():
    schema = Schema(tuple(replace(one, role=Role.FEATURE) for one in SCHEMA), rows_bound=10**5)
    made = synthesize(table(), schema=schema, epsilon=1.0, mechanism=Tailored("y"), rows=10)
    assert made.certificate.public["target"] == "y"
    for choices in ({"schema": SCHEMA}, {"schema": schema, "target": "y"}):
        with pytest.raises(BadInput, match="for 'a', and the target is 'y'"):
            synthesize(table(), epsilon=1.0, mechanism=Tailored("a"), **choices)


@pytest.mark.parametrize("cap", [0.4, 1.5])
def test_about_as_many_rows_come_out_as_there_are_whoever_counts_less(cap):
    made = synthesize(
        table(), schema=SCHEMA, epsilon=3.0, protect_where=["a >= 2"], outlier_epsilon=cap
    )
    assert made.certificate.public["risk curve"]["kept"] is None
    assert abs(made.table.num_rows - ROWS) < 0.1 * ROWS
