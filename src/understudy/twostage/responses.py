"""Models that are taught the real rows and answer for synthetic ones. Not private."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.errors import BadInput
from understudy.model.kernel_ridge import LEAST_RIDGE, kernel_ridge, with_ridge
from understudy.model.kernels import Gaussian, Kernel, Wendland, squared_distances

Numbers = NDArray[np.float64]
_RIDGES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
_FOLDS = 5
_AT_ONCE = 2**12
_SEEN = 2000
"""So many rows tell which bandwidth or depth suits."""
_BANDWIDTHS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_DEPTHS = (2, 4, 6, 8, 10)
_TREES = 100


@dataclass(frozen=True, eq=False)
class Answering:
    """A model that was taught: what it says of rows, and its mean squared error on others."""

    answers: Callable[[Numbers], Numbers]
    """By row and output."""
    error: Numbers
    """By output, on rows that were left out."""


Learner = Callable[[Numbers, Numbers], Callable[[Numbers], Numbers]]
"""From inputs and outputs to what is said of other inputs."""


class Response(Protocol):
    """A way to learn outputs from inputs; inputs come in units of about their range."""

    name: ClassVar[str]

    def taught(self, inputs: Numbers, outputs: Numbers, rng: np.random.Generator) -> Answering:
        """A model of some rows."""

    def settled(self, inputs: Numbers, outputs: Numbers, rng: np.random.Generator) -> Learner:
        """The same with settings that some rows chose, for other rows."""


@dataclass(frozen=True)
class KernelRidge:
    """The paper's: a smooth function, its λ (and the kernel's length) by 5 folds."""

    kernel: Kernel = field(default_factory=Wendland)
    ridges: tuple[float, ...] = _RIDGES

    name: ClassVar[str] = "kernel ridge"

    def __post_init__(self) -> None:
        if not self.ridges or not all(LEAST_RIDGE <= ridge < np.inf for ridge in self.ridges):
            msg = f"Each ridge must be at least {LEAST_RIDGE:g}; 0 repeats the rows' own targets."
            raise BadInput(msg)

    def taught(self, inputs: Numbers, outputs: Numbers, rng: np.random.Generator) -> Answering:
        """A model of some rows."""
        model = kernel_ridge(inputs, outputs, self.kernel, self.ridges, rng)
        return Answering(model, model.error)

    def settled(self, inputs: Numbers, outputs: Numbers, rng: np.random.Generator) -> Learner:
        """The same with settings that some rows chose, for other rows."""
        chosen = kernel_ridge(inputs, outputs, self.kernel, self.ridges, rng)
        return partial(with_ridge, kernel=chosen.kernel, ridge=chosen.ridge)


class _Tried(ABC):
    """The best of several settings, by 5 folds."""

    def taught(self, inputs: Numbers, outputs: Numbers, rng: np.random.Generator) -> Answering:
        """A model of some rows."""
        learn, error = self._best(inputs, outputs, rng)
        return Answering(learn(inputs, outputs), error)

    def settled(self, inputs: Numbers, outputs: Numbers, rng: np.random.Generator) -> Learner:
        """The same with settings that some rows chose, for other rows."""
        return self._best(inputs, outputs, rng)[0]

    def _best(
        self, inputs: Numbers, outputs: Numbers, rng: np.random.Generator
    ) -> tuple[Learner, Numbers]:
        some = rng.permutation(len(inputs))[:_SEEN]
        learners = self._learners(rng)
        errors = [_left_out(learn, inputs[some], outputs[some]) for learn in learners]
        best = int(np.argmin([error.sum() for error in errors]))
        return learners[best], errors[best]

    @abstractmethod
    def _learners(self, rng: np.random.Generator) -> list[Learner]:
        """One for each setting."""


@dataclass(frozen=True)
class NadarayaWatson(_Tried):
    """The mean of all outputs, each by how near its row is; the bandwidth by 5 folds."""

    bandwidths: tuple[float, ...] = _BANDWIDTHS

    name: ClassVar[str] = "Nadaraya-Watson"

    def __post_init__(self) -> None:
        if not self.bandwidths or not all(0 < width < np.inf for width in self.bandwidths):
            msg = "Bandwidths are numbers above 0, at least one."
            raise BadInput(msg)

    def _learners(self, rng: np.random.Generator) -> list[Learner]:
        del rng  # nothing is drawn
        return [_local(width) for width in self.bandwidths]


@dataclass(frozen=True)
class _Trees(_Tried):
    """Decision trees, many of them; their depth by 5 folds."""

    depths: tuple[int, ...] = _DEPTHS
    trees: int = _TREES

    def __post_init__(self) -> None:
        if not self.depths or min(self.trees, *self.depths) < 1:
            msg = "Depths and the number of trees are whole numbers, at least 1."
            raise BadInput(msg)

    def _learners(self, rng: np.random.Generator) -> list[Learner]:
        seed = int(rng.integers(2**31))
        return [self._learner(depth, seed) for depth in self.depths]

    def _learner(self, depth: int, seed: int) -> Learner:
        def learn(inputs: Numbers, outputs: Numbers) -> Callable[[Numbers], Numbers]:
            grown = [self._tree(depth, seed).fit(inputs, output) for output in outputs.T]
            return lambda rows: np.column_stack([model.predict(rows) for model in grown])

        return learn

    @abstractmethod
    def _tree(self, depth: int, seed: int) -> Any:  # noqa: ANN401 - scikit-learn ships no types
        """Trees that have not grown yet."""


@dataclass(frozen=True)
class RandomForest(_Trees):
    """Trees of rows drawn anew, and their mean."""

    name: ClassVar[str] = "random forest"

    def _tree(self, depth: int, seed: int) -> Any:  # noqa: ANN401 - as above
        from sklearn.ensemble import RandomForestRegressor  # noqa: PLC0415 - takes long to load

        return RandomForestRegressor(self.trees, max_depth=depth, random_state=seed)


@dataclass(frozen=True)
class AdaBoost(_Trees):
    """Trees, each for what those before it got wrong."""

    name: ClassVar[str] = "AdaBoost"

    def _tree(self, depth: int, seed: int) -> Any:  # noqa: ANN401 - as above
        from sklearn.ensemble import AdaBoostRegressor  # noqa: PLC0415 - takes long to load
        from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415 - the same

        tree = DecisionTreeRegressor(max_depth=depth)
        return AdaBoostRegressor(tree, n_estimators=self.trees, random_state=seed)


def _local(width: float) -> Learner:
    """Means of outputs by a Gaussian kernel; far from all rows, that of the nearest."""
    kernel = Gaussian(width)

    def learn(inputs: Numbers, outputs: Numbers) -> Callable[[Numbers], Numbers]:
        def answers(rows: Numbers) -> Numbers:
            parts = []
            for start in range(0, len(rows), _AT_ONCE):
                away = squared_distances(rows[start : start + _AT_ONCE], inputs)
                # Of the nearest row the kernel is 1: no division by 0.
                near = kernel.at(away - away.min(axis=1, keepdims=True), inputs.shape[1])
                parts.append(near @ outputs / near.sum(axis=1, keepdims=True))
            return np.concatenate([*parts, np.zeros((0, outputs.shape[1]))])

        return answers

    return learn


def _left_out(learn: Learner, inputs: Numbers, outputs: Numbers) -> Numbers:
    """By output: the mean squared error on rows that were left out, fold by fold."""
    folds, error = np.arange(len(inputs)) % _FOLDS, np.zeros(outputs.shape[1])
    for fold in range(_FOLDS):
        out = folds == fold
        if out.any() and not out.all():
            said = learn(inputs[~out], outputs[~out])(inputs[out])
            error += ((said - outputs[out]) ** 2).sum(axis=0)
    return np.asarray(error / max(len(inputs), 1))
