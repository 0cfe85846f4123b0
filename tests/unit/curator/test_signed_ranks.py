"""Wilcoxon's test, against all ways to give differences their signs."""

from itertools import product

import numpy as np
import pytest

from understudy.curator.signed_ranks import signed_ranks


def by_enumeration(differences):
    """The share of signs whose positive ranks add up to as much."""
    ranks = np.argsort(np.argsort(np.abs(differences))) + 1
    seen = ranks[np.array(differences) > 0].sum()
    signs = np.array([*product((0, 1), repeat=len(ranks))])
    return np.mean(signs @ ranks >= seen)


@pytest.mark.parametrize("count", [1, 2, 5, 9, 12])
def test_it_is_the_share_of_signs_that_favour_as_much(count):
    rng = np.random.default_rng(count)
    for shift in (-0.5, 0.0, 0.5, 2.0):
        differences = rng.normal(shift, 1, count)
        assert signed_ranks(differences.tolist()) == pytest.approx(by_enumeration(differences))


def test_equal_pairs_say_nothing():
    assert signed_ranks([0.0, 0.0]) == 1.0
    assert signed_ranks([0.0] * 20 + [1.0, 2.0, 3.0]) > 0.05


def test_each_side_has_its_own_tail():
    differences = [0.3, 0.1, 0.5, -0.2, 0.9, 1.1]
    assert signed_ranks(differences) < 0.1
    assert signed_ranks([-d for d in differences]) > 0.9


def test_what_differs_in_its_last_digits_has_the_same_rank():
    mirrored = [368.345, -368.345 * (1 + 1e-14)] + [0.0] * 23
    assert signed_ranks(mirrored) == pytest.approx(0.5)
    assert signed_ranks([-one for one in mirrored]) == pytest.approx(0.5)
