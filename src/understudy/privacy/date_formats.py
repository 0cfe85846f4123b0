"""How a column writes dates, from noisy counts of shapes.

Everything here is made from noisy numbers; no row is asked.
"""

from typing import Any, NamedTuple

import numpy as np

from understudy.column import Kind
from understudy.encode.shape_grid import (
    CLOCKS,
    DATE_FORMATS,
    DATED,
    DECADES,
    ISO,
    ISO_FORMATS,
    MIDNIGHT_MINUTES,
    MIDNIGHT_SECONDS,
    MINUTES,
    NO_CLOCK,
    PERIODS,
    SECONDS,
)
from understudy.privacy.evidence import FEW, MOST_RARELY, STANDS_OUT, Counts, Written, clear, spread

_ALSO = {
    "%d/%m/%Y": "ambiguous /",
    "%m/%d/%Y": "ambiguous /",
    "%d.%m.%Y": "ambiguous .",
    "%m.%d.%Y": "ambiguous .",
    "%d-%m-%Y": "ambiguous -",
    "%m-%d-%Y": "ambiguous -",
    "%m/%d/%Y %p": "ambiguous %p",
    "%d %B %Y": "%d %b %Y",
    "%B %d, %Y": "%b %d, %Y",
}
"""By format, another shape that it reads: dates that also fit another format, and May."""
_MONTHS = {"%d %B %Y": "%d %b %Y", "%B %d, %Y": "%b %d, %Y"}
_CLOCK_FORMATS = {NO_CLOCK: "", MINUTES: " %H:%M", SECONDS: " %H:%M:%S"}
_WITH_MIDNIGHT = {
    NO_CLOCK: (NO_CLOCK,),
    MINUTES: (MINUTES, MIDNIGHT_MINUTES),
    SECONDS: (SECONDS, MIDNIGHT_SECONDS),
}
_WITHOUT_TIME = (NO_CLOCK, MIDNIGHT_MINUTES, MIDNIGHT_SECONDS)
_MOSTLY = 0.98
"""Dates are written in one format, if so many are."""
_ZONED = 0.5


class _Format(NamedTuple):
    """A format, by its row in the grid, and how many dates it reads."""

    name: str | None
    clock: int
    read: float


def written_dates(shapes: Counts, scale: float, *, text: bool) -> Written | None:
    """Return the dates of a column; None where none stand out of the noise."""
    iso, dated = _clear_dates(shapes, scale, text=text)
    everything = float(iso.sum() + dated.sum())
    if not everything > 0:
        return None
    best = _best_format(iso.sum(), dated.sum(axis=2))
    every_iso, every_dated = ISO.of(shapes).reshape(iso.shape), DATED.of(shapes)
    if best.name is None:
        counts, found = iso, iso.sum(axis=2) > 0
        # Cells that do not stand out by themselves show the tails.
        masses, certain = every_iso[found].sum(axis=0), iso.sum(axis=(0, 1)) > 0
        facts = _iso_facts(iso.sum(axis=2)) if text else {}
    else:
        rows = [_row(name) for name in (best.name, _ALSO.get(best.name)) if name is not None]
        counts = dated[rows][:, list(_WITH_MIDNIGHT[best.clock])]
        found = counts.sum(axis=2) > 0
        every = every_dated.reshape(dated.shape)[rows][:, list(_WITH_MIDNIGHT[best.clock])]
        masses = spread(every[found].sum(axis=0), PERIODS, DECADES)
        certain = spread(counts.sum(axis=(0, 1)), PERIODS, DECADES) > 0
        facts = {"format": _spelled(best)}
    kind = _kind(iso.sum(axis=2) if best.name is None else dated[rows].sum(axis=2), best)
    noise = scale * float(np.sqrt(max(found.sum(), 1)))
    return Written(
        kind, float(counts.sum()), everything, masses, noise, certain, facts, _assumed(best, dated)
    )


def _assumed(best: _Format, dated: Counts) -> bool:
    """Return whether all dates fit day first and month first, so that none decides."""
    also = _ALSO.get(best.name or "", "")
    return also.startswith("ambiguous") and not dated[_row(str(best.name))].any()


def _clear_dates(shapes: Counts, scale: float, *, text: bool) -> tuple[Counts, Counts]:
    """Return the counts that stand out, by format, clock and time."""
    iso = ISO.of(shapes).reshape(len(ISO_FORMATS), len(CLOCKS), ISO.width)
    least = np.full((len(ISO_FORMATS), len(CLOCKS), 1), MOST_RARELY)
    least[0, [NO_CLOCK, SECONDS]] = STANDS_OUT
    out = np.where(iso > least * scale, iso, 0.0)
    dated = clear(DATED.of(shapes), scale, MOST_RARELY)
    dated = dated.reshape(len(DATE_FORMATS), len(CLOCKS), DATED.width)
    if not text:
        stored = np.zeros_like(out)
        stored[0, [NO_CLOCK, SECONDS]] = out[0, [NO_CLOCK, SECONDS]]
        return stored, np.zeros_like(dated)
    return out, dated


def _best_format(iso: float, dated: Counts) -> _Format:
    """Return the format that reads most dates.

    Of two that read as many the first one wins: where no date says which comes first, it is the
    day.
    """
    best = _Format(None, NO_CLOCK, float(iso))
    for name in DATE_FORMATS:
        if name.startswith("ambiguous"):
            continue
        short = _MONTHS.get(name)
        if short is not None and dated[_row(name)].sum() <= dated[_row(short)].sum():
            continue  # nearly all of these are short names
        rows = [_row(name), *([_row(_ALSO[name])] if name in _ALSO else [])]
        for clock, alike in _WITH_MIDNIGHT.items():
            read = float(dated[rows][:, list(alike)].sum())
            if read > best.read:
                best = _Format(name, clock, read)
    return best


def _kind(clocks: Counts, best: _Format) -> Kind:
    """Return whether values have a time of day."""
    if best.name is not None:
        clocks = clocks[:, list(_WITH_MIDNIGHT[best.clock])]
        late = clocks[:, :1] if best.clock != NO_CLOCK else clocks[:, :0]
    else:
        late = clocks[:, [MINUTES, SECONDS]]
    return Kind.DATETIME if late.sum() > FEW * clocks.sum() else Kind.DATE


def _iso_facts(clocks: Counts) -> dict[str, Any]:
    """Return the format of dates written ISO 8601, where nearly all are written alike."""
    total = float(clocks.sum())
    for place, name in enumerate(ISO_FORMATS):
        zoned = "zone" in name
        for clock, alike in _WITH_MIDNIGHT.items():
            share = float(clocks[place, list(alike)].sum()) / total
            if clock == NO_CLOCK or share < (_ZONED if zoned else _MOSTLY):
                continue
            mark = "T" if "T" in name else " "
            usual = mark == " " and clock == SECONDS and not zoned
            late = float(clocks[place, clock]) > FEW * total
            if usual and late:
                return {}  # dates with times are written so anyway
            written = "%Y-%m-%d" + mark + _CLOCK_FORMATS[clock].strip()
            return {"format": written + ("%z" if zoned else "")}
    return {}


def _spelled(best: _Format) -> str:
    """Return the format as directives."""
    name = str(best.name)
    if name.endswith(" %p"):
        clock = "%I:%M:%S %p" if best.clock == SECONDS else "%I:%M %p"
        return f"{name.removesuffix('%p')}{clock}"
    return name + _CLOCK_FORMATS[best.clock]


def _row(name: str) -> int:
    return DATE_FORMATS.index(name)
