"""How well a score finds the rows that stand out, as REPS needs it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from understudy.curator.result import Direction, Result, absent, resampled
from understudy.curator.weighted import Values, Weights, mean, ratio, resampling, sums

TOP = 0.1


@dataclass(frozen=True)
class ScorerQuality:
    """A score beside the rows' own outlier scores, which look at whole rows without noise."""

    correlation: Result
    """Spearman's rank correlation."""
    recall: Result
    """Of the tenth that stands out most, the share that is in the score's own top tenth."""


def scorer_quality(
    scores: NDArray[np.float64], outliers: NDArray[np.float64], rng: np.random.Generator
) -> ScorerQuality:
    """Compare a score with outlier scores of the same rows."""
    read = f"{len(scores):,} rows"
    names = ("Spearman correlation with outlier scores", "recall of the top decile")
    top = [top_tenth(values) for values in (scores, outliers)]
    if not top[1].any() or np.ptp(scores) == 0:
        why = "too few rows for a top decile, or all score the same"
        nothing = [absent(name, Direction.HIGHER, read, why) for name in names]
        return ScorerQuality(nothing[0], nothing[1])
    weights = resampling(len(scores), rng)
    recall = ratio(sums(top[0] & top[1], weights), sums(top[1], weights))
    ranks = [rankdata(values) for values in (scores, outliers)]
    return ScorerQuality(
        resampled(
            names[0],
            _correlation(ranks[0], ranks[1], weights),
            Direction.HIGHER,
            read,
            absent="all rows stand out alike",
        ),
        resampled(names[1], recall, Direction.HIGHER, read),
    )


def top_tenth(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which are the highest tenth; ties are cut by place."""
    chosen = np.zeros(len(values), bool)
    chosen[np.argsort(-values, kind="stable")[: int(TOP * len(values))]] = True
    return chosen


def _correlation(x: Values, y: Values, weights: Weights) -> Values:
    def covariance(a: Values, b: Values) -> Values:
        return mean(a * b, weights) - mean(a, weights) * mean(b, weights)

    # Centred first, for the difference of two large means loses digits.
    x, y = x - x.mean(), y - y.mean()
    return ratio(covariance(x, y), np.sqrt(covariance(x, x) * covariance(y, y)))
