"""Means, variances, covariances and correlations, synthetic against real."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.curator.result import Direction, Result, absent, around
from understudy.curator.row_weights import RowWeights
from understudy.curator.tables import Tables

_FAR = 1e50
"""Numbers further out, in real deviations, are moved here: fourth powers must stay finite."""
_BY_CHANCE = float(np.sqrt(2 / np.pi))
"""The mean distance from 0 of a normal number, in standard deviations."""
Moment = Callable[..., tuple[float, NDArray[np.float64]]]
"""From columns to a value, and how much each row weighs on it."""
Sides = Sequence[dict[str, NDArray[np.float64]]]
"""The real and the synthetic columns."""


@dataclass(frozen=True)
class MomentErrors:
    """All moments of one kind, in the real table's standard deviations."""

    kind: str
    difference: Result
    """The mean absolute difference."""
    worst: tuple[str, ...]
    worst_difference: Result
    floor: float
    """The difference that two samples of one population would show, about."""


def compare_moments(tables: Tables, read: str) -> tuple[list[MomentErrors], list[str]]:
    """All kinds of moments; and the columns that have none, because they do not vary."""
    scales, constant = {}, []
    for name, numbers in tables.real.numbers.items():
        known = numbers[~np.isnan(numbers)]
        told = not np.isnan(tables.synthetic.numbers[name]).all()
        # Rounding makes a deviation of equal numbers too, and none of numbers that hardly differ.
        if told and known.size and known.min() < known.max() and known.std() > 0:
            scales[name] = (float(known.mean()), float(known.std()))
        else:
            constant.append(name)
    sides = [
        {
            name: np.clip(side.numbers[name] - m, -_FAR * s, _FAR * s) / s
            for name, (m, s) in scales.items()
        }
        for side in (tables.real, tables.synthetic)
    ]
    alone, pairs = [(name,) for name in scales], list(combinations(scales, 2))
    kinds: Sequence[tuple[str, Sequence[tuple[str, ...]], Moment]] = (
        ("mean", alone, _mean),
        ("variance", alone, _variance),
        ("covariance", pairs, _covariance),
        ("correlation", pairs, _correlation),
    )
    return [_compared(kind, items, moment, sides, read) for kind, items, moment in kinds], constant


def _compared(
    kind: str, items: Sequence[tuple[str, ...]], moment: Moment, sides: Sides, read: str
) -> MomentErrors:
    """The mean difference of one kind of moment, and the worst one."""
    name = f"{kind} difference"
    if not items:
        nothing = absent(name, Direction.LOWER, read, "too few columns of numbers vary")
        return MomentErrors(kind, nothing, (), nothing, 0.0)
    weight = RowWeights.none(*(len(side[items[0][0]]) for side in sides))
    total = chance = 0.0
    worst: tuple[float, float, tuple[str, ...]] = (-1.0, 0.0, ())
    for names in items:
        (real, on_real), (ours, on_ours) = (moment(*(side[n] for n in names)) for side in sides)
        sign = np.sign(ours - real)
        one = RowWeights(-sign * on_real, sign * on_ours)
        weight.add(one)
        total += abs(ours - real)
        chance += _BY_CHANCE * one.error()
        if abs(ours - real) > worst[0]:
            worst = (abs(ours - real), one.error(), names)

    def told(what: str, value: float, error: float, chance: float) -> Result:
        return around(
            what, value, error, Direction.LOWER, read, within=(0.0, np.inf), chance=chance
        )

    return MomentErrors(
        kind,
        told(name, total / len(items), weight.error(len(items)), chance / len(items)),
        worst[2],
        told(f"worst {name} ({', '.join(worst[2])})", worst[0], worst[1], _BY_CHANCE * worst[1]),
        chance / len(items),
    )


# Of the moments, a row with a missing number weighs nothing.


def _mean(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    known = ~np.isnan(x)
    value = float(x[known].mean())
    return value, np.where(known, x - value, 0.0) / known.mean()


def _variance(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    return _covariance(x, x)


def _covariance(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    known = ~(np.isnan(x) | np.isnan(y))
    if not known.any():
        return 0.0, np.zeros(len(x))  # never there together
    product = (x - x[known].mean()) * (y - y[known].mean())
    value = float(product[known].mean())
    return value, np.where(known, product - value, 0.0) / known.mean()


def _correlation(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    known = ~(np.isnan(x) | np.isnan(y))
    if not known.any():
        return 0.0, np.zeros(len(x))  # never there together
    spreads = float(x[known].std()), float(y[known].std())
    if min(spreads) <= 0:
        return 0.0, np.zeros(len(x))  # a constant goes along with nothing
    u, v = (x - x[known].mean()) / spreads[0], (y - y[known].mean()) / spreads[1]
    value = float((u * v)[known].mean())
    weight = u * v - value / 2 * (np.square(u) + np.square(v))
    return value, np.where(known, weight, 0.0) / known.mean()
