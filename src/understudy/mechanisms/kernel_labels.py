"""Labels by kernel ridge regression on points that were drawn: LK-2SS's second stage, private.

docs/proofs/two_stages.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.encode.encoding import Cells
from understudy.encode.numbers import NumberCells
from understudy.errors import BadInput, NoiseTooLarge
from understudy.mechanisms.copula import ranks
from understudy.mechanisms.parameters import check_number, check_whole
from understudy.model.kernel_scorer import KernelScorer
from understudy.model.kernels import Gaussian, kernel_matrix
from understudy.model.labelled import Features
from understudy.model.labels import ClassLabels, NumberLabels
from understudy.model.visible import visible
from understudy.privacy.answers import NoisySum
from understudy.privacy.ledger import Ledger
from understudy.privacy.row_maps import InducingFeatures
from understudy.select.code_order import ordered_codes
from understudy.select.labels_told import LabelsTold

Numbers = NDArray[np.float64]
_DRAWN = 20_000
_LEAST_SPREAD = 0.01
"""Of a number's variance, what a model never explains."""
_JITTER = 1e-4
_PROFILE = 512
_MOST_POINTS, _FEWEST_POINTS = 256, 8
_LONGEST = 100.0
_APART = math.sqrt(0.5)
"""A label's own coordinate: two labels are as far apart as the ends of a number."""
_AXES = 32
"""More labels than this share axes."""
_FARTHEST = 2.0
"""Squared: two labels that share axes are no farther apart, nor are any two numbers."""


@dataclass(frozen=True)
class KernelLabelModel:
    """How labels are learned; the rule for points and length goes by public numbers alone."""

    points: int = 0
    """How many points there are kernels around; 0 for as many as the noise is worth."""
    length: float = 0.3
    """Of the kernel, in √d times a column's range of ranks."""

    def __post_init__(self) -> None:
        check_whole("points", self.points, least=0)
        check_number("length", self.length, least=1e-3)
        if self.length > _LONGEST:
            msg = f"length is {self.length}; give a number up to {_LONGEST:g}."
            raise BadInput(msg)

    def count(self, rows: float, rho: Fraction) -> int:
        """How many points suit so many rows and so much budget."""
        if self.points:
            return min(self.points, _MOST_POINTS)
        reach = rows * math.sqrt(2 * float(rho) / 3)
        return int(np.clip(round(reach ** (2 / 3)), _FEWEST_POINTS, _MOST_POINTS))

    def labels(
        self, ledger: Ledger, told: LabelsTold, kept: Sequence[str], features: Features
    ) -> ClassLabels | NumberLabels:
        """Labels for all that is left of a budget."""
        rng = np.random.default_rng(0)
        drawn = visible(features, ledger.encoding.hidden).sample(_DRAWN, rng)
        others = [name for name in ledger.domain.names if name != told.column]
        places = {
            name: _places(ledger.encoding.cells[name], drawn[name]) for name in kept or others[:1]
        }
        lesson = _Lesson.of(told)
        # Of rows without a target nothing is learned.
        rows = features.total * float(np.clip(told.shares[: told.told].sum(), 0.0, 1.0))
        asked = self._asked(ledger, told, places, lesson, drawn, rows)
        answer = _answer(ledger, asked) if kept and told.told > 1 else None
        if answer is None:
            # Not needed; but what is promised for a release is spent on it.
            ledger.measure([(told.column,)], rho=ledger.rest())
            return lesson.labels(told, self._idle(places, lesson), drawn, rng, 0.0)
        weights, explained = _solved(asked, answer, rows)
        scorer = KernelScorer(
            {name: np.asarray(table) for name, table in places.items()},
            np.asarray(asked.points),
            np.asarray(asked.whitening).T @ weights * lesson.bound,
            lesson.centre,
            np.asarray(asked.profile),
            asked.profile_step,
            not told.numeric,
        )
        return lesson.labels(told, scorer, drawn, rng, explained * lesson.bound**2)

    def _asked(  # noqa: PLR0913, PLR0917 - what a sum is made of
        self,
        ledger: Ledger,
        told: LabelsTold,
        places: Mapping[str, Numbers],
        lesson: "_Lesson",
        drawn: Mapping[str, NDArray[np.unsignedinteger]],
        rows: float,
    ) -> InducingFeatures:
        count = self.count(max(rows, 1.0), ledger.rest())
        some = slice(0, 4 * count)
        spots = [table[drawn[name][some]] for name, table in places.items()]
        points = np.unique(np.concatenate(spots, axis=1), axis=0)
        points = points[np.random.default_rng(1).permutation(len(points))[:count]]
        kernel = Gaussian(self.length * math.sqrt(len(places)))
        matrix = kernel_matrix(kernel, points, points) + _JITTER * np.eye(len(points))
        step = _FARTHEST * len(places) / (_PROFILE - 1)
        profile = kernel.at(np.asarray(step * np.arange(_PROFILE), np.float64), points.shape[1])
        whitening = np.linalg.inv(np.linalg.cholesky(matrix))
        return InducingFeatures(
            dict(places), points, whitening, profile, step, told.column, lesson.table
        )

    def _idle(self, places: Mapping[str, Numbers], lesson: "_Lesson") -> KernelScorer:
        width = sum(table.shape[1] for table in places.values())
        points, weights = np.zeros((1, width)), np.zeros((1, len(lesson.centre)))
        return KernelScorer(
            dict(places), points, weights, lesson.centre, np.ones(2), 1.0, not lesson.numeric
        )


@dataclass(frozen=True, eq=False)
class _Lesson:
    """What is taught: numbers around their noisy mean, or of each class whether it is there."""

    numeric: bool
    table: Numbers
    """By code and output, as a part of the bound; NaN where there is nothing to teach."""
    centre: Numbers
    bound: float

    @classmethod
    def of(cls, told: LabelsTold) -> "_Lesson":
        """By noisy shares of the labels."""
        shares = np.maximum(told.shares[: told.told], 0.0)
        shares = (
            shares / shares.sum() if shares.sum() else np.full(told.told, 1 / max(told.told, 1))
        )
        values = told.values[:, None] if told.numeric else np.eye(told.told)
        centre = shares @ values
        bound = max(float(np.linalg.norm(values - centre, axis=1).max(initial=0.0)), 1e-9)
        table = np.full((len(told.codes), values.shape[1]), np.nan)
        table[told.codes[: told.told]] = (values - centre) / bound
        return cls(told.numeric, table, centre, bound)

    def labels(
        self,
        told: LabelsTold,
        scorer: KernelScorer,
        drawn: Mapping[str, NDArray[np.unsignedinteger]],
        rng: np.random.Generator,
        explained: float,
    ) -> ClassLabels | NumberLabels:
        """Labels that are as common in these rows as they were counted."""
        if not self.numeric:
            shift = np.zeros(told.told)
            found = ClassLabels(scorer, told.codes, told.shares, shift, told.told)
            return found.matched(drawn)
        spread = max(told.variance - explained, _LEAST_SPREAD * told.variance)
        numbers = NumberLabels(
            scorer, told.codes, told.shares, told.told, math.sqrt(spread), np.zeros(0)
        )
        return numbers.fitted(drawn, rng)


def _places(cells: Cells, drawn: NDArray[np.unsignedinteger]) -> Numbers:
    """Where each code lies: numbers by rank, which no outlier stretches; labels by themselves."""
    shares = np.bincount(drawn, minlength=cells.size) / max(len(drawn), 1)
    if not isinstance(cells, NumberCells):
        if cells.size <= _AXES:
            return np.eye(cells.size) * _APART
        # Directions at random are nearly at right angles.
        axes = np.random.default_rng(2).normal(size=(cells.size, _AXES))
        return np.asarray(axes / np.linalg.norm(axes, axis=1, keepdims=True) * _APART)
    apart = cells.missing if cells.hidden is None else None
    table = np.zeros((cells.size, 1 if apart is None else 2))
    table[:, 0] = ranks(shares, ordered_codes(cells))
    if apart is not None:
        table[apart] = (0.5, _APART)
    elif cells.missing is not None:
        table[cells.missing] = 0.5
    return table


def _answer(ledger: Ledger, asked: InducingFeatures) -> NoisySum | None:
    """The sum; None where its noise would be more than numbers hold, by its price alone."""
    try:
        return ledger.sum(asked, rho=ledger.rest())
    except NoiseTooLarge:
        return None


def _solved(asked: InducingFeatures, answer: NoisySum, rows: float) -> tuple[Numbers, float]:
    """Weights of the features by ridge regression, and how much of the variance they explain.

    The ridge is what noise does to the matrix's eigenvalues, so no direction that is but noise
    weighs anything. What noise in Σφy pretends to explain is subtracted, and the weights are
    shortened to what is left: a prediction is then as large as it is right.
    """
    count, outputs = asked.count, asked.outputs
    upper = np.triu_indices(count)
    factor = np.where(upper[0] == upper[1], 1.0, asked.OFF_DIAGONAL / asked.DIAGONAL)
    gram = np.zeros((count, count))
    gram[upper] = answer.values[: len(factor)] / factor
    gram += np.triu(gram, 1).T
    across = answer.values[len(factor) : -1].reshape(count, outputs)
    values, vectors = np.linalg.eigh(gram)
    held, ridge = np.maximum(values, 0.0), max(answer.scale * math.sqrt(count), 1e-9)
    turned = vectors.T @ across
    slopes = turned / (held + ridge)[:, None]
    pretended = answer.scale**2 * outputs * float((1 / (held + ridge)).sum())
    agreed = max(float((turned * slopes).sum()) - pretended, 0.0)
    varied = float((held[:, None] * slopes**2).sum())
    part = min(agreed / varied, 1.0) if varied > 0 else 0.0
    # No more than there is: Σ‖y‖², noisy as well.
    most = max(float(answer.values[-1]), 0.0)
    explained = min(max(part * (2 * agreed - part * varied), 0.0), most) / max(rows, 1.0)
    return vectors @ slopes * part, explained
