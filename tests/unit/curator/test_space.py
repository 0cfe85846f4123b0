import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from understudy.curator import space
from understudy.curator.align import align
from understudy.curator.space import (
    CLOSEST,
    MOST_AXES,
    NEIGHBOURS,
    Space,
    neighbours,
    outlier_scores,
)


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """Threads cost more than they bring on tables this small."""
    with threadpool_limits(1):
        yield


def spaced(real, synthetic):
    """Points of both tables, in a space that the first one spreads."""
    tables = align(pa.table(real), pa.table(synthetic))
    space = Space.of(tables, tables.real)
    return space.points(tables.real), space.points(tables.synthetic)


def mixed(rows, rng):
    numbers = [None if rng.random() < 0.2 else float(rng.normal(5, 3)) for _ in range(rows)]
    return {
        "n": pa.array(numbers, pa.float64()),
        "m": rng.normal(-2, 0.01, rows),
        "l": rng.choice(["red", "green", "blue"], rows),
        "f": rng.random(rows) < 0.3,
    }


def by_definition(real, synthetic):
    """All distances, cell by cell."""
    columns = {
        name: [[v.as_py() for v in pa.array(side[name])] for side in (real, synthetic)]
        for name in real
    }
    squares = np.zeros((len(columns["l"][1]), len(columns["l"][0])))
    for name, (ours, others) in columns.items():
        if name in {"l", "f"}:
            squares += [[2.0 * (a != b) for b in ours] for a in others]
            continue
        known = np.array([v for v in ours if v is not None])
        middle, spread = known.mean(), known.std()
        places = [[middle if v is None else v for v in side] for side in (ours, others)]
        squares += (np.subtract.outer(places[1], places[0]) / spread) ** 2
        squares += [[float((a is None) != (b is None)) for b in ours] for a in others]
    return np.sqrt(squares)


def nearest(queries, points):
    return neighbours(queries, points, 1)[0][:, 0]


def test_the_nearest_row_is_found_in_whatever_block_it_is(monkeypatch):
    rng = np.random.default_rng(11)
    tables = align(*(pa.table(mixed(90, rng)) for _ in range(2)))
    room = Space.of(tables, tables.real)
    queries, points = room.points(tables.synthetic), room.points(tables.real)
    expected, _ = neighbours(queries, points, 1)
    monkeypatch.setattr(space, "_BLOCK", 7)
    found, where = room.nearest(queries, tables.real)
    np.testing.assert_allclose(found, expected[:, 0], rtol=1e-6, atol=1e-6)
    chosen = np.linalg.norm(points[where] - queries, axis=1)
    np.testing.assert_allclose(chosen, found, rtol=1e-4, atol=1e-4)
    nothing = tables.real.take(np.zeros(0, np.intp))
    assert np.isinf(room.nearest(queries, nothing)[0]).all()


def test_distances_of_mixed_rows_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    real, synthetic = mixed(80, rng), mixed(50, rng)
    points, others = spaced(real, synthetic)
    expected = by_definition(real, synthetic)
    np.testing.assert_allclose(nearest(others, points), expected.min(axis=1), rtol=1e-4)
    found, places = neighbours(others, points, 7)
    np.testing.assert_allclose(found, np.sort(expected, axis=1)[:, :7], rtol=1e-4)
    np.testing.assert_allclose(np.take_along_axis(expected, places, axis=1), found, rtol=1e-4)


def test_nearest_points_are_those_of_a_tree():
    rng = np.random.default_rng(1)
    points, others = spaced(mixed(300, rng), mixed(200, rng))
    expected, _ = cKDTree(points.astype(float)).query(others.astype(float), 5)
    np.testing.assert_allclose(neighbours(others, points, 5)[0], expected, rtol=1e-5, atol=1e-5)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(*[st.integers(-50, 50)] * 3), max_size=12),
    st.lists(st.tuples(*[st.integers(-50, 50)] * 3), max_size=12),
    st.integers(1, 6),
)
def test_neighbours_are_the_nearest_of_any_points(queries, points, count):
    sides = [np.array(side, np.float32).reshape(-1, 3) for side in (queries, points)]
    distances, _ = neighbours(sides[0], sides[1], count)
    assert distances.shape == (len(queries), count)
    for query, found in zip(queries, distances, strict=True):
        expected = sorted(math.dist(query, point) for point in points)[:count]
        expected += [math.inf] * (count - len(expected))
        np.testing.assert_allclose(found, np.maximum(expected, CLOSEST), rtol=1e-5, atol=1e-5)


def test_a_point_is_not_quite_at_itself_so_that_ratios_exist():
    points = np.random.default_rng(2).normal(size=(50, 4)).astype(np.float32)
    np.testing.assert_allclose(nearest(points, points), CLOSEST, atol=CLOSEST)
    assert (nearest(points, points) >= CLOSEST).all()


def test_without_points_distances_are_infinite():
    points = np.zeros((3, 2), np.float32)
    assert nearest(points, points[:0]).tolist() == [math.inf] * 3
    assert nearest(points[:0], points).tolist() == []
    assert neighbours(points, points[:2], 3)[0][:, 2].tolist() == [math.inf] * 3


def test_two_labels_are_as_far_apart_as_two_independent_numbers_in_the_mean_of_squares():
    rng = np.random.default_rng(3)
    table = {"n": rng.normal(7, 100, 2000)}
    points, others = spaced(table, {"n": rng.normal(7, 100, 2000)})
    assert ((points - others) ** 2).sum(axis=1).mean() == pytest.approx(2, rel=0.1)
    points, others = spaced({"l": ["a", "b"]}, {"l": ["a", "b"]})
    assert np.linalg.norm(points[0] - others[1]) == pytest.approx(math.sqrt(2))


def test_missing_numbers_lie_in_the_middle_with_an_axis_of_their_own():
    points, others = spaced({"n": [1.0, 3.0, None]}, {"n": [None, 2.0, 4.0]})
    # The mean is 2 and the standard deviation 1.
    distances = [[float(np.linalg.norm(a - b)) for b in points] for a in others]
    expected = [
        [math.sqrt(2), math.sqrt(2), 0],
        [1, 1, 1],
        [3, 1, math.sqrt(5)],
    ]
    np.testing.assert_allclose(distances, expected, rtol=1e-6)


def test_a_column_of_missing_numbers_alone_adds_no_distance():
    table = {"n": pa.array([None, None], pa.float64()), "l": ["a", "b"]}
    points, others = spaced(table, table)
    assert nearest(others, points).tolist() == [CLOSEST] * 2


@pytest.mark.parametrize("constant", [0.0, 0.5, 0.1, 1e9 / 3])
def test_a_column_without_spread_is_measured_in_its_own_unit(constant):
    # Means of equal numbers can be off by rounding, which is no spread.
    points, others = spaced({"n": [constant] * 1000}, {"n": [constant, constant + 2.0]})
    assert nearest(others, points) == pytest.approx([CLOSEST, 2.0], rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("huge", [1e30, 1e60, -1e300])
def test_numbers_far_beyond_the_guide_have_a_place_too(huge):
    rng = np.random.default_rng(4)
    points, others = spaced({"n": rng.normal(size=50)}, {"n": [0.5, huge]})
    assert np.isfinite(others).all()
    near, far = nearest(others, points)
    assert near < 1
    assert far > 9e5


@pytest.mark.parametrize("many", [MOST_AXES, MOST_AXES + 1, 200])
def test_however_many_labels_there_are_two_of_them_are_about_as_far_apart(many):
    names = [f"label {k:03}" for k in range(many)]
    points, others = spaced({"l": [*names, *names]}, {"l": names})
    assert points.shape[1] == min(many, MOST_AXES)
    distances = cdist(others, points[:many])
    # The same label is in the same place in all tables.
    assert np.diag(distances).tolist() == [0] * many
    apart = distances[~np.eye(many, dtype=bool)]
    assert (apart**2).mean() == pytest.approx(2, rel=0.1)
    assert 0.3 < apart.min() <= apart.max() <= 2


def test_outlier_scores_are_mean_distances_to_the_nearest_ten_others():
    points = np.random.default_rng(5).normal(size=(40, 3)).astype(np.float32)
    expected = [
        np.mean(sorted(math.dist(a, b) for k, b in enumerate(points) if k != place)[:NEIGHBOURS])
        for place, a in enumerate(points.tolist())
    ]
    np.testing.assert_allclose(outlier_scores(points), expected, rtol=1e-5)


def test_twins_do_not_stand_out_and_a_row_far_away_does():
    points = np.zeros((30, 2), np.float32)
    points[7] = 100
    scores = outlier_scores(points)
    assert scores.argmax() == 7
    assert scores[7] == pytest.approx(100 * math.sqrt(2))
    assert np.delete(scores, 7).max() < 0.01


def test_few_points_have_outlier_scores_in_the_right_order():
    points = np.array([[0], [1], [50]], np.float32)
    assert np.argsort(outlier_scores(points)).tolist() == [1, 0, 2]
    assert outlier_scores(points[:1]).tolist() == [0.0]
    assert outlier_scores(points[:0]).tolist() == []
