"""compare(): run every cell that is not done yet, several at a time, and add them up."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from understudy.errors import BadInput
from understudy.experiments.compare.cell import run_cell
from understudy.experiments.compare.ground import ground_of
from understudy.experiments.compare.page import comparison_page
from understudy.experiments.compare.plan import Plan
from understudy.experiments.compare.store import Store
from understudy.experiments.compare.summary import Comparison, summed_up
from understudy.experiments.pool import done_by_several

Tell = Callable[[str], None]


def compare(plan: Plan, folder: Path, *, jobs: int = 1, tell: Tell = lambda _: None) -> Comparison:
    """Compare methods by what models reach that are trained on their releases.

    Each cell is written down as it is done; the same call goes on where an earlier one stopped.
    """
    if jobs < 1:
        msg = f"{jobs} processes; take at least one."
        raise BadInput(msg)
    tell("Reading the table")
    ground_of(plan)
    with Store(folder, plan) as store:
        plan = store.plan
        done = store.done()
        todo = [cell for cell in plan.cells if cell not in done]
        if done:
            tell(f"{len(plan.cells) - len(todo)} of {len(plan.cells)} cells are done already")
        outcomes = list(done.values())
        start = time.monotonic()
        for outcome in done_by_several(partial(run_cell, plan), todo, jobs):
            store.keep(outcome)
            outcomes.append(outcome)
            ran = len(outcomes) - len(done)
            left = (time.monotonic() - start) / ran * (len(todo) - ran)
            came = "failed" if outcome.failed is not None else "done"
            counted = f"{len(outcomes)} of {len(plan.cells)} cells"
            tell(f"{outcome.cell.name} {came}: {counted}{_in_words(left)}")
        comparison = summed_up(plan, outcomes)
        store.finish(comparison.to_json(), comparison_page(comparison))
    return comparison


def _in_words(seconds: float) -> str:
    if seconds <= 0:
        return ""
    if seconds < 90:  # noqa: PLR2004 - a minute and a half
        return f", about {seconds:.0f} s left"
    return f", about {seconds / 60:.0f} min left"
