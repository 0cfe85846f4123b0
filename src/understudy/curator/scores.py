"""How good predictions are, each score with its direction, for many weightings of the rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.curator.result import Direction
from understudy.curator.weighted import Values, Weights, auc, mean, ratio, sums

_TINY = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class ClassPredictions:
    """Predicted classes, as places among the target's classes, beside the true ones."""

    truth: NDArray[np.int64]
    predicted: NDArray[np.int64]
    scores: NDArray[np.float64]
    """By row and class, how strongly the model believes in it."""
    probabilities: NDArray[np.float64] | None
    positive: int | None

    def take(self, places: NDArray[np.bool_]) -> "ClassPredictions":
        """Some of the rows."""
        return replace(
            self,
            truth=self.truth[places],
            predicted=self.predicted[places],
            scores=self.scores[places],
            probabilities=None if self.probabilities is None else self.probabilities[places],
        )


@dataclass(frozen=True, eq=False)
class NumberPredictions:
    """Predicted numbers beside the true ones."""

    truth: NDArray[np.float64]
    predicted: NDArray[np.float64]

    def take(self, places: NDArray[np.bool_]) -> "NumberPredictions":
        """Some of the rows."""
        return NumberPredictions(self.truth[places], self.predicted[places])


def class_scores(made: ClassPredictions, weights: Weights) -> dict[str, Values]:
    """By name, each score's value and resampled values; NaN where it is not defined."""
    right = made.truth == made.predicted
    return {
        "ROC-AUC": _roc_auc(made, weights),
        "accuracy": mean(right.astype(np.float64), weights),
        "balanced accuracy": _balanced_accuracy(made, weights),
        "F1": _f1(made, weights),
        "log loss": _log_loss(made, weights),
        "Brier score": _brier(made, weights),
    }


def number_scores(made: NumberPredictions, weights: Weights) -> dict[str, Values]:
    """By name, each score's value and resampled values; NaN where it is not defined."""
    error = mean(np.square(made.truth - made.predicted), weights)
    # Centred first, for the difference of two large squares loses all digits.
    around = made.truth - made.truth.mean() if len(made.truth) else made.truth
    spread = mean(np.square(around), weights) - np.square(mean(around, weights))
    # Of resamples of one value the formula leaves rounding errors.
    spread[spread <= 1e-12 * np.square(around).max(initial=0.0)] = np.nan
    return {"MSE": error, "R²": 1 - error / spread}


DIRECTIONS: Mapping[str, Direction] = {
    "ROC-AUC": Direction.HIGHER,
    "accuracy": Direction.HIGHER,
    "balanced accuracy": Direction.HIGHER,
    "F1": Direction.HIGHER,
    "log loss": Direction.LOWER,
    "Brier score": Direction.LOWER,
    "MSE": Direction.LOWER,
    "R²": Direction.HIGHER,
    "ΔMSE (%)": Direction.HIGHER,
}


OF_PROBABILITIES = {"log loss", "Brier score"}
"""Not defined for models that tell no probabilities."""


def _over_classes(
    classes: NDArray[np.int64], score: Callable[[int], Values], weights: Weights
) -> Values:
    """The mean over classes; where a resample has no row of a class, over the others."""
    if not len(classes):
        return np.full(len(weights), np.nan)
    found = np.array([score(int(k)) for k in classes])
    defined = ~np.isnan(found)
    return ratio(np.where(defined, found, 0.0).sum(axis=0), defined.sum(axis=0, dtype=np.float64))


def _roc_auc(made: ClassPredictions, weights: Weights) -> Values:
    def one_against_rest(k: int) -> Values:
        return auc(made.scores[:, k], made.truth == k, weights)

    if made.positive is not None:
        return one_against_rest(made.positive)
    return _over_classes(np.unique(made.truth), one_against_rest, weights)


def _balanced_accuracy(made: ClassPredictions, weights: Weights) -> Values:
    def found(k: int) -> Values:
        return mean_where(made.predicted == k, made.truth == k, weights)

    return _over_classes(np.unique(made.truth), found, weights)


def _f1(made: ClassPredictions, weights: Weights) -> Values:
    def of_class(k: int) -> Values:
        true, said = made.truth == k, made.predicted == k
        either = true.astype(np.float64) + said
        return ratio(2 * sums(true & said, weights), sums(either, weights))

    if made.positive is not None:
        return of_class(made.positive)
    return _over_classes(np.union1d(made.truth, made.predicted), of_class, weights)


def _log_loss(made: ClassPredictions, weights: Weights) -> Values:
    if made.probabilities is None:
        return np.full(len(weights), np.nan)
    believed = np.take_along_axis(made.probabilities, made.truth[:, None], axis=1)[:, 0]
    return mean(-np.log(np.clip(believed, _TINY, 1.0)), weights)


def _brier(made: ClassPredictions, weights: Weights) -> Values:
    if made.probabilities is None:
        return np.full(len(weights), np.nan)
    if made.positive is not None and made.probabilities.shape[1] == 2:  # noqa: PLR2004 - yes or no
        wrong = made.probabilities[:, made.positive] - (made.truth == made.positive)
        return mean(np.square(wrong), weights)
    wrong = made.probabilities.copy()
    wrong[np.arange(len(wrong)), made.truth] -= 1
    return mean(np.square(wrong).sum(axis=1), weights)


def mean_where(what: NDArray[np.bool_], where: NDArray[np.bool_], weights: Weights) -> Values:
    """The share of rows with `what`, among those with `where`."""
    return ratio(sums(what & where, weights), sums(where, weights))
