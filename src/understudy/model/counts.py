"""Noisy counts of one column, put together and made fit to draw from."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.answers import Measurement

Counts = NDArray[np.float64]
_MOST_ROWS = 2.0**40


def combined(measurements: Iterable[Measurement]) -> tuple[Counts, Counts]:
    """The mean of measurements of one marginal, each by its precision, and its variance."""
    weight: Counts | float = 0.0
    weighted: Counts | float = 0.0
    for measurement in measurements:
        precision = np.broadcast_to(1 / np.square(measurement.scale), measurement.values.shape)
        weight = weight + precision
        weighted = weighted + precision * measurement.values
    return np.asarray(weighted / weight), np.asarray(1 / np.asarray(weight))


def row_total(measurements: Iterable[Measurement]) -> float:
    """How many rows there are: every marginal adds up to it, and is trusted by its noise."""
    weight = weighted = 0.0
    for measurement in measurements:
        spread = np.broadcast_to(np.square(measurement.scale), measurement.values.shape)
        precision = 1 / float(spread.sum())
        weight += precision
        weighted += precision * float(measurement.values.sum())
    return weighted / weight


def believable_total(measurements: Sequence[Measurement]) -> float:
    """How many rows there are, where noise may have made that absurd: from 1 to 2⁴⁰."""
    return min(max(row_total(measurements), 1.0), _MOST_ROWS) if measurements else 1.0


def fitted(values: Counts, variance: Counts, total: float) -> Counts:
    """The nearest counts that are not negative and add up to the total.

    Nearest by squares over variances: cells move by a common step times their variance, and
    those that would fall below zero stay there.

    >>> fitted(np.array([8.0, 3.0, -2.0]), np.ones(3), 10.0)
    array([7.5, 2.5, 0. ])
    """
    # The total falls as the step grows; between two cells that reach zero it falls evenly.
    order = np.argsort(-values / variance)
    ordered, spread = values[order], variance[order]
    steps = (np.cumsum(ordered) - total) / np.cumsum(spread)
    kept = int(np.flatnonzero(ordered - steps * spread > 0)[-1])
    counts: Counts = np.maximum(values - steps[kept] * variance, 0.0)
    return counts
