"""Which columns were measured together, as a picture: a tree, and what goes across it."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from markupsafe import Markup

from understudy.domain import Clique, Domain
from understudy.report.columns import Codes
from understudy.report.svg import drawing, element, shortened

Edge = tuple[str, str]
_LEAST_ACROSS, _DOWN, _MARGIN = 110.0, 26.0, 18.0
_LETTER = 7.5
"""About the width of a letter."""
_LONGEST_NAME = 24
MOST_DRAWN = 300
"""Of more columns, those nearest to the root are drawn."""
_MOST_CROSSING = 200
"""More lines across the tree than this nobody can follow."""


@dataclass(frozen=True)
class Structure:
    """Columns, and edges between those that were measured together."""

    columns: tuple[str, ...]
    edges: tuple[Edge, ...]
    strength: tuple[float, ...]
    """Of each edge: how strongly its columns depend on each other in the synthetic rows, 0 to 1."""
    root: str

    @property
    def alone(self) -> tuple[str, ...]:
        """Columns that are drawn independently of all others."""
        tied = {name for edge in self.edges for name in edge}
        return tuple(name for name in self.columns if name not in tied)

    @property
    def neighbours_of_root(self) -> tuple[str, ...]:
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
        degree = {name: sum(name in edge for edge in edges) for name in place}
        root = target if target in place else max(degree, key=degree.__getitem__)
        strength = tuple(_dependence(domain, (a, b), codes) for a, b in edges)
        return cls(tuple(place), tuple((a, b) for a, b in edges), strength, root)


def picture(structure: Structure) -> Markup:
    """The structure, the root at the left; thicker lines for stronger dependence."""
    parents = _tree(structure)
    where = _places(parents, structure.root)
    strength = {
        edge: strong
        for edge, strong in zip(structure.edges, structure.strength, strict=True)
        if where.keys() >= {*edge}
    }
    lines: list[Markup] = []
    crossing: list[Markup] = []
    for edge, strong in strength.items():
        a, b = edge
        told = element("title", f"{a} and {b}: {strong:.2f}")
        (x1, y1), (x2, y2) = where[a], where[b]
        in_tree = parents.get(a) == b or parents.get(b) == a
        bend = f"C {(x1 + x2) / 2:.0f} {y1:.0f} {(x1 + x2) / 2:.0f} {y2:.0f}"
        if not in_tree and x1 == x2:
            bend = f"C {x1 - 40:.0f} {y1:.0f} {x1 - 40:.0f} {y2:.0f}"
        line = element(
            "path",
            told,
            d=f"M {x1:.0f} {y1:.0f} {bend} {x2:.0f} {y2:.0f}",
            class_="tie" if in_tree else "tie across",
            stroke_width=1 + 5 * strong,
        )
        (lines if in_tree else crossing).append(line)
    names = []
    for name, (x, y) in where.items():
        kind = "node root" if name == structure.root else "node"
        names.append(element("circle", element("title", name), cx=x, cy=y, r=5, class_=kind))
        names.append(element("text", _cut(name), x=x + 9, y=y + 4, class_="halo"))
    width = max((x + 9 + _LETTER * len(_cut(n)) for n, (x, _) in where.items()), default=0)
    height = max((y for _, y in where.values()), default=0)
    return drawing(
        *crossing[:_MOST_CROSSING],
        *lines,
        *names,
        width=width + _MARGIN,
        height=height + _MARGIN,
        about=f"{len(structure.edges)} pairs of columns that were measured together",
        class_="structure",
        fluid=False,
    )


def _tree(structure: Structure) -> dict[str, str | None]:
    """Each tied column's parent; nearest to the root, and through strong edges first."""
    near: dict[str, list[tuple[float, str]]] = {}
    for (a, b), strong in zip(structure.edges, structure.strength, strict=True):
        near.setdefault(a, []).append((-strong, b))
        near.setdefault(b, []).append((-strong, a))
    parents: dict[str, str | None] = {}
    for start in (structure.root, *structure.columns):
        if start in parents or start not in near or len(parents) >= MOST_DRAWN:
            continue
        parents[start] = None
        queue = deque([start])
        while queue:
            name = queue.popleft()
            for _, other in sorted(near[name]):
                if other not in parents and len(parents) < MOST_DRAWN:
                    parents[other] = name
                    queue.append(other)
    return parents


def _places(parents: dict[str, str | None], root: str) -> dict[str, tuple[float, float]]:
    """Depth to the right, leaves below each other, parents in the middle of their children."""
    children: dict[str | None, list[str]] = {}
    for name, parent in parents.items():
        children.setdefault(parent, []).append(name)
    across = max(_LEAST_ACROSS, 40 + _LETTER * max((len(_cut(n)) for n in parents), default=0))
    depth: dict[str, int] = {}
    order: list[str] = []
    todo = sorted(children.get(None, []), key=lambda name: name == root)
    while todo:  # not by recursion, for a chain may be long
        name = todo.pop()
        parent = parents[name]
        depth[name] = 0 if parent is None else depth[parent] + 1
        order.append(name)
        todo += reversed(children.get(name, []))
    down: dict[str, float] = {}
    lowest = _MARGIN
    for name in order:
        if name not in children:
            down[name], lowest = lowest, lowest + _DOWN
    for name in reversed(order):
        if name in children:
            down[name] = (down[children[name][0]] + down[children[name][-1]]) / 2
    return {name: (_MARGIN + depth[name] * across, down[name]) for name in order}


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


def _cut(name: str) -> str:
    return shortened(name, _LONGEST_NAME)
