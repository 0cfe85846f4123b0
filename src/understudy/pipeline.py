"""The whole flow, top to bottom: from a private table to a release."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from understudy import demanded
from understudy.chosen import Chosen
from understudy.errors import BadInput, PrivacyRefused
from understudy.inference_notes import discovery_notes, lost_target
from understudy.knowledge import Independence
from understudy.mechanisms.api import Mechanism, Model, Remarking, Revealing
from understudy.mechanisms.catalog import AUTO
from understudy.mechanisms.parameters import told
from understudy.model.visible import check_visible, hidden_counts, visible_part
from understudy.personal import personal_notes
from understudy.privacy import discover, strays
from understudy.privacy.answers import MalformedRecords, Measurement
from understudy.privacy.budget import number
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import RandomSource
from understudy.privacy.steps_told import telling
from understudy.privacy.unit import Unit
from understudy.privacy.where import Where
from understudy.protection import CURVE, PROTECTION, rows_of
from understudy.regenerate import check_regenerated, with_new_values
from understudy.release import Release
from understudy.schema import Schema
from understudy.select.risk import RiskWeights
from understudy.synthetic_rows import MOST_ROWS, MOST_SAVED, DrawnRows, StoredRows, entropy
from understudy.twostage.rows_alone import RowsAlone

USUAL_DELTA = 1e-9

_CLEAR = 3.0
"""Standard deviations of noise."""
_LITTLE = 0.001
"""Of all rows: fewer malformed records need no note."""

_REVEALS = (
    "This method reads rows as they are and promises nothing. Choose one that is private (lk2ss "
    "with mode=dp, or any other method), or allow a release that is not: --allow-non-private."
)

MOST_ASKED = MOST_SAVED
"""More rows than this fit no machine's memory; `Release.sample` draws more in parts."""

Teller = Callable[[str], None]


def synthesize(  # noqa: PLR0913 - each is a choice of its own, by name
    data: Any,  # noqa: ANN401 - whatever a ledger opens
    *,
    epsilon: float | None = None,
    delta: float = USUAL_DELTA,
    target: str | None = None,
    schema: Schema | str | Path | None = None,
    mechanism: Mechanism | str = AUTO,
    parameters: Mapping[str, str] | None = None,
    parents: Sequence[str] | None = None,
    graph: Any = None,  # noqa: ANN401 - whatever Dag.of reads
    constraints: Iterable[Independence | str] = (),
    protect_outliers: bool | RiskWeights = False,
    outlier_epsilon: float | None = None,
    protect_where: Sequence[str | Where] = (),
    rows: int | None = None,
    unit: Unit | str | None = None,
    strict: bool = False,
    ledger: str | Path | None = None,
    table_id: str | None = None,
    allow_non_private: bool = False,
    accept_weak_guarantee: bool = False,
    discovery_share: float | None = None,
    regenerate: bool | Sequence[str] = False,
    text_encoding: str = "utf-8",
    multiline: bool = False,
    seed: int | None = None,
    tell: Teller | None = None,
    source: RandomSource | None = None,
) -> Release:
    """A synthetic stand-in for a private table, with a promise of (ε, δ)-differential privacy.

    Args:
        data: A path to a CSV or Parquet file, a pandas or polars frame, an Arrow or Ibis table.
        epsilon: How much privacy the whole release may cost; 1 is a common choice. Only methods
            that read rows as they are, and spend nothing, go without.
        delta: The slack in probability of the bound; far below one over the number of rows.
        target: The column that readers will predict.
        schema: Public facts, or a file with them. What it leaves open is found out with noise.
        mechanism: How to ask and what to fit, or the name of it.
        parameters: Of a mechanism that is named: its parameters, as a person writes them.
        parents: The direct causes of the target, where they are known: only they predict it.
        graph: What depends directly on what, where that is known: edges, a networkx DiGraph, or a
            file of DOT or JSON; or "learn", to learn with noise what the target depends on.
        constraints: Independences that shall hold in the model that rows are drawn from, such as
            "income _||_ sex | occupation, education".
        protect_outliers: Let records count less whose values are rare; True, or how.
        outlier_epsilon: What those protected lose at most; half of epsilon unless you say so.
        protect_where: Public conditions, such as "age >= 90", under which records count less. A
            value that is missing, unreadable or not listed meets every condition on its column.
        rows: How many rows to draw; without it about as many as the table has.
        unit: Whose privacy is protected: record, replace, or person:ID:3.
        strict: Refuse, where facts would have to be found out.
        ledger: A ledger file: one total for all releases of a table.
        table_id: The label of the table that the ledger file is bound to, if it is bound to one.
            It is public and stands in the certificate.
        allow_non_private: Go on even where no promise is left; the certificate says so.
        accept_weak_guarantee: Accept an ε above 10, or a δ above 1e-5 or one over the declared
            bound on rows. Otherwise these are refused. The certificate and all pages then begin
            with a warning.
        discovery_share: How much of the budget finding out may take, where all is open: a third,
            or an eighth where somebody is to lose less.
        regenerate: Release invented values in place of identifiers and personal fields: of all
            of them, or of the columns named here. Without it, such columns are left out, unless
            the schema says `regenerate = true`.
        text_encoding: How a CSV file spells characters.
        multiline: Whether quoted cells of a CSV file hold line breaks.
        seed: For drawing the rows; never for noise.
        tell: Called with a sentence whenever a step begins.
        source: Random bits from elsewhere, for tests: then no promise is left.
    """
    tell = tell or (lambda _: None)
    chosen = Chosen.of(
        epsilon=epsilon,
        delta=delta,
        target=target,
        schema=schema,
        mechanism=mechanism,
        parameters=parameters,
        parents=parents,
        graph=graph,
        constraints=constraints,
        unit=unit,
        protect_outliers=protect_outliers,
        outlier_epsilon=outlier_epsilon,
        protect_where=protect_where,
        regenerate=regenerate,
        accept_weak_guarantee=accept_weak_guarantee,
    )
    recipe, allowed, protection = chosen.recipe, chosen.allowed, chosen.protection
    usual = discover.SHARE if protection is None else protection.finding
    finding = usual if discovery_share is None else discovery_share
    _check(rows, finding, seed)
    if chosen.reveals and not allow_non_private:
        raise PrivacyRefused(_REVEALS)
    waits = "" if ledger is None else ", and its ledger as soon as no other release uses it"
    tell(f"Opening the table{waits}")
    with (
        Ledger.open(
            data,
            chosen.schema,
            chosen.budget,
            unit=chosen.unit,
            file=None if ledger is None else Path(ledger),
            table_id=table_id,
            source=source,
            allow_non_private=allow_non_private,
            accept_weak_guarantee=accept_weak_guarantee or chosen.reveals,
            text_encoding=text_encoding,
            multiline=multiline,
            roles=chosen.roles,
            describe=chosen.personal.described,
            discover=not strict,
            check=lambda facts: _check_fit(chosen, facts, rows, 0.0 if strict else finding),
            caps=() if protection is None else protection.caps(chosen.budget),
            tell=tell,
        ) as book,
        telling(tell),
    ):
        _declare(book, chosen, rows)
        costs = demanded.costs(allowed, book.schema)
        for sentence in costs:
            tell(sentence.removesuffix("."))
        alone = _reads_alone(recipe)
        plan = None if strict or alone else discover.plan(book, finding)
        malformed = None if alone else discover.malformed(book)
        stated = book.schema
        known, notes = ((), ()) if plan is None else _discover(book, plan, chosen, tell)
        missed = () if alone else strays.count(book, stated, infer=not strict)
        asked, weighed = book, None
        if protection is not None:
            tell(protection.doing)
            weighed = protection.weigh(book, known)
            asked, known = weighed.ledger, weighed.known
            book.declare(CURVE, weighed.told())
        asked, known = chosen.modelled(asked, known)
        tell(f"Asking and fitting: {recipe.name}")
        model = recipe.fit(asked, known, allowed)
        demanded.check_kept(allowed, model)
        check_visible(model, book.encoding.hidden)
        certificate = book.close()
        book.end()
    total = model.total if weighed is None else rows_of(model, weighed)
    facts = book.schema
    count, note = _count(rows, total * _visible_part(model, book), facts)
    if isinstance(model, RowsAlone):
        facts = model.schema
        note += _unmet(rows, seed, model)
    facts = chosen.personal.finished(facts)
    drawn = _drawn(model, facts, count, seed)
    about = personal_notes(certificate.public, facts)
    said = recipe.remarks(model, book.schema.target) if isinstance(recipe, Remarking) else ()
    lost = lost_target(facts)
    notes = (*_malformed_note(malformed, total), *notes, *_stray_notes(book, model, missed, total))
    first = () if lost is None else (lost,)
    notes = (*first, *costs, *about, *notes, *said, *note)
    return Release(drawn, certificate, facts, model, notes)


def _reads_alone(recipe: Mechanism) -> bool:
    """Whether a mechanism only reveals rows, so that no noisy count is of use."""
    return isinstance(recipe, Revealing) and not recipe.needs_facts


def _malformed_note(found: MalformedRecords | None, rows: float) -> tuple[str, ...]:
    """How much of a CSV file cannot be read as its header says, where noise does not hide it."""
    if found is None or found.count <= max(_CLEAR * found.scale, _LITTLE * rows):
        return ()
    share, noise = found.count / max(rows, found.count), found.scale / max(rows, found.count)
    note = (
        f"About {min(share, 1.0):.1%} of the records are malformed (noise ±{noise:.1%}): they have "
        "too few cells, too many, or an open quote. Short records keep the cells they have; all "
        "cells of the others are missing. If quoted cells hold line breaks, add --multiline; "
        "otherwise repair the file."
    )
    return (note,)


def _stray_notes(
    book: Ledger, model: Model, missed: Sequence[Measurement], total: float
) -> tuple[str, ...]:
    """Which share of each column's values misses its facts, and what becomes of them."""
    if isinstance(model, RowsAlone):
        return ()
    hidden = hidden_counts(model, book.encoding.hidden)
    return strays.notes(book.schema, missed, hidden, total)


def _visible_part(model: Model, book: Ledger) -> float:
    """The part of rows without a hidden code: no others are drawn."""
    return visible_part(model, book.encoding.hidden, np.random.default_rng(0))


def _unmet(rows: int | None, seed: int | None, model: RowsAlone) -> tuple[str, ...]:
    """What was asked for, and rows without a model cannot give."""
    made = model.table.num_rows
    said = []
    if rows is not None and rows > made:
        said.append(
            f"{rows:,} rows were asked for; there are {made:,}, one for each row of the table."
        )
    if seed is not None:
        said.append("The seed had no use: rows that are made of real ones come out once.")
    return tuple(said)


def _drawn(model: Model, schema: Schema, count: int, seed: int | None) -> DrawnRows | StoredRows:
    """The rows of a release: from its model, or those that were made without one."""
    if isinstance(model, RowsAlone):
        seed = entropy(seed)
        return StoredRows(with_new_values(model.table.slice(0, count), schema, 0, seed))
    return DrawnRows.of(model, schema, count, seed)


def _check(rows: int | None, share: float, seed: int | None) -> None:
    if rows is not None and (type(rows) is not int or not 1 <= rows <= MOST_ASKED):
        msg = f"rows is {rows}; ask for a whole number, at least 1, at most {MOST_ASKED:,}."
        raise BadInput(msg)
    if seed is not None and (type(seed) is not int or seed < 0):
        msg = f"The seed is {seed}; give 0 or a positive whole number, or leave it out."
        raise BadInput(msg)
    if not 0 < number(share, "discovery_share") < 1:
        msg = f"The share for finding out is {share}; it must lie between 0 and 1, such as 0.3."
        raise BadInput(msg)


def _check_fit(chosen: Chosen, schema: Schema, rows: int | None, discovery_share: float) -> None:
    """Refuse by public facts what cannot come out well, before anything is spent."""
    chosen.check_fit(schema)
    check_regenerated(schema, rows)
    if chosen.protection is not None:
        chosen.protection.check(chosen.budget, chosen.unit, schema, discovery_share)


def _declare(book: Ledger, chosen: Chosen, rows: int | None) -> None:
    """List the public choices in the certificate."""
    book.declare("target", book.schema.target)
    book.declare("method", {"name": chosen.recipe.name, "parameters": told(chosen.recipe)})
    if chosen.protection is not None:
        book.declare(PROTECTION, chosen.protection.written())
    if chosen.allowed:
        book.declare(demanded.INDEPENDENCES, demanded.written(chosen.allowed.independences))
    book.declare("rows", rows)
    for name, value in chosen.personal_inputs(book.schema).items():
        book.declare(name, value)


def _discover(
    book: Ledger, plan: discover.Plan, chosen: Chosen, tell: Teller
) -> tuple[tuple[Measurement, ...], tuple[str, ...]]:
    """Infer what the schema leaves open; what was measured on the way is known."""
    book.declare("discovery", {"share": plan.share, "columns": list(plan.columns)})
    tell(
        f"Inferring the schema of {len(plan.columns)} columns with {plan.share:.0%} of the budget "
        f"(noise ±{plan.noise:,.0f} rows; a category is released if about {plan.least:,} rows "
        "share it)"
    )
    personal = chosen.personal
    suggested = personal.uncertain(book.schema, book.storage)
    found = discover.discover(book, plan, suggested=suggested, named=personal.used)
    return found.known, discovery_notes(found, plan, book.schema)


def _count(rows: int | None, total: float, schema: Schema) -> tuple[int, tuple[str, ...]]:
    """How many rows to draw: as asked, or about as many as there are."""
    if rows is not None:
        return rows, ()
    most = min(schema.rows_bound or MOST_ROWS, MOST_ROWS)
    if total <= most:
        return max(1, round(total)), ()
    note = f"The table seems to have {total:,.0f} rows; {most:,} were drawn. More: --rows N."
    return most, (note,)
