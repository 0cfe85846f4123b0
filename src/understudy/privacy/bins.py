"""Bins of near-equal mass, from one fine noisy histogram.

A fine grid follows the coarse masses, so that it is fine where rows are. Its cells are merged
until each bin stands out of the noise; a value that many rows share stays alone. Everything here
is made from noisy numbers; no row is asked.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.kinds import Span

FINE_CELLS = 256
MOST_MERGED = 32
"""How many bins are aimed at, beside values that stay alone."""
_LEAST_PIECES = 4
_CLEAR = 8.0
"""A bin should hold this many standard deviations of one cell's noise."""
_SOMETHING = 4.5
_WINDOWS = (1, 2, 4, 8, 16, 32)
"""So many cells side by side are looked at together, for a thin tail shows in no single cell."""
_TOO_MANY = 0.05
_FEW = 0.002
"""So few rows beyond a bound move to it: one wide bin for them would draw all over it."""
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


def fine_edges(span: Span, *, whole: bool) -> tuple[float, ...]:
    """Edges of a fine grid over a span: each coarse cell is cut in proportion to its mass."""
    if whole and span.edges[-1] - span.edges[0] <= FINE_CELLS:
        return tuple(float(edge) for edge in np.arange(span.edges[0], span.edges[-1] + 1))
    share = span.masses / max(float(span.masses.sum()), 1.0)
    spare = max(FINE_CELLS - _LEAST_PIECES * len(share), 0)
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
    start, stop = _occupied(fine, rows)
    counts = rest[start:stop]
    alone = counts >= max(rows / MOST_MERGED, _CLEAR * fine.scale)
    together = float(np.maximum(counts[~alone], 0).sum())
    enough = max(together / MOST_MERGED, _CLEAR * fine.scale)
    begins = [start]
    mass = 0.0
    for place, count in enumerate(counts):
        full = mass >= enough or alone[place] or (place > 0 and alone[place - 1])
        if full and start + place > begins[-1]:
            begins.append(start + place)
            mass = 0.0
        mass += float(count)
    # A last bin of little mass joins the one before, unless that is a value of its own.
    few = mass < enough / 2 and not alone[-1]
    if few and len(begins) > 1 and not alone[begins[-1] - start - 1]:
        begins.pop()
    return [*begins, stop]


def _occupied(fine: Histogram, rows: float) -> tuple[int, int]:
    """The cells without those at either end that hold next to nothing."""
    first = _first(fine.counts, fine.scale, rows)
    last = len(fine.counts) - _first(fine.counts[::-1], fine.scale, rows)
    return (first, last) if first < last else (0, len(fine.counts))


def _first(counts: _Counts, scale: float, rows: float) -> int:
    """How many cells at the start hold next to nothing, as far as noise lets tell."""
    windows = [width for width in _WINDOWS if width <= len(counts)]
    end, width = min((_first_clear(counts, scale, width), width) for width in windows)
    if end > len(counts):
        return 0
    # Where a window stands out for the first time, rows begin inside it.
    inside = np.flatnonzero(counts[end - width : end] > 0)
    first = end - width + int(inside[0])
    if counts[:first].sum() + scale * np.sqrt(first) > _TOO_MANY * rows:
        return 0  # on a small table noise may hide what matters
    beyond = np.cumsum(counts[first:]) > _FEW * rows
    return first + int(np.argmax(beyond)) if beyond.any() else first


def _first_clear(counts: _Counts, scale: float, width: int) -> int:
    """Where the first window of this width ends that stands out; beyond all cells if none does."""
    sums = np.convolve(counts, np.ones(width), mode="valid")
    clear = np.flatnonzero(sums > _SOMETHING * scale * np.sqrt(width))
    return int(clear[0]) + width if clear.size else len(counts) + 1
