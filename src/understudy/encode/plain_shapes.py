"""The shape of a number: its magnitude, and how many decimals it needs.

Written in the rules' operations, because numbers that an engine stores as such are coded there.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from understudy.column import LARGEST_INTEGER
from understudy.encode.arrow_ops import ArrowOps
from understudy.encode.ops import Ops, Value
from understudy.encode.shape_grid import (
    FOUR,
    HALF,
    HALF_ZERO,
    MAGNITUDES,
    MANY,
    MORE_ZERO,
    ONE,
    ONE_ZERO,
    PLAIN,
    QUARTER,
    SIX,
    THREE,
    TWO,
    WHOLE,
    WHOLE_ZERO,
)

_STEPS = (
    *((1.0, WHOLE), (2.0, HALF), (10.0, ONE), (4.0, QUARTER), (100.0, TWO)),
    *((1e3, THREE), (1e4, FOUR), (1e5, SIX), (1e6, SIX)),
)
"""How many steps make one, from coarse to fine, and the precision of their multiples."""
_ZERO = {WHOLE: WHOLE_ZERO, HALF: HALF_ZERO, ONE: ONE_ZERO}
"""By precision, the one of numbers that are written with a zero at the end."""
_Numbers: TypeAlias = NDArray[np.float64]


def number_cell(number: Value, ops: Ops) -> Value:
    """Return the cell of a known number that is stored as one."""
    place = ops.search(number, MAGNITUDES)
    return place + precision_of(number, ops) * PLAIN.width + PLAIN.start


def precision_of(number: Value, ops: Ops, codes: Sequence[int] | None = None) -> Value:
    """Return how many decimals a known number needs: the row of the grid, or the code for it.

    Args:
        number: The numbers.
        ops: What computes with them.
        codes: By row of the grid, the code to return instead.
    """
    by_row = range(MANY + 1) if codes is None else codes
    cases = [(_is_multiple(number, steps, ops), by_row[row]) for steps, row in _STEPS]
    return ops.first(cases, by_row[MANY])


def plain_cells(numbers: _Numbers, with_zero: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the cells of plain numbers that were written as text, some with a zero at the end."""
    cells: Any = number_cell(numbers, ArrowOps()) - PLAIN.start
    rows, places = np.divmod(cells, PLAIN.width)
    zeros = np.array([_ZERO.get(row, MORE_ZERO) for row in range(len(PLAIN.rows))])
    rows = np.where(with_zero, zeros[rows], rows)
    return np.asarray(PLAIN.start + rows * PLAIN.width + places, np.int64)


def _is_multiple(number: Value, steps: float, ops: Ops) -> Value:
    """Return whether a double is the one nearest to some multiple of 1/steps.

    A multiple that is so large that a double cannot count its steps is taken for none, but for
    whole numbers: all doubles from 2**52 on are whole.
    """
    most = LARGEST_INTEGER / steps
    inside = ops.clamp(number, -most, most)
    if steps == 1:
        return ops.floor(inside) == inside
    return ops.floor(inside * steps + 0.5) / steps == number
