"""A tree of pairs: MST, after McKenna, Miklau and Sheldon (2021).

As published, but that merged codes come apart again by their noisy shares, and not evenly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

from understudy.allocate import Allocation, allocation_named, measured
from understudy.domain import Clique
from understudy.knowledge import Allowed, anything
from understudy.mechanisms.parameters import check_number, check_whole
from understudy.model.estimate import BYTES_PER_CELL, MODEL_BYTES, check_bytes, estimate
from understudy.model.merged import MergedModel
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.privacy.scores import L1Distance
from understudy.select.rare import Columns, from_independent
from understudy.select.tree import private_forest


@dataclass(frozen=True)
class Mst:
    """All 1-way marginals, then the pairs of a tree that independence explains worst.

    A third of the budget each: single columns, the choice of the tree, its pairs. Codes that the
    first third cannot tell from noise are merged before pairs are counted.
    """

    allocation: Allocation = Allocation.UNIFORM
    """How a third is split over its marginals."""
    rarity: float = 3.0
    """Codes below so many standard deviations of noise are merged."""
    model_bytes: int = MODEL_BYTES
    """What the fitted model may hold in memory at its peak."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "allocation", allocation_named(self.allocation))
        check_number("rarity", self.rarity, least=0)
        check_whole("model_bytes", self.model_bytes, least=1)

    name: ClassVar[str] = "mst"
    about: ClassVar[str] = "keeps each column, and the pairs of a tree chosen for what they tell"
    guarantee: ClassVar[str] = "(ε, δ)-differential privacy"
    needs: ClassVar[str] = "nothing"

    def fit(
        self, ledger: Ledger, known: Sequence[Measurement] = (), allowed: Allowed = anything
    ) -> MergedModel:
        """A model of the ledger's table."""
        domain, hidden = ledger.domain, ledger.encoding.hidden
        ones = [(name,) for name in domain.names]
        check_bytes(domain, ones, self.model_bytes)
        third = ledger.rest() / 3 if len(ones) > 1 else ledger.rest()
        # MEASURE: single columns
        single = measured(ledger, ones, rho=third, allocation=self.allocation)
        alone = [*known, *single]
        columns = Columns.of(domain, alone, rarity=self.rarity, hidden=hidden)
        merged = ledger.merged(columns.groups)
        # SELECT: a tree of pairs, by how far they are from independent
        room = self.model_bytes / BYTES_PER_CELL - sum(merged.domain.sizes.values())
        varied = [name for name in domain.names if merged.domain.sizes[name] > 1]
        edges = [
            from_independent(columns, pair)
            for pair in combinations(varied, 2)
            if merged.domain.size(pair) <= room and domain.size(pair) <= ledger.most_cells
        ]
        tree = self.tree(merged, edges, rho=third, allowed=allowed, most_cells=room)
        if not tree and len(ones) > 1:  # no pair is allowed, or none has room
            alone += measured(ledger, ones, rho=ledger.rest(), allocation=self.allocation)
            columns = Columns.of(domain, alone, rarity=self.rarity, hidden=hidden)
            merged = ledger.merged(columns.groups)
        # MEASURE: its pairs, for all that is left
        pairs = measured(merged, tree, rho=merged.rest(), allocation=self.allocation)
        # FIT
        fitted = estimate(
            merged.domain, [*columns.measurements, *pairs], most_bytes=self.model_bytes
        )
        shares = {name: columns.shares(name) for name in columns.groups}
        return MergedModel(fitted.model, shares, (*alone, *pairs))

    def tree(
        self,
        ledger: Ledger,
        edges: Sequence[L1Distance],
        *,
        rho: Fraction,
        allowed: Allowed,
        most_cells: float,
    ) -> list[Clique]:
        """Pairs that form no cycle, for ρ at most; what is left of it is for measuring them."""
        return private_forest(ledger, edges, rho=rho, allowed=allowed, most_cells=most_cells)
