"""What the parameters of a mechanism may be: public, and refused before anything is asked."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import inf
from typing import Any

from understudy.errors import BadInput


def told(mechanism: Any) -> dict[str, int | float | bool | str]:  # noqa: ANN401 - a dataclass
    """The parameters as plain data, for a certificate and for people; none that says nothing."""
    idle = getattr(mechanism, "idle", ())
    names = [field.name for field in fields(mechanism) if field.name not in idle]
    plain = {name: _plain(getattr(mechanism, name)) for name in names}
    return {name: value for name, value in plain.items() if value != ""}


def _plain(value: object) -> int | float | bool | str:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {part}" for name, part in value.items())
    if is_dataclass(value) and type(value).__str__ is object.__str__:
        parts = ", ".join(f"{name}={part}" for name, part in told(value).items())
        name = getattr(value, "name", "")
        return f"{name}({parts})" if name else parts
    return "" if value is None else str(value)


def check_whole(name: str, value: object, *, least: int) -> None:
    """Refuse a parameter that is no whole number, or below the least that makes sense."""
    if type(value) is not int or value < least:
        msg = f"{name} is {value}; give a whole number, at least {least}."
        raise BadInput(msg)


def check_number(name: str, value: object, *, least: float) -> None:
    """Refuse a parameter that is no number, or below the least that makes sense."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not (real and least <= value < inf):  # type: ignore[operator]  # NaN is refused as well
        msg = f"{name} is {value}; give a number, at least {least:g}."
        raise BadInput(msg)
