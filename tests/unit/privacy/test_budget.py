"""(ε, δ) and ρ turn into each other as tightly as the theory allows, and never too generously."""

import math
from fractions import Fraction

import opendp.prelude as dp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from understudy.errors import BadInput
from understudy.privacy.accountant import gaussian_scale
from understudy.privacy.budget import (
    Budget,
    epsilon_of_divergence,
    epsilon_of_rho,
    rounded_up,
)

DELTAS = [10.0**k for k in (-300, -200, -100, -50, -30, -20, -15, -12, -9, -6, -4, -3, -2, -1)]
RHOS = [m * 10.0**k for k in range(-9, 5) for m in (1, 3.3)]
EPSILONS = [m * 10.0**k for k in range(-6, 3) for m in (1, 2.7)] + [1000.0]
TIGHT = 1e-6


def powers(low, high):
    """Numbers of every size between two powers of ten."""
    return st.floats(low, high).map(lambda k: 10.0**k)


def log_delta(rho, epsilon):
    """log δ of ρ-zCDP at ε, smallest over all orders α = 1 + x, to sixty digits.

    δ = exp((α-1)(αρ-ε) + α log(1-1/α)) / (α-1). Its logarithm's derivative by α grows with α; its
    zero is found by Newton's method from the left, where the steps cannot overshoot.
    """
    with mp.workdps(60):
        rho, epsilon = number(rho), number(epsilon)
        if epsilon > rho:
            x = (epsilon - rho) / (2 * rho)
        else:
            x = mp.exp(epsilon - rho - 1) / (1 + 2 * rho)
        for _ in range(200):
            slope = (2 * x + 1) * rho - epsilon - mp.log1p(1 / x)
            step = slope / (2 * rho + 1 / (x * (x + 1)))
            x -= step
            if abs(step) < x * mpf(10) ** -25:  # the value is flat there: it has twice the digits
                return x * ((1 + x) * rho - epsilon) + (1 + x) * mp.log(x / (1 + x)) - mp.log(x)
    raise AssertionError


def rho_at(order, epsilon, delta):
    """How much one order allows, to sixty digits."""
    with mp.workdps(60):
        x = mpf(order) - 1
        overhead = -mp.log1p(1 / x) - (mp.log1p(x) + mp.log(mpf(delta))) / x
        return (mpf(epsilon) - overhead) / (1 + x)


def number(value):
    return mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mpf(value)


def promises(rho, epsilon, delta):
    """Whether ρ-zCDP is (ε, δ)-private by the conversion."""
    with mp.workdps(60):
        return log_delta(rho, epsilon) <= mp.log(mpf(delta))


def check_epsilon(rho, delta):
    epsilon = epsilon_of_rho(rho, delta)
    assert promises(rho, epsilon, delta)
    assert epsilon == 0 or not promises(rho, epsilon * (1 - TIGHT), delta)


def check_rho(epsilon, delta):
    rho = Budget(epsilon, delta).rho
    assert rho > 0
    assert promises(rho, epsilon, delta)
    assert not promises(rho * (1 + Fraction(TIGHT)), epsilon, delta)


@pytest.mark.parametrize("delta", DELTAS)
def test_epsilon_is_never_below_the_best_order_nor_a_millionth_above_it(delta):
    for rho in RHOS:
        check_epsilon(rho, delta)


@pytest.mark.parametrize("delta", DELTAS)
def test_a_budget_is_never_above_the_best_order_nor_a_millionth_below_it(delta):
    for epsilon in EPSILONS:
        check_rho(epsilon, delta)


@given(powers(-9, 4), powers(-300, -1))
def test_epsilon_of_any_rho_is_tight_and_on_the_safe_side(rho, delta):
    check_epsilon(rho, delta)


@given(powers(-6, 3), powers(-300, -1))
def test_the_rho_of_any_budget_is_tight_and_on_the_safe_side(epsilon, delta):
    check_rho(epsilon, delta)


@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-30, 1e-9, 1e-5, 1e-2])
def test_opendp_converts_to_the_same_epsilon(delta):
    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    for k in range(-6, 15, 2):
        # ρ = 1 / (2 scale²), from 2048 down to 2e-9, exact in binary
        noise = dp.m.make_gaussian(*space, scale=2.0**k)
        theirs = dp.c.make_zCDP_to_approxDP(noise).map(1).epsilon(delta=delta)
        ours = epsilon_of_rho(Fraction(1, 2) / Fraction(4) ** k, delta)
        assert ours == pytest.approx(theirs, rel=TIGHT, abs=1e-15)
        assert ours >= theirs * (1 - 1e-9)


def test_fifty_gaussians_of_scale_three_cost_what_the_notes_say():
    rho, delta = Fraction(50, 2 * 9), 1e-9
    assert epsilon_of_rho(rho, delta) == pytest.approx(17.15022, abs=1e-5)
    # The loose conversion, which many papers print, is what we must not come out with.
    loose = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / delta))
    assert loose == pytest.approx(17.95, abs=0.005)


@pytest.mark.parametrize(
    ("epsilon", "delta", "rho"),
    # bisected once with mpmath, at 60 digits, on `log_delta`
    [(1.0, 1e-9, 0.01497305767), (0.1, 1e-6, 0.0003210476903), (10.0, 1e-5, 1.782695616)],
)
def test_budgets_are_worth_what_they_always_were(epsilon, delta, rho):
    assert float(Budget(epsilon, delta).rho) == pytest.approx(rho, rel=1e-8)


@pytest.mark.parametrize("factor", [1 + 1e-6, 1.5, 10.0])
def test_more_rho_or_a_smaller_delta_is_a_larger_epsilon(factor):
    for rho in RHOS:
        for delta in DELTAS:
            here = epsilon_of_rho(rho, delta)
            for more in (epsilon_of_rho(rho * factor, delta), epsilon_of_rho(rho, delta / factor)):
                assert more > here or more == here == 0


@pytest.mark.parametrize("factor", [1 + 1e-6, 1.5, 10.0])
def test_a_larger_epsilon_or_delta_buys_more(factor):
    for epsilon in EPSILONS:
        for delta in DELTAS:
            here = Budget(epsilon, delta).rho
            assert Budget(epsilon * factor, delta).rho > here
            if delta * factor < 1:
                assert Budget(epsilon, delta * factor).rho > here


@given(powers(-6, 3), powers(-300, -1))
def test_a_budget_survives_the_way_there_and_back(epsilon, delta):
    rho = Budget(epsilon, delta).rho
    back = epsilon_of_rho(rho, delta)
    assert back <= epsilon * (1 + 2e-9)
    # Compared as ρ, for where δ alone pays for most of it ε may move a lot for very little ρ.
    assert float(Budget(back, delta).rho) == pytest.approx(float(rho), rel=TIGHT)


@given(powers(-6, 3), powers(-300, -1))
def test_at_the_budgets_own_order_all_of_it_is_the_promised_epsilon(epsilon, delta):
    budget = Budget(epsilon, delta)
    divergence = float(budget.rho) * budget.order
    known = epsilon_of_divergence(divergence, budget.order, delta)
    assert known == pytest.approx(epsilon, abs=1e-8 * max(divergence, epsilon))


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
def test_no_order_allows_more_than_the_one_that_was_chosen(epsilon, delta):
    budget = Budget(epsilon, delta)
    for k in range(-200, 201):
        other = 1 + (budget.order - 1) * 1.05**k
        assert number(budget.rho) >= rho_at(other, epsilon, delta) * (1 - TIGHT)


@pytest.mark.parametrize("order", [19.0, 20.0, 34.5, 64.0, 1000.0, 1e6, 1e12])
def test_an_order_of_ones_own_allows_what_that_order_allows(order):
    budget = Budget(1.0, 1e-9, fixed_order=order)
    assert budget.order == order
    true = rho_at(order, 1.0, 1e-9)
    assert true * (1 - TIGHT) < number(budget.rho) < true
    assert budget.rho <= Budget(1.0, 1e-9).rho
    spent = epsilon_of_divergence(float(budget.rho) * order, order, 1e-9)
    assert spent == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("order", [1.0, 0.5, -3.0, 2.0, 17.0, math.inf, math.nan])
def test_an_order_that_leaves_nothing_is_refused_and_a_better_one_named(order):
    # At order 17 the conversion alone takes more than ε = 1; the first that leaves some is 17.87.
    with pytest.raises(BadInput, match=r"leaves nothing to spend.* near 34\.9"):
        Budget(1.0, 1e-9, fixed_order=order)


@pytest.mark.parametrize("epsilon", [0, 0.0, -1, -1e-300, math.inf, -math.inf, math.nan])
def test_an_epsilon_that_promises_nothing_is_refused(epsilon):
    with pytest.raises(BadInput, match="epsilon is"):
        Budget(epsilon, 1e-9)


@pytest.mark.parametrize("delta", [0, 0.0, 1, 1.0, -0.1, 1.5, math.inf, math.nan])
def test_a_delta_that_is_no_chance_is_refused(delta):
    with pytest.raises(BadInput, match="delta is"):
        Budget(1.0, delta)


def test_nothing_spent_is_no_epsilon():
    assert epsilon_of_rho(0, 1e-9) == 0
    assert epsilon_of_rho(Fraction(0), 1e-9) == 0
    # Less than δ alone covers: (0, δ) holds.
    assert epsilon_of_rho(1e-3, 0.1) == 0
    assert promises(1e-3, 0, 0.1)


def test_the_classical_gaussian_formula_is_not_what_comes_out():
    # It wastes noise at a small ε, and at a large one it breaks the promise.
    delta = 1e-5

    def classical(epsilon):
        return math.sqrt(2 * math.log(1.25 / delta)) / epsilon

    def true_delta(scale, epsilon):
        mu = 1 / mpf(scale)
        return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)

    def ours(epsilon):
        return gaussian_scale(Fraction(1), Budget(epsilon, delta).rho)

    assert ours(1.0) < classical(1.0) * 0.9
    assert true_delta(classical(16.0), 16) / delta == pytest.approx(34, abs=1)
    assert true_delta(ours(16.0), 16) < delta
    assert ours(16.0) > classical(16.0)
    assert epsilon_of_rho(1 / (2 * classical(16.0) ** 2), delta) > 16


def test_doubles_and_fractions_are_read_alike():
    assert epsilon_of_rho(0.1, 1e-9) == epsilon_of_rho(Fraction(0.1), 1e-9)
    assert Budget(1, 1e-9).rho == Budget(1.0, 1e-9).rho


@given(st.fractions(min_value=0, max_value=10**6))
def test_costs_are_rounded_up_to_the_next_grid_point(value):
    up = rounded_up(value)
    assert 0 <= up - value < Fraction(1, 2**100)
    assert (up * 2**100).denominator == 1
    assert rounded_up(up) == up


def test_the_smallest_cost_does_not_vanish():
    assert rounded_up(Fraction(1, 10**1000)) == Fraction(1, 2**100)


def test_where_almost_all_is_paid_by_delta_epsilon_is_still_not_below_the_truth():
    # At this ρ the true ε is 1.1e-16, the difference of two numbers near 0.27.
    rho, delta = 0.013653378024976213, 0.1
    assert promises(rho, epsilon_of_rho(rho, delta), delta)


def test_an_order_that_leaves_next_to_nothing_leaves_no_more_than_that():
    # At the first of them nothing is left; from one to the next it grows by an ulp's worth.
    order, granted = 636.9590570096, 0
    for _ in range(3000):
        order = order + 1e-13
        try:
            budget = Budget(0.01, 1e-6, fixed_order=order)
        except BadInput:
            continue
        granted += 1
        assert 0 < number(budget.rho) <= rho_at(order, 0.01, 1e-6)
    assert 100 < granted < 3000


def test_a_budget_that_is_too_small_for_its_delta_is_refused():
    # Its best order lies beyond the search.
    with pytest.raises(BadInput, match="leaves nothing to spend"):
        Budget(1e-12, 1e-300)
