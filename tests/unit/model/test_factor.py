import itertools
import json
import math

import numpy as np
import pytest

from helpers.shapes import NAMES, PRECISE, SHAPES, potentials
from understudy.domain import Domain
from understudy.errors import BadInput, UnknownColumn
from understudy.model.factor import Factor, joint, product

DOMAIN = Domain.of({"a": 2, "b": 3, "c": 1})


def by_loops(domain, factors):
    """The whole table, cell after cell, in plain numbers."""
    cells = {}
    for codes in itertools.product(*(range(size) for size in domain.sizes.values())):
        row = dict(zip(domain.names, codes, strict=True))
        log = sum(float(f.log[tuple(row[name] for name in f.clique)]) for f in factors)
        cells[codes] = math.exp(log)
    total = math.fsum(cells.values())
    return {codes: weight / total for codes, weight in cells.items()}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_the_joint_table_is_the_product_of_its_factors(name, seed):
    domain, _ = SHAPES[name]
    factors = potentials(name, seed)
    table = joint(domain, factors)
    assert table.shape == domain.shape(domain.names)
    for codes, share in by_loops(domain, factors).items():
        assert table[codes] == pytest.approx(share, rel=PRECISE)


def test_the_joint_table_knows_what_is_impossible():
    never = Factor.impossible(("b", "a"), np.array([[1, 0], [0, 0], [0, 1]], bool))
    table = joint(DOMAIN, [never])
    np.testing.assert_allclose(table[:, :, 0], np.array([[0, 1, 1], [1, 1, 0]]) / 4)


@pytest.mark.parametrize("high", [800.0, -800.0, 1e6])
def test_the_joint_table_neither_overflows_nor_vanishes(high):
    table = joint(DOMAIN, [Factor(("a",), np.array([high, high + math.log(3)]))])
    np.testing.assert_allclose(table.sum(axis=(1, 2)), [0.25, 0.75], rtol=1e-9)


@pytest.mark.parametrize("clique", [("a", "b"), ("b", "a"), ("c", "b"), ("b",), ()])
def test_a_factor_spreads_over_more_columns_by_name(clique):
    log = np.arange(DOMAIN.size(clique), dtype=float).reshape(DOMAIN.shape(clique))
    spread = np.broadcast_to(Factor(clique, log).over(DOMAIN, DOMAIN.names), (2, 3, 1))
    for codes in itertools.product(range(2), range(3), range(1)):
        row = dict(zip("abc", codes, strict=True))
        assert spread[codes] == log[tuple(row[name] for name in clique)]


def test_a_product_adds_logarithms_and_leaves_the_factors_alone():
    one, other = Factor(("b", "a"), np.ones((3, 2))), Factor(("a",), np.array([1.0, -np.inf]))
    table = product(DOMAIN, ("a", "b"), [one, other, one])
    np.testing.assert_array_equal(table, [[3, 3, 3], [-np.inf] * 3])
    assert one.log.tolist() == [[1, 1]] * 3
    np.testing.assert_array_equal(product(DOMAIN, ("a", "b"), []), np.zeros((2, 3)))


def test_evidence_leaves_one_code():
    assert Factor.evidence(DOMAIN, "b", 2).log.tolist() == [-np.inf, -np.inf, 0]
    assert Factor.evidence(DOMAIN, "c", 0).log.tolist() == [0]


@pytest.mark.parametrize("code", [-1, 3, 100])
def test_evidence_of_a_code_that_is_none_is_refused(code):
    with pytest.raises(BadInput, match=rf"'b' has the codes 0 … 2; {code} is none"):
        Factor.evidence(DOMAIN, "b", code)


def test_evidence_of_an_unknown_column_is_refused():
    with pytest.raises(UnknownColumn):
        Factor.evidence(DOMAIN, "x", 0)


@pytest.mark.parametrize("shape", [(2, 3), (3,), (3, 2, 1)])
def test_a_table_of_another_shape_is_refused(shape):
    with pytest.raises(BadInput, match=r"\(b, a\) has the shape"):
        Factor(("b", "a"), np.zeros(shape)).check(DOMAIN)


@pytest.mark.parametrize("number", [np.inf, np.nan])
def test_what_is_no_logarithm_is_refused(number):
    with pytest.raises(BadInput, match="finite numbers or -inf"):
        Factor(("a",), np.array([0.0, number])).check(DOMAIN)


def test_finite_numbers_and_the_impossible_are_taken():
    Factor(("a",), np.array([-1e300, -np.inf])).check(DOMAIN)


def test_a_factor_comes_back_from_json_to_the_last_digit():
    log = np.array([[0.1, -np.inf], [1e-300, 1 / 3], [-800.0, 5e-324]])
    text = json.dumps(Factor(("b", "a"), log).to_json(), allow_nan=False)
    after = Factor.from_json(json.loads(text), DOMAIN)
    assert after.clique == ("b", "a")
    np.testing.assert_array_equal(after.log, log, strict=True)
