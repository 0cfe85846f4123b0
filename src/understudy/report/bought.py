"""What the budget bought: every request of a certificate, with its share and its noise."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import groupby
from typing import Any

from understudy.errors import listed
from understudy.privacy.account import Entry
from understudy.privacy.accountant import cost
from understudy.privacy.certificate import Certificate
from understudy.privacy.events import Event, Exponential, Reveal

_NAMED = 6
"""More columns than this are counted and not named."""


class Purpose(StrEnum):
    """What a request was for."""

    FIND = "finding out what a column holds"
    CHOOSE = "choosing what to measure"
    MEASURE = "measuring"
    LEARN = "training a model"
    REVEAL = "revealing rows"
    REST = "not spent"


_PURPOSES = {
    "values": Purpose.FIND,
    "select": Purpose.CHOOSE,
    "measure": Purpose.MEASURE,
    "sum": Purpose.MEASURE,
    "train": Purpose.LEARN,
}


@dataclass(frozen=True)
class Purchase:
    """Requests of one kind that came one after the other."""

    purpose: Purpose
    what: str
    times: int
    share: float
    """Of the whole budget, in the currency that adds up."""
    noise: str


def purchases(certificate: Certificate) -> list[Purchase]:
    """Everything that was asked, in order, and what was left over."""
    whole = certificate.budget.rho
    found = [
        _purchase(list(entries), certificate.budget.order, whole)
        for _, entries in groupby(certificate.entries, key=_kind)
    ]
    rest = 1 - sum(one.share for one in found)
    if rest > 0 and not certificate.not_private:
        found.append(Purchase(Purpose.REST, "nothing", 0, rest, ""))
    return found


def by_purpose(bought: Sequence[Purchase]) -> dict[Purpose, float]:
    """The share of each purpose."""
    shares: Counter[Purpose] = Counter()
    for one in bought:
        shares[one.purpose] += one.share  # type: ignore[assignment]
    return {purpose: float(shares[purpose]) for purpose in Purpose if purpose in shares}


def _kind(entry: Entry) -> tuple[object, ...]:
    """Requests that are told in one line: choices of one kind, or marginals with equal noise."""
    request, event = entry.request, entry.event
    if isinstance(event, Exponential):
        return ("select", event.epsilon)
    if request["door"] == "measure":
        return ("measure", getattr(event, "scale", None), max(map(len, request["cliques"])))
    return (request["door"], id(entry))


def _purchase(entries: list[Entry], order: float, whole: Fraction) -> Purchase:
    first = entries[0]
    if isinstance(first.event, Reveal):
        return Purchase(Purpose.REVEAL, first.event.reason, len(entries), 1.0, "none")
    share = float(sum(Fraction(cost(one.event, order)) for one in entries) / whole)
    door = str(first.request["door"])
    purpose = _PURPOSES.get(door, Purpose.MEASURE)
    words = {"values": _values, "select": _choices, "measure": _marginals, "train": _training}
    what = words.get(door, _sum)([one.request for one in entries])
    return Purchase(purpose, what, len(entries), share, _noise(first.event))


def _noise(event: Event) -> str:
    if isinstance(event, Exponential):
        return f"ε {event.epsilon:.2g} each"
    scale = getattr(event, "scale", None)
    return "" if scale is None else f"± {scale:,.3g}"


def _values(requests: Sequence[Mapping[str, Any]]) -> str:
    names = [name for request in requests for name in request["columns"]]
    return f"which values many rows share, in {_columns(names)}"


def _choices(requests: Sequence[Mapping[str, Any]]) -> str:
    most = max(request["candidates"] for request in requests)
    times = "a choice" if len(requests) == 1 else f"{len(requests)} choices"
    return f"{times} among {'up to ' if len(requests) > 1 else ''}{most:,} candidates"


def _marginals(requests: Sequence[Mapping[str, Any]]) -> str:
    cliques = [tuple(clique) for request in requests for clique in request["cliques"]]
    return "counts of " + listed(_orders(cliques))


def _orders(cliques: Sequence[tuple[str, ...]]) -> Iterator[str]:
    nouns = {1: ("column", "columns"), 2: ("pair", "pairs"), 3: ("triple", "triples")}
    for order in sorted({*map(len, cliques)}):
        alike = [clique for clique in cliques if len(clique) == order]
        if order == 0:
            yield "all rows"
            continue
        one, many = nouns.get(order, (f"set of {order} columns", f"sets of {order} columns"))
        named = ", ".join(" × ".join(clique) for clique in alike)
        few = len(alike) <= _NAMED
        yield f"{len(alike)} {one if len(alike) == 1 else many}" + (f" ({named})" if few else "")


def _training(requests: Sequence[Mapping[str, Any]]) -> str:
    request = requests[0]
    return f"{request['steps']:,} steps towards {request['target']}"


def _sum(requests: Sequence[Mapping[str, Any]]) -> str:
    names = [name for request in requests for name in request.get("columns", ())]
    return f"sums over {_columns(names)}"


def _columns(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= _NAMED else f"{len(names)} columns"
