"""Bins of near-equal mass, from one fine noisy histogram.

A fine grid follows the coarse masses, so that it is fine where rows are. Its cells are merged
until each bin stands out of the noise; a value that many rows share stays alone. Everything here
is made from noisy numbers; no row is asked.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.encode.numbers import MOST_UNIT_BINS
from understudy.privacy.extent import extent
from understudy.privacy.spans import Span

FINE_CELLS, _FEW_CELLS = 256, 32
MOST_MERGED = 32
"""How many bins are aimed at, beside values that stay alone."""
_LEAST_PIECES = 4
_PER_CELL = 1.5
"""A fine cell should hold this many standard deviations of noise, on average."""
_CLEAR = 8.0
"""A bin should hold this many standard deviations of one cell's noise."""
_Counts = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Histogram:
    """Noisy counts of fine cells side by side; whole-number cells end before the next begins."""

    edges: tuple[float, ...]
    counts: _Counts
    scale: float
    whole: bool

    @property
    def lows(self) -> _Counts:
        """Where each cell begins."""
        return np.asarray(self.edges[:-1])

    @property
    def single(self) -> NDArray[np.bool_]:
        """Which cells hold one value only."""
        return np.diff(self.edges) == 1 if self.whole else np.zeros(len(self.counts), bool)


def fine_cells(rows: float, scale: float) -> int:
    """Return how many fine cells a column should have: fewer where noise would drown them.

    >>> fine_cells(50_000, 60.0), fine_cells(8_000, 60.0), fine_cells(500, 60.0)
    (256, 88, 32)
    """
    return int(np.clip(max(rows, 1.0) / (_PER_CELL * scale), _FEW_CELLS, FINE_CELLS))


def fine_edges(span: Span, *, whole: bool, cells: int = FINE_CELLS) -> tuple[float, ...]:
    """Edges of a fine grid over a span: each coarse cell is cut in proportion to its mass."""
    width = span.edges[-1] - span.edges[0]
    if whole and width <= max(cells, MOST_UNIT_BINS):
        return tuple(float(edge) for edge in np.arange(span.edges[0], span.edges[-1] + 1))
    share = span.masses / max(float(span.masses.sum()), 1.0)
    spare = max(cells - _LEAST_PIECES * len(share), 0)
    wanted = _LEAST_PIECES + share * spare
    pieces = 2 ** np.floor(np.log2(wanted)).astype(int)  # halves of halves make short numbers
    cuts = [
        np.linspace(low, high, count, endpoint=False)
        for low, high, count in zip(span.edges, span.edges[1:], pieces, strict=False)
    ]
    edges = np.append(np.concatenate(cuts), span.edges[-1])
    return tuple(float(edge) for edge in np.unique(np.ceil(edges) if whole else edges))


def crowded(fine: Histogram, least: float) -> list[int]:
    """Cells in which one value may be shared by many rows."""
    counts = np.where(fine.single, 0.0, fine.counts)
    rest = float(np.maximum(counts, 0).sum())
    worth = max(least, _CLEAR * fine.scale, rest / (2 * MOST_MERGED))
    return [int(cell) for cell in np.flatnonzero(counts >= worth)]


def merged(fine: Histogram, rest: _Counts, rows: float) -> list[int]:
    """Places of the cells where bins begin, and where the last one ends.

    `rest` is what the cells hold beside values that stay alone.
    """
    found = extent(fine.counts, fine.scale, rows)
    start, stop = (0, len(fine.counts)) if found is None else (found.start, found.stop)
    # A tail shares no bin with what is dense: drawn evenly, that would fill the tail with rows.
    breaks = () if found is None else found.breaks
    counts = rest[start:stop]
    alone = counts >= max(rows / MOST_MERGED, _CLEAR * fine.scale)
    together = float(np.maximum(counts[~alone], 0).sum())
    enough = max(together / MOST_MERGED, _CLEAR * fine.scale)
    begins = [start]
    mass = 0.0
    for place, count in enumerate(counts):
        full = mass >= enough or alone[place] or (place > 0 and alone[place - 1])
        full = full or start + place in breaks
        if full and start + place > begins[-1]:
            begins.append(start + place)
            mass = 0.0
        mass += float(count)
    # A last bin of little mass joins the one before, unless that is a value of its own.
    few = mass < enough / 2 and not alone[-1] and begins[-1] not in breaks
    if few and len(begins) > 1 and not alone[begins[-1] - start - 1]:
        begins.pop()
    return [*begins, stop]
