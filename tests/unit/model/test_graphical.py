import json
from dataclasses import replace

import numpy as np
import pytest

from helpers.shapes import NAMES, SHAPES, potentials
from understudy.errors import BadInput, UnknownColumn
from understudy.model.factor import Factor
from understudy.model.graphical import GraphicalModel, gathered
from understudy.model.junction_tree import JunctionTree
from understudy.privacy.answers import Measurement


def model_of(name, **options):
    domain, _ = SHAPES[name]
    names = domain.names[:2]
    never = np.zeros(domain.shape(names), bool)
    never[(-1,) * len(names)] = domain.size(names) > 1
    answers = (
        Measurement(names, np.full(domain.shape(names), 1 / 3), 2.0),
        Measurement(names[:1], np.arange(float(domain.sizes[names[0]])), np.full(1, 0.1)),
        Measurement((), np.array(12.5), 3.0),
    )
    factors = (*potentials(name, 1), Factor.impossible(names, never))
    return GraphicalModel(domain, 123.456, factors, answers, **options)


@pytest.mark.parametrize("rounded", [True, False], ids=["rounded", "plain"])
@pytest.mark.parametrize("name", NAMES)
def test_a_model_comes_back_from_json_and_draws_the_same_rows(name, rounded):
    before = model_of(name, rounded=rounded)
    after = GraphicalModel.from_json(json.loads(json.dumps(before.to_json(), allow_nan=False)))
    assert after.kind == before.kind == "graphical"
    assert after.domain == before.domain
    assert after.total == before.total
    assert after.rounded is rounded
    assert after.to_json() == before.to_json()
    for one, other in zip(after.factors, before.factors, strict=True):
        assert one.clique == other.clique
        np.testing.assert_array_equal(one.log, other.log, strict=True)
    for one, other in zip(after.measurements, before.measurements, strict=True):
        assert one.clique == other.clique
        np.testing.assert_array_equal(one.values, other.values, strict=True)
        np.testing.assert_array_equal(one.scale, other.scale)
    drawn, again = (model.sample(300, np.random.default_rng(1)) for model in (before, after))
    assert list(drawn) == list(again)
    for column, codes in drawn.items():
        np.testing.assert_array_equal(codes, again[column], strict=True)


def test_a_table_of_another_size_in_json_is_refused():
    content = model_of("chain").to_json()
    content["factors"][0]["log"][0] = float("nan")
    with pytest.raises(BadInput):
        GraphicalModel.from_json(content)


def test_a_model_that_is_narrowed_twice_is_as_narrow_as_at_once():
    model = model_of("cycle")
    twice, once = model.given({"a": 0}).given({"c": 1}), model.given({"a": 0, "c": 1})
    assert twice.total == pytest.approx(once.total)
    np.testing.assert_allclose(twice.marginal(("b", "d")), once.marginal(("b", "d")))
    assert once.rounded is model.rounded
    assert once.measurements == model.measurements


def test_parts_of_a_narrowed_model_add_up_to_the_whole():
    model = model_of("nested")
    parts = [model.given({"d": code}) for code in range(4)]
    assert sum(part.total for part in parts) == pytest.approx(model.total)
    total = sum(part.marginal(("b", "a")) for part in parts)
    np.testing.assert_allclose(total, model.marginal(("b", "a")))
    assert model.given({}).total == pytest.approx(model.total)


def test_rows_that_the_model_does_not_have_are_refused():
    model = model_of("chain")
    with pytest.raises(BadInput, match="No row of the model has a = 1, b = 2"):
        model.given({"a": 1, "b": 2})
    with pytest.raises(BadInput, match="No row of the model has"):
        model.given({"a": 0}).given({"a": 1})
    with pytest.raises(BadInput, match="is none of them"):
        model.given({"a": 2})
    with pytest.raises(UnknownColumn):
        model.given({"x": 0})


def test_narrowing_leaves_the_model_alone():
    model = model_of("star")
    before = model.marginal(("hub", "a")).copy()
    model.given({"hub": 1}).marginal(("a",))
    np.testing.assert_array_equal(model.marginal(("hub", "a")), before)


def test_asking_leaves_the_factors_alone():
    model = model_of("cycle")
    before = [factor.log.copy() for factor in model.factors]
    model.sample(10, np.random.default_rng(0))
    for factor, log in zip(model.factors, before, strict=True):
        np.testing.assert_array_equal(factor.log, log)


def test_counts_grow_with_the_total():
    model = model_of("chain")
    twice = replace(model, total=2 * model.total)
    np.testing.assert_allclose(twice.marginal(("a", "d")), 2 * model.marginal(("a", "d")))
    assert float(model.marginal(())) == pytest.approx(model.total)


def test_each_factor_is_gathered_once():
    domain, cliques = SHAPES["nested"]
    tree = JunctionTree.of(domain, cliques)
    factors = [Factor(clique, np.ones(domain.shape(clique))) for clique in cliques]
    tables = gathered(tree, factors)
    # Each table's numbers are equal: so many factors lie in its clique.
    assert all(table.min() == table.max() for table in tables)
    assert sum(table.max() for table in tables) == len(cliques)
    with pytest.raises(BadInput, match="in no single clique"):
        gathered(tree, [Factor(("a", "d"), np.zeros((2, 4)))])
