"""A noisy copula: right where there is much to spend, sound where there is little."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import spearmanr

from understudy.column import Column, Kind
from understudy.encode import Encoding
from understudy.mechanisms.copula import Copula, normal_scores, ranks
from understudy.model.copula import CopulaModel
from understudy.model.visible import visible
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.schema import Schema
from understudy.select.code_order import ordered_codes

ROWS = 5000


def real(name, **facts):
    facts = {"kind": Kind.REAL, "bounds": (0, 1), "bins": 20, "null": False} | facts
    return Column(name=name, **facts)


SCHEMA = Schema((real("u"), real("v", bins=40), real("w")), rows_bound=10**5)


def table(rows=ROWS):
    rng = np.random.default_rng(0)
    u = rng.random(rows)
    v = (u + rng.random(rows)) / 2
    return pa.table({"u": u, "v": v**3, "w": np.clip(1 - v + rng.normal(0, 0.3, rows), 0, 1)})


def opened(data=None, schema=SCHEMA, epsilon=3.0):
    data = table() if data is None else data
    return Ledger.open(data, schema, Budget(epsilon, 1e-9), source=SeededForTests(1))


def maps(ledger):
    return [entry.request.get("row_map") for entry in ledger.entries]


@pytest.mark.parametrize("epsilon", [3.0, 100.0])
def test_with_much_to_spend_ranks_are_tied_as_in_the_rows(epsilon):
    with opened(epsilon=epsilon) as ledger:
        model = Copula().fit(ledger)
        assert 0 <= ledger.rest() < Fraction(1, 10**6) * ledger.budget.rho
        assert maps(ledger) == [None, "NormalScores"]
    drawn = model.sample(ROWS, np.random.default_rng(0))
    found = spearmanr(np.column_stack([drawn[name] for name in drawn])).statistic
    columns = [table()[name].to_numpy() for name in ("u", "v", "w")]
    truth = spearmanr(np.column_stack(columns)).statistic
    assert np.abs(found - truth).max() < (0.1 if epsilon < 10 else 0.04)
    exact = np.bincount((table()["u"].to_numpy() * 20).astype(int), minlength=20) / ROWS
    np.testing.assert_allclose(np.bincount(drawn["u"], minlength=21)[:20] / ROWS, exact, atol=0.02)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.05])
@pytest.mark.parametrize("rows", [0, 5, 300])
def test_with_little_to_spend_it_is_a_model_all_the_same(epsilon, rows):
    with opened(table(rows), epsilon=epsilon) as ledger:
        model = Copula().fit(ledger)
    np.linalg.cholesky(model.correlation)
    assert np.isfinite(model.total)
    again = CopulaModel.from_json(model.to_json())
    for name, codes in again.sample(50, np.random.default_rng(0)).items():
        assert (codes < model.domain.sizes[name]).all()


def test_noise_is_not_taken_for_ties():
    rng = np.random.default_rng(0)
    apart = pa.table({name: rng.random(500) for name in ("u", "v", "w")})
    found = []
    for seed in range(10):
        with Ledger.open(apart, SCHEMA, Budget(0.1, 1e-9), source=SeededForTests(seed)) as ledger:
            found.append(np.abs(np.triu(Copula().fit(ledger).correlation, 1)).max())
    assert np.median(found) < 0.3


@pytest.mark.parametrize(
    "allowed",
    [lambda _: False, lambda cliques: all(len(clique) < 3 for clique in cliques)],
    ids=["no pair", "not all"],
)
def test_columns_that_may_not_stand_together_are_not_tied(allowed):
    with opened() as ledger:
        model = Copula().fit(ledger, allowed=allowed)
        assert "NormalScores" not in maps(ledger)
        assert 0 <= ledger.rest() < Fraction(1, 10**6) * ledger.budget.rho
    assert not model.tied


def test_one_column_is_counted_alone():
    with opened(table().select(["u"]), Schema((real("u"),))) as ledger:
        model = Copula().fit(ledger)
        assert maps(ledger) == [None]
    assert list(model.sample(5, np.random.default_rng(0))) == ["u"]


def test_numbers_go_by_size_and_missing_values_last():
    cells = Encoding(Schema((real("x", bins=4, atoms=(0.0, 0.6), null=True),))).cells["x"]
    order = ordered_codes(cells)
    values = [(low + high) / 2 for low, high in cells.bins] + [float(a) for a in cells.atoms]
    assert order[-1] == cells.missing
    assert [values[code] for code in order[:-1]] == sorted(values)


def test_scores_are_those_of_a_normal_law():
    shares, order = np.array([0.5, 0.25, 0.25]), np.array([2, 0, 1])
    np.testing.assert_allclose(ranks(shares, order), [0.5, 0.875, 0.125])
    np.testing.assert_allclose(normal_scores(shares, order), [0, 1.150, -1.150], atol=1e-3)
    far = normal_scores(np.array([1e-9, 1.0, 1e-9]), np.arange(3))
    np.testing.assert_allclose(far, [-3, 0, 3], atol=1e-6)
    assert np.isfinite(normal_scores(np.zeros(3), np.arange(3))).all()


@pytest.mark.parametrize(("columns", "truth"), [(2, 0.8), (2, 0.95), (6, 0.5), (6, -0.15)])
def test_normal_columns_correlate_as_they_did_though_rows_are_shortened(columns, truth):
    rows = 40_000
    matrix = np.full((columns, columns), truth) + (1 - truth) * np.eye(columns)
    drawn = np.random.default_rng(3).multivariate_normal(np.zeros(columns), matrix, rows)
    names = [f"x{k}" for k in range(columns)]
    schema = Schema(tuple(real(name, bounds=(-5, 5), bins=64) for name in names))
    data = pa.table({name: drawn[:, k] for k, name in enumerate(names)})
    with opened(data, schema, epsilon=8.0) as ledger:
        model = Copula().fit(ledger)
    encoding = Encoding(schema)
    codes = visible(model, encoding.hidden).sample(rows, np.random.default_rng(0))
    made = encoding.decode(codes, np.random.default_rng(1))
    found = np.corrcoef([made[name].to_numpy() for name in names])
    assert np.abs(found - matrix).max() < 0.03


def test_columns_of_two_values_are_tied_as_they_were():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 20_000)
    b = np.where(rng.random(20_000) < 0.8, a, 1 - a)
    both = [Column(name=name, kind=Kind.BOOLEAN, null=False) for name in ("a", "b")]
    data = pa.table({"a": a.astype(bool), "b": b.astype(bool)})
    with opened(data, Schema(tuple(both)), epsilon=8.0) as ledger:
        drawn = Copula().fit(ledger).sample(20_000, rng)
    assert (drawn["a"] == drawn["b"]).mean() == pytest.approx(0.8, abs=0.02)
