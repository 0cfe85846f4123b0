"""Shares of a budget: against a numerical optimum, and against what papers print."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from helpers import chains
from understudy.allocate import Allocation, allocation_named, measured, selection_cost
from understudy.errors import BadInput
from understudy.privacy.budget import Budget

SIZES = {"a": 3, "b": 30, "c": 2, "d": 300}
opened = partial(chains.opened, sizes=SIZES)
importances = st.lists(st.floats(1.0, 40.0), min_size=2, max_size=6)
"""So near to each other that none needs the floor."""


def best(importance, cost):
    """The shares with the least cost, found by search."""
    count = len(importance)
    found = minimize(
        lambda logs: cost(np.exp(logs) / np.exp(logs).sum()),
        np.zeros(count),
        method="BFGS",
        options={"gtol": 1e-10},
    )
    return found.fun


@given(importances)
def test_the_closed_form_is_as_good_as_any_split_where_rho_adds_up(importance):
    a = np.array(importance)

    def noise(shares):
        return float((a / np.sqrt(shares)).sum())

    ours = noise(Allocation.OPTIMAL.shares(importance))
    assert ours == pytest.approx(best(importance, noise), rel=1e-6)
    assert ours == pytest.approx((a ** (2 / 3)).sum() ** 1.5, rel=1e-9)
    assert ours <= noise(Allocation.UNIFORM.shares(importance)) * (1 + 1e-12)


@given(importances)
def test_and_so_is_the_papers_where_epsilon_adds_up(importance):
    a = np.array(importance)

    def noise(shares):
        return float((a / shares).sum())

    ours = noise(Allocation.BASIC_OPTIMAL.shares(importance))
    assert ours == pytest.approx(best(importance, noise), rel=1e-6)
    assert ours == pytest.approx(np.sqrt(a).sum() ** 2, rel=1e-9)


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=200), st.sampled_from(Allocation))
def test_no_marginal_is_starved(importance, allocation):
    shares = allocation.shares(importance)
    assert shares.sum() == pytest.approx(1)
    assert shares.min() >= min(0.01, 0.5 / len(importance)) * (1 - 1e-9)


@given(
    st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=60),
    st.sampled_from(Allocation),
    st.floats(1e-3, 20.0),
    st.sampled_from([1e-9, 1e-5]),
)
def test_costs_never_add_up_to_more_than_there_is(importance, allocation, epsilon, delta):
    rho = Fraction(Budget(epsilon, delta).rho)
    costs = allocation.costs(rho, importance, epsilon=epsilon, delta=delta)
    assert sum(costs) <= rho
    assert min(costs) > 0
    if not allocation.basic:
        assert float(sum(costs) / rho) == pytest.approx(1)


def test_basic_costs_are_those_of_the_usual_formula():
    # Four marginals of ε/4 and δ/4 each: noise of √(2 ln(1.25 / δ')) / ε' for a sensitivity of 1.
    costs = Allocation.BASIC_UNIFORM.costs(
        Fraction(Budget(1.0, 1e-6).rho), [1.0] * 4, epsilon=1.0, delta=1e-6
    )
    usual = math.sqrt(2 * math.log(1.25 * 4 / 1e-6)) / 0.25
    for cost in costs:
        assert 1 / math.sqrt(2 * cost) == pytest.approx(usual)


@pytest.mark.parametrize("allocation", Allocation)
def test_marginals_are_measured_for_what_they_are_worth(allocation):
    ledger = opened(epsilon=2.0)
    cliques = [("a",), ("b",), ("c",), ("d",), ("a", "c")]
    rho = ledger.rest() / 2
    found = measured(ledger, cliques, rho=rho, allocation=allocation)
    assert {one.clique for one in found} == {*cliques}
    spent = sum(map(chains.spent, ledger.entries))
    assert spent <= rho
    if not allocation.basic:
        assert float(spent / rho) == pytest.approx(1, rel=1e-9)
    scales = {one.clique: one.scale for one in found}
    if allocation in {Allocation.UNIFORM, Allocation.BASIC_UNIFORM}:
        assert len({*scales.values()}) == len(ledger.entries) == 1
    else:
        assert scales["d",] < scales["b",] < scales["a", "c"] < scales["a",] < scales["c",]


def test_weights_draw_budget():
    scales = []
    for weight in (1.0, 8.0):
        found = measured(
            opened(), {("a",): weight, ("b",): 1.0}, rho=Fraction(1, 100),
            allocation=Allocation.OPTIMAL,
        )  # fmt: skip
        scales.append({one.clique: one.scale for one in found})
    assert scales[1]["a",] < scales[0]["a",]
    assert scales[1]["b",] > scales[0]["b",]


def test_nothing_costs_nothing():
    ledger = opened()
    assert measured(ledger, [], rho=Fraction(1, 100)) == []
    assert ledger.entries == ()


def test_selections_cost_the_same_each():
    budget = Budget(1.0, 1e-9)
    rho = Fraction(budget.rho) / 10
    assert selection_cost(budget, rho, 4, Allocation.OPTIMAL) == rho / 4
    # A tenth of ε in four parts of ε' each, which is ε'²/8 of ρ.
    basic = selection_cost(budget, rho, 4, Allocation.BASIC_OPTIMAL)
    assert float(basic) == pytest.approx(0.025**2 / 8)


def test_rules_have_names():
    assert allocation_named("optimal") is Allocation.OPTIMAL
    with pytest.raises(BadInput, match="Known: uniform, optimal"):
        allocation_named("fair")
