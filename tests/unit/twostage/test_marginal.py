"""The smoothed law of a column: in closed form, inverted, and sound for odd columns."""

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.stats import norm

from understudy.twostage import marginal as module
from understudy.twostage.marginal import Smoothed


def values(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(0, 1, rows // 2), rng.gamma(2.0, 3.0, rows - rows // 2)])


def density(where, around, width):
    return norm.pdf((where[:, None] - around) / width).mean(axis=1) / width


def test_it_is_the_integral_of_the_kernel_density():
    column = values()
    law = Smoothed.of(column, shrink=False)
    where = np.linspace(column.min(), column.max(), 20_001)
    below = cumulative_trapezoid(density(where, column, law.bandwidth), where, initial=0.0)
    # Nothing lies outside the range of the values.
    expected = np.interp(law.knots, where, below / below[-1])
    np.testing.assert_allclose(law.below, expected, atol=1e-6)


@pytest.mark.untraced
@pytest.mark.parametrize("shrink", [False, True])
@pytest.mark.parametrize("rows", [20, 300, 3000])
def test_quantiles_follow_the_law(rows, shrink):
    column = values(rows)
    law = Smoothed.of(column, shrink=shrink)
    parts = (np.arange(4000) + 0.5) / 4000
    drawn = law.quantiles(parts)
    assert (np.diff(drawn) >= 0).all()
    assert column.min() <= drawn.min() <= drawn.max() <= column.max()
    width, around = law.bandwidth, column
    if shrink:
        around = column.mean() + (column - column.mean()) * np.sqrt(1 - width**2 / column.var())
    exact = norm.cdf((np.append(drawn, [column.min(), column.max()])[:, None] - around) / width)
    exact = exact.mean(axis=1)
    exact = (exact[:-2] - exact[-2]) / (exact[-1] - exact[-2])
    assert np.abs(exact - parts).max() <= 0.01


def test_shrinking_keeps_mean_and_variance():
    column = np.random.default_rng(1).normal(5, 2, 500)
    parts = (np.arange(10_000) + 0.5) / 10_000
    kept = Smoothed.of(column, bandwidths=(1.0,)).quantiles(parts)
    wide = Smoothed.of(column, shrink=False, bandwidths=(1.0,)).quantiles(parts)
    assert kept.mean() == pytest.approx(column.mean(), abs=0.02)
    assert kept.std() == pytest.approx(column.std(), rel=0.02)
    assert wide.std() > 1.06 * column.std()


@pytest.mark.parametrize("column", [[3.0], [3.0, 3.0, 3.0], [-1e300]])
def test_a_constant_column_stays_constant(column):
    law = Smoothed.of(np.array(column))
    assert {*law.quantiles(np.array([0.01, 0.5, 0.99])).tolist()} == {column[0]}


@pytest.mark.parametrize(
    "column",
    [
        [0.0, 1.0],
        [0.0] * 99 + [1.0],
        [0.0] * 50 + [1e-12] * 50,
        [1e6, 1e6 + 1e-3, 1e6 + 2e-3],
        [-1e150, 0.0, 1e150],
        [0.0] * 20_000 + [5.0],
    ],
    ids=["two", "an outlier", "close", "far from 0", "large", "an outlier of many"],
)
def test_odd_columns_are_absorbed(column):
    column = np.array(column)
    drawn = Smoothed.of(column).quantiles(np.linspace(0, 1, 50))
    assert np.isfinite(drawn).all()
    assert (np.diff(drawn) >= 0).all()
    assert column.min() <= drawn.min() <= drawn.max() <= column.max()


def test_many_values_are_told_by_their_quantiles(monkeypatch):
    column = values(12_000)
    law, parts = Smoothed.of(column), (np.arange(2000) + 0.5) / 2000
    monkeypatch.setattr(module, "_EXACT", 10**6)
    exact = Smoothed.of(column)
    assert law.bandwidth == exact.bandwidth
    ranks = [np.searchsorted(np.sort(column), one.quantiles(parts)) for one in (law, exact)]
    assert np.abs(ranks[0] - ranks[1]).max() < 0.002 * len(column)


def test_the_bandwidth_is_the_one_that_foretells_values_left_out():
    column = np.random.default_rng(0).normal(size=400)
    assert Smoothed.of(column, shrink=False, bandwidths=(0.001, 0.3, 30.0)).bandwidth == 0.3
