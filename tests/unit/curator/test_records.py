"""What each record lost: by closed forms, by brute force, and on the internal page."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

from understudy.column import Column, Kind
from understudy.curator.align import align
from understudy.curator.beforehand import beforehand, estimator_of, gaussian_delta
from understudy.curator.evaluation import Learner, evaluate
from understudy.curator.evaluation_page import evaluation_page
from understudy.curator.evaluation_text import show
from understudy.curator.records import Paid, gini
from understudy.curator.records import judge as judged_records
from understudy.encode import Encoding
from understudy.pipeline import synthesize
from understudy.privacy.budget import epsilon_of_rho
from understudy.privacy.noise import SeededForTests
from understudy.privacy.weights import UNIT
from understudy.schema import Schema
from understudy.select.risk import RiskWeights, weights_told

DELTA = 1e-6
ENDS = np.array([-1.0, 1.0])
SCHEMA = Schema(
    (
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 19), null=False),
        Column(name="job", kind=Kind.CATEGORICAL, categories=("a", "b", "c"), null=False),
        Column(name="ill", kind=Kind.BOOLEAN, null=False),
    )
)


def exact_epsilon(mu, delta):
    """Of two normal laws μ apart, by halving."""
    low, high = 0.0, 100.0
    for _ in range(80):
        middle = (low + high) / 2
        left = norm.cdf(mu / 2 - middle / mu) - math.exp(middle) * norm.cdf(-mu / 2 - middle / mu)
        low, high = (middle, high) if left > delta else (low, middle)
    return high


def test_the_delta_of_normal_laws_is_the_hockey_stick_between_them():
    x = np.linspace(-15, 15, 600_001)
    for mu in (0.1, 0.7, 2.0):
        p, q = norm.pdf(x, mu), norm.pdf(x)
        for epsilon in (-1.5, -0.2, 0.0, 0.4, 2.0):
            brute = np.maximum(p - math.exp(epsilon) * q, 0).sum() * (x[1] - x[0])
            assert gaussian_delta(mu, epsilon) == pytest.approx(brute, abs=1e-6)
    for epsilon in (-2.0, -0.1, 0.0, 1.0):
        assert gaussian_delta(0.0, epsilon) == pytest.approx(max(0, 1 - math.exp(epsilon)))


@pytest.mark.parametrize("weight", [1.0, 0.4, 0.0])
def test_a_weight_that_never_changes_loses_what_two_gaussians_do(weight):
    cells, scale, second = 5, 9.0, 0.8
    found = beforehand([(ENDS, np.full(2, weight))], cells, scale, second, DELTA)
    mu = math.sqrt(cells / scale**2 + (weight * second) ** 2)
    assert found == pytest.approx(exact_epsilon(mu, DELTA), rel=2e-3)


def test_a_weight_that_depends_on_the_counts_is_integrated_as_by_brute_force():
    cells, scale, second, delta = 4, 4.0, 1.2, 1e-4
    moves = np.linspace(-40, 40, 801)
    draws = [
        (moves, np.where(moves > 1.0, 1.0, 0.2)),
        (moves, 1 / (1 + np.exp(-moves))),
    ]
    found = beforehand(draws, cells, scale, second, delta)
    # Outcomes: how far the record's counts went together, which draw it was, and a second answer.
    first = math.sqrt(cells) / scale
    g = np.arange(-9, 9 + 1e-9, 0.02)
    y = np.arange(-8, 10, 0.02)
    most = []
    for there in (True, False):
        deltas = []
        for at, weight in draws:
            # g counts from the table without the record; with it the mean is μ₁.
            own = np.interp(g * scale / math.sqrt(cells) - 1, at, weight)
            with_it = norm.pdf(g, first)[:, None] * norm.pdf(y[None] - own[:, None] * second)
            without = norm.pdf(g)[:, None] * norm.pdf(y)[None]
            p, q = (with_it, without) if there else (without, with_it)
            deltas.append((p, q))
        low, high = 0.0, 20.0
        for _ in range(40):
            middle = (low + high) / 2
            over = np.mean(
                [np.maximum(p - math.exp(middle) * q, 0).sum() * 0.02**2 for p, q in deltas]
            )
            low, high = (middle, high) if over > delta else (low, middle)
        most.append(high)
    assert found == pytest.approx(max(most), rel=0.02)


def test_what_may_have_come_out_otherwise_is_lost_too():
    # Light in nearly all draws, full in some: the realised weight says much less than is lost.
    moves = np.linspace(-9, 9, 17)
    light, heavy = (moves, np.full(17, 0.1)), (moves, np.ones(17))
    alone = beforehand([light], 9, 176.0, 1.0, 1e-5)
    mixed = beforehand([light] * 9 + [heavy], 9, 176.0, 1.0, 1e-5)
    uniform = beforehand([heavy], 9, 176.0, 1.0, 1e-5)
    assert 2 * alone < mixed < uniform


def test_inequality_is_that_of_pairs():
    rng = np.random.default_rng(0)
    numbers = rng.random(40) ** 3
    pairs = np.abs(numbers[:, None] - numbers).mean() / (2 * numbers.mean())
    assert gini(numbers) == pytest.approx(pairs)
    assert gini(np.zeros(3)) == gini(np.zeros(0)) == 0


def people(rows, seed):
    rng = np.random.default_rng(seed)
    age = np.minimum(rng.geometric(0.25, rows) - 1, 19)
    job = rng.choice(["a", "b", "c"], rows, p=[0.8, 0.17, 0.03])
    return pa.table({"age": age, "job": job, "ill": rng.random(rows) < age / 20})


REAL, TEST = people(3000, 1), people(1500, 2)


def released(**options):
    return synthesize(
        REAL,
        epsilon=4.0,
        delta=1e-6,
        schema=SCHEMA,
        mechanism="mst",
        rows=1500,
        seed=3,
        # The same noise every time: how rare a row comes out is part of what is tested.
        source=SeededForTests(4),
        allow_non_private=True,
        **options,
    )


@pytest.fixture(scope="module")
def capped():
    return released(protect_outliers=True, outlier_epsilon=2.5)


def losses(release, test=TEST, real=REAL, synthetic=None):
    synthetic = release.table if synthetic is None else synthetic
    stored = {"real": real, "synthetic": synthetic} | ({} if test is None else {"test": test})
    encoding = Encoding(release.schema)
    codes = {side: encoding.codes(table) for side, table in stored.items()}
    tables = align(real, synthetic, test, schema=release.schema)
    rng = np.random.default_rng(0)
    return judged_records(release.certificate, encoding, codes, tables, None, rng)


@pytest.fixture(scope="module")
def lost(capped):
    return losses(capped)


def test_losses_are_those_of_the_entries(capped, lost):
    certificate = capped.certificate
    paid = Paid(certificate)
    assert paid.cost(UNIT) == certificate.spent
    assert lost.uniform == pytest.approx(epsilon_of_rho(certificate.spent, 1e-6))
    assert lost.uniform <= 4.0 * (1 + 1e-6)
    curve = certificate.public["risk curve"]
    weights = weights_told(curve)
    low = min(weights.weights) / UNIT
    first = paid.cost(UNIT, weighted=False)
    given = epsilon_of_rho(float(first) + low**2 * float(certificate.spent - first), 1e-6)
    assert lost.deciles[-1].largest <= lost.largest == lost.uniform
    assert lost.deciles[-1].median == pytest.approx(given, rel=1e-4)
    assert lost.deciles[0].median == lost.uniform
    assert lost.scoring < given <= 2.5 * (1 + 1e-6)


def test_nobody_loses_more_than_without_weights_and_the_light_lose_less(lost):
    assert len(lost.deciles) >= 5
    for one in lost.deciles:
        assert one.largest <= lost.uniform
        assert (one.median < lost.uniform) == (one.lighter > 0.5)
    assert lost.within_cap.value == 1.0
    assert 0 < lost.gini < 1
    assert lost.deciles[-1].lighter > 0.9


def test_where_deciles_end_is_read_off_other_rows(capped, lost):
    assert sum(one.rows for one in lost.deciles) == REAL.num_rows
    alone = losses(capped, test=None)
    assert sum(one.rows for one in alone.deciles) == REAL.num_rows // 2
    assert any("half of the real rows" in note for note in alone.notes)
    assert sum(one.rows for one in lost.by_distance) == REAL.num_rows
    assert sum(one.rows for one in alone.by_distance) == REAL.num_rows // 2


def test_by_distance_too_the_rarest_lose_less(lost):
    first, last = lost.by_distance[0], lost.by_distance[-1]
    assert (first.decile, last.decile) == (1, 10)
    assert first.median == lost.uniform
    assert last.mean < 0.9 * lost.uniform
    assert last.mean < first.mean
    assert lost.far_lighter.value == last.lighter > first.lighter


def test_losses_beforehand_lie_between_the_cap_and_everything(lost):
    assert {one.decile for one in lost.sampled} <= {1, 5, 10}
    assert len(lost.sampled) >= 3
    for one in lost.sampled:
        # By normal laws, so a little less than what zCDP says.
        assert 0.8 * lost.scoring < one.beforehand <= lost.uniform * 1.01
    common = [one for one in lost.sampled if one.decile == 1]
    assert common
    assert all(one.beforehand == pytest.approx(one.given_counts, rel=0.02) for one in common)


def test_under_a_condition_alone_there_is_nothing_to_estimate():
    release = released(protect_where=["age >= 10"], outlier_epsilon=2.5)
    encoding = Encoding(release.schema)
    real = encoding.codes(REAL)
    found = estimator_of(
        release.certificate, encoding, Paid(release.certificate).cost(UNIT, weighted=True), real
    )
    # Nothing is counted before the weights: they are public, and there is nothing to estimate.
    assert isinstance(found, str)
    (cap,) = release.certificate.caps
    assert cap.kept(release.certificate.entries, 1.0)


def test_a_curve_without_a_cap_is_judged_too():
    lost = losses(released(protect_outliers=RiskWeights(gamma=0.8)))
    assert lost.cap is None
    assert lost.within_cap is None
    medians = [one.median for one in lost.deciles]
    assert medians[-1] < medians[0]


def test_where_facts_were_found_out_nothing_is_estimated_beforehand():
    release = synthesize(
        REAL,
        epsilon=8.0,
        delta=1e-6,
        protect_outliers=True,
        rows=50,
        mechanism="independent",
        outlier_epsilon=6.0,
    )
    lost = losses(release)
    assert lost.sampled == ()
    assert any("nothing had to be found out" in note for note in lost.notes)


def test_releases_in_which_all_count_fully_say_nothing():
    assert losses(released()) is None


def test_what_protection_costs_the_rare_is_told_beside_the_others(capped, lost):
    rare, others = lost.groups
    assert rare.rows == "protected"
    assert rare.real.value + others.real.value == pytest.approx(1)
    for group in (rare, others):
        assert group.columns.low <= group.columns.value <= group.columns.high
    same = losses(capped, synthetic=REAL)
    assert all(group.columns.value == group.pairs.value == 0 for group in same.groups)
    assert "no target was named" in rare.task.gap.note


def test_no_rows_are_absorbed(capped):
    lost = losses(capped, real=REAL.slice(0, 0), test=None)
    assert lost.deciles == lost.sampled == ()
    assert lost.median == lost.largest == 0
    assert lost.by_distance == ()
    assert lost.far_lighter.note == "there are no rows to count"
    assert all(group.columns.value is None for group in lost.groups)


@pytest.fixture(scope="module")
def evaluation(capped):
    return evaluate(
        REAL.slice(0, 400),
        capped,
        test=TEST.slice(0, 300),
        target="ill",
        learners=[Learner.LOGISTIC],
        seeds=1,
    )


def test_losses_are_on_the_page_with_their_picture_and_in_its_twin(evaluation, capsys):
    page = evaluation_page(evaluation)
    assert "INTERNAL" in page
    assert "What each record lost" in page
    assert "by how rare their values are, with and without weights" in page
    assert "What protection costs" in page
    assert "ROC-AUC ↑ of logistic regression" in page
    assert sum(group.task.rows for group in evaluation.records.groups) == 300
    assert "no promise to anybody" in page
    content = json.loads(json.dumps(evaluation.to_json()))
    assert content["internal"] is True
    assert len(content["records"]["deciles"]) == len(evaluation.records.deciles)
    assert content["records"]["groups"][0]["rows"] == "protected"
    show(evaluation)
    printed = capsys.readouterr().out
    assert "What each record lost" in printed
    assert "Within the cap of 2.5" in printed
