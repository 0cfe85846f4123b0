"""Cells, marginals and moments, against loops over dictionaries, numpy, pandas and bootstraps."""

from collections import Counter
from itertools import combinations, product
from math import log, sqrt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from understudy.curator import fidelity
from understudy.curator.align import align
from understudy.curator.cells import BINS, MOST_CELLS, Cells, joint, places
from understudy.curator.moments import compare_moments
from understudy.curator.row_weights import RowWeights
from understudy.curator.tables import ComparedColumn, Rows, Sort, Tables

Z = 1.959963984540054
MISSING = "missing"


def drawn(rows, seed, *, shift=0.0):
    """Two columns of labels, one of few numbers; with `shift`, of another population."""
    rng = np.random.default_rng(seed)
    city = rng.choice(["Ulm", "Bonn", "Kiel"], rows, p=[0.5 - shift, 0.3, 0.2 + shift])
    job = np.where(rng.random(rows) < 0.7 - shift, city, rng.choice(["Ulm", "Bonn"], rows))
    return pa.table({"city": city, "job": job, "visits": rng.binomial(4, 0.3 + shift, rows)})


def judged(real, synthetic):
    return fidelity.judge(align(real, synthetic), np.random.default_rng(0))


def number_tables(real, synthetic):
    """Tables of number columns, without a way through files."""
    sides = [
        {name: np.asarray(values, np.float64) for name, values in side.items()}
        for side in (real, synthetic)
    ]
    rows = [Rows(len(next(iter(side.values()))), side, {}) for side in sides]
    columns = tuple(ComparedColumn(name, Sort.NUMBER) for name in real)
    return Tables(columns, rows[0], rows[1], None, ())


def moments(real, synthetic):
    found, constant = compare_moments(number_tables(real, synthetic), "rows")
    return {one.kind: one for one in found}, constant


def standard_error(result):
    """What the interval was made from: its upper end, for the lower one allows for chance."""
    assert result.value - result.low >= (result.high - result.value) * (1 - 1e-9)
    return (result.high - result.value) / Z


# --- marginals ------------------------------------------------------------------------------------


def domains(real, synthetic):
    """By column, all its cells; numbers have one more, for missing ones."""
    found = {}
    for name in real.column_names:
        both = [*real[name].to_pylist(), *synthetic[name].to_pylist()]
        values = {MISSING if value is None else value for value in both}
        is_number = not any(isinstance(value, str) and value != MISSING for value in values)
        found[name] = sorted(values | ({MISSING} if is_number else set()), key=str)
    return found


def counted(table, clique):
    columns = [table[name].to_pylist() for name in clique]
    return Counter(
        tuple(MISSING if cell is None else cell for cell in row)
        for row in zip(*columns, strict=True)
    )


def by_loops(real, synthetic, clique):
    """Total variation, KL divergence and what chance does to it, cell by cell."""
    cells = list(product(*(domains(real, synthetic)[name] for name in clique)))
    ours, theirs = counted(real, clique), counted(synthetic, clique)
    n, m = real.num_rows, synthetic.num_rows
    distance = divergence = floor = 0.0
    for cell in cells:
        p, q = ours[cell] / n, theirs[cell] / m
        distance += abs(p - q) / 2
        smooth_p = (ours[cell] + 1 / len(cells)) / (n + 1)
        smooth_q = (theirs[cell] + 1 / len(cells)) / (m + 1)
        divergence += smooth_p * log(smooth_p / smooth_q)
        # Both tables' rows of the cell, dealt out to them at random.
        k = np.arange(ours[cell] + theirs[cell] + 1)
        apart = np.abs(k / n - (k[-1] - k) / m)
        floor += hypergeom.pmf(k, n + m, k[-1], n) @ apart / 2
    return distance, divergence, floor


def untidy(rows, seed, *, shift=0.0):
    """The drawn table, with missing labels and numbers."""
    table = drawn(rows, seed, shift=shift)
    rng = np.random.default_rng(seed + 100)
    city = pa.array(table["city"].to_pylist(), mask=rng.random(rows) < 0.1)
    visits = pa.array(table["visits"].to_numpy(), mask=rng.random(rows) < 0.2)
    return table.set_column(0, "city", city).set_column(2, "visits", visits)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("make", [drawn, untidy])
def test_distances_and_divergences_equal_loops_over_dictionaries(order, make):
    real, synthetic = make(300, 1), make(170, 2, shift=0.1)
    found = judged(real, synthetic).marginals[order - 1]
    cliques = list(combinations(real.column_names, order))
    expected = {clique: by_loops(real, synthetic, clique) for clique in cliques}
    assert found.order == order
    assert found.compared == len(cliques)
    told = {clique: distance for clique, distance, _ in found.distances}
    assert told == pytest.approx({c: e[0] for c, e in expected.items()})
    means = np.mean(list(expected.values()), axis=0)
    assert found.distance.value == pytest.approx(means[0])
    assert found.divergence.value == pytest.approx(means[1])
    assert found.floor == pytest.approx(means[2], rel=0.02)
    worst = max(expected, key=lambda clique: expected[clique][0] - expected[clique][2])
    assert found.worst == worst
    assert found.worst_distance.value == pytest.approx(expected[worst][0])


def test_the_worst_pair_is_the_one_whose_link_was_lost():
    rng = np.random.default_rng(5)
    columns = {name: rng.integers(0, 3, 900) for name in "abcd"}
    real = {**columns, "d": columns["b"]}
    synthetic = {**columns, "d": rng.permutation(columns["b"])}
    as_labels = [
        pa.table({name: [f"v{k}" for k in codes] for name, codes in side.items()})
        for side in (real, synthetic)
    ]
    pairs = judged(*as_labels).marginals[1]
    assert pairs.worst == ("b", "d")
    assert pairs.distances[0][0] == ("b", "d")
    assert "(b, d)" in pairs.worst_distance.name
    # Two thirds of the rows of independent thirds lie off the diagonal.
    assert pairs.worst_distance.value == pytest.approx(2 / 3, abs=0.05)


def test_equal_tables_are_0_apart():
    table = untidy(200, 3)
    found = judged(table, table)
    for one in found.marginals:
        assert one.distance.value == 0
        assert one.divergence.value == pytest.approx(0, abs=1e-12)
        assert one.worst_distance.value == 0
        assert one.floor > 0
    for moment in found.moments:
        if moment.difference.value is not None:
            assert moment.difference.value == 0


def test_tables_with_nothing_in_common_are_1_apart():
    one, other = (pa.table({"a": [word] * 50, "b": [word] * 50}) for word in ("hot", "cold"))
    for marginals in judged(one, other).marginals:
        assert marginals.distance.value == 1
        assert marginals.distance.high <= 1


@pytest.mark.parametrize(
    ("ours", "theirs"), [([2, 1], [11, 10, 8, 7]), ([4], [12, 7, 5, 5, 4]), ([1], [1])]
)
def test_a_distance_of_1_is_not_a_hair_more(ours, theirs):
    # Shares such as 11/36 need not sum up to exactly 1.
    tables = [
        pa.table({"a": [f"{side}{k}" for k, count in enumerate(counts) for _ in range(count)]})
        for side, counts in (("our", ours), ("their", theirs))
    ]
    result = judged(*tables).marginals[0].distance
    assert 1 - 1e-12 < result.value == result.high <= 1
    assert 0 <= result.low <= result.value


@pytest.mark.statistical
@pytest.mark.parametrize("order", [1, 2, 3])
def test_two_samples_of_one_population_are_about_the_floor_apart(order):
    # Over 30 pairs of samples the mean distance varies by less than 6 %; 15 % is no chance.
    pairs = [judged(drawn(400, 2 * k), drawn(600, 2 * k + 1)) for k in range(30)]
    found = [pair.marginals[order - 1] for pair in pairs]
    distance = np.mean([one.distance.value for one in found])
    assert distance == pytest.approx(np.mean([one.floor for one in found]), rel=0.15)


def test_the_floor_falls_with_the_square_root_of_the_rows():
    floors = []
    for copies in (1, 4):
        tables = [pa.concat_tables([drawn(100, seed)] * copies) for seed in (1, 2)]
        floors.append(judged(*tables).marginals[1].floor)
    assert floors[0] == pytest.approx(2 * floors[1], rel=0.03)


def test_every_interval_holds_its_value_and_stays_within_the_range():
    for one in judged(untidy(60, 1), untidy(50, 2, shift=0.15)).marginals:
        for result in (one.distance, one.worst_distance):
            assert 0 <= result.low <= result.value <= result.high <= 1
        assert 0 <= one.divergence.low <= one.divergence.value <= one.divergence.high
        assert "60 real and 50 synthetic rows" in one.distance.read


def test_of_very_many_sets_a_random_choice_without_repeats_is_compared(monkeypatch):
    monkeypatch.setattr(fidelity, "MOST_SETS", dict.fromkeys(fidelity.ORDERS, 7))
    rng = np.random.default_rng(0)
    table = pa.table({f"c{k}": rng.choice(["a", "b"], 40) for k in range(6)})
    one, two, three = judged(table, table).marginals
    assert [one.compared, two.compared, three.compared] == [6, 7, 7]
    assert len({clique for clique, *_ in two.distances}) == 7
    assert "7 of 20 marginals" in three.distance.read
    assert "6 marginals of 1 column" in one.distance.read


# --- standard errors ------------------------------------------------------------------------------


@pytest.mark.statistical
def test_standard_errors_of_marginals_agree_with_a_bootstrap():
    tables = align(drawn(900, 1), drawn(700, 2, shift=0.15))
    rng = np.random.default_rng(4)
    stated = fidelity.judge(tables, rng).marginals

    def told(marginals):
        return [r.value for one in marginals for r in (one.distance, one.divergence)]

    resampled = []
    for _ in range(400):
        sides = [s.take(rng.integers(0, s.count, s.count)) for s in (tables.real, tables.synthetic)]
        again = Tables(tables.columns, sides[0], sides[1], None, ())
        resampled.append(told(fidelity.judge(again, rng).marginals))
    bootstrap = np.std(resampled, axis=0)
    errors = [standard_error(r) for one in stated for r in (one.distance, one.divergence)]
    np.testing.assert_allclose(errors, bootstrap, rtol=0.15)


def _numpy_moments(x, y):
    """A mean over columns or pairs, as `compare_moments` defines them; missing left out."""
    known = ~(np.isnan(x) | np.isnan(y))
    a, b = x[known], y[known]
    return {
        "mean": np.array([np.nanmean(x), np.nanmean(y)]),
        "variance": np.array([np.nanvar(x), np.nanvar(y)]),
        "covariance": np.array([np.mean(a * b) - a.mean() * b.mean()]),
        "correlation": np.array([np.corrcoef(a, b)[0, 1]]),
    }


@pytest.mark.statistical
def test_standard_errors_of_moments_agree_with_a_bootstrap():
    rng = np.random.default_rng(8)

    def pair(rows, link):
        x = rng.gamma(2.0, 1.0 + link, rows)
        y = link * x + rng.normal(size=rows)
        return [np.where(rng.random(rows) < 0.1, np.nan, column) for column in (x, y)]

    real, synthetic = pair(900, 0.9), pair(700, 0.3)
    stated, _ = moments(dict(zip("xy", real, strict=True)), dict(zip("xy", synthetic, strict=True)))
    # The real table's deviations are the unit of measurement, and so stay as they are.
    scale = [(np.nanmean(column), np.nanstd(column)) for column in real]
    sides = [
        np.array([(c - m) / s for c, (m, s) in zip(side, scale, strict=True)])
        for side in (real, synthetic)
    ]

    def differences(one, other):
        ours, theirs = _numpy_moments(*one), _numpy_moments(*other)
        return [np.mean(np.abs(ours[kind] - theirs[kind])) for kind in ours]

    np.testing.assert_allclose(
        [one.difference.value for one in stated.values()], differences(*sides)
    )
    resampled = [
        differences(*(side[:, rng.integers(0, side.shape[1], side.shape[1])] for side in sides))
        for _ in range(800)
    ]
    errors = [standard_error(one.difference) for one in stated.values()]
    np.testing.assert_allclose(errors, np.std(resampled, axis=0), rtol=0.15)


def test_row_weights_of_a_mean_give_its_textbook_error():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=50), rng.normal(size=80)
    weights = RowWeights.none(50, 80)
    weights.add(RowWeights(x, -y))
    weights.add(RowWeights(x, -y))
    textbook = sqrt(x.var() / 50 + y.var() / 80)
    # The same difference twice is as sure as once: the two do not vary apart.
    assert weights.error(2) == pytest.approx(textbook)


# --- moments --------------------------------------------------------------------------------------


def test_moments_equal_those_of_numpy_and_pandas_with_missing_numbers():
    rng = np.random.default_rng(2)

    def frame(rows, link):
        x = rng.normal(50, 9, rows)
        made = pd.DataFrame({"x": x, "y": link * x + rng.normal(size=rows), "z": rng.random(rows)})
        return made.mask(rng.random(made.shape) < 0.15)

    real, synthetic = frame(200, 0.2), frame(150, -0.1)
    found, constant = moments(dict(real.items()), dict(synthetic.items()))
    assert constant == []
    spread = real.std(ddof=0)
    means = ((real.mean() - synthetic.mean()).abs() / spread).to_dict()
    variances = ((real.var(ddof=0) - synthetic.var(ddof=0)).abs() / spread**2).to_dict()
    pairs = list(combinations(real.columns, 2))

    def covariance(table, pair):
        both = table[list(pair)].dropna()
        return np.cov(both.to_numpy().T, ddof=0)[0, 1]

    covariances = {
        (a, b): abs(covariance(real, (a, b)) - covariance(synthetic, (a, b)))
        / (spread[a] * spread[b])
        for a, b in pairs
    }
    correlations = {
        (a, b): abs(real.corr().loc[a, b] - synthetic.corr().loc[a, b]) for a, b in pairs
    }
    for kind, expected in (
        ("mean", {(name,): value for name, value in means.items()}),
        ("variance", {(name,): value for name, value in variances.items()}),
        ("covariance", covariances),
        ("correlation", correlations),
    ):
        worst = max(expected, key=expected.get)
        assert found[kind].difference.value == pytest.approx(np.mean(list(expected.values())))
        assert found[kind].worst == worst, kind
        assert found[kind].worst_difference.value == pytest.approx(expected[worst])


def test_moments_do_not_depend_on_the_unit():
    rng = np.random.default_rng(3)
    real, synthetic = rng.normal(size=(2, 80)), rng.gamma(2, 1, size=(2, 60))
    plain, _ = moments(dict(zip("xy", real, strict=True)), dict(zip("xy", synthetic, strict=True)))
    other, _ = moments(
        {"x": real[0] * 1e6 + 5, "y": real[1] / 1000},
        {"x": synthetic[0] * 1e6 + 5, "y": synthetic[1] / 1000},
    )
    for kind, one in plain.items():
        assert other[kind].difference.value == pytest.approx(one.difference.value)
        assert other[kind].difference.high == pytest.approx(one.difference.high)


@pytest.mark.parametrize("value", [0.0, 7.0, 0.1, 1e6 / 3])
def test_a_constant_column_has_no_moments_and_is_named(value):
    # Of thirty times 0.1 the mean is not exactly 0.1, and rounding is no spread.
    x = np.linspace(0, 1, 30)
    found, constant = moments({"x": x, "c": [value] * 30}, {"x": x, "c": x + value})
    assert constant == ["c"]
    assert found["mean"].worst == ("x",)
    assert found["mean"].difference.value == 0
    assert found["covariance"].difference.value is None
    assert found["covariance"].difference.note


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_a_synthetic_column_that_went_constant_has_correlation_0(value):
    x = np.linspace(0, 1, 40)
    found, constant = moments({"x": x, "y": x}, {"x": x, "y": [value] * 40})
    assert constant == []
    assert found["correlation"].difference.value == pytest.approx(1)
    assert found["variance"].difference.value == pytest.approx(0.5)


def test_columns_that_are_never_there_together_have_no_link():
    x = np.array([1.0, 2.0, np.nan, np.nan])
    found, _ = moments({"x": x, "y": x[::-1]}, {"x": [1.0, 2.0], "y": [1.0, 2.0]})
    assert found["correlation"].difference.value == pytest.approx(1)


def test_far_too_large_synthetic_numbers_keep_intervals_finite():
    found, _ = moments({"x": [1.0, 2.0, 3.0, 4.0]}, {"x": [1e100, -1e100, 2.0, 3.0]})
    for kind in ("mean", "variance"):
        assert np.isfinite(found[kind].difference.value)
        assert np.isfinite(found[kind].difference.high)


# --- edges ----------------------------------------------------------------------------------------


def test_a_single_column_has_marginals_of_one_column_only():
    found = judged(pa.table({"x": [1.5, 2.5] * 10}), pa.table({"x": [1.5, 2.5, 3.5, 1.5]}))
    assert [one.order for one in found.marginals] == [1]
    kinds = {one.kind: one.difference.value for one in found.moments}
    assert kinds["mean"] is not None
    assert kinds["correlation"] is None


def test_without_numbers_moments_say_why_there_are_none():
    table = pa.table({"a": ["x", "y"] * 10, "b": ["u", "v"] * 10})
    found = judged(table, table)
    assert [one.order for one in found.marginals] == [1, 2]
    assert found.notes == ()
    for moment in found.moments:
        assert moment.difference.value is None
        assert "numbers" in moment.difference.note
        assert moment.worst == ()


@pytest.mark.parametrize("empty", ["real", "synthetic", "both"])
def test_without_rows_there_are_no_distances(empty):
    table = drawn(30, 1)
    none = table.slice(0, 0)
    real = none if empty != "synthetic" else table
    synthetic = none if empty != "real" else table
    found = judged(real, synthetic)
    assert found.marginals == ()
    assert all(one.difference.value is None for one in found.moments)


def test_notes_say_that_numbers_were_cut_and_which_columns_are_constant():
    table = drawn(50, 1).append_column("one", pa.array([1.0] * 50))
    notes = " ".join(judged(table, table).notes)
    assert "quantiles" in notes
    assert "Constant, or never there, and so without moments: one." in notes


# --- cells ----------------------------------------------------------------------------------------


def number_cells(real, other):
    tables = number_tables({"x": real}, {"x": other})
    cells = Cells.of(tables)
    return cells.sizes["x"], cells.codes(tables.real)["x"], cells.codes(tables.synthetic)["x"]


def test_few_numbers_have_a_cell_each_and_missing_ones_the_last():
    values = [3.0, 1.0, np.nan, 2.0, 1.0]
    size, codes, _ = number_cells(values, values)
    assert size == 4
    assert codes.tolist() == [2, 0, 3, 1, 0]


@pytest.mark.parametrize(
    ("atom", "others"),
    [
        pytest.param(0.0, np.arange(1, 61), id="smallest, 40 %"),
        pytest.param(30.5, np.arange(1, 61), id="middle, 40 %"),
        pytest.param(99.0, np.arange(1, 61), id="largest, 40 %"),
        pytest.param(0.0, np.arange(1, 361), id="smallest, 10 %, more than a bin"),
        pytest.param(999.0, np.arange(1, 361), id="largest, 10 %, more than a bin"),
    ],
)
def test_a_value_that_fills_a_quantile_has_a_cell_of_its_own(atom, others):
    real = np.concatenate([np.full(40, atom), others])
    _, codes, _ = number_cells(real, real)
    inside = set(codes[:40].tolist())
    assert len(inside) == 1
    assert inside.isdisjoint(codes[40:].tolist())


def test_many_numbers_are_cut_into_bins_of_about_equal_count():
    real = np.random.default_rng(0).normal(size=1600)
    size, codes, _ = number_cells(real, real)
    counts = np.bincount(codes, minlength=size)
    assert size == BINS + 1
    assert counts[-1] == 0
    assert np.abs(counts[:-1] - 100).max() <= 1


def test_values_outside_the_real_range_join_the_end_cells():
    real = np.random.default_rng(0).normal(size=400)
    outside = [-1e100, real.min(), real.max(), 1e100]
    size, codes, other = number_cells(real, outside)
    assert other.tolist() == [0, 0, size - 2, size - 2]
    assert codes.max() == size - 2


def test_labels_beyond_the_most_common_share_the_last_cell():
    words = [f"w{k:03d}" for k in range(90)]
    table = pa.table({"w": [word for k, word in enumerate(words) for _ in range(91 - k)]})
    tables = align(table, table)
    codes = Cells.of(tables).codes(tables.real)["w"]
    assert Cells.of(tables).sizes["w"] == MOST_CELLS
    by_word = dict(zip(table["w"].to_pylist(), codes.tolist(), strict=True))
    assert [by_word[word] for word in words[:63]] == list(range(63))
    assert {by_word[word] for word in words[63:]} == {63}


NUMBERS = st.lists(
    st.one_of(
        st.floats(-1e100, 1e100, allow_nan=False),
        st.sampled_from([0.0, -0.0, 1.0, float("nan")]),
    ),
    max_size=60,
)


@settings(max_examples=25)
@given(NUMBERS, NUMBERS)
def test_codes_lie_within_sizes_and_keep_the_order_of_numbers(real, other):
    size, codes, others = number_cells(real, other)
    numbers, found = np.array(real + other), np.concatenate([codes, others])
    assert np.all((found >= 0) & (found < size))
    missing = np.isnan(numbers)
    assert np.all(found[missing] == size - 1)
    assert np.all(found[~missing] < size - 1)
    order = np.argsort(numbers[~missing], kind="stable")
    assert np.all(np.diff(found[~missing][order]) >= 0)


@settings(max_examples=20)
@given(st.lists(st.tuples(*(st.integers(0, k) for k in (2, 3, 1))), max_size=30))
def test_places_and_joint_tell_rows_apart_exactly_where_they_differ(rows):
    codes = {name: np.array([row[k] for row in rows], np.int32) for k, name in enumerate("abc")}
    place = places(("a", "b", "c"), codes, (3, 4, 2))
    key = joint(codes, ["a", "b", "c"])
    for i, j in combinations(range(len(rows)), 2):
        assert (rows[i] == rows[j]) == (place[i] == place[j]) == (key[i] == key[j])
    assert set(key.tolist()) == set(range(len(set(rows))))
    assert np.all(place < 24)
    np.testing.assert_array_equal(place, [row[0] * 8 + row[1] * 2 + row[2] for row in rows])
    assert not joint(codes, []).any()


@pytest.mark.parametrize("seed", range(3))
def test_a_larger_marginal_never_diverges_less(seed):
    # One more row, spread over all cells, is the same row in every marginal of them.
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, 300))
    real = pa.table({"a": x[0], "b": x[0] + x[1] / 9, "c": x[0] - x[1] / 9})
    synthetic = pa.table({name: rng.normal(size=200) for name in "abc"})
    one, two, three = (m.divergence.value for m in judged(real, synthetic).marginals)
    assert one < two < three


@pytest.mark.statistical
def test_intervals_of_two_samples_of_one_population_hold_0():
    covered = []
    for k in range(25):
        rng = np.random.default_rng([9, k])
        tables = [pa.table({n: rng.normal(size=r) for n in "abcd"}) for r in (300, 400)]
        found = judged(*tables)
        told = [r for m in found.marginals for r in (m.distance, m.divergence)]
        covered.append([r.low < 1e-3 + 0.02 * r.value for r in told])
        covered[-1] += [m.difference.low <= 0 for m in found.moments]
    assert np.mean(covered, axis=0).min() >= 0.8


def test_the_worst_pair_is_the_one_that_is_wrong_and_not_the_one_with_the_most_cells():
    rng = np.random.default_rng(6)

    def table(link):
        a = rng.integers(0, 2, 600)
        many = {f"many{k}": [f"v{v}" for v in rng.integers(0, 50, 600)] for k in range(2)}
        return pa.table({"a": a, "b": np.where(rng.random(600) < link, a, 1 - a), **many})

    pairs = judged(table(0.95), table(0.5)).marginals[1]
    assert pairs.worst == ("a", "b")
    assert max(pairs.distances, key=lambda one: one[1])[0] == ("many0", "many1")
