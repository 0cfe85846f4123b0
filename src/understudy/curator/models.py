"""The models that readers are likely to fit, with public settings that suit most tables.

Loaded only by the curator: scikit-learn takes long to import, and making a release does not need
it.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC, LinearSVR
from threadpoolctl import threadpool_limits

from understudy.curator.tables import Rows
from understudy.errors import BadInput, listed

Matrix = NDArray[np.float64]
_MANY_ROWS = 20_000
MOST_LABELS = 250
"""The rarest of more labels are one to the models; boosting takes no more than 255."""


class Learner(StrEnum):
    """A model by the name of the command line."""

    LOGISTIC = "logistic"
    BOOSTING = "boosting"
    SVM = "svm"
    MLP = "mlp"

    @property
    def drawn(self) -> bool:
        """Whether fitting draws at random."""
        return self is not Learner.LOGISTIC

    def described(self, *, classes: bool) -> str:
        """The model in words; for a number as target there are kin of it."""
        return (_CLASSIFIERS if classes else _REGRESSORS)[self]


def learner_named(name: str) -> Learner:
    """The model with this name."""
    try:
        return Learner(name)
    except ValueError:
        msg = f"There is no model {name!r}. Known: {listed(Learner)}."
        raise BadInput(msg) from None


_CLASSIFIERS = {
    Learner.LOGISTIC: "logistic regression",
    Learner.BOOSTING: "gradient boosting",
    Learner.SVM: "linear SVM",
    Learner.MLP: "neural network (MLP)",
}
_REGRESSORS = {
    Learner.LOGISTIC: "ridge regression",
    Learner.BOOSTING: "gradient boosting",
    Learner.SVM: "linear SVM",
    Learner.MLP: "neural network (MLP)",
}


@dataclass(frozen=True)
class Inputs:
    """The columns that a model looks at."""

    numbers: tuple[str, ...]
    labels: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.numbers or self.labels)

    def matrices(self, train: Rows, test: Rows) -> tuple[Matrix, Matrix]:
        """A line per row: numbers with NaN for missing, then codes of labels.

        A column without any number to train on tells nothing, and is 0 everywhere.
        """
        told = [not np.isnan(train.numbers[name]).all() for name in self.numbers]

        def matrix(rows: Rows) -> Matrix:
            columns = [
                rows.numbers[name] if known else np.zeros(rows.count)
                for name, known in zip(self.numbers, told, strict=True)
            ]
            columns += [np.minimum(rows.codes[name], MOST_LABELS - 1.0) for name in self.labels]
            return np.column_stack(columns)

        return matrix(train), matrix(test)

    @property
    def _number_places(self) -> Sequence[int]:
        return range(len(self.numbers))

    @property
    def _label_places(self) -> Sequence[int]:
        first = len(self.numbers)
        return range(first, first + len(self.labels))

    def _prepared(self) -> ColumnTransformer:
        """Scaled numbers and one column per label; a label unseen in training is no label."""
        numbers = make_pipeline(
            SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True),
            StandardScaler(),
        )
        return ColumnTransformer(
            [
                ("numbers", numbers, list(self._number_places)),
                ("labels", OneHotEncoder(handle_unknown="ignore"), list(self._label_places)),
            ]
        )

    def classifier(self, learner: Learner, seed: int, *, hold_back: bool) -> Any:  # noqa: ANN401 - scikit-learn ships no types
        """A model of classes.

        `hold_back`: whether training may stop early by rows that it holds back, which needs
        several rows of every class.
        """
        if learner is Learner.BOOSTING:
            return HistGradientBoostingClassifier(
                categorical_features=list(self._label_places) or None,
                early_stopping="auto" if hold_back else False,
                random_state=seed,
            )
        heads = {
            Learner.LOGISTIC: lambda: LogisticRegression(max_iter=200),
            Learner.SVM: lambda: LinearSVC(random_state=seed),
            Learner.MLP: lambda: MLPClassifier(
                hidden_layer_sizes=(64,), max_iter=60, early_stopping=hold_back, random_state=seed
            ),
        }
        return make_pipeline(self._prepared(), heads[learner]())

    def regressor(self, learner: Learner, seed: int, *, hold_back: bool) -> Any:  # noqa: ANN401 - as above
        """A model of a number."""
        if learner is Learner.BOOSTING:
            boosting = HistGradientBoostingRegressor(
                categorical_features=list(self._label_places) or None, random_state=seed
            )
            return _of_ordinary_size(boosting)
        heads = {
            Learner.LOGISTIC: Ridge,
            Learner.SVM: lambda: LinearSVR(random_state=seed),
            Learner.MLP: lambda: MLPRegressor(
                hidden_layer_sizes=(64,), max_iter=200, early_stopping=hold_back, random_state=seed
            ),
        }
        return _of_ordinary_size(make_pipeline(self._prepared(), heads[learner]()))


def _of_ordinary_size(model: Any) -> Any:  # noqa: ANN401 - as above
    """Losses with a fixed margin or step, or in single precision, want an ordinary target."""
    return TransformedTargetRegressor(model, transformer=StandardScaler(), check_inverse=False)


@contextmanager
def fitting(rows: int) -> Iterator[None]:
    """A model that stops before it has converged is still a reader's model.

    Threads that wait for each other cost more than they gain on few rows.
    """
    threads = 1 if rows < _MANY_ROWS else None
    with warnings.catch_warnings(), threadpool_limits(threads):
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
