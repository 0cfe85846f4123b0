"""One cell: split the rows, make a release of some, and try models on the others."""

import time

from understudy.curator.tables import REAL as REAL_ROWS
from understudy.curator.tables import SYNTHETIC, Tables
from understudy.curator.target import Target
from understudy.curator.task import Task, judge
from understudy.curator.trials import run_trials
from understudy.curator.verdict import lacking, main_score
from understudy.errors import PrivacyRefused, UnderstudyError
from understudy.experiments.compare.ground import Ground, ground_of
from understudy.experiments.compare.outcome import Outcome, most_spent
from understudy.experiments.compare.plan import Cell, Plan
from understudy.pipeline import synthesize


def run_cell(plan: Plan, cell: Cell) -> Outcome:
    """Run one cell; what is refused on the way is its outcome."""
    ground = ground_of(plan)
    try:
        return _ran(plan, cell, ground)
    except UnderstudyError as error:
        refused = isinstance(error, PrivacyRefused)
        return Outcome(cell.method, cell.epsilon, cell.seed, failed=str(error), for_privacy=refused)


def _ran(plan: Plan, cell: Cell, ground: Ground) -> Outcome:
    train, test = ground.split(cell.seed)
    if cell.epsilon is None:
        task = _task(plan, ground.judged(train, train, test), REAL_ROWS)
        return Outcome(cell.method, None, cell.seed, *_scores(task), task.notes)
    start = time.perf_counter()
    release = synthesize(
        train,
        epsilon=cell.epsilon,
        delta=plan.delta,
        target=plan.target,
        schema=ground.schema,
        mechanism=cell.method,
        seed=cell.seed,
        accept_weak_guarantee=True,  # `Plan.check_strength` asked before; nothing is published
    )
    rows = release.table
    seconds = time.perf_counter() - start
    rho, delta = most_spent(release.certificate)
    task = _task(plan, ground.judged(train, rows, test), SYNTHETIC)
    return Outcome(
        cell.method,
        cell.epsilon,
        cell.seed,
        *_scores(task),
        seconds=seconds,
        rho=None if rho is None else str(rho),
        delta=str(delta),
    )


def _task(plan: Plan, judged: tuple[Tables, Target], side: str) -> Task:
    tables, aim = judged
    return judge(tables, aim, run_trials(tables, aim, plan.models, seeds=1, sides=(side,)))


def _scores(task: Task) -> tuple[dict[str, dict[str, float | None]], dict[str, str]]:
    """By model its scores, and for models without a score to go by, why."""
    scores: dict[str, dict[str, float | None]] = {}
    unscored = {}
    for one in task.scores:
        if one.model == task.baseline.model:
            continue
        scores[one.model] = {result.name: result.value for result in one.results}
        if main_score(one.results) is None:
            unscored[one.model] = lacking(one.results)
    return scores, unscored
