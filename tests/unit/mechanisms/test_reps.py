"""REPS: what it asks, that it spends all, and what it makes of moments and of noise."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

from understudy.column import Column, Kind, Role
from understudy.errors import BadInput, UnknownColumn
from understudy.knowledge import Independence
from understudy.mechanisms.catalog import mechanism_named
from understudy.mechanisms.reps import Backend, Reps
from understudy.model.bayes_net import BayesNet
from understudy.model.class_gaussians import Bins, class_laws
from understudy.model.graphical import GraphicalModel
from understudy.pipeline import synthesize
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.schema import Schema
from understudy.select.risk import RiskWeights
from understudy.separation import Separation

Y = Column(name="y", kind=Kind.BOOLEAN, null=False, role=Role.TARGET)
COLUMNS = (
    Y,
    Column(name="size", kind=Kind.REAL, bounds=(-4.0, 4.0), bins=16, null=False),
    Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), bins=20, null=False),
    Column(name="gain", kind=Kind.INTEGER, bounds=(0, 99), bins=10, atoms=(0,), null=False),
    Column(name="pay", kind=Kind.REAL, bounds=(0.0, 1.0), bins=8, null=True),
    Column(name="few", kind=Kind.INTEGER, bounds=(0, 2), null=False),
    Column(name="town", kind=Kind.CATEGORICAL, categories=("a", "b", "c"), null=False),
)
NUMBERS, LABELS = (Y, *COLUMNS[1:3]), (Y, COLUMNS[6])
EVERY = {"all kinds": COLUMNS, "numbers alone": NUMBERS, "labels alone": LABELS, "target": (Y,)}
BACKENDS = [Reps(), Reps(backend=Backend.GRAPHICAL)]
RICH = Budget(500.0, 1e-9)


def rows(count=4000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(count) < 0.4
    age = np.clip(rng.normal(30 + 30 * y, 10), 0, 99).astype(int)
    return pa.table(
        {
            "y": y,
            "size": rng.normal(np.where(y, 1.0, -1.0), np.where(y, 0.5, 1.0)),
            "age": age,
            "gain": np.where(rng.random(count) < 0.7, 0, rng.integers(1, 100, count)),
            "pay": pa.array(rng.random(count), mask=rng.random(count) < 0.2),
            "few": rng.integers(0, 3, count),
            "town": np.where(y, "a", rng.choice(["a", "b", "c"], count)),
        }
    )


def opened(columns=COLUMNS, budget=None, count=4000, **options):
    schema = Schema(tuple(columns), rows_bound=10**6)
    table = rows(count).select([column.name for column in columns])
    return Ledger.open(table, schema, budget or Budget(1.0, 1e-9), **options)


@pytest.mark.parametrize("columns", EVERY.values(), ids=list(EVERY))
@pytest.mark.parametrize("recipe", BACKENDS, ids=lambda one: one.backend)
@pytest.mark.parametrize(("count", "epsilon"), [(4000, 1.0), (1, 1.0), (0, 1e-3), (4000, 1e-6)])
def test_it_makes_a_model_of_any_table_and_spends_all(columns, recipe, count, epsilon):
    with opened(columns, Budget(epsilon, 1e-9), count) as ledger:
        model = recipe.fit(ledger)
        # What is left are the last digits of noise that was rounded up.
        assert 0 <= ledger.rest() <= 1e-6 * ledger.budget.rho
    codes = model.sample(500, np.random.default_rng(0))
    assert list(codes) == [column.name for column in columns]
    assert ledger.encoding.decode(codes, np.random.default_rng(0)).num_rows == 500


def test_moments_are_for_columns_of_bins_alone():
    with opened() as ledger:
        model = Reps().fit(ledger)
    (sums,) = [one.request for one in ledger.entries if one.request["door"] == "sum"]
    assert sums["row_map"] == "ClippedMoments"
    assert sums["columns"] == ["size", "age", "y"]
    unseen, *counts = [e.request for e in ledger.entries if e.request["door"] == "measure"]
    assert unseen["cliques"] == [["y", "size"], ["y", "age"]]
    assert {*unseen["merged"]} == {"size", "age"}
    counted = [tuple(c) for request in counts for c in request["cliques"]]
    assert counted == [("y",), ("y", "gain"), ("y", "pay"), ("y", "few"), ("y", "town")]
    assert isinstance(model, BayesNet)
    # One part for each count and two for each column of moments: the same noise for all.
    scales = [one.event for one in ledger.entries[1:]]
    count, moments = scales[0].scale, scales[1].scale / 4**12
    assert moments == pytest.approx(count, rel=0.1)


def test_with_a_graphical_model_all_pairs_are_counted():
    with opened() as ledger:
        model = Reps(backend="graphical").fit(ledger)
    assert {entry.request["door"] for entry in ledger.entries} == {"measure"}
    assert isinstance(model, GraphicalModel)
    assert {one.clique for one in model.measurements} == {
        ("y",),
        *(("y", column.name) for column in COLUMNS[1:]),
    }


def test_a_model_too_large_counts_single_columns():
    with opened() as ledger:
        model = Reps(backend="graphical", model_bytes=12_000).fit(ledger)
    sizes = [len(one.clique) for one in model.measurements]
    assert 1 in sizes
    assert sorted(name for one in model.measurements for name in one.clique if name != "y") == [
        *("age", "few", "gain", "pay", "size", "town"),
    ]


@pytest.mark.parametrize("recipe", BACKENDS, ids=lambda one: one.backend)
def test_with_much_to_spend_it_follows_each_class(recipe):
    with opened(budget=RICH) as ledger:
        model = recipe.fit(ledger)
    codes = model.sample(40_000, np.random.default_rng(0))
    drawn = ledger.encoding.decode(codes, np.random.default_rng(0)).to_pandas()
    assert drawn["y"].mean() == pytest.approx(0.4, abs=0.02)
    by_class = drawn.groupby("y")
    assert by_class["size"].mean().tolist() == pytest.approx([-1.0, 1.0], abs=0.06)
    assert by_class["size"].std().tolist() == pytest.approx([1.0, 0.5], abs=0.06)
    assert by_class["age"].mean().tolist() == pytest.approx([30, 60], abs=1.0)
    assert (drawn["gain"] == 0).mean() == pytest.approx(0.7, abs=0.02)
    assert drawn["pay"].isna().mean() == pytest.approx(0.2, abs=0.02)
    assert (drawn[drawn["y"]]["town"] == "a").mean() > 0.97


@pytest.mark.parametrize("recipe", BACKENDS, ids=lambda one: one.backend)
def test_columns_that_may_not_meet_the_target_stand_alone(recipe):
    apart = Separation([Independence("y", "size", given=["town"])])
    with opened() as ledger:
        model = recipe.fit(ledger, allowed=apart)
    asked = [tuple(c) for e in ledger.entries for c in e.request.get("cliques", [])]
    assert ("size",) in asked
    assert ("y", "size") not in asked
    assert {*model.sample(5, np.random.default_rng(0))} == {column.name for column in COLUMNS}


def test_one_class_is_enough():
    one = Column(name="y", kind=Kind.CATEGORICAL, categories=("only",), null=False, role="target")
    schema = Schema((one, *NUMBERS[1:]), rows_bound=10**6)
    table = rows().select(["size", "age"]).append_column("y", [["only"] * 4000])
    with Ledger.open(table, schema, RICH) as ledger:
        model = Reps().fit(ledger)
    codes = model.sample(1000, np.random.default_rng(0))
    assert set(codes["y"]) == {0}
    assert ledger.rest() <= 1e-6 * RICH.rho


def test_a_class_that_no_row_has_is_like_all_others():
    with Ledger.open(
        rows().set_column(0, "y", [[True] * 4000]), Schema(COLUMNS, rows_bound=10**6), RICH
    ) as ledger:
        model = Reps().fit(ledger)
    (size,) = [step for step in model.steps if step.new == ("size",)]
    assert np.isfinite(size.shares).all()
    assert size.shares[1].argmax() in range(6, 11)


def test_weighted_rows_count_less_and_nothing_is_divided_by_all_of_them():
    with opened(budget=RICH) as ledger:
        half = ledger.weigh({"few": [0, 1, 1, 1]}, [1], [1024, 512])
        weighted = ledger.weighted(half)
        model = Reps().fit(weighted)
    told = rows().to_pandas()
    assert model.total == pytest.approx((0.5 + 0.5 * (told["few"] == 0)).sum(), rel=0.02)
    codes = model.sample(20_000, np.random.default_rng(0))
    assert (codes["few"] == 0).mean() == pytest.approx(0.5, abs=0.02)
    drawn = ledger.encoding.decode(codes, np.random.default_rng(0)).to_pandas()
    assert drawn.groupby("y")["size"].mean().tolist() == pytest.approx([-1.0, 1.0], abs=0.08)


@pytest.mark.parametrize("epsilon", [1e-3, 0.01, 0.02, 0.05])
def test_noise_that_fine_sums_cannot_hold_is_for_counts(epsilon):
    with opened(NUMBERS, Budget(epsilon, 1e-9)) as ledger:
        even = ledger.weigh({"age": [0] * 21}, [], [1024])
        Reps().fit(ledger.weighted(even))
        doors = [entry.request["door"] for entry in ledger.entries]
        assert doors == (["measure", "measure", "sum"] if epsilon >= 0.02 else ["measure"])
        assert ledger.rest() <= 1e-6 * ledger.budget.rho


def test_rows_with_a_hidden_code_are_no_part_of_a_mean():
    # Half of a class have no age that can be read; the others are as old as before.
    table = rows().to_pandas()
    lost = table["y"] & (table.index % 2 == 0)
    table["age"] = table["age"].astype(object).where(~lost, None)
    with Ledger.open(table, Schema(COLUMNS, rows_bound=10**6), RICH) as ledger:
        model = Reps().fit(ledger)
    codes = model.sample(40_000, np.random.default_rng(0))
    drawn = ledger.encoding.decode(codes, np.random.default_rng(0)).to_pandas()
    assert drawn["age"].notna().all()
    by_class = drawn.groupby("y")["age"]
    assert by_class.mean().tolist() == pytest.approx([30, 60], abs=1.0)
    assert by_class.std().tolist() == pytest.approx([10, 10], abs=1.0)


def test_with_risk_weights_it_is_the_papers_method():
    release = synthesize(
        rows(),
        schema=Schema(COLUMNS, rows_bound=10**6),
        target="y",
        epsilon=1.0,
        mechanism="reps",
        protect_outliers=RiskWeights(share=0.1),
        rows=100,
    )
    doors = [entry.request["door"] for entry in release.certificate.entries]
    assert doors == ["measure"] * 4 + ["sum"]  # strays, scores, hidden codes, counts
    weighted = ["weights" in entry.request for entry in release.certificate.entries]
    assert weighted == [False, False, True, True, True]
    assert release.table.num_rows == 100


def test_what_is_no_parameter_and_what_it_needs():
    assert mechanism_named("reps", {"backend": "graphical"}) == Reps(backend=Backend.GRAPHICAL)
    with pytest.raises(BadInput, match="There is no back-end 'forest'"):
        Reps(backend="forest")
    with pytest.raises(BadInput, match="model_bytes is 0"):
        Reps(model_bytes=0)
    with pytest.raises(BadInput, match="name it with --target"):
        Reps().check(["a"], None)
    with pytest.raises(UnknownColumn):
        Reps().check(["a"], "b")


# --- normal laws over bins ---


def bins_of(**facts):
    schema = Schema((Y, Column(name="x", null=False, **facts)), rows_bound=10)
    with Ledger.open(pa.table({"y": [True], "x": [1]}), schema, Budget(1.0, 1e-9)) as ledger:
        return Bins.of(ledger.encoding.cells["x"])


def test_bins_lie_between_minus_one_and_one():
    assert bins_of(kind=Kind.REAL, bounds=(0.0, 8.0), bins=4).edges.tolist() == [
        -1,
        -0.5,
        0,
        0.5,
        1,
    ]
    assert bins_of(kind=Kind.INTEGER, bounds=(0, 3)).edges.tolist() == [-1, -0.5, 0, 0.5, 1]
    unequal = bins_of(kind=Kind.REAL, bounds=(0.0, 10.0), edges=(0.0, 1.0, 5.0, 10.0))
    assert unequal.middles.tolist() == pytest.approx([-0.9, -0.4, 0.5])
    wide = bins_of(kind=Kind.REAL, bounds=(-1e307, 1e307), bins=4)
    assert np.isfinite(wide.edges).all()


def test_shares_are_the_mass_of_each_bin_and_tails_are_at_the_ends():
    bins = Bins(np.linspace(-1, 1, 5))
    (shares,) = bins.shares(np.array([0.25]), np.array([0.09]))
    below = norm.cdf([-0.5, 0, 0.5], 0.25, 0.3)
    assert shares == pytest.approx(np.diff([0, *below, 1]))
    (sure,) = bins.shares(np.array([0.9]), np.array([bins.least_variance]))
    assert (sure > 0).all()
    assert sure[3] == pytest.approx(1, abs=0.01)


def test_moments_without_noise_are_those_of_the_class():
    bins = Bins(np.linspace(-1, 1, 33))
    counts = np.array([100.0, 300.0])
    mean, variance = np.array([-0.5, 0.25]), np.array([0.01, 0.04])
    sums = np.stack([mean, variance + mean**2], axis=1) * counts[:, None]
    found = class_laws(sums, counts, 1e-9, bins)
    assert found[0] == pytest.approx(mean)
    assert found[1] == pytest.approx(variance)


@pytest.mark.parametrize("noise", [1e-3, 1.0, 1e3, 1e9])
def test_noise_never_makes_a_law_impossible(noise):
    rng = np.random.default_rng(0)
    bins = Bins(np.linspace(-1, 1, 9))
    for counts in ([0.0, 0.0], [-5.0, 10.0], [1e6, 1.0]):
        sums = rng.normal(0, noise, (2, 2))
        mean, variance = class_laws(sums, np.array(counts), noise, bins)
        assert (np.abs(mean) <= 1).all()
        assert (variance >= bins.least_variance).all()
        shares = bins.shares(mean, variance)
        assert shares.sum(axis=1) == pytest.approx(1)
        assert (shares > 0).all()


def test_where_all_is_noise_nothing_is_told():
    bins = Bins(np.linspace(-1, 1, 9))
    mean, variance = class_laws(np.full((2, 2), 50.0), np.array([2.0, 2.0]), 1e6, bins)
    assert mean == pytest.approx([0, 0], abs=1e-6)
    assert variance == pytest.approx([1 / 3, 1 / 3], abs=1e-6)
