"""Rows spread evenly over every column at once, and tied as a correlation says.

A Latin hypercube takes one place out of each of n equal parts of a column's law. Columns are tied
by the order in which places are given out (Iman and Conover 1982), so each column's law stays exact
whatever the correlation is.
"""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
_LEAST_EIGENVALUE = 1e-6


def correlation_near(matrix: Numbers) -> Numbers:
    """A correlation matrix near one that noise, ties or gaps have spoiled.

    Eigenvalues that are too small are raised, and the diagonal is made 1 again.
    """
    clean = np.clip(np.nan_to_num((matrix + matrix.T) / 2), -1.0, 1.0)
    np.fill_diagonal(clean, 1.0)
    values, vectors = np.linalg.eigh(clean)
    raised = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(np.diag(raised))
    return np.asarray(raised / np.outer(scale, scale))


def places(rows: int, correlation: Numbers, rng: np.random.Generator) -> NDArray[np.intp]:
    """By row and column: which of the n parts of the column's law the row gets, from 0.

    Each part occurs once in each column, and normal scores of the columns correlate as given.
    """
    columns = len(correlation)
    drawn = rng.standard_normal((rows, columns))
    if rows > 2 * columns:
        # What few rows correlate by chance is taken out first.
        by_chance = np.linalg.cholesky(correlation_near(np.corrcoef(drawn.T).reshape(columns, -1)))
        turn = np.linalg.solve(by_chance.T, np.linalg.cholesky(correlation).T)
    else:
        turn = np.linalg.cholesky(correlation).T
    tied = drawn @ turn
    found = np.empty((rows, columns), np.intp)
    for column in range(columns):
        found[np.argsort(tied[:, column], kind="stable"), column] = np.arange(rows)
    return found


def middles(rows: int) -> Numbers:
    """The middle of each of n equal parts of a law."""
    return np.asarray((np.arange(rows) + 0.5) / rows)
