"""Stated knowledge that noisy measurements contradict: free, for it only looks at answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import erfc, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.errors import listed
from understudy.privacy.answers import Measurement
from understudy.select.regimes import Regime

_SILENT = 0.05
"""A stated edge whose counts look as independent ones would with at least this probability."""
_LOUD = 1e-6
"""Columns that were stated to be independent, and look so with at most this probability."""
_WORTH = 0.1
"""A dependence worth having: w = √(χ²/n), which by convention is a small one."""
_SURE = 3.0
"""Standard deviations by which such a dependence would have to show, to be missed."""


@dataclass(frozen=True, eq=False)
class Margin:
    """A column by itself, in the codes that pairs were counted in."""

    counts: NDArray[np.float64]
    variance: NDArray[np.float64]


@dataclass(frozen=True)
class Dependence:
    """How a noisy pair compares with independent columns."""

    pair: tuple[str, str]
    chance: float
    """How likely independent columns are to look as dependent as this, noise included."""
    noise: float
    """The standard deviation of a cell's noise, in rows."""
    telling: bool
    """Whether a dependence worth having would have shown."""


def contradictions(
    measurements: Sequence[Measurement],
    margins: Mapping[str, Margin],
    regime: Regime,
    target: str,
) -> Iterator[str]:
    """What was stated and looks wrong, in sentences."""
    seen = dependences(measurements, margins)
    silent: dict[str, dict[str, Dependence]] = {}
    for cause, effect in regime.stated(target):
        found = seen.get(frozenset({cause, effect}))
        if found is not None and found.telling and found.chance > _SILENT:
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


def dependences(
    measurements: Sequence[Measurement], margins: Mapping[str, Margin]
) -> dict[frozenset[str], Dependence]:
    """Of each pair of columns that was measured together, how its best counts look."""
    found: dict[frozenset[str], Dependence] = {}
    for one in measurements:
        for pair in combinations(one.clique, 2):
            seen, key = _dependence(one, pair, margins), frozenset(pair)
            if seen is not None and (key not in found or seen.noise < found[key].noise):
                found[key] = seen
    return found


def _dependence(
    one: Measurement, pair: tuple[str, str], margins: Mapping[str, Margin]
) -> Dependence | None:
    """A χ² test against the columns by themselves, in which cells vary by noise and by chance.

    Columns are known better from all that was measured of them than from the pair, whose noise
    would be on both sides of the comparison. None where there is nothing to compare.
    """
    others = _others(one.clique, pair)
    counts = one.values.sum(axis=others)
    noise = np.broadcast_to(np.square(one.scale), one.values.shape).sum(axis=others)
    a, b = (margins[name] for name in pair)
    total = float(a.counts.sum())
    if counts.shape != (len(a.counts), len(b.counts)) or min(counts.shape) < 2 or total < 1:  # noqa: PLR2004
        return None
    p, q = a.counts / total, b.counts / max(float(b.counts.sum()), 1.0)
    expected = total * np.multiply.outer(p, q)
    # What is not known of the columns comes on top of the cell's own noise.
    noisy = noise + np.multiply.outer(a.variance, q**2) + np.multiply.outer(p**2, b.variance)
    varies = noisy + expected
    free = noisy + expected * np.multiply.outer(1 - p, 1 - q)
    freedom = max(float((free / varies).sum()), 1.0)
    off = float((np.square(counts - expected) / varies).sum())
    shown = float((np.square(_WORTH * expected) / varies).sum())
    return Dependence(
        pair,
        _beyond(off, freedom),
        float(np.sqrt(np.median(noise))),
        telling=shown > _SURE * sqrt(2 * freedom),
    )


def _beyond(value: float, freedom: float) -> float:
    """How likely a χ² with so many degrees of freedom is larger (Wilson and Hilferty).

    >>> [round(_beyond(*pair), 3) for pair in ((3.841, 1), (18.307, 10))]
    [0.047, 0.05]
    """
    spread = 2 / (9 * freedom)
    normal = ((value / freedom) ** (1 / 3) - (1 - spread)) / sqrt(spread)
    return erfc(normal / sqrt(2)) / 2


def _others(clique: Sequence[str], pair: Iterable[str]) -> tuple[int, ...]:
    kept = {*pair}
    return tuple(place for place, name in enumerate(clique) if name not in kept)
