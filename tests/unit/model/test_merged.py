import json

import numpy as np
import pytest
from scipy import stats

from helpers.shapes import counted
from understudy.domain import Domain
from understudy.model.factor import Factor
from understudy.model.graphical import GraphicalModel
from understudy.model.merged import MergedModel
from understudy.privacy.answers import Measurement

RARE = 1e-7
ROWS = 20_000
BOTH = pytest.mark.parametrize("rounded", [True, False], ids=["rounded", "plain"])
SHARES = {
    # Codes 1, 3 and 4 were merged into group 2; 5 was merged as well, and has no share.
    "x": np.array([[1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0.5, 0, 0.2, 0.3, 0]], float),
    "z": np.array([[0.25, 0.75] + [0] * 298, [0, 0] + [1 / 298] * 298]),
}


def model(*, rounded=True):
    domain = Domain.of({"x": 3, "y": 4, "z": 2})
    rng = np.random.default_rng(0)
    factors = (
        Factor(("x", "y"), 0.4 * rng.standard_normal((3, 4))),
        Factor(("z", "y"), 0.4 * rng.standard_normal((2, 4))),
    )
    answers = (Measurement(("x",), np.arange(6.0), 2.5),)
    return MergedModel(GraphicalModel(domain, 77.0, factors, rounded=rounded), SHARES, answers)


def drawn(seed=0, rows=ROWS, **options):
    return model(**options).sample(rows, np.random.default_rng(seed))


def test_it_has_the_columns_and_sizes_from_before_merging():
    assert model().domain == Domain.of({"x": 6, "y": 4, "z": 300})
    assert model().total == 77.0
    assert model().kind == "merged"


@BOTH
@pytest.mark.parametrize("rows", [1, 500])
def test_codes_have_the_narrowest_type_and_lie_in_range(rows, rounded):
    codes = drawn(rows=rows, rounded=rounded)
    assert list(codes) == ["x", "y", "z"]
    assert [codes[name].dtype for name in codes] == [np.uint8, np.uint8, np.uint16]
    for name, size in model().domain.sizes.items():
        assert codes[name].shape == (rows,)
        assert (codes[name] < size).all()


@pytest.mark.statistical
@BOTH
def test_each_code_takes_its_share_of_its_group(rounded):
    # Chi-square, false alarms 1e-7. Power: a share of a group that is off by 0.1 is always seen.
    codes = drawn(rounded=rounded)
    coarse = model().coarse.beliefs.marginal(("x",))
    shares = coarse @ SHARES["x"]
    counts = np.bincount(codes["x"], minlength=6)
    assert counts[5] == 0
    assert stats.chisquare(counts[:5], ROWS * shares[:5]).pvalue > RARE
    wrong = shares[:5] + coarse[2] * np.array([0, -0.1, 0, 0.1, 0])
    assert stats.chisquare(counts[:5], ROWS * wrong).pvalue < RARE


def test_rounded_shares_are_met_to_the_row():
    codes = drawn()
    counts = np.bincount(codes["x"], minlength=6)
    group = counts[[1, 3, 4]]
    assert np.abs(group - group.sum() * np.array([0.5, 0.2, 0.3])).max() < 1


@pytest.mark.statistical
@BOTH
def test_which_code_of_a_group_a_row_gets_does_not_depend_on_other_columns(rounded):
    # Contingency tables within the merged group, false alarms 1e-7. Power: shares that differ by
    # 0.15 between the codes of another column are always seen.
    codes = drawn(seed=1, rounded=rounded)
    table = counted(model().domain, codes, ("x", "y"))[[1, 3, 4]]
    assert stats.chi2_contingency(table).pvalue > RARE
    table[:, 0] += table[:, 0].sum() * np.array([0.15, 0.0, -0.15])
    assert stats.chi2_contingency(table).pvalue < RARE
    # Nor on how another merged column is split.
    split = counted(model().domain, codes, ("x", "z"))[[1, 3, 4]][:, :2]
    assert stats.chi2_contingency(split).pvalue > RARE


@pytest.mark.statistical
@BOTH
def test_groups_keep_what_ties_them_to_other_columns(rounded):
    codes = drawn(seed=2, rounded=rounded)
    table = counted(model().domain, codes, ("x", "y"))
    merged = np.stack([table[0], table[2], table[[1, 3, 4]].sum(axis=0)])
    expected = ROWS * model().coarse.beliefs.marginal(("x", "y"))
    assert stats.chisquare(merged.ravel(), expected.ravel()).pvalue > RARE


def test_without_merged_columns_it_draws_as_the_model_below():
    plain = model().coarse
    merged = MergedModel(plain, {})
    assert merged.domain == plain.domain
    one, other = (m.sample(50, np.random.default_rng(3)) for m in (plain, merged))
    for name, codes in one.items():
        np.testing.assert_array_equal(codes, other[name], strict=True)


@BOTH
def test_a_model_comes_back_from_json_and_draws_the_same_rows(rounded):
    before = model(rounded=rounded)
    after = MergedModel.from_json(json.loads(json.dumps(before.to_json(), allow_nan=False)))
    assert after.domain == before.domain
    assert after.total == before.total
    assert after.to_json() == before.to_json()
    assert [one.clique for one in after.measurements] == [("x",)]
    np.testing.assert_array_equal(after.measurements[0].values, np.arange(6.0), strict=True)
    for name, share in SHARES.items():
        np.testing.assert_array_equal(after.shares[name], share, strict=True)
    drawn_codes, again = (m.sample(300, np.random.default_rng(4)) for m in (before, after))
    for name, codes in drawn_codes.items():
        np.testing.assert_array_equal(codes, again[name], strict=True)
