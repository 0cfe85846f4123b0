"""The mechanisms that there are, by the names of the command line."""

from collections.abc import Mapping
from dataclasses import fields

from understudy.errors import BadInput, listed
from understudy.mechanisms.aim import Aim
from understudy.mechanisms.api import Mechanism
from understudy.mechanisms.independent import IndependentColumns
from understudy.mechanisms.mst import Mst
from understudy.mechanisms.mwem import Mwem
from understudy.mechanisms.privbayes import PrivBayes

MECHANISMS: tuple[type[Mechanism], ...] = (Mst, Aim, PrivBayes, Mwem, IndependentColumns)
AUTO = "auto"
_USUAL = Mst


def mechanism_named(name: str, parameters: Mapping[str, str] | None = None) -> Mechanism:
    """The mechanism with this name; its parameters are given as a person writes them."""
    for kind in MECHANISMS:
        if kind.name == name or (name == AUTO and kind is _USUAL):
            return kind(**_read(kind, parameters or {}))
    known = listed([AUTO, *(kind.name for kind in MECHANISMS)])
    msg = f"There is no method {name!r}. Known: {known}. `understudy methods` tells about them."
    raise BadInput(msg)


def _read(kind: type[Mechanism], parameters: Mapping[str, str]) -> dict[str, int | float]:
    """Parameters as numbers of the kind that each has."""
    usual: dict[str, int | float] = {
        field.name: field.default  # type: ignore[misc]
        for field in fields(kind)  # type: ignore[arg-type]
    }
    found: dict[str, int | float] = {}
    for name, text in parameters.items():
        if name not in usual:
            has = f"has {listed(usual)}" if usual else "has no parameters"
            msg = f"The method {kind.name} {has}, and was given {name!r}."
            raise BadInput(msg)
        number = type(usual[name])
        try:
            found[name] = number(text)
        except ValueError:
            what = "a whole number" if number is int else "a number"
            msg = f"{name}={text}: give {what}, such as {name}={usual[name]}."
            raise BadInput(msg) from None
    return found
