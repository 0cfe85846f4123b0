"""Labels from a model: as common as they were counted, and as the model says otherwise."""

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.errors import BadInput
from understudy.model.labelled import LabelledModel
from understudy.model.labels import ClassLabels, NumberLabels, Scorer
from understudy.model.product import ProductModel

ROWS = 20_000
INPUTS = {"a": np.eye(3), "b": np.array([[-1.0], [1.0]])}


def codes(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    return {"a": rng.integers(0, 3, rows), "b": rng.integers(0, 2, rows)}


def classes(outputs=1, shares=(0.7, 0.2, 0.1), told=2, **facts):
    layer = np.random.default_rng(1).normal(0, 1, (5, outputs))
    return ClassLabels(
        Scorer(INPUTS, (layer,)),
        np.array([1, 0, 2][: len(shares)]),
        np.array(shares),
        np.zeros(told),
        told,
        **facts,
    )


@pytest.mark.parametrize(("outputs", "told"), [(1, 2), (3, 3)])
def test_labels_are_as_common_as_they_were_counted(outputs, told):
    labels = classes(outputs, told=told).matched(codes())
    drawn = labels.draw(codes(seed=3), np.random.default_rng(2))
    shares = [np.mean(drawn == code) for code in labels.codes]
    np.testing.assert_allclose(shares, [0.7, 0.2, 0.1], atol=0.03 if told == 2 else 0.015)


def test_a_label_that_no_model_tells_comes_as_often_as_it_was_counted():
    labels = classes().matched(codes())
    drawn = labels.draw(codes(), np.random.default_rng(2))
    assert np.mean(drawn == 2) == pytest.approx(0.1, abs=0.01)
    # In every corner alike.
    assert np.mean(drawn[codes()["b"] == 1] == 2) == pytest.approx(0.1, abs=0.015)


def test_labels_are_drawn_by_the_models_chances():
    labels = classes(shares=(0.6, 0.4)).matched(codes())
    here = {"a": np.full(ROWS, 2), "b": np.full(ROWS, 1)}
    chance = labels.chances(here)[0]
    drawn = labels.draw(here, np.random.default_rng(2))
    assert np.mean(drawn == 1) == pytest.approx(chance[0], abs=0.015)
    logit = INPUTS["a"][2] @ labels.scorer.layers[0][:3, 0] + labels.scorer.layers[0][3:, 0].sum()
    assert np.log(chance[1] / chance[0]) == pytest.approx(logit + labels.moved[1] - labels.moved[0])
    hard = (
        classes(shares=(0.6, 0.4), hard=True).matched(codes()).draw(here, np.random.default_rng(2))
    )
    assert len({*hard.tolist()}) == 1


def test_numbers_follow_the_model_and_their_noisy_shares():
    shares = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    scorer = Scorer(INPUTS, (np.array([[0.0], [0], [0], [1.0], [0]]),))
    labels = NumberLabels(scorer, np.array([4, 3, 2, 1, 0]), shares, 5, 0.5, np.zeros(0))
    labels = labels.fitted(codes(), np.random.default_rng(0))
    drawn = labels.draw(codes(seed=5), np.random.default_rng(1))
    np.testing.assert_allclose(np.bincount(drawn, minlength=5) / ROWS, shares[::-1], atol=0.015)
    # Codes here fall with the number; b = 1 makes it large.
    high = codes(seed=5)["b"] == 1
    assert drawn[high].mean() < drawn[~high].mean() - 1


def test_a_hidden_layer_scores_as_by_hand():
    rng = np.random.default_rng(3)
    first, last = rng.normal(size=(5, 4)), rng.normal(size=(5, 1))
    row = {"a": np.array([1]), "b": np.array([0])}
    inputs = np.array([0.0, 1, 0, -1, 1])
    expected = np.append(np.tanh(inputs @ first), 1) @ last
    np.testing.assert_allclose(Scorer(INPUTS, (first, last))(row)[0], expected)


def model():
    shares = {"a": np.full(3, 1 / 3), "b": np.full(2, 1 / 2)}
    features = ProductModel(Domain.of({"a": 3, "b": 2}), 100.0, shares)
    domain = Domain.of({"a": 3, "y": 3, "b": 2})
    return LabelledModel(domain, features, "y", classes().matched(codes()))


def test_a_model_draws_its_columns_in_their_order_and_comes_back():
    whole = model()
    drawn = whole.sample(500, np.random.default_rng(0))
    assert list(drawn) == ["a", "y", "b"]
    again = LabelledModel.from_json(whole.to_json())
    for name, column in again.sample(500, np.random.default_rng(0)).items():
        np.testing.assert_array_equal(column, drawn[name])
    assert (again.inputs, again.total, again.target) == (("a", "b"), 100.0, "y")


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(domain=[["a", 3], ["y", 3], ["b", 3]]),
        lambda c: c["labels"]["model"].update(codes=[0, 0, 1]),
        lambda c: c["labels"]["model"].update(codes=[0, 1, 7]),
        lambda c: c["labels"]["model"].update(codes=[0, 2], shares=[0.5, 0.5]),
        lambda c: c["labels"]["model"].update(factor=float("nan")),
        lambda c: c["labels"]["model"].update(told=3, shift=[0.0] * 3, moved=None),
        lambda c: c["labels"]["model"].update(shift=[0.0]),
        lambda c: c["labels"]["model"].update(shift=None),
        lambda c: c["labels"]["model"].update(told=4),
        lambda c: c["labels"]["model"].update(shares=[0.5, -0.1, 0.6]),
        lambda c: c["labels"]["model"]["scorer"].update(layers=[]),
        lambda c: c["labels"]["model"]["scorer"].update(layers=[[[float("nan")]] * 5]),
        lambda c: c["labels"]["model"]["scorer"].update(layers=[[[1.0]] * 4]),
        lambda c: c["labels"]["model"]["scorer"].update(inputs={}),
    ],
)
def test_a_strangers_model_that_does_not_fit_is_refused(change):
    content = model().to_json()
    change(content)
    with pytest.raises((BadInput, ValueError)):
        LabelledModel.from_json(content)


def numbers(spread=0.5):
    scorer = Scorer(INPUTS, (np.array([[0.0], [0.4], [-0.3], [1.0], [0]]),))
    shares = np.array([0.1, 0.3, 0.3, 0.2, 0.1])
    labels = NumberLabels(scorer, np.array([1, 3, 2, 0, 4]), shares, 4, spread, np.zeros(0))
    return labels.fitted(codes(), np.random.default_rng(0))


@pytest.mark.parametrize(
    "labels",
    [
        classes().matched(codes()),
        classes(3, told=3),
        classes(shares=(0.6, 0.4), hard=True),
        numbers(),
        numbers(spread=0.0),
    ],
)
def test_the_law_of_labels_is_how_often_they_are_drawn(labels):
    here = {"a": np.array([2]), "b": np.array([1])}
    law = labels.law(here)[0]
    assert law.sum() == pytest.approx(1)
    many = {name: np.full(ROWS, code[0]) for name, code in here.items()}
    drawn = labels.draw(many, np.random.default_rng(2))
    np.testing.assert_allclose(np.bincount(drawn, minlength=len(law)) / ROWS, law, atol=0.015)


def test_calibrated_labels_are_as_sure_as_the_rows_were():
    sure = classes(shares=(0.6, 0.4), factor=3.0)  # three times as sure as right
    edges, rows = (0.5, 1.0, 2.0), codes()
    logits = sure.scorer(rows)[:, 0]
    truth = np.random.default_rng(4).random(ROWS) < 1 / (1 + np.exp(-logits))
    place = np.searchsorted(edges, np.abs(logits), side="right")
    counts = np.zeros((2, 4, 2))
    np.add.at(counts, ((logits > 0).astype(int), place, truth.astype(int)), 1)
    found = sure.calibrated(counts, edges, 1.0, rows)
    np.testing.assert_allclose(found.chances(rows)[:, 1], 1 / (1 + np.exp(-logits)), atol=0.04)
