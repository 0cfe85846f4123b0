import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from helpers.tables import numbered
from understudy.knowledge import anything
from understudy.privacy.budget import Budget
from understudy.privacy.events import Exponential
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.scores import L1Distance
from understudy.schema import Schema
from understudy.select.tree import private_forest

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2, "e": 3}
PAIRS = list(itertools.combinations(SIZES, 2))
RICH = Fraction(10**6)
"""So much that the best candidate is drawn always."""
NO_LIMIT = float("inf")


def opened(sizes=SIZES, count=200, seed=0):
    schema = Schema(tuple(numbered(name, size) for name, size in sizes.items()))
    rng = np.random.default_rng(seed)
    table = pa.table({name: rng.integers(0, size, count) for name, size in sizes.items()})
    return Ledger.open(table, schema, Budget(1e8, 1e-9), source=SeededForTests(seed))


def edges(ledger, seed=0):
    """All pairs, with scores of their own that lie at least one row apart."""
    heights = np.random.default_rng(seed).permutation(len(PAIRS)) * 10.0 - 200
    scored = [
        L1Distance(pair, np.zeros(ledger.domain.shape(pair)), offset=height)
        for pair, height in zip(PAIRS, heights, strict=True)
    ]
    return scored, dict(zip(PAIRS, heights, strict=True))


def is_forest(pairs):
    part = {name: name for name in SIZES}
    for a, b in pairs:
        if part[a] == part[b]:
            return False
        part = {n: part[a] if p == part[b] else p for n, p in part.items()}
    return True


def forests(size):
    return [found for found in itertools.combinations(PAIRS, size) if is_forest(found)]


@pytest.mark.parametrize("seed", range(5))
def test_with_much_to_spend_it_is_a_tree_of_the_largest_sum(seed):
    ledger = opened(seed=seed)
    scored, heights = edges(ledger, seed)
    found = private_forest(ledger, scored, rho=RICH, allowed=anything, most_cells=NO_LIMIT)
    assert len(forests(4)) == 125  # as many trees as Cayley counts
    best = max(forests(4), key=lambda tree: sum(heights[pair] for pair in tree))
    assert set(found) == set(best)
    # Drawn by their scores, the largest first.
    assert [heights[pair] for pair in found] == sorted(map(heights.get, best), reverse=True)


def test_with_little_to_spend_it_is_some_tree_all_the_same():
    trees = []
    ledger = opened()
    for _ in range(12):
        before = len(ledger.entries)
        found = private_forest(
            ledger,
            edges(ledger)[0],
            rho=Fraction(1, 10**6),
            allowed=anything,
            most_cells=NO_LIMIT,
        )
        assert len(found) == len(ledger.entries) - before == 4
        assert is_forest(found)
        trees.append(frozenset(found))
    # Of 125 trees, drawn evenly or nearly so, twelve draws are never less than five.
    assert len(set(trees)) >= 5


@pytest.mark.parametrize("rho", [Fraction(1, 3), Fraction(7, 1000)])
def test_each_round_gets_an_equal_share(rho):
    ledger = opened()
    private_forest(ledger, edges(ledger)[0], rho=rho, allowed=anything, most_cells=NO_LIMIT)
    events = [entry.event for entry in ledger.entries]
    assert len(events) == 4
    assert all(type(event) is Exponential for event in events)
    for event in events:
        assert event.epsilon == pytest.approx(float(8 * rho / 4) ** 0.5, rel=1e-9)
    assert sum(Fraction(event.epsilon) ** 2 / 8 for event in events) <= rho


def test_a_round_only_offers_what_joins_two_parts():
    ledger = opened()
    private_forest(ledger, edges(ledger)[0], rho=RICH, allowed=anything, most_cells=NO_LIMIT)
    offered = [entry.request["candidates"] for entry in ledger.entries]
    assert offered[0] == len(PAIRS)
    # After the first pair one way to close it is gone; no round offers more than the one before.
    assert offered[1] == len(PAIRS) - 1
    assert offered == sorted(offered, reverse=True)
    assert len(set(offered)) == 4


def never_together(*pairs):
    """No pair of these may be measured."""

    def allowed(cliques):
        return not any({*pair} <= {*clique} for pair in pairs for clique in cliques)

    return allowed


@pytest.mark.parametrize("seed", range(3))
def test_a_forbidden_pair_is_left_out_and_the_rest_is_the_best(seed):
    ledger = opened(seed=seed)
    scored, heights = edges(ledger, seed)
    top = max(PAIRS, key=heights.get)
    found = private_forest(
        ledger, scored, rho=RICH, allowed=never_together(top), most_cells=NO_LIMIT
    )
    others = [tree for tree in forests(4) if top not in tree]
    assert set(found) == set(max(others, key=lambda tree: sum(map(heights.get, tree))))


def test_what_is_allowed_may_depend_on_what_was_chosen():
    # At most two pairs, and all that were chosen are always shown together, in order.
    shown = []

    def allowed(cliques):
        shown.append(list(cliques))
        return len(cliques) <= 2

    ledger = opened()
    found = private_forest(ledger, edges(ledger)[0], rho=RICH, allowed=allowed, most_cells=NO_LIMIT)
    assert len(found) == 2
    assert len(ledger.entries) == 2
    assert {tuple(cliques[:-1]) for cliques in shown} == {(), (found[0],), tuple(found)}


def test_parts_that_may_not_be_joined_stay_apart():
    apart = never_together(*((x, y) for x in "ab" for y in "cde"))
    ledger = opened()
    found = private_forest(ledger, edges(ledger)[0], rho=RICH, allowed=apart, most_cells=NO_LIMIT)
    assert len(found) == 3
    assert ("a", "b") in found
    assert all({*pair} <= {*"ab"} or {*pair} <= {*"cde"} for pair in found)
    # The share of the round that never came is left.
    spent = sum(Fraction(entry.event.epsilon) ** 2 / 8 for entry in ledger.entries)
    assert float(spent / RICH) == pytest.approx(3 / 4, rel=1e-9)


@pytest.mark.parametrize("most", [5, 10, 18, 60])
def test_all_pairs_together_keep_below_the_cells(most):
    ledger = opened()
    scored, heights = edges(ledger)
    size = ledger.domain.size
    found = private_forest(ledger, scored, rho=RICH, allowed=anything, most_cells=most)
    assert sum(map(size, found)) <= most
    # By hand: always the best that joins two parts and still fits.
    expected, room = [], most
    while True:
        possible = [p for p in PAIRS if size(p) <= room and is_forest([*expected, p])]
        if not possible:
            break
        expected.append(max(possible, key=heights.get))
        room -= size(expected[-1])
    assert found == expected


def test_a_room_that_is_just_filled_is_not_exceeded():
    ledger = opened()
    pair = L1Distance(("b", "c"), np.zeros((3, 4)))
    ask = {"rho": RICH, "allowed": anything}
    assert private_forest(ledger, [pair], most_cells=12, **ask) == [("b", "c")]
    assert private_forest(ledger, [pair], most_cells=11.9, **ask) == []


@pytest.mark.parametrize("room", [NO_LIMIT, 0, -5])
def test_without_an_edge_nothing_is_asked(room):
    ledger = opened()
    assert private_forest(ledger, [], rho=RICH, allowed=anything, most_cells=room) == []
    if room <= 0:
        scored = edges(ledger)[0]
        assert private_forest(ledger, scored, rho=RICH, allowed=anything, most_cells=room) == []
    assert (
        private_forest(ledger, edges(ledger)[0], rho=RICH, allowed=lambda _: False, most_cells=room)
        == []
    )
    assert ledger.entries == ()


def test_a_single_edge_gets_all_of_the_budget():
    ledger = opened()
    one = L1Distance(("a", "b"), np.zeros((2, 3)))
    rho = Fraction(1, 8)
    private_forest(ledger, [one], rho=rho, allowed=anything, most_cells=NO_LIMIT)
    (entry,) = ledger.entries
    assert entry.event.epsilon == pytest.approx(1.0, rel=1e-9)


def test_it_scores_merged_columns_by_their_merged_sizes():
    ledger = opened().merged({"c": [0, 0, 0, 0], "b": [0, 0, 1]})
    scored = [L1Distance(p, np.zeros(ledger.domain.shape(p))) for p in PAIRS]
    found = private_forest(ledger, scored, rho=RICH, allowed=anything, most_cells=14)
    assert sum(map(ledger.domain.size, found)) <= 14
    # Of the whole columns two pairs would fill the room.
    assert len(found) == 4
