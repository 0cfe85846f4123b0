"""Finding out what a schema leaves open: with noise, out of the same ε, by a share shown before.

Four questions, each through the ledger like any other, and each only about open columns:

    looks      shapes of values on a fixed public grid: kind, format, precision, bounds, nulls,
               personal fields; and how many rows
    values     categories that many rows share; rarer ones become "other"
    counts     a fine histogram over the bounds, from which bins are merged
    atoms      in crowded cells of it, single values that many rows share

The answers double as the columns' first measurements, so nothing is paid twice. Where nothing
stands out of the noise a column holds "other" or missing values throughout, and a note names it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from understudy.column import Column, Kind, Role, Source
from understudy.encode.shapes import ShapeCells
from understudy.privacy.answers import CommonValues, MalformedRecords, Measurement
from understudy.privacy.bins import FINE_CELLS, crowded, fine_cells
from understudy.privacy.found import (
    Beyond,
    Fine,
    Found,
    blank,
    fine_counts,
    labels,
    numbers,
    refined,
    with_nulls,
)
from understudy.privacy.kinds import Looks, looks
from understudy.privacy.ledger import Ledger
from understudy.privacy.personal import by_name, free_columns, left_out, seldom_shared, some_left
from understudy.privacy.prices import marginals_price, values_price
from understudy.schema import Schema

SHARE = 1 / 3
"""How much of ρ discovery takes where every column is open; these are also the 1-way counts."""
MALFORMED_SHARE = Fraction(1, 200)
"""How much of ρ the noisy count of malformed records takes, for CSV files."""
DELTA_SHARE = 0.1
"""How much of δ is kept for values told by a threshold."""
_LOOKS, _COUNTS, _ATOMS = 0.25, 0.60, 0.15
_TARGET = 1 / 5
"""How much of each question the target gets: without its classes the release is of no use."""
_FOR_CATEGORIES = Fraction(7, 10)
"""Of the δ that is kept for values; the rest is for atoms."""


@dataclass(frozen=True)
class Plan:
    """What discovery will ask, made from public facts alone."""

    columns: tuple[str, ...]
    """Those with open facts."""
    share: float
    """Of ρ."""
    noise: float
    """The standard deviation of the noise on a column's shapes."""
    least: int
    """About how many rows must share a value before it is told."""


@dataclass(frozen=True, eq=False)
class Discovered:
    """What was found out."""

    known: tuple[Measurement, ...]
    """Noisy counts of the columns that were open, and of all rows."""
    nothing: tuple[str, ...]
    """Columns of which nothing stood out of the noise."""
    rows: float
    """How many rows there are, about; noise may make it negative."""
    beyond: Mapping[str, Beyond] = field(default_factory=dict)
    """By numeric column, about how many values lie beyond the inferred bounds."""
    personal: Mapping[str, Role] = field(default_factory=dict)
    """By column, the role of identifiers and personal fields: none of their values is used."""
    unread: Mapping[str, float] = field(default_factory=dict)
    """By numeric column, about which share of its values it cannot hold: they are missing."""
    other: Mapping[str, float] = field(default_factory=dict)
    """By categorical column, about which share of the rows holds a value that is "other"."""
    assumed: tuple[str, ...] = ()
    """Columns whose values fit another format as well, and no value decides."""


def malformed(ledger: Ledger) -> MalformedRecords | None:
    """A noisy count of malformed records; None where the source or the unit knows none."""
    if not ledger.counts_malformed:
        return None
    return ledger.malformed(rho=ledger.rest() * MALFORMED_SHARE)


def _after_malformed(ledger: Ledger) -> Fraction:
    """What the count of malformed records, which comes first, leaves."""
    return ledger.rest() * (1 - MALFORMED_SHARE if ledger.counts_malformed else 1)


def share_of(schema: Schema, share: float = SHARE) -> float:
    """How much of ρ it takes to find out what a schema leaves open."""
    return share * len(schema.silent) / len(schema.coded)


def plan(ledger: Ledger, share: float = SHARE) -> Plan | None:
    """What it takes to find out what the ledger's schema leaves open; None if that is nothing.

    Made before anything is spent, so that a share or a δ that is too small is refused for free.
    """
    names = tuple(ledger.schema.silent)
    if not names:
        return None
    share = share_of(ledger.schema, share)
    own = _target_share(names, ledger.schema.target)
    others, rest = len(names) - (own > 0), 1 - Fraction(own)
    whole = _after_malformed(ledger) * Fraction(share) * rest
    look = marginals_price(
        others + 1, ledger.unit, rho=whole * Fraction(_LOOKS), scale=None, weights=None
    )
    told = values_price(
        others,
        ledger.unit,
        rho=whole * Fraction(_COUNTS),
        delta=ledger.rest_delta() * _FOR_CATEGORIES * rest,
    )
    return Plan(names, share, look.scale, told.threshold)


def discover(
    ledger: Ledger,
    plan: Plan,
    *,
    suggested: Mapping[str, Role] | None = None,
    named: Collection[str] = (),
) -> Discovered:
    """Ask what the plan says, and code the ledger's rows by what was found.

    Args:
        ledger: The ledger that pays.
        plan: What to ask, from `plan`.
        suggested: By column, the role that its name suggests.
        named: Columns that some public choice names: they are never left out as personal.
    """
    (part,) = ledger.split(plan.share)
    for_looks, for_counts, for_atoms = part.split(_LOOKS, _COUNTS, _ATOMS)
    delta = ledger.rest_delta()

    *answers, total = _shapes_and_rows(for_looks, plan.columns, ledger.schema.target)
    rows = max(float(total.values), 1.0)
    shaped = {a.clique[0]: a for a in answers if _has_shapes(ledger, a.clique[0])}
    free = free_columns(ledger.schema, named)
    hints = {name: role for name, role in (suggested or {}).items() if name in free}
    seen = {
        name: by_name(
            _looks(ledger, answer, personal=name in free), hints.get(name), ledger.storage[name]
        )
        for name, answer in shaped.items()
    }
    found = {
        answer.clique[0]: with_nulls(ledger.schema[answer.clique[0]], answer)
        for answer in answers
        if answer.clique[0] not in seen
    }

    stated = ledger.schema
    groups = [
        (own, {name: seen[name] for name in names}, share)
        for own, names, share in _target_first(for_counts, tuple(seen), stated.target)
    ]
    cells: dict[str, int] = {}
    for own, looked, _ in groups:
        cells |= _fine_cells(own, looked, rows)
    finer = [refined(c, seen.get(c.name), cells.get(c.name, FINE_CELLS)) for c in ledger.schema]
    ledger.recode(replace(ledger.schema, columns=tuple(finer)), shapes=True)
    fine: dict[str, Fine] = {}
    told: dict[str, CommonValues] = {}
    for own, looked, share in groups:
        numeric, listed = _counts(ledger, own, looked, delta * _FOR_CATEGORIES * share)
        fine, told = fine | numeric, told | listed
    atoms = _atoms(ledger, for_atoms, fine, delta * (1 - _FOR_CATEGORIES))

    personal = {name: look.role for name, look in seen.items() if look.role is not None}
    for name in hints.keys() & (seen.keys() - personal.keys()):
        if seldom_shared(told.get(name), shaped[name], total):
            personal[name] = hints[name]
    personal = some_left(stated, personal)
    for name, look in seen.items():
        column, storage = stated[name], ledger.storage[name]
        if name in personal:
            found[name] = Found(left_out(column, personal[name]), None)
            continue
        column = _as_seen(column, look, fine.get(name), float(shaped[name].scale))
        if name in fine:
            found[name] = numbers(column, fine[name], atoms.get(name), rows)
        elif name in told and told[name].values:
            found[name] = labels(column, storage, told[name], shaped[name], total)
        else:
            found[name] = Found(blank(column, storage, null=look.null), None, nothing=True)
    columns = [found[c.name].column if c.name in found else c for c in ledger.schema]
    ledger.recode(replace(ledger.schema, columns=tuple(columns)))
    known = [one.measured for one in found.values() if one.measured is not None]
    nothing = [name for name, one in found.items() if one.nothing]
    return Discovered(
        (*known, total),
        tuple(nothing),
        float(total.values),
        beyond={name: one.beyond for name, one in found.items() if one.beyond is not None},
        personal=personal,
        unread={name: seen[name].unread for name in fine},
        other={name: one.other for name, one in found.items() if one.other > 0},
        assumed=tuple(name for name in fine if name not in personal and seen[name].assumed),
    )


def _as_seen(column: Column, look: Looks, fine: Fine | None, scale: float) -> Column:
    """Return the column with what its shapes say, and whether its cells may be missing."""
    if look.kind is None:
        return column
    null = look.null
    if column.null is None and fine is not None:
        null |= fine.has_missing(look.missing, scale)
    return replace(column, kind=look.kind, null=null, source=Source.BOUGHT, **look.facts)


def _target_share(names: Sequence[str], target: str | None) -> float:
    """Return the share of each question that the target gets; 0 where it gets no own one."""
    return max(_TARGET, 1 / len(names)) if target in names and len(names) > 1 else 0.0


def _target_first(
    part: Ledger, names: Sequence[str], target: str | None
) -> list[tuple[Ledger, tuple[str, ...], Fraction]]:
    """Return the target with a share of its own, and then the other columns with the rest."""
    share = _target_share(names, target)
    if not share:
        return [(part, tuple(names), Fraction(1))] if names else []
    own, rest = part.split(share, 1 - share)
    others = tuple(name for name in names if name != target)
    return [(own, (str(target),), Fraction(share)), (rest, others, 1 - Fraction(share))]


def _shapes_and_rows(
    part: Ledger, names: Sequence[str], target: str | None
) -> tuple[Measurement, ...]:
    """Measure the shapes of columns, and last the number of rows."""
    *first, (rest, others, _) = _target_first(part, names, target)
    answers = [
        answer
        for own, alone, _ in first
        for answer in own.measure([(name,) for name in alone], rho=own.rest())
    ]
    return (*answers, *rest.measure([*((name,) for name in others), ()], rho=rest.rest()))


def _fine_cells(part: Ledger, seen: dict[str, Looks], rows: float) -> dict[str, int]:
    """Return by numeric column how many fine cells the noise allows."""
    numeric, rho = _numeric_share(part, seen)
    if not numeric:
        return {}
    scale = part.measure_event([(name,) for name in numeric], rho=rho).scale
    return dict.fromkeys(numeric, fine_cells(rows, scale))


def _numeric_share(part: Ledger, seen: dict[str, Looks]) -> tuple[list[str], Fraction]:
    """Return the numeric columns, and their share of a budget that others have a part in."""
    numeric = [name for name, look in seen.items() if look.span is not None]
    listed = [name for name, look in seen.items() if look.kind is not None and look.kind.listed]
    return numeric, part.rest() * Fraction(len(numeric), max(len(numeric) + len(listed), 1))


def _has_shapes(ledger: Ledger, name: str) -> bool:
    return isinstance(ledger.encoding.cells[name], ShapeCells)


def _looks(ledger: Ledger, answer: Measurement, *, personal: bool) -> Looks:
    (name,) = answer.clique
    column, storage = ledger.schema[name], ledger.storage[name]
    return looks(column, storage, answer.values, float(answer.scale), personal=personal)


def _counts(
    ledger: Ledger, part: Ledger, seen: dict[str, Looks], delta: Fraction
) -> tuple[dict[str, Fine], dict[str, CommonValues]]:
    """Fine histograms of numbers, and the common values of the others."""
    numeric, share = _numeric_share(part, seen)
    listed = [name for name, look in seen.items() if look.kind is not None and look.kind.listed]
    fine, told = {}, {}
    if numeric:
        for answer in part.measure([(name,) for name in numeric], rho=share):
            (name,) = answer.clique
            fine[name] = fine_counts(ledger.schema[name], answer)
    if listed:
        answers = part.values(dict.fromkeys(listed), rho=part.rest(), delta=delta)
        told = {answer.column: answer for answer in answers}
    return fine, told


def _atoms(
    ledger: Ledger, part: Ledger, fine: dict[str, Fine], delta: Fraction
) -> dict[str, CommonValues]:
    """Single values that many rows share, looked for where a fine cell is crowded."""
    kinds = {Kind.INTEGER, Kind.REAL}
    numeric = [name for name in fine if ledger.schema[name].kind in kinds]
    if not numeric:
        return {}
    rho = part.rest()
    least = values_price(len(numeric), ledger.unit, rho=rho, delta=delta).threshold
    cells = {name: crowded(fine[name].histogram, least) for name in numeric}
    wanted = {name: places for name, places in cells.items() if places}
    if not wanted:
        return {}
    return {answer.column: answer for answer in part.values(wanted, rho=rho, delta=delta)}
