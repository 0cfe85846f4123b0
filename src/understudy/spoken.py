"""Sentences on a console: wrapped, indented, perhaps with a mark in front."""

import re
import textwrap
from typing import Any

from rich.console import Console
from rich.text import Text

# Controls, and marks that turn the order of letters or end a line.
_MOVING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


class _PlainConsole(Console):
    """A console that obeys no text: the name of a column may hold orders to a terminal."""

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401 - as rich has them
        """Text as it is shown; every line and every cell of a table passes here."""
        return super().render_str(still(text), **options)


def plain_console(*, stderr: bool = False) -> Console:
    """A console without markup, colours of numbers and pictures."""
    return _PlainConsole(stderr=stderr, markup=False, highlight=False, emoji=False)


def still(text: str) -> str:
    r"""Return text in which controls are spelled out, so that a terminal does not obey them.

    >>> print(still("age\x1b[2J"))
    age\x1b[2J
    """
    return _MOVING.sub(lambda found: ascii(found[0])[1:-1], text)


def still_text(text: str) -> str:
    r"""Return JSON or TOML in which controls are spelled out, as both can spell them.

    >>> print(still_text('{"age\x9b2J": 1}'))
    {"age\u009b2J": 1}
    """
    return _MOVING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def say(console: Console, text: str, mark: str = "") -> None:
    """Print a sentence, as wide as the console; lines below the first stand under its text."""
    lines = textwrap.wrap(text, console.width - 4, break_long_words=False)
    for place, line in enumerate(lines):
        lead = mark if place == 0 else " " * len(mark)
        console.print(f"  {lead}{line}", soft_wrap=True)
