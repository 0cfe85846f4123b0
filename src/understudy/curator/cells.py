"""Cells to count rows in: labels as they are, numbers cut where the real rows' quantiles are.

The cut points are read off real rows, so counts in these cells are internal.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.curator.tables import Rows, Tables, distinct
from understudy.domain import Clique

BINS = 16
"""Number columns with more values than this are cut into about this many bins."""
MOST_CELLS = 64
"""Labels beyond the most common share the last cell."""
FINE_BINS, MOST_EXACT = 64, 256
"""Where what is alike must not be lumped: more bins, and none for columns with few values."""


Codes = Mapping[str, NDArray[np.integer]]
"""By column, the cell of each row."""


@dataclass(frozen=True, eq=False)
class Cells:
    """By column, how many cells there are and where numbers are cut."""

    sizes: Mapping[str, int]
    cuts: Mapping[str, NDArray[np.float64]]

    @classmethod
    def of(cls, tables: Tables, guide: Rows | None = None, *, fine: bool = False) -> "Cells":
        """Cells for the columns of these tables; `guide` is the real table by default.

        Fine cells hold every label by itself, and numbers with few values too.
        """
        guide = tables.real if guide is None else guide
        bins, exact = (FINE_BINS, MOST_EXACT) if fine else (BINS, BINS)
        cuts = {name: _cuts(values, bins, exact) for name, values in guide.numbers.items()}
        sizes = {}
        for column in tables.columns:
            labels = len(column.labels) if fine else min(len(column.labels), MOST_CELLS)
            # One more than the bins, for missing numbers.
            sizes[column.name] = len(cuts[column.name]) + 2 if column.sort.counted else labels
        return cls(sizes, cuts)

    def codes(self, rows: Rows) -> dict[str, NDArray[np.int32]]:
        """The cell of each row, by column."""
        codes = {}
        for name, size in self.sizes.items():
            if name in rows.codes:
                codes[name] = np.minimum(rows.codes[name], size - 1)
            else:
                numbers = rows.numbers[name]
                places = np.searchsorted(self.cuts[name], numbers, side="right")
                codes[name] = np.where(np.isnan(numbers), size - 1, places).astype(np.int32)
        return codes


def places(clique: Clique, codes: Codes, sizes: Sequence[int]) -> NDArray[np.int64]:
    """The cell of each row in a marginal, the clique's last column varying fastest."""
    place = codes[clique[0]].astype(np.int64)
    for name, size in zip(clique[1:], sizes[1:], strict=True):
        place = place * size + codes[name]
    return place


def joint(codes: Codes, names: Collection[str]) -> NDArray[np.int64]:
    """One number for several columns together, without gaps; the same for all if none is named."""
    key = np.zeros(len(next(iter(codes.values()))), np.int64)
    for name in names:
        key = distinct(key * (int(codes[name].max(initial=0)) + 1) + codes[name])
    return key


def _cuts(numbers: NDArray[np.float64], bins: int, exact: int) -> NDArray[np.float64]:
    """Where to cut; a value that fills a quantile by itself gets a cell of its own.

    >>> _cuts(np.array([0.0] * 90 + list(range(1, 40))), 16, 16)[:2]
    array([5.e-324, 7.e+000])
    """
    known = numbers[~np.isnan(numbers)]
    values, counts = np.unique(known, return_counts=True)
    if len(values) <= exact:
        return values[1:]
    quantiles = np.quantile(known, np.arange(1, bins) / bins, method="inverted_cdf")
    atoms = values[counts * bins >= len(known)]
    cuts = np.unique(np.concatenate([quantiles, atoms, np.nextafter(atoms, np.inf)]))
    return np.asarray(cuts[(cuts > values[0]) & (cuts <= values[-1])])
