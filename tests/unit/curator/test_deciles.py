"""Tenths by distance: edges come from other rows, and who is planted far away is in the last."""

import numpy as np
import pyarrow as pa

from understudy.curator.align import align
from understudy.curator.deciles import deciles, deciles_by_distance


def cloud(rows, seed, far=()):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, rows))
    label = rng.choice(["a", "b"], rows).tolist()
    return pa.table(
        {
            "x": [*x.tolist(), *(value for value in far)],
            "y": [*y.tolist(), *(-value for value in far)],
            "label": [*label, *("a" for _ in far)],
        }
    )


def placed(real, test, most=10_000):
    tables = align(real, real, test)
    rng = np.random.default_rng(0)
    return deciles_by_distance(tables, tables.test, tables.real, most, rng)


def test_who_is_planted_far_away_is_in_the_last_decile():
    found = placed(cloud(1000, 1, far=(6.0, -9.0)), cloud(1000, 2))
    assert found[-2:].tolist() == [10, 10]
    shares = np.bincount(found, minlength=11)[1:] / len(found)
    np.testing.assert_allclose(shares, 0.1, atol=0.04)
    # In the middle of the cloud nobody stands out.
    x, y = (np.array(cloud(1000, 1)[name]) for name in ("x", "y"))
    middle = np.hypot(x, y) < 0.3
    assert found[:1000][middle].max() <= 3


def test_a_row_that_has_company_in_the_guide_does_not_stand_out():
    lonely = placed(cloud(500, 1, far=(8.0,)), cloud(500, 2))
    crowd = tuple(8.0 + 0.01 * k for k in range(40))
    joined = placed(cloud(500, 1, far=(8.0,)), cloud(500, 2, far=crowd))
    assert lonely[-1] == 10
    assert joined[-1] < 10


def test_a_part_of_the_guide_is_enough():
    found = placed(cloud(1000, 1, far=(7.0,)), cloud(4000, 2), most=500)
    assert found[-1] == 10
    shares = np.bincount(found, minlength=11)[1:] / len(found)
    np.testing.assert_allclose(shares, 0.1, atol=0.06)


def test_no_rows_are_absorbed():
    assert set(placed(cloud(5, 1), cloud(5, 2).slice(0, 0)).tolist()) == {1}
    assert placed(cloud(5, 1).slice(0, 0), cloud(5, 2)).tolist() == []
    assert deciles(np.array([1, 2]), np.zeros(0)).tolist() == [1, 1]
    assert deciles(np.arange(100), np.arange(100)).tolist()[::99] == [1, 10]
