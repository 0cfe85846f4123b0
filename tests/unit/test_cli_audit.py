import json
import shlex
import sys

import pytest
from typer.testing import CliRunner

from understudy.cli import app
from understudy.privacy import ledger as ledger_module


def run(*arguments):
    return CliRunner().invoke(app, ["audit", *arguments], env={"COLUMNS": "80"})


def test_a_method_is_audited_beside_its_claim():
    done = run("independent", "--runs", "40", "--epsilon", "2")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["audited", "μ", "seen", "μ", "≥", "as", "ε", "ε", "ε", "≥"]
    for line, unit in zip(lines[1:4], ("record", "replace", "person"), strict=True):
        assert line.startswith(f"independent, {unit} ")
    assert all(line.endswith("stands") for line in lines[1:4])
    assert lines[4].startswith("Runs: 2 × 40. ")
    assert max(len(line) for line in lines[:4]) <= 80
    assert "independent, person (3 of 3)" in done.stderr


def test_json_is_all_that_is_printed():
    done = run("measure, a column, record", "--runs", "40", "--json")
    (one,) = json.loads(done.stdout)
    assert one["name"] == "measure, a column, record"
    assert one["epsilon"] == 4.0
    assert one["confidence"] == 0.95
    assert not one["broken"]
    assert done.stderr == ""


def test_one_run_is_a_smoke_test():
    done = run("mst", "--one-run", "--json")
    (one,) = json.loads(done.stdout)
    assert one["runs"].startswith("1: ")
    assert 0 <= one["epsilon_low"] < 4
    assert one["contradicted_by"] == []


def test_a_broken_claim_fails(monkeypatch):
    monkeypatch.setattr(
        ledger_module, "all_with_gaussian_noise", lambda arrays, *_: [a.copy() for a in arrays]
    )
    done = run("measure, a column, record", "--runs", "100", "--epsilon", "1")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[1].endswith("BROKEN")
    assert "record: its noise is smaller than was paid for." in done.stdout


def test_any_program_can_be_audited(tmp_path):
    file = tmp_path / "copy.py"
    file.write_text("import shutil, sys\nshutil.copy(*sys.argv[1:])\n")
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(file))} {{data}} {{out}}"
    done = run("--command", command, "--runs", "30", "--epsilon", "0.1")
    assert done.exit_code == 1, done.output
    assert "BROKEN" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Name a method to audit, or give --command"),
        (("mst", "--command", "x {data} {out}"), "Name a method to audit, or give --command"),
        (("mst", "--runs", "19"), "at least 20 runs"),
        (("mst", "--jobs", "0"), "one process"),
        (("mist",), "nothing to audit that is called 'mist'"),
        (("mist", "--one-run"), "mist"),
        (("mst", "--epsilon", "0"), "epsilon is 0.0"),
        (("mst", "--delta", "1"), "delta is 1.0"),
        (("--command", "x {data}"), "must name"),
        (("--command", "x {data} {out}", "--one-run"), "leave out --one-run"),
        (("--command", "x {data} {out}", "--runs", "100"), "could not contradict epsilon = 4"),
        (("mst", "--one-run", "--epsilon", "8"), "could not contradict epsilon = 8"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, said):
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stdout == ""
