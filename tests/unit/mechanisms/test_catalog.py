"""The catalog, and what all mechanisms owe in cases that are small, odd or constrained."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest

from helpers import chains
from helpers.methods import quick
from understudy.allocate import Allocation
from understudy.errors import BadInput
from understudy.mechanisms.aim import Aim
from understudy.mechanisms.catalog import AUTO, MECHANISMS, mechanism_named
from understudy.mechanisms.dpdsyn import DpdSyn
from understudy.mechanisms.independent import IndependentColumns
from understudy.mechanisms.label_model import Label, LabelModel
from understudy.mechanisms.lk2ss import Lk2ss
from understudy.mechanisms.mst import Mst
from understudy.mechanisms.mwem import Mwem
from understudy.mechanisms.parameters import told
from understudy.mechanisms.prism import Backend, Prism
from understudy.mechanisms.privbayes import PrivBayes
from understudy.mechanisms.tailored import LabelsBy, Tailored
from understudy.privacy.answers import Measurement
from understudy.select.regimes import By, Causal, Predictive
from understudy.workload import Weights

SIZES = {"a": 3, "b": 4, "c": 2, "d": 5}
chain = partial(chains.chain, sizes=SIZES)
opened = partial(chains.opened, sizes=SIZES, make=chain)


@pytest.fixture(params=MECHANISMS, ids=lambda kind: kind.name)
def mechanism(request):
    return quick(request.param)


def check_sample(model, sizes, count=300):
    codes = model.sample(count, np.random.default_rng(0))
    assert list(codes) == list(sizes)
    for name, size in sizes.items():
        assert codes[name].shape == (count,)
        assert codes[name].max() < size
    assert np.isfinite(model.total)
    assert model.total >= 1
    return codes


# --- names and parameters ---


def test_the_names_are_those_of_the_command_line():
    names = [kind.name for kind in MECHANISMS]
    assert names == [
        *("tailored", "prism", "mst", "aim", "privci", "privbayes", "mwem", "prefair", "reps"),
        *("dpdsyn", "lk2ss", "independent"),
    ]
    assert mechanism_named(AUTO) == Tailored()
    assert mechanism_named(AUTO, {"k": "2"}) == Tailored(regime=Predictive(k=2))
    assert mechanism_named(AUTO, regime=Causal(["b"])) == Tailored(regime=Causal(["b"]))
    assert mechanism_named("prism", regime=Causal(["b"])) == Prism(regime=Causal(["b"]))
    assert [type(mechanism_named(name)) for name in names] == list(MECHANISMS)


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("aim", {"degree": "3"}, Aim(degree=3)),
        ("aim", {"degree": "1", "model_bytes": "4096"}, Aim(1, 4096)),
        ("mst", {"rarity": "2.5"}, Mst(rarity=2.5)),
        ("mst", {"rarity": "2"}, Mst(rarity=2.0)),
        ("mwem", {"rounds": "7"}, Mwem(rounds=7)),
        ("mst", {"allocation": "optimal"}, Mst(allocation=Allocation.OPTIMAL)),
        ("prism", {"k": "3"}, Prism(regime=Predictive(k=3))),
        (
            "prism",
            {"by": "coefficients", "k": "2", "triples": "0"},
            Prism(regime=Predictive(2, By.COEFFICIENTS), triples=0),
        ),
        ("prism", {"weighted": "true"}, Prism(weighted=True)),
        ("prism", {"backend": "naive-bayes"}, Prism(backend=Backend.NAIVE_BAYES)),
        ("prism", {"also": "b:0.5, c"}, Prism(also=Weights({"b": 0.5, "c": 1}))),
        ("privbayes", {"usefulness": "1e1"}, PrivBayes(usefulness=10.0)),
        ("dpdsyn", {"features": "mst", "split": "0.5"}, DpdSyn(Mst(), split=0.5)),
        (
            "dpdsyn",
            {"label_model": "mlp", "hidden": "8"},
            DpdSyn(label_model=LabelModel(Label.MLP, hidden=8)),
        ),
        (
            "tailored",
            {"labels": "shown", "k": "3", "hidden": "4"},
            Tailored(
                regime=Predictive(k=3),
                labels=LabelsBy.SHOWN,
                label_model=LabelModel(hidden=4),
            ),
        ),
        ("independent", {}, IndependentColumns()),
        ("independent", None, IndependentColumns()),
    ],
)
def test_parameters_are_read_as_numbers_of_their_kind(name, parameters, expected):
    found = mechanism_named(name, parameters)
    assert found == expected
    usual = told(type(found)())
    assert {type(value) for name, value in told(found).items() if name not in usual} <= {str}
    assert all(type(told(found)[name]) is type(value) for name, value in usual.items())


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        (
            "mts",
            {},
            "no method 'mts'. Known: auto, tailored, prism, mst, aim, .*, independent.*methods",
        ),
        ("", {}, "no method ''"),
        ("AIM", {}, "no method 'AIM'"),
        ("aim", {"rounds": "3"}, "aim has degree, model_bytes, and was given 'rounds'"),
        ("independent", {"degree": "3"}, "independent has no parameters, and was given 'degree'"),
        ("aim", {"name": "x"}, "was given 'name'"),
        ("aim", {"degree": "3.5"}, "degree=3.5: give a whole number, such as degree=2"),
        ("aim", {"degree": "three"}, "degree=three: give a whole number"),
        ("aim", {"degree": ""}, "degree=: give a whole number"),
        ("prism", {"k": "few"}, "k=few: give a whole number, such as k=0"),
        ("prism", {"target": "a"}, "was given 'target'"),
        ("prism", {"weighted": "yes"}, "weighted=yes: give true or false"),
        ("prism", {"allocation": "fair"}, "allocation=fair: give one of uniform, optimal"),
        ("prism", {"also": "b:much"}, "'b:much': write a column and its weight"),
        ("prism", {"also": "b:-1"}, "The weight of 'b' is -1.0; give one from"),
        ("mst", {"rarity": "much"}, "rarity=much: give a number, such as rarity=3.0"),
        ("mst", {"model_bytes": "32M"}, "model_bytes=32M: give a whole number"),
    ],
)
def test_mistakes_are_refused_with_the_way_out(name, parameters, message):
    with pytest.raises(BadInput, match=message):
        mechanism_named(name, parameters)


@pytest.mark.parametrize(
    ("name", "parameter", "text"),
    [
        ("aim", "degree", "0"),
        ("aim", "degree", "-1"),
        ("aim", "model_bytes", "0"),
        ("mwem", "rounds", "-1"),
        ("mwem", "model_bytes", "-5"),
        ("privbayes", "usefulness", "0"),
        ("privbayes", "usefulness", "0.0009"),
        ("privbayes", "usefulness", "-4"),
        ("privbayes", "usefulness", "nan"),
        ("privbayes", "usefulness", "inf"),
        ("mst", "rarity", "-0.1"),
        ("mst", "rarity", "nan"),
        ("mst", "rarity", "inf"),
        ("mst", "model_bytes", "0"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_before_anything_is_spent(name, parameter, text):
    ledger = opened()
    with pytest.raises(BadInput, match=f"{parameter} is .*; give a .*number, at least"):
        mechanism_named(name, {parameter: text}).fit(ledger)
    assert ledger.entries == ()


@pytest.mark.parametrize(
    "least",
    [Aim(degree=1), Mwem(rounds=0), PrivBayes(usefulness=1e-3), Mst(rarity=0.0)],
    ids=lambda mechanism: mechanism.name,
)
def test_the_least_that_makes_sense_is_taken(least):
    check_sample(least.fit(opened()), SIZES)


# --- what is allowed ---


def together(ledger, pair):
    asked = [c for e in ledger.entries for c in e.request.get("cliques", [])]
    # A correlation ties columns as well; a model of labels does not, for it makes labels alone.
    asked += [
        e.request["columns"] for e in ledger.entries if e.request.get("row_map") == "NormalScores"
    ]
    return [clique for clique in asked if {*pair} <= {*clique}]


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_a_forbidden_pair_is_never_measured_together(mechanism, epsilon):
    def allowed(cliques):
        return not any({"a", "b"} <= {*clique} for clique in cliques)

    ledger = opened(epsilon=epsilon)
    check_sample(mechanism.fit(ledger, allowed=allowed), SIZES)
    assert not together(ledger, ("a", "b"))
    # Without the ban it is, where there is enough to spend: the two are tied closely.
    if epsilon > 1 and mechanism not in {IndependentColumns(), DpdSyn(), Lk2ss()}:
        free = opened(epsilon=epsilon)
        mechanism.fit(free)
        assert together(free, ("a", "b"))


def test_what_is_forbidden_together_is_never_measured_together(mechanism):
    # Each pair by itself is allowed, but not two different ones.
    def allowed(cliques):
        return len({frozenset(clique) for clique in cliques if len(clique) > 1}) <= 1

    ledger = opened(epsilon=30.0)
    check_sample(mechanism.fit(ledger, allowed=allowed), SIZES)
    asked = {frozenset(c) for e in ledger.entries for c in e.request.get("cliques", [])}
    assert sum(len(clique) > 1 for clique in asked) <= 1


BANS = {
    "all but single columns": lambda cliques: all(len(clique) <= 1 for clique in cliques),
    "everything": lambda _: False,
}


@pytest.mark.parametrize("ban", BANS)
def test_where_nothing_may_be_tied_columns_stand_by_themselves(mechanism, ban):
    ledger = opened()
    model = mechanism.fit(ledger, allowed=BANS[ban])
    check_sample(model, SIZES)
    for pair in combinations(SIZES, 2):
        assert not together(ledger, pair)


def test_marginals_over_the_ledgers_limit_are_left_out(mechanism):
    # No pair with b or d keeps below ten cells but (b, c) and (c, d).
    ledger = opened(epsilon=30.0, most_cells=10)
    check_sample(mechanism.fit(ledger), SIZES)
    for entry in ledger.entries:
        assert all(ledger.domain.size(tuple(c)) <= 10 for c in entry.request.get("cliques", []))


# --- weights ---


def test_a_weighted_ledger_gives_a_model_of_the_weighted_rows(mechanism):
    codes = chain()
    ledger = opened(codes, epsilon=300.0)
    # Rows with the first code of a count half, those with the last one not at all.
    weighted = ledger.weighted(ledger.weigh({"a": [0, 1, 2]}, [1, 2], [512, 1024, 0]))
    model = mechanism.fit(weighted)
    assert all("weights" in entry.request for entry in ledger.entries)
    weight = np.array([0.5, 1, 0])[codes["a"]]
    assert model.total == pytest.approx(weight.sum(), rel=0.01)
    drawn = check_sample(model, SIZES, 50_000)
    for name, size in SIZES.items():
        exact = np.bincount(codes[name], weight, size) / weight.sum()
        found = np.bincount(drawn[name], minlength=size) / 50_000
        # Of 50,000 draws a share strays by more than 0.015 less than once in 10¹⁰ times.
        np.testing.assert_allclose(found, exact, atol=0.015)


# --- small and odd tables ---


def test_with_much_to_spend_columns_come_back(mechanism):
    codes = chain()
    model = mechanism.fit(opened(codes, epsilon=300.0))
    drawn = check_sample(model, SIZES, 200_000)
    for name, size in SIZES.items():
        off = np.bincount(drawn[name], minlength=size) / 200_000 - np.bincount(codes[name]) / 500
        assert np.abs(off).max() < 0.01, name
    assert model.total == pytest.approx(500, rel=0.01)


ODD = {
    "one column": {"a": 3},
    "one column of one value": {"a": 1},
    "two columns": {"a": 3, "b": 4},
    "a column of one value": {"a": 3, "b": 1, "c": 2},
    "columns of one value": {"a": 1, "b": 1, "c": 1},
    "a long column": {"a": 60, "b": 2},
}


@pytest.mark.parametrize(
    ("odd", "epsilon"),
    [*((odd, 30.0) for odd in ODD), ("a long column", 0.001)],
)
def test_odd_tables_have_models_too(mechanism, odd, epsilon):
    ledger = opened(epsilon=epsilon, sizes=ODD[odd])
    check_sample(mechanism.fit(ledger), ODD[odd])
    assert 0 < ledger.close().spent <= ledger.budget.rho


@pytest.mark.parametrize(("count", "epsilon"), [(0, 0.001), (0, 200.0), (1, 200.0)])
def test_empty_tables_have_models_too(mechanism, count, epsilon):
    ledger = opened(chain(count), epsilon)
    model = mechanism.fit(ledger)
    check_sample(model, SIZES)
    if epsilon > 100:
        assert model.total < 3


def test_totals_below_zero_have_models_too(mechanism):
    # What was measured before says, with much certainty, that there are less than no rows.
    known = [
        Measurement((), np.array(-500.0), 0.5),
        *(Measurement((name,), np.full(size, -100.0), 0.5) for name, size in SIZES.items()),
    ]
    model = mechanism.fit(opened(epsilon=0.5), known)
    check_sample(model, SIZES)
    assert model.total == 1.0
