"""A copula: laws of columns that are exact, ties that are near, and files read strictly."""

import json

import numpy as np
import pytest
from scipy.stats import spearmanr

from understudy.domain import Domain
from understudy.model.copula import CopulaModel
from understudy.model.product import ProductModel
from understudy.privacy.spelling import DEFECTS

SIZES = {"a": 10, "b": 20, "c": 3}
TIED = np.array([[1, 0.7, -0.4], [0.7, 1, 0.1], [-0.4, 0.1, 1.0]])


def model(correlation=TIED, orders=None):
    rng = np.random.default_rng(0)
    shares = {name: rng.dirichlet(np.full(size, 20.0)) for name, size in SIZES.items()}
    plain = {name: np.arange(size) for name, size in SIZES.items()}
    columns = ProductModel(Domain.of(SIZES), 500.0, shares)
    return CopulaModel(columns, plain | (orders or {}), correlation)


def draw(copula, rows, seed=0):
    return copula.sample(rows, np.random.default_rng(seed))


@pytest.mark.parametrize("rows", [1, 2, 7, 1000])
def test_each_code_comes_as_often_as_its_share_says(rows):
    copula = model()
    for name, codes in draw(copula, rows).items():
        found = np.bincount(codes, minlength=SIZES[name]) / rows
        np.testing.assert_allclose(found, copula.columns.shares[name], atol=1 / rows + 1e-12)


def test_ranks_are_tied_as_the_model_says():
    drawn = draw(model(), 20_000)
    found = spearmanr(drawn["a"], drawn["b"]).statistic
    assert found == pytest.approx(6 / np.pi * np.arcsin(0.35), abs=0.04)
    assert spearmanr(drawn["a"], drawn["c"]).statistic < -0.2


def test_codes_go_by_their_order():
    backwards = model(orders={"b": np.arange(20)[::-1]})
    drawn = draw(backwards, 5000)
    assert spearmanr(drawn["a"], drawn["b"]).statistic < -0.5


def test_it_is_tied_where_columns_go_together():
    assert model().tied
    assert not model(np.eye(3)).tied
    assert not CopulaModel.from_json(model(np.eye(3)).to_json()).tied


@pytest.mark.parametrize("correlation", [TIED, np.eye(3)], ids=["tied", "apart"])
def test_a_model_comes_back_and_draws_the_same(correlation):
    whole = model(correlation, orders={"b": np.arange(20)[::-1]})
    again = CopulaModel.from_json(json.loads(json.dumps(whole.to_json())))
    assert again.domain == whole.domain
    assert again.total == whole.total
    np.testing.assert_array_equal(again.correlation, whole.correlation)
    for name, codes in draw(again, 900).items():
        np.testing.assert_array_equal(codes, draw(whole, 900)[name])


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.pop("orders"),
        lambda c: c["orders"].pop("a"),
        lambda c: c["orders"].update(z=[0]),
        lambda c: c["orders"].update(c=[0, 1, 1]),
        lambda c: c["orders"].update(c=[0, 1]),
        lambda c: c["orders"].update(c=[0, 1, 3]),
        lambda c: c["orders"].update(c=[0, 1, "x"]),
        lambda c: c["orders"].update(c=[0, 1, 2.5]),
        lambda c: c.update(correlation=[[1.0]]),
        lambda c: c.update(correlation=[[1.0] * 3] * 2),
        lambda c: c.update(correlation=[[1, 0, 0], [0, 1, float("nan")], [0, 0, 1]]),
        lambda c: c.update(correlation=[[1, 5, 0], [5, 1, 0], [0, 0, 1]]),
        lambda c: c.update(correlation=[[1, 0.5, 0], [0.1, 1, 0], [0, 0, 1]]),
        lambda c: c.update(correlation=[[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]),
        lambda c: c.update(correlation=[[2, 0, 0], [0, 1, 0], [0, 0, 1]]),
        lambda c: c.update(correlation=[[1, 1, 0], [1, 1, 0], [0, 0, 1]]),
        lambda c: c["columns"].pop("shares"),
    ],
)
def test_a_strangers_model_that_does_not_fit_is_refused(change):
    content = model().to_json()
    change(content)
    with pytest.raises(DEFECTS):
        CopulaModel.from_json(content)
