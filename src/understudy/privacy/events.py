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
from understudy.privacy.limits import MOST_INTEGER, TooLarge
from understudy.privacy.spelling import fraction

LEAST_GAMMA = Fraction(1, 2**10)
"""With less, there would be hundreds of runs, and drawing how many would take its time."""
_MOST_PARTS = 16
"""Of one of several runs: a training and a score are two."""
_EXACT = {"sensitivity_squared", "gamma"}
"""What is written as a fraction."""


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
class BestOf:
    """The best of K runs by their own noisy scores, where nobody learns K.

    One run is all of `base`, one after the other. Runs are independent of each other, and K of
    everything, with P(K = k) in proportion to (1 - γ)^k / k for k from 1 on. Only the best run is
    told. With the ρ of one run, and for every λ of at least 1, the Rényi divergence at the order α
    is at most α ρ + (λ - 1) ρ + log(1/γ) / λ + log(E[K]) / (α - 1), where
    E[K] = (1/γ - 1) / log(1/γ) (Papernot and Steinke 2022; docs/proofs/selection.md).
    """

    base: tuple[Gaussian, ...]
    gamma: Fraction

    def __post_init__(self) -> None:
        gaussian = type(self.base) is tuple and all(type(one) is Gaussian for one in self.base)
        if not gaussian or not self.base:
            msg = "The best of several runs is accounted for runs of Gaussian noise alone."
            raise BadInput(msg)
        if len(self.base) > _MOST_PARTS:
            msg = f"One of several runs has at most {_MOST_PARTS} parts."
            raise BadInput(msg)
        if type(self.gamma) is not Fraction or not LEAST_GAMMA <= self.gamma < 1:
            msg = "gamma must be a fraction below 1, and not so small that runs would never end."
            raise BadInput(msg)


@dataclass(frozen=True)
class Reveal:
    """Rows, or a fact read off them, used as they are: no promise is left."""

    reason: str


Event: TypeAlias = Gaussian | Exponential | SampledGaussian | Threshold | BestOf | Reveal


EVENTS: tuple[type[Event], ...] = (
    Gaussian,
    Exponential,
    SampledGaussian,
    Threshold,
    BestOf,
    Reveal,
)


def event_to_json(event: Event) -> dict[str, Any]:
    """The event as plain data, every number exact."""
    facts = {field.name: getattr(event, field.name) for field in fields(event)}
    plain = {name: str(v) if isinstance(v, Fraction) else v for name, v in facts.items()}
    if isinstance(event, BestOf):
        plain["base"] = [event_to_json(one) for one in event.base]
    return {"kind": type(event).__name__, **plain}


def event_from_json(content: Mapping[str, Any]) -> Event:
    """The event that `event_to_json` wrote."""
    for kind in EVENTS:
        if kind.__name__ == content.get("kind"):
            facts = {name: value for name, value in content.items() if name != "kind"}
            _check_plain(facts)
            for name in _EXACT & facts.keys():
                facts[name] = fraction(facts[name])
            if kind is BestOf:
                facts["base"] = tuple(map(event_from_json, facts["base"]))
            if kind is Reveal and not isinstance(facts.get("reason"), str):
                break
            return kind(**facts)
    msg = "An event of an unknown kind."
    raise ValueError(msg)


def _check_plain(facts: Mapping[str, Any]) -> None:
    """Refuse flags where numbers belong, and whole numbers that take long to compute with."""
    for value in facts.values():
        if type(value) is bool or (type(value) is int and abs(value) > MOST_INTEGER):
            msg = "a whole number in an event is no number, or beyond 62 bits"
            raise TooLarge(msg)


def _check_noise(scale: float, sensitivity_squared: Fraction, steps: int) -> None:
    if not 0 < scale < math.inf:
        msg = f"A noise scale of {scale}: it must be a number above 0."
        raise BadInput(msg)
    if sensitivity_squared < 0 or type(steps) is not int or steps < 1:
        msg = "A negative sensitivity, or no whole number of steps: no request costs that."
        raise BadInput(msg)
