"""Comparisons: cells are run once, written down, and added up."""

import json
import os
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from understudy.cli import app
from understudy.errors import BadInput
from understudy.experiments.compare import cell as module
from understudy.experiments.compare import compare as compare_module
from understudy.experiments.compare.cell import Outcome, run_cell
from understudy.experiments.compare.compare import compare
from understudy.experiments.compare.plan import REAL, Cell, Plan
from understudy.experiments.compare.store import Store
from understudy.experiments.compare.summary import summed_up
from understudy.privacy.budget import Budget, epsilon_of_rho


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 400)
    ill = np.where(rng.random(400) < age / 120, "yes", "no")
    path = tmp_path / "rows.csv"
    path.write_text("age,ill\n" + "".join(f"{a},{b}\n" for a, b in zip(age, ill, strict=True)))
    return path


def planned(data, **changes):
    facts = {
        "data": str(data),
        "data_hash": "0",
        "target": "ill",
        "methods": ("independent", "mst"),
        "epsilons": (4.0, 8.0),
        "seeds": 2,
        "delta": 1e-5,
        "learners": ("logistic",),
        "schema": None,
        "text_encoding": "utf-8",
        "version": "0",
    }
    return Plan(**{**facts, **changes})


def outcome(cell, auc=0.7, failed=None):
    scores = {} if failed else {"logistic regression": {"ROC-AUC": auc, "log loss": None}}
    rho = "0" if cell.epsilon is None else str(Budget(cell.epsilon, 1e-5).rho)
    return Outcome(cell.method, cell.epsilon, cell.seed, scores, 1.0, rho, failed=failed)


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
    whole = module.synthesize

    def spy(train, **how):
        seen.append(train)
        return whole(train, **how)

    monkeypatch.setattr(module, "synthesize", spy)
    plan = planned(data)
    one = run_cell(plan, Cell("mst", 8.0, 0))
    assert one.failed is None
    assert set(one.scores) == {"logistic regression"}
    train, test = module._split(plan.data, "utf-8", 0)
    assert (train.num_rows, test.num_rows) == (280, 120)
    assert seen == [train]
    again, _ = module._split(plan.data, "utf-8", 1)
    assert again != train
    assert run_cell(plan, Cell(REAL, None, 0)).rho == "0"


def test_what_a_method_refuses_is_its_outcome(data):
    one = run_cell(planned(data, target="nothing"), Cell("mst", 8.0, 0))
    assert "nothing" in one.failed
    assert one.scores == {}


def test_a_target_that_is_not_there_is_refused_first(data, tmp_path):
    with pytest.raises(BadInput, match=r"There is no column 'il'\. Did you mean 'ill'"):
        compare(planned(data, target="il"), tmp_path / "out")
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
    plan, folder, told = planned(data), tmp_path / "out", []
    with pytest.raises(KeyboardInterrupt):
        compare(plan, folder)
    assert len(ran) == 4
    compare(plan, folder, tell=told.append)
    # Three were written down; the one that failed is tried again, and so is the interrupted one.
    assert told[0] == "2 of 10 cells are done already"
    assert len(ran) == 4 + 8
    assert "left" in told[1]
    assert "left" not in told[-1]
    before = len(ran)
    compare(plan, folder)
    assert len(ran) == before
    for path in [folder, *folder.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert json.loads((folder / "comparison.json").read_text())["internal"]
    assert all(json.loads(p.read_text())["internal"] for p in (folder / "cells").iterdir())


def test_a_folder_is_for_one_plan(data, tmp_path):
    Store(tmp_path / "out", planned(data))
    Store(tmp_path / "out", planned(data))
    with pytest.raises(BadInput, match="comparison of other things"):
        Store(tmp_path / "out", planned(data, data_hash="1"))
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "certificate.json").touch()
    with pytest.raises(BadInput, match="release folder"):
        Store(tmp_path / "release" / "out", planned(data))
    with pytest.raises(BadInput, match="cannot be used"):
        Store(tmp_path / "none" / "out", planned(data))


def test_half_a_file_is_run_again(data, tmp_path):
    store = Store(tmp_path / "out", planned(data))
    cell = planned(data).cells[1]
    store.keep(outcome(cell))
    assert set(store.done()) == {cell}
    (file,) = (tmp_path / "out" / "cells").iterdir()
    file.write_text(file.read_text()[:20])
    assert store.done() == {}


def test_repetitions_are_added_up_and_all_releases_cost_their_sum(data):
    plan = planned(data)
    outcomes = [outcome(cell, 0.6 + 0.1 * cell.seed) for cell in plan.cells]
    found = summed_up(plan, outcomes)
    line = found.of("mst", 4.0, "logistic regression", "ROC-AUC")
    assert (line.mean, line.least, line.most) == (pytest.approx(0.65), 0.6, 0.7)
    assert line.repetitions == 2
    assert found.releases == 8
    rho = 4 * (Budget(4.0, 1e-5).rho + Budget(8.0, 1e-5).rho)
    assert found.epsilon_of_all == pytest.approx(float(epsilon_of_rho(rho, 1e-5)))
    assert found.epsilon_of_all > 8
    assert found.main_score("logistic regression") == "ROC-AUC"


def test_several_processes_find_the_same_cells(data, tmp_path):
    plan = planned(data, methods=("independent",), epsilons=(8.0,))
    found = compare(plan, tmp_path / "out", jobs=2)
    assert {(line.method, line.repetitions) for line in found.lines} == {
        (REAL, 2),
        ("independent", 2),
    }
    with pytest.raises(BadInput, match="at least one"):
        compare(plan, tmp_path / "out", jobs=0)


def run(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)], env={"COLUMNS": "100"})


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


def test_who_is_killed_goes_on(data, tmp_path):
    # Really killed: what was written is whole, and the rest is run by the next.
    out = tmp_path / "out"
    command = [
        *(sys.executable, "-c", "from understudy.cli import main; main()", "compare", str(data)),
        *("--target", "ill", "--methods", "independent", "--epsilon", "2,4,8"),
        *("--models", "logistic", "--seeds", "3", "--out", str(out)),
    ]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    end = time.monotonic() + 60
    while len(list((out / "cells").glob("*.json"))) < 3 and time.monotonic() < end:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = {path.name: path.stat().st_mtime_ns for path in (out / "cells").glob("*.json")}
    assert 3 <= len(kept) < 12
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    cells = {path.name: path.stat().st_mtime_ns for path in (out / "cells").glob("*.json")}
    assert len(cells) == 12
    assert kept.items() <= cells.items()
