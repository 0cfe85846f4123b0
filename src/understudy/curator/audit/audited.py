"""What an audit found, beside the claim."""

from dataclasses import asdict, dataclass
from typing import Any

CONFIDENCE = 0.95
"""Of each bound that is shown."""
RISK = 1e-3
"""That an audit of any number of cases alarms although all promises hold."""


@dataclass(frozen=True)
class Audited:
    """One case: what is claimed, and what was seen."""

    name: str
    runs: str
    """How many, on how many tables."""
    epsilon: float
    delta: float
    epsilon_low: float
    """The claim cannot hold below this, with the confidence shown."""
    contradicted_by: tuple[str, ...] = ()
    """What was seen that contradicts the claim, but for a risk that all cases share."""
    mu: float | None = None
    """Claimed for the noise on numbers: how far apart it leaves two tables."""
    mu_seen: float | None = None
    mu_low: float | None = None
    mu_epsilon_low: float | None = None
    """The ε of Gaussian noise with so large a μ."""
    choice_epsilon_low: float | None = None
    """As `epsilon_low`, by which candidates the first selection chose."""
    choice_chance: float | None = None
    """How likely choices are to stray so far from what the claim says, at most."""

    @property
    def broken(self) -> bool:
        """Whether the claim cannot hold."""
        return bool(self.contradicted_by)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "broken": self.broken, "confidence": CONFIDENCE}
