"""Cells added up, and shown."""

from fractions import Fraction

import pytest

from helpers.comparisons import ill_by_age, outcome, planned
from understudy.experiments.compare.outcome import most_spent
from understudy.experiments.compare.page import comparison_page, cost, heads, notes, reading, rows
from understudy.experiments.compare.plan import REAL
from understudy.experiments.compare.summary import summed_up
from understudy.privacy.account import Entry
from understudy.privacy.budget import Budget, epsilon_of_rho
from understudy.privacy.certificate import Certificate
from understudy.privacy.events import Gaussian, SampledGaussian, Threshold

MODEL = "logistic regression"


@pytest.fixture
def plan(tmp_path):
    return planned(ill_by_age(tmp_path / "rows.csv"))


def added_up(plan, **changes):
    return summed_up(plan, [outcome(cell, 0.6 + 0.1 * cell.seed, **changes) for cell in plan.cells])


def test_repetitions_are_added_up_and_all_releases_cost_their_sum(plan):
    found = added_up(plan)
    line = found.of("mst", 4.0, MODEL, "ROC-AUC")
    assert (line.mean, line.least, line.most) == (pytest.approx(0.65), 0.6, 0.7)
    assert (line.repetitions, line.direction) == (2, "higher is better")
    assert found.releases == 8
    rho = 4 * (Budget(4.0, 1e-5).rho + Budget(8.0, 1e-5).rho)
    assert found.epsilon_of_all == pytest.approx(float(epsilon_of_rho(rho, 1e-5)))
    assert found.epsilon_of_all > 8
    assert found.shown == ((MODEL, "ROC-AUC"),)
    assert "for one record more or less" in cost(found)


def test_one_cost_that_is_not_known_leaves_the_sum_unknown(plan):
    found = summed_up(
        plan, [outcome(c, rho=None if c.method == "mst" else "1") for c in plan.cells]
    )
    assert found.epsilon_of_all is None
    assert "is not known" in cost(found)


def certificate(*events, planned=None, thresholds=0.0):
    entries = tuple(Entry(None, event) for event in events)
    budget = Budget(1.0, 1e-5, thresholds=thresholds)
    return Certificate(
        budget, "record", entries, {}, "OsRandom", private_noise=True, planned=planned
    )


def test_costs_are_counted_by_their_caps():
    little = Gaussian(100.0, Fraction(1))
    budget = Budget(1.0, 1e-5, thresholds=1e-6)
    threshold = Threshold(10.0, 200, Fraction(1), columns=1, arrivals=1)
    asked = certificate(little, threshold, thresholds=1e-6)
    assert most_spent(asked) == (budget.rho, Fraction(1e-6))
    # A plan is counted exactly, and may be worth more ρ than the budget says.
    much = Gaussian(1.0, Fraction(1))
    assert most_spent(certificate(much, planned=(much,)))[0] == Fraction(1, 2)
    sampled = SampledGaussian(0.1, 1.0, Fraction(1), 10)
    assert most_spent(certificate(little, sampled))[0] is None


def test_heads_and_rows_are_as_many_whatever_there_is(plan):
    for found in (
        added_up(plan),
        added_up(plan, scores={}, lacking={MODEL: "no class"}),
        added_up(plan, failed="no luck"),
        summed_up(plan, [outcome(c, failed=c.epsilon and "no luck") for c in plan.cells]),
    ):
        table = rows(found)
        assert {len(row) for row in table} == {len(heads(found))}
        assert len(table) == 5
        assert "INTERNAL" in comparison_page(found)


def test_equal_reasons_are_told_once(plan):
    found = added_up(plan, failed="no luck")
    assert found.empty
    (failure,) = found.failures
    assert str(failure).startswith("real rows (repetitions 1, 2); independent at ε = 4 (rep")
    assert str(failure).endswith(": no luck")
    lacking = added_up(plan, scores={}, lacking={MODEL: "the test rows hold one class only"})
    assert f"mst at ε = 8, {MODEL} (repetitions 1, 2)" in notes(lacking)[0]


def test_what_is_lacking_is_marked(plan):
    outcomes = [
        outcome(cell, failed="no luck" if (cell.method, cell.seed) == ("mst", 1) else None)
        for cell in plan.cells
    ]
    found = summed_up(plan, outcomes)
    assert not found.empty
    by_key = {tuple(row[:2]): row[2] for row in rows(found)}
    assert by_key["mst", "4"] == "0.700 (1 of 2)"
    assert by_key["independent", "4"] == "0.700 [0.700, 0.700]"
    assert by_key[REAL, ""] == "0.700 [0.700, 0.700]"
    assert "round brackets" in reading(found)


def test_each_epsilon_takes_its_own_time(plan):
    found = summed_up(plan, [outcome(c, seconds=c.epsilon or 0.0) for c in plan.cells])
    assert (found.seconds("mst", 4.0), found.seconds("mst", 8.0)) == (4.0, 8.0)


def test_one_repetition_has_no_range(tmp_path):
    plan = planned(ill_by_age(tmp_path / "rows.csv"), seeds=1)
    found = added_up(plan)
    page = comparison_page(found)
    assert "Points are means" not in page
    assert "One repetition" in page
    assert "another choice each time" not in page


def test_the_plan_and_the_result_have_formats_of_their_own(plan):
    content = added_up(plan).to_json()
    assert content["format"] != content["plan"]["format"]
    assert "salt" not in content["plan"]
