"""Inputs that are made up: laws and ties of the real ones, and controls without them."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from understudy.model.latin_hypercube import middles
from understudy.twostage.first_stages import (
    Cauchy,
    LatinHypercube,
    Uniform,
    Weibull,
    normal_correlation,
)
from understudy.twostage.marginal import Smoothed

STAGES = [LatinHypercube(), LatinHypercube(bandwidths=(0.1, 1.0)), Uniform(), Weibull(), Cauchy()]
ROWS = 2000


def real(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(rows, 4))
    base[:, 1] += base[:, 0]
    base[:, 2] -= 2 * base[:, 1]
    return np.column_stack([base[:, 0], np.exp(base[:, 1]), base[:, 2] * 1e4, base[:, 3] + 7])


def made(stage, given, seed=1):
    return stage.made(given, np.random.default_rng(seed))


@pytest.mark.untraced
def test_each_column_has_the_law_of_the_real_one():
    found = made(LatinHypercube(), real())
    for column in range(4):
        law = Smoothed.of(real()[:, column])
        np.testing.assert_array_equal(np.sort(found[:, column]), law.quantiles(middles(ROWS)))
    for column in (0, 2, 3):
        assert ks_2samp(found[:, column], real()[:, column]).statistic <= 0.012
    # Where a column ends abruptly, smoothing moves some of it; hardly smoothed, it does not.
    few = made(LatinHypercube(bandwidths=(0.02,)), real())
    for column in range(4):
        assert ks_2samp(few[:, column], real()[:, column]).statistic <= 0.01


def test_means_and_variances_stay_unless_they_may_grow():
    found = made(LatinHypercube(), real())
    moved = (found.mean(axis=0) - real().mean(axis=0)) / real().std(axis=0)
    assert np.abs(moved).max() < 0.08
    np.testing.assert_allclose(found.std(axis=0), real().std(axis=0), rtol=0.03)
    grown = made(LatinHypercube(shrink=False, bandwidths=(1.0,)), real())
    assert grown[:, 0].std() > 1.2 * real()[:, 0].std()


def test_columns_are_tied_as_the_real_ones():
    found = normal_correlation(made(LatinHypercube(), real()))
    assert np.abs(found - normal_correlation(real())).max() < 0.02
    assert abs(found[0, 1]) > 0.6


def test_ties_do_not_depend_on_the_columns_units():
    given = real()
    scaled = given * [1e-3, 1.0, 1e6, 1.0]
    np.testing.assert_allclose(normal_correlation(given), normal_correlation(scaled))


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
@pytest.mark.parametrize(
    "given",
    [
        np.column_stack([np.full(50, 3.0), np.arange(50.0)]),
        np.column_stack([np.arange(50.0)] * 3),
        np.column_stack([np.arange(50.0), -2 * np.arange(50.0) + 1]),
        np.random.default_rng(0).normal(size=(3, 8)),
        np.random.default_rng(0).normal(size=(2, 2)),
        np.array([[1.0, 2.0]]),
        np.full((1, 1), 5.0),
        np.zeros((0, 3)),
        np.zeros((4, 0)),
    ],
    ids=["constant", "same", "opposite", "wide", "two rows", "one row", "one", "empty", "nothing"],
)
def test_odd_tables_are_absorbed(stage, given):
    found = made(stage, given)
    assert found.shape == given.shape
    assert np.isfinite(found).all()
    for column in range(given.shape[1]):
        if len(given) and np.ptp(given[:, column]) == 0:
            assert (found[:, column] == given[:, column]).all()


def test_columns_that_are_the_same_stay_so():
    found = made(LatinHypercube(), np.column_stack([np.arange(500.0)] * 2))
    assert np.abs(found[:, 0] - found[:, 1]).max() < 25


def test_the_controls_know_a_columns_range_alone():
    low, width = real().min(axis=0), np.ptp(real(), axis=0)
    shares = {
        stage.name: (made(stage, real()) - low) / width
        for stage in (Uniform(), Weibull(), Cauchy())
    }
    assert ks_2samp(shares["uniform"][:, 0], np.linspace(0, 1, 1000)).statistic < 0.05
    assert np.median(shares["Weibull"]) == pytest.approx(np.log(2) ** (1 / 8), abs=0.01)
    assert np.median(np.abs(shares["Cauchy"])) == pytest.approx(1, abs=0.1)
