"""The columns of a table, each in an order of its own. Holds real values: nothing is promised."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import BadInput
from understudy.model.product import ProductModel
from understudy.privacy.answers import Measurement

_MOST_ROWS = 2**28
"""Of a model in a file: with a few numbers, it asks for that much memory or a little more."""
_COUNTS = "Counts of shuffled columns are whole numbers, as many rows in each."


@dataclass(frozen=True, eq=False)
class ShuffledColumns:
    """How often each code occurs in each column: all that a shuffle leaves."""

    domain: Domain
    counts: Mapping[str, NDArray[np.int64]]

    kind = "shuffled"
    measurements: tuple[Measurement, ...] = ()

    @classmethod
    def of(cls, domain: Domain, codes: Mapping[str, NDArray[Any]]) -> "ShuffledColumns":
        """The columns of some rows."""
        sizes = domain.sizes
        counts = {n: np.bincount(codes[n], minlength=sizes[n]) for n in domain.names}
        return cls(domain, counts)

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """Return one clique per column: each is shuffled on its own."""
        return tuple((name,) for name in self.domain.names)

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(next(iter(self.counts.values())).sum())

    @property
    def total(self) -> float:
        """How many rows there are."""
        return float(self.rows)

    def visible(self, hidden: Mapping[str, int]) -> "ShuffledColumns | ProductModel":
        """Return the model of rows without hidden codes: whole shuffles where none has one."""
        if not any(self.counts[name][code] for name, code in hidden.items()):
            return self
        shares = {name: counts / max(self.rows, 1) for name, counts in self.counts.items()}
        return ProductModel(self.domain, self.total, shares).visible(hidden)

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.unsignedinteger]]:
        """As many rows as there were are a shuffle; of others, whole shuffles and a part of one."""
        drawn = {}
        for name, counts in self.counts.items():
            small = np.min_scalar_type(max(len(counts) - 1, 0))
            column = np.repeat(np.arange(len(counts), dtype=small), counts)
            whole = -(-rows // max(self.rows, 1)) if self.rows else 0
            parts = [rng.permutation(column) for _ in range(whole)] or [np.zeros(rows, np.int64)]
            drawn[name] = np.concatenate(parts)[:rows].astype(small, copy=False)
        return drawn

    def to_json(self) -> dict[str, Any]:
        """The counts as plain data."""
        return {"counts": {name: counts.tolist() for name, counts in self.counts.items()}}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "ShuffledColumns":
        """What `to_json` wrote."""
        counts = {name: np.array(one, np.int64) for name, one in content["counts"].items()}
        if not counts or any(one.ndim != 1 or (one < 0).any() for one in counts.values()):
            raise BadInput(_COUNTS)
        totals = {sum(one.tolist()) for one in counts.values()}
        if len(totals) > 1 or max(totals) > _MOST_ROWS:
            raise BadInput(_COUNTS)
        return cls(Domain.of({name: len(one) for name, one in counts.items()}), counts)
