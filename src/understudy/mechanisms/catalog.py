"""The mechanisms that there are, by the names of the command line."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from enum import StrEnum
from typing import Any

from understudy.errors import BadInput, listed
from understudy.mechanisms.aim import Aim
from understudy.mechanisms.api import Mechanism
from understudy.mechanisms.dpdsyn import DpdSyn
from understudy.mechanisms.independent import IndependentColumns
from understudy.mechanisms.lk2ss import Lk2ss
from understudy.mechanisms.mst import Mst
from understudy.mechanisms.mwem import Mwem
from understudy.mechanisms.prefair import PreFair
from understudy.mechanisms.prism import Prism
from understudy.mechanisms.privbayes import PrivBayes
from understudy.mechanisms.privci import PrivCI
from understudy.mechanisms.reps import Reps
from understudy.mechanisms.tailored import Tailored
from understudy.select.regimes import Regime
from understudy.workload import Weights

MECHANISMS: tuple[type[Mechanism], ...] = (
    Tailored,
    Prism,
    Mst,
    Aim,
    PrivCI,
    PrivBayes,
    Mwem,
    PreFair,
    Reps,
    DpdSyn,
    Lk2ss,
    IndependentColumns,
)
AUTO = "auto"
_NONE = "none"
_ALL = 50
AUTOMATIC = Tailored
"""What `auto` means."""


def mechanism_named(
    name: str,
    parameters: Mapping[str, str] | None = None,
    *,
    regime: Regime | None = None,
) -> Mechanism:
    """The mechanism with this name; its parameters are given as a person writes them.

    A regime says what is known about the target's causes, for a method that can use that.
    """
    for kind in MECHANISMS:
        if kind.name == name or (name == AUTO and kind is AUTOMATIC):
            made = kind(**_read(kind, parameters or {}))
            return made if regime is None else _with_regime(made, regime, parameters or {})
    known = listed([AUTO, *(kind.name for kind in MECHANISMS)], most=_ALL)
    msg = f"There is no method {name!r}. Known: {known}. `understudy methods` tells about them."
    raise BadInput(msg)


def usual_parameters(kind: type[Mechanism]) -> dict[str, Any]:
    """What a method can be told by name, with the usual values; those of its parts as well."""
    usual: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        value = _default(field)
        if is_dataclass(value) and not isinstance(value, Weights):
            usual |= {part.name: getattr(value, part.name) for part in fields(value)}
        elif not (isinstance(value, str) and not isinstance(value, StrEnum)):
            usual[field.name] = value
    return usual


def _with_regime(made: Mechanism, regime: Regime, parameters: Mapping[str, str]) -> Mechanism:
    able_to = Tailored, Prism
    if not isinstance(made, able_to):
        able = listed(kind.name for kind in able_to)
        msg = f"The method {made.name} cannot use causes or a graph; these can: {able}."
        raise BadInput(msg)
    own = {part.name for part in fields(made.regime)}  # type: ignore[arg-type]
    idle = [name for name in parameters if name in own]
    if idle:
        msg = f"Where causes or a graph are stated, nothing is chosen: leave out {listed(idle)}."
        raise BadInput(msg)
    return replace(made, regime=regime)


def _read(kind: type[Mechanism], parameters: Mapping[str, str]) -> dict[str, Any]:
    """Parameters as values of the kind that each has."""
    usual = usual_parameters(kind)
    found: dict[str, Any] = {}
    for name, text in parameters.items():
        if name not in usual:
            has = f"has {listed(usual, most=_ALL)}" if usual else "has no parameters"
            msg = f"The method {kind.name} {has}, and was given {name!r}."
            raise BadInput(msg)
        found[name] = _value(name, text, usual[name])
    for field in fields(kind):  # type: ignore[arg-type]
        value = _default(field)
        if is_dataclass(value) and not isinstance(value, Weights):
            own = {part.name: found.pop(part.name) for part in fields(value) if part.name in found}
            if own:
                found[field.name] = replace(value, **own)  # type: ignore[type-var]
    return found


def _value(name: str, text: str, usual: Any) -> Any:  # noqa: ANN401 - of the parameter's kind
    kind = type(usual)
    if usual is None:  # a method for a part of the work
        return None if text == _NONE else mechanism_named(text)
    if isinstance(usual, Weights):
        return Weights.parse(text)
    if kind is bool:
        if text not in {"true", "false"}:
            msg = f"{name}={text}: give true or false."
            raise BadInput(msg)
        return text == "true"
    try:
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        what = f"one of {listed(kind)}" if issubclass(kind, StrEnum) else f"{what}, such as"
        such = "" if issubclass(kind, StrEnum) else f" {name}={usual}"
        msg = f"{name}={text}: give {what}{such}."
        raise BadInput(msg) from None


def _default(field: "Field[Any]") -> Any:  # noqa: ANN401 - of any kind
    return field.default if field.default_factory is MISSING else field.default_factory()
