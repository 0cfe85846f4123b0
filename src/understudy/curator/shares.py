"""How often each value of a column occurs in the two tables."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from understudy.curator.cells import Cells
from understudy.curator.tables import ComparedColumn, Sort, Tables

_MOST_BARS = 12
_MISSING = "missing"


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
        size = cells.sizes[column.name]
        real, synthetic = (
            np.bincount(side[column.name], minlength=size) / max(len(side[column.name]), 1)
            for side in sides
        )
        labels = _labels(column, cells)
        pairs = [
            SharePair(label, float(r), float(s))
            for label, r, s in zip(labels, real, synthetic, strict=True)
        ]
        distance = float(np.abs(real - synthetic).sum() / 2)
        found.append(ColumnShares(column.name, distance, tuple(_shown(column, pairs))))
    return tuple(found)


def _shown(column: ComparedColumn, pairs: list[SharePair]) -> list[SharePair]:
    if column.sort.counted:
        return [pair for pair in pairs if pair.label != _MISSING or pair.real or pair.synthetic]
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


def _labels(column: ComparedColumn, cells: Cells) -> list[str]:
    if not column.sort.counted:
        size = cells.sizes[column.name]
        told = [_MISSING if label is None else label for label in column.labels]
        return [*told[: size - 1], "others"] if len(told) > size else told
    cuts = cells.cuts[column.name]
    if not len(cuts):
        return ["all", _MISSING]
    # A number that many rows share is cut off right behind itself.
    behind = [len(repr(float(np.nextafter(c, -np.inf)))) < len(repr(float(c))) for c in cuts]
    shown = [_number(cut, column.sort) for cut in cuts]
    between = [
        first if first == second else f"{first} to {second}" for first, second in pairwise(shown)
    ]
    least = f"up to {shown[0]}" if behind[0] else f"below {shown[0]}"
    greatest = f"above {shown[-1]}" if behind[-1] else f"{shown[-1]} and above"
    return [least, *between, greatest, _MISSING]


def _number(value: float, sort: Sort) -> str:
    value = 0.0 if abs(value) < np.finfo(np.float64).tiny else value  # such as what follows 0
    if sort is Sort.MOMENT:
        return str(np.datetime64(int(value), "s").astype("datetime64[D]"))
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"  # noqa: PLR2004 - for the eye
