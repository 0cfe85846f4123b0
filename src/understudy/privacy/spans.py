"""Where the numbers and dates of a column lie, up to a factor of two or a decade.

Everything here is made from noisy counts of coarse public cells.
"""

import datetime as dt
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from understudy.column import Kind
from understudy.encode.shape_grid import DECADES, MAGNITUDES
from understudy.privacy.extent import EVIDENT, SHARP, core_end, tail_end

_BEYOND = 1.5
"""How far the outermost magnitudes extend; so far that whole numbers stay exact in a double."""
_MORE_CELLS, _MORE_NOISE = 3, 1.5
"""Beyond the cells that stand out: fine cells show later whether any rows lie there."""
_NEAR = 8
_EPOCH = dt.date(1970, 1, 1)
_Masses: TypeAlias = NDArray[np.float64]
_Certain: TypeAlias = NDArray[np.bool_]
_DAY = 86400.0


@dataclass(frozen=True, eq=False)
class Span:
    """Where numbers lie: coarse cells side by side, and about how many rows each holds.

    Dates count days since 1970, and moments seconds.
    """

    edges: tuple[float, ...]
    masses: NDArray[np.float64]


def number_span(kind: Kind, masses: _Masses, scale: float, certain: _Certain) -> Span | None:
    """Return the span of an integer or real column; None where nothing stands out.

    Args:
        kind: Integer or real.
        masses: A noisy count for each of the cells that `MAGNITUDES` separate.
        scale: The standard deviation of the noise of each.
        certain: Which of the cells hold rows for certain.
    """
    edges = np.array((_BEYOND * MAGNITUDES[0], *MAGNITUDES, _BEYOND * MAGNITUDES[-1]))
    if kind is Kind.INTEGER:
        # Only cells that hold a whole number, each from its first one to the next cell's.
        whole = np.ceil(edges)
        held = np.flatnonzero(np.diff(whole) > 0)
        masses, certain, edges = masses[held], certain[held], np.array([*whole[held], whole[-1]])
    for side in (edges[1:] > 0, edges[:-1] < 0):
        # Numbers of one sign have no tail of the other: counts are never negative.
        if not certain[~side].any():
            masses = np.where(side, masses, 0.0)
    span = _standing_out(edges, masses, scale, certain)
    return None if span is None else _down_to_zero(_of_one_sign(span, edges, certain))


def date_span(kind: Kind, masses: _Masses, scale: float, certain: _Certain) -> Span | None:
    """Return the span of a date or datetime column; `masses` are by decade."""
    unit = 1.0 if kind is Kind.DATE else _DAY
    years = (DECADES[0] - 100, *DECADES, DECADES[-1] + 100)
    edges = np.array([(dt.date(year, 1, 1) - _EPOCH).days * unit for year in years])
    return _standing_out(edges, masses, scale, certain)


def _standing_out(
    edges: NDArray[np.float64], masses: _Masses, scale: float, certain: _Certain
) -> Span | None:
    start = _start(masses, scale, certain)
    stop = _start(masses[::-1], scale, certain[::-1])
    if start is None or stop is None:
        return None
    stop = len(masses) - stop
    cuts = tuple(float(cut) for cut in edges[start : stop + 1])
    return Span(cuts, np.maximum(masses[start:stop], 0.0))


def _start(masses: _Masses, scale: float, certain: _Certain) -> int | None:
    """Return the first cell of the span: a few before the first that holds rows for certain."""
    ends = [int(np.argmax(certain)) + 1] if certain.any() else []
    window = core_end(masses, scale)
    core = min([*ends, *([] if window is None else [window])], default=None)
    if core is None:
        return None
    least = max(core - 1 - _MORE_CELLS, 0)
    more = least + tail_end(masses[least:core], _MORE_NOISE * scale)
    tail = masses[more : core - 1]
    sharp = masses[core - 1] > SHARP * scale
    return core - 1 if sharp and tail.sum() <= EVIDENT * scale * np.sqrt(len(tail)) else more


def _of_one_sign(span: Span, edges: NDArray[np.float64], certain: _Certain) -> Span:
    """Return the span without what lies beyond zero, if no cell there holds rows for certain."""
    lows, highs = np.array(span.edges[:-1]), np.array(span.edges[1:])
    inside = np.ones(len(lows), bool)
    if not certain[edges[1:] <= 0].any():
        inside &= highs > 0
    if not certain[edges[:-1] >= 0].any():
        inside &= lows < 0
    if not inside.any() or inside.all():
        return span
    first, last = int(np.argmax(inside)), len(inside) - int(np.argmax(inside[::-1]))
    return Span(span.edges[first : last + 1], span.masses[first:last])


def _down_to_zero(span: Span) -> Span:
    """Return the span with what lies between zero and its first magnitude, if that is near.

    Small magnitudes hold few of the numbers 0 to 99, and none of them may stand out.
    """
    low, high = span.edges[0], span.edges[-1]
    if 0 < low <= high / _NEAR:
        return Span((0.0, *span.edges), np.array([0.0, *span.masses]))
    if low / _NEAR <= high < 0:
        return Span((*span.edges, 0.0), np.array([*span.masses, 0.0]))
    return span
