"""The best of randomly many runs: what it costs, how runs are drawn, and what is told of them."""

import json
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from helpers.tables import numbered
from understudy.column import Column, Kind, Role
from understudy.errors import BadInput, BudgetSpent, PrivacyRefused
from understudy.privacy import best_of
from understudy.privacy.accountant import (
    best_of_divergence,
    best_of_rho,
    cost,
    gamma_of,
    mean_runs,
    rho,
    total_epsilon,
    tried_divergence,
)
from understudy.privacy.budget import Budget
from understudy.privacy.caps import cost_for, lighter
from understudy.privacy.certificate import certificate_from_json
from understudy.privacy.events import (
    BestOf,
    Exponential,
    Gaussian,
    SampledGaussian,
    event_from_json,
    event_to_json,
)
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger_file import create_ledger, read_ledger
from understudy.privacy.model_maps import ModelMerit
from understudy.privacy.noise import OsRandom, SeededForTests, below, logarithmic
from understudy.privacy.prices import best_of_price, run_scales
from understudy.privacy.train import CLIP_STEPS, Training
from understudy.privacy.unit import Person, Record, Replacement
from understudy.privacy.weights import UNIT, RowWeights
from understudy.schema import Schema

FIVE = gamma_of(5.0)
RUN = (Gaussian(30.0, Fraction(1), 4), Gaussian(90.0, Fraction(2)))
EVENT = BestOf(RUN, FIVE)
BUDGET = Budget(1.0, 1e-9)
PLENTY = Budget(1e6, 0.5, fixed_order=3.0)
"""Of an order at which a choice is cheap."""
UNITS = (Record(), Replacement(), Person("who", 3))
RARE = 1e-6
ROWS = 300
SCHEMA = Schema(
    (
        Column(name="who", kind=Kind.CATEGORICAL, role=Role.ID),
        numbered("x", 10),
        numbered("z", 2),
    )
)


def rows(count=ROWS):
    x = np.arange(count) % 10
    return pa.table({"who": [f"p{k // 3}" for k in range(count)], "x": x, "z": (x > 4).astype(int)})


def opened(budget=BUDGET, **options):
    return Ledger.open(rows(), SCHEMA, budget, **options)


def training(**options):
    task = {"rows": ROWS, "steps": 5, **options}
    return Training({"x": np.linspace(-1, 1, 10)}, "z", [0, 1], **task)


TASKS = [training(steps=3), training(steps=9, clip=0.5)]


# --- the bound, against the exact laws of both neighbours -----------------------------------------


def best_law(chances, ranks, gamma):
    """How likely each output of a run is to be the best of K, by its rank.

    With F the chance of a run that is no better, the best is no better with E[F^K], which is
    log(1 - (1 - γ) F) / log γ. Differences are taken without cancellation.
    """
    order, gamma = np.argsort(ranks), float(gamma)
    sorted_chances = chances[order]
    at_least = np.cumsum(sorted_chances[::-1])[::-1]
    part = (1 - gamma) * sorted_chances / (gamma + (1 - gamma) * at_least)
    law = np.empty_like(chances)
    law[order] = np.log1p(-part) / math.log(gamma)
    return law


def told_law(chances, ranks, gamma, most):
    """The law of the best and of K together, up to so many runs."""
    order, gamma = np.argsort(ranks), float(gamma)
    no_better = np.cumsum(chances[order])
    better = np.concatenate([[0.0], no_better[:-1]])
    counts = np.arange(1, most + 1)[:, None]
    likely = (1 - gamma) ** counts / counts / -math.log(gamma)
    return (likely * (no_better**counts - better**counts)).ravel()


def renyi(one, other, order):
    both = (one > 0) & (other > 0)
    powers = order * np.log(one[both]) - (order - 1) * np.log(other[both])
    return float(np.logaddexp.reduce(powers)) / (order - 1)


def both_ways(one, other, order):
    return max(renyi(one, other, order), renyi(other, one, order))


def noisy_pair(scale, shift):
    """Discrete Gaussians around 0 and around `shift`."""
    values = np.arange(-36 * scale, 36 * scale + shift + 1)
    weights = [np.exp(-(((values - center) / scale) ** 2) / 2) for center in (0, shift)]
    return values, *(weight / weight.sum() for weight in weights)


RANKINGS = {
    "larger is better": lambda values: values,
    "smaller is better": lambda values: -values,
    "near is better": lambda values: -np.abs(values) - values / 1e6,
    "far is better": lambda values: np.abs(values) + values / 1e6,
    "anything": lambda values: np.random.default_rng(0).permutation(len(values)),
}
PAIRS = [(2, 1), (5, 1), (20, 1), (10, 3), (4, 4)]
GAMMAS = [Fraction(3, 4), gamma_of(2.0), FIVE, gamma_of(140.0)]


@pytest.mark.parametrize("ranking", RANKINGS)
@pytest.mark.parametrize(("scale", "shift"), PAIRS)
def test_the_best_of_noisy_runs_costs_no_less_than_it_does(scale, shift, ranking):
    values, one, other = noisy_pair(scale, shift)
    ranks = RANKINGS[ranking](values)
    for gamma in GAMMAS:
        laws = [best_law(chances, ranks, gamma) for chances in (one, other)]
        assert [law.sum() for law in laws] == pytest.approx([1, 1])
        event = BestOf((Gaussian(float(scale), Fraction(shift**2)),), gamma)
        for order in (1.05, 1.5, 2.0, 5.0, 12.0, 20.0):
            exact = both_ways(*laws, order)
            assert exact <= best_of_divergence(event, order)
            # And choosing is not free: what a single run costs would not do.
            if ranking == "larger is better":
                assert exact > renyi(other, one, order)


def test_the_bound_is_not_absurd():
    # What a release pays for: at orders where the constant is small, 1.04 to 1.4 times the exact.
    values, one, other = noisy_pair(4, 4)
    for gamma, most in ((Fraction(3, 4), 1.06), (gamma_of(2.0), 1.12), (FIVE, 1.2)):
        laws = [best_law(chances, values, gamma) for chances in (one, other)]
        event = BestOf((Gaussian(4.0, Fraction(16)),), gamma)
        assert 1 < best_of_divergence(event, 20.0) / both_ways(*laws, 20.0) < most


@pytest.mark.parametrize("runs", [2.0, 5.0])
def test_whoever_is_told_how_many_runs_there_were_learns_more_than_was_paid_for(runs):
    values, one, other = noisy_pair(4, 4)
    gamma = gamma_of(runs)
    laws = [told_law(chances, values, gamma, 60) for chances in (one, other)]
    assert both_ways(*laws, 10.0) > best_of_divergence(
        BestOf((Gaussian(4.0, Fraction(16)),), gamma), 10.0
    )


def two_outputs(p, q):
    return np.array([p, 1 - p]), np.array([q, 1 - q])


@settings(max_examples=300)
@given(
    st.tuples(st.floats(1e-12, 1 - 1e-12), st.floats(1e-12, 1 - 1e-12)),
    st.sampled_from([(0, 1), (1, 0)]),
    st.fractions(min_value=Fraction(1, 2**10), max_value=Fraction(99, 100)),
    st.floats(1.01, 60.0),
    st.floats(1.01, 60.0),
)
def test_the_theorem_holds_for_every_run_of_two_outputs(chances, ranks, gamma, order, helper):
    one, other = two_outputs(*chances)
    laws = [best_law(chances, ranks, gamma) for chances in (one, other)]
    bound = tried_divergence(
        both_ways(one, other, order), order, both_ways(one, other, helper), helper, gamma
    )
    assert both_ways(*laws, order) <= bound + 1e-9


def test_that_a_rare_output_comes_more_often_is_paid_for():
    # Rare, and best: with K runs it comes E[K] times as often, so log E[K] / (α - 1) is needed.
    one, other = (np.array([1.0, rare]) for rare in (math.exp(-70), math.exp(-30)))
    gamma, order, helper = gamma_of(100.0), 2.0, 1.5
    laws = [best_law(chances, np.arange(2), gamma) for chances in (one, other)]
    single = renyi(other, one, order), order, both_ways(one, other, helper), helper
    exact, bound = renyi(laws[1], laws[0], order), tried_divergence(*single, gamma)
    assert exact <= bound < exact + 5
    assert exact > bound - math.log(mean_runs(gamma)) / (order - 1)


def test_that_a_poor_output_is_rarely_the_best_is_paid_for():
    # Without the record nearly every run is poor, with it every other: then a poor one is hardly
    # ever the best of many, at every order; so log(1/γ) / λ is needed.
    one, other = two_outputs(1 - 1e-9, 0.5)
    gamma, order = Fraction(1, 100_000), 50.0
    laws = [best_law(chances, np.arange(2), gamma) for chances in (one, other)]
    helper = 40.0
    single = renyi(one, other, order), order, both_ways(one, other, helper), helper
    exact, bound = renyi(*laws, order), tried_divergence(*single, gamma)
    assert exact <= bound
    assert exact > renyi(one, other, order) + math.log(mean_runs(gamma)) / (order - 1)


# --- the event and its price ----------------------------------------------------------------------


def formula(one_run, gamma, order):
    """The divergence by the paper, minimised on a grid, in other words than the accountant's."""
    log_inverse = math.log(1 / gamma)
    mean = (1 / gamma - 1) / log_inverse
    helpers = np.concatenate([[1.0], np.geomspace(1, 1e6, 200_001)])
    more = (1 - 1 / helpers) * one_run * helpers + log_inverse / helpers
    return one_run * order + float(more.min()) + math.log(mean) / (order - 1)


@pytest.mark.parametrize("order", [1.2, 5.0, 35.0, 400.0])
@pytest.mark.parametrize("gamma", [Fraction(1, 2), FIVE, Fraction(1, 1000)])
@pytest.mark.parametrize("scale", [None, 0.1, 1e4])
def test_the_cost_is_the_papers(scale, gamma, order):
    base = RUN if scale is None else (Gaussian(scale, Fraction(1)),)
    event = BestOf(base, gamma)
    one_run = sum(map(rho, base), Fraction(0))
    exact = formula(float(one_run), float(gamma), order)
    assert float(cost(event, order)) * order == pytest.approx(exact, rel=1e-7)
    assert float(cost(event, order)) * order >= exact * (1 - 1e-7)
    assert cost(event, order) > one_run


def test_runs_that_no_row_moves_cost_nothing():
    event = BestOf((Gaussian(5.0, Fraction(0)),), FIVE)
    assert cost(event, 30.0) == 0
    assert total_epsilon([event], 1e-9) >= 0


@pytest.mark.untraced
def test_the_mean_number_of_runs_is_the_one_asked_for():
    for runs in (1.01, 1.5, 2.0, 5.0, 40.0, 140.0):
        gamma = gamma_of(runs)
        assert mean_runs(gamma) == pytest.approx(runs, rel=1e-4)
        assert mean_runs(gamma) <= runs
        likely = [(1 - float(gamma)) ** k / k for k in range(1, 400_000)]
        assert sum(k * p for k, p in enumerate(likely, 1)) / sum(likely) == pytest.approx(
            runs, rel=1e-4
        )


@pytest.mark.parametrize("runs", [1.0, 0.0, -3.0, 1e9])
def test_a_number_of_runs_that_cannot_be_is_refused(runs):
    with pytest.raises(BadInput, match="ask for more than 1"):
        gamma_of(runs)


@given(st.floats(0.05, 10), st.floats(1.1, 100), st.floats(2, 140))
def test_a_run_gets_as_much_as_fits(amount, runs, order):
    gamma, whole = gamma_of(runs), Fraction(amount)
    try:
        one_run = best_of_rho(gamma, whole, order)
    except BadInput:
        assert math.log(mean_runs(gamma)) / (order - 1) / order > amount * 0.99
        return
    assert cost(BestOf((Gaussian(1.0, 2 * one_run),), gamma), order) <= whole
    more = Gaussian(1.0, 2 * one_run * (1 + Fraction(1, 10**5)))
    assert cost(BestOf((more,), gamma), order) > whole * (1 - Fraction(1, 10**9))


def test_what_a_choice_costs_by_itself_is_refused_with_the_way_out():
    with pytest.raises(BadInput, match=r"Ask for fewer runs, spend more on them"):
        best_of_rho(gamma_of(50.0), Fraction(1, 10**4), BUDGET.order)


@pytest.mark.parametrize(
    "make",
    [
        lambda: BestOf((), FIVE),
        lambda: BestOf([*RUN], FIVE),
        lambda: BestOf((SampledGaussian(0.1, 2.0, Fraction(1), 3),), FIVE),
        lambda: BestOf((Exponential(0.1),), FIVE),
        lambda: BestOf((EVENT,), FIVE),
        *(lambda g=g: BestOf(RUN, g) for g in (Fraction(0), Fraction(1), Fraction(-1, 2), 0.5)),
        lambda: BestOf(RUN, Fraction(1, 2**11)),
    ],
)
def test_an_event_that_cannot_be_is_refused(make):
    with pytest.raises(BadInput):
        make()


def test_an_event_is_read_back_exactly():
    assert event_from_json(json.loads(json.dumps(event_to_json(EVENT)))) == EVENT


@pytest.mark.parametrize(
    "facts",
    [
        {"gamma": 0.5},
        {"gamma": "1/0"},
        {"gamma": "3/2"},
        {"base": []},
        {"base": "Gaussian"},
        {"base": [{"kind": "Exponential", "epsilon": 0.1}]},
        {"base": [event_to_json(EVENT)]},
        {"base": None},
        {"runs": 4},
    ],
)
def test_a_malformed_event_is_not_read(facts):
    with pytest.raises((BadInput, ValueError, TypeError, ArithmeticError, AttributeError)):
        event_from_json({**event_to_json(EVENT), **facts})


def test_its_total_is_found_at_the_best_order_and_adds_up_with_others():
    alone, count = total_epsilon([EVENT], 1e-9), Gaussian(40.0, Fraction(3))
    together = total_epsilon([EVENT, count], 1e-9)
    assert alone < together < alone + total_epsilon([count], 1e-9)
    assert together < total_epsilon([EVENT, EVENT, count], 1e-9)
    budget = Budget(alone, 1e-9)
    assert cost(EVENT, budget.order) >= budget.rho * (1 - Fraction(1, 10**6))


def test_a_lighter_record_pays_as_if_every_run_moved_less():
    half = lighter(EVENT, Fraction(1, 2))
    assert half.base == tuple(
        Gaussian(one.scale, one.sensitivity_squared / 4, one.steps) for one in RUN
    )
    assert half.gamma == FIVE
    costs = [float(cost_for(EVENT, 30.0, weight, UNIT)) for weight in (0, 1, 300, 700, UNIT)]
    assert all(one < other for one, other in pairwise(costs))
    assert costs[0] == 0
    assert costs[-1] == float(cost(EVENT, 30.0))


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("most", [None, 512])
def test_no_candidate_costs_more_than_the_event_says(unit, most):
    weights = None if most is None else RowWeights.of({"x": [0] * 10}, [], [most])
    tasks = [training(steps=steps, clip=clip) for steps in (1, 3, 7, 300) for clip in (0.1, 1.0)]
    amount = BUDGET.rho / 3
    event = best_of_price(
        tasks, unit, BUDGET.order, rho=amount, runs=5.0, score_share=0.1, weights=weights
    )
    assert amount * (1 - Fraction(1, 10**6)) < cost(event, BUDGET.order) <= amount
    shared = rho(event.base[0])
    for task, scale in zip(tasks, run_scales(event, tasks), strict=True):
        share = Fraction(most or UNIT, UNIT) ** 2
        one = {Record: 1, Replacement: 4, Person: 9}[type(unit)] * CLIP_STEPS**2 * share
        exact = task.steps * one / (2 * Fraction(scale) ** 2)
        assert shared * (1 - Fraction(1, 10**12)) < exact <= shared
    # A score moves by up to 1 for each row; of a person, by as many as there are.
    moved = {Record: 1, Replacement: 1, Person: 9}[type(unit)] * (ModelMerit.STEPS) ** 2
    assert event.base[1].sensitivity_squared == moved * (1 if most is None else most**2)
    parts = [rho(one) for one in event.base]
    assert float(parts[1] / sum(parts)) == pytest.approx(0.1, rel=1e-9)


def test_who_weighs_nothing_is_trained_on_at_no_cost():
    nothing = RowWeights.of({"x": [0] * 10}, [], [0])
    with opened() as ledger:
        ledger.select_best(TASKS, rho=ledger.rest(), weights=nothing)
        assert ledger.rest() == BUDGET.rho


# --- how many runs there are ----------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("gamma", [Fraction(1, 2), FIVE])
def test_the_number_of_runs_has_its_law_and_no_other(gamma):
    # A χ² at 20,000 draws; false alarms 1e-6. Power: a geometric law, or a γ a tenth off, moves the
    # statistic by hundreds of its spread, or by about ten.
    draws = np.array([logarithmic(gamma, OsRandom()) for _ in range(20_000)])

    def fit(law):
        likely = np.array([law(k) for k in range(1, 400)])
        likely /= likely.sum()
        last = int(np.flatnonzero(np.cumsum(likely[::-1])[::-1] * len(draws) > 30)[-1])
        expected = np.append(likely[:last], likely[last:].sum()) * len(draws)
        seen = np.bincount(np.minimum(draws - 1, last), minlength=last + 1)
        return stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), last)

    stop = float(gamma)
    assert fit(lambda k: (1 - stop) ** k / k) > RARE
    assert fit(lambda k: (1 - stop) ** k) < RARE
    assert fit(lambda k: (1 - stop) ** k / k**2) < RARE
    assert fit(lambda k: (1 - 1.3 * stop) ** k / k) < RARE
    assert fit(lambda k: (1 - stop / 1.3) ** k / k) < RARE


@pytest.mark.statistical
@pytest.mark.parametrize("bound", [1, 2, 3, 7, 64])
def test_every_candidate_is_as_likely_as_any_other(bound):
    drawn = np.bincount([below(bound, OsRandom()) for _ in range(20_000)], minlength=bound)
    assert len(drawn) == bound
    assert bound == 1 or stats.chisquare(drawn).pvalue > RARE


def test_bounds_beyond_a_word_are_drawn_exactly():
    bound, source = 3**50, SeededForTests(0)
    draws = [below(bound, source) for _ in range(300)]
    assert all(0 <= drawn < bound for drawn in draws)
    assert max(draws) > bound * 9 // 10
    assert len({drawn % 2**20 for drawn in draws}) > 290


# --- the ledger's door ----------------------------------------------------------------------------


def test_it_is_one_event_that_is_debited_once():
    with opened() as ledger:
        best = ledger.select_best(TASKS, rho=ledger.rest() / 2)
        (entry,) = ledger.entries
        assert isinstance(entry.event, BestOf)
        spent = cost(entry.event, BUDGET.order)
        assert ledger.rest() == BUDGET.rho - spent
        assert float(spent / BUDGET.rho) == pytest.approx(0.5, rel=1e-6)
        assert best.place in {0, 1}
        assert best.model.scale == entry.request["settings"][best.place]["noise"]
        assert [layer.shape for layer in best.model.layers] == TASKS[best.place].shapes
        assert best.scale * ModelMerit.STEPS == entry.event.base[1].scale


def test_the_certificate_lists_what_was_tried_and_adds_up(tmp_path):
    path = tmp_path / "table.ledger"
    create_ledger(path, Budget(4.0, 1e-8))
    with opened(file=path) as ledger:
        ledger.measure([("x",)], rho=ledger.rest() / 3)
        ledger.select_best(TASKS, rho=ledger.rest(), runs=3.0)
        certificate = ledger.close()
        ledger.end()
    again = certificate_from_json(json.loads(json.dumps(certificate.to_json())))
    assert again.to_json() == certificate.to_json()
    assert again.spent == certificate.spent <= BUDGET.rho
    request = again.entries[1].request
    assert (request["door"], request["candidates"]) == ("select_best", 2)
    assert request["runs"] == pytest.approx(3.0, abs=1e-5)
    assert [one["steps"] for one in request["settings"]] == [3, 9]
    assert [one["clip"] for one in request["settings"]] == [1.0, 0.5]
    (release,) = read_ledger(path).releases
    assert [event for event, _ in release.events] == [one.event for one in again.entries]
    # Not every order is as good: what it is worth holds at the budget's own.
    assert again.epsilon_of(BUDGET.rho) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(
    ("ask", "error", "why"),
    [
        (lambda ledger: ledger.select_best([], rho=0.01), BadInput, "no training run"),
        (
            lambda ledger: ledger.select_best([*TASKS, training(rate=0.5)], rho=0.01),
            PrivacyRefused,
            "Leave out the rate",
        ),
        (
            lambda ledger: ledger.select_best([*TASKS, training(loss="hinge")], rho=0.01),
            BadInput,
            "one loss",
        ),
        (lambda ledger: ledger.select_best([training(steps=0)], rho=0.01), BadInput, "steps = 0"),
        (lambda ledger: ledger.select_best([EVENT], rho=0.01), BadInput, "no Training"),
        (lambda ledger: ledger.select_best(TASKS, rho=0.01, runs=1.0), BadInput, "more than 1"),
        (lambda ledger: ledger.select_best(TASKS, rho=0.01, runs=math.nan), BadInput, "finite"),
        (
            lambda ledger: ledger.select_best(TASKS, rho=0.01, score_share=1.0),
            BadInput,
            "score_share",
        ),
        (lambda ledger: ledger.select_best(TASKS, rho=0), BadInput, "nothing"),
        (lambda ledger: ledger.select_best(TASKS, rho=1e-6), BadInput, "fewer runs"),
        (lambda ledger: ledger.select_best(TASKS, rho=1.0), BudgetSpent, "is left"),
        (lambda ledger: ledger.select_best(TASKS, rho=1e9), BadInput, "protects nobody"),
    ],
)
def test_what_is_refused_costs_nothing(ask, error, why):
    with opened() as ledger:
        with pytest.raises(error, match=why):
            ask(ledger)
        assert ledger.entries == ()
        assert ledger.rest() == BUDGET.rho


def test_a_spent_budget_refuses():
    with opened() as ledger:
        ledger.select_best(TASKS, rho=ledger.rest())
        with pytest.raises(BudgetSpent):
            ledger.select_best(TASKS, rho=BUDGET.rho)
        assert len(ledger.entries) == 1


def test_a_crash_stays_charged(monkeypatch):
    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(best_of, "train", crash)
    with opened() as ledger:
        with pytest.raises(KeyboardInterrupt):
            ledger.select_best(TASKS, rho=ledger.rest())
        assert len(ledger.entries) == 1


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_it_is_there_for_every_unit(unit):
    with opened(unit=unit) as ledger:
        assert ledger.select_best(TASKS, rho=ledger.rest()).place in {0, 1}


def test_nothing_is_said_while_runs_go_on(capfd):
    # How often something was said would tell how many runs there were.
    said = []
    with opened(PLENTY, tell=said.append) as ledger:
        for _ in range(5):
            ledger.select_best([training(steps=60)], rho=2.0)
    assert said == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.statistical
def test_the_better_candidate_wins():
    # K is 1 in every third release, and then chance decides; of several runs the better one wins
    # wherever it is among them. So the good one of two wins with probability 1/2 + (1 - P)/2,
    # where P = E[2^(1 - K)] is the chance that only one of them is ever tried.
    poor, good = training(steps=1, learning_rate=1e-3), training(steps=8, learning_rate=4.0)
    with Ledger.open(rows(), SCHEMA, PLENTY) as ledger:
        places = [ledger.select_best([poor, good], rho=300.0).place for _ in range(400)]
    stop = float(FIVE)
    alone = sum((1 - stop) ** k / k / -math.log(stop) * 2.0 ** (1 - k) for k in range(1, 200))
    expected = 1 - alone / 2
    assert expected > 0.7
    assert stats.binomtest(sum(places), 400, expected).pvalue > RARE


@pytest.mark.statistical
def test_a_score_has_the_noise_that_was_paid_for():
    # Nearly always a single run: then what is told is the model's own merit, plus noise. A
    # Kolmogorov test of 600; false alarms 1e-6, and half or twice the noise is missed less often.
    task = training(steps=2)
    codes = {name: np.asarray(rows()[name]).astype(np.uint8) for name in ("x", "z")}
    off = []
    with Ledger.open(rows(), SCHEMA, PLENTY) as ledger:
        for _ in range(600):
            best = ledger.select_best([task], rho=0.5, runs=1.0001)
            exact = ModelMerit(task, best.model.layers).total(codes, np.ones(ROWS))
            off.append((best.score - exact[0] / ModelMerit.STEPS) / best.scale)
    assert stats.kstest(off, "norm").pvalue > RARE
    for factor in (0.5, 2.0):
        assert stats.kstest(np.array(off) * factor, "norm").pvalue < RARE
