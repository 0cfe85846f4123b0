"""Each planted bug makes the test fail that is there to catch it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from planted.bugs import BUGS, LATER, table

ROOT = Path(__file__).parents[2]
BATTERY = (
    "σ not multiplied by √m",
    "√2 forgotten in replace-one",
    "Δ=O(1/n) for χ²",
    "squared-L2 score",
    "exact n used",
    "exact Σw",
    "percentile threshold from data",
    "quantile bins from data",
    "per-column standardisation",
    "column shuffle",
    "noise reused across marginals",
    "noise drawn twice but charged once",
    "clipping after averaging",
    "batch divided by |B|",
    "shuffled batches",
    "clip norm ignoring bias",
    "EM with monotone factor",
    "ρ→ε with wrong log",
    "MI bits/nats",
    "ε split but δ not",
    "retry loop on failure re-using budget",
    "cached measurement after budget reset",
    "unseen category dropped",
    "float noise on unrounded sums",
    "weights rounded up",
    "γ tuned on data",
    "LID α exponent",
)
"""The bugs that every program of this kind must be held against."""
BEGIN, END = "<!-- planted bugs: begin -->\n", "<!-- planted bugs: end -->"
FAILED = re.compile(r"^(AssertionError|Failed: DID NOT RAISE)", re.MULTILINE)


def run_planted(*options):
    """By bug, how its test ended and what it said."""
    environment = {
        name: value
        for name, value in os.environ.items()
        # Neither coverage nor workers: they take longer to load than most tests take.
        if not name.startswith(("COV_", "COVERAGE_", "PYTEST_"))
    }
    environment |= {"PYTHONPATH": f"{ROOT / 'tests'}{os.pathsep}{ROOT / 'src'}"}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment |= {"OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-m", "planted.runs", *options],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.slow
def test_without_a_bug_none_fails():
    # They run among the others, too; here as they do with a bug.
    assert run_planted("--none")["none"]["code"] == 0


def test_each_is_caught():
    ends = run_planted()
    # 0 were a test that misses the bug; 4 and 5 one that is not there or is slow.
    wrong = {name: end["said"] for name, end in ends.items() if end["code"] != 1}
    # Failed for what it says, and not because what was planted cannot run.
    wrong |= {name: end["said"] for name, end in ends.items() if not FAILED.search(end["said"])}
    assert not wrong
    assert list(ends) == [bug.name for bug in BUGS]


def test_names_are_unique():
    names = [*(bug.name for bug in BUGS), *LATER]
    assert len(set(names)) == len(names)


def test_every_bug_of_the_battery_is_planted_or_waits_for_its_part():
    assert len(set(BATTERY)) == len(BATTERY) == 27
    assert set(LATER) <= set(BATTERY) <= {bug.name for bug in BUGS} | set(LATER)
    assert len(BUGS) >= 25


def test_the_list_says_what_is_wrong_in_one_line():
    for bug in BUGS:
        assert re.fullmatch(r"[A-Z].*\.", bug.wrong), bug.name
    rows = table().splitlines()
    # Two bars that end a row, two between its three columns; others are escaped.
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 4 for row in rows[: len(BUGS) + 2])


def test_the_page_on_audits_shows_the_list():
    page = ROOT / "docs" / "audit.md"
    if not page.exists():
        pytest.skip("docs/audit.md is not written yet")
    shown = page.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert shown.strip() == table(), "paste what `python tests/planted/bugs.py` prints"
