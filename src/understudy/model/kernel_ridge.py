"""Kernel ridge regression: exact on up to a few thousand rows, on chosen points beyond.

It minimises the mean squared error plus λ ‖f‖². Which λ (and which length of the kernel) is chosen
by cross-validation; λ = 0, which would repeat the rows' own targets, is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.errors import BadInput
from understudy.model.kernels import Kernel, kernel_matrix

Numbers = NDArray[np.float64]
LEAST_RIDGE = 1e-6
LENGTHS = (0.5, 1.0, 2.0, 4.0)
"""Lengths to choose from, times √d."""
_EXACT = 3000
"""Of more rows, a kernel matrix takes too long to solve many times."""
_POINTS = 1000
_FOLDS = 5
_SEEN = 1000
"""So many rows tell which length suits."""
_AT_ONCE = 2**13
_JITTER = 1e-8


@dataclass(frozen=True, eq=False)
class KernelModel:
    """A sum of kernels around points, and what cross-validation said of it."""

    kernel: Kernel
    points: Numbers
    weights: Numbers
    """By point and output."""
    centre: Numbers
    """By output: what is said far away from all points."""
    ridge: float
    error: Numbers
    """By output: the mean squared error on rows that were left out."""

    def __call__(self, inputs: Numbers) -> Numbers:
        """What it says of some rows, by row and output."""
        parts = [
            kernel_matrix(self.kernel, inputs[start : start + _AT_ONCE], self.points) @ self.weights
            for start in range(0, len(inputs), _AT_ONCE)
        ]
        return np.concatenate([*parts, np.zeros((0, len(self.centre)))]) + self.centre


def kernel_ridge(
    inputs: Numbers,
    outputs: Numbers,
    kernel: Kernel,
    ridges: Sequence[float],
    rng: np.random.Generator,
) -> KernelModel:
    """The model of some rows; the kernel's length is chosen where it is 0."""
    if not len(ridges) or not all(LEAST_RIDGE <= ridge < np.inf for ridge in ridges):
        msg = f"Each ridge must be at least {LEAST_RIDGE:g}: with less, rows' own targets come out."
        raise BadInput(msg)
    centre = outputs.mean(axis=0)
    folds = np.argsort(rng.random(len(inputs))) % _FOLDS
    if not kernel.length:
        kernel = _best_length(inputs, outputs, kernel, ridges, rng)
    left = outputs - centre
    if len(inputs) <= _EXACT:
        points = inputs
        fit: _Exact | _Nystrom = _Exact(kernel_matrix(kernel, inputs, inputs), left)
    else:
        points = inputs[np.sort(rng.choice(len(inputs), _POINTS, replace=False))]
        fit = _Nystrom.of(kernel, inputs, left, points, folds)
    errors = fit.errors(folds, ridges)
    best = int(errors.sum(axis=1).argmin())
    weights = fit.weights(ridges[best])
    return KernelModel(kernel, points, weights, centre, ridges[best], errors[best])


def with_ridge(inputs: Numbers, outputs: Numbers, kernel: Kernel, ridge: float) -> KernelModel:
    """The exact model with settings that are known; its error is not looked into."""
    centre = outputs.mean(axis=0)
    weights = _solved(kernel_matrix(kernel, inputs, inputs), outputs - centre, ridge)
    return KernelModel(kernel, inputs, weights, centre, ridge, np.full(len(centre), np.nan))


def _best_length(
    inputs: Numbers,
    outputs: Numbers,
    kernel: Kernel,
    ridges: Sequence[float],
    rng: np.random.Generator,
) -> Kernel:
    """The kernel with the length that leaves the least error, on some of the rows."""
    some = rng.permutation(len(inputs))[:_SEEN]
    folds = np.arange(len(some)) % _FOLDS
    left = outputs[some] - outputs[some].mean(axis=0)
    found = []
    for length in LENGTHS:
        tried = replace(kernel, length=length * np.sqrt(inputs.shape[1]))  # type: ignore[type-var]
        fit = _Exact(kernel_matrix(tried, inputs[some], inputs[some]), left)
        found.append((float(fit.errors(folds, ridges).sum(axis=1).min()), tried))
    return min(found, key=lambda one: one[0])[1]


@dataclass(frozen=True, eq=False)
class _Exact:
    matrix: Numbers
    outputs: Numbers

    def errors(self, folds: NDArray[np.intp], ridges: Sequence[float]) -> Numbers:
        """By ridge and output: the mean squared error on rows that were left out."""
        found = np.zeros((len(ridges), self.outputs.shape[1]))
        for fold in range(_FOLDS):
            out = folds == fold
            if out.all() or not out.any():
                continue
            seen, across = self.matrix[np.ix_(~out, ~out)], self.matrix[np.ix_(out, ~out)]
            for place, ridge in enumerate(ridges):
                said = across @ _solved(seen, self.outputs[~out], ridge)
                found[place] += ((self.outputs[out] - said) ** 2).sum(axis=0)
        return found / len(self.outputs)

    def weights(self, ridge: float) -> Numbers:
        """By point and output."""
        return _solved(self.matrix, self.outputs, ridge)


def _solved(matrix: Numbers, outputs: Numbers, ridge: float) -> Numbers:
    sloped = matrix.copy()
    sloped[np.diag_indices_from(sloped)] += len(matrix) * ridge
    return np.asarray(np.linalg.solve(sloped, outputs))


@dataclass(frozen=True, eq=False)
class _Nystrom:
    """What ridge regression on features φ = L⁻¹ k(x, points) needs, fold by fold."""

    lower: Numbers
    """L: the points' kernel matrix is L Lᵀ."""
    gram: Numbers
    """By fold: Σ φφᵀ."""
    across: Numbers
    """By fold: Σ φ y."""
    squares: Numbers
    """By fold and output: Σ y²."""
    rows: Numbers
    """By fold."""

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        inputs: Numbers,
        outputs: Numbers,
        points: Numbers,
        folds: NDArray[np.intp],
    ) -> "_Nystrom":
        """The sums over all rows, which are looked at once."""
        count, width = len(points), outputs.shape[1]
        matrix = kernel_matrix(kernel, points, points)
        lower = np.asarray(np.linalg.cholesky(matrix + _JITTER * count * np.eye(count)), np.float64)
        whitening = np.linalg.inv(lower)
        gram = np.zeros((_FOLDS, count, count))
        across = np.zeros((_FOLDS, count, width))
        squares = np.zeros((_FOLDS, width))
        for fold in range(_FOLDS):
            rows = np.flatnonzero(folds == fold)
            for start in range(0, len(rows), _AT_ONCE):
                some = rows[start : start + _AT_ONCE]
                features = kernel_matrix(kernel, inputs[some], points) @ whitening.T
                gram[fold] += features.T @ features
                across[fold] += features.T @ outputs[some]
                squares[fold] += (outputs[some] ** 2).sum(axis=0)
        return cls(
            lower, gram, across, squares, np.bincount(folds, minlength=_FOLDS).astype(np.float64)
        )

    def errors(self, folds: NDArray[np.intp], ridges: Sequence[float]) -> Numbers:
        """By ridge and output: the mean squared error on rows that were left out."""
        del folds  # the sums go by them
        found = np.zeros((len(ridges), self.squares.shape[1]))
        for fold in range(_FOLDS):
            seen = np.arange(_FOLDS) != fold
            for place, ridge in enumerate(ridges):
                slope = self._slope(seen, ridge)
                said = 2 * (slope * self.across[fold]).sum(axis=0)
                found[place] += (
                    self.squares[fold] - said + (slope * (self.gram[fold] @ slope)).sum(axis=0)
                )
        return np.asarray(found / self.rows.sum())

    def weights(self, ridge: float) -> Numbers:
        """By point and output."""
        slope = self._slope(np.ones(_FOLDS, bool), ridge)
        return np.asarray(np.linalg.solve(self.lower.T, slope))

    def _slope(self, seen: NDArray[np.bool_], ridge: float) -> Numbers:
        gram = self.gram[seen].sum(axis=0)
        gram[np.diag_indices_from(gram)] += self.rows[seen].sum() * ridge
        return np.asarray(np.linalg.solve(gram, self.across[seen].sum(axis=0)))
