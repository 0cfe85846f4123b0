"""Plans: what a release would buy, told before anything is spent and without any row."""

import json
import math
import tempfile
import time
from dataclasses import fields, replace
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest
from markupsafe import escape
from pyarrow import csv
from pyarrow.csv import write_csv

from understudy import pipeline
from understudy.column import Column, Kind, Role, Source
from understudy.encode import Encoding
from understudy.errors import BadInput, ModelTooLarge, PrivacyRefused, UnknownColumn
from understudy.mechanisms.catalog import MECHANISMS
from understudy.mechanisms.dpdsyn import DpdSyn
from understudy.mechanisms.independent import IndependentColumns
from understudy.mechanisms.mst import Mst
from understudy.mechanisms.prism import Prism
from understudy.plan import Part, plan, plan_html
from understudy.plan.forecast import Rehearsed, Steps
from understudy.plan.items import EPSILONS
from understudy.plan.laps import Lap, age, lap
from understudy.plan.made_up_rows import ASSUMED, made_up_file, made_up_rows
from understudy.plan.make import MOST_ROWS, USUAL_ROWS
from understudy.plan_page import plan_page, show
from understudy.privacy import strays
from understudy.privacy.budget import Budget
from understudy.privacy.discover import MALFORMED_SHARE
from understudy.privacy.events import Gaussian
from understudy.privacy.steps_told import StepsTold
from understudy.privacy.unit import Person, Record
from understudy.report.bought import Purpose
from understudy.schema import Schema
from understudy.select.regimes import Causal

ROWS = 5_000
SIZES = {"a": 3, "b": 4, "c": 2, "d": 5, "y": 2}
CODES = {name: size + 1 for name, size in SIZES.items()}
"""Values that are not listed have a hidden code."""


def listed(name, size, **facts):
    labels = tuple(f"{name}{place}" for place in range(size))
    facts = {"kind": Kind.CATEGORICAL, "categories": labels, "null": False, **facts}
    return Column(name=name, **facts)


SCHEMA = Schema(
    (
        Column(name="who", kind=Kind.CATEGORICAL, role=Role.ID),
        *(listed(name, size) for name, size in SIZES.items()),
    ),
    rows_bound=ROWS,
)
OPEN = Schema(
    (
        Column(name="city", kind=Kind.UNKNOWN),
        Column(name="age", kind=Kind.INTEGER),
        Column(name="gain", kind=Kind.REAL, atoms=(0.0, 99.0), null=True),
        Column(name="day", kind=Kind.DATE, format="%d.%m.%Y"),
        Column(name="at", kind=Kind.DATETIME),
        Column(name="grade", kind=Kind.ORDINAL, null=False),
        Column(name="hurt", kind=Kind.BOOLEAN),
        listed("y", 2),
    )
)


def rows_of_somebody(schema, count=ROWS, seed=1):
    """Private rows with the same facts: evenly spread, but each column follows the one before."""
    rng = np.random.default_rng(seed)
    encoding, codes, before = Encoding(schema), {}, 0
    for one in encoding.domain:
        size = one.size - (one.name in encoding.hidden)
        codes[one.name] = ((before + rng.integers(0, size, count)) % size).astype("u1")
        before = codes[one.name].astype(int) * (rng.random(count) < 0.5)
    table = encoding.decode(codes, rng)
    return table.append_column("who", [[f"p{place}" for place in range(count)]])


def measured(entries):
    """Columns, and the noise of their counts, of a real certificate; strays are told as a share."""
    return [
        (tuple(clique), entry.event.scale)
        for entry in entries
        if isinstance(entry.event, Gaussian)
        and entry.request["door"] == "measure"
        and "strays" not in entry.request
        for clique in entry.request["cliques"]
    ]


def counts(planned):
    return [count for item in planned.items for count in item.counts]


# --- the figures are those of the real thing ------------------------------------------------------


@pytest.mark.parametrize(
    # With all columns as causes no tree is drawn, whose tables real rows would choose.
    "recipe",
    [IndependentColumns(), Mst(), Prism(regime=Causal([*"abcd"]))],
    ids=lambda r: r.name,
)
@pytest.mark.parametrize("unit", ["record", "replace", "person:who:2"])
def test_noise_and_shares_are_what_a_real_run_is_charged(recipe, unit, tmp_path):
    choices = {"epsilon": 4.0, "target": "y", "mechanism": recipe, "unit": unit}
    planned = plan(SCHEMA, **choices)
    # Plans assume a CSV file, of which the malformed records are counted.
    write_csv(rows_of_somebody(SCHEMA), tmp_path / "rows.csv")
    real = pipeline.synthesize(tmp_path / "rows.csv", schema=SCHEMA, **choices).certificate
    asked = measured(real.entries)
    assert [(c.width, c.noise) for c in counts(planned)] == [(len(n), s) for n, s in asked]
    named = [(c.columns, c.noise) for c in counts(planned) if c.columns is not None]
    assert named == asked[: len(named)]
    assert sum(item.share for item in planned.items) == pytest.approx(1.0)


def test_a_plan_needs_no_rows_and_a_stated_structure_is_told_by_name():
    planned = plan(SCHEMA, epsilon=2.0, target="y", parents=["a", "b"])
    names = {count.columns for count in counts(planned)}
    assert {("a",), ("a", "y"), ("b", "y"), ("a", "b", "y")} <= names
    assert planned.method == "tailored"
    assert planned.codes == CODES
    assert planned.rows == planned.rehearsed == ROWS


def test_names_that_real_rows_decide_are_not_told():
    planned = plan(SCHEMA, epsilon=2.0, mechanism="mst")
    pairs = [count for count in counts(planned) if count.width == 2]
    assert len(pairs) == len(SIZES) - 1
    assert all(count.columns is None for count in pairs)
    told = next(item.what for item in planned.items if item.counts == tuple(pairs))
    assert told == f"counts of {len(pairs)} pairs"
    assert any("real rows decide" in note for note in planned.notes)
    alone = plan(SCHEMA, epsilon=2.0, mechanism="independent")
    assert not any("real rows decide" in note for note in alone.notes)


@pytest.mark.parametrize("rows", [1, 500, 10**6])
def test_per_cent_are_of_the_rows_that_were_stated(rows):
    planned = plan(replace(SCHEMA, rows_bound=None), epsilon=1.0, mechanism="mst", rows=rows)
    assert planned.rows == rows
    assert planned.rehearsed == min(rows, MOST_ROWS)
    assert counts(planned)
    assert all(c.percent == pytest.approx(100 * c.noise / rows) for c in counts(planned))
    assert any("made-up rows, not" in note for note in planned.notes) == (rows > MOST_ROWS)


def test_where_nobody_says_how_many_rows_there_are_that_is_said():
    planned = plan(replace(SCHEMA, rows_bound=None), epsilon=1.0, mechanism="independent")
    assert planned.rows == USUAL_ROWS
    assert "--rows-bound" in planned.notes[0]
    assert plan(SCHEMA, epsilon=1.0, mechanism="independent").notes == ()


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.name)
def test_every_method_can_be_planned(kind):
    demanded = ["y _||_ a | b"] if "independence" in kind.needs else []
    planned = plan(SCHEMA, epsilon=1.0, target="y", mechanism=kind.name, constraints=demanded)
    assert planned.method == kind.name
    assert counts(planned)
    assert sum(planned.shares.values()) == pytest.approx(1.0)
    assert planned.size.cells > 0
    assert planned.size.model_bytes > 0
    assert planned.forecast.seconds > 0
    assert sum(planned.split.values()) == pytest.approx(1.0)
    assert any(kind.name in sentence for sentence in planned.why)
    assert len(planned.items) <= 12
    json.dumps(plan_page(planned), allow_nan=False)


# --- which way a method goes, and why -------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "by", "words"),
    [
        ({"target": "y"}, "trained", "from 500 on"),
        ({"target": "y", "rows": 300}, "shown", "below 500"),
        ({}, "joint", "No target is named"),
        ({"target": "y", "parents": ["a"]}, "joint", "causes, a graph or several targets"),
        ({"target": "y", "constraints": ["a _||_ b | y"]}, "joint", "given y"),
        ({"target": "y", "parameters": {"labels": "shown"}}, "shown", "asks for it"),
    ],
    ids=str,
)
def test_which_way_auto_goes_is_told_with_the_reason(choices, by, words):
    planned = plan(replace(SCHEMA, rows_bound=None), epsilon=1.0, **{"rows": ROWS, **choices})
    assert planned.decision.by == by
    assert words in " ".join(planned.why)
    assert "auto" in planned.why[0]
    assert (planned.decision.turns is not None) == words.endswith("500 on") | ("below" in words)


def test_rows_that_count_less_take_more_of_them_to_be_worth_training():
    choices = {"epsilon": 2.0, "target": "y"}
    plain, guarded = plan(SCHEMA, **choices), plan(SCHEMA, **choices, protect_outliers=True)
    assert guarded.decision.turns > plain.decision.turns
    assert f"{ROWS:,} rows that count as" in guarded.why[1]
    some = plan(SCHEMA, **choices, protect_where=["a = a0"])
    assert any("told as if there were none" in note for note in some.notes)


def test_the_rule_turns_where_it_says_and_the_real_run_goes_the_same_way():
    bare = replace(SCHEMA, rows_bound=None)
    turns = plan(bare, epsilon=1.0, target="y", rows=ROWS).decision.turns
    choices = {"epsilon": 1.0, "target": "y"}
    assert plan(bare, rows=turns, **choices).decision.by == "trained"
    assert plan(bare, rows=turns - 1, **choices).decision.by == "shown"
    for rows, trained in ((2 * turns, True), (turns // 2, False)):
        planned = plan(bare, rows=rows, **choices)
        assert (Part.TRAINING in planned.split) == trained
        real = pipeline.synthesize(rows_of_somebody(SCHEMA, rows), schema=bare, **choices)
        doors = {entry.request["door"] for entry in real.certificate.entries}
        assert ("train" in doors) == trained


def test_a_rule_that_turns_beyond_the_usual_rows_is_rehearsed_with_more():
    bare = replace(SCHEMA, rows_bound=None)
    planned = plan(bare, epsilon=0.05, target="y", rows=10**6)
    assert planned.decision.by == "trained"
    assert planned.rehearsed > planned.decision.turns > MOST_ROWS
    assert Part.TRAINING in planned.split


def test_a_method_that_was_asked_for_says_so():
    planned = plan(SCHEMA, epsilon=1.0, mechanism="mst")
    assert planned.decision is None
    assert planned.why[0].startswith("mst was asked for")


# --- the split ------------------------------------------------------------------------------------


def test_the_split_of_tailored_is_complete():
    planned = plan(SCHEMA, epsilon=1.0, target="y")
    assert sum(planned.split.values()) == pytest.approx(1.0)
    form = float(MALFORMED_SHARE)
    assert planned.split[Part.FORM] == pytest.approx(form)
    assert planned.split[Part.STRAYS] == pytest.approx((1 - form) * float(strays.SHARE))
    left = (1 - form) * (1 - float(strays.SHARE))
    assert planned.split[Part.ROWS] == pytest.approx(left / 200)
    labels = planned.split[Part.TRAINING] + planned.split[Part.CALIBRATION]
    assert labels == pytest.approx(left * (1 - 1 / 200) / 2)
    assert planned.split[Part.CALIBRATION] == pytest.approx(0.05 * labels)
    assert {Part.COLUMNS, Part.PAIRS, Part.CHOOSING} <= {*planned.split}
    assert Part.REST not in planned.split
    tree = plan(SCHEMA, epsilon=1.0, mechanism="mst")
    assert {*tree.split} == {Part.FORM, Part.STRAYS, Part.COLUMNS, Part.PAIRS, Part.CHOOSING}


def test_what_is_found_out_and_scored_has_parts_of_its_own():
    planned = plan(OPEN, epsilon=4.0, target="y", rows=ROWS)
    assert planned.split[Part.FINDING] == pytest.approx(planned.shares[Purpose.FIND])
    scored = plan(SCHEMA, epsilon=4.0, target="y", protect_outliers=True)
    assert scored.split[Part.SCORES] == pytest.approx(
        0.25 * float((1 - MALFORMED_SHARE) * (1 - strays.SHARE))
    )


# --- what independences and caps cost -------------------------------------------------------------


def test_an_independence_tells_which_pairs_it_takes_away():
    planned = plan(SCHEMA, epsilon=4.0, target="y", constraints=["y _||_ a | b"])
    cost = planned.independence_cost
    assert cost.pairs == 10
    assert cost.apart == (("a", "y"),)
    assert "a" in cost.left_out
    assert {*cost.inputs} | {*cost.left_out} == {*SIZES} - {"y"}
    assert "1 of 10 pairs" in planned.costs[0]
    assert "a × y" in planned.costs[0]
    assert "not by" in planned.costs[1]
    none = plan(SCHEMA, epsilon=4.0, mechanism="independent")
    assert none.independence_cost is None
    assert none.costs == []


def test_a_cap_tells_what_it_costs_everybody_else():
    planned = plan(SCHEMA, epsilon=2.0, target="y", protect_outliers=True, outlier_epsilon=1.5)
    cost = planned.protection_cost
    assert cost.share == pytest.approx(0.25 * float((1 - MALFORMED_SHARE) * (1 - strays.SHARE)))
    assert cost.noise == pytest.approx(math.sqrt(1 / 0.75))
    assert 0 < cost.weight < 1
    assert 0 < cost.smallest_cap < 1.5
    lighter = plan(SCHEMA, epsilon=2.0, target="y", protect_outliers=True, outlier_epsilon=1.2)
    assert lighter.protection_cost.weight < cost.weight
    assert "1.15 times" in planned.costs[0]


def test_a_condition_costs_nobody_else_anything():
    planned = plan(SCHEMA, epsilon=2.0, target="y", protect_where=["a = a0"])
    cost = planned.protection_cost
    assert (cost.share, cost.noise, cost.outliers) == (0.0, 1.0, 0.0)
    assert "nobody else's noise grows" in planned.costs[0]
    assert "a0" in planned.costs[1]


def test_a_condition_tells_the_mean_weight_and_who_else_counts_less():
    facts = Schema(
        (
            Column(name="age", kind=Kind.INTEGER, bounds=(0, 89), bins=9, null=True),
            Column(name="job", kind=Kind.CATEGORICAL, categories=("a", "b"), other="c", null=True),
        )
    )
    choices = {"epsilon": 2.0, "mechanism": "independent", "rows": 1000}
    planned = plan(facts, **choices, protect_where=["age >= 80"])
    cost = planned.protection_cost
    # One bin of ten cells, and the cell of missing values.
    light = cost.weight
    assert cost.mean_weight == pytest.approx(0.8 + 0.2 * light)
    assert cost.mean_weight_stated == pytest.approx(0.9 + 0.1 * light)
    assert cost.conditions == ("age >= 80, missing or unreadable",)
    assert f"Mean weight: {cost.mean_weight:.2g} if" in planned.costs[2]
    assert "missing, unreadable or not listed counts less too" in planned.costs[2]
    assert any("Records with age >= 80, missing or unreadable" in line for line in planned.promise)
    both = plan(facts, **choices, protect_where=["age >= 80", "age <= 5", "job = a"])
    weight = both.protection_cost
    # Three of ten cells, or three of four.
    assert weight.mean_weight == pytest.approx(0.7 / 4 + (1 - 0.7 / 4) * weight.weight)
    assert weight.conditions[2] == "job = a, missing, unreadable or not listed"


def test_missing_values_have_a_hidden_cell_and_share_none_with_others():
    facts = Schema((Column(name="age", kind=Kind.INTEGER, bounds=(0, 89), bins=9, null=False),))
    planned = plan(facts, epsilon=2.0, mechanism="independent", protect_where=["age >= 80"])
    cost = planned.protection_cost
    # One bin of nine and the hidden cell: whoever is in the first bin counts fully.
    assert cost.mean_weight == pytest.approx(0.8 + 0.2 * cost.weight)
    assert cost.mean_weight_stated == pytest.approx(0.9 + 0.1 * cost.weight)
    assert not any("first cell" in sentence for sentence in planned.costs)
    release = pipeline.synthesize(
        rows_of_somebody(facts, 50).select(["age"]),
        epsilon=2.0,
        schema=facts,
        mechanism="independent",
        protect_where=["age >= 80"],
    )
    assert not any("first cell" in note for note in release.notes)


# --- the forecast ---------------------------------------------------------------------------------


def lapped(seconds, before=10**6, peak=2 * 10**6):
    return Lap(seconds, peak, before)


def foreseen(rows, *, steps=None, recipe=None):
    took = Rehearsed(
        rows=10_000,
        drawn=5_000,
        asking=lapped(2.0),
        steps=steps or Steps(),
        writing=lapped(0.5),
        reading_each=2e-6,
        drawing_each=3e-6,
    )
    return took.forecast(rows, recipe or Mst(), Encoding(SCHEMA))


def test_what_was_rehearsed_is_foreseen_as_it_was_measured():
    told = foreseen(5_000)
    assert told.seconds == pytest.approx(2.5)
    assert told.bytes == 2 * 10**6


def test_rows_beyond_the_rehearsal_add_their_part():
    told = foreseen(110_000)
    assert told.asking == pytest.approx(2.2)
    assert told.writing == pytest.approx(0.5 + 3e-6 * 105_000)
    assert told.bytes == 23 * 10**6  # 22 times as many rows are drawn at a time
    many = foreseen(10**8)
    assert many.writing == pytest.approx(0.5 + 3e-6 * (10**6 - 5_000))  # no more are drawn
    assert many.bytes > 10**8 * len(SIZES)


def test_training_grows_with_steps_and_rows():
    steps = Steps(whole=50, first=(5, 0.0), last=(45, 0.4))
    once = foreseen(10_000, steps=steps, recipe=DpdSyn())
    assert once.training == pytest.approx(0.5)
    assert once.asking == pytest.approx(1.5)
    twice = foreseen(20_000, steps=steps, recipe=DpdSyn())
    assert twice.training == pytest.approx(4 * once.training)
    most = DpdSyn().label_model.most_steps
    many = foreseen(10**6, steps=steps, recipe=DpdSyn())
    assert many.training == pytest.approx(most * 0.01 * 100)


def test_steps_are_timed_by_what_is_told():
    steps = Steps()
    steps("Asking")
    assert (steps.whole, steps.each) == (0, 0.0)
    for done in (10, 20, 30):
        steps(StepsTold("Training", done, 100))
    assert steps.whole == 100
    assert steps.last[0] - steps.first[0] == 20


def test_a_program_is_as_old_as_it_has_worked_at_least():
    before = age()
    assert 0 < time.process_time() <= before + 0.1
    assert age() >= before


def test_a_lap_sees_what_is_held_meanwhile():
    with lap() as found:
        held = np.ones(4 * 10**6)
    assert held.sum() > 0
    assert found.seconds > 0
    assert found.peak is None or found.grown > 2 * 10**7


def test_nothing_of_a_rehearsal_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    planned = plan(SCHEMA, epsilon=1.0, mechanism="independent", starting=0.7)
    assert planned.forecast.starting == 0.7
    assert [*tmp_path.iterdir()] == []


# --- other epsilons -------------------------------------------------------------------------------


def test_the_table_over_epsilon_is_scaled_and_goes_one_way():
    planned = plan(SCHEMA, epsilon=0.7, target="y", parents=["a", "b"])
    table = planned.epsilons
    assert [one.epsilon for one in table] == sorted({*EPSILONS, 0.7})
    asked = next(one for one in table if one.epsilon == 0.7)
    widths = {"column": 1, "pair": 2, "wider": 3}
    for kind, width in widths.items():
        items = [i for i in planned.items if any(c.width == width for c in i.counts)]
        noisiest = max(c.noise for c in max(items, key=lambda i: i.share).counts)
        assert asked.noise[kind] == pytest.approx(noisiest)
        noise = [one.noise[kind] for one in table]
        assert noise == sorted(noise, reverse=True)
        assert len(set(noise)) == len(noise)
        for one in table:
            scaled = noisiest * math.sqrt(Budget(0.7, 1e-9).rho / Budget(one.epsilon, 1e-9).rho)
            assert one.noise[kind] == pytest.approx(scaled)
            assert one.percent[kind] == pytest.approx(100 * scaled / ROWS)
    assert [one.rho for one in table] == sorted(one.rho for one in table)
    assert asked.odds == "2.02"


def test_scaled_noise_is_that_of_a_run_at_the_other_epsilon():
    at_one = plan(SCHEMA, epsilon=1.0, mechanism="independent").epsilons
    (four,) = (one.noise["column"] for one in at_one if one.epsilon == 4.0)
    assert counts(plan(SCHEMA, epsilon=4.0, mechanism="independent"))[0].noise == pytest.approx(
        four, rel=1e-6
    )


@pytest.mark.parametrize("epsilon", [1e-3, 50.0, 1e4])
def test_absurd_epsilons_are_told_as_they_are(epsilon):
    planned = plan(SCHEMA, epsilon=epsilon, target="y", accept_weak_guarantee=True)
    page = plan_page(planned)
    json.dumps(page, allow_nan=False)
    assert len(page["epsilons"]) == len(EPSILONS) + 1


# --- facts that are open, or that nobody has reviewed ---------------------------------------------


@pytest.mark.parametrize("target", ["y", "city", "age"])
def test_open_facts_are_assumed_priced_and_named(target):
    planned = plan(OPEN, epsilon=4.0, target=target, rows=10_000)
    assert {*planned.open} == {column.name for column in OPEN.coded} - {"y"}
    assert planned.shares[Purpose.FIND] == pytest.approx(7 / 24, rel=0.2)
    said = next(note for note in planned.notes if note.startswith("Open facts"))
    assert "city (kind, null)" in said
    assert f"{ASSUMED} values" in said
    assert "hurt were" not in said  # only its nulls are open
    assert ASSUMED <= planned.codes["city"] <= ASSUMED + 2


def test_a_small_table_finds_nothing_out_and_that_is_said():
    planned = plan(OPEN, epsilon=0.1, target="y", rows=300)
    assert any("nothing stood out" in note for note in planned.notes)


def test_stated_facts_cost_nothing():
    assert Purpose.FIND not in plan(SCHEMA, epsilon=1.0).shares


def test_a_draft_is_planned_as_if_declared_and_said_to_be_private():
    columns = tuple(replace(column, source=Source.DATA) for column in SCHEMA)
    draft = replace(SCHEMA, columns=columns, rows_source=Source.DATA)
    planned = plan(draft, epsilon=1.0, mechanism="independent")
    assert "refuses" in planned.notes[0]
    assert "keep it to yourself" in planned.notes[0]
    declared = plan(SCHEMA, epsilon=1.0, mechanism="independent")
    assert counts(planned) == counts(declared)


# --- what is left out, and what is refused --------------------------------------------------------


def test_a_joint_over_the_limit_is_said():
    recipe = Prism(regime=Causal(["a", "b", "d"]), joint_cells=20)
    planned = plan(SCHEMA, epsilon=4.0, target="y", mechanism=recipe)
    (said,) = (note for note in planned.notes if note.startswith("Left out"))
    assert "120 cells" in said
    whole = plan(SCHEMA, epsilon=4.0, target="y", parents=["a", "b", "d"])
    assert not any(note.startswith("Left out") for note in whole.notes)


def test_rare_codes_that_are_counted_together_are_said():
    many = Schema((listed("a", 3000), listed("b", 3), listed("y", 2)), rows_bound=ROWS)
    planned = plan(many, epsilon=1.0, target="y", parents=["a", "b"])
    assert any(note.startswith("Codes too rare") for note in planned.notes)
    few = plan(SCHEMA, epsilon=4.0, target="y", parents=["a", "b"])
    assert not any(note.startswith("Codes too rare") for note in few.notes)


def test_made_up_rows_contradict_nobody():
    edges = [("a", "y"), ("y", "b")]
    planned = plan(SCHEMA, epsilon=8.0, target="y", graph=edges)
    assert not any(
        "→" in note or "depend" in note.split("rows decide")[0] for note in planned.notes
    )


@pytest.mark.parametrize(
    "choices",
    [
        {"target": "z"},
        {"target": "y", "parameters": {"k": "9"}},
        {"target": "y", "parents": ["nobody"]},
        {"target": "y", "parents": ["y"]},
        {"target": "y", "graph": [("a", "b"), ("b", "a")]},
        {"target": "y", "graph": [("a", "b")], "parents": ["a"]},
        {"mechanism": "prism"},
        {"mechanism": "nothing"},
        {"mechanism": "mst", "parameters": {"model_bytes": "10"}},
        {"unit": "person:nobody:2"},
        {"unit": "nobody"},
        {"epsilon": 0.0},
        {"delta": 0.0},
        {"delta": 1e-3},
    ],
    ids=str,
)
def test_a_plan_is_refused_as_the_release_would_be(choices):
    choices = {"epsilon": 1.0, **choices}
    with pytest.raises((BadInput, UnknownColumn, PrivacyRefused, ModelTooLarge)) as planned:
        plan(SCHEMA, **choices)
    with pytest.raises(type(planned.value)) as real:
        pipeline.synthesize(rows_of_somebody(SCHEMA, 100), schema=SCHEMA, **choices)
    assert str(planned.value) == str(real.value)


@pytest.mark.parametrize("rows", [0, -1, 2.5, True, ROWS + 1])
def test_a_bound_that_makes_no_sense_is_refused(rows):
    with pytest.raises(BadInput, match="bound"):
        plan(SCHEMA, epsilon=1.0, rows=rows)


def test_a_stated_bound_counts_like_one_of_the_schema():
    with pytest.raises(PrivacyRefused, match="delta"):
        plan(replace(SCHEMA, rows_bound=None), epsilon=1.0, delta=1e-6, rows=10**6)


def test_a_plan_is_made_from_a_schema():
    with pytest.raises(BadInput, match="schema"):
        plan(None, epsilon=1.0)
    dropped = Schema((Column(name="a", kind=Kind.UNKNOWN, role=Role.DROP),))
    with pytest.raises(BadInput, match="nothing to plan"):
        plan(dropped, epsilon=1.0)


def test_a_table_of_one_column_can_be_planned():
    planned = plan(Schema((listed("y", 2),)), epsilon=1.0, target="y")
    assert [count.columns for count in counts(planned)] == [("y",)]


# --- made-up rows ---------------------------------------------------------------------------------


def test_made_up_rows_use_every_code_alike_and_are_the_same_each_time():
    table = made_up_rows(SCHEMA, ROWS, Record())
    assert table.equals(made_up_rows(SCHEMA, ROWS, Record()))
    for name, codes in Encoding(SCHEMA).codes(table).items():
        share = np.bincount(codes, minlength=SIZES[name]) / ROWS
        assert np.abs(share - 1 / SIZES[name]).max() < 0.02


def test_made_up_people_have_as_many_rows_as_may_count():
    names = made_up_rows(SCHEMA, 9, Person("who", 3))["who"].to_pylist()
    assert names == ["0"] * 3 + ["1"] * 3 + ["2"] * 3


def test_made_up_files_read_as_they_were_made(tmp_path):
    schema = replace(OPEN, columns=tuple(_stated(column) for column in OPEN))
    table = made_up_rows(schema, 200, Record())
    made_up_file(table, schema, tmp_path / "rows.csv")
    as_text = csv.read_csv(
        tmp_path / "rows.csv",
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(table.column_names, pa.string()), strings_can_be_null=True
        ),
    )
    encoding = Encoding(schema)
    codes = encoding.codes(table)
    for name, read in encoding.codes(as_text).items():
        assert (read == codes[name]).all(), name


def _stated(column):
    bounds = {
        "age": (0, 90),
        "gain": (0.0, 100.0),
        "day": (date(2000, 1, 1), date(2001, 1, 1)),
        "at": (datetime(2000, 1, 1), datetime(2001, 1, 1)),  # noqa: DTZ001
    }
    facts = {"null": False, "bounds": bounds.get(column.name, column.bounds)}
    if column.name in {"city", "grade"}:
        facts |= {"kind": Kind.CATEGORICAL, "categories": ("low", "high, or so")}
    return replace(column, **facts)


# --- the page -------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_page_shows_what_the_json_says(width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    page = plan_page(plan(OPEN, epsilon=1.0, target="y", rows=30_000))
    show(json.loads(json.dumps(page)))
    shown = capsys.readouterr().out
    titles = ("Plan", "No row", "What", "The same")
    lines = [line for line in shown.splitlines() if not line.startswith(titles)]
    assert max(map(len, lines)) <= width
    words = " ".join(shown.split())
    for line in [*page["promise"], *(note for note in page["notes"])]:
        assert " ".join(line.replace("- ", "").split()) in words.replace("- ", "")
    for one in page["epsilons"]:
        assert one["odds_at_most"] in words
    assert "…" not in shown
    assert "↓" in shown
    assert "± rows" in words


def test_the_page_tells_every_part_of_a_plan():
    planned = plan(SCHEMA, epsilon=1.0, target="y")
    page = plan_page(planned)
    for item, told in zip(planned.items, page["bought"], strict=True):
        assert told["share"] == item.share
        assert [one["noise_rows"] for one in told["counts"]] == [c.noise for c in item.counts]
        assert [one["noise_percent"] for one in told["counts"]] == [c.percent for c in item.counts]
    renamed = {"budget", "open", "items", "size", "rehearsed", "draft"}
    assert {field.name for field in fields(planned)} - renamed <= {*page}


def test_the_html_page_is_whole_and_loads_nothing():
    choices = {"target": "y", "constraints": ["y _||_ a | b"], "protect_outliers": True}
    planned = plan(SCHEMA, epsilon=1.0, **choices)
    page = plan_html(planned)
    for words in (*planned.why, *planned.costs, *planned.notes, *map(str, planned.split)):
        assert str(escape(words)) in page
    assert page.count("<circle") == len(planned.epsilons) * len(planned.epsilons[0].noise)
    assert "http" not in page.replace("http-equiv", "")
    assert "INTERNAL" not in page


def test_the_html_page_of_a_draft_is_internal_and_names_are_escaped():
    odd = listed("<b>y</b>", 2)
    columns = tuple(replace(one, source=Source.DATA) for one in (*SCHEMA.columns[:3], odd))
    page = plan_html(plan(Schema(columns), epsilon=1.0, target="<b>y</b>", mechanism="mst"))
    assert "INTERNAL" in page
    assert "<b>y" not in page
    assert "&lt;b&gt;y" in page
