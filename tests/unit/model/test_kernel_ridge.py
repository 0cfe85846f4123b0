"""Kernel ridge regression: as scikit-learn has it, and sound on tiny and odd tables."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from understudy.errors import BadInput
from understudy.model import kernel_ridge as module
from understudy.model.kernel_ridge import LEAST_RIDGE, kernel_ridge
from understudy.model.kernels import Gaussian, Matern, Wendland, kernel_matrix

ROWS = 90
KERNEL = Gaussian(0.5)


def lesson(rows=ROWS, outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.random((rows, 2))
    waves = np.sin(4 * inputs[:, :1]) + inputs[:, 1:] * np.arange(1, outputs + 1)
    return inputs, 5 + waves + rng.normal(0, 0.1, (rows, outputs))


def taught(inputs, outputs, kernel=KERNEL, ridges=(1e-3,), seed=1):
    return kernel_ridge(inputs, outputs, kernel, ridges, np.random.default_rng(seed))


def peer(inputs, outputs, ridge, asked, kernel=KERNEL):
    learner = KernelRidge(alpha=len(inputs) * ridge, kernel="precomputed")
    learner.fit(kernel_matrix(kernel, inputs, inputs), outputs)
    return learner.predict(kernel_matrix(kernel, asked, inputs))


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Wendland(1.5), Matern(0.7)], ids=str)
@pytest.mark.parametrize("ridge", [1e-6, 1e-3, 0.1])
def test_it_says_what_scikit_learn_says(kernel, ridge):
    inputs, outputs = lesson()
    asked, centre = lesson(40, seed=3)[0], outputs.mean(axis=0)
    expected = peer(inputs, outputs - centre, ridge, asked, kernel) + centre
    model = taught(inputs, outputs, kernel, (ridge,))
    np.testing.assert_allclose(model(asked), expected, atol=1e-6)


def folds_of(rows, seed=1):
    return np.argsort(np.random.default_rng(seed).random(rows)) % 5


def test_the_error_is_that_of_rows_that_were_left_out():
    inputs, outputs = lesson()
    left, folds, ridges = outputs - outputs.mean(axis=0), folds_of(ROWS), (1e-5, 1e-3, 1e-1)
    errors = []
    for ridge in ridges:
        said = np.zeros_like(left)
        for fold in range(5):
            out = folds == fold
            said[out] = peer(inputs[~out], left[~out], ridge, inputs[out])
        errors.append(((said - left) ** 2).mean(axis=0))
    model = taught(inputs, outputs, ridges=ridges)
    best = int(np.argmin([error.sum() for error in errors]))
    assert model.ridge == ridges[best]
    np.testing.assert_allclose(model.error, errors[best], rtol=1e-6)


def test_with_all_rows_as_points_nothing_is_lost(monkeypatch):
    # Points apart from each other: of close ones, the matrix is as good as singular.
    inputs, outputs = lesson()
    kernel, ridges = Wendland(0.4), (1e-4, 1e-2)
    exact = taught(inputs, outputs, kernel, ridges)
    monkeypatch.setattr(module, "_EXACT", 0)
    monkeypatch.setattr(module, "_POINTS", ROWS)
    monkeypatch.setattr(module, "_AT_ONCE", 16)
    points = taught(inputs, outputs, kernel, ridges)
    asked = lesson(40, seed=3)[0]
    np.testing.assert_allclose(points(asked), exact(asked), atol=2e-3)
    np.testing.assert_allclose(points.error, exact.error, rtol=2e-3)
    assert points.ridge == exact.ridge


def test_a_part_of_the_rows_as_points_is_nearly_as_good(monkeypatch):
    inputs, outputs = lesson(400)
    exact = taught(inputs, outputs)
    monkeypatch.setattr(module, "_EXACT", 100)
    monkeypatch.setattr(module, "_POINTS", 60)
    points = taught(inputs, outputs)
    assert points.points.shape == (60, 2)
    asked = lesson(40, seed=3)[0]
    np.testing.assert_allclose(points(asked), exact(asked), atol=0.02)


def test_several_outputs_are_as_many_models():
    inputs, outputs = lesson(outputs=3)
    together = taught(inputs, outputs)
    asked = lesson(40, seed=3)[0]
    for k in range(3):
        alone = taught(inputs, outputs[:, [k]])
        np.testing.assert_allclose(together(asked)[:, k], alone(asked)[:, 0])
        np.testing.assert_allclose(together.error[k], alone.error[0])


def test_the_length_is_chosen_where_none_is_given():
    inputs, outputs = lesson(200)
    model = taught(inputs, outputs, Wendland(), (1e-5, 1e-3))
    assert model.kernel.length / np.sqrt(2) in module.LENGTHS
    assert (model.error < 0.02).all()


@pytest.mark.parametrize("ridges", [(), (0.0,), (1e-3, 0.0), (-1.0,), (LEAST_RIDGE / 2,)])
def test_no_ridge_would_repeat_the_rows_and_is_refused(ridges):
    with pytest.raises(BadInput, match="ridge"):
        taught(*lesson(), ridges=ridges)


@pytest.mark.parametrize("rows", [1, 2, 3, 6])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Wendland()], ids=str)
def test_tiny_tables_are_absorbed(rows, kernel):
    inputs, outputs = lesson(rows)
    model = taught(inputs, outputs, kernel, (1e-6, 1e-2))
    assert np.isfinite(model(inputs)).all()
    assert np.isfinite(model.error).all()
    assert model(np.zeros((0, 2))).shape == (0, 2)
    far = model(np.full((1, 2), 1e3))
    np.testing.assert_allclose(far[0], outputs.mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("exact", [True, False])
def test_constant_columns_and_rows_that_occur_twice_are_absorbed(exact, monkeypatch):
    if not exact:
        monkeypatch.setattr(module, "_EXACT", 0)
        monkeypatch.setattr(module, "_POINTS", 50)
    inputs = np.repeat(lesson(30)[0], 3, axis=0)
    inputs[:, 1] = 7.0
    outputs = np.column_stack([inputs[:, 0], np.ones(90)])
    model = taught(inputs, outputs, Wendland(), (1e-6, 1e-3))
    said = model(inputs)
    np.testing.assert_allclose(said, outputs, atol=0.05)
    np.testing.assert_allclose(said[::3], said[1::3])
