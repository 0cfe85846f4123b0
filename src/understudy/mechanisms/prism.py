"""The task decides where the budget goes: PRISM, after Asiaee, Yan, Abrams and Malin.

Built on zero-concentrated privacy and proven scores, where the paper adds up ε and ranks by χ²/n,
whose sensitivity is 1 and not of the order 1/n: docs/proofs/allocation.md, docs/proofs/scores.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from itertools import combinations
from math import inf
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.allocate import Allocation, measured, selection_cost
from understudy.domain import Clique, Domain
from understudy.errors import BadInput, UnknownColumn, listed
from understudy.knowledge import Allowed, anything
from understudy.mechanisms.api import Model
from understudy.mechanisms.parameters import check_number, check_whole
from understudy.model.bayes_net import BayesNet, Family
from understudy.model.estimate import (
    BYTES_PER_CELL,
    MODEL_BYTES,
    Stopping,
    check_bytes,
    estimate,
    needed_bytes,
)
from understudy.model.graphical import GraphicalModel
from understudy.model.merged import MergedModel
from understudy.model.product import ProductModel
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.privacy.scores import L1Distance
from understudy.select.adaptive import with_room
from understudy.select.contradicted import contradictions
from understudy.select.features import FeatureSearch
from understudy.select.interactions import affordable, strongest_interactions, useful_cells
from understudy.select.rare import Columns, from_independent
from understudy.select.regimes import Predictive, Regime
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
    """Whether pairs and triples are weighed by noisy scores, which cost half of a choice."""
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
        if self.backend is Backend.NAIVE_BAYES and self.also.entries:
            msg = "Naive Bayes predicts one target; leave out the others, or the back-end."
            raise BadInput(msg)

    def check(self, names: Sequence[str], target: str | None) -> None:
        """Refuse what the columns do not allow; decided by public facts."""
        weights = self.targets(target)
        for name in weights:
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
        naive = self.backend is Backend.NAIVE_BAYES
        background, choosing = whole * _BACKGROUND, whole * _INTERACTIONS
        task = whole - background - choosing
        # MEASURE: single columns
        single = background if naive else background * _SINGLE
        if len(ones) == 1:  # there is nothing to predict it from
            return ProductModel.of(domain, [*known, *_measured(self, ledger, ones, whole)])
        background -= single
        alone = [*known, *_measured(self, ledger, ones, single)]
        columns = Columns.of(domain, alone, rarity=-inf if naive else self.rarity)
        table = _Table(ledger, ledger.merged(columns.groups), columns, allowed, self.model_bytes)
        # SELECT: the features of each target
        features: dict[str, Sequence[str]] = {}
        pairs: dict[Clique, float] = {}
        for target, weight in targets.items():
            search = FeatureSearch(
                ledger,
                table.merged,
                columns,
                target,
                table.candidates(target),
                scale=ledger.measure_event(ones, rho=task).scale,
                rho=whole * Fraction(self.regime_of(target).share) / len(targets),
            )
            found, spent = _features(self, search)
            features[target] = list(found)
            task -= spent
            for name in found:
                pair = search.pair(name)
                if table.fits(pair, list(pairs)):
                    pairs[pair] = max(pairs.get(pair, 0.0), weight * found[name])
        edges = [] if naive else _background(self, table, targets, list(pairs))
        if not edges:
            task, background = task + background, Fraction(0)
        # MEASURE: pairs with the target
        plan = _Wide() if naive else _wide(self, table, features, list(pairs), task * _WIDE)
        if not plan.triples:
            task, choosing = task + choosing, Fraction(0)
        wide = task * _WIDE if plan.joints or plan.triples else Fraction(0)
        measured_pairs = _measured(self, table.merged, pairs, task - wide)
        # SELECT and MEASURE: what they do not explain
        weights = {joint: float(len(joint) - 1) for joint in plan.joints}
        if plan.triples:
            known_pairs = [*columns.measurements, *measured_pairs]
            weights |= _triples(self, table, known_pairs, plan, choosing=choosing, wide=wide)
        measured_wide = _measured(self, table.merged, weights, wide)
        # SELECT and MEASURE: a tree that ties the other columns
        begun = [*pairs, *weights]
        tree = (
            private_forest(
                table.merged,
                edges,
                rho=background * _CHOOSING,
                allowed=allowed,
                most_cells=table.cells_left(begun),
                begun=begun,
            )
            if edges
            else []
        )
        measured_tree = _measured(self, table.merged, tree, background * (1 - _CHOOSING))
        # FIT
        rest = [*measured_pairs, *measured_wide, *measured_tree]
        if naive:
            return _naive_bayes(domain, targets, features, [*alone, *rest])
        fitted = table.fitted([*columns.measurements, *rest], _LAST)
        shares = {name: columns.shares(name) for name in columns.groups}
        return MergedModel(fitted, shares, (*alone, *rest))

    def remarks(self, model: Model, target: str | None) -> tuple[str, ...]:
        """What a person should know: what was left out, and what the measurements contradict."""
        targets = self.targets(target)
        told = [one.clique for one in model.measurements]
        found = []
        for name in targets:
            near = dict.fromkeys(n for clique in told if name in clique for n in clique)
            together = model.domain.canonical(tuple(near)) if near else ()
            if len(together) > _PAIR and not any({*together} <= {*clique} for clique in told):
                found.append(
                    f"The {len(together) - 1} columns that were measured with {name} are too many "
                    f"to be measured all together ({model.domain.size(together):,} cells): what "
                    "several of them do together is known from pairs and triples alone."
                )
            found += contradictions(model.measurements, self.regime_of(name), name)
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class _Wide:
    """What to measure beyond pairs."""

    joints: Sequence[Clique] = ()
    """Targets with all of their features."""
    triples: Sequence[Clique] = ()
    """Two features and their target, to choose from."""
    number: int = 0
    """How many to choose."""


@dataclass(frozen=True, eq=False)
class _Table:
    """What is known of the columns, and which marginals can be counted and modelled."""

    ledger: Ledger
    merged: Ledger
    """The same, rare codes counted together."""
    columns: Columns
    allowed: Allowed
    model_bytes: int

    def candidates(self, target: str) -> tuple[str, ...]:
        """Columns that can be measured together with the target."""
        domain = self.ledger.domain
        return tuple(
            name
            for name in domain.names
            if name != target and self.fits(domain.canonical((name, target)), ())
        )

    def fits(self, clique: Clique, others: Sequence[Clique]) -> bool:
        """Whether a marginal can be measured besides others."""
        countable = self.ledger.domain.size(clique) <= self.ledger.most_cells
        return countable and bool(
            with_room(
                self.merged,
                [clique],
                [*self.ones, *others],
                model_bytes=self.model_bytes,
                allowed=self.allowed,
            )
        )

    def cells_left(self, others: Sequence[Clique]) -> float:
        """How many cells marginals that close no cycle may have."""
        taken = needed_bytes(self.merged.domain, [*self.ones, *others])
        return (self.model_bytes - taken) / BYTES_PER_CELL

    def fitted(self, measurements: Sequence[Measurement], stop: Stopping) -> GraphicalModel:
        """The model that fits them best."""
        domain = self.merged.domain
        return estimate(domain, measurements, stop=stop, most_bytes=self.model_bytes).model

    @property
    def ones(self) -> list[Clique]:
        """All single columns."""
        return [(name,) for name in self.merged.domain.names]


def _measured(
    recipe: Prism,
    ledger: Ledger,
    marginals: Mapping[Clique, float] | Sequence[Clique],
    rho: Fraction,
) -> list[Measurement]:
    return measured(ledger, marginals, rho=rho, allocation=recipe.allocation)


def _features(recipe: Prism, search: FeatureSearch) -> tuple[dict[str, float], Fraction]:
    """Features with their weights, and what finding them took of the budget."""
    before = search.ledger.rest()
    scoring = search.rho * _SCORING if recipe.weighted else Fraction(0)
    asked = replace(search, rho=search.rho - scoring)
    names = recipe.regime_of(search.target).features(asked, recipe.allocation)
    spent = search.ledger.rest() < before
    weights = [1.0] * len(names)
    if spent and scoring:
        scores = search.merged.scores([search.association(n) for n in names], rho=scoring)
        weights = _as_weights(scores.values)
    found = {n: w * recipe.importance[n] for n, w in zip(names, weights, strict=True)}
    return found, search.rho if spent else Fraction(0)


def _wide(
    recipe: Prism,
    table: _Table,
    features: Mapping[str, Sequence[str]],
    pairs: Sequence[Clique],
    rho: Fraction,
) -> _Wide:
    """Targets with all of their features, where that is small; else triples to choose from."""
    ledger, domain, rows = table.merged, table.merged.domain, table.columns.total
    most = useful_cells(ledger, rows, rho / len(features), recipe.usefulness)
    joints: list[Clique] = []
    triples: dict[Clique, int] = {}
    for target, names in features.items():
        joint = domain.canonical((*names, target))
        small = len(joint) > _PAIR and domain.size(joint) <= min(recipe.joint_cells, most)
        if small and table.fits(joint, [*pairs, *joints]):
            joints.append(joint)
            continue
        for two in combinations(names, 2):
            triple = domain.canonical((*two, target))
            if table.fits(triple, [*pairs, *joints]):
                triples[triple] = domain.size(triple)
    left = rho * (len(features) - len(joints)) / len(features)
    number = affordable(
        list(triples.values()),
        lambda tables: useful_cells(ledger, rows, left / tables, recipe.usefulness),
        most=recipe.triples,
    )
    cells = useful_cells(ledger, rows, left / number, recipe.usefulness) if number else 0
    return _Wide(joints, [t for t, size in triples.items() if size <= cells], number)


def _triples(  # noqa: PLR0913 - the last two by name
    recipe: Prism,
    table: _Table,
    known: Sequence[Measurement],
    plan: _Wide,
    *,
    choosing: Fraction,
    wide: Fraction,
) -> dict[Clique, float]:
    """Triples that pairs do not explain, with weights; `wide` is for measuring them."""
    merged, begun = table.merged, [*plan.joints, *(one.clique for one in known)]
    scoring = choosing * _SCORING if recipe.weighted else Fraction(0)
    chosen = strongest_interactions(
        merged,
        table.fitted(known, _BEFORE),
        plan.triples,
        number=plan.number,
        each=selection_cost(merged.budget, choosing - scoring, plan.number, recipe.allocation),
        scale=merged.measure_event([()], rho=wide / plan.number).scale,
        fits=lambda clique, taken: table.fits(clique, [*begun, *taken]),
    )
    weights = [1.0] * len(chosen)
    if scoring and chosen:
        weights = _as_weights(merged.scores(chosen, rho=scoring).values)
    return {one.clique: weight for one, weight in zip(chosen, weights, strict=True)}


def _background(
    recipe: Prism, table: _Table, targets: Mapping[str, float], pairs: Sequence[Clique]
) -> list[L1Distance]:
    """Pairs that could tie columns which the task does not tie.

    Where somebody has said what a target depends on, nothing else is tied to it.
    """
    names = table.merged.domain.names
    part = tied(names, pairs)
    closed = {target for target in targets if recipe.regime_of(target).bounded}
    return [
        from_independent(table.columns, pair)
        for pair in combinations(names, 2)
        if part[pair[0]] != part[pair[1]] and not closed & {*pair} and table.fits(pair, pairs)
    ]


def _as_weights(scores: NDArray[np.float64]) -> list[float]:
    """Noisy scores as weights of 1 on average; none falls below a hundredth."""
    positive = np.maximum(scores, 0.0)
    mean = positive.mean()
    weights = positive / mean if mean > 0 else np.ones_like(positive)
    return [float(weight) for weight in np.maximum(weights, _LEAST_WEIGHT)]


def _naive_bayes(
    domain: Domain,
    targets: Mapping[str, float],
    features: Mapping[str, Sequence[str]],
    measurements: Sequence[Measurement],
) -> BayesNet:
    """The features independent given the target, all others by themselves."""
    (target,) = targets
    told = {one.clique for one in measurements}
    families = [Family(target)]
    for name in domain.names:
        if name != target:
            tied_to = name in features[target] and domain.canonical((name, target)) in told
            families.append(Family(name, (target,) if tied_to else ()))
    return BayesNet.of(domain, families, measurements)
