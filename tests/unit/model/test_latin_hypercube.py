"""A Latin hypercube: exact laws of columns, whatever ties them."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import spearmanr

from understudy.model.latin_hypercube import correlation_near, middles, places

ROWS, COLUMNS = 2000, 5


def correlation(columns=COLUMNS, seed=0):
    drawn = np.random.default_rng(seed).normal(size=(columns, columns + 1))
    return np.corrcoef(drawn)


def is_correlation(matrix):
    assert np.isfinite(matrix).all()
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(matrix), 1)
    assert np.abs(matrix).max() <= 1 + 1e-12
    np.linalg.cholesky(matrix)


@pytest.mark.parametrize("rows", [1, 2, 3, 10, 11, 500])
def test_each_place_is_given_once_in_each_column(rows):
    given = places(rows, correlation(), np.random.default_rng(0))
    assert given.shape == (rows, COLUMNS)
    for column in given.T:
        assert sorted(column.tolist()) == [*range(rows)]


@pytest.mark.parametrize("seed", range(3))
def test_columns_are_tied_as_asked(seed):
    asked = correlation(seed=seed)
    given = places(ROWS, asked, np.random.default_rng(seed))
    scores = ndtri(middles(ROWS))[given]
    assert np.abs(np.corrcoef(scores.T) - asked).max() < 0.02
    by_rank = 6 / np.pi * np.arcsin(asked / 2)
    assert np.abs(spearmanr(given).statistic - by_rank).max() < 0.03


def test_columns_that_are_the_same_are_tied_as_closely():
    given = places(ROWS, correlation_near(np.ones((3, 3))), np.random.default_rng(0))
    assert np.abs(given - given[:, :1]).max() < ROWS / 50


def test_one_column_and_fewer_rows_than_columns_are_absorbed():
    assert places(4, np.ones((1, 1)), np.random.default_rng(0)).shape == (4, 1)
    assert places(3, correlation(9), np.random.default_rng(0)).shape == (3, 9)
    assert places(0, correlation(2), np.random.default_rng(0)).shape == (0, 2)


def test_a_correlation_matrix_stays_as_it_is():
    np.testing.assert_allclose(correlation_near(correlation()), correlation(), atol=1e-12)


@pytest.mark.parametrize(
    "spoiled",
    [
        [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]],
        [[np.nan, np.nan], [np.nan, np.nan]],
        [[1, 5.0], [5.0, 1]],
        [[1, np.inf], [np.inf, 1]],
        [[3.0, 0.1], [0.4, 0.0]],
        [[1, -1], [-1, 1]],
        np.ones((4, 4)),
        [[1.0]],
    ],
)
def test_what_is_no_correlation_matrix_is_made_one(spoiled):
    is_correlation(correlation_near(np.array(spoiled, float)))


def test_middles_lie_in_equal_parts():
    assert middles(4).tolist() == [0.125, 0.375, 0.625, 0.875]
