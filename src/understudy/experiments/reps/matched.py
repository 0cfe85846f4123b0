"""The advantage of an attack on members over non-members that stand out as far as they do.

Deciles have their edges where a third, disjoint sample has them; the same sample is what the attack
compares distances with. Signed: below 0 is worse than guessing, and guessing is 0 in the mean.
"""

from dataclasses import dataclass

import numpy as np

from understudy.curator.space import Distances, Points, neighbours, outlier_scores
from understudy.curator.weighted import auc

DECILES = 10
_NEIGHBOURS = 5
_FEWEST = 5
"""Fewer members or non-members than this say nothing."""


@dataclass(frozen=True)
class Matched:
    """2·AUC − 1, signed."""

    overall: float
    deciles: tuple[float, ...]
    """From those that stand out least to those that do most; NaN where there are few rows."""

    @property
    def top(self) -> float:
        """Of the decile that stands out most."""
        return self.deciles[-1]


def matched(members: Points, others: Points, reference: Points, synthetic: Points) -> Matched:
    """A density-ratio attack on synthetic rows, judged within deciles."""
    attacked = np.vstack([members, others])
    is_member = np.arange(len(attacked)) < len(members)

    def near(points: Points) -> Distances:
        return np.asarray(neighbours(attacked, points, _NEIGHBOURS)[0].mean(axis=1))

    scores = np.log(near(reference)) - np.log(near(synthetic))
    edges = np.quantile(outlier_scores(reference), np.arange(1, DECILES) / DECILES)
    decile = np.searchsorted(edges, outlier_scores(reference, attacked))

    def advantage(among: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> float:
        held = is_member[among]
        if min(held.sum(), (~held).sum()) < _FEWEST:
            return float("nan")
        return float(2 * auc(scores[among], held, np.ones((1, len(held))))[0] - 1)

    everyone = np.ones(len(attacked), bool)
    return Matched(advantage(everyone), tuple(advantage(decile == k) for k in range(DECILES)))
