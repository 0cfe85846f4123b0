"""The ledger at work on the embedded table: three requests, their answers, and what they cost."""

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from understudy.experiments.demo import DEMO_TARGET, MOST_ADMISSIONS
from understudy.privacy.accountant import cost
from understudy.privacy.answers import Measurement
from understudy.privacy.budget import Budget
from understudy.privacy.certificate import Certificate
from understudy.privacy.ledger import Ledger
from understudy.privacy.scores import CountTV
from understudy.privacy.unit import Person
from understudy.schema import Schema

BUDGET = Budget(epsilon=1.0, delta=1e-9)
_ABOUT = (
    "Rows answer only through a ledger, which adds noise and writes down what each answer cost. "
    "With epsilon 1 it counted every column, chose the column that tells most about the target, "
    "and counted the two together. The unit is a person: all their admissions come or go at once."
)


@dataclass(frozen=True)
class FirstAnswers:
    """What the ledger was asked, what it said, and the certificate of it."""

    content: dict[str, Any]
    measurements: bytes
    certificate: Certificate


def first_answers(table: pa.Table, schema: Schema) -> FirstAnswers:
    """Measure every column, select one for the target, measure the pair."""
    unit = Person("patient_id", MOST_ADMISSIONS)
    ledger = Ledger.open(table, schema, BUDGET, unit=unit)
    ledger.declare("target", DEMO_TARGET)
    columns, choice, pair = ledger.split(0.5, 0.1, 0.4)
    singles = columns.measure([(name,) for name in ledger.domain.names], rho=columns.rest())
    others = [name for name in ledger.domain.names if name != DEMO_TARGET]
    place = choice.select([CountTV((name,), (DEMO_TARGET,)) for name in others], rho=choice.rest())
    (joint,) = pair.measure([(others[place], DEMO_TARGET)], rho=pair.rest())
    certificate = ledger.close()
    return FirstAnswers(_described(ledger, joint), _spelled((*singles, joint)), certificate)


def show(content: dict[str, Any]) -> None:
    """Print the answers for the eye."""
    console = Console(markup=False, highlight=False, emoji=False)
    console.print(Padding(content["about"], (1, 0)))
    bought = Table("request", "noise", "share", box=SIMPLE_HEAD, pad_edge=False)
    for line in content["bought"]:
        noise = "-" if line["noise"] is None else f"± {line['noise']:.0f}"
        bought.add_row(line["request"], noise, f"{line['share']:.0%}")
    console.print(f"What epsilon {content['epsilon']:g} bought", style="bold")
    console.print(bought)
    column, target = content["pair"]["clique"]
    counts = Table(column, *content["pair"]["columns"], box=SIMPLE_HEAD, pad_edge=False)
    for label, line in zip(content["pair"]["rows"], content["pair"]["values"], strict=True):
        counts.add_row(label, *(f"{value:.0f}" for value in line))
    title = f"Noisy counts of {column} by {target} (a count below 0 is noise and means none)"
    console.print(title, style="bold")
    console.print(counts)


def _described(ledger: Ledger, joint: Measurement) -> dict[str, Any]:
    words = ("every column, counted", "the column for the target, chosen", "the pair, counted")
    return {
        "about": _ABOUT,
        "epsilon": ledger.budget.epsilon,
        "delta": ledger.budget.delta,
        "unit": str(ledger.unit),
        "bought": [
            {
                "request": what,
                "noise": getattr(entry.event, "scale", None),
                "share": float(cost(entry.event, ledger.budget.order) / ledger.budget.rho),
            }
            for what, entry in zip(words, ledger.entries, strict=True)
        ],
        "pair": {
            "clique": list(joint.clique),
            "rows": _labels(ledger, joint.clique[0]),
            "columns": _labels(ledger, joint.clique[1]),
            "values": joint.values.tolist(),
            "scale": joint.scale,
        },
    }


def _labels(ledger: Ledger, name: str) -> list[str]:
    return [ledger.encoding.cells[name].describe(c) for c in range(ledger.domain.sizes[name])]


def _spelled(measurements: tuple[Measurement, ...]) -> bytes:
    content = [
        {"clique": list(m.clique), "scale": m.scale, "values": m.values.tolist()}
        for m in measurements
    ]
    return json.dumps({"measurements": content}).encode() + b"\n"
