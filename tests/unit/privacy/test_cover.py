"""Joining cliques never loses one, and never passes the limit."""

import itertools
from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from understudy.privacy.cover import MOST_AXES, Pass, cover

NAMES = "abcdefgh"


@given(
    st.lists(st.lists(st.sampled_from(NAMES), unique=True).map(sorted).map(tuple), max_size=20),
    st.lists(st.integers(1, 12), min_size=len(NAMES), max_size=len(NAMES)),
    st.integers(1, 5000),
)
def test_every_clique_is_held_by_exactly_one_pass(cliques, widths, most_cells):
    sizes = dict(zip(NAMES, widths, strict=True))
    passes = cover(cliques, sizes, most_cells)
    held = [clique for step in passes for clique in step.requested]
    assert sorted(held) == sorted(set(cliques))
    for step in passes:
        assert all(set(clique) <= set(step.clique) for clique in step.requested)
        assert list(step.clique) == sorted(step.clique, key=NAMES.index)
        cells = prod(sizes[name] for name in step.clique)
        assert cells <= most_cells or step.clique in step.requested


def test_all_pairs_of_twenty_columns_take_few_passes():
    sizes = {f"x{k}": 10 for k in range(20)}
    pairs = list(itertools.combinations(sizes, 2))
    passes = cover(pairs, sizes, most_cells=2**16)
    assert len(passes) <= 45  # 190 pairs, at most 6 in four columns: no fewer than 32


def test_marginals_are_sums_of_the_joint():
    joint = np.arange(24).reshape(2, 3, 4)
    step = Pass(("a", "b", "c"), (("a", "c"), ("b",), (), ("a", "b", "c")))
    marginals = step.marginals(joint)
    np.testing.assert_array_equal(marginals["a", "c"], joint.sum(axis=1))
    np.testing.assert_array_equal(marginals["b",], joint.sum(axis=(0, 2)))
    np.testing.assert_array_equal(marginals[()], joint.sum())
    np.testing.assert_array_equal(marginals["a", "b", "c"], joint)


def test_no_pass_has_more_columns_than_an_array_has_axes():
    names = [f"c{k}" for k in range(100)]
    passes = cover([(name,) for name in names], dict.fromkeys(names, 1), most_cells=2**20)
    assert max(len(step.clique) for step in passes) == MOST_AXES
    assert sorted(c for step in passes for c in step.requested) == sorted((n,) for n in names)
