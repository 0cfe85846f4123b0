"""(ε, δ) and ρ: how much may be spent, and how that reads as a promise.

Costs are counted as Rényi divergence at one order α, fixed when the budget is made, and divided
by α: so the currency of Gaussian noise and of the exponential mechanism is plain zCDP ρ, and
that of sampled training is what it costs at this order. Because the order is fixed before the
first answer, requests may adapt to earlier answers as long as the running sum stays below ρ.

Every bound below holds for every order; the search only picks a good one. Rounding is always
toward more privacy: of a budget down, of a cost up.
"""

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Real

import numpy as np

from understudy.errors import BadInput

_SAFETY = 1e-9
"""Relative room for the rounding of doubles, which stays below 1e-12 in these formulas."""
_LAST_DIGITS = 1e-14
"""The same, for each term of a sum that nearly cancels."""
_GRID = 2**100
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Budget:
    """A promise (ε, δ), as the amount ρ that may be spent at the order α.

    >>> budget = Budget(epsilon=1.0, delta=1e-9)
    >>> round(float(budget.rho), 5), round(budget.order, 1)
    (0.01497, 34.9)
    """

    epsilon: float
    delta: float
    fixed_order: float | None = None
    """Another order than the best for Gaussian noise; a run that mostly trains may want one."""
    thresholds: float = 0.0
    """The part of δ that values told by a threshold may use up; the rest converts ρ into ε."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", number(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", number(self.delta, "delta"))
        if not 0 < self.epsilon < math.inf:
            msg = f"epsilon is {self.epsilon}; it must be a number above 0, such as 1."
            raise BadInput(msg)
        if not 0 < self.delta < 1:
            msg = f"delta is {self.delta}; it must lie between 0 and 1, such as 1e-9."
            raise BadInput(msg)
        object.__setattr__(self, "thresholds", number(self.thresholds, "thresholds"))
        if not 0 <= self.thresholds < self.delta:
            msg = f"Of delta {self.delta}, {self.thresholds} cannot be kept for thresholds."
            raise BadInput(msg)
        if self.fixed_order is None:
            if self.rho <= 0:
                msg = f"epsilon {self.epsilon} leaves nothing to spend at delta {self.delta}."
                raise BadInput(msg)
        elif not (1 < self.fixed_order < math.inf and self.rho > 0):
            msg = (
                f"The order {self.fixed_order} leaves nothing to spend at epsilon {self.epsilon} "
                f"and delta {self.delta}. Leave it out, or give one near {self._order():.3g}."
            )
            raise BadInput(msg)

    @cached_property
    def order(self) -> float:
        """The Rényi order at which costs are counted."""
        return self._order() if self.fixed_order is None else self.fixed_order

    @cached_property
    def converting(self) -> float:
        """The part of δ that converts ρ into ε."""
        return rounded_down(Fraction(self.delta) - Fraction(self.thresholds))

    @cached_property
    def rho(self) -> Fraction:
        """How much may be spent: its cost at `order`, divided by the order."""
        x = self.order - 1
        reserve = _LAST_DIGITS * (self.epsilon + _size(x, self.converting)) / (1 + x)
        return Fraction(self._rho(x) * (1 - _SAFETY) - reserve)

    def _order(self) -> float:
        return 1 + _best(lambda x: -self._rho(x))

    def _rho(self, x: float) -> float:
        return (self.epsilon - _overhead(x, self.converting)) / (1 + x)


def epsilon_of_rho(rho: Fraction | float, delta: float) -> float:
    """The ε of ρ-zCDP, rounded up (Canonne, Kamath and Steinke's conversion).

    >>> round(epsilon_of_rho(0.01497, 1e-9), 3)
    1.0
    """
    if rho <= 0:
        return 0.0
    order = 1 + _best(lambda x: (1 + x) * float(rho) + _overhead(x, delta))
    return epsilon_of_divergence(order * float(rho), order, delta)


def epsilon_of_divergence(divergence: float, order: float, delta: float) -> float:
    """The ε of a Rényi divergence at one order, rounded up."""
    x = order - 1
    reserve = _LAST_DIGITS * (divergence + _size(x, delta))
    return max(0.0, (divergence + _overhead(x, delta)) * (1 + _SAFETY) + reserve)


def number(value: object, what: str) -> float:
    """A number as a plain double; refuses NaN, infinity and whatever is no number."""
    if type(value) is not bool and isinstance(value, Real | np.number):
        with contextlib.suppress(OverflowError):
            plain = float(value)
            if math.isfinite(plain):
                return plain
    msg = f"{what} is {value}; it must be a finite number."
    raise BadInput(msg)


def rounded_up(cost: Fraction) -> Fraction:
    """A cost on a fixed grid, so that long sums stay short fractions."""
    return Fraction(math.ceil(cost * _GRID), _GRID)


def rounded_down(value: Fraction) -> float:
    """The largest double that is at most the value."""
    double = float(value)
    return double if Fraction(double) <= value else math.nextafter(double, -math.inf)


def spendable(rho: Fraction) -> Fraction:
    """An amount, down to the grid that costs are rounded up to."""
    down = Fraction(math.floor(rho * _GRID), _GRID)
    if down <= 0:
        msg = f"A request for rho = {float(rho):.3g}: so little buys nothing."
        raise BadInput(msg)
    return down


def _overhead(x: float, delta: float) -> float:
    """What the conversion adds to the divergence of order 1 + x.

    It is (log(1/δ) + (α - 1) log(1 - 1/α) - log α) / (α - 1), without its cancellations.
    """
    return -math.log1p(1 / x) - (math.log1p(x) + math.log(delta)) / x


def _size(x: float, delta: float) -> float:
    """How large the terms of the overhead are, whose rounding errors do not cancel."""
    return math.log1p(1 / x) + (math.log1p(x) - math.log(delta)) / x


def _best(loss: Callable[[float], float]) -> float:
    """The α - 1 at which a loss with one valley is smallest, by golden section on its logarithm."""
    low, high = math.log(1e-8), math.log(1e14)
    inner, outer = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_inner, at_outer = loss(math.exp(inner)), loss(math.exp(outer))
    for _ in range(120):
        if at_inner <= at_outer:
            high, outer, at_outer = outer, inner, at_inner
            inner = high - _GOLDEN * (high - low)
            at_inner = loss(math.exp(inner))
        else:
            low, inner, at_inner = inner, outer, at_outer
            outer = low + _GOLDEN * (high - low)
            at_outer = loss(math.exp(outer))
    return math.exp((low + high) / 2)
