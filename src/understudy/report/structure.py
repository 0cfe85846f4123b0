"""Which columns were measured together, and how strongly they depend on each other."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from understudy.domain import Clique, Domain
from understudy.report.columns import Codes

Edge = tuple[str, str]


@dataclass(frozen=True)
class Structure:
    """Columns, and edges between those that were measured together."""

    columns: tuple[str, ...]
    edges: tuple[Edge, ...]
    strength: tuple[float, ...]
    """Of each edge: Cramér's V in the synthetic rows."""
    root: str
    """Where a picture begins: the column to predict, or the one with the most edges."""
    target: str | None

    @property
    def alone(self) -> tuple[str, ...]:
        """Columns that are drawn independently of all others."""
        tied = {name for edge in self.edges for name in edge}
        return tuple(name for name in self.columns if name not in tied)

    @property
    def tied(self) -> int:
        """How many columns are measured together with others."""
        return len(self.columns) - len(self.alone)

    @property
    def ranked(self) -> list[tuple[Edge, float]]:
        """The edges, the strongest first."""
        both = zip(self.edges, self.strength, strict=True)
        return sorted(both, key=lambda one: -one[1])

    @property
    def neighbours(self) -> tuple[str, ...]:
        """Columns that were measured together with the root."""
        others = [a if b == self.root else b for a, b in self.edges if self.root in {a, b}]
        return tuple(name for name in self.columns if name in others)

    @classmethod
    def of(
        cls, domain: Domain, cliques: Iterable[Clique], codes: Codes, target: str | None
    ) -> "Structure":
        """The structure that these marginals tell of."""
        place = {name: k for k, name in enumerate(domain.sizes)}
        found = {
            tuple(sorted(pair, key=place.__getitem__))
            for clique in cliques
            for pair in combinations(clique, 2)
        }
        edges = sorted(found, key=lambda edge: [place[name] for name in edge])
        degree = Counter(name for edge in edges for name in edge)
        root = target if target in place else max(place, key=lambda name: degree[name])
        strength = tuple(_dependence(domain, (a, b), codes) for a, b in edges)
        return cls(tuple(place), tuple((a, b) for a, b in edges), strength, root, target)


def _dependence(domain: Domain, edge: Sequence[str], codes: Codes) -> float:
    """Cramér's V: 0 where two columns are independent, 1 where one tells the other."""
    a, b = edge
    sizes = domain.sizes[a], domain.sizes[b]
    joint = np.bincount(
        codes[a].astype(np.int64) * sizes[1] + codes[b], minlength=sizes[0] * sizes[1]
    )
    table = joint.reshape(sizes) / max(joint.sum(), 1)
    rows, columns = table.sum(1), table.sum(0)
    expected = np.outer(rows[rows > 0], columns[columns > 0])
    seen = table[np.ix_(rows > 0, columns > 0)]
    least = min(seen.shape) - 1
    if least < 1:
        return 0.0
    return float(np.sqrt(np.sum(np.square(seen - expected) / expected) / least).clip(0, 1))
