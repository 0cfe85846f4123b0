"""Codes that are too rare to be told from noise, and what becomes of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.domain import Clique, Domain
from understudy.model.counts import believable_total, combined, fitted
from understudy.privacy.answers import Measurement
from understudy.privacy.scores import L1Distance


@dataclass(frozen=True, eq=False)
class Columns:
    """What noisy counts say of each column by itself."""

    total: float
    counts: Mapping[str, NDArray[np.float64]]
    """Never negative, and adding up to the total."""
    groups: Mapping[str, tuple[int, ...]]
    """By column with rare codes, the group of each code; rare ones share the last."""
    measurements: tuple[Measurement, ...]
    """The noisy counts after merging."""

    @classmethod
    def of(
        cls,
        domain: Domain,
        measured: Sequence[Measurement],
        *,
        rarity: float,
        hidden: Mapping[str, int] | None = None,
    ) -> "Columns":
        """Codes whose noisy count lies below so many standard deviations are rare.

        A `hidden` code that is rare joins the column's most frequent one, so that pairs have no
        cells for it: no row of a release has it.
        """
        total = believable_total(measured)
        counts, groups, merged = {}, {}, []
        for name in domain.names:
            values, variance = combined(one for one in measured if one.clique == (name,))
            counts[name] = fitted(values, variance, total)
            rare = values < rarity * np.sqrt(variance)
            found = _groups(values, rare, (hidden or {}).get(name))
            if found is not None:
                places = groups[name] = found
                values, variance = (summed(places, part) for part in (values, variance))
            merged.append(Measurement((name,), values, np.sqrt(variance)))
        return cls(total, counts, groups, tuple(merged))

    def merged_counts(self, name: str) -> NDArray[np.float64]:
        """A column's counts after merging."""
        groups = self.groups.get(name)
        return self.counts[name] if groups is None else summed(groups, self.counts[name])

    def shares(self, name: str) -> NDArray[np.float64]:
        """A row for each group, a column for each code: the code's share of its group."""
        groups, counts = np.array(self.groups[name]), self.counts[name]
        within = np.zeros((groups.max() + 1, len(groups)))
        within[groups, np.arange(len(groups))] = counts
        empty = within.sum(axis=1) <= 0
        # Where noise left nothing of a group, its codes are as good as each other.
        within += empty[:, None] * (np.arange(len(empty))[:, None] == groups)
        return np.asarray(within / within.sum(axis=1, keepdims=True))


def _groups(
    values: NDArray[np.float64], rare: NDArray[np.bool_], hidden: int | None
) -> tuple[int, ...] | None:
    """The group of each code; None where each has one of its own."""
    alone = ~rare
    if hidden is not None:
        alone[hidden] = True  # it never shares the group of rare codes
    if (~alone).sum() <= 1:
        alone[:] = True
    faint = hidden is not None and bool(rare[hidden])
    if alone.all() and not faint:
        return None
    if faint:
        alone[hidden] = False
    # The others keep their order, and the rare ones come last.
    places = np.where(alone, np.cumsum(alone) - 1, alone.sum())
    if faint:
        seen = np.arange(len(values)) != hidden
        places[hidden] = places[np.argmax(np.where(seen, values, -np.inf))]
    return tuple(int(place) for place in places)


def from_independent(columns: Columns, pair: Clique, *, offset: float = 0.0) -> L1Distance:
    """How far the counts of a pair are from those of independent columns."""
    a, b = (columns.merged_counts(name) for name in pair)
    return L1Distance(pair, np.multiply.outer(a, b) / columns.total, offset=offset)


def summed(groups: ArrayLike, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers, added up by group."""
    return np.bincount(np.asarray(groups), numbers).astype(np.float64)
