import numpy as np
import pyarrow as pa
import pytest

from understudy.curator.align import align
from understudy.curator.cells import Cells
from understudy.curator.shares import column_shares


def shares(real, synthetic):
    tables = align(pa.table(real), pa.table(synthetic), None, schema=None, without=(), named=())
    return {one.name: one for one in column_shares(tables, Cells.of(tables))}


def test_labels_are_told_by_how_common_they_are():
    labels = [f"v{k:02}" for k in range(20)]
    real = [label for k, label in enumerate(labels) for _ in range(k + 1)]
    found = shares({"x": real}, {"x": labels})["x"]
    assert [bar.label for bar in found.bars[:2]] == ["v19", "v18"]
    assert found.bars[-1].label == "8 more values"
    assert sum(bar.real for bar in found.bars) == pytest.approx(1)
    assert sum(bar.synthetic for bar in found.bars) == pytest.approx(1)
    assert found.bars[0].real == pytest.approx(20 / 210)
    assert found.bars[0].synthetic == pytest.approx(1 / 20)
    assert found.most == pytest.approx(8 / 20)


def test_numbers_stand_in_order_and_common_ones_by_themselves():
    rng = np.random.default_rng(0)
    gain = np.where(rng.random(1000) < 0.6, 0.0, rng.uniform(1, 100, 1000))
    found = shares({"gain": gain}, {"gain": gain})["gain"]
    assert found.distance == 0
    labels = [bar.label for bar in found.bars]
    assert labels[0] == "up to 0"
    assert found.bars[0].real == pytest.approx(0.6, abs=0.06)
    assert all("e-324" not in label for label in labels)


def bars(real, synthetic):
    return {bar.label: (bar.real, bar.synthetic) for bar in shares(real, synthetic)["x"].bars}


def test_few_numbers_are_told_one_by_one():
    found = bars({"x": [1.0, 1.0, None]}, {"x": [1.0, 2.0, 1.0]})
    assert found == {
        "1": pytest.approx((2 / 3, 2 / 3)),
        "other values": pytest.approx((0, 1 / 3)),
        "missing": pytest.approx((1 / 3, 0)),
    }
    flags = bars({"x": [0, 0, 0, 1]}, {"x": [0, 1, 1, 1]})
    assert flags == {"0": (0.75, 0.25), "1": (0.25, 0.75)}


def test_neighbours_have_different_names():
    rng = np.random.default_rng(0)
    places = 40.71 + rng.uniform(0, 0.004, 1000).round(5)
    labels = list(bars({"x": places}, {"x": places}))
    assert len(labels) == len({*labels}) > 10
    assert all("e-" not in label for label in labels)
    ends = [label.split(" to ") for label in labels if " to " in label]
    assert all(first != second for first, second in ends)


def test_moments_of_one_day_are_told_with_their_time():
    hours = [f"2026-01-02 {hour:02}:30:00" for hour in range(24)] * 9
    labels = list(bars({"x": hours}, {"x": hours}))
    assert labels[0] == "below 2026-01-02 01:30"
    assert len(labels) == len({*labels})


def test_large_numbers_that_differ_a_little_are_told_apart():
    rng = np.random.default_rng(0)
    prices = 155_000 + rng.uniform(0, 3, 500).round(2)
    labels = list(bars({"x": prices}, {"x": prices}))
    assert len(labels) == len({*labels})
    assert labels[0].startswith("below 155,000.")
