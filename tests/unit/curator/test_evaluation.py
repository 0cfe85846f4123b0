"""evaluate(): every section, whatever the tables are like."""

import datetime as dt
import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv
from threadpoolctl import threadpool_limits

import understudy as us
from helpers.results import results_in
from understudy.column import Column, Kind, Role
from understudy.curator import fairness
from understudy.curator.cohort import FEWEST
from understudy.curator.disclosure import NOT_EVIDENCE
from understudy.curator.evaluation import FORMAT, Evaluation, Promise, evaluate
from understudy.curator.evaluation_text import show
from understudy.curator.models import Learner
from understudy.errors import BadInput, UnknownColumn
from understudy.knowledge import Independence
from understudy.schema import Schema

QUICK = {"learners": [Learner.LOGISTIC], "seeds": 1}
FAIR = Independence("ill", "city", given="age")
SECTIONS = (
    "task",
    "fidelity",
    "independence",
    "gaps",
    "attacks",
    "disclosure",
    "second_opinion",
    "notes",
)


@pytest.fixture(autouse=True)
def few_permutations(monkeypatch):
    monkeypatch.setattr(fairness, "PERMUTATIONS", 49)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """On small tables threads wait for each other longer than they compute."""
    with threadpool_limits(limits=1):
        yield


def people(rows, seed):
    """Who is ill follows from age; cities are on their own."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    return pa.table(
        {
            "age": age,
            "city": rng.choice(["Ulm", "Bonn"], rows),
            "height": rng.normal(170, 9, rows),
            "ill": np.where(rng.random(rows) < age / 100, "yes", "no"),
        }
    )


def plain(evaluation):
    """Its JSON, which must be strict JSON with sound results."""
    content = json.loads(json.dumps(evaluation.to_json(), allow_nan=False))
    for result in results_in(content):
        assert result["name"], result
        assert result["direction"].endswith(" is better"), result
        assert result["read"], result
        if result["value"] is None:
            assert result["low"] is None, result
            assert result["high"] is None, result
            assert result["note"], f"no number and no reason: {result}"
        else:
            assert result["low"] <= result["value"] <= result["high"], result
    return content


def notes_of(evaluation):
    task = () if evaluation.task is None else evaluation.task.notes
    return " ".join([*evaluation.notes, *task, *evaluation.fidelity.notes])


def shown(evaluation, capsys):
    show(evaluation)
    return " ".join(capsys.readouterr().out.split())


# --- the whole way --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole():
    """All sections but the second opinion."""
    return evaluate(
        people(240, 1),
        people(200, 2),
        target="ill",
        test=people(160, 3),
        independent=[FAIR],
        promise=Promise(1.0, 1e-9),
        seeds=2,
    )


def test_json_has_every_section_and_says_that_it_is_internal(whole):
    content = plain(whole)
    assert content["format"] == FORMAT
    assert content["internal"] is True
    assert content["confidence"] == 0.95
    assert content["rows"] == {"real": 240, "synthetic": 200, "test": 160}
    assert content["columns"] == ["age", "city", "height", "ill"]
    assert set(SECTIONS) <= set(content)
    for section in ("task", "fidelity", "independence", "gaps", "attacks", "disclosure"):
        found = list(results_in(content[section]))
        assert any(result["value"] is not None for result in found), section


def test_the_task_finds_what_age_tells(whole):
    # The tables are of one population, so that both sides find the same.
    for trained_on in ("synthetic", "real"):
        assert whole.task.of("logistic regression", trained_on)["ROC-AUC"].value > 0.7
    assert whole.task.positive in {"true", "false"}


def test_fairness_is_tested_in_both_tables_and_for_every_model(whole):
    assert [(t.sentence, t.table) for t in whole.independence] == [
        ("ill ⟂ city | age", "synthetic"),
        ("ill ⟂ city | age", "real"),
    ]
    assert {(gap.model, gap.trained_on) for gap in whole.gaps} == {
        (model, side)
        for model in ("logistic regression", "gradient boosting")
        for side in ("synthetic", "real")
    }


def test_the_promise_stands_beside_the_attacks(whole):
    bound = whole.attacks.ceiling
    # (e - 1) / (e + 1), and two steps of it for two records that swap places
    assert bound.one_record == pytest.approx((math.e - 1) / (math.e + 1), abs=1e-6)
    assert bound.swapped == pytest.approx((math.e**2 - 1) / (math.e**2 + 1), abs=1e-6)
    assert whole.disclosure.warning == NOT_EVIDENCE


def test_the_same_call_gives_the_same_numbers():
    arguments = {"target": "ill", "test": people(90, 3), "independent": [FAIR], **QUICK}
    first = evaluate(people(100, 1), people(90, 2), **arguments)
    again = evaluate(people(100, 1), people(90, 2), **arguments)
    assert plain(first) == plain(again)


def test_files_frames_and_arrow_tables_give_the_same_numbers(tmp_path):
    real, synthetic = people(80, 1), people(70, 2)
    for name, table in (("real.csv", real), ("synthetic.csv", synthetic)):
        csv.write_csv(table, tmp_path / name)
    expected = plain(evaluate(real, synthetic, target="ill", **QUICK))
    frames = [pd.DataFrame(table.to_pydict()) for table in (real, synthetic)]
    assert plain(evaluate(*frames, target="ill", **QUICK)) == expected
    paths = tmp_path / "real.csv", str(tmp_path / "synthetic.csv")
    assert plain(evaluate(*paths, target="ill", **QUICK)) == expected


def test_steps_are_told_in_order():
    told = []
    evaluate(
        people(90, 1), people(80, 2), target="ill", test=people(90, 3), tell=told.append, **QUICK
    )
    assert told[0] == "Reading the tables"
    firsts = [told.index(step) for step in told]
    assert firsts == sorted(firsts)
    for words in ("Fitting logistic regression", "Comparing marginals", "Attacking"):
        assert any(step.startswith(words) for step in told), words


def test_a_protected_role_in_the_schema_makes_groups():
    columns = (
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), bins=4),
        Column(
            name="city",
            kind=Kind.CATEGORICAL,
            categories=("Ulm", "Bonn"),
            role=Role.PROTECTED,
        ),
        Column(name="height", kind=Kind.REAL, bounds=(100, 220), bins=4),
        Column(name="ill", kind=Kind.BOOLEAN),
    )
    found = evaluate(
        people(120, 1), people(100, 2), target="ill", test=people(120, 3),
        schema=Schema(columns), **QUICK,
    )  # fmt: skip
    assert {gap.groups for gap in found.gaps} == {"city"}
    assert found.independence == ()


def test_a_number_as_target_is_a_regression_without_gaps():
    found = evaluate(
        people(100, 1),
        people(90, 2),
        target="height",
        test=people(80, 3),
        independent=[FAIR],
        **QUICK,
    )
    assert found.task.task == "regression"
    assert found.gaps
    for gap in found.gaps:
        assert gap.parity.value is None
        assert "the target is a number" in gap.parity.note
    plain(found)


# --- what is lacking is said ----------------------------------------------------------------------


def test_without_a_test_table_attacks_are_left_out_and_it_is_said(capsys):
    found = evaluate(people(80, 1), people(70, 2), target="ill", **QUICK)
    assert found.attacks.strikes == ()
    assert "Attacks were left out" in found.attacks.notes[0]
    assert "--test" in found.attacks.notes[0]
    words = shown(found, capsys)
    assert "Attacks were left out" in words
    assert "may flatter" in words, "held-out rows were seen by the release"


def test_without_a_target_the_task_is_left_out_and_it_is_said(capsys):
    found = evaluate(people(60, 1), people(50, 2))
    assert found.task is None
    assert found.gaps == ()
    words = shown(found, capsys)
    assert "No target was named" in words
    assert "--target" in words
    assert plain(found)["task"] is None


def test_a_test_table_too_small_for_attacks_says_so():
    found = evaluate(people(60, 1), people(50, 2), test=people(FEWEST, 3))
    assert found.attacks.strikes == ()
    assert "give more rows" in found.attacks.notes[0]


def test_columns_that_name_rows_are_left_out_and_named(capsys):
    tables = [
        people(150, seed).append_column("who", [[f"p{seed}-{k}" for k in range(150)]])
        for seed in (1, 2)
    ]
    found = evaluate(*tables, target="ill", **QUICK)
    assert found.left_out == ("who",)
    assert "who" not in found.columns
    assert "Left out of all comparisons: who." in shown(found, capsys)


def test_a_class_that_the_synthetic_rows_lack_is_named():
    synthetic = people(80, 2)
    lacking = synthetic.filter(pa.compute.equal(synthetic["ill"], "no"))
    found = evaluate(people(80, 1), lacking, target="ill", test=people(80, 3), **QUICK)
    assert "The synthetic table has no row of the class true." in notes_of(found)
    assert found.task.of("logistic regression", "synthetic")["ROC-AUC"].value == 0.5
    plain(found)


def test_a_test_table_of_one_class_has_no_auc_and_says_why():
    test = people(80, 3)
    only = test.filter(pa.compute.equal(test["ill"], "no"))
    found = evaluate(people(80, 1), people(80, 2), target="ill", test=only, **QUICK)
    auc = found.task.of("logistic regression", "synthetic")["ROC-AUC"]
    assert auc.value is None
    assert "one class only" in auc.note
    assert "The test table has no row of the class true." in notes_of(found)
    plain(found)


@pytest.mark.parametrize("value", [3.0, 0.1, "same"])
def test_a_constant_column_gives_a_result_that_says_so(value):
    tables = [people(80, seed).append_column("one", pa.array([value] * 80)) for seed in (1, 2, 3)]
    found = evaluate(*tables[:2], target="ill", test=tables[2], **QUICK)
    assert "one" in found.columns
    if value != "same":
        assert "Constant, or never there, and so without moments: one." in notes_of(found)
    plain(found)


@pytest.mark.parametrize("target", ["one", "other"])
def test_a_constant_target_gives_no_crash(target, capsys):
    tables = [
        people(80, seed)
        .append_column("one", pa.array(["same"] * 80))
        .append_column("other", pa.array([0.1] * 80))
        for seed in (1, 2, 3)
    ]
    found = evaluate(*tables[:2], target=target, test=tables[2], independent=[FAIR], **QUICK)
    score = {"one": "ROC-AUC", "other": "R²"}[target]
    model = {"one": "logistic regression", "other": "ridge regression"}[target]
    result = found.task.of(model, "synthetic")[score]
    assert result.value is None
    assert "one class only" in result.note or "one value only" in result.note
    plain(found)
    assert "none" in shown(found, capsys)


def test_without_synthetic_rows_every_section_says_why(capsys):
    found = evaluate(
        people(80, 1),
        people(80, 2).slice(0, 0),
        target="ill",
        test=people(80, 3),
        independent=[FAIR],
        **QUICK,
    )
    assert found.fidelity.marginals == ()
    result = found.task.of("logistic regression", "synthetic")["accuracy"]
    assert result.value is None
    assert "no rows to train on" in result.note
    (gap,) = (gap for gap in found.gaps if gap.trained_on == "synthetic")
    assert "the target is a number" not in gap.parity.note
    assert found.independence[0].information.value is None
    plain(found)
    assert "there are no rows to train on" in shown(found, capsys)


def test_a_target_that_is_missing_everywhere_gives_no_crash(capsys):
    tables = [
        people(60, seed).append_column("gone", pa.array([None] * 60, pa.string()))
        for seed in (1, 2)
    ]
    found = evaluate(*tables, target="gone", **QUICK)
    plain(found)
    assert all(result.value is None for score in found.task.scores for result in score.results)
    assert "without a target were left out" in shown(found, capsys)


def test_a_target_alone_is_judged_by_its_shares():
    tables = [people(80, seed).select(["ill"]) for seed in (1, 2, 3)]
    found = evaluate(*tables[:2], target="ill", test=tables[2], **QUICK)
    assert found.columns == ("ill",)
    # Without inputs nobody can tell rows apart.
    assert found.task.of("logistic regression", "real")["ROC-AUC"].value == pytest.approx(0.5)
    plain(found)


def test_a_table_of_names_alone_is_refused_with_the_way_out():
    names = pa.table({"who": [f"p{k}" for k in range(300)]})
    with pytest.raises(BadInput, match="No column is left to compare"):
        evaluate(names, names)


@pytest.mark.parametrize("huge", [1e20, 1e50, 1e308])
def test_huge_synthetic_numbers_are_judged(huge, capsys):
    synthetic = people(80, 2)
    heights = np.where(np.arange(80) % 9 == 0, huge, synthetic["height"].to_numpy())
    synthetic = synthetic.set_column(2, "height", pa.array(heights))
    found = evaluate(people(80, 1), synthetic, target="ill", test=people(80, 3), **QUICK)
    plain(found)
    assert next(m for m in found.fidelity.moments if m.kind == "mean").worst == ("height",)
    assert "height" in shown(found, capsys)


def test_infinite_numbers_count_as_missing():
    table = people(80, 2)
    infinite, gone = (
        table.set_column(2, "height", pa.array([cell, 1.5] * 40, pa.float64()))
        for cell in (math.inf, None)
    )
    found = plain(evaluate(people(80, 1), infinite))
    assert found["fidelity"] == plain(evaluate(people(80, 1), gone))["fidelity"]


@pytest.mark.parametrize(
    "storage",
    [pa.date32(), pa.timestamp("us"), pa.bool_(), pa.float64(), pa.string(), pa.null()],
    ids=str,
)
@pytest.mark.parametrize("target", [None, "gone"])
def test_a_column_without_any_value_is_judged_however_it_is_stored(storage, target):
    tables = [
        people(40, seed).append_column("gone", pa.array([None] * 40, storage)) for seed in (1, 2)
    ]
    plain(evaluate(*tables, target=target, **QUICK))


def test_huge_numbers_in_a_target_are_judged():
    tables = []
    for seed in (1, 2, 3):
        table = people(80, seed)
        heights = np.where(np.arange(80) % 9 == 0, 1e308, table["height"].to_numpy())
        tables.append(table.set_column(2, "height", pa.array(heights)))
    plain(evaluate(*tables[:2], target="height", test=tables[2], **QUICK))


# --- public mistakes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seeds": 0}, "at least once"),
        ({"seeds": -1}, "at least once"),
        ({"attack_rows": FEWEST - 1}, f"at least {FEWEST}"),
        ({"target": "ill", "task_kind": "guessing"}, "classification or regression"),
        ({"target": "city", "task_kind": "regression"}, "cannot be predicted as a number"),
        ({"target": "ill", "positive": "maybe"}, "--positive"),
        ({"without": ["age", "city", "height", "ill"]}, "No column is left"),
    ],
)
def test_impossible_choices_are_refused(options, words):
    with pytest.raises(BadInput, match=words):
        evaluate(people(60, 1), people(60, 2), **options)


@pytest.mark.parametrize(
    "options",
    [
        {"target": "il"},
        {"independent": [Independence("il", "city")]},
        {"without": ["il"]},
    ],
    ids=str,
)
def test_unknown_columns_are_refused_with_the_nearest_one(options):
    with pytest.raises(UnknownColumn, match=r"no column 'il'\. Did you mean 'ill'\?"):
        evaluate(people(60, 1), people(60, 2), **options)


@pytest.mark.parametrize("which", ["synthetic", "test"])
def test_tables_of_other_columns_are_refused_by_name(which):
    lacking = people(60, 2).drop_columns(["height"]).append_column("weight", [[70.0] * 60])
    tables = {"synthetic": people(60, 2), "test": people(60, 3), which: lacking}
    with pytest.raises(BadInput, match=f"The {which} table") as refused:
        evaluate(people(60, 1), tables["synthetic"], test=tables["test"])
    assert "it lacks height and it alone has weight" in str(refused.value)
    assert "--without" in str(refused.value)


def test_columns_of_other_types_are_refused_by_name():
    synthetic = people(60, 2).set_column(0, "age", pa.array([dt.date(2020, 1, 1)] * 60))
    with pytest.raises(BadInput, match="Column 'age' holds numbers in the real table") as refused:
        evaluate(people(60, 1), synthetic)
    assert "--schema" in str(refused.value)
    assert "--without" in str(refused.value)


@pytest.mark.parametrize(
    "claim", [(-1.0, 0.0), (math.nan, 0.0), (1.0, -1e-9), (1.0, 2.0), (1.0, math.nan)]
)
def test_a_promise_that_nobody_can_make_is_refused(claim):
    with pytest.raises(BadInput):
        evaluate(people(60, 1), people(60, 2), promise=Promise(*claim))


# --- odd tables -----------------------------------------------------------------------------------

ODD_NAMES = ("x", "ü ⟂ |", "名前", "a,b", "'\"", " a ", "_||_", "e\u0301")
ODD_CELLS = {
    "numbers": (
        pa.float64(),
        [0.0, -0.0, 1.5, 0.1, 1e308, -1e308, math.inf, -math.inf, math.nan, 5e-324, None],
    ),
    "whole": (pa.int64(), [0, 1, 2, -(2**62), 2**62, None]),
    "words": (pa.string(), ["", " ", "a", "A", "é", "=1+1", "nan", "yes", "7", "\u0000", None]),
    "flags": (pa.bool_(), [True, False, None]),
    "dates": (pa.date32(), [dt.date(1, 1, 1), dt.date(2020, 2, 29), dt.date(9999, 12, 31), None]),
    "nothing": (pa.string(), [None]),
    "no numbers": (pa.float64(), [None]),
    "one number": (pa.float64(), [0.1]),
    "one word": (pa.string(), ["same"]),
}


@st.composite
def odd_tables(draw):
    names = draw(st.lists(st.sampled_from(ODD_NAMES), min_size=1, max_size=3, unique=True))
    kinds = {name: draw(st.sampled_from(sorted(ODD_CELLS))) for name in names}

    def table():
        rows = draw(st.sampled_from([0, 1, 2, 3, 50, 90]))
        # Few cells are drawn and repeated by a seed, for hypothesis is slow with many.
        seed = np.random.default_rng(draw(st.integers(0, 99)))
        columns = {}
        for name, kind in kinds.items():
            storage, cells = ODD_CELLS[kind]
            some = draw(st.lists(st.sampled_from(cells), min_size=1, max_size=5))
            columns[name] = pa.array([some[k] for k in seed.integers(0, len(some), rows)], storage)
        return pa.table(columns)

    return names, table(), table(), draw(st.sampled_from([None, table()]))


@settings(max_examples=25)
@given(odd_tables(), st.data())
def test_odd_tables_are_judged_or_refused(tables, data):
    names, real, synthetic, test = tables
    target = data.draw(st.sampled_from([None, *names]))
    independent = [Independence(names[0], names[1], given=names[2:])] if len(names) > 1 else []
    try:
        found = evaluate(
            real, synthetic, target=target, test=test, independent=independent, **QUICK
        )
    except BadInput:
        return
    assert isinstance(found, Evaluation)
    plain(found)
    show(found)


def test_a_copy_that_claims_a_promise_raises_the_alarm():
    rng = np.random.default_rng(5)
    real, test = (pa.table({f"x{k}": rng.normal(size=300) for k in range(3)}) for _ in range(2))
    found = evaluate(real, real, test=test, promise=Promise(0.1, 1e-9))
    assert any("distance attack on all rows" in alarm for alarm in found.attacks.alarms)
    fresh = pa.table({f"x{k}": rng.normal(size=300) for k in range(3)})
    quiet = evaluate(real, fresh, test=test, promise=Promise(1.0, 1e-9))
    assert quiet.attacks.alarms == ()


@pytest.mark.statistical
def test_where_nothing_leaks_there_is_no_alarm_however_small_the_promise():
    for seed in range(12):
        rng = np.random.default_rng([6, seed])
        tables = [pa.table({f"x{k}": rng.normal(size=400) for k in range(3)}) for _ in range(3)]
        found = evaluate(*tables[:2], test=tables[2], promise=Promise(0.01, 1e-9))
        assert found.attacks.alarms == ()


def test_a_release_that_was_made_from_the_test_rows_is_said():
    rng = np.random.default_rng(7)
    real, test = (pa.table({f"x{k}": rng.normal(size=200) for k in range(3)}) for _ in range(2))
    found = evaluate(real, test, test=test)
    assert any("Were the tables swapped?" in note for note in found.attacks.notes)


def test_reasons_why_there_are_no_attacks_tell_the_way_out():
    rng = np.random.default_rng(8)
    twins = pa.table({"a": rng.integers(0, 3, 400), "b": rng.integers(0, 3, 400)})
    assert "most rows have one" in evaluate(twins, twins, test=twins).attacks.notes[0]
    ids = pa.array(range(200))
    people = pa.table({"id": ids, "x": rng.normal(size=200)})
    others = pa.table({"id": ids, "x": rng.normal(size=200)})
    found = evaluate(people, others, test=others, person="id")
    assert "persons who are in the real table" in found.attacks.notes[0]


def test_a_released_target_may_be_left_out():
    table = pa.table({"x": [1, 2] * 200, "y": ["a", "b"] * 200})
    release = us.synthesize(table, target="y", epsilon=1.0)
    found = evaluate(table, release, without=["y"])
    assert found.task is None
    assert "y" not in found.columns


def test_columns_that_are_left_out_are_not_said_to_be_absent():
    table = pa.table({"x": [1, 2] * 20, "y": ["a", "b"] * 20})
    with pytest.raises(BadInput, match="left out of the comparison"):
        evaluate(table, table, independent=[Independence("x", "y")], without=["y"])
