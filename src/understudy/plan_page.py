"""A plan for the eye: what a release would buy, before anything is spent."""

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from understudy.plan import Item, Plan
from understudy.report.pages import percent, plain
from understudy.report.words import in_order, number_of
from understudy.spoken import plain_console, say

_BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def plan_page(plan: Plan) -> dict[str, Any]:
    """A plan as plain data; noise is a standard deviation, and less is better."""
    return {
        "method": plan.method,
        "parameters": dict(plan.parameters),
        "target": plan.target,
        "independences": [str(one) for one in plan.independences],
        "epsilon": plan.budget.epsilon,
        "delta": plan.budget.delta,
        "rho": float(plan.budget.rho),
        "unit": str(plan.unit),
        "promise": list(plan.promise),
        "rows": plan.rows,
        "rehearsed_rows": plan.rehearsed,
        "codes": dict(plan.codes),
        "open_facts": {name: list(facts) for name, facts in plan.open.items()},
        "bought": [_item(item) for item in plan.items],
        "shares": {str(purpose): share for purpose, share in plan.shares.items()},
        "model": {
            "cells": plan.size.cells,
            "fit_bytes": plan.size.model_bytes,
            "most_bytes": plan.size.most_bytes,
        },
        "program_bytes": plan.size.program_bytes,
        "seconds": plan.size.seconds,
        "epsilons": [
            {
                "epsilon": one.epsilon,
                "rho": one.rho,
                "odds_at_most": one.odds,
                "noise_rows": dict(one.noise),
                "noise_percent": dict(one.percent),
            }
            for one in plan.epsilons
        ],
        "notes": list(plan.notes),
    }


def _item(item: Item) -> dict[str, Any]:
    return {
        "purpose": str(item.purpose),
        "what": item.what,
        "share": item.share,
        "counts": [
            {
                "columns": None if one.columns is None else list(one.columns),
                "width": one.width,
                "cells": one.cells,
                "noise_rows": one.noise,
                "noise_percent": one.percent,
            }
            for one in item.counts
        ],
    }


def show(page: dict[str, Any]) -> None:
    """Print a plan for the eye."""
    console = plain_console()

    def head(title: str) -> None:
        console.print(f"\n{title}", style="bold", soft_wrap=True)

    target = "" if page["target"] is None else f", to predict {in_order(page['target'])}"
    shape = f"{page['rows']:,} rows × {number_of(len(page['codes']), 'column')}"
    console.print(f"Plan: {page['method']} on {shape}{target}", style="bold", soft_wrap=True)
    console.print("No row was read: the method was rehearsed on made-up ones.", soft_wrap=True)
    head("What would be promised")
    for line in page["promise"]:
        say(console, line)
    if page["independences"]:
        head("What would hold in the model, exactly")
    for one in page["independences"]:
        say(console, in_order(one), "- ")
    head("What would be bought (± standard deviation of the noise; ↓ less is better)")
    console.print(_bought(page))
    say(console, f"Per cent are of {page['rows']:,} rows; with fewer rows they grow in proportion.")
    say(
        console,
        "Of the budget: " + "; ".join(f"{percent(s)} {p}" for p, s in page["shares"].items()) + ".",
    )
    head("What it takes")
    for line in _sizes(page):
        say(console, line, "- ")
    head("The same requests at other epsilons (noise scaled, not rehearsed again)")
    console.print(_epsilons(page))
    say(
        console,
        "Odds: how many times as large somebody's odds may become, whether one was in the table. "
        "±, in rows: of each kind, the noisiest table in the line above with the largest share. "
        "With another epsilon a method may choose more tables, or fewer.",
    )
    if page["notes"]:
        head("Please note")
    for note in page["notes"]:
        say(console, in_order(note), "- ")


def _bought(page: dict[str, Any]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("what", overflow="fold")
    for title in ("share", "cells", "± rows ↓", "% of rows ↓"):
        table.add_column(title, justify="right")
    for line in page["bought"]:
        counts = line["counts"]
        told = ("", "", "")
        if counts:
            told = (
                _range([one["cells"] for one in counts]),
                _range([one["noise_rows"] for one in counts]),
                _range([one["noise_percent"] for one in counts]),
            )
        what = line["what"]
        if line["purpose"].startswith("finding"):
            what = f"finding out: {what}"
        table.add_row(in_order(what), percent(line["share"]), *told)
    return table


def _epsilons(page: dict[str, Any]) -> Table:
    kinds = [*page["epsilons"][0]["noise_rows"]] if page["epsilons"] else []
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("ε", "odds × ≤ ↓", "ρ", *(f"{kind} ± ↓" for kind in kinds)):
        table.add_column(title, justify="right")
    for one in page["epsilons"]:
        mark = "→ " if one["epsilon"] == page["epsilon"] else ""
        noise = (
            f"{_short(one['noise_rows'][kind])} ({percent(one['noise_percent'][kind] / 100)})"
            for kind in kinds
        )
        table.add_row(f"{mark}{one['epsilon']:g}", one["odds_at_most"], f"{one['rho']:.3g}", *noise)
    return table


def _sizes(page: dict[str, Any]) -> list[str]:
    model, whole = page["model"], page["program_bytes"]
    limit = (
        "" if model["most_bytes"] is None else f", and never more than {_size(model['most_bytes'])}"
    )
    fitting = (
        f"model: {number_of(model['cells'], 'measured cell')}; to fit it takes about "
        f"{_size(model['fit_bytes'])} of memory{limit}"
    )
    lines = [fitting]
    if whole is not None:
        lines.append(f"memory: about {_size(whole)} for the whole program")
    lines.append(
        f"time: about {page['seconds']:.1f} seconds for asking and fitting, on this machine and "
        f"{page['rehearsed_rows']:,} rows; opening and reading your table comes on top"
    )
    return lines


def _range(numbers: Sequence[float]) -> str:
    """The least and the greatest, where they look different."""
    least, greatest = _short(min(numbers)), _short(max(numbers))
    return least if least == greatest else f"{least} to {greatest}"


def _short(value: float) -> str:
    """Three digits are enough for noise; whole numbers stay whole."""
    return plain(float(f"{value:.3g}")) if isinstance(value, float) else f"{value:,}"


def _size(count: int) -> str:
    for unit, name in _BYTES:
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count} bytes"
