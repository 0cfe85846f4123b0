"""How often each value of a column occurs in the two tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.curator.cells import Cells
from understudy.curator.tables import ComparedColumn, Sort, Tables

_MOST_BARS = 12
_MISSING, _OTHER = "missing", "other values"
_NOTHING = 1e-12
"""Less than any row's share: what rounding leaves."""
_MOST_DETAIL = 14
"""Beyond it doubles have no more digits."""
_UNITS = ("D", "m", "s")
_LARGE, _HUGE = 1e4, 1e15
"""Between them numbers are written in groups of three digits."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class SharePair:
    """A value, or a range of values, and which share of the rows has it."""

    label: str
    real: float
    synthetic: float


@dataclass(frozen=True)
class ColumnShares:
    """A column's values: numbers in order, labels by how common they are in the real table."""

    name: str
    distance: float
    """The total variation distance, over all cells and not only those that are shown."""
    bars: tuple[SharePair, ...]

    @property
    def most(self) -> float:
        """The largest share."""
        return max((max(bar.real, bar.synthetic) for bar in self.bars), default=0.0) or 1.0


def column_shares(tables: Tables, cells: Cells) -> tuple[ColumnShares, ...]:
    """All columns."""
    sides = cells.codes(tables.real), cells.codes(tables.synthetic)
    found = []
    for column in tables.columns:
        name, size = column.name, cells.sizes[column.name]
        shares = [
            np.bincount(side[name], minlength=size) / max(len(side[name]), 1) for side in sides
        ]
        distance = float(np.abs(shares[0] - shares[1]).sum() / 2)
        if column.sort.counted:
            numbers = [rows.numbers[name] for rows in (tables.real, tables.synthetic)]
            bars = _of_numbers(column.sort, cells.cuts[name], numbers, shares)
        else:
            bars = _most_common(_pairs(_labels(column, size), shares))
        found.append(ColumnShares(name, distance, tuple(bars)))
    return tuple(found)


def _pairs(labels: Sequence[str], shares: Sequence[Values]) -> list[SharePair]:
    both = zip(labels, *(side.tolist() for side in shares), strict=True)
    return [SharePair(label, real, synthetic) for label, real, synthetic in both]


def _most_common(pairs: list[SharePair]) -> list[SharePair]:
    ordered = sorted(pairs, key=lambda pair: (-pair.real, -pair.synthetic))
    others = ordered[_MOST_BARS:]
    if not others:
        return ordered
    rest = SharePair(
        f"{len(others)} more values",
        sum(pair.real for pair in others),
        sum(pair.synthetic for pair in others),
    )
    return [*ordered[:_MOST_BARS], rest]


def _labels(column: ComparedColumn, size: int) -> list[str]:
    labels = [_MISSING if label is None else label for label in column.labels]
    return [*labels[: size - 1], "others"] if len(labels) > size else labels


def _of_numbers(
    sort: Sort, cuts: Values, numbers: Sequence[Values], shares: Sequence[Values]
) -> list[SharePair]:
    """Numbers in order: each by itself where they are few, else from cut to cut."""
    values = np.unique(numbers[0][~np.isnan(numbers[0])])
    if len(values) == len(cuts) + 1:
        # Each cell is one value of the real table; what lies between two is neither.
        counted = [
            np.array([np.count_nonzero(side == value) for value in values]) / max(len(side), 1)
            for side in numbers
        ]
        missing = [float(share[-1]) for share in shares]
        other = [
            max(0.0, 1 - gone - float(c.sum())) for gone, c in zip(missing, counted, strict=True)
        ]
        pairs = _pairs(_spelled(values, sort), counted)
        rest = [SharePair(_OTHER, *other), SharePair(_MISSING, *missing)]
        return pairs + [pair for pair in rest if max(pair.real, pair.synthetic) > _NOTHING]
    pairs = _pairs([*_ranges(cuts, values, sort), _MISSING], shares)
    return [pair for pair in pairs if pair.label != _MISSING or pair.real or pair.synthetic]


def _ranges(cuts: Values, values: Values, sort: Sort) -> list[str]:
    """From cut to cut; a number that many rows share is cut off right behind itself."""
    if not len(cuts):
        return ["all"]
    behind = ~np.isin(cuts, values)
    ends = np.where(behind, np.nextafter(cuts, -np.inf), cuts)
    shown = dict(zip(np.unique(ends).tolist(), _spelled(np.unique(ends), sort), strict=True))
    names = [shown[end] for end in ends.tolist()]
    between = [
        first if first == second else f"{first} to {second}" for first, second in pairwise(names)
    ]
    least = f"up to {names[0]}" if behind[0] else f"below {names[0]}"
    greatest = f"above {names[-1]}" if behind[-1] else f"{names[-1]} and above"
    return [least, *between, greatest]


def _spelled(values: Values, sort: Sort) -> list[str]:
    """Different numbers as different texts, with no more digits than that takes.

    >>> _spelled(np.array([40.7101, 40.7112, 41.0]), Sort.NUMBER)
    ['40.71', '40.711', '41']
    """
    texts: list[str] = []
    for detail in range(_MOST_DETAIL):
        texts = [_told(value, sort, detail) for value in values.tolist()]
        if len({*texts}) == len(texts):
            break
    return texts


def _told(value: float, sort: Sort, detail: int) -> str:
    if sort is Sort.MOMENT:
        unit = _UNITS[min(detail, len(_UNITS) - 1)]
        return str(np.datetime64(int(value), "s").astype(f"datetime64[{unit}]")).replace("T", " ")
    if _LARGE <= abs(value) < _HUGE:
        return f"{value:,.{detail}f}"
    return f"{value:.{4 + detail}g}"
