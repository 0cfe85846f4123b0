"""What a column holds, from noisy counts of its shapes.

Everything here is made from noisy numbers and public facts; no row is asked.
"""

import datetime as dt
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.column import Column, Kind
from understudy.encode.ops import Storage
from understudy.encode.shapes import (
    DATE,
    DECADES,
    FRACTION,
    MAGNITUDES,
    MISSING,
    MOMENT,
    TEXT,
    WHOLE,
)

STANDS_OUT = 4.5
"""So many standard deviations: of a thousand empty cells hardly one comes near it."""
_MOSTLY = 0.8
"""Numbers with a few words between them are numbers, and the words count as missing."""
_BEYOND = 1.5
"""How far the outermost magnitudes reach; so far that whole numbers stay exact in a double."""
_NEAR = 8
_EPOCH = dt.date(1970, 1, 1)
_DAY = 86400.0


@dataclass(frozen=True, eq=False)
class Span:
    """Where numbers lie: coarse cells side by side, and how many rows each holds, about.

    Dates count days since 1970, and moments seconds.
    """

    edges: tuple[float, ...]
    masses: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Looks:
    """What stands out of the noise; no kind and no span where nothing does."""

    kind: Kind | None
    null: bool
    span: Span | None = None


def looks(column: Column, storage: Storage, shapes: NDArray[np.float64], scale: float) -> Looks:
    """The kind, nulls and span of a column with these noisy counts of shapes."""
    clear = np.where(shapes > STANDS_OUT * scale, shapes, 0.0)
    if storage in {Storage.INTEGER, Storage.FLOAT}:
        # Noise must not make words or dates of what is stored as a number.
        clear[TEXT] = clear[DATE] = clear[MOMENT] = 0.0
    kind = _kind(clear) if column.kind is Kind.UNKNOWN else column.kind
    span = None if kind is None else _span(kind, shapes, clear)
    null = column.null
    if null is None:
        null = shapes[MISSING] + _unreadable(kind, clear) > STANDS_OUT * scale
    if kind is not None and kind.numeric and span is None:
        kind = None
    return Looks(kind, bool(null), span)


def _unreadable(kind: Kind | None, clear: NDArray[np.float64]) -> float:
    """How many values a column of this kind cannot hold, as far as they stand out."""
    if kind is None or not kind.numeric:
        return 0.0
    numbers = float(clear[WHOLE].sum() + clear[FRACTION].sum())
    dates = float(clear[DATE].sum() + clear[MOMENT].sum())
    others = numbers if kind in {Kind.DATE, Kind.DATETIME} else dates
    return float(clear[TEXT]) + others


def _kind(clear: NDArray[np.float64]) -> Kind | None:
    """What most values are."""
    numbers = clear[WHOLE].sum() + clear[FRACTION].sum()
    dates = clear[DATE].sum() + clear[MOMENT].sum()
    everything = numbers + dates + clear[TEXT]
    if not everything:
        return None
    if numbers >= _MOSTLY * everything:
        return Kind.REAL if clear[FRACTION].any() else Kind.INTEGER
    if dates >= _MOSTLY * everything:
        return Kind.DATETIME if clear[MOMENT].any() else Kind.DATE
    return Kind.CATEGORICAL


def _span(kind: Kind, shapes: NDArray[np.float64], clear: NDArray[np.float64]) -> Span | None:
    """From the first coarse cell that stands out to the last."""
    if not kind.numeric:
        return None
    dated = kind in {Kind.DATE, Kind.DATETIME}
    first, second = (DATE, MOMENT) if dated else (WHOLE, FRACTION)
    masses, out = shapes[first] + shapes[second], clear[first] + clear[second]
    if kind is Kind.INTEGER:
        masses, out = shapes[first], clear[first]
    edges = (
        _decades(kind)
        if dated
        else (_BEYOND * MAGNITUDES[0], *MAGNITUDES, _BEYOND * MAGNITUDES[-1])
    )
    if kind is Kind.INTEGER:
        # Only cells that hold a whole number, each from its first one to the next cell's.
        whole = np.ceil(np.array(edges))
        held = np.flatnonzero(np.diff(whole) > 0)
        masses, out = masses[held], out[held]
        edges = tuple(float(edge) for edge in (*whole[held], whole[-1]))
    found = np.flatnonzero(out)
    if not found.size:
        return None
    start, stop = int(found[0]), int(found[-1]) + 1
    span = Span(edges[start : stop + 1], np.maximum(masses[start:stop], 0.0))
    return span if dated else _down_to_zero(span)


def _down_to_zero(span: Span) -> Span:
    """With what lies between zero and the first magnitude that stands out, if that is near.

    Small magnitudes hold few of the numbers 0 to 99, and none of them may stand out.
    """
    low, high = span.edges[0], span.edges[-1]
    if 0 < low <= high / _NEAR:
        return Span((0.0, *span.edges), np.array([0.0, *span.masses]))
    if low / _NEAR <= high < 0:
        return Span((*span.edges, 0.0), np.array([*span.masses, 0.0]))
    return span


def _decades(kind: Kind) -> tuple[float, ...]:
    """The first days of decades, with a century before and after them."""
    unit = 1.0 if kind is Kind.DATE else _DAY
    years = (DECADES[0] - 100, *DECADES, DECADES[-1] + 100)
    return tuple((dt.date(year, 1, 1) - _EPOCH).days * unit for year in years)
