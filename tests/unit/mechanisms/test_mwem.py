import itertools
from functools import partial

import numpy as np
import pytest

from helpers import chains
from understudy.errors import ModelTooLarge
from understudy.mechanisms.mwem import Mwem
from understudy.model.estimate import BYTES_PER_CELL, needed_bytes

SIZES = {"a": 3, "b": 4, "c": 2, "d": 3}
chain = partial(chains.chain, sizes=SIZES)
opened = partial(chains.opened, sizes=SIZES, make=chain)


@pytest.mark.parametrize(("given", "expected"), [(0, 4), (1, 1), (7, 7)])
@pytest.mark.parametrize("epsilon", [0.01, 5.0])
def test_rounds_are_as_many_as_was_said_and_cost_the_same(given, expected, epsilon):
    ledger = opened(epsilon=epsilon)
    whole = ledger.rest()
    Mwem(rounds=given).fit(ledger)
    total, *later = ledger.entries
    assert total.request["cliques"] == [[]]
    assert float(chains.spent(total) / whole) == pytest.approx(0.01, rel=1e-9)
    assert [e.request["door"] for e in later] == ["select", "measure"] * expected
    for choose, measure in zip(later[::2], later[1::2], strict=True):
        assert float(chains.spent(choose) / whole) == pytest.approx(0.099 / expected, rel=1e-9)
        assert float(chains.spent(measure) / whole) == pytest.approx(0.891 / expected, rel=1e-9)
        assert len(measure.request["cliques"]) == 1
        assert len(measure.request["cliques"][0]) == 2
    assert float(sum(map(chains.spent, ledger.entries)) / whole) == pytest.approx(1, rel=1e-9)


def test_the_worst_pair_comes_first():
    # One pair is tied and has rows in few cells; of all others the model is right.
    rng = np.random.default_rng(0)
    a, b, c = (rng.permutation(np.arange(600) % 3) for _ in range(3))
    sizes = {"a": 3, "b": 3, "c": 3, "d": 3}
    ledger = opened({"a": a, "b": b, "c": c, "d": b}, 100.0, sizes=sizes)
    Mwem().fit(ledger)
    assert ledger.entries[2].request["cliques"] == [["b", "d"]]


def test_with_much_to_spend_a_round_for_each_pair_gives_all_pairs_back():
    codes = chain(800)
    ledger = opened(codes, epsilon=1e4)
    model = Mwem(rounds=6).fit(ledger)
    for pair in itertools.combinations(SIZES, 2):
        exact = np.zeros([SIZES[name] for name in pair])
        np.add.at(exact, tuple(codes[name] for name in pair), 1)
        assert np.abs(model.marginal(pair) - exact).max() < 0.02 * 800, pair


@pytest.mark.parametrize("model_bytes", [2_500, 6_000, 9_000])
def test_the_model_keeps_below_its_limit(model_bytes):
    ledger = opened(epsilon=300.0)
    model = Mwem(rounds=6, model_bytes=model_bytes).fit(ledger)
    assert needed_bytes(ledger.domain, [one.clique for one in model.measurements]) <= model_bytes


def test_columns_that_are_too_many_are_refused_before_anything_is_spent():
    ledger = opened()
    with pytest.raises(ModelTooLarge):
        Mwem(model_bytes=12 * BYTES_PER_CELL - 1).fit(ledger)
    assert ledger.entries == ()
    Mwem(model_bytes=12 * BYTES_PER_CELL).fit(ledger)


def test_what_it_measures_always_fits_its_model():
    # Four pairs in a ring are known and fill the model's room. The tree then holds a fifth pair,
    # which takes no room in the tree but some of its own once it is measured.
    rng = np.random.default_rng(0)
    p, q, s = rng.integers(0, 2, (3, 600))
    r = np.where(rng.random(600) < 0.5, p, rng.integers(0, 2, 600))
    codes = {"a": 2 * p + q, "b": 2 * q + r, "c": 2 * r + s, "d": 2 * s + p}
    sizes = dict.fromkeys("abcd", 4)
    ring = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    known = opened(codes, 1e5, sizes=sizes).measure(ring, scale=0.1)
    ledger = opened(codes, 100.0, sizes=sizes)
    limit = needed_bytes(ledger.domain, ring)
    model = Mwem(rounds=3, model_bytes=limit).fit(ledger, known)
    assert needed_bytes(ledger.domain, [one.clique for one in model.measurements]) <= limit
