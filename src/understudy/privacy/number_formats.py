"""How a column writes numbers and how precise they are, from noisy counts of shapes.

Everything here is made from noisy numbers; no row is asked.
"""

from typing import Any, NamedTuple

import numpy as np

from understudy.column import Kind
from understudy.encode.shape_grid import (
    AFFIXED,
    AFFIXES,
    AMBIGUOUS,
    COARSE_MAGNITUDES,
    COMMA_MORE,
    COMMA_ONE,
    COMMA_TWO,
    COMMAS,
    COMMAS_POINT,
    DECIMAL_MAGNITUDES,
    DECIMALS,
    FORMS,
    HALF,
    HALF_ZERO,
    MAGNITUDES,
    MANY,
    MORE_ZERO,
    ONE,
    ONE_ZERO,
    PLAIN,
    PLAIN_MORE,
    PLAIN_ONE,
    PLAIN_TWO,
    PLAIN_WHOLE,
    POINTS,
    POINTS_COMMA,
    POSSIBLE,
    QUARTER,
    QUOTES,
    QUOTES_POINT,
    SPACES,
    SPACES_COMMA,
    SPACES_POINT,
    THREE,
    TWO,
    WHOLE,
    WHOLE_ZERO,
    WRITTEN,
)
from understudy.privacy.evidence import (
    FEW,
    MOST_RARELY,
    RARELY,
    STANDS_OUT,
    Cells,
    Counts,
    Written,
    certain_cells,
    clear,
    spread,
)

_POINT = (PLAIN_WHOLE, PLAIN_ONE, PLAIN_TWO, PLAIN_MORE)
_COMMA = (PLAIN_WHOLE, COMMA_ONE, COMMA_TWO, COMMA_MORE, AMBIGUOUS)
_FORMATS: tuple[tuple[str, str | None, tuple[int, ...]], ...] = (
    (".", None, _POINT),
    (".", ",", (*_POINT, COMMAS, COMMAS_POINT, AMBIGUOUS)),
    (",", None, _COMMA),
    (",", ".", (*_COMMA, POINTS, POINTS_COMMA, PLAIN_MORE)),
    (",", " ", (*_COMMA, SPACES, SPACES_COMMA)),
    (".", " ", (*_POINT, SPACES, SPACES_POINT)),
    (".", "'", (*_POINT, QUOTES, QUOTES_POINT)),
)
"""Decimal mark, mark between thousands, and the forms that these read. Of two that read as many
values the first one wins: so 1,234 alone has a comma between thousands."""
_THREE_WRITTEN = (THREE, HALF_ZERO, ONE_ZERO, MORE_ZERO)
"""Plain numbers such as 1.234, 1.500 and 1.250: whole ones where points stand between thousands."""
_FORM_DECIMALS = {
    PLAIN_WHOLE: 0,
    COMMAS: 0,
    POINTS: 0,
    SPACES: 0,
    QUOTES: 0,
    PLAIN_ONE: 1,
    COMMA_ONE: 1,
    PLAIN_TWO: 2,
    COMMA_TWO: 2,
    PLAIN_MORE: 3,
    COMMA_MORE: 3,
}
"""By form, the decimals that are written; 3 stands for three or more."""
_GROUPED = (COMMAS_POINT, POINTS_COMMA, SPACES_COMMA, SPACES_POINT, QUOTES_POINT)
"""Forms with decimals whose number is not counted: as many as other values have, or two."""
_USUAL_DECIMALS, _MOST_COUNTED = 2, 3
_UNPADDED = 0.05
"""A share of values that lack a zero at the end, up to which all are said to be padded."""
_THOUSAND = 10
"""A factor of a thousand, in powers of two, about."""
_WITH_ZERO = (WHOLE_ZERO, HALF_ZERO, ONE_ZERO, MORE_ZERO)
_EVIDENCE_OF_ZERO = {HALF_ZERO: 2, ONE_ZERO: 2, MORE_ZERO: 3}
"""By precision, how many decimals a zero at the end shows to be written."""


class _Plain(NamedTuple):
    """Plain numbers, those precisions alone that hold any."""

    rows: Counts
    certain: Cells
    masses: Counts
    """By precision, how many values."""
    all_masses: Counts
    """The same, with precisions that do not stand out: noise may have any sign."""


class _Format(NamedTuple):
    """A way of writing, the forms of it that stand out, and how many values it reads."""

    decimal: str
    thousands: str | None
    affix: int | None
    read: float
    forms: tuple[int, ...]


def written_numbers(shapes: Counts, scale: float, *, text: bool) -> Written | None:
    """Return the numbers of a column; None where none stand out of the noise.

    Args:
        shapes: Noisy counts of all shapes.
        scale: The standard deviation of their noise.
        text: Whether the column is stored as text: only then numbers are written at all.
    """
    plain = _plain(shapes, scale, text=text)
    written = clear(WRITTEN.of(shapes), scale, MOST_RARELY)
    affixed = clear(AFFIXED.of(shapes), scale, MOST_RARELY)
    affixed = affixed.reshape(len(AFFIXES), len(FORMS), AFFIXED.width)
    if not text:
        written, affixed = np.zeros_like(written), np.zeros_like(affixed)
    everything = float(plain.masses.sum() + written.sum() + affixed.sum())
    if not everything > 0:
        return None
    best = _best_format(plain, written.sum(axis=1), affixed.sum(axis=2))
    if _is_share(best.affix):
        # 0.5 beside 50 % is not 0.5 %: numbers without the mark are not read.
        plain = _Plain(
            np.zeros_like(plain.rows),
            np.zeros_like(plain.certain),
            np.zeros_like(plain.masses),
            np.zeros_like(plain.all_masses),
        )
        written = np.zeros_like(written)
    masses, certain, parts = _masses(best, plain, written, affixed, shapes)
    spelled = best.affix is not None or best.forms
    decimals, facts = (
        _written_precision(best, plain, written, affixed)
        if spelled
        else _plain_precision(plain, scale, text=text)
    )
    if best.decimal != "." or best.thousands is not None:
        facts |= {"decimal": best.decimal} if best.decimal != "." else {}
        facts |= {"thousands": best.thousands} if best.thousands is not None else {}
    if best.affix is not None:
        prefix, suffix = AFFIXES[best.affix]
        facts |= {"prefix": prefix} if prefix else {"suffix": suffix}
    kind = Kind.INTEGER if decimals == 0 else Kind.REAL
    noise = scale * float(np.sqrt(max(parts, 1)))
    assumed = AMBIGUOUS in best.forms and {*best.forms} <= {AMBIGUOUS, PLAIN_WHOLE}
    return Written(kind, best.read, everything, masses, noise, certain, facts, assumed)


def _is_share(affix: int | None) -> bool:
    """Whether an affix changes the value of a number, as a percent sign does."""
    return affix is not None and "%" in "".join(AFFIXES[affix])


def _plain(shapes: Counts, scale: float, *, text: bool) -> _Plain:
    """Return the plain numbers of those precisions that stand out."""
    rows = np.where(POSSIBLE, PLAIN.of(shapes), 0.0)
    certain: Cells = np.zeros(POSSIBLE.shape, bool)
    for place, row in enumerate(rows):
        if text or place not in _WITH_ZERO:
            certain[place] = certain_cells(row, scale, STANDS_OUT if place == WHOLE else RARELY)
    # Where one precision has values, the others of the same magnitude are summed as well.
    anywhere = np.asarray(certain.any(axis=0))
    all_masses = rows[:, anywhere].sum(axis=1)
    found = np.asarray(certain.any(axis=1))
    rows = np.where(found[:, None], rows, 0.0)
    masses = np.maximum(rows[:, anywhere].sum(axis=1), 0.0)
    return _Plain(rows, certain, masses, all_masses)


def _best_format(plain: _Plain, written: Counts, affixed: Counts) -> _Format:
    """Return the way of writing that reads most values."""
    whole, points = float(plain.masses[WHOLE]), float(plain.masses.sum())
    best = _Format(".", None, None, points, ())
    for affix in (None, *range(len(AFFIXES))):
        for decimal, thousands, forms in _FORMATS:
            bare = points if decimal == "." else whole
            counts = written if affix is None else written + affixed[affix]
            if _is_share(affix):
                bare, counts = 0.0, affixed[affix]
            if thousands == "." and counts[[POINTS, POINTS_COMMA]].any():
                bare += float(plain.masses[list(_THREE_WRITTEN)].sum())
            read = bare + float(counts[list(forms)].sum())
            if read > best.read:
                found = tuple(form for form in forms if counts[form] > 0)
                best = _Format(decimal, thousands, affix, read, found)
    if best.thousands is not None and not _has_groups(best):
        best = best._replace(thousands=None)
    return best


def _has_groups(best: _Format) -> bool:
    """Whether any form that stands out has marks between thousands."""
    grouped = {AMBIGUOUS, COMMAS, COMMAS_POINT, POINTS, POINTS_COMMA, SPACES, QUOTES}
    grouped |= {SPACES_COMMA, SPACES_POINT, QUOTES_POINT}
    if best.decimal == ",":
        grouped.add(PLAIN_MORE)  # such as 1.234 €, between others such as 12,50 €
    return bool(grouped & {*best.forms})


def _masses(
    best: _Format, plain: _Plain, written: Counts, affixed: Counts, shapes: Counts
) -> tuple[Counts, Cells, int]:
    """Return how many values each magnitude holds, which hold any, and how many counts went in."""
    rows = [row for row in range(len(plain.rows)) if _reads(best, row) and plain.certain[row].any()]
    masses = plain.rows[rows].sum(axis=0)
    certain = np.asarray(plain.certain[rows].any(axis=0))
    parts = len(rows)
    if best.thousands == ".":
        for row in _THREE_WRITTEN:
            masses += _times_thousand(plain.rows[row])
            certain |= _times_thousand(plain.certain[row])
    for form in best.forms:
        counts = spread(written[form], COARSE_MAGNITUDES, MAGNITUDES)
        if best.affix is not None:
            counts = counts + _signed(affixed[best.affix, form])
        every = counts
        if written[form].any():
            # Cells that do not stand out by themselves show the tails.
            low = np.where(written[form] > 0, 0.0, WRITTEN.of(shapes)[form])
            every = every + spread(low, COARSE_MAGNITUDES, MAGNITUDES)
        if form == AMBIGUOUS and best.decimal == ",":
            counts, every = (_times_thousand(one, up=False) for one in (counts, every))
        masses, certain, parts = masses + every, certain | (counts > 0), parts + 1
    return masses, certain, parts


def _reads(best: _Format, row: int) -> bool:
    """Whether the way of writing reads plain numbers of a precision as they stand."""
    return best.decimal == "." or row == WHOLE


def _signed(counts: Counts) -> Counts:
    """Return counts of numbers with an affix by magnitude.

    Of negative ones no magnitude is counted: they lie where the positive ones do, on the other
    side of zero.
    """
    positive = spread(np.append([0.0], counts[1:]), DECIMAL_MAGNITUDES, MAGNITUDES)
    if not counts[0]:
        return positive
    share = positive if positive.any() else spread(np.append([0.0], counts[1:] + 1), *_GRIDS)
    return np.asarray(positive + share[::-1] / share.sum() * counts[0])


_GRIDS = (DECIMAL_MAGNITUDES, MAGNITUDES)


def _times_thousand(cells: Any, *, up: bool = True) -> Any:  # noqa: ANN401 - counts or marks
    """Return cells by magnitude, of numbers a thousand times as large, or as small."""
    middle = len(cells) // 2
    moved = np.zeros_like(cells)
    step = _THOUSAND if up else -_THOUSAND
    for place in np.flatnonzero(cells):
        far = int(place) - middle
        to = far + step if far > 0 else far - step if far < 0 else 0
        to = to if (to > 0) == (far > 0) else 0
        moved[int(np.clip(middle + to, 0, len(cells) - 1))] += cells[place]
    return moved


def _plain_precision(
    plain: _Plain, scale: float, *, text: bool
) -> tuple[int | None, dict[str, Any]]:
    """Return the decimals of plain numbers, None if there are too many, and the facts of them."""
    masses, total = plain.masses, float(plain.masses.sum())
    noise = scale * float(np.sqrt(plain.certain.any(axis=0).sum()))
    present = (masses >= FEW * total) & plain.certain.any(axis=1)
    if not present.any():
        present[int(np.argmax(masses))] = True
    if present[MANY]:
        return None, {}
    rows = [int(row) for row in np.flatnonzero(present)]
    needed = max(_decimals(row) for row in rows if row != MORE_ZERO or len(rows) == 1)
    written = max((_EVIDENCE_OF_ZERO.get(row, 0) for row in rows), default=0)
    decimals = max(needed, written)
    if decimals == 0:
        return 0, {}
    facts: dict[str, Any] = {"decimals": decimals}
    finer = float(masses[~np.isin(np.arange(len(masses)), [*_COARSE])].sum())
    if finer <= max(FEW * total, 2 * noise):
        halves = float(masses[[QUARTER]].sum()) <= max(FEW * total, 2 * noise)
        if {HALF, HALF_ZERO} & {*rows}:
            facts["step"] = 0.5 if halves and QUARTER not in rows else 0.25
    if text:
        with_zero, without = _zeros(masses, decimals)
        if with_zero == 0 and decimals == 2 and ONE not in rows:  # noqa: PLR2004 - 4.50 or 4.5
            # A tenth of such numbers end with a zero, written or not: too few to stand out alone.
            ends = plain.all_masses[[ONE_ZERO, ONE]]
            with_zero = float(ends[0] - ends[1]) if ends[0] - ends[1] > noise / 4 else 0.0
        # Only stated where it holds: stored numbers and text without such zeros have equal facts.
        if with_zero > 0 and without <= _UNPADDED * (with_zero + without):
            facts["padded"] = True
    return decimals, facts


_COARSE = (WHOLE, WHOLE_ZERO, HALF, HALF_ZERO, QUARTER)


def _decimals(row: int) -> int:
    return DECIMALS[row] or 0


def _zeros(masses: Counts, decimals: int) -> tuple[float, float]:
    """Return how many values have a zero at the end, and how many lack one."""
    short = [row for row in (WHOLE, HALF, ONE, QUARTER, TWO, THREE) if _decimals(row) < decimals]
    return float(masses[list(_WITH_ZERO)].sum()), float(masses[short].sum())


def _written_precision(
    best: _Format, plain: _Plain, written: Counts, affixed: Counts
) -> tuple[int | None, dict[str, Any]]:
    """Return the decimals of numbers with marks, None if there are too many, and their facts."""
    counts, others = _written_decimals(best, plain, written, affixed)
    total = float(counts.sum()) + others
    known = [
        places
        for places in range(1, len(counts))
        if counts[places] > 0 and counts[places] >= FEW * total
    ]
    if not known and others <= FEW * total:
        return 0, {}
    decimals = known[-1] if known else _USUAL_DECIMALS
    if decimals == _MOST_COUNTED:
        return None, {}
    padded = bool(counts[decimals] + others >= (1 - _UNPADDED) * total)
    return decimals, {"decimals": decimals} | ({"padded": True} if padded else {})


def _written_decimals(
    best: _Format, plain: _Plain, written: Counts, affixed: Counts
) -> tuple[Counts, float]:
    """Return how many values are written with 0, 1, 2, and 3 or more decimals, or with others."""
    counts, others = np.zeros(_MOST_COUNTED + 1), 0.0
    places_of = dict(_FORM_DECIMALS)
    places_of[AMBIGUOUS] = _MOST_COUNTED if best.decimal == "," else 0
    if best.thousands == ".":
        places_of[PLAIN_MORE] = 0
    for form in best.forms:
        mass = float(written[form].sum())
        if best.affix is not None:
            mass += float(affixed[best.affix, form].sum())
        if form in _GROUPED:
            others += mass
        else:
            counts[places_of[form]] += mass
    counts[0] += float(plain.masses[WHOLE])
    if best.decimal == ".":
        for row in range(HALF, MANY + 1):
            if row not in _WITH_ZERO:
                places = DECIMALS[row] or _MOST_COUNTED
                counts[min(places, _MOST_COUNTED)] += float(plain.masses[row])
        others += float(plain.masses[list(_WITH_ZERO)].sum())
    return counts, others
