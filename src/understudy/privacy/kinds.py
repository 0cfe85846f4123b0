"""What a column holds, from noisy counts of its shapes.

Everything here is made from noisy numbers and public facts; no row is asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from understudy.column import Column, Kind, Role
from understudy.encode.ops import Storage
from understudy.encode.shape_grid import (
    CODES,
    EMAIL,
    LONG,
    MISSING,
    PHONE,
    TEXT_CLASSES,
    URL,
    UUID,
    ZEROS,
)
from understudy.privacy.date_formats import written_dates
from understudy.privacy.evidence import STANDS_OUT, Counts, Written, clear
from understudy.privacy.number_formats import written_numbers
from understudy.privacy.spans import Span, date_span, number_span

MISSING_STANDS_OUT = 3.0
"""Standard deviations: where cells are missing after all, a few rows have no code."""
_MOSTLY = 0.8
"""Numbers with a few words between them are numbers, and the words count as missing."""
_MAJORITY = 0.5
"""Of numbers, or of dates: a way of writing that reads no more of them reads none."""
_CODES = 0.01
"""Numbers with more codes between them, or with leading zeros, are categories."""
_PERSONAL = {
    EMAIL: Role.EMAIL,
    URL: Role.URL,
    UUID: Role.ID,
    PHONE: Role.PHONE,
    LONG: Role.FREE_TEXT,
}
"""Classes of text of which no value is used."""


@dataclass(frozen=True, eq=False)
class Looks:
    """What stands out of the noise; no kind and no span where nothing does."""

    kind: Kind | None
    null: bool
    span: Span | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """How values are written, and how precise they are."""
    role: Role | None = None
    """The role of an identifier or a personal field, if most values are such."""
    unread: float = 0.0
    """The share of values that a column of this kind cannot hold, about: they are missing."""
    missing: float = 0.0
    """A noisy count of missing values, with those that such a column cannot hold."""
    assumed: bool = False
    """Whether the values fit another way of writing as well, and no value decides."""


@dataclass(frozen=True, eq=False)
class _Seen:
    """What values of a column stand out."""

    text: Counts
    """By class of text."""
    numbers: Written | None
    dates: Written | None

    @property
    def values(self) -> float:
        """How many values there are."""
        written = (self.numbers, self.dates)
        return float(self.text.sum()) + sum(one.all for one in written if one is not None)

    def of(self, kind: Kind) -> Written | None:
        """Return the values that a column of this kind reads."""
        return self.dates if kind in {Kind.DATE, Kind.DATETIME} else self.numbers


def looks(
    column: Column, storage: Storage, shapes: Counts, scale: float, *, personal: bool = True
) -> Looks:
    """The kind, nulls, span and format of a column with these noisy counts of shapes.

    Args:
        column: What somebody has stated.
        storage: How the column is stored.
        shapes: The counts.
        scale: The standard deviation of their noise.
        personal: Whether it may turn out to be a personal field.
    """
    seen = _seen(storage, shapes, scale)
    role = _role(column, seen) if personal else None
    if role is not None:
        return Looks(None, null=True, role=role)
    kind = _kind(seen, scale, shapes) if column.kind is Kind.UNKNOWN else column.kind
    written = seen.of(kind) if kind is not None and kind.numeric else None
    span = None if kind is None or written is None else _span(kind, written)
    unread = 0.0
    if kind is not None and kind.numeric:
        unread = seen.values - (0.0 if written is None else written.read)
    null, missing = column.null, float(shapes[MISSING]) + unread
    if null is None:
        null = missing > MISSING_STANDS_OUT * scale
    if kind is not None and kind.numeric and span is None:
        return Looks(None, bool(null))
    facts = {} if written is None else _new_facts(column, kind, written)
    share = max(unread, 0.0) / max(seen.values, 1.0)
    assumed = bool(facts) and written is not None and written.assumed
    return Looks(kind, bool(null), span, facts, None, min(share, 1.0), missing, assumed)


def _seen(storage: Storage, shapes: Counts, scale: float) -> _Seen:
    """What stands out; noise must not make words or dates of what is stored as a number."""
    as_text, dated = storage is Storage.TEXT, storage in {Storage.DATE, Storage.TIMESTAMP}
    text = clear(shapes[: len(TEXT_CLASSES)], scale)
    text[MISSING] = 0.0
    numeric = storage in {Storage.INTEGER, Storage.FLOAT}
    return _Seen(
        np.zeros_like(text) if numeric else text,
        None if dated else written_numbers(shapes, scale, text=as_text),
        None if numeric else written_dates(shapes, scale, text=as_text),
    )


def _role(column: Column, seen: _Seen) -> Role | None:
    """The role of a personal field that nobody has described."""
    if column.kind is not Kind.UNKNOWN:
        return None
    for place, role in _PERSONAL.items():
        if seen.text[place] > 0 and seen.text[place] >= _MOSTLY * seen.values:
            return role
    return None


def _kind(seen: _Seen, scale: float, shapes: Counts) -> Kind | None:
    """What most values are."""
    values = seen.values
    if not values:
        # Text may stand out as a whole where no class of it does.
        together = float(shapes[1 : len(TEXT_CLASSES)].sum())
        noise = scale * float(np.sqrt(len(TEXT_CLASSES) - 1))
        return Kind.CATEGORICAL if together > STANDS_OUT * noise else None
    if max(seen.text[CODES], seen.text[ZEROS]) > _CODES * values:
        return Kind.CATEGORICAL
    for written in (seen.numbers, seen.dates):
        if written is None or written.all < _MOSTLY * values:
            continue
        if written.read > _MAJORITY * written.all:
            return written.kind
    return Kind.CATEGORICAL


def _new_facts(column: Column, kind: Kind | None, written: Written) -> dict[str, Any]:
    """How values are written, but for what somebody has stated."""
    stated = any(
        getattr(column, fact) is not None
        for fact in ("format", "decimal", "thousands", "prefix", "suffix", "decimals", "step")
    )
    if stated:
        return {}
    facts = dict(written.facts)
    if kind is Kind.INTEGER:
        # Only decided where the kind is stated: fractions of a whole number are cut off.
        for fact in ("decimals", "padded", "step"):
            facts.pop(fact, None)
    return facts


def _span(kind: Kind, written: Written) -> Span | None:
    """Where the values that are read lie."""
    span = date_span if kind in {Kind.DATE, Kind.DATETIME} else number_span
    return span(kind, written.masses, written.scale, written.certain)
