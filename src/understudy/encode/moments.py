"""Dates and times written as text: patterns, the calendar, and the way back to text.

Written in integer arithmetic rather than with the engines' date functions, which disagree on text
and raise on the 30th of February.
"""

import datetime as dt
from collections.abc import Callable
from typing import TYPE_CHECKING

from understudy.column import WHITESPACE

if TYPE_CHECKING:
    from understudy.encode.ops import Ops, Value

MOMENT_PARTS = "YmdHMS"
"""The parts of a date and time, named as in its format."""
ZONE = "z"
"""One part more where the text names a zone: seconds ahead of UTC."""
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_SHORT_MONTHS = tuple(name[:3] for name in MONTHS)
_SPACE = f"[{WHITESPACE}]*"
_DAY = 86400
_DIRECTIVES = {
    "Y": "([0-9]{4})",
    "b": "([A-Za-z]{3})",
    "B": "([A-Za-z]{3,9})",
    "p": "([AaPp])[Mm]",
    "z": "(?:[Zz]|([+-])([0-9]{2}):?([0-9]{2}))",
    "S": "([0-9]{1,2})(?:[.][0-9]*)?",
}
"""By directive, its regular expression; of numbers, all others have one or two digits."""
_DIGITS = "([0-9]{1,2})"
_ZONE_GROUPS = ("z sign", "z hours", "z minutes")


class MomentPattern:
    """How a text column writes dates: a regular expression, and which group holds what."""

    def __init__(self, template: str | None = None) -> None:
        if template is None:
            date = "([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
            # No capturing group inside another: one engine then loses the inner ones.
            clock = r"(?:[T ]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]*)?)?Z?)?"
            self.regex = f"^{_SPACE}{date}{clock}{_SPACE}$"
            self.groups = {name: place for place, name in enumerate(MOMENT_PARTS, start=1)}
            return
        first, *pieces = template.split("%")
        body, names = _escaped(first), list[str]()
        for piece in pieces:
            names += _ZONE_GROUPS if piece[0] == ZONE else piece[0]
            ends_in_point = piece[0] == "S" and piece[1:2] == "."
            directive = _DIGITS if ends_in_point else _DIRECTIVES.get(piece[0], _DIGITS)
            body += directive + _escaped(piece[1:])
        self.regex = f"^{_SPACE}{body}{_SPACE}$"
        self.groups = {name: place for place, name in enumerate(names, start=1)}

    def parts(
        self,
        piece: Callable[[int], "Value"],
        digits: Callable[["Value"], "Value"],
        zero: "Value",
        ops: "Ops",
    ) -> "dict[str, Value]":
        """Return year … second, and the zone where the pattern has one.

        Args:
            piece: Returns what a group of the regular expression holds; empty if nothing.
            digits: Turns the digits of a group into a number; nothing counts as 0.
            zero: The number of a part that the pattern lacks.
            ops: The operations on values.
        """

        def number(name: str) -> "Value":
            return digits(piece(self.groups[name])) if name in self.groups else zero

        parts = {name: number(name) for name in MOMENT_PARTS}
        for directive, names in (("b", _SHORT_MONTHS), ("B", MONTHS)):
            if directive in self.groups:
                word = ops.lower(piece(self.groups[directive]))
                parts["m"] = ops.position(word, names, -1) + 1
        if "I" in self.groups:
            hour, letter = number("I"), ops.lower(piece(self.groups["p"]))
            afternoon = ops.position(letter, ("a", "p"), 0)
            exists = (hour >= 1) & (hour <= 12)  # noqa: PLR2004 - a clock of twelve hours
            parts["H"] = ops.where(exists, hour % 12 + 12 * afternoon, 24)
        if _ZONE_GROUPS[0] in self.groups:
            sign, hours, minutes = _ZONE_GROUPS
            behind = ops.position(piece(self.groups[sign]), ("+", "-"), 0)
            exists = (number(hours) < 24) & (number(minutes) < 60)  # noqa: PLR2004 - a clock
            ahead = ops.where(exists, number(hours) * 3600 + number(minutes) * 60, _DAY)
            parts[ZONE] = ahead * (1 - 2 * behind)
        return parts


def _escaped(literal: str) -> str:
    """The literal as a regular expression; of its marks only the point means more than itself."""
    return literal.replace(".", "[.]")


def is_moment(parts: "dict[str, Value]", ops: "Ops") -> "Value":
    """Whether year … second name a moment that exists."""
    year, month, day = parts["Y"], parts["m"], parts["d"]
    leap = ((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0)
    short = (month == 4) | (month == 6) | (month == 9) | (month == 11)  # noqa: PLR2004 - calendar
    last = ops.where(month == 2, ops.where(leap, 29, 28), ops.where(short, 30, 31))  # noqa: PLR2004
    exists = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= last)  # noqa: PLR2004
    for name, limit in (("H", 24), ("M", 60), ("S", 60)):
        exists = exists & (parts[name] < limit)
    if ZONE in parts:
        exists = exists & (parts[ZONE] < _DAY) & (parts[ZONE] > -_DAY)
    return exists


def seconds_since_1970(parts: "dict[str, Value]", ops: "Ops") -> "Value":
    """The seconds from 1970-01-01 to a moment, in UTC where its zone is known."""
    year, month, day = parts["Y"], parts["m"], parts["d"]
    # Years begin in March here, so that the leap day comes last and needs no case of its own.
    early = ops.where(month <= 2, 1, 0)  # noqa: PLR2004
    years = year - early
    months = month + 12 * early - 3
    days = 365 * years + years // 4 - years // 100 + years // 400
    days = days + (153 * months + 2) // 5 + day - 1 - 719468
    seconds = days * _DAY + parts["H"] * 3600 + parts["M"] * 60 + parts["S"]
    return seconds - parts[ZONE] if ZONE in parts else seconds


def resolution(template: str | None) -> int:
    """Return the seconds of the shortest part that a format writes.

    >>> resolution("%d.%m.%Y %H:%M"), resolution("%d.%m.%Y"), resolution(None)
    (60, 86400, 1)
    """
    if template is None:
        return 1
    steps = (("%S", 1), ("%M", 60), ("%H", 3600), ("%I", 3600))
    return next((seconds for directive, seconds in steps if directive in template), _DAY)


def utc_offset(template: str) -> str:
    """Return how a format writes the zone: moments with a zone are held and written in UTC.

    >>> utc_offset("%Y-%m-%dT%H:%M:%S%z"), utc_offset("%Y%m%dT%H%M%S%z")
    ('+00:00', '+0000')
    """
    extended = "%H:" in template or "%I:" in template
    return "+00:00" if extended else "+0000"


def written_moment(moment: dt.date, template: str) -> str:
    """Return a date, or a date and time in UTC, in a declared format.

    >>> written_moment(dt.datetime(2024, 3, 5, 14, 30), "%d %b %Y %I:%M %p")
    '05 Mar 2024 02:30 PM'
    """
    clock = moment if isinstance(moment, dt.datetime) else dt.datetime.min  # noqa: DTZ901 - midnight
    month = MONTHS[moment.month - 1].capitalize()
    parts = {
        "%Y": f"{moment.year:04d}",
        "%m": f"{moment.month:02d}",
        "%b": month[:3],
        "%B": month,
        "%d": f"{moment.day:02d}",
        "%H": f"{clock.hour:02d}",
        "%I": f"{(clock.hour - 1) % 12 + 1:02d}",
        "%p": "AM" if clock.hour < 12 else "PM",  # noqa: PLR2004 - a clock of twelve hours
        "%M": f"{clock.minute:02d}",
        "%S": f"{clock.second:02d}",
        "%z": utc_offset(template),
    }
    for directive, text in parts.items():
        template = template.replace(directive, text)
    return template
