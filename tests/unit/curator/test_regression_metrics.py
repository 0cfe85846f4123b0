"""Each metric of the LK-2SS paper against a value that was computed by hand, or printed."""

import numpy as np
import pytest

from understudy.curator.regression_metrics import (
    Changes,
    changes,
    improvement,
    mean_percentage_deviation,
    mean_squared_error,
    optimal_markup,
    optimal_profit_ratio,
    tv_norm,
)
from understudy.errors import BadInput

BETAS = np.array([-1.5, -1.7, -2.01, -1.98, -1.9])
PRINTED = {
    -1.5: (2.0, 1.8507, 0.9990),
    -1.7: (1.4286, 1.3323, 0.9990),
    -2.01: (0.9901, 0.9456, 0.9995),
    -1.98: (1.0204, 0.9729, 0.9994),
    -1.9: (1.1111, 1.0510, 0.9993),
}
"""Of Table 4, by elasticity: its mark-up, that of D', and the profit ratio of D'."""


def test_total_variation_is_of_all_columns_at_once():
    real = np.array([[0.0, 0.0], [1.0, 1.0]])
    other = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert tv_norm(real, other, 2) == 1.0
    assert tv_norm(real[:, :1], other[:, :1], 2) == 0.0
    assert tv_norm(real, real, 7) == 0.0


def test_total_variation_puts_what_lies_outside_into_the_end_bins():
    real = np.array([[0.0], [1.0], [2.0], [4.0]])
    other = np.array([[-100.0], [0.5], [3.5], [1e300]])
    # Four bins of width 1: real 1, 1, 1, 1 of 4; other 2, 0, 0, 2.
    assert tv_norm(real, other, 4) == pytest.approx(0.5)
    assert tv_norm(np.ones((3, 1)), np.ones((2, 1)), 4) == 0.0


def test_changes_of_moments_are_shares_of_the_real_ones():
    real = np.array([[1.0, 2.0], [3.0, 6.0]])  # means 2, 4; variances 2, 8; covariance 4
    other = np.array([[1.0, 2.0], [4.0, 3.0]])  # means 2.5, 2.5; 4.5, 0.5; covariance 1.5
    found = changes(real, other)
    assert found.mean == pytest.approx((0.25 + 0.375) / 2)
    assert found.variance == pytest.approx((1.25 + 0.9375) / 2)
    assert found.covariance == pytest.approx(0.625)
    assert changes(real[:, :1], real[:, :1]) == Changes(0.0, 0.0, 0.0)


def test_errors_and_what_is_gone_of_them():
    assert mean_squared_error(np.array([1.0, 2.0]), np.array([1.0, 4.0])) == 2.0
    assert improvement(2.0, 3.0) == -0.5


def test_marketing_metrics_are_those_of_the_print():
    estimated = []
    for beta, (markup, found, profit) in PRINTED.items():
        assert optimal_markup(beta) == pytest.approx(markup, abs=5e-5)
        estimated.append(-1 - 1 / found)
        assert optimal_profit_ratio(estimated[-1], beta) == pytest.approx(profit, abs=1e-4)
        assert optimal_profit_ratio(beta, beta) == 1.0
    assert mean_percentage_deviation(np.array(estimated), BETAS) == pytest.approx(0.0263, abs=5e-5)


def test_profit_is_what_pricing_by_an_estimate_earns():
    true, estimated, cost = -2.0, -3.0, 1.0
    # Best prices are cost · β / (β + 1): 2, and 1.5 by the estimate; profit is (p - 1) p⁻².
    assert optimal_profit_ratio(estimated, true) == pytest.approx(
        ((1.5 - cost) * 1.5**true) / ((2 - cost) * 2**true)
    )


@pytest.mark.parametrize("beta", [-1.0, 0.5, float("nan")])
def test_without_elasticity_there_is_no_best_price(beta):
    with pytest.raises(BadInput, match="no best price"):
        optimal_markup(beta)
    with pytest.raises(BadInput, match="no best price"):
        optimal_profit_ratio(beta, -2.0)
