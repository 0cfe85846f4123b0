"""A plan for the eye: what a release would buy, before anything is spent."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from understudy.plan import IndependenceCost, Item, Plan, ProtectionCost
from understudy.plan.figures import short, spread
from understudy.report.pages import percent, sized
from understudy.report.words import in_order, number_of
from understudy.spoken import plain_console, say

_PARTS = ("starting", "asking", "training", "writing")


def plan_page(plan: Plan) -> dict[str, Any]:
    """A plan as plain data; noise is a standard deviation, and less is better."""
    return {
        "weak": list(plan.weak),
        "warning": plan.warning,
        "method": plan.method,
        "why": list(plan.why),
        "decision": None if plan.decision is None else asdict(plan.decision),
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
        "personal": [one.to_dict() for one in plan.personal],
        "bought": [_item(item) for item in plan.items],
        "shares": {str(purpose): share for purpose, share in plan.shares.items()},
        "model": {
            "cells": plan.size.cells,
            "fit_bytes": plan.size.model_bytes,
            "most_bytes": plan.size.most_bytes,
        },
        "split": {str(part): share for part, share in plan.split.items()},
        "costs": list(plan.costs),
        "independence_cost": _told(plan.independence_cost),
        "protection_cost": _told(plan.protection_cost),
        "program_bytes": plan.forecast.bytes,
        "seconds": plan.forecast.seconds,
        "forecast": {**asdict(plan.forecast), "seconds": plan.forecast.seconds},
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


def _told(cost: IndependenceCost | ProtectionCost | None) -> dict[str, Any] | None:
    return None if cost is None else asdict(cost)


def _item(item: Item) -> dict[str, Any]:
    return {
        "purpose": str(item.purpose),
        "what": item.told,
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

    def lines(title: str, told: Sequence[str]) -> None:
        if told:
            head(title)
        for line in told:
            say(console, in_order(line), "- ")

    target = "" if page["target"] is None else f", to predict {in_order(page['target'])}"
    shape = f"{page['rows']:,} rows × {number_of(len(page['codes']), 'column')}"
    if page["warning"]:
        console.print(f"{page['warning']}\n", style="bold", soft_wrap=True)
    console.print(f"Plan: {page['method']} on {shape}{target}", style="bold", soft_wrap=True)
    console.print("No row was read: the method was rehearsed on made-up ones.", soft_wrap=True)
    lines("Why this method", page["why"])
    head("What would be promised")
    for line in page["promise"][1 if page["weak"] else 0 :]:
        say(console, line)
    lines("What would hold in the model, exactly", page["independences"])
    head("What would be bought (± standard deviation of the noise; ↓ less is better)")
    console.print(_bought(page))
    say(console, f"Per cent are of {page['rows']:,} rows; with fewer rows they grow in proportion.")
    parts = "; ".join(f"{percent(share)} {part}" for part, share in page["split"].items())
    say(console, f"Of the budget: {parts}.")
    lines("What constraints and caps cost", page["costs"])
    lines("What it takes, from the start of the program to the last file", _sizes(page))
    head("The same requests at other epsilons (noise scaled, not rehearsed again)")
    console.print(_epsilons(page))
    say(
        console,
        "Odds: how many times as large somebody's odds may become, whether one was in the table. "
        "±, in rows: of each kind, the noisiest table in the line above with the largest share. "
        "With another epsilon a method may choose more tables, or fewer.",
    )
    lines("Please note", page["notes"])


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
                spread([one["cells"] for one in counts]),
                spread([one["noise_rows"] for one in counts]),
                spread([one["noise_percent"] for one in counts]),
            )
        table.add_row(in_order(line["what"]), percent(line["share"]), *told)
    return table


def _epsilons(page: dict[str, Any]) -> Table:
    kinds = [*page["epsilons"][0]["noise_rows"]] if page["epsilons"] else []
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("ε", "odds × ≤ ↓", "ρ", *(f"{kind} ± ↓" for kind in kinds)):
        table.add_column(title, justify="right")
    for one in page["epsilons"]:
        mark = "→ " if one["epsilon"] == page["epsilon"] else ""
        noise = (
            f"{short(one['noise_rows'][kind])} ({percent(one['noise_percent'][kind] / 100)})"
            for kind in kinds
        )
        table.add_row(f"{mark}{one['epsilon']:g}", one["odds_at_most"], f"{one['rho']:.3g}", *noise)
    return table


def _sizes(page: dict[str, Any]) -> list[str]:
    model, whole = page["model"], page["forecast"]
    limit = "" if model["most_bytes"] is None else f", never more than {sized(model['most_bytes'])}"
    parts = ", ".join(f"{part} {whole[part]:.1f}" for part in _PARTS if whole[part])
    rows = number_of(page["rows"], "row")
    lines = [
        f"time: about {whole['seconds']:.1f} seconds for {rows} of CSV, on this machine",
        f"of which: {parts}",
    ]
    if whole["bytes"] is not None:
        lines.append(f"memory: about {sized(whole['bytes'])} at the peak")
    lines.append(
        f"model: {number_of(model['cells'], 'measured cell')}; to fit it takes about "
        f"{sized(model['fit_bytes'])} of that{limit}"
    )
    return lines
