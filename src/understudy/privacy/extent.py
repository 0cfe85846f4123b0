"""Where the rows of a column begin and end, from noisy counts of cells side by side.

The core is certain: some window of cells stands out of the noise. Outside the core a column's tail
thins out, so the tail is estimated as counts that fall from the core outward (isotonic regression),
which pools cells until noise averages out. Everything here is made from noisy counts.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_MOST_BEYOND, _FEWEST_BEYOND = 0.005, 0.002
"""The share of rows that may lie beyond each bound; the lower one where noise is small."""
_CERTAIN = 4.5
"""Standard deviations: of a thousand empty windows hardly one comes near it."""
SHARP, EVIDENT = 8.0, 2.5
"""Standard deviations of a single cell at a sharp edge, and of a tail before it."""
_THICKER = (1 / 8, 1 / 2)
"""Of the density where the core begins."""
_SHORT, _SHORT_CELLS = 0.15, 3
"""How many cells a tail may have that is but noise: of the dense ones, and at least."""
_WINDOWS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Thin rows stand out in no single cell, but in several together."""
_Counts = NDArray[np.float64]


class Extent(NamedTuple):
    """A range of cells, and how many rows lie before and after it, up to noise."""

    start: int
    stop: int
    before: float
    after: float
    breaks: tuple[int, ...] = ()
    """Cells inside the range where a tail thickens: what lies on either side is not alike."""


def extent(counts: _Counts, scale: float, rows: float) -> Extent | None:
    """Return the cells that hold all but half a per cent of the rows at each end.

    Args:
        counts: Noisy counts of cells side by side.
        scale: The standard deviation of their noise.
        rows: About how many rows there are.

    Returns:
        The range, or None where nothing stands out of the noise.
    """
    if core_end(counts, scale) is None:
        return None
    start, first = _start(counts, scale, rows)
    stop, last = _start(counts[::-1], scale, rows)
    dense = len(counts) - first[0] - last[0]
    start = _shortened(counts, start, first[0], scale, dense)
    stop = len(counts) - _shortened(counts[::-1], stop, last[0], scale, dense)
    if start >= stop:  # hardly any rows: the most crowded cell is all there is
        start = int(np.argmax(counts))
        stop = start + 1
    breaks = {*first, *(len(counts) - place for place in last)}
    inside = tuple(sorted(place for place in breaks if start < place < stop))
    return Extent(start, stop, float(counts[:start].sum()), float(counts[stop:].sum()), inside)


def _start(counts: _Counts, scale: float, rows: float) -> tuple[int, list[int]]:
    """Return how many cells at the start hold few rows, and where the tail after them thickens."""
    least, most = _FEWEST_BEYOND * max(rows, 1.0), _MOST_BEYOND * max(rows, 1.0)
    few = float(np.clip(scale, least, most))
    core = begin = 0
    # What stands out first may be a few rows far out.
    while (end := core_end(counts[core:], scale)) is not None:
        begin, core = core, core + end
        if counts[:core].sum() > few:
            break
    start = tail_end(counts[:core], few)
    edge = _sharp_edge(counts[begin:core], scale)
    tail = counts[start : begin + edge]
    if edge and tail.sum() <= EVIDENT * scale * np.sqrt(len(tail)):
        # Rows begin at once here, and a thin tail before them is but noise.
        start = max(start, begin + edge)
    # Cells that hold next to nothing for certain are left out as well.
    more = counts[start : core - 1]
    held = max(float(counts[:start].sum()), 0.0) + np.cumsum(more)
    certain = np.flatnonzero(held + scale * np.sqrt(np.arange(1, len(more) + 1)) <= most)
    start += int(certain[-1]) + 1 if certain.size else 0
    rising = _rising(counts[:core])
    return start, [int(np.argmax(rising >= share * rising[-1])) for share in _THICKER]


def _shortened(counts: _Counts, start: int, dense: int, scale: float, core: int) -> int:
    """Return a start after which the tail is short, unless its rows stand out of the noise.

    Isotonic regression leaves a few rows in a tail of noise. Spread over many cells, they would be
    values far from any real one.
    """
    most = max(_SHORT_CELLS, int(_SHORT * core))
    tail = counts[start:dense]
    if len(tail) <= most or tail.sum() > EVIDENT * scale * np.sqrt(len(tail)):
        return start
    return dense - most


def _sharp_edge(counts: _Counts, scale: float) -> int:
    """Return where rows begin in cells of which the last stands far out of the noise; 0 if not."""
    clear = np.flatnonzero(counts > SHARP * scale)
    return int(clear[0]) if clear.size else 0


def tail_end(counts: _Counts, most: float) -> int:
    """Return how many cells at the start hold at most so many rows; the last one stays."""
    rising = _rising(counts)
    beyond = np.cumsum(np.maximum(rising, 0.0)) > most
    return int(np.argmax(beyond)) if beyond.any() else len(counts) - 1


def _rising(counts: _Counts) -> _Counts:
    """Return the non-decreasing values nearest to the counts in squares (isotonic regression)."""
    sums: list[float] = []
    sizes: list[int] = []
    for count in counts.tolist():
        total, size = count, 1
        # Neighbours that fall are pooled: each pool has a larger mean than the one before it.
        while sums and sums[-1] * size >= total * sizes[-1]:
            total, size = total + sums.pop(), size + sizes.pop()
        sums.append(total)
        sizes.append(size)
    return np.repeat(np.array(sums) / np.array(sizes), sizes)


def core_end(counts: _Counts, scale: float) -> int | None:
    """Return where the first window ends that stands out of the noise; None if none does."""
    ends = []
    for width in _WINDOWS:
        if width > len(counts):
            break
        sums = np.convolve(counts, np.ones(width), mode="valid")
        clear = np.flatnonzero(sums > _CERTAIN * scale * np.sqrt(width))
        if clear.size:
            ends.append(int(clear[0]) + width)
    return min(ends, default=None)
