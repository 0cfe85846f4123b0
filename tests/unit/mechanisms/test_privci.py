"""PrivCI: what it costs, what its choices follow, and where its forests end."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from helpers import chains
from helpers.independences import independences, separated
from understudy.errors import BadInput
from understudy.mechanisms.mst import Mst
from understudy.mechanisms.privci import PrivCI
from understudy.model import estimate
from understudy.privacy.accountant import total_epsilon
from understudy.privacy.budget import Budget
from understudy.privacy.events import Exponential, Gaussian
from understudy.privacy.scores import L1Distance
from understudy.privacy.unit import Record, Replacement
from understudy.select.tree import private_forest
from understudy.separation import Separation

DELTA, ROUNDING = 1e-9, 1e-8


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Fits are cut short: nothing here looks at how good they are."""
    whole, few = estimate._followed, estimate.Stopping(iterations=1)
    monkeypatch.setattr(estimate, "_followed", lambda points, _: whole(points, few))


def sizes_of(columns):
    return {f"c{place}": 2 + place % 2 for place in range(columns)}


def asked(columns, stated, *, kind=PrivCI, epsilon=1.0, unit=Record()):  # noqa: B008 - frozen
    ledger = chains.opened(sizes=sizes_of(columns), epsilon=epsilon, unit=unit)
    whole = ledger.rest()
    kind().fit(ledger, allowed=Separation(stated))
    ones, *choices, last = ledger.entries
    return ledger, whole, ones, choices, last


@pytest.mark.parametrize("kind", [Mst, PrivCI])
@pytest.mark.parametrize("unit", [Record(), Replacement()], ids=str)
@pytest.mark.parametrize(
    ("columns", "stated"), [(3, "c0 _||_ c1 | c2"), (12, "c0, c3 _||_ c1 | c2, c7")]
)
def test_a_tree_with_a_constraint_spends_a_third_each_and_all_of_it(kind, unit, columns, stated):
    ledger, whole, ones, choices, pairs = asked(columns, stated, kind=kind, unit=unit)
    third, edges = float(whole) / 3, columns - 1
    squared = 1 if unit == Record() else 2
    assert type(ones.event) is type(pairs.event) is Gaussian
    # √d noise for d marginals: not that of one.
    assert ones.event.scale == pytest.approx(math.sqrt(squared * columns / (2 * third)), rel=1e-9)
    assert pairs.event.scale == pytest.approx(math.sqrt(squared * edges / (2 * third)), rel=1e-9)
    assert len(pairs.request["cliques"]) == len(choices) == edges
    for choice in choices:
        assert type(choice.event) is Exponential
        assert choice.event.epsilon == pytest.approx(math.sqrt(8 * third / edges), rel=1e-9)
    spent = sum(map(chains.spent, ledger.entries))
    assert spent <= whole
    assert float(spent / whole) == pytest.approx(1, rel=1e-9)
    assert total_epsilon([entry.event for entry in ledger.entries], DELTA) <= 1 + ROUNDING


@pytest.mark.parametrize("kind", [Mst, PrivCI])
def test_two_columns_that_shall_be_independent_get_all_of_it_one_by_one(kind):
    ledger, whole, ones, choices, again = asked(2, "c0 _||_ c1", kind=kind)
    assert choices == []
    assert ones.request["cliques"] == again.request["cliques"] == [["c0"], ["c1"]]
    assert float(chains.spent(ones) / whole) == pytest.approx(1 / 3, rel=1e-9)
    assert float(chains.spent(again) / whole) == pytest.approx(2 / 3, rel=1e-9)
    assert total_epsilon([entry.event for entry in ledger.entries], DELTA) <= 1 + ROUNDING


@pytest.mark.parametrize(("columns", "rounds"), [(3, 1), (12, 10)])
def test_what_a_forest_does_not_choose_buys_less_noise(columns, rounds):
    # Nothing is given: the two sides stay apart, and one round never comes.
    ledger, whole, _, choices, pairs = asked(columns, "c0 _||_ c1")
    assert len(choices) == len(pairs.request["cliques"]) == rounds
    left = Fraction(1, 3) + Fraction(1, 3) * (columns - 1 - rounds) / (columns - 1)
    assert float(chains.spent(pairs) / whole) == pytest.approx(float(left), rel=1e-9)
    assert pairs.event.scale == pytest.approx(math.sqrt(rounds / (2 * left * whole)), rel=1e-9)
    assert float(sum(map(chains.spent, ledger.entries)) / whole) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize(("claimed", "true"), [(1.0, 2.63), (3.0, 8.46)])
def test_the_published_noise_would_cost_far_more_than_it_claims(claimed, true):
    # Twelve columns; the noise of one marginal for each, whatever their number.
    columns = 12
    loose = (math.sqrt(math.log(1 / DELTA) + claimed) - math.sqrt(math.log(1 / DELTA))) ** 2
    third = loose / 3
    literal = [Gaussian(1 / math.sqrt(2 * third), Fraction(1))] * (2 * columns - 1)
    literal += [Exponential(math.sqrt(8 * third / (columns - 1)))] * (columns - 1)
    assert total_epsilon(literal, DELTA) == pytest.approx(true, abs=0.005)
    ledger, *_ = asked(columns, "c0 _||_ c1 | c2", epsilon=claimed)
    assert total_epsilon([entry.event for entry in ledger.entries], DELTA) <= claimed + ROUNDING


# --- where a forest ends --------------------------------------------------------------------------

NAMES = "abcdef"
PAIRS = list(itertools.combinations(NAMES, 2))


def grown(stated, choose):
    """Feasible pairs, taken in any order until none is left: what any choices can lead to."""
    allowed, forest = Separation(stated), []
    while True:
        part = {name: name for name in NAMES}
        for a, b in forest:
            part = {n: part[a] if p == part[b] else p for n, p in part.items()}
        possible = [(a, b) for a, b in PAIRS if part[a] != part[b] and allowed([*forest, (a, b)])]
        if not possible:
            return forest
        forest.append(choose(possible))


@given(independences(NAMES, given=True), st.randoms(use_true_random=False))
def test_one_independence_with_something_given_never_ends_early(one, random):
    forest = grown([one], random.choice)
    assert len(forest) == len(NAMES) - 1
    assert separated([one], forest)


@given(independences(NAMES, given=False), st.randoms(use_true_random=False))
def test_with_nothing_given_it_always_does(one, random):
    forest = grown([one], random.choice)
    assert len(forest) < len(NAMES) - 1
    assert separated([one], forest)


def test_several_independences_may_end_early_although_all_give_something():
    stated = [f"a _||_ {other} | {given}" for other, given in zip("bcdef", "cdefb", strict=True)]
    forest = grown(stated, min)
    assert len(forest) == len(NAMES) - 2  # a stays alone
    assert separated(Separation(stated).independences, forest)


# --- what choices follow --------------------------------------------------------------------------


def drawn_forests(runs, rho, stated):
    sizes = dict.fromkeys("abcd", 2)
    ledger = chains.opened(sizes=sizes, epsilon=1e6)
    heights = dict(
        zip(itertools.combinations(sizes, 2), (4.0, 1.0, 3.0, 0.0, 2.0, 5.0), strict=True)
    )
    reference = {p: np.zeros((2, 2)) for p in heights}
    edges = [L1Distance(p, reference[p], offset=h - 500) for p, h in heights.items()]
    found = [
        tuple(
            private_forest(ledger, edges, rho=rho, allowed=Separation(stated), most_cells=math.inf)
        )
        for _ in range(runs)
    ]
    return found, heights


def forest_law(heights, epsilon, stated, begun=()):
    """Every sequence of choices with its probability: softmax over what is feasible by then."""
    part = {name: name for name in "abcd"}
    for a, b in begun:
        part = {n: part[a] if p == part[b] else p for n, p in part.items()}
    possible = [
        pair
        for pair in heights
        if part[pair[0]] != part[pair[1]]
        and separated(Separation(stated).independences, [*begun, pair])
    ]
    if not possible:
        return {begun: 1.0}
    weight = np.exp([epsilon * heights[pair] / 2 for pair in possible])
    law = {}
    for pair, share in zip(possible, weight / weight.sum(), strict=True):
        for rest, more in forest_law(heights, epsilon, stated, (*begun, pair)).items():
            law[rest] = law.get(rest, 0.0) + share * more
    return law


def surprise(found, law):
    assert {*found} <= {*law}  # nothing else is ever drawn
    common = [forest for forest, share in law.items() if share * len(found) >= 5]
    seen = [found.count(forest) for forest in common]
    expected = [law[forest] * len(found) for forest in common]
    seen.append(len(found) - sum(seen))
    expected.append(len(found) - sum(expected))
    return stats.chisquare(seen, expected).pvalue


@pytest.mark.statistical
@pytest.mark.parametrize("stated", [["a _||_ d | b"], ["a _||_ d"]], ids=str)
def test_forests_come_up_as_often_as_softmax_over_feasible_pairs_says(stated):
    epsilon = 0.8
    found, heights = drawn_forests(1500, Fraction(3) * Fraction(epsilon) ** 2 / 8, stated)
    # By chance below 10⁻⁶ once in a million times.
    assert surprise(found, forest_law(heights, epsilon, stated)) > 1e-6
    assert surprise(found, forest_law(heights, 1.5 * epsilon, stated)) < 1e-6


# --- what is refused ------------------------------------------------------------------------------


def test_it_wants_an_independence():
    with pytest.raises(BadInput, match="privci keeps an independence: state one, such as --indep"):
        PrivCI().check_independences(Separation(), (), None)
    PrivCI().check_independences(Separation(["a _||_ b"]), (), None)


def test_columns_of_one_value_are_independent_of_all_and_no_trouble():
    ledger = chains.opened(sizes={"a": 1, "b": 1, "c": 3})
    model = PrivCI().fit(ledger, allowed=Separation(["a _||_ b | c"]))
    assert ledger.close().spent <= Budget(1.0, DELTA).rho
    assert model.sample(5, np.random.default_rng(0))["a"].tolist() == [0] * 5
