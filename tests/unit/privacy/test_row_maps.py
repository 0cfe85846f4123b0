"""No row adds more to a sum than its map's sensitivity says, whatever rows lie beside it.

Small domains are searched whole: all records, all pairs and all handfuls of them, in exact whole
numbers. The proofs are in docs/proofs/row_maps.md.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.tables import numbered
from understudy.column import Column, Kind, Role
from understudy.domain import Domain
from understudy.errors import BadInput, UnknownColumn
from understudy.privacy import whole
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.model_maps import ModelCells, ModelMerit
from understudy.privacy.noise import SeededForTests
from understudy.privacy.row_maps import (
    ROWS_AT_ONCE,
    ClippedMoments,
    InducingFeatures,
    NormalScores,
    ScoreCells,
    in_parts,
)
from understudy.privacy.train import Loss, Training
from understudy.privacy.unit import Person, Record, Replacement, Sensitivity
from understudy.privacy.weights import UNIT, RowWeights, ScoreTable
from understudy.schema import Schema

TIGHT = Fraction(9, 10)


def all_records(row_map, sizes):
    """Every combination of codes, as a block of rows."""
    every = np.array(list(itertools.product(*(range(sizes[name]) for name in row_map.columns))))
    return {name: every[:, k].astype(np.uint16) for k, name in enumerate(row_map.columns)}


def rows_of(codes, places):
    return {name: column[places] for name, column in codes.items()}


def count(codes):
    return len(next(iter(codes.values())))


def shares(row_map, codes):
    """What each row adds by itself, in whole steps; as unbounded integers."""
    alone = [row_map.total(rows_of(codes, [k]), np.ones(1)) for k in range(count(codes))]
    assert all(share.dtype == np.int64 and len(share) == row_map.width for share in alone)
    return np.array(alone).astype(object)


def furthest(row_map, codes):
    """The largest squared norm of one record, and distance of two, over all of them."""
    each = shares(row_map, codes)
    norms = (each**2).sum(axis=1)
    products = each @ each.T
    return max(norms), (norms[:, None] + norms - 2 * products).max()


def handful(row_map, codes, most):
    """The largest squared norm of what up to `most` records add together."""
    each = shares(row_map, codes)
    sets = itertools.chain.from_iterable(
        itertools.combinations_with_replacement(range(len(each)), k) for k in range(1, most + 1)
    )
    return max((each[list(rows)].sum(axis=0) ** 2).sum() for rows in sets)


def moments(*tables, bound=2.0, by=None, classes=1):
    return ClippedMoments(
        {f"x{k}": table for k, table in enumerate(tables)}, bound, by=by, classes=classes
    )


def scores(*tables, radius=1.0):
    return NormalScores({f"x{k}": table for k, table in enumerate(tables)}, radius)


def features(columns, target=(-1.0, 1.0, 0.0), **facts):
    """A map whose features of the row with code k are the k-th of these columns.

    Codes lie so far apart that the kernel of a row sees its own point alone; the whitening matrix
    then says what its features are. Points without a column of their own are out of sight.
    """
    count, width = len(columns), len(columns[0])
    points = 10.0 * np.arange(max(count, width))[:, None]
    whitening = np.zeros((len(points), len(points)))
    whitening[:width, :count] = np.transpose(columns)
    made = {
        "places": {"x": 10.0 * np.arange(count)},
        "points": points,
        "whitening": whitening,
        "profile": [1.0, 0.0],
        "profile_step": 1.0,
        "target_column": "y",
        "target": target,
    }
    return InducingFeatures(**(made | facts))


def told(seed=0, classes=2, hidden=0, loss=Loss.LOGISTIC, size=3):
    """A training run over three columns, and layers of its model."""
    rng = np.random.default_rng(seed)
    inputs = {f"x{k}": rng.normal(size=(size, 1 + k)) for k in range(3)}
    target = [*(np.arange(size - 1) % classes), np.nan]
    if loss is Loss.SQUARED:
        target = rng.normal(size=size)
    task = Training(inputs, "y", target, rows=100.0, hidden=hidden, loss=loss)
    return task, [3 * rng.normal(size=shape) for shape in task.shapes]


def sizes_of(row_map, **more):
    def of_task():
        return {**row_map.task.inputs, "y": row_map.task.target}

    tables = {
        ScoreCells: lambda: {one.columns[0]: one.scores for one in row_map.tables},
        ModelCells: of_task,
        ModelMerit: of_task,
        ClippedMoments: lambda: row_map.values,
        NormalScores: lambda: row_map.scores,
        InducingFeatures: lambda: {**row_map.places, row_map.target_column: row_map.target},
    }[type(row_map)]()
    return {name: len(table) for name, table in tables.items()} | more


HALF = math.sqrt(0.5)
ODD = [-3.0, -0.7, 0.0, 0.4, 1.999, 5.0]
# What is tight: one record, a swap, or both.
MOMENTS = {
    "one column": (moments([-2.0, 0.3, 2.0]), {}, "one swap"),
    "beyond the bound": (moments([-9.0, 0.0, 1e300], [7.0, -7.0]), {}, "one swap"),
    # Values of one sign lie closer together than to zero; a swap is then never below one row.
    "lopsided": (moments([0.5, 1.0, 2.0], [-2.0, -1.0]), {}, "one"),
    "odd tables": (moments(ODD, [1.1, -0.2]), {}, "one swap"),
    "by class": (moments([-2.0, 0.3, 2.0], ODD, by="c", classes=3), {"c": 3}, "one swap"),
    "by class, one sign": (moments([0.0, 2.0], by="c", classes=2), {"c": 2}, "one swap"),
    "a constant": (moments([1.5, 1.5]), {}, "one"),
    "zero": (moments([0.0, 0.0]), {}, "one swap"),
    "one class": (moments([1.0, 2.0], by="c", classes=1), {"c": 1}, "one"),
}
NORMAL = {
    "two, along the diagonals": (scores([1.0, -1.0, 0.2], [1.0, -1.0]), {}, "one swap"),
    "two, far outside": (scores([90.0, -90.0], [1e300, -5.0]), {}, "one swap"),
    "three, equal": (scores([1.0, -1.0], [1.0, -1.0], [1.0, -1.0]), {}, "one"),
    "three, two of them": (scores([1.0, -1.0, 0.0], [HALF, -HALF], [0.0, 0.5]), {}, "swap"),
    "five, equal": (scores(*[[2.0, -2.0, 0.3]] * 5, radius=1.5), {}, "one"),
    "five, small": (scores(*[[0.1, -0.1]] * 5), {}, ""),
}
ANGLE = [[1.0, 0.0], [0.5, math.sqrt(0.75)]]  # φ·φ' = 1/2
INDUCING = {
    "at sixty degrees": (features(ANGLE), {}, "one swap"),
    "longer than one": (features([[7.0, 0.0], [4.0, 4 * math.sqrt(3)]]), {}, "one swap"),
    "one feature": (features([[1.0], [-0.5]]), {}, "one"),
    "three features": (
        features([[0.6, 0.0, 0.8], [-0.3, 0.9, 0.3], [0.0, 0.0, 0.0]], (-5.0, 0.2, 8.0)),
        {},
        "one",
    ),
    "spread out": (features([[0.25] * 16, [0.25, -0.25] * 8]), {}, "one"),
    "nothing": (features([[0.0], [0.0]], (0.0, 0.0)), {}, ""),
}
CELLS = {
    "scores": (
        ScoreCells(
            (ScoreTable(("x",), (3,), (0, 5, 9)), ScoreTable(("y",), (2,), (-2, 1))), (1, 6)
        ),
        {},
        "one swap",
    ),
    "one range": (ModelCells(*told()), {}, "one swap"),
    "ranges": (ModelCells(*told(1), edges=(0.5, 1.0, 4.0)), {}, "one swap"),
    "three classes": (ModelCells(*told(2, classes=3), edges=(1.0,)), {}, "one swap"),
    "a hidden layer": (ModelCells(*told(3, hidden=4), edges=(0.1,)), {}, "one swap"),
    "support vectors": (ModelCells(*told(4, loss=Loss.HINGE), edges=(1.0,)), {}, "one swap"),
}
MERITS = {
    f"merit of {loss}, {classes} classes, {hidden} hidden": (
        ModelMerit(*told(5, classes=classes, hidden=hidden, loss=loss)),
        {},
        "" if loss is Loss.SQUARED else "one swap",
    )
    for loss in Loss
    for classes in (2, 3)
    for hidden in (0, 4)
}
CASES = MOMENTS | NORMAL | INDUCING | CELLS | MERITS


@pytest.mark.parametrize("case", CASES)
def test_all_records_and_all_pairs_stay_within_the_sensitivity(case):
    row_map, more, tight = CASES[case]
    sizes = sizes_of(row_map, **more)
    row_map.check(Domain.of(sizes))
    one, swap = furthest(row_map, all_records(row_map, sizes))
    computed = row_map.sensitivity
    assert one <= Record().squared(computed)
    assert swap <= Replacement().squared(computed)
    if "one" in tight:
        # Squared: a tenth of the norm is a fifth of this.
        assert one >= TIGHT**2 * computed.one
    if "swap" in tight:
        assert swap >= TIGHT**2 * computed.swap


@pytest.mark.parametrize("case", CASES)
def test_a_persons_rows_stay_within_the_sensitivity(case):
    row_map, more, tight = CASES[case]
    sizes = sizes_of(row_map, **more)
    codes = all_records(row_map, sizes)
    some = rows_of(codes, np.linspace(0, count(codes) - 1, min(12, count(codes))).astype(int))
    computed = row_map.sensitivity
    one, _ = furthest(row_map, codes)
    for k in (1, 2, 3):
        bound = Person("who", k).squared(computed)
        assert handful(row_map, some, k) <= bound
        # Equal rows are the worst: k of them add k times as much.
        longest = int(np.argmax((shares(row_map, codes) ** 2).sum(axis=1)))
        together = row_map.total(rows_of(codes, [longest] * k), np.ones(k)).astype(object)
        assert (together**2).sum() == k**2 * one <= bound
        if "one" in tight:
            assert k**2 * one >= TIGHT**2 * bound


@pytest.mark.parametrize("case", MOMENTS)
def test_the_sensitivity_of_moments_is_exactly_what_their_tables_allow(case):
    row_map, more, tight = MOMENTS[case]
    one, swap = furthest(row_map, all_records(row_map, sizes_of(row_map, **more)))
    assert one == row_map.sensitivity.one
    if "swap" in tight:
        assert swap == row_map.sensitivity.swap


def test_known_sensitivities():
    unit = 4**12
    full = moments([-2.0, 2.0]).sensitivity
    # (1, 1) has the squared norm 2; (1, 1) and (-1, 1) lie 2 apart.
    assert full == Sensitivity(Fraction(2 * unit**2), Fraction(4 * unit**2))
    assert moments([0.0, 2.0], by="c", classes=2).sensitivity.swap == 4 * unit**2
    for d in (2, 3, 5):
        made = scores(*[[0.0]] * d)
        assert made.sensitivity.one == Fraction(unit**2) * Fraction(d - 1, 2 * d)
        assert made.sensitivity.swap == unit**2
    made = features(ANGLE)
    assert made.sensitivity.one == 3 * made.unit_length**2
    assert made.sensitivity.swap == Fraction(9, 2) * made.unit_length**2


def test_the_factor_before_off_diagonal_numbers_is_just_below_the_root_of_two():
    # Above it, a row would add more than its features' norm; far below, precision is lost.
    low, high = InducingFeatures.OFF_DIAGONAL, InducingFeatures.OFF_DIAGONAL + 1
    assert low**2 < 2 * InducingFeatures.DIAGONAL**2 < high**2


def climb(make, draw, seed, rounds=120):
    """Random steps through parameters, each kept if rows then lie further apart.

    The two bounds are climbed in turn; returned are the best shares of each.
    """
    best = []
    for part in (0, 1):
        rng = np.random.default_rng(seed + part)
        here = draw(rng)
        far = Fraction(0)
        for k in range(rounds):
            pace = rng.choice([0.02, 0.2, 1.0])
            there = draw(rng) if k < 10 else here + pace * rng.normal(size=here.shape)
            row_map = make(there)
            codes = all_records(row_map, sizes_of(row_map))
            found, computed = furthest(row_map, codes), row_map.sensitivity
            assert found[0] <= computed.one
            assert found[1] <= computed.swap
            reached = Fraction(int(found[part])) / (computed.one, computed.swap)[part]
            if reached >= far:
                here, far = there, reached
        best.append(math.sqrt(far))
    return best


def test_climbing_finds_no_moments_beyond_the_sensitivity():
    one, swap = climb(lambda t: moments(*t, bound=1.0), lambda rng: rng.normal(size=(2, 4)), 1)
    assert one >= 0.9
    assert swap >= 0.9


@pytest.mark.parametrize("d", [2, 3, 5])
def test_climbing_finds_no_scores_beyond_the_sensitivity(d):
    one, swap = climb(lambda t: scores(*t), lambda rng: rng.normal(size=(d, 2)), d)
    assert one >= 0.9
    assert swap >= 0.9


def test_climbing_finds_no_features_beyond_the_sensitivity():
    def make(numbers):
        # A true kernel: every row sees every point.
        return InducingFeatures(
            places={"x": numbers[0]},
            points=numbers[1][:, None],
            whitening=2 * numbers[2:5],
            profile=np.exp(-np.arange(60) / 4),
            profile_step=0.25,
            target_column="y",
            target=numbers[5],
        )

    one, swap = climb(make, lambda rng: rng.normal(size=(6, 3)), 3)
    assert one >= 0.9
    assert swap >= 0.9


def test_climbing_finds_no_features_with_several_targets_beyond_the_sensitivity():
    def make(numbers):
        return InducingFeatures(
            places={"x": numbers[0]},
            points=numbers[1][:, None],
            whitening=2 * numbers[2:5],
            profile=np.exp(-np.arange(60) / 4),
            profile_step=0.25,
            target_column="y",
            target=numbers[5:8],
        )

    one, swap = climb(make, lambda rng: rng.normal(size=(8, 3)), 3)
    assert one >= 0.9
    assert swap >= 0.9


def blocks(row_map, sizes, rows, seed=0):
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, sizes[name], rows).astype(np.uint8) for name in row_map.columns}
    return codes, rng.integers(0, UNIT + 1, rows).astype(np.float64)


def wide_maps():
    """One map of each kind, with awkward numbers and enough columns for a matrix product."""
    rng = np.random.default_rng(11)
    tables = rng.normal(size=(12, 40))
    yield moments(*tables[:4], by="c", classes=3, bound=1.3), {"c": 3}
    yield scores(*tables, radius=2.7), {}
    yield (
        InducingFeatures(
            places={f"x{k}": table for k, table in enumerate(tables[:5])},
            points=rng.normal(size=(17, 5)),
            whitening=rng.normal(size=(17, 17)),
            profile=np.exp(-np.arange(50) / 9),
            profile_step=0.4,
            target_column="y",
            target=np.clip(rng.normal(size=40), -2, 2),
        ),
        {},
    )
    yield (
        InducingFeatures(
            places={"x0": tables[0], "x1": tables[1:4].T, "x2": tables[4]},
            points=rng.normal(size=(9, 5)),
            whitening=rng.normal(size=(9, 9)),
            profile=np.exp(-np.arange(50) / 9),
            profile_step=0.4,
            target_column="y",
            target=np.where(np.arange(40)[:, None] % 7, tables[5:8].T, np.nan),
        ),
        {},
    )
    yield ModelCells(*told(6, 3, hidden=7, size=40), edges=(0.3, 0.9, 2.0)), {}
    yield ModelMerit(*told(7, 3, hidden=7, size=40)), {}


@pytest.mark.parametrize("k", range(6))
def test_the_sum_does_not_depend_on_the_order_of_rows_nor_on_how_they_are_cut(k):
    row_map, more = list(wide_maps())[k]
    codes, weights = blocks(row_map, sizes_of(row_map, **more), 3000)
    total = row_map.total(codes, weights)
    assert np.abs(total).max() > 0
    rng = np.random.default_rng(1)
    order = rng.permutation(3000)
    np.testing.assert_array_equal(total, row_map.total(rows_of(codes, order), weights[order]))
    for cuts in ([1], [1500], sorted(rng.integers(0, 3000, 40)), range(0, 3000, 7)):
        parts = np.split(np.arange(3000), list(cuts))
        added = sum(row_map.total(rows_of(codes, part), weights[part]) for part in parts)
        np.testing.assert_array_equal(total, added)


@pytest.mark.parametrize("k", range(6))
def test_a_row_adds_the_same_whatever_rows_lie_beside_it(k):
    row_map, more = list(wide_maps())[k]
    sizes = sizes_of(row_map, **more)
    codes, _ = blocks(row_map, sizes, 40, seed=2)
    each = shares(row_map, codes)
    beside, weights = blocks(row_map, sizes, 500, seed=3)
    without = row_map.total(beside, weights)
    for row in range(40):
        for place in (0, 1, 250, 500):
            both = {
                name: np.insert(beside[name], place, codes[name][row]) for name in row_map.columns
            }
            added = row_map.total(both, np.insert(weights, place, 1.0)) - without
            np.testing.assert_array_equal(added, each[row])


@pytest.mark.parametrize("k", range(6))
def test_a_weight_counts_a_row_so_many_times(k):
    row_map, more = list(wide_maps())[k]
    codes, weights = blocks(row_map, sizes_of(row_map, **more), 60)
    each = shares(row_map, codes)
    exact = (each * weights.astype(np.int64).astype(object)[:, None]).sum(axis=0)
    np.testing.assert_array_equal(row_map.total(codes, weights).astype(object), exact)


def test_the_largest_shares_of_all_rows_at_once_add_up_exactly():
    full = np.full(ROWS_AT_ONCE, float(UNIT))
    for row_map, more in [
        (moments([2.0, -2.0], by="c", classes=2), {"c": 2}),
        (scores([1.0, -1.0], [1.0, -0.999]), {}),
        (features(ANGLE), {}),
        (features([[0.51, 0.57, 0.6446]], (1.0, -0.998)), {}),
    ]:
        codes = all_records(row_map, sizes_of(row_map, **more))
        each = shares(row_map, codes)
        rng = np.random.default_rng(0)
        for places in (np.zeros(ROWS_AT_ONCE, int), rng.integers(0, count(codes), ROWS_AT_ONCE)):
            times = np.bincount(places, minlength=count(codes)).astype(object)
            exact = (each * times[:, None]).sum(axis=0) * UNIT
            total = row_map.total(rows_of(codes, places), full)
            np.testing.assert_array_equal(total.astype(object), exact)


def test_blocks_are_cut_into_parts_that_hold_every_row_once():
    for rows in (0, 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 3 * ROWS_AT_ONCE - 1):
        codes = {"x": np.arange(rows, dtype=np.uint32), "y": np.zeros(rows, np.uint8)}
        parts = list(in_parts(codes, np.arange(rows, dtype=np.float64)))
        assert all(len(w) <= ROWS_AT_ONCE and len(c["y"]) == len(w) for c, w in parts)
        for k in (0, 1):
            numbers = [part[0]["x"] if k else part[1] for part in parts]
            np.testing.assert_array_equal(np.concatenate([[], *numbers]), np.arange(rows))


def in_units(row_map, total):
    return total / row_map.unit_length / UNIT


def test_moments_are_those_of_the_values():
    rng = np.random.default_rng(4)
    tables = rng.normal(size=(3, 20))
    row_map = moments(*tables, bound=1.5, by="c", classes=4)
    codes, weights = blocks(row_map, sizes_of(row_map, c=4), 2000)
    found = in_units(row_map, row_map.total(codes, weights)).reshape(row_map.shape)
    plain = np.zeros((4, 2, 3))
    for k in range(3):
        x = np.clip(tables[k], -1.5, 1.5)[codes[f"x{k}"]] / 1.5
        for c in range(4):
            here = codes["c"] == c
            plain[c, :, k] = (weights * here) @ np.stack([x, x * x], axis=1) / UNIT
    # Each of about 500 rows is off by half a step of 2⁻¹² in x and a whole one in x², to either
    # side: 0.12 together at worst, 0.006 as it comes.
    np.testing.assert_allclose(found, plain, atol=0.03)
    assert np.abs(plain).max() > 50


@pytest.mark.parametrize("radius", [0.8, 3.0, 10.0])
def test_normal_scores_are_the_products_of_the_scores(radius):
    rng = np.random.default_rng(5)
    tables = rng.normal(size=(4, 20))
    row_map = scores(*tables, radius=radius)
    codes, weights = blocks(row_map, sizes_of(row_map), 2000)
    found = in_units(row_map, row_map.total(codes, weights))
    z = np.stack([tables[k][codes[f"x{k}"]] for k in range(4)], axis=1) / radius
    norms = np.linalg.norm(z, axis=1, keepdims=True)
    if radius < 1:
        assert (norms > 1).mean() > 0.5  # so that many rows are shortened
    z /= np.maximum(norms, 1)
    plain = (z.T @ (z * weights[:, None]) / UNIT)[np.triu_indices(4, 1)]
    # Each score is off by up to a step of 2⁻¹², to either side: 1 together at worst, 0.013 as
    # it comes.
    np.testing.assert_allclose(found, plain, atol=0.04)
    assert np.abs(plain).max() > 0.9


def plain_features(row_map, codes):
    """φ by the definition, in plain arithmetic."""
    place = np.stack([np.asarray(t)[codes[name]] for name, t in row_map.places.items()], axis=1)
    apart = place[:, None, :] - np.asarray(row_map.points)[None]
    squared = (apart**2).sum(axis=2)
    profile = np.append(row_map.profile, 0.0)
    grid = np.arange(len(profile)) * row_map.profile_step
    phi = np.interp(squared, grid, profile, right=0.0) @ np.asarray(row_map.whitening).T
    return phi / np.maximum(np.linalg.norm(phi, axis=1, keepdims=True), 1)


@pytest.mark.parametrize("stretch", [0.1, 3.0])
def test_inducing_features_are_those_of_the_kernel(stretch):
    rng = np.random.default_rng(6)
    m = 6
    row_map = InducingFeatures(
        places={"u": rng.normal(size=15), "v": rng.normal(size=9)},
        points=rng.normal(size=(m, 2)),
        whitening=stretch * rng.normal(size=(m, m)),
        profile=np.exp(-np.arange(40) / 8),
        profile_step=0.125,
        target_column="y",
        target=np.linspace(-1.3, 1.2, 7),
    )
    sizes = sizes_of(row_map)
    row_map.check(Domain.of(sizes))
    codes, weights = blocks(row_map, sizes, 1500)
    found = in_units(row_map, row_map.total(codes, weights))
    phi = plain_features(row_map, codes)
    assert ((np.linalg.norm(phi, axis=1) > 1 - 1e-9).mean() > 0.5) == (stretch > 1)
    y = np.clip(row_map.target, -1, 1)[codes["y"]]
    upper = np.triu_indices(m)
    gram = (phi.T @ (phi * weights[:, None]))[upper] * np.where(upper[0] == upper[1], 1, 41 / 29)
    plain = np.concatenate([gram, phi.T @ (weights * y), [weights @ y**2]]) / UNIT
    # Whitening and places are rounded to 2⁻¹⁰, features to 2⁻¹¹: off by 0.2 of 400 at most.
    np.testing.assert_allclose(found, plain, atol=0.5)
    assert np.abs(plain).max() > 300


def test_several_coordinates_and_targets_are_as_many_columns_would_be():
    rng = np.random.default_rng(2)
    shared = {
        "points": rng.normal(size=(4, 3)),
        "whitening": rng.normal(size=(4, 4)),
        "profile": np.exp(-np.arange(40) / 8),
        "profile_step": 0.125,
        "target_column": "y",
    }
    place, target = rng.normal(size=(6, 3)), 0.2 * rng.normal(size=(5, 2))
    together = InducingFeatures({"x": place}, target=target, **shared)
    codes = all_records(together, {"x": 6, "y": 5})
    weights = np.full(len(codes["x"]), float(UNIT))
    found = together.total(codes, weights)
    assert len(found) == together.width == 10 + 8 + 1
    apart = {f"x{k}": place[:, k] for k in range(3)}
    same = {f"x{k}": codes["x"] for k in range(3)} | {"y": codes["y"]}
    both = [InducingFeatures(apart, target=one, **shared).total(same, weights) for one in target.T]
    np.testing.assert_array_equal(found[:10], both[0][:10])
    np.testing.assert_array_equal(
        found[10:18].reshape(4, 2), np.transpose([b[10:14] for b in both])
    )
    assert found[18] == sum(b[14] for b in both)


def test_rows_without_a_target_add_nothing():
    row_map = InducingFeatures(**POINTS | {"target": [np.nan, 1.0]})
    row_map.check(Domain.of({"u": 2, "v": 3, "y": 2}))
    codes = all_records(row_map, {"u": 2, "v": 3, "y": 2})
    added = shares(row_map, codes)
    assert not added[codes["y"] == 0].any()
    assert added[codes["y"] == 1].any(axis=1).all()


def test_the_kernel_is_nothing_beyond_its_profile():
    places = [0.0, 1.0, 1.4, 2.0, 3.0, 100.0]
    row_map = InducingFeatures({"x": places}, [[0.0]], [[1.0]], [1.0, 0.5], 1.0, "y", [1.0])
    codes = all_records(row_map, sizes_of(row_map))
    by_y = shares(row_map, codes)[:, 1].astype(float) / row_map.unit_length
    # Squared distances 0, 1, 1.96, 4, 9, 10⁴: on the profile, between it and zero, and beyond.
    np.testing.assert_allclose(by_y, [1, 0.5, 0.5 * 0.04, 0, 0, 0], atol=2e-3)


unruly = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-3, 3)
positive = st.floats(1e-300, 1e300) | st.floats(0.1, 10)


@given(st.lists(unruly, min_size=4, max_size=4), positive)
def test_moments_of_any_finite_tables_stay_within_the_sensitivity(values, bound):
    with np.errstate(over="ignore"):  # values that overflow are moved to the bound
        row_map = moments(values[:2], values[2:], bound=bound)
        one, swap = furthest(row_map, all_records(row_map, sizes_of(row_map)))
    assert one == row_map.sensitivity.one
    assert swap <= row_map.sensitivity.swap


@given(st.lists(unruly, min_size=6, max_size=6), positive)
def test_scores_of_any_finite_tables_stay_within_the_sensitivity(values, radius):
    with np.errstate(over="ignore"):
        row_map = scores(values[:2], values[2:4], values[4:], radius=radius)
        one, swap = furthest(row_map, all_records(row_map, sizes_of(row_map)))
    assert one <= row_map.sensitivity.one
    assert swap <= row_map.sensitivity.swap


@settings(max_examples=50)
@given(st.lists(unruly, min_size=15, max_size=15), st.floats(2.0**-40, 2.0**40))
def test_features_of_any_finite_numbers_stay_within_the_sensitivity(values, step):
    with np.errstate(over="ignore"):
        row_map = InducingFeatures(
            places={"x": values[:2]},
            points=[[values[2]], [values[3]]],
            whitening=np.reshape(values[4:8], (2, 2)),
            profile=values[8:12],
            profile_step=step,
            target_column="y",
            target=values[12:],
        )
        row_map.check(Domain.of(sizes_of(row_map)))
        one, swap = furthest(row_map, all_records(row_map, sizes_of(row_map)))
    assert one <= row_map.sensitivity.one
    assert swap <= row_map.sensitivity.swap


@given(
    st.lists(st.lists(st.integers(-(2**15), 2**15), min_size=3, max_size=3), min_size=1),
    st.integers(1, 2**15),
)
def test_rows_are_shortened_to_the_radius_exactly(rows, radius):
    before = np.array(rows, np.float64)
    after = whole.within(before, radius)
    assert (after == np.trunc(after)).all()
    for old, new in zip(before.astype(int).tolist(), after.astype(int).tolist(), strict=True):
        length = sum(x * x for x in old)
        assert sum(x * x for x in new) <= radius**2
        if length <= radius**2:
            assert new == old
        else:
            # Toward zero, and by less than one from the shortened row.
            for x, short in zip(old, new, strict=True):
                exact = x * radius / math.sqrt(length)
                assert abs(short) <= abs(exact)
                assert abs(exact - short) < 1 + 1e-6


DOMAIN = Domain.of({"u": 2, "v": 3, "c": 2, "y": 2})
UV = {"u": [0.0, 1.0], "v": [0.0, 1.0, 2.0]}
POINTS = {
    "places": UV,
    "points": np.zeros((2, 2)),
    "whitening": np.eye(2),
    "profile": [1.0, 0.0],
    "profile_step": 1.0,
    "target_column": "y",
    "target": [0.0, 1.0],
}


def test_maps_that_fit_are_taken():
    ClippedMoments(UV, 1.0, by="c", classes=2).check(DOMAIN)
    ClippedMoments(UV, 1.0).check(DOMAIN)
    NormalScores(UV, 1.0).check(DOMAIN)
    InducingFeatures(**POINTS).check(DOMAIN)


@pytest.mark.parametrize(
    ("row_map", "message"),
    [
        (ClippedMoments({}, 1.0), "at least one column"),
        (ClippedMoments(UV, 0.0), "bound above 0"),
        (ClippedMoments(UV, math.inf), "bound above 0"),
        (ClippedMoments(UV, math.nan), "bound above 0"),
        (ClippedMoments({"u": [0.0, 1.0, 2.0]}, 1.0), "needs 2 entries"),
        (ClippedMoments({"u": [[0.0, 1.0]]}, 1.0), "needs 2 entries"),
        (ClippedMoments({"u": [0.0, math.nan]}, 1.0), "not finite"),
        (ClippedMoments({"u": [0.0, -math.inf]}, 1.0), "not finite"),
        (ClippedMoments(UV, 1.0, by="c"), "2 classes, not of 1"),
        (ClippedMoments(UV, 1.0, by="c", classes=3), "2 classes, not of 3"),
        (ClippedMoments(UV, 1.0, classes=2), "1 classes, not of 2"),
        (ClippedMoments(UV, 1.0, by="u", classes=2), "twice"),
        (NormalScores({"u": [0.0, 1.0]}, 1.0), "two columns"),
        (NormalScores({}, 1.0), "two columns"),
        (NormalScores(UV, 0.0), "radius above 0"),
        (NormalScores(UV, math.nan), "radius above 0"),
        (NormalScores(UV, math.inf), "radius above 0"),
        (NormalScores(UV | {"c": [0.0]}, 1.0), "needs 2 entries"),
        (NormalScores(UV | {"c": [0.0, math.nan]}, 1.0), "not finite"),
        (InducingFeatures(**POINTS | {"target": [0.0]}), "needs 2 entries"),
        (InducingFeatures(**POINTS | {"target": [0.0, math.inf]}), "not finite"),
        (InducingFeatures(**POINTS | {"target": [[[0.0]], [[1.0]]]}), "needs 2 entries"),
        (InducingFeatures(**POINTS | {"places": {"u": np.zeros((2, 0)), "v": [0, 1]}}), "needs 2"),
        (InducingFeatures(**POINTS | {"places": {"u": [0.0, math.inf]}}), "not finite"),
        (InducingFeatures(**POINTS | {"target_column": "u"}), "twice"),
        (InducingFeatures(**POINTS | {"points": np.zeros((2, 3))}), "2 long"),
        (InducingFeatures(**POINTS | {"points": np.zeros(2)}), "2 long"),
        (InducingFeatures(**POINTS | {"points": np.zeros((0, 2))}), "2 long"),
        (InducingFeatures(**POINTS | {"points": np.full((2, 2), np.nan)}), "finite"),
        (InducingFeatures(**POINTS | {"whitening": np.eye(3)}), "square"),
        (
            InducingFeatures(**POINTS | {"points": np.zeros((1025, 2)), "whitening": np.eye(1025)}),
            "up to 1024",
        ),
        (InducingFeatures(**POINTS | {"whitening": np.full((2, 2), np.inf)}), "finite"),
        (InducingFeatures(**POINTS | {"profile": [1.0]}), "at least two"),
        (InducingFeatures(**POINTS | {"profile": [[1.0, 0.0]]}), "at least two"),
        (InducingFeatures(**POINTS | {"profile": [1.0, math.nan]}), "finite"),
        (InducingFeatures(**POINTS | {"profile_step": 0.0}), "step above 0"),
        (InducingFeatures(**POINTS | {"profile_step": math.nan}), "step above 0"),
    ],
)
def test_what_does_not_fit_the_domain_is_refused_before_any_row_is_read(row_map, message):
    with pytest.raises(BadInput, match=message):
        row_map.check(DOMAIN)


def test_unknown_columns_are_refused():
    for row_map in (
        ClippedMoments({"w": [0.0]}, 1.0),
        ClippedMoments(UV, 1.0, by="w"),
        NormalScores(UV | {"w": [0.0]}, 1.0),
        InducingFeatures(**POINTS | {"target_column": "w"}),
    ):
        with pytest.raises(UnknownColumn, match="'w'"):
            row_map.check(DOMAIN)


def test_bounds_that_contradict_each_other_are_no_sensitivity():
    for one, swap in [(1, Fraction(9, 10)), (1, 5), (-1, 0)]:
        with pytest.raises(ValueError, match="contradict"):
            Sensitivity(Fraction(one), Fraction(swap))


SCHEMA = Schema(
    (
        Column(name="who", kind=Kind.INTEGER, role=Role.ID),
        numbered("u", 2),
        numbered("v", 3),
        numbered("c", 2),
        numbered("y", 2),
    )
)
MAPS = [
    ClippedMoments({"u": [-1.0, 1.0], "v": [0.3, -0.4, 0.0]}, 1.0, by="c", classes=2),
    NormalScores({"u": [-1.0, 1.0], "v": [0.3, -1.4, 1.0]}, 1.5),
    InducingFeatures(**POINTS),
]
HALVED = RowWeights.of({"u": [0, 1]}, [1], [UNIT // 2, 100])


@pytest.mark.parametrize("row_map", MAPS, ids=lambda row_map: type(row_map).__name__)
@pytest.mark.parametrize("weights", [None, HALVED], ids=["whole rows", "weighted rows"])
@pytest.mark.parametrize("unit", [Record(), Replacement(), Person("who", 3)], ids=str)
def test_the_ledger_pays_for_what_a_neighbour_can_move(row_map, weights, unit):
    rng = np.random.default_rng(8)
    rows = {name: rng.integers(0, DOMAIN.sizes[name], 50) for name in DOMAIN.names}
    table = pa.table({"who": rng.integers(0, 10, 50), **rows})
    with Ledger.open(
        table, SCHEMA, Budget(1e9, 1e-9), unit=unit, source=SeededForTests(1)
    ) as ledger:
        answer = ledger.sum(row_map, scale=0.01, weights=weights)
        (entry,) = ledger.entries
    codes = all_records(row_map, DOMAIN.sizes)
    each = shares(row_map, codes)
    weight = np.full(len(each), UNIT, object)
    if weights is not None:
        weight = np.where(codes["u"] >= 1, 100, UNIT // 2).astype(object)
    each *= weight[:, None]
    norms = (each**2).sum(axis=1)
    if isinstance(unit, Replacement):
        found = (norms[:, None] + norms - 2 * each @ each.T).max()
    else:
        found = max(norms) * unit.steps**2
    # The ledger may count in finer steps than the map; a scale of 0.01 tells in which.
    steps = round(entry.event.scale / 0.01)
    assert entry.event.scale == pytest.approx(0.01 * steps)
    paid = entry.event.sensitivity_squared / steps**2
    assert Fraction(int(found), (row_map.unit_length * UNIT) ** 2) <= paid
    if weights is None:
        assert paid == unit.squared(row_map.sensitivity) / row_map.unit_length**2
    if isinstance(unit, Person):
        return  # which of a person's rows count is secret
    places = [
        next(i for i in range(len(each)) if all(codes[n][i] == rows[n][r] for n in codes))
        for r in range(50)
    ]
    plain = each[places].sum(axis=0).astype(float) / row_map.unit_length / UNIT
    # Seven standard deviations: about one draw in 10¹¹.
    np.testing.assert_allclose(answer.values, plain, atol=0.07)


def test_the_sum_of_no_rows_is_noise_alone():
    table = pa.table({name: pa.array([], pa.int64()) for name in SCHEMA.names})
    for row_map in MAPS:
        with Ledger.open(table, SCHEMA, Budget(1e9, 1e-9), source=SeededForTests(2)) as ledger:
            answer = ledger.sum(row_map, scale=0.01)
        assert answer.values.shape == (row_map.width,)
        assert np.abs(answer.values).max() < 0.07


def of_one_column(loss, target, slope):
    """A model that puts out the slope for code 1, and minus as much for code 0."""
    task = Training({"x": [[-1.0], [1.0]]}, "y", target, rows=10.0, loss=loss)
    layer = np.zeros(task.shapes[0])
    layer[0] = slope if task.outputs == 1 else slope * np.arange(task.outputs)
    return task, [layer]


def all_four():
    """x and y, each 0 or 1."""
    return {"x": np.array([0, 0, 1, 1]), "y": np.array([0, 1, 0, 1])}


def test_cells_tell_what_a_model_gives_and_what_is_so():
    task, layers = of_one_column(Loss.LOGISTIC, [0, 1], 2.5)
    codes, weights = all_four(), np.array([1.0, 2.0, 4.0, 8.0])
    plain = ModelCells(task, layers)
    np.testing.assert_array_equal(
        plain.total(codes, weights).reshape(plain.shape), [[[1, 2]], [[4, 8]]]
    )
    ranges = ModelCells(task, layers, edges=(1.0, 2.5, 9.0))
    counted = ranges.total(codes, weights).reshape(ranges.shape)
    assert counted[:, 2].tolist() == [[1, 2], [4, 8]]  # an edge belongs to the range above it
    assert counted.sum() == 15


@pytest.mark.parametrize(
    ("loss", "target", "slope", "merits"),
    [
        (Loss.LOGISTIC, [0, 1], 16.0, [1, 0, 0, 1]),
        (Loss.LOGISTIC, [0, 1], 0.0, [0.75] * 4),
        (Loss.LOGISTIC, [0, 2], 16.0, [1, 0, 0, 1]),
        (Loss.HINGE, [0, 1], 1.0, [1, 0, 0, 1]),
        (Loss.HINGE, [0, 1], 0.9, [0, 0, 0, 0]),
        (Loss.SQUARED, [-1.0, 1.0], 1.0, [1, 0, 0, 1]),
        (Loss.SQUARED, [-1.0, 1.0], 0.5, [1 - 1 / 16, 1 - 9 / 16, 1 - 9 / 16, 1 - 1 / 16]),
        (Loss.SQUARED, [np.nan, 99.0], 0.5, [0, 0, 0, 0]),
    ],
)
def test_merit_is_1_for_a_row_that_is_right_and_0_for_one_that_is_all_wrong(
    loss, target, slope, merits
):
    each = shares(ModelMerit(*of_one_column(loss, target, slope)), all_four())[:, 0]
    np.testing.assert_allclose(each.astype(float) / ModelMerit.STEPS, merits, atol=1e-4)


class Pretended(Training):
    """Could read rows in another way than was proven."""


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda task, layers: ModelMerit(task, layers[:-1]), "shapes"),
        (lambda task, layers: ModelMerit(task, [layers[0] * np.nan]), "finite"),
        (lambda task, layers: ModelCells(task, layers, edges=(2.0, 1.0)), "increase"),
        (lambda task, layers: ModelCells(task, layers, edges=(np.inf,)), "finite"),
        (
            lambda task, layers: ModelMerit(Pretended(task.inputs, "y", task.target, 9.0), layers),
            "Training",
        ),
    ],
)
def test_maps_of_a_model_refuse_what_does_not_fit(make, words):
    task, layers = of_one_column(Loss.LOGISTIC, [0, 1], 1.0)
    with pytest.raises(BadInput, match=words):
        make(task, layers).check(Domain.of({"x": 2, "y": 2}))


def test_a_model_of_numbers_gives_no_classes():
    task, layers = of_one_column(Loss.SQUARED, [-1.0, 1.0], 1.0)
    with pytest.raises(BadInput, match="classes"):
        ModelCells(task, layers).check(Domain.of({"x": 2, "y": 2}))
