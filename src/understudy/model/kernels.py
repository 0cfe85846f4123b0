"""Kernels: how alike two points are, by their distance alone. Each is 1 at distance 0.

Of all three, matrices of kernel values are positive definite in any number of dimensions: Gaussian
and Matérn by nature, and Wendland because its power grows with the dimension.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.errors import BadInput

Numbers = NDArray[np.float64]


class Kernel(Protocol):
    """A function of the distance between two points."""

    @property
    def length(self) -> float:
        """The distance over which it falls; 0 where that is chosen when a model is fitted."""

    def at(self, squared: Numbers, dimension: int) -> Numbers:
        """Its values at squared distances between points of so many dimensions."""


class _Lengthy:
    length: float

    def __post_init__(self) -> None:
        if not (isinstance(self.length, int | float) and 0 <= self.length < np.inf):
            msg = f"The length of a kernel is {self.length}; give a number above 0, or 0 to choose."
            raise BadInput(msg)


@dataclass(frozen=True)
class Wendland(_Lengthy):
    """Twice differentiable, and 0 beyond its length: (1 - r)ᵉ (e r + 1), with e = ⌊d/2⌋ + 3.

    With e = 4, which the LK-2SS paper takes, it is positive definite in up to 3 dimensions only.
    """

    length: float = 0.0

    name: ClassVar[str] = "wendland"

    def at(self, squared: Numbers, dimension: int) -> Numbers:
        """Its values at squared distances between points of so many dimensions."""
        power = dimension // 2 + 3
        far = np.sqrt(np.maximum(squared, 0.0)) / self.length
        return np.asarray(np.maximum(1 - far, 0.0) ** power * (power * far + 1))


@dataclass(frozen=True)
class Gaussian(_Lengthy):
    """Infinitely smooth: exp(-r² / 2)."""

    length: float = 0.0

    name: ClassVar[str] = "gaussian"

    def at(self, squared: Numbers, dimension: int) -> Numbers:
        """Its values at squared distances, in any number of dimensions."""
        del dimension
        return np.asarray(np.exp(-np.maximum(squared, 0.0) / (2 * self.length**2)))


@dataclass(frozen=True)
class Matern(_Lengthy):
    """Twice differentiable, with a long tail: (1 + s + s²/3) exp(-s), with s = √5 r."""

    length: float = 0.0

    name: ClassVar[str] = "matern"

    def at(self, squared: Numbers, dimension: int) -> Numbers:
        """Its values at squared distances, in any number of dimensions."""
        del dimension
        far = np.sqrt(5 * np.maximum(squared, 0.0)) / self.length
        return np.asarray((1 + far + far**2 / 3) * np.exp(-far))


def squared_distances(some: Numbers, others: Numbers) -> Numbers:
    """Between all pairs of points, by row."""
    found = (some**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * (some @ others.T)
    return np.asarray(np.maximum(found, 0.0))


def kernel_matrix(kernel: Kernel, some: Numbers, others: Numbers) -> Numbers:
    """Of all pairs of points, by row."""
    return kernel.at(squared_distances(some, others), some.shape[1])
