"""Results as the text of a table's cell: a value, its interval, and which way is good."""

from collections.abc import Iterable, Sequence

from understudy.curator.result import Direction, Result
from understudy.report.words import shortened

_ARROWS = {
    Direction.HIGHER: " ↑",
    Direction.LOWER: " ↓",
    Direction.ZERO: " →0",
    Direction.NONE: "",
}

LONGEST = 40
"""Letters of a name in a table of others."""

Cell = str | Result | None


def named(result: Result) -> str:
    """A result's name and direction."""
    return f"{result.name}{_ARROWS[result.direction]}"


def worst(names: Sequence[str], result: Result) -> str:
    """The columns that a worst result is about, and its direction."""
    shown = ", ".join(shortened(name, LONGEST) for name in names)
    return f"  worst: {shown}{_ARROWS[result.direction]}"


def reasons(rows: Iterable[Sequence[Cell]]) -> list[str]:
    """Why results of a table have no value, or no interval; each reason once."""
    results = [cell for row in rows for cell in row if isinstance(cell, Result)]
    lacking = [f"none: {one.note}" for one in results if one.value is None]
    bare = [
        f"no brackets: {one.note}" for one in results if one.value is not None and not one.interval
    ]
    return list(dict.fromkeys([*lacking, *bare]))


def as_text(cell: Cell, decimals: int = 3) -> str:
    """A text as it is; a result's value and interval."""
    if cell is None or isinstance(cell, str):
        return cell or ""
    if cell.value is None:
        return "none"
    if cell.low is None or cell.high is None:
        return number(cell.value, decimals)
    ends = ", ".join(number(end, decimals) for end in (cell.low, cell.high))
    return f"{number(cell.value, decimals)} [{ends}]"


def short(result: Result | None) -> str:
    """A result's value alone."""
    return "" if result is None or result.value is None else number(result.value)


def p_value(value: float | None) -> str:
    """How often chance does as well."""
    return "" if value is None else f"{value:.3f}"


def number(value: float | None, decimals: int = 3) -> str:
    """The number for the eye.

    >>> number(0.12345), number(-0.0001), number(123.45), number(155_000_000.0)
    ('0.123', '0.000', '123.5', '1.55e8')
    """
    if value is None:
        return ""
    if abs(value) >= 10_000:  # noqa: PLR2004 - for the eye
        return f"{value:.2e}".replace("e+0", "e").replace("e+", "e")
    shown = f"{value:.{decimals if abs(value) < 100 else 1}f}"  # noqa: PLR2004 - the same
    return shown.lstrip("-") if float(shown) == 0 else shown
