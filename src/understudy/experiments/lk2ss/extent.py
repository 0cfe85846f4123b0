"""How much is run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Extent:
    """How many repetitions."""

    simulation: int
    prices: int
    real: int


WHOLE = Extent(20, 10, 20)
QUICK = Extent(2, 2, 1)
EPSILONS = (1.0, 4.0)
