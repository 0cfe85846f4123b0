import itertools
import math
from functools import partial

import numpy as np
import pytest

from helpers import chains
from understudy.errors import BadInput, ModelTooLarge
from understudy.mechanisms import aim as aim_module
from understudy.mechanisms.aim import Aim
from understudy.model.estimate import BYTES_PER_CELL, needed_bytes

SIZES = {"a": 3, "b": 4, "c": 2}
chain = partial(chains.chain, sizes=SIZES)
opened = partial(chains.opened, sizes=SIZES, make=chain)


def rounds(ledger):
    """The cost of each choice and of each measurement after the first, in order."""
    later = ledger.entries[1:]
    assert [e.request["door"] for e in later] == ["select", "measure"] * (len(later) // 2)
    return [(chains.spent(later[k]), chains.spent(later[k + 1])) for k in range(0, len(later), 2)]


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
def test_it_begins_with_all_columns_at_the_price_of_as_many_rounds(epsilon):
    ledger = opened(epsilon=epsilon)
    whole = ledger.rest()
    Aim().fit(ledger)
    first = ledger.entries[0]
    assert first.request["cliques"] == [["a"], ["b"], ["c"]]
    assert float(chains.spent(first) / whole) == pytest.approx(0.9 * 3 / (16 * 3), rel=1e-9)
    # Each column by itself: the published scale of the first rounds.
    assert first.event.scale == pytest.approx(math.sqrt(16 * 3 / (2 * 0.9 * float(whole))))
    choose, measure = rounds(ledger)[0]
    assert float(choose / whole) == pytest.approx(0.1 / (16 * 3), rel=1e-9)
    assert float(measure / whole) == pytest.approx(0.9 / (16 * 3), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "seed"), [(0.001, 0), (0.3, 1), (1.0, 0), (30.0, 1)])
def test_all_is_spent_and_rounds_only_grow_by_four(epsilon, seed):
    ledger = opened(epsilon=epsilon, seed=seed)
    whole = ledger.rest()
    Aim().fit(ledger)
    assert float(sum(map(chains.spent, ledger.entries)) / whole) == pytest.approx(1, rel=1e-9)
    prices = [float(sum(one) / whole) for one in rounds(ledger)]
    assert prices[0] == pytest.approx(1 / 48, rel=1e-9)
    for before, after in itertools.pairwise(prices[:-1]):
        assert after / before == pytest.approx(1, rel=1e-9) or after / before == pytest.approx(
            4, rel=1e-9
        )
    for choose, measure in rounds(ledger)[:-1]:
        assert float(measure / choose) == pytest.approx(9, rel=1e-9)
    # The last one takes what is left, which is less than two of its price would be.
    left = 1 - (0.9 * 3 / 48 + sum(prices[:-1]))
    assert prices[-1] == pytest.approx(left, rel=1e-6)
    choose, measure = rounds(ledger)[-1]
    assert float(measure / choose) == pytest.approx(9, rel=1e-6)


@pytest.mark.parametrize("learns", [True, False])
def test_a_round_is_dearer_only_after_one_that_taught_nothing(learns, monkeypatch):
    # What counts as learned is moved out of reach, or to below nothing at all.
    monkeypatch.setattr(aim_module, "MEAN_NOISE", -1.0 if learns else 1e9)
    ledger = opened()
    whole = ledger.rest()
    Aim().fit(ledger)
    prices = [float(sum(one) / whole) * 48 for one in rounds(ledger)]
    if learns:
        # 48 rounds' worth, of which the single columns took 2.7.
        assert prices[:-1] == pytest.approx([1.0] * 44, rel=1e-9)
        assert len(prices) == 45
        assert prices[-1] == pytest.approx(1.3, rel=1e-6)
    else:
        assert prices == pytest.approx([1.0, 4.0, 16.0, 24.3], rel=1e-6)


def test_the_number_of_rounds_follows_what_is_to_learn():
    # Columns whose pairs hold much, and columns that hold nothing together.
    sizes = dict.fromkeys("abcde", 3)
    rng = np.random.default_rng(0)
    noise = {name: rng.integers(0, 3, 500) for name in sizes}
    found = {}
    for name, codes in (("tied", chain(sizes=sizes)), ("free", noise)):
        for epsilon in (0.01, 3.0):
            ledger = opened(codes, epsilon, sizes=sizes)
            Aim().fit(ledger)
            found[name, epsilon] = len(rounds(ledger))
    assert found["tied", 0.01] < found["tied", 3.0]
    assert found["free", 3.0] < found["tied", 3.0], found


def test_it_measures_single_columns_as_well_as_pairs():
    offered = []
    real = aim_module.worst

    def noted(ledger, model, candidates, **options):
        offered.append(dict(candidates))
        return real(ledger, model, candidates, **options)

    for degree, expected in [(1, 3), (2, 6), (9, 7)]:
        offered.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(aim_module, "worst", noted)
            Aim(degree=degree, model_bytes=10**9).fit(opened())
        assert all(len(candidates) == expected for candidates in offered)
        # Weighted by how many columns they share with the marginals that matter.
        assert all(
            weight == len(clique) for candidates in offered for clique, weight in candidates.items()
        )
        assert {("a",), ("b",), ("c",)} <= set(offered[0])


def test_the_share_of_the_limit_grows_with_what_is_spent(monkeypatch):
    shares = []
    real = aim_module.with_room

    def noted(asked, cliques, measured, **limits):
        assert asked is ledger
        assert limits["model_bytes"] == 10**6
        assert {("a",), ("b",), ("c",)} <= set(measured)
        shares.append(limits["share"])
        return real(asked, cliques, measured, **limits)

    monkeypatch.setattr(aim_module, "with_room", noted)
    ledger = opened(epsilon=20.0)
    whole = ledger.rest()
    Aim(model_bytes=10**6).fit(ledger)
    prices = [float(sum(one) / whole) for one in rounds(ledger)]
    assert len(shares) == len(prices) > 4
    # As published, what a round costs counts for it already, and the last one has all.
    begun = 0.9 / 16
    assert shares == pytest.approx(begun + np.cumsum(prices), rel=1e-6)
    assert shares[0] == pytest.approx(begun + 1 / 48, rel=1e-9)
    assert shares[-1] == 1.0
    assert shares == sorted(shares)


@pytest.mark.parametrize("model_bytes", [4_000, 9_000, 14_000, 25_000])
def test_the_last_tree_keeps_below_the_limit(model_bytes):
    sizes = dict.fromkeys("abcd", 3)
    ledger = opened(sizes=sizes, epsilon=30.0)
    model = Aim(model_bytes=model_bytes).fit(ledger)
    assert needed_bytes(ledger.domain, [one.clique for one in model.measurements]) <= model_bytes
    if model_bytes == 4_000:
        free = Aim().fit(opened(sizes=sizes, epsilon=30.0))
        needed = needed_bytes(ledger.domain, [one.clique for one in free.measurements])
        assert needed > 9_000, "without a limit it grows larger"


def test_columns_that_are_too_many_are_refused_before_anything_is_spent():
    ledger = opened()
    with pytest.raises(ModelTooLarge):
        Aim(model_bytes=9 * BYTES_PER_CELL - 1).fit(ledger)
    assert ledger.entries == ()
    Aim(model_bytes=9 * BYTES_PER_CELL).fit(ledger)


def test_with_much_to_spend_all_pairs_come_back():
    codes = chain(800)
    ledger = opened(codes, epsilon=1e3)
    model = Aim().fit(ledger)
    for pair in itertools.combinations(SIZES, 2):
        exact = np.zeros([SIZES[name] for name in pair])
        np.add.at(exact, tuple(codes[name] for name in pair), 1)
        assert np.abs(model.marginal(pair) - exact).max() < 0.01 * 800, pair


def test_more_marginals_than_can_be_weighed_are_refused_at_no_cost():
    sizes = {f"c{k}": 2 for k in range(30)}
    with opened(chain(20, sizes=sizes), sizes=sizes) as ledger:
        with pytest.raises(BadInput, match="smaller degree"):
            Aim(degree=30).fit(ledger)
        assert not ledger.entries
