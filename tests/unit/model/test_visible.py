"""Models of rows without hidden codes: exact, of the same independences, and never an error."""

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.errors import BadInput
from understudy.model.bayes_net import BayesNet
from understudy.model.copula import CopulaModel
from understudy.model.factor import Factor
from understudy.model.graphical import GraphicalModel
from understudy.model.kernel_scorer import KernelScorer
from understudy.model.labelled import LabelledModel
from understudy.model.labels import ClassLabels, NumberLabels, Scorer
from understudy.model.merged import MergedModel
from understudy.model.product import ProductModel
from understudy.model.sample import Step
from understudy.model.shuffled import ShuffledColumns
from understudy.model.visible import hidden_counts, visible, visible_part
from understudy.privacy.answers import Measurement

DOMAIN = Domain.of({"a": 3, "b": 4, "c": 3})
HIDDEN = {"a": 2, "b": 3, "c": 2}
MANY = 40_000


def tables(seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(12)).reshape(3, 4), rng.dirichlet(np.ones(12)).reshape(4, 3)


def graphical(*, rounded=True):
    ab, bc = tables()
    factors = (Factor(("a", "b"), np.log(ab)), Factor(("b", "c"), np.log(bc)))
    return GraphicalModel(DOMAIN, 100.0, factors, rounded=rounded)


def bayes_net():
    ab, bc = tables()
    shares = bc / bc.sum(axis=1, keepdims=True)
    first = Step((), ("b",), ab.sum(axis=0)[None])
    given = Step(("b",), ("a",), (ab / ab.sum(axis=0)).T)
    return BayesNet(DOMAIN, 100.0, (first, given, Step(("b",), ("c",), shares)))


def merged():
    coarse = Domain.of({"a": 2, "b": 4, "c": 2})
    ab, bc = tables()
    ab = np.stack([ab[0] + ab[2], ab[1]])
    bc = np.stack([bc[:, 0], bc[:, 1] + bc[:, 2]], axis=1)
    factors = (Factor(("a", "b"), np.log(ab)), Factor(("b", "c"), np.log(bc)))
    shares = {
        "a": np.array([[0.7, 0.0, 0.3], [0.0, 1.0, 0.0]]),  # the hidden code, with the first one
        "c": np.array([[1.0, 0.0, 0.0], [0.0, 0.4, 0.6]]),
    }
    return MergedModel(GraphicalModel(coarse, 100.0, factors), shares)


def product():
    shares = {"a": [0.5, 0.2, 0.3], "b": [0.1, 0.2, 0.3, 0.4], "c": [0.0, 0.5, 0.5]}
    return ProductModel(DOMAIN, 100.0, {name: np.array(one) for name, one in shares.items()})


def shuffled():
    counts = {"a": [50, 20, 30], "b": [10, 20, 30, 40], "c": [0, 50, 50]}
    return ShuffledColumns(DOMAIN, {name: np.array(one) for name, one in counts.items()})


def copula():
    orders = {name: np.arange(size) for name, size in DOMAIN.sizes.items()}
    return CopulaModel(product(), orders, np.array([[1.0, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]))


def labels(kind, told=2):
    inputs = {"a": np.eye(3), "b": np.eye(4)}
    rng = np.random.default_rng(5)
    scorer = Scorer(inputs, (rng.normal(size=(8, 1 if kind is NumberLabels else told)),))
    shares = np.array([0.3, 0.3, 0.4])
    if kind is NumberLabels:
        return NumberLabels(scorer, np.arange(3), shares, told, 1.0, np.zeros(1))
    return ClassLabels(scorer, np.arange(3), shares, np.zeros(told), told)


def labelled(kind, features=None):
    return LabelledModel(DOMAIN, features or graphical(), "c", labels(kind))


def kernel():
    points = np.zeros((1, 7))
    scorer = KernelScorer(
        {"a": np.eye(3), "b": np.eye(4)},
        points,
        np.ones((1, 2)),
        np.full(2, 0.5),
        np.linspace(1, 0, 9),
        0.5,
        chances=True,
    )
    made = ClassLabels(scorer, np.arange(3), np.array([0.3, 0.3, 0.4]), np.zeros(2), 2)
    return LabelledModel(DOMAIN, graphical(), "c", made)


MODELS = {
    "graphical": graphical,
    "scattered": lambda: graphical(rounded=False),
    "bayes net": bayes_net,
    "merged": merged,
    "product": product,
    "shuffled": shuffled,
    "copula": copula,
    "classes": lambda: labelled(ClassLabels),
    "numbers": lambda: labelled(NumberLabels),
    "kernels": kernel,
    "on a net": lambda: labelled(ClassLabels, bayes_net()),
}
EXACT = ["graphical", "scattered", "bayes net", "merged", "product", "shuffled"]


def law(model, rows=MANY):
    codes = model.sample(rows, np.random.default_rng(1))
    counts = np.zeros(DOMAIN.shape(DOMAIN.names))
    np.add.at(counts, tuple(codes[name] for name in DOMAIN.names), 1)
    return counts / rows


@pytest.mark.parametrize("name", MODELS)
def test_no_row_has_a_hidden_code(name):
    model = visible(MODELS[name](), HIDDEN)
    for rows in (1, 7, 3000):
        codes = model.sample(rows, np.random.default_rng(0))
        assert list(codes) == list(DOMAIN.names)
        for column, code in HIDDEN.items():
            assert len(codes[column]) == rows
            assert not (codes[column] == code).any()


@pytest.mark.parametrize("name", EXACT)
def test_it_is_the_law_of_the_rows_that_have_none(name):
    model = MODELS[name]()
    whole = law(model, 400_000)[:2, :3, :2]
    seen = law(visible(model, HIDDEN))[:2, :3, :2]
    np.testing.assert_allclose(seen, whole / whole.sum(), atol=0.012)


@pytest.mark.parametrize("name", ["graphical", "bayes net", "merged"])
def test_columns_that_were_independent_given_another_stay_so(name):
    model = visible(MODELS[name](), HIDDEN)
    assert not any({"a", "c"} <= {*clique} for clique in model.cliques)
    seen = law(model)
    for b in range(3):
        given = seen[:, b] / seen[:, b].sum()
        np.testing.assert_allclose(given, np.outer(given.sum(1), given.sum(0)), atol=0.02)


def test_a_column_without_a_hidden_code_changes_nothing():
    model = graphical()
    assert visible(model, {}) is model
    assert visible(model, {"unknown": 3}) is model
    seen = visible(model, {"a": 2})
    assert (law(seen)[:, :, 2] > 0).any()
    assert not law(seen)[2].any()


@pytest.mark.parametrize("name", MODELS)
def test_where_all_mass_is_hidden_rows_come_out_all_the_same(name):
    away = np.log(np.array([0.0, 0.0, 1.0]) + 1e-300)
    away[:2] = -np.inf
    nowhere = Factor(("a",), away)

    def only_hidden(model):
        if isinstance(model, LabelledModel):
            return LabelledModel(DOMAIN, only_hidden(model.features), "c", model.labels)
        if isinstance(model, GraphicalModel):
            factors = (*model.factors, nowhere)
            return GraphicalModel(model.domain, 100.0, factors, rounded=model.rounded)
        if isinstance(model, BayesNet):
            first, step, last = model.steps
            hidden = Step(step.given, step.new, np.tile([0.0, 0.0, 1.0], (4, 1)))
            return BayesNet(DOMAIN, 100.0, (first, hidden, last))
        if isinstance(model, MergedModel):
            shares = {**model.shares, "a": np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])}
            gone = Factor(("a",), np.array([0.0, -np.inf]))
            coarse = GraphicalModel(model.coarse.domain, 100.0, (*model.coarse.factors, gone))
            return MergedModel(coarse, shares)
        if isinstance(model, CopulaModel):
            return CopulaModel(only_hidden(model.columns), model.orders, model.correlation)
        if isinstance(model, ShuffledColumns):
            return ShuffledColumns(DOMAIN, {**model.counts, "a": np.array([0, 0, 100])})
        return ProductModel(DOMAIN, 100.0, {**model.shares, "a": np.array([0.0, 0.0, 1.0])})

    codes = visible(only_hidden(MODELS[name]()), HIDDEN).sample(500, np.random.default_rng(0))
    for column, code in HIDDEN.items():
        assert not (codes[column] == code).any()
    assert len(codes["a"]) == 500


def test_a_group_that_only_a_hidden_code_has_is_never_drawn():
    shares = {"a": np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])}
    coarse = GraphicalModel(Domain.of({"a": 2, "b": 4, "c": 3}), 10.0)
    codes = visible(MergedModel(coarse, shares), HIDDEN).sample(400, np.random.default_rng(0))
    assert set(codes["a"]) == {0, 1}


def test_a_net_whose_tree_is_too_large_leaves_out_hidden_codes_column_by_column(monkeypatch):
    monkeypatch.setattr("understudy.model.bayes_net._MOST_CELLS", 1)
    model = visible(bayes_net(), HIDDEN)
    assert isinstance(model, BayesNet)
    seen = law(model)
    assert seen[:2, :3, :2].sum() == 1.0
    for b in range(3):
        given = seen[:, b] / seen[:, b].sum()
        np.testing.assert_allclose(given, np.outer(given.sum(1), given.sum(0)), atol=0.02)


def test_an_unknown_model_is_refused_and_not_waved_through():
    class Unstated(ProductModel):
        pass

    model = Unstated(DOMAIN, 100.0, product().shares)
    assert visible(model, {}) is model
    with pytest.raises(BadInput, match="Unstated cannot draw rows without hidden codes"):
        visible(model, HIDDEN)


def test_a_model_of_labels_that_tells_the_hidden_code_is_refused():
    with pytest.raises(BadInput, match="hidden code"):
        labelled(ClassLabels).visible({"c": 0})


def counted(a, b, scale=10.0):
    return (Measurement(("a",), np.array(a), scale), Measurement(("a", "b"), np.array(b), scale))


def test_only_hidden_codes_beyond_their_noise_take_rows_away():
    a, b = [500.0, 200.0, 300.0], np.full((3, 4), 250 / 3)
    b[:, 3] = 2.0
    model = ProductModel(DOMAIN, 1000.0, product().shares, counted(a, b))
    (name,) = hidden_counts(model, HIDDEN)
    assert name == "a"
    count, noise = hidden_counts(model, HIDDEN)["a"]
    # The count of the column, and the sum of its row in the pair, each by its precision.
    assert count == pytest.approx((300 / 100 + (2 + 750 / 3) / 400) / (1 / 100 + 1 / 400))
    assert noise == pytest.approx((1 / 100 + 1 / 400) ** -0.5)
    assert visible_part(model, HIDDEN, np.random.default_rng(0)) == pytest.approx(0.7, abs=0.01)
    faint = ProductModel(DOMAIN, 1000.0, product().shares, counted([500, 480, 20.0], b * 0)[:1])
    assert visible_part(faint, HIDDEN, np.random.default_rng(0)) == 1.0


def test_counts_in_merged_codes_say_nothing_of_a_hidden_one():
    pair = Measurement(("a", "b"), np.full((2, 4), 100.0), 1.0)
    model = ProductModel(DOMAIN, 1000.0, product().shares, (pair,))
    assert list(hidden_counts(model, {"a": 2, "b": 3})) == ["b"]
    assert hidden_counts(model, {"c": 2}) == {}


def test_labels_forget_the_hidden_class_but_not_the_rows_that_had_it():
    features = ProductModel(
        DOMAIN, 100.0, product().shares, (Measurement(("c",), np.array([0.0, 50, 50]), 1.0),)
    )
    model = LabelledModel(DOMAIN, features, "c", labels(ClassLabels))
    assert visible_part(model, {"c": 2}, np.random.default_rng(0)) == pytest.approx(0.5, abs=0.01)


def test_merged_codes_are_written_short_and_read_in_both_forms():
    model = merged()
    content = model.to_json()
    assert content["shares"]["a"] == {"groups": [0, 1, 0], "of": [0.7, 1.0, 0.3]}
    dense = {**content, "shares": {name: one.tolist() for name, one in model.shares.items()}}
    for one in (content, dense):
        read = MergedModel.from_json(one)
        assert all((read.shares[name] == share).all() for name, share in model.shares.items())
