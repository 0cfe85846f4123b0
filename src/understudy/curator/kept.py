"""What training on synthetic rows keeps of what real rows add to guessing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.curator.result import CONFIDENCE, Direction
from understudy.curator.scores import DIRECTIONS
from understudy.curator.weighted import Values, ratio

_JUDGED = (("ROC-AUC",), ("Brier score", "balanced accuracy"), ("R²",))
"""Of each the first that there is: how well rows are put in order, and how far what is said of
each one is off (a linear SVM tells no probabilities, but decides); for a number, its error."""


@dataclass(frozen=True)
class Kept:
    """One model, judged by one score."""

    model: str
    score: str
    synthetic: float
    real: float
    guessing: float
    share: float | None
    """None where real rows add nothing themselves, beyond chance."""
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.share is None or self.low is None or self.high is None:
            return f"By {self.score}, real rows add nothing to guessing"
        return f"By {self.score} it keeps {self.share:.0%} [{self.low:.0%}, {self.high:.0%}]"


def shares_kept(
    model: str,
    ours: Sequence[dict[str, Values]],
    theirs: Sequence[dict[str, Values]],
    guessing: Sequence[dict[str, Values]],
) -> list[Kept]:
    """By score; each run has its value and values on resampled rows, the same for all three.

    The share is resampled as a whole: easy test rows are easy for both models, and what they share
    does not blur their ratio.
    """
    found = []
    for names in _JUDGED:
        for name in names:
            if name in ours[0] and not np.isnan(theirs[0][name][0]):
                found.append(_kept(model, name, ours, theirs, guessing))
                break
    return found


def _kept(
    model: str,
    name: str,
    ours: Sequence[dict[str, Values]],
    theirs: Sequence[dict[str, Values]],
    guessing: Sequence[dict[str, Values]],
) -> Kept:
    runs = [[run[name] for run in side] for side in (ours, theirs, guessing)]
    synthetic, real, chance = (float(np.mean([run[0] for run in side])) for side in runs)
    said = (model, name, synthetic, real, chance)
    sign = -1.0 if DIRECTIONS[name] is Direction.LOWER else 1.0
    again = [np.concatenate([run[1:] for run in side]) for side in runs]
    gained, added = (sign * (side - again[2]) for side in again[:2])
    defined = ~np.isnan(gained) & ~np.isnan(added)
    tails = (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2
    if 2 * defined.sum() < len(defined) or not np.quantile(added[defined], tails[0]) > 0:
        return Kept(*said, None, None, None)
    share = (synthetic - chance) / (real - chance)
    shares = ratio(gained[defined], added[defined])
    low, high = np.nanquantile(shares, tails)
    return Kept(*said, share, float(min(low, share)), float(max(high, share)))
