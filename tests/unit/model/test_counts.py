import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import optimize

from understudy.model.counts import combined, fitted, row_total
from understudy.privacy.answers import Measurement

FAR = 6.2
"""Standard deviations; beyond them lies 1e-9 of a normal law."""
CELLS = st.integers(1, 6).flatmap(
    lambda size: st.tuples(
        st.lists(st.floats(-500, 500), min_size=size, max_size=size),
        st.lists(st.floats(0.01, 1000), min_size=size, max_size=size),
        st.floats(0.5, 2000),
    )
)
RANDOM = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def loss(counts, values, variance):
    return float(np.sum((counts - values) ** 2 / variance))


def tried_out(values, variance, total):
    """The same quadratic program by trying out every set of cells that may stay above zero."""
    best = None
    for kept in itertools.product([False, True], repeat=len(values)):
        chosen = np.array(kept)
        if not chosen.any():
            continue
        step = (values[chosen].sum() - total) / variance[chosen].sum()
        counts = np.where(chosen, values - step * variance, 0.0)
        allowed = counts.min() >= -1e-9 * (1 + np.abs(values).max())
        if allowed and (
            best is None or loss(counts, values, variance) < loss(best, values, variance)
        ):
            best = counts
    return best


def by_scipy(values, variance, total):
    """The same by a general solver, in shares of the total to suit its tolerances."""
    start = np.full(len(values), 1 / len(values))
    weight = total**2 / variance
    found = optimize.minimize(
        lambda x: np.sum(weight * (x - values / total) ** 2) / weight.mean(),
        start,
        jac=lambda x: 2 * weight * (x - values / total) / weight.mean(),
        method="SLSQP",
        bounds=[(0, None)] * len(values),
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    assert found.success or found.status == 8  # no direction left that falls: it is there
    return found.x * total


@given(CELLS)
@example(([8.0, 3.0, -2.0], [1.0, 1.0, 1.0], 10.0))
@example(([0.0, 0.0], [1.0, 4.0], 1.0))
@example(([-5.0, -5.0, -400.0], [1.0, 1.0, 900.0], 3.0))
@example(([100.0], [9.0], 7.0))
def test_no_counts_are_nearer(cells):
    values, variance, total = map(np.array, cells)
    counts = fitted(values, variance, float(total))
    expected = tried_out(values, variance, total)
    np.testing.assert_allclose(counts, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_a_general_solver_finds_the_same(seed):
    rng = np.random.default_rng(seed)
    values, variance = rng.normal(20, 30, 12), rng.uniform(1, 50, 12)
    counts = fitted(values, variance, 240.0)
    np.testing.assert_allclose(counts, by_scipy(values, variance, 240.0), atol=1e-3)


@given(RANDOM, st.integers(1, 3000), st.floats(1, 1e6), st.floats(0.5, 1e5))
def test_counts_are_never_negative_and_add_up_to_the_total(rng, size, total, scale):
    values = rng.normal(total / size, scale, size)
    variance = scale**2 * rng.uniform(0.2, 5, size)
    counts = fitted(values, variance, total)
    assert counts.shape == (size,)
    assert counts.min() >= 0
    assert counts.sum() == pytest.approx(total, rel=1e-6)
    # What makes them the nearest: cells that stay moved by one step times their variance, and
    # the step would push all others below zero.
    step = (values - counts) / variance
    stays = counts > 0
    if stays.any():
        common = step[stays][np.argmax(variance[stays])]
        np.testing.assert_allclose(
            counts[stays], (values - common * variance)[stays], atol=1e-6 * (scale + total)
        )
        assert (values - common * variance)[~stays].max(initial=0.0) <= 1e-6 * (scale + total)


@given(RANDOM, st.integers(1, 300))
def test_a_table_lost_in_noise_still_has_counts(rng, size):
    # As much noise as can be drawn, and a total of one row.
    scale = 2.0**44
    counts = fitted(rng.normal(0, scale, size).round(), np.full(size, scale**2), 1.0)
    assert counts.min() >= 0
    assert 0.5 < counts.sum() < 2


def test_without_noise_to_mend_nothing_moves():
    values = np.array([4.0, 0.0, 6.0])
    np.testing.assert_allclose(fitted(values, np.ones(3), 10.0), values)


def test_where_the_noise_is_larger_a_cell_moves_farther():
    counts = fitted(np.array([50.0, 50.0]), np.array([1.0, 3.0]), 104.0)
    np.testing.assert_allclose(counts, [51.0, 53.0])


def test_input_is_left_alone():
    values, variance = np.array([5.0, -3.0]), np.array([1.0, 2.0])
    fitted(values, variance, 4.0)
    assert values.tolist() == [5.0, -3.0]
    assert variance.tolist() == [1.0, 2.0]


def measured(values, scale, clique=("x",)):
    return Measurement(clique, np.array(values, float), scale)


def test_measurements_of_one_marginal_are_weighed_by_their_precision():
    mean, variance = combined(
        [measured([10, 20], 1.0), measured([14, 40], 2.0), measured([0, 0], np.array([2.0, 1.0]))]
    )
    # Precisions: 1, 1/4, and 1/4 or 1.
    np.testing.assert_allclose(mean, [(10 + 14 / 4) / 1.5, (20 + 40 / 4) / 2.25])
    np.testing.assert_allclose(variance, [1 / 1.5, 1 / 2.25])


def test_one_measurement_is_taken_as_it_is():
    mean, variance = combined([measured([7, -2], 3.0)])
    np.testing.assert_allclose(mean, [7, -2])
    np.testing.assert_allclose(variance, [9, 9])


def test_the_number_of_rows_is_trusted_by_the_noise_of_each_sum():
    total = row_total(
        [
            measured(120, 2.0, ()),
            measured([60, 50], 1.0),
            measured([30, 30, 40], np.array([1.0, 2.0, 2.0]), ("y",)),
        ]
    )
    weights = np.array([1 / 4, 1 / 2, 1 / 9])
    assert total == pytest.approx(weights @ [120, 110, 100] / weights.sum())


@given(RANDOM)
def test_exact_measurements_give_back_what_was_counted(rng):
    counts = rng.integers(0, 50, 6).astype(float)
    parts = [measured(counts, s) for s in (0.1, 3.0)]
    np.testing.assert_allclose(combined(parts)[0], counts)
    assert row_total([*parts, measured(counts.sum(), 2.0, ())]) == pytest.approx(counts.sum())


@pytest.mark.statistical
def test_means_and_totals_favour_no_side_and_have_the_variance_they_say():
    # A fixed seed; a sound estimate would miss by so much with one seed in 10⁸. Power: a bias of a
    # seventh of a standard deviation, or a fifth in the variance, is always seen.
    rng = np.random.default_rng(1)
    runs, true = 4000, np.array([3.0, 40.0, 0.0])
    scales = [2.0, np.array([1.0, 5.0, 0.5])]
    means, totals = [], []
    for _ in range(runs):
        parts = [measured(rng.normal(true, scale), scale) for scale in scales]
        mean, variance = combined(parts)
        means.append(mean)
        totals.append(row_total(parts))
    off = (np.array(means) - true) / np.sqrt(variance)
    assert np.abs(off.mean(0)).max() < FAR / runs**0.5
    assert np.abs(off.var(0) - 1).max() < FAR * (2 / runs) ** 0.5
    spread = 1 / (1 / (3 * 4.0) + 1 / 26.25)
    off_total = (np.array(totals) - true.sum()) / spread**0.5
    assert abs(off_total.mean()) < FAR / runs**0.5
    assert abs(off_total.var() - 1) < FAR * (2 / runs) ** 0.5
