"""A structure as a picture: a tree, and what goes across it."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from markupsafe import Markup

from understudy.report.structure import Structure
from understudy.report.svg import drawing, element
from understudy.report.words import number_of, shortened, width

_LEAST_ACROSS, _DOWN, _MARGIN = 110.0, 26.0, 18.0
_LETTER = 7.5
"""About the width of a letter."""
_LONGEST_NAME = 24
MOST_DRAWN = 300
"""Of more columns, those nearest to the root are drawn."""
_MOST_CROSSING = 200
"""More lines across the tree than this nobody can follow; the strongest are drawn."""


@dataclass(frozen=True)
class TreePicture:
    """A drawing, and how much of the structure it leaves out."""

    drawing: Markup
    drawn: int
    """How many columns are in it."""
    undrawn: int
    """How many edges between them are not."""


class Shape(StrEnum):
    """How a column is marked."""

    CIRCLE = "circle"
    FILLED = "filled circle"
    SQUARE = "square"
    DIAMOND = "diamond"


def picture(structure: Structure, shapes: Mapping[str, Shape] | None = None) -> TreePicture:
    """The structure, the root at the left; thicker lines for stronger dependence.

    Without shapes, the column to predict is filled.
    """
    if shapes is None:
        shapes = {} if structure.target is None else {structure.target: Shape.FILLED}
    parents = _tree(structure)
    where = _places(parents, structure.root)
    lines: list[Markup] = []
    crossing: list[Markup] = []
    for (a, b), strong in structure.ranked:
        if a not in where or b not in where:
            continue
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
        names.append(_mark(name, x, y, shapes.get(name, Shape.CIRCLE)))
        names.append(element("text", _cut(name), x=x + 9, y=y + 4, class_="halo"))
    right = max((x + 9 + _LETTER * width(_cut(n)) for n, (x, _) in where.items()), default=0)
    lowest = max((y for _, y in where.values()), default=0)
    drawn = drawing(
        *crossing[:_MOST_CROSSING],
        *lines,
        *names,
        width=right + _MARGIN,
        height=lowest + _MARGIN,
        about=f"{number_of(len(structure.edges), 'pair')} of columns that were measured together",
        class_="structure",
        fluid=False,
    )
    return TreePicture(drawn, len(where), max(0, len(crossing) - _MOST_CROSSING))


def _mark(name: str, x: float, y: float, shape: Shape) -> Markup:
    title = element("title", name if shape is Shape.CIRCLE else f"{name} ({shape})")
    if shape in {Shape.CIRCLE, Shape.FILLED}:
        kind = "node root" if shape is Shape.FILLED else "node"
        return element("circle", title, cx=x, cy=y, r=5, class_=kind)
    turned = f"rotate(45 {x:.0f} {y:.0f})" if shape is Shape.DIAMOND else "rotate(0)"
    return element(
        "rect", title, x=x - 5, y=y - 5, width=10, height=10, class_="node", transform=turned
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
    across = max(_LEAST_ACROSS, 40 + _LETTER * max((width(_cut(n)) for n in parents), default=0))
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


def _cut(name: str) -> str:
    return shortened(name, _LONGEST_NAME)
