import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from helpers.shapes import counted
from understudy.domain import Domain
from understudy.model.bayes_net import BayesNet, Family
from understudy.privacy.answers import Measurement

RARE = 1e-7
ROWS = 20_000
DOMAIN = Domain.of({"a": 2, "b": 3, "c": 2, "one": 1})
FAMILIES = (Family("b"), Family("a", ("b",)), Family("c", ("b", "a")), Family("one", ("c",)))
TABLE = 100 * np.random.default_rng(0).dirichlet(np.full(12, 5.0)).reshape(2, 3, 2, 1)


def summed(clique):
    beside = tuple(axis for axis, name in enumerate(DOMAIN.names) if name not in clique)
    kept = [name for name in DOMAIN.names if name in clique]
    return TABLE.sum(axis=beside).transpose([kept.index(name) for name in clique])


def exact(*cliques, scale=1.0):
    return [Measurement(clique, summed(clique), scale) for clique in cliques]


def net(**options):
    fit = BayesNet.of(DOMAIN, FAMILIES, exact(("c", "a", "b"), ("one", "c")))
    return BayesNet(fit.domain, fit.total, fit.steps, fit.measurements, **options)


def shares_of(fit):
    return {step.new[0]: step.shares for step in fit.steps}


def test_a_family_names_its_parents_first():
    assert FAMILIES[2].clique == ("b", "a", "c")
    assert FAMILIES[0].clique == ("b",)


def test_conditional_tables_are_read_off_exact_marginals():
    fit = net()
    assert fit.total == pytest.approx(100)
    assert [step.given for step in fit.steps] == [(), ("b",), ("b", "a"), ("c",)]
    found = shares_of(fit)
    np.testing.assert_allclose(found["b"], summed(("b",))[None] / 100)
    np.testing.assert_allclose(found["a"], summed(("b", "a")) / summed(("b",))[:, None])
    joint = summed(("b", "a", "c")).reshape(6, 2)
    np.testing.assert_allclose(found["c"], joint / joint.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found["one"], [[1.0], [1.0]])


def test_each_family_is_read_off_the_smallest_measurement_that_holds_it():
    # The larger ones tell lies; whoever reads them is caught.
    lies = [
        Measurement(("a", "b", "c"), np.full((2, 3, 2), 100 / 12), 1.0),
        Measurement(("b", "c"), np.full((3, 2), 100 / 6), 1.0),
    ]
    truth = exact(("a", "b"), ("b",), ("c", "one"))
    families = (Family("b"), Family("a", ("b",)), Family("c"), Family("one", ("c",)))
    for measurements in (lies + truth, truth + lies):
        found = shares_of(BayesNet.of(DOMAIN, families, measurements))
        np.testing.assert_allclose(found["b"], summed(("b",))[None] / 100)
        np.testing.assert_allclose(found["a"], summed(("b", "a")) / summed(("b",))[:, None])
        np.testing.assert_allclose(found["c"], summed(("c",))[None] / 100)


def test_measurements_of_the_same_columns_are_put_together_by_their_precision():
    scale = np.array([[1.0, 2.0, 1.0], [1.0, 1.0, 4.0]])
    one = Measurement(("a", "b"), summed(("a", "b")) + scale**2, scale)
    other = Measurement(("b", "a"), summed(("b", "a")) - 1.0, 1.0)
    # Weighed by 1 / scale² and 1, what was added to each cell takes itself away; the total,
    # which it changes, is told apart from it.
    total = Measurement((), np.array(100.0), 1e-6)
    found = shares_of(BayesNet.of(DOMAIN.project(("a", "b")), FAMILIES[:2], [one, other, total]))
    np.testing.assert_allclose(found["b"], summed(("b",))[None] / 100, atol=1e-6)
    np.testing.assert_allclose(found["a"], summed(("b", "a")) / summed(("b",))[:, None], atol=1e-6)


@given(st.integers(0, 2**32 - 1), st.sampled_from([5.0, 500.0, 2.0**44]), st.booleans())
def test_whatever_the_noise_shares_are_shares(seed, scale, below):
    rng = np.random.default_rng(seed)
    measurements = []
    for clique in (("c", "a", "b"), ("one", "c")):
        values = rng.normal(0, scale, DOMAIN.shape(clique))
        measurements.append(Measurement(clique, -np.abs(values) if below else values, scale))
    fit = BayesNet.of(DOMAIN, FAMILIES, measurements)
    assert fit.total >= 1
    if below:
        assert fit.total == 1.0
    for name, shares in shares_of(fit).items():
        assert shares.shape[1] == DOMAIN.sizes[name]
        assert shares.min() >= 0
        np.testing.assert_allclose(shares.sum(axis=1), 1)
    codes = fit.sample(20, rng)
    assert all((codes[name] < size).all() for name, size in DOMAIN.sizes.items())


def test_where_noise_left_nothing_of_a_group_its_rows_follow_all_others():
    values = np.array([[30.0, 10.0], [-50.0, -60.0], [20.0, 40.0]])
    told = [Measurement(("b", "a"), values, 1.0), Measurement((), np.array(100.0), 1e-3)]
    found = shares_of(BayesNet.of(DOMAIN.project(("a", "b")), FAMILIES[:2], told))
    np.testing.assert_allclose(found["b"], [[0.4, 0, 0.6]], atol=1e-4)
    np.testing.assert_allclose(found["a"], [[0.75, 0.25], [0.5, 0.5], [1 / 3, 2 / 3]], atol=1e-4)


@pytest.mark.statistical
@pytest.mark.parametrize("rounded", [True, False], ids=["rounded", "plain"])
def test_rows_follow_the_net(rounded):
    # The net holds all of the table, so rows follow it as a whole. False alarms: 1e-7. Power:
    # cells that are off by a tenth, up and down in turn, are always seen.
    codes = net(rounded=rounded).sample(ROWS, np.random.default_rng(1))
    counts = counted(DOMAIN, codes, DOMAIN.names).ravel()
    shares = TABLE.ravel() / 100
    assert (ROWS * shares).min() > 5
    assert stats.chisquare(counts, ROWS * shares).pvalue > RARE
    wrong = shares * np.resize([1.1, 0.9], 12)
    assert stats.chisquare(counts, ROWS * wrong / wrong.sum()).pvalue < RARE


@pytest.mark.parametrize("rounded", [True, False], ids=["rounded", "plain"])
def test_a_net_comes_back_from_json_and_draws_the_same_rows(rounded):
    before = net(rounded=rounded)
    after = BayesNet.from_json(json.loads(json.dumps(before.to_json(), allow_nan=False)))
    assert after.kind == before.kind == "bayes net"
    assert after.domain == before.domain
    assert after.total == before.total
    assert after.rounded is rounded
    assert after.to_json() == before.to_json()
    for one, other in zip(after.steps, before.steps, strict=True):
        assert (one.given, one.new) == (other.given, other.new)
        np.testing.assert_array_equal(one.shares, other.shares, strict=True)
    drawn, again = (m.sample(300, np.random.default_rng(2)) for m in (before, after))
    assert list(drawn) == list(again) == list(DOMAIN.names)
    for name, codes in drawn.items():
        assert codes.dtype == np.uint8
        np.testing.assert_array_equal(codes, again[name], strict=True)


def test_one_row_can_be_drawn():
    codes = net().sample(1, np.random.default_rng(3))
    assert all(column.shape == (1,) for column in codes.values())


def test_what_is_known_of_fewer_columns_is_trusted_by_its_noise():
    # Tables off by tens, and columns that are known: draws follow the columns.
    rng = np.random.default_rng(4)
    noisy = [
        Measurement(clique, summed(clique) + rng.normal(0, 10, DOMAIN.shape(clique)), 10.0)
        for clique in (("c", "a", "b"), ("one", "c"))
    ]
    known = exact(*((name,) for name in DOMAIN.names), scale=1e-3)
    codes = BayesNet.of(DOMAIN, FAMILIES, noisy + known).sample(ROWS, rng)
    for name in DOMAIN.names:
        shares = counted(DOMAIN, codes, (name,)) / ROWS
        np.testing.assert_allclose(shares, summed((name,)) / 100, atol=2e-3)
    alone = BayesNet.of(DOMAIN, FAMILIES, noisy).sample(ROWS, rng)
    assert any(
        np.abs(counted(DOMAIN, alone, (name,)) / ROWS - summed((name,)) / 100).max() > 0.02
        for name in DOMAIN.names
    )
