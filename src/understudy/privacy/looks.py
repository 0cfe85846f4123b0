"""How a ledger looks at the rows: how much each counts, and which codes it tells apart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.encode import Encoding
from understudy.privacy.account import Request
from understudy.privacy.merging import Merging
from understudy.privacy.weights import UNIT, RowWeights

Counter = Callable[[Sequence[Clique], RowWeights | None], list[NDArray[np.int64]]]


@dataclass(frozen=True)
class Look:
    """Weights and groups; without them every row counts once, and every code by itself."""

    weights: RowWeights | None = None
    merging: Merging | None = None
    left_out: frozenset[str] = frozenset()
    """Columns that are not looked at."""
    encoding: Encoding | None = field(default=None, compare=False)
    """The codes that weights and groups are about."""

    def domain(self, fine: Domain) -> Domain:
        """The number of codes of each column that are told apart."""
        told = fine if self.merging is None else self.merging.domain(fine)
        if not self.left_out:
            return told
        return told.project(name for name in told.names if name not in self.left_out)

    def counts(self, cliques: Sequence[Clique], count: Counter) -> list[NDArray[np.int64]]:
        """Exact marginals as they are seen, from what counts them code by code."""
        counts = count(cliques, self.weights)
        if self.merging is None:
            return counts
        return [self.merging.counts(c, n) for c, n in zip(cliques, counts, strict=True)]

    def told(self, request: dict[str, Any]) -> Request:
        """A request, with what was special about the way the rows were looked at."""
        if self.weights is not None:
            request = {**request, "weights": {"most": self.weights.most, "of": UNIT}}
        if self.merging is not None:
            groups = {name: max(column) + 1 for name, column in self.merging.groups}
            request = {**request, "merged": groups}
        return request
