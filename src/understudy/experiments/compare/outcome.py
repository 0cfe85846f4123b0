"""What came of a cell."""

from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from understudy.experiments.compare.plan import Cell
from understudy.privacy.accountant import total_cost
from understudy.privacy.certificate import Certificate
from understudy.privacy.events import Exponential, Gaussian, Threshold

FORMAT = "understudy comparison cell 1"


@dataclass(frozen=True)
class Outcome:
    """Scores; or why there are none."""

    method: str
    epsilon: float | None
    seed: int
    scores: dict[str, dict[str, float | None]] = field(default_factory=dict)
    """By model and score."""
    lacking: dict[str, str] = field(default_factory=dict)
    """By model, why it has no score to go by."""
    notes: tuple[str, ...] = ()
    """What a person should know about the rows."""
    seconds: float = 0.0
    """For the release alone; for real rows 0."""
    rho: str | None = "0"
    """The most that publishing the release would cost, exactly; None where that is not known."""
    delta: str = "0"
    """The most that it would cost in δ by itself."""
    failed: str | None = None
    """Why there are no scores."""
    for_privacy: bool = False
    """Whether it failed because a promise would not hold."""

    @property
    def cell(self) -> Cell:
        """Which cell it is."""
        return Cell(self.method, self.epsilon, self.seed)

    def to_json(self, plan: str) -> dict[str, Any]:
        """The outcome as plain data, with the digest of the plan that it belongs to."""
        return {**asdict(self), "format": FORMAT, "plan": plan, "internal": True}

    @classmethod
    def from_json(cls, content: dict[str, Any], plan: str) -> "Outcome":
        """The outcome that `to_json` wrote; that of another plan is a ValueError."""
        aside = {"format": FORMAT, "plan": plan, "internal": True}
        if any(content[key] != value for key, value in aside.items()):
            msg = "A cell of another plan."
            raise ValueError(msg)
        facts = {key: value for key, value in content.items() if key not in aside}
        return cls(**{**facts, "notes": tuple(facts["notes"])})


def most_spent(certificate: Certificate) -> tuple[Fraction | None, Fraction]:
    """The most that a release may have cost, in ρ and in δ, whatever its answers were.

    What was spent follows from answers; what could be at most is known before. Only of noise whose
    ρ holds at every order can costs at several orders be added.
    """
    events = [*(entry.event for entry in certificate.entries), *(certificate.planned or ())]
    delta = Fraction(certificate.budget.thresholds)
    additive = all(isinstance(event, Gaussian | Exponential | Threshold) for event in events)
    if certificate.not_private or not additive:
        return None, delta
    rho = Fraction(certificate.budget.rho)
    if certificate.planned is not None:
        # Of a plan the exact ε is kept, which may allow for more ρ than the budget's own.
        rho = max(rho, Fraction(total_cost(certificate.planned, certificate.budget.order)))
    return rho, delta
