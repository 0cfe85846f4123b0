"""Counting rows that were encoded once and lie in memory as small integers."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.privacy.cover import Pass, cover
from understudy.privacy.weights import RowWeights

Block = Mapping[str, NDArray[np.unsignedinteger]]
"""The codes of some rows, by column."""

ROWS_PER_BLOCK = 2**17
_CACHED_CELLS = 2**16
"""A joint count of this many cells still sits in a processor's second-level cache."""
_CELLS_AT_ONCE = 2**24
"""Joint counts kept side by side while the blocks pass; 128 MB."""
_DENSE_SCORES = 2**20
"""Up to this score a weight is looked up in a table rather than searched."""


class BlockCounter:
    """Counts encoded rows, block by block."""

    def __init__(self, blocks: Iterable[Block], domain: Domain) -> None:
        self.blocks = list(blocks)
        self._domain = domain
        self._rows = sum(map(_rows, self.blocks))

    def count(
        self, cliques: Sequence[Clique], weights: RowWeights | None
    ) -> dict[Clique, NDArray[np.int64]]:
        """The exact marginals of cliques in the domain's order."""
        # Joining pays only while there are more rows to pass over than cells to sum out.
        joined = min(_CACHED_CELLS, max(256, self._rows // 4))
        counts: dict[Clique, NDArray[np.int64]] = {}
        batch: list[Pass] = []
        cells = 0
        for step in cover(cliques, self._domain.sizes, joined):
            size = self._domain.size(step.clique)
            if batch and cells + size > _CELLS_AT_ONCE:
                counts |= self._count(batch, weights)
                batch, cells = [], 0
            batch.append(step)
            cells += size
        return counts | self._count(batch, weights)

    def _count(
        self, passes: list[Pass], weights: RowWeights | None
    ) -> dict[Clique, NDArray[np.int64]]:
        joints = [np.zeros(self._domain.size(step.clique), np.int64) for step in passes]
        weigh = None if weights is None else Weigher(weights, self._domain)
        for block in self.blocks:
            row_weights = None if weigh is None else weigh(block)
            for step, joint in zip(passes, joints, strict=True):
                _add(joint, _cells(block, step.clique, self._domain), row_weights)
        counts: dict[Clique, NDArray[np.int64]] = {}
        for step, joint in zip(passes, joints, strict=True):
            counts |= step.marginals(joint.reshape(self._domain.shape(step.clique)))
        return counts


class Weigher:
    """The weights of a block's rows, from integer tables.

    Columns are looked up a few at a time, in the table of their joint scores, because a look-up
    costs several times the arithmetic that finds its place.
    """

    def __init__(self, weights: RowWeights, domain: Domain) -> None:
        self._domain = domain
        most = sum(max(table.scores) for table in weights.tables)
        kind = np.int32 if most < _DENSE_SCORES else np.int64
        self._tables: list[tuple[Clique, NDArray[np.signedinteger]]] = []
        for own in weights.tables:
            table: NDArray[np.signedinteger] = np.asarray(own.scores, kind)
            clique, joint = self._tables[-1] if self._tables else ((), table)
            together = len(joint) * len(table) <= _CACHED_CELLS and not {*clique} & {*own.columns}
            if self._tables and together:
                joined = np.add.outer(joint, table).ravel()
                self._tables[-1] = ((*clique, *own.columns), joined)
            else:
                self._tables.append((own.columns, table))
        self._thresholds = np.asarray(weights.thresholds, np.int64)
        # Doubles because numpy.bincount sums doubles; whole numbers this small stay exact.
        self._weights = np.asarray(weights.weights, np.float64)
        self._dense = self._step(np.arange(most + 1)) if most < _DENSE_SCORES else None

    def __call__(self, block: Block) -> NDArray[np.float64]:
        """The weight of each row, in 1/1024."""
        score = np.zeros(_rows(block), np.int64)
        for place, (clique, table) in enumerate(self._tables):
            found = table.take(_cells(block, clique, self._domain))
            score = found if place == 0 else score + found
        return self._step(score) if self._dense is None else self._dense.take(score)

    def _step(self, score: NDArray[np.signedinteger]) -> NDArray[np.float64]:
        return self._weights[np.searchsorted(self._thresholds, score, side="right")]


def _rows(block: Block) -> int:
    return len(next(iter(block.values())))


def _cells(block: Block, clique: Clique, domain: Domain) -> NDArray[np.unsignedinteger]:
    """The flat cell of each row, in the narrowest type that holds it."""
    # Wide enough for the sizes that the index is multiplied by, too.
    kind = np.min_scalar_type(domain.size(clique))
    if not clique:
        return np.zeros(_rows(block), kind)
    cells = block[clique[0]].astype(kind)
    for name in clique[1:]:
        cells *= kind.type(domain.sizes[name])
        cells += block[name].astype(kind, copy=False)
    return cells


def _add(
    joint: NDArray[np.int64],
    index: NDArray[np.unsignedinteger],
    row_weights: NDArray[np.float64] | None,
) -> None:
    """Add a block's rows to a joint count."""
    if len(joint) > 8 * len(index) + 1024:
        # A fresh array of all cells would cost more than the rows that fall into it.
        amount = 1 if row_weights is None else row_weights.astype(np.int64)
        np.add.at(joint, index, amount)
        return
    counted = np.bincount(index, row_weights, minlength=len(joint))
    joint += counted.astype(np.int64, copy=False)
