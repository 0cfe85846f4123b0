import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.domain import Domain
from understudy.model.counts import fitted
from understudy.privacy.answers import Measurement
from understudy.privacy.merging import Merging
from understudy.select.rare import Columns, summed

DOMAIN = Domain.of({"x": 6})


def one(values, scale=10.0, name="x"):
    return Measurement((name,), np.array(values, float), scale)


def columns(values, scale=10.0, rarity=3.0):
    return Columns.of(Domain.of({"x": len(values)}), [one(values, scale)], rarity=rarity)


def test_rare_codes_share_the_last_group_and_others_keep_their_order():
    found = columns([100, 5, 40, -3, 31, 29])
    assert found.groups == {"x": (0, 3, 1, 3, 2, 3)}
    (merged,) = found.measurements
    assert merged.clique == ("x",)
    np.testing.assert_allclose(merged.values, [100, 40, 31, 5 - 3 + 29])
    # The noise of three codes adds up.
    np.testing.assert_allclose(merged.scale, [10, 10, 10, 10 * 3**0.5])


@pytest.mark.parametrize("rarity", [0.0, 1.0, 3.0, 7.5])
def test_rare_is_below_so_many_standard_deviations(rarity):
    values = [200, 75, 74.9, 30, 29.9, 10, 9.9, 0.1, -0.1, -40]
    expected = [value < rarity * 10 for value in values]
    groups = columns(values, rarity=rarity).groups["x"]
    last = len(values) - sum(expected)
    assert [group == last for group in groups] == expected


def test_a_code_at_the_very_threshold_is_not_rare():
    assert columns([100, 30, 30, 29.99, 29.99]).groups["x"] == (0, 1, 2, 3, 3)


@pytest.mark.parametrize("values", [[100, 200, 300], [100, 200, 5], [30, 30], [500], [2]])
def test_where_at_most_one_is_rare_nothing_is_merged(values):
    found = columns(values)
    assert found.groups == {}
    np.testing.assert_allclose(found.measurements[0].values, values)
    np.testing.assert_allclose(found.measurements[0].scale, 10)
    np.testing.assert_array_equal(found.merged_counts("x"), found.counts["x"])


def test_where_all_are_rare_one_group_is_left():
    found = columns([5, -3, 8, 1])
    assert found.groups == {"x": (0, 0, 0, 0)}
    np.testing.assert_allclose(found.measurements[0].values, [11])
    np.testing.assert_allclose(found.measurements[0].scale, [20])
    np.testing.assert_allclose(found.merged_counts("x"), [found.total])
    assert found.shares("x").shape == (1, 4)


def test_each_column_is_judged_by_itself():
    domain = Domain.of({"x": 3, "y": 2, "z": 4})
    answers = [
        one([100, 2, 3], 10.0, "x"),
        one([60, 45], 10.0, "y"),
        one([1, 50, 2, 49], 1.0, "z"),
    ]
    found = Columns.of(domain, answers, rarity=3.0)
    assert found.groups == {"x": (0, 1, 1), "z": (2, 0, 2, 1)}
    assert [m.clique for m in found.measurements] == [("x",), ("y",), ("z",)]
    for name in domain.names:
        assert found.counts[name].min() >= 0
        assert found.counts[name].sum() == pytest.approx(found.total)
    # z's total is by far the best known.
    assert found.total == pytest.approx(102, abs=0.5)


def test_measurements_of_one_column_are_put_together_first():
    # By itself the second code is rare in the first answer only; together they say 40 ± 6.
    answers = [one([200, 20, 3], 10.0), one([200, 52, 1], 7.5)]
    mean = (20 / 100 + 52 / 56.25) / (1 / 100 + 1 / 56.25)
    found = Columns.of(Domain.of({"x": 3}), answers, rarity=3.0)
    assert found.groups == {}
    np.testing.assert_allclose(found.measurements[0].values[1], mean)
    np.testing.assert_allclose(found.measurements[0].scale, 6.0)
    # Two that are each above the line may be below it with what a third one says.
    more = [*answers, one([200, -30, 2], 5.0)]
    assert Columns.of(Domain.of({"x": 3}), more, rarity=3.0).groups == {"x": (0, 1, 1)}


def test_noise_that_differs_by_cell_is_judged_by_cell():
    found = columns([20, 20, 20, 20], np.array([1.0, 10.0, 1.0, 10.0]))
    assert found.groups == {"x": (0, 2, 1, 2)}
    np.testing.assert_allclose(found.measurements[0].scale, [1, 1, 200**0.5])


def test_other_marginals_tell_the_number_of_rows_and_nothing_else():
    pair = Measurement(("x", "y"), np.full((3, 2), 50.0), 0.1)
    total = Measurement((), np.array(301.0), 0.01)
    answers = [one([100, 2, 3]), one([60, 40], 10.0, "y"), pair, total]
    found = Columns.of(Domain.of({"x": 3, "y": 2}), answers, rarity=3.0)
    assert found.total == pytest.approx(301, abs=0.01)
    assert found.groups == {"x": (0, 1, 1)}
    assert [m.clique for m in found.measurements] == [("x",), ("y",)]


def test_a_table_that_seems_to_have_less_than_no_rows_has_one():
    found = columns([-30.0, -50.0, -20.0])
    assert found.total == 1.0
    assert found.counts["x"].min() >= 0
    assert found.counts["x"].sum() == pytest.approx(1)
    np.testing.assert_allclose(found.shares("x").sum(axis=1), 1)


def test_counts_are_the_nearest_that_can_be():
    values = [100, 5, 40, -30, 31, 29]
    found = columns(values)
    np.testing.assert_allclose(
        found.counts["x"], fitted(np.array(values, float), np.full(6, 100.0), sum(values))
    )
    np.testing.assert_allclose(
        found.merged_counts("x"), summed(found.groups["x"], found.counts["x"])
    )


def test_shares_are_those_of_the_counts_within_each_group():
    found = columns([100, 5, 40, 1, 34, 20])
    shares = found.shares("x")
    assert shares.shape == (4, 6)
    counts = found.counts["x"]
    rare = counts[[1, 3, 5]]
    np.testing.assert_allclose(shares[3, [1, 3, 5]], rare / rare.sum())
    np.testing.assert_allclose(shares[:3, [0, 2, 4]], np.eye(3))
    assert shares[3, [0, 2, 4]].sum() == 0


def test_codes_of_a_group_that_noise_emptied_have_equal_shares():
    found = columns([1000, -30, 900, -40, -35])
    assert found.merged_counts("x")[2] == 0
    np.testing.assert_allclose(found.shares("x")[2], [0, 1 / 3, 0, 1 / 3, 1 / 3])
    # An empty group of one code, as another rarity leaves it, goes to that code.
    lone = Columns(10.0, {"x": np.array([10.0, 0, 0, 0])}, {"x": (0, 1, 2, 2)}, ())
    np.testing.assert_allclose(lone.shares("x"), [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, 0.5]])


@given(
    st.lists(st.floats(-300, 300), min_size=1, max_size=12),
    st.floats(0.01, 100),
    st.floats(0, 10),
)
def test_whatever_the_noise_groups_and_shares_are_sound(values, scale, rarity):
    found = columns(values, scale, rarity)
    rare = np.array(values) < rarity * scale
    (merged,) = found.measurements
    assert merged.values.sum() == pytest.approx(sum(values), abs=1e-6)
    if rare.sum() <= 1:
        assert found.groups == {}
        return
    merging = Merging.of(found.groups)  # numbered without a gap
    merging.check(Domain.of({"x": len(values)}))
    assert merged.values.shape == merged.scale.shape == ((~rare).sum() + 1,)
    assert np.square(merged.scale).sum() == pytest.approx(len(values) * scale**2)
    shares = found.shares("x")
    assert shares.min() >= 0
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    # A code has a share of its own group alone.
    groups = np.array(found.groups["x"])
    assert shares[groups, np.arange(len(values))].sum() == pytest.approx(shares.sum())
    # Split by their shares, the counts of groups are those of codes again.
    np.testing.assert_allclose(
        found.merged_counts("x") @ shares, found.counts["x"], atol=1e-6 * (1 + found.total)
    )


def test_summed_adds_up_by_group():
    np.testing.assert_array_equal(summed((1, 0, 1), np.array([1.0, 2.0, 4.0])), [2, 5])
    assert summed([0], np.array([3.0])).dtype == np.float64


def hiding(values, rarity=3.0, scale=10.0):
    domain = Domain.of({"x": len(values)})
    return Columns.of(domain, [one(values, scale)], rarity=rarity, hidden={"x": len(values) - 1})


def test_a_hidden_code_within_its_noise_joins_the_commonest_and_costs_no_cell():
    assert hiding([100.0, 500.0, 300.0, 5.0]).groups == {"x": (0, 1, 2, 1)}
    assert hiding([100.0, -2.0, 5.0]).groups == {"x": (0, 1, 0)}  # one rare code stays by itself
    assert hiding([100.0, 3.0, 5.0, 500.0, -20.0]).groups == {"x": (0, 2, 2, 1, 1)}
    assert hiding([3.0, 5.0, 1.0]).groups == {"x": (0, 0, 0)}
    assert hiding([500.0, 5.0]).groups == {"x": (0, 0)}  # nothing is left to tell apart


def test_a_hidden_code_that_stands_out_has_a_group_of_its_own():
    assert hiding([100.0, 500.0, 300.0, 50.0]).groups == {}
    assert hiding([100.0, 3.0, 5.0, 400.0]).groups == {"x": (0, 2, 2, 1)}


def test_the_counts_of_a_group_with_a_hidden_code_are_those_of_both():
    found = hiding([100.0, 500.0, 300.0, 5.0])
    (merged,) = found.measurements
    assert merged.values.tolist() == [100.0, 505.0, 300.0]
    np.testing.assert_allclose(merged.scale, [10.0, np.sqrt(200.0), 10.0])
