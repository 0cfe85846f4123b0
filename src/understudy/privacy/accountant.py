"""From events to what they cost together.

Two readings, for two situations. While costs may still adapt to answers, `cost` counts each event
at the one order that the budget fixed, and the sum is capped. Where all events were fixed before
the first answer, `total_epsilon` may pick the best order, or the exact privacy loss of Gaussian
counts, after the fact.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from understudy.errors import BadInput
from understudy.privacy.budget import (
    epsilon_of_divergence,
    epsilon_of_rho,
    rounded_down,
    rounded_up,
    spendable,
)
from understudy.privacy.events import (
    LEAST_GAMMA,
    BestOf,
    Event,
    Exponential,
    Gaussian,
    Reveal,
    SampledGaussian,
    Threshold,
)

_SAFETY = 1e-9
_LEAST = 1e-300
"""More than a double loses of a probability that is too small for it."""
_FAR = 40
"""So many standard deviations out, less than that is left."""
_HIGHEST = 2**48
_UNKNOWN = "An event that the accountant does not know."
_LAST_DIGITS = 1e-14
_LARGEST_ORDER = 2**12
"""Above it the bound without sampling is used."""
_ORDERS = tuple(1 + 0.1 * 2 ** (k / 4) for k in range(61))
_COMPOSED_ERROR = 1e-13
"""Chances that were composed in doubles are wrong by up to about 1e-15, either way."""
_EXACT_SCALES = 0.5, 2000.0
"""Beyond them composing exact losses takes minutes and gigabytes, and gains little."""
_MOST_EXACT_POINTS = 10**7
"""Of privacy loss distributions; beyond so many, composing takes many seconds."""
_TAIL_DEVIATIONS = 16
"""So many standard deviations of a privacy loss, both tails together, lie on its grid."""
_GAMMA_GRID = 2**32
_LEAST_SHARE = 2**20
"""One run gets at least one part in so many of what the best of several costs."""
_STEP = 2.0**-7
_TAIL = 40.0


def cost(event: Event, order: float) -> Fraction | float:
    """The event's Rényi divergence at the order, divided by the order; infinite for a reveal.

    >>> cost(Gaussian(scale=2.0, sensitivity_squared=Fraction(1)), order=30.0)
    Fraction(1, 8)
    >>> cost(Exponential(epsilon=0.5), order=30.0)
    Fraction(1, 32)
    """
    match event:
        case Gaussian() | Exponential() | Threshold():
            return rho(event)
        case SampledGaussian() | BestOf():
            return rounded_up(Fraction(_divergence(event, order)) / Fraction(order))
        case Reveal():
            return math.inf
        case _:
            raise TypeError(_UNKNOWN)


@lru_cache(maxsize=2**12)
def _divergence(event: SampledGaussian | BestOf, order: float) -> float:
    """The Rényi divergence of an event whose divergence is no multiple of the order."""
    if isinstance(event, BestOf):
        return best_of_divergence(event, order)
    return event.steps * sampled_divergence(event, order)


def total_cost(events: Iterable[Event], order: float) -> Fraction | float:
    """The sum of costs; infinite once rows were revealed."""
    total: Fraction | float = Fraction(0)
    for event in events:
        total += cost(event, order)
    return total


def rho(event: Gaussian | Exponential | Threshold) -> Fraction:
    """The ρ of an event that has one."""
    if isinstance(event, Exponential):
        return rounded_up(Fraction(event.epsilon) ** 2 / 8)
    per_step = event.sensitivity_squared / (2 * Fraction(event.scale) ** 2)
    return rounded_up(per_step * (event.steps if isinstance(event, Gaussian) else 1))


def delta(event: Event) -> Fraction:
    """What an event adds to δ by itself: only values told by a threshold do.

    >>> event = Threshold(10.0, 61, Fraction(1), columns=1, arrivals=1)
    >>> 1.5e-9 < delta(event) < 1.6e-9
    True
    """
    if not isinstance(event, Threshold):
        return Fraction(0)
    each = _tail(event.threshold - event.arrivals, event.scale)
    return rounded_up(event.columns * event.arrivals * Fraction(each))


def total_delta(events: Iterable[Event]) -> Fraction:
    """What events add to δ by themselves, together."""
    return sum(map(delta, events), Fraction(0))


def threshold(scale: float, columns: int, arrivals: int, most: Fraction) -> int:
    """The lowest threshold whose δ is at most `most`."""

    def fits(height: int) -> bool:
        return rounded_up(columns * arrivals * Fraction(_tail(height, scale))) <= most

    high = 1
    while not fits(high):
        high *= 2
        if high > _HIGHEST:
            msg = f"No threshold keeps a delta of {float(most):.3g} with so much noise."
            raise BadInput(msg)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high + arrivals


def _tail(height: int, scale: float) -> float:
    """At least the probability that a discrete Gaussian reaches a height above 0.

    Its weights exp(-y² / (2 scale²)) fall with y, so all beyond the first are less than the
    integral from the height on; and together they are at least √(2π) scale.
    """
    if height > _FAR * scale:
        return _LEAST
    first = math.exp(-((height / scale) ** 2) / 2) / (math.sqrt(2 * math.pi) * scale)
    return (first + math.erfc(height / scale / math.sqrt(2)) / 2) * (1 + _SAFETY) + _LEAST


def sampled_divergence(event: SampledGaussian, order: float) -> float:
    """The Rényi divergence of one sampled step, rounded up.

    Of the density ratio 1 + u between neighbours, u = q (L - 1), it is log E[(1 + u)^α] / (α - 1)
    under the Gaussian without the record. The mean of u is zero, so 1 + α u is taken out of the
    power: what is left is positive, and tiny divergences lose no digits. The trapezoid rule is as
    good as exact for a function this smooth, and integer noise, being on a grid, differs from the
    integral by less than a double can tell (docs/proofs/training.md).
    """
    rho_per_step = event.sensitivity_squared / (2 * Fraction(event.scale) ** 2)
    unsampled = float(rho_per_step) * order * (1 + _SAFETY)  # sampling never costs more
    if event.rate == 1 or order > _LARGEST_ORDER or rho_per_step == 0:
        return unsampled
    shift = math.sqrt(2 * float(rho_per_step))
    if order * shift > _LARGEST_ORDER:
        return unsampled
    x = np.arange(-_TAIL, order * shift + _TAIL, _STEP)
    log_density = -(x**2) / 2 + math.log(_STEP / math.sqrt(2 * math.pi))
    log_ratio = shift * x - shift**2 / 2
    log_power = order * np.logaddexp(math.log1p(-event.rate), math.log(event.rate) + log_ratio)
    log_moment = float(np.logaddexp.reduce(log_density + log_power))
    if log_moment < 1:
        # Far out, density and power both leave the range of doubles; their product does not.
        density = np.exp(log_density)
        mean_zero = event.rate * (np.exp(log_density + log_ratio) - density)
        near = np.abs(log_power) < 1
        grown = np.exp(log_density + log_power) - density - order * mean_zero
        u = event.rate * np.expm1(log_ratio[near])
        exact_power = np.expm1(order * np.log1p(u))
        grown[near] = density[near] * (exact_power - order * u)
        log_moment = math.log1p(float(np.sum(grown)))
    return min(unsampled, (log_moment + _LAST_DIGITS) / (order - 1) * (1 + _SAFETY))


def integral_points(event: Event, order: float) -> float:
    """Return how many points the integral of an event's divergence at an order takes."""
    if not isinstance(event, SampledGaussian):
        return 0.0
    shift = math.sqrt(event.sensitivity_squared) / event.scale
    return (min(order * shift, _LARGEST_ORDER) + 2 * _TAIL) / _STEP


def planned_integral_points(event: Event) -> float:
    """Return the same for all orders that `total_epsilon` tries."""
    return 1.5 * sum(integral_points(event, order) for order in _ORDERS)


def best_of_divergence(event: BestOf, order: float) -> float:
    """The Rényi divergence of the best of K runs, rounded up.

    It holds for every λ; the best one is √(log(1/γ) / ρ), and at least 1.
    """
    exact = sum(map(rho, event.base), Fraction(0))
    if not exact:
        return 0.0  # the same runs, whatever the rows
    one_run = max(float(exact), _LEAST)
    helper = max(1.0, math.sqrt(_log_inverse(event.gamma) / one_run))
    return tried_divergence(order * one_run, order, helper * one_run, helper, event.gamma)


def tried_divergence(
    at_order: float, order: float, at_helper: float, helper: float, gamma: Fraction
) -> float:
    """The Rényi divergence of the best of K runs, from those of one run at two orders; rounded up.

    Theorem 2 of Papernot and Steinke (2022) with η = 0, for whatever a run is.
    """
    stopping = ((helper - 1) * at_helper + _log_inverse(gamma)) / helper
    runs = (math.log(mean_runs(gamma)) + _LAST_DIGITS) / (order - 1)
    return (at_order + stopping + runs) * (1 + _SAFETY)


def mean_runs(gamma: Fraction) -> float:
    """How many runs there are on average.

    >>> round(mean_runs(Fraction(1, 2)), 4)
    1.4427
    """
    return float((1 - gamma) / gamma) / _log_inverse(gamma)


def gamma_of(runs: float) -> Fraction:
    """The γ with which there are so many runs on average, or a hair fewer.

    >>> round(mean_runs(gamma_of(5.0)), 6)
    5.0
    """
    low, high = int(LEAST_GAMMA * _GAMMA_GRID), _GAMMA_GRID - 1
    if not mean_runs(Fraction(high, _GAMMA_GRID)) <= runs <= mean_runs(LEAST_GAMMA):
        most = mean_runs(LEAST_GAMMA)
        msg = f"{runs:g} runs on average: ask for more than 1, such as 5, and at most {most:,.0f}."
        raise BadInput(msg)
    while high - low > 1:
        middle = (low + high) // 2
        few = mean_runs(Fraction(middle, _GAMMA_GRID)) <= runs
        low, high = (low, middle) if few else (middle, high)
    return Fraction(high, _GAMMA_GRID)


def best_of_rho(gamma: Fraction, rho: Fraction, order: float) -> Fraction:
    """The largest ρ of one run, to six digits, with which the best of K costs at most ρ."""

    def fits(one_run: float) -> bool:
        event = BestOf((Gaussian(1.0, 2 * Fraction(one_run)),), gamma)
        # By a hair: split into several, the same ρ may round to a little more.
        return cost(event, order) <= rho * (1 - Fraction(1, 10**12))

    # Below the lowest, what is left for one run is lost among the runs.
    high, low = float(rho), float(rho) / _LEAST_SHARE
    if not fits(low):
        msg = (
            f"That the best of {mean_runs(gamma):.3g} runs is kept costs more than rho "
            f"{float(rho):.3g} by itself, however noisy a run is. Ask for fewer runs, spend "
            "more on them (a larger split), or choose a larger epsilon."
        )
        raise BadInput(msg)
    while high > low * (1 + 1e-7):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return Fraction(low)


def _log_inverse(gamma: Fraction) -> float:
    """The logarithm of 1/γ, without cancellation."""
    if 2 * gamma < 1:
        return -math.log(float(gamma))
    return -math.log1p(-float(1 - gamma))


def gaussian_scale(sensitivity_squared: Fraction, rho: Fraction) -> float:
    """The smallest double whose Gaussian noise costs at most ρ, rounding included."""
    if not sensitivity_squared:
        return 1.0
    rho = spendable(rho)
    scale = math.sqrt(sensitivity_squared / (2 * rho))
    while sensitivity_squared > 2 * rho * Fraction(scale) ** 2:
        scale = math.nextafter(scale, math.inf)
    return scale


def exponential_epsilon(rho: Fraction) -> float:
    """The largest double with which a selection costs at most ρ, rounding included."""
    rho = spendable(rho)
    epsilon = math.sqrt(8 * rho)
    while Fraction(epsilon) ** 2 > 8 * rho:
        epsilon = math.nextafter(epsilon, 0.0)
    return epsilon


def sampled_scale(
    rate: float, sensitivity_squared: Fraction, steps: int, rho: Fraction, order: float
) -> float:
    """The smallest noise, to six digits, with which sampled steps cost at most ρ at the order."""

    def fits(scale: float) -> bool:
        return cost(SampledGaussian(rate, scale, sensitivity_squared, steps), order) <= rho

    if not sensitivity_squared:
        return 1.0
    high = gaussian_scale(sensitivity_squared * steps, rho)
    while not fits(high):  # by a hair: without sampling it suffices
        high *= 1 + 1e-8
    low = high
    while fits(low):
        high, low = low, low / 2
    while high > low * (1 + 1e-7):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def total_epsilon(events: Sequence[Event], whole_delta: float) -> float:
    """The ε of events that were all fixed before the first answer."""
    if not events:
        return 0.0
    left = rounded_down(Fraction(whole_delta) - total_delta(events))
    if left <= 0 or any(isinstance(event, Reveal) for event in events):
        return math.inf
    plain = [event for event in events if isinstance(event, Gaussian | Exponential | Threshold)]
    others = [event for event in events if isinstance(event, SampledGaussian | BestOf)]
    if len(plain) + len(others) < len(events):
        raise TypeError(_UNKNOWN)
    spent = sum(map(rho, plain), Fraction(0))
    if not others:
        by_divergence = epsilon_of_rho(spent, left)
    else:
        by_divergence = _best_epsilon(float(spent), others, left)
    counts = [event for event in plain if isinstance(event, Gaussian) and event.unit_cells]
    if len(counts) == len(events) and exact_points(counts) <= _MOST_EXACT_POINTS:
        return min(by_divergence, _exact_epsilon(tuple(counts), left))
    return by_divergence


def composed_exactly(events: Sequence[Event]) -> bool:
    """Return whether the total of a plan may use exact privacy losses: if it is small enough."""
    counts = [event for event in events if isinstance(event, Gaussian) and event.unit_cells]
    return len(counts) < len(events) or exact_points(counts) <= _MOST_EXACT_POINTS


def exact_points(events: Sequence[Gaussian]) -> float:
    """Return on about how many grid points privacy losses are composed.

    The loss of one cell spreads over a few 1/scale; composed, over a few times the root of the sum
    of their squares, around half that sum.
    """
    if not events:
        return 0.0
    total, points = 0.0, 0.0
    for event in events:
        cells = float(event.steps * (event.unit_cells or 0))
        own = cells / event.scale**2
        total += own
        spread = 1 / event.scale + math.sqrt(own) + math.sqrt(total)
        points += _TAIL_DEVIATIONS * spread + own + total
    return points / _interval(events)


def _interval(events: Sequence[Gaussian]) -> float:
    """Return the grid's spacing: fine enough for the largest noise."""
    return min(1e-4, 1e-3 / max(event.scale for event in events))


def _best_epsilon(spent: float, others: Sequence[SampledGaussian | BestOf], delta: float) -> float:
    """The ε at the best order found; at every order it is a valid one."""
    different = Counter(others)

    def epsilon(order: float) -> float:
        divergence = sum(times * _divergence(event, order) for event, times in different.items())
        return epsilon_of_divergence(order * spent + divergence, order, delta)

    orders = np.array(_ORDERS)
    for _ in range(3):  # around the best so far, ever closer
        found = np.array([epsilon(order) for order in orders])
        best = int(found.argmin())
        around = orders[max(best - 1, 0)], orders[min(best + 1, len(orders) - 1)]
        orders = 1 + np.geomspace(around[0] - 1, around[1] - 1, 9)
    return float(found.min())


@lru_cache(maxsize=2**8)
def _exact_epsilon(events: tuple[Gaussian, ...], delta: float) -> float:
    """The ε of discrete Gaussian counts, by composing their privacy loss distributions."""
    # Loaded here because it takes seconds, and only this question needs it.
    from dp_accounting.pld import privacy_loss_distribution as pld  # noqa: PLC0415

    cells = sum(event.steps * (event.unit_cells or 0) for event in events)
    error = max(_COMPOSED_ERROR, 1e-15 * cells)
    scales = [event.scale for event in events]
    if delta <= 2 * error or min(scales) < _EXACT_SCALES[0] or max(scales) > _EXACT_SCALES[1]:
        return math.inf
    composed, interval = None, _interval(events)
    for event in events:
        one = pld.from_discrete_gaussian_mechanism(
            event.scale, sensitivity=1, value_discretization_interval=interval
        )
        loss = one.self_compose(event.steps * (event.unit_cells or 0))
        composed = loss if composed is None else composed.compose(loss)
    return math.inf if composed is None else float(composed.get_epsilon_for_delta(delta - error))
