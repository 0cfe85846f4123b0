"""A sum of kernels: as one would add it up, and files read strictly."""

import json

import numpy as np
import pytest

from understudy.model.kernel_scorer import KernelScorer
from understudy.model.kernels import Gaussian, kernel_matrix
from understudy.privacy.spelling import DEFECTS

SIZES = {"a": 6, "b": 3}
KERNEL = Gaussian(0.5)
STEP = 1e-3


def scorer(*, chances=False, outputs=2, profile=6000):
    rng = np.random.default_rng(0)
    inputs = {"a": rng.random((6, 1)), "b": np.eye(3) / 2}
    profile = KERNEL.at(STEP * np.arange(profile), 4)
    points, weights = rng.random((5, 4)), rng.normal(size=(5, outputs)) / 5
    return KernelScorer(inputs, points, weights, np.full(outputs, 0.4), profile, STEP, chances)


def codes(rows=300):
    rng = np.random.default_rng(1)
    return {name: rng.integers(0, size, rows).astype(np.uint8) for name, size in SIZES.items()}


def places(one, some):
    return np.concatenate([one.inputs[name][some[name]] for name in one.inputs], axis=1)


def test_it_adds_up_kernels_around_points():
    one, some = scorer(), codes()
    plain = kernel_matrix(KERNEL, places(one, some), one.points) @ one.weights + one.centre
    np.testing.assert_allclose(one(some), plain, atol=1e-5)


def test_beyond_its_profile_a_kernel_is_0():
    one, some = scorer(profile=100), codes()
    away = ((places(one, some)[:, None] - one.points) ** 2).sum(axis=2)
    near = np.where(away < 99 * STEP, KERNEL.at(away, 4), 0.0)
    # Between the last number of the profile and the next, which is 0, it falls.
    clear = ~((away > 99 * STEP) & (away < 100 * STEP)).any(axis=1)
    assert clear.sum() > 200
    np.testing.assert_allclose(one(some)[clear], (near @ one.weights + 0.4)[clear], atol=1e-5)


def test_chances_are_told_by_their_logarithm_and_never_0():
    plain, logs = scorer()(codes()), scorer(chances=True)(codes())
    np.testing.assert_allclose(np.exp(logs), np.maximum(plain, 1e-3))


def test_a_model_without_weights_says_the_same_of_all_rows():
    one = scorer()
    assert not one.idle
    assert one.outputs == 2
    content = one.to_json() | {"weights": [[0.0, 0.0]] * 5}
    assert KernelScorer.from_json(content, SIZES).idle


@pytest.mark.parametrize("chances", [False, True])
def test_a_model_comes_back_and_says_the_same(chances):
    one = scorer(chances=chances)
    again = KernelScorer.from_json(json.loads(json.dumps(one.to_json())), SIZES)
    np.testing.assert_array_equal(again(codes()), one(codes()))
    assert again(codes(0)).shape == (0, 2)


NAN = float("nan")


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": {}},
        {"inputs": {"a": [[0.0]] * 6}},
        {"inputs": {"a": [0.0] * 6, "b": [[0.0] * 3] * 3}},
        {"inputs": {"a": [[0.0]] * 5, "b": [[0.0] * 3] * 3}},
        {"inputs": {"a": [[NAN]] * 6, "b": [[0.0] * 3] * 3}},
        {"inputs": {"z": [[0.0]] * 6, "b": [[0.0] * 3] * 3}},
        {"points": [[0.0] * 3] * 5},
        {"points": [[0.0] * 4] * 4},
        {"points": [[NAN] * 4] * 5},
        {"points": "no"},
        {"weights": [0.0] * 5},
        {"weights": [[0.0]] * 5},
        {"weights": [[]] * 5, "centre": []},
        {"centre": [0.0]},
        {"centre": [NAN, 0.0]},
        {"profile": [[1.0]]},
        {"profile": [NAN]},
        {"step": 0.0},
        {"step": NAN},
        {"step": float("inf")},
        {"step": None},
    ],
    ids=str,
)
def test_a_strangers_model_that_does_not_fit_is_refused(change):
    content = scorer().to_json() | change
    with pytest.raises(DEFECTS):
        KernelScorer.from_json(content, SIZES)
