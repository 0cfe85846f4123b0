import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm
from sklearn.metrics import roc_auc_score

from understudy.curator import weighted
from understudy.curator.result import (
    CONFIDENCE,
    Direction,
    around,
    resampled,
    share,
)
from understudy.curator.weighted import (
    auc,
    mean,
    permutation_p,
    ratio,
    resampling,
    true_positives,
)

ROWS = st.lists(
    # Few different scores, so that ties are common; weights of 0 are rows that were not drawn.
    st.tuples(st.integers(0, 4), st.booleans(), st.integers(0, 3)),
    min_size=2,
    max_size=25,
)


def unzipped(rows):
    scores = np.array([row[0] for row in rows], np.float64) / 7
    positive = np.array([row[1] for row in rows])
    weights = np.array([[1] * len(rows), [row[2] for row in rows]], np.float64)
    return scores, positive, weights


# --- areas and rates ------------------------------------------------------------------------------


@settings(max_examples=25)
@given(ROWS)
def test_the_area_is_scikit_learns_with_weights_and_ties(rows):
    scores, positive, weights = unzipped(rows)
    assume(0 < weights[1] @ positive < weights[1].sum())
    expected = [roc_auc_score(positive, scores, sample_weight=line) for line in weights]
    np.testing.assert_allclose(auc(scores, positive, weights), expected, atol=1e-12)


def test_the_area_of_scores_without_ties_is_scikit_learns():
    rng = np.random.default_rng(1)
    positive = rng.random(200) < 0.3
    scores = rng.normal(size=200) + positive
    weights = resampling(200, rng, 10)
    expected = [roc_auc_score(positive, scores, sample_weight=line) for line in weights]
    np.testing.assert_allclose(auc(scores, positive, weights), expected)


def test_the_area_does_not_depend_on_how_many_weightings_fit_in_memory(monkeypatch):
    rng = np.random.default_rng(2)
    scores, positive = rng.integers(0, 5, 30).astype(np.float64), rng.random(30) < 0.5
    weights = resampling(30, rng, 20)
    at_once = auc(scores, positive, weights)
    for chunk in (1, 30, 100):
        monkeypatch.setattr(weighted, "_CHUNK", chunk)
        np.testing.assert_array_equal(auc(scores, positive, weights), at_once)


def test_the_area_is_undefined_without_both_classes():
    ones = np.ones((3, 2))
    scores = np.array([0.1, 0.9])
    assert np.isnan(auc(scores, np.array([True, True]), ones)).all()
    assert np.isnan(auc(scores, np.array([False, False]), ones)).all()
    assert np.isnan(auc(np.zeros(0), np.zeros(0, bool), np.ones((3, 0)))).all()
    # Rows of one class that were not drawn are not there.
    found = auc(scores, np.array([False, True]), np.array([[1.0, 1.0], [0.0, 2.0]]))
    np.testing.assert_array_equal(found, [1.0, np.nan])


def found_by_hand(scores, positive, weights, rate):
    """Tries every threshold, and the one that finds nothing."""
    negatives, positives = weights[~positive].sum(), weights[positive].sum()
    if not negatives or not positives:
        return np.nan
    best = 0.0
    for threshold in scores:
        said = scores >= threshold
        if weights[said & ~positive].sum() <= rate * negatives:
            best = max(best, weights[said & positive].sum() / positives)
    return best


@settings(max_examples=25)
@given(ROWS, st.sampled_from([0.0, 0.125, 0.25, 0.5, 1.0]))
def test_true_positives_are_those_of_the_best_threshold(rows, rate):
    scores, positive, weights = unzipped(rows)
    expected = [found_by_hand(scores, positive, line, rate) for line in weights]
    np.testing.assert_allclose(true_positives(scores, positive, weights, rate), expected)


def test_true_positives_are_undefined_without_both_classes():
    ones, scores = np.ones((2, 2)), np.array([0.1, 0.9])
    assert np.isnan(true_positives(scores, np.array([True, True]), ones, 0.1)).all()
    assert np.isnan(true_positives(scores, np.array([False, False]), ones, 0.1)).all()
    assert np.isnan(true_positives(np.zeros(0), np.zeros(0, bool), np.ones((2, 0)), 0.1)).all()


def test_ties_across_classes_are_all_found_or_none():
    # One threshold cannot tell the two rows at 0.5 apart.
    scores = np.array([0.9, 0.5, 0.5, 0.1])
    positive = np.array([True, True, False, False])
    ones = np.ones((1, 4))
    assert true_positives(scores, positive, ones, 0.0) == [0.5]
    assert true_positives(scores, positive, ones, 0.5) == [1.0]


# --- means, quotients and the bootstrap -----------------------------------------------------------


def test_means_are_numpys():
    rng = np.random.default_rng(3)
    values, weights = rng.normal(size=20), resampling(20, rng, 5)
    expected = [np.average(values, weights=line) for line in weights]
    np.testing.assert_allclose(mean(values, weights), expected)
    assert np.isnan(mean(np.zeros(0), np.ones((2, 0)))).all()


def test_nothing_divided_by_nothing_is_undefined():
    np.testing.assert_array_equal(
        ratio(np.array([1.0, 0.0, 3.0]), np.array([2.0, 0.0, 0.0])), [0.5, np.nan, np.nan]
    )


def test_a_resampling_begins_with_the_rows_themselves_and_draws_each_once_on_average():
    weights = resampling(50, np.random.default_rng(4), 2000)
    assert weights.shape == (2001, 50)
    assert (weights[0] == 1).all()
    drawn = weights[1:]
    assert (drawn == np.floor(drawn)).all()
    # 100,000 draws: the mean and the variance of Poisson(1) within about five standard errors.
    assert abs(drawn.mean() - 1) < 0.016
    assert abs(drawn.var() - 1) < 0.03
    assert np.ptp(drawn, axis=0).min() > 0


@pytest.mark.statistical
def test_intervals_hold_the_mean_as_often_as_they_say():
    # 400 tables of 80 rows: at 95 % the share has a standard error of 1.1 percentage points; the
    # bootstrap of so few rows falls short by about one more.
    rng = np.random.default_rng(5)
    truth, hits, above = 2.0, 0, 0
    for _ in range(400):
        values = rng.gamma(4.0, 0.5, size=80)
        found = resampled("mean", mean(values, resampling(80, rng)), Direction.NONE, "80 rows")
        assert found.value == pytest.approx(values.mean())
        hits += found.low <= truth <= found.high
        above += truth < found.low
    assert 0.90 < hits / 400 < 0.98
    # Neither end is always the one that misses.
    assert 0 < above < 400 - hits


@pytest.mark.statistical
def test_the_interval_of_a_difference_uses_that_both_were_seen_on_the_same_rows():
    rng = np.random.default_rng(6)
    common = rng.normal(size=200)
    weights = resampling(200, rng)
    apart = mean(common + 0.1 + 0.01 * rng.normal(size=200), weights) - mean(common, weights)
    found = resampled("gap", apart, Direction.ZERO, "200 rows")
    assert found.low > 0.09
    assert found.high < 0.11


def test_the_interval_holds_the_middle_of_the_resampled_values_and_the_value():
    values = np.r_[0.5, np.linspace(0, 1, 1001)]
    found = resampled("x", values, Direction.HIGHER, "rows")
    assert found.value == 0.5
    assert (found.low, found.high) == pytest.approx((0.025, 0.975))
    # A value at the end of its range lies beyond its resamples; the interval still holds it.
    edge = resampled("x", np.r_[1.0, np.linspace(0, 0.9, 101)], Direction.HIGHER, "rows")
    assert edge.high == 1.0


def test_a_value_whose_resamples_are_mostly_undefined_has_no_interval():
    nan = np.nan
    found = resampled("x", np.array([nan, 1, 2, 3]), Direction.LOWER, "rows", absent="no rows")
    assert (found.value, found.low, found.high, found.note) == (None, None, None, "no rows")
    alone = resampled("x", np.array([1, nan, nan, 3]), Direction.LOWER, "rows")
    assert (alone.value, alone.low, alone.high) == (1.0, None, None)
    assert "interval" in alone.note
    some = resampled("x", np.array([1, nan, 0.5, 1.5]), Direction.LOWER, "rows")
    assert some.value == 1.0
    assert 0.5 <= some.low <= some.high <= 1.5


# --- permutations ---------------------------------------------------------------------------------


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=3, max_size=20))
def test_the_p_value_counts_areas_that_are_as_high(rows):
    scores, positive = np.array([r[0] for r in rows], np.float64), np.array([r[1] for r in rows])
    assume(0 < positive.sum() < len(rows))
    rng = np.random.default_rng(8)
    dealt = rng.permuted(np.tile(positive, (30, 1)), axis=1)
    assert (dealt.sum(axis=1) == positive.sum()).all()
    areas = np.array([roc_auc_score(line, scores) for line in (positive, *dealt)])
    expected = (1 + np.sum(areas[1:] >= areas[0] - 1e-9)) / 31
    found = permutation_p([scores, -scores], positive, np.random.default_rng(8), 30)
    assert found[0] == pytest.approx(expected)
    assert found[1] == pytest.approx((1 + np.sum(areas[1:] <= areas[0] + 1e-9)) / 31)


def test_permutations_in_blocks_are_as_many(monkeypatch):
    monkeypatch.setattr(weighted, "_CHUNK", 100)
    scores, positive = np.arange(40.0), np.arange(40) >= 20
    (p_value,) = permutation_p([scores], positive, np.random.default_rng(1), 99)
    assert p_value == pytest.approx(0.01)


@pytest.mark.statistical
def test_p_values_are_uniform_without_a_difference_and_small_with_one():
    # 400 tables: the share below a level has a standard error of at most 2.5 percentage points.
    rng = np.random.default_rng(9)
    positive = np.arange(40) < 15
    told = []
    for _ in range(400):
        scores = rng.normal(size=40)
        told.append(permutation_p([scores, scores + 2 * positive], positive, rng, 99))
    null, shifted = np.array(told).T
    for level in (0.05, 0.25, 0.5, 0.75):
        assert abs(np.mean(null <= level) - level) < 0.075
    assert np.mean(null <= 0.05) < 0.05 + 3 * 0.011
    assert np.median(shifted) == pytest.approx(0.01)
    assert np.mean(shifted <= 0.05) > 0.95


def test_scores_that_tell_nothing_have_a_p_value_of_one():
    found = permutation_p([np.ones(20)], np.arange(20) < 5, np.random.default_rng(10), 40)
    assert found.tolist() == [1.0]
    assert permutation_p([], np.zeros(0, bool), np.random.default_rng(10), 40).tolist() == []


# --- results --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "total"), [(0, 7), (7, 7), (1, 7), (3, 100), (999, 1000)])
def test_the_interval_of_a_share_is_wilsons(count, total):
    found = share("copies", count, total, Direction.LOWER, "rows")
    expected = binomtest(count, total).proportion_ci(CONFIDENCE, method="wilson")
    assert found.value == count / total
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_share_of_no_rows_is_not_told():
    found = share("copies", 0, 0, Direction.LOWER, "no rows")
    assert found.value is None
    assert "no rows" in found.note


def test_an_interval_around_a_value_is_normal_and_ends_where_the_range_does():
    found = around("x", 0.3, 0.1, Direction.HIGHER, "rows")
    assert (found.low, found.high) == pytest.approx(norm.interval(CONFIDENCE, 0.3, 0.1))
    ended = around("x", 0.1, 0.1, Direction.HIGHER, "rows", within=(0.0, 0.2))
    assert (ended.low, ended.high) == (0.0, 0.2)
