"""What events cost, alone and together: exact where it can be, never less than it is."""

import itertools
import json
import math
from dataclasses import dataclass
from fractions import Fraction

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from understudy.errors import BadInput
from understudy.privacy import accountant
from understudy.privacy.accountant import (
    cost,
    exponential_epsilon,
    gaussian_scale,
    rho,
    sampled_divergence,
    sampled_scale,
    total_cost,
    total_epsilon,
)
from understudy.privacy.budget import Budget, epsilon_of_rho
from understudy.privacy.events import (
    Exponential,
    Gaussian,
    Reveal,
    SampledGaussian,
    event_from_json,
    event_to_json,
)

GRID = Fraction(1, 2**100)
CLIP = 2**24
"""Noise of training is whole, on a grid this fine."""
ORDERS = st.floats(1.01, 1000)
SCALES = st.floats(0.5, 1e6)
SENSITIVITIES = st.fractions(min_value=Fraction(1, 2**20), max_value=1000, max_denominator=2**20)


def sampled(rate, noise, steps=1):
    """Steps whose noise is so many times what one record adds, as training states them."""
    return SampledGaussian(rate, noise * CLIP, Fraction(CLIP**2), steps)


def counts(scale, cells, steps=1):
    """Marginals of which neighbours differ by one in so many cells."""
    return Gaussian(scale, Fraction(cells), steps, unit_cells=cells)


@dataclass(frozen=True)
class Stranger:
    """An event that nobody told the accountant about."""

    epsilon: float = 0.1


# Each event alone


@given(SCALES, SENSITIVITIES, st.integers(1, 10**6), ORDERS)
def test_gaussian_noise_costs_the_exact_fraction_at_every_order(scale, squared, steps, order):
    exact = steps * squared / (2 * Fraction(scale) ** 2)
    event = Gaussian(scale, squared, steps)
    assert exact <= cost(event, order) < exact + GRID
    assert rho(event) == cost(event, order)


def test_gaussian_costs_of_the_textbook():
    assert cost(Gaussian(2.0, Fraction(1)), 30.0) == Fraction(1, 8)
    assert cost(Gaussian(2.0, Fraction(8)), 2.0) == 1
    assert cost(Gaussian(4.0, Fraction(2), steps=16), 2.0) == 1
    assert cost(Gaussian(3.0, Fraction(0)), 2.0) == 0


@given(st.floats(1e-6, 100), ORDERS)
def test_a_selection_costs_an_eighth_of_epsilon_squared(epsilon, order):
    exact = Fraction(epsilon) ** 2 / 8
    assert exact <= cost(Exponential(epsilon), order) < exact + GRID


def test_a_selection_costs_what_an_exponential_mechanism_can_lose_at_worst():
    # Two candidates of two tables, scores 0 and Δ against Δ and 0 would differ by ε; the worst
    # pair of bounded range is found by search. No pair may cost more than ε²/8 times the order.
    epsilon = 1.3
    worst = 0.0
    for order, at in itertools.product((1.5, 2.0, 5.0), np.linspace(-8, 8, 401)):
        p = 1 / (1 + np.exp(-at))
        q = 1 / (1 + np.exp(-at + epsilon))
        moment = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
        worst = max(worst, np.log(moment) / (order - 1) / order)
    stated = float(cost(Exponential(epsilon), 2.0))
    assert 0.95 * stated < worst <= stated


def test_a_reveal_costs_everything_however_little_else_there_is():
    assert cost(Reveal("asked for"), 5.0) == math.inf
    events = [Gaussian(5.0, Fraction(1)), Reveal("asked for"), Exponential(0.1)]
    for order in itertools.permutations(events):
        assert total_cost(order, 5.0) == math.inf
        assert total_epsilon(order, 1e-9) == math.inf


def test_an_event_that_nobody_knows_is_refused_alone_and_among_others():
    known = [Gaussian(5.0, Fraction(1)), sampled(0.1, 2.0), Exponential(0.1)]
    with pytest.raises(TypeError):
        cost(Stranger(), 5.0)
    for place in range(4):
        events = [*known[:place], Stranger(), *known[place:]]
        with pytest.raises(TypeError):
            total_cost(events, 5.0)
        with pytest.raises(TypeError):
            total_epsilon(events, 1e-9)
    with pytest.raises(TypeError):
        total_epsilon([Stranger()], 1e-9)


def test_no_event_is_no_cost():
    assert total_cost([], 5.0) == 0
    assert total_epsilon([], 1e-9) == 0


@pytest.mark.parametrize(
    "make",
    [
        *(lambda s=s: Gaussian(s, Fraction(1)) for s in (0.0, -1.0, math.inf, math.nan)),
        *(lambda s=s: SampledGaussian(0.1, s, Fraction(1), 1) for s in (0.0, math.inf, math.nan)),
        *(lambda r=r: SampledGaussian(r, 1.0, Fraction(1), 1) for r in (0.0, -0.1, 1.1, math.nan)),
        *(lambda e=e: Exponential(e) for e in (0.0, -1.0, math.inf, math.nan)),
        lambda: Gaussian(1.0, Fraction(-1)),
        lambda: Gaussian(1.0, Fraction(1), steps=0),
        lambda: SampledGaussian(0.1, 1.0, Fraction(-1), 1),
        lambda: SampledGaussian(0.1, 1.0, Fraction(1), 0),
    ],
)
def test_an_event_that_cannot_be_is_refused(make):
    with pytest.raises(BadInput):
        make()


EVENTS = st.one_of(
    st.builds(Gaussian, SCALES, SENSITIVITIES, st.integers(1, 9)),
    st.builds(counts, SCALES, st.integers(1, 50)),
    st.builds(Exponential, st.floats(1e-3, 5)),
    st.builds(sampled, st.floats(2**-31, 1), st.floats(0.7, 50), st.integers(1, 9)),
    st.builds(Reveal, st.text()),
)


@given(EVENTS)
def test_an_event_is_read_back_exactly_as_it_was_written(event):
    assert event_from_json(json.loads(json.dumps(event_to_json(event)))) == event


@pytest.mark.parametrize("kind", ["Laplace", None, "", "dict", "Fraction"])
def test_an_event_of_an_unknown_kind_is_not_read(kind):
    with pytest.raises(ValueError, match="unknown kind"):
        event_from_json({"kind": kind, "epsilon": 0.1})


def test_an_event_that_contradicts_itself_is_refused():
    # Neighbours √100 apart cannot differ by one in a single cell; the exact total believes it.
    with pytest.raises(BadInput):
        Gaussian(10.0, Fraction(100), unit_cells=1)


# Sampled noise


def binomial_divergence(rate, noise, order):
    """At whole orders the moment is a finite sum, here of forty digits."""
    with mp.workdps(40):
        q, variance = mpf(rate), mpf(noise) ** 2
        terms = (
            mp.binomial(order, k)
            * q**k
            * (1 - q) ** (order - k)
            * mp.exp((k * k - k) / (2 * variance))
            for k in range(order + 1)
        )
        return mp.log(mp.fsum(terms)) / (order - 1)


def integrated_divergence(rate, noise, order):
    """The moment by the trapezoid rule, with steps eight times as wide and thirty digits."""
    with mp.workdps(30):
        q, shift, a, step = mpf(rate), 1 / mpf(noise), mpf(order), mpf(1) / 16

        def grown(x):
            u = q * mp.expm1(shift * x - shift**2 / 2)
            return ((1 + u) ** a - 1 - a * u) * mp.exp(-x * x / 2)

        places = range(int(-13 / step), int((a * shift + 13) / step) + 1)
        total = mp.fsum(grown(k * step) for k in places) * step
        return mp.log1p(total / mp.sqrt(2 * mp.pi)) / (a - 1)


def check_divergence(rate, noise, order, true):
    ours = sampled_divergence(sampled(rate, noise), float(order))
    assert true <= ours
    # Below it doubles end: 1e-14 of the moment is always added.
    assert ours <= true * (1 + mpf(1e-6)) + mpf(2e-14) / (order - 1)


@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("rate", [1e-7, 1e-4, 0.01, 0.3, 0.999])
def test_sampled_noise_costs_the_binomial_sum_at_whole_orders(rate, noise):
    for order in (2, 3, 7, 16, 65, 130):
        check_divergence(rate, noise, order, binomial_divergence(rate, noise, order))


@pytest.mark.parametrize(
    ("rate", "noise", "order"),
    [
        (1e-6, 1.0, 1.1),
        (1e-3, 0.5, 1.5),
        (1e-3, 20.0, 3.7),
        (0.01, 0.7, 12.3),
        (0.01, 5.0, 34.9),
        (0.1, 2.0, 1.01),
        (0.3, 1.0, 2.5),
        (0.5, 4.0, 20.5),
        (0.9, 1.0, 1.3),
        (1 - 2**-32, 2.0, 5.5),
    ],
)
def test_sampled_noise_costs_the_integral_at_orders_in_between(rate, noise, order):
    check_divergence(rate, noise, order, integrated_divergence(rate, noise, order))


@pytest.mark.parametrize("noise", [0.5, 0.8, 1.0, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("rate", [1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 1.0])
def test_an_accountant_of_others_says_the_same(rate, noise):
    whole, between = [2, 3, 4, 8, 16, 32, 64, 128, 256], [10.3, 16.5, 33.5]
    theirs = rdp_of(rate, noise, 1, whole + between)
    for order, other in zip(whole + between, theirs, strict=True):
        ours = sampled_divergence(sampled(rate, noise), float(order))
        room = 2e-14 / (order - 1)
        assert ours <= other * (1 + 1e-6) + room
        # In between they drop the signs of an alternating series: theirs is an upper bound there.
        assert ours >= other * (1 - 1e-9) or order in between


def rdp_of(rate, noise, steps, orders):
    return RdpAccountant(orders).compose(training(rate, noise, steps)).rdp


def training(rate, noise, steps):
    step = dpa.GaussianDpEvent(noise)
    return dpa.SelfComposedDpEvent(
        step if rate == 1 else dpa.PoissonSampledDpEvent(rate, step), steps
    )


@pytest.mark.parametrize("scale", [20, 57, 200])
def test_whole_noise_costs_what_the_formula_says_and_more_with_the_record_than_without(scale):
    # Straight sums over whole numbers of the two laws, whose shift is whole as well.
    for ratio, rate, order in itertools.product((0.2, 1, 2.5), (0.05, 0.5, 0.95), (1.3, 2, 4.7, 9)):
        shift = round(ratio * scale)
        reach = 12 * scale + math.ceil(order * shift)
        y = np.arange(-reach, reach + 1, dtype=np.float64)
        density = -(y**2) / (2 * scale**2)
        density -= math.log(math.fsum(np.exp(density)))
        ratio_of = (2 * y * shift - shift**2) / (2 * scale**2)
        ratios = np.logaddexp(math.log(1 - rate), math.log(rate) + ratio_of)
        added = math.log(math.fsum(np.exp(density + order * ratios))) / (order - 1)
        removed = math.log(math.fsum(np.exp(density + (1 - order) * ratios))) / (order - 1)
        event = SampledGaussian(rate, float(scale), Fraction(shift**2), 1)
        assert sampled_divergence(event, float(order)) == pytest.approx(added, rel=2e-9, abs=1e-13)
        assert removed < added


@pytest.mark.parametrize("order", [1.5, 3.0, 35.0, 4000.0, 5000.0, 1e9])
def test_sampling_never_costs_more_than_taking_every_record(order):
    everyone = float(rho(Gaussian(1.0, Fraction(1), 7)))
    for rate in (1e-6, 0.01, 0.5, 0.999, 1.0):
        assert 0 < cost(sampled(rate, 1.0, 7), order) <= everyone * (1 + 2e-9)


def test_a_sampled_event_is_charged_for_all_its_steps_at_once():
    for order in (1.7, 12.0, 35.5):
        one, many = cost(sampled(0.02, 1.5, 1), order), cost(sampled(0.02, 1.5, 1000), order)
        assert float(many) == pytest.approx(1000 * float(one), rel=1e-12)
        assert (many * 2**100).denominator == 1
        divergence = sampled_divergence(sampled(0.02, 1.5), order)
        assert many >= Fraction(1000 * divergence) / Fraction(order)


# Properties


@given(st.lists(EVENTS.filter(lambda e: not isinstance(e, Reveal)), max_size=6), ORDERS)
@settings(max_examples=50)
def test_costs_add_up_in_any_order(events, order):
    total = total_cost(events, order)
    assert total == sum((cost(event, order) for event in events), Fraction(0))
    assert total == total_cost(events[::-1], order)
    for event in events:
        assert total_cost([*events, event], order) == total + cost(event, order) > total


@given(SCALES, SENSITIVITIES, st.floats(1.001, 10), ORDERS, st.integers(1, 5))
def test_less_noise_farther_neighbours_and_more_steps_cost_more(scale, squared, f, order, steps):
    here = cost(Gaussian(scale, squared, steps), order)
    assert cost(Gaussian(scale * f, squared, steps), order) < here
    assert cost(Gaussian(scale, squared * 2, steps), order) > here
    assert cost(Gaussian(scale, squared, steps + 1), order) > here
    # Steps are the same as asking as often.
    apart = total_cost([Gaussian(scale, squared)] * steps, order)
    assert 0 <= apart - here < steps * GRID


@given(
    st.floats(1e-4, 0.9), st.floats(0.7, 20), st.integers(1, 1000), st.floats(1.05, 1000), ORDERS
)
@settings(max_examples=60)
def test_sampled_costs_grow_with_rate_steps_and_order_and_shrink_with_noise(
    rate, noise, steps, factor, order
):
    # Differences below the 1e-14 that is added to every moment are none.
    room = Fraction(2 * steps, 10**14) / Fraction(order - 1)
    here = cost(sampled(rate, noise, steps), order)
    assert cost(sampled(min(1.0, rate * factor), noise, steps), order) >= here - room
    assert cost(sampled(rate, noise * factor, steps), order) <= here + room
    assert cost(sampled(rate, noise, steps + 1), order) > here
    higher = sampled_divergence(sampled(rate, noise), order * 1.1)
    assert higher >= sampled_divergence(sampled(rate, noise), order) * (1 - 1e-8) - float(room)


# How much noise a cost needs


@given(SENSITIVITIES, st.fractions(min_value=Fraction(1, 10**9), max_value=100))
def test_a_gaussian_scale_is_the_smallest_double_that_costs_no_more(squared, amount):
    scale = gaussian_scale(squared, amount)
    assert cost(Gaussian(scale, squared), 2.0) <= amount
    less = math.nextafter(scale, 0.0)
    assert cost(Gaussian(less, squared), 2.0) > amount


@pytest.mark.parametrize(
    ("squared", "amount", "scale"),
    # The second fits exactly, but no grid point lies at 1/18.
    [
        (1, Fraction(1, 8), 2.0),
        (1, Fraction(1, 18), math.nextafter(3.0, 4.0)),
        (50, Fraction(1), 5),
    ],
)
def test_gaussian_scales_of_the_textbook(squared, amount, scale):
    assert gaussian_scale(Fraction(squared), amount) == scale


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=100))
def test_a_selection_gets_the_largest_double_that_costs_no_more(amount):
    epsilon = exponential_epsilon(amount)
    assert cost(Exponential(epsilon), 2.0) <= amount
    assert cost(Exponential(math.nextafter(epsilon, math.inf)), 2.0) > amount


@pytest.mark.parametrize(
    "noise_for", [lambda amount: gaussian_scale(Fraction(1), amount), exponential_epsilon]
)
def test_a_tiny_amount_is_answered_at_once(noise_for, monkeypatch):
    steps, real = itertools.count(), math.nextafter

    def counted(x, y):
        assert next(steps) < 1000
        return real(x, y)

    monkeypatch.setattr(math, "nextafter", counted)
    # The grid of costs is coarser here than doubles are.
    noise_for(Fraction(1, 3 * 2**80))


@pytest.mark.parametrize("rate", [1e-5, 0.01, 0.3, 0.99])
@pytest.mark.parametrize(("epsilon", "steps"), [(0.5, 10), (1.0, 1000), (8.0, 300)])
def test_a_sampled_scale_costs_no_more_and_a_hair_less_noise_does(rate, epsilon, steps):
    budget = Budget(epsilon, 1e-9)
    for amount in (budget.rho, budget.rho / 7):
        scale = sampled_scale(rate, Fraction(CLIP**2), steps, amount, budget.order)
        event = SampledGaussian(rate, scale, Fraction(CLIP**2), steps)
        assert cost(event, budget.order) <= amount
        less = SampledGaussian(rate, scale * (1 - 1e-5), Fraction(CLIP**2), steps)
        assert cost(less, budget.order) > amount


@pytest.mark.parametrize(("rate", "epsilon"), [(1.0, 1.0), (1 - 2**-32, 1.0), (0.01, 0.005)])
def test_a_sampled_scale_fits_where_sampling_saves_nothing(rate, epsilon):
    # A rate of one; and a small ε, whose order lies beyond those for which sampling is computed.
    budget = Budget(epsilon, 1e-9)
    scale = sampled_scale(rate, Fraction(CLIP**2), 100, budget.rho, budget.order)
    event = SampledGaussian(rate, scale, Fraction(CLIP**2), 100)
    assert cost(event, budget.order) <= budget.rho


def test_a_sampled_scale_is_found_however_little_may_be_spent(monkeypatch):
    order, calls = Budget(100.0, 1e-2).order, itertools.count()

    def counted(event, order):
        assert next(calls) < 1000
        return cost(event, order)

    monkeypatch.setattr(accountant, "cost", counted)
    scale = sampled_scale(0.01, Fraction(CLIP**2), 10**5, Fraction(1, 10**10), order)
    event = SampledGaussian(0.01, scale, Fraction(CLIP**2), 10**5)
    assert cost(event, order) <= Fraction(1, 10**10)


# Totals of events that were fixed beforehand


@pytest.mark.parametrize(
    ("rate", "noise", "steps", "delta", "grain"),
    [
        (1e-4, 0.5, 100, 1e-7, 1e-3),
        (0.01, 1.1, 1000, 1e-5, 1e-4),
        (0.02, 0.5, 10, 1e-6, 1e-3),
        (0.5, 20.0, 200, 1e-6, 1e-4),
        (1.0, 20.0, 50, 1e-6, 1e-4),
        pytest.param(1e-4, 0.8, 2000, 1e-9, 1e-4, marks=pytest.mark.slow),
        pytest.param(1e-3, 1.0, 10_000, 1e-6, 4e-5, marks=pytest.mark.slow),
        pytest.param(0.1, 4.0, 500, 1e-9, 1e-4, marks=pytest.mark.slow),
        pytest.param(0.2, 10.0, 2000, 1e-5, 1e-4, marks=pytest.mark.slow),
    ],
)
def test_a_training_run_costs_what_others_say_and_not_less_than_it_loses(
    rate, noise, steps, delta, grain
):
    ours = total_epsilon([sampled(rate, noise, steps)], delta)
    run = training(rate, noise, steps)
    # Losses rounded down: what the run loses for certain.
    lost = pld.from_gaussian_mechanism(
        noise,
        sampling_prob=rate,
        pessimistic_estimate=False,
        use_connect_dots=False,
        value_discretization_interval=grain,
    )
    assert ours >= lost.self_compose(steps).get_epsilon_for_delta(delta) > 0.01
    # Their own orders are few; with more of them they come as low as we do, and no lower.
    few, many = RdpAccountant(), RdpAccountant([*(k / 8 for k in range(12, 160)), *range(20, 200)])
    assert ours >= 0.99 * many.compose(run).get_epsilon(delta)
    assert ours <= 1.01 * few.compose(run).get_epsilon(delta)


def test_a_run_on_tiny_samples_costs_no_more_than_others_say():
    theirs = RdpAccountant().compose(training(1e-6, 0.6, 1000)).get_epsilon(1e-9)
    assert total_epsilon([sampled(1e-6, 0.6, 1000)], 1e-9) <= 1.01 * theirs


def test_events_of_all_kinds_compose_as_others_compose_them():
    delta = 1e-5
    events = [
        counts(30.0, 12),
        Exponential(0.2),
        sampled(0.01, 1.3, 500),
        Gaussian(9.0, Fraction(4)),
    ]
    composed = (
        RdpAccountant()
        .compose(dpa.GaussianDpEvent(30.0), 12)
        .compose(dpa.ZCDpEvent(0.2**2 / 8))
        .compose(training(0.01, 1.3, 500))
        .compose(dpa.GaussianDpEvent(4.5))
    )
    ours = total_epsilon(events, delta)
    assert ours == pytest.approx(composed.get_epsilon(delta), rel=0.01)
    assert total_epsilon([events[0], *events[2:]], delta) < ours


def test_plain_events_convert_at_the_best_order():
    events = [Gaussian(30.0, Fraction(12)), Exponential(0.2)]
    exact = Fraction(12, 1800) + Fraction(0.2) ** 2 / 8
    assert total_epsilon(events, 1e-9) == pytest.approx(epsilon_of_rho(exact, 1e-9), rel=1e-12)


def exact_losses(pairs):
    """Losses and chances of counts, n cells of scale s each, by straight sums of positive terms.

    The loss of n cells is that of the sum of their noise, a whole number.
    """
    losses, chances = np.zeros(1), np.ones(1)
    for scale, cells in pairs:
        reach = int(12 * scale) + 3
        one = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * scale**2))
        one /= math.fsum(one)
        summed = np.ones(1)
        for _ in range(cells):
            summed = np.convolve(summed, one)
        places = np.arange(len(summed)) - len(summed) // 2
        here = (2 * places + cells) / (2 * scale**2)
        kept = summed > 1e-18  # so little that no δ below tells
        losses = np.add.outer(losses, here[kept]).ravel()
        chances = np.multiply.outer(chances, summed[kept]).ravel()
    return losses, chances


def exact_epsilon(losses, chances, delta):
    low, high = 0.0, float(losses.max())
    for _ in range(60):
        middle = (low + high) / 2
        beyond = losses > middle
        lost = math.fsum(-np.expm1(middle - losses[beyond]) * chances[beyond])
        low, high = (middle, high) if lost > delta else (low, middle)
    return low


def continuous_epsilon(mu, delta):
    """Where δ(ε) of Gaussians on the line falls to δ."""
    low, high = mpf(0), mu**2 / 2 + mu * mp.sqrt(-2 * mp.log(delta)) + 1
    for _ in range(80):
        e = (low + high) / 2
        lost = mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)
        low, high = (e, high) if lost > delta else (low, e)
    return float(low)


@pytest.mark.parametrize(
    "pairs", [[(5.0, 20)], [(3.0, 50)], [(20.0, 10)], [(3.0, 5), (10.0, 20)], [(1.5, 3)]]
)
def test_counts_fixed_beforehand_cost_their_exact_loss(pairs):
    events = [counts(scale, cells) for scale, cells in pairs]
    cells = sum(cells for _, cells in pairs)
    losses = exact_losses(pairs)
    optimistic = pld.identity(pessimistic_estimate=False)
    for scale, n in pairs:
        one = pld.from_discrete_gaussian_mechanism(scale, pessimistic_estimate=False)
        optimistic = optimistic.compose(one.self_compose(n))
    for delta in (1e-3, 1e-6, 1e-9):
        total = total_epsilon(events, delta)
        true = exact_epsilon(*losses, delta)
        # Losses are rounded up to 1e-4, once for each cell.
        assert true <= total <= true + 1.1e-4 * cells
        assert total <= epsilon_of_rho(sum(map(rho, events)), delta)
        assert total >= optimistic.get_epsilon_for_delta(delta)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize(
    "pairs", [[(5.0, 20)], [(20.0, 10)], [(50.0, 400)], [(7.0, 5), (10.0, 20)]]
)
def test_fine_noise_on_counts_costs_what_the_line_says(pairs, delta):
    mu = mp.sqrt(mp.fsum(n / mpf(scale) ** 2 for scale, n in pairs))
    line = continuous_epsilon(mu, delta)
    total = total_epsilon([counts(scale, n) for scale, n in pairs], delta)
    assert line - 1e-3 <= total <= line + 1.1e-4 * sum(n for _, n in pairs) + 1e-3


def test_the_notes_examples():
    assert total_epsilon([counts(3.0, 50)], 1e-9) == pytest.approx(16.42, abs=0.005)
    assert total_epsilon([counts(3.0, 1, steps=50)], 1e-9) == pytest.approx(16.42, abs=0.005)
    assert total_epsilon([Gaussian(3.0, Fraction(50))], 1e-9) == pytest.approx(17.15, abs=0.005)
    assert total_epsilon([counts(5.0, 20)], 1e-6) == pytest.approx(4.306, abs=0.0005)
    assert total_epsilon([counts(5.0, 4)] * 5, 1e-6) == pytest.approx(4.306, abs=0.0005)


def test_the_exact_loss_counts_only_where_it_is_known_of_every_event():
    known, unknown = counts(5.0, 10), Gaussian(5.0, Fraction(10))
    by_rho = epsilon_of_rho(Fraction(20, 50), 1e-6)
    assert total_epsilon([known, known], 1e-6) < by_rho * 0.95
    assert total_epsilon([known, unknown], 1e-6) == pytest.approx(by_rho, rel=1e-8)
    assert total_epsilon([unknown, known], 1e-6) == pytest.approx(by_rho, rel=1e-8)
    with_selection = total_epsilon([known, known, Exponential(1e-6)], 1e-6)
    assert with_selection == pytest.approx(by_rho, rel=1e-8)


def test_a_delta_below_what_the_exact_loss_resolves_falls_back_to_rho():
    # Tails of 1e-15 are cut off there and count as lost.
    assert total_epsilon([counts(5.0, 20)], 1e-20) == epsilon_of_rho(Fraction(2, 5), 1e-20)


@pytest.mark.parametrize(
    ("scale", "cells", "delta"), [(1.0, 30, 1e-9), (1.0, 30, 1e-12), (5.0, 100, 1e-12)]
)
def test_the_exact_total_is_never_below_the_truth(scale, cells, delta):
    # Where all losses are multiples of 1e-4, none is rounded up, and nothing makes up for errors.
    true = exact_epsilon(*exact_losses([(scale, cells)]), delta)
    assert total_epsilon([counts(scale, cells)], delta) >= true
