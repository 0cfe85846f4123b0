"""Training on rows: noisy gradient descent of small models that are described as data.

Logistic and linear regression, support vectors, and the same behind one hidden layer; on all rows
at each step, or on a Poisson sample of them. Each row's gradient is shortened to the clipping norm
by itself: its norm is known without writing the gradient down, because a layer's gradient is an
outer product.

All sums are of whole numbers (see `whole`), so a row's share depends on that row alone, and the
noise, whole too, is added to the very sum whose sensitivity is stated. Proof:
docs/proofs/training.md.
"""

import enum
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

from understudy.domain import Clique, Domain
from understudy.errors import BadInput, UnknownColumn, listed
from understudy.privacy import whole
from understudy.privacy.layer_inputs import INPUT_BITS, LayerInputs, PackedInputs
from understudy.privacy.noise import RATE_GRID, RandomSource, gaussian_noise, joins
from understudy.privacy.row_maps import Codes, in_parts
from understudy.privacy.steps_told import worked
from understudy.privacy.unit import Sensitivity
from understudy.privacy.weights import UNIT
from understudy.privacy.whole import Whole

CLIP_STEPS = 2**24
"""The clipping norm, in whole steps."""
SMALLEST_NOISE = 2.0**16
"""In whole steps: on so fine a grid, sampled integer noise costs what the formula says."""
SENSITIVITY = Sensitivity(Fraction(CLIP_STEPS**2), Fraction(4 * CLIP_STEPS**2))
"""One row adds a vector no longer than the clipping norm."""

_FEATURE_BITS, _LARGEST_FEATURE = INPUT_BITS, 2.0**6
_WEIGHT_BITS, _LARGEST_WEIGHT = 16, 2.0**7
_LOGIT_BITS, _LARGEST_LOGIT = 10, 2.0**4
_ERROR_BITS, _LARGEST_ERROR = 16, 2.0**4
_PER_WEIGHT = 2e-6
"""Milliseconds of a step on drawn rows, about, by row and weight: the rhythm of progress."""
ONE_ERROR = 2.0**_ERROR_BITS
"""An error of 1, in whole steps."""
_MOST_KEPT, _KEPT_BESIDES = 2 * 10**7, 4
"""Numbers that are kept from one step to the next, and of a row those besides its inputs."""
_MOST_INPUTS, _MOST_HIDDEN, _MOST_OUTPUTS = 2**14, 2**12, 2**10

RowBlocks = Callable[[], Iterable[tuple[Codes, Whole]]]
"""Passes over the rows: blocks of codes, with the rows' weights in 1/1024."""


class Loss(enum.StrEnum):
    """What training minimises."""

    LOGISTIC = "logistic"
    """Classes: log loss of a sigmoid (two classes) or a softmax."""
    HINGE = "hinge"
    """Classes: how far rows lie within a margin of 1, each class against the others."""
    SQUARED = "squared"
    """Numbers: half the squared error; errors beyond ±16 count as 16."""


@dataclass(frozen=True, eq=False)
class Training:
    """A training run, as data.

    `inputs` gives, by column, one vector for each code (a row of ones and zeros, or a single
    number on a public scale; numbers are rounded to multiples of 1/256). `target` gives the class,
    or the number, of each code of the target column; NaN leaves such rows out.

    Without `rate` every step sees all rows; with it, each row joins a step with that probability.
    `rows` is a public or noisy idea of how many rows there are: gradients are divided by it.
    """

    inputs: Mapping[str, ArrayLike]
    target_column: str
    target: ArrayLike
    rows: float
    loss: Loss = Loss.LOGISTIC
    hidden: int = 0
    steps: int = 100
    rate: float | None = None
    clip: float = 1.0
    learning_rate: float = 1.0
    momentum: float = 0.0
    start: int = 0
    """The seed of the first weights of a hidden layer; public."""
    begun: Sequence[ArrayLike] = ()
    """The layers to go on from, where an earlier run has left some; public, or made of answers."""

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "loss", Loss(self.loss))
            # Copies: what was checked is what is trained on.
            tables = {name: np.array(table, np.float64) for name, table in self.inputs.items()}
            object.__setattr__(self, "inputs", tables)
            object.__setattr__(self, "target", np.array(self.target, np.float64))
            begun = tuple(np.array(layer, np.float64) for layer in self.begun)
            object.__setattr__(self, "begun", begun)
        except (ValueError, TypeError, AttributeError):
            msg = (
                f"Training takes tables of numbers by column, a list of numbers for the target, "
                f"and one of these losses: {listed(Loss)}."
            )
            raise BadInput(msg) from None

    @property
    def columns(self) -> Clique:
        """The columns it reads."""
        return (*self.inputs, self.target_column)

    @property
    def chances(self) -> int:
        """In how many of RATE_GRID cases a row joins a step: the rate, rounded up."""
        return RATE_GRID if self.rate is None else -int(-self.rate * RATE_GRID // 1)

    @cached_property
    def outputs(self) -> int:
        """How many numbers the model puts out: one for a number or two classes."""
        if self.loss is Loss.SQUARED:
            return 1
        classes = int(np.nanmax(np.asarray(self.target, np.float64))) + 1
        return classes if classes > 2 else 1  # noqa: PLR2004 - two classes need one logit

    @cached_property
    def width(self) -> int:
        """How many inputs the model has, without the constant one."""
        return sum(self.input_tables[name].shape[1] for name in self.inputs)

    @property
    def parameters(self) -> int:
        """How many numbers are trained."""
        return sum(rows * columns for rows, columns in self.shapes)

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """The shape of each layer's weights; the last row belongs to the constant input."""
        if not self.hidden:
            return [(self.width + 1, self.outputs)]
        return [(self.width + 1, self.hidden), (self.hidden + 1, self.outputs)]

    @cached_property
    def input_tables(self) -> dict[str, Whole]:
        """By column and code, the inputs in whole steps."""
        return {
            name: whole.rounded(
                np.asarray(table, np.float64).reshape(len(np.asarray(table)), -1),
                _FEATURE_BITS,
                _LARGEST_FEATURE,
            )
            for name, table in self.inputs.items()
        }

    @cached_property
    def packed(self) -> PackedInputs:
        """How its inputs are looked up."""
        return PackedInputs.of(self.input_tables, self.rows * self.chances / RATE_GRID)

    def check(self, domain: Domain) -> None:
        """Refuse what does not fit the domain; decided by public facts."""
        if self.target_column in self.inputs:
            msg = f"{self.target_column!r} is the target; take it out of the inputs."
            raise BadInput(msg)
        domain.check(self.columns)
        if not self.inputs:
            msg = "Training needs at least one input column."
            raise BadInput(msg)
        for name, table in (*self.inputs.items(), (self.target_column, self.target)):
            if name not in domain:
                raise UnknownColumn(name, domain.names)
            array = np.asarray(table, np.float64)
            if array.ndim not in {1, 2} or len(array) != domain.sizes[name] or not array.size:
                msg = f"The table of {name!r} has the shape {array.shape}; it needs one entry for "
                raise BadInput(msg + f"each of its {domain.sizes[name]} codes.")
            if name != self.target_column and not np.isfinite(array).all():
                msg = f"The inputs of {name!r} hold numbers that are not finite."
                raise BadInput(msg)
        self._check_target()
        self._check_numbers()
        self._check_begun()
        sizes = (
            (self.width, _MOST_INPUTS),
            (self.hidden, _MOST_HIDDEN),
            (self.outputs, _MOST_OUTPUTS),
        )
        if any(size > most for size, most in sizes):
            msg = (
                f"{self.width} inputs, {self.hidden} hidden units, {self.outputs} classes: up to "
                f"{_MOST_INPUTS}, {_MOST_HIDDEN} and {_MOST_OUTPUTS} can be trained exactly."
            )
            raise BadInput(msg)

    def _check_begun(self) -> None:
        layers = [np.asarray(layer, np.float64) for layer in self.begun]
        if layers and [layer.shape for layer in layers] != self.shapes:
            msg = "The layers to go on from have not the shapes of the training's model."
            raise BadInput(msg)
        # Written so that NaN is refused as well.
        if not all(np.all(np.abs(layer) <= _LARGEST_WEIGHT) for layer in layers):
            msg = f"The layers to go on from must hold numbers up to {_LARGEST_WEIGHT:g}."
            raise BadInput(msg)

    def _check_target(self) -> None:
        target = np.asarray(self.target, np.float64)
        given = target[~np.isnan(target)]
        if target.ndim != 1 or not given.size or not np.isfinite(given).all():
            msg = f"The target table of {self.target_column!r} must be a list of numbers."
            raise BadInput(msg)
        if self.loss is not Loss.SQUARED and not (
            np.array_equal(given, np.floor(given)) and given.min() >= 0
        ):
            msg = f"The classes of {self.target_column!r} must be numbered 0, 1, 2, …"
            raise BadInput(msg)

    def _check_numbers(self) -> None:
        wrong = {
            "steps": not (type(self.steps) is int and self.steps >= 1),
            "hidden": not (type(self.hidden) is int and self.hidden >= 0),
            "clip": not 2.0**-8 <= self.clip <= 2.0**8,
            "rows": not 1 <= self.rows < math.inf,
            "rate": self.rate is not None and not 2.0**-31 <= self.rate <= 1,
            "learning_rate": not 0 < self.learning_rate < math.inf,
            "momentum": not 0 <= self.momentum < 1,
            "start": not (type(self.start) is int and self.start >= 0),
        }
        for name in (name for name, bad in wrong.items() if bad):
            msg = f"Training with {name} = {getattr(self, name)} makes no sense; see Training."
            raise BadInput(msg)


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """The weights of a trained model: for each layer, inputs × outputs, the constant's row last."""

    layers: tuple[NDArray[np.float64], ...]
    loss: Loss
    scale: float
    """The noise of each step's gradient sum, in units of the clipping norm."""

    def scores(self, inputs: ArrayLike) -> NDArray[np.float64]:
        """What the model puts out for rows of inputs: logits, or numbers."""
        rows = np.asarray(inputs, np.float64)
        for place, layer in enumerate(self.layers):
            rows = rows @ layer[:-1] + layer[-1]
            if place < len(self.layers) - 1:
                rows = np.tanh(rows)
        return rows


def train(
    task: Training,
    rows: RowBlocks,
    scale: float,
    source: RandomSource,
    told: Callable[[int], None] = lambda _: None,
) -> TrainedModel:
    """Train with discrete Gaussian noise of this scale (in whole steps) on each step's sum.

    `told` is called with the number of steps that are done, and with nothing else.
    """
    # Matrices of a batch are small: threads would wait for each other longer than they work.
    # And no warning may tell about rows.
    with _libraries().limit(limits=1, user_api="blas"), np.errstate(all="ignore"):
        return _trained(task, rows, scale, source, told)


@cache
def _libraries() -> ThreadpoolController:
    """The libraries that multiply matrices: to look for them takes longer than a short run."""
    return ThreadpoolController()


def _trained(
    task: Training,
    rows: RowBlocks,
    scale: float,
    source: RandomSource,
    told: Callable[[int], None],
) -> TrainedModel:
    descent = _Descent(task, task.rows * task.chances / RATE_GRID)
    kept = _kept(task, rows)
    for step in range(task.steps):
        told(step)
        if kept is None:
            total = gradient_total(task, descent.layers, _chosen(rows(), task, source))
        else:
            total = _total(task, descent.layers, kept)
        total += gaussian_noise(task.parameters, scale, source)
        descent.go(total)
    return TrainedModel(tuple(descent.layers), task.loss, scale / CLIP_STEPS)


def taught_by(task: Training, codes: Codes) -> tuple[NDArray[np.float64], ...]:
    """The layers that the same run has without noise, on rows that are nobody's.

    For rows that a model has drawn, which cost nothing: never for those of a private table.
    """
    rows = len(codes[task.target_column])
    blocks = [(codes, np.full(rows, float(UNIT)))]
    with _libraries().limit(limits=1, user_api="blas"), np.errstate(all="ignore"):
        descent = _Descent(task, max(rows, 1))
        parts = list(_parts(task, blocks))
        work = _PER_WEIGHT * rows * task.parameters
        for _ in range(task.steps):
            worked("Training steps on drawn rows", 1, work)
            descent.go(_total(task, descent.layers, parts))
    return tuple(descent.layers)


class _Descent:
    """Layers on their way down, with momentum."""

    def __init__(self, task: Training, rows: float) -> None:
        self.layers = _first_layers(task)
        self._speeds = [np.zeros_like(layer) for layer in self.layers]
        self._task = task
        self._step = task.clip / CLIP_STEPS / rows

    def go(self, total: NDArray[np.int64]) -> None:
        """A step along a gradient that was summed over rows, in whole steps."""
        task, at = self._task, 0
        for place, layer in enumerate(self.layers):
            gradient = total[at : at + layer.size].reshape(layer.shape) * self._step
            at += layer.size
            self._speeds[place] = task.momentum * self._speeds[place] + gradient
            moved = layer - task.learning_rate * self._speeds[place]
            self.layers[place] = np.clip(moved, -_LARGEST_WEIGHT, _LARGEST_WEIGHT)


def gradient_total(
    task: Training,
    layers: list[NDArray[np.float64]],
    rows: Iterable[tuple[Codes, Whole]],
) -> NDArray[np.int64]:
    """The sum of the rows' clipped gradients, in whole steps."""
    return _total(task, layers, _parts(task, rows))


@dataclass(frozen=True, eq=False)
class _Part:
    """Some rows, and what of them is the same at each step."""

    inputs: LayerInputs
    target: Whole
    weights: Whole


def _parts(task: Training, rows: Iterable[tuple[Codes, Whole]]) -> Iterator[_Part]:
    target = np.asarray(task.target, np.float64)
    for block, block_weights in rows:
        for codes, weights in in_parts(block, block_weights):
            inputs = LayerInputs.of_codes(task.packed, codes)
            yield _Part(inputs, target[codes[task.target_column]], weights)


def _kept(task: Training, rows: RowBlocks) -> list[_Part] | None:
    """What all steps look at, made ready once; None where steps differ, or it would be large."""
    packed = task.packed
    each = len(packed.packs) + len(packed.names) + _KEPT_BESIDES
    small = task.rows * each <= _MOST_KEPT
    return list(_parts(task, rows())) if task.rate is None and small else None


def _total(
    task: Training, layers: list[NDArray[np.float64]], parts: Iterable[_Part]
) -> NDArray[np.int64]:
    steps = whole_layers(layers)
    total = np.zeros(task.parameters, np.int64)
    for part in parts:
        total += _part_total(task, steps, part)
    return total


def whole_layers(layers: Iterable[NDArray[np.float64]]) -> list[Whole]:
    """Weights in whole steps."""
    return [whole.rounded(layer, _WEIGHT_BITS, _LARGEST_WEIGHT) for layer in layers]


def model_output(task: Training, layers: list[Whole], codes: Codes) -> NDArray[np.float64]:
    """What the model puts out for each row, from that row alone: logits, or numbers."""
    return _passed(task, layers, LayerInputs.of_codes(task.packed, codes))[1]


def _part_total(task: Training, layers: list[Whole], part: _Part) -> NDArray[np.int64]:
    target = part.target
    inputs, output = _passed(task, layers, part.inputs)
    errors = [output_errors(task, output, target)]
    if task.hidden:
        slope = 4.0**_FEATURE_BITS - inputs[1].activations ** 2
        back = errors[0] @ layers[1][:-1].T * 2.0 ** -(_WEIGHT_BITS + 2 * _FEATURE_BITS)
        limit = _LARGEST_ERROR * 2.0**_ERROR_BITS
        errors.insert(0, np.clip(np.trunc(back * slope), -limit, limit))
    squared = np.zeros(len(target))
    for rows, error in zip(inputs, errors, strict=True):
        squared += rows.squared_norms * whole.squared_norms(error)
    # In units of the clipping norm: a step of an activation is 2⁻⁸, one of an error 2⁻¹⁶.
    norms = np.sqrt(squared) * 2.0 ** -(_FEATURE_BITS + _ERROR_BITS)
    factors = 1 / np.maximum(norms, task.clip)
    factors[np.isnan(target)] = 0
    factors *= part.weights / UNIT
    parts = [
        rows.gradient(whole.shrink(error, factors), layer.shape).ravel()
        for rows, error, layer in zip(inputs, errors, layers, strict=True)
    ]
    return np.nan_to_num(np.concatenate(parts)).astype(np.int64)


def _passed(
    task: Training, layers: list[Whole], first: LayerInputs
) -> tuple[list[LayerInputs], NDArray[np.float64]]:
    """What enters each layer, and what leaves the last."""
    inputs = [first]
    if task.hidden:
        heat = inputs[0].times(layers[0]) * 2.0 ** -(_FEATURE_BITS + _WEIGHT_BITS)
        inputs.append(LayerInputs.of_activations(_looked_up(heat, _TANH)))
    return inputs, inputs[-1].times(layers[-1]) * 2.0 ** -(_FEATURE_BITS + _WEIGHT_BITS)


def output_errors(task: Training, output: NDArray[np.float64], target: Whole) -> Whole:
    """The derivative of the loss by the output, in steps of 1/ONE_ERROR."""
    one = ONE_ERROR
    known = np.nan_to_num(target)
    if task.loss is Loss.SQUARED:
        return whole.rounded(output - known[:, None], _ERROR_BITS, _LARGEST_ERROR)
    known = np.clip(known, 0, max(task.outputs - 1, 1))
    if task.loss is Loss.HINGE:
        own = 1.0 if task.outputs == 1 else np.arange(task.outputs)
        side = np.where(known[:, None] == own, 1.0, -1.0)
        return np.where(output * side < 1, -one * side, 0.0)
    if task.outputs == 1:
        return _looked_up(output, _SIGMOID) - one * known[:, None]
    logits = np.rint(output * 2.0**_LOGIT_BITS)
    ahead = (logits - logits.max(axis=1, keepdims=True)) * 2.0**-_LOGIT_BITS
    powers = _looked_up(ahead, _EXP)
    shares: Whole = np.floor(powers * one / powers.sum(axis=1, keepdims=True))
    shares[np.arange(len(known)), known.astype(np.intp)] -= one
    return shares


def _chosen(
    rows: Iterable[tuple[Codes, Whole]], task: Training, source: RandomSource
) -> Iterator[tuple[Codes, Whole]]:
    """The rows that join a step."""
    for codes, weights in rows:
        if task.rate is None:
            yield codes, weights
            continue
        places = joins(len(weights), task.chances, source)
        yield {name: codes[name][places] for name in task.columns}, weights[places]


def _first_layers(task: Training) -> list[NDArray[np.float64]]:
    """Zeros for a linear model; small random numbers in front of a hidden layer."""
    if task.begun:
        return [np.array(layer, np.float64) for layer in task.begun]
    layers = [np.zeros(shape) for shape in task.shapes]
    rng = np.random.default_rng(task.start)
    if task.hidden:
        for layer in layers:
            layer[:-1] = rng.normal(0, (len(layer) - 1) ** -0.5, layer[:-1].shape)
    return layers


def _looked_up(values: NDArray[np.float64], table: Whole) -> Whole:
    """A function of each value, read off its table: the same wherever in a block it lies."""
    limited = np.clip(values, -_LARGEST_LOGIT, _LARGEST_LOGIT)
    places = np.rint((limited + _LARGEST_LOGIT) * 2.0**_LOGIT_BITS)
    found: Whole = table[places.astype(np.intp)]
    return found


_GRID = np.arange(-_LARGEST_LOGIT, _LARGEST_LOGIT + 2.0**-_LOGIT_BITS, 2.0**-_LOGIT_BITS)
_TANH = np.rint(np.tanh(_GRID) * 2.0**_FEATURE_BITS)
_SIGMOID = np.rint(2.0**_ERROR_BITS / (1 + np.exp(-_GRID)))
_EXP = np.rint(np.exp(_GRID) * 2.0**_ERROR_BITS)
