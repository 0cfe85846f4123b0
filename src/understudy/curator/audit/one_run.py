"""An audit by one run: many canaries at once, each there by the toss of a coin.

It takes no longer than the method itself, and sees gross mistakes alone.
"""

import numpy as np
import pyarrow as pa

from understudy.column import Column, Kind, Role
from understudy.curator.audit.audited import CONFIDENCE, RISK, Audited
from understudy.curator.audit.bounds import one_run_epsilon_low
from understudy.curator.audit.overheard import Overheard, Run
from understudy.errors import BadInput
from understudy.mechanisms.api import Mechanism
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.schema import Schema

_COLUMN = "a"
_SURE = 0.1
"""Of the canaries: those whose counts lie farthest up, half of them, and down. They show most of a
working method; whether there is any noise at all shows in guesses about all."""
_COMMON_ROWS = 1000


def one_run(
    mechanism: Mechanism, budget: Budget, canaries: int, rng: np.random.Generator | None = None
) -> Audited:
    """Each canary alone in a cell of one column, there or not; guess by the noisy counts."""
    most = one_run_epsilon_low(canaries, canaries, canaries, budget.delta, RISK)
    if most <= budget.epsilon:
        msg = (
            f"{canaries:,} canaries in one run show {most:.2g} at most, and could not contradict "
            f"epsilon = {budget.epsilon:g}. Take a smaller one, or leave out --one-run."
        )
        raise BadInput(msg)
    there = (rng or np.random.default_rng()).random(canaries) < 0.5  # noqa: PLR2004 - a fair coin
    labels = [f"canary {place}" for place in range(canaries)]
    values = ["common"] * _COMMON_ROWS + [
        label for label, is_in in zip(labels, there, strict=True) if is_in
    ]
    column = Column(
        name=_COLUMN,
        kind=Kind.CATEGORICAL,
        categories=("common", *labels),
        null=False,
        role=Role.TARGET,
    )
    run = Run()
    with Ledger.open(pa.table({_COLUMN: values}), Schema((column,)), budget) as ledger:
        mechanism.fit(Overheard(ledger, run))  # type: ignore[arg-type]
    evidence = np.zeros(canaries + 2)  # the last code is of values that have no other
    for answer, groups, _ in run.measurements:
        if answer.clique == (_COLUMN,) and not groups:
            evidence += (answer.values - 0.5) / np.square(answer.scale)
    evidence = evidence[1:-1]
    order = np.argsort(evidence)
    each = max(1, int(canaries * _SURE / 2))
    sure = int(there[order[-each:]].sum() + (~there[order[:each]]).sum())
    right = int(((evidence > 0) == there).sum())
    low = one_run_epsilon_low(2 * each, sure, canaries, budget.delta, 1 - CONFIDENCE)
    surely = one_run_epsilon_low(canaries, right, canaries, budget.delta, RISK)
    return Audited(
        mechanism.name,
        f"1: {sure} of {2 * each} and {right} of {canaries} guesses right",
        budget.epsilon,
        budget.delta,
        low,
        ("too many guesses are right",) if surely > budget.epsilon else (),
    )
