"""Train on synthetic rows, test on real ones: logistic regression, as in the paper."""

import math

import numpy as np
from numpy.typing import NDArray

from understudy.curator.coded_task import Likely, judged_by
from understudy.curator.models import Inputs, Learner, fitting
from understudy.experiments.reps.rows import Rows, count_of
from understudy.experiments.reps.tables import Table

_GUESS = 0.5


def tstr(table: Table, rows: Rows, tested: Rows) -> float:
    """The AUROC on real rows of a model of synthetic ones; with one class it guesses."""
    return auroc(table, likely(table, rows, tested), tested)


def likely(table: Table, rows: Rows, tested: Rows) -> Likely:
    """How likely real rows are of the second class, by a model of synthetic ones."""
    classes = _is_second(table, rows)
    if len(np.unique(classes)) == 1:
        return np.full(count_of(tested), _GUESS)
    model = Inputs(table.numbers, table.labels).classifier(Learner.LOGISTIC, 0, hold_back=False)
    with fitting(len(classes)):
        model.fit(_matrix(table, rows), classes)
        return np.asarray(model.predict_proba(_matrix(table, tested))[:, 1], np.float64)


def auroc(table: Table, believed: Likely, tested: Rows) -> float:
    """How well likelihoods put rows in order; not a number where these have one class only."""
    truth = _is_second(table, tested)
    return judged_by(believed, truth).auc if len(np.unique(truth)) > 1 else math.nan


def _is_second(table: Table, rows: Rows) -> NDArray[np.int64]:
    classes = table.schema[table.target].categories
    assert classes is not None  # noqa: S101 - every target here is a list
    return np.asarray(rows[table.target] == classes[1], np.int64)


def _matrix(table: Table, rows: Rows) -> NDArray[np.float64]:
    parts = [rows[name] for name in table.numbers]
    for name in table.labels:
        codes = {label: code for code, label in enumerate(table.schema[name].categories or ())}
        parts.append(np.array([codes[label] for label in rows[name]], np.float64))
    return np.column_stack(parts)
