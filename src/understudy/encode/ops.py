"""The few operations that every rule is written in, so that each rule stands in one place.

A rule (`LabelCells`, `NumberCells`) calls these on values that it does not look into. With
`ArrowOps` the values are Arrow and NumPy arrays and a code comes out; with `IbisOps` they are
Ibis expressions and the same code comes out as SQL, on whatever engine holds the rows. The
contract test in `tests/contracts` holds the two equal.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

from understudy.column import WHITESPACE, Column, Kind
from understudy.errors import SchemaError

Value: TypeAlias = Any
"""An Arrow or NumPy array, or an Ibis expression: the rules never ask which."""


class Storage(StrEnum):
    """How a table stores a column.

    All rules read whole numbers and fractions alike, because a single cell can decide which of the
    two a column is stored as: only `public` is a public fact.
    """

    TEXT = "text"
    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"

    @property
    def public(self) -> str:
        """What a certificate says of it."""
        return NUMBER_STORAGE if self in {Storage.INTEGER, Storage.FLOAT} else str(self)


NUMBER_STORAGE = "number"


def check_storage(column: Column, storage: Storage) -> None:
    """Refuse storage that has no agreed reading as the column's kind; decided by public types."""
    dates, kind, stored = {Storage.DATE, Storage.TIMESTAMP}, column.kind, storage.public
    if kind is Kind.UNKNOWN or (column.categories == () and column.other is None):
        return  # nothing is read of a column in which every value is missing
    if not kind.numeric and storage in dates:
        msg = (
            f"Column {column.name!r} is {kind} in the schema but stored as a {stored}. Declare it "
            "as date or datetime."
        )
        raise SchemaError(msg)
    wanted = dates | {Storage.TEXT} if kind in {Kind.DATE, Kind.DATETIME} else set(Storage) - dates
    if storage not in wanted:
        msg = (
            f"Column {column.name!r} is {kind} in the schema but stored as {stored}. Change its "
            "kind, or convert the column."
        )
        raise SchemaError(msg)


class Ops(Protocol):
    """What a rule may do with a value.

    Reading turns a stored cell into text or a number, and whatever cannot be read into
    "unknown" (null in an expression, null or NaN in an array); it never raises on a cell.
    """

    def text(self, value: Value, storage: Storage) -> Value:
        """Text as it stands, whole numbers without a point."""

    def number(self, value: Value, storage: Storage) -> Value:
        """A finite double."""

    def moment(self, value: Value, storage: Storage) -> Value:
        """Seconds since 1970-01-01 of a stored date or timestamp, a whole double."""

    def matching(self, text: Value, regex: str) -> Value:
        """The text where the regular expression finds something in it; unknown elsewhere."""

    def moment_parts(self, text: Value, pattern: "MomentPattern") -> dict[str, Value]:
        """Year … second of a date written as text, whole numbers; 0 where it lacks them."""

    def whole_text(self, number: Value) -> Value:
        """The text of a whole number; unknown if it is not whole or beyond ±2**52."""

    def lower(self, text: Value) -> Value:
        """Text in ASCII lower case."""

    def position(self, text: Value, labels: tuple[str, ...], otherwise: Value) -> Value:
        """Where the stripped text stands among the labels; `otherwise` if nowhere."""

    def filled(self, text: Value) -> Value:
        """Whether there is text other than whitespace."""

    def known(self, number: Value) -> Value:
        """Whether there is a number."""

    def where(self, condition: Value, yes: Value, no: Value) -> Value:
        """`yes` where the condition holds, `no` where it fails or is unknown."""

    def first(self, cases: Sequence[tuple[Value, int]], otherwise: Value) -> Value:
        """The value beside the first condition that holds; `otherwise` if none does."""

    def clamp(self, number: Value, low: float, high: float) -> Value:
        """The number, moved to the nearer end if it lies outside; anything if it is unknown."""

    def floor(self, number: Value) -> Value:
        """The greatest whole number below a double, as an integer; anything if it is unknown."""

    def search(self, number: Value, edges: tuple[float, ...]) -> Value:
        """How many of the increasing edges are at most the number."""


# One grammar of numbers for all engines. Engines differ on text such as "1_000", "inf" or
# "1e400" (some raise on it), so the grammar is ours and is checked before any engine casts.
_SPACE = f"[{WHITESPACE}]*"
_PLAIN = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9][0-9]?)?"
_SCIENTIFIC = r"([0-9]{1,8}(\.[0-9]{0,17})?|\.[0-9]{1,17})[eE][+-]?[0-2][0-9][0-9]"
NUMBER = rf"^{_SPACE}[+-]?({_PLAIN}|{_SCIENTIFIC}){_SPACE}$"
"""Large exponents only after few digits: no text in the grammar is too large for a double."""
LONGEST_NUMBER = 64
LARGEST_DOUBLE = 1.7976931348623157e308
MOMENT_PARTS = "YmdHMS"
"""The parts of a date and time, named as in its format."""


class MomentPattern:
    """How a text column writes dates: a regular expression, and which group holds what."""

    def __init__(self, template: str | None = None) -> None:
        if template is None:
            date = "([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
            # No capturing group inside another: one engine then loses the inner ones.
            clock = r"(?:[T ]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]*)?)?Z?)?"
            self.regex = f"^{_SPACE}{date}{clock}{_SPACE}$"
            self.groups = {name: place for place, name in enumerate(MOMENT_PARTS, start=1)}
        else:
            first, *pieces = template.split("%")
            body = _escaped(first)
            for piece in pieces:
                digits = "{4}" if piece[0] == "Y" else "{1,2}"
                body += f"([0-9]{digits}){_escaped(piece[1:])}"
            self.regex = f"^{_SPACE}{body}{_SPACE}$"
            self.groups = {piece[0]: place for place, piece in enumerate(pieces, start=1)}


def _escaped(literal: str) -> str:
    """The literal as a regular expression; of its marks only the point means more than itself."""
    return literal.replace(".", "[.]")


def is_moment(parts: dict[str, Value], ops: Ops) -> Value:
    """Whether year … second name a moment that exists."""
    year, month, day = parts["Y"], parts["m"], parts["d"]
    leap = ((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0)
    short = (month == 4) | (month == 6) | (month == 9) | (month == 11)  # noqa: PLR2004 - calendar
    last = ops.where(month == 2, ops.where(leap, 29, 28), ops.where(short, 30, 31))  # noqa: PLR2004
    exists = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= last)  # noqa: PLR2004
    for name, limit in (("H", 24), ("M", 60), ("S", 60)):
        exists = exists & (parts[name] < limit)
    return exists


def seconds_since_1970(parts: dict[str, Value], ops: Ops) -> Value:
    """The seconds from 1970-01-01 to a moment.

    Written once in integer arithmetic rather than with the engines' date functions, which
    disagree on text and raise on the 30th of February.
    """
    year, month, day = parts["Y"], parts["m"], parts["d"]
    # Years begin in March here, so that the leap day comes last and needs no case of its own.
    early = ops.where(month <= 2, 1, 0)  # noqa: PLR2004
    years = year - early
    months = month + 12 * early - 3
    days = 365 * years + years // 4 - years // 100 + years // 400
    days = days + (153 * months + 2) // 5 + day - 1 - 719468
    return days * 86400 + parts["H"] * 3600 + parts["M"] * 60 + parts["S"]
