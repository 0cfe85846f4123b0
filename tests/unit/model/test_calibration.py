"""Chances as sure as the rows were; and models that are believed where noise hides them."""

import numpy as np
import pytest

from understudy.model.calibration import Calibration, cell_logits, softmax

EDGES = (0.5, 1.0, 2.0, 4.0)


def counted(rows, slope, shift, classes=2, seed=0):
    """Rows whose classes go by sloped and shifted logits, in cells by the plain ones."""
    rng = np.random.default_rng(seed)
    logits = np.cumsum(rng.normal(0, 1.5, (rows, classes)), axis=1)
    chances = softmax(slope * logits + np.asarray(shift))
    drawn = (np.cumsum(chances, axis=1) < rng.random((rows, 1))).sum(axis=1)
    ranked = np.sort(logits, axis=1)
    place = np.searchsorted(EDGES, ranked[:, -1] - ranked[:, -2], side="right")
    counts = np.zeros((classes, len(EDGES) + 1, classes))
    np.add.at(counts, (logits.argmax(axis=1), place, drawn), 1)
    return logits, counts


@pytest.mark.parametrize(
    ("slope", "shift"),
    [(1.0, [0.0, 0.0]), (0.4, [0.5, -0.5]), (1.5, [-0.6, 0.6]), (0.7, [0.3, 0.2, -0.5])],
)
def test_slope_and_shift_come_back(slope, shift):
    classes = len(shift)
    logits, counts = counted(40_000, slope, shift, classes)
    cells = cell_logits(logits, EDGES).reshape(-1, classes)
    found = Calibration.fitted(counts.reshape(-1, classes), cells, noise=5.0)
    # Wide ranges of several classes blur a slope.
    assert found.slope == pytest.approx(slope, rel=0.05 if classes == 2 else 0.15)
    np.testing.assert_allclose(found.shift, shift, atol=0.06 if classes == 2 else 0.12)


def test_where_noise_hides_all_the_model_is_believed():
    logits, counts = counted(500, 0.2, [1.0, -1.0])
    cells = cell_logits(logits, EDGES).reshape(-1, 2)
    noisy = counts.reshape(-1, 2) + np.random.default_rng(1).normal(0, 1e4, (10, 2))
    found = Calibration.fitted(noisy, cells, noise=1e4)
    assert found.slope == pytest.approx(1.0, abs=0.2)
    np.testing.assert_allclose(found.shift, 0, atol=0.3)


@pytest.mark.parametrize("counts", [np.zeros((10, 2)), np.full((10, 2), -50.0)])
def test_without_rows_nothing_is_changed(counts):
    logits = cell_logits(np.zeros((1, 2)), EDGES).reshape(-1, 2)
    found = Calibration.fitted(counts, logits, noise=1.0)
    assert found.slope == pytest.approx(1.0)
    np.testing.assert_allclose(found.shift, 0.0)


def test_logits_of_a_cell_are_those_of_its_rows_or_of_its_middle():
    logits = np.array([[0.0, 0.7], [0.0, 0.9], [5.0, 0.0]])
    cells = cell_logits(logits, EDGES)
    assert cells.shape == (2, 5, 2)
    np.testing.assert_allclose(cells[1, 1], [0.0, 0.8])
    np.testing.assert_allclose(cells[0, 4], [5.0, 0.0])
    np.testing.assert_allclose(cells[0, 0], [0.25, 0.0])  # nobody: the middle of 0 to 0.5
