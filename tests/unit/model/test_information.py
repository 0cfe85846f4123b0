"""How far models are from an independence, against joints that are added up cell by cell."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.independences import independences, information_in, joint_of, separated
from understudy.domain import Domain
from understudy.knowledge import Independence
from understudy.model.bayes_net import BayesNet
from understudy.model.factor import Factor
from understudy.model.graphical import GraphicalModel
from understudy.model.information import conditional_information, model_information
from understudy.model.information import separated as no_path
from understudy.model.labelled import LabelledModel
from understudy.model.labels import ClassLabels, Scorer
from understudy.model.merged import MergedModel
from understudy.model.product import ProductModel
from understudy.model.sample import Step

SIZES = {"a": 2, "b": 3, "c": 2, "d": 2}
DOMAIN = Domain.of(SIZES)
PAIRS = list(itertools.combinations(SIZES, 2))
TRIPLES = list(itertools.combinations(SIZES, 3))
SEEDS = st.integers(0, 2**31)


def graphical(cliques, seed, zeros=0.0):
    """Random factors over cliques; some cells are impossible."""
    rng = np.random.default_rng(seed)
    factors = []
    for clique in cliques:
        log = rng.normal(0, 1.5, DOMAIN.shape(clique))
        log.flat[1:][rng.random(log.size - 1) < zeros] = -np.inf  # some row stays possible
        factors.append(Factor(clique, log))
    return GraphicalModel(DOMAIN, 100.0, tuple(factors))


def shares(rng, rows, size, zeros=0.0):
    table = rng.dirichlet(np.full(size, 0.7), rows)
    table[:, 1:][rng.random((rows, size - 1)) < zeros] = 0.0
    table[:, 0] += 0.01
    return table / table.sum(axis=1, keepdims=True)


def bayes_net(parents, seed, zeros=0.0):
    rng = np.random.default_rng(seed)
    steps = [
        Step(given, (name,), shares(rng, DOMAIN.size(given), SIZES[name], zeros))
        for name, given in parents.items()
    ]
    return BayesNet(DOMAIN, 100.0, tuple(steps))


def merged(coarse, seed):
    """Each code of some columns comes apart into one, two or three."""
    rng = np.random.default_rng(seed)
    apart = {}
    for name in ("a", "b", "d"):
        groups = np.sort(np.r_[np.arange(SIZES[name]), rng.integers(0, SIZES[name], 2)])
        table = np.zeros((SIZES[name], len(groups)))
        table[groups, np.arange(len(groups))] = rng.random(len(groups)) + 0.1
        apart[name] = table / table.sum(axis=1, keepdims=True)
    return MergedModel(coarse, apart)


NETS = st.fixed_dictionaries(
    {
        name: st.lists(st.sampled_from(list(SIZES)[:place]), unique=True, max_size=2).map(tuple)
        if place
        else st.just(())
        for place, name in enumerate(SIZES)
    }
)


def agrees(model, one):
    joint = joint_of(model)
    found = model_information(model, one)
    expected = information_in(joint, model.domain.names, one)
    assert found == pytest.approx(expected, abs=1e-9)
    return found


@given(
    st.lists(st.sampled_from(PAIRS + TRIPLES), max_size=4, unique=True),
    independences(SIZES),
    SEEDS,
    st.sampled_from([0.0, 0.3]),
)
@settings(max_examples=80)
def test_graphical_models_are_as_far_as_their_joint_and_not_at_all_where_separated(
    cliques, one, seed, zeros
):
    found = agrees(graphical(cliques, seed, zeros), one)
    if separated([one], cliques):
        assert found < 1e-9


@given(NETS, independences(SIZES), SEEDS, st.sampled_from([0.0, 0.3]))
@settings(max_examples=80)
def test_nets_are_as_far_as_their_joint_and_not_at_all_where_families_separate(
    parents, one, seed, zeros
):
    found = agrees(bayes_net(parents, seed, zeros), one)
    if separated([one], [(*given, name) for name, given in parents.items()]):
        assert found < 1e-9


@given(
    st.lists(st.sampled_from(PAIRS + TRIPLES), max_size=4, unique=True), independences(SIZES), SEEDS
)
@settings(max_examples=40)
def test_merged_codes_that_come_apart_change_nothing(cliques, one, seed):
    # The joint is that of the fine codes; what is computed is that of the coarse ones.
    coarse = graphical(cliques, seed)
    model = merged(coarse, seed)
    assert joint_of(model).size > joint_of(coarse).size
    assert agrees(model, one) == model_information(coarse, one)


def labelled(features, inputs, seed):
    """Labels of three kinds by some of the columns."""
    rng = np.random.default_rng(seed)
    tables = {name: rng.normal(size=(features.domain.sizes[name], 2)) for name in inputs}
    layer = rng.normal(0, 2, (2 * len(inputs) + 1, 2))
    scorer = Scorer(tables, (layer,))
    labels = ClassLabels(
        scorer, np.array([2, 0, 1]), np.array([0.5, 0.4, 0.1]), rng.normal(size=2), 2
    )
    domain = Domain.of({"a": features.domain.sizes["a"], "y": 3} | features.domain.sizes)
    return LabelledModel(domain, features, "y", labels)


@given(
    st.lists(st.sampled_from(PAIRS + TRIPLES), max_size=3, unique=True),
    st.lists(st.sampled_from(list(SIZES)), min_size=1, max_size=3, unique=True),
    independences({**SIZES, "y": 3}),
    SEEDS,
    st.sampled_from(["tied", "merged", "single"]),
)
@settings(max_examples=60)
def test_labelled_models_are_as_far_as_their_joint(cliques, inputs, one, seed, kind):
    features = graphical(cliques, seed)
    if kind == "merged":
        features = merged(features, seed)
    if kind == "single":
        rng = np.random.default_rng(seed)
        own = {name: rng.dirichlet(np.ones(size)) for name, size in SIZES.items()}
        features = ProductModel(DOMAIN, 10.0, own)
    model = labelled(features, inputs, seed)
    found = agrees(model, one)
    if no_path(model, one):
        assert found < 1e-9


@given(
    st.lists(st.sampled_from(PAIRS + TRIPLES), max_size=4, unique=True),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True),
    independences(SIZES),
    SEEDS,
)
@example([("a", "d"), ("b", "d")], ["a"], Independence("a", "b", given=["d"]), 0)
@settings(max_examples=80)
def test_where_no_path_goes_around_there_is_no_information(cliques, inputs, one, seed):
    # The features' model knows the target too, and that is forgotten: it is not what is given.
    features = graphical(cliques, seed)
    rng = np.random.default_rng(seed)
    scorer = Scorer(
        {name: rng.normal(size=(SIZES[name], 2)) for name in inputs},
        (rng.normal(0, 2, (2 * len(inputs) + 1, 2)),),
    )
    labels = ClassLabels(scorer, np.array([1, 0]), np.array([0.6, 0.4]), rng.normal(size=2), 2)
    model = LabelledModel(DOMAIN, features, "d", labels)
    if no_path(model, one):
        assert information_in(joint_of(model), DOMAIN.names, one) < 1e-9
    if no_path(features, one):
        assert information_in(joint_of(features), DOMAIN.names, one) < 1e-9


@given(independences(SIZES), SEEDS)
@settings(max_examples=20)
def test_independent_columns_tell_nothing_about_each_other(one, seed):
    rng = np.random.default_rng(seed)
    own = {name: rng.dirichlet(np.ones(size)) for name, size in SIZES.items()}
    assert agrees(ProductModel(DOMAIN, 10.0, own), one) == 0.0


def test_parents_of_one_child_depend_on_each_other_once_it_is_known():
    # Families count as cliques, parents among each other as well: else this would be missed.
    collider = bayes_net({"a": (), "b": (), "c": ("a", "b"), "d": ()}, 3)
    assert model_information(collider, Independence("a", "b")) < 1e-12
    assert model_information(collider, Independence("a", "b", "c")) > 1e-3


@given(
    st.tuples(*[st.integers(1, 4)] * 3),
    SEEDS,
    st.sampled_from([0.0, 0.5]),
)
@settings(max_examples=80)
def test_the_information_of_a_table_is_that_of_its_cells(shape, seed, zeros):
    rng = np.random.default_rng(seed)
    joint = rng.random(shape) * (rng.random(shape) >= zeros)
    joint.flat[0] += 0.1
    one = Independence("o", "p", "g")
    expected = information_in(joint / joint.sum(), "opg", one)
    assert conditional_information(joint) == pytest.approx(max(expected, 0.0), abs=1e-12)
    assert conditional_information(joint * 1e6) == pytest.approx(max(expected, 0.0), abs=1e-12)


def test_what_cannot_be_computed_is_not_told():
    many = Domain.of({f"c{k}": 40 for k in range(5)})
    wide = GraphicalModel(many, 1.0, ())
    assert model_information(wide, Independence("c0", "c1")) < 1e-9
    assert model_information(wide, Independence("c0", "c1", ["c2", "c3", "c4"])) is None
    assert model_information(object(), Independence("a", "b")) is None
    assert model_information(wide, Independence("c0", "nowhere")) is None


def test_a_table_that_would_be_carried_past_a_wide_clique_is_not_computed():
    # The named columns alone are few cells; with what lies between them they would be too many.
    sizes = {"x": 200, "y": 200, **{f"m{k}": 32 for k in range(2)}}
    domain = Domain.of(sizes)
    between = ("m0", "m1")
    ends = [Factor((*between, n), np.zeros((32, 32, 200))) for n in ("x", "y")]
    model = GraphicalModel(domain, 1.0, tuple(ends))
    assert model_information(model, Independence("x", "y")) is None
    assert model_information(model, Independence("x", "m0")) < 1e-9


def test_shares_whose_products_vanish_tell_no_infinity():
    rare = np.outer([1e-160, 1.0], [1e-160, 1e-8])
    joint = np.stack([np.full((2, 2), 0.25), rare], axis=2)
    assert conditional_information(joint) < 1e-9
