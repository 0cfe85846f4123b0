"""Numbers written with a currency, a unit, marks between thousands or a decimal comma.

One rewriting turns such text into the plain grammar of `ops.NUMBER`, so that every engine reads
both alike.
"""

import string
from dataclasses import dataclass

from understudy.column import WHITESPACE, Column, Kind
from understudy.encode.ops import Ops, Storage, Value

_NARROW = "\u00a0\u202f"
"""Blanks that do not break, which many programs write between groups of digits."""
_SPACE, _BLANKS = f"[{WHITESPACE}]*", f"[{WHITESPACE}{_NARROW}]*"
_ALIKE = {" ": f" {_NARROW}", "'": "'\N{RIGHT SINGLE QUOTATION MARK}"}
"""By mark between thousands, all marks that are read as this one."""

_MEANT = string.punctuation.replace("_", "")
"""Characters that may mean something in a regular expression; all engines take them escaped."""


@dataclass(frozen=True)
class NumberPattern:
    """How a column writes numbers as text: what to look for, and the plain number in it."""

    regex: str
    decimal: str
    """The decimal mark."""
    thousands: str
    """All marks that may stand between groups of three digits."""

    @property
    def plain(self) -> str:
        """The groups that make the number: both signs, one of them empty, digits, exponent."""
        return rf"\1\2{self.decimal}\3\4"

    @classmethod
    def of(cls, column: Column) -> "NumberPattern | None":
        """Return the pattern of a column; None where plain numbers are all that it writes."""
        if not writes_marks(column):
            return None
        decimal = column.decimal or "."
        thousands = _ALIKE.get(column.thousands or "", column.thousands or "")
        digits = "[0-9]+"
        if thousands:
            digits = f"(?:[0-9]{{1,3}}(?:[{thousands}][0-9]{{3}})+|[0-9]+)"
        # What is no number, such as a point alone, is refused by the plain grammar afterwards.
        number = f"([+-]?{digits}|[+-]?)(?:[{decimal}]([0-9]*))?([eE][+-]?[0-9]{{1,3}})?"
        before = f"(?:([+-]?){_BLANKS}{_affix(column.prefix)}{_BLANKS})?" if column.prefix else "()"
        after = f"(?:{_BLANKS}{_affix(column.suffix)})" if column.suffix else ""
        if column.suffix and "%" not in column.suffix:
            after += "?"  # but 0.5 beside 50 % is not 0.5 %
        return cls(f"^{_SPACE}{before}{number}{after}{_SPACE}$", decimal, thousands)


def writes_marks(column: Column) -> bool:
    """Whether a column writes numbers otherwise than as digits and a point."""
    affixed = column.prefix is not None or column.suffix is not None
    comma = column.decimal not in {None, "."}
    written = affixed or comma or column.thousands is not None
    return column.kind in {Kind.INTEGER, Kind.REAL} and written


def plain_number(text: Value, pattern: NumberPattern, ops: Ops) -> Value:
    """Return the number in a text as a plain one; unknown where there is none."""
    plain = ops.rewritten(ops.matching(text, pattern.regex), pattern.regex, pattern.plain)
    for mark in pattern.thousands:
        plain = ops.replaced(plain, mark, "")
    return plain if pattern.decimal == "." else ops.replaced(plain, pattern.decimal, ".")


def read_number(value: Value, storage: Storage, column: Column, ops: Ops) -> Value:
    """Return a finite double, read as the column writes numbers."""
    pattern = NumberPattern.of(column) if storage is Storage.TEXT else None
    return ops.number(value if pattern is None else plain_number(value, pattern, ops), storage)


def _affix(text: str) -> str:
    """The affix as a regular expression; blanks around it are optional."""
    letters = text.strip(WHITESPACE + _NARROW)
    return "".join(f"\\{mark}" if mark in _MEANT else mark for mark in letters)
