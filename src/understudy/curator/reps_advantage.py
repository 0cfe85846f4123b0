"""The membership advantage as the REPS paper defines it, for reproducing its tables only.

It takes absolute values, compares the rarest members with all non-members, and for the density
ratio takes the non-members themselves as the reference, in which each finds itself at distance 0.
So it reports large advantages on data that leaks nothing. `understudy.curator.attacks` measures
what it means to measure.
"""

from dataclasses import dataclass

import numpy as np

from understudy.curator.space import Distances, Points, neighbours, outlier_scores
from understudy.curator.weighted import auc

_RATIO_NEIGHBOURS = 5


@dataclass(frozen=True)
class RepsAdvantage:
    """|2·AUC − 1| of members against all non-members."""

    overall: float
    top_decile: float
    median_decile: float

    @property
    def inequality(self) -> float:
        """The paper's risk inequality ratio."""
        return self.top_decile / self.median_decile if self.median_decile else float("inf")


def reps_distance(members: Points, non_members: Points, synthetic: Points) -> RepsAdvantage:
    """The paper's baseline: the nearer to a synthetic row, the likelier a member."""
    near = [neighbours(rows, synthetic, 1)[0][:, 0] for rows in (members, non_members)]
    return _advantage(members, -near[0], -near[1])


def reps_domias(members: Points, non_members: Points, synthetic: Points) -> RepsAdvantage:
    """The paper's DOMIAS-style attack, with the test split as its reference."""

    def ratio(rows: Points) -> Distances:
        to_synthetic, to_test = (
            neighbours(rows, points, _RATIO_NEIGHBOURS)[0].mean(axis=1)
            for points in (synthetic, non_members)
        )
        return np.asarray(to_test / to_synthetic)

    return _advantage(members, ratio(members), ratio(non_members))


def _advantage(members: Points, inside: Distances, outside: Distances) -> RepsAdvantage:
    order = np.argsort(outlier_scores(members))
    tenths = np.array_split(order, 10)

    def against_all(chosen: Distances) -> float:
        scores = np.concatenate([chosen, outside])
        is_member = np.arange(len(scores)) < len(chosen)
        return float(abs(2 * auc(scores, is_member, np.ones((1, len(scores))))[0] - 1))

    return RepsAdvantage(
        against_all(inside), against_all(inside[tenths[9]]), against_all(inside[tenths[4]])
    )
