"""PreFair against its own definition, and its search against all trees there are."""

import itertools
import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import chains
from helpers.independences import independences, separated, walked
from understudy.curator.audit.overheard import Overheard, Run
from understudy.errors import BadInput, UnknownColumn
from understudy.knowledge import Independence
from understudy.mechanisms.catalog import mechanism_named
from understudy.mechanisms.prefair import MOST_FREE, PreFair, Search, best_fair_tree, fair_edge
from understudy.model import estimate
from understudy.pipeline import synthesize
from understudy.privacy.events import Exponential, Gaussian
from understudy.separation import Separation

SIZES = {"a": 2, "b": 3, "c": 2, "d": 3, "e": 2}
NAMES = "abcde"
PAIRS = list(itertools.combinations(NAMES, 2))
SCORES = st.fixed_dictionaries({pair: st.floats(-100, 100) for pair in PAIRS})
EXHAUSTIVE = PreFair(search=Search.EXHAUSTIVE)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Fits are cut short: nothing here looks at how good they are."""
    whole, few = estimate._followed, estimate.Stopping(iterations=1)
    monkeypatch.setattr(estimate, "_followed", lambda points, _: whole(points, few))


def tree_of(model):
    return [one.clique for one in model.measurements if len(one.clique) > 1]


def is_forest(pairs):
    part = {name: name for pair in pairs for name in pair}
    for a, b in pairs:
        if part[a] == part[b]:
            return False
        part = {n: part[a] if p == part[b] else p for n, p in part.items()}
    return True


FORESTS = [
    forest
    for size in range(len(NAMES))
    for forest in itertools.combinations(PAIRS, size)
    if is_forest(forest)
]


@given(st.lists(independences(SIZES), min_size=1, max_size=2), st.permutations(list(SIZES)))
@settings(max_examples=12)
def test_greedily_an_outcome_stands_beside_admissible_columns_alone(stated, order):
    codes = chains.chain(300, sizes=SIZES, order=order)
    ledger = chains.opened(codes, 50.0, sizes=SIZES)
    tree = tree_of(PreFair().fit(ledger, allowed=Separation(stated)))
    for one in stated:
        for a, b in tree:
            assert a not in one.outcome or b in one.given
            assert b not in one.outcome or a in one.given
        # So every path from a protected column to an outcome passes an admissible one.
        assert not walked(one, tree)


def test_a_pair_is_fair_if_an_outcome_has_an_admissible_partner():
    one = Independence("o", "p", ["z", "y"])
    assert fair_edge([one], ("o", "z"))
    assert fair_edge([one], ("y", "o"))
    assert fair_edge([one], ("p", "x"))
    assert not fair_edge([one], ("o", "p"))
    assert not fair_edge([one], ("x", "o"))  # PrivCI would look where x leads
    assert not fair_edge([Independence(["o", "q"], "p", "z")], ("o", "q"))
    assert not fair_edge([one, Independence("x", "p")], ("x", "z"))


@given(independences(NAMES), SCORES)
@settings(max_examples=60)
def test_the_search_finds_the_best_of_all_fair_trees(one, scores):
    found = best_fair_tree(one, scores)
    assert is_forest(found)
    assert not walked(one, found)
    # As many pairs as a fair forest can have, and of these the largest sum.
    fair = [forest for forest in FORESTS if not walked(one, forest)]
    most = max(map(len, fair))
    best = max(sum(map(scores.get, forest)) for forest in fair if len(forest) == most)
    assert len(found) == most
    assert sum(map(scores.get, found)) == pytest.approx(best, abs=1e-9)
    assert (most == len(NAMES) - 1) == bool(one.given)


@given(independences(NAMES), SCORES, st.sets(st.sampled_from(PAIRS), max_size=6))
@settings(max_examples=40)
def test_also_where_some_pairs_are_too_large(one, scores, gone):
    left = {pair: score for pair, score in scores.items() if pair not in gone}
    found = best_fair_tree(one, left)
    fair = [f for f in FORESTS if not gone & {*f} and not walked(one, f)]
    most = max(map(len, fair))
    best = max(sum(map(left.get, forest)) for forest in fair if len(forest) == most)
    assert len(found) == most
    assert not walked(one, found)
    assert sum(map(left.get, found)) == pytest.approx(best, abs=1e-9)


def test_a_good_fair_tree_may_leave_the_greedy_way():
    # c tells most about a, but is not admissible; the search may still tie it to a.
    scores = dict.fromkeys(PAIRS, 0.0) | {("a", "c"): 9.0, ("c", "e"): 5.0}
    one = Independence("a", "b", "e")
    assert ("a", "c") in best_fair_tree(one, scores)
    assert not fair_edge([one], ("a", "c"))


def test_the_search_pays_for_all_scores_at_once_and_takes_the_best_by_them():
    ledger, run = chains.opened(sizes=SIZES, epsilon=2.0), Run()
    whole, one = ledger.rest(), Independence("a", "b", "c")
    model = EXHAUSTIVE.fit(Overheard(ledger, run), allowed=Separation([one]))
    ones, scores, pairs = ledger.entries
    assert [type(e.event) for e in ledger.entries] == [Gaussian] * 3
    assert not any(isinstance(e.event, Exponential) for e in ledger.entries)
    for entry in (ones, scores, pairs):
        assert float(chains.spent(entry) / whole) == pytest.approx(1 / 3, rel=1e-6)
    ((_, told, *_),) = run.scores
    # In rows, as a score moves by one at most: √9 noise for the nine pairs that a tree may hold.
    assert told.scale == pytest.approx(math.sqrt(9 / (2 * float(whole) / 3)), rel=1e-6)
    possible = [pair for pair in PAIRS if {*pair} != {"a", "b"}]
    expected = best_fair_tree(one, dict(zip(possible, map(float, told.values), strict=True)))
    assert {*tree_of(model)} == {*expected}


def test_pairs_are_taken_as_long_as_there_is_room():
    whole = tree_of(EXHAUSTIVE.fit(chains.opened(sizes=SIZES), allowed=Separation("a _||_ b | c")))
    assert len(whole) == 4
    few = PreFair(search=Search.EXHAUSTIVE, model_bytes=152 * 30)
    ledger = chains.opened(sizes=SIZES)
    kept = tree_of(few.fit(ledger, allowed=Separation("a _||_ b | c")))
    assert {*kept} < {*whole}  # the same noise, so the same best tree
    assert 0 < len(kept) < 4
    assert float(ledger.rest() / ledger.budget.rho) < 1e-6


def test_what_it_cannot_do_is_refused_with_the_way_out():
    with pytest.raises(BadInput, match="prefair keeps an independence: state one"):
        PreFair().check_independences(Separation(), (), None)
    two = Separation(["a _||_ b", "a _||_ c"])
    with pytest.raises(BadInput, match="knows one independence; take privci for several"):
        EXHAUSTIVE.check_independences(two, (), None)
    PreFair().check_independences(two, (), None)
    one, names = Separation("a _||_ b | c"), ["a", "b", "c", *(f"x{k}" for k in range(MOST_FREE))]
    EXHAUSTIVE.check_independences(one, names, None)
    with pytest.raises(BadInput, match=r"15 columns in no role.*Take the greedy one, or privci"):
        EXHAUSTIVE.check_independences(one, [*names, "more"], None)
    PreFair().check_independences(one, [*names, "more"], None)
    with pytest.raises(BadInput, match="no search 'best'"):
        PreFair(search="best")
    assert mechanism_named("prefair", {"search": "exhaustive"}) == EXHAUSTIVE


def test_in_a_whole_run_refusals_come_before_anything_is_opened():
    missing = "no/such/table.csv"
    with pytest.raises(BadInput, match="state one"):
        synthesize(missing, epsilon=1.0, mechanism=PreFair())
    with pytest.raises(BadInput, match="take privci for several"):
        synthesize(missing, epsilon=1.0, mechanism=EXHAUSTIVE, constraints=["a _||_ b", "b _||_ c"])
    codes = pa.table(chains.chain(30, sizes=SIZES))
    with pytest.raises(UnknownColumn, match="nowhere"):
        synthesize(codes, epsilon=1.0, mechanism=EXHAUSTIVE, constraints=["a _||_ nowhere"])


@given(independences(SIZES), st.permutations(list(SIZES)))
@settings(max_examples=8)
def test_the_search_makes_fair_models(one, order):
    codes = chains.chain(300, sizes=SIZES, order=order)
    model = EXHAUSTIVE.fit(chains.opened(codes, 50.0, sizes=SIZES), allowed=Separation([one]))
    assert separated([one], [m.clique for m in model.measurements])
