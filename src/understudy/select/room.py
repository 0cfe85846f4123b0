"""Which marginals can be counted and modelled besides others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from understudy.domain import Clique
from understudy.knowledge import Allowed
from understudy.model.estimate import BYTES_PER_CELL, Stopping, estimate, needed_bytes
from understudy.model.graphical import GraphicalModel
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.select.adaptive import with_room
from understudy.select.rare import Columns


@dataclass(frozen=True, eq=False)
class Room:
    """A table whose single columns are measured, and a model of it that may grow to a limit."""

    ledger: Ledger
    merged: Ledger
    """The same, rare codes counted together."""
    columns: Columns
    allowed: Allowed
    model_bytes: int

    def fitting(self, cliques: Iterable[Clique], others: Sequence[Clique]) -> list[Clique]:
        """Those of the cliques that can each be measured besides others."""
        size, most = self.ledger.domain.size, self.ledger.most_cells
        varied = {*self.varied}
        return with_room(
            self.merged,
            [one for one in cliques if size(one) <= most and varied.issuperset(one)],
            [*self._ones, *others],
            model_bytes=self.model_bytes,
            allowed=self.allowed,
        )

    def fits(self, clique: Clique, others: Sequence[Clique]) -> bool:
        """Whether a marginal can be measured besides others."""
        return bool(self.fitting([clique], others))

    def holds(self, cliques: Sequence[Clique]) -> bool:
        """Whether a model of all of them has room."""
        return needed_bytes(self.merged.domain, [*self._ones, *cliques]) <= self.model_bytes

    def cells_left(self, others: Sequence[Clique]) -> float:
        """How many cells marginals that close no cycle may have."""
        taken = needed_bytes(self.merged.domain, [*self._ones, *others])
        return (self.model_bytes - taken) / BYTES_PER_CELL

    def fitted(self, measurements: Sequence[Measurement], stop: Stopping) -> GraphicalModel:
        """The model that fits them best."""
        domain = self.merged.domain
        return estimate(domain, measurements, stop=stop, most_bytes=self.model_bytes).model

    @property
    def varied(self) -> list[str]:
        """Columns with more than one code: the others say nothing about any column."""
        return [name for name, size in self.merged.domain.sizes.items() if size > 1]

    @property
    def _ones(self) -> list[Clique]:
        return [(name,) for name in self.merged.domain.names]
