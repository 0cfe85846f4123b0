"""`understudy evaluate`: what it prints where, its exit codes, and what it leaves behind."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

from helpers.results import results_in
from understudy import cli
from understudy.curator.evaluation import FORMAT
from understudy.experiments.demo import demo_table

PROGRAM = Path(sys.executable).with_name("understudy")
FAIR = "readmitted _||_ ethnicity | severity"
QUICK = ("--models", "logistic", "--seeds", "1")
SECTIONS = (
    "Task: classification of readmitted",
    "Fidelity: how far distributions are apart",
    "Stated independence, in the rows",
    "How evenly models treat groups",
    "Membership attacks: can anyone tell who was in the table?",
    "Copies and distances: no evidence of privacy",
)
RESULT = {"name", "value", "low", "high", "direction", "read", "note"}


def run(*arguments, **environment):
    return CliRunner().invoke(cli.app, [str(a) for a in arguments], env=environment)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """On small tables threads wait for each other longer than they compute."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release of the embedded table, and later rows of the same hospital."""
    folder = tmp_path_factory.mktemp("made")
    play = folder / "play"
    assert run("demo", "--rows", "260", "--out", play).exit_code == 0
    csv.write_csv(demo_table(200, seed=9), folder / "later.csv")
    return folder


@pytest.fixture
def real(made):
    return made / "play" / "patients.csv"


@pytest.fixture
def release(made):
    return made / "play" / "release"


@pytest.fixture
def later(made):
    return made / "later.csv"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Each test stands in a folder of its own, and so do its commands."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small(folder):
    """Two small tables as other tools leave them, without a release around them."""
    for seed, name in enumerate(("real.csv", "synthetic.csv")):
        rng = np.random.default_rng(seed)
        age = rng.integers(18, 90, 70)
        ill = np.where(rng.random(70) < age / 100, "yes", "no")
        csv.write_csv(pa.table({"age": age, "city": rng.choice(["Ulm", "Bonn"], 70), "ill": ill}),
                      folder / name)  # fmt: skip
    return Path("real.csv"), Path("synthetic.csv")


def strict(text):
    """JSON without NaN and Infinity, which many readers refuse."""

    def refuse(constant):
        pytest.fail(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def told(result, code):
    """The one line of a mistake: no traceback, nothing on stdout."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.stderr
    last = result.stderr.splitlines()[-1]
    assert last.startswith("Error: ")
    return last


# --- help and speed -------------------------------------------------------------------------------


def test_help_shows_examples_that_name_real_options():
    result = run("evaluate", "--help", COLUMNS="80")
    assert result.exit_code == 0
    body, examples = result.stdout.split("Examples:\n")
    lines = [line.strip() for line in examples.strip().splitlines()]
    assert len(lines) >= 2
    assert all(line.startswith("understudy evaluate ") for line in lines)
    used = set(re.findall(r"--[a-z-]+", examples))
    assert {"--target", "--test", "--independent"} <= used
    assert used <= set(re.findall(r"--[a-z-]+", body))
    assert "internal" in body
    assert "..." not in body


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("evaluate", "--help"),
        ("synthesize", "real.csv", "--target", "ill", "--epsilon", "1", "--out", "made"),
    ],
    ids=["help", "help of evaluate", "synthesize"],
)
def test_scikit_learn_is_loaded_by_no_other_command(arguments, small):
    script = f"""
import sys
from understudy.cli import main
sys.argv = ["understudy", *{arguments!r}]
try:
    main()
except SystemExit as end:
    assert end.code in (0, None), end.code
loaded = [name for name in ("sklearn", "understudy.curator.models") if name in sys.modules]
assert not loaded, loaded
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


# --- the whole way --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(made):
    """All sections on a page of 80 columns."""
    files = made / "play" / "patients.csv", made / "play" / "release"
    options = ("--test", made / "later.csv", "--independent", FAIR)
    return run("evaluate", *files, *options, *QUICK, COLUMNS="80")


def test_the_page_shows_all_sections_and_says_that_it_is_internal(page):
    assert page.exit_code == 0, page.stderr
    lines = page.stdout.splitlines()
    assert "INTERNAL" in lines[0]
    heads = [line for line in lines if line.startswith(SECTIONS)]
    assert len(heads) == len(SECTIONS)
    assert heads == sorted(heads, key=lambda head: [head.startswith(s) for s in SECTIONS].index(1))


def test_the_page_keeps_to_its_width_and_cuts_nothing_off(page):
    assert max(len(line) for line in page.stdout.splitlines()) <= 80
    assert "…" not in page.stdout


def test_the_page_says_that_copies_are_no_evidence(page):
    words = " ".join(page.stdout.split())
    assert "Copies, distances and intervals are no evidence of privacy" in words
    assert "The promise is in the certificate." in words


def test_the_page_says_what_was_read_and_what_the_promise_allows(page):
    words = " ".join(page.stdout.split())
    assert "260 real" in words
    assert "200 test" in words
    assert "Left out of all comparisons: patient_id." in words
    assert "tested on 200 rows of the test table" in words
    # (e - 1) / (e + 1) for one, and twice the epsilon for two that swap places
    assert "ε = 1, δ = 1e-09" in words
    assert "0.462" in words
    assert "0.762" in words


def test_steps_go_to_stderr_and_nothing_else(page):
    steps = page.stderr.splitlines()
    assert steps[0] == "Reading the tables …"
    assert all(step.endswith("…") for step in steps)
    assert "Reading" not in page.stdout


@pytest.fixture(scope="module")
def as_json(made):
    """The same in a process of its own, from the console script, with a file beside."""
    files = made / "play" / "patients.csv", made / "play" / "release"
    options = ("--test", made / "later.csv", "--independent", FAIR, "--out", made / "all.json")
    return subprocess.run(
        [PROGRAM, "evaluate", *files, *options, "--seeds", "1", "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )


def test_json_is_nothing_but_json(as_json):
    assert as_json.returncode == 0, as_json.stderr
    assert as_json.stderr == ""
    content = strict(as_json.stdout)
    assert content["internal"] is True
    assert content["format"] == FORMAT


def test_every_section_of_the_json_has_results_with_all_they_need(as_json):
    content = strict(as_json.stdout)
    for section in ("task", "fidelity", "independence", "gaps", "attacks", "disclosure"):
        found = list(results_in(content[section]))
        assert any(result["value"] is not None for result in found), section
        for result in found:
            assert set(result) == RESULT
            assert result["name"]
            assert result["read"]
            assert result["direction"].endswith(" is better")
            if result["value"] is None:
                assert result["note"], result
                assert (result["low"], result["high"]) == (None, None)
            else:
                assert result["low"] <= result["value"] <= result["high"], result
    assert content["second_opinion"] == []


def test_json_holds_the_models_orders_and_attacks_that_were_asked_for(as_json):
    content = strict(as_json.stdout)
    assert content["task"]["target"] == "readmitted", "the release knows its target"
    models = {score["model"] for score in content["task"]["scores"]}
    assert models == {"logistic regression", "gradient boosting", "majority class"}
    assert [one["order"] for one in content["fidelity"]["marginals"]] == [1, 2, 3]
    # The sentence that was asked about, and the one that the release says it keeps.
    assert [one["table"] for one in content["independence"]] == [*["synthetic"] * 2, *["real"] * 2]
    assert {gap["groups"] for gap in content["gaps"]} == {"ethnicity"}
    assert {one["attack"] for one in content["attacks"]["strikes"]} == {
        "distance",
        "density",
        "marginals",
    }
    assert content["attacks"]["ceiling"]["epsilon"] == 1.0
    assert content["left_out"] == ["patient_id"]


def test_the_file_holds_the_same_and_is_for_its_owner_alone(as_json, made):
    file = made / "all.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert strict(file.read_text(encoding="utf-8")) == strict(as_json.stdout)


def test_the_page_and_the_json_tell_the_same_numbers(as_json, page):
    first = strict(as_json.stdout)["fidelity"]["marginals"][0]["distance"]
    numbers = [f"{first[key]:.3f}" for key in ("value", "low", "high")]
    assert f"{numbers[0]} [{numbers[1]}, {numbers[2]}]" in page.stdout


# --- the file -------------------------------------------------------------------------------------


def test_a_file_beside_the_page(small, folder):
    result = run("evaluate", *small, "--out", "new.json")
    assert result.exit_code == 0, result.stderr
    assert "INTERNAL" in result.stdout
    assert strict((folder / "new.json").read_text(encoding="utf-8"))["task"] is None
    assert stat.S_IMODE((folder / "new.json").stat().st_mode) == 0o600


def test_a_page_and_its_twin(small, folder):
    result = run("evaluate", *small, "--target", "ill", *QUICK, "--out", "new.html")
    assert result.exit_code == 0, result.stderr
    content = strict((folder / "new.json").read_text(encoding="utf-8"))
    page = (folder / "new.html").read_text(encoding="utf-8")
    assert "INTERNAL: do not publish" in page
    assert "http" not in page.replace("http://www.w3.org", "")
    for verdict in content["verdicts"]:
        words = "; ".join(f"{one['name']} {one['word']}" for one in verdict["aspects"])
        words = words or verdict["word"]
        assert f"Verdict, {verdict['model']}: {words}" in " ".join(page.split())
    first = content["fidelity"]["marginals"][0]["distance"]
    assert f"{first['value']:.3f} [{first['low']:.3f}, {first['high']:.3f}]" in page
    for name in ("new.html", "new.json"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600


def test_a_twin_that_is_there_already_is_refused(small, folder):
    (folder / "mine.json").write_text("mine")
    assert "mine.json is there already" in told(run("evaluate", *small, "--out", "mine.html"), 2)
    assert not (folder / "mine.html").exists()


def test_a_file_is_not_overwritten(small, folder):
    (folder / "mine.json").write_text("mine")
    result = run("evaluate", *small, "--out", "mine.json")
    assert "mine.json is there already" in told(result, 2)
    assert "Name another file" in result.stderr
    assert (folder / "mine.json").read_text() == "mine"


def test_a_file_that_is_there_already_is_refused_before_the_long_work(small, folder):
    (folder / "mine.json").write_text("mine")
    result = run("evaluate", *small, "--target", "ill", *QUICK, "--out", "mine.json")
    assert result.exit_code == 2
    assert "Fitting" not in result.stderr


def test_internal_files_stay_out_of_release_folders(small, release):
    before = sorted(path.name for path in release.iterdir())
    result = run("evaluate", *small, "--out", release / "scores.json")
    assert "release folder" in told(result, 2)
    assert sorted(path.name for path in release.iterdir()) == before
    inside = release / "inside"
    inside.mkdir()
    assert "release folder" in told(run("evaluate", *small, "--out", inside / "scores.json"), 2)
    inside.rmdir()


def test_a_folder_that_is_not_there_is_said(small):
    result = run("evaluate", *small, "--out", "nowhere/new.json")
    assert "nowhere/new.json cannot be written" in told(result, 2)


# --- what was not given ---------------------------------------------------------------------------


def test_without_test_rows_attacks_are_left_out(small):
    result = run("evaluate", *small, "--target", "ill", *QUICK, COLUMNS="80")
    words = " ".join(result.stdout.split())
    assert result.exit_code == 0, result.stderr
    assert "Attacks were left out: no test table was given (--test)" in words
    assert "Task: classification of ill" in words


def test_without_a_target_the_task_is_left_out(small):
    result = run("evaluate", *small, COLUMNS="80")
    words = " ".join(result.stdout.split())
    assert result.exit_code == 0, result.stderr
    assert "No target was named, so the readers' task was left out. Name it: --target." in words
    assert "Task:" not in words
    assert "Fidelity" in words


def test_a_table_without_a_certificate_may_claim_a_promise(small):
    content = strict(run("evaluate", *small, "--epsilon", "0.5", "--json").stdout)
    assert content["attacks"]["ceiling"]["epsilon"] == 0.5
    assert content["attacks"]["ceiling"]["delta"] == 1e-9
    assert strict(run("evaluate", *small, "--json").stdout)["attacks"]["ceiling"] is None
    assert "--epsilon" in told(run("evaluate", *small, "--delta", "1e-6"), 2)


def test_columns_can_be_left_out(small):
    content = strict(run("evaluate", *small, "--without", "age, city", "--json").stdout)
    assert content["columns"] == ["ill"]
    assert content["left_out"] == ["age", "city"]


def test_names_in_any_script_are_shown(folder):
    table = pa.table({"名前 [b]": [1.5, 2.5] * 20, "größe ⟂": ["ä", "[red]"] * 20})
    csv.write_csv(table, folder / "odd.csv")
    result = run("evaluate", "odd.csv", "odd.csv", COLUMNS="80")
    assert result.exit_code == 0, result.stderr
    # What looks like markup is text.
    assert "名前 [b]" in result.stdout
    assert "größe ⟂" in result.stdout


# --- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--target", "il"), "There is no column 'il'. Did you mean 'ill'?"),
        (("--models", "logistic,forest"), "Known: logistic, boosting, svm, mlp."),
        (("--target", "ill", "--task", "guess"), "use classification or regression"),
        (("--independent", "ill and city"), '"income _||_ sex | job, education"'),
        (("--independent", "ill _||_ ill"), "each column once"),
        (("--independent", "ill _||_ town"), "The columns are: age, city, ill."),
        (("--seeds", "0"), "at least once"),
        (("--attack-rows", "3"), "name at least 20"),
        (("--out", "scores.txt"), "ends in .html or .json"),
        (("--without", "town"), "The columns are: age, city, ill."),
        (("--target", "ill", "--positive", "maybe"), "Write it as the table does"),
        (("--schema", "none.toml"), "Check the path"),
        (("--test", "none.csv"), "Check the path"),
        (("--text-encoding", "klingon"), "Try 'utf-8'"),
        (("--epsilon", "-1"), "epsilon"),
        (("--epsilon", "nan"), "epsilon"),
        (("--epsilon", "1", "--delta", "2"), "delta"),
    ],
    ids=lambda case: " ".join(case) if isinstance(case, tuple) else "",
)
def test_public_mistakes_are_one_line_with_the_way_out(options, words, small, folder):
    assert words in told(run("evaluate", *small, *options), 2)
    assert sorted(path.name for path in folder.iterdir()) == ["real.csv", "synthetic.csv"]


@pytest.mark.parametrize("place", [0, 1])
def test_a_table_that_is_not_there_is_said(place, small):
    files = list(small)
    files[place] = "none.csv"
    assert "There is no file none.csv. Check the path." in told(run("evaluate", *files), 2)


def test_tables_of_other_columns_are_refused(small, folder):
    csv.write_csv(pa.table({"age": [1, 2], "town": ["a", "b"]}), folder / "other.csv")
    line = told(run("evaluate", small[0], "other.csv"), 2)
    assert "it lacks city, ill and it alone has town" in line
    assert "--without" in line


def test_columns_of_other_types_are_refused(small, folder):
    names = ["old", "young"] * 35
    table = csv.read_csv(small[1]).set_column(0, "age", pa.array(names))
    csv.write_csv(table, folder / "other.csv")
    line = told(run("evaluate", small[0], "other.csv"), 2)
    assert "Column 'age' holds numbers in the real table and labels in the synthetic table" in line
    assert "--schema" in line
    assert "--without" in line


def test_missing_arguments_are_bad_input():
    for arguments in ((), ("real.csv",)):
        result = run("evaluate", *arguments)
        assert result.exit_code == 2
        assert "Missing argument" in result.stderr


@pytest.mark.parametrize("name", ["synthetic.csv", "model.json", "certificate.json"])
def test_a_changed_release_is_not_judged(name, real, release, folder):
    copy = folder / "release"
    copy.mkdir()
    for path in release.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    whole = (copy / name).read_bytes()
    at = whole.rindex(b"1")
    (copy / name).write_bytes(whole[:at] + b"2" + whole[at + 1 :])
    told(run("evaluate", real, copy), 1)


def test_a_folder_that_is_no_release_is_refused(real, folder):
    (folder / "empty").mkdir()
    result = run("evaluate", real, "empty")
    assert "certificate.json" in told(result, 2)
    assert result.exit_code in {1, 2}


# --- tables that are hard to judge ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "words"),
    [("same", "none: the test rows hold one class only, or none"), ("flat", "one value only")],
)
def test_a_constant_target_is_said_and_no_crash(target, words, small, folder):
    for path in small:
        table = csv.read_csv(path)
        table = table.append_column("same", pa.array(["a"] * 70))
        csv.write_csv(table.append_column("flat", pa.array([0.5] * 70)), folder / path)
    result = run("evaluate", *small, "--target", target, *QUICK, COLUMNS="80")
    assert result.exit_code == 0, result.stderr
    assert words in " ".join(result.stdout.split())
    assert "Constant, or never there, and so without moments: flat." in " ".join(
        result.stdout.split()
    )


def test_an_empty_class_is_said_and_no_crash(small, folder):
    table = csv.read_csv(small[1])
    healthy = table.filter(pa.compute.equal(table["ill"], "no"))
    csv.write_csv(healthy, folder / "healthy.csv")
    result = run("evaluate", small[0], "healthy.csv", "--target", "ill", *QUICK, COLUMNS="80")
    assert result.exit_code == 0, result.stderr
    assert "The synthetic table has no row of the class true." in " ".join(result.stdout.split())


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_tables_of_hardly_any_rows_are_judged(rows, small, folder):
    for path in small:
        csv.write_csv(csv.read_csv(path).slice(0, rows), folder / path)
    options = ("--target", "ill", "--independent", "ill _||_ city", *QUICK)
    result = run("evaluate", *small, *options, "--json")
    assert result.exit_code == 0, result.stderr
    assert strict(result.stdout)["rows"] == {"real": rows, "synthetic": rows}
    assert run("evaluate", *small, *options, COLUMNS="80").exit_code == 0
