"""The command line: what it prints where, its exit codes, and what it leaves behind."""

import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding as KeyEncoding,
)
from cryptography.hazmat.primitives.serialization import (
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from pyarrow import csv
from typer.testing import CliRunner

from understudy import cli, load
from understudy.column import Role, Source
from understudy.encode import Encoding
from understudy.errors import BadInput, BudgetSpent, CheckFailed, RowsAreSealed
from understudy.experiments.demo import demo_schema, demo_table
from understudy.mechanisms.catalog import MECHANISMS
from understudy.privacy.budget import Budget
from understudy.privacy.discover import DELTA_SHARE
from understudy.privacy.folder import publish
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger_file import create_ledger, read_ledger
from understudy.privacy.noise import SeededForTests
from understudy.schema import Schema
from understudy.schema_files import read_schema, schema_from_toml

HEAVY = ("numpy", "pyarrow", "pandas", "ibis", "duckdb", "rich", "opendp", "dp_accounting")
COMMANDS = (
    *("demo", "schema", "plan", "synthesize", "evaluate", "compare", "reproduce", "methods"),
    *("budget", "audit", "verify"),
)
PROGRAM = Path(sys.executable).with_name("understudy")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Each test stands in a folder of its own, and so do its commands."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, **environment):
    return CliRunner().invoke(cli.app, [str(a) for a in arguments], env=environment)


def program(*arguments, **options):
    """The console script, in a process of its own."""
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )


def present(folder):
    return sorted(path.name for path in folder.iterdir())


# --- help -----------------------------------------------------------------------------------------


def test_help_lists_the_commands_with_examples():
    result = run("--help")
    assert result.exit_code == 0
    listed = result.stdout.split("Commands:")[1].split("Examples:")[0]
    assert re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE) == list(COMMANDS)
    assert re.search(r"Examples:\n +understudy demo\n +understudy synthesize", result.stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples_on_lines_of_their_own(command):
    result = run(command, "--help", COLUMNS="80")
    assert result.exit_code == 0
    assert "--json" in result.stdout
    examples = result.stdout.split("Examples:\n")[1].splitlines()
    assert examples
    assert all(line.strip().startswith(f"understudy {command}") for line in examples)


@pytest.mark.parametrize("page", [(), *((command,) for command in COMMANDS)], ids=str)
def test_help_cuts_no_sentence_off(page):
    text = run(*page, "--help", COLUMNS="80").stdout
    body = text.split("Options:")[1].split("Examples:")[0]
    assert "..." not in body
    assert "…" not in body


@pytest.mark.parametrize("page", [(), *((command,) for command in COMMANDS)], ids=str)
def test_help_loads_nothing_heavy(page):
    script = f"""
import sys
from understudy.cli import main
sys.argv = ["understudy", *{page}, "--help"]
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
    assert "Usage: understudy" in done.stdout


def test_version():
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout == f"understudy {version('understudy')}\n"


def test_without_a_command_it_shows_help():
    assert "Commands:" in run().output


def test_unknown_command_is_bad_input():
    assert run("rehearse").exit_code == 2


# --- demo -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", ["80", "100"])
def test_demo_shows_the_promise_and_the_release_beside_the_table(width, folder):
    result = run("demo", "--rows", "2000", COLUMNS=width)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert max(len(line) for line in lines) <= int(width)
    words = " ".join(result.stdout.split())
    assert "Differentially private: epsilon 1, delta 1e-09." in words
    assert "one person (patient_id) with all their rows, of which at most 3 count" in words
    assert "side by side" in words
    assert "heart failure" in words
    assert "Check it with: understudy verify understudy-demo/release" in words
    assert "…" not in result.stdout, "a cut-off name"
    assert present(folder / "understudy-demo") == ["patients.csv", "release", "schema.toml"]
    # Steps, and the command that does the same, are notes.
    assert "Opening the table" in result.stderr
    assert "understudy synthesize understudy-demo/patients.csv --schema" in result.stderr


def test_the_command_that_demo_shows_does_the_same(folder):
    shown = run("demo", "--rows", "1000").stderr
    command = shlex.split(shown.split("The same by hand: understudy ")[1])
    result = run(*command)
    assert result.exit_code == 0, result.stderr
    one, other = load(folder / "understudy-demo" / "release"), load(folder / "another")
    assert other.schema == one.schema
    assert other.certificate.unit == one.certificate.unit
    assert other.certificate.epsilon == one.certificate.epsilon == 1.0


def test_demo_explains_schema_and_codes():
    result = run("demo", "--rows", "2000", "--explain", COLUMNS="80")
    assert result.exit_code == 0
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    for name in demo_schema().names:
        assert name in result.stdout
    for words in ("heart failure", "exactly 0", "not on", "One row: its values"):
        assert words in result.stdout
    assert "…" not in result.stdout, "a cut-off name"


@pytest.mark.parametrize("rows", ["1", "7"])
def test_demo_of_a_tiny_table(rows):
    assert run("demo", "--rows", rows).exit_code == 0
    assert run("verify", "understudy-demo/release").exit_code == 0


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
    assert content["release"]["epsilon"] == 1.0
    assert content["release"]["files"] == [
        "certificate.json",
        "model.json",
        "report.html",
        "synthetic.csv",
    ]
    for column in {line["column"] for line in content["compared"]}:
        lines = [line for line in content["compared"] if line["column"] == column]
        assert sum(line["table"] for line in lines) == pytest.approx(1)
        assert sum(line["release"] for line in lines) == pytest.approx(1)


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


def test_demo_writes_files_to_play_with(folder):
    result = run("demo", "--rows", "2000", "--out", "new/play", "--json")
    assert result.exit_code == 0
    play = folder / "new" / "play"
    assert present(play) == ["patients.csv", "release", "schema.toml"]
    assert read_schema(play / "schema.toml") == demo_schema()
    as_text = csv.ConvertOptions(
        column_types=dict.fromkeys(demo_schema().names, pa.string()), strings_can_be_null=True
    )
    written = csv.read_csv(play / "patients.csv", convert_options=as_text)
    encoding = Encoding(demo_schema())
    expected = encoding.codes(demo_table(2000))
    for name, codes in encoding.codes(written).items():
        np.testing.assert_array_equal(codes, expected[name], err_msg=name)


@pytest.mark.parametrize("kept", ["patients.csv", "schema.toml", "release"])
def test_demo_overwrites_nothing(kept, folder):
    (folder / kept).write_text("mine")
    result = run("demo", "--out", folder)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert f"already holds {kept}" in result.stderr
    assert "another folder" in result.stderr
    assert present(folder) == [kept]
    assert (folder / kept).read_text() == "mine"


def test_second_demo_into_the_same_folder_is_refused():
    assert run("demo", "--rows", "10").exit_code == 0
    again = run("demo", "--rows", "10")
    assert again.exit_code == 2
    assert "patients.csv and schema.toml and release" in again.stderr
    assert "Give --out another folder" in again.stderr


def test_out_must_be_a_folder(folder):
    file = folder / "notes.txt"
    file.write_text("mine")
    result = run("demo", "--out", file)
    assert result.exit_code == 2
    assert "is not a folder" in result.stderr
    result = run("demo", "--rows", "10", "--out", file / "play")
    assert result.exit_code == 2
    assert re.match(
        r"Error: .* cannot be written: .+\. Give --out another folder\.\n",
        result.stderr.split("…\n")[-1],
    )


@pytest.mark.parametrize("option", [("--rows", "0"), ("--seed", "-1"), ("--rows", "many")])
def test_impossible_numbers_are_bad_input(option, folder):
    result = run("demo", *option)
    assert result.exit_code == 2
    assert "Error: " in result.stderr
    assert "Traceback" not in result.stderr
    assert present(folder) == []


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


# --- synthesize -----------------------------------------------------------------------------------

ROWS = 1500


@pytest.fixture
def rows_csv(folder):
    """A table as a user has it: text, an id, and no schema."""
    rng = np.random.default_rng(3)
    table = pa.table(
        {
            "who": [f"p{k // 2}" for k in range(ROWS)],
            "age": rng.integers(18, 90, ROWS),
            "city": rng.choice(["Ulm", "Bonn", "=Kiel"], ROWS),
            "ill": rng.choice(["yes", "no"], ROWS),
        }
    )
    csv.write_csv(table, folder / "rows.csv")
    return Path("rows.csv")


FACTS = """
[rows]
bound = 10000

[columns.who]
role = "id"

[columns.age]
kind = "integer"
bounds = [0, 99]
bins = 10
null = false

[columns.city]
kind = "categorical"
categories = ["Ulm", "Bonn", "=Kiel"]
null = false

[columns.ill]
kind = "boolean"
null = false
"""


@pytest.fixture
def schema_toml(folder):
    (folder / "schema.toml").write_text(FACTS)
    return Path("schema.toml")


def test_synthesize_from_end_to_end(rows_csv, folder):
    done = program(
        *("synthesize", rows_csv, "--target", "ill", "--epsilon", "1", "--unit", "person:who:2"),
        *("--out", "out"),
    )
    assert done.returncode == 0, done.stderr
    assert present(folder) == ["out", "rows.csv"]
    assert present(folder / "out") == [
        "certificate.json",
        "model.json",
        "report.html",
        "synthetic.csv",
    ]
    # The promise goes to stdout, steps to stderr.
    words = " ".join(done.stdout.split())
    assert words.startswith("Release: ")
    assert "Differentially private: epsilon 1, delta 1e-09." in words
    assert "What was found out with noise" in words
    assert "city: kind, categories, null" in words
    assert "Check it with: understudy verify out" in words
    steps = done.stderr.splitlines()
    assert [step.split()[0] for step in steps] == [*("Opening", "Inferring", "Asking", "Drawing")]
    assert not set(steps) & set(done.stdout.splitlines())
    checked = run("verify", "out")
    assert checked.exit_code == 0
    assert "All checks passed" in checked.stdout
    release = load(folder / "out")
    assert release.schema.target == "ill"
    assert release.table.column_names == ["age", "city", "ill"]


def test_synthesize_as_json_is_nothing_but_json(rows_csv, schema_toml):
    done = program(
        *("synthesize", rows_csv, "--schema", schema_toml, "--epsilon", "1", "--json", "--strict"),
        *("--rows", "50", "--format", "parquet"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    page = json.loads(done.stdout)
    assert page["folder"] == "rows-release"
    assert page["files"] == ["certificate.json", "model.json", "report.html", "synthetic.parquet"]
    assert page["rows"] == 50
    assert page["columns"] == ["age", "city", "ill"]
    assert page["private"]
    assert (page["epsilon"], page["delta"]) == (1.0, 1e-9)
    assert page["declared"] == ["age", "city", "ill"]
    assert page["choices"]["rows"] == "50"
    assert "target" not in page["choices"], "none was named"
    # From the count of strays, which any release of declared columns begins with.
    assert page["bought"] == []
    assert page["notes"] == []
    assert pq.read_table("rows-release/synthetic.parquet").num_rows == 50


def synthesize(*arguments, **environment):
    return run("synthesize", "rows.csv", *arguments, **environment)


def test_where_nobody_says_where_a_release_lies_beside_the_table(rows_csv, schema_toml, folder):
    assert synthesize("--schema", schema_toml, "--epsilon", "1").exit_code == 0
    assert (folder / "rows-release" / "certificate.json").exists()


def test_choices_on_the_command_line_reach_the_certificate(rows_csv, schema_toml, folder):
    result = synthesize(
        *("--schema", schema_toml, "--epsilon", "0.5", "--delta", "1e-7", "--unit", "replace"),
        *("--method", "independent", "--rows", "77", "--target", "ill", "--out", "out"),
    )
    assert result.exit_code == 0, result.stderr
    certificate = load(folder / "out").certificate
    assert (certificate.epsilon, certificate.delta) == (0.5, 1e-7)
    assert certificate.unit == "one record, replaced by another"
    assert certificate.public["target"] == "ill"
    assert certificate.public["rows"] == 77
    assert certificate.public["method"]["name"] == "independent"


def test_more_or_less_may_go_to_finding_out(rows_csv, folder):
    assert synthesize("--epsilon", "1", "--discovery-share", "0.6", "--out", "a").exit_code == 0
    share = load(folder / "a").certificate.public["discovery"]["share"]
    assert share == pytest.approx(0.6)


@pytest.mark.parametrize("width", ["80", "120"])
def test_no_word_is_cut_off(rows_csv, width):
    result = synthesize("--epsilon", "1", "--out", "out", COLUMNS=width)
    assert max(len(line) for line in result.stdout.splitlines()) <= int(width)
    assert "…" not in result.stdout
    words = " ".join(result.stdout.split())
    certificate = load("out").certificate
    for sentence in (*certificate.promise, *certificate.bought, *load("out").notes):
        assert " ".join(sentence.split()) in words


def test_a_terminal_sees_the_same_steps_and_words(rows_csv):
    result = synthesize("--epsilon", "1", "--out", "out", FORCE_COLOR="1", COLUMNS="80")
    assert result.exit_code == 0
    plain = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
    said, told = (plain.sub("", text) for text in (result.stdout, result.stderr))
    for step in ("Opening", "Inferring", "Asking", "Drawing"):
        assert re.search(rf"(^|\r){step} ", told, re.MULTILINE), step
    assert "Differentially private: epsilon 1" in said
    assert "\x1b" in result.stderr, "a sign of life"


def test_strict_lists_what_is_open_and_the_three_ways_out(rows_csv, folder):
    result = synthesize("--epsilon", "1", "--strict")
    assert result.exit_code == 3
    assert result.stdout == ""
    error = result.stderr.splitlines()[-1]
    assert error.startswith("Error: ")
    for name in ("who", "age", "city", "ill"):
        assert f"{name}: kind, null" in error
    for way in ("Declare:", "Buy: leave out --strict", "Reveal:", "`understudy schema`"):
        assert way in error
    assert present(folder) == ["rows.csv"]


def test_an_unreviewed_draft_is_refused_until_somebody_allows_it(rows_csv, folder):
    assert run("schema", rows_csv, "-o", "draft.toml").exit_code == 0
    refused = synthesize("--schema", "draft.toml", "--epsilon", "1")
    assert refused.exit_code == 3
    assert "rests on the private table" in refused.stderr
    assert present(folder) == ["draft.toml", "rows.csv"]
    allowed = synthesize(
        *("--schema", "draft.toml", "--epsilon", "1", "--allow-non-private", "--out", "out")
    )
    assert allowed.exit_code == 0
    promise = allowed.stdout.split("\n\n")[1]
    assert promise.strip().startswith("NOT PRIVATE")
    assert "Differentially private" not in allowed.stdout
    page = json.loads(
        synthesize(
            *("--schema", "draft.toml", "--epsilon", "1", "--allow-non-private", "--json")
        ).stdout
    )
    assert not page["private"]
    assert page["epsilon"] is None
    checked = run("verify", "out")
    assert checked.exit_code == 0
    assert "NOT PRIVATE" in checked.stdout
    draft = (folder / "draft.toml").read_text()
    (folder / "reviewed.toml").write_text(draft.replace('"data"', '"declared"'))
    reviewed = synthesize("--schema", "reviewed.toml", "--epsilon", "1", "--strict", "--out", "b")
    assert reviewed.exit_code == 0
    assert "Differentially private: epsilon 1" in reviewed.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--param", "kk=3"), "model_bytes, and was given 'kk'"),
        (("--method", "prism"), "name it with --target"),
        (("--target", "ill", "--parents", "ill"), "cannot be among its own causes"),
        (("--target", "ill", "--parents", "age,nobody"), "nobody"),
        (("--target", "ill", "--graph", "none.dot"), "Cannot read a graph from none.dot"),
        (("--target", "ill", "--param", "k=99"), "k is 99, and there are"),
        (("--target", "ill", "--method", "mst", "--parents", "age"), "cannot use causes"),
        (("--target", "ill", "--parents", "age", "--param", "k=1"), "leave out k"),
        (("--param", "k"), "name=value"),
        (("--param", "=3"), "name=value"),
        (("--method", "independant"), "Known: auto, tailored, prism, "),
        (("--unit", "persons"), "person:ID:3"),
        (("--unit", "person:whom:2"), "Did you mean 'who'"),
        (("--target", "il"), "Did you mean 'ill'"),
        (("--format", "xlsx"), "use csv or parquet"),
        (("--rows", "0"), "at least 1"),
        (("--epsilon", "0"), "above 0"),
        (("--epsilon", "nan"), "finite"),
        (("--delta", "0"), "between 0 and 1"),
        (("--discovery-share", "1"), "between 0 and 1"),
        (("--schema", "none.toml"), "none.toml cannot be read"),
        (("--ledger", "none.ledger"), "--create"),
        (("--sign", "none.pem"), "none.pem cannot be read"),
        (("--text-encoding", "klingon"), "klingon"),
    ],
    ids=str,
)
def test_a_mistake_is_told_in_one_line_and_costs_nothing(rows_csv, folder, options, words):
    create_ledger(folder / "table.ledger", Budget(4.0, 1e-8, thresholds=1e-9))
    before = (folder / "table.ledger").read_bytes()
    given = ["--epsilon", "1", "--ledger", "table.ledger", *options]
    result = synthesize(*given)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    error = result.stderr.splitlines()[-1]
    assert error.startswith("Error: ")
    assert words in error
    assert (folder / "table.ledger").read_bytes() == before
    assert present(folder) == ["rows.csv", "table.ledger"]


def test_a_missing_table_is_told(folder):
    result = run("synthesize", "none.csv", "--epsilon", "1")
    assert result.exit_code == 2
    assert "none.csv" in result.stderr.splitlines()[-1]
    assert present(folder) == []


def test_epsilon_has_no_default(rows_csv):
    result = synthesize()
    assert result.exit_code == 2
    assert "--epsilon" in result.stderr


def test_a_folder_that_is_taken_is_refused_before_any_work(rows_csv, folder, monkeypatch):
    def work(*arguments, **options):
        raise AssertionError

    monkeypatch.setattr("understudy.pipeline.synthesize", work)
    (folder / "out").mkdir()
    (folder / "out" / "notes.txt").write_text("mine")
    result = synthesize("--epsilon", "1", "--out", "out")
    assert result.exit_code == 2
    assert "nothing is overwritten" in result.stderr
    assert result.stderr.count("\n") == 1
    assert present(folder / "out") == ["notes.txt"]
    # As is one that cannot be made.
    result = synthesize("--epsilon", "1", "--out", "rows.csv/out")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


def test_the_folder_one_stands_in_is_refused_before_any_work_or_will_do(tmp_path, monkeypatch):
    here, file = tmp_path / "here", tmp_path / "table.ledger"
    here.mkdir()
    csv.write_csv(pa.table({"x": [1, 2] * 50}), tmp_path / "x.csv")
    create_ledger(file, Budget(4.0, 1e-8, thresholds=1e-9))
    monkeypatch.chdir(here)
    result = run("synthesize", "../x.csv", "--epsilon", "1", "--out", ".", "--ledger", file)
    assert result.exit_code in {0, 2}, repr(result.exception)
    assert bool(read_ledger(file).releases) == (result.exit_code == 0)


def test_formulas_of_data_subjects_do_not_reach_the_csv_file_by_default(rows_csv, schema_toml):
    given = ("--schema", schema_toml, "--epsilon", "5")
    assert synthesize(*given, "--out", "safe").exit_code == 0
    assert synthesize(*given, "--out", "same", "--formula-safe").exit_code == 0
    assert synthesize(*given, "--out", "raw", "--raw-text").exit_code == 0
    for folder in ("safe", "same"):
        assert ",=Kiel" not in Path(folder, "synthetic.csv").read_text()
        assert "'=Kiel" in Path(folder, "synthetic.csv").read_text()
    assert ",=Kiel" in Path("raw/synthetic.csv").read_text()


def test_raw_and_formula_safe_text_contradict_each_other(rows_csv, schema_toml):
    given = ("--schema", schema_toml, "--epsilon", "5", "--out", "both")
    result = synthesize(*given, "--formula-safe", "--raw-text")
    assert result.exit_code == 2
    assert "not both" in result.stderr
    assert not Path("both").exists()


def keys(folder):
    key = Ed25519PrivateKey.generate()
    (folder / "key.pem").write_bytes(
        key.private_bytes(KeyEncoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    public = key.public_key().public_bytes(KeyEncoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / "key.pub.pem").write_bytes(public)


def test_a_release_is_signed_and_checked(rows_csv, schema_toml, folder):
    keys(folder)
    given = ("--schema", schema_toml, "--epsilon", "1", "--out", "out", "--sign", "key.pem")
    assert synthesize(*given).exit_code == 0
    checked = run("verify", "out", "--key", "key.pub.pem")
    assert checked.exit_code == 0
    assert "by the given key" in checked.stdout
    assert b"PRIVATE KEY" not in Path("out/certificate.json").read_bytes()


def test_a_key_that_is_none_is_refused_before_any_cost(rows_csv, schema_toml, folder):
    keys(folder)
    create_ledger(folder / "table.ledger", Budget(4.0, 1e-8))
    before = (folder / "table.ledger").read_bytes()
    for wrong in ("rows.csv", "key.pub.pem"):
        result = synthesize(
            *("--schema", schema_toml, "--epsilon", "1", "--out", "out", "--sign", wrong),
            *("--ledger", "table.ledger"),
        )
        assert result.exit_code == 2
        assert "not an Ed25519 private key" in result.stderr
        assert not (folder / "out").exists()
        assert (folder / "table.ledger").read_bytes() == before


def test_a_ledger_counts_releases_and_holds_their_lines(rows_csv, schema_toml, folder):
    made = run("budget", "table.ledger", "--create", "--epsilon", "2", "--delta", "1e-8")
    assert made.exit_code == 0
    for place, given in enumerate((("--schema", schema_toml), ())):
        out = f"out{place}"
        result = synthesize(*given, "--epsilon", "1", "--ledger", "table.ledger", "--out", out)
        assert result.exit_code == 0, result.stderr
        checked = run("verify", out, "--ledger", "table.ledger")
        assert checked.exit_code == 0
        assert "ok      the ledger holds its line" in checked.stdout
    shown = run("budget", "table.ledger", COLUMNS="100")
    assert shown.stdout.count("complete") == 2
    page = json.loads(run("budget", "table.ledger", "--json").stdout)
    assert [line["complete"] for line in page["releases"]] == [True, True]
    assert [line["epsilon"] for line in page["releases"]] == [1.0, 1.0]
    before = (folder / "table.ledger").read_bytes()
    refused = synthesize("--epsilon", "2", "--ledger", "table.ledger", "--out", "more")
    assert refused.exit_code == 3
    assert "left" in refused.stderr
    assert not (folder / "more").exists()
    assert (folder / "table.ledger").read_bytes() == before


def test_a_stop_at_the_keyboard_leaves_no_folder(folder):
    # Wide enough to take seconds; stopped while the rows are being read.
    rng = np.random.default_rng(0)
    numbers = pa.table({f"c{k}": rng.normal(size=100_000) for k in range(12)})
    csv.write_csv(numbers, folder / "large.csv")
    create_ledger(folder / "table.ledger", Budget(4.0, 1e-8, thresholds=1e-9))
    started = subprocess.Popen(
        [PROGRAM, "synthesize", "large.csv", "--epsilon", "1", "--ledger", "table.ledger"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with started:
        for line in started.stderr:
            if line.startswith("Inferring"):
                break
        started.send_signal(signal.SIGINT)
        said, told = started.communicate(timeout=120)
    assert started.returncode == 130
    assert said == ""
    assert told == "Stopped. Nothing was written.\n"
    assert present(folder) == ["large.csv", "table.ledger"]
    # What was asked by then stays charged; the next release can begin.
    assert [release.ended for release in read_ledger(folder / "table.ledger").releases] == [False]
    assert run("budget", "table.ledger").exit_code == 0


def test_a_stop_that_the_engine_notices_first_is_a_stop(rows_csv, schema_toml, monkeypatch):
    def interrupted(*arguments, **options):
        # What DuckDB raises where the signal comes while it takes a query on.
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr("duckdb._seam.submit", interrupted)
    result = synthesize("--schema", schema_toml, "--epsilon", "1", "--out", "out")
    assert result.exit_code == 130, repr(result.exception)


def test_an_interrupted_save_leaves_no_folder(rows_csv, schema_toml, folder, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    result = synthesize("--schema", schema_toml, "--epsilon", "1", "--out", "out")
    assert result.exit_code == 130
    assert result.stdout == ""
    assert result.stderr.endswith("Stopped. Nothing was written.\n")
    assert present(folder) == ["rows.csv", "schema.toml"]


def test_an_accident_shows_no_values_of_rows(rows_csv, monkeypatch):
    # Not an error of ours: Python tells where it happened, without the values of variables.
    script = """
import sys
from understudy import cli, pipeline

def broken(data, **options):
    secret = "Zyzzyva"
    raise RuntimeError("broken")

pipeline.synthesize = broken
sys.argv = ["understudy", "synthesize", "rows.csv", "--epsilon", "1"]
cli.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "RuntimeError: broken" in done.stderr
    assert "'Zyzzyva'" not in done.stderr
    assert "locals" not in done.stderr


# --- plan -----------------------------------------------------------------------------------------


def test_a_plan_tells_the_noise_before_anything_is_spent(schema_toml, folder):
    result = run("plan", schema_toml, "--target", "ill", "--epsilon", "1", COLUMNS="80")
    assert result.exit_code == 0, result.output
    assert "No row was read" in result.stdout
    assert "at most 2.72 times the odds" in " ".join(result.stdout.split())
    assert re.search(r"^ → 1 +2.72 ", result.stdout, re.MULTILINE)
    assert "Rehearsing tailored on 10,000 made-up rows" in result.stderr
    assert present(folder) == ["schema.toml"]


def test_a_plan_as_json_is_nothing_but_json(schema_toml):
    given = ("--epsilon", "1", "--method", "independent", "--rows-bound", "5000", "--json")
    result = run("plan", schema_toml, *given)
    assert result.stderr == ""
    page = json.loads(result.stdout)
    assert page["rows"] == page["rehearsed_rows"] == 5000
    malformed, strays, line = page["bought"]
    assert malformed["what"] == "the number of malformed records"
    assert strays["purpose"] == "counting values that miss what is declared"
    assert strays["what"] == "counts of 3 columns (age, city, ill)"
    assert strays["share"] == pytest.approx(0.01 * (1 - malformed["share"]))
    assert line["what"] == "counts of 3 columns (age, city, ill)"
    assert [one["cells"] for one in line["counts"]] == [11, 4, 3]
    for one in line["counts"]:
        assert one["noise_percent"] == pytest.approx(100 * one["noise_rows"] / 5000)
    again = json.loads(run("plan", schema_toml, *given).stdout)
    machine = {"seconds", "program_bytes", "forecast"}
    assert page["forecast"]["seconds"] == page["seconds"]
    assert page["forecast"]["starting"] > 0
    assert {name for name in page if page[name] != again[name]} <= machine


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--target", "il"), 2, "Did you mean 'ill'"),
        (("--target", "ill", "--param", "k=99"), 2, "k is 99, and there are"),
        (("--target", "ill", "--graph", "cycle.json"), 2, "runs in a circle"),
        (("--target", "ill", "--parents", "ill"), 2, "cannot be among its own causes"),
        (("--param", "k"), 2, "name=value"),
        (("--method", "independant"), 2, "Known: auto, tailored, prism, "),
        (("--unit", "person:whom:2"), 2, "Did you mean 'who'"),
        (("--rows-bound", "0"), 2, "at least 1"),
        (("--rows-bound", "10001"), 2, "more than the schema's bound"),
        (("--epsilon", "0"), 2, "above 0"),
        (("--delta", "0.001"), 3, "publishing a random row"),
    ],
    ids=str,
)
def test_a_plan_is_refused_in_one_line(schema_toml, folder, options, code, words):
    (folder / "cycle.json").write_text('[["age", "ill"], ["ill", "age"]]')
    result = run("plan", schema_toml, "--epsilon", "1", *options)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    error = result.stderr.splitlines()[-1]
    assert error.startswith("Error: ")
    assert words in error


def test_a_plan_is_written_as_a_page_for_its_owner_alone(schema_toml, folder):
    given = ("--target", "ill", "--epsilon", "1", "--rows-bound", "5000", "--out", "plan.html")
    result = run("plan", schema_toml, *given)
    assert result.exit_code == 0, result.output
    assert "Why this method" in result.stdout
    page = folder / "plan.html"
    assert page.stat().st_mode & 0o777 == 0o600
    text = page.read_text()
    assert "How the budget is split" in text
    assert not re.search(r"(src|href)=|@import|url\(", text)
    again = run("plan", schema_toml, *given)
    assert again.exit_code == 2
    assert "there already" in again.stderr
    assert "Rehearsing" not in again.stderr
    assert "ends in .html" in run("plan", schema_toml, *given[:-1], "plan.txt").stderr


def test_a_plan_needs_a_schema_file(rows_csv):
    assert run("plan", "none.toml", "--epsilon", "1").exit_code == 2
    # A table is no schema, and none of its values is shown.
    result = run("plan", rows_csv, "--epsilon", "1")
    assert result.exit_code == 2
    assert "Ulm" not in result.output


# --- schema and methods ---------------------------------------------------------------------------


def test_a_draft_is_shown_or_written_for_its_owner_alone(rows_csv, folder):
    shown = run("schema", rows_csv)
    assert shown.exit_code == 0
    drafted = schema_from_toml(shown.stdout)
    assert drafted.names == ("who", "age", "city", "ill")
    assert {c.source for c in drafted} == {Source.DATA}
    assert drafted["who"].role is Role.DROP
    assert "This draft is internal" in shown.stderr
    written = run("schema", rows_csv, "-o", "draft.toml")
    assert written.exit_code == 0
    assert written.stdout == ""
    assert "draft.toml is internal" in written.stderr
    assert (folder / "draft.toml").read_text() == shown.stdout
    assert stat.S_IMODE((folder / "draft.toml").stat().st_mode) == 0o600
    again = run("schema", rows_csv, "-o", "draft.toml")
    assert again.exit_code == 2
    assert "nothing is overwritten" in again.stderr
    assert (folder / "draft.toml").read_text() == shown.stdout


def test_a_draft_as_json(rows_csv):
    result = run("schema", rows_csv, "--json")
    assert result.exit_code == 0
    content = json.loads(result.stdout)
    assert list(content["columns"]) == ["who", "age", "city", "ill"]
    assert {facts["source"] for facts in content["columns"].values()} == {"data"}
    assert content["rows"]["source"] == "data"


def test_a_draft_needs_a_table(folder):
    result = run("schema", "none.csv", "-o", "draft.toml")
    assert result.exit_code == 2
    assert "none.csv" in result.stderr
    assert present(folder) == []


def test_methods_are_listed_with_what_they_promise():
    result = run("methods")
    assert result.exit_code == 0
    for kind in MECHANISMS:
        for words in (kind.name, kind.about, kind.guarantee, kind.needs):
            assert words in result.stdout
    assert "tailored (auto)" in result.stdout
    listed = json.loads(run("methods", "--json").stdout)
    assert [method["method"] for method in listed] == [kind.name for kind in MECHANISMS]
    assert [method["method"] for method in listed if method["auto"]] == ["tailored"]


# --- budget and verify ----------------------------------------------------------------------------


def spend(file, table, epsilon=1.0, delta=1e-9, thresholds=0.0, **options):
    budget = Budget(epsilon, delta, thresholds=thresholds)
    with Ledger.open(table, demo_schema(), budget, file=file, **options) as ledger:
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
    # A tenth of delta is kept for facts that releases find out.
    share = float(Budget(1.0, 1e-9).rho / Budget(4.0, 1e-8, thresholds=1e-9).rho)
    assert [line["requests"] for line in page["releases"]] == [1, 1]
    assert page["spent"] == pytest.approx(2 * share)
    assert page["left"] == pytest.approx(1 - 2 * share)
    with pytest.raises(BudgetSpent, match="of its total left"):
        spend(file, demo_table(100), epsilon=4.0)
    # What the page says is enough for one more release is enough.
    spend(file, demo_table(100), **page["next_release"])
    page = json.loads(run("budget", str(file), "--json").stdout)
    assert 0 < page["left"] < 0.02


@pytest.mark.parametrize(("total", "delta"), [("4", "1e-8"), ("2", "1e-7"), ("0.05", "1e-9")])
def test_what_is_left_is_stated_at_the_files_own_delta(tmp_path, total, delta):
    file = tmp_path / "table.ledger"
    run("budget", str(file), "--create", "--epsilon", total, "--delta", delta)
    spend(file, demo_table(100), epsilon=float(total) / 4)
    coming = json.loads(run("budget", str(file), "--json").stdout)["next_release"]
    assert coming["delta"] == float(delta)
    # One release of a quarter of the total leaves less than the total.
    assert 0.8 * float(total) < coming["epsilon"] < float(total)
    more = Budget(coming["epsilon"] * 1.01, coming["delta"])
    assert more.rho > read_ledger(file).rest
    shown = " ".join(run("budget", str(file), COLUMNS="100").stdout.split())
    assert f"epsilon {coming['epsilon']:.3g} at delta {float(delta):g}" in shown
    # It fits where facts are declared, and where they are inferred (a tenth of delta).
    for thresholds in (0.0, coming["delta"] * DELTA_SHARE):
        copied = tmp_path / f"{thresholds}.ledger"
        copied.write_bytes(file.read_bytes())
        spend(copied, demo_table(100), **coming, thresholds=thresholds)


def test_what_is_left_never_exceeds_the_total(tmp_path):
    file = tmp_path / "table.ledger"
    run("budget", str(file), "--create", "--epsilon", "4", "--delta", "1e-8")
    coming = json.loads(run("budget", str(file), "--json").stdout)["next_release"]
    assert 3.9 < coming["epsilon"] <= 4


def test_the_next_release_keeps_within_what_is_left_of_delta(tmp_path):
    file = tmp_path / "table.ledger"
    run("budget", str(file), "--create", "--epsilon", "4", "--delta", "1e-8")
    first = Budget(1.0, 5e-9, thresholds=4e-10)
    with Ledger.open(demo_table(100), demo_schema(), first, file=file) as ledger:
        ledger.values({"ward": None}, rho=ledger.rest() / 2, delta=4e-10)
        ledger.close()
        ledger.end()
    left = read_ledger(file).rest_delta
    assert 0 < left < 1e-9
    coming = json.loads(run("budget", str(file), "--json").stdout)["next_release"]
    assert 0.95 * left <= coming["delta"] * DELTA_SHARE <= left
    spend(file, demo_table(100), **coming, thresholds=coming["delta"] * DELTA_SHARE)


def test_a_weak_total_is_refused_and_said_first_once_accepted(tmp_path):
    file = str(tmp_path / "table.ledger")
    for settings in (("10.5", "1e-8"), ("4", "1e-4")):
        given = ("budget", file, "--create", "--epsilon", settings[0], "--delta", settings[1])
        refused = run(*given)
        assert refused.exit_code == 3
        assert "--accept-weak-guarantee" in refused.stderr
        assert not Path(file).exists()
    made = run(*given, "--accept-weak-guarantee")
    assert made.exit_code == 0, made.stderr
    for page in (made, run("budget", file)):
        assert page.stdout.startswith("WEAK GUARANTEE: delta 0.0001 is above 1e-05.")
    assert json.loads(run("budget", file, "--json").stdout)["weak"]
    fine = str(tmp_path / "fine.ledger")
    assert run("budget", fine, "--create", "--epsilon", "10", "--delta", "1e-5").exit_code == 0
    assert "WEAK" not in run("budget", fine).stdout


def test_a_ledger_that_is_bound_to_a_table_is_spent_for_that_table_alone(rows_csv, schema_toml):
    made = run(
        *("budget", "table.ledger", "--create", "--epsilon", "4", "--delta", "1e-8"),
        *("--table-id", "patients-2026"),
    )
    assert made.exit_code == 0, made.stderr
    assert "Bound to the table patients-2026" in made.stdout
    assert json.loads(run("budget", "table.ledger", "--json").stdout)["table_id"] == "patients-2026"
    given = ("--schema", schema_toml, "--epsilon", "1", "--ledger", "table.ledger")
    for label in ((), ("--table-id", "clients-2026")):
        refused = synthesize(*given, *label, "--out", "refused")
        assert refused.exit_code == 3
        assert "bound to the table 'patients-2026'" in refused.stderr
        assert not Path("refused").exists()
    assert read_ledger(Path("table.ledger")).releases == []
    done = synthesize(*given, "--table-id", "patients-2026", "--out", "out")
    assert done.exit_code == 0, done.stderr
    certificate = json.loads(Path("out/certificate.json").read_bytes())
    assert certificate["public"]["table_id"]["value"] == "patients-2026"
    assert run("verify", "out", "--ledger", "table.ledger").exit_code == 0
    assert "patients-2026" in Path("out/report.html").read_text()
    assert [one.ended for one in read_ledger(Path("table.ledger")).releases] == [True]


def test_a_table_id_that_nothing_checks_is_bad_input(rows_csv, schema_toml):
    given = ("--schema", schema_toml, "--epsilon", "1", "--out", "out", "--table-id", "patients")
    alone = synthesize(*given)
    assert alone.exit_code == 2
    assert "checked by a ledger file" in alone.stderr
    run("budget", "table.ledger", "--create", "--epsilon", "4", "--delta", "1e-8")
    assert "Bound" not in run("budget", "table.ledger").stdout
    unbound = synthesize(*given, "--ledger", "table.ledger")
    assert unbound.exit_code == 2
    assert "not bound to a table" in unbound.stderr
    assert read_ledger(Path("table.ledger")).releases == []
    late = run("budget", "table.ledger", "--table-id", "patients")
    assert late.exit_code == 2
    assert "once, with --create" in late.stderr


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


def test_a_release_verifies_until_something_is_changed(folder):
    run("demo", "--rows", "50", "--out", "play")
    release = folder / "play" / "release"
    result = run("verify", release)
    assert result.exit_code == 0, result.stdout
    assert "epsilon 1 at delta 1e-09, for one person (patient_id)" in result.stdout
    assert "All checks passed." in result.stdout
    assert json.loads(run("verify", release, "--json").stdout)["passed"]
    for name in ("model.json", "synthetic.csv", "certificate.json"):
        file = release / name
        before = file.read_bytes()
        file.write_bytes(before + b" ")
        result = run("verify", release)
        assert result.exit_code == 1
        if name != "certificate.json":
            assert f"FAILED  {name} is as it was released: changed" in result.stdout
        assert "Do not rely" in result.stdout
        assert not json.loads(run("verify", release, "--json").stdout)["passed"]
        file.write_bytes(before)
    assert run("verify", release).exit_code == 0


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
    assert "\nAll checks passed, but it is NOT PRIVATE" in result.stdout
    assert "Differentially private" not in result.stdout


def test_verify_needs_a_release_and_a_readable_key(tmp_path):
    assert run("verify", str(tmp_path)).exit_code == 2
    result = run("verify", str(tmp_path), "--key", str(tmp_path / "no.pem"))
    assert result.exit_code == 2
    assert "no.pem cannot be read" in result.stderr


def test_main_runs_the_app(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["understudy", "--version"])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])  # main hides pandas from its process
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("understudy ")
