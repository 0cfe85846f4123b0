"""What misses the declared facts: counted like anything else, and noted where it stands out."""

import datetime as dt
import sqlite3
from dataclasses import replace
from fractions import Fraction

import ibis
import numpy as np
import pyarrow as pa
import pytest

from understudy.column import Column, Kind, Source
from understudy.encode.ops import Storage
from understudy.encode.stray_cells import PRECISIONS, SPELLINGS, StrayCells
from understudy.errors import SchemaError
from understudy.pipeline import synthesize
from understudy.plan import plan
from understudy.plan.split import Part
from understudy.privacy import strays
from understudy.privacy.answers import Measurement
from understudy.privacy.budget import Budget
from understudy.privacy.folder import verify
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema

AGE = Column(name="age", kind=Kind.INTEGER, bounds=(20, 59), bins=4, null=False)
JOB = Column(name="job", kind=Kind.CATEGORICAL, categories=("cook", "smith"), null=True)
OPEN = Column(name="open", kind=Kind.UNKNOWN)
SURE = Column(name="sure", kind=Kind.BOOLEAN, null=True)


def rows(count=4000):
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "age": pa.array([str(age) for age in rng.integers(10, 70, count)]),
            "job": pa.array(rng.choice(["cook", "smith", "tailor"], count)),
            "open": pa.array(rng.choice(["a", "b"], count)),
            "sure": pa.array(rng.random(count) < 0.5),
        }
    )


def test_only_columns_whose_values_are_declared_are_counted():
    found = Column(name="f", kind=Kind.INTEGER, bounds=(0, 9), null=True, source=Source.BOUGHT)
    empty = Column(name="e", kind=Kind.CATEGORICAL, categories=(), other="other", null=False)
    schema = Schema((AGE, JOB, OPEN, SURE, found, empty))
    stored = dict.fromkeys(schema.names, Storage.BOOLEAN)
    assert strays.counted(schema, stored) == ("age", "job")
    # Booleans that are stored as text can be spelled in several ways.
    stored = dict.fromkeys(schema.names, Storage.TEXT)
    assert strays.counted(schema, stored) == strays.counted(schema) == ("age", "job", "sure")
    assert strays.share_of(Schema((AGE,))) == strays.SHARE
    assert strays.share_of(Schema((OPEN,))) == 0


def test_a_table_that_nobody_has_described_spends_nothing():
    with Ledger.open(rows(), None, Budget(1.0, 1e-9), discover=True) as ledger:
        assert strays.count(ledger, ledger.schema) == ()
        assert ledger.entries == ()


def test_they_cost_a_hundredth_and_the_ledger_codes_as_before():
    schema = Schema((AGE, JOB, SURE, *_dropped()))
    budget = Budget(1.0, 1e-9)
    with Ledger.open(rows(), schema, budget, source=SeededForTests(3)) as ledger:
        before = ledger.domain
        answers = strays.count(ledger, schema)
        assert ledger.domain == before
        assert [one.clique for one in answers] == [("age",), ("job",)]
        spent = budget.rho - ledger.rest()
        assert float(spent) == pytest.approx(float(budget.rho * Fraction(1, 100)), rel=1e-3)
        (entry,) = ledger.entries
        assert entry.request["strays"] is True
        exact = [1 / 60 * 10, 1 / 60 * 10]  # of ten years below, and of ten above
        noise = float(answers[0].scale)
        values = answers[0].values
        for value, share in zip(values[1:3], exact, strict=True):
            assert value == pytest.approx(4000 * share, abs=5 * noise + 100)
        ledger.measure([("age",)], rho=ledger.rest())
        assert "strays" not in ledger.entries[-1].request


def test_strict_releases_count_and_verify_them(tmp_path):
    release = synthesize(
        rows(), epsilon=8.0, schema=Schema((AGE, JOB, SURE, *_dropped())), strict=True, rows=50
    )
    release.save(tmp_path / "out")
    assert all(check.passed for check in verify(tmp_path / "out"))
    assert release.certificate.public["strays"] == ["age", "job"]
    told = "\n".join(release.notes)
    assert "Column 'age': about 1" in told
    assert "lie below the lower bound 20 and are set to it" in told
    assert "lie above the upper bound 59 and are set to it" in told
    assert "are not listed and become missing" in told


def _dropped():
    return (Column(name="open", kind=Kind.UNKNOWN, role="drop"),)


def test_a_plan_shows_what_they_cost():
    declared = plan(Schema((AGE, JOB)), epsilon=1.0)
    assert declared.split[Part.STRAYS] == pytest.approx(0.01, rel=0.05)
    assert Part.STRAYS not in plan(Schema((OPEN,)), epsilon=1.0).split


def note(column, **counts):
    return list(strays.stray_notes(column, noise=10.0, total=1000.0, **counts))


def test_a_share_is_noted_from_three_deviations_on():
    assert note(AGE, above=29.0, below=-500.0) == []
    (one,) = note(AGE, above=120.0)
    what = "about 12.0% of the values lie above the upper bound 59 and are set to it"
    assert one == f"Column 'age': {what} (noise ±1.0%)."
    few = list(strays.stray_notes(AGE, above=9.0, noise=1.0, total=10_000.0))
    assert few == []  # less than one in a thousand


def test_a_note_says_what_becomes_of_them():
    other = Column(name="c", kind=Kind.CATEGORICAL, categories=("a",), other="rest", null=False)
    day = Column(name="d", kind=Kind.DATE, bounds=(dt.date(2020, 1, 1),) * 2, null=True)
    (one,) = note(other, missing=100.0)
    assert "about 10.0% of the values are missing and become 'rest'" in one
    (one,) = note(other, unlisted=100.0)
    assert "are not listed and become 'rest'" in one
    (one,) = note(JOB, unlisted=100.0, missing=300.0)  # missing values may be there
    assert "are not listed and become missing" in one
    (one,) = note(AGE, missing=100.0)
    assert "are missing and have no code: rows with one are not drawn" in one
    below, unread = note(day, below=100.0, unlisted=5000.0)
    assert "lower bound 2020-01-01" in below
    assert "about 100.0% of the values are unreadable and become missing" in unread


def test_hidden_codes_of_other_columns_are_noted_by_the_models_own_counts():
    answers = (Measurement(("age",), np.array([900.0, 0, 0, 0, 100]), 10.0),)
    known = {"age": (100.0, 10.0), "open": (50.0, 5.0)}
    schema = Schema((AGE, Column(name="open", kind=Kind.BOOLEAN, null=False)))
    first, second = strays.notes(schema, answers, known, 1000.0)
    assert "'age'" in first
    assert (
        "'open': about 5.0% of the values are missing or unreadable: rows with one are not drawn"
        in second
    )


def test_strays_have_no_values():
    cells = StrayCells(AGE)
    assert [cells.describe(code) for code in range(cells.size)] == [
        "listed",
        "below",
        "above",
        "not listed",
        "missing",
    ]
    assert cells.fallback == {3, 4}
    with pytest.raises(SchemaError, match="only its strays are counted"):
        cells.decode(np.zeros(1, np.uint8), np.random.default_rng(0))
    with pytest.raises(SchemaError, match="only its strays are counted"):
        _ = cells.arrow_type


PRICE = Column(name="price", kind=Kind.REAL, bounds=(0, 100), null=True)
FLAG = Column(name="flag", kind=Kind.BOOLEAN, null=True)
WRITTEN = Schema((PRICE, FLAG))


def written_rows(prices, flags, count=8000):
    pick = np.random.default_rng(1).integers(0, 10**6, count)
    return pa.table(
        {
            "price": [prices[k % len(prices)] for k in pick],
            "flag": [flags[k % len(flags)] for k in pick],
        }
    )


@pytest.mark.parametrize(
    ("prices", "flags", "facts"),
    [
        (["0.5", "3", "4.5"], ["N", "Y"], (1, 0.5, ("N", "Y"))),
        (["0.25", "3", "4.5"], ["no", "yes"], (2, 0.25, ("no", "yes"))),
        (["12.5", "3.99", "7"], ["false", "true"], (2, None, None)),
        (["12", "3", "7"], ["Yes", "No", ""], (0, None, ("No", "Yes"))),
        (["0.1234567", "3"], ["on", "off"], (None, None, None)),
    ],
)
def test_precision_and_spelling_are_inferred_where_the_schema_is_silent(prices, flags, facts):
    with Ledger.open(written_rows(prices, flags), WRITTEN, Budget(1.0, 1e-9)) as ledger:
        strays.count(ledger, WRITTEN)
        price, flag = ledger.schema["price"], ledger.schema["flag"]
        assert (price.decimals, price.step, flag.spelling) == facts
        assert (price.source is Source.BOUGHT) == (facts[0] is not None)
        assert len(ledger.entries) == 1


def test_noise_alone_decides_no_way_of_writing():
    table = written_rows(["0.25", "3"], ["N", "Y"], count=20)
    for _ in range(20):
        with Ledger.open(table, WRITTEN, Budget(0.5, 1e-9)) as ledger:
            strays.count(ledger, WRITTEN)
            assert ledger.schema == WRITTEN


def test_what_is_declared_stays():
    declared = Schema((replace(PRICE, decimals=1), replace(FLAG, spelling=("n", "y"))))
    with Ledger.open(
        written_rows(["0.25", "3"], ["N", "Y"]), declared, Budget(1.0, 1e-9)
    ) as ledger:
        strays.count(ledger, declared)
        assert ledger.schema == declared


def test_engines_agree_on_ways_of_writing(tmp_path):
    prices = ["0.5", "1.25", "3", "3.1", "4.56", "0.001", "1e-9", "-1", "101", "x", ""]
    flags = [word for pair in SPELLINGS for word in pair] + ["tRuE", "", "perhaps"]
    table = written_rows(prices, flags, count=3000)
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as connection:
        table.to_pandas().to_sql("t", connection, index=False)
    sources = [
        table,
        ibis.sqlite.connect(path).table("t"),
        ibis.duckdb.connect().create_table("t", table),
    ]
    asked = [("price",), ("flag",)]
    first, *others = (
        PrivateTable(source, WRITTEN, strays=("price", "flag")).count(asked) for source in sources
    )
    assert [len(one) for one in first] == [4 + len(PRECISIONS), 4 + len(SPELLINGS)]
    for counts in others:
        for one, other in zip(first, counts, strict=True):
            assert (one == other).all()
