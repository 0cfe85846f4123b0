"""What the parameters of a mechanism may be: public, and refused before anything is asked."""

from math import inf

from understudy.errors import BadInput


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
