"""Strays: values that miss what is declared about their column, and what becomes of them.

A value is never turned into another one without a word: numbers beyond the bounds are set to the
nearer bound, and values that are not listed become "other" or missing. Where neither exists, rows
with them are not drawn. One count of declared columns tells how many values that concerns.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.column import Column, Kind, Source
from understudy.encode.ops import Storage
from understudy.encode.shape_grid import DECIMALS, HALF, QUARTER
from understudy.encode.stray_cells import (
    ABOVE,
    BELOW,
    MISSING,
    PRECISIONS,
    SPELLINGS,
    UNLISTED,
    StrayCells,
)
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.schema import Schema

STRAYS = "strays"
"""What a certificate calls the columns whose strays are counted."""
SHARE = Fraction(1, 100)
"""How much of ρ the count of strays takes, where there are declared columns."""
_STANDS_OUT, _FEW = 4.5, 0.005
"""Standard deviations, and a share of the values, from which on a way of writing counts."""
_HIDDEN = 0.25
"""The share of the values that noise may hide where a way of writing is decided."""
_CLEAR, _LITTLE = 3.0, 0.001
"""A share is noted from so many standard deviations of noise on, and from so much of all rows."""


def counted(stated: Schema, storage: Mapping[str, Storage] | None = None) -> tuple[str, ...]:
    """Return the columns whose strays are counted, by what was stated before any query.

    Args:
        stated: The facts before any query.
        storage: How columns are stored; booleans are counted only as text, where that is known.
    """
    return tuple(
        column.name
        for column in stated.coded
        if _declared(column)
        or (_open_spelling(column) and (storage is None or storage[column.name] is Storage.TEXT))
    )


def share_of(stated: Schema) -> Fraction:
    """Return how much of ρ the count of strays takes, at most: nothing without declared columns."""
    return SHARE if counted(stated) else Fraction(0)


def count(ledger: Ledger, stated: Schema, *, infer: bool = True) -> tuple[Measurement, ...]:
    """Count the strays of declared columns, by what was stated when the ledger was opened.

    Args:
        ledger: The ledger that pays.
        stated: The facts before any query.
        infer: Whether the same counts decide how precise real numbers are, and how booleans are
            spelled, where the schema does not say so.
    """
    names = counted(stated, ledger.storage)
    if not names:
        return ()
    facts, rho = ledger.schema, ledger.rest() * SHARE
    ledger.declare(STRAYS, list(names))
    ledger.recode(facts, strays=names)
    answers = ledger.measure([(name,) for name in names], rho=rho)
    decided = answers if infer else ()
    written = {one.clique[0]: _written(facts[one.clique[0]], one) for one in decided}
    columns = tuple(written.get(column.name, column) for column in facts)
    ledger.recode(replace(facts, columns=columns))
    return answers


def _written(column: Column, answer: Measurement) -> Column:
    """Return the column with its precision, or its spelling, where that stands out of the noise."""
    cells = StrayCells(column)
    if not cells.ways:
        return column
    counts = cells.by_way(answer.values)
    least = _STANDS_OUT * float(np.max(answer.scale))
    clear = counts > least
    # A finer way of writing must not be lost because noise hides so many values.
    if not clear.any() or least > _HIDDEN * float(counts.sum()):
        return column
    facts: dict[str, Any]
    if column.kind is Kind.BOOLEAN:
        best = int(np.argmax(counts))
        facts = {"spelling": SPELLINGS[best]} if best else {}  # the first is how we write them
    else:
        facts = _precision(clear & (counts >= _FEW * counts[clear].sum()))
    return replace(column, source=Source.BOUGHT, **facts) if facts else column


def _precision(present: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the decimals and the step of numbers, by the precisions that occur."""
    finest = PRECISIONS[int(np.flatnonzero(present)[-1])]
    decimals = DECIMALS[finest]
    if decimals is None:
        return {}
    steps = {HALF: 0.5, QUARTER: 0.25}
    return {"decimals": decimals} | ({"step": steps[finest]} if finest in steps else {})


def notes(
    schema: Schema,
    answers: Sequence[Measurement],
    hidden: Mapping[str, tuple[float, float]],
    rows: float,
) -> tuple[str, ...]:
    """Return sentences about the strays that stand out of the noise.

    `hidden` are counts of hidden codes with their noise, which columns without an answer are
    noted by, and `rows` is a noisy count of all rows.
    """
    said: list[str] = []
    # Each column's cells add up to all rows.
    totals = [float(one.values.sum()) for one in answers]
    for one in answers:
        (name,) = one.clique
        cells = [float(value) for value in one.values]
        said += stray_notes(
            schema[name],
            below=cells[BELOW],
            above=cells[ABOVE],
            unlisted=cells[UNLISTED],
            missing=cells[MISSING],
            noise=float(one.scale),
            total=sum(totals) / len(totals),
        )
    for name in sorted({*hidden} - {one.clique[0] for one in answers}):
        values, noise = hidden[name]
        said += stray_notes(schema[name], hidden=values, noise=noise, total=rows)
    return tuple(said)


def stray_notes(  # noqa: PLR0913 - noisy counts, by name
    column: Column,
    *,
    below: float = 0.0,
    above: float = 0.0,
    unlisted: float = 0.0,
    missing: float = 0.0,
    hidden: float = 0.0,
    noise: float,
    total: float,
) -> Iterator[str]:
    """Yield a sentence about each kind of stray in a column that stands out of the noise.

    Args:
        column: The facts by which the column is coded.
        below: A noisy count of values below the lower bound.
        above: The same, above the upper bound.
        unlisted: The same, not listed or unreadable.
        missing: The same, missing.
        hidden: The same, with the hidden code.
        noise: The standard deviation of each count.
        total: A noisy count of all rows.
    """
    rows = max(total, 1.0)
    found = {
        f"lie below the lower bound {_end(column, 0)} and are set to it": below,
        f"lie above the upper bound {_end(column, 1)} and are set to it": above,
        f"are {_not_listed(column)} and {_fate(column, missing=False)}": unlisted,
    }
    if hidden:
        found[f"are missing or {_not_listed(column)}: rows with one are not drawn"] = hidden
    if column.null is False:
        found[f"are missing and {_fate(column, missing=True)}"] = missing
    for what, rows_with in found.items():
        if rows_with > max(_CLEAR * noise, _LITTLE * rows):
            yield (
                f"Column {column.name!r}: about {min(rows_with / rows, 1.0):.1%} of the values "
                f"{what} (noise ±{noise / rows:.1%})."
            )


def _open_spelling(column: Column) -> bool:
    """Whether a boolean may be spelled in several ways."""
    stated = column.kind is Kind.BOOLEAN and column.source is not Source.BOUGHT
    return stated and column.spelling is None


def _declared(column: Column) -> bool:
    """Whether somebody stated which values a column has."""
    known = column.bounds if column.kind.numeric else column.categories
    return column.source is not Source.BOUGHT and bool(known)


def _end(column: Column, place: int) -> str:
    return "" if column.bounds is None else str(column.bounds[place])


def _not_listed(column: Column) -> str:
    return "not listed" if column.kind.listed else "unreadable"


def _fate(column: Column, *, missing: bool) -> str:
    """What becomes of values without a code of their own."""
    if column.other is not None:
        return f"become {column.other!r}"
    if column.null is not False and not missing:
        return "become missing"
    return "have no code: rows with one are not drawn"
