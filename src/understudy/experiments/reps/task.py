"""Train on synthetic rows, test on real ones: logistic regression, as in the paper."""

import numpy as np
from numpy.typing import NDArray

from understudy.curator.coded_task import judged_by
from understudy.curator.models import Inputs, Learner, fitting
from understudy.experiments.reps.rows import Rows
from understudy.experiments.reps.tables import Table

_GUESS = 0.5


def tstr(table: Table, rows: Rows, tested: Rows) -> float:
    """The AUROC on real rows of a model of synthetic ones; with one class it guesses."""
    positive = table.schema[table.target].categories
    assert positive is not None  # noqa: S101 - every target here is a list
    classes, truth = (one[table.target] == positive[1] for one in (rows, tested))
    if len(np.unique(classes)) == 1:
        return _GUESS
    model = Inputs(table.numbers, table.labels).classifier(Learner.LOGISTIC, 0, hold_back=False)
    with fitting(len(classes)):
        model.fit(_matrix(table, rows), classes)
        likely = model.predict_proba(_matrix(table, tested))[:, 1]
    return judged_by(likely, truth).auc


def _matrix(table: Table, rows: Rows) -> NDArray[np.float64]:
    parts = [rows[name] for name in table.numbers]
    for name in table.labels:
        codes = {label: code for code, label in enumerate(table.schema[name].categories or ())}
        parts.append(np.array([codes[label] for label in rows[name]], np.float64))
    return np.column_stack(parts)
