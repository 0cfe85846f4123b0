"""Folders and ledger files of strangers that were believed, or kept a command busy, before."""

import errno
import json
import os
import shutil
import time
import tracemalloc
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import understudy as us
from understudy.cli import app
from understudy.column import Column, Kind, Role
from understudy.dag import read_dag
from understudy.domain import Domain
from understudy.errors import BadInput, CheckFailed, ReleaseTooLarge
from understudy.model import labelled
from understudy.model.balance import balanced
from understudy.model.graphical import GraphicalModel
from understudy.model.kernel_scorer import KernelScorer
from understudy.model.labelled import LabelledModel
from understudy.model.labels import ClassLabels, NumberLabels
from understudy.model.shuffled import ShuffledColumns
from understudy.privacy.budget import Budget
from understudy.privacy.certificate import certificate_from_json
from understudy.privacy.folder import publish, verify
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger_file import create_ledger, read_ledger
from understudy.privacy.spelling import digest, spelled, spelled_for_people
from understudy.privacy.unit import Person, parse_unit, unit_in_words
from understudy.schema import Schema
from understudy.schema_files import schema_from_toml, write_schema

pytestmark = pytest.mark.untraced  # limits on time are for the code as it runs
BUDGET = Budget(1.0, 1e-9)
SCHEMA = Schema(
    (
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 9), null=False),
        Column(name="sex", kind=Kind.BOOLEAN, null=False),
    )
)
TABLE = pa.table({"age": [1, 2, 3, 4] * 5, "sex": [True, False] * 10})
GAUSSIAN = {
    "kind": "Gaussian", "scale": 1000.0, "sensitivity_squared": "1", "steps": 1, "unit_cells": None
}  # fmt: skip


@pytest.fixture
def release(tmp_path):
    """A release of three queries, paid from a ledger file."""
    create_ledger(tmp_path / "ledger", Budget(4.0, 1e-8))
    with Ledger.open(TABLE, SCHEMA, BUDGET, file=tmp_path / "ledger") as ledger:
        for column in ("age", "sex", "age"):
            ledger.measure([(column,)], rho=ledger.rest() / 4)
        certificate = ledger.close()
    publish(tmp_path / "release", {}, certificate)
    return tmp_path / "release"


def forge(folder, change, *, totals=True):
    """Change a certificate, and compute its totals and its hashes again."""
    path = folder / "certificate.json"
    content = json.loads(path.read_bytes())
    change(content)
    for one in content["public"].values():
        one["sha256"] = digest(spelled({"value": one["value"]}))
    if totals:
        content = json.loads(json.dumps(certificate_from_json(content).to_json()))
    del content["sha256"]
    content["sha256"] = digest(spelled(content))
    path.write_bytes(spelled_for_people(content))


def failed(folder, **options):
    return [check.what for check in verify(folder, **options) if not check.passed]


def test_a_certificate_without_a_query_of_its_ledger_fails(tmp_path, release):
    ledger = read_ledger(tmp_path / "ledger")
    assert not failed(release, ledger=ledger)
    forge(release, lambda content: content["events"].pop())
    assert not failed(release)
    assert failed(release, ledger=ledger) == ["the ledger holds the same queries"]


@pytest.mark.parametrize("head", ["budget line", "another release"])
def test_a_certificate_with_the_line_of_something_else_fails(tmp_path, release, head):
    with Ledger.open(TABLE, SCHEMA, BUDGET, file=tmp_path / "ledger") as ledger:
        ledger.measure([("age",)], rho=ledger.rest() / 4)
        ledger.close()
    record = read_ledger(tmp_path / "ledger")
    assert not failed(release, ledger=record)
    first = json.loads((tmp_path / "ledger").read_bytes().splitlines()[0])["hash"]
    other = {"budget line": first, "another release": record.head}[head]
    forge(release, lambda content: content.update(ledger_head=other))
    assert failed(release, ledger=record) == ["the ledger holds the same queries"]


@pytest.mark.parametrize("reading", [[1], "csv", None, 3])
def test_a_reading_that_is_no_object_fails_without_a_traceback(release, reading):
    forge(
        release, lambda content: content["public"].update(reading={"value": reading}), totals=False
    )
    result = CliRunner().invoke(app, ["verify", str(release)])
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert "FAILED" in result.output


@pytest.mark.parametrize("name", ["schema", "storage", "reading", "unit"])
def test_a_certificate_states_all_public_inputs(release, name):
    forge(release, lambda content: content["public"].pop(name))
    assert "the public inputs are all stated" in failed(release)


@pytest.mark.parametrize(
    "odd",
    [{"multiline": 0}, {"multiline": None}, {"delimiter": 1}, {"balanced": True}, {"source": "x"}],
)
def test_a_condition_of_the_promise_does_not_vanish_with_its_fact(tmp_path, odd):
    (tmp_path / "rows.csv").write_text("age,sex\n" + "1,true\n" * 20)
    with Ledger.open(tmp_path / "rows.csv", SCHEMA, BUDGET, multiline=True) as ledger:
        ledger.measure([("age",)], rho=ledger.rest() / 4)
        publish(tmp_path / "release", {}, ledger.close())
    assert not failed(tmp_path / "release")
    forge(tmp_path / "release", lambda content: content["public"]["reading"]["value"].update(odd))
    assert failed(tmp_path / "release") == ["how the table was read is known"]


def test_a_condition_cannot_be_taken_for_a_smaller_promise(release):
    spoof = "any values: epsilon at most 0.001. Records with age = 1"

    def capped(content):
        cap = {
            name: content["budget"][name] for name in ("epsilon", "delta", "order", "thresholds")
        }
        content["public"]["caps"] = {"value": [{"where": spoof, "also": ["missing"], **cap}]}

    forge(release, capped)
    promise = certificate_from_json(json.loads((release / "certificate.json").read_bytes())).promise
    assert f'Records with "{spoof}" or missing: epsilon at most 1.' in promise


def capped(content, where):
    """Cap records that meet a condition, and let them weigh nothing in all queries."""
    cap = {"where": where, "also": [], "epsilon": 0.001, "delta": 1e-9, "order": None}
    content["public"]["caps"] = {"value": [{**cap, "thresholds": 0.0}]}
    for item in content["events"]:
        item["request"]["weights"] = {"most": 1024, "of": 1024, "capped": {where: 0}}
        item["event"]["unit_cells"] = None


def test_a_cap_on_no_column_cannot_be_taken_for_a_promise_to_everybody(release):
    forge(release, lambda content: capped(content, "age >= 8"))
    assert not failed(release)
    for where in ("any values", "anybody", "", "height >= 8", "age >= ", ">= 8", "age"):
        forge(release, lambda content, where=where: capped(content, where))
        assert "each cap is for a condition on a column" in failed(release), where
    forge(release, lambda content: capped(content, "any values >= 8"))
    certificate = certificate_from_json(json.loads((release / "certificate.json").read_bytes()))
    assert 'Records with "any values >= 8": epsilon at most 0.001.' in certificate.promise


def test_an_id_cannot_be_taken_for_another_promise(release):
    spoof = "x). Differentially private: epsilon 0.001. Protected: one person (x"

    def person(content):
        content["promise"]["unit"] = str(Person(spoof, 2))
        content["public"]["unit"]["value"] = str(Person(spoof, 2))

    forge(release, person)
    certificate = certificate_from_json(json.loads((release / "certificate.json").read_bytes()))
    whole = f'one person ("{spoof}") with all their rows, of which at most 2 count'
    assert certificate.promise[1] == f"Protected: {whole}."
    assert str(certificate).endswith(whole)
    assert unit_in_words(str(Person("patient_id", 2))) == str(Person("patient_id", 2))
    assert "\n" not in unit_in_words(str(Person("x\nProtected: everybody", 2)))


def test_facts_that_were_read_off_the_rows_cannot_hide(release):
    def reveal(content):
        schema = content["public"]["schema"]
        schema["value"] = schema["value"].replace('"declared"', '"data"', 1)

    forge(release, reveal)
    assert failed(release) == ["facts read off the table count as a reveal"]
    told = {"door": "schema"}, {"kind": "Reveal", "reason": "facts read off the data: age"}
    forge(
        release,
        lambda content: content["events"].append(
            dict(zip(("request", "event"), told, strict=True))
        ),
    )
    assert not failed(release)


@pytest.mark.parametrize(
    "spelled",
    [
        '[columns.age]\nsource="data"\n',
        "[columns.age]\nsource = 'data'\n",
        '[columns.age]\nsource = "data" # declared\n',
        '[columns.age]\r\nsource = "data"\r\n',
        '[columns.age]\nsource = "d\\u0061ta"\n',
        '[columns.age]\n"source" = "data"\n',
        '[columns.age]\n    source = "data" #,\n',
        '[columns.age]\n    "source" = "data" #",\n',
        '[columns]\nage.source = "data"\n',
        'columns.age = {source = "data"}\n',
        'columns = {age = {source = "data"}}\n',
        '[rows]\nbound = 9\nsource ="data"\n',
        {"columns": {"age": {"source": "data"}}},
    ],
)
def test_no_spelling_hides_facts_that_were_read_off_the_rows(release, spelled):
    forge(release, lambda content: content["public"]["schema"].update(value=spelled))
    assert failed(release) == ["facts read off the table count as a reveal"]


def test_a_release_whose_model_has_facts_read_off_the_rows_is_not_loaded(tmp_path):
    folder = us.synthesize(TABLE, schema=SCHEMA, epsilon=1.0).save(tmp_path / "release")
    us.load(folder)
    content = json.loads((folder / "model.json").read_bytes())
    content["schema"] = content["schema"].replace('"declared"', '"data"', 1)
    replaced(folder, "model.json", json.dumps(content).encode())
    with pytest.raises(BadInput, match="holds no release"):
        us.load(folder)


def test_an_id_cannot_be_taken_for_a_smaller_unit():
    spoof = "id) with all their rows, of which at most 1 count. Really (x"
    with pytest.raises(BadInput, match="Rename"):
        Person(spoof, 20)
    with pytest.raises(BadInput, match="Rename"):
        parse_unit(f"one person ({spoof}) with all their rows, of which at most 20 count")


@pytest.mark.parametrize(
    "planned",
    [
        [{"kind": "BestOf", "base": [GAUSSIAN] * 5000, "gamma": "1/4"}],
        [
            {"kind": "BestOf", "base": [{**GAUSSIAN, "scale": 1000.0 + k}], "gamma": "1/4"}
            for k in range(2000)
        ],
    ],
    ids=["parts", "selections"],
)
def test_plans_of_many_runs_are_refused_at_once(release, planned):
    forge(release, lambda content: content.update(planned=planned), totals=False)
    began = time.process_time()
    assert failed(release) == ["the certificate can be read"]
    assert time.process_time() - began < 2


def ledger_lines(path, change):
    """Write the lines of a ledger file again, each changed, with the hashes that they need."""
    before, lines = "0" * 64, []
    for line in path.read_bytes().splitlines():
        entry = {**json.loads(line), "before": before}
        del entry["hash"]
        change(entry)
        before = entry["hash"] = sha256(spelled(entry)).hexdigest()
        lines.append(spelled(entry) + b"\n")
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    ("name", "value"),
    [("epsilon", "x"), ("epsilon", True), ("unit", ["a"]), ("time", ["t"]), ("delta", None)],
)
def test_a_ledger_file_of_other_types_is_damaged(tmp_path, release, name, value):
    assert release.is_dir()

    def change(entry):
        if entry.get("kind") == "begin":
            entry[name] = value

    ledger_lines(tmp_path / "ledger", change)
    with pytest.raises(CheckFailed, match="line 2"):
        read_ledger(tmp_path / "ledger")


def test_a_ledger_file_moves_no_cursor(tmp_path, release):
    assert release.is_dir()
    moving = "\x1b[2K\x1b[1A\n"

    def change(entry):
        if entry.get("kind") == "begin":
            entry.update(unit=moving, time=moving)

    ledger_lines(tmp_path / "ledger", change)
    result = CliRunner().invoke(app, ["budget", str(tmp_path / "ledger")])
    assert result.exit_code == 0
    assert "\x1b" not in result.output


def test_thousands_of_caps_are_refused_at_once(release):
    cap = {"where": "age = 1", "epsilon": 1.0, "delta": 1e-9, "order": None, "thresholds": 0.0}
    caps = {"value": [{**cap, "where": f"age = {k}"} for k in range(6000)]}
    forge(release, lambda content: content["public"].update(caps=caps), totals=False)
    began = time.process_time()
    assert failed(release) == ["the certificate can be read"]
    assert time.process_time() - began < 2


def test_a_model_that_breaks_a_stated_independence_is_not_loaded(tmp_path):
    folder = us.synthesize(TABLE, schema=SCHEMA, epsilon=1.0, constraints=["age _||_ sex"]).save(
        tmp_path / "release"
    )
    us.load(folder)
    path = folder / "model.json"
    content = json.loads(path.read_bytes())
    ties = {"clique": ["age", "sex"], "log": [0.0] * 33}
    model = {"domain": [["age", 11], ["sex", 3]], "total": 20.0, "factors": [ties]}
    content.update(kind="graphical", model={**model, "rounded": True, "measurements": []})
    path.write_text(json.dumps(content))
    hashed = sha256(path.read_bytes()).hexdigest()
    forge(folder, lambda content: content["files"].update({"model.json": hashed}))
    with pytest.raises(CheckFailed, match="independence"):
        us.load(folder)


def test_a_message_moves_no_cursor(tmp_path):
    us.synthesize(TABLE, schema=SCHEMA, epsilon=1.0).save(tmp_path / "release")
    (tmp_path / "release" / "\x1b[2K").touch()
    os.truncate(tmp_path / "release" / "\x1b[2K", 2**40)
    TABLE.to_pandas().to_csv(tmp_path / "real.csv", index=False)
    command = ["evaluate", str(tmp_path / "real.csv"), str(tmp_path / "release")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert "\x1b" not in result.output


@pytest.mark.parametrize("name", ["report.html", "other"])
def test_a_file_with_holes_is_refused_before_it_is_hashed(tmp_path, name):
    us.synthesize(TABLE, schema=SCHEMA, epsilon=1.0).save(tmp_path / "release")
    (tmp_path / "release" / name).touch()
    os.truncate(tmp_path / "release" / name, 2**40)
    with pytest.raises(ReleaseTooLarge):
        us.load(tmp_path / "release")
    shutil.rmtree(tmp_path / "release")


MOST_SECONDS = 2.0


def test_equal_selections_of_a_plan_are_priced_once(release):
    long = str(Fraction(10**300 + 1, 10**300 + 7))
    run = {**GAUSSIAN, "sensitivity_squared": long}
    planned = [{"kind": "BestOf", "base": [run] * 8, "gamma": "1/4"}] * 600
    forge(release, lambda content: content.update(planned=planned), totals=False)
    began = time.process_time()
    assert failed(release)
    assert time.process_time() - began < MOST_SECONDS


@pytest.mark.parametrize("value", ["[]", "{}", "0"])
def test_a_certificate_of_millions_of_values_is_refused_before_it_is_parsed(release, value):
    text = '{"format": [' + f"{value}," * 2**23 + "0]}"
    (release / "certificate.json").write_text(text)
    began = time.process_time()
    (check,) = verify(release)
    assert time.process_time() - began < MOST_SECONDS / 10
    assert "too large to verify: commas and brackets" in check.note


def test_selections_among_runs_count_as_several_queries(release):
    runs = {"kind": "BestOf", "base": [GAUSSIAN] * 2, "gamma": "1/4"}
    cap = {"epsilon": 1e5, "delta": 1e-9, "order": None, "thresholds": 0.0}
    caps = {"value": [{**cap, "where": f"age = {k}"} for k in range(900)]}

    def change(content):
        content["events"] = [{**content["events"][0], "event": runs}] * 120
        content["public"].update(caps=caps)

    forge(release, change, totals=False)
    (check,) = [check for check in verify(release) if not check.passed]
    assert "too large to verify: costs of queries" in check.note


def saved(folder, **options):
    return us.synthesize(TABLE, schema=SCHEMA, epsilon=1.0).save(folder, **options)


def replaced(folder, name, written):
    """Put another file into a release, and its hash into the certificate."""
    (folder / name).write_bytes(written)
    hashed = sha256(written).hexdigest()
    forge(folder, lambda content: content["files"].update({name: hashed}))


def test_a_model_of_too_many_lists_is_refused_before_it_is_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr("understudy.release._MOST_LISTS", 2**10)
    folder = saved(tmp_path / "release")
    us.load(folder)
    replaced(folder, "model.json", b'{"x":[' + b"[]," * 2**11 + b"0]}")
    with pytest.raises(ReleaseTooLarge, match="lists"):
        us.load(folder)
    with pytest.raises(BadInput, match="no release"):  # it is read, and is none
        us.load(folder, max_bytes=2**20)


def test_a_parquet_footer_of_millions_of_structs_is_refused(tmp_path):
    folder = saved(tmp_path / "release", format="parquet")
    many = 2**23
    # A list of 2^23 structs without a field: a byte each.
    footer = bytes([0x19, 0xFC, 0x80, 0x80, 0x80, 0x04]) + bytes(many + 1)
    written = b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    replaced(folder, "synthetic.parquet", written)
    began = time.process_time()
    with pytest.raises(BadInput, match="no release"):
        us.load(folder)
    assert time.process_time() - began < MOST_SECONDS / 2


def test_a_link_to_nowhere_does_not_hide_a_file_with_holes(tmp_path):
    folder = saved(tmp_path / "release")
    for name in ("first", "other", "last"):  # one of the links is found before the file
        path = folder / name
        if name == "other":
            path.touch()
            os.truncate(path, 2**40)
        else:
            path.symlink_to("nowhere")
    with pytest.raises(ReleaseTooLarge):
        us.load(folder)
    (folder / "other").unlink()


def test_labels_of_more_codes_than_are_listed_are_refused_at_once():
    inputs = {"age": [[0.0], [1.0]]}
    scorer = {"inputs": inputs, "layers": [[[1.0], [0.0]]]}
    content = {"scorer": scorer, "codes": [0, 1], "shares": [0.5, 0.5], "told": 2, "factor": 1.0}
    content.update(shift=[0.0, 0.0], moved=None, hard=False)
    ClassLabels.from_json(content, {"age": 2}, 2)
    began = time.process_time()
    with pytest.raises(BadInput, match="fit each other"):
        ClassLabels.from_json(content, {"age": 2}, 2**40)
    assert time.process_time() - began < MOST_SECONDS / 10


def pairs_of(columns, factors=1):
    """A model in which all pairs of some columns of two codes are tied."""
    names = [f"c{place}" for place in range(columns)]
    pairs = [[a, b] for a in names for b in names if a < b]
    return {
        "domain": [[name, 2] for name in names],
        "total": 10.0,
        "factors": [{"clique": pair, "log": [0, 0, 0, 0]} for pair in pairs * factors],
        "rounded": True,
        "measurements": [],
    }


def test_small_factors_of_one_large_clique_do_not_stand_for_minutes():
    """Each of the 325 is added to 2^26 cells, before a single row is drawn."""
    GraphicalModel.from_json(pairs_of(18))
    with pytest.raises(BadInput, match="so many factors"):
        GraphicalModel.from_json(pairs_of(26))


def test_many_factors_and_cliques_do_not_stand_for_minutes():
    """Each factor is looked for in all cliques."""
    names = [f"c{place}" for place in range(2000)]
    pairs = [[a, b] for a, b in pairwise(names)]
    content = {**pairs_of(0), "domain": [[name, 2] for name in names]}
    chain = [{"clique": pair, "log": [0, 0, 0, 0]} for pair in pairs]
    GraphicalModel.from_json({**content, "factors": chain})
    began = time.process_time()
    with pytest.raises(BadInput, match="so many factors"):
        GraphicalModel.from_json({**content, "factors": chain * 5})
    assert time.process_time() - began < 5.0  # it takes about one


def class_labels(classes, told, *, balanced=True, width=None):
    """A model of labels in a file, for a column of so many codes."""
    outputs = 1 if told == 1 else told
    layers = [[[0.0] * outputs] * 2]
    if width is not None:
        layers = [[[0.0] * width] * 2, [[0.0] * outputs] * (width + 1)]
    return {
        "scorer": {"inputs": {"age": [[0.0], [1.0]]}, "layers": layers},
        "codes": [*range(classes)],
        "shares": [1.0] * classes,
        "shift": [0.0] * told,
        "moved": None,
        "told": told,
        "factor": 1.0,
        "hard": False,
        "balanced": balanced,
    }


def test_a_few_classes_do_not_stand_for_gigabytes_of_chances():
    ClassLabels.from_json(class_labels(300, 299), {"age": 2}, 300)
    for classes, told in ((30_000, 30_000), (300, 1)):
        with pytest.raises(BadInput, match="in time"):
            ClassLabels.from_json(class_labels(classes, told), {"age": 2}, classes)
    numbers = class_labels(300, 1) | {"spread": 1.0, "steps": []}
    with pytest.raises(BadInput, match="in time"):
        NumberLabels.from_json(numbers, {"age": 2}, 300)


def test_balanced_labels_take_no_square_of_the_classes():
    classes, rng = 4000, np.random.default_rng(0)
    tracemalloc.start()
    balanced([np.zeros(3, np.uint8)], [1], np.full((3, classes), 1 / classes), rng)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2**25 < 8 * classes**2


def test_labels_of_many_rows_are_drawn_in_parts(monkeypatch):
    """At once, a layer of many numbers takes memory for rows times numbers."""
    monkeypatch.setattr(labelled, "_NUMBERS_AT_ONCE", 2**20)
    labels = ClassLabels.from_json(class_labels(2, 2, width=4000), {"age": 2}, 2)
    columns = GraphicalModel(Domain.of({"age": 2}), 10.0)
    model = LabelledModel(Domain.of({"age": 2, "sex": 2}), columns, "sex", labels)
    tracemalloc.start()
    drawn = model.sample(3000, np.random.default_rng(0))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert {*map(len, drawn.values())} == {3000}
    assert most < 2**25 < 8 * 3000 * 4000
    assert len(model.sample(0, np.random.default_rng(0))["sex"]) == 0


def test_many_points_of_kernels_are_refused():
    content = {
        "inputs": {"age": [[0.0], [1.0]]},
        "points": [[0.0]] * 1000,
        "weights": [[0.0]] * 1000,
        "centre": [0.5],
        "profile": [1.0, 0.5],
        "step": 1.0,
        "chances": False,
    }
    scorer = KernelScorer.from_json(content, {"age": 2})
    rows = {"age": np.arange(20_000) % 2}
    assert np.array_equal(scorer(rows), np.full((20_000, 1), 0.5))
    many = {name: content[name] * 300 for name in ("points", "weights")}
    with pytest.raises(BadInput, match="fit each other"):
        KernelScorer.from_json(content | many, {"age": 2})


def test_a_few_numbers_do_not_stand_for_gigabytes_of_shuffled_rows():
    with pytest.raises(BadInput, match="whole numbers"):
        ShuffledColumns.from_json({"counts": {"age": [2**30, 2**30]}})
    model = ShuffledColumns.from_json({"counts": {"age": [2, 1, 0]}})
    drawn = model.sample(3, np.random.default_rng(0))["age"]
    assert drawn.dtype == np.uint8
    assert sorted(drawn) == [0, 0, 1]


@pytest.mark.parametrize("command", ["plan", "synthesize", "evaluate", "budget"])
def test_names_of_columns_move_no_cursor(tmp_path, command):
    name = "a\x1b[2J\x9b31m"
    schema = Schema((Column(name=name, kind=Kind.BOOLEAN, null=False), *SCHEMA.columns))
    write_schema(schema, tmp_path / "schema.toml")
    table = TABLE.append_column(name, TABLE["sex"]).to_pandas()
    table.to_csv(tmp_path / "rows.csv", index=False)
    rows, facts, out = (str(tmp_path / one) for one in ("rows.csv", "schema.toml", "out"))
    made = ["synthesize", rows, "--schema", facts, "--epsilon", "1", "--out", out, "--target", name]
    commands = {
        "plan": ["plan", facts, "--epsilon", "1", "--target", name, "--method", "independent"],
        "synthesize": [*made, "--method", "independent"],
        "evaluate": ["evaluate", rows, out, "--seeds", "1", "--models", "logistic"],
        "budget": ["budget", str(tmp_path / "ledger")],
    }
    if command == "evaluate":
        us.synthesize(table, schema=schema, epsilon=1.0).save(out)
    if command == "budget":
        create_ledger(tmp_path / "ledger", Budget(4.0, 1e-8))
        unit = Person(name, 2)
        with Ledger.open(
            TABLE.append_column(name, TABLE["age"]),
            Schema((*SCHEMA.columns, Column(name=name, kind=Kind.INTEGER, role=Role.ID))),
            BUDGET, file=tmp_path / "ledger", unit=unit,
        ) as ledger:  # fmt: skip
            ledger.measure([("age",)], rho=ledger.rest() / 4)
            ledger.close()
    result = CliRunner().invoke(app, commands[command])
    assert result.exit_code == 0, result.output
    assert not {*result.output} & {"\x1b", "\x9b"}
    assert "\\x1b" in result.output or "\\u001b" in result.output


@pytest.mark.parametrize("written", [b"", b"a little"])
def test_a_listed_file_of_holes_is_not_hashed_for_minutes(release, written):
    forge(release, lambda content: content["files"].update({"rows": "0" * 64}))
    (release / "rows").write_bytes(written)
    os.truncate(release / "rows", 2**40)
    began = time.process_time()
    (check,) = [check for check in verify(release) if not check.passed]
    assert time.process_time() - began < MOST_SECONDS
    assert check.note == "too large to verify: gigabytes of it are holes"
    (release / "rows").unlink()


def test_files_are_hashed_where_a_file_system_knows_no_holes(release, monkeypatch):
    def unknown(*_):
        raise OSError(errno.EINVAL, "")

    monkeypatch.setattr(os, "lseek", unknown)
    (release / "rows").write_bytes(b"rows")
    forge(release, lambda content: content["files"].update(rows=sha256(b"rows").hexdigest()))
    assert not failed(release)


def test_two_groups_of_names_in_a_graph_do_not_stand_for_millions_of_edges(tmp_path):
    causes, effects = (" ".join(f"{side}{k}" for k in range(3000)) for side in "ab")
    (tmp_path / "graph.dot").write_text(f"digraph {{ {{{causes}}} -> {{{effects}}} }}")
    began = time.process_time()
    with pytest.raises(BadInput, match="edges, too many"):
        read_dag(tmp_path / "graph.dot")
    assert time.process_time() - began < MOST_SECONDS


def test_rows_of_a_csv_file_keep_to_the_limit_in_memory(tmp_path):
    folder = us.synthesize(TABLE, schema=SCHEMA, epsilon=1.0, rows=1000).save(tmp_path / "release")
    size = (folder / "synthetic.csv").stat().st_size
    assert size < 8500 < 1000 * (8 + 1)  # an integer and a flag in each row
    assert us.load(folder, max_bytes=9100).rows.count == 1000
    with pytest.raises(ReleaseTooLarge, match="In memory"):
        us.load(folder, max_bytes=8500)


def test_queries_of_all_records_are_added_up_once_for_all_scores(tmp_path):
    """With the losses of each score added up anew, this takes minutes."""
    tables = {"tables": {"age": [0] * 10 + [1]}, "thresholds": [1], "weights": [1024, 512]}
    bound = Budget(0.9, 1e-9)
    with Ledger.open(TABLE, SCHEMA, BUDGET, each=bound) as ledger:
        ledger.measure([("age",)], rho=ledger.rest() / 10**6)
        ledger.weighted(ledger.weigh(**tables)).measure([("age",)], rho=ledger.rest() / 10**6)
        publish(tmp_path / "release", {}, ledger.close())

    def change(content):
        plain, weighed = content["events"]
        weighed["request"]["weights"]["by_step"] = [1024] + [512] * 5000
        content["events"] = [weighed, *[plain] * 1000]

    forge(tmp_path / "release", change)
    began = time.process_time()
    assert not failed(tmp_path / "release")
    assert time.process_time() - began < MOST_SECONDS


@pytest.mark.parametrize("command", ["plan", "schema"])
def test_plain_data_moves_no_cursor_and_reads_as_it_was(tmp_path, command):
    name = "a\x9b31m"
    schema = Schema((Column(name=name, kind=Kind.BOOLEAN, null=False), *SCHEMA.columns))
    write_schema(schema, tmp_path / "schema.toml")
    TABLE.append_column(name, TABLE["sex"]).to_pandas().to_csv(tmp_path / "rows.csv", index=False)
    asked = ["plan", str(tmp_path / "schema.toml"), "--epsilon", "1", "--json"]
    command = asked if command == "plan" else ["schema", str(tmp_path / "rows.csv")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0
    assert "\x9b" not in result.output
    read = json.loads if "--json" in command else schema_from_toml
    told = read(result.stdout)
    assert name in (told["codes"] if "--json" in command else told.names)
