"""Matrix products of whole numbers in doubles: exact, whatever the order of the sum.

A library's matrix product may add up a row's terms in another order when the row lies elsewhere
in its block, and the last digit may differ. A record's share in a sum would then depend on its
neighbours, which no sensitivity bound allows. Whole numbers whose partial sums stay below 2⁵³
have no last digit to differ in: every order gives the same result.
"""

import numpy as np
from numpy.typing import NDArray

EXACT = 2.0**53

Whole = NDArray[np.float64]
"""Doubles that hold whole numbers."""


def rounded(values: NDArray[np.float64], bits: int, most: float) -> Whole:
    """Values in whole multiples of 2⁻ᵇⁱᵗˢ, moved into ±most where they lie beyond."""
    return np.rint(np.clip(values, -most, most) * 2.0**bits)


def squared_norms(rows: Whole) -> Whole:
    """The squared norm of each row."""
    norms: Whole = np.einsum("ij,ij->i", rows, rows)
    return norms


def shrink(rows: Whole, factors: NDArray[np.float64]) -> Whole:
    """Each row times its factor, moved toward zero onto whole numbers: no norm grows by it."""
    shrunk: Whole = np.trunc(rows * (factors * (1 - 2.0**-40))[:, None])
    return shrunk


def within(rows: Whole, radius: float) -> Whole:
    """The rows, those longer than the radius shortened to it; exactly, in whole numbers."""
    norms = np.sqrt(squared_norms(rows))
    long = norms > radius
    shortened = rows.copy()
    shortened[long] = shrink(rows[long], radius / norms[long])
    return shortened
