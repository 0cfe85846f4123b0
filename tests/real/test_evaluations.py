"""Evaluations of real tables. Skipped unless a folder of tables is given."""

import numpy as np
import pandas as pd
import pytest

from understudy.curator.align import align
from understudy.curator.evaluation import evaluate
from understudy.curator.models import Learner
from understudy.curator.source import read_rows
from understudy.curator.tables import row_keys
from understudy.curator.target import Target
from understudy.curator.trials import run_trials


@pytest.mark.parametrize(
    ("name", "twins"), [("liver_patient_lpd", 11_323), ("smoking", 11_140), ("adult", 52)]
)
def test_twins_are_found_and_stay_together(data, name, twins):
    rows = read_rows(data / f"{name}.csv.gz")
    tables = align(rows, rows.slice(0, 500), without=["ID"] if "ID" in rows.column_names else [])
    (keys,) = row_keys([tables.real])
    assert len(keys) - len(np.unique(keys)) == twins
    target = Target.of(tables, tables.names[-1])
    (trial,) = run_trials(tables, target, [Learner.LOGISTIC], 1)
    assert trial.twins_together
    assert trial.test.count == pytest.approx(0.3 * rows.num_rows, rel=0.01)


def test_the_majority_of_liver_patients_is_the_line_to_beat(data):
    frame = pd.read_csv(data / "liver_patient_lpd.csv.gz").dropna()
    found = evaluate(frame, frame.sample(2000, random_state=0), target="result", seeds=1)
    line = found.task.of("majority class", "real")["accuracy"]
    assert len(frame) == 27_158
    assert line.value == pytest.approx(0.717, abs=0.02)


def test_real_adult_against_itself(data):
    frame = pd.read_csv(data / "adult.csv.gz").sample(9000, random_state=1)
    real, synthetic, test = (frame[k * 3000 : (k + 1) * 3000] for k in range(3))
    found = evaluate(real, synthetic, target="income", test=test, seeds=1)
    scores = [found.task.of("gradient boosting", side)["ROC-AUC"] for side in ("synthetic", "real")]
    assert all(score.value > 0.88 for score in scores)
    assert found.fidelity.marginals[1].distance.value < 1.3 * found.fidelity.marginals[1].floor
    held = [found.attacks.of(a).advantage for a in ("distance", "density", "marginals")]
    assert all(advantage.low < 0.02 for advantage in held)
