"""Models of labels: how they are trained through the ledger, and made into labels of rows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

import numpy as np

from understudy.errors import BadInput, listed
from understudy.mechanisms.parameters import check_number, check_whole
from understudy.mechanisms.parameters import told as parameters_told
from understudy.model.labels import ClassLabels, Codes, NumberLabels, Numbers, Scorer
from understudy.privacy.answers import NoisySum
from understudy.privacy.ledger import Ledger
from understudy.privacy.model_maps import ModelCells
from understudy.privacy.train import Loss, Training, taught_by
from understudy.select.labels_told import LabelsTold

_HINGE_FACTOR = 2.0
"""A margin of 1 is as sure as these logits."""
_MOST_NOISE = 2.0**16
"""In clipping norms: beyond, noise cannot be drawn, and nothing would be learned."""
_AHEAD = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
"""Ranges of logits in which rows are counted, to see how sure a model may be."""
_LEAST_SPREAD = 0.01
"""Of a number's variance, what a model never explains."""
_MOST_CALIBRATED = 16
"""Of more classes, cells would be many and rows in them few."""
_STEPS_SHOWN = 100
"""On rows that cost nothing: by more, a model learns what is wrong with them."""
_MOST_TRIES = 20
_TRIED_RATES, _TRIED_CLIPS = (1 / 3, 1.0, 3.0), (0.5, 1.0)
"""What is tried: multiples of the learning rate and of the clipping norm."""


class Label(StrEnum):
    """Which model tells the label."""

    LOGISTIC = "logistic"
    SVM = "svm"
    """Linear, by the hinge loss."""
    MLP = "mlp"
    """One hidden layer."""

    @classmethod
    def of(cls, name: object) -> "Label":
        """The model with this name."""
        try:
            return cls(str(name))
        except ValueError:
            msg = (
                f"There is no model of labels {name!r}. Known: {listed(cls)}. Layers that mix "
                "rows, such as batch normalisation, cannot be added: no row's part is bounded."
            )
            raise BadInput(msg) from None


def for_records(ledger: Ledger, rho: Fraction) -> Fraction:
    """The ρ by which one record gets as much noise as somebody's k, whose is k times larger."""
    return rho / ledger.unit.steps**2


@dataclass(frozen=True, eq=False)
class Taught:
    """A trained model, and how it did."""

    layers: tuple[Numbers, ...]
    cells: NoisySum | None = None
    """How many rows have which class, by the class that it gives them and how surely."""


@dataclass(frozen=True)
class LabelModel:
    """How the model of labels is trained. Usual values were found on Law School and COMPAS.

    Without a rate all rows join every step, which costs least for such models. A run lasts
    `patience` times as long as it takes noise to move the weights by 1, in steps of the learning
    rate: the less noise there is, the longer it may run.

    A row of inputs is no longer than 1, so the gradients of a linear model of two classes are not
    either: by the usual clipping norm none is shortened, and chances come out as they are. Half of
    that gives better ranks for a small budget, but models that are too sure.
    """

    label_model: Label = Label.LOGISTIC
    hidden: int = 16
    """Units of the hidden layer, for `mlp`."""
    patience: float = 0.8
    most_steps: int = 300
    learning_rate: float = 0.0
    """0 for the usual one: 1, and 0.3 behind a hidden layer."""
    momentum: float = 0.9
    clip: float = 0.0
    """The clipping norm; 0 for the usual one: 1, and 2 behind a hidden layer."""
    rate: float = 0.0
    """The share of rows that joins a step; 0 for all of them."""
    calibration: float = 0.05
    """Of the budget for labels, what tells how sure a model of classes may be."""
    tries: float = 0.0
    """How many runs with other learning rates and clipping norms there are on average, of which the
    best is kept; 0 to train once. How many there were is secret, and so is how long it took."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label_model", Label.of(self.label_model))
        check_whole("hidden", self.hidden, least=1)
        check_whole("most_steps", self.most_steps, least=1)
        check_number("patience", self.patience, least=1e-3)
        for name in ("learning_rate", "clip"):
            check_number(name, getattr(self, name), least=0)
        if not 0 <= self.momentum < 1 or not 0 <= self.rate <= 1:
            msg = "momentum lies from 0 to below 1, and rate from 0 (all rows) to 1."
            raise BadInput(msg)
        if not 0 <= self.calibration < 1:
            msg = "calibration is a part of the budget for labels, from 0 (none) to below 1."
            raise BadInput(msg)
        check_number("tries", self.tries, least=0)
        if self.tries and (self.rate or not 1 < self.tries <= _MOST_TRIES):
            msg = (
                f"tries is 0, or a mean number of runs above 1 and up to {_MOST_TRIES}; and then "
                "there is no rate: all rows join."
            )
            raise BadInput(msg)

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in parameters_told(self).items())

    @property
    def norm(self) -> float:
        """The clipping norm."""
        return self.clip or self._usual(1.0, 2.0)

    @property
    def _rate(self) -> float:
        """The learning rate."""
        return self.learning_rate or self._usual(1.0, 0.3)

    def _usual(self, linear: float, hidden: float) -> float:
        return hidden if self.label_model is Label.MLP else linear

    def reach(self, rows: float, rho: Fraction) -> float:
        """How far a run goes before noise has moved its weights by `patience`, in gradients.

        ρ is that of records that are added or removed: see `for_records`.
        """
        return self.patience * rows * math.sqrt(2 * float(rho)) / self.norm

    def steps(self, rows: float, rho: Fraction) -> tuple[int, float]:
        """How many steps of which length a budget is worth: by public numbers alone."""
        whole = self.reach(rows, rho)
        longest = self._rate / (1 - self.momentum)
        count = min(max(math.ceil(whole / longest), 1), self.most_steps)
        length = min(whole / count, 2 * longest)
        return count, length * (1 - self.momentum)

    def taught(
        self,
        ledger: Ledger,
        told: LabelsTold,
        inputs: Mapping[str, Numbers],
        rows: float,
        *,
        begun: Taught | None = None,
    ) -> Taught | None:
        """A trained model, for all that is left; what was `begun` where there is nothing to learn.

        Training goes on from there.
        """
        task = self._task(told, inputs, rows, for_records(ledger, ledger.rest()))
        if task is None:
            # Not needed; but what is promised for a release is spent on it.
            ledger.measure([(told.column,)], rho=ledger.rest())
            return begun
        if begun is not None:
            task = replace(task, begun=begun.layers)
        rho = ledger.rest() * (1 - self._part(told))
        if self.tries:
            tasks = self._tried(task, rows, for_records(ledger, ledger.run_rho(rho, self.tries)))
            best = ledger.select_best(tasks, rho=rho, runs=self.tries)
            task, layers = tasks[best.place], best.model.layers
        else:
            layers = ledger.train(task, rho=rho).layers
        if not self._part(told):
            return Taught(layers)
        return Taught(layers, ledger.sum(ModelCells(task, layers, _AHEAD), rho=ledger.rest()))

    def taught_by(
        self, told: LabelsTold, inputs: Mapping[str, Numbers], shown: Codes, rows: float
    ) -> Taught | None:
        """A model that rows of another one taught, which costs nothing."""
        task = self._task(told, inputs, rows)
        return None if task is None else Taught(taught_by(task, shown))

    def _part(self, told: LabelsTold) -> Fraction:
        """What a calibration gets: of numbers, and of many classes, there is none."""
        none = told.numeric or told.told > _MOST_CALIBRATED
        return Fraction(0 if none else self.calibration)

    def check_price(self, ledger: Ledger, rho: Fraction) -> None:
        """Refuse tries that a budget cannot pay for, before anything is spent."""
        if self.tries:
            ledger.run_rho(rho * (1 - Fraction(self.calibration)), self.tries)

    def _tried(self, task: Training, rows: float, rho: Fraction) -> list[Training]:
        """What there is to choose from: a short list, by public numbers alone."""
        tasks = []
        for clip in _TRIED_CLIPS:
            model = replace(self, clip=self.norm * clip)
            steps, rate = model.steps(rows, rho)
            tasks += [
                replace(task, steps=steps, clip=model.norm, learning_rate=rate * factor)
                for factor in _TRIED_RATES
            ]
        return tasks

    def _task(
        self,
        told: LabelsTold,
        inputs: Mapping[str, Numbers],
        rows: float,
        rho: Fraction | None = None,
    ) -> Training | None:
        """The training run; None where there is nothing to learn, or but noise to learn from.

        Without ρ it is one on rows that are nobody's.
        """
        if not inputs or told.told < 2:  # noqa: PLR2004 - two labels to tell apart
            return None
        if rho is None:
            steps, rate = min(_STEPS_SHOWN, self.most_steps), self._rate
        else:
            steps, rate = self.steps(rows, rho)
            if not rho or steps / (2 * rho) >= _MOST_NOISE**2:
                return None
        return Training(
            inputs,
            told.column,
            told.table,
            rows=max(rows, 1.0),
            loss=self._loss(told),
            hidden=self.hidden if self.label_model is Label.MLP else 0,
            steps=steps,
            rate=self.rate or None,
            clip=self.norm,
            learning_rate=rate,
            momentum=self.momentum,
        )

    def labels(  # noqa: PLR0913 - the last by name
        self,
        told: LabelsTold,
        inputs: Mapping[str, Numbers],
        taught: Taught | None,
        drawn: Codes,
        rng: np.random.Generator,
        *,
        hard: bool,
        match: bool,
        balanced: bool = False,
    ) -> ClassLabels | NumberLabels:
        """Labels by what was taught; these rows are such as will get them."""
        if taught is None:
            width = sum(table.shape[1] for table in inputs.values())
            outputs = 1 if told.numeric else max(told.told, 1)
            taught, match = Taught((np.zeros((width + 1, outputs)),)), True
        scorer = Scorer(inputs, taught.layers)
        if told.numeric:
            spread = max(told.variance - float(scorer(drawn).var()), _LEAST_SPREAD * told.variance)
            numbers = NumberLabels(
                scorer, told.codes, told.shares, told.told, math.sqrt(spread), np.zeros(0)
            )
            return numbers.fitted(drawn, rng)
        factor = _HINGE_FACTOR if self.label_model is Label.SVM else 1.0
        shift = np.zeros(told.told)
        found = ClassLabels(
            scorer,
            told.codes,
            told.shares,
            shift,
            told.told,
            factor,
            hard=hard,
            balanced=balanced,
        )
        if taught.cells is not None:
            counts = taught.cells.values.reshape(-1, told.told)
            found = found.calibrated(counts, _AHEAD, taught.cells.scale, drawn)
        return found.matched(drawn) if match else found

    def _loss(self, told: LabelsTold) -> Loss:
        if told.numeric:
            return Loss.SQUARED
        return Loss.HINGE if self.label_model is Label.SVM else Loss.LOGISTIC
