"""The text of the results comes from trials, and says where an aim was missed."""

import json
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from understudy.cli import app
from understudy.experiments.privci import reproduce as module
from understudy.experiments.privci.aims import aims
from understudy.experiments.privci.arms import AIM, ONCE, PREFAIR, PRIVCI, REAL, SWEPT
from understudy.experiments.privci.document import Noiseless, document
from understudy.experiments.privci.found import Found
from understudy.experiments.privci.metrics import AUC, CMI, METRICS, Q
from understudy.experiments.privci.pictures import pictures
from understudy.experiments.privci.printed import TABLE_TWO
from understudy.experiments.privci.reproduce import QUICK, WHOLE, cells_of
from understudy.experiments.privci.tables import TABLES
from understudy.experiments.privci.trial import Cell, Outcome, run_trial

NONE = Noiseless({}, {})


def outcome(cell):
    """As the paper has it: PrivCI is better, but on Adult, and all are equally independent."""
    trial = cell.fold + cell.epsilon / 10
    better = 0.1 * (cell.arm != PREFAIR.name and cell.table != "adult")
    auc = 0.6 + trial / 100 + better * (1 + trial / 10) + 0.05 * (cell.arm == AIM.name)
    q = 100 * auc if cell.arm in {arm.name for arm in SWEPT} else None
    model = None if cell.arm == REAL else 0.1 if cell.arm == "MST" else 1e-16
    return Outcome(cell, q, 0.1, 0.1, auc, 0.01, 0.2, model, 1.0, (("a", "b"),))


@pytest.fixture(scope="module")
def found():
    return Found([outcome(cell) for cell in cells_of(WHOLE)])


def test_all_of_table_two_is_there():
    assert [*TABLE_TWO] == [metric.name for metric in METRICS]
    names = [table.name for table in TABLES]
    assert all([*row] == names for row in TABLE_TWO.values())
    ticks = {metric: [one.better for one in row.values()] for metric, row in TABLE_TWO.items()}
    assert ticks == {
        "q": [False, True, True, True, True],
        "KL": [False, True, True, True, True],
        "TV": [False, True, True, False, True],
        "AUC": [False, True, True, True, True],
        "CMI": [False] * 5,
        "EO": [False, False, True, False, True],
    }
    assert TABLE_TWO["AUC"]["compas"].difference == "+0.0885"


def test_pairs_are_of_the_same_fold_and_epsilon(found):
    compared = found.compared("law", AUC)
    assert compared.difference.repetitions == 25
    assert compared.difference.value == pytest.approx(0.1 * (1 + (2 + 0.172) / 10))
    assert compared.better
    assert not compared.worse
    assert not found.compared("adult", AUC).better
    assert found.compared("law", CMI).p_value == 1
    few = Found([one for one in found.outcomes if one.cell.fold == 0 and one.cell.epsilon == 1])
    assert not few.compared("law", AUC).enough
    assert Found([]).compared("law", AUC) is None
    assert found.same_trees("law") == (25, 25)


def test_aims_are_reached_where_figures_are_as_printed(found):
    assert all(aim.met for aim in aims(found))
    assert len(aims(found)) == 3 * len(TABLES) + 2
    even = [
        replace(one, auc=0.6 + 0.001 * one.cell.fold, q=1.0 if one.q else None)
        for one in found.outcomes
    ]
    missed = {aim.what for aim in aims(Found(even)) if not aim.met}
    assert "law: AUC, PrivCI − PreFair" in missed
    assert "law: q, PrivCI − PreFair" in missed
    assert "adult: AUC, PrivCI − PreFair" not in missed
    assert any("AIM" in what for what in missed)
    worse = [replace(one, model_cmi=1e-6) for one in found.outcomes]
    assert any("largest CMI" in aim.what and not aim.met for aim in aims(Found(worse)))


def test_where_privci_is_worse_there_is_a_difference(found):
    better = [
        replace(one, auc=one.auc + 0.1 + 0.01 * one.cell.fold) if one.cell.arm == "PreFair" else one
        for one in found.outcomes
    ]
    compared = Found(better).compared("adult", AUC)
    assert compared.worse
    assert not compared.better
    assert not {aim.what: aim.met for aim in aims(Found(better))}["adult: AUC, PrivCI − PreFair"]


def test_few_pairs_decide_nothing(found):
    few = Found([one for one in found.outcomes if one.cell.fold < 2 and one.cell.epsilon == 1])
    assert all(aim.met is None for aim in aims(few) if "−" in aim.what)
    text = document(few, NONE, command="understudy …", epsilons=(1.0,), figures={})
    assert "this is a quick run" in text


def test_the_text_has_every_table_method_and_figure(found):
    drawn = pictures(found, WHOLE.epsilons)
    assert [*drawn] == [1, 2, 3, 4, 5]
    text = document(found, NONE, command="understudy …", epsilons=WHOLE.epsilons, figures=drawn)
    assert "{" not in text
    assert "this is a quick run" not in text
    assert "**missed**" not in text
    for arm in (*SWEPT, *ONCE):
        assert f"| {arm.name} |" in text
    for table in TABLES:
        assert f"### {table.name}: {table.independence}" in text
        for name in table.columns:
            assert f"| {name} | " in text
    for row in TABLE_TWO.values():
        for printed in row.values():
            assert f"| {printed.difference} | {printed.p_value} |" in text
    worse = Found([replace(one, auc=0.5) for one in found.outcomes])
    missed = document(worse, NONE, command="", epsilons=WHOLE.epsilons, figures={})
    assert "**missed**" in missed


def test_panels_are_pictures_that_need_no_page(found):
    for about, picture in pictures(found, WHOLE.epsilons).values():
        assert picture.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
        assert picture.count("<style>") == 1
        assert about.split(" against")[0] in picture
    assert pictures(Found([]), WHOLE.epsilons) == {}


def test_the_whole_run_is_five_folds_at_five_epsilons():
    whole, quick = list(cells_of(WHOLE)), list(cells_of(QUICK))
    assert len({*whole}) == len(whole) == 5 * 5 * (1 + 5 * len(SWEPT) + len(ONCE))
    assert {cell.epsilon for cell in whole} == {0.1, 0.5, 1, 2, 5}
    assert len(quick) < len(whole) / 6


@pytest.mark.parametrize("arm", [*SWEPT, *ONCE], ids=lambda arm: arm.name)
def test_constrained_models_keep_the_independence(invented, arm):
    one = run_trial(Cell("compas", arm.name, 1.0, 0), invented)
    assert (one.q is None) == (not arm.tree)
    assert 0 <= one.auc <= 1
    assert one.tv > 0
    assert one.kl > 0
    assert one.pairs
    if not arm.free:
        assert one.model_cmi <= 1e-9


def test_real_rows_are_themselves(invented):
    one = run_trial(Cell("german", REAL, 1.0, 1), invented)
    assert (one.kl, one.tv, one.q, one.model_cmi) == (0, 0, None, None)
    assert one.auc > 0.7


def run(*words):
    return CliRunner().invoke(app, ["reproduce", *words])


def test_the_command_writes_text_and_figures(tmp_path, monkeypatch, invented):
    few = [Cell("compas", arm.name, 1.0, 0) for arm in (PRIVCI, PREFAIR)]
    monkeypatch.setattr(module, "cells_of", lambda *_: few)
    out = tmp_path / "privci.md"
    result = run("privci", "--quick", "--data", str(invented), "--out", str(out))
    assert result.exit_code == 0, result.output
    text = out.read_text()
    assert "    understudy reproduce privci --quick --data DIR --out FILE\n" in text
    named = re.findall(r"\((privci-figure-\d\.svg)\)", text)
    assert {path.name for path in tmp_path.iterdir()} == {"privci.md", *named}
    # Groups of 80 invented rows are too small for equalized odds.
    assert named == [f"privci-figure-{number}.svg" for number in range(1, 5)]
    told = json.loads(run("privci", "--quick", "--data", str(invented), "--json").stdout)
    assert {"what", "paper", "aim", "ours", "half", "met"} == {*told[0]}


def test_without_tables_there_is_nothing_to_run():
    result = run("privci")
    assert result.exit_code == 2
    assert "give their folder with --data" in result.stderr


def test_a_tree_alone_has_a_score(found):
    assert found.mean("law", AIM.name, 1.0, Q) is None
    assert found.mean("law", PRIVCI.name, 1.0, Q).repetitions == 5
