"""A ledger file for the eye: what was promised for a table, and what each release took of it."""

import math
from fractions import Fraction
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from understudy.privacy.accountant import total_cost
from understudy.privacy.budget import Budget, epsilon_of_rho
from understudy.privacy.ledger_file import LedgerRecord, ReleaseRecord
from understudy.privacy.unit import unit_in_words
from understudy.spoken import plain_console

_USUAL_DELTA = 1e-9


def ledger_page(record: LedgerRecord) -> dict[str, Any]:
    """What a ledger file says, as plain data; shares are of the whole total."""
    whole = record.budget
    return {
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
        "next_release": {
            "epsilon": _affordable(record.rest),
            "delta": _USUAL_DELTA,
        },
        "releases": [_release(release, record) for release in record.releases],
    }


def show(page: dict[str, Any]) -> None:
    """Print a ledger file for the eye."""
    console = plain_console()
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


def _affordable(rest: Fraction) -> float:
    """The largest ε of three digits whose release fits into what is left."""
    found = epsilon_of_rho(rest, _USUAL_DELTA)
    if found <= 0:
        return 0.0
    grid = 10.0 ** (math.floor(math.log10(found)) - 2)
    whole = math.floor(found / grid)
    while whole > 0 and Budget(whole * grid, _USUAL_DELTA).rho > rest:
        whole -= 1
    return float(f"{whole * grid:.3g}")


def _share(amount: Fraction | float, whole: Fraction) -> float | None:
    """A share of the total; none once rows were used as they are."""
    return float(amount / whole) if isinstance(amount, Fraction) else None


def _percent(share: float | None) -> str:
    return "all of it (rows were used as they are)" if share is None else f"{share:.1%}"
