"""Independences that somebody demands of a release: their price in words, and whether they hold."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.domain import Clique
from understudy.errors import BadInput, CheckFailed, listed
from understudy.knowledge import Independence
from understudy.mechanisms.api import Model
from understudy.model.cliques import cliques_of
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
    """Refuse a model unless every constraint is known to hold in it.

    Raises:
        CheckFailed: The cliques of the model violate a constraint, or are unknown.
    """
    if not allowed:
        return
    tied = _tied(model)
    if tied is None:
        names = ", ".join(str(one) for one in allowed.independences)
        msg = (
            f"The constraints ({names}) cannot be checked, and nothing is released: the model "
            f"{type(model).__name__} does not state its cliques. Use a built-in mechanism, or "
            "define `cliques` and `measurements` on the class of the model itself."
        )
        raise CheckFailed(msg)
    if isinstance(model, LabelledModel):
        holds = keeps(allowed, tied, model.target, model.inputs)
    else:
        holds = allowed(tied)
    if not holds:
        msg = (
            "The method measured columns together that a stated independence keeps apart. That is "
            "a fault of the method, and nothing is released; please report it."
        )
        raise CheckFailed(msg)


def _tied(model: Model) -> list[Clique] | None:
    """Return the columns that a model or its measurements combine; None if that is unknown."""
    cliques, measurements = cliques_of(model), getattr(model, "measurements", None)
    if cliques is None or measurements is None:
        return None
    if isinstance(model, LabelledModel):  # `keeps` adds the inputs of its labels
        cliques = cliques_of(model.features) or ()
        measurements = getattr(model.features, "measurements", None)
        if measurements is None or any(one.clique != (model.target,) for one in model.counted):
            return None
    return [*cliques, *(one.clique for one in measurements)]
