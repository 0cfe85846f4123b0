"""What a column holds, from noisy counts of its shapes.

Everything here is made from noisy numbers and public facts; no row is asked.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.column import Column, Kind
from understudy.encode.ops import Storage
from understudy.encode.shapes import (
    DATE,
    FRACTION,
    MISSING,
    MOMENT,
    TEXT,
    WHOLE,
)
from understudy.privacy.spans import Span, date_span, number_span

STANDS_OUT = 4.5
"""So many standard deviations: of a thousand empty cells hardly one comes near it."""
_MOSTLY = 0.8
"""Numbers with a few words between them are numbers, and the words count as missing."""


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
    span = None if kind is None else _span(kind, shapes, clear, scale)
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


def _span(
    kind: Kind, shapes: NDArray[np.float64], clear: NDArray[np.float64], scale: float
) -> Span | None:
    """Where the values of a numeric column lie."""
    if not kind.numeric:
        return None
    if kind is Kind.INTEGER:
        return number_span(kind, shapes[WHOLE], scale, clear[WHOLE] > 0)
    dated = kind in {Kind.DATE, Kind.DATETIME}
    first, second = (DATE, MOMENT) if dated else (WHOLE, FRACTION)
    masses, certain = shapes[first] + shapes[second], clear[first] + clear[second] > 0
    return (date_span if dated else number_span)(kind, masses, scale * math.sqrt(2), certain)
