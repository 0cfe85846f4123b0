"""Forged certificates that `verify` of version 0.1.0 took for sound."""

import json
import shutil
import time
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from understudy.cli import app
from understudy.column import Column, Kind
from understudy.privacy.account import Entry
from understudy.privacy.budget import Budget
from understudy.privacy.certificate import certificate_from_json
from understudy.privacy.events import Gaussian, event_to_json
from understudy.privacy.folder import publish, verify
from understudy.privacy.ledger import Ledger
from understudy.privacy.spelling import spelled_for_people
from understudy.schema import Schema

OF_FORMAT_1 = Path(__file__).parents[1] / "golden" / "certificates_1"
SCHEMA = Schema(
    (
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 9), null=False),
        Column(name="sex", kind=Kind.BOOLEAN, null=False),
    )
)
TABLE = pa.table({"age": [1, 2, 3, 4] * 5, "sex": [True, False] * 10})


@pytest.fixture
def content():
    """A certificate of two marginals, as plain data."""
    with Ledger.open(TABLE, SCHEMA, Budget(1.0, 1e-9)) as ledger:
        ledger.measure([("age",), ("sex",)], rho=ledger.rest() / 2)
        return json.loads(json.dumps(ledger.close().to_json()))


def failed(tmp_path, content):
    """What fails of a certificate whose totals and hash are computed again."""
    again = certificate_from_json(content).to_json()
    return failed_as_it_is(tmp_path, json.loads(json.dumps(again)))


def failed_as_it_is(tmp_path, content):
    hashed = {name: part for name, part in content.items() if name != "sha256"}
    text = json.dumps(hashed, sort_keys=True, separators=(",", ":"))
    folder = tmp_path / "release"
    folder.mkdir(exist_ok=True)
    written = {**hashed, "sha256": sha256(text.encode()).hexdigest()}
    (folder / "certificate.json").write_bytes(spelled_for_people(written))
    return [check for check in verify(folder) if not check.passed]


def test_a_forged_measure_that_states_nearly_no_sensitivity_fails(tmp_path, content):
    forged = {**content["events"][0]["event"], "scale": 0.01, "unit_cells": None}
    content["events"][0]["event"] = {**forged, "sensitivity_squared": "1/1000000000000"}
    (check,) = failed(tmp_path, content)
    assert check.what == "each event follows from its query and the privacy unit"
    assert check.note == (
        "query 1: sensitivity_squared is 2 for this query and unit, and 1/1000000000000 is stated"
    )


def test_a_forged_measure_of_format_1_fails_as_well(tmp_path):
    content = json.loads((OF_FORMAT_1 / "discovered.json").read_text())
    assert failed(tmp_path, content) == []
    content["events"][0]["event"].update(
        scale=0.01, sensitivity_squared="1/1000000000000", unit_cells=None
    )
    assert failed(tmp_path, content)


def test_a_unit_that_is_everybody_for_ever_fails(tmp_path, content):
    content["promise"]["unit"] = "everybody, for ever"
    (check,) = failed_as_it_is(tmp_path, content)
    assert check.what == "the privacy unit is known"
    content = json.loads((OF_FORMAT_1 / "discovered.json").read_text())
    content["promise"]["unit"] = "everybody, for ever"
    (check,) = failed_as_it_is(tmp_path, content)
    assert check.what == "the privacy unit is known"


def test_forty_planned_scales_do_not_keep_verify_busy(tmp_path, content):
    events = [Gaussian(0.5 + 50 * k, Fraction(1), unit_cells=1) for k in range(40)]
    request = {"door": "measure", "cliques": [["age"]]}
    entry = Entry(request, events[-1])
    content["events"] = [{"request": request, "event": event_to_json(entry.event)}]
    content["planned"] = [event_to_json(event) for event in events]
    began = time.process_time()
    assert failed(tmp_path, content)  # these cost more than epsilon 1
    assert time.process_time() - began < 2


@pytest.mark.parametrize("name", sorted(path.stem for path in OF_FORMAT_1.glob("*.json")))
def test_certificates_of_version_0_1_0_still_verify(name, tmp_path):
    folder = tmp_path / "release"
    folder.mkdir()
    shutil.copy(OF_FORMAT_1 / f"{name}.json", folder / "certificate.json")
    checks = verify(folder)
    assert [check for check in checks if not check.passed] == []
    (check,) = [c for c in checks if c.what.startswith("each event follows from its query")]
    assert check.note.startswith("format 1 ")


def test_what_an_old_certificate_becomes_is_written_as_it_was(tmp_path):
    written = (OF_FORMAT_1 / "record.json").read_bytes()
    certificate = certificate_from_json(json.loads(written))
    publish(tmp_path / "release", {}, certificate)
    assert (tmp_path / "release" / "certificate.json").read_bytes() == written


def test_the_command_says_what_it_could_not_recompute(tmp_path):
    folder = tmp_path / "release"
    for name, partly in (("record", True), ("discovered", False)):
        folder.mkdir(exist_ok=True)
        shutil.copy(OF_FORMAT_1 / f"{name}.json", folder / "certificate.json")
        told = CliRunner().invoke(app, ["verify", str(folder)])
        assert told.exit_code == 0
        assert "All checks passed." in told.stdout
        assert ("Not every sensitivity could be recomputed" in told.stdout) == partly
        assert ("it does not state the sensitivity of scores" in told.stdout) == partly


@pytest.mark.untraced
def test_the_command_says_what_is_too_large(tmp_path, content):
    content["events"] *= 20_000
    assert failed_as_it_is(tmp_path, content)
    told = CliRunner().invoke(app, ["verify", str(tmp_path / "release")])
    assert told.exit_code == 1
    assert "too large to verify: queries: 20,000, and at most 10,000" in told.stdout
