"""What a record loses before the counts are known that its weight comes of: estimated by drawing.

Given the counts, a record of weight w loses ρ₁ + w² ρ₂. But w came of counts in which the record
was itself, and which might have come out otherwise: docs/proofs/weights.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from understudy.encode import Encoding
from understudy.privacy.accountant import cost
from understudy.privacy.answers import Measurement
from understudy.privacy.certificate import Certificate
from understudy.privacy.events import Gaussian
from understudy.privacy.weights import UNIT, RowWeights
from understudy.protection import CURVE, PROTECTION
from understudy.select.rarity import rarity_by, scores_by, shares_by
from understudy.select.risk import RiskWeights, steps_by, weights_told

_DRAWS = 40
"""So many counts are drawn anew for each record."""
_REACH, _FINE, _COARSE = 9.0, 0.05, 17
"""In standard deviations: how far, and how finely, noise is integrated; and weights computed."""
_HALVINGS = 60
_NOTHING = 1e-12

Codes = Mapping[str, NDArray[Any]]
Numbers = NDArray[np.float64]


def gaussian_delta(mu: Numbers | float, epsilon: Numbers | float) -> Numbers:
    """The δ of two normal laws μ apart, at any ε, also below 0; at μ = 0 two equal ones."""
    mu, epsilon = np.broadcast_arrays(np.asarray(mu, float), np.asarray(epsilon, float))
    safe = np.maximum(mu, _NOTHING)
    far = np.exp(np.minimum(epsilon + log_ndtr(-safe / 2 - epsilon / safe), 0.0))
    apart = ndtr(safe / 2 - epsilon / safe) - far
    equal = -np.expm1(np.minimum(epsilon, 0.0))
    return np.asarray(np.clip(np.where(mu > _NOTHING, apart, equal), 0.0, 1.0))


def beforehand(  # noqa: PLR0913, PLR0917 - the parts of one loss
    weight_at: Sequence[tuple[Numbers, Numbers]],
    cells: int,
    scale: float,
    second: float,
    delta: float,
    strays: float = 0.0,
) -> float:
    """A record's ε before the first counts are known, both for coming and for going.

    Noise of the scale on its `cells` counts tells it apart by L; what comes after, by a normal law
    that is w `second` wide. δ(ε) = E δ_G(w μ₂; ε - L), where w depends on the noise. The part of
    the noise along the record's own cells is integrated; `weight_at` gives, for draws of the rest,
    the weight by how far all its counts are moved together. Whatever its weight, counts of `strays`
    add so much to the square of that width.
    """
    steps = np.arange(-_REACH, _REACH + _FINE / 2, _FINE)
    chance = np.exp(-(steps**2) / 2)
    chance /= chance.sum()
    first = np.sqrt(cells) / scale
    found = 0.0
    # The record is there and its counts are right; or it is not, and they lack one.
    for sign, short in ((1.0, 0.0), (-1.0, 1.0)):
        apart = sign * first * steps + first**2 / 2
        moved = scale * steps / np.sqrt(cells) - short
        own = np.array([np.interp(moved, at, weight) for at, weight in weight_at])

        def exceeds(epsilon: float, own: Numbers = own, apart: Numbers = apart) -> bool:
            return (
                float(
                    (
                        gaussian_delta(np.sqrt((own * second) ** 2 + strays), epsilon - apart)
                        @ chance
                    ).mean()
                )
                > delta
            )

        low, high = 0.0, 1.0
        while exceeds(high):
            high *= 2
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if exceeds(middle) else (low, middle)
        found = max(found, high)
    return found


@dataclass(frozen=True, eq=False)
class Estimator:
    """What one record loses beforehand, and given weights, both by normal laws."""

    recipe: RiskWeights
    capped: int | None
    conditional: bool
    """Whether conditions cap records: whoever meets one scores at the last threshold or above."""
    counts: dict[str, Numbers]
    scale: float
    second: float
    """How far a record of full weight stands out by what weighs rows."""
    delta: float
    weights: RowWeights
    hidden: Mapping[str, int]
    """By column, the code of values that have no other."""
    strays: float = 0.0
    """How far any record stands out by the count of strays, squared."""

    def losses(self, row: Mapping[str, int], rng: np.random.Generator) -> tuple[float, float]:
        """Given the released counts, and beforehand."""
        code = {name: np.array([code]) for name, code in row.items()}
        weights = self.weights
        own = float(weights.of_rows(code)[0]) / UNIT
        ends = np.array([-1.0, 1.0])
        fixed = [(ends, np.full(2, own))]
        given = _normal_epsilon(
            np.sqrt(len(row) / self.scale**2 + self.strays + (own * self.second) ** 2),
            self.delta,
        )
        if self.conditional and weights.scores(code)[0] >= weights.thresholds[-1]:
            fixed = [(ends, np.full(2, weights.weights[-1] / UNIT))]
            return given, beforehand(
                fixed, len(row), self.scale, self.second, self.delta, self.strays
            )
        drawn = [self._drawn(row, rng) for _ in range(_DRAWS)]
        return given, beforehand(drawn, len(row), self.scale, self.second, self.delta, self.strays)

    def _drawn(self, row: Mapping[str, int], rng: np.random.Generator) -> tuple[Numbers, Numbers]:
        """Counts drawn anew: the record's weight, by how far its own cells are moved together.

        The threshold stays where this draw puts it: one record's cells hardly move it.
        """
        noisy = {n: c + rng.normal(0.0, self.scale, len(c)) for n, c in self.counts.items()}
        _, steps = steps_by(
            self.recipe, rarity_by(self._known(noisy), hidden=self.hidden).law, self.capped
        )
        starts = sorted(steps)
        off = np.mean([noisy[name][code] - self.counts[name][code] for name, code in row.items()])
        moves = np.linspace(-_REACH, _REACH, _COARSE) * self.scale / np.sqrt(len(row))
        found = []
        for move in moves:
            moved = {name: values.copy() for name, values in noisy.items()}
            for name, code in row.items():
                moved[name][code] += move - off
            shares = shares_by(self._known(moved))
            score = sum(scores_by(*shares[name])[code] for name, code in row.items())
            at = int(np.searchsorted(starts, score, "right")) - 1
            found.append(steps[starts[at]] / UNIT)
        return moves, np.array(found)

    def _known(self, counts: Mapping[str, Numbers]) -> list[Measurement]:
        return [Measurement((name,), values, self.scale) for name, values in counts.items()]


def _normal_epsilon(mu: float, delta: float) -> float:
    low, high = 0.0, 1.0
    while gaussian_delta(mu, high) > delta:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(mu, middle) > delta else (low, middle)
    return high


def estimator_of(
    certificate: Certificate, encoding: Encoding, second: Fraction | float, real: Codes
) -> Estimator | str:
    """What estimates losses beforehand; or why nothing does."""
    entries = certificate.entries
    full = [entry for entry in entries if "weights" not in entry.request]
    first = [entry for entry in full if "strays" not in entry.request]
    curve, protection = certificate.public[CURVE], certificate.public[PROTECTION]
    weights = weights_told(curve)
    names = list(weights.columns)
    event = first[0].event if len(first) == 1 else None
    every = sorted([name] for name in names)
    if not isinstance(event, Gaussian) or sorted(first[0].request.get("cliques", [])) != every:
        return (
            "Losses beforehand are estimated where all single columns were counted at once, and "
            "nothing had to be found out."
        )
    told = protection["risk"]
    recipe = RiskWeights(gamma=0.0) if told is None else RiskWeights(**told)
    counts = {
        name: np.bincount(real[name], minlength=encoding.domain.sizes[name]).astype(np.float64)
        for name in names
    }
    return Estimator(
        recipe,
        curve["capped"] if told is not None else None,
        bool(protection["where"]),
        counts,
        event.scale,
        float(np.sqrt(2 * float(second))),
        certificate.budget.converting,
        weights,
        encoding.hidden,
        float(
            sum(2 * cost(one.event, certificate.budget.order) for one in full if one not in first)
        ),
    )
