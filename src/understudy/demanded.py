"""Independences that somebody demands of a release: their price in words, and whether they hold."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.errors import BadInput, CheckFailed, listed
from understudy.knowledge import Independence
from understudy.mechanisms.api import Model
from understudy.model.information import cliques_of
from understudy.model.labelled import LabelledModel
from understudy.schema import Schema
from understudy.select.label_inputs import keeps
from understudy.separation import Separation

INDEPENDENCES = "independences"
"""What a certificate calls them."""


def written(independences: Sequence[Independence]) -> list[dict[str, list[str]]]:
    """Independences as plain data, for a certificate."""
    return [
        {side: list(getattr(one, side)) for side in ("outcome", "protected", "given")}
        for one in independences
    ]


def read(public: Mapping[str, Any]) -> tuple[Independence, ...]:
    """The independences that a certificate lists among its public inputs."""
    try:
        return tuple(Independence(**one) for one in public.get(INDEPENDENCES) or ())
    except TypeError:
        msg = "The certificate lists independences that cannot be read."
        raise BadInput(msg) from None


def costs(allowed: Separation, schema: Schema) -> tuple[str, ...]:
    """What independences cost, as far as public facts tell: said before anything is spent."""
    names = [column.name for column in schema.coded]
    found = [
        f"With {one}, and nothing given, every column may be tied to one of the two sides alone, "
        "or to neither: the rest of what it says is lost on purpose."
        for one in allowed.independences
        if not one.given and len(names) > len(one.columns)
    ]
    sides = {name for one in allowed.independences for name in (*one.outcome, *one.protected)}
    alone = [
        name
        for name in names
        if name in sides and all(allowed.apart(name, other) for other in names if other != name)
    ]
    if schema.target in alone:
        found.append(
            f"No column may be measured together with {schema.target}: the independences leave it "
            "alone, and models learn nothing about it but how common its values are. State what it "
            "may depend on, after a |, or predict something else."
        )
    others = [name for name in alone if name != schema.target]
    if others:
        found.append(f"{listed(others)}: the independences allow no other column beside these.")
    return tuple(found)


def check_kept(allowed: Separation, model: Model) -> None:
    """Refuse a model in which an independence does not hold: a fault of its method."""
    if not _kept(allowed, model):
        msg = (
            "The method measured columns together that a stated independence keeps apart. That is "
            "a fault of the method, and nothing is released; please report it."
        )
        raise CheckFailed(msg)


def _kept(allowed: Separation, model: Model) -> bool:
    if isinstance(model, LabelledModel):
        features = model.features
        tied = [*cliques_of(features), *(one.clique for one in features.measurements)]
        return keeps(allowed, tied, model.target, model.inputs)
    return allowed([one.clique for one in model.measurements]) and allowed(cliques_of(model))
