"""What a promise means for somebody who suspects something: how sure they may become."""

from dataclasses import dataclass
from decimal import Decimal

from understudy.privacy.promise import factor, replaces, surest

_BEFORE = (0.001, 0.01, 0.1, 0.5)


@dataclass(frozen=True)
class Odds:
    """How likely somebody holds it before, and afterwards at most."""

    before: float
    there: float | None
    """That somebody was in the table; None where the number of records is public."""
    holds: float
    """What somebody holds who was in the table."""


def odds(epsilon: float, delta: float, unit: str) -> tuple[Odds, ...]:
    """How sure somebody may become at most.

    Where records come and go, those who differ in what they hold are two steps apart; where the δ
    of two steps reaches 1, nothing bounds that.

    >>> [round(one.there, 3) for one in odds(1.0, 1e-9, "one record, added or removed")]
    [0.003, 0.027, 0.232, 0.731]
    """
    if replaces(unit):
        return tuple(Odds(p, None, surest(p, epsilon)) for p in _BEFORE)
    bounded = Decimal(repr(delta)) * (1 + factor(epsilon)) < 1
    return tuple(
        Odds(p, surest(p, epsilon), surest(p, 2 * epsilon) if bounded else 1.0) for p in _BEFORE
    )
