"""Statistics of weighted rows, for many weightings at once.

A bootstrap is a weighting: each row counts as often as it was drawn. So each statistic is written
once, for a matrix of weights (one weighting per line, the first of them all ones), and returns its
value and the resampled values together.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Weights = NDArray[Any]
"""One weighting per line: how often each row counts."""
Values = NDArray[np.float64]

RESAMPLES = 400
_CHUNK = 2**22
"""Weights that are computed with at once."""


def resampling(rows: int, rng: np.random.Generator, resamples: int = RESAMPLES) -> Weights:
    """A weighting of ones, and Poisson(1) weightings: the bootstrap of independent rows."""
    weights = np.ones((1 + resamples, rows), np.uint8)
    for line in weights[1:]:
        line[:] = rng.poisson(1.0, rows)
    return weights


def blocks(weights: Weights) -> Iterator[tuple[slice, Values]]:
    """The weightings, a few at a time, as doubles."""
    lines = max(1, _CHUNK // max(1, weights.shape[1]))
    for first in range(0, len(weights), lines):
        part = slice(first, first + lines)
        yield part, weights[part].astype(np.float64)


def sums(numbers: NDArray[Any], weights: Weights) -> Values:
    """The weighted sum of a number per row."""
    values = np.empty(len(weights))
    for part, block in blocks(weights):
        values[part] = block @ numbers
    return values


def mean(contributions: Values, weights: Weights) -> Values:
    """The mean of a number per row."""
    return ratio(sums(contributions, weights), sums(np.ones(weights.shape[1]), weights))


def auc(scores: Values, positive: NDArray[np.bool_], weights: Weights) -> Values:
    """How often a positive row scores above a negative one; ties count half.

    >>> scores = np.array([0.1, 0.4, 0.35, 0.8])
    >>> auc(scores, np.array([False, False, True, True]), np.ones((1, 4)))
    array([0.75])
    """
    order = np.argsort(scores, kind="stable")
    ordered, labels = scores[order], positive[order]
    values = np.full(len(weights), np.nan)
    if not len(scores):
        return values
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    for part, block in blocks(weights):
        weighted = block[:, order]
        ups = np.add.reduceat(weighted * labels, starts, axis=1)
        downs = np.add.reduceat(weighted * ~labels, starts, axis=1)
        below = np.cumsum(downs, axis=1) - downs / 2
        values[part] = ratio((ups * below).sum(axis=1), ups.sum(axis=1) * downs.sum(axis=1))
    return values


def true_positives(
    scores: Values, positive: NDArray[np.bool_], weights: Weights, false_positives: float
) -> Values:
    """The share of positive rows found at the threshold with at most that false-positive rate."""
    order = np.argsort(-scores, kind="stable")
    ordered, labels = scores[order], positive[order]
    values = np.full(len(weights), np.nan)
    if not len(scores):
        return values
    ends = np.flatnonzero(np.r_[ordered[1:] != ordered[:-1], True])
    for part, block in blocks(weights):
        weighted = block[:, order]
        found = np.cumsum(weighted * labels, axis=1)[:, ends]
        wrong = np.cumsum(weighted * ~labels, axis=1)[:, ends]
        within = wrong <= false_positives * wrong[:, -1:]
        # Thresholds fall, so the last one within the rate finds the most.
        best = np.where(within, found, 0.0).max(axis=1)
        values[part] = np.where(wrong[:, -1] > 0, ratio(best, found[:, -1]), np.nan)
    return values


def permutation_p(
    scores: Sequence[Values],
    positive: NDArray[np.bool_],
    rng: np.random.Generator,
    permutations: int,
) -> Values:
    """By score, how often labels dealt out at random have an AUC as high as these labels."""
    rows = len(positive)
    if not rows:
        return np.ones(len(scores))
    # Ranks around 0 and of about 1, so that sums in single precision differ by rounding alone.
    ranks = np.column_stack([rankdata(one) / rows - 0.5 for one in scores]).astype(np.float32)
    found = positive.astype(np.float32) @ ranks
    as_high = np.zeros(len(scores))
    lines = max(1, _CHUNK // rows)
    for first in range(0, permutations, lines):
        deals = np.tile(positive, (min(lines, permutations - first), 1))
        dealt = rng.permuted(deals, axis=1).astype(np.float32) @ ranks
        as_high += (dealt >= found - 1e-4).sum(axis=0)
    return np.asarray((1 + as_high) / (1 + permutations))


def ratio(above: Values, below: Values) -> Values:
    """The quotient; NaN where there is nothing to divide by."""
    quotient: Values = np.full(len(above), np.nan)
    np.divide(above, below, out=quotient, where=below > 0)
    return quotient
