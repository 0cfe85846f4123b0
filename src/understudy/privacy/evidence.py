"""What stands out of the noise in counts of shapes.

Everything here is made from noisy numbers; no row is asked.
"""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from understudy.column import Kind

STANDS_OUT = 4.5
"""So many standard deviations: of a thousand empty cells hardly one comes near it."""
RARELY, MOST_RARELY = 5.0, 5.5
"""The same for cells of which there are thousands, and that few or very few columns need."""
FEW = 0.005
"""A smaller share of a column's values decides nothing about how they are written."""
_WINDOWS = (2, 4, 8)
Counts: TypeAlias = NDArray[np.float64]
Cells: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Written:
    """Values of one kind: how they are written, and where they lie on a public grid."""

    kind: Kind
    read: float
    """How many values this way of writing reads, about."""
    all: float
    """How many values are of this kind, however they are written."""
    masses: Counts
    scale: float
    """The standard deviation of the noise of each mass."""
    certain: Cells
    """Which cells hold values for certain."""
    facts: dict[str, Any] = field(default_factory=dict)
    assumed: bool = False
    """Whether the values fit another way of writing as well, and no value decides."""


def clear(counts: Counts, scale: float, least: float = STANDS_OUT) -> Counts:
    """Return the counts that stand out, and zero for all others."""
    return np.where(counts > least * scale, counts, 0.0)


def certain_cells(counts: Counts, scale: float, least: float) -> Cells:
    """Return which of some cells side by side hold values for certain.

    Where a row of cells holds any, a cell has to stand out less. What stands out in no single cell
    may do so in several side by side; then the fullest of these is certain.
    """
    found = counts > least * scale
    for width in _WINDOWS:
        sums = np.convolve(counts, np.ones(width), mode="valid")
        best = int(np.argmax(sums))
        if not found.any() and sums[best] > least * scale * np.sqrt(width):
            found[best + int(np.argmax(counts[best : best + width]))] = True
    if found.any():
        found |= counts > STANDS_OUT * scale
    return np.asarray(found)


def spread(counts: Counts, coarse: tuple[float, ...], fine: tuple[float, ...]) -> Counts:
    """Return counts of coarse cells on a finer grid, each spread evenly over the cells inside it.

    The edges of the coarse grid need not be edges of the finer one.

    >>> spread(np.array([1.0, 6.0, 2.0]), (0.0, 3.0), (0.0, 1.0, 2.0, 3.0))
    array([1., 2., 2., 2., 2.])
    """
    lows, highs = np.array((-np.inf, *coarse)), np.array((*coarse, np.inf))
    below, above = np.array((-np.inf, *fine)), np.array((*fine, np.inf))
    inside = (below[None, :] < highs[:, None]) & (above[None, :] > lows[:, None])
    return np.asarray((counts / inside.sum(axis=1)) @ inside)
