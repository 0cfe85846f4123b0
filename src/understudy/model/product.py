"""The simplest model: every column by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.model.checks import checked_shares, checked_total
from understudy.model.counts import believable_total, combined, fitted
from understudy.model.visible import visible_shares
from understudy.privacy.answers import (
    Measurement,
    measurement_from_json,
    measurement_to_json,
)


@dataclass(frozen=True, eq=False)
class ProductModel:
    """Columns that are independent of each other, and how many rows there are, about."""

    domain: Domain
    total: float
    shares: Mapping[str, NDArray[np.float64]]
    """By column, the share of rows in each cell."""
    measurements: tuple[Measurement, ...] = ()
    """What it was fitted to."""

    kind = "product"

    @classmethod
    def of(cls, domain: Domain, measurements: Sequence[Measurement]) -> "ProductModel":
        """The model that fits noisy counts of all columns best."""
        total = believable_total(measurements)
        shares = {}
        for name in domain.names:
            values, variance = combined(m for m in measurements if m.clique == (name,))
            shares[name] = fitted(values, variance, total) / total
        return cls(domain, total, shares, tuple(measurements))

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """Return one clique per column: all columns are independent."""
        return tuple((name,) for name in self.domain.names)

    def visible(self, hidden: Mapping[str, int]) -> "ProductModel":
        """Return the model of rows without hidden codes."""
        shares = {n: visible_shares(self.shares[n], code) for n, code in hidden.items()}
        return replace(self, shares={**self.shares, **shares})

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.unsignedinteger]]:
        """Codes of that many rows."""
        return {name: _drawn(self.shares[name], rows, rng) for name in self.domain.names}

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        shares = {name: share.tolist() for name, share in self.shares.items()}
        measurements = [measurement_to_json(measurement) for measurement in self.measurements]
        return {"total": self.total, "shares": shares, "measurements": measurements}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "ProductModel":
        """The model that `to_json` wrote."""
        shares = {n: checked_shares(share, (len(share),)) for n, share in content["shares"].items()}
        domain = Domain.of({name: len(share) for name, share in shares.items()})
        measurements = tuple(measurement_from_json(one) for one in content["measurements"])
        return cls(domain, checked_total(content["total"]), shares, measurements)


def _drawn(
    shares: NDArray[np.float64], rows: int, rng: np.random.Generator
) -> NDArray[np.unsignedinteger]:
    ladder = np.cumsum(shares)
    places = np.searchsorted(ladder, rng.random(rows) * ladder[-1], side="right")
    last = len(shares) - 1  # where rounding would step beyond it
    return np.asarray(np.minimum(places, last)).astype(np.min_scalar_type(last))
