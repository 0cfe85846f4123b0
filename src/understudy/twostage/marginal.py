"""The law of one column: a kernel density estimate, told by its quantiles."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import BadInput

Numbers = NDArray[np.float64]
_EXACT = 10**4
"""Of more values, equally likely quantiles stand for all of them."""
_QUANTILES = 1000
_KNOTS = 500
_AROUND = np.array([-8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0])
"""Around values, in bandwidths: where the law is computed."""
_FOLDS = 5
_RULE = 0.9
"""Silverman's rule of thumb."""


@dataclass(frozen=True, eq=False)
class Smoothed:
    """F(x) = mean Φ((x - xₖ) / h): in closed form, and inverted between knots.

    A kernel adds h² to the variance; with `shrink` values are drawn together before, so that mean
    and variance stay. Nothing lies outside the range of the values.
    """

    knots: Numbers
    below: Numbers
    """Of each knot, the probability below it."""
    bandwidth: float

    @classmethod
    def of(
        cls, values: Numbers, *, shrink: bool = True, bandwidths: tuple[float, ...] = ()
    ) -> "Smoothed":
        """Of some values; the bandwidth goes by a rule, or is the best of some by 5 folds."""
        from scipy.special import ndtr  # noqa: PLC0415 - takes long to load

        if not all(0 < width < np.inf for width in bandwidths):
            msg = "Bandwidths are numbers above 0."
            raise BadInput(msg)
        values = np.sort(values)
        low, high = values[0], values[-1]
        if low == high:
            return cls(np.array([low, high]), np.array([0.0, 1.0]), 0.0)
        mean, spread, width = values.mean(), values.std(), _rule(values)
        if len(values) > _EXACT:
            values = np.quantile(values, (np.arange(_QUANTILES) + 0.5) / _QUANTILES)
        if bandwidths:
            width = _best(values, bandwidths)
        if shrink:
            factor = 1 / np.hypot(1, width / spread)
            values, width = mean + (values - mean) * factor, width * factor
        some = values[np.unique(np.linspace(0, len(values) - 1, _KNOTS).astype(int))]
        knots = np.unique(np.clip((some[:, None] + width * _AROUND).ravel(), low, high))
        below = np.array([ndtr((knot - values) / width).mean() for knot in knots])
        below = np.maximum.accumulate(below)
        return cls(knots, (below - below[0]) / (below[-1] - below[0]), width)

    def quantiles(self, probabilities: Numbers) -> Numbers:
        """The values below which so much of the law lies."""
        return np.asarray(np.interp(probabilities, self.below, self.knots))


def _rule(values: Numbers) -> float:
    low, high = np.quantile(values, [0.25, 0.75])
    spread = min(values.std(), (high - low) / 1.34) or values.std()
    return float(_RULE * spread * len(values) ** -0.2)


def _best(values: Numbers, bandwidths: tuple[float, ...]) -> float:
    """The bandwidth by which values that were left out are likeliest."""
    folds = np.arange(len(values)) % _FOLDS
    likelihood = []
    for width in bandwidths:
        told = 0.0
        for fold in range(_FOLDS):
            away = (values[folds == fold][:, None] - values[folds != fold]) / width
            told += float(np.log(np.exp(-(away**2) / 2).mean(axis=1) / width + 1e-300).sum())
        likelihood.append(told)
    return bandwidths[int(np.argmax(likelihood))]
