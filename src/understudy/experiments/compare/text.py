"""A comparison for the eye."""

from pathlib import Path

from rich.table import Table

from understudy.experiments.compare.page import cost, heads, notes, reading, rows
from understudy.experiments.compare.store import PAGE
from understudy.experiments.compare.summary import Comparison
from understudy.spoken import plain_console


def show(comparison: Comparison, folder: Path) -> None:
    """Print the table, and where the page is."""
    console = plain_console()
    if comparison.plan.warning:
        console.print(comparison.plan.warning, style="bold", soft_wrap=True)
    console.print("Comparison: INTERNAL, it was tested on real rows\n", style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for place, head in enumerate(heads(comparison)):
        table.add_column(head, justify="right" if place else "left", overflow="fold")
    for row in rows(comparison):
        table.add_row(*row)
    console.print(table)
    said = [reading(comparison), *notes(comparison), cost(comparison)]
    console.print()
    for sentence in filter(None, said):
        console.print(sentence, soft_wrap=True)
    console.print(f"Page: {folder / PAGE}", soft_wrap=True)
