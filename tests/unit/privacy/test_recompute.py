"""Each event follows from its query and the unit: what fails, case by case, and why."""

import re
from fractions import Fraction

import pytest

from understudy.privacy.account import Entry
from understudy.privacy.events import (
    BestOf,
    Exponential,
    Gaussian,
    Reveal,
    SampledGaussian,
    Threshold,
)
from understudy.privacy.recompute import audit_queries
from understudy.privacy.scores import STEPS
from understudy.privacy.train import CLIP_STEPS
from understudy.privacy.unit import Person, Record, Replacement, parse_unit, unit_to_json

MODEL = {"inputs": ["age"], "target": "sex", "loss": "logistic", "hidden": 0, "clip": 1.0}
TRAIN = {"door": "train", **MODEL, "steps": 5, "rate": None}
SCORED = {"scores": [{"kind": "CountTV", "count": 2, "conditional": False}], "sensitivity": "2"}
SELECT = {"door": "select", "candidates": 2, **SCORED}
L1 = [{"kind": "L1Distance", "count": 2, "scale": 0.5}]
MEASURE = {"door": "measure", "cliques": [["age"], ["sex"], []]}
VALUES = {"door": "values", "columns": {"age": None, "sex": [0]}}
MOMENTS = {"row_map": "ClippedMoments", "columns": ["age", "sex"], "classes": 2}
SUM = {"door": "sum", **MOMENTS, "ranges": {"age": [-4096, 2048]}}
SCORES = {"door": "scores", "cliques": [["age", "sex"], ["age"]], **SCORED}
NOISE, GRADIENT = 2.0**30, Fraction(CLIP_STEPS**2)
SETTING = {name: part for name, part in MODEL.items() if name not in {"target", "loss"}} | {
    "steps": 4,
    "learning_rate": 1,
    "momentum": 0.0,
    "start": 2**100,
    "noise": 128.0,
}
BEST = {
    "door": "select_best",
    "candidates": 1,
    "runs": 1.442695,
    "target": "sex",
    "loss": "hinge",
    "settings": [SETTING],
}
RUN = (Gaussian(NOISE, GRADIENT), Gaussian(NOISE, Fraction(2**32)))


def light(most, **facts):
    return {"weights": {"most": most, "of": 1024, **facts}}


def wrong(request, event, unit=None, **options):
    """Why a certificate with this one request fails; empty where it does not."""
    chosen = {"conditions": frozenset(), "bounded": False, "version": 2, **options}
    found = audit_queries((Entry(request, event),), unit or Record(), **chosen)
    assert len(found.wrong) < 2
    return "".join(found.wrong)


def test_events_that_follow_from_their_queries_pass():
    person, replacement = Person("id", 3), Replacement()
    moments = 2**24 * 2**24 + 2**48
    for request, event, unit in (
        (MEASURE, Gaussian(9.0, Fraction(3), unit_cells=3), Record()),
        (MEASURE, Gaussian(9.0, Fraction(6), unit_cells=6), replacement),
        (MEASURE, Gaussian(9.0, Fraction(27)), person),
        (MEASURE | light(512), Gaussian(9.0, Fraction(3, 4)), Record()),
        ({"door": "malformed"}, Gaussian(9.0, Fraction(1), unit_cells=1), Record()),
        ({"door": "malformed"}, Gaussian(9.0, Fraction(1), unit_cells=1), replacement),
        (VALUES, Threshold(9.0, 90, Fraction(2), 2, 1), Record()),
        (VALUES, Threshold(9.0, 90, Fraction(18), 2, 3), person),
        (SELECT, Exponential(0.1), Record()),
        (SELECT | {"sensitivity": "3"}, Exponential(0.1), replacement),
        (SELECT | {"sensitivity": "6", "merged": {"age": 3}}, Exponential(0.1), person),
        (SELECT | {"scores": L1, "sensitivity": "1/2"}, Exponential(0.1), Record()),
        (SCORES, Gaussian(9.0, Fraction(2 * STEPS**2)), Record()),
        (SUM, Gaussian(9.0, Fraction(moments)), Record()),
        (SUM, Gaussian(9.0, Fraction(9 * moments)), person),
        (TRAIN, Gaussian(NOISE, GRADIENT, 5), Record()),
        (TRAIN, Gaussian(NOISE, 4 * GRADIENT, 5), replacement),
        (TRAIN | {"rate": 0.5}, SampledGaussian(0.5, NOISE, GRADIENT, 5), Person("id", 1)),
        (BEST, BestOf(RUN, Fraction(1, 2)), Record()),
        ({"door": "reveal"}, Reveal("a reason"), Record()),
        ({"door": "schema"}, Reveal("a reason"), person),
    ):
        assert wrong(request, event, unit) == ""


def test_events_that_do_not_follow_fail_and_say_why():
    follows = Gaussian(9.0, Fraction(3), unit_cells=3)
    sampled = SampledGaussian(0.5, NOISE, GRADIENT, 5)
    for request, event, unit, why in (
        (MEASURE, Gaussian(9.0, Fraction(1)), None, "sensitivity_squared is 3 .* and 1 is stated"),
        (MEASURE, Gaussian(9.0, Fraction(3)), None, "unit_cells is 3 .* and None is stated"),
        (MEASURE, follows, Replacement(), "sensitivity_squared is 6"),
        (MEASURE, follows, Person("id", 1), "unit_cells is None"),
        (MEASURE, Exponential(0.1), None, "gets Gaussian noise"),
        (SELECT, Gaussian(9.0, Fraction(1)), None, "is an exponential mechanism"),
        (SELECT, Exponential(0.1), Replacement(), "sensitivity of its scores is 3, not 2"),
        (SELECT | {"scores": L1}, Exponential(0.1), None, "is 1/2, not 2"),
        (SCORES, Gaussian(9.0, Fraction(STEPS**2)), None, "sensitivity_squared"),
        (VALUES, Threshold(9.0, 90, Fraction(2), 2, 1), Person("id", 2), "sensitivity_squared"),
        (VALUES, Gaussian(9.0, Fraction(2)), None, "above a threshold"),
        ({"door": "malformed"}, Gaussian(9.0, Fraction(1)), None, "unit_cells is 1"),
        ({"door": "malformed"}, follows, Person("id", 1), "belong to nobody"),
        (TRAIN, Gaussian(NOISE, GRADIENT, 4), None, "steps is 5"),
        (TRAIN, sampled, None, "on all rows is not sampled"),
        (TRAIN | {"rate": 0.25}, sampled, None, "rate is 0.25"),
        (TRAIN | {"rate": 1 / 3}, sampled, None, "no sampler has that"),
        (TRAIN | {"rate": 0.5}, sampled, Replacement(), "one record only"),
        (TRAIN | {"rate": 0.5}, sampled, Person("id", 2), "one record only"),
        (TRAIN | {"rate": 0.5}, Gaussian(NOISE, GRADIENT, 5), None, "training is sampled"),
        (TRAIN, Gaussian(2.0**15, GRADIENT, 5), None, "too small to be accounted for"),
        (BEST, Exponential(0.1), None, "each is a training and a score"),
        (BEST, BestOf(RUN[::-1], Fraction(1, 2)), None, "base is"),
        (BEST, BestOf(RUN, Fraction(1, 3)), None, "as many runs as gamma says"),
        (BEST | {"settings": [SETTING | {"steps": 5}]}, BestOf(RUN, Fraction(1, 2)), None, "costs"),
        ({"door": "reveal"}, follows, None, "rows were used as they are"),
    ):
        assert re.search(why, wrong(request, event, unit)), (request, event)


def test_records_that_are_malformed_fail():
    event = Gaussian(9.0, Fraction(3), unit_cells=3)
    for request in (
        {},
        {"door": "weigh"},
        {"door": ["measure"]},
        {"door": "measure"},
        MEASURE | {"cliques": []},
        MEASURE | {"cliques": {"age": 1}},
        MEASURE | {"cliques": [[1]]},
        MEASURE | {"note": "trust me"},
        MEASURE | {"merged": {"age": 0}},
        MEASURE | {"weights": [1024]},
        MEASURE | light(1025),
        MEASURE | light(-1),
        MEASURE | light(1024, of=1),
        MEASURE | light(1024, note=1),
        VALUES | {"columns": {}},
        SELECT | {"scores": []},
        SELECT | {"scores": ["CountTV"]},
        SELECT | {"scores": [{"kind": "Quality", "count": 2}]},
        SELECT | {"scores": [{"kind": "CountTV", "count": 2, "conditional": 1}]},
        SELECT | {"scores": [{"kind": "CountTV", "count": 2}]},
        SELECT | {"candidates": 3},
        SELECT | {"sensitivity": 2},
        SUM | {"ranges": {"age": [1, 0]}},
        SUM | {"ranges": {"age": [0, 4097]}},
        SUM | {"ranges": {"job": [0, 1]}},
        SUM | {"columns": ["age"]},
        SUM | {"row_map": "Everything"},
        {"door": "sum", "row_map": "NormalScores", "columns": ["age"]},
        TRAIN | {"loss": "none"},
        TRAIN | {"begun": False},
        TRAIN | {"clip": float("nan")},
        BEST | {"settings": []},
        {"door": "reveal", "note": 1},
    ):
        assert wrong(request, event) == "query 1: its record is malformed", request


def test_weights_state_the_bounds_of_the_certificate_and_no_others():
    event = Gaussian(9.0, Fraction(3, 4))
    by_step = {"by_step": [512, 0], "scores": "a hash"}
    capped = MEASURE | light(512, capped={"age >= 8": 5})
    assert "not capped" in wrong(capped, event)
    assert wrong(capped, event, conditions=frozenset({"age >= 8"})) == ""
    assert "individual bound" in wrong(MEASURE | light(512, **by_step), event)
    assert "individual bound" in wrong(MEASURE | light(512), event, bounded=True)
    assert wrong(MEASURE | light(512, **by_step), event, bounded=True) == ""
    lowered = {**by_step, "by_step": [5, 0]}
    assert "malformed" in wrong(MEASURE | light(512, **lowered), event, bounded=True)


def test_format_1_is_recomputed_as_far_as_it_states_facts():
    old = SELECT | {"scores": ["CountTV", "L1Distance"]}
    assert wrong(old, Exponential(0.1), version=1) == ""
    assert "at least 3" in wrong(old, Exponential(0.1), Replacement(), version=1)
    assert "malformed" in wrong(SELECT, Exponential(0.1), version=1)
    trained = {name: part for name, part in TRAIN.items() if name != "rate"}
    assert wrong(trained, SampledGaussian(0.25, NOISE, GRADIENT, 5), version=1) == ""
    assert "steps" in wrong(trained, SampledGaussian(0.25, NOISE, GRADIENT, 1), version=1)
    assert "malformed" in wrong(trained, SampledGaussian(0.25, NOISE, GRADIENT, 5))
    summed = {"door": "sum", "row_map": "ClippedMoments", "columns": ["age"]}
    assert wrong(summed, Gaussian(9.0, Fraction(1)), version=1) == ""
    assert "steps" in wrong(summed, Gaussian(9.0, Fraction(1), 2), version=1)


def test_units_are_a_closed_set():
    for unit in (Record(), Replacement(), Person("id", 3), Person("a) with all (\n", 10)):
        assert parse_unit(str(unit)) == unit
        assert unit_to_json(unit)["kind"] == type(unit).__name__.lower()
    person = str(Person("id", 3))
    for text in ("", "everybody, for ever", person + " ", person.replace("3", "0"), "record"):
        with pytest.raises(ValueError, match="a person with at most k rows"):
            parse_unit(text)
