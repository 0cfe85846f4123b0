"""The six figures of the paper, in its order."""

from collections.abc import Callable
from dataclasses import dataclass

from understudy.experiments.privci.trial import Outcome


@dataclass(frozen=True)
class Metric:
    """A figure of an outcome."""

    name: str
    of: Callable[[Outcome], float | None]
    up: bool = False
    """Whether larger is better."""
    places: int = 3
    """Digits after the point."""

    @property
    def head(self) -> str:
        """Its name above a column."""
        return f"{self.name} {'↑' if self.up else '↓'}"


Q = Metric("q", lambda outcome: outcome.q, up=True, places=0)
KL = Metric("KL", lambda outcome: outcome.kl, places=4)
TV = Metric("TV", lambda outcome: outcome.tv, places=4)
AUC = Metric("AUC", lambda outcome: outcome.auc, up=True)
CMI = Metric("CMI", lambda outcome: outcome.cmi, places=4)
EO = Metric("EO", lambda outcome: outcome.odds)
METRICS = (Q, KL, TV, AUC, CMI, EO)
