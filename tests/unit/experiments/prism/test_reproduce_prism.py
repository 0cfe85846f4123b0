"""The text of the results comes from trials, and says where an aim was missed."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from understudy.cli import app
from understudy.curator.coded_task import Judged, judged, mean_of
from understudy.curator.models import Learner
from understudy.experiments.prism import reproduce as module
from understudy.experiments.prism.document import aims, document
from understudy.experiments.prism.found import Found
from understudy.experiments.prism.printed import ACCURACY, AUC, ONE_WAY
from understudy.experiments.prism.reproduce import QUICK, WHOLE, Extent, cells_of
from understudy.experiments.prism.sections import (
    ADULT,
    MARGINAL,
    REAL,
    SPURIOUS,
    WINS,
    key_of,
    sections,
)
from understudy.experiments.prism.trial import Cell, Outcome, run_trial

SMALL = Extent(1, (1.0,), 0)


@pytest.fixture(scope="module")
def found():
    """One repetition of the invented tables."""
    wanted = {
        "PRISM-Causal (Opt)",
        "PRISM-Graphical (Opt), as printed",
        "MST",
        "a wrong graph",
        "Closed-form allocation (oracle weights)",
        "Uniform allocation, as printed",
        REAL,
    }
    cells = [
        cell
        for cell in cells_of(SMALL, None)
        if cell.arm in wanted and cell.section in {SPURIOUS, MARGINAL, WINS}
    ]
    return Found([run_trial(cell, None) for cell in cells])


def test_a_shift_breaks_what_was_learned_from_children_and_not_from_causes(found):
    outcome = {one.cell.arm: one for one in found.outcomes if one.cell.section == SPURIOUS}
    auc = {arm: one.scores[Learner.LOGISTIC].auc for arm, one in outcome.items()}
    assert auc["PRISM-Causal (Opt)"] > 0.7
    assert auc["MST"] < 0.62
    assert auc["PRISM-Graphical (Opt), as printed"] < 0.65
    assert auc[REAL] < 0.62
    assert outcome[REAL].off == 0
    assert outcome["MST"].off > 0


def test_a_wrong_graph_is_told_in_the_text(found):
    text = document(found, None, command="understudy …", seeds=1, figures={})
    assert re.search(r"> It was stated that Y depends on N\d", text)
    assert "{" not in text
    assert "Not run: give the folder" in text


def test_aims_that_were_missed_are_told(found):
    reached = {aim.what: aim.met for aim in aims(found)}
    assert reached["spurious shift: Causal"]
    assert reached["Adult: Predictive"] is None
    bad = {Learner.LOGISTIC: Judged(0.6, 0.5)}
    worse = Found([replace(one, scores=bad) for one in found.outcomes])
    assert {aim.what: aim.met for aim in aims(worse)}["spurious shift: Causal"] is False
    assert "**missed**" in document(worse, None, command="", seeds=1, figures={})


def test_everything_that_is_printed_has_arms_here(tmp_path):
    found = sections(None)
    for section, printed in AUC.items():
        if section == ADULT:
            continue
        keys = {key_of(arm) for arm in found[section].arms}
        assert {*printed} <= keys
        ours = {"MST", "PrivBayes", "Independence Only"}
        assert {f"{name}, as printed" for name in printed if name not in ours} <= keys
    assert {*AUC[ADULT]} == {*ACCURACY} == {*ONE_WAY}


def test_a_quick_run_is_small():
    quick, whole = (len(list(cells_of(extent, None))) for extent in (QUICK, WHOLE))
    assert quick < whole / 8


def test_trials_are_what_their_cell_says():
    cell = Cell(WINS, "Uniform allocation", 1.0, 3)
    one, again = (run_trial(cell, None) for _ in range(2))
    assert one.cell == cell
    # Rows are the same, noise never is.
    assert one.scores != again.scores or one.off != again.off


def test_means_have_intervals_by_student():
    mean = mean_of([1.0, 2.0, 3.0])
    assert (mean.value, mean.repetitions) == (2.0, 3)
    assert mean.half == pytest.approx(4.3027 / 3**0.5, rel=1e-4)
    assert str(mean_of([0.5])) == "0.500"


def test_where_there_is_one_class_it_is_guessed():
    rows = {"y": [0] * 9, "x": [0, 1, 2] * 3}
    train = {name: np.array(codes) for name, codes in rows.items()}
    test = {"y": np.array([0, 1]), "x": np.array([0, 1])}
    assert judged(train, test, "y", Learner.LOGISTIC, 0) == Judged(0.5, 0.5)


def run(*words):
    return CliRunner().invoke(app, ["reproduce", *words])


def test_the_command_writes_text_and_figures(tmp_path, monkeypatch):
    few = [
        Cell(SPURIOUS, "PRISM-Causal (Opt)", 1.0, 0),
        Cell(WINS, "Uniform allocation", 1.0, 0),
        Cell(MARGINAL, "a wrong graph", 1.0, 0),
    ]
    monkeypatch.setattr(module, "cells_of", lambda *_: few)
    out = tmp_path / "prism.md"
    result = run("prism", "--quick", "--out", str(out))
    assert result.exit_code == 0, result.output
    text = out.read_text()
    assert "    understudy reproduce prism --quick --out FILE\n" in text
    named = re.findall(r"\((prism-figure-\d\.svg)\)", text)
    assert {path.name for path in tmp_path.iterdir()} == {"prism.md", *named}
    assert named == ["prism-figure-1.svg", "prism-figure-5.svg"]
    for name in named:
        assert (tmp_path / name).read_text().startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    told = json.loads(run("prism", "--quick", "--json").stdout)
    assert {"what", "paper", "aim", "ours", "half", "met"} == {*told[0]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("prizm",), "There is no paper 'prizm'. Known: prism"),
        (("prism", "--out", "no/such/folder/prism.md"), "cannot be written"),
        (("prism", "--data", "nowhere"), "give their folder with --data"),
        (("prism", "--jobs", "0"), "at least one"),
    ],
)
def test_mistakes_are_told(words, message):
    result = run(*words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_outcomes_are_found_by_section_arm_and_epsilon():
    cell = Cell("s", "a", 1.0, 0)
    one = Outcome(cell, {Learner.LOGISTIC: Judged(0.7, 0.6)}, 0.1, 1.0, ("so",))
    found = Found([one, replace(one, cell=replace(cell, seed=1), off=0.3)])
    assert found.mean("s", "a", 1.0, lambda o: o.off).value == pytest.approx(0.2)
    assert found.mean("s", "a", 2.0, lambda o: o.off) is None
    assert found.notes("s", "a") == ["so"]
