"""How far steps have come, and how long they still take."""

import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from understudy.column import Column, Kind
from understudy.pipeline import synthesize
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.steps_told import StepsTold, WorkDone, telling, worked, worth_telling
from understudy.progress import TimeLeft, told_steps
from understudy.schema import Schema


def test_a_tenth_after_the_other_is_told_of_many_steps():
    assert [step for step in range(100) if worth_telling(step, 100)] == [*range(10, 100, 10)]
    assert not any(worth_telling(step, 30) for step in range(30))


def test_time_left_follows_from_the_steps_before():
    times = iter([100.0, 110.0, 111.0, 400.0, 401.0, 401.2])
    left = TimeLeft(lambda: next(times))
    said = [left.told(StepsTold("Training", done, 100)) for done in (10, 20, 90, 10, 20, 99)]
    assert said[0] == "Training: 10 of 100 steps"
    assert said[1] == "Training: 20 of 100 steps, about 80 s left"
    assert said[2] == "Training: 90 of 100 steps, about 1 s left"
    assert said[3] == "Training: 10 of 100 steps"  # another run
    assert said[4].endswith("about 8 s left")
    assert said[5] == "Training: 99 of 100 steps"


@pytest.mark.parametrize("seconds", [90, 3000])
def test_long_times_are_told_in_minutes(seconds):
    times = iter([0.0, float(seconds)])
    left = TimeLeft(lambda: next(times))
    left.told(StepsTold("Training", 10, 30))
    assert f"about {round(seconds / 60)} min left" in left.told(StepsTold("Training", 20, 30))


def test_no_time_gets_into_what_is_written_down(capsys):
    with told_steps() as tell:
        for done in range(10, 100, 10):
            tell(StepsTold("Training", done, 100))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Training: 10 of 100 steps …"
    assert not any("left" in line for line in lines)


# --- work of nobody knows how many steps ---------------------------------------------------------


def test_work_is_told_whenever_enough_was_done_and_never_by_the_clock():
    said = []
    with telling(said.append):
        for _ in range(2000):
            worked("Steps", 3, 1.0)
    assert said == ["Steps: 2,100 so far", "Steps: 4,200 so far"]
    assert all(isinstance(one, WorkDone) for one in said)


def test_kinds_of_work_share_the_rhythm_and_have_counts_of_their_own():
    said = []
    with telling(said.append):
        for _ in range(700):
            worked("Few", 1, 0.1)
            worked("Many", 10, 1.0)
    assert said == ["Many: 6,370 so far"]


def test_nothing_is_told_outside():
    said = []
    with telling(said.append), telling(None):
        worked("Steps", 1, 1e9)
    worked("Steps", 1, 1e9)
    assert said == []


def test_a_terminal_shows_the_last_of_it_and_a_log_keeps_every_line(capsys):
    with told_steps() as tell:
        tell(WorkDone("Steps: 2,100 so far"))
    assert capsys.readouterr().err == "Steps: 2,100 so far …\n"


def wide(rows, columns=20):
    rng = np.random.default_rng(0)
    shared = rng.integers(0, 3, rows)
    codes = {f"c{k}": (shared + rng.integers(0, 3, rows)) % 5 for k in range(columns)}
    return pa.table(codes)


@pytest.mark.parametrize("method", ["aim", "mwem"])
def test_methods_with_many_rounds_tell_how_far_they_have_come(method):
    said = []
    data = wide(2000)
    schema = Schema(
        tuple(
            Column(name=n, kind=Kind.INTEGER, bounds=(0, 4), null=False) for n in data.schema.names
        )
    )
    synthesize(data, epsilon=1.0, schema=schema, mechanism=method, rows=10, tell=said.append)
    kinds = {str(one).split(":")[0] for one in said if isinstance(one, WorkDone)}
    assert len(said) > 5
    assert kinds <= {
        "Candidates whose size was checked",
        "Candidates that the model has predicted",
        "Candidates that were scored",
        "Passes over models being fitted",
        "Marginals that were measured",
    }
    assert kinds


def test_no_progress_is_told_of_rows_that_are_read():
    """The number of rows decides on no line: a hundred times as many are told alike."""
    schema = Schema((Column(name="c0", kind=Kind.INTEGER, bounds=(0, 4), null=False),))
    told = []
    for rows in (100, 10_000):
        said = []
        with telling(said.append), Ledger.open(wide(rows, 1), schema, Budget(1.0, 1e-9)) as ledger:
            for _ in range(600):
                ledger.measure([("c0",)], rho=ledger.rest() / 1000)
        told.append(said)
    assert told[0] == told[1]
    assert len(told[0]) > 1


@pytest.mark.slow
@pytest.mark.parametrize("method", ["tailored", "mwem"])
def test_no_long_silence_on_a_wide_table(method, tmp_path):
    """48 columns and 20,000 rows: of the runs looked at, the longest silence was 2.5 s."""
    path = tmp_path / "wide.csv"
    csv.write_csv(wide(20_000, 48), path)
    command = [
        *(sys.executable, "-c", "from understudy.cli import main; main()"),
        *("synthesize", str(path), "--target", "c0", "--epsilon", "1", "--method", method),
        *("--out", str(tmp_path / "out")),
    ]
    times = []
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as running:
        assert running.stderr is not None
        times.extend(time.monotonic() for _ in running.stderr)
    times.append(time.monotonic())
    assert running.returncode == 0
    assert len(times) > 5
    assert max(np.diff(times)) < 6
