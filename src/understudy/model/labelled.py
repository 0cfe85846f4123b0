"""Rows from one model, and a column of them from another that was trained for the task."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import BadInput
from understudy.model.bayes_net import BayesNet
from understudy.model.cliques import cliques_of
from understudy.model.copula import CopulaModel
from understudy.model.graphical import GraphicalModel
from understudy.model.kernel_scorer import KernelScorer
from understudy.model.labels import ClassLabels, NumberLabels, Scorer
from understudy.model.merged import MergedModel
from understudy.model.product import ProductModel
from understudy.model.shuffled import ShuffledColumns
from understudy.model.visible import visible
from understudy.privacy.answers import Measurement, measurement_from_json, measurement_to_json

Features = ProductModel | GraphicalModel | MergedModel | BayesNet | CopulaModel | ShuffledColumns
_FEATURES = {
    kind.kind: kind
    for kind in (ProductModel, GraphicalModel, MergedModel, BayesNet, CopulaModel, ShuffledColumns)
}
_LABELS = {kind.kind: kind for kind in (ClassLabels, NumberLabels)}
_SCORERS = (Scorer, KernelScorer)
_NUMBERS_AT_ONCE = 2**26
"""Labels of so many rows are drawn together that no array of them is larger."""


@dataclass(frozen=True, eq=False)
class LabelledModel:
    """Features are drawn first, and then a label for each row of them."""

    domain: Domain
    features: Features
    """Of all other columns; where it draws the target too, that is forgotten."""
    target: str
    labels: ClassLabels | NumberLabels
    counted: tuple[Measurement, ...] = ()
    """What was measured of the target by itself."""

    kind = "labelled"

    @property
    def total(self) -> float:
        """How many rows the table has, about."""
        return self.features.total

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """What it was fitted to, but for the training."""
        return (*self.features.measurements, *self.counted)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that labels go by."""
        scorer = self.labels.scorer
        return () if scorer.idle else tuple(scorer.inputs)

    @property
    def cliques(self) -> tuple[Clique, ...] | None:
        """Return the cliques of the features, then the target with the inputs of its labels.

        None if the features, or the labels, are of a class whose behaviour is not known here.
        """
        features = cliques_of(self.features)
        known = type(self.labels) in _LABELS.values() and type(self.labels.scorer) in _SCORERS
        if features is None or not known:
            return None
        return (*features, (self.target, *self.labels.scorer.inputs))

    def visible(self, hidden: Mapping[str, int]) -> "LabelledModel":
        """Return the model of rows without hidden codes."""
        labels = self.labels.visible(hidden[self.target]) if self.target in hidden else self.labels
        return replace(self, features=visible(self.features, hidden), labels=labels)

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.unsignedinteger]]:
        """Codes of that many rows."""
        drawn = self.features.sample(rows, rng)
        step = max(1, _NUMBERS_AT_ONCE // max(self.labels.told, self.labels.scorer.width))
        parts = [
            self.labels.draw({name: codes[at : at + step] for name, codes in drawn.items()}, rng)
            for at in range(0, max(rows, 1), step)
        ]
        labels = np.concatenate(parts)
        drawn[self.target] = labels.astype(np.min_scalar_type(self.domain.sizes[self.target] - 1))
        return {name: drawn[name] for name in self.domain.names}

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        return {
            "domain": [[name, size] for name, size in self.domain.sizes.items()],
            "features": {"kind": self.features.kind, "model": self.features.to_json()},
            "target": self.target,
            "labels": {"kind": self.labels.kind, "model": self.labels.to_json()},
            "counted": [measurement_to_json(one) for one in self.counted],
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "LabelledModel":
        """The model that `to_json` wrote."""
        domain = Domain.of({name: int(size) for name, size in content["domain"]})
        told, target = content["features"], content["target"]
        features = _FEATURES[told["kind"]].from_json(told["model"])
        sizes = {name: size for name, size in features.domain.sizes.items() if name != target}
        if {**sizes, target: domain.sizes[target]} != domain.sizes:
            msg = "A model's features are not the columns that it says it draws."
            raise BadInput(msg)
        told = content["labels"]
        labels = _LABELS[told["kind"]].from_json(told["model"], sizes, domain.sizes[target])
        counted = tuple(measurement_from_json(one) for one in content["counted"])
        return cls(domain, features, target, labels, counted)
