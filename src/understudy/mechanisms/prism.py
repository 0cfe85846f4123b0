"""The task decides where the budget goes: PRISM, after Asiaee, Yan, Abrams and Malin.

Built on zero-concentrated privacy and proven scores, where the paper adds up ε and ranks by χ²/n,
whose sensitivity is 1 and not of the order 1/n: docs/proofs/allocation.md, docs/proofs/scores.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from itertools import combinations
from math import inf, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.allocate import Allocation, measured, selection_cost
from understudy.domain import Clique
from understudy.errors import BadInput, UnknownColumn, listed
from understudy.knowledge import Allowed, anything
from understudy.mechanisms.api import Model
from understudy.mechanisms.parameters import check_number, check_whole
from understudy.model.bayes_net import BayesNet, Family
from understudy.model.counts import combined
from understudy.model.estimate import (
    MODEL_BYTES,
    Stopping,
    check_bytes,
)
from understudy.model.merged import MergedModel
from understudy.model.product import ProductModel
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.privacy.scores import L1Distance
from understudy.select.contradicted import Margin, contradictions
from understudy.select.features import FeatureSearch
from understudy.select.interactions import affordable, strongest_interactions, useful_cells
from understudy.select.rare import Columns, from_independent
from understudy.select.regimes import REGIMES, Predictive, Regime
from understudy.select.room import Room
from understudy.select.tree import private_forest, tied
from understudy.workload import Weights

_INTERACTIONS = Fraction(5, 100)
_BACKGROUND = Fraction(20, 100)
"""Of the budget; the task has the rest, less what the regime needs to find features."""
_SINGLE = Fraction(3, 4)
"""Of the background: single columns, which everything else is compared with."""
_CHOOSING = Fraction(1, 3)
"""Of what the background has for pairs."""
_WIDE = Fraction(1, 2)
"""Of the task's budget: triples, or all features together."""
_SCORING = Fraction(1, 2)
"""Of a choice's budget: noisy scores, where marginals are weighed by them."""
_LEAST_WEIGHT = 0.01
_PAIR = 2
_BEFORE = Stopping(relative=5e-3, iterations=60)
_LAST = Stopping(relative=1e-3, iterations=500)


class Backend(StrEnum):
    """What is fitted to the answers."""

    GRAPHICAL = "graphical"
    """The graphical model that fits all of them best."""
    NAIVE_BAYES = "naive-bayes"
    """Features that are independent given the target; all other columns by themselves."""


@dataclass(frozen=True)
class Prism:
    """Marginals with the target first, and noise where it hurts the prediction least.

    Single columns, pairs of feature and target, triples of two features and the target, or all
    features together where that is a small table; then a tree that ties the other columns.
    """

    target: str = ""
    """The column to predict; where none is named, the table's target."""
    regime: Regime | Mapping[str, Regime] = field(default_factory=Predictive)
    """How features are found; for several targets perhaps one for each."""
    also: Weights = field(default_factory=Weights)
    """Further targets, with how much each matters beside the first."""
    importance: Weights = field(default_factory=Weights)
    """Public weights of features, where some matter more."""
    weighted: bool = False
    """Whether triples, and pairs of features that were chosen, are weighed by noisy scores.

    These cost half of what the choice would have.
    """
    allocation: Allocation = Allocation.OPTIMAL
    """How each pool is split over its marginals."""
    backend: Backend = Backend.GRAPHICAL
    triples: int = 20
    """At most so many."""
    joint_cells: int = 5000
    """All features are measured together with the target where that has no more cells."""
    usefulness: float = 4.0
    """A wide table's mean count must be at least so many times its mean noise."""
    rarity: float = 3.0
    """Codes below so many standard deviations of noise are merged."""
    model_bytes: int = MODEL_BYTES
    """What the fitted model may hold in memory at its peak."""

    name: ClassVar[str] = "prism"
    about: ClassVar[str] = "spends most on what predicts the target, and keeps the rest in outline"
    guarantee: ClassVar[str] = "(ε, δ)-differential privacy"
    needs: ClassVar[str] = "a target; causes or a graph, if they are known"

    def __post_init__(self) -> None:
        check_whole("triples", self.triples, least=0)
        check_whole("joint_cells", self.joint_cells, least=0)
        check_number("usefulness", self.usefulness, least=1e-3)
        check_number("rarity", self.rarity, least=0)
        check_whole("model_bytes", self.model_bytes, least=1)
        for name, kind in {
            "also": Weights,
            "importance": Weights,
            "allocation": Allocation,
            "backend": Backend,
        }.items():
            try:
                object.__setattr__(self, name, kind(getattr(self, name)))
            except (ValueError, TypeError):
                known = listed(kind) if issubclass(kind, StrEnum) else "weights by column"
                msg = f"{name} is {getattr(self, name)!r}; give {known}."
                raise BadInput(msg) from None
        regimes = self.regime.values() if isinstance(self.regime, Mapping) else [self.regime]
        if not all(isinstance(one, REGIMES) for one in regimes):
            msg = f"regime is {self.regime!r}; give Causal(…), Graphical(…) or Predictive(…)."
            raise BadInput(msg)
        if self.backend is Backend.NAIVE_BAYES and self.also.entries:
            msg = "Naive Bayes predicts one target; leave out the others, or the back-end."
            raise BadInput(msg)

    def check(self, names: Sequence[str], target: str | None) -> None:
        """Refuse what the columns do not allow; decided by public facts."""
        targets = self.targets(target)
        several = self.regime if isinstance(self.regime, Mapping) else {}
        others = [name for name in several if name not in targets]
        if others:
            msg = f"{listed(others)}: a regime is for a target, and these are none."
            raise BadInput(msg)
        for name in targets:
            if name not in names:
                raise UnknownColumn(name, names)
            self.regime_of(name).check(names, name)
        self.importance.check(tuple(names))

    def targets(self, target: str | None) -> dict[str, float]:
        """The columns to predict, with their weights."""
        first = self.target or target
        if not first:
            msg = "PRISM is made for a column to predict: name it with --target, or as target=."
            raise BadInput(msg)
        if first in self.also:
            msg = f"{first!r} is the target already; name other columns beside it."
            raise BadInput(msg)
        return {first: 1.0, **{name: self.also[name] for name in self.also}}

    def regime_of(self, target: str) -> Regime:
        """How the features of a target are found."""
        if not isinstance(self.regime, Mapping):
            return self.regime
        return self.regime.get(target, Predictive())

    def fit(
        self, ledger: Ledger, known: Sequence[Measurement] = (), allowed: Allowed = anything
    ) -> Model:
        """A model of the ledger's table."""
        domain, whole = ledger.domain, ledger.rest()
        targets = self.targets(ledger.schema.target)
        self.check(domain.names, ledger.schema.target)
        ones = [(name,) for name in domain.names]
        check_bytes(domain, ones, self.model_bytes)
        if len(ones) == 1:  # there is nothing to predict it from
            return ProductModel.of(domain, [*known, *_measured(self, ledger, ones, whole)])
        if self.backend is Backend.NAIVE_BAYES:
            return _naive_bayes(self, ledger, known, allowed)
        background, choosing = whole * _BACKGROUND, whole * _INTERACTIONS
        task = whole - background - choosing
        # MEASURE: single columns
        alone = [*known, *_measured(self, ledger, ones, background * _SINGLE)]
        background *= 1 - _SINGLE
        columns = Columns.of(domain, alone, rarity=self.rarity)
        room = Room(ledger, ledger.merged(columns.groups), columns, allowed, self.model_bytes)
        # SELECT: the features of each target
        features, pairs, spent = _task(self, room, targets, whole, task)
        task -= spent
        edges = _background(self, room, targets, list(pairs))
        if not edges:
            task, background = task + background, Fraction(0)
        if not pairs:  # none is allowed, or none has room
            background, task, choosing = background + task + choosing, Fraction(0), Fraction(0)
        if not (edges or pairs):
            alone += _measured(self, ledger, ones, ledger.rest())
            return ProductModel.of(domain, alone)
        # MEASURE: pairs with the target
        plan = _wide(self, room, features, pairs, task * _WIDE) if pairs else _Wide()
        if not plan.triples:
            task, choosing = task + choosing, Fraction(0)
        wide = task * _WIDE if plan.joints or plan.triples else Fraction(0)
        measured_pairs = _measured(self, room.merged, pairs, task - wide)
        # SELECT and MEASURE: what they do not explain
        weights = dict(plan.joints)
        if plan.triples:
            known_pairs = [*columns.measurements, *measured_pairs]
            weights |= _triples(self, room, known_pairs, plan, choosing=choosing, wide=wide)
        measured_wide = _measured(self, room.merged, weights, wide)
        # SELECT and MEASURE: a tree that ties the other columns
        begun = [*pairs, *weights]
        tree = (
            private_forest(
                room.merged,
                edges,
                rho=background * _CHOOSING,
                allowed=allowed,
                most_cells=room.cells_left(begun),
                begun=begun,
            )
            if edges
            else []
        )
        measured_tree = _measured(self, room.merged, tree, background * (1 - _CHOOSING))
        # FIT
        rest = [*measured_pairs, *measured_wide, *measured_tree]
        fitted = room.fitted([*columns.measurements, *rest], _LAST)
        shares = {name: columns.shares(name) for name in columns.groups}
        return MergedModel(fitted, shares, (*alone, *rest))

    def remarks(self, model: Model, target: str | None) -> tuple[str, ...]:
        """What a person should know: what was left out, and what the measurements contradict."""
        found = [*self.left_out(model, target)]
        margins = _margins(model)
        for name in self.targets(target):
            regime = self.regime_of(name)
            told = {n for one in model.measurements if name in one.clique for n in one.clique}
            if regime.bounded and {*model.domain.names} - told:
                found.append(
                    f"Whether {name} depends on other columns than the stated ones was not looked "
                    "at: what was stated is taken for true. Where that is wrong, models miss what "
                    "the others say; a release in which features are chosen would show it."
                )
            found += contradictions(model.measurements, margins, regime, name)
        return tuple(dict.fromkeys(found))

    def left_out(self, model: Model, target: str | None) -> tuple[str, ...]:
        """Features that were not measured all together: too large a table, or lost in noise."""
        found = []
        sizes: dict[str, int] = {}
        for one in model.measurements:  # those in merged codes come last
            sizes |= zip(one.clique, one.values.shape, strict=True)
        for name in self.targets(target):
            told = [one.clique for one in model.measurements if name in one.clique]
            lost = [
                feature
                for feature in self.regime_of(name).known_features(name) or ()
                if not any(feature in clique for clique in told)
            ]
            if lost:
                found.append(
                    f"{listed(lost)} could not be measured together with {name}, for the table "
                    "would be too large or is not allowed. State fewer categories or bins."
                )
            # Where there are wide tables, pairs may be the tree's as well.
            wide = [clique for clique in told if len(clique) > _PAIR] or told
            together = {n for clique in wide for n in clique}
            cells = prod(sizes[n] for n in together)
            whole = any(together <= {*clique} for clique in told)
            if self.backend is Backend.GRAPHICAL and len(together) > _PAIR and not whole:
                found.append(
                    f"The {len(together) - 1} columns that were measured with {name} are not "
                    f"measured all together: a table of {cells:,} cells is beyond the limits, or "
                    "beyond what stands out of the noise. What several of them do together is "
                    "known from smaller tables alone."
                )
        return tuple(found)


@dataclass(frozen=True)
class _Wide:
    """What to measure beyond pairs."""

    joints: Mapping[Clique, float] = field(default_factory=dict)
    """Targets with all of their features, with weights: of each pair in it, its own."""
    triples: Mapping[Clique, float] = field(default_factory=dict)
    """Two features and their target, to choose from; with the mean weight of their pairs."""
    number: int = 0
    """How many to choose."""


def _measured(
    recipe: Prism,
    ledger: Ledger,
    marginals: Mapping[Clique, float] | Sequence[Clique],
    rho: Fraction,
) -> list[Measurement]:
    return measured(ledger, marginals, rho=rho, allocation=recipe.allocation)


def _task(
    recipe: Prism, room: Room, targets: Mapping[str, float], whole: Fraction, task: Fraction
) -> tuple[dict[str, Sequence[str]], dict[Clique, float], Fraction]:
    """The features of each target, their pairs with weights, and what finding them took."""
    features: dict[str, Sequence[str]] = {}
    pairs: dict[Clique, float] = {}
    taken = Fraction(0)
    for target, weight in targets.items():
        share = Fraction(recipe.regime_of(target).share) / len(targets)
        found, spent = _features(recipe, room, target, whole * share, task)
        features[target] = list(found)
        taken += spent
        for name in found:
            pair = room.ledger.domain.canonical((name, target))
            if room.fits(pair, list(pairs)):
                pairs[pair] = max(pairs.get(pair, 0.0), weight * found[name])
    return features, pairs, taken


def _features(
    recipe: Prism, room: Room, target: str, rho: Fraction, task: Fraction
) -> tuple[dict[str, float], Fraction]:
    """Features with their weights, and what finding them took; `task` is for measuring them."""
    ledger, domain = room.ledger, room.ledger.domain
    before = ledger.rest()
    scoring = rho * _SCORING if recipe.weighted else Fraction(0)
    pairs = {domain.canonical((n, target)): n for n in domain.names if n != target}
    search = FeatureSearch(
        ledger,
        room.merged,
        room.columns,
        target,
        tuple(pairs[pair] for pair in room.fitting(pairs, ())),
        scale=ledger.measure_event([()] * len(domain), rho=task).scale,
        rho=rho - scoring,
    )
    names = recipe.regime_of(target).features(search, recipe.allocation)
    spent = ledger.rest() < before
    weights = [1.0] * len(names)
    if spent and scoring:
        scores = room.merged.scores([search.association(n) for n in names], rho=scoring)
        weights = _as_weights(scores.values)
    found = {n: w * recipe.importance[n] for n, w in zip(names, weights, strict=True)}
    return found, rho if spent else Fraction(0)


def _wide(
    recipe: Prism,
    room: Room,
    features: Mapping[str, Sequence[str]],
    pairs: Mapping[Clique, float],
    rho: Fraction,
) -> _Wide:
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
    return _Wide(joints, fine, number)


def _triples(  # noqa: PLR0913 - the last two by name
    recipe: Prism,
    room: Room,
    known: Sequence[Measurement],
    plan: _Wide,
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


def _background(
    recipe: Prism, room: Room, targets: Mapping[str, float], pairs: Sequence[Clique]
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


def _margins(model: Model) -> dict[str, Margin]:
    """Each column by itself, in the codes that its pairs were counted in, and how sure that is."""
    merged = model if isinstance(model, MergedModel) else None
    found = {}
    for name, size in model.domain.sizes.items():
        told = [one for one in model.measurements if one.clique == (name,)]
        if merged is None or not told:
            # Off the largest table that holds it, where nothing else was measured of it.
            told = told or [one for one in model.measurements if name in one.clique]
            values, variance = combined(_summed(one, name) for one in told)
            found[name] = Margin(np.maximum(values, 0.0), variance)
            continue
        counts = merged.coarse.marginal((name,))
        _, variance = combined(told)
        # Groups keep the codes' order but for the last, which holds all rare ones.
        each = np.full(len(counts), float(np.median(variance)))
        each[-1] *= size - len(counts) + 1
        found[name] = Margin(counts, each)
    return found


def _summed(one: Measurement, name: str) -> Measurement:
    """What a table tells of one of its columns."""
    others = tuple(place for place, other in enumerate(one.clique) if other != name)
    spread = np.broadcast_to(np.square(one.scale), one.values.shape).sum(axis=others)
    return Measurement((name,), one.values.sum(axis=others), np.sqrt(spread))


def _as_weights(scores: NDArray[np.float64]) -> list[float]:
    """Noisy scores as weights of 1 on average; none falls below a hundredth."""
    positive = np.maximum(scores, 0.0)
    mean = positive.mean()
    weights = positive / mean if mean > 0 else np.ones_like(positive)
    return [float(weight) for weight in np.maximum(weights, _LEAST_WEIGHT)]


def _naive_bayes(
    recipe: Prism, ledger: Ledger, known: Sequence[Measurement], allowed: Allowed
) -> BayesNet:
    """As in the paper's experiments: features independent given the target, the rest alone.

    Pairs are all that such a model can use, and a feature in a pair needs no count of its own.
    """
    domain, whole = ledger.domain, ledger.rest()
    (target,) = recipe.targets(ledger.schema.target)
    regime = recipe.regime_of(target)
    stated = regime.known_features(target)
    possible = [
        name
        for name in domain.names
        if name != target
        and domain.size((name, target)) <= ledger.most_cells
        and allowed([domain.canonical((name, target))])
    ]
    # MEASURE: single columns
    paired = {*(stated or ())} & {*possible}
    ones = [(name,) for name in domain.names if name not in paired]
    alone = [*known, *_measured(recipe, ledger, ones, whole * _BACKGROUND)]
    task = whole * (1 - _BACKGROUND)
    # SELECT: the features
    if stated is None:
        columns = Columns.of(domain, alone, rarity=-inf)
        room = Room(ledger, ledger, columns, allowed, recipe.model_bytes)
        share = Fraction(regime.share)
        features, spent = _features(recipe, room, target, whole * share, task)
        task -= spent
    else:
        features = {name: recipe.importance[name] for name in stated if name in paired}
    # MEASURE: pairs with the target
    pairs: dict[Clique, float] = {}
    for name, weight in features.items():
        pair = domain.canonical((name, target))
        if stated is not None or allowed([*pairs, pair]):
            pairs[pair] = weight
    measured_pairs = _measured(recipe, ledger, pairs, task)
    # FIT
    families = [Family(target)]
    for name in domain.names:
        if name != target:
            tied_to = domain.canonical((name, target)) in pairs
            families.append(Family(name, (target,) if tied_to else ()))
    return BayesNet.of(domain, families, [*alone, *measured_pairs])
