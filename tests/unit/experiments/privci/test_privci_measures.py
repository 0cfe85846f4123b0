"""Measures against sums that are written out."""

from itertools import combinations
from math import log

import numpy as np
import pytest

from understudy.experiments.privci.folds import folds_of
from understudy.experiments.privci.measures import (
    conditional_dependence,
    divergence,
    odds_gap,
    pair_counts,
    pairs_of,
    rows_off,
    squared_shares_off,
    total_variation,
    tree_score,
)
from understudy.experiments.privci.structure import noiseless
from understudy.experiments.privci.tables import COMPAS
from understudy.knowledge import Independence
from understudy.separation import Separation, tied

SIZES = {"a": 2, "b": 3, "c": 2}


@pytest.fixture
def two():
    """Two tables over the same columns."""
    rng = np.random.default_rng(3)
    return [
        {name: rng.integers(0, size, count) for name, size in SIZES.items()} for count in (60, 90)
    ]


def share(rows, **codes):
    return np.mean(np.all([rows[name] == code for name, code in codes.items()], axis=0))


def cells(one, other):
    return [(x, y) for x in range(SIZES[one]) for y in range(SIZES[other])]


def test_scores_are_distances_from_independence(two):
    rows, _ = two
    counts = pair_counts(rows, SIZES, ("a", "b"))
    apart = [
        share(rows, a=x, b=y) - share(rows, a=x) * share(rows, b=y) for x, y in cells("a", "b")
    ]
    assert rows_off(counts) == pytest.approx(60 * sum(map(abs, apart)))
    assert squared_shares_off(counts) == pytest.approx(sum(d**2 for d in apart))


def test_a_tree_has_the_sum_of_its_pairs_each_once():
    pairs = pairs_of([("a",), ("b", "a"), ("a", "b"), ("c", "b"), ("a", "b", "c")])
    assert pairs == (("a", "b"), ("b", "c"))
    assert tree_score({("a", "b"): 1.5, ("b", "c"): 2.0}, pairs) == 3.5


def test_fidelity_is_a_mean_over_pairs(two):
    real, made = two
    variation, nats = [], []
    for one, other in combinations(SIZES, 2):
        apart, sums = 0.0, [0.0, 0.0]
        smooth = []
        for x, y in cells(one, other):
            p, q = (share(rows, **{one: x, other: y}) for rows in two)
            apart += abs(p - q) / 2
            smooth.append((60 * p + 0.5, 90 * q + 0.5))
        sums = [sum(pair[side] for pair in smooth) for side in (0, 1)]
        variation.append(apart)
        nats.append(sum(p / sums[0] * log(p / sums[0] / (q / sums[1])) for p, q in smooth))
    assert total_variation(real, made, SIZES) == pytest.approx(np.mean(variation))
    assert divergence(real, made, SIZES) == pytest.approx(np.mean(nats))
    assert total_variation(real, real, SIZES) == divergence(real, real, SIZES) == 0


def test_dependence_is_what_is_left_once_the_given_are_known(two):
    rows, _ = two
    expected = 0.0
    for x in range(2):
        for y in range(3):
            for z in range(2):
                p = share(rows, a=x, b=y, c=z)
                if p:
                    aside = share(rows, a=x, c=z) * share(rows, b=y, c=z)
                    expected += p * log(p * share(rows, c=z) / aside)
    found = conditional_dependence(rows, Independence("a", "b", given=["c"]))
    assert found == pytest.approx(expected)


def test_the_odds_gap_is_the_largest_in_any_class_and_leaves_small_groups_out():
    truth = np.repeat([0, 0, 1, 1, 1], [40, 50, 30, 60, 29])
    group = np.repeat([0, 1, 0, 1, 2], [40, 50, 30, 60, 29])
    yes = np.zeros(len(truth), bool)
    yes[:10] = True  # a quarter of group 0 in class 0, none of group 1
    yes[90:105] = True  # half of group 0 in class 1
    yes[120:126] = True  # a tenth of group 1
    yes[180:] = True  # all of group 2, which is too small
    assert odds_gap(yes, truth, group) == pytest.approx(0.5 - 0.1)
    assert np.isnan(odds_gap(yes[:30], truth[:30], group[:30]))


def spanning_trees(columns):
    for tree in combinations(pairs_of(combinations(columns, 2)), len(columns) - 1):
        if len({*tied(columns, tree).values()}) == 1:
            yield tree


@pytest.mark.parametrize("score", [rows_off, squared_shares_off])
def test_trees_without_noise_are_the_best_of_all_trees(invented, score):
    rows = folds_of(COMPAS, invented).rows
    found = noiseless(COMPAS, rows, score)
    kept = Separation([COMPAS.independence])
    every = list(spanning_trees(COMPAS.columns))
    assert len(every) == 5**3

    def q(tree):
        return sum(score(pair_counts(rows, COMPAS.sizes, pair)) for pair in tree)

    assert found["MST"].q == pytest.approx(max(map(q, every)))
    best = max(q(tree) for tree in every if kept(tree))
    assert found["PreFair, exhaustive"].q == pytest.approx(best)
    assert found["PreFair"].q <= best * (1 + 1e-12)
    assert found["PrivCI"].q <= best * (1 + 1e-12)
    assert kept(found["PrivCI"].pairs)
    assert kept(found["PreFair"].pairs)
    assert {*found["PreFair"].beside("is_recid")} <= {"age"}
