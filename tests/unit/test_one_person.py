"""One person in three thousand holds a category, a number and a gap that nobody else has.

Whoever reads a release, to its last byte, must not find them. The category and the number are told
only by a threshold: at ε = 1, δ = 1e-9 a run tells them with a chance below 1e-10. The digits of
the number are so many that they stand nowhere by accident. The gap is told where the noise of one
cell exceeds 4.5 standard deviations, by chance in 3.5 of a million runs, person or no person.
"""

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from understudy.encode.shape_grid import MISSING
from understudy.errors import PrivacyRefused
from understudy.pipeline import synthesize
from understudy.privacy import discover, prices
from understudy.privacy.answers import CommonValues
from understudy.privacy.kinds import looks
from understudy.release import load

ROWS = 3000
CATEGORY = "Zyzzyva-Quux"
NUMBER = 867530912345678
SPELLINGS = (str(NUMBER), f"{NUMBER:,}", f"{NUMBER:.14e}", "8.67530912345678")
COMMON = 65_500
"""A value that many share, next to the upper end: where it is looked for, the number lies too."""
NAMES = ["city", "income", "ward"]


def private_rows(holders=1):
    """The table; so many rows, from the first on, hold the category, the number and the gap."""
    rng = np.random.default_rng(7)
    income = np.where(rng.random(ROWS) < 0.4, COMMON, rng.integers(9_000, 60_000, ROWS))
    city = rng.choice(["Ulm", "Bonn", "Trier", "Kiel"], ROWS)
    ward = rng.choice(["north", "south", "west"], ROWS)
    held = np.arange(ROWS) < holders
    rows = pa.table(
        {
            "city": np.where(held, CATEGORY, city),
            "income": np.where(held, NUMBER, income),
            "ward": pa.array([None if gap else w for w, gap in zip(ward, held, strict=True)]),
        }
    )
    return rows.take(rng.permutation(ROWS))


@pytest.fixture(scope="module")
def table():
    return private_rows()


def told_in(folder, *texts):
    """Which of the three can be found in the files of a release or in what was said about it."""
    spoken = "\n".join(texts).encode()
    content = b"\n".join([*(path.read_bytes() for path in folder.iterdir()), spoken])
    release = load(folder)
    found = set()
    if CATEGORY.encode() in content or CATEGORY in str(release.table["city"].to_pylist()):
        found.add("category")
    if any(spelling.encode() in content for spelling in SPELLINGS):
        found.add("number")
    if release.schema["ward"].null is not False or release.table["ward"].null_count:
        found.add("gap")
    return found


def run(table, folder):
    """One release of the table, and which of the three it tells."""
    said = []
    release = synthesize(table, epsilon=1.0, delta=1e-9, tell=said.append)
    assert release.table.column_names == NAMES
    assert release.certificate.epsilon == 1.0
    release.save(folder)
    certificate = release.certificate
    return told_in(
        folder,
        *said,
        *release.notes,
        *certificate.promise,
        *certificate.bought,
        repr(release),
        str(certificate),
        release._repr_html_(),
        certificate._repr_html_(),
    )


def told(table, folder, runs):
    """How often each was told in so many releases."""
    return Counter(what for k in range(runs) for what in run(table, folder / f"{k}"))


def kept_quiet(counts):
    # One gap may come out of the noise alone. Two in 20 runs: once in 4 · 10⁸ times; in 200 runs:
    # once in 4 million.
    return counts["category"] == counts["number"] == 0 and counts["gap"] <= 1


@pytest.mark.statistical
def test_nothing_of_one_person_is_told(table, tmp_path):
    assert kept_quiet(told(table, tmp_path, 20))


@pytest.mark.slow
@pytest.mark.statistical
def test_nothing_of_one_person_is_told_in_many_releases(table, tmp_path):
    assert kept_quiet(told(table, tmp_path, 200))


def test_what_many_share_is_told(tmp_path):
    # The search finds what is there: with 600 holders all three are part of every release.
    assert told(private_rows(600), tmp_path, 1) == {"category": 1, "number": 1, "gap": 1}


@pytest.mark.statistical
def test_without_a_threshold_one_person_is_found(table, tmp_path, monkeypatch):
    # With a threshold of one, each run tells either value with a chance of one half; ten runs
    # keep quiet about both once in a million times.
    above = CommonValues.above
    monkeypatch.setattr(CommonValues, "above", lambda _, *rest: above(1, *rest))
    counts = told(table, tmp_path, 10)
    assert not kept_quiet(counts)
    assert counts["category"] + counts["number"]


def test_the_accountant_refuses_a_threshold_that_is_too_low(table, monkeypatch):
    monkeypatch.setattr(prices, "threshold", lambda *_: 2)
    with pytest.raises(PrivacyRefused, match="more of delta"):
        synthesize(table, epsilon=1.0, delta=1e-9)


@pytest.mark.statistical
def test_without_a_limit_for_gaps_one_gap_is_found(table, tmp_path, monkeypatch):
    # Noise alone puts a gap below three standard deviations once in a thousand runs.
    def lenient(*given, **options):
        *_, shapes, scale = given
        return replace(looks(*given, **options), null=bool(shapes[MISSING] > -3 * scale))

    monkeypatch.setattr(discover, "looks", lenient)
    counts = told(table, tmp_path, 4)
    assert not kept_quiet(counts)
    assert counts["gap"] >= 2


@pytest.mark.parametrize("runs", [1, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.statistical
def test_nothing_of_one_person_is_told_by_the_command(table, tmp_path, runs):
    path = tmp_path / "rows.csv"
    csv.write_csv(table, path)
    assert CATEGORY.encode() in path.read_bytes()
    assert str(NUMBER).encode() in path.read_bytes()
    counts = Counter()
    for k in range(runs):
        folder = tmp_path / f"out{k}"
        program = Path(sys.executable).with_name("understudy")
        done = subprocess.run(
            [program, "synthesize", path, "--epsilon", "1", "--out", folder],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "Differentially private: epsilon 1" in done.stdout
        counts.update(told_in(folder, done.stdout, done.stderr))
    assert kept_quiet(counts)
