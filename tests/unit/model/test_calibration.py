"""Chances as sure as the rows were; and models that are believed where noise hides them."""

import numpy as np
import pytest

from understudy.model.calibration import Calibration, CellRows, softmax

EDGES = (0.5, 1.0, 2.0, 4.0)


def counted(rows, slope, shift, seed=0):
    """Rows whose classes go by sloped and shifted logits, counted in cells by the plain ones."""
    rng = np.random.default_rng(seed)
    classes = len(shift)
    logits = rng.normal(0, 2, (rows, classes))
    chances = softmax(slope * logits + np.asarray(shift))
    truth = (np.cumsum(chances, axis=1) < rng.random((rows, 1))).sum(axis=1)
    ranked = np.sort(logits, axis=1)
    place = np.searchsorted(EDGES, ranked[:, -1] - ranked[:, -2], side="right")
    counts = np.zeros((classes, len(EDGES) + 1, classes))
    np.add.at(counts, (logits.argmax(axis=1), place, truth), 1)
    return logits, counts.reshape(-1, classes), truth


def loss(logits, found, truth):
    """The log loss of calibrated chances."""
    chances = softmax(found.slope * logits + found.shift)
    return -np.log(chances[np.arange(len(truth)), truth]).mean()


@pytest.mark.parametrize(
    ("slope", "shift"),
    [
        (1.0, [0.0, 0.0]),
        (0.4, [0.5, -0.5]),
        (1.5, [-0.6, 0.6]),
        (0.7, [0.3, 0.2, -0.5]),
        (2.0, [0.3, 0.2, -0.5]),
        (0.5, [0.5, 0.0, 0.0, -0.5]),
    ],
)
def test_slope_and_shift_come_back(slope, shift):
    logits, counts, _ = counted(40_000, slope, shift)
    rows = CellRows.of(logits[:4000], EDGES)
    found = Calibration.fitted(counts, rows, noise=5.0)
    assert found.slope == pytest.approx(slope, rel=0.07)
    np.testing.assert_allclose(found.shift, shift, atol=0.08)


@pytest.mark.parametrize("classes", [2, 3, 4, 8])
def test_a_model_that_is_right_is_left_alone(classes):
    logits, counts, truth = counted(60_000, 1.0, np.zeros(classes))
    found = Calibration.fitted(counts, CellRows.of(logits[:4000], EDGES), noise=5.0)
    plain = Calibration(1.0, np.zeros(classes))
    assert loss(logits, found, truth) < loss(logits, plain, truth) + 0.001
    assert found.slope == pytest.approx(1.0, abs=0.05)


def test_where_noise_hides_all_the_model_is_believed():
    logits, counts, _ = counted(500, 0.2, [1.0, -1.0])
    noisy = counts + np.random.default_rng(1).normal(0, 1e4, (10, 2))
    found = Calibration.fitted(noisy, CellRows.of(logits, EDGES), noise=1e4)
    assert found.slope == pytest.approx(1.0, abs=0.2)
    np.testing.assert_allclose(found.shift, 0, atol=0.3)


@pytest.mark.parametrize("counts", [np.zeros((10, 2)), np.full((10, 2), -50.0)])
def test_without_rows_nothing_is_changed(counts):
    found = Calibration.fitted(counts, CellRows.of(np.zeros((1, 2)), EDGES), noise=1.0)
    assert found.slope == pytest.approx(1.0)
    np.testing.assert_allclose(found.shift, 0.0)


def test_a_cell_has_its_rows_or_its_middle():
    rows = CellRows.of(np.array([[0.0, 0.7], [0.0, 0.9], [5.0, 0.0]]), EDGES)
    assert rows.count == 10
    means = rows.means(rows.logits)
    np.testing.assert_allclose(means[5 + 1], [0.0, 0.8])
    np.testing.assert_allclose(means[4], [5.0, 0.0])
    np.testing.assert_allclose(means[0], [0.25, 0.0])  # nobody: the middle of 0 to 0.5
