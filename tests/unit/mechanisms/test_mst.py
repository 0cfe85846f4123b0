import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from helpers import chains
from understudy.errors import ModelTooLarge
from understudy.mechanisms.mst import Mst
from understudy.model.estimate import BYTES_PER_CELL
from understudy.privacy.events import Exponential
from understudy.privacy.unit import Record, Replacement

SIZES = {"a": 3, "b": 4, "c": 2, "d": 5}
chain = partial(chains.chain, sizes=SIZES)
opened = partial(chains.opened, sizes=SIZES, make=chain)


def counted(codes, clique, sizes=SIZES):
    found = np.zeros([sizes[name] for name in clique])
    np.add.at(found, tuple(codes[name] for name in clique), 1)
    return found / len(codes[clique[0]])


@pytest.mark.parametrize("unit", [Record(), Replacement()], ids=str)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 50.0])
def test_single_columns_the_tree_and_its_pairs_get_a_third_each(epsilon, unit):
    # So many rows that no column merges into one code, which would take no part.
    ledger = opened(chain(20_000), epsilon=epsilon, unit=unit)
    whole = ledger.rest()
    Mst().fit(ledger)
    ones, *choices, pairs = ledger.entries
    assert ones.request["cliques"] == [["a"], ["b"], ["c"], ["d"]]
    assert float(chains.spent(ones) / whole) == pytest.approx(1 / 3, rel=1e-9)
    squared = 4 if unit == Record() else 8
    assert ones.event.scale == pytest.approx(math.sqrt(squared / (2 * float(whole) / 3)), rel=1e-9)
    assert [type(entry.event) for entry in choices] == [Exponential] * 3
    for entry in choices:
        assert float(chains.spent(entry) / whole) == pytest.approx(1 / 9, rel=1e-9)
    assert float(chains.spent(pairs) / whole) == pytest.approx(1 / 3, rel=1e-9)
    assert len(pairs.request["cliques"]) == 3
    assert float(sum(map(chains.spent, ledger.entries)) / whole) == pytest.approx(1, rel=1e-9)


def test_one_scale_goes_for_all_pairs_and_they_form_a_tree():
    ledger = opened()
    model = Mst().fit(ledger)
    pairs = [one for one in model.measurements if len(one.clique) == 2]
    assert len({one.scale for one in pairs}) == 1
    assert len({frozenset(one.clique) for one in pairs}) == 3
    reached = {"a"}
    for _ in pairs:
        reached |= {n for one in pairs if reached & {*one.clique} for n in one.clique}
    assert reached == {*SIZES}


def test_what_the_choice_of_pairs_leaves_goes_to_the_pairs():
    # Where the tree ends early, as one pair is all that is allowed, the pair gets the rest.
    ledger = opened()
    whole = ledger.rest()
    Mst().fit(ledger, allowed=lambda cliques: cliques == [("a", "b")])
    assert [len(e.request.get("cliques", "x")) for e in ledger.entries] == [4, 1, 1]
    assert float(chains.spent(ledger.entries[-1]) / whole) == pytest.approx(5 / 9, rel=1e-9)
    assert ledger.rest() / whole < Fraction(1, 10**9)


def test_pairs_of_a_chain_come_back():
    codes = chain(800)
    ledger = opened(codes, epsilon=1e5)
    model = Mst().fit(ledger)
    tree = [one.clique for one in model.measurements if len(one.clique) == 2]
    assert len(tree) == 3
    drawn = model.sample(100_000, np.random.default_rng(0))
    for clique in [*tree, *((name,) for name in SIZES)]:
        off = np.abs(counted(drawn, clique) - counted(codes, clique))
        assert off.max() < 0.01, clique
    assert model.total == pytest.approx(800, rel=1e-3)


def test_with_much_to_spend_the_tree_is_the_best_one():
    codes = chain(800, seed=2)
    ledger = opened(codes, epsilon=1e5)
    model = Mst().fit(ledger)
    tree = {one.clique for one in model.measurements if len(one.clique) == 2}
    joint = {pair: counted(codes, pair) for pair in itertools.combinations(SIZES, 2)}
    off = {
        pair: np.abs(table - np.outer(table.sum(1), table.sum(0))).sum()
        for pair, table in joint.items()
    }
    best = max(
        (
            found
            for found in itertools.combinations(joint, 3)
            if len({name for pair in found for name in pair}) == 4
        ),
        key=lambda found: sum(map(off.get, found)),
    )
    # Three pairs that reach four columns are a tree.
    assert tree == set(best)


def test_rare_codes_are_counted_together_and_come_apart_again():
    rng = np.random.default_rng(0)
    sizes = {"a": 8, "b": 3}
    a = np.where(rng.random(2000) < 0.98, rng.integers(0, 2, 2000), rng.integers(2, 8, 2000))
    codes = {"a": a, "b": (a + rng.integers(0, 2, 2000)) % 3}
    ledger = opened(codes, 0.5, sizes=sizes)
    model = Mst().fit(ledger)
    assert ledger.entries[-1].request["merged"]["a"] == 3
    assert model.shares["a"].shape == (3, 8)
    pair = next(one for one in model.measurements if len(one.clique) == 2)
    assert pair.values.shape == (3, 3)
    drawn = model.sample(5000, rng)
    assert drawn["a"].max() < 8
    assert set(np.unique(drawn["a"][drawn["a"] > 1])) != set()
    # With a rarity of nothing only codes that seem to have less than no row are merged.
    fine = Mst(rarity=0.0).fit(opened(codes, 0.5, sizes=sizes))
    below = fine.measurements[0].values < 0
    assert below.sum() == 2
    assert list(fine.shares) == ["a"]
    assert fine.shares["a"].shape == (7, 8)
    np.testing.assert_array_equal(fine.shares["a"][:6, ~below], np.eye(6))
    assert (fine.shares["a"][6, ~below] == 0).all()


def test_the_model_keeps_below_its_bytes():
    sizes = dict.fromkeys("abcde", 4)
    for cells in (25, 36, 60, 100):
        ledger = opened(sizes=sizes, epsilon=30.0)
        model = Mst(model_bytes=cells * BYTES_PER_CELL).fit(ledger)
        pairs = [one.clique for one in model.measurements if len(one.clique) == 2]
        used = sum(model.coarse.domain.size(pair) for pair in pairs)
        used += sum(model.coarse.domain.sizes.values())
        assert used <= cells
        assert len(pairs) == min(4, (cells - 20) // 16)


def test_columns_that_are_too_many_are_refused_before_anything_is_spent():
    ledger = opened()
    with pytest.raises(ModelTooLarge):
        Mst(model_bytes=14 * BYTES_PER_CELL - 1).fit(ledger)
    assert ledger.entries == ()
    Mst(model_bytes=14 * BYTES_PER_CELL).fit(ledger)


def test_pairs_beyond_the_largest_marginal_are_no_candidates():
    ledger = opened(most_cells=10)
    model = Mst().fit(ledger)
    pairs = [one.clique for one in model.measurements if len(one.clique) == 2]
    assert pairs
    assert all(ledger.domain.size(pair) <= 10 for pair in pairs)
