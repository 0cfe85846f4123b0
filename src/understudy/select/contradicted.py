"""Stated knowledge that noisy measurements contradict: free, for it only looks at answers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import erfc, sqrt

import numpy as np

from understudy.errors import listed
from understudy.privacy.answers import Measurement
from understudy.select.regimes import Regime

_SILENT = 0.05
"""A stated edge whose counts look as independent ones would with at least this probability."""
_LOUD = 1e-6
"""Columns that were stated to be independent, and look so with at most this probability."""


@dataclass(frozen=True)
class Dependence:
    """How a noisy pair compares with independent columns."""

    pair: tuple[str, str]
    chance: float
    """How likely independent columns are to look as dependent as this, noise included."""
    noise: float
    """The standard deviation of a cell's noise, in rows."""


def contradictions(
    measurements: Sequence[Measurement], regime: Regime, target: str
) -> Iterator[str]:
    """What was stated and looks wrong, in sentences."""
    seen = dependences(measurements)
    silent: dict[str, dict[str, Dependence]] = {}
    for cause, effect in regime.stated(target):
        found = seen.get(frozenset({cause, effect}))
        if found is not None and found.chance > _SILENT:
            silent.setdefault(effect, {})[cause] = found
    for effect, causes in silent.items():
        noise = max(found.noise for found in causes.values())
        yield (
            f"It was stated that {effect} depends on {listed(causes)}; the measured counts look as "
            f"if it did not (noise ± {noise:,.0f} rows a cell). If that is wrong, a part of the "
            "budget is better spent on others: leave these edges out, or let features be chosen."
        )
    for found in seen.values():
        if found.chance < _LOUD and regime.apart(*found.pair):
            one, other = found.pair
            yield (
                f"The stated graph says that {one} and {other} are independent; the measured "
                "counts say that they are not. An edge or a common cause is missing, and the "
                f"blanket of {target} may be too small."
            )


def dependences(measurements: Sequence[Measurement]) -> dict[frozenset[str], Dependence]:
    """Of each pair of columns that was measured together, how its counts look."""
    found: dict[frozenset[str], Dependence] = {}
    for one in measurements:
        for pair in combinations(one.clique, 2):
            seen = _dependence(one, pair)
            key = frozenset(pair)
            if key not in found or seen.noise < found[key].noise:
                found[key] = seen
    return found


def _dependence(one: Measurement, pair: tuple[str, str]) -> Dependence:
    """A χ² test in which every cell varies by its noise and by chance."""
    others = _others(one.clique, pair)
    counts = one.values.sum(axis=others)
    noise = np.broadcast_to(np.square(one.scale), one.values.shape).sum(axis=others)
    total = max(float(counts.sum()), 1.0)
    expected = np.multiply.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
    off = np.square(counts - expected) / (noise + np.maximum(expected, 0.0))
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    chance = _beyond(float(off.sum()), freedom) if freedom else 1.0
    return Dependence(pair, chance, float(np.sqrt(np.median(noise))))


def _beyond(value: float, freedom: int) -> float:
    """How likely a χ² with so many degrees of freedom is larger (Wilson and Hilferty).

    >>> [round(_beyond(*pair), 3) for pair in ((3.841, 1), (18.307, 10))]
    [0.049, 0.05]
    """
    spread = 2 / (9 * freedom)
    normal = ((value / freedom) ** (1 / 3) - (1 - spread)) / sqrt(spread)
    return erfc(normal / sqrt(2)) / 2


def _others(clique: Sequence[str], pair: Iterable[str]) -> tuple[int, ...]:
    kept = {*pair}
    return tuple(place for place, name in enumerate(clique) if name not in kept)
