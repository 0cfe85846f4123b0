"""A ledger file for the eye: what was promised for a table, and what each release took of it."""

import contextlib
import math
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from understudy.errors import BadInput
from understudy.privacy.accountant import total_cost
from understudy.privacy.budget import Budget, epsilon_of_rho
from understudy.privacy.discover import DELTA_SHARE
from understudy.privacy.ledger_file import LedgerRecord, ReleaseRecord
from understudy.privacy.promise import weak_line, weaknesses
from understudy.privacy.unit import unit_in_words
from understudy.spoken import plain_console

_A_BIT_LESS = 0.99


def ledger_page(record: LedgerRecord) -> dict[str, Any]:
    """What a ledger file says, as plain data; shares are of the whole total."""
    whole = record.budget
    weak = weaknesses(whole.epsilon, whole.delta)
    return {
        "weak": list(weak),
        "warning": weak_line(weak) if weak else "",
        "epsilon": whole.epsilon,
        "delta": whole.delta,
        "made": record.made,
        "unit": record.unit,
        "table_id": record.table_id,
        "lines": record.lines,
        "head": record.head,
        "spent": _share(record.spent, whole.rho),
        "left": _share(record.rest, whole.rho),
        "delta_for_facts": {
            "whole": whole.thresholds,
            "left": float(max(Fraction(0), record.rest_delta)),
        },
        "next_release": _next_release(record),
        "releases": [_release(release, record) for release in record.releases],
    }


def show(page: dict[str, Any]) -> None:
    """Print a ledger file for the eye."""
    console = plain_console()
    if page["warning"]:
        console.print(page["warning"], style="bold")
    unit = (
        _one_line(unit_in_words(page["unit"])) if page["unit"] else "the unit of the first release"
    )
    console.print(
        f"Total for all releases: epsilon {page['epsilon']:g}, delta {page['delta']:g}; protects "
        f"{unit}. Checked line by line, {page['lines']} in all."
    )
    if page["table_id"] is not None:
        console.print(
            f"Bound to the table {page['table_id']}: releases have to name it with --table-id."
        )
    if page["releases"]:
        table = Table(
            "release", "began", "epsilon", "requests", "share", "state",
            box=SIMPLE_HEAD, pad_edge=False,
        )  # fmt: skip
        for line in page["releases"]:
            table.add_row(
                _one_line(line["release"])[:8],
                _one_line(line["began"]).replace("T", " ").replace("+00:00", ""),
                f"{line['epsilon']:g}",
                str(line["requests"]),
                _percent(line["share"]),
                "complete" if line["complete"] else "not finished",
            )
        console.print(table)
    else:
        console.print("No release so far.")
    coming = page["next_release"]
    console.print(
        f"Spent {_percent(page['spent'])}, left {_percent(page['left'])}: enough for a release "
        f"with epsilon {coming['epsilon']:.3g} at delta {coming['delta']:g}."
        if coming["epsilon"] > 0
        else f"Spent {_percent(page['spent'])}: nothing is left."
    )
    facts = page["delta_for_facts"]
    if facts["whole"] > 0:
        share = _percent(facts["left"] / facts["whole"])
        console.print(
            f"Of the part of delta kept for facts that releases find out, {share} is left."
        )


def _one_line(text: str) -> str:
    """Return text of a file as it can be shown: it moves no cursor."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _release(release: ReleaseRecord, record: LedgerRecord) -> dict[str, Any]:
    spent = total_cost((event for event, _ in release.events), record.budget.order)
    return {
        "release": release.name,
        "began": release.began,
        "epsilon": release.epsilon,
        "delta": release.delta,
        "requests": len(release.events),
        "share": _share(spent, record.budget.rho),
        "complete": release.ended,
    }


def _next_release(record: LedgerRecord) -> dict[str, float]:
    """Return an ε and a δ that fit into what is left, whether or not facts have to be inferred.

    The δ is that of the file, as long as the part of it for facts lasts; the ε never exceeds the
    total. A release with less of either fits as well.
    """
    whole = record.budget
    delta = whole.delta
    if 0 < record.rest_delta < Fraction(delta * DELTA_SHARE):
        delta = min(delta, _three_digits(float(record.rest_delta) / DELTA_SHARE))
        if Fraction(delta * DELTA_SHARE) > record.rest_delta:
            delta = _three_digits(delta * _A_BIT_LESS)
    return {"epsilon": _affordable(record.rest, delta, whole.epsilon), "delta": delta}


def _affordable(rest: Fraction, delta: float, most: float) -> float:
    """Return the largest ε of three digits, up to `most`, whose release fits into what is left.

    All of δ converts ρ into ε here. A release that keeps a part of δ for facts has a smaller ρ.
    """
    found = min(epsilon_of_rho(rest, delta), most)
    if found <= 0:
        return 0.0
    grid = 10.0 ** (math.floor(math.log10(found)) - 2)
    whole = math.floor(found / grid)
    with contextlib.suppress(BadInput):  # so little that nothing can be spent
        while whole > 0:
            epsilon = float(f"{whole * grid:.3g}")
            if epsilon <= most and Budget(epsilon, delta).rho <= rest:
                return epsilon
            whole -= 1
    return 0.0


def _three_digits(value: float) -> float:
    """Return a number with three digits, rounded down."""
    return float(Context(prec=3, rounding=ROUND_FLOOR).create_decimal(repr(value)))


def _share(amount: Fraction | float, whole: Fraction) -> float | None:
    """A share of the total; none once rows were used as they are."""
    return float(amount / whole) if isinstance(amount, Fraction) else None


def _percent(share: float | None) -> str:
    return "all of it (rows were used as they are)" if share is None else f"{share:.1%}"
