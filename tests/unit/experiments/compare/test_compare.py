"""Comparisons: cells are run once, written down, and added up."""

import json
import stat

import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.comparisons import ill_by_age, outcome, planned, write_rows
from understudy.cli import app
from understudy.errors import BadInput, PrivacyRefused
from understudy.experiments.compare import cell as cell_module
from understudy.experiments.compare import compare as compare_module
from understudy.experiments.compare.cell import run_cell
from understudy.experiments.compare.compare import compare
from understudy.experiments.compare.ground import ground_of
from understudy.experiments.compare.plan import REAL, Cell


@pytest.fixture
def data(tmp_path):
    return ill_by_age(tmp_path / "rows.csv")


def run(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)], env={"COLUMNS": "100"})


def test_each_method_meets_each_epsilon_on_each_split(data):
    cells = planned(data).cells
    assert len(cells) == len(set(cells)) == 2 * (1 + 2 * 2)
    assert [cell.name for cell in cells[:3]] == ["real-rows-0", "independent-4-0", "mst-4-0"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"methods": ("mist",)}, "mist"),
        ({"methods": ()}, "at least one method"),
        ({"methods": ("mst", "mst")}, "mst came twice"),
        ({"epsilons": (0.0,)}, "epsilon is 0.0"),
        ({"epsilons": ()}, "at least one epsilon"),
        ({"learners": ("oracle",)}, "oracle"),
        ({"seeds": 0}, "between 1 and 100"),
        ({"delta": 2.0}, "delta is 2.0"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_work(data, changes, said):
    with pytest.raises(BadInput, match=said):
        planned(data, **changes)


def test_a_cell_is_tested_on_rows_it_was_not_made_from(data, monkeypatch):
    seen = []
    whole = cell_module.synthesize

    def spy(train, **how):
        seen.append(train)
        return whole(train, **how)

    monkeypatch.setattr(cell_module, "synthesize", spy)
    plan = planned(data)
    one = run_cell(plan, Cell("mst", 8.0, 0))
    assert one.failed is None
    assert set(one.scores) == {"logistic regression"}
    train, test = ground_of(plan).split(0)
    assert train.num_rows + test.num_rows == 400
    assert seen == [train]
    real = run_cell(plan, Cell(REAL, None, 0))
    assert real.rho == "0"
    assert real.scores.keys() == one.scores.keys()


@pytest.mark.parametrize("values", [2, 15, 25])
def test_releases_and_real_rows_have_the_same_scores(tmp_path, values):
    # Numbers: few of them are classes, more are predicted as numbers, on both sides alike.
    rng = np.random.default_rng(0)
    ill = rng.integers(0, values, 600)
    x = (ill + rng.normal(0, 1, 600)).round(1)
    plan = planned(write_rows(tmp_path / "rows.csv", {"x": x, "ill": ill}))
    real, ours = (run_cell(plan, cell) for cell in plan.cells[:2])
    (real_scores,), (our_scores,) = real.scores.values(), ours.scores.values()
    assert real_scores.keys() == our_scores.keys() - {"ΔMSE (%)"}
    assert ("R²" in real_scores) == (values > 20)


def test_a_model_without_a_score_says_why(tmp_path):
    # Of one rare class the test rows of some splits have none.
    ill = ["yes"] * 2 + ["no"] * 198
    data = write_rows(tmp_path / "rows.csv", {"x": np.arange(200), "ill": ill})
    plan = planned(data, seeds=9)
    outcomes = [run_cell(plan, cell) for cell in plan.cells if cell.method == REAL]
    lacking = [one for one in outcomes if one.lacking]
    assert lacking
    assert lacking[0].lacking == {
        "logistic regression": "the test rows hold one class only, or none"
    }


def test_a_table_that_no_method_can_take_is_refused_first(data, tmp_path):
    with pytest.raises(BadInput, match=r"There is no column 'il'\. Did you mean 'ill'"):
        compare(planned(data, target="il"), tmp_path / "out")
    with pytest.raises(BadInput, match="height"):
        compare(planned(data, schema="[columns.height]\n"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_who_stops_it_is_told_how_to_go_on(data, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(compare_module, "run_cell", stop)
    done = run(data, "--target", "ill", "--out", tmp_path / "out")
    assert done.exit_code == 130
    assert "the same command goes on" in done.stderr


def test_finished_cells_are_not_run_again(data, tmp_path, monkeypatch):
    ran = []

    def run(plan, cell):
        ran.append(cell)
        if len(ran) == 4:
            raise KeyboardInterrupt
        return outcome(cell, failed="no luck" if len(ran) == 2 else None)

    monkeypatch.setattr(compare_module, "run_cell", run)
    folder, said = tmp_path / "out", []
    with pytest.raises(KeyboardInterrupt):
        compare(planned(data), folder)
    assert len(ran) == 4
    compare(planned(data), folder, tell=said.append)
    # Three were written down; the one that failed is tried again, and so is the interrupted one.
    assert said[1] == "2 of 10 cells are done already"
    assert len(ran) == 4 + 8
    assert "left" in said[2]
    assert "left" not in said[-1]
    before = len(ran)
    compare(planned(data), folder)
    assert len(ran) == before
    for path in [folder, *folder.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert json.loads((folder / "comparison.json").read_text())["internal"]
    assert all(json.loads(p.read_text())["internal"] for p in (folder / "cells").iterdir())


def test_the_command_prints_a_table_and_writes_a_page(data, tmp_path):
    out = tmp_path / "out"
    usual = (data, "--target", "ill", "--methods", "mst", "--models", "logistic", "--seeds", 1)
    done = run(*usual, "--epsilon", "4,8", "--out", out)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("Comparison: INTERNAL")
    assert "Publishing all 2 releases would cost" in done.stdout
    assert "3 of 3 cells" in done.stderr
    assert (out / "comparison.html").exists()
    again = run(*usual, "--epsilon", "4,8", "--out", out, "--json")
    assert json.loads(again.stdout)["releases"] == 2
    assert run(*usual, "--epsilon", "x").exit_code == 2
    assert run(tmp_path / "no.csv", "--target", "ill").exit_code == 2


@pytest.mark.parametrize(("error", "code"), [(BadInput, 2), (PrivacyRefused, 3)])
def test_where_nothing_comes_out_the_command_says_so(data, tmp_path, monkeypatch, error, code):
    def refuse(*_, **__):
        raise error("not on this table")

    monkeypatch.setattr(cell_module, "synthesize", refuse)
    out = tmp_path / "out"
    done = run(data, "--target", "ill", "--models", "logistic", "--seeds", 2, "--out", out)
    assert done.exit_code == code
    assert "No release came out" in done.stderr
    assert done.stdout.count("not on this table") == 1
    assert "real rows" in (out / "comparison.html").read_text()


def test_facts_read_off_the_data_are_refused_for_privacy_once(data, tmp_path):
    schema = tmp_path / "schema.toml"
    schema.write_text(
        '[columns.age]\nkind = "integer"\nsource = "data"\nbounds = [18, 90]\n[columns.ill]\n'
    )
    out = tmp_path / "out"
    done = run(data, "--target", "ill", "--schema", schema, "--out", out)
    assert done.exit_code == 3
    assert not out.exists()
