"""MWEM, after Hardt, Ligett and McSherry (2012), on a graphical model.

The number of rows is bought, where the published method takes it for known; and a pair must be
wrong by more than the noise it would carry, as in AIM.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

from understudy.domain import Clique
from understudy.knowledge import Allowed, anything
from understudy.mechanisms.parameters import check_whole
from understudy.model.estimate import MODEL_BYTES, Stopping, check_bytes, estimate
from understudy.model.graphical import GraphicalModel
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.select.adaptive import with_room, worst

_TOTAL = Fraction(1, 100)
"""Of the budget, for the number of rows, which the published method takes for known."""
_SELECTING = Fraction(1, 10)
"""Of each round's budget."""
_BETWEEN = Stopping(relative=5e-3, iterations=60)
_LAST = Stopping(relative=1e-3, iterations=500)


@dataclass(frozen=True)
class Mwem:
    """A fixed number of rounds, each for the pair of columns that the model gets most wrong."""

    rounds: int = 0
    """How many pairs to measure; 0 means as many as there are columns."""
    model_bytes: int = MODEL_BYTES
    """What the fitted model may hold in memory at its peak."""

    def __post_init__(self) -> None:
        check_whole("rounds", self.rounds, least=0)
        check_whole("model_bytes", self.model_bytes, least=1)

    name: ClassVar[str] = "mwem"
    about: ClassVar[str] = "measures pairs in a fixed number of rounds, the worst one first"
    guarantee: ClassVar[str] = "(ε, δ)-differential privacy"
    needs: ClassVar[str] = "nothing"

    def fit(
        self, ledger: Ledger, known: Sequence[Measurement] = (), allowed: Allowed = anything
    ) -> GraphicalModel:
        """A model of the ledger's table."""
        domain = ledger.domain
        ones = [(name,) for name in domain.names]
        pairs = list(combinations(domain.names, 2))
        check_bytes(domain, ones, self.model_bytes)
        # MEASURE: how many rows there are
        measured = [*known, *ledger.measure([()], rho=ledger.rest() * _TOTAL)]
        model = estimate(domain, measured, most_bytes=self.model_bytes).model
        rounds = self.rounds or len(domain)
        for left in reversed(range(1, rounds + 1)):
            each = ledger.rest() / left
            paid = each * (1 - _SELECTING)
            # SELECT: the pair that the model gets most wrong
            before = {one.clique for one in measured}
            fitting = with_room(
                ledger,
                [*pairs, *_alone(domain.names, before, allowed)],
                before,
                model_bytes=self.model_bytes,
                allowed=allowed,
            )
            clique = worst(
                ledger,
                model,
                dict.fromkeys(fitting or ones, 1.0),
                rho=each - paid,
                scale=ledger.measure_event(ones[:1], rho=paid).scale,
            )
            # MEASURE it
            measured += ledger.measure([clique], rho=paid)
            # FIT
            model = estimate(
                domain,
                measured,
                start=model,
                stop=_BETWEEN if left > 1 else _LAST,
                most_bytes=self.model_bytes,
            ).model
        return model


def _alone(names: Sequence[str], measured: Collection[Clique], allowed: Allowed) -> list[Clique]:
    """Columns that no pair tells about, and none may: only by themselves can they be counted."""
    told = {name for clique in measured for name in clique}
    return [
        (name,)
        for name in names
        if name not in told
        and not any(allowed([*measured, (name, other)]) for other in names if other != name)
    ]
