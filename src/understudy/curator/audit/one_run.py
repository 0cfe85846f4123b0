"""An audit by one run: many canaries at once, each there by the toss of a coin.

It takes no longer than the method itself, and sees gross mistakes alone.
"""

import numpy as np
import pyarrow as pa

from understudy.column import Column, Kind
from understudy.curator.audit.audited import CONFIDENCE, RISK, Audited
from understudy.curator.audit.bounds import one_run_epsilon_low
from understudy.curator.audit.overheard import Overheard, Run
from understudy.mechanisms.api import Mechanism
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.schema import Schema

_COLUMN = "a"
_GUESSED = 0.1
"""Of the canaries: those whose counts lie farthest up, half of them, and down."""
_COMMON_ROWS = 1000


def one_run(
    mechanism: Mechanism, budget: Budget, canaries: int, rng: np.random.Generator | None = None
) -> Audited:
    """Each canary alone in a cell of one column, there or not; guess by the noisy counts."""
    there = (rng or np.random.default_rng()).random(canaries) < 0.5  # noqa: PLR2004 - a fair coin
    labels = [f"canary {place}" for place in range(canaries)]
    values = ["common"] * _COMMON_ROWS + [
        label for label, is_in in zip(labels, there, strict=True) if is_in
    ]
    column = Column(name=_COLUMN, kind=Kind.CATEGORICAL, categories=("common", *labels), null=False)
    run = Run()
    with Ledger.open(pa.table({_COLUMN: values}), Schema((column,)), budget) as ledger:
        mechanism.fit(Overheard(ledger, run))  # type: ignore[arg-type]
    evidence = np.zeros(canaries + 1)
    for answer, groups, _ in run.measurements:
        if answer.clique == (_COLUMN,) and not groups:
            evidence += (answer.values - 0.5) / np.square(answer.scale)
    order = np.argsort(evidence[1:])
    each = max(1, int(canaries * _GUESSED / 2))
    right = int(there[order[-each:]].sum() + (~there[order[:each]]).sum())
    low, surely = (
        one_run_epsilon_low(2 * each, right, canaries, budget.delta, risk)
        for risk in (1 - CONFIDENCE, RISK)
    )
    return Audited(
        mechanism.name,
        f"1: {right} of {2 * each} guesses",
        budget.epsilon,
        budget.delta,
        low,
        broken=surely > budget.epsilon,
    )
