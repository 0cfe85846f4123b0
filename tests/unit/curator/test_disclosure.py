import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import binomtest
from threadpoolctl import threadpool_limits

from understudy.curator import disclosure
from understudy.curator.align import align
from understudy.curator.disclosure import interval_disclosure
from understudy.curator.result import Direction

COPIES = "synthetic rows that equal"
TEST_COPIES = "test rows that equal"
CLOSEST = "distance to closest record, synthetic"
NEARER = "synthetic rows nearer"
INTERVALS = "(LID)"


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """Threads cost more than they bring on tables this small."""
    with threadpool_limits(1):
        yield


def judged(real, synthetic, test=None, eta=disclosure.ETA):
    parts = [pa.table(part) for part in (real, synthetic, test) if part is not None]
    return disclosure.judge(align(*parts), np.random.default_rng(0), eta=eta)


def one(found, name):
    """The result whose name starts or ends so."""
    (result,) = (r for r in found.results if r.name.startswith(name) or r.name.endswith(name))
    return result


def numbers(rows, rng):
    return {"x": rng.normal(3, 5, rows), "y": rng.normal(0, 0.1, rows)}


def few(rows, rng):
    """Rows that often are equal, with missing cells."""
    return {
        "l": rng.choice(["a", "b", "c", "d"], rows),
        "n": pa.array([None if v > 4 else float(v) for v in rng.integers(0, 6, rows)]),
        "f": rng.random(rows) < 0.1,
    }


def as_tuples(table):
    return list(zip(*(pa.array(values).to_pylist() for values in table.values()), strict=True))


def test_copies_are_the_rows_that_a_set_of_tuples_holds():
    rng = np.random.default_rng(1)
    real, synthetic, test = few(25, rng), few(400, rng), few(300, rng)
    found = judged(real, synthetic, test)
    known = set(as_tuples(real))
    for name, table in ((COPIES, synthetic), (TEST_COPIES, test)):
        rows = as_tuples(table)
        hits = sum(row in known for row in rows)
        assert 0 < hits < len(rows)
        result = one(found, name)
        assert result.value == hits / len(rows)
        wilson = binomtest(hits, len(rows)).proportion_ci(method="wilson")
        assert [result.low, result.high] == pytest.approx([wilson.low, wilson.high])


def test_a_row_that_differs_in_one_cell_is_no_copy():
    real = {"a": [1.5, 2.5], "b": ["x", "y"]}
    synthetic = {"a": [1.5, 1.5, 2.5, math.nextafter(2.5, 3)], "b": ["x", "y", "y", "y"]}
    assert one(judged(real, synthetic), COPIES).value == 0.5


@settings(max_examples=25)
@given(st.integers(1, 8), st.integers(1, 4), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_interval_disclosure_is_its_definition(rows, columns, eta, seed):
    rng = np.random.default_rng(seed)
    real, counterpart = rng.normal(size=(2, rows, columns))
    real[rng.random(real.shape) < 0.2] = np.nan
    told = 0
    for k in range(rows):
        for j in range(columns):
            low, high = counterpart[k, j] - eta, counterpart[k, j] + eta
            if low <= real[k, j] <= high:
                told += 1
                break
    assert interval_disclosure(real, counterpart, eta) == pytest.approx(told / rows)


def test_lid_of_a_release_takes_the_nearest_synthetic_row_and_ranges_of_the_real_columns():
    rng = np.random.default_rng(2)
    real, synthetic, test = numbers(60, rng), numbers(50, rng), numbers(40, rng)
    eta = 0.02
    found = judged(real, synthetic, test, eta)
    sides = [np.column_stack(list(table.values())) for table in (real, synthetic, test)]
    spread, width = sides[0].std(axis=0), np.ptp(sides[0], axis=0)
    for ending, rows in ((INTERVALS, sides[0]), ("test rows (for comparison)", sides[2])):
        told = 0
        for row in rows:
            place = min(range(50), key=lambda k: math.dist(row / spread, sides[1][k] / spread))
            told += any(abs(row[j] - sides[1][place, j]) <= eta * width[j] for j in range(2))
        assert 0 < told < len(rows)
        assert one(found, ending).value == pytest.approx(told / len(rows))


def test_a_copy_tells_every_number_and_a_table_far_away_none():
    rng = np.random.default_rng(3)
    real = numbers(100, rng)
    assert one(judged(real, real), INTERVALS).value == 1
    far = {name: values + 1000 for name, values in real.items()}
    assert one(judged(real, far), INTERVALS).value == 0


def test_missing_numbers_are_not_told():
    real = {"x": [None, None, 1.0, 9.0], "l": list("abcd")}
    assert one(judged(real, real), INTERVALS).value == 0.5


def test_the_distance_to_the_closest_record_is_the_median_of_plain_distances():
    rng = np.random.default_rng(4)
    real, synthetic = numbers(80, rng), numbers(61, rng)
    sides = [np.column_stack(list(table.values())) for table in (real, synthetic)]
    spread = sides[0].std(axis=0)
    near = cdist(sides[1] / spread, sides[0] / spread).min(axis=1)
    result = one(judged(real, synthetic), CLOSEST)
    assert result.value == pytest.approx(np.median(near), rel=1e-4)
    assert near.min() < result.low < result.value < result.high < near.max()


@pytest.mark.statistical
def test_the_medians_interval_covers_it_as_often_as_it_says():
    # Of 500 sound 95 % intervals, fewer than 460 or more than 492 cover one time in 1,000.
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(500):
        result = disclosure._middle("d", rng.exponential(size=75))
        covered += result.low <= math.log(2) <= result.high
    assert 460 <= covered <= 492


@pytest.mark.statistical
def test_half_of_fresh_rows_are_nearer_to_real_than_to_test_rows():
    # A fixed seed; one sound seed in 20 misses the interval, one in 16,000 misses 0.4 to 0.6.
    rng = np.random.default_rng(6)
    result = one(judged(numbers(500, rng), numbers(400, rng), numbers(700, rng)), NEARER)
    assert 0.4 < result.value < 0.6
    assert result.low <= 0.5 <= result.high


def test_copies_are_nearer_to_real_than_to_test_rows():
    rng = np.random.default_rng(7)
    real = numbers(300, rng)
    assert one(judged(real, real, numbers(300, rng)), NEARER).value > 0.98


def test_rows_as_near_to_both_count_half():
    table = {"l": ["a", "b"] * 50}
    assert one(judged(table, table, table), NEARER).value == 0.5


def test_it_is_said_that_none_of_this_is_evidence():
    rng = np.random.default_rng(8)
    found = judged(numbers(30, rng), numbers(30, rng), numbers(30, rng))
    assert "no evidence of privacy" in found.warning
    assert "certificate" in found.warning
    # Neither way is better: no reader shall take few copies for safety.
    assert {result.direction for result in found.results} == {Direction.NONE}


def test_each_number_stands_beside_the_same_for_rows_never_seen():
    rng = np.random.default_rng(9)
    found = judged(numbers(30, rng), numbers(30, rng), numbers(30, rng))
    assert sum("for comparison" in result.name for result in found.results) == 3
    alone = judged(numbers(30, rng), numbers(30, rng))
    assert not any("test" in result.name for result in alone.results)
    assert len(alone.results) == 3


def test_tables_without_numbers_have_no_intervals():
    table = {"l": ["a", "b", "c"], "f": [True, False, True]}
    found = judged(table, table, table)
    result = one(found, INTERVALS)
    assert result.value is None
    assert "no column of numbers varies" in result.note
    assert one(found, COPIES).value == 1


@pytest.mark.parametrize("empty", range(3))
def test_of_tables_without_rows_no_number_is_made_up(empty):
    rng = np.random.default_rng(10)
    parts = [numbers(0 if k == empty else 40, rng) for k in range(3)]
    found = judged(*parts)
    concerned = {
        # Without real rows, nothing can be compared but their copies, of which there are none.
        0: [CLOSEST, NEARER, INTERVALS],
        1: [COPIES, CLOSEST, NEARER, INTERVALS],
        2: [TEST_COPIES, NEARER, "test to real (for comparison)"],
    }[empty]
    for name in concerned:
        result = one(found, name)
        assert result.value is None, result
        assert result.note
    for result in found.results:
        assert result.value is None or 0 <= result.low <= result.value <= result.high


def test_the_same_call_gives_the_same_numbers_on_more_rows_than_are_looked_at(monkeypatch):
    monkeypatch.setattr(disclosure, "MOST_ROWS", 50)
    rng = np.random.default_rng(11)
    parts = [numbers(200, rng) for _ in range(3)]
    found = judged(*parts)
    assert found == judged(*parts)
    assert one(found, CLOSEST).read == "50 rows"
