"""The labels that a column can have, as a model is taught them, and how common each is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.encode.encoding import Cells
from understudy.encode.numbers import NumberCells
from understudy.model.counts import believable_total, combined, fitted
from understudy.privacy.answers import Measurement
from understudy.select.code_order import ordered_codes

_MOST_CLASSES = 8
"""A numeric target with more codes than this is told as a number, not as classes."""


def told_as_classes(cells: Cells) -> bool:
    """Whether a column is told as classes, and not as a number."""
    many = cells.size - (cells.missing is not None) > _MOST_CLASSES
    return not (isinstance(cells, NumberCells) and many)


@dataclass(frozen=True, eq=False)
class LabelsTold:
    """Which codes a model tells apart, and the noisy share of each."""

    column: str
    codes: NDArray[np.int64]
    """Those that are told, numbers in their order; then those that are not (missing values)."""
    told: int
    numeric: bool
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, cells: Cells, column: str, counted: Sequence[Measurement]) -> "LabelsTold":
        """What noisy counts say of a column's labels."""
        total = believable_total(counted)
        shares = fitted(*combined(counted), total) / total
        order = ordered_codes(cells)
        # A column that is missing throughout has one label, and no other.
        told = max(cells.size - (cells.missing is not None), 1)
        numeric = not told_as_classes(cells)
        return cls(column, order, told, numeric, shares[order])

    @property
    def values(self) -> NDArray[np.float64]:
        """Of each label that is told: the number of its class, or its place from -1 to 1."""
        if self.numeric:
            return np.linspace(-1.0, 1.0, self.told)
        return np.arange(self.told, dtype=np.float64)

    @property
    def table(self) -> NDArray[np.float64]:
        """By code, what a model is taught; of codes that are not told, nothing."""
        table = np.full(len(self.codes), np.nan)
        table[self.codes[: self.told]] = self.values
        return table

    @property
    def variance(self) -> float:
        """Of the numbers, by noisy shares."""
        shares = np.maximum(self.shares[: self.told], 1e-12)
        shares = shares / shares.sum()
        return float(shares @ (self.values - shares @ self.values) ** 2)
