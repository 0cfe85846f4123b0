"""What depends directly on what: a directed acyclic graph of columns, stated by a person."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from pathlib import Path
from typing import Any

from understudy.errors import BadInput, UnknownColumn, listed

Edge = tuple[str, str]

_LARGEST_FILE = 2**24
_MOST_EDGES = 2**19
"""Two groups of names stand for as many edges as the product of their sizes."""
_TOKEN = re.compile(
    r'"(?P<quoted>(?:[^"\\]|\\.)*)"'  # a name that may hold anything
    r"|(?P<aside>\s+|//[^\n]*|/\*.*?\*/)"
    r'|(?P<drawn>\[(?:[^\]"]|"(?:[^"\\]|\\.)*")*\])'  # attributes, for drawing
    r"|(?P<mark>->|--|[{};,=])"
    r"|(?P<bare>[^\W]+)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Dag:
    """Edges from causes to effects.

    >>> graph = Dag([("age", "sick"), ("sick", "tired"), ("work", "tired")])
    >>> graph.blanket("sick")
    ('age', 'tired', 'work')
    >>> graph.separated("age", "work"), graph.separated("age", "work", given=["tired"])
    (True, False)
    """

    edges: tuple[Edge, ...]

    def __init__(self, edges: Iterable[Sequence[str]]) -> None:
        if isinstance(edges, str) or not isinstance(edges, Iterable):
            msg = f"A graph is a list of edges, from causes to effects; not {edges!r}."
            raise BadInput(msg)
        object.__setattr__(self, "edges", tuple(dict.fromkeys(_edge(one) for one in edges)))
        if not self.edges:
            msg = "A graph needs at least one edge, from a cause to an effect."
            raise BadInput(msg)
        try:
            tuple(TopologicalSorter(self._causes).static_order())
        except CycleError as error:
            circle = " → ".join(reversed(error.args[1]))
            msg = f"The graph runs in a circle: {circle}. Take one of these edges out."
            raise BadInput(msg) from None

    @classmethod
    def of(cls, graph: Any) -> "Dag":  # noqa: ANN401 - a Dag, edges, a file, or of networkx
        """The graph that is given as edges, as a networkx DiGraph, or as a file of DOT or JSON."""
        if isinstance(graph, Dag):
            return graph
        if isinstance(graph, str | Path):
            return read_dag(Path(graph))
        if hasattr(graph, "is_directed"):
            if not graph.is_directed():
                msg = "The graph has no directions; say which column is the cause of which."
                raise BadInput(msg)
            return cls(edge[:2] for edge in graph.edges)
        return cls(graph)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All columns that it names."""
        return tuple(dict.fromkeys(name for edge in self.edges for name in edge))

    def parents(self, name: str) -> tuple[str, ...]:
        """The direct causes of a column."""
        return tuple(self._causes.get(name, ()))

    def children(self, name: str) -> tuple[str, ...]:
        """The direct effects of a column."""
        return tuple(effect for cause, effect in self.edges if cause == name)

    def blanket(self, name: str) -> tuple[str, ...]:
        """The Markov blanket: parents, children, and the children's other parents."""
        self.check_knows(name)
        children = self.children(name)
        found = (*self.parents(name), *children, *(p for c in children for p in self.parents(c)))
        return tuple(dict.fromkeys(one for one in found if one != name))

    def separated(self, one: str, other: str, given: Iterable[str] = ()) -> bool:
        """Whether the graph says that two columns are independent, once some are known.

        Both are then apart in the graph of their ancestors and those of the given ones, with
        parents of one child joined, and the given ones taken out.
        """
        known = {*given}
        kept = self._ancestors({one, other} | known)
        near: dict[str, set[str]] = {name: set() for name in kept}
        for effect, causes in self._causes.items():
            if effect in kept:
                family = [effect, *causes]
                for name in family:
                    near[name].update(family)
        reached, todo = {one}, [one]
        while todo:
            for name in near.get(todo.pop(), set()) - reached - known:
                reached.add(name)
                todo.append(name)
        return other not in reached

    def check_names(self, known: Sequence[str]) -> None:
        """Refuse a graph that names a column which the table does not have."""
        for name in self.names:
            if name not in known:
                raise UnknownColumn(name, known)

    def check_knows(self, name: str) -> None:
        """Refuse to tell about a column that the graph does not name."""
        if name not in self.names:
            msg = f"The graph does not name {name!r}; it names {listed(self.names)}."
            raise BadInput(msg)

    @cached_property
    def _causes(self) -> dict[str, list[str]]:
        causes: dict[str, list[str]] = {}
        for cause, effect in self.edges:
            causes.setdefault(effect, []).append(cause)
        return causes

    def _ancestors(self, names: set[str]) -> set[str]:
        """These columns, and everything they depend on."""
        found, todo = {*names}, [*names]
        while todo:
            new = {*self.parents(todo.pop())} - found
            found |= new
            todo += new
        return found

    def __str__(self) -> str:
        return ", ".join(f"{cause} → {effect}" for cause, effect in self.edges)


def read_dag(path: Path) -> Dag:
    """The graph in a file: DOT, or JSON with a list of pairs (alone, or under "edges")."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            msg = f"{path} is too large for a graph of columns."
            raise BadInput(msg)
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        msg = f"Cannot read a graph from {path}."
        raise BadInput(msg) from None
    if text.lstrip()[:1] in {"[", "{"}:
        return Dag(_json_edges(path, text))
    edges = list(islice(_dot_edges(path, text), _MOST_EDGES + 1))
    if len(edges) > _MOST_EDGES:
        msg = f"{path} holds more than {_MOST_EDGES:,} edges, too many for a graph of columns."
        raise BadInput(msg)
    return Dag(edges)


def _json_edges(path: Path, text: str) -> list[Sequence[str]]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, dict):
        content = content.get("edges")
    if not isinstance(content, list):
        msg = f'{path} holds no list of edges. Write [["cause", "effect"], …].'
        raise BadInput(msg)
    return content


def _dot_edges(path: Path, text: str) -> Iterator[Edge]:
    """The edges of a digraph in DOT; what is drawn, and how, is passed over.

    Chains such as a -> b -> c count, and groups such as a -> {b c}. What is neither is refused: an
    edge that went missing would be a wrong graph.
    """
    tokens = list(_tokens(path, text))
    heads = [word.lower() for word, is_name in tokens[:2] if is_name]
    if "digraph" not in heads:
        msg = (
            f"{path} is no directed graph in DOT, and no JSON. Write digraph {{ cause -> effect }}."
        )
        raise BadInput(msg)
    before: list[str] = []
    after: list[str] | None = None
    place = tokens.index(("{", False)) + 1 if ("{", False) in tokens else len(tokens)
    while place < len(tokens):
        word, is_name = tokens[place]
        place += 1
        if is_name or word == "{":
            names = [word]
            if not is_name:
                names, place = _group(path, tokens, place)
            if after is not None:
                yield from ((cause, effect) for cause in before for effect in names)
            before, after = names, None
        elif word == "->" and before and after is None:
            after = []
        elif word == "--":
            msg = f"{path} has an edge without a direction; write cause -> effect."
            raise BadInput(msg)
        elif word == "->" or after is not None:
            raise BadInput(_unreadable(path, "an arrow that does not join two names"))
        else:
            before = []


def _group(path: Path, tokens: Sequence[tuple[str, bool]], place: int) -> tuple[list[str], int]:
    """The names of a group that was opened, and the place behind it."""
    names: list[str] = []
    while place < len(tokens):
        word, is_name = tokens[place]
        place += 1
        if is_name:
            names.append(word)
        elif word == "}":
            return names, place
        elif word not in {";", ","}:
            break
    raise BadInput(_unreadable(path, "a group in braces with more than names in it"))


def _tokens(path: Path, text: str) -> Iterator[tuple[str, bool]]:
    """Names and marks, and which of them are names."""
    place = 0
    while place < len(text):
        if text[place] == "#" and not text[:place].rpartition("\n")[2].strip():
            place = (text.find("\n", place) + 1) or len(text)  # a line of its own
            continue
        match = _TOKEN.match(text, place)
        if match is None:
            raise BadInput(_unreadable(path, f"a {text[place]!r} where there should be none"))
        place = match.end()
        if match["quoted"] is not None:
            yield re.sub(r"\\(.)", r"\1", match["quoted"]), True
        elif match["bare"] is not None:
            yield match["bare"], True
        elif match["mark"] is not None:
            yield match["mark"], False


def _unreadable(path: Path, what: str) -> str:
    return f'{path} holds {what}. Write cause -> effect; odd names in quotes: "km/h" -> speed.'


def _edge(edge: Any) -> Edge:  # noqa: ANN401 - whatever a file holds
    plain = [*edge] if isinstance(edge, list | tuple) else [edge]
    if len(plain) != 2 or not all(isinstance(name, str) and name for name in plain):  # noqa: PLR2004
        msg = f"An edge is a pair of column names, cause and effect; not {edge!r}."
        raise BadInput(msg)
    cause, effect = plain
    if cause == effect:
        msg = f"{cause!r} cannot be its own cause. Take that edge out."
        raise BadInput(msg)
    return cause, effect
