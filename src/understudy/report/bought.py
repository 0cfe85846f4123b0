"""What the budget bought: every request of a certificate, with its share and its noise."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import groupby

from understudy.privacy.account import Entry
from understudy.privacy.accountant import cost
from understudy.privacy.certificate import Certificate
from understudy.privacy.events import Exponential, Gaussian, Reveal, Threshold
from understudy.report.asked import asked
from understudy.report.pages import plain
from understudy.report.public import stated
from understudy.schema import Schema

DUST = 1e-4
"""Less than this share is left over by rounding alone."""


class Purpose(StrEnum):
    """What a request was for."""

    FIND = "finding out what a column holds"
    CHOOSE = "choosing what to measure"
    TASK = "measuring what tells about the target"
    MEASURE = "measuring"
    LEARN = "training a model"
    FORM = "counting malformed records"
    STRAYS = "counting values that miss what is declared"
    REVEAL = "revealing rows"
    REST = "not spent"

    @property
    def hue(self) -> str:
        """Its colour on a page, whatever else is beside it."""
        hues = {
            Purpose.MEASURE: 0,
            Purpose.CHOOSE: 1,
            Purpose.LEARN: 2,
            Purpose.FIND: 3,
            Purpose.TASK: 5,
        }
        return f"hue-{hues.get(self, 4)}"


_PURPOSES = {
    "malformed": Purpose.FORM,
    "values": Purpose.FIND,
    "select": Purpose.CHOOSE,
    "scores": Purpose.CHOOSE,
    "measure": Purpose.MEASURE,
    "sum": Purpose.MEASURE,
    "train": Purpose.LEARN,
    "select_best": Purpose.LEARN,
}


@dataclass(frozen=True)
class Purchase:
    """Requests of one kind."""

    purpose: Purpose
    what: str
    share: float | None
    """Of the whole budget, in the currency that adds up; None where no share is small enough."""
    noise: str
    """Of what was counted or chosen, in words; empty where it is in no unit that a reader knows."""


@dataclass(frozen=True)
class Bought:
    """Everything that was asked of a table."""

    lines: tuple[Purchase, ...]
    """In order, as far as one after the other was of one kind."""
    overview: tuple[Purchase, ...]
    """The same by kind, and what was left over."""

    @property
    def shares(self) -> dict[Purpose, float]:
        """The share of each purpose; empty where rows were revealed, which takes everything."""
        if any(one.share is None for one in self.overview):
            return {}
        shares = dict.fromkeys(Purpose, 0.0)
        for one in self.overview:
            shares[one.purpose] += one.share or 0.0
        return {purpose: share for purpose, share in shares.items() if share}


def bought(certificate: Certificate, schema: Schema) -> Bought:
    """What a certificate lists; `schema` tells what was found out."""
    finding = _finding(certificate, schema)
    entries = [
        (purpose_of(entry, schema.target, found=place in finding), entry)
        for place, entry in enumerate(certificate.entries)
    ]
    order, whole = certificate.budget.order, certificate.budget.rho

    def purchase(purpose: Purpose, alike: Iterable[Entry]) -> Purchase:
        return _purchase(purpose, list(alike), order, whole)

    lines = [
        purchase(key[0], (entry for _, entry in group))
        for key, group in groupby(entries, key=lambda one: (one[0], *_kind(one[1])))
    ]
    alike: dict[tuple[Purpose, Hashable], list[Entry]] = {}
    for purpose, entry in entries:
        alike.setdefault((purpose, _broad_kind(entry)), []).append(entry)
    overview = [purchase(purpose, group) for (purpose, _), group in alike.items()]
    rest = 1 - sum(one.share or 0.0 for one in overview)
    if rest > DUST and not certificate.not_private:
        overview.append(Purchase(Purpose.REST, "", rest, ""))
    return Bought(tuple(lines), tuple(overview))


def _finding(certificate: Certificate, schema: Schema) -> set[int]:
    """The places of requests that found facts out, in their order (see `privacy.discover`).

    First a look at all open columns; then fine counts of those that turned out to hold numbers,
    if any did; and whatever asks for values.
    """
    opening = stated(certificate)
    if opening is None or "discovery" not in certificate.public:
        return set()
    measured = [
        place for place, one in enumerate(certificate.entries) if one.request["door"] == "measure"
    ]
    numeric = {
        column.name
        for column in schema.coded
        if column.kind.numeric and opening[column.name].bounds is None
    }
    found = set(measured[:1])
    if measured[1:]:
        cliques = certificate.entries[measured[1]].request["cliques"]
        if all(len(clique) == 1 and clique[0] in numeric for clique in cliques):
            found.add(measured[1])
    return found


def purpose_of(entry: Entry, target: str | None, *, found: bool) -> Purpose:
    """What a request was for; some counts `found` facts out."""
    if isinstance(entry.event, Reveal):
        return Purpose.REVEAL
    if entry.request.get("strays"):
        return Purpose.STRAYS
    if found and entry.request["door"] != "malformed":
        return Purpose.FIND
    purpose = _PURPOSES.get(str(entry.request["door"]), Purpose.MEASURE)
    cliques = entry.request.get("cliques", ())
    about_target = all(len(clique) > 1 and target in clique for clique in cliques)
    if purpose is Purpose.MEASURE and cliques and about_target:
        return Purpose.TASK
    return purpose


def _kind(entry: Entry) -> tuple[Hashable, ...]:
    """Requests in a row that are told in one line: of one kind, and with equal noise."""
    event = entry.event
    noise = event.epsilon if isinstance(event, Exponential) else getattr(event, "scale", None)
    alone = id(entry) if entry.request["door"] not in {"select", "measure"} else None
    return (_broad_kind(entry), noise, alone)


def _broad_kind(entry: Entry) -> Hashable:
    """Requests that are summed up in one line: alike but for their noise."""
    request = entry.request
    columns = max(map(len, request["cliques"])) if request["door"] == "measure" else 0
    return (request["door"], columns, "weights" in request, "strays" in request)


def _purchase(purpose: Purpose, entries: list[Entry], order: float, whole: Fraction) -> Purchase:
    first = entries[0]
    if isinstance(first.event, Reveal):
        reasons = dict.fromkeys(e.event.reason for e in entries if isinstance(e.event, Reveal))
        return Purchase(purpose, "; ".join(reasons), None, "none")
    share = float(sum(Fraction(cost(one.event, order)) for one in entries) / whole)
    return Purchase(purpose, asked([one.request for one in entries]), share, _noise(entries))


def _noise(entries: Sequence[Entry]) -> str:
    """What the answers are worth, in the words and the unit of a reader."""
    request, events = entries[0].request, [entry.event for entry in entries]
    sharp = [event.epsilon for event in events if isinstance(event, Exponential)]
    if sharp:
        each = "" if len(sharp) == 1 else " for each choice"
        return f"ε {_range(sharp)}{each}"
    if request["door"] not in {"measure", "values", "malformed"}:
        return ""  # in whole steps of the core, which no reader can compare
    noise = [event.scale for event in events if isinstance(event, Gaussian | Threshold)]
    return f"± {_range(noise)} {'weighted rows' if 'weights' in request else 'rows'}"


def _range(numbers: Sequence[float]) -> str:
    """The least and the greatest, where they look different."""
    least, greatest = plain(min(numbers)), plain(max(numbers))
    return least if least == greatest else f"{least} to {greatest}"
