"""Sentences on a console: wrapped, indented, perhaps with a mark in front."""

import textwrap

from rich.console import Console


def plain_console() -> Console:
    """A console that takes text as it is: no markup, no colours of numbers, no pictures."""
    return Console(markup=False, highlight=False, emoji=False)


def say(console: Console, text: str, mark: str = "") -> None:
    """Print a sentence, as wide as the console; lines below the first stand under its text."""
    lines = textwrap.wrap(text, console.width - 4, break_long_words=False)
    for place, line in enumerate(lines):
        lead = mark if place == 0 else " " * len(mark)
        console.print(f"  {lead}{line}", soft_wrap=True)
