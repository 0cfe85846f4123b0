"""Noisy answers: numbers that carry their scale. They are built where the noise is drawn."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.privacy.row_maps import RowMap


@dataclass(frozen=True, eq=False)
class Measurement:
    """A noisy marginal: its axes in the clique's order, in (weighted) counts."""

    clique: Clique
    values: NDArray[np.float64]
    scale: float
    """The standard deviation of each cell's noise."""


@dataclass(frozen=True, eq=False)
class NoisySum:
    """A noisy sum of a row map, in the map's own units."""

    row_map: RowMap
    values: NDArray[np.float64]
    scale: float
    """The standard deviation of each number's noise."""
