"""The text of the results comes from trials, and says where an aim was missed."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from understudy.cli import app
from understudy.curator.label_task import LabelScores
from understudy.curator.models import Learner
from understudy.experiments.dpdsyn import reproduce as module
from understudy.experiments.dpdsyn.aims import aims
from understudy.experiments.dpdsyn.arms import (
    ARMS,
    BY_LOGISTIC,
    BY_MLP,
    MST,
    NOISY,
    PAIRED,
    REAL,
    WITH_MST,
    Draw,
    arm_named,
)
from understudy.experiments.dpdsyn.document import document
from understudy.experiments.dpdsyn.found import Found, log_loss
from understudy.experiments.dpdsyn.pictures import pictures
from understudy.experiments.dpdsyn.printed import printed, printed_scaled
from understudy.experiments.dpdsyn.reproduce import QUICK, WHOLE, cells_of
from understudy.experiments.dpdsyn.tables import TABLES
from understudy.experiments.dpdsyn.trial import Cell, Drawn, Outcome, run_trial
from understudy.experiments.dpdsyn.twelve import (
    TREE,
    TwelveCell,
    TwelveOutcome,
    run_twelve,
    twelve_cells,
)


def outcome(cell):
    """As good as hoped; labels that are hard are worse, and MST takes twice as long."""
    jitter = 0.001 * cell.seed

    def drawn(draw):
        loss = 0.3 + (draw is Draw.HARD)
        scores = LabelScores(0.9 + jitter, 0.8, 0.95, 0.85, loss)
        return Drawn(0.25, dict.fromkeys(arm_named(cell.arm).learners, scores))

    seconds = 4.0 if cell.arm == MST.name else 2.0
    return Outcome(cell, seconds, 0.76, 0.24, {draw: drawn(draw) for draw in cell.draws})


@pytest.fixture(scope="module")
def found():
    return Found([outcome(cell) for cell in cells_of(WHOLE)], twelve_found(0.9))


def twelve_found(auc):
    """Every learner on twelve columns, as good as that."""
    learners = (Learner.LOGISTIC, Learner.BOOSTING)
    return [TwelveOutcome(cell, dict.fromkeys(learners, auc)) for cell in twelve_cells(5)]


def told(found, extent=WHOLE, figures=None):
    return document(
        found,
        command="understudy …",
        seeds=extent.seeds,
        epsilons=extent.epsilons,
        figures=figures or {},
    )


def scored(one, **changed):
    drawn = {
        draw: replace(
            each, scores={learner: replace(s, **changed) for learner, s in each.scores.items()}
        )
        for draw, each in one.drawn.items()
    }
    return replace(one, drawn=drawn)


def test_aims_are_the_printed_accuracy(found):
    listed = aims(found, WHOLE.epsilons)
    assert len(listed) == 2 * 4 * 2 * 2 + 2 + 2
    assert all(aim.met for aim in listed)
    worse = Found([scored(one, accuracy=0.8) for one in found.outcomes])
    missed = {aim.what for aim in aims(worse, WHOLE.epsilons) if aim.met is False}
    assert "adult, ε = 1: accuracy of MLP, DPDSyn" in missed
    assert "br2000, ε = 4: accuracy of SVM, with MST features" in missed
    assert not [what for what in missed if "smoking" in what or "lpd" in what]
    alike = Found([scored(one, log_loss=0.3) for one in found.outcomes])
    assert [aim.told for aim in aims(alike, WHOLE.epsilons) if aim.met is False] == ["0 of 4"] * 2
    assert aims(Found([]), WHOLE.epsilons)[0].value is None
    low = Found(found.outcomes, twelve_found(0.889))
    assert [aim.aim for aim in aims(low, WHOLE.epsilons) if aim.met is False] == ["≥ 0.898"]


def test_means_are_over_repetitions(found):
    mean = found.mean("adult", BY_MLP, 4.0, Learner.MLP)
    assert mean.repetitions == 5
    assert mean.value == pytest.approx(0.902)
    assert found.mean("adult", BY_MLP, 4.0, Learner.SVM) is None
    assert found.mean("adult", REAL, 4.0, Learner.SVM).repetitions == 5
    assert found.mean("adult", BY_MLP, 4.0, Learner.MLP, draw=Draw.TWICE) is None
    hard = found.mean("lpd", BY_LOGISTIC, 4.0, Learner.MLP, log_loss, Draw.HARD)
    assert hard.value == pytest.approx(1.3)
    assert found.times("lpd", MST, BY_MLP, 1.0) == 2
    assert found.over_tables(MST, 1.0, Learner.SVM, Draw.THRICE).repetitions == 5
    three = Found([one for one in found.outcomes if one.cell.table != "lpd"])
    assert three.over_tables(MST, 1.0, Learner.SVM, Draw.ONCE) is None
    assert three.times("lpd", MST, BY_MLP, 1.0) is None


def test_the_print_is_the_papers():
    assert printed("adult", "DPDSyn", Learner.MLP) == ("0.8429", "0.6260")
    assert printed("smoking", "MST", Learner.SVM) == ("0.6328", "0.00")
    assert printed_scaled("DPDSyn", Learner.SVM) == ("0.7734", "0.7787")
    assert printed_scaled("AIM", Learner.SVM) == ("", "")


def test_the_text_has_every_table_method_and_figure(found):
    drawn = pictures(found, WHOLE.epsilons)
    assert [*drawn] == [1, 2]
    text = told(found, figures=drawn)
    assert "{" not in text
    assert "nan" not in text
    assert "**missed**" not in text
    assert "This is a quick run" not in text
    for table in TABLES:
        assert f"### Table {table.number}: {table.name}\n" in text
        for name in table.schema.names:
            assert f"| {name} | " in text
    for arm in (REAL, BY_LOGISTIC, WITH_MST, MST):
        assert f"| {arm.name} |" in text
    assert "shuffle, **not private**" in text
    ours = "0.902 ± 0.002"
    assert f"| 1 | MST | 0.7845 | {ours} | 0.1692 | 0.800 ± 0.000 | 0.950 ± 0.000 |" in text
    assert f"| MST | {ours} | 0.7290 | {ours} | 0.7299 | {ours} |" in text
    assert "| a tree of columns (MST) | 0.2 | 0.900 ± 0.000 | 0.900 ± 0.000 |" in text
    assert "160.40x (MLP), 333.73x (SVM), 8.09x (FT-Transformer)" in text
    assert "This is a quick run" in told(found, QUICK)


def test_every_line_of_a_table_is_as_long_as_its_head(found):
    width = None
    for line in told(found).splitlines():
        if not line.startswith("|"):
            width = None
            continue
        width = width or line.count(" | ")
        assert line.count(" | ") == width, line


def test_pictures_need_no_page(found):
    for about, picture in pictures(found, WHOLE.epsilons).values():
        assert picture.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
        assert picture.count("<style>") == 1
        assert about in picture
        assert picture.count("<circle") == 4 * (2 + 2 * (len(NOISY) - 2))
    assert pictures(Found([]), WHOLE.epsilons) == {}


def test_the_whole_run_is_five_seeds_at_two_epsilons():
    whole = list(cells_of(WHOLE))
    assert len({*whole}) == len(whole) == 5 * 4 * (1 + 2 * len(NOISY))
    assert {cell.arm for cell in whole} == {arm.name for arm in ARMS}
    more = [cell.epsilon for cell in whole if Draw.THRICE in cell.draws]
    assert {*more} == {1.0}
    assert all(arm.learners == (learner,) for learner, arm in PAIRED.items())


@pytest.fixture
def one_trial(monkeypatch):
    """Each table has one real trial; all others are made up."""
    cells = [Cell("lpd", BY_LOGISTIC.name, 1.0, 0, BY_LOGISTIC.draws)]

    def timed(work, pieces, jobs, tell):
        if isinstance(pieces[0], TwelveCell):
            return [work(pieces[-1])]
        return [work(cell) for cell in cells] + [outcome(cell) for cell in pieces[1:]]

    monkeypatch.setattr(module, "timed", timed)


def run(*words):
    return CliRunner().invoke(app, ["reproduce", *words])


def test_the_command_writes_text_and_figures(invented, one_trial, tmp_path):
    out = tmp_path / "dpdsyn.md"
    result = run("dpdsyn", "--quick", "--data", str(invented), "--out", str(out))
    assert result.exit_code == 0, result.stderr
    text = out.read_text()
    assert "    understudy reproduce dpdsyn --quick --data DIR --out FILE\n" in text
    assert [path.name for path in tmp_path.glob("*.svg")] == ["dpdsyn-figure-1.svg"]
    listed = json.loads(run("dpdsyn", "--quick", "--data", str(invented), "--json").stdout)
    assert {"what", "paper", "aim", "ours", "half", "met"} == {*listed[0]}


def test_without_tables_there_is_nothing_to_run():
    result = run("dpdsyn")
    assert result.exit_code == 2
    assert "give their folder with --data" in result.stderr


def test_twelve_columns_teach_something(data):
    cell = TwelveCell(TREE, 1.0, 0)
    assert min(run_twelve(cell, data).auc.values()) > 0.88


def test_a_trial_of_real_rows_beats_guessing(data):
    one = run_trial(Cell("br2000", REAL.name, 1.0, 0), data)
    assert one.drawn[Draw.ONCE].scores[Learner.SVM].accuracy > one.majority + 0.05
