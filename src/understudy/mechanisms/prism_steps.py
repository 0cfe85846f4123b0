"""The steps of PRISM: features, their pairs, wider tables, and what ties the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.allocate import measured, selection_cost
from understudy.domain import Clique
from understudy.model.estimate import Stopping
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.privacy.scores import L1Distance
from understudy.select.features import FeatureSearch
from understudy.select.interactions import affordable, strongest_interactions, useful_cells
from understudy.select.rare import from_independent
from understudy.select.room import Room
from understudy.separation import tied

if TYPE_CHECKING:
    from understudy.mechanisms.prism import Prism

BACKGROUND = Fraction(20, 100)
"""Of the budget; the task has the rest, less what the regime needs to find features."""
_SCORING = Fraction(1, 2)
"""Of a choice's budget: noisy scores, where marginals are weighed by them."""
_LEAST_WEIGHT = 0.01
_PAIR = 2
_BEFORE = Stopping(relative=5e-3, iterations=60)


@dataclass(frozen=True)
class Wide:
    """What to measure beyond pairs."""

    joints: Mapping[Clique, float] = field(default_factory=dict)
    """Targets with all of their features, with weights: of each pair in it, its own."""
    triples: Mapping[Clique, float] = field(default_factory=dict)
    """Two features and their target, to choose from; with the mean weight of their pairs."""
    number: int = 0
    """How many to choose."""


def bought(
    recipe: "Prism",
    ledger: Ledger,
    marginals: Mapping[Clique, float] | Sequence[Clique],
    rho: Fraction,
) -> list[Measurement]:
    """Noisy marginals, for a part of the budget."""
    return measured(ledger, marginals, rho=rho, allocation=recipe.allocation)


def task_pairs(
    recipe: "Prism", room: Room, targets: Mapping[str, float], whole: Fraction, task: Fraction
) -> tuple[dict[str, Sequence[str]], dict[Clique, float], Fraction]:
    """The features of each target, their pairs with weights, and what finding them took."""
    features: dict[str, Sequence[str]] = {}
    pairs: dict[Clique, float] = {}
    taken = Fraction(0)
    for target, weight in targets.items():
        share = Fraction(recipe.regime_of(target).share) / len(targets)
        found, spent = features_of(recipe, room, target, whole * share, task, begun=list(pairs))
        features[target] = list(found)
        taken += spent
        for name in found:
            pair = room.ledger.domain.canonical((name, target))
            if room.fits(pair, list(pairs)):
                pairs[pair] = max(pairs.get(pair, 0.0), weight * found[name])
    return features, pairs, taken


def features_of(  # noqa: PLR0913 - the last one by name
    recipe: "Prism",
    room: Room,
    target: str,
    rho: Fraction,
    task: Fraction,
    *,
    begun: Sequence[Clique] = (),
) -> tuple[dict[str, float], Fraction]:
    """Features with their weights, and what finding them took; `task` is for measuring them.

    Marginals that the choice was `begun` with are measured in any case.
    """
    ledger, domain = room.ledger, room.ledger.domain

    def pair(name: str) -> Clique:
        return domain.canonical((name, target))

    def fitting(names: Sequence[str], chosen: Sequence[str]) -> list[str]:
        wanted = {pair(name): name for name in names}
        return [wanted[one] for one in room.fitting(wanted, [*begun, *map(pair, chosen)])]

    before = ledger.rest()
    scoring = rho * _SCORING if recipe.weighted else Fraction(0)
    search = FeatureSearch(
        ledger,
        room.merged,
        room.columns,
        target,
        tuple(fitting([name for name in domain.names if name != target], ())),
        scale=ledger.measure_event([()] * len(domain), rho=task).scale,
        rho=rho - scoring,
        fitting=fitting,
    )
    names = recipe.regime_of(target).features(search, recipe.allocation)
    spent = ledger.rest() < before
    weights = [1.0] * len(names)
    if spent and scoring:
        scores = room.merged.scores([search.association(n) for n in names], rho=scoring)
        weights = _as_weights(scores.values)
    found = {n: w * recipe.importance[n] for n, w in zip(names, weights, strict=True)}
    return found, rho if spent else Fraction(0)


def wide_tables(
    recipe: "Prism",
    room: Room,
    features: Mapping[str, Sequence[str]],
    pairs: Mapping[Clique, float],
    rho: Fraction,
) -> Wide:
    """Targets with all of their features, where that is small; else triples to choose from."""
    ledger, domain, rows = room.merged, room.merged.domain, room.columns.total
    most = useful_cells(ledger, rows, rho / len(features), recipe.usefulness)
    joints: dict[Clique, float] = {}
    triples: dict[Clique, float] = {}
    for target, names in features.items():
        weight = {n: pairs.get(domain.canonical((n, target)), 0.0) for n in names}
        measured_names = [n for n in names if weight[n]]
        joint = domain.canonical((*measured_names, target))
        small = len(joint) > _PAIR and domain.size(joint) <= min(recipe.joint_cells, most)
        if small and room.fits(joint, [*pairs, *joints]):
            joints[joint] = sum(weight.values())
            continue
        twos = {
            domain.canonical((a, b, target)): (weight[a] + weight[b]) / 2
            for a, b in combinations(measured_names, 2)
        }
        for triple in room.fitting(twos, [*pairs, *joints]):
            triples[triple] = max(triples.get(triple, 0.0), twos[triple])
    triples = {clique: weight for clique, weight in triples.items() if clique not in joints}
    left = rho * (len(features) - len(joints)) / len(features)

    def useful(tables: int) -> float:
        return useful_cells(ledger, rows, left / tables, recipe.usefulness)

    sizes = [domain.size(triple) for triple in triples]
    number = affordable(sizes, useful, most=recipe.triples) if left else 0
    cells = useful(number) if number else 0
    fine = {clique: weight for clique, weight in triples.items() if domain.size(clique) <= cells}
    return Wide(joints, fine, number)


def triples_of(  # noqa: PLR0913 - the last two by name
    recipe: "Prism",
    room: Room,
    known: Sequence[Measurement],
    plan: Wide,
    *,
    choosing: Fraction,
    wide: Fraction,
) -> dict[Clique, float]:
    """Triples that pairs do not explain, with weights; `wide` is for measuring them."""
    merged, begun = room.merged, [*plan.joints, *(one.clique for one in known)]
    scoring = choosing * _SCORING if recipe.weighted else Fraction(0)
    chosen = strongest_interactions(
        merged,
        room.fitted(known, _BEFORE),
        plan.triples,
        number=plan.number,
        each=selection_cost(merged.budget, choosing - scoring, plan.number, recipe.allocation),
        scale=merged.measure_event([()], rho=wide / plan.number).scale,
        fitting=lambda cliques, taken: room.fitting(cliques, [*begun, *taken]),
    )
    weights = [1.0] * len(chosen)
    if scoring and chosen:
        weights = _as_weights(merged.scores(chosen, rho=scoring).values)
    return {
        one.clique: weight * plan.triples[one.clique]
        for one, weight in zip(chosen, weights, strict=True)
    }


def loose_pairs(
    recipe: "Prism", room: Room, targets: Mapping[str, float], pairs: Sequence[Clique]
) -> list[L1Distance]:
    """Pairs that could tie columns which the task does not tie.

    Where somebody has said what a target depends on, nothing else is tied to it.
    """
    names = room.merged.domain.names
    part = tied(names, pairs)
    closed = {target for target in targets if recipe.regime_of(target).bounded}
    loose = [
        pair
        for pair in combinations(names, 2)
        if part[pair[0]] != part[pair[1]] and not closed & {*pair}
    ]
    return [from_independent(room.columns, pair) for pair in room.fitting(loose, pairs)]


def _as_weights(scores: NDArray[np.float64]) -> list[float]:
    """Noisy scores as weights of 1 on average; none falls below a hundredth."""
    positive = np.maximum(scores, 0.0)
    mean = positive.mean()
    weights = positive / mean if mean > 0 else np.ones_like(positive)
    return [float(weight) for weight in np.maximum(weights, _LEAST_WEIGHT)]
