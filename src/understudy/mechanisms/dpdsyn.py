"""Features, and then labels from a model of the task: DPDSyn, after Jia and others (2026).

The paper shuffles each column of the private table and calls that private; whoever holds a value
that nobody else has walks straight out. Here features come from noisy counts, by any method, and
the model is trained from the same budget: docs/proofs/labels.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np

from understudy.domain import Domain
from understudy.knowledge import Allowed, anything
from understudy.mechanisms.api import Choosy, Constrained, Mechanism, Model
from understudy.mechanisms.label_model import Label, LabelModel
from understudy.mechanisms.labelling import (
    check_features,
    check_split,
    check_target,
    labelled,
    left_out,
)
from understudy.mechanisms.parameters import check_number
from understudy.model.labelled import Features, LabelledModel
from understudy.model.labels import ClassLabels, NumberLabels
from understudy.model.product import ProductModel
from understudy.model.visible import visible
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.select.label_inputs import Tables, input_tables
from understudy.select.labels_told import LabelsTold
from understudy.separation import Separation

_SPLIT, _MORE, _LESS = 0.6, 0.8, 0.4
"""The usual part of labels; and what is advised where they have too little, or more than enough."""
_STARVED, _SATED = 250.0, 2500.0
"""Between these reaches of training the usual part is advised."""
_OFF = 0.02
"""Shares of labels that differ by more are told."""
_DRAWN = 20_000
"""So many rows are drawn to see how features are spread: it costs nothing."""


@dataclass(frozen=True)
class DpdSyn:
    """Features by a method of their own, and a label for each row by a model of the task."""

    features: Mechanism | None = None
    """The method that features come from; without one, single columns are counted."""
    label_model: LabelModel = field(default_factory=LabelModel)
    split: float = _SPLIT
    """The part of the budget that labels get."""
    hard: bool = False
    """Whether each row gets its likeliest label. By the model's chances is better."""
    match: bool = True
    """Whether chances are moved until labels are as common in the release as they were counted.

    Where columns are drawn by themselves, rows are less extreme than real ones: labels that are
    right for each row are then not as common as among real rows, and moving them costs a little
    accuracy.
    """

    name: ClassVar[str] = "dpdsyn"
    about: ClassVar[str] = "labels from a private model of the task, features by any method"
    guarantee: ClassVar[str] = "(ε, δ)-differential privacy"
    needs: ClassVar[str] = "a target"

    def __post_init__(self) -> None:
        check_number("split", self.split, least=0)
        check_split(self.split)
        stated: object = self.label_model
        if not isinstance(stated, LabelModel):
            object.__setattr__(self, "label_model", LabelModel(Label.of(stated)))
        check_features("features", self.features)

    def check(self, names: Sequence[str], target: str | None) -> None:
        """Refuse a table without a column to predict, or with nothing to predict it from."""
        check_target(self.name, names, target)
        features: object = self.features
        if isinstance(features, Choosy):
            features.check(names, target)

    def check_independences(
        self, allowed: Separation, names: Sequence[str], target: str | None
    ) -> None:
        """Refuse what the method of the features cannot keep."""
        features: object = self.features
        if isinstance(features, Constrained):
            features.check_independences(allowed, names, target)

    def remarks(self, model: Model, target: str | None) -> Sequence[str]:
        """Which columns labels do not go by, and whether labels are as common as counted."""
        if not isinstance(model, LabelledModel):
            return ()
        said = left_out(model, target)
        drawn = model.features.sample(_DRAWN, np.random.default_rng(0))
        common = model.labels.law(drawn).mean(axis=0)[model.labels.codes]
        off = float(np.abs(common - model.labels.shares).max())
        if off > _OFF and not self.hard:
            said.append(
                f"Labels of {target} are drawn as each row makes them likely, and are up to "
                f"{100 * off:.0f} % of rows more or less common than counted: rows are less varied "
                "than real ones, or noise is large. Features by a method that ties columns "
                "(--param features=mst) come closer; --param match=true moves labels."
            )
        return said

    def advice(self, rho: Fraction, rows: float) -> Sequence[str]:
        """Which split suits so many rows and so much budget, by a rule on public numbers."""
        reach = self.label_model.reach(rows, rho * Fraction(_SPLIT))
        wished, why = _SPLIT, "that is enough for both"
        if reach < _STARVED:
            wished, why = _MORE, "with so few rows for so much noise, labels suffer first"
        elif reach > _SATED:
            wished, why = _LESS, "labels learn little more from a larger part, and features do"
        if wished == self.split:
            return ()
        advised = (
            f"Labels get {100 * self.split:.0f} % of the budget (split={self.split}). Advised: "
            f"split={wished}, for {why}. The rule goes by rows and budget alone (docs/methods.md)."
        )
        return (advised,)

    def fit(
        self, ledger: Ledger, known: Sequence[Measurement] = (), allowed: Allowed = anything
    ) -> LabelledModel | ProductModel:
        """A model of the ledger's table."""
        self.check(ledger.domain.names, ledger.schema.target)
        self.label_model.check_price(ledger, ledger.rest() * Fraction(self.split))
        teach = partial(_labels, self)
        return labelled(
            ledger,
            known,
            allowed,
            features=self.features,
            split=self.split,
            teach=teach,
            by_code=True,
        )


def _idle(domain: Domain, target: str) -> Tables:
    """Inputs of labels that go by no column: the same for each code."""
    name = next(name for name in domain.names if name != target)
    return {name: np.zeros((domain.sizes[name], 1))}


def _labels(
    method: DpdSyn, ledger: Ledger, told: LabelsTold, kept: Sequence[str], features: Features
) -> ClassLabels | NumberLabels:
    """Labels as sure, and as common, as they were counted."""
    inputs = input_tables(ledger.encoding.cells, kept) or _idle(ledger.domain, told.column)
    taught = method.label_model.taught(ledger, told, inputs if kept else {}, features.total)
    rng = np.random.default_rng(0)
    drawn = visible(features, ledger.encoding.hidden).sample(_DRAWN, rng)
    return method.label_model.labels(
        told, inputs, taught, drawn, rng, hard=method.hard, match=method.match
    )
