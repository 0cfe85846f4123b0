"""Rare rows count less: what that moves, what it costs them, and what it may depend on."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from helpers.tables import brute_force, score_by_hand
from understudy.column import Column, Kind
from understudy.errors import BadInput, PrivacyRefused
from understudy.pipeline import synthesize
from understudy.privacy import ledger as ledger_module
from understudy.privacy.answers import Measurement
from understudy.privacy.budget import Budget, epsilon_of_rho
from understudy.privacy.caps import cost_for
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.row_maps import ClippedMoments, NormalScores
from understudy.privacy.scores import STEPS, CountTV, L1Distance, in_steps
from understudy.privacy.table import PrivateTable
from understudy.privacy.unit import Record, Replacement
from understudy.privacy.weights import UNIT
from understudy.privacy.where import Where
from understudy.schema import Schema
from understudy.select.risk import (
    STEPS_PER_NAT,
    RiskWeights,
    Shape,
    check_unit,
    smallest_cap,
    weighed,
)

SIZES = {"a": 3, "b": 2, "c": 2}
SCHEMA = Schema(
    tuple(
        Column(name=name, kind=Kind.INTEGER, bounds=(0, size - 1), null=False)  # and a hidden code
        for name, size in SIZES.items()
    )
)
BUDGET = Budget(1.0, 1e-9)
CELLS = list(itertools.product(*(range(size) for size in SIZES.values())))
HISTOGRAMS = {
    "even": {"a": [40.0, 35, 25], "b": [60.0, 40], "c": [50.0, 50]},
    "rare": {"a": [97.0, 2.5, 0.5], "b": [99.0, 1], "c": [90.0, 10]},
    "absurd": {"a": [-30.0, 400, -2], "b": [0.0, 0], "c": [-5.0, -9]},
}
RECIPES = {
    "hinge": RiskWeights(outliers=0.3, gamma=0.7),
    "ratio": RiskWeights(shape=Shape.RATIO, least=0.01),
    "step": RiskWeights(shape=Shape.STEP, least=0.3),
}


def table_of(rows):
    return pa.table(
        {name: pa.array([row[k] for row in rows], pa.int64()) for k, name in enumerate(SIZES)}
    )


def measured(histogram, scale=3.0):
    return [
        Measurement((name,), np.array([*values, 0.0]), scale) for name, values in histogram.items()
    ]


def weights_of(histogram, recipe, **options):
    with Ledger.open(table_of([]), SCHEMA, BUDGET) as ledger:
        return weighed(recipe, ledger, measured(histogram), **options)


def weight(weights, row):
    """A row's weight, by hand."""
    score = score_by_hand(weights, dict(zip(SIZES, row, strict=True)))
    return weights.weights[sum(limit <= score for limit in weights.thresholds)]


# --- T1: for fixed histograms nothing moves by more than the row's weight -------------------------


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
@pytest.mark.parametrize("histogram", HISTOGRAMS.values(), ids=HISTOGRAMS)
def test_whatever_is_asked_moves_by_the_rows_weight_at_most(histogram, recipe):
    weights = weights_of(histogram, recipe).weights
    cliques = [("a",), ("a", "b"), ("c", "b", "a"), ()]
    rng = np.random.default_rng(1)
    references = [rng.integers(-3, 9, [SIZES[name] for name in clique]) for clique in cliques]
    scores = [
        *(L1Distance(c, r) for c, r in zip(cliques[:-1], references[:-1], strict=True)),
        CountTV(("a",), ("b",)),
        CountTV(("a",), ("b",), ("c",)),
    ]
    asked = [score.clique for score in scores] + [()]
    known = {}
    for rows in itertools.chain.from_iterable(
        itertools.combinations_with_replacement(CELLS, count) for count in range(3)
    ):
        # As all engines count, one row after the other: tests/contracts/test_counting_contract.py.
        codes = {n: np.array([row[k] for row in rows], int) for k, n in enumerate(SIZES)}
        known[rows] = [brute_force(codes, clique, SIZES, weights) for clique in asked]
    assert len(known) == 1 + 12 + 78
    for rows, counts in known.items():
        for new in CELLS:
            more = known.get(tuple(sorted((*rows, new))))
            if more is None:
                continue
            own = weight(weights, new)
            moved = [np.abs(m - c).sum() for c, m in zip(counts, more, strict=True)]
            assert moved == [own] * len(asked)
            before, after = (
                [s.score(np.asarray(n), weights) for s, n in zip(scores, one, strict=False)]
                for one in (counts, more)
            )
            for score, one, other in zip(scores, before, after, strict=True):
                times = 2 if isinstance(score, CountTV) else 1
                assert abs(other - one) <= times * Fraction(own, UNIT)
                bound = score.sensitivity(Record(), weights)
                steps = in_steps([one, other], bound)
                assert abs(steps[1] - steps[0]) <= math.ceil(STEPS * Fraction(own, weights.most))


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_sums_move_by_the_rows_weight_times_their_bound(recipe):
    weights = weights_of(HISTOGRAMS["rare"], recipe).weights
    maps = [
        ClippedMoments({"a": [-1.0, 0.4, 2.0], "b": [0.0, 1.0]}, 1.0, by="c", classes=2),
        NormalScores({"a": [-1.0, 0.4, 2.0], "b": [0.3, 1.0]}, 1.5),
    ]
    for row_map in maps:
        bound = row_map.sensitivity.one
        for row in CELLS:
            own = weight(weights, row)
            codes = {name: np.array([row[k]], np.uint8) for k, name in enumerate(SIZES)}
            total = row_map.total(codes, np.array([float(own)])).astype(object)
            assert sum(int(x) ** 2 for x in total) <= bound * own**2


def test_rows_weigh_what_their_values_say():
    made = weights_of(HISTOGRAMS["rare"], RECIPES["hinge"])
    shares = {"a": [0.97, 0.03, 0.03], "b": [0.97, 0.03], "c": [0.9, 0.1]}
    heaviest = weight(made.weights, (0, 0, 0))
    lightest = min(weight(made.weights, row) for row in CELLS)
    assert heaviest == UNIT
    assert weight(made.weights, (2, 1, 1)) == lightest < UNIT // 2
    by_rarity = sorted(
        CELLS,
        key=lambda row: -sum(math.log(shares[n][v]) for n, v in zip(shares, row, strict=True)),
    )
    drawn = [weight(made.weights, row) for row in by_rarity]
    assert drawn == sorted(drawn, reverse=True)


def test_where_no_value_is_rare_all_count_fully():
    for recipe in RECIPES.values():
        with Ledger.open(table_of([]), SCHEMA, BUDGET) as ledger:
            alike = measured({"a": [100.0, 0, 0], "b": [100.0, 0], "c": [100.0, 0]})
            made = weighed(recipe, ledger, alike)
        assert weight(made.weights, (0, 0, 0)) == UNIT


@pytest.mark.parametrize("outliers", [0.05, 0.2, 0.5])
def test_the_threshold_is_the_quantile_that_the_counts_say(outliers):
    made = weights_of(HISTOGRAMS["even"], RiskWeights(outliers=outliers, shape=Shape.STEP))
    shares = {n: np.array(v) / 100 for n, v in HISTOGRAMS["even"].items()}
    law = {}
    for row in CELLS:
        score = score_by_hand(made.weights, dict(zip(SIZES, row, strict=True)))
        law[score] = law.get(score, 0) + math.prod(
            shares[n][v] for n, v in zip(SIZES, row, strict=True)
        )
    at = round(made.threshold * STEPS_PER_NAT)
    assert sum(share for score, share in law.items() if score > at) <= outliers + 1e-9
    assert sum(share for score, share in law.items() if score >= at) > outliers - 1e-9


# --- T2: given equal histograms, everything made from them is equal -------------------------------


def test_weights_are_made_of_noisy_counts_alone(monkeypatch):
    rows = [(0, 0, 0)] * 30 + [(2, 1, 1)]
    asked = []

    def sealed(*_, **__):
        asked.append(1)
        msg = "rows were asked"
        raise AssertionError(msg)

    for name in ("count", "blocks", "values"):
        monkeypatch.setattr(PrivateTable, name, sealed)
    made = []
    for table in (rows, rows[:-1], []):
        with Ledger.open(table_of(table), SCHEMA, BUDGET) as ledger:
            one = weighed(RiskWeights(), ledger, measured(HISTOGRAMS["rare"]))
            assert not ledger.entries
        made.append((one.told(), one.curve, one.threshold, one.kept))
    assert made[0] == made[1] == made[2]
    assert not asked


def coupled(monkeypatch, rows, **options):
    """A release whose first answers are the same whatever the rows hold; noise runs on alike."""
    strays = [np.array([len(rows), 0, 0, 0, 0]) for _ in SIZES]  # first, how values miss the facts
    counts = [np.array([*v, 0], np.int64) for v in HISTOGRAMS["rare"].values()]
    answers = iter([strays, counts])
    whole = ledger_module.all_with_gaussian_noise
    seen = []

    def told(counts, scale, source):
        noisy = whole(counts, scale, source)
        seen.append(scale)
        return next(answers, noisy)

    monkeypatch.setattr(ledger_module, "all_with_gaussian_noise", told)
    release = synthesize(
        table_of(rows),
        epsilon=1.0,
        schema=SCHEMA,
        mechanism="mst",
        rows=4,
        seed=1,
        source=SeededForTests(5),
        allow_non_private=True,
        **options,
    )
    monkeypatch.setattr(ledger_module, "all_with_gaussian_noise", whole)
    return release, seen


@pytest.mark.parametrize(
    "options",
    [
        {"protect_outliers": True},
        {"protect_outliers": RiskWeights(outliers=0.2)},
        {"protect_where": ["a >= 2"], "outlier_epsilon": 0.7},
    ],
    ids=["a cap", "a curve", "a condition"],
)
def test_on_neighbours_with_equal_histograms_all_that_is_public_is_equal(monkeypatch, options):
    rows = [(0, 0, 0)] * 40 + [(1, 1, 0)] * 5 + [(2, 1, 1)]
    (one, noise), (other, same_noise) = (
        coupled(monkeypatch, table, **options) for table in (rows, rows[:-1])
    )
    assert noise == same_noise
    assert one.certificate.public == other.certificate.public
    assert "risk curve" in one.certificate.public
    assert [e.request.get("weights") for e in one.certificate.entries] == [
        e.request.get("weights") for e in other.certificate.entries
    ]


# --- T3: what a row loses, against the exact loss -------------------------------------------------


@pytest.mark.parametrize("own", [UNIT, 700, 300, 64])
def test_what_a_row_loses_is_never_less_than_its_exact_loss_and_not_much_more(own):
    first, second = BUDGET.rho / 4, BUDGET.rho * 3 / 4
    with Ledger.open(table_of([]), SCHEMA, BUDGET) as ledger:
        weights = ledger.weigh({"a": [0, 0, 9, 9]}, [9], [UNIT, own])
        ledger.measure([("a",), ("b",), ("c",)], rho=first)
        ledger.weighted(weights).measure([("a", "b"), ("b", "c")], rho=second)
        before, after = (entry.event for entry in ledger.entries)
    ours = cost_for(before, BUDGET.order, UNIT, UNIT) + cost_for(after, BUDGET.order, own, UNIT)
    assert float(ours) == pytest.approx(float(first + second * Fraction(own, UNIT) ** 2), rel=1e-9)
    exact = pld.from_gaussian_mechanism(
        before.scale, sensitivity=math.sqrt(3), value_discretization_interval=1e-4
    ).compose(
        pld.from_gaussian_mechanism(
            after.scale, sensitivity=math.sqrt(2) * own / UNIT, value_discretization_interval=1e-4
        )
    )
    epsilon = exact.get_epsilon_for_delta(BUDGET.delta)
    assert epsilon <= epsilon_of_rho(ours, BUDGET.delta) <= 1.12 * epsilon


# --- absorbed, or refused -------------------------------------------------------------------------


def test_weights_that_are_all_one_change_nothing():
    made = weights_of(HISTOGRAMS["rare"], RiskWeights(gamma=0.0))
    assert set(made.weights.weights) == {UNIT}
    assert made.kept == pytest.approx(1)
    table = PrivateTable(table_of([(0, 0, 0)] * 9 + [(2, 1, 1)]), SCHEMA)
    for plain, counted in zip(
        table.count([("a",), ("a", "b")]),
        table.count([("a",), ("a", "b")], made.weights),
        strict=True,
    ):
        np.testing.assert_array_equal(counted, plain * UNIT)


@pytest.mark.parametrize(
    "rows", [[(2, 1, 1)], [(2, 1, 1)] * 3, [], [(0, 0, 0)] * 500 + [(2, 1, 1)]]
)
@pytest.mark.parametrize("options", [{"protect_outliers": True}, {"protect_where": ["a >= 2"]}])
def test_rows_of_which_every_value_is_rare_are_absorbed(rows, options):
    release = synthesize(
        table_of(rows), epsilon=1.0, schema=SCHEMA, mechanism="mst", rows=3, **options
    )
    assert release.table.num_rows == 3
    assert not release.certificate.not_private


def test_a_cap_that_leaves_nothing_to_weigh_with_is_absorbed():
    # A hair above what scoring costs: the weight rounds down to 0, for everybody.
    with Ledger.open(table_of([(0, 0, 0)] * 9), SCHEMA, BUDGET) as ledger:
        ledger.measure([("a",), ("b",), ("c",)], rho=ledger.rest() / 4)
        spent = ledger.budget.rho - ledger.rest()
        cap = Budget(epsilon_of_rho(spent, BUDGET.delta) * (1 + 2e-8), BUDGET.delta)
        made = weighed(
            RiskWeights(),
            ledger,
            measured(HISTOGRAMS["even"]),
            cap=cap,
            where=[Where.parse("a >= 0")],
        )
        assert made.weights.most_where("a", [True] * 3) == 0
        assert made.kept > 0
        assert all(np.all(np.asarray(one.scale) > 0) for one in made.known)


def test_caps_and_conditions_go_together():
    made = weights_of(
        HISTOGRAMS["even"],
        RiskWeights(outliers=0.2),
        cap=Budget(0.5, 1e-9),
        where=[Where.parse("a = 0"), Where.parse("a <= 1"), Where.parse("b = 1")],
    )
    for row in CELLS:
        meets = row[0] <= 1 or row[1] == 1
        limit = math.isqrt(math.floor(Budget(0.5, 1e-9).rho / BUDGET.rho * UNIT**2))
        assert weight(made.weights, row) <= (limit if meets else UNIT)


def test_a_cap_below_what_is_spent_is_refused():
    with Ledger.open(table_of([]), SCHEMA, BUDGET) as ledger:
        ledger.measure([("a",)], rho=ledger.rest() / 2)
        with pytest.raises(PrivacyRefused, match="less than every row has lost by now"):
            weighed(RiskWeights(), ledger, measured(HISTOGRAMS["even"]), cap=Budget(0.4, 1e-9))


def test_the_smallest_cap_is_what_scores_cost():
    assert smallest_cap(BUDGET, 0.25) == pytest.approx(0.49, abs=0.005)


def test_replaced_records_are_refused_with_the_reason():
    check_unit(Record())
    with pytest.raises(PrivacyRefused, match="may have a full weight"):
        check_unit(Replacement())


@pytest.mark.parametrize(
    "odd",
    [
        {"gamma": -1e-9},
        {"gamma": math.nan},
        {"share": 0.0},
        {"share": 1.0},
        {"outliers": 0.0},
        {"least": 0.0},
        {"least": 1.5},
        {"shape": "cliff"},
    ],
    ids=str,
)
def test_recipes_that_make_no_sense_are_refused(odd):
    with pytest.raises(BadInput):
        RiskWeights(**odd)
