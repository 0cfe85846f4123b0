"""Codes that are counted together, so that rare ones share one count and its noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import BadInput


@dataclass(frozen=True)
class Merging:
    """By column, the group of each code: 0 … k - 1, where every group has a code.

    A record lies in one cell of a merged marginal as it does in the marginal itself, so that
    sensitivities stay as they are.

    >>> Merging.of({"job": [0, 1, 1, 2]}).domain(Domain.of({"age": 9, "job": 4}))
    Domain(age=9, job=3)
    """

    groups: tuple[tuple[str, tuple[int, ...]], ...]

    @classmethod
    def of(cls, groups: Mapping[str, Sequence[int]]) -> "Merging":
        """Groups from plain lists."""
        plain = {}
        for name, given in groups.items():
            column = tuple(int(group) for group in given if isinstance(group, int | np.integer))
            plain[name] = column
            gaps = sorted(set(column)) != list(range(max(column, default=-1) + 1))
            if gaps or len(column) != len(given):
                msg = f"The groups of {name!r} must be numbered 0, 1, … without a gap."
                raise BadInput(msg)
        return cls(tuple(plain.items()))

    def check(self, domain: Domain) -> None:
        """Refuse groups that do not place each code of their column."""
        names = tuple(name for name, _ in self.groups)
        for (name, column), size in zip(self.groups, domain.shape(names), strict=True):
            if len(column) != size:
                msg = f"{len(column)} groups were given for the {size} codes of {name!r}."
                raise BadInput(msg)

    def domain(self, domain: Domain) -> Domain:
        """The sizes after merging."""
        self.check(domain)
        return Domain.of(domain.sizes | {name: max(column) + 1 for name, column in self.groups})

    def counts(self, clique: Clique, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """A marginal's counts, added up by group."""
        for name, column in self.groups:
            if name in clique:
                axis = clique.index(name)
                order = np.argsort(column, kind="stable")
                starts = np.searchsorted(np.array(column)[order], np.arange(max(column) + 1))
                counts = np.add.reduceat(counts.take(order, axis=axis), starts, axis=axis)
        return counts
