"""compare(): run every cell that is not done yet, several at a time, and add them up."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path

from understudy.errors import BadInput
from understudy.experiments.compare.cell import Outcome, be_one_of_several, check_target, run_cell
from understudy.experiments.compare.page import comparison_page
from understudy.experiments.compare.plan import Cell, Plan
from understudy.experiments.compare.store import Store
from understudy.experiments.compare.summary import Comparison, summed_up

Tell = Callable[[str], None]


def compare(plan: Plan, folder: Path, *, jobs: int = 1, tell: Tell = lambda _: None) -> Comparison:
    """Compare methods by what models reach that are trained on their releases.

    Each cell is written down as it is done; the same call goes on where an earlier one stopped.
    """
    if jobs < 1:
        msg = f"{jobs} processes; take at least one."
        raise BadInput(msg)
    check_target(plan)
    store = Store(folder, plan)
    done = store.done()
    todo = [cell for cell in plan.cells if cell not in done]
    if done:
        tell(f"{len(plan.cells) - len(todo)} of {len(plan.cells)} cells are done already")
    outcomes = list(done.values())
    start = time.monotonic()
    for outcome in _run(plan, todo, jobs):
        store.keep(outcome)
        outcomes.append(outcome)
        ran = len(outcomes) - len(done)
        left = (time.monotonic() - start) / ran * (len(todo) - ran)
        tell(f"{outcome.cell.name}: {len(outcomes)} of {len(plan.cells)} cells{_in_words(left)}")
    comparison = summed_up(plan, outcomes)
    content = json.dumps(comparison.to_json(), indent=2, ensure_ascii=False) + "\n"
    store.finish(content, comparison_page(comparison))
    return comparison


def _run(plan: Plan, cells: Sequence[Cell], jobs: int) -> Iterator[Outcome]:
    if jobs == 1:
        yield from (run_cell(plan, cell) for cell in cells)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), be_one_of_several) as pool:
        running: set[Future[Outcome]] = set()
        waiting = iter(cells)
        try:
            while True:
                # Only as many as there are processes: who stops waits for these alone.
                for cell in waiting:
                    running.add(pool.submit(run_cell, plan, cell))
                    if len(running) == jobs:
                        break
                if not running:
                    return
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (one.result() for one in ended)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _in_words(seconds: float) -> str:
    if seconds <= 0:
        return ""
    if seconds < 90:  # noqa: PLR2004 - a minute and a half
        return f", about {seconds:.0f} s left"
    return f", about {seconds / 60:.0f} min left"
