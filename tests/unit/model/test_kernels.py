"""Kernels: 1 at distance 0, and positive definite in any number of dimensions."""

import math

import numpy as np
import pytest

from understudy.errors import BadInput
from understudy.model.kernels import Gaussian, Matern, Wendland, kernel_matrix, squared_distances

KERNELS = [Wendland(1.5), Gaussian(0.8), Matern(0.8)]
NAMED = {"argvalues": KERNELS, "ids": lambda kernel: kernel.name}


def points(rows, dimension, seed=0):
    return np.random.default_rng(seed).random((rows, dimension))


def least_eigenvalue(kernel, where):
    return np.linalg.eigvalsh(kernel_matrix(kernel, where, where)).min()


@pytest.mark.parametrize("kernel", **NAMED)
@pytest.mark.parametrize("dimension", [1, 3, 5, 10])
def test_a_point_is_like_itself_and_less_like_others(kernel, dimension):
    assert kernel.at(np.zeros(1), dimension) == 1
    falls = kernel.at(np.linspace(0, 2, 50), dimension)
    assert (np.diff(falls) <= 0).all()
    assert falls[1] < 1


@pytest.mark.parametrize("kernel", **NAMED)
@pytest.mark.parametrize("dimension", [1, 3, 5, 10])
def test_matrices_are_positive_definite(kernel, dimension):
    for seed in range(3):
        assert least_eigenvalue(kernel, points(150, dimension, seed)) > -1e-10
    corners = np.array(list(np.ndindex(*[2] * min(dimension, 7))), float) / 2
    assert least_eigenvalue(kernel, corners) > -1e-10


@pytest.mark.parametrize("kernel", **NAMED)
def test_nothing_jumps_at_0(kernel):
    near = kernel.at(np.array([0.0, -1e-18, 1e-18, 1e-10]), 3)
    np.testing.assert_allclose(near, 1, atol=1e-8)


def on_a_grid(kernel, dimension, width, side=25):
    """Σ wᵢ wⱼ K(xᵢ, xⱼ) over all points of a grid, whose weights change sign from one to the next.

    Weights are products over columns; so pairs of points are counted by their squared distance.
    """
    steps = np.arange(side)
    weights = np.sin(np.pi * (steps + 1) / (side + 1)) * (-1.0) ** steps
    weights /= np.linalg.norm(weights)
    reach = math.ceil(width**-2) + 1
    column = np.zeros(reach)
    for apart in range(math.isqrt(reach - 1) + 1):
        column[apart**2] = weights[: side - apart] @ weights[apart:] * (2 if apart else 1)
    pairs = np.ones(1)
    for _ in range(dimension):
        pairs = np.convolve(pairs, column)[:reach]
    return pairs @ kernel(width**2 * np.arange(reach))


@pytest.mark.parametrize(("dimension", "width"), [(5, 0.22), (6, 0.29), (8, 0.26), (10, 0.27)])
def test_the_papers_kernel_is_not_positive_definite_in_five_dimensions_and_ours_is(
    dimension, width
):
    def papers(squared):
        return Wendland(1.0).at(squared, 3)

    assert on_a_grid(papers, dimension, width) < -1e-4
    assert on_a_grid(papers, 3, width) > 0
    assert on_a_grid(lambda squared: Wendland(1.0).at(squared, dimension), dimension, width) > 0


def test_pairs_on_a_grid_are_counted_as_a_matrix_has_them():
    grid = np.array(list(np.ndindex(5, 5, 5)), float)
    weights = np.sin(np.pi * (grid + 1) / 6) * (-1.0) ** grid
    weights = (weights / np.linalg.norm(weights[::25, :1])).prod(axis=1)
    matrix = kernel_matrix(Wendland(1.0), 0.4 * grid, 0.4 * grid)
    found = on_a_grid(lambda squared: Wendland(1.0).at(squared, 3), 3, 0.4, side=5)
    assert found == pytest.approx(weights @ matrix @ weights)


def test_the_papers_kernel_is_ours_in_three_dimensions_alone():
    far = np.linspace(0, 1.2, 30)
    papers = np.maximum(1 - far, 0) ** 4 * (4 * far + 1)
    np.testing.assert_allclose(Wendland(1.0).at(far**2, 3), papers, atol=1e-12)
    assert Wendland(1.0).at(far**2, 4)[5] < papers[5]


def test_wendlands_kernel_ends_at_its_length():
    assert Wendland(2.0).at(np.array([4.0, 9.0]), 3).tolist() == [0, 0]
    assert Wendland(2.0).at(np.array([3.99]), 3)[0] > 0


def test_distances_are_those_of_all_pairs_and_never_below_0():
    some, others = points(5, 3), points(4, 3, seed=1) + 1e6
    plain = ((some[:, None] - others) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(some, others), plain, rtol=1e-6)
    assert (squared_distances(others, others) >= 0).all()


@pytest.mark.parametrize("kind", [Wendland, Gaussian, Matern])
@pytest.mark.parametrize("length", [-1.0, math.nan, math.inf, "1"])
def test_lengths_that_make_no_sense_are_refused(kind, length):
    with pytest.raises(BadInput, match="length of a kernel"):
        kind(length)
