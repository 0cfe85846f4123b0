import json
import re
import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from typer.testing import CliRunner

from understudy import cli
from understudy.encode import Encoding
from understudy.errors import BadInput, BudgetSpent, CheckFailed, RowsAreSealed
from understudy.experiments.demo import demo_schema, demo_table
from understudy.privacy.budget import Budget
from understudy.privacy.folder import publish
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger_file import create_ledger
from understudy.privacy.noise import SeededForTests
from understudy.schema import Schema
from understudy.schema_files import read_schema

HEAVY = ("numpy", "pyarrow", "pandas", "ibis", "duckdb", "rich", "opendp", "dp_accounting")


def run(*arguments, **environment):
    return CliRunner().invoke(cli.app, list(arguments), env=environment)


def test_help_lists_the_demo_with_an_example():
    result = run("--help")
    assert result.exit_code == 0
    assert re.search(r"Commands:\s+demo +Show", result.stdout)
    assert re.search(r"Examples:\n +understudy demo", result.stdout)


def test_help_of_the_demo_has_examples_on_lines_of_their_own():
    result = run("demo", "--help")
    assert result.exit_code == 0
    assert re.search(r"Examples:\n +understudy demo\n +understudy demo --out", result.stdout)


def test_help_loads_nothing_heavy():
    script = f"""
import sys
from understudy.cli import main
sys.argv = ["understudy", "--help"]
try:
    main()
except SystemExit as end:
    assert end.code == 0, end.code
loaded = [name for name in {HEAVY} if name in sys.modules]
assert not loaded, loaded
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "understudy demo" in done.stdout


def test_version():
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout == f"understudy {version('understudy')}\n"


def test_without_a_command_it_shows_help():
    assert "Commands:" in run().output


def test_unknown_command_is_bad_input():
    assert run("rehearse").exit_code == 2


@pytest.mark.parametrize("width", ["80", "100"])
def test_demo_shows_schema_codes_and_what_comes_next(width):
    result = run("demo", "--rows", "2000", COLUMNS=width)
    assert result.exit_code == 0
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert max(len(line) for line in lines) <= int(width)
    for name in demo_schema().names:
        assert name in result.stdout
    assert "heart failure" in result.stdout
    assert "exactly 0" in result.stdout
    assert "not on" in result.stdout
    assert "What epsilon 1 bought" in result.stdout
    assert "Noisy counts of" in result.stdout
    assert "…" not in result.stdout, "a cut-off name"


@pytest.mark.parametrize("rows", ["1", "7"])
def test_demo_of_a_tiny_table(rows):
    assert run("demo", "--rows", rows).exit_code == 0


def test_demo_as_json_is_nothing_but_json():
    result = run("demo", "--rows", "2000", "--seed", "5", "--json")
    assert result.exit_code == 0
    assert result.stderr == ""
    content = json.loads(result.stdout)
    assert content["rows"] == 2000
    assert content["seed"] == 5
    assert [line["column"] for line in content["schema"]] == list(demo_schema().names)
    assert {line["what"] for line in content["untidy"]} == {
        "missing",
        "not on the list",
        "blanks around it",
        "out of bounds",
    }


def test_demo_examples_are_cells_of_the_table():
    encoding = Encoding(demo_schema())
    codes = encoding.codes(demo_table(2000))
    content = json.loads(run("demo", "--rows", "2000", "--json").stdout)
    assert [line["column"] for line in content["record"]] == list(codes)
    assert all(line["what"] is None for line in content["record"])
    for line in content["record"] + content["untidy"]:
        name = line["column"]
        assert line["code"] == codes[name][line["row"]]
        assert line["cell"] == encoding.cells[name].describe(line["code"])
        alone = Encoding(Schema((encoding.schema[name],)))
        assert alone.codes(pa.table({name: [line["back"]]}))[name] == line["code"]


def test_demo_writes_files_to_play_with(tmp_path):
    folder = tmp_path / "new" / "play"
    result = run("demo", "--rows", "2000", "--out", str(folder), "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["rows"] == 2000
    assert "Wrote patients.csv, schema.toml and answers" in result.stderr
    written = ["answers", "patients.csv", "schema.toml"]
    assert sorted(path.name for path in folder.iterdir()) == written
    assert read_schema(folder / "schema.toml") == demo_schema()


def test_written_csv_encodes_as_the_table_does(tmp_path):
    run("demo", "--rows", "2000", "--out", str(tmp_path))
    as_text = csv.ConvertOptions(
        column_types=dict.fromkeys(demo_schema().names, pa.string()), strings_can_be_null=True
    )
    written = csv.read_csv(tmp_path / "patients.csv", convert_options=as_text)
    encoding = Encoding(demo_schema())
    expected = encoding.codes(demo_table(2000))
    for name, codes in encoding.codes(written).items():
        np.testing.assert_array_equal(codes, expected[name], err_msg=name)


@pytest.mark.parametrize("kept", ["patients.csv", "schema.toml", "answers"])
def test_demo_overwrites_nothing(kept, tmp_path):
    (tmp_path / kept).write_text("mine")
    result = run("demo", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert f"already holds {kept}" in result.stderr
    assert "another folder" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == [kept]
    assert (tmp_path / kept).read_text() == "mine"


def test_second_demo_into_the_same_folder_is_refused(tmp_path):
    assert run("demo", "--rows", "10", "--out", str(tmp_path)).exit_code == 0
    again = run("demo", "--rows", "10", "--out", str(tmp_path))
    assert again.exit_code == 2
    assert "patients.csv and schema.toml and answers" in again.stderr
    assert "Give --out another folder" in again.stderr


def test_out_must_be_a_folder(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    result = run("demo", "--out", str(file))
    assert result.exit_code == 2
    assert "is not a folder" in result.stderr


def test_folder_that_cannot_be_made_is_bad_input(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    result = run("demo", "--rows", "10", "--out", str(file / "play"))
    assert result.exit_code == 2
    assert re.match(
        r"Error: .* cannot be written: .+\. Give --out another folder\.\n", result.stderr
    )


@pytest.mark.parametrize("option", [("--rows", "0"), ("--seed", "-1"), ("--rows", "many")])
def test_impossible_numbers_are_bad_input(option):
    result = run("demo", *option)
    assert result.exit_code == 2
    assert "Error: " in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("error", "code"), [(CheckFailed, 1), (BadInput, 2), (RowsAreSealed, 3), (BudgetSpent, 3)]
)
def test_our_errors_are_one_line_and_an_exit_code(error, code, monkeypatch):
    def fail(*arguments, **options):
        raise error("Nothing\n  doing.")

    monkeypatch.setattr("understudy.experiments.demo.demo_table", fail)
    result = run("demo")
    assert result.exit_code == code
    assert result.stderr == "Error: Nothing doing.\n"


def spend(file, table, epsilon=1.0, **options):
    with Ledger.open(table, demo_schema(), Budget(epsilon, 1e-9), file=file, **options) as ledger:
        ledger.measure([("age",)], rho=ledger.rest())
        ledger.close()
        ledger.end()


def test_a_budget_is_made_and_shown_by_release(tmp_path):
    file = tmp_path / "table.ledger"
    made = run("budget", str(file), "--create", "--epsilon", "4", "--delta", "1e-8")
    assert made.exit_code == 0, made.stderr
    assert "epsilon 4, delta 1e-08" in made.stdout
    assert "No release so far" in made.stdout
    for _ in range(2):
        spend(file, demo_table(100))
    shown = run("budget", str(file), COLUMNS="100")
    assert shown.exit_code == 0
    assert shown.stdout.count("complete") == 2
    assert "one record, added or removed" in " ".join(shown.stdout.split())
    page = json.loads(run("budget", str(file), "--json").stdout)
    share = float(Budget(1.0, 1e-9).rho / Budget(4.0, 1e-8).rho)
    assert [line["requests"] for line in page["releases"]] == [1, 1]
    assert page["spent"] == pytest.approx(2 * share)
    assert page["left"] == pytest.approx(1 - 2 * share)
    with pytest.raises(BudgetSpent, match="of its total left"):
        spend(file, demo_table(100), epsilon=4.0)
    # What the page says is enough for one more release is enough.
    spend(file, demo_table(100), epsilon=page["next_release"]["epsilon"])
    page = json.loads(run("budget", str(file), "--json").stdout)
    assert 0 < page["left"] < 0.02


def test_a_spent_budget_says_so(tmp_path):
    file = tmp_path / "table.ledger"
    run("budget", str(file), "--create", "--epsilon", "1", "--delta", "1e-8")
    with Ledger.open(
        demo_table(10), demo_schema(), Budget(0.5, 1e-9), file=file, allow_non_private=True
    ) as ledger:
        ledger.reveal("to see what becomes of the total")
    shown = run("budget", str(file), COLUMNS="100")
    assert "rows were used as they are" in shown.stdout
    assert "nothing is left" in shown.stdout
    assert "not finished" in shown.stdout
    with pytest.raises(BudgetSpent):
        spend(file, demo_table(10), epsilon=0.1)


def test_a_missing_ledger_shows_the_command_that_makes_one(tmp_path):
    result = run("budget", str(tmp_path / "table.ledger"))
    assert result.exit_code == 2
    assert "table.ledger --create --epsilon 4 --delta 1e-8" in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--create",),
        ("--create", "--epsilon", "1"),
        ("--epsilon", "1"),
        ("--create", "--epsilon", "0", "--delta", "1e-9"),
        ("--create", "--epsilon", "1", "--delta", "2"),
    ],
)
def test_a_budget_without_sense_is_bad_input(options, tmp_path):
    file = tmp_path / "table.ledger"
    result = run("budget", str(file), *options)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert not file.exists()


def test_a_changed_ledger_is_found(tmp_path):
    file = tmp_path / "table.ledger"
    run("budget", str(file), "--create", "--epsilon", "4", "--delta", "1e-8")
    file.write_bytes(file.read_bytes().replace(b'"epsilon":4', b'"epsilon":9'))
    result = run("budget", str(file))
    assert result.exit_code == 1
    assert "was changed: line 1" in result.stderr


def test_answers_verify_until_something_is_changed(tmp_path):
    run("demo", "--rows", "50", "--out", str(tmp_path))
    folder = tmp_path / "answers"
    result = run("verify", str(folder))
    assert result.exit_code == 0, result.stdout
    assert "epsilon 1 at delta 1e-09, for one person (patient_id)" in result.stdout
    assert result.stdout.endswith("All checks passed.\n")
    assert json.loads(run("verify", str(folder), "--json").stdout)["passed"]
    file = folder / "measurements.json"
    file.write_bytes(file.read_bytes() + b" ")
    result = run("verify", str(folder))
    assert result.exit_code == 1
    assert "FAILED  measurements.json is as it was released: changed" in result.stdout
    assert "Do not rely" in result.stdout
    assert not json.loads(run("verify", str(folder), "--json").stdout)["passed"]


def test_a_release_is_looked_up_in_the_ledger_that_paid_for_it(tmp_path):
    ours, other = tmp_path / "table.ledger", tmp_path / "other.ledger"
    for file in (ours, other):
        create_ledger(file, Budget(4.0, 1e-8))
    with Ledger.open(demo_table(50), demo_schema(), Budget(1.0, 1e-9), file=ours) as ledger:
        ledger.measure([("age",)], rho=ledger.rest())
        publish(tmp_path / "out", {"a.txt": b"a"}, ledger.close())
        ledger.end()
    found = run("verify", str(tmp_path / "out"), "--ledger", str(ours))
    assert found.exit_code == 0, found.stdout
    assert "ok      the ledger holds its line" in found.stdout
    missed = run("verify", str(tmp_path / "out"), "--ledger", str(other))
    assert missed.exit_code == 1
    assert "FAILED  the ledger holds its line" in missed.stdout
    # A file that was cut behind the release says so, too.
    lines = ours.read_bytes().splitlines(keepends=True)
    ours.write_bytes(b"".join(lines[:2]))
    assert run("verify", str(tmp_path / "out"), "--ledger", str(ours)).exit_code == 1


def test_what_is_not_private_says_so_though_all_checks_pass(tmp_path):
    source = SeededForTests(1)
    with Ledger.open(demo_table(50), demo_schema(), Budget(1.0, 1e-9), source=source) as ledger:
        publish(tmp_path / "out", {}, ledger.close())
    result = run("verify", str(tmp_path / "out"))
    assert result.exit_code == 0
    assert result.stdout.endswith("All checks passed, but it is NOT PRIVATE.\n")


def test_verify_needs_a_release_and_a_readable_key(tmp_path):
    assert run("verify", str(tmp_path)).exit_code == 2
    result = run("verify", str(tmp_path), "--key", str(tmp_path / "no.pem"))
    assert result.exit_code == 2
    assert "no.pem cannot be read" in result.stderr


def test_main_runs_the_app(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["understudy", "--version"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("understudy ")
