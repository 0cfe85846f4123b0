"""Adaptive and iterative: AIM, after McKenna, Mullins, Sheldon and Miklau (2022).

As published, for the workload of all marginals of one degree; the limit on the model is in bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations
from math import comb
from typing import ClassVar

import numpy as np

from understudy.errors import BadInput
from understudy.knowledge import Allowed, anything
from understudy.mechanisms.parameters import check_whole
from understudy.model.estimate import MODEL_BYTES, Stopping, check_bytes, estimate
from understudy.model.graphical import GraphicalModel
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.select.adaptive import MEAN_NOISE, with_room, worst

_ROUNDS_PER_COLUMN = 16
_MOST_CANDIDATES = 200_000
_SELECTING = Fraction(1, 10)
"""Of each round's budget."""
_BETWEEN = Stopping(relative=5e-3, iterations=60)
"""A model that is only asked what it gets wrong need not be the best one."""
_LAST = Stopping(relative=1e-3, iterations=500)


@dataclass(frozen=True)
class Aim:
    """Round by round, the marginal that the model gets most wrong for what its noise costs.

    Rounds begin cheap. When one teaches no more than its noise, the next ones are paid four times
    as much, until the budget is spent.
    """

    degree: int = 2
    """Marginals of up to so many columns matter, and may be measured."""
    model_bytes: int = MODEL_BYTES
    """What the fitted model may hold in memory at its peak."""

    def __post_init__(self) -> None:
        check_whole("degree", self.degree, least=1)
        check_whole("model_bytes", self.model_bytes, least=1)

    name: ClassVar[str] = "aim"
    about: ClassVar[str] = "measures, round by round, what its model still gets most wrong"
    guarantee: ClassVar[str] = "(ε, δ)-differential privacy"
    needs: ClassVar[str] = "nothing; seconds to minutes"

    def fit(
        self, ledger: Ledger, known: Sequence[Measurement] = (), allowed: Allowed = anything
    ) -> GraphicalModel:
        """A model of the ledger's table."""
        domain, budget = ledger.domain, ledger.rest()
        ones = [(name,) for name in domain.names]
        number = sum(comb(len(domain), size) for size in range(1, self.degree + 1))
        if number > _MOST_CANDIDATES:
            msg = (
                f"Of {len(domain)} columns there are {number:,} marginals of up to {self.degree}; "
                f"at most {_MOST_CANDIDATES:,} can be weighed. Choose a smaller degree."
            )
            raise BadInput(msg)
        cliques = list(
            chain.from_iterable(
                combinations(domain.names, size) for size in range(1, self.degree + 1)
            )
        )
        check_bytes(domain, ones, self.model_bytes)
        each = budget / (_ROUNDS_PER_COLUMN * len(domain))
        # MEASURE: single columns
        measured = [
            *known,
            *ledger.measure(ones, rho=each * (1 - _SELECTING) * len(ones)),
        ]
        model = estimate(domain, measured, most_bytes=self.model_bytes).model
        last = False
        while not last:
            last = ledger.rest() < 2 * each
            each = ledger.rest() if last else each
            paid = each * (1 - _SELECTING)
            scale = ledger.measure_event(ones[:1], rho=paid).scale
            # SELECT: what the model gets most wrong, as far as it has room for it by now
            fitting = with_room(
                ledger,
                cliques,
                {one.clique for one in measured},
                model_bytes=self.model_bytes,
                share=1.0 if last else float(1 - (ledger.rest() - each) / budget),
                allowed=allowed,
            )
            clique = worst(
                ledger,
                model,
                {clique: len(clique) for clique in fitting or ones},
                rho=each - paid,
                scale=scale,
            )
            # MEASURE it
            measured += ledger.measure([clique], rho=ledger.rest() if last else paid)
            # FIT
            before = model.marginal(clique)
            model = estimate(
                domain,
                measured,
                start=model,
                stop=_LAST if last else _BETWEEN,
                most_bytes=self.model_bytes,
            ).model
            learned = float(np.abs(model.marginal(clique) - before).sum())
            if learned <= MEAN_NOISE * scale * domain.size(clique):
                each *= 4
        return model
