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
from understudy.encode.moments import MomentPattern
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

    def moment_parts(self, text: Value, pattern: MomentPattern) -> dict[str, Value]:
        """Year … second of a date written as text, whole numbers; 0 where it lacks them."""

    def rewritten(self, text: Value, regex: str, plain: str) -> Value:
        """The text that a regular expression matches as a whole, as its groups spell it."""

    def replaced(self, text: Value, old: str, new: str) -> Value:
        """The text with other text in place of all that is equal to `old`."""

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
