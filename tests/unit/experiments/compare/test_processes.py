"""Processes: as many as asked for, and none that outlives its parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.comparisons import end_at_once, ill_by_age, planned
from understudy.errors import BadInput
from understudy.experiments.compare import compare as module
from understudy.experiments.compare.compare import compare
from understudy.experiments.compare.plan import REAL

PATIENCE = 60


@pytest.fixture
def data(tmp_path):
    return ill_by_age(tmp_path / "rows.csv")


# Programs that were started in the background are deaf to Ctrl-C, and so are theirs.
MAIN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from understudy.cli import main
main()
"""


def start(data, out, *more):
    command = [
        *(sys.executable, "-c", MAIN, "compare", str(data)),
        *("--target", "ill", "--methods", "independent", "--epsilon", "2,4,8"),
        *("--models", "logistic", "--seeds", "9", "--out", str(out), *more),
    ]
    return subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )


def wait_until(there):
    end = time.monotonic() + PATIENCE
    while not there() and time.monotonic() < end:
        time.sleep(0.05)
    assert there()


def cells(out):
    return {path.name for path in (out / "cells").glob("*.json")}


def running(pid):
    """Whether a process is there, and not only its name."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_several_processes_find_the_same_cells(data, tmp_path):
    plan = planned(data, methods=("independent",), epsilons=(8.0,))
    found = compare(plan, tmp_path / "out", jobs=2)
    assert {(line.method, line.repetitions) for line in found.lines} == {
        (REAL, 2),
        ("independent", 2),
    }
    with pytest.raises(BadInput, match="at least one"):
        compare(plan, tmp_path / "out", jobs=0)


def test_a_process_that_is_ended_is_told_kindly(data, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "run_cell", end_at_once)
    plan = planned(data, methods=("mst",), epsilons=(8.0,))
    with pytest.raises(BadInput, match="fewer --jobs"):
        compare(plan, tmp_path / "out", jobs=2)
    # Whichever of the first two was done before a process took the one that ends it.
    assert cells(tmp_path / "out") & {"real-rows-0.json", "mst-8-0.json"}


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads /proc")
def test_processes_end_with_their_parent(data, tmp_path):
    process = start(data, tmp_path / "out", "--jobs", "2")
    wait_until(lambda: cells(tmp_path / "out"))
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    # Started from another thread than the main one, too.
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        children += (task / "children").read_text().split()
    assert len({*children}) >= 2
    process.kill()
    process.communicate()
    wait_until(lambda: not any(running(child) for child in children))


@pytest.mark.parametrize("least", [0, 2])
def test_who_stops_it_keeps_what_is_done_and_soon_has_the_line_back(data, tmp_path, least):
    # Also while processes are only starting.
    process = start(data, tmp_path / "out", "--jobs", "2")
    wait_until((tmp_path / "out" / "plan.json").exists)
    wait_until(lambda: len(cells(tmp_path / "out")) >= least)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "the same command goes on" in said
    assert "Traceback" not in said
    assert not list((tmp_path / "out").rglob(".part-*"))


def test_who_is_killed_goes_on(data, tmp_path):
    # Really killed: what was written is whole, and the rest is run by the next.
    out = tmp_path / "out"
    process = start(data, out)
    wait_until(lambda: len(cells(out)) >= 3)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = {path.name: path.stat().st_mtime_ns for path in (out / "cells").glob("*.json")}
    assert 3 <= len(kept) < 36
    process = start(data, out)
    process.communicate(timeout=2 * PATIENCE)
    assert process.returncode == 0
    every = {path.name: path.stat().st_mtime_ns for path in (out / "cells").glob("*.json")}
    assert len(every) == 36
    assert kept.items() <= every.items()
