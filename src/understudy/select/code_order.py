"""The order of a column's codes."""

import numpy as np
from numpy.typing import NDArray

from understudy.encode.encoding import Cells
from understudy.encode.numbers import NumberCells


def ordered_codes(cells: Cells) -> NDArray[np.int64]:
    """A column's codes from the lowest to the highest; that of missing values comes last."""
    codes = [code for code in range(cells.size) if code != cells.missing]
    if isinstance(cells, NumberCells):
        values = [(low + high) / 2 for low, high in cells.bins] + [float(a) for a in cells.atoms]
        codes.sort(key=lambda code: values[code])
    return np.array(codes + ([] if cells.missing is None else [cells.missing]), np.int64)
