from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise

import numpy as np
import pytest

from helpers import chains
from understudy.mechanisms import privbayes as privbayes_module
from understudy.mechanisms.privbayes import PrivBayes
from understudy.privacy.events import Exponential

SIZES = {"a": 3, "b": 4, "c": 2, "d": 3, "e": 2}
chain = partial(chains.chain, sizes=SIZES, follows=0.9)
opened = partial(chains.opened, sizes=SIZES, make=chain)


def families(model):
    return [(step.new[0], step.given) for step in model.steps]


def test_the_total_the_choices_and_the_tables_have_their_shares():
    ledger = opened(epsilon=50.0)
    whole = ledger.rest()
    PrivBayes().fit(ledger)
    total, *choices, tables = ledger.entries
    assert total.request["cliques"] == [[]]
    assert float(chains.spent(total) / whole) == pytest.approx(0.01, rel=1e-9)
    assert [type(entry.event) for entry in choices] == [Exponential] * 4
    for entry in choices:
        assert float(chains.spent(entry) / whole) == pytest.approx(0.99 * 0.3 / 4, rel=1e-9)
    assert float(chains.spent(tables) / whole) == pytest.approx(0.99 * 0.7, rel=1e-9)
    assert float(sum(map(chains.spent, ledger.entries)) / whole) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("epsilon", [1.0, 30.0, 1e4])
def test_parents_are_chosen_by_the_score_that_is_proven_for_them(epsilon):
    ledger = opened(epsilon=epsilon)
    PrivBayes().fit(ledger)
    choices = [e.request for e in ledger.entries if e.request["door"] == "select"]
    assert choices or epsilon < 2
    terms = [term for request in choices for term in request["scores"]]
    assert {term["kind"] for term in terms} <= {"CountTV"}
    assert all(request["sensitivity"] == "2" for request in choices)


@pytest.mark.parametrize("epsilon", [0.01, 2.0, 20.0, 1e4])
@pytest.mark.parametrize("usefulness", [1.0, 4.0, 20.0])
def test_every_family_with_parents_is_useful(epsilon, usefulness):
    ledger = opened(epsilon=epsilon)
    model = PrivBayes(usefulness=usefulness).fit(ledger)
    rows = float(model.measurements[0].values)
    scale = ledger.entries[-1].event.scale
    for child, parents in families(model):
        if parents:
            cells = ledger.domain.size((*parents, child))
            assert rows / cells >= usefulness * (2 / np.pi) ** 0.5 * scale


def test_more_to_spend_gives_more_parents():
    found = []
    for epsilon in (0.05, 3.0, 30.0, 1e4):
        model = PrivBayes().fit(opened(epsilon=epsilon))
        found.append(sum(len(parents) for _, parents in families(model)))
    assert found == sorted(found)
    assert found[0] == 0
    assert found[-1] == 1 + 2 + 3 + 4
    assert 0 < found[1] < found[-1] or 0 < found[2] < found[-1]


@pytest.mark.parametrize("epsilon", [0.1, 10.0, 1e4])
@pytest.mark.parametrize("seed", range(2))
def test_parents_come_before_their_children_and_each_column_once(epsilon, seed):
    model = PrivBayes().fit(opened(epsilon=epsilon, seed=seed))
    placed = []
    for child, parents in families(model):
        assert {*parents} <= {*placed}
        placed.append(child)
    assert sorted(placed) == sorted(SIZES)


def test_families_that_lie_within_another_are_not_measured():
    ledger = opened(epsilon=1e4)
    model = PrivBayes().fit(ledger)
    # All columns fit one table, and each family lies within it.
    assert ledger.entries[-1].request["cliques"] == [["a", "b", "c", "d", "e"]]
    assert len(model.measurements) == 2
    for epsilon in (1.0, 30.0):
        ledger = opened(epsilon=epsilon)
        model = PrivBayes().fit(ledger)
        asked = [{*clique} for clique in ledger.entries[-1].request["cliques"]]
        assert not any(one <= other for one, other in combinations(asked, 2))
        assert not any(other <= one for one, other in combinations(asked, 2))
        for child, parents in families(model):
            assert any({child, *parents} <= clique for clique in asked)


ORDER = ["c", "a", "d", "b", "e"]


@pytest.mark.parametrize("seed", range(3))
def test_ties_are_found_where_one_parent_is_all_that_fits(seed):
    # Five columns in a chain of another order than the table's. One parent makes 9 cells and two
    # make 27; a usefulness between leaves one each, so that ties are those of the chain.
    sizes = dict.fromkeys("abcde", 3)
    ledger = opened(chain(1000, seed, sizes=sizes, order=ORDER), 1e4, sizes=sizes, seed=seed)
    scale = ledger.measure_event([()] * 5, rho=ledger.rest() * Fraction(99 * 7, 1000)).scale
    usefulness = 1000 / (18 * (2 / np.pi) ** 0.5 * scale)
    model = PrivBayes(usefulness=usefulness).fit(ledger)
    ties = {frozenset((child, *parents)) for child, parents in families(model) if parents}
    assert ties == {frozenset(pair) for pair in pairwise(ORDER)}


def test_with_much_to_spend_the_whole_table_comes_back():
    codes = chain(800)
    model = PrivBayes().fit(opened(codes, 1e5))
    drawn = model.sample(100_000, np.random.default_rng(0))
    for pair in combinations(SIZES, 2):
        shares = []
        for table in (codes, drawn):
            found = np.zeros([SIZES[name] for name in pair])
            np.add.at(found, tuple(table[name] for name in pair), 1)
            shares.append(found / found.sum())
        assert np.abs(shares[0] - shares[1]).max() < 0.01, pair


def test_candidates_are_the_largest_sets_of_parents():
    ledger = opened()
    for useful in (5, 6, 12, 24, 70, 1000):
        placed = [privbayes_module.Family(name) for name in "abc"]
        found = list(privbayes_module._possible(ledger.domain, placed, useful, lambda _: True))
        assert len(found) == len({(f.child, frozenset(f.parents)) for f in found})
        expected = set()
        for child in "de":
            fitting = [
                {*parents}
                for size in (1, 2, 3)
                for parents in combinations("abc", size)
                if ledger.domain.size((*parents, child)) <= useful
            ]
            expected |= {
                (child, frozenset(one)) for one in fitting if not any(one < o for o in fitting)
            }
        assert {(f.child, frozenset(f.parents)) for f in found} == expected


@pytest.mark.parametrize("columns", [2, 5, 15, 40, 100, 500])
def test_parents_are_no_more_than_can_be_counted(columns):
    most = privbayes_module._most_parents(columns)
    assert 1 <= most <= max(columns - 1, 1)
    assert {2: 1, 5: 4, 500: 1}.get(columns, most) == most


def test_on_a_weighted_ledger_the_weighted_table_comes_back():
    codes = chain(800)
    ledger = opened(codes, 1e5)
    model = PrivBayes().fit(ledger.weighted(ledger.weigh({"a": [0, 1, 2]}, [1, 2], [700, 64, 900])))
    assert all("weights" in entry.request for entry in ledger.entries)
    choices = [e.request for e in ledger.entries if e.request["door"] == "select"]
    assert len(choices) == 4
    # Twice the largest weight.
    assert {request["sensitivity"] for request in choices} == {str(2 * Fraction(900, 1024))}
    weight = np.array([700, 64, 900])[codes["a"]] / 1024
    assert model.total == pytest.approx(weight.sum(), rel=1e-3)
    drawn = model.sample(100_000, np.random.default_rng(0))
    for pair in combinations(SIZES, 2):
        exact, found, plain = (np.zeros([SIZES[name] for name in pair]) for _ in range(3))
        np.add.at(exact, tuple(codes[name] for name in pair), weight / weight.sum())
        np.add.at(found, tuple(drawn[name] for name in pair), 1e-5)
        np.add.at(plain, tuple(codes[name] for name in pair), 1 / 800)
        assert np.abs(found - exact).max() < 0.01, pair
        assert np.abs(found - plain).max() > 0.03, pair


@pytest.mark.parametrize("silent", ["first", "second"])
def test_parents_are_chosen_by_the_rows_that_count(silent):
    # In the first half of the rows b follows a; in the other half it follows d.
    rng = np.random.default_rng(0)
    sizes = {"a": 3, "d": 3, "b": 3, "half": 2}
    a, d = rng.integers(0, 3, (2, 1000))
    half = np.arange(1000) // 500
    ledger = opened({"a": a, "d": d, "b": np.where(half, d, a), "half": half}, 1e4, sizes=sizes)
    weights = [0, 1024] if silent == "first" else [1024, 0]
    weighted = ledger.weighted(ledger.weigh({"half": [0, 1]}, [1], weights))
    # As above: one parent of three codes fits, two do not.
    scale = ledger.measure_event([()] * 4, rho=ledger.rest() * Fraction(99 * 7, 1000)).scale
    model = PrivBayes(usefulness=500 / (12 * (2 / np.pi) ** 0.5 * scale)).fit(weighted)
    ties = {frozenset((child, *parents)) for child, parents in families(model) if parents}
    assert frozenset("bd" if silent == "first" else "ba") in ties
    assert frozenset("ba" if silent == "first" else "bd") not in ties


@pytest.mark.parametrize("place", [0, 3])
def test_a_column_that_can_have_no_parents_takes_nothing_from_the_others(place):
    # A column of 2,000 codes fits into no table; the others follow each other closely.
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 4000)
    codes = {f"x{k}": np.where(rng.random(4000) < 0.95, first, 1 - first) for k in range(4)}
    wide = {"wide": rng.integers(0, 2000, 4000)}
    names = [*codes]
    ordered = {
        **{n: codes[n] for n in names[:place]},
        **wide,
        **{n: codes[n] for n in names[place:]},
    }
    sizes = {name: 2000 if name == "wide" else 2 for name in ordered}
    with opened(ordered, epsilon=5.0, sizes=sizes) as ledger:
        model = PrivBayes().fit(ledger)
    parents = {step.new[0]: step.given for step in model.steps}
    assert parents["wide"] == ()
    assert sum(bool(given) for given in parents.values()) == 3
