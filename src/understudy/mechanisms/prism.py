"""The task decides where the budget goes: PRISM, after Asiaee, Yan, Abrams and Malin.

Built on zero-concentrated privacy and proven scores, where the paper adds up ε and ranks by χ²/n,
whose sensitivity is 1 and not of the order 1/n: docs/proofs/allocation.md, docs/proofs/scores.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar

from understudy.allocate import Allocation
from understudy.errors import BadInput, UnknownColumn, listed
from understudy.knowledge import Allowed, anything
from understudy.mechanisms.api import Model
from understudy.mechanisms.parameters import check_number, check_whole
from understudy.mechanisms.prism_naive_bayes import naive_bayes
from understudy.mechanisms.prism_remarks import left_out, remarks
from understudy.mechanisms.prism_steps import (
    BACKGROUND,
    Wide,
    bought,
    loose_pairs,
    task_pairs,
    triples_of,
    wide_tables,
)
from understudy.model.estimate import MODEL_BYTES, Stopping, check_bytes
from understudy.model.merged import MergedModel
from understudy.model.product import ProductModel
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.select.rare import Columns
from understudy.select.regimes import REGIMES, Predictive, Regime
from understudy.select.room import Room
from understudy.select.tree import private_forest
from understudy.separation import Separation
from understudy.workload import Weights

_INTERACTIONS = Fraction(5, 100)
"""Of the budget: choosing triples."""
_SINGLE = Fraction(3, 4)
"""Of the background: single columns, which everything else is compared with."""
_CHOOSING = Fraction(1, 3)
"""Of what the background has for pairs."""
_WIDE = Fraction(1, 2)
"""Of the task's budget: triples, or all features together."""
_DUST = Fraction(1, 10**6)
"""Of the budget: less than this would buy nothing but noise."""
_LAST = Stopping(relative=1e-3, iterations=300)
"""On Adult, 200 more gain half a per cent of the loss, far below its noise."""


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

    def check_independences(
        self, allowed: Separation, names: Sequence[str], target: str | None
    ) -> None:
        """Refuse causes and blankets that tie what shall be independent."""
        del names
        stated = [
            (feature, name)
            for name in self.targets(target)
            for feature in self.regime_of(name).known_features(name) or ()
        ]
        if not allowed(stated):
            told = listed(f"{name} from {feature}" for feature, name in stated)
            msg = (
                f"It was stated to learn {told}: together, a stated independence does not allow "
                "that. Leave out the columns that it keeps apart, or the independence; or state "
                "no causes, and features are chosen that keep it."
            )
            raise BadInput(msg)

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
            return ProductModel.of(domain, [*known, *bought(self, ledger, ones, whole)])
        if self.backend is Backend.NAIVE_BAYES:
            return naive_bayes(self, ledger, known, allowed)
        background, choosing = whole * BACKGROUND, whole * _INTERACTIONS
        task = whole - background - choosing
        # MEASURE: single columns
        alone = [*known, *bought(self, ledger, ones, background * _SINGLE)]
        background *= 1 - _SINGLE
        columns = Columns.of(domain, alone, rarity=self.rarity, hidden=ledger.encoding.hidden)
        room = Room(ledger, ledger.merged(columns.groups), columns, allowed, self.model_bytes)
        # SELECT: the features of each target
        features, pairs, spent = task_pairs(self, room, targets, whole, task)
        task -= spent
        edges = loose_pairs(self, room, targets, list(pairs))
        if not edges:
            task, background = task + background, Fraction(0)
        if not pairs:  # none is allowed, or none has room
            background, task, choosing = background + task + choosing, Fraction(0), Fraction(0)
        if not (edges or pairs):
            alone += bought(self, ledger, ones, ledger.rest())
            return ProductModel.of(domain, alone)
        # MEASURE: pairs with the target
        plan = wide_tables(self, room, features, pairs, task * _WIDE) if pairs else Wide()
        if not plan.triples:
            task, choosing = task + choosing, Fraction(0)
        wide = task * _WIDE if plan.joints or plan.triples else Fraction(0)
        measured_pairs = bought(self, room.merged, pairs, task - wide)
        # SELECT and MEASURE: what they do not explain
        weights = dict(plan.joints)
        if plan.triples:
            known_pairs = [*columns.measurements, *measured_pairs]
            weights |= triples_of(self, room, known_pairs, plan, choosing=choosing, wide=wide)
        measured_wide = bought(self, room.merged, weights, wide)
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
        # All that is left: also what choices did not need; but not what rounding leaves.
        left = ledger.rest()
        last = tree or (pairs if left > whole * _DUST else {})
        measured_tree = bought(self, room.merged, last, left)
        # FIT
        rest = [*measured_pairs, *measured_wide, *measured_tree]
        fitted = room.fitted([*columns.measurements, *rest], _LAST)
        shares = {name: columns.shares(name) for name in columns.groups}
        return MergedModel(fitted, shares, (*alone, *rest))

    @property
    def graphical(self) -> bool:
        """Whether a graphical model is fitted."""
        return self.backend is Backend.GRAPHICAL

    def remarks(self, model: Model, target: str | None) -> tuple[str, ...]:
        """What a person should know: what was left out, and what the measurements contradict."""
        return remarks(self, model, target)

    def left_out(self, model: Model, target: str | None) -> tuple[str, ...]:
        """Features that were not measured all together: too large a table, or lost in noise."""
        return left_out(self, model, target)
