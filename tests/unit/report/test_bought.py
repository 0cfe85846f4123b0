"""What the budget bought."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from understudy.column import Column, Kind, Role
from understudy.pipeline import synthesize
from understudy.privacy.account import Entry
from understudy.privacy.accountant import cost
from understudy.privacy.budget import Budget
from understudy.privacy.certificate import Certificate
from understudy.privacy.events import BestOf, Exponential, Gaussian, Reveal
from understudy.report.bought import Purpose, bought
from understudy.schema import Schema

SCHEMA = Schema((Column(name="age", kind=Kind.BOOLEAN), Column(name="job", kind=Kind.BOOLEAN)))
CHOICE = {"door": "select", "candidates": 3, "scores": ["L1Distance"], "sensitivity": "1"}
BUDGET = Budget(1.0, 1e-9)


def told(*entries, private=True):
    certificate = Certificate(
        budget=BUDGET,
        unit="one record, added or removed",
        entries=tuple(Entry(request, event) for request, event in entries),
        public={},
        random_source="the system",
        private_noise=private,
    )
    return bought(certificate, SCHEMA)


def test_requests_are_told_with_their_share_and_noise():
    half = math.sqrt(float(1 / BUDGET.rho))
    ones = ({"door": "measure", "cliques": [["age"], ["job"]]}, Gaussian(half, Fraction(1)))
    found = told(ones, (CHOICE, Exponential(0.01)), (CHOICE, Exponential(0.01)))
    measured, chosen, rest = found.overview
    assert [one.purpose for one in found.overview] == [
        *(Purpose.MEASURE, Purpose.CHOOSE, Purpose.REST)
    ]
    assert measured.what == "counts of 2 columns (age, job)"
    assert measured.share == pytest.approx(0.5, abs=1e-6)
    assert measured.noise == f"± {half:.4g} rows"
    assert chosen.what == "2 choices, each among up to 3 candidates"
    assert chosen.noise == "ε 0.01 for each choice"
    assert rest.share > 0.49
    assert sum(found.shares.values()) == pytest.approx(1.0)


def test_one_is_not_many():
    (only, _) = told(({**CHOICE, "candidates": 1}, Exponential(0.1))).overview
    assert (only.what, only.noise) == ("a choice among 1 candidate", "ε 0.1")


def test_rounds_of_choosing_and_measuring_are_summed_up():
    pair = {"door": "measure", "cliques": [["age", "job"]]}
    rounds = [
        one
        for k in range(1, 40)
        for one in ((CHOICE, Exponential(k / 1000)), (pair, Gaussian(1000.0 / k, Fraction(1))))
    ]
    found = told(*rounds)
    assert len(found.lines) == 78
    chosen, measured, _ = found.overview
    assert chosen.noise == "ε 0.001 to 0.039 for each choice"
    assert measured.what == "counts of 39 pairs"
    assert measured.noise == "± 25.64 to 1000 rows"


def test_noisy_scores_are_choosing_and_sums_and_steps_have_no_unit_that_readers_know():
    noise = Gaussian(1e7, Fraction(1))
    scores, total, steps, _ = told(
        ({"door": "scores", "cliques": [["age", "job"]], "scores": ["L1Distance"]}, noise),
        ({"door": "sum", "row_map": "NormalScores", "columns": ["age", "job"]}, noise),
        ({"door": "train", "inputs": ["age"], "target": "job", "steps": 9}, noise),
    ).overview
    assert scores.purpose is Purpose.CHOOSE
    assert scores.what == "noisy scores of 1 candidate"
    assert (total.purpose, steps.purpose) == (Purpose.MEASURE, Purpose.LEARN)
    assert steps.what == "9 steps towards job"
    assert scores.noise == total.noise == steps.noise == ""


def test_the_best_of_runs_is_training_told_by_what_was_tried():
    request = {"door": "select_best", "candidates": 6, "runs": 5.0, "target": "job"}
    event = BestOf((Gaussian(1e7, Fraction(1)),), Fraction(1, 14))
    best = told((request, event)).overview[0]
    assert (best.purpose, best.noise) == (Purpose.LEARN, "")
    assert best.what == "the best of about 5 runs of 6 settings towards job"
    assert best.share == pytest.approx(float(cost(event, BUDGET.order) / BUDGET.rho))


def test_rows_that_were_revealed_take_everything():
    ones = ({"door": "measure", "cliques": [["age"]]}, Gaussian(9.0, Fraction(1)))
    found = told(({"door": "reveal"}, Reveal("for a test")), ones)
    first = found.overview[0]
    assert (first.purpose, first.what, first.share) == (Purpose.REVEAL, "for a test", None)
    assert found.shares == {}, "no picture adds up to more than all"


def test_what_rounding_leaves_over_is_not_told():
    scale = math.sqrt(float(1 / (2 * BUDGET.rho))) * (1 + 1e-7)
    ones = ({"door": "measure", "cliques": [["age"]]}, Gaussian(scale, Fraction(1)))
    assert [one.purpose for one in told(ones).overview] == [Purpose.MEASURE]


def test_colours_belong_to_purposes():
    assert len({purpose.hue for purpose in Purpose} - {Purpose.REVEAL.hue}) == 5
    assert Purpose.REST.hue == "hue-4"


@pytest.mark.parametrize("method", ["mst", "aim", "independent"])
@pytest.mark.parametrize("kinds", ["numbers", "text", "both", "nothing"])
def test_whatever_found_facts_out_counts_as_that(method, kinds):
    rng = np.random.default_rng(0)
    rows = 3000
    columns = {
        "numbers": {"a": rng.normal(size=rows), "b": rng.integers(0, 500, rows)},
        "text": {"c": rng.choice(["x", "y"], rows), "d": rng.choice(["u", "v"], rows)},
        "nothing": {"e": [f"{k}" for k in range(20)], "f": [f"{k}" for k in range(20)]},
    }
    columns["both"] = columns["numbers"] | columns["text"]
    release = synthesize(pa.table(columns[kinds]), epsilon=4.0, mechanism=method)
    certificate = release.certificate
    found = bought(certificate, release.schema)
    share = certificate.public["discovery"]["share"]
    # A third of the budget; what discovery leaves over goes to the method.
    least = {"numbers": 0.8, "text": 0.8, "both": 0.8, "nothing": 0.2}[kinds]
    assert least * share < found.shares[Purpose.FIND] <= share * (1 + 1e-9)
    assert sum(found.shares.values()) == pytest.approx(1.0, abs=1e-3)


def test_what_tells_about_the_target_is_a_purpose_of_its_own():
    aimed = SCHEMA.with_roles({"job": Role.TARGET})
    noise = Gaussian(100.0, Fraction(1))
    requests = [[["age"]], [["age", "job"]], [["age", "job"], ["age"]], [["job"]]]
    certificate = Certificate(
        budget=BUDGET,
        unit="one record, added or removed",
        entries=tuple(Entry({"door": "measure", "cliques": c}, noise) for c in requests),
        public={},
        random_source="the system",
        private_noise=True,
    )
    found = [one.purpose for one in bought(certificate, aimed).lines]
    assert found == [Purpose.MEASURE, Purpose.TASK, Purpose.MEASURE, Purpose.MEASURE]
    assert Purpose.TASK not in bought(certificate, SCHEMA).shares
