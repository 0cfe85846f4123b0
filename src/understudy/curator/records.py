"""What each record lost, where some count less: for the curator alone.

A record's loss follows from its values, so it is as private as they are. Given the released
counts, a record of weight w has lost ρ₁ + w² ρ₂: that is no promise, for the weight came of counts
in which the record was itself. What it loses before anybody knows these counts is estimated for a
few records, by drawing counts anew (docs/proofs/weights.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.curator.beforehand import Codes, Estimator, Numbers, estimator_of
from understudy.curator.decile_losses import DecileLoss, by_decile
from understudy.curator.deciles import DECILES, Tenths, deciles, deciles_by_distance
from understudy.curator.group_task import GroupTask
from understudy.curator.rare_groups import RareGroup, rare_groups
from understudy.curator.result import Direction, Result, share
from understudy.curator.tables import REAL, TEST, Tables
from understudy.encode import Encoding
from understudy.privacy.caps import cost_for
from understudy.privacy.certificate import Certificate
from understudy.privacy.weights import UNIT
from understudy.protection import CURVE, PROTECTION
from understudy.select.rarity import STEPS_PER_NAT
from understudy.select.risk import weights_told

_SAMPLED = 2
"""So many records of some deciles have their loss estimated."""
_SAMPLED_DECILES = (1, 5, 10)
_MOST_PLACED = 5000
"""So many records are placed by their distance to the nearest of as many others."""


@dataclass(frozen=True)
class SampledLoss:
    """One record's loss given the released counts, and before anybody knew them."""

    decile: int
    given_counts: float
    beforehand: float


@dataclass(frozen=True)
class RecordLosses:
    """Losses of the real rows, each given the released counts, as ε."""

    uniform: float
    """Of everybody, if all counted fully."""
    scoring: float
    """Of everybody, before anybody counted less."""
    cap: float | None
    largest: float
    median: float
    gini: float
    """How unevenly they lose: 0 all the same, 1 one of them everything."""
    within_cap: Result | None
    """The share of protected records that kept within the cap."""
    deciles: tuple[DecileLoss, ...]
    """By the release's own score of how rare values are."""
    by_distance: tuple[DecileLoss, ...]
    """By how far records are from the nearest of others, which no score of ours goes into."""
    far_lighter: Result
    """Of the farthest tenth, the share that counts less."""
    sampled: tuple[SampledLoss, ...]
    groups: tuple[RareGroup, ...]
    notes: tuple[str, ...] = ()


class Paid:
    """What a certificate's requests cost a record of some weight."""

    def __init__(self, certificate: Certificate) -> None:
        self._certificate, self._budget = certificate, certificate.budget
        self._entries = [
            (entry.event, entry.request.get("weights", {}).get("most"))
            for entry in certificate.entries
        ]

    def cost(self, weight: int, *, weighted: bool | None = None) -> Fraction | float:
        """Of all requests, or of those that did or did not weigh rows."""
        total: Fraction | float = Fraction(0)
        for event, most in self._entries:
            if weighted is None or weighted == (most is not None):
                own = (UNIT, UNIT) if most is None else (min(weight, most), most)
                total += cost_for(event, self._budget.order, *own)
        return total

    def epsilon(self, cost: Fraction | float) -> float:
        """A cost as an ε."""
        return self._certificate.epsilon_of(cost)


def judge(  # noqa: PLR0913, PLR0917 - what is compared
    certificate: Certificate,
    encoding: Encoding,
    codes: Mapping[str, Codes],
    tables: Tables,
    task: GroupTask | None,
    rng: np.random.Generator,
) -> RecordLosses | None:
    """What real rows lost; None where everybody counts fully.

    `codes` and `tables` are the same rows, in the release's own cells and as they are compared.
    """
    curve = certificate.public.get(CURVE)
    if curve is None:
        return None
    weights = weights_told(curve)
    real, test = codes[REAL], codes.get(TEST)
    paid, notes = Paid(certificate), []
    scores, own = weights.scores(real), weights.of_rows(real)
    losses = {weight: paid.epsilon(paid.cost(int(weight))) for weight in np.unique(own)}
    lost = np.array([losses[weight] for weight in own])
    # Where a decile ends is read off rows that are not judged.
    guide = np.zeros(len(own), bool)
    if test is None:
        guide[rng.permutation(len(own))[: len(own) // 2]] = True
        edges_from = scores[guide]
        notes.append("Deciles end where half of the real rows say; the other half is told.")
    else:
        edges_from = weights.scores(test)
    tenths = deciles(scores, edges_from)
    told = ~guide
    # Scores of those that a condition names are moved up, which says nothing of how rare they are.
    limit = round(curve["threshold"] * STEPS_PER_NAT)
    protection = certificate.public[PROTECTION]
    cap = protection["epsilon"]
    light = own < weights.most
    estimator = estimator_of(certificate, encoding, paid.cost(UNIT, weighted=True), real)
    if isinstance(estimator, str):
        notes.append(estimator)
        sampled: tuple[SampledLoss, ...] = ()
    else:
        sampled = tuple(_sample(estimator, real, tenths, told, rng))
    by_distance, far_lighter = _by_distance(tables, guide, lost, light, rng)
    return RecordLosses(
        uniform=paid.epsilon(paid.cost(UNIT)),
        scoring=paid.epsilon(paid.cost(UNIT, weighted=False)),
        cap=cap,
        largest=float(np.max(lost)) if len(lost) else 0.0,
        median=float(np.median(lost)) if len(lost) else 0.0,
        gini=gini(lost),
        within_cap=None if cap is None else _within(lost[scores > limit], cap),
        deciles=by_decile(tenths[told], lost[told], light[told]),
        by_distance=by_distance,
        far_lighter=far_lighter,
        sampled=sampled,
        groups=tuple(rare_groups(weights, limit, encoding, codes, task, rng)),
        notes=tuple(notes),
    )


def gini(numbers: Numbers) -> float:
    """How unevenly numbers are spread.

    >>> gini(np.array([1.0, 1.0])), gini(np.array([0.0, 0.0, 0.0, 4.0]))
    (0.0, 0.75)
    """
    total, count = float(numbers.sum()), len(numbers)
    if not total:
        return 0.0
    ranked = np.arange(1, count + 1) @ np.sort(numbers)
    return max(0.0, 2 * float(ranked) / (count * total) - (count + 1) / count)


def _sample(
    estimator: Estimator,
    real: Codes,
    tenths: Tenths,
    told: NDArray[np.bool_],
    rng: np.random.Generator,
) -> list[SampledLoss]:
    found = []
    for decile in _SAMPLED_DECILES:
        places = np.flatnonzero(told & (tenths == decile))
        for place in rng.permutation(places)[:_SAMPLED]:
            row = {name: int(real[name][place]) for name in estimator.counts}
            found.append(SampledLoss(decile, *estimator.losses(row, rng)))
    return found


def _by_distance(
    tables: Tables,
    guide: NDArray[np.bool_],
    lost: Numbers,
    light: NDArray[np.bool_],
    rng: np.random.Generator,
) -> tuple[tuple[DecileLoss, ...], Result]:
    """Losses by how far real rows are from others, and who of the farthest counts less."""
    others = tables.real.take(guide) if tables.test is None else tables.test
    placed = rng.permutation(np.flatnonzero(~guide))[:_MOST_PLACED]
    far = deciles_by_distance(tables, others, tables.real.take(placed), _MOST_PLACED, rng)
    farthest = light[placed][far == DECILES]
    known = min(others.count, _MOST_PLACED)
    read = f"{len(far):,} real rows, by their distance to the nearest of {known:,} others"
    name = "records of the farthest tenth that count less"
    lighter = share(name, int(farthest.sum()), len(farthest), Direction.HIGHER, read)
    return by_decile(far, lost[placed], light[placed]), lighter


def _within(lost: Numbers, cap: float) -> Result:
    within = int((lost <= cap * (1 + 1e-9)).sum())
    read = f"{len(lost):,} real rows beyond the threshold, or named by a condition"
    name = "protected records within the cap, given the released counts"
    return share(name, within, len(lost), Direction.HIGHER, read)
