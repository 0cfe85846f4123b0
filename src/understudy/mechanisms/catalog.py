"""The mechanisms that there are, by the names of the command line."""

from collections.abc import Mapping

from understudy.errors import BadInput, listed
from understudy.mechanisms.api import Mechanism
from understudy.mechanisms.independent import IndependentColumns

MECHANISMS: tuple[type[Mechanism], ...] = (IndependentColumns,)
AUTO = "auto"


def mechanism_named(name: str, parameters: Mapping[str, str] | None = None) -> Mechanism:
    """The mechanism with this name; its parameters are given as a person writes them."""
    for kind in MECHANISMS:
        if kind.name == name or (name == AUTO and kind is IndependentColumns):
            if parameters:
                msg = (
                    f"The method {kind.name} has no parameters, and was given {listed(parameters)}."
                )
                raise BadInput(msg)
            return kind()
    known = listed([AUTO, *(kind.name for kind in MECHANISMS)])
    msg = f"There is no method {name!r}. Known: {known}. `understudy methods` tells about them."
    raise BadInput(msg)
