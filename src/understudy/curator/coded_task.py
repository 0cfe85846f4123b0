"""A task on codes: models trained on some rows and tested on others, as papers do it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import roc_auc_score

from understudy.curator.models import Inputs, Learner, fitting

Codes = Mapping[str, NDArray[np.int64]]
Likely = NDArray[np.float64]
_HALF = 0.5
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Judged:
    """How well one model predicts a class of two."""

    auc: float
    accuracy: float


@dataclass(frozen=True)
class Mean:
    """The mean of repetitions, and how far the true one may be from it: a 95 % interval."""

    value: float
    half: float
    repetitions: int

    def __str__(self) -> str:
        if self.repetitions == 1:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} ± {self.half:.3f}"


def likely(train: Codes, test: Codes, target: str, learner: Learner, seed: int) -> Likely:
    """How likely rows are of class 1, by a model trained on others; one class is always guessed."""
    names = tuple(name for name in test if name != target)
    classes = train[target]
    if len(np.unique(classes)) == 1:
        return np.full(len(test[target]), float(classes[0]))
    model = Inputs((), names).classifier(learner, seed, hold_back=True)
    with fitting(len(classes)):
        model.fit(_matrix(train, names), classes)
        return np.asarray(model.predict_proba(_matrix(test, names))[:, 1], np.float64)


def positive(scores: Likely) -> NDArray[np.bool_]:
    """Which rows are taken for class 1."""
    return scores > _HALF


def judged(train: Codes, test: Codes, target: str, learner: Learner, seed: int) -> Judged:
    """A model trained on some rows and tested on others; where there is one class it guesses."""
    scores = likely(train, test, target, learner, seed)
    return judged_by(scores, test[target])


def judged_by(scores: Likely, truth: NDArray[np.int64]) -> Judged:
    """How well likelihoods tell the classes."""
    right = float(np.mean(positive(scores) == (truth == 1)))
    return Judged(float(roc_auc_score(truth, scores)), right)


def mean_of(values: Sequence[float]) -> Mean:
    """The mean, and its interval by Student's distribution."""
    count = len(values)
    if count == 1:
        return Mean(values[0], 0.0, 1)
    spread = float(np.std(values, ddof=1)) / np.sqrt(count)
    times = float(stats.t.ppf((1 + _CONFIDENCE) / 2, count - 1))
    return Mean(float(np.mean(values)), times * spread, count)


def _matrix(rows: Codes, names: Sequence[str]) -> NDArray[np.float64]:
    return np.column_stack([rows[name] for name in names]).astype(np.float64)
