import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from understudy.curator import attacks
from understudy.curator.align import align
from understudy.curator.attacks import DENSITY, DISTANCE, RELEASE, Attacks, decile
from understudy.curator.cohort import choose
from understudy.curator.reps_advantage import RepsAdvantage, reps_distance, reps_domias
from understudy.curator.scorer import scorer_quality

COLUMNS = 6


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """Threads cost more than they bring on tables this small."""
    with threadpool_limits(1):
        yield


def points(rows, rng):
    return rng.normal(size=(rows, COLUMNS)).astype(np.float32)


@pytest.fixture(scope="module")
def leakless():
    """Members, non-members and synthetic rows, all drawn fresh from one population."""
    rng = np.random.default_rng(0)
    return points(1500, rng), points(800, rng), points(1500, rng)


def test_the_papers_distance_attack_finds_the_rarest_where_nothing_leaks(leakless):
    # Rare members are far from all synthetic rows; |2·AUC − 1| takes that for an advantage.
    found = reps_distance(*leakless)
    assert found.overall < 0.1
    assert found.top_decile > 0.7
    assert found.median_decile < 0.3
    assert found.inequality > 3


def test_the_papers_density_attack_finds_everyone_where_nothing_leaks(leakless):
    # Non-members find themselves in the reference, at distance 0.
    found = reps_domias(*leakless)
    assert min(found.overall, found.top_decile, found.median_decile) > 0.3
    assert 0.5 < found.inequality < 2


def test_the_density_artefact_grows_with_the_number_of_columns():
    rng = np.random.default_rng(1)
    found = [
        reps_domias(*(rng.normal(size=(400, d)).astype(np.float32) for _ in range(3))).overall
        for d in (2, 30)
    ]
    assert found[0] < found[1]
    assert found[1] > 0.95


@pytest.mark.statistical
def test_matched_attacks_find_nothing_there():
    # A fixed seed; each of the four intervals misses 0 one time in 20.
    rng = np.random.default_rng(2)
    shares = 0.7 ** np.arange(12)
    names = np.array(list("abcdefghijkl"))

    def table(rows):
        drawn = {f"n{k}": rng.normal(size=rows) for k in range(COLUMNS)}
        # Labels, so that some rows are rare.
        drawn |= {f"l{k}": rng.choice(names, rows, p=shares / shares.sum()) for k in range(2)}
        return pa.table(drawn)

    parts = align(table(1000), table(1000), table(1000))
    cohort = choose(parts, 5000, rng)
    found = Attacks(attacks.judge(parts, cohort, rng), None, ())
    for attack in (DISTANCE, DENSITY):
        for group in (attacks.ALL_ROWS, decile(10)):
            result = found.of(attack, RELEASE, group).advantage
            assert result.low <= 0 <= result.high


def test_both_agree_with_scikit_learn_on_everyone(leakless):
    members, others, synthetic = (part[:150] for part in leakless)

    def nearest(rows, count, where):
        return np.array(
            [np.mean(sorted(np.linalg.norm(where - row, axis=1))[:count]) for row in rows]
        )

    is_member = [True] * 150 + [False] * 150
    rows = np.vstack([members, others])
    expected = abs(2 * roc_auc_score(is_member, -nearest(rows, 1, synthetic)) - 1)
    assert reps_distance(members, others, synthetic).overall == pytest.approx(expected, abs=1e-3)
    ratio = nearest(rows, 5, others) / nearest(rows, 5, synthetic)
    expected = abs(2 * roc_auc_score(is_member, ratio) - 1)
    assert reps_domias(members, others, synthetic).overall == pytest.approx(expected, abs=1e-3)


def test_a_copy_is_found_by_both(leakless):
    members, others, _ = leakless
    assert reps_distance(members, others, members).overall > 0.99
    assert reps_distance(members, others, members).top_decile > 0.99


def test_the_inequality_is_top_over_median():
    assert RepsAdvantage(0.1, 0.9, 0.3).inequality == pytest.approx(3)
    assert RepsAdvantage(0.1, 0.9, 0.0).inequality == math.inf


# --- How well a score finds rows that stand out ---


@pytest.mark.parametrize("noise", [0.0, 1.0, 100.0])
@pytest.mark.parametrize("step", [0.0, 0.5])
def test_the_correlation_is_scipys(noise, step):
    rng = np.random.default_rng(3)
    outliers = rng.exponential(size=200)
    scores = 100 - outliers + noise * rng.normal(size=200)
    if step:
        # Ties.
        scores, outliers = (np.round(values / step) for values in (scores, outliers))
    result = scorer_quality(scores, outliers, rng).correlation
    assert result.value == pytest.approx(spearmanr(scores, outliers).statistic, abs=1e-9)
    assert -1 - 1e-9 <= result.low <= result.value <= result.high <= 1


@pytest.mark.statistical
def test_the_correlations_interval_covers_0_as_often_as_it_says_where_there_is_none():
    # Of 200 sound 95 % intervals, fewer than 176 or more than 199 cover one time in 10,000.
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(200):
        result = scorer_quality(rng.normal(size=80), rng.normal(size=80), rng).correlation
        covered += result.low <= 0 <= result.high
    assert 176 <= covered <= 199


def test_recall_is_the_share_of_the_outlying_tenth_in_the_scores_own():
    # Of 30 rows three stand out, the last ones; the score ranks two of them among its first three.
    outliers = np.arange(30.0)
    scores = np.arange(30.0)
    scores[27] = -1
    found = scorer_quality(scores, outliers, np.random.default_rng(5))
    assert found.recall.value == pytest.approx(2 / 3)
    assert 0 <= found.recall.low <= 2 / 3 <= found.recall.high <= 1
    assert scorer_quality(outliers, outliers, np.random.default_rng(5)).recall.value == 1
    assert scorer_quality(-outliers, outliers, np.random.default_rng(5)).recall.value == 0


def test_constant_scores_say_so():
    rng = np.random.default_rng(6)
    result = scorer_quality(np.full(50, 0.1), rng.normal(size=50), rng).correlation
    assert result.value is None
    assert "all score the same" in result.note


@pytest.mark.parametrize("rows", [11, 37, 100])
def test_scores_of_which_only_one_differs_have_an_interval_within_range(rows):
    # Resamples without that row are constant, and have no correlation.
    rng = np.random.default_rng(7)
    scores = np.zeros(rows)
    scores[3] = 1
    outliers = rng.normal(size=rows)
    result = scorer_quality(scores, outliers, rng).correlation
    assert result.value == pytest.approx(spearmanr(scores, outliers).statistic)
    assert -1 <= result.low <= result.high <= 1
    # Wherever the row is drawn it is on the same side, so the sign is sure.
    place = np.sign(outliers[3] - np.median(outliers))
    assert place * result.value > 0


def test_too_few_rows_for_a_tenth_say_so():
    rng = np.random.default_rng(8)
    found = scorer_quality(np.arange(9.0), np.arange(9.0), rng)
    assert found.correlation.value is found.recall.value is None
    assert "too few rows" in found.recall.note
    assert scorer_quality(np.arange(10.0), np.arange(10.0), rng).recall.value == 1
