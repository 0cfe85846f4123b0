"""What was asked, by kind, with its noise; and the same scaled to other ε."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from understudy.chosen import budget_for
from understudy.domain import Clique
from understudy.errors import BadInput
from understudy.plan.planned import AtEpsilon, Count, Item
from understudy.privacy.account import Entry
from understudy.privacy.accountant import cost
from understudy.privacy.budget import Budget
from understudy.privacy.events import Gaussian
from understudy.privacy.promise import at_most, factor
from understudy.report.asked import asked
from understudy.report.bought import Purpose, purpose_of
from understudy.schema import Schema

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
_WIDTHS = {1: "column", 2: "pair", 3: "wider"}
_MOST_ITEMS = 12
"""More lines than this, as of methods that ask in rounds, are summed up by kind."""


@dataclass(frozen=True)
class _Kind:
    """What requests that are told in one line have in common."""

    purpose: Purpose
    door: str
    width: int
    """Of marginals: the most columns."""
    place: int
    """Requests that find facts out are told one by one; of others 0."""
    named: bool
    """Whether it was clear before any row was asked which columns they are about."""


def items_of(  # noqa: PLR0913 - the last two by name
    entries: Sequence[Entry],
    opening: int,
    budget: Budget,
    rows: int,
    *,
    cells: Callable[[Clique], int],
    target: str | None,
) -> Iterator[Item]:
    """Requests by kind, in order; the first `opening` found facts out."""
    kinds, choices = [], 0
    for place, entry in enumerate(entries):
        request, found = entry.request, place < opening
        door = str(request["door"])
        wide = max(map(len, request["cliques"])) if door == "measure" and not found else 0
        named = door != "measure" or not choices
        kinds.append(
            _Kind(purpose_of(entry, target, found=found), door, wide, place if found else 0, named)
        )
        choices += door in {"select", "scores", "sum", "train", "select_best"}
    runs = [
        (kind, [entry for _, entry in group])
        for kind, group in groupby(zip(kinds, entries, strict=True), key=lambda one: one[0])
    ]
    if len(runs) > _MOST_ITEMS:
        alike: dict[_Kind, list[Entry]] = {}
        for kind, run in runs:
            alike.setdefault(kind, []).extend(run)
        runs = [*alike.items()]
    for kind, run in runs:
        spent = sum((Fraction(cost(entry.event, budget.order)) for entry in run), Fraction(0))
        tables: tuple[Count, ...] = ()
        if kind.purpose in {Purpose.MEASURE, Purpose.TASK} and kind.door == "measure":
            tables = tuple(
                one for entry in run for one in _counts(entry, rows, cells, named=kind.named)
            )
        words = asked([entry.request for entry in run], named=kind.named)
        yield Item(kind.purpose, words, float(spent / budget.rho), tables)


def _counts(
    entry: Entry, rows: int, cells: Callable[[Clique], int], *, named: bool
) -> Iterator[Count]:
    """The marginals of a request, all with the same noise."""
    if isinstance(entry.event, Gaussian):
        noise = float(entry.event.scale)
        for clique in map(tuple, entry.request["cliques"]):
            shown = clique if named else None
            yield Count(shown, len(clique), cells(clique), noise, 100 * noise / rows)


def at_epsilons(
    items: Sequence[Item], budget: Budget, schema: Schema, rows: int
) -> Iterator[AtEpsilon]:
    """The same requests at other ε: noise goes as one over the root of ρ."""
    noisiest: dict[str, float] = {}
    # What has the largest share is what the method cares for; so it comes last, and stays.
    for item in sorted(items, key=lambda item: item.share):
        by_width: dict[str, float] = {}
        for count in (count for count in item.counts if count.width):
            name = _WIDTHS[min(count.width, max(_WIDTHS))]
            by_width[name] = max(by_width.get(name, 0.0), count.noise)
        noisiest |= by_width
    for epsilon in sorted({*EPSILONS, budget.epsilon}):
        try:
            other = budget_for(epsilon, budget.delta, schema)
        except BadInput:  # nothing to spend at this delta
            continue
        more = math.sqrt(budget.rho / other.rho)
        noise = {name: noisiest[name] * more for name in _WIDTHS.values() if name in noisiest}
        percent = {name: 100 * value / rows for name, value in noise.items()}
        yield AtEpsilon(epsilon, float(other.rho), at_most(factor(epsilon)), noise, percent)
