"""An evaluation for the eye: tables of numbers, each with its interval and direction."""

import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from rich.table import Table

from understudy.curator.cell_text import Cell, as_text, reasons
from understudy.curator.evaluation import Evaluation
from understudy.curator.told import tell_evaluation
from understudy.spoken import plain_console

_Of = TypeVar("_Of")


class _Printed:
    """Prints headings, tables and sentences; pictures are for pages."""

    def __init__(self) -> None:
        self.console = plain_console()

    def head(self, text: str) -> None:
        self.console.print(f"\n{text}", style="bold", soft_wrap=True)

    def say(self, text: str) -> None:
        for line in textwrap.wrap(text, self.console.width - 2, break_long_words=False):
            self.console.print(f"  {line}", soft_wrap=True)

    def warn(self, text: str) -> None:
        self.console.print(text, style="bold", soft_wrap=True)

    def table(
        self, columns: Sequence[str], rows: Iterable[Sequence[Cell]], decimals: int = 3
    ) -> None:
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        for column in columns:
            table.add_column(column, overflow="fold")
        every = [tuple(row) for row in rows]
        for row in every:
            table.add_row(*(as_text(cell, decimals) for cell in row))
        self.console.print(table)
        for reason in reasons(every):
            self.say(reason)

    def picture(self, draw: Callable[[_Of], object], of: _Of, caption: str) -> None:
        """Nothing: pictures are for pages."""


def show(evaluation: Evaluation) -> None:
    """Print an evaluation."""
    page = _Printed()
    page.console.print("Evaluation: INTERNAL, it compares with real rows", style="bold")
    tell_evaluation(evaluation, page)
