"""A task on codes, as DPDSyn's paper has it: a small network and a linear SVM, tested on real rows.

Inputs follow from the schema alone: an axis for each label, and the place of its bin for a number.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score, f1_score, log_loss, roc_auc_score
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC

from understudy.curator.coded_task import Codes
from understudy.curator.models import Learner, fitting
from understudy.encode.encoding import Cells
from understudy.encode.numbers import NumberCells

HIDDEN = 64
STEPS = 2000
ROWS_PER_STEP = 256
_MOST_PASSES = 60
_EDGE = np.sqrt(3.0)
"""So far from 0 do bins lie that places of evenly common bins have a variance of 1."""
_HALF = 0.5


@dataclass(frozen=True)
class LabelScores:
    """How well one model predicts a class of two."""

    accuracy: float
    f1: float
    """Of class 1; 0 where nobody is taken for it."""
    auc: float
    balanced: float
    """The mean of both classes' accuracy."""
    log_loss: float | None
    """In nats; None for a model that tells no chances."""


@dataclass(frozen=True, eq=False)
class LabelTask:
    """Which column is predicted, and what models see of the others."""

    cells: Mapping[str, Cells]
    target: str

    def inputs(self, rows: Codes) -> NDArray[np.float32]:
        """A line for each row."""
        tables = {name: _axes(one) for name, one in self.cells.items() if name != self.target}
        return np.concatenate([table[rows[name]] for name, table in tables.items()], axis=1)


def label_scores(
    train: Codes, test: Codes, task: LabelTask, learner: Learner, seed: int
) -> LabelScores:
    """A model trained on some rows and tested on others; where there is one class it guesses."""
    classes, truth = train[task.target], test[task.target]
    if len(np.unique(classes)) == 1:
        return _scores(np.full(len(truth), float(classes[0])), truth, chances=True)
    model = _model(learner, len(classes), seed)
    with fitting(len(classes)):
        model.fit(task.inputs(train), classes)
        asked = task.inputs(test)
        if learner is Learner.MLP:
            return _scores(model.predict_proba(asked)[:, 1], truth, chances=True)
        return _scores(model.decision_function(asked) + _HALF, truth, chances=False)


def majority(test: Codes, target: str) -> float:
    """The accuracy of who always says the more common class."""
    share = float(np.mean(test[target] == 1))
    return max(share, 1 - share)


def _model(learner: Learner, rows: int, seed: int) -> Any:  # noqa: ANN401 - scikit-learn ships no types
    """As many steps whatever the rows, so that more rows are no longer training."""
    if learner is Learner.SVM:
        return LinearSVC(random_state=seed)
    passes = min(max(round(STEPS * ROWS_PER_STEP / rows), 1), _MOST_PASSES)
    return MLPClassifier(
        hidden_layer_sizes=(HIDDEN,),
        batch_size=min(ROWS_PER_STEP, rows),
        max_iter=passes,
        early_stopping=False,
        random_state=seed,
    )


def _scores(scores: NDArray[np.float64], truth: NDArray[np.int64], *, chances: bool) -> LabelScores:
    said = (scores > _HALF).astype(np.int64)
    return LabelScores(
        float(np.mean(said == truth)),
        float(f1_score(truth, said, zero_division=0.0)),
        float(roc_auc_score(truth, scores)),
        float(balanced_accuracy_score(truth, said)),
        float(log_loss(truth, scores.astype(np.float64), labels=[0, 1])) if chances else None,
    )


def _axes(cells: Cells) -> NDArray[np.float32]:
    """By code, what a model sees."""
    seen, bins = np.eye(cells.size), 0
    if isinstance(cells, NumberCells):
        bins = len(cells.bins)
        place = np.zeros((cells.size, 1))
        place[:bins, 0] = np.linspace(-_EDGE, _EDGE, bins)
        seen = np.concatenate([seen[:, bins:], place], axis=1)
    if cells.hidden is not None:  # no synthetic row has it, so a model learns nothing of it
        seen = np.delete(seen, cells.hidden - bins, axis=1)
    return seen.astype(np.float32)
