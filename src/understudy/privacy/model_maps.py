"""What may be summed over rows about a trained model: how it does on them.

As other row maps (see `row_maps`): whole numbers, each row's share from that row alone, and a
sensitivity that holds for the sum as it is computed. Proofs: docs/proofs/row_maps.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import BadInput
from understudy.privacy.row_maps import CELLS_SENSITIVITY, Codes
from understudy.privacy.train import (
    ONE_ERROR,
    Loss,
    Training,
    model_output,
    output_errors,
    whole_layers,
)
from understudy.privacy.unit import Sensitivity
from understudy.privacy.whole import Whole

_LOGIT_STEPS = 2**10
_FARTHEST_EDGE = 2.0**10
_MOST_CELLS = 2**20
_WORST_NUMBER = 4
"""A squared error from which on a number counts as plainly wrong; numbers lie from -1 to 1."""


@dataclass(frozen=True, eq=False)
class _ModelMap:
    """A model that was trained, or any other of its shape."""

    task: Training
    layers: Sequence[NDArray[np.float64]]

    def __post_init__(self) -> None:
        # Copies: what was checked is what is summed.
        layers = tuple(np.array(layer, np.float64) for layer in self.layers)
        object.__setattr__(self, "layers", layers)

    @property
    def columns(self) -> Clique:
        """The columns it reads."""
        return self.task.columns

    def check(self, domain: Domain) -> None:
        """Refuse what does not fit the domain."""
        if type(self.task) is not Training:
            msg = "The task of a model is a Training, and nothing that is made of it."
            raise BadInput(msg)
        self.task.check(domain)
        if [layer.shape for layer in self.layers] != self.task.shapes:
            msg = "The layers have not the shapes of the training's model."
            raise BadInput(msg)
        if not all(np.isfinite(layer).all() for layer in self.layers):
            msg = "The layers of a model must be finite numbers."
            raise BadInput(msg)

    @cached_property
    def _steps(self) -> list[Whole]:
        return whole_layers(self.layers)

    def _output(self, codes: Codes) -> NDArray[np.float64]:
        return model_output(self.task, self._steps, codes)

    def _target(self, codes: Codes) -> Whole:
        return np.asarray(self.task.target, np.float64)[codes[self.task.target_column]]


@dataclass(frozen=True, eq=False)
class ModelCells(_ModelMap):
    """How many rows have which class, by the class that the model gives them and how surely.

    How surely: by how much the largest logit exceeds the next, in ranges between `edges`. The sum
    has the shape (classes as given, ranges, classes as they are); rows without a class count
    nowhere.
    """

    edges: Sequence[float] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "edges", tuple(map(float, self.edges)))

    @property
    def classes(self) -> int:
        """How many classes the model tells apart."""
        return max(self.task.outputs, 2)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of the sum."""
        return (self.classes, len(self.edges) + 1, self.classes)

    @property
    def width(self) -> int:
        """How many numbers the sum has."""
        return int(np.prod(self.shape))

    @property
    def unit_length(self) -> int:
        """Rows are counted as they are."""
        return 1

    @property
    def sensitivity(self) -> Sensitivity:
        """A row lies in one cell at most; swapped, it leaves one for another."""
        return CELLS_SENSITIVITY

    def check(self, domain: Domain) -> None:
        """Refuse what does not fit the domain."""
        super().check(domain)
        edges = np.array([*self.edges], np.float64)
        within = np.isfinite(edges).all() and (np.abs(edges) <= _FARTHEST_EDGE).all()
        if not (within and (np.diff(edges) > 0).all()):
            msg = "The edges of ranges are finite numbers that increase."
            raise BadInput(msg)
        if self.width > _MOST_CELLS:
            msg = f"{self.classes} classes make {self.width:,} cells: give fewer edges, or none."
            raise BadInput(msg)
        if self.task.loss is Loss.SQUARED:
            msg = "A model of numbers gives no classes."
            raise BadInput(msg)

    def total(self, codes: Codes, weights: Whole) -> NDArray[np.int64]:
        """The sum over some rows."""
        logits = np.rint(self._output(codes) * _LOGIT_STEPS)
        if logits.shape[1] == 1:
            logits = np.concatenate([np.zeros_like(logits), logits], axis=1)
        ranked = np.sort(logits, axis=1)
        ahead = ranked[:, -1] - ranked[:, -2]
        edges = np.array([*self.edges], np.float64) * _LOGIT_STEPS
        given, place = logits.argmax(axis=1), np.searchsorted(edges, ahead, side="right")
        target = self._target(codes)
        known = np.clip(np.nan_to_num(target), 0, self.classes - 1).astype(np.intp)
        cells = np.ravel_multi_index((given, place, known), self.shape)
        counted = np.where(np.isnan(target), 0.0, weights)
        return np.bincount(cells, counted, minlength=self.width).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ModelMerit(_ModelMap):
    """How well the model does: 1 for a row that it gets right, 0 for one that it gets all wrong.

    Between them, for chances, by the squared distance between these and the truth (Brier); for
    support vectors a row that is not beyond the margin is wrong; numbers go by squared error.
    """

    width = 1
    STEPS = 2**16

    @property
    def unit_length(self) -> int:
        """How many whole steps make 1."""
        return self.STEPS

    @property
    def sensitivity(self) -> Sensitivity:
        """A row adds from 0 to 1; so does the one it is swapped for."""
        return MERIT_SENSITIVITY

    def total(self, codes: Codes, weights: Whole) -> NDArray[np.int64]:
        """The sum over some rows."""
        target = self._target(codes)
        errors = output_errors(self.task, self._output(codes), target) / ONE_ERROR
        wrong = np.minimum((errors**2).sum(axis=1) / self._worst, 1.0)
        merit = np.where(np.isnan(target), 0.0, np.floor((1 - wrong) * self.STEPS))
        return np.array([(merit * weights).sum()]).astype(np.int64)

    @property
    def _worst(self) -> int:
        """The squared norm of the errors of a row that is all wrong."""
        if self.task.loss is Loss.SQUARED:
            return _WORST_NUMBER
        return 1 if self.task.outputs == 1 or self.task.loss is Loss.HINGE else 2


MERIT_SENSITIVITY = Sensitivity(Fraction(ModelMerit.STEPS**2), Fraction(ModelMerit.STEPS**2))
"""Of `ModelMerit`, for every model."""
MODEL_MAPS = (ModelCells, ModelMerit)
"""All maps of a model whose sensitivity is proven."""
