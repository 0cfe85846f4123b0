"""Requests in words: what was asked of a table, some requests of one kind at a time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from understudy.errors import listed
from understudy.report.words import number_of, shortened

Requests = Sequence[Mapping[str, Any]]

_NAMED = 6
"""More columns than this are counted and not named."""
_LONGEST = 40
"""Of a name among others."""
_NOUNS = {1: "column", 2: "pair", 3: "triple"}


def asked(requests: Requests, *, named: bool = True) -> str:
    """What these requests, all through one door, asked; marginals may be told without names."""
    if requests[0]["door"] == "measure":
        return _marginals(requests, named=named)
    words = {
        "malformed": _malformed,
        "values": _values,
        "select": _choices,
        "scores": _scores,
        "train": _training,
        "select_best": _best,
    }
    return words.get(str(requests[0]["door"]), _sum)(requests)


def _values(requests: Requests) -> str:
    names = [name for request in requests for name in request["columns"]]
    return f"which values many rows share, in {_columns(names)}"


def _malformed(requests: Requests) -> str:
    del requests
    return "the number of malformed records"


def _choices(requests: Requests) -> str:
    most = number_of(max(request["candidates"] for request in requests), "candidate")
    if len(requests) == 1:
        return f"a choice among {most}"
    return f"{len(requests):,} choices, each among up to {most}"


def _scores(requests: Requests) -> str:
    scored = sum(len(request["cliques"]) for request in requests)
    return f"noisy scores of {number_of(scored, 'candidate')}"


def _marginals(requests: Requests, *, named: bool) -> str:
    cliques = [tuple(clique) for request in requests for clique in request["cliques"]]
    return "counts of " + listed(_orders(cliques, named=named))


def _orders(cliques: Sequence[tuple[str, ...]], *, named: bool) -> Iterator[str]:
    for order in sorted({*map(len, cliques)}):
        alike = [clique for clique in cliques if len(clique) == order]
        if order == 0:
            yield "all rows"
            continue
        many = f"sets of {order} columns"
        one = _NOUNS.get(order, f"set of {order} columns")
        names = ", ".join(" × ".join(map(_name, clique)) for clique in alike)
        count = number_of(len(alike), one, None if order in _NOUNS else many)
        yield count + (f" ({names})" if named and len(alike) <= _NAMED else "")


def _training(requests: Requests) -> str:
    steps = sum(request["steps"] for request in requests)
    return f"{number_of(steps, 'step')} towards {_name(requests[0]['target'])}"


def _best(requests: Requests) -> str:
    tried = number_of(max(request["candidates"] for request in requests), "setting")
    runs = sum(request["runs"] for request in requests)
    return f"the best of about {runs:.3g} runs of {tried} towards {_name(requests[0]['target'])}"


def _sum(requests: Requests) -> str:
    names = [name for request in requests for name in request.get("columns", ())]
    return f"sums over {_columns(names)}"


def _columns(names: Sequence[str]) -> str:
    return listed(map(_name, names)) if len(names) <= _NAMED else number_of(len(names), "column")


def _name(name: str) -> str:
    return shortened(name, _LONGEST)
