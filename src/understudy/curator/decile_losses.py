"""What records lost that stand out about as far."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.curator.deciles import DECILES, Tenths


@dataclass(frozen=True)
class DecileLoss:
    """The losses of a tenth of the records, as ε."""

    decile: int
    """1 the most common … 10 the rarest."""
    rows: int
    mean: float
    median: float
    largest: float
    lighter: float
    """The share of them that counts less than others."""


def by_decile(
    deciles: Tenths, lost: NDArray[np.float64], light: NDArray[np.bool_]
) -> tuple[DecileLoss, ...]:
    """Losses added up; deciles that nobody is in are left out."""
    found = []
    for decile in range(1, DECILES + 1):
        here = deciles == decile
        if here.any():
            own = lost[here]
            found.append(
                DecileLoss(
                    decile,
                    int(here.sum()),
                    float(own.mean()),
                    float(np.median(own)),
                    float(own.max()),
                    float(light[here].mean()),
                )
            )
    return tuple(found)
