"""The noisy share of malformed records: counted exactly once, charged, and reported."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from understudy.column import Column, Kind, Role
from understudy.errors import BadInput, PrivacyRefused
from understudy.pipeline import synthesize
from understudy.privacy.budget import Budget
from understudy.privacy.discover import MALFORMED_SHARE
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.unit import Person, Replacement
from understudy.schema import Schema

SCHEMA = Schema(
    tuple(
        Column(name=n, kind=Kind.CATEGORICAL, categories=("a", "b"), other="o", null=True)
        for n in "xy"
    )
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "t.csv"
    good, bad = ["a,b\n"] * 4000, ["a\n", '"a,b\n', "a,b,b\n", '"a" b,a\n'] * 250
    path.write_text("x,y\n" + "".join(np.random.default_rng(0).permutation(good + bad)))
    return path


def opened(data, schema=SCHEMA, **options):
    return Ledger.open(data, schema, Budget(1.0, 1e-9), source=SeededForTests(0), **options)


def test_the_count_is_noisy_and_charged(file):
    answers = []
    for seed in range(30):
        with Ledger.open(file, SCHEMA, Budget(1.0, 1e-9), source=SeededForTests(seed)) as ledger:
            answer = ledger.malformed(rho=Fraction(1, 5000))
            assert ledger.rest() == ledger.budget.rho - Fraction(1, 5000) or ledger.rest() > 0
            answers.append(answer.count)
            assert answer.scale == pytest.approx(50, rel=1e-3)
    assert len({*answers}) > 10
    assert np.mean(answers) == pytest.approx(1000, abs=5 * 50 / np.sqrt(30))
    assert np.std(answers) == pytest.approx(50, rel=0.5)


def test_a_record_that_replaces_another_moves_the_count_by_one_as_well(file):
    with opened(file, unit=Replacement()) as ledger:
        answer = ledger.malformed(rho=Fraction(1, 5000))
        (entry,) = ledger.entries
    assert entry.event.sensitivity_squared == 1
    assert answer.scale == pytest.approx(50, rel=1e-3)


def test_the_count_is_refused_where_nobody_is_protected_by_it(file):
    schema = Schema((Column(name="x", kind=Kind.CATEGORICAL, role=Role.ID), SCHEMA["y"]))
    with opened(file, schema, unit=Person("x", 2)) as ledger:
        assert not ledger.counts_malformed
        with pytest.raises(PrivacyRefused, match="unit record"):
            ledger.malformed(rho=0.001)
        assert not ledger.entries
    with opened(pd.DataFrame({"x": ["a"], "y": ["b"]})) as ledger:
        assert not ledger.counts_malformed
        with pytest.raises(BadInput, match="CSV"):
            ledger.malformed(rho=0.001)


def test_a_release_reports_the_share(file):
    release = synthesize(
        file,
        schema=SCHEMA,
        epsilon=20.0,
        delta=1e-9,
        mechanism="independent",
        seed=0,
        accept_weak_guarantee=True,
    )
    (note,) = [note for note in release.notes if "malformed" in note]
    assert note.startswith(("About 20.", "About 19."))
    assert "--multiline" in note
    first = release.certificate.entries[0]
    assert first.request["door"] == "malformed"
    share = 1 / (2 * Fraction(first.event.scale) ** 2) / release.certificate.budget.rho
    assert float(share) == pytest.approx(float(MALFORMED_SHARE), rel=1e-6)


def test_a_well_formed_file_needs_no_note(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "a,b\n" * 5000)
    release = synthesize(path, schema=SCHEMA, epsilon=4.0, mechanism="independent")
    assert not [note for note in release.notes if "malformed" in note]


def test_the_certificate_says_what_a_record_is(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('x,y\n"a\nb",b\n' * 100)
    for multiline, words in ((False, "A record is one line"), (True, "quotes of every record")):
        release = synthesize(
            path, schema=SCHEMA, epsilon=4.0, mechanism="independent", multiline=multiline
        )
        assert words in " ".join(release.certificate.promise)
        reading = release.certificate.public["reading"]
        assert reading["multiline"] is multiline
        assert reading["source"] == "csv"
    frame = pd.read_csv(path)
    release = synthesize(frame, schema=SCHEMA, epsilon=4.0, mechanism="independent")
    assert "CSV" not in " ".join(release.certificate.promise)
    with pytest.raises(BadInput, match="Only a CSV file"):
        synthesize(frame, schema=SCHEMA, epsilon=4.0, multiline=True)
