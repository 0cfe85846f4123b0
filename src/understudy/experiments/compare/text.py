"""A comparison for the eye."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from understudy.experiments.compare.page import rows
from understudy.experiments.compare.store import PAGE
from understudy.experiments.compare.summary import Comparison
from understudy.report.pages import plain


def show(comparison: Comparison, folder: Path) -> None:
    """Print the table, and where the page is."""
    console = Console(markup=False, highlight=False, emoji=False)
    console.print("Comparison: INTERNAL, it was tested on real rows\n", style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    scores = [f"{model}, {comparison.main_score(model)} ↑" for model in comparison.models]
    for place, head in enumerate(("method", "ε ↓", *scores, "seconds ↓")):
        table.add_column(head, justify="right" if place else "left", overflow="fold")
    for row in rows(comparison):
        table.add_row(*row)
    console.print(table)
    repeated = comparison.plan.seeds
    console.print(
        f"\nMeans over {repeated} repetitions, in brackets the worst and the best."
        if repeated > 1
        else "\nOne repetition.",
        soft_wrap=True,
    )
    for one in comparison.failed:
        console.print(f"{one.method} at ε = {one.epsilon}: {one.failed}", soft_wrap=True)
    if comparison.epsilon_of_all is not None:
        console.print(
            f"Publishing all {comparison.releases} releases would cost ε = "
            f"{plain(comparison.epsilon_of_all)} together (δ = {plain(comparison.delta_of_all)}).",
            soft_wrap=True,
        )
    console.print(f"Page: {folder / PAGE}", soft_wrap=True)
