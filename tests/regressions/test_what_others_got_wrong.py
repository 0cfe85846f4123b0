"""Failures of respected libraries, each with a test that this one does not share it.

Tests that draw from the operating system's generator say how often they alarm for nothing, and
what they would see.
"""

import datetime as dt
import re
import struct
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv
from scipy import stats
from typer.testing import CliRunner

from helpers.tables import numbered
from understudy.cli.app import app
from understudy.column import Column, Kind, Role
from understudy.domain import Domain
from understudy.encode import Encoding
from understudy.errors import BadInput, PrivacyRefused
from understudy.mechanisms.catalog import MECHANISMS
from understudy.mechanisms.dpdsyn import DpdSyn
from understudy.mechanisms.label_model import LabelModel
from understudy.model.factor import Factor
from understudy.model.graphical import GraphicalModel
from understudy.pipeline import synthesize
from understudy.privacy import discover
from understudy.privacy import ledger as ledger_module
from understudy.privacy import train as train_module
from understudy.privacy.accountant import total_cost, total_epsilon
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger_file import create_ledger, read_ledger
from understudy.privacy.noise import OsRandom, SeededForTests, gaussian_noise, with_gaussian_noise
from understudy.privacy.row_maps import ClippedMoments, InducingFeatures, NormalScores
from understudy.privacy.scores import CountTV, L1Distance
from understudy.privacy.train import Training
from understudy.privacy.unit import Person, Record, Replacement
from understudy.privacy.weights import UNIT
from understudy.schema import Schema

RARE = 1e-6
RICH = Budget(1e9, 1e-9)
LONELY = "Zwiebelturm-7"
FAR = 987654.125
DAY = dt.date(1871, 3, 4)
METHODS = [kind.name for kind in MECHANISMS]


def coded(**sizes):
    """A schema of whole codes."""
    return Schema(tuple(numbered(name, size) for name, size in sizes.items()))


# --- metadata and pre-processing that are read off the private data -------------------------------
# The audit of synthesizers that take the domain, the bounds and the bins from the rows.


DECLARED = Schema(
    (
        Column(
            name="city", kind=Kind.CATEGORICAL, categories=("Ulm", "Bonn"), other="else", null=False
        ),
        Column(name="pay", kind=Kind.REAL, bounds=(0.0, 5000.0), bins=8, null=False),
        Column(name="born", kind=Kind.DATE, bounds=(dt.date(1950, 1, 1), dt.date(2009, 12, 31))),
    )
)


def rows(*, lonely=False, count=3000):
    """A table; with one record more, if asked for, that holds what nobody else does."""
    rng = np.random.default_rng(5)
    city = rng.choice(["Ulm", "Bonn"], count).tolist()
    pay = rng.uniform(1000.0, 4000.0, count).tolist()
    born = [dt.date(1960, 1, 1) + dt.timedelta(int(days)) for days in rng.integers(0, 9000, count)]
    if lonely:
        city, pay, born = [*city, LONELY], [*pay, FAR], [*born, DAY]
    return pa.table({"city": city, "pay": pay, "born": pa.array(born, pa.date32())})


def facts_of(table, schema):
    """All that a ledger says before it is asked, and all that is made of its answers."""
    stated = Budget(4.0, 1e-6, thresholds=1e-7)
    with Ledger.open(table, schema, stated, discover=schema is None) as ledger:
        before = ledger.schema, ledger.storage, ledger.encoding.domain, ledger.close().public
    with Ledger.open(table, schema, stated, discover=schema is None) as ledger:
        plan = discover.plan(ledger)
        if plan is not None:
            discover.discover(ledger, plan)
        after = ledger.schema, ledger.encoding.domain, [e.event for e in ledger.entries]
        codes = np.random.default_rng(1)
        drawn = {n: codes.integers(0, k, 50) for n, k in ledger.domain.sizes.items()}
        decoded = Encoding(ledger.schema).decode(drawn, np.random.default_rng(2))
        return before, after, decoded, ledger.close().to_json()


@pytest.mark.parametrize("schema", [DECLARED, None], ids=["declared", "bought"])
def test_a_record_that_nobody_resembles_changes_no_schema_bin_bound_or_code(schema, monkeypatch):
    # With the same noise on either side, here none at all: what then differs was read off rows.
    monkeypatch.setattr(ledger_module, "all_with_gaussian_noise", lambda counts, *_: list(counts))
    one, other = (facts_of(rows(lonely=lonely), schema) for lonely in (False, True))
    assert one == other
    assert one[1][0]["pay"].bounds[1] < 10_000
    if schema is None:
        # The facts were truly found out, or else there would be nothing to compare.
        assert one[1][0]["city"].categories == ("Bonn", "Ulm")
        assert len(one[1][0]["pay"].edges) > 8
        assert one[1][0]["born"].bounds[0].year >= 1950


@pytest.mark.statistical
@pytest.mark.parametrize("schema", [DECLARED, None], ids=["declared", "bought"])
def test_a_lonely_category_reaches_no_type_list_or_file(schema, tmp_path):
    # Bought lists tell it with a chance below 7e-8 a run, three runs: once in five million times.
    for k in range(3):
        release = synthesize(rows(lonely=True), epsilon=2.0, delta=1e-6, schema=schema, rows=500)
        folder = release.save(tmp_path / f"{k}", format="csv" if k else "parquet")
        cities = release.data["city"]
        listed = cities.cat.categories if isinstance(cities.dtype, pd.CategoricalDtype) else []
        spoken = [*release.schema["city"].categories, *listed, *cities.unique(), *release.notes]
        assert LONELY not in spoken
        content = b"".join(path.read_bytes() for path in folder.iterdir())
        for secret in (LONELY, str(FAR), DAY.isoformat()):
            assert secret.encode() not in content
        assert release.schema["pay"].bounds[1] < FAR / 10
        assert release.schema["born"].bounds[0] > DAY


# --- no noise where a lower bound is 0 ------------------------------------------------------------
# A linear regression whose sensitivity used the lower bound twice.


MAPS = {
    "moments from 0": ClippedMoments({"x": [0.0, 1.0, 2.0], "z": [0.0, 0.5]}, 2.0),
    "moments up to 0": ClippedMoments({"x": [-2.0, -1.0, 0.0], "z": [-1.0, 0.0]}, 2.0),
    "moments by class": ClippedMoments({"x": [0.0, 1.0, 2.0]}, 2.0, by="z", classes=2),
    "scores from 0": NormalScores({"x": [0.0, 1.0, 2.0], "z": [0.0, 1.0]}, 2.0),
    "features from 0": InducingFeatures(
        places={"x": [0.0, 1.0, 2.0]},
        points=[[0.0], [1.0]],
        whitening=[[1.0, 0.0], [0.0, 1.0]],
        profile=[1.0, 0.0],
        profile_step=1.0,
        target_column="z",
        target=[0.0, 1.0],
    ),
}
ZEROS = {
    "moments": ClippedMoments({"x": [0.0] * 3, "z": [0.0] * 2}, 2.0),
    "scores": NormalScores({"x": [0.0] * 3, "z": [0.0] * 2}, 2.0),
}
XZ = coded(x=3, z=2)


def xz(*more):
    return pa.table(
        {"x": [0, 1, 2, 2, *(a for a, _ in more)], "z": [0, 1, 0, 1, *(b for _, b in more)]}
    )


@pytest.mark.statistical
@pytest.mark.parametrize("unit", [Record(), Replacement()], ids=str)
@pytest.mark.parametrize("row_map", MAPS.values(), ids=MAPS)
def test_sums_of_tables_that_start_at_0_have_noise_of_the_stated_scale(row_map, unit):
    # 300 sums of two numbers or more; their squares together are chi-square. A sound run fails
    # once in a million times; no noise, or noise of four fifths of the scale, always does.
    with Ledger.open(xz(), XZ, RICH, unit=unit, source=SeededForTests(8)) as ledger:
        answers = [ledger.sum(row_map, rho=0.01) for _ in range(300)]
        events = {entry.event for entry in ledger.entries}
    (event,) = events
    assert event.sensitivity_squared == unit.squared(row_map.sensitivity) > 0
    # One record at the largest code moves the sum, and 0.01 pays for no more than it does.
    most = max(
        int((row_map.total({"x": np.array([x]), "z": np.array([z])}, np.ones(1)) ** 2).sum())
        for x in range(3)
        for z in range(2)
    )
    assert 0 < most <= event.sensitivity_squared
    assert Fraction(event.scale) ** 2 >= event.sensitivity_squared / Fraction(2, 100)
    noise = np.array([answer.values for answer in answers])
    squares = (((noise - noise.mean(axis=0)) / answers[0].scale) ** 2).sum()
    free = (len(noise) - 1) * noise.shape[1]
    assert RARE / 2 < stats.chi2.cdf(squares, free) < 1 - RARE / 2
    assert stats.chi2.cdf(squares * 0.8**2, free) < RARE / 2


@pytest.mark.parametrize("row_map", ZEROS.values(), ids=ZEROS)
def test_a_map_of_zeros_tells_the_same_whatever_the_rows(row_map):
    answers = []
    for table in (xz(), xz((2, 1)), xz(*[(2, 1)] * 500)):
        with Ledger.open(table, XZ, RICH, source=SeededForTests(3)) as ledger:
            answers.append(ledger.sum(row_map, rho=0.01).values.tolist())
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.statistical
def test_counts_of_a_column_that_starts_at_0_have_noise_too():
    # All rows hold the lower bound, 0. As above: once in a million times.
    column = Column(name="n", kind=Kind.INTEGER, bounds=(0, 3), null=False)
    table = pa.table({"n": [0] * 40})
    with Ledger.open(table, Schema((column,)), RICH) as ledger:
        cells = np.array([ledger.measure([("n",)], scale=3.0)[0].values for _ in range(400)])
    squares = (((cells - [40, 0, 0, 0, 0]) / 3.0) ** 2).sum(
        axis=0
    )  # what is missing has a code too
    assert (squares > stats.chi2.ppf(RARE / 10, 400)).all()
    assert (squares < stats.chi2.isf(RARE / 10, 400)).all()


# --- an odometer that reports less than was spent -------------------------------------------------


def exact_rho(entry):
    """What an entry costs by its textbook formula."""
    event = entry.event
    if hasattr(event, "sensitivity_squared"):
        return event.sensitivity_squared / (2 * Fraction(event.scale) ** 2)
    return Fraction(event.epsilon) ** 2 / 8


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["measure", "select", "sum"]),
            st.floats(0.01, 0.6),
            st.lists(st.floats(0.05, 1.0), min_size=1, max_size=3),
        ),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=25)
def test_what_is_spent_in_parts_is_never_reported_as_less_than_its_entries(steps):
    with Ledger.open(xz(), XZ, Budget(1.0, 1e-9)) as ledger:
        for door, share, shares in steps:
            for part in ledger.split(*(s / sum(shares) for s in shares)):
                before = ledger.rest()
                rho = part.rest() * Fraction(share)
                if door == "measure":
                    part.measure([("x",), ("x", "z")], rho=rho)
                elif door == "select":
                    part.select([L1Distance(("x",), np.zeros(3))], rho=rho)
                else:
                    part.sum(MAPS["moments from 0"], rho=rho)
                assert exact_rho(ledger.entries[-1]) <= before - ledger.rest()
                assert ledger.entries[-1] in part.entries
        entries, rest, certificate = ledger.entries, ledger.rest(), ledger.close()
    together = sum(map(exact_rho, entries))
    events = [entry.event for entry in entries]
    assert together <= certificate.spent == total_cost(events, certificate.budget.order)
    assert certificate.spent <= certificate.budget.rho - rest
    assert total_epsilon(events, 1e-9) <= certificate.epsilon == 1.0


def test_a_ledger_file_adds_up_all_releases_and_their_parts(tmp_path):
    file = tmp_path / "table.ledger"
    create_ledger(file, Budget(3.0, 1e-8))
    told, paid = [read_ledger(file).spent], Fraction(0)
    for _ in range(3):
        with Ledger.open(xz(), XZ, Budget(0.5, 1e-9), file=file) as ledger:
            for part in ledger.split(0.2, 0.3, 0.5):
                part.measure([("x",)], rho=part.rest())
                told.append(read_ledger(file).spent)
            paid += sum(map(exact_rho, ledger.entries))
            ledger.close()
            ledger.end()
    assert all(less < more for less, more in pairwise(told))
    assert paid <= told[-1] == read_ledger(file).budget.rho - read_ledger(file).rest


# --- shuffled batches that are accounted as Poisson samples ---------------------------------------


TASK = Training(
    inputs={"x": [0.0, 0.5, 1.0]},
    target_column="z",
    target=[0.0, 1.0],
    rows=2000,
    steps=400,
    rate=0.1,
)


@pytest.mark.statistical
def test_the_size_of_a_batch_varies_like_a_binomial(monkeypatch):
    # Chi-square of 400 sizes against the variance n q (1 - q): a sound run fails once in a million
    # times. Batches of a fixed size have no variance at all; half or twice of it is seen as well.
    sizes = []
    whole = train_module.gradient_total

    def noted(task, layers, chosen):
        blocks = list(chosen)
        sizes.append(sum(len(weights) for _, weights in blocks))
        return whole(task, layers, blocks)

    monkeypatch.setattr(train_module, "gradient_total", noted)
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.integers(0, 3, 2000), "z": rng.integers(0, 2, 2000)})
    with Ledger.open(table, XZ, RICH) as ledger:
        ledger.train(TASK, scale=1.0)
        (entry,) = ledger.entries
    assert (entry.event.rate, entry.event.steps) == (pytest.approx(0.1), 400)
    n, q = 2000, entry.event.rate
    off = (np.array(sizes) - n * q) ** 2
    squares = off.sum() / (n * q * (1 - q))
    low, high = stats.chi2.ppf(RARE / 2, 400), stats.chi2.isf(RARE / 2, 400)
    assert low < squares < high
    assert not low < squares / 2 < high
    assert not low < squares * 2 < high


@pytest.mark.parametrize("unit", [Replacement(), Person("who", 2)], ids=str)
def test_sampling_is_refused_for_units_that_it_is_not_accounted_for(unit):
    table = xz().append_column("who", pa.array(["a", "a", "b", "b"]))
    roles = {"columns": (*XZ.columns, Column(name="who", kind=Kind.CATEGORICAL, role="id"))}
    with Ledger.open(table, Schema(**roles), RICH, unit=unit) as ledger:
        with pytest.raises(PrivacyRefused, match="one record at a time"):
            ledger.train(TASK, scale=1.0)
        assert ledger.entries == ()


# --- scores whose sensitivity no number of rows makes small ---------------------------------------


def normalised_information(counts):
    """Mutual information over the smaller entropy, and chi-square over n; 0 where all is one."""
    joint = counts / counts.sum()
    left, right = joint.sum(axis=1), joint.sum(axis=0)
    entropies = [-(p[p > 0] * np.log(p[p > 0])).sum() for p in (left, right)]
    expected = np.outer(left, right)
    held = joint > 0
    information = (joint[held] * np.log(joint[held] / expected[held])).sum()
    seen = expected > 0
    square = ((joint - expected)[seen] ** 2 / expected[seen]).sum()
    return (information / min(entropies) if min(entropies) else 0.0), square


@dataclass(frozen=True)
class NormalisedInformation:
    """What a library ranks pairs by, as if a record could move it by 1/n."""

    left: tuple[str, ...]
    right: tuple[str, ...]

    @property
    def clique(self):
        return (*self.left, *self.right)

    def check(self, domain):
        domain.check(self.clique)

    def sensitivity(self, *_):
        return Fraction(1, 10**6)

    def score(self, counts, *_):
        return Fraction(normalised_information(counts)[0])


class Modest(CountTV):
    """A proven score that claims to move less."""

    def sensitivity(self, *_):
        return Fraction(1, 10**6)


class Nearby(L1Distance):
    """Another one."""


@pytest.mark.parametrize("count", [10, 10**3, 10**6])
def test_one_record_moves_normalised_information_by_one_and_distances_by_what_they_say(count):
    # Everybody in one cell, and then one record that differs in both columns.
    without = np.array([[count, 0], [0, 0]])
    beside = np.array([[count, 0], [0, 1]])
    for one, other in zip(*map(normalised_information, (without, beside)), strict=True):
        assert other - one == pytest.approx(1.0, abs=1e-6)
    for score in (CountTV(("x",), ("z",)), L1Distance(("x", "z"), np.zeros((2, 2)))):
        moved = abs(score.score(beside, None) - score.score(without, None))
        assert moved <= score.sensitivity(Record(), None)


@pytest.mark.parametrize(
    "candidate",
    [
        NormalisedInformation(("x",), ("z",)),
        Modest(("x",), ("z",)),
        Nearby(("x",), np.zeros(3)),
        lambda counts: counts.max(),
    ],
    ids=["foreign score", "modest subclass", "plain subclass", "function"],
)
def test_a_score_outside_the_closed_set_is_refused_and_costs_nothing(candidate):
    with Ledger.open(xz(), XZ, RICH) as ledger:
        for candidates in ([candidate], [CountTV(("x",), ("z",)), candidate]):
            with pytest.raises(BadInput, match="proven sensitivity"):
                ledger.select(candidates, epsilon=1.0)
        assert ledger.entries == ()


# --- noise in floating point ----------------------------------------------------------------------
# Added in numpy; or drawn exactly at 0.0 and then added in float64, whose lowest bits tell counts.


COUNTS = np.array([0, 1, 2**40, 2**40 + 1, 7, -3], np.int64)


@pytest.mark.parametrize("source", [OsRandom(), SeededForTests(4)], ids=["system", "seeded"])
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.7, 1000.1, 2.0**30])
def test_noise_on_any_count_is_a_whole_number(scale, source):
    noisy = with_gaussian_noise(COUNTS, scale, source)
    assert noisy.dtype == np.int64
    # Twelve standard deviations, which no run ever sees; far below the gaps between the counts.
    assert (np.abs(noisy - COUNTS) <= 12 * scale + 12).all()
    assert gaussian_noise(50, scale, source).dtype == np.int64


def lowest_bit_and_fraction(values):
    whole = np.rint(values)
    return (whole % 2).mean(), np.abs(values - whole).max()


@pytest.mark.statistical
def test_the_lowest_bits_of_a_noisy_count_are_alike_whatever_the_count():
    # At scale 3 the chance of an odd number is a half to 18 digits. 8000 draws for each count: a
    # sound run fails once in a million times; a share of 0.56 instead of 0.5 is always seen.
    draws = 8000
    for count in (0, 1, 2**40 + 1):
        noisy = with_gaussian_noise(np.full(draws, count, np.int64), 3.0, OsRandom())
        odd, fraction = lowest_bit_and_fraction(noisy.astype(np.float64))
        assert fraction == 0
        assert stats.binomtest(round(odd * draws), draws).pvalue > RARE / 3
    # The measure sees what it is about: noise of a float keeps bits below one.
    assert lowest_bit_and_fraction(np.random.default_rng(0).normal(0, 3, 99))[1] > 0


@pytest.mark.parametrize("weighted", [False, True], ids=["whole rows", "weighted rows"])
def test_answers_of_a_ledger_lie_on_a_grid_that_no_row_decides(weighted):
    with Ledger.open(xz(), XZ, RICH) as ledger:
        weights = ledger.weigh({"x": [0, 1, 2]}, [1, 2], [UNIT, 700, 33]) if weighted else None
        steps = UNIT if weighted else 1
        for scale in (0.7, 4.0, 300.3):
            for answer in ledger.measure([("x",), ("x", "z"), ()], scale=scale, weights=weights):
                scaled = np.asarray(answer.values) * steps
                assert (scaled == np.rint(scaled)).all()
            for row_map in MAPS.values():
                scaled = ledger.sum(row_map, scale=scale, weights=weights).values
                # Steps are far finer than a double's last bit is coarse, up to a few thousand.
                scaled = scaled * (row_map.unit_length * steps)
                assert np.abs(scaled - np.rint(scaled)).max() <= np.abs(scaled).max() * 2.0**-51


# --- a saved model that holds raw values ----------------------------------------------------------


AMOUNT = 1234.56789
REMARK = "Quittenschnaps, seit 1987"


@pytest.fixture(scope="module")
def amounts(tmp_path_factory):
    """A table as a file: a continuous column of numbers that are all different, and a rare text."""
    rng = np.random.default_rng(9)
    amount = rng.lognormal(7.0, 0.4, 2500)
    amount[17] = AMOUNT
    remark = rng.choice(["tea", "milk", "rum"], 2500).tolist()
    remark[33] = REMARK
    folder = tmp_path_factory.mktemp("amounts")
    table = pa.table({"amount": amount, "remark": remark, "side": rng.choice(["l", "r"], 2500)})
    csv.write_csv(table, folder / "rows.csv")
    return folder / "rows.csv", amount


def raw_numbers(content, amount):
    """Numbers of the private column that stand in some bytes, as text or as doubles."""
    spelled = {token.rstrip(b"0") for token in re.findall(rb"\d+\.\d{4,}", content)}
    found = [x for x in amount if repr(float(x)).encode().rstrip(b"0") in spelled]
    binary = [x for x in amount if struct.pack("<d", x) in content]
    return found + binary


def test_the_search_finds_raw_numbers_in_text_and_in_binary_files(amounts):
    path, amount = amounts
    assert len(raw_numbers(path.read_bytes(), amount)) == 2500
    assert raw_numbers(amount[40:42].tobytes(), amount) == amount[40:42].tolist()
    assert REMARK.encode() in path.read_bytes()


@pytest.mark.statistical
@pytest.mark.parametrize("method", METHODS)
def test_no_release_ledger_or_page_holds_a_raw_number_or_a_rare_text(method, amounts, tmp_path):
    # The rare text is told with a chance below 1e-10. A drawn number agrees with a private one in
    # all sixteen digits less than once in a billion releases.
    path, amount = amounts
    ledger = tmp_path / "table.ledger"
    create_ledger(ledger, Budget(9.0, 1e-7, thresholds=1e-8))
    common = ["--epsilon", "1", "--method", method, "--ledger", str(ledger), "--target", "side"]
    common += ["--independent", "side _||_ amount"] if method in {"privci", "prefair"} else []
    spoken = ""
    for place, more in enumerate((["--format", "csv"], ["--format", "parquet", "--json"])):
        out = str(tmp_path / f"release{place}")
        done = CliRunner().invoke(app, ["synthesize", str(path), *common, *more, "--out", out])
        assert done.exit_code == 0, done.output
        spoken += done.output
        spoken += CliRunner().invoke(app, ["verify", out, *more[2:]]).output
        spoken += CliRunner().invoke(app, ["budget", str(ledger), *more[2:]]).output
    files = sorted(found for found in Path(tmp_path).rglob("*") if found.is_file())
    assert len(files) == 9
    content = b"\n".join([*(file.read_bytes() for file in files), spoken.encode()])
    assert b'"amount"' in content
    for secret in (str(AMOUNT), f"{AMOUNT:,}", REMARK, "Quittenschnaps"):
        assert secret.encode() not in content
    assert raw_numbers(content, amount) == []


# --- rare categories against a fixed threshold ----------------------------------------------------


@pytest.mark.statistical
def test_a_category_of_one_person_is_told_no_more_often_than_delta_allows():
    # 10,000 people each hold a value that nobody else has, so one answer is 10,000 trials. A sound
    # run fails once in a million times. Power: a chance of 0.07 is missed once in 1000
    # times, one of 0.4 never.
    alone, most = 10_000, 0.05
    values = [*(f"only {k}" for k in range(alone)), *["shared"] * 3000]
    schema = Schema((Column(name="c", kind=Kind.CATEGORICAL, null=False),))
    limit = stats.binom.isf(RARE, alone, most)
    assert stats.binom.cdf(limit, alone, 0.07) < 1e-3
    assert stats.binom.cdf(limit, alone, 0.4) < 1e-100
    budget = Budget(5.0, 0.2, thresholds=0.1)
    with Ledger.open(pa.table({"c": values}), schema, budget, discover=True) as ledger:
        (told,) = ledger.values({"c": None}, rho=ledger.rest() / 2, delta=most)
    assert "shared" in told.values
    # Not so few, either, that nothing was tried: noise alone tells more than a tenth of it.
    assert alone * most / 10 < len(told.values) - 1 <= limit


@pytest.mark.statistical
def test_discovery_tells_a_category_of_one_person_no_more_often_than_its_part_of_delta():
    # As above, through a whole release: a tenth of delta is kept, seven tenths of it for values.
    alone, delta = 4000, 0.5
    values = [*(f"only {k}" for k in range(alone)), *["shared"] * 3000]
    release = synthesize(
        pa.table({"c": values}), epsilon=1.0, delta=delta, rows=10, accept_weak_guarantee=True
    )
    told = [value for value in release.schema["c"].categories if value.startswith("only")]
    assert "shared" in release.schema["c"].categories
    assert 0 < len(told) <= stats.binom.isf(RARE, alone, delta * 0.1 * 0.7)


# --- a rounding sampler that is worse than the model ----------------------------------------------


def test_rounded_rows_of_a_star_lie_closer_to_the_model_than_plain_ones():
    # Two columns that depend on the same third one: rounding must not tie them to each other.
    rng = np.random.default_rng(6)
    domain = Domain.of({"hub": 6, "left": 8, "right": 8})
    factors = tuple(Factor(("hub", leaf), rng.normal(0, 1.2, (6, 8))) for leaf in ("left", "right"))
    off = {}
    for rounded in (True, False):
        model = GraphicalModel(domain, 50_000.0, factors, rounded=rounded)
        expected = model.marginal(("left", "right"))
        far = []
        for seed in range(5):
            drawn = model.sample(50_000, np.random.default_rng(seed))
            pairs = np.ravel_multi_index((drawn["left"], drawn["right"]), (8, 8))
            found = np.bincount(pairs, minlength=64).reshape(8, 8)
            far.append(np.abs(found - expected).sum() / (2 * 50_000))
        off[rounded] = np.mean(far)
    assert off[True] < off[False] < 0.02


# --- DPDSyn: shuffled columns ---------------------------------------------------------------------


@pytest.mark.untraced
def test_a_shuffled_column_tells_who_was_in_it():
    """As printed, columns are shuffled and published; here the lone value is drowned in noise.

    It comes in four of ten releases where somebody has it and in three where nobody has: of sound
    ones, one set in 10⁵ is refused.
    """
    rng = np.random.default_rng(0)
    labels = tuple(f"v{k}" for k in range(30))
    common = rng.integers(0, 29, 200)
    tables = {there: np.append(common, 29) if there else common for there in (False, True)}
    # The literal method: whether the value occurs tells whether the record was there, always.
    assert [29 in rng.permutation(codes) for codes in tables.values()] == [False, True]
    schema = Schema(
        (
            Column(name="x", kind=Kind.CATEGORICAL, categories=labels, null=False),
            Column(name="y", kind=Kind.BOOLEAN, null=False, role=Role.TARGET),
        ),
        rows_bound=1000,
    )
    seen = {}
    for there, codes in tables.items():
        table = pa.table({"x": [labels[code] for code in codes], "y": codes % 2 == 0})
        drawn = [
            synthesize(
                table,
                epsilon=0.5,
                schema=schema,
                mechanism=DpdSyn(label_model=LabelModel(most_steps=1)),
                rows=200,
                seed=run,
            ).table["x"]
            for run in range(40)
        ]
        seen[there] = np.mean(["v29" in column.to_pylist() for column in drawn])
    # It comes and goes with the noise: by far not always with it, and often without it.
    assert 0 < seen[True] < 0.9
    assert seen[True] <= np.exp(0.5) * seen[False] + 0.5
