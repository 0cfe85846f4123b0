"""The default: rows that are made for their readers' task, and keep every promise at once.

A joint model comes first: columns by themselves, what goes with the target, what ties the rest,
and what all that gets most wrong, within every stated independence (`TargetFirst`; where causes, a
graph or several targets are stated, `Prism`). Its rows teach a model of the task, which costs
nothing. With part of the budget that model is then trained on the private rows, from where it is:
what the joint model had no room for, gradients put right. Labels are drawn by its chances, as
common as in the joint model. Which of this is done is a rule on public numbers: docs/choosing.md.
Without a target, the joint model is all there is.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from understudy.encode.encoding import Cells
from understudy.errors import BadInput, listed
from understudy.knowledge import Allowed, anything
from understudy.mechanisms.api import Decision, Model
from understudy.mechanisms.label_model import LabelModel, for_records
from understudy.mechanisms.labelling import INPUTS, check_split, kept_by, left_out
from understudy.mechanisms.parameters import check_number, check_whole
from understudy.mechanisms.prism import Prism
from understudy.mechanisms.target_first import TargetFirst
from understudy.model.estimate import MODEL_BYTES, check_bytes
from understudy.model.labelled import Features, LabelledModel
from understudy.model.visible import visible
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.select.label_inputs import MOST_CODES, evened, input_tables, kept_inputs
from understudy.select.labels_told import LabelsTold, told_as_classes
from understudy.select.regimes import Predictive, Regime
from understudy.separation import Separation
from understudy.workload import Weights

_SPLIT = 0.5
_TASK_ALONE, _TASK_BESIDE = 0.5, 0.3
"""Of the joint model's budget: the target's pairs; where labels are trained besides, less."""
_COUNTING = Fraction(1, 200)
"""Of the budget: how many rows there are, for the rule to go by."""
_WORTH_TRAINING = 500.0
"""From this reach on, training on private rows teaches more than its part of the budget costs."""
_TWO, _MOST_CLASSES = 2, 20
"""Codes of all columns, and classes: with more, a model of the task takes long, for little."""


class LabelsBy(StrEnum):
    """Where the target's values come from."""

    RULE = "rule"
    """From one of the others, by a rule on public numbers."""
    TRAINED = "trained"
    """From a model of the task that the joint model teaches first, and private rows then."""
    SHOWN = "shown"
    """From a model of the task that only the joint model teaches: it smooths what that says."""
    JOINT = "joint"
    """From the joint model itself."""


HOW_LABELS = {
    LabelsBy.TRAINED: "Labels come from a model of the task that the joint model teaches, "
    "and that a part of the budget then trains on private rows",
    LabelsBy.SHOWN: "Labels come from a model of the task that the joint model teaches, "
    "and the joint model gets all of the budget",
    LabelsBy.JOINT: "Labels come from the joint model itself",
}


@dataclass(frozen=True)
class Tailored:
    """A joint model of all columns, and labels by a model of the task where that does better."""

    target: str = ""
    """The column to predict; where none is named, the table's target."""
    regime: Regime | Mapping[str, Regime] = field(default_factory=Predictive)
    """How features are found, or what is known about them; see `Prism`."""
    also: Weights = field(default_factory=Weights)
    """Further targets, with how much each matters beside the first."""
    labels: LabelsBy = LabelsBy.RULE
    """Where the target's values come from."""
    label_model: LabelModel = field(default_factory=LabelModel)
    split: float = _SPLIT
    """The part of the budget that training gets, where there is some."""
    shown: int = 40_000
    """So many rows of the joint model teach the model of the task."""
    model_bytes: int = MODEL_BYTES
    """What the joint model may hold in memory at its peak."""

    name: ClassVar[str] = "tailored"
    about: ClassVar[str] = "a joint model, and labels by a model of the task: what auto means"
    guarantee: ClassVar[str] = "(ε, δ)-differential privacy"
    needs: ClassVar[str] = "nothing; a target, if there is one"

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "labels", LabelsBy(self.labels))
        except ValueError:
            msg = f"labels is {self.labels}; give one of {listed(LabelsBy)}."
            raise BadInput(msg) from None
        if self.labels not in {LabelsBy.RULE, LabelsBy.JOINT} and self.regimes_stated:
            msg = (
                f"labels={self.labels}: with causes, a graph or further targets, labels come from "
                "the joint model. Leave out one of them."
            )
            raise BadInput(msg)
        check_whole("shown", self.shown, least=1)
        check_number("split", self.split, least=0)
        check_split(self.split)
        _ = self.stated  # refuses what it cannot use

    @property
    def stated(self) -> Prism:
        """What is stated about the target, and how it would be kept."""
        return Prism(self.target, self.regime, self.also, model_bytes=self.model_bytes)

    def joint(self, by: LabelsBy = LabelsBy.JOINT) -> Prism | TargetFirst:
        """How the joint model is made: with less for the task where labels are trained besides."""
        if self.regime != Predictive() or self.also.entries:
            return self.stated
        task = _TASK_BESIDE if by is LabelsBy.TRAINED else _TASK_ALONE
        return TargetFirst(self.target, task, self.model_bytes)

    @property
    def regimes_stated(self) -> bool:
        """Whether somebody said what the target depends on, or that there are several."""
        regimes = self.regime.values() if isinstance(self.regime, Mapping) else [self.regime]
        return bool(self.also.entries) or not all(isinstance(one, Predictive) for one in regimes)

    def check(self, names: Sequence[str], target: str | None) -> None:
        """Refuse what the columns do not allow; decided by public facts."""
        if _target(self, target):
            self.stated.check(names, target)
        elif self.regimes_stated or self.labels is not LabelsBy.RULE:
            msg = (
                "Causes, a graph, further targets and labels are about a column to predict: name "
                "it with --target, or as target=; or leave them out."
            )
            raise BadInput(msg)

    def check_independences(
        self, allowed: Separation, names: Sequence[str], target: str | None
    ) -> None:
        """Refuse causes and blankets that tie what shall be independent."""
        if _target(self, target):
            self.stated.check_independences(allowed, names, target)

    def remarks(self, model: Model, target: str | None) -> tuple[str, ...]:
        """What a person should know: of the joint model, and of what labels go by."""
        target, method = _target(self, target), self.joint()
        said = method.remarks(_joint_of(model), target) if isinstance(method, Prism) else ()
        if isinstance(model, LabelledModel):
            return (*said, *left_out(model, target))
        if target and self.labels not in {LabelsBy.RULE, LabelsBy.JOINT}:
            why = "no model of the task suits it, or what is stated"
            return (*said, f"labels={self.labels}: {target} came from the joint model, for {why}.")
        return said

    def left_out(self, model: Model, target: str | None) -> tuple[str, ...]:
        """Features that were not measured all together: too large a table, or lost in noise."""
        target, method = _target(self, target), self.joint()
        return method.left_out(_joint_of(model), target) if isinstance(method, Prism) else ()

    def decision(
        self,
        ledger: Ledger,
        known: Sequence[Measurement],
        allowed: Allowed,
        rows: float,
        kept: float = 1.0,
    ) -> Decision:
        """What labels would come from with so many rows, and why; nothing is asked.

        Rows count as `kept` of as many, where some of them count less.
        """
        target = _target(self, ledger.schema.target)
        if not target:
            return Decision("joint", "No target is named: the joint model is all there is.")
        stated = _stated(self, ledger, allowed, target)
        if stated is not None:
            by, why = stated
            return Decision(by, f"{HOW_LABELS[by]}: {why}.")
        rho = ledger.rest() * (1 if any(one.clique == () for one in known) else 1 - _COUNTING)
        turns = math.ceil(_WORTH_TRAINING / _reach(self, ledger, rho, kept))
        more, less = (f"{HOW_LABELS[one]}." for one in (LabelsBy.TRAINED, LabelsBy.SHOWN))
        reach = _reach(self, ledger, rho, rows * kept)
        less_each = "" if kept == 1 else f" that count as {rows * kept:,.0f}"
        told = f"The reach of training is {reach:,.0f} with {rows:,.0f} rows{less_each}"
        if reach >= _WORTH_TRAINING:
            why = f"{more} {told}: from {_WORTH_TRAINING:.0f} on, it teaches more than it costs."
            return Decision(
                LabelsBy.TRAINED, why, turns, f"With fewer than {turns:,} rows: {_lower(less)}"
            )
        why = f"{less} {told}: below {_WORTH_TRAINING:.0f}, training costs more than it teaches."
        return Decision(LabelsBy.SHOWN, why, turns, f"From {turns:,} rows on: {_lower(more)}")

    def fit(
        self, ledger: Ledger, known: Sequence[Measurement] = (), allowed: Allowed = anything
    ) -> Model:
        """A model of the ledger's table."""
        target = _target(self, ledger.schema.target)
        self.check(ledger.domain.names, ledger.schema.target)
        check_bytes(ledger.domain, [(name,) for name in ledger.domain.names], self.model_bytes)
        by, known = _labels_by(self, ledger, known, allowed, target)
        if target is None or by is LabelsBy.JOINT:
            return self.joint().fit(ledger, known, allowed)
        if by is LabelsBy.TRAINED:
            self.label_model.check_price(ledger, ledger.rest() * Fraction(self.split))
        # SELECT, MEASURE and FIT: the joint model
        part = ledger.split(1 - self.split)[0] if by is LabelsBy.TRAINED else ledger
        joint = cast("Features", self.joint(by).fit(part, known, allowed))
        # SELECT: what labels may go by
        kept, missing = kept_by(allowed, joint, target, ledger.domain.names, ledger.domain.names)
        if not kept:  # nothing is tied to the target; but what is promised is spent
            _declare(ledger, LabelsBy.JOINT, (), missing)
            if by is LabelsBy.TRAINED:
                ledger.measure([(target,)], rho=ledger.rest())
            return cast("Model", joint)
        # MEASURE and FIT: the model of the task
        rng = np.random.default_rng(0)
        shown = visible(joint, ledger.encoding.hidden).sample(self.shown, rng)
        told = _told(ledger.encoding.cells[target], target, shown[target], joint.total)
        inputs = evened(input_tables(ledger.encoding.cells, kept), shown)
        begun = taught = self.label_model.taught_by(told, inputs, shown, joint.total)
        if by is LabelsBy.TRAINED:
            taught = self.label_model.taught(ledger, told, inputs, joint.total, begun=begun)
        labels = self.label_model.labels(
            told, inputs, taught, shown, rng, hard=False, match=True, balanced=True
        )
        model = LabelledModel(ledger.domain, joint, target, labels)
        # Where there was but noise to learn from, nothing was trained.
        _declare(ledger, LabelsBy.SHOWN if taught is begun else by, model.inputs, missing)
        return model


def _declare(ledger: Ledger, by: LabelsBy, inputs: Sequence[str], missing: Sequence[str]) -> None:
    """List what labels came from and go by in the certificate."""
    ledger.declare(INPUTS, {"columns": [*inputs], "left out": [*missing], "by": str(by)})


def _target(method: Tailored, target: str | None) -> str | None:
    return method.target or target or None


def _joint_of(model: Model) -> Model:
    return cast("Model", model.features) if isinstance(model, LabelledModel) else model


def _told(cells: Cells, target: str, shown: NDArray[np.unsignedinteger], rows: float) -> LabelsTold:
    """How common labels are: pairs with the target tell that as well as its own count."""
    counts = np.bincount(shown, minlength=cells.size).astype(np.float64)
    return LabelsTold.of(cells, target, [Measurement((target,), counts * (rows / len(shown)), 1.0)])


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _unsuited(ledger: Ledger, target: str, allowed: Allowed) -> str:
    """Why no model of the task can tell the target, by public facts alone; empty where one can."""
    cells, sizes = ledger.encoding.cells[target], ledger.domain.sizes
    classes = cells.size - (cells.missing is not None)
    others = [name for name in ledger.domain.names if name != target]
    if classes < _TWO or (told_as_classes(cells) and classes > _MOST_CLASSES):
        return f"{target} has {classes} classes, and a model of the task takes 2 to {_MOST_CLASSES}"
    if sum(sizes[name] for name in others) > MOST_CODES:
        return f"the other columns have more than {MOST_CODES:,} codes in all"
    if isinstance(allowed, Separation) and any(
        target in one.given for one in allowed.independences
    ):
        return f"an independence is stated given {target}, and labels tie what they go by"
    if not kept_inputs(allowed, [], target, others):
        return "no other column is there that labels may go by"
    return ""


def _stated(
    method: Tailored, ledger: Ledger, allowed: Allowed, target: str
) -> tuple[LabelsBy, str] | None:
    """Where labels come from whatever the number of rows, and why; None where the rule decides."""
    if method.regimes_stated:
        return LabelsBy.JOINT, "causes, a graph or several targets are stated"
    unsuited = _unsuited(ledger, target, allowed)
    if unsuited:
        return LabelsBy.JOINT, unsuited
    if method.labels is not LabelsBy.RULE:
        return method.labels, f"labels={method.labels} asks for it"
    return None


def _reach(method: Tailored, ledger: Ledger, rho: Fraction, rows: float) -> float:
    """How far training gets."""
    return method.label_model.reach(rows, for_records(ledger, rho))


def _labels_by(
    method: Tailored,
    ledger: Ledger,
    known: Sequence[Measurement],
    allowed: Allowed,
    target: str | None,
) -> tuple[LabelsBy, Sequence[Measurement]]:
    """Where labels come from: as asked for, or by a rule on public numbers and a noisy count.

    And what is known then, that count included.
    """
    stated = (LabelsBy.JOINT, "") if not target else _stated(method, ledger, allowed, target)
    if stated is not None:
        return stated[0], known
    if not any(one.clique == () for one in known):
        known = [*known, *ledger.measure([()], rho=ledger.rest() * _COUNTING)]
    rows = max(float(next(one for one in known if one.clique == ()).values), 1.0)
    worth = _reach(method, ledger, ledger.rest(), rows) >= _WORTH_TRAINING
    return LabelsBy.TRAINED if worth else LabelsBy.SHOWN, known
