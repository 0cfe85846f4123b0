"""The two stages on rows as they are: inputs made up and blended, then answers for them.

What comes out is drawn from real rows and tells about them. Nothing is promised but what was
measured: how many rows have a number near to their own (LID).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.schema import Schema
from understudy.twostage.first_stages import FirstStage
from understudy.twostage.frame import Frame, known_labels, table_of
from understudy.twostage.hybrid import Hybrid, blended, measured
from understudy.twostage.responses import Response

Numbers = NDArray[np.float64]
MakeInputs = Callable[[Frame, Sequence[str], np.random.Generator], Frame]
"""From real rows, as many of these inputs."""
_OF_RANGE = np.sqrt(12.0)
"""A column that is spread evenly has a range of so many standard deviations."""


@dataclass(frozen=True, eq=False)
class TwoStages:
    """How rows are made of real ones."""

    make: MakeInputs
    hybrid: Hybrid
    response: Response
    residual: bool = False
    """Whether answers get an error as large as the model's on rows that it had not seen."""
    keep_labels: bool = True
    """Whether labels of a row stay; otherwise they are made up with the numbers."""

    def made(self, rows: pa.Table, schema: Schema, rng: np.random.Generator) -> "Made":
        """A synthetic row for each real one."""
        frame, target = Frame.of(rows, schema), schema.target
        names = [name for name in frame.numbers if name != target]
        labels = [name for name in frame.labels if name != target]
        if not frame.rows:
            return Made(table_of(frame, rows.column_names), 0.0, {})
        # STAGE 1: inputs
        real, drawn = frame.matrix(names), [] if self.keep_labels else labels
        made = self.make(frame, [*names, *drawn], rng) if names or drawn else frame
        ranges, counterpart = _ranges(real), made.matrix(names)
        place = self.hybrid.matched(real / ranges, counterpart / ranges, rng)
        counterpart = counterpart[place]
        missing = {name: np.isnan(frame.numbers[name]) for name in names}
        # A number that is missing, or the same in all rows, tells nothing: none is near to it.
        telling = np.where(np.ptp(real, axis=0) > 0, real, np.nan) / ranges
        for k, name in enumerate(names):
            telling[missing[name], k] = np.nan
        alpha = self.hybrid.solved(telling, counterpart / ranges)
        inputs = blended(real, counterpart, alpha)
        new_labels = dict(frame.labels) | {name: made.labels[name][place] for name in drawn}
        numbers = {
            name: np.where(missing[name], np.nan, inputs[:, k]) for k, name in enumerate(names)
        }
        new = Frame(dict(frame.numbers) | numbers, new_labels)
        told = {
            name: measured(telling[:, [k]], inputs[:, [k]] / ranges[k], 0.0, self.eta)
            for k, name in enumerate(names)
        }
        if names:
            told[INPUTS] = measured(telling, inputs / ranges, 0.0, self.eta)
        # STAGE 2: answers
        if target is not None:
            new = self._answered(frame, new, target, (names, labels), rng)
            if target in frame.numbers:
                told[OUTPUT] = self._told_output(frame.numbers[target], new.numbers[target])
        copied = tuple(name for name in labels if name not in drawn)
        return Made(table_of(new, rows.column_names), alpha, told, copied)

    @property
    def eta(self) -> float:
        """How near a number must come to be told."""
        return self.hybrid.eta

    def _answered(
        self,
        real: Frame,
        new: Frame,
        target: str,
        columns: tuple[list[str], list[str]],
        rng: np.random.Generator,
    ) -> Frame:
        """The new rows with a target by a model of the real ones."""
        names, labels = columns
        centre = real.matrix(names).mean(axis=0)
        spread = real.matrix(names).std(axis=0) * _OF_RANGE
        spread = np.where(spread > 0, spread, 1.0)
        seen, asked = (
            np.concatenate(
                [(f.matrix(names) - centre) / spread, f.indicators(labels, like=real)], axis=1
            )
            for f in (real, new)
        )
        if not seen.shape[1]:  # nothing to learn from: the same is said of all rows
            seen, asked = np.zeros((len(seen), 1)), np.zeros((len(asked), 1))
        numeric = target in real.numbers
        outputs = real.numbers[target][:, None] if numeric else real.indicators([target])
        known = ~np.isnan(outputs[:, 0]) if numeric else outputs.any(axis=1)
        if not known.any():
            return new
        model = self.response.taught(seen[known], outputs[known], rng)
        answers = model.answers(asked)
        if numeric:
            error = np.sqrt(np.maximum(model.error, 0.0)) if self.residual else np.zeros(1)
            drawn = answers[:, 0] + rng.normal(0.0, 1.0, len(answers)) * error[0]
            return replace(new, numbers=dict(new.numbers) | {target: drawn})
        chances = np.maximum(answers, 1e-9)
        chances /= chances.sum(axis=1, keepdims=True)
        place = (chances.cumsum(axis=1) < rng.random((len(chances), 1))).sum(axis=1)
        classes = np.array(real.common_labels(target), object)
        labelled = classes[np.minimum(place, len(classes) - 1)]
        return replace(new, labels=dict(new.labels) | {target: labelled})

    def _told_output(self, real: Numbers, made: Numbers) -> float:
        known = np.isfinite(real) & np.isfinite(made)
        if not known.any() or not np.ptp(real[known]):  # a number that all share tells nothing
            return 0.0
        width = _ranges(real[known][:, None])
        return measured(real[known][:, None] / width, made[known][:, None] / width, 0.0, self.eta)


INPUTS, OUTPUT = "all inputs", "the target"


@dataclass(frozen=True, eq=False)
class Made:
    """Rows that were made, and what they tell about the real ones."""

    table: pa.Table
    alpha: float
    """How much of a real row is in the one that was made of it."""
    told: Mapping[str, float]
    """LID: by column, of all inputs, and of the target."""
    copied: tuple[str, ...] = ()
    """Columns of labels that are those of the real rows."""


def _ranges(real: Numbers) -> Numbers:
    width = real.max(axis=0) - real.min(axis=0) if len(real) else np.ones(real.shape[1])
    return np.asarray(np.where(width > 0, width, 1.0))


def ranked_inputs(stage: FirstStage, target: str | None) -> MakeInputs:
    """Inputs by a stage that knows numbers: labels go by ranks, in the order of target means."""

    def make(real: Frame, names: Sequence[str], rng: np.random.Generator) -> Frame:
        numbers = [name for name in names if name in real.numbers]
        labels = [name for name in names if name in real.labels]
        ranked = [_ranked(real, name, target, rng) for name in labels]
        made = stage.made(np.column_stack([real.matrix(numbers), *ranked]), rng)
        return Frame(
            {name: made[:, k] for k, name in enumerate(numbers)},
            {
                name: _by_rank(real, name, target, made[:, k])
                for k, name in enumerate(labels, len(numbers))
            },
        )

    return make


def _ordered(frame: Frame, name: str, target: str | None) -> list[str | None]:
    """The labels of a column, in the order of the target's mean; a missing one is one of them."""
    column = frame.labels[name]
    found: list[str | None] = [*known_labels(column)]
    found += [None] if any(label is None for label in column) else []
    if target in frame.numbers:
        means = {label: float(np.nanmean(_held(frame, name, label, target))) for label in found}
        found.sort(key=lambda label: means[label])
    return found


def _held(frame: Frame, name: str, label: str | None, target: str | None) -> Numbers:
    assert target is not None  # noqa: S101 - the caller has looked
    values = frame.numbers[target][frame.labels[name] == label]
    return values if np.isfinite(values).any() else np.zeros(1)


def _ranked(frame: Frame, name: str, target: str | None, rng: np.random.Generator) -> Numbers:
    """Labels as numbers: their place in order, and anything up to the next."""
    place = {label: k for k, label in enumerate(_ordered(frame, name, target))}
    codes = np.array([place[label] for label in frame.labels[name]], np.float64)
    return codes + rng.random(len(codes))


def _by_rank(frame: Frame, name: str, target: str | None, ranked: Numbers) -> NDArray[np.object_]:
    """Labels in the order of numbers, each as often as among real rows."""
    order = _ordered(frame, name, target)
    counts = [int((frame.labels[name] == label).sum()) for label in order]
    places = np.empty(len(ranked), np.intp)
    places[np.argsort(ranked, kind="stable")] = np.repeat(np.arange(len(order)), counts)
    labels = np.empty(len(order), object)
    labels[:] = order
    return np.asarray(labels[places])
