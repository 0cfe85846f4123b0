"""Stated independences and gaps between groups, against sums over joint distributions."""

from collections import Counter
from itertools import combinations
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.curator import fairness
from understudy.curator.cells import Cells
from understudy.curator.fairness import FEWEST, independence_test, information, judge_groups
from understudy.curator.scores import ClassPredictions, NumberPredictions
from understudy.curator.tables import REAL, SYNTHETIC, Rows
from understudy.curator.trials import BASELINE, Trial
from understudy.curator.weighted import resampling
from understudy.knowledge import Independence

SENTENCE = Independence("x", "y", given="z")
MODEL = "some model"


def rows_of(**columns):
    codes = {name: np.asarray(values, np.int32) for name, values in columns.items()}
    return Rows(len(next(iter(codes.values()))), {}, codes)


def cells_of(rows):
    sizes = {name: int(codes.max(initial=0)) + 1 for name, codes in rows.codes.items()}
    return Cells(sizes, {})


def checked(rows, sentence=SENTENCE, seed=0):
    rng = np.random.default_rng(seed)
    return independence_test(cells_of(rows).codes(rows), "real", sentence, rng)


# --- conditional mutual information ---------------------------------------------------------------


def by_sums(x, y, z):
    """The sum over cells of p(x,y,z) · log(p(x,y,z) p(z) / (p(x,z) p(y,z)))."""
    rows = list(zip(x, y, z, strict=True))
    n = len(rows)
    xyz, xz, yz = Counter(rows), Counter((a, c) for a, _, c in rows), Counter(r[1:] for r in rows)
    only_z = Counter(c for _, _, c in rows)
    return sum(
        count / n * log(count * only_z[c] / (xz[a, c] * yz[b, c]))
        for (a, b, c), count in xyz.items()
    )


TRIPLES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=60
)


@settings(max_examples=25)
@given(TRIPLES)
def test_information_is_the_sum_over_the_joint_distribution(rows):
    x, y, z = (np.array(side, np.int64) for side in zip(*rows, strict=True))
    assert information(x, y, z) == pytest.approx(by_sums(x.tolist(), y.tolist(), z.tolist()))
    # It does not matter which of the two is protected.
    assert information(x, y, z) == pytest.approx(information(y, x, z), abs=1e-12)


def test_information_of_very_many_cells_is_the_same_sum(monkeypatch):
    # Places beyond this number are sorted instead of counted in an array.
    monkeypatch.setattr(fairness, "_MOST_BINS", 5)
    x, y, z = np.random.default_rng(1).integers(0, 4, (3, 80))
    assert information(x, y, z) == pytest.approx(by_sums(x.tolist(), y.tolist(), z.tolist()))


def test_a_copied_outcome_has_the_information_of_a_fair_coin():
    x = np.array([0, 1] * 50)
    assert information(x, x, np.zeros(100, np.int64)) == pytest.approx(log(2))
    # Once the coin itself is given, nothing is left to tell.
    assert information(x, x, x) == 0


def test_several_columns_on_a_side_count_as_one():
    rng = np.random.default_rng(2)
    a, b, s, u, v = rng.integers(0, 2, (5, 200))
    rows = rows_of(a=a, b=b, s=s, u=u, v=v)
    found = checked(rows, Independence(["a", "b"], "s", given=["u", "v"]))
    expected = by_sums((a + 2 * b).tolist(), s.tolist(), (u + 2 * v).tolist())
    assert found.information.value == pytest.approx(expected)
    assert "200 real rows, in 4 strata" in found.information.read
    assert found.sentence == "a, b ⟂ s | u, v"


@pytest.mark.statistical
def test_the_mean_of_deals_is_what_theory_says():
    # Where the independence holds: (|X|-1)(|Y|-1)|Z| / (2n), with every cell well filled.
    rng = np.random.default_rng(3)
    x, y, z = rng.integers(0, 4, 4000), rng.integers(0, 3, 4000), rng.integers(0, 5, 4000)
    found = checked(rows_of(x=x, y=y, z=z))
    assert found.expected == pytest.approx(3 * 2 * 5 / (2 * 4000), rel=0.05)
    assert found.limit > found.expected
    assert f"about {found.expected:.3g}" in found.information.note


@pytest.mark.statistical
def test_the_standard_error_of_information_agrees_with_a_bootstrap():
    rng = np.random.default_rng(4)
    z = rng.integers(0, 2, 1500)
    x = rng.random(1500) < 0.3 + 0.3 * z
    y = np.where(rng.random(1500) < 0.6, x, rng.random(1500) < 0.5)
    table = np.array([x, y, z], np.int64)
    found = checked(rows_of(x=x, y=y, z=z)).information
    stated = (found.high - found.low) / (2 * 1.959963984540054)
    again = [information(*table[:, rng.integers(0, 1500, 1500)]) for _ in range(400)]
    assert stated == pytest.approx(np.std(again), rel=0.15)


# --- the permutation test -------------------------------------------------------------------------


def linked_by_z(rng, rows, link=0.0):
    """Outcome and protected value both follow z; with `link`, also each other."""
    z = rng.integers(0, 3, rows)
    chances = np.array([0.2, 0.5, 0.8])[z]
    y = rng.random(rows) < chances
    x = np.where(rng.random(rows) < link, y, rng.random(rows) < chances)
    return rows_of(x=x, y=y, z=z)


@pytest.mark.statistical
def test_an_independence_that_holds_is_rejected_at_the_nominal_rate(monkeypatch):
    monkeypatch.setattr(fairness, "PERMUTATIONS", 99)
    rng = np.random.default_rng(5)
    p_values = np.array([checked(linked_by_z(rng, 150), seed=k).p_value for k in range(200)])
    # Of 200 tables at 5 %, fewer than 2 or more than 20 come up once in 500 times.
    assert 0.01 <= np.mean(p_values <= 0.05) <= 0.10
    assert 0.35 <= np.mean(p_values <= 0.5) <= 0.65
    # Not because the test never rejects: without z the two go along with each other.
    plain = [checked(linked_by_z(rng, 300), Independence("x", "y")).p_value for _ in range(20)]
    assert np.mean(np.array(plain) <= 0.05) >= 0.9


@pytest.mark.statistical
def test_an_independence_that_is_violated_is_found(monkeypatch):
    monkeypatch.setattr(fairness, "PERMUTATIONS", 99)
    rng = np.random.default_rng(6)
    p_values = [checked(linked_by_z(rng, 200, link=0.5), seed=k).p_value for k in range(50)]
    assert np.mean(np.array(p_values) <= 0.05) >= 0.9


def test_a_deal_keeps_every_stratum_and_mixes_within(monkeypatch):
    monkeypatch.setattr(fairness, "PERMUTATIONS", 99)
    # In each stratum both values are fixed, so that no deal changes anything.
    z = np.repeat([0, 1], 40)
    found = checked(rows_of(x=z, y=z, z=z))
    assert found.information.value == 0
    assert found.p_value == 1
    # With one stratum all deals differ from the copied outcome.
    found = checked(rows_of(x=z, y=z, z=np.zeros(80)))
    assert found.information.value == pytest.approx(log(2))
    assert found.p_value == pytest.approx(1 / 100)


def test_the_same_seed_gives_the_same_p_value(monkeypatch):
    monkeypatch.setattr(fairness, "PERMUTATIONS", 99)
    rows = linked_by_z(np.random.default_rng(7), 100)
    assert checked(rows, seed=1) == checked(rows, seed=1)
    assert checked(rows, seed=1).expected != checked(rows, seed=2).expected


def test_without_rows_there_is_no_information_and_it_says_so():
    found = checked(rows_of(x=[], y=[], z=[]))
    assert found.information.value is None
    assert "no rows" in found.information.note
    assert found.p_value == 1


def test_one_row_tells_nothing(monkeypatch):
    monkeypatch.setattr(fairness, "PERMUTATIONS", 19)
    found = checked(rows_of(x=[1], y=[2], z=[0]))
    assert found.information.value == 0
    assert found.p_value == 1


# --- gaps between groups --------------------------------------------------------------------------


def trial_of(groups, truth, predicted, seed=0, *, classes=None):
    truth, predicted = (np.asarray(side, np.int64) for side in (truth, predicted))
    classes = int(max(truth.max(), predicted.max())) + 1 if classes is None else classes
    beliefs = np.eye(classes)[predicted]
    made = ClassPredictions(truth, predicted, beliefs, beliefs, None)
    weights = resampling(len(truth), np.random.default_rng(seed), 60)
    return Trial(rows_of(g=groups), np.arange(len(groups)), weights, {(MODEL, SYNTHETIC): made}, {})


def gaps_of(*trials, names=("g",)):
    (found,) = judge_groups(cells_of(trials[0].test), names, trials, np.random.default_rng(0))
    return found


def rates(share, rows):
    """So many rows, of which that share says yes."""
    return [1] * round(share * rows) + [0] * (rows - round(share * rows))


def test_gaps_of_two_groups_equal_rates_computed_by_hand():
    # By group: 40 rows of class 0 and 60 of class 1, and how many of each are said to be 1.
    truth = [*[0] * 40, *[1] * 60] * 2
    predicted = [*rates(0.25, 40), *rates(0.5, 60), *rates(0.5, 40), *rates(0.9, 60)]
    found = gaps_of(trial_of(np.repeat([0, 1], 100), truth, predicted))
    # Said to be 1: (10 + 30) and (20 + 54) of 100.
    assert found.parity.value == pytest.approx(0.34)
    # False alarms differ by 0.25, hits by 0.4.
    assert found.odds.value == pytest.approx(0.4)
    assert found.groups == "g"
    assert (found.model, found.trained_on) == (MODEL, SYNTHETIC)
    assert "200 rows" in found.parity.read
    assert "by chance alone" in found.parity.note
    assert "left out" not in found.parity.note


def test_even_predictions_have_no_gap():
    truth = [0, 1] * 80
    found = gaps_of(trial_of(np.repeat([0, 1], 80), truth, truth))
    assert found.parity.value == 0
    assert found.odds.value == 0


def test_even_rates_do_not_make_odds_even():
    # Both groups are said to be 1 half of the time, one rightly and one wrongly.
    predicted = [*[0] * 50, *[1] * 50] * 2
    truth = [*[0] * 50, *[1] * 50, *[1] * 50, *[0] * 50]
    found = gaps_of(trial_of(np.repeat([0, 1], 100), truth, predicted))
    assert found.parity.value == 0
    assert found.odds.value == 1


def gap_by_loops(groups, truth, predicted, *, within_truth):
    largest = 0.0
    for t in {*truth} if within_truth else {None}:
        for k in {*predicted}:
            shares = []
            for g in {*groups}:
                said = [
                    p
                    for p, true, group in zip(predicted, truth, groups, strict=True)
                    if group == g and t in {None, true}
                ]
                if len(said) >= FEWEST:
                    shares.append(said.count(k) / len(said))
            if len(shares) > 1:
                largest = max(largest, *(abs(a - b) for a, b in combinations(shares, 2)))
    return largest


@pytest.mark.parametrize("seed", range(6))
def test_gaps_of_many_groups_and_classes_equal_loops(seed):
    rng = np.random.default_rng(seed)
    groups = rng.choice(4, 600, p=[0.45, 0.3, 0.2, 0.05])
    truth = rng.choice(3, 600, p=[0.6, 0.3, 0.1])
    predicted = np.where(rng.random(600) < 0.5, truth, (groups + rng.integers(0, 2, 600)) % 4)
    found = gaps_of(trial_of(groups, truth, predicted, classes=4))
    sides = groups.tolist(), truth.tolist(), predicted.tolist()
    assert found.parity.value == pytest.approx(gap_by_loops(*sides, within_truth=False))
    assert found.odds.value == pytest.approx(gap_by_loops(*sides, within_truth=True))
    for result in (found.parity, found.odds):
        assert 0 <= result.low <= result.value <= result.high <= 1


def test_groups_may_be_made_by_several_columns():
    a, b = np.repeat([0, 1], 80), np.tile(np.repeat([0, 1], 40), 2)
    predicted = a ^ b
    trial = trial_of(a, predicted, predicted)
    rows = rows_of(a=a, b=b)
    both = Trial(rows, trial.places, trial.weights, trial.predictions, {})
    assert gaps_of(both, names=("a", "b")).parity.value == 1
    assert gaps_of(both, names=("a",)).parity.value == 0
    assert gaps_of(both, names=("a", "b")).groups == "a, b"


@pytest.mark.parametrize("few", [1, FEWEST - 1])
def test_a_small_group_is_left_out_and_it_is_said(few):
    # Everybody in the small group is treated otherwise.
    groups = np.repeat([0, 1, 2], [60, 60, few])
    predicted = [*rates(0.5, 60), *rates(0.6, 60), *[1] * few]
    found = gaps_of(trial_of(groups, predicted, predicted))
    assert found.parity.value == pytest.approx(0.1)
    for result in (found.parity, found.odds):
        assert f"fewer than {FEWEST} rows left out" in result.note


def test_a_group_just_large_enough_counts():
    groups = np.repeat([0, 1], [60, FEWEST])
    predicted = [*rates(0.5, 60), *[1] * FEWEST]
    found = gaps_of(trial_of(groups, predicted, predicted))
    assert found.parity.value == pytest.approx(0.5)
    assert "by chance alone" in found.parity.note
    assert "left out" not in found.parity.note


def test_with_one_group_left_there_is_no_gap_and_it_says_why():
    found = gaps_of(trial_of(np.repeat([0, 1], [60, 5]), [0, 1] * 32 + [0], [0, 1] * 32 + [1]))
    for result in (found.parity, found.odds):
        assert result.value is None
        assert "fewer than two groups" in result.note


def test_gaps_of_several_rounds_are_means():
    groups, truth = np.repeat([0, 1], 50), [0, 1] * 50
    apart = [*rates(0.2, 50), *rates(0.6, 50)]
    further = [*rates(0.1, 50), *rates(0.9, 50)]
    found = gaps_of(trial_of(groups, truth, apart), trial_of(groups, truth, further, seed=1))
    assert found.parity.value == pytest.approx((0.4 + 0.8) / 2)


def test_a_number_as_target_says_why_there_are_no_gaps():
    numbers = np.linspace(0, 1, 80)
    trial = trial_of(np.repeat([0, 1], 40), [0] * 80, [0] * 80)
    trial.predictions[MODEL, SYNTHETIC] = NumberPredictions(numbers, numbers)
    found = gaps_of(trial)
    for result in (found.parity, found.odds):
        assert result.value is None
        assert "the target is a number" in result.note


def test_a_model_that_could_not_be_trained_says_so_and_not_that_the_target_is_a_number():
    trial = trial_of(np.repeat([0, 1], 40), [0, 1] * 40, [0] * 80)
    trial.predictions[MODEL, SYNTHETIC] = "there are no rows to train on"
    found = gaps_of(trial)
    for result in (found.parity, found.odds):
        assert result.value is None
        assert "no rows to train on" in result.note


def test_the_model_that_looks_at_nothing_has_no_gaps():
    trial = trial_of(np.repeat([0, 1], 40), [0, 1] * 40, [0, 1] * 40)
    made = trial.predictions[MODEL, SYNTHETIC]
    trial.predictions[MODEL, REAL] = made
    trial.predictions[BASELINE[True], REAL] = made
    found = list(judge_groups(cells_of(trial.test), ("g",), [trial], np.random.default_rng(0)))
    assert [(gap.model, gap.trained_on) for gap in found] == [(MODEL, SYNTHETIC), (MODEL, REAL)]


def test_a_lone_row_of_a_class_makes_no_gap():
    # The second group has one row of class 1, and the model misses it.
    groups = np.repeat([0, 1], [100, 50])
    truth = [*[0] * 50, *[1] * 50, *[0] * 49, 1]
    predicted = [*[0] * 50, *[1] * 50, *[0] * 50]
    found = gaps_of(trial_of(groups, truth, predicted))
    assert found.odds.value == 0
    assert "left out" in found.odds.note


@pytest.mark.statistical
@pytest.mark.parametrize("groups", [2, 4])
def test_where_groups_are_dealt_at_random_gaps_are_as_large_as_chance_says(groups):
    # The mean of 80 gaps of two groups has a standard error of 8 %, of four less.
    rng = np.random.default_rng(4)
    found = [
        gaps_of(trial_of(rng.integers(0, groups, 400), *rng.integers(0, 2, (2, 400)), seed=k))
        for k in range(80)
    ]
    for results in ([one.parity for one in found], [one.odds for one in found]):
        told = np.mean([float(result.note.split()[1]) for result in results])
        assert np.mean([result.value for result in results]) == pytest.approx(told, rel=0.25)


def test_strata_in_which_a_side_never_varies_tell_nothing():
    monotone = rows_of(x=[0, 1, 0, 1, 0, 0], y=[0, 1, 1, 1, 0, 1], z=[0, 0, 1, 1, 2, 2])
    assert checked(monotone).telling == pytest.approx(1 / 3)
    alone = rows_of(x=[0, 1] * 20, y=[0, 1] * 20, z=list(range(40)))
    assert checked(alone).telling == 0
