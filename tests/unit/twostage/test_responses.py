"""Models that answer: better than a mean, for any number of outputs and rows."""

import numpy as np
import pytest

from understudy.errors import BadInput
from understudy.model.kernels import Gaussian, Matern
from understudy.twostage.responses import AdaBoost, KernelRidge, NadarayaWatson, RandomForest

FEW = {"depths": (3, 6), "trees": 10}
RESPONSES = [
    KernelRidge(),
    KernelRidge(Gaussian()),
    KernelRidge(Matern(0.5)),
    NadarayaWatson(),
    RandomForest(**FEW),
    AdaBoost(**FEW),
]
ALL = pytest.mark.parametrize("response", RESPONSES, ids=lambda one: one.name)


def lesson(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.random((rows, 2)) - 0.5
    smooth = np.column_stack([np.sin(4 * inputs[:, 0]), inputs[:, 1] ** 2 * 3])
    return inputs, smooth, smooth + rng.normal(0, 0.1, smooth.shape)


def taught(response, inputs, outputs):
    return response.taught(inputs, outputs, np.random.default_rng(1))


@ALL
def test_it_learns_a_smooth_function(response):
    inputs, _, outputs = lesson()
    model = taught(response, inputs, outputs)
    asked, truth, seen = lesson(400, seed=5)
    said = model.answers(asked)
    assert said.shape == (400, 2)
    wrong = ((said - truth) ** 2).mean(axis=0)
    assert (wrong < 0.3 * truth.var(axis=0)).all()
    # The error that it tells is that of rows that it has not seen.
    unseen = ((said - seen) ** 2).mean(axis=0)
    np.testing.assert_allclose(model.error, unseen, rtol=0.5)
    assert (model.error > 0.009).all()


@ALL
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows_are_absorbed(response, rows):
    inputs, _, outputs = lesson(rows)
    model = taught(response, inputs, outputs)
    assert np.isfinite(model.answers(inputs)).all()
    assert np.isfinite(model.error).all()
    far = model.answers(np.full((2, 2), 1e4))
    assert np.isfinite(far).all()
    low, high = outputs.min(axis=0) - 1e-6, outputs.max(axis=0) + 1e-6
    assert ((low <= far) & (far <= high)).all()


@ALL
def test_inputs_and_outputs_that_never_change_are_absorbed(response):
    model = taught(response, np.zeros((20, 1)), np.full((20, 1), 3.0))
    np.testing.assert_allclose(model.answers(np.zeros((4, 1))), 3.0)
    np.testing.assert_allclose(model.error, 0.0, atol=1e-12)


def test_no_rows_are_answered_with_none():
    inputs, _, outputs = lesson(20)
    for response in RESPONSES[:4]:
        assert taught(response, inputs, outputs).answers(np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KernelRidge(ridges=()), "ridge"),
        (lambda: KernelRidge(ridges=(0.0, 0.1)), "0 repeats the rows' own targets"),
        (lambda: KernelRidge(ridges=(float("nan"),)), "ridge"),
        (lambda: NadarayaWatson(bandwidths=()), "above 0"),
        (lambda: NadarayaWatson(bandwidths=(0.0,)), "above 0"),
        (lambda: NadarayaWatson(bandwidths=(float("nan"),)), "above 0"),
        (lambda: RandomForest(depths=()), "at least 1"),
        (lambda: RandomForest(depths=(0,)), "at least 1"),
        (lambda: AdaBoost(trees=0), "at least 1"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(BadInput, match=message):
        make()
