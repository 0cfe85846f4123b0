"""Kernel ridge regression with settings that are known, and those that other rows chose."""

import numpy as np
import pytest

from understudy.model.kernel_ridge import kernel_ridge, with_ridge
from understudy.model.kernels import Gaussian, Wendland
from understudy.twostage.responses import AdaBoost, KernelRidge, NadarayaWatson, RandomForest


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    inputs = rng.random((80, 2))
    return inputs, np.sin(3 * inputs[:, :1]) + rng.normal(0, 0.05, (80, 1))


def test_known_settings_give_the_model_that_a_search_ends_with(rows):
    searched = kernel_ridge(*rows, Gaussian(), (1e-4, 1e-2), np.random.default_rng(1))
    known = with_ridge(*rows, searched.kernel, searched.ridge)
    assert known(rows[0]) == pytest.approx(searched(rows[0]))
    assert np.isnan(known.error).all()


@pytest.mark.parametrize(
    "response",
    [
        KernelRidge(Wendland(1.0), (1e-4, 1e-2)),
        NadarayaWatson(),
        AdaBoost((2, 4), 10),
        RandomForest((2, 4), 10),
    ],
)
def test_settled_settings_are_those_that_teaching_takes(rows, response):
    taught = response.taught(*rows, np.random.default_rng(2))
    learn = response.settled(*rows, np.random.default_rng(2))
    said = learn(*rows)(rows[0])
    assert said.shape == (80, 1)
    if not isinstance(response, AdaBoost):  # its trees draw rows anew
        assert said == pytest.approx(taught.answers(rows[0]))
    assert ((said - rows[1]) ** 2).mean() < rows[1].var() / 2
