"""Models that a reader trains on rows of `utility.py`, and how well they tell real rows apart."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from utility_rows import Split

LEARNERS = ("logistic", "boosting")
NOTHING = 0.5
"""The area of a model that learned nothing: rows of one class teach none."""


def areas(split: Split, drawn: pd.DataFrame) -> dict[str, float]:
    """By learner, the area under the ROC curve on real test rows."""
    inputs = [name for name in split.test if name != split.table.target]
    numbers = [name for name in inputs if pd.api.types.is_numeric_dtype(split.test[name])]
    train, label = _told(split, drawn, inputs, numbers)
    test, truth = _told(split, split.test, inputs, numbers)
    # Boosting refuses a column without any number to train on; it tells nothing, and is 0.
    empty = [name for name in numbers if train[name].isna().all()]
    train, test = (
        train.assign(**dict.fromkeys(empty, 0.0)),
        test.assign(**dict.fromkeys(empty, 0.0)),
    )
    if len(np.unique(label)) < 2:
        return dict.fromkeys(LEARNERS, NOTHING)
    models = _for_codes(split, inputs) if split.sizes else _for_values(inputs, numbers)
    return {
        learner: float(roc_auc_score(truth, model.fit(train, label).predict_proba(test)[:, 1]))
        for learner, model in zip(LEARNERS, models, strict=True)
    }


def _told(
    split: Split, rows: pd.DataFrame, inputs: list[str], numbers: list[str]
) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """What a model sees of rows whose label is known, and whether they are positive."""
    label = rows[split.table.target]
    # A release may write 1 as 1.0, and codes are always numbers.
    positive = "1" if split.sizes else split.table.positive
    text = label.astype(str).str.removesuffix(".0")
    known = label.notna().to_numpy()
    seen = pd.DataFrame(
        {
            name: pd.to_numeric(rows[name], errors="coerce").astype(float)
            if name in numbers
            else rows[name].astype(object).where(rows[name].notna(), "").astype(str)
            for name in inputs
        }
    )
    return seen[known], (text == positive).to_numpy()[known]


def _for_codes(split: Split, inputs: list[str]) -> tuple[ClassifierMixin, ...]:
    assert split.sizes is not None  # noqa: S101 - codes have sizes
    codes = [np.arange(split.sizes[name]) for name in inputs]
    return (
        make_pipeline(OneHotEncoder(categories=codes), LogisticRegression(max_iter=1000)),
        HistGradientBoostingClassifier(random_state=0),
    )


def _for_values(inputs: list[str], numbers: list[str]) -> tuple[ClassifierMixin, ...]:
    labels = [name for name in inputs if name not in numbers]
    scaled = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    listed = OneHotEncoder(handle_unknown="ignore")
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return (
        make_pipeline(
            make_column_transformer((scaled, numbers), (listed, labels)),
            LogisticRegression(max_iter=1000),
        ),
        make_pipeline(
            make_column_transformer(("passthrough", numbers), (ordinal, labels)),
            HistGradientBoostingClassifier(random_state=0),
        ),
    )
