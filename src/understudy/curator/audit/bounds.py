"""What telling two tables apart says about the promise, with its confidence.

A threshold is chosen on the first half of the runs, and its mistakes are counted on the second
half; so the bounds of Clopper and Pearson hold for them, whatever the mechanism does.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

Numbers = NDArray[np.float64]

_ROUNDING = 1e-6
_THRESHOLDS = 200
"""So many are tried on the first half of the runs."""
_SMOOTH = 100.0
"""Noise of so many steps is as good as continuous: it differs by less than one in 10⁵."""
_TILTS = tuple(2.0**-power for power in range(10))
"""How strongly choices that stray are weighed: which is best depends on how many there were."""


@dataclass(frozen=True)
class Rate:
    """So many of so many."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """The share; of nothing, one half."""
        return self.count / self.of if self.of else 0.5

    def low(self, risk: float) -> float:
        """The true share lies below this with no more than the risk."""
        return (
            float(stats.beta.ppf(risk, self.count, self.of - self.count + 1)) if self.count else 0.0
        )

    def high(self, risk: float) -> float:
        """The true share lies above this with no more than the risk."""
        if self.count == self.of:
            return 1.0
        return float(stats.beta.ppf(1 - risk, self.count + 1, self.of - self.count))


@dataclass(frozen=True)
class Mistakes:
    """Of a guess whether a record was there: how often it said so wrongly, and missed it."""

    alarms: Rate
    misses: Rate

    def mu(self) -> float:
        """How far apart two normal laws are that are told apart as well; an estimate."""
        # Half a mistake where there was none, for a normal law has some.
        return -_quantile(self.alarms) - _quantile(self.misses)

    def mu_low(self, risk: float) -> float:
        """The same, which the truth falls below with no more than the risk."""
        alarms, misses = self.alarms.high(risk / 2), self.misses.high(risk / 2)
        return float(max(0.0, -stats.norm.ppf(alarms) - stats.norm.ppf(misses)))

    def epsilon_low(self, delta: float, risk: float) -> float:
        """The smallest ε that allows so few mistakes, but for the risk."""
        alarms, misses = self.alarms.high(risk / 2), self.misses.high(risk / 2)
        return max(_epsilon(1 - misses, alarms, delta), _epsilon(1 - alarms, misses, delta), 0.0)


@dataclass(frozen=True)
class Surprise:
    """How far choices stray, all together, from what their laws say."""

    strayed: float = 0.0
    variance: float = 0.0

    def after(self, likely: Numbers, scores: Numbers, chosen: int) -> "Surprise":
        """With one more choice; its law may depend on those before."""
        off = scores - float(likely @ scores)
        most = float(np.abs(off).max())
        if most <= _ROUNDING:
            return self
        off /= most
        return self.plus(Surprise(float(off[chosen]), float(likely @ np.square(off))))

    def plus(self, other: "Surprise") -> "Surprise":
        """Both together."""
        return Surprise(self.strayed + other.strayed, self.variance + other.variance)

    @property
    def chance(self) -> float:
        """How likely it is to stray so far, at most.

        Steps of at most 1 that are fair, given those before, multiply up as exp(λ step −
        variance (exp λ − 1 − λ)) to 1 on average, at most (Freedman 1975). That holds for each λ;
        those that are tried share the risk, and so do both directions.
        """
        return min(1.0, 2 * len(_TILTS) * min(map(self._at, _TILTS)))

    def _at(self, tilt: float) -> float:
        return exp(min(0.0, self.variance * (exp(tilt) - 1 - tilt) - tilt * abs(self.strayed)))


def mistakes(
    without: Numbers, with_it: Numbers, *, delta: float, risk: float
) -> tuple[Mistakes, Mistakes]:
    """Mistakes at the threshold that is best for μ, and at the one that is best for ε.

    The numbers are larger, if anything, for a table that holds the record.
    """
    first, second = _halves(without, with_it)
    tried = np.quantile(np.concatenate(first), np.linspace(0, 1, _THRESHOLDS))
    alarms = _above(first[0], tried)
    misses = len(first[1]) - _above(first[1], tried)
    worst = _high(alarms, len(first[0]), risk / 2), _high(misses, len(first[1]), risk / 2)
    # For μ only in the middle, where rates say most about it.
    middle = slice(_THRESHOLDS // 5, -_THRESHOLDS // 5)
    apart = -stats.norm.ppf(worst[0][middle]) - stats.norm.ppf(worst[1][middle])
    best_mu = tried[middle][int(np.argmax(apart))]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = [(1 - delta - b) / a for a, b in (worst, worst[::-1])]
    best_epsilon = tried[int(np.argmax(np.nan_to_num(np.maximum(*ratios))))]
    return _counted(second, float(best_mu)), _counted(second, float(best_epsilon))


def as_numbers(without: Sequence[str], with_it: Sequence[str]) -> tuple[Numbers, Numbers]:
    """Outcomes of runs as numbers: how much likelier each is with the record, in first halves."""
    first = [Counter(side[: len(side) // 2]) for side in (without, with_it)]
    ratio = {
        outcome: log((first[1][outcome] + 0.5) / (first[0][outcome] + 0.5))
        for outcome in {*without, *with_it}
    }
    numbers = [np.array([ratio[outcome] for outcome in side]) for side in (without, with_it)]
    return numbers[0], numbers[1]


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The ε of Gaussian noise that leaves two tables so far apart (Balle and Wang 2018)."""

    def delta_at(epsilon: float) -> float:
        high, low = -epsilon / mu + mu / 2, -epsilon / mu - mu / 2
        return float(stats.norm.cdf(high) - np.exp(epsilon + stats.norm.logcdf(low)))

    if mu <= 0 or delta_at(0.0) <= delta:
        return 0.0
    return float(optimize.brentq(lambda e: delta_at(e) - delta, 0.0, mu * mu + 40 * mu))


def lattice_mu(scale: float) -> float:
    """How far apart discrete Gaussian noise leaves two whole numbers that differ by one.

    Seen where that shows most, halfway between them; a little more than for continuous noise.
    """
    if scale > _SMOOTH:
        return 1 / scale
    tail = np.exp(-np.square(np.arange(1, 20 * scale + 20) / scale) / 2).sum()
    return float(-2 * stats.norm.ppf(tail / (1 + 2 * tail)))


def most_epsilon_low(runs: int, delta: float, risk: float) -> float:
    """What so many runs on each of two tables show at most: if they are told apart each time."""
    counted = Rate(0, runs - runs // 2)
    return Mistakes(counted, counted).epsilon_low(delta, risk)


def fewest_runs(epsilon: float, delta: float, risk: float) -> int | None:
    """How many runs can contradict this claim; none, where no feasible number can."""
    feasible = range(2, 2**30)
    place = bisect_right(feasible, epsilon, key=lambda runs: most_epsilon_low(runs, delta, risk))
    return feasible[place] if place < len(feasible) else None


def one_run_epsilon_low(
    guesses: int, right: int, canaries: int, delta: float, risk: float
) -> float:
    """What one run shows in which each of many records was there by the toss of a coin.

    After Steinke, Nasr and Jagielski (2023): a private mechanism lets at most a binomial number
    of guesses be right, but for an error in δ.
    """
    low, high = 0.0, 50.0
    if _one_run_chance(guesses, right, canaries, 0.0, delta) > risk:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        refuted = _one_run_chance(guesses, right, canaries, middle, delta) <= risk
        low, high = (middle, high) if refuted else (low, middle)
    return low


def _one_run_chance(guesses: int, right: int, canaries: int, epsilon: float, delta: float) -> float:
    """How likely so many right guesses are at most, if the mechanism is (ε, δ)-private."""
    luck = stats.binom(guesses, 1 / (1 + exp(-epsilon)))
    # δ may move as much of the law as helps most: from i right guesses fewer, over i steps.
    steps = np.arange(1, right + 1)
    moved = np.cumsum(luck.pmf(right - steps)) / steps if right else np.zeros(1)
    return min(1.0, float(luck.sf(right - 1) + 2 * canaries * delta * moved.max()))


def _halves(
    without: Numbers, with_it: Numbers
) -> tuple[tuple[Numbers, Numbers], tuple[Numbers, Numbers]]:
    cuts = len(without) // 2, len(with_it) // 2
    return (without[: cuts[0]], with_it[: cuts[1]]), (without[cuts[0] :], with_it[cuts[1] :])


def _above(numbers: Numbers, thresholds: Numbers) -> NDArray[np.intp]:
    """How many of the numbers lie above each threshold."""
    return len(numbers) - np.searchsorted(np.sort(numbers), thresholds, side="right")


def _high(counts: NDArray[np.intp], of: int, risk: float) -> Numbers:
    """`Rate.high`, of many counts at once."""
    bounds = stats.beta.ppf(1 - risk, counts + 1, np.maximum(of - counts, 1))
    return np.where(counts < of, bounds, 1.0)


def _counted(sides: tuple[Numbers, Numbers], threshold: float) -> Mistakes:
    without, with_it = sides
    return Mistakes(
        Rate(int((without > threshold).sum()), len(without)),
        Rate(int((with_it <= threshold).sum()), len(with_it)),
    )


def _epsilon(likely: float, unlikely: float, delta: float) -> float:
    return log((likely - delta) / unlikely) if likely > delta and unlikely > 0 else 0.0


def _quantile(rate: Rate) -> float:
    share = min(max(rate.value, 0.5 / max(rate.of, 1)), 1 - 0.5 / max(rate.of, 1))
    return float(stats.norm.ppf(share))
