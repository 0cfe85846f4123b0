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


def test_a_constant_and_missing_numbers_have_words():
    found = shares({"x": [1.0, 1.0, None]}, {"x": [1.0, 2.0, 1.0]})["x"]
    assert [bar.label for bar in found.bars] == ["all", "missing"]
