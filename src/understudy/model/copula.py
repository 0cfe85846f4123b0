"""Columns by their own laws, tied by the correlation of normal scores: a Gaussian copula."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import BadInput
from understudy.model.cliques import cliques_of
from understudy.model.latin_hypercube import correlation_near, middles, places
from understudy.model.product import ProductModel
from understudy.privacy.answers import Measurement

_TIED = "A copula's orders and correlation do not fit its columns."
_NEAR = 1e-5
"""What is as near to a correlation matrix is one."""


@dataclass(frozen=True, eq=False)
class CopulaModel:
    """Noisy laws of columns, and a noisy correlation. Rows fill every column's law evenly."""

    columns: ProductModel
    orders: Mapping[str, NDArray[np.int64]]
    """By column, its codes from the lowest to the highest."""
    correlation: NDArray[np.float64]

    kind = "copula"

    @property
    def domain(self) -> Domain:
        """The codes that it draws, by column."""
        return self.columns.domain

    @property
    def total(self) -> float:
        """How many rows the table has, about."""
        return self.columns.total

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """What the columns were fitted to."""
        return self.columns.measurements

    @property
    def tied(self) -> bool:
        """Whether columns depend on each other."""
        return bool((self.correlation != np.diag(np.diag(self.correlation))).any())

    @property
    def cliques(self) -> tuple[Clique, ...] | None:
        """Return one clique of all columns if any correlate, else one per column."""
        return (self.domain.names,) if self.tied else cliques_of(self.columns)

    def visible(self, hidden: Mapping[str, int]) -> "CopulaModel":
        """Return the copula of the same correlation over columns without their hidden codes."""
        return replace(self, columns=self.columns.visible(hidden))

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.unsignedinteger]]:
        """Codes of that many rows: a Latin hypercube."""
        given, parts = places(rows, self.correlation, rng), middles(rows)
        drawn = {}
        for column, name in enumerate(self.domain.names):
            order = self.orders[name]
            ladder = np.cumsum(self.columns.shares[name][order])
            steps = np.searchsorted(ladder, parts * ladder[-1], side="right")
            codes = order[np.minimum(steps, len(order) - 1)].astype(
                np.min_scalar_type(len(order) - 1)
            )
            drawn[name] = codes[given[:, column]]
        return drawn

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        return {
            "columns": self.columns.to_json(),
            "orders": {name: order.tolist() for name, order in self.orders.items()},
            "correlation": self.correlation.tolist(),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "CopulaModel":
        """What `to_json` wrote."""
        columns = ProductModel.from_json(content["columns"])
        sizes, matrix = columns.domain.sizes, np.array(content["correlation"], np.float64)
        fits = {name: sorted(one) for name, one in content["orders"].items()} == {
            name: [*range(size)] for name, size in sizes.items()
        }
        square = (len(sizes), len(sizes))
        if not fits or matrix.shape != square or not np.isfinite(matrix).all():
            raise BadInput(_TIED)
        # As it was written, or rows would come out otherwise than they did.
        if not np.allclose(matrix, correlation_near(matrix), atol=_NEAR):
            raise BadInput(_TIED)
        np.linalg.cholesky(matrix)  # refuses what rows cannot be drawn by
        orders = {name: np.array(one, np.int64) for name, one in content["orders"].items()}
        return cls(columns, orders, matrix)
