"""The hybrid: who is drawn toward whom, how far, and what is told thereby."""

import math

import numpy as np
import pytest

from understudy.errors import BadInput
from understudy.twostage.hybrid import (
    Hybrid,
    Matching,
    blended,
    lemma_6,
    lemma_6_alpha,
    measured,
    nearest,
)


def two(rows, columns, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((rows, columns)), rng.random((rows, columns))


def by_search(real, made):
    """The nearest of all rows that are left, one real row after the other."""
    left, found = np.ones(len(made), bool), []
    for row in real:
        away = np.where(left, ((made - row) ** 2).sum(axis=1), np.inf)
        found.append(int(away.argmin()))
        left[found[-1]] = False
    return found


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("rows", [1, 2, 9, 17, 400])
def test_the_nearest_row_is_found_as_by_a_search_of_all(rows, columns):
    real, made = two(rows, columns)
    assert nearest(real, made).tolist() == by_search(real, made)
    crowded = np.concatenate([made[: rows // 2] * 0.01, made[rows // 2 :]])
    assert nearest(real, crowded).tolist() == by_search(real, crowded)


@pytest.mark.parametrize("seed", range(5))
def test_with_ties_no_row_that_is_left_is_nearer(seed):
    rng = np.random.default_rng(seed)
    real, made = (rng.integers(0, 3, (300, 2)).astype(float) for _ in range(2))
    found = nearest(real, made)
    assert sorted(found.tolist()) == [*range(300)]
    left = np.ones(300, bool)
    for row, place in zip(real, found, strict=True):
        away = ((made - row) ** 2).sum(axis=1)
        assert away[place] == away[left].min()
        left[place] = False


def test_rows_that_are_all_the_same_do_not_take_long():
    real, made = two(20_000, 2)
    found = nearest(np.round(real[:, :1]), made[:, :1])
    assert sorted(found.tolist()) == [*range(20_000)]


def test_at_random_every_row_is_taken_once():
    real, made = two(200, 2)
    found = Hybrid(matching="random").matched(real, made, np.random.default_rng(0))
    assert sorted(found.tolist()) == [*range(200)]
    assert found.tolist() != by_search(real, made)
    nothing = Hybrid().matched(real[:, :0], made[:, :0], np.random.default_rng(0))
    assert sorted(nothing.tolist()) == [*range(200)]


def test_a_blend_of_all_is_the_real_row_and_of_nothing_the_made_one():
    real, made = two(20, 3)
    np.testing.assert_array_equal(blended(real, made, 1.0), real)
    np.testing.assert_array_equal(blended(real, made, 0.0), made)
    assert measured(real, made, 1.0, 0.0) == 1


def test_a_blend_has_less_variance_and_is_no_mixture():
    rng = np.random.default_rng(0)
    real, made = rng.normal(size=(20_000, 1)), rng.normal(size=(20_000, 1))
    assert blended(real, made, 0.5).var() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("columns", [1, 3, 10])
@pytest.mark.parametrize("lid", [0.05, 0.3, 0.9])
def test_lemma_6_is_inverted(lid, columns):
    alpha = lemma_6_alpha(lid, 0.001, columns)
    assert 0 <= alpha < 1
    assert lemma_6(alpha, 0.001, columns) == pytest.approx(lid)
    wider = lemma_6_alpha(lid, 0.001, columns, width=2.0)
    assert lemma_6(wider, 0.001, columns, width=2.0) == pytest.approx(lid)


def test_the_notes_figures():
    assert lemma_6_alpha(0.05, 0.001, 3) == pytest.approx(0.882, abs=5e-4)
    printed = 1 - 2 * 0.001 / (1 - (1 - 0.05) ** -3)
    assert printed == pytest.approx(1.012, abs=5e-4)  # more than all of a row
    assert lemma_6(1.0, 0.001, 3) == 1


def test_lemma_6_says_what_is_reachable():
    with pytest.raises(BadInput, match=r"LID of 1.00%: the least is 5.88%, at alpha=0"):
        lemma_6_alpha(0.01, 0.01, 3)


def test_lemma_6_holds_at_random_and_by_far_not_for_the_nearest():
    real, made = two(20_000, 1)
    rng = np.random.default_rng(1)
    bound = lemma_6(0.0, 0.001, 1)
    found = {
        way: measured(real, made[Hybrid(matching=way).matched(real, made, rng)], 0.0, 0.001)
        for way in Matching
    }
    assert found["random"] == pytest.approx(bound, abs=0.001)
    assert found["nearest"] > 100 * bound


@pytest.mark.parametrize("matching", Matching)
@pytest.mark.parametrize("lid", [0.1, 0.5, 0.95])
def test_a_wished_lid_is_met_and_no_larger_alpha_would(matching, lid):
    real, made = two(3000, 3)
    hybrid = Hybrid(lid=lid, matching=matching)
    made = made[hybrid.matched(real, made, np.random.default_rng(0))]
    alpha = hybrid.solved(real, made)
    assert 0 < alpha < 1
    assert measured(real, made, alpha, hybrid.eta) <= lid
    assert measured(real, made, alpha + 1e-3, hybrid.eta) > lid


def test_without_a_wish_alpha_is_as_given():
    assert Hybrid(alpha=0.3).solved(*two(5, 2)) == 0.3
    assert Hybrid(alpha=1).solved(*two(5, 2)) == 1


def test_a_wish_that_no_alpha_meets_is_refused_with_what_is_reachable():
    real, made = two(2000, 2)
    made = made[nearest(real, made)]
    least = measured(real, made, 0.0, 0.01)
    with pytest.raises(BadInput, match=f"it is {least:.2%} at eta=0.01.*matching=random"):
        Hybrid(lid=0.01, eta=0.01).solved(real, made)
    Hybrid(lid=least + 1e-9, eta=0.01).solved(real, made)


def test_of_nothing_nothing_is_told():
    assert measured(np.zeros((0, 2)), np.zeros((0, 2)), 0.5, 0.1) == 0
    assert measured(np.zeros((5, 0)), np.zeros((5, 0)), 0.5, 0.1) == 0
    assert nearest(np.zeros((0, 2)), np.zeros((0, 2))).tolist() == []


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan, math.inf])
@pytest.mark.parametrize("name", ["alpha", "lid", "eta"])
def test_shares_that_are_none_are_refused(name, wrong):
    with pytest.raises(BadInput, match="alpha lies from 0 to 1"):
        Hybrid(**{name: wrong})


def test_an_unknown_matching_is_refused():
    with pytest.raises(BadInput, match="matching is closest; give nearest or random"):
        Hybrid(matching="closest")
