"""What a request costs, as mathematics: frozen events, each stating its own.

An event knows nothing of tables or questions. It states a mechanism on neighbouring inputs, from
which anyone can compute its Rényi divergence again.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, TypeAlias

from understudy.errors import BadInput
from understudy.privacy.spelling import fraction


@dataclass(frozen=True)
class Gaussian:
    """Whole numbers plus discrete Gaussian noise, `steps` times.

    Neighbouring inputs lie at most √`sensitivity_squared` apart, so each step is ρ-zCDP with
    ρ = sensitivity² / (2 scale²). Where neighbours differ by exactly one in at most `unit_cells`
    cells, the exact privacy loss is known as well.
    """

    scale: float
    sensitivity_squared: Fraction
    steps: int = 1
    unit_cells: int | None = None

    def __post_init__(self) -> None:
        _check_noise(self.scale, self.sensitivity_squared, self.steps)
        cells = self.unit_cells
        if cells is not None and (type(cells) is not int or cells < self.sensitivity_squared):
            msg = "So few cells that differ by one do not add up to the sensitivity."
            raise BadInput(msg)


@dataclass(frozen=True)
class Exponential:
    """One of several candidates, drawn in proportion to exp(ε score / (2 sensitivity)).

    The mechanism is ε-bounded-range, and therefore (ε² / 8)-zCDP.
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf:
            msg = f"A selection with epsilon = {self.epsilon}: it must be a number above 0."
            raise BadInput(msg)


@dataclass(frozen=True)
class SampledGaussian:
    """Each record joins a step with probability `rate`; then as `Gaussian`.

    Stated for one record added or removed, which moves a step's sum by at most
    √`sensitivity_squared`.
    """

    rate: float
    scale: float
    sensitivity_squared: Fraction
    steps: int

    def __post_init__(self) -> None:
        _check_noise(self.scale, self.sensitivity_squared, self.steps)
        if not 0 < self.rate <= 1:
            msg = f"A sampling rate of {self.rate}: it must lie above 0 and be at most 1."
            raise BadInput(msg)


@dataclass(frozen=True)
class Threshold:
    """The values that rows share, counted as in `Gaussian`; rare ones are not told.

    In each of `columns` columns every value that occurs is counted, with discrete Gaussian noise,
    and told if the noisy count reaches the threshold. A neighbour may hold values that the other
    table lacks: at most `arrivals` of them in each column, each in at most `arrivals` records.
    Unless one of those is told, which has the probability `delta`, the two tables answer as
    `Gaussian` does. So it is δ-approximate ρ-zCDP, with the ρ of `Gaussian`.
    """

    scale: float
    threshold: int
    sensitivity_squared: Fraction
    columns: int
    arrivals: int

    def __post_init__(self) -> None:
        _check_noise(self.scale, self.sensitivity_squared, self.columns)
        whole = type(self.threshold) is int and type(self.arrivals) is int
        if not whole or not 1 <= self.arrivals < self.threshold:
            msg = "A threshold must be a whole number above what one person can bring."
            raise BadInput(msg)


@dataclass(frozen=True)
class Reveal:
    """Rows, or a fact read off them, used as they are: no promise is left."""

    reason: str


Event: TypeAlias = Gaussian | Exponential | SampledGaussian | Threshold | Reveal


EVENTS: tuple[type[Event], ...] = (Gaussian, Exponential, SampledGaussian, Threshold, Reveal)


def event_to_json(event: Event) -> dict[str, Any]:
    """The event as plain data, every number exact."""
    facts = {field.name: getattr(event, field.name) for field in fields(event)}
    plain = {name: str(v) if isinstance(v, Fraction) else v for name, v in facts.items()}
    return {"kind": type(event).__name__, **plain}


def event_from_json(content: Mapping[str, Any]) -> Event:
    """The event that `event_to_json` wrote."""
    for kind in EVENTS:
        if kind.__name__ == content.get("kind"):
            facts = {name: value for name, value in content.items() if name != "kind"}
            if "sensitivity_squared" in facts:
                facts["sensitivity_squared"] = fraction(facts["sensitivity_squared"])
            return kind(**facts)
    msg = "An event of an unknown kind."
    raise ValueError(msg)


def _check_noise(scale: float, sensitivity_squared: Fraction, steps: int) -> None:
    if not 0 < scale < math.inf:
        msg = f"A noise scale of {scale}: it must be a number above 0."
        raise BadInput(msg)
    if sensitivity_squared < 0 or type(steps) is not int or steps < 1:
        msg = "A negative sensitivity, or no whole number of steps: no request costs that."
        raise BadInput(msg)
