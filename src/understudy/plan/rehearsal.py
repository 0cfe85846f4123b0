"""A rehearsal: the whole of a run, on made-up rows in a file of their own that nobody keeps."""

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from understudy import demanded
from understudy.chosen import Chosen
from understudy.domain import Domain
from understudy.mechanisms.api import Deciding, Decision, Model, Remarking
from understudy.mechanisms.labelling import INPUTS
from understudy.plan.forecast import (
    FEW_ROWS,
    Forecast,
    Rehearsed,
    Steps,
    seconds_to_draw,
    seconds_to_read,
)
from understudy.plan.laps import lap
from understudy.plan.made_up_rows import made_up_file, made_up_rows
from understudy.privacy import discover, strays
from understudy.privacy.account import Entry
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.release import Release
from understudy.schema import Schema
from understudy.select.risk import Weighed
from understudy.synthetic_rows import DrawnRows

_MORE = 1.1
"""Rows beyond those at which a rule turns, so that a noisy count is beyond them too."""
_MOST_MORE = 500_000
"""No more than these are made up for the sake of a rule."""
_MOST_DRAWN = 20_000
"""Nor are more drawn: what each of them adds is soon known."""
_SEED = 0


@dataclass(frozen=True, eq=False)
class Opened:
    """What goes before a method is asked to fit."""

    ledger: Ledger
    """In which those protected count less."""
    known: Sequence[Measurement]
    opening: int
    """So many requests found facts out."""
    weighing: int
    """So many requests had been made when records were weighed."""
    finding: discover.Plan | None
    found: discover.Discovered | None
    weighed: Weighed | None


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What a rehearsal has shown."""

    rows: int
    """How many were made up."""
    opened: Opened
    decision: Decision | None
    went: str | None
    """Which way the rehearsal went, where that is told."""
    entries: tuple[Entry, ...]
    domain: Domain
    hidden: Mapping[str, int]
    """By column, the code that no row of a release has."""
    model: Model
    forecast: Forecast


def rehearse(
    chosen: Chosen, facts: Schema, made: int, rows: int, starting: float = 0.0
) -> Rehearsal:
    """All that `synthesize` does, on so many made-up rows, in place of `rows` of them.

    Where a rule goes by the number of rows and would decide otherwise, more are made up.
    """
    with tempfile.TemporaryDirectory(prefix="understudy-plan-") as name:
        folder, steps = Path(name), Steps()
        _write(chosen, facts, made, folder)
        with lap() as asking, _ledger(chosen, facts, folder, steps) as book:
            opened = _opened(chosen, facts, book)
            decision, as_made = (_decided(chosen, opened, count) for count in (rows, made))
            enough = _enough(decision, as_made, rows)
            if enough > made:
                return rehearse(chosen, facts, enough, rows, starting)
            model = chosen.recipe.fit(*chosen.modelled(opened.ledger, opened.known), chosen.allowed)
            demanded.check_kept(chosen.allowed, model)
            certificate = book.close()
            if isinstance(chosen.recipe, Remarking):
                chosen.recipe.remarks(model, book.schema.target)
        drawn = DrawnRows.of(model, book.schema, min(made, _MOST_DRAWN), _SEED)
        with lap() as writing:
            Release(drawn, certificate, book.schema, model).save(folder / "release")
        few, many = _files(folder)
        took = Rehearsed(
            rows=made,
            drawn=drawn.count,
            asking=asking,
            steps=steps,
            writing=writing,
            reading_each=seconds_to_read(few, many, made, book.schema, chosen.unit)
            if rows > made
            else 0.0,
            drawing_each=seconds_to_draw(drawn) if rows > drawn.count else 0.0,
        )
    coded = book.encoding
    foreseen = replace(took.forecast(rows, chosen.recipe, coded), starting=starting)
    went = certificate.public.get(INPUTS, {}).get("by")
    return Rehearsal(
        made,
        opened,
        decision,
        went,
        certificate.entries,
        coded.domain,
        coded.hidden,
        model,
        foreseen,
    )


def _opened(chosen: Chosen, facts: Schema, book: Ledger) -> Opened:
    """Facts found out, and records weighed."""
    protection = chosen.protection
    share = discover.SHARE if protection is None else protection.finding
    finding = discover.plan(book, share)
    discover.malformed(book)
    if protection is not None:
        protection.check(book.budget, book.unit, facts, share)
    found = None
    if finding is not None:
        personal = chosen.personal
        suggested = personal.uncertain(book.schema, book.storage)
        found = discover.discover(book, finding, suggested=suggested, named=personal.used)
    known, opening = () if found is None else found.known, len(book.entries)
    strays.count(book, facts)
    if protection is None:
        return Opened(book, known, opening, opening, finding, found, None)
    weighed = protection.weigh(book, known)
    weighing = len(book.entries)
    return Opened(weighed.ledger, weighed.known, opening, weighing, finding, found, weighed)


def _files(folder: Path) -> tuple[Path, Path]:
    return folder / "few.csv", folder / "many.csv"


def _write(chosen: Chosen, facts: Schema, made: int, folder: Path) -> None:
    """Made-up rows, and a few of them."""
    table = made_up_rows(facts, made, chosen.unit)
    few, many = _files(folder)
    made_up_file(table.slice(0, FEW_ROWS), facts, few)
    made_up_file(table, facts, many)


def _ledger(chosen: Chosen, facts: Schema, folder: Path, steps: Steps) -> Ledger:
    return Ledger.open(
        _files(folder)[1],
        facts,
        chosen.budget,
        unit=chosen.unit,
        discover=True,
        check=chosen.check_fit,
        caps=() if chosen.protection is None else chosen.protection.caps(chosen.budget),
        accept_weak_guarantee=True,  # it was checked before, and no row is anybody's
        tell=steps,
    )


def _decided(chosen: Chosen, opened: Opened, rows: int) -> Decision | None:
    if not isinstance(chosen.recipe, Deciding):
        return None
    # Nobody knows before how many records a condition protects: then as if it were none.
    kept = 1.0 if opened.weighed is None else opened.weighed.kept or 1.0
    return chosen.recipe.decision(opened.ledger, opened.known, chosen.allowed, rows, kept)


def _enough(decision: Decision | None, as_made: Decision | None, rows: int) -> int:
    """How many rows it takes for a rule to decide as it would; 0 where these are enough."""
    if decision is None or as_made is None or decision.by == as_made.by or decision.turns is None:
        return 0
    return min(math.ceil(decision.turns * _MORE), rows, _MOST_MORE)
