"""Inputs that are made up from real ones, and the controls of the LK-2SS paper. Not private."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.model.latin_hypercube import correlation_near, middles, places
from understudy.twostage.marginal import Smoothed

Numbers = NDArray[np.float64]


class FirstStage(Protocol):
    """A way to make inputs."""

    name: ClassVar[str]

    def made(self, real: Numbers, rng: np.random.Generator) -> Numbers:
        """As many rows as there are, of the same columns."""


@dataclass(frozen=True)
class LatinHypercube:
    """Each column by its smoothed law; columns are tied as their normal scores correlate.

    The paper takes the covariance in place of that correlation, and what comes out is then not
    spread as the columns are, unless each has variance 1.
    """

    shrink: bool = True
    """Whether variances stay as they are, though smoothing adds to them."""
    bandwidths: tuple[float, ...] = ()
    """Of kernels, to choose from by 5 folds; without any, a rule of thumb."""

    name: ClassVar[str] = "latin hypercube"

    def made(self, real: Numbers, rng: np.random.Generator) -> Numbers:
        """As many rows as there are, of the same columns."""
        rows, columns = real.shape
        if not real.size:
            return real.copy()
        given = places(rows, normal_correlation(real), rng)
        parts, found = middles(rows), np.empty((rows, columns))
        for column in range(columns):
            law = Smoothed.of(real[:, column], shrink=self.shrink, bandwidths=self.bandwidths)
            found[:, column] = law.quantiles(parts)[given[:, column]]
        return found


@dataclass(frozen=True)
class Uniform:
    """Any number of a column's range is as likely as any other."""

    name: ClassVar[str] = "uniform"

    def made(self, real: Numbers, rng: np.random.Generator) -> Numbers:
        """As many rows as there are, of the same columns."""
        return _spread(real, rng.random(real.shape))


@dataclass(frozen=True)
class Weibull:
    """Far from uniform: a Weibull law of shape 8, 1 of which is a column's range."""

    shape: float = 8.0

    name: ClassVar[str] = "Weibull"

    def made(self, real: Numbers, rng: np.random.Generator) -> Numbers:
        """As many rows as there are, of the same columns."""
        return _spread(real, rng.weibull(self.shape, real.shape))


@dataclass(frozen=True)
class Cauchy:
    """Far from anything: a Cauchy law, 1 of which is a column's range."""

    name: ClassVar[str] = "Cauchy"

    def made(self, real: Numbers, rng: np.random.Generator) -> Numbers:
        """As many rows as there are, of the same columns."""
        return _spread(real, rng.standard_cauchy(real.shape))


def normal_correlation(real: Numbers) -> Numbers:
    """The correlation of columns' normal scores; that of a constant column is 0."""
    from scipy.special import ndtri  # noqa: PLC0415 - takes long to load
    from scipy.stats import rankdata  # noqa: PLC0415 - the same

    rows, columns = real.shape
    if rows < 2:  # noqa: PLR2004 - nothing varies
        return np.eye(columns)
    scores = ndtri((rankdata(real, axis=0) - 0.5) / rows)
    with np.errstate(all="ignore"):
        found = np.corrcoef(scores.T).reshape(columns, columns)
    return correlation_near(found)


def _spread(real: Numbers, shares: Numbers) -> Numbers:
    if not len(real):
        return real.copy()
    low, high = real.min(axis=0), real.max(axis=0)
    return np.asarray(low + (high - low) * shares)
