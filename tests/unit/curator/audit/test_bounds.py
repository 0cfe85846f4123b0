import math

import numpy as np
import pytest
from scipy import stats

from understudy.curator.audit.bounds import (
    Mistakes,
    Rate,
    Surprise,
    as_numbers,
    fewest_runs,
    gaussian_epsilon,
    lattice_mu,
    mistakes,
    most_epsilon_low,
    one_run_epsilon_low,
)

RISK = 0.05


@pytest.mark.parametrize(("count", "of"), [(0, 20), (3, 20), (20, 20), (1, 1), (500, 1000)])
def test_bounds_of_a_rate_are_those_of_clopper_and_pearson(count, of):
    rate = Rate(count, of)
    assert rate.value == count / of
    # At each end so few, or so many, would be seen with just the risk.
    if count:
        assert stats.binom.sf(count - 1, of, rate.low(RISK)) == pytest.approx(RISK)
    else:
        assert rate.low(RISK) == 0.0
    if count < of:
        assert stats.binom.cdf(count, of, rate.high(RISK)) == pytest.approx(RISK)
    else:
        assert rate.high(RISK) == 1.0


def test_of_nothing_nothing_is_known():
    assert Rate(0, 0).value == 0.5
    assert Mistakes(Rate(0, 0), Rate(0, 0)).epsilon_low(0.0, RISK) == 0.0


@pytest.mark.parametrize(("runs", "most"), [(500, 4.9), (5_000, 7.2), (50_000, 9.5)])
def test_no_mistake_in_so_many_runs_says_so_much_and_no_more(runs, most):
    perfect = Mistakes(Rate(0, runs), Rate(0, runs))
    assert perfect.epsilon_low(1e-5, RISK) == pytest.approx(most, abs=0.05)
    assert math.isfinite(perfect.mu())


def test_mistakes_are_turned_into_the_distance_of_two_normal_laws():
    # At a distance of 1 and a threshold in the middle, both go wrong in 30.85 % of all runs.
    half = Mistakes(Rate(30_854, 100_000), Rate(30_854, 100_000))
    assert half.mu() == pytest.approx(1.0, abs=1e-4)
    assert 0.97 < half.mu_low(RISK) < 1.0
    assert Mistakes(Rate(5, 10), Rate(5, 10)).mu_low(RISK) == 0.0


def test_epsilon_is_read_off_the_likelier_direction():
    # Alarms are rare and hits are not, or the other way round.
    one, other = Rate(10, 10_000), Rate(5_000, 10_000)
    assert Mistakes(one, other).epsilon_low(0.0, RISK) == pytest.approx(
        Mistakes(other, one).epsilon_low(0.0, RISK)
    )
    assert Mistakes(one, other).epsilon_low(0.0, RISK) == pytest.approx(math.log(500), abs=0.8)
    assert Mistakes(one, other).epsilon_low(0.6, RISK) < Mistakes(one, other).epsilon_low(0.0, RISK)


@pytest.mark.statistical
def test_bounds_hold_as_often_as_they_say_and_bite():
    # 400 audits of normal noise whose μ is 1, at 95 %: more than 38 false bounds would be seen
    # once in 10⁴ times. And the mean bound lies within a fifth of the truth.
    rng = np.random.default_rng(0)
    true = stats.norm.sf(0.5)
    epsilon = max(
        math.log((stats.norm.sf(t - 1) - 1e-5) / stats.norm.sf(t)) for t in np.linspace(-3, 4.0, 99)
    )
    low, epsilons = [], []
    for _ in range(400):
        for_mu, for_epsilon = mistakes(
            rng.normal(0, 1, 1000), rng.normal(1, 1, 1000), delta=1e-5, risk=RISK
        )
        low.append(for_mu.mu_low(RISK))
        epsilons.append(for_epsilon.epsilon_low(1e-5, RISK))
    assert true < 0.31
    assert np.sum(np.array(low) > 1.0) <= 38
    assert np.mean(low) > 0.7
    assert max(epsilons) < epsilon


def test_a_threshold_is_chosen_on_one_half_and_counted_on_the_other():
    # The first half says that large numbers mean the record; in the second they mean nothing.
    without = np.concatenate([np.zeros(50), np.ones(50)])
    with_it = np.concatenate([np.ones(50), np.ones(50)])
    for_mu, _ = mistakes(without, with_it, delta=0.0, risk=RISK)
    assert (for_mu.alarms, for_mu.misses) == (Rate(50, 50), Rate(0, 50))
    assert for_mu.mu_low(RISK) == 0.0


def test_outcomes_count_by_how_much_likelier_they_were_in_the_first_half():
    without = ["x", "x", "x", "y", "x", "new"]
    with_it = ["y", "y", "x", "y", "y", "y"]
    first, second = as_numbers(without, with_it)
    assert first.tolist() == [math.log(1.5 / 3.5)] * 3 + [math.log(2.5 / 0.5)] + [
        math.log(1.5 / 3.5),
        0.0,
    ]
    assert second[0] == first[3]


@pytest.mark.parametrize(("epsilon", "mu"), [(0.5, 0.142), (1, 0.268), (4, 0.925), (8, 1.666)])
def test_the_epsilon_of_gaussian_noise_is_the_known_one(epsilon, mu):
    assert gaussian_epsilon(mu, 1e-5) == pytest.approx(epsilon, rel=0.01)


def test_noise_that_hides_everything_has_no_epsilon():
    assert gaussian_epsilon(0.0, 1e-5) == 0.0
    assert gaussian_epsilon(1e-6, 1e-5) == 0.0


@pytest.mark.parametrize(
    ("epsilon", "canaries", "low", "high"),
    [(1.0, 10_000, 0.2, 0.7), (4.0, 10_000, 1.4, 2.3), (8.0, 1_000, 1.5, 3.6)],
)
@pytest.mark.statistical
def test_one_run_sees_what_others_measured_with_as_many_canaries(epsilon, canaries, low, high):
    # Gaussian noise for (ε, 1e-5) has this μ; 5 % of the canaries are guessed at each end.
    mu = {1.0: 0.268, 4.0: 0.925, 8.0: 1.666}[epsilon]
    rng = np.random.default_rng(1)
    there = rng.random(canaries) < 0.5
    order = np.argsort(there * mu + rng.standard_normal(canaries))
    each = canaries // 20
    right = int(there[order[-each:]].sum() + (~there[order[:each]]).sum())
    found = one_run_epsilon_low(2 * each, right, canaries, 1e-5, RISK)
    assert low < found < high
    assert found < epsilon


def test_one_run_of_luck_says_nothing():
    assert one_run_epsilon_low(100, 50, 1000, 1e-5, RISK) == 0.0
    assert one_run_epsilon_low(0, 0, 1000, 1e-5, RISK) == 0.0
    assert one_run_epsilon_low(100, 100, 1000, 0.0, RISK) == pytest.approx(
        math.log(RISK**0.01 / (1 - RISK**0.01)), rel=1e-6
    )
    # A δ by which every canary may be published explains everything.
    assert one_run_epsilon_low(100, 100, 1000, 0.5, RISK) == 0.0


@pytest.mark.parametrize("scale", [0.3, 0.64, 1.157, 3.0, 8.0])
@pytest.mark.parametrize("apart", [1, 2, 3])
def test_no_threshold_tells_whole_numbers_apart_better_than_is_allowed(scale, apart):
    noise = np.arange(-int(9 * scale + 5), int(9 * scale + 5) + 1)
    law = np.exp(-np.square(noise / scale) / 2)
    law /= law.sum()
    seen = []
    for threshold in noise:
        alarms, misses = law[noise >= threshold].sum(), law[noise < threshold - apart].sum()
        if min(alarms, misses) > 1e-9:
            seen.append(-stats.norm.ppf(alarms) - stats.norm.ppf(misses))
    assert max(seen, default=0.0) <= apart * lattice_mu(scale) * (1 + 1e-6)
    if apart == 1:
        assert max(seen) == pytest.approx(lattice_mu(scale), rel=1e-6)
        assert lattice_mu(scale) > 1 / scale


def test_so_many_runs_can_contradict_a_claim_and_no_fewer():
    for epsilon, risk in ((0.1, RISK), (1.0, 1e-3), (4.0, 1e-3)):
        fewest = fewest_runs(epsilon, 1e-5, risk)
        assert most_epsilon_low(fewest, 1e-5, risk) > epsilon
        assert most_epsilon_low(fewest - 1, 1e-5, risk) <= epsilon
    assert fewest_runs(50.0, 1e-5, RISK) is None


@pytest.mark.statistical
def test_choices_that_depend_on_those_before_surprise_nobody():
    # Who stops being surprised by stopping at the right time is no surprise: 400 walks, of which
    # more than 38 beyond 5 % would be seen once in 10⁴ times.
    rng = np.random.default_rng(3)
    chances = []
    for _ in range(400):
        found = Surprise()
        for _ in range(100):
            likely = np.array([0.5, 0.5]) if found.strayed < 3 else np.array([0.99, 0.01])
            found = found.after(likely, np.array([0.0, 1.0]), int(rng.random() < likely[1]))
        chances.append(found.chance)
    assert np.sum(np.array(chances) < 0.05) <= 38


@pytest.mark.statistical
def test_choices_that_follow_their_law_surprise_nobody_and_sharper_ones_do():
    # The bound alarms less than once in 10³ here; choices twice as sharp always do.
    rng = np.random.default_rng(2)
    scores = np.array([0.0, 1.0, 3.0])

    def strayed(sharpness):
        law, real = (np.exp(s * scores) / np.exp(s * scores).sum() for s in (0.5, sharpness))
        found = Surprise()
        for chosen in rng.choice(3, 1000, p=real):
            found = found.after(law, scores, int(chosen))
        return found.chance

    assert strayed(0.5) > 1e-3
    assert strayed(1.0) < 1e-6
    assert strayed(0.25) < 1e-6


def test_ties_surprise_nobody():
    found = Surprise()
    for _ in range(100):
        found = found.after(np.full(3, 1 / 3), np.full(3, 0.1), 0)
    assert found.chance == 1.0
