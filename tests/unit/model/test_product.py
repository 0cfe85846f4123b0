import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from understudy.domain import Domain
from understudy.model import product
from understudy.model.product import ProductModel
from understudy.privacy.answers import Measurement

RARE = 1e-6
ROWS = 100_000
SHARES = {
    "few": np.array([0.5, 0.0, 0.3, 0.2]),
    "one": np.array([1.0]),
    "edges": np.array([0.0, 0.25, 0.75, 0.0]),
    "many": np.full(300, 1 / 300),
}


def model(shares=SHARES, total=1000.0):
    return ProductModel(Domain.of({k: len(v) for k, v in shares.items()}), total, shares)


def measured(name, values, scale=1.0):
    return Measurement((name,) if name else (), np.array(values, float), scale)


def drawn(seed=0, rows=ROWS, **options):
    return model(**options).sample(rows, np.random.default_rng(seed))


@pytest.mark.parametrize("rows", [1, 2, 1000])
def test_codes_have_the_narrowest_type_and_lie_in_range(rows):
    codes = drawn(rows=rows)
    assert list(codes) == list(SHARES)
    for name, share in SHARES.items():
        assert codes[name].shape == (rows,)
        assert codes[name].dtype == np.min_scalar_type(len(share) - 1)
        assert 0 <= codes[name].min() <= codes[name].max() < len(share)


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["few", "edges", "many"])
def test_cells_come_as_often_as_their_shares_say(name):
    # Chi-square with a fixed seed: one sound seed in a million fails. Power: a share that is off
    # by 0.02 (or, of 300 cells, all by a tenth) is missed less than once in a million.
    counts = np.bincount(drawn()[name], minlength=len(SHARES[name]))
    there = SHARES[name] > 0
    assert counts[~there].sum() == 0
    expected = ROWS * SHARES[name][there]
    assert stats.chisquare(counts[there], expected).pvalue > RARE
    off = np.ones(there.sum())
    off[::2] += 0.1
    wrong = expected * off / (expected * off).sum() * ROWS
    assert stats.chisquare(counts[there], wrong).pvalue < RARE


@pytest.mark.statistical
def test_columns_are_independent():
    # False alarms: 1e-6. Power: a correlation of 0.03 moves the statistic by about 90.
    codes = drawn(seed=1)
    joint = np.zeros((4, 4))
    np.add.at(joint, (codes["few"], codes["edges"]), 1)
    joint = joint[joint.sum(1) > 0][:, joint.sum(0) > 0]
    assert stats.chi2_contingency(joint).pvalue > RARE


class Stub:
    """A generator that draws what it is told."""

    def __init__(self, *numbers):
        self.numbers = np.array(numbers)

    def random(self, rows):
        return np.resize(self.numbers, rows)


LARGEST = np.nextafter(1.0, 0.0)


@given(
    st.lists(st.sampled_from([0.0, 0.0, 0.1, 1 / 3, 0.5, 1e-12, 3.0]), min_size=1, max_size=40)
    .filter(any)
    .map(np.array),
    st.floats(0, 1, exclude_max=True),
)
def test_a_cell_without_a_share_is_never_drawn(shares, number):
    for total in (1.0, shares.sum()):
        codes = product._drawn(shares / total, 5, Stub(0.0, 0.5, LARGEST, number))
        assert (shares[codes] > 0).all()


def test_noise_of_a_total_does_not_change_shares():
    # Shares that add up to a hair more or less than one are drawn alike.
    for off in (1 - 1e-9, 1 + 1e-9):
        codes = product._drawn(SHARES["few"] * off, 4, Stub(0.0, 0.49, 0.51, LARGEST))
        assert codes.tolist() == [0, 0, 2, 3]


def test_it_fits_each_column_to_its_measurements_and_all_to_one_total():
    domain = Domain.of({"x": 2, "y": 3})
    answers = [
        measured("x", [60, 40], 1.0),
        measured("x", [70, 50], 2.0),
        measured("y", [90, 30, -20], 1.0),
        measured("", 100, 1.0),
    ]
    fit = ProductModel.of(domain, answers)
    weights = np.array([1 / 2, 1 / 8, 1 / 3, 1])
    total = weights @ [100, 120, 100, 100] / weights.sum()
    assert fit.total == pytest.approx(total)
    x = np.array([(60 + 70 / 4) / 1.25, (40 + 50 / 4) / 1.25])
    np.testing.assert_allclose(fit.shares["x"], (x + (total - x.sum()) / 2) / total)
    np.testing.assert_allclose(
        fit.shares["y"], [(90 - (120 - total) / 2) / total, (30 - (120 - total) / 2) / total, 0]
    )
    assert fit.measurements == tuple(answers)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 30.0, 2.0**44]))
def test_whatever_the_noise_shares_are_shares(seed, scale):
    rng = np.random.default_rng(seed)
    domain = Domain.of({"x": 7, "y": 1, "z": 40})
    answers = [measured(n, rng.normal(3, scale, s), scale) for n, s in domain.sizes.items()]
    fit = ProductModel.of(domain, answers)
    assert fit.total >= 1
    for share in fit.shares.values():
        assert share.min() >= 0
        assert share.sum() == pytest.approx(1, abs=0.5 if scale > 1e9 else 1e-6)
    codes = fit.sample(50, rng)
    assert all(codes[name].max() < size for name, size in domain.sizes.items())


def test_a_table_that_seems_to_have_less_than_no_rows_has_one():
    fit = ProductModel.of(Domain.of({"x": 2}), [measured("x", [-30, -50], 20.0)])
    assert fit.total == 1.0
    assert fit.shares["x"].sum() == pytest.approx(1)


@given(
    st.lists(st.floats(0, 1e300, allow_subnormal=True), min_size=1, max_size=5).filter(any),
    st.floats(1, 1e15),
    st.floats(1e-3, 1e6),
)
def test_a_model_comes_back_from_json_to_the_last_digit(shares, total, scale):
    answers = (
        measured("x", shares, scale),
        measured("x", shares, np.full(len(shares), scale / 3)),
        measured("", total, scale),
    )
    before = ProductModel(Domain.of({"x": len(shares)}), total, {"x": np.array(shares)}, answers)
    content = json.loads(json.dumps(before.to_json(), allow_nan=False))
    after = ProductModel.from_json(content)
    assert after.domain == before.domain
    assert after.total == before.total
    assert after.kind == before.kind == "product"
    np.testing.assert_array_equal(after.shares["x"], before.shares["x"], strict=True)
    for one, other in zip(after.measurements, before.measurements, strict=True):
        assert one.clique == other.clique
        np.testing.assert_array_equal(one.values, other.values, strict=True)
        np.testing.assert_array_equal(one.scale, other.scale)
        assert type(one.scale) is type(other.scale)
    assert after.to_json() == before.to_json()


def test_the_same_model_and_seed_draw_the_same_rows():
    before = model()
    after = ProductModel.from_json(json.loads(json.dumps(before.to_json())))
    one, other = (m.sample(500, np.random.default_rng(4)) for m in (before, after))
    again = before.sample(500, np.random.default_rng(5))
    for name in SHARES:
        np.testing.assert_array_equal(one[name], other[name], strict=True)
    assert any((one[name] != again[name]).any() for name in SHARES)
