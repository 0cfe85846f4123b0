import numpy as np
import pyarrow as pa
import pytest

from understudy.curator.align import align
from understudy.curator.kept import Kept, shares_kept
from understudy.curator.models import Learner
from understudy.curator.result import Direction, Result
from understudy.curator.tables import REAL, SYNTHETIC
from understudy.curator.target import Target
from understudy.curator.task import Task, TaskScores, judge
from understudy.curator.trials import run_trials
from understudy.curator.verdict import NO_VERDICT, NOT_FIT, TOO_FEW, task_verdict, verdicts

MODEL = "logistic regression"


def task(*kept, synthetic=0.8, real=0.9, seen=False):
    def result(value, note):
        return (Result("ROC-AUC", value, value, value, Direction.HIGHER, "rows", note),)

    models = dict.fromkeys([one.model for one in kept] or [MODEL])
    scores = [
        TaskScores(model, side, result(value, f"no {side} rows"))
        for model in models
        for side, value in ((SYNTHETIC, synthetic), (REAL, real))
    ]
    scores.append(TaskScores("majority class", REAL, result(0.5, "")))
    return Task("ill", "classification", "yes", tuple(scores), kept, seen, ())


def kept(share, low=None, high=None, score="ROC-AUC", model=MODEL):
    ends = (share - 0.01 if low is None else low, share + 0.01 if high is None else high)
    return Kept(model, score, 0.5 + 0.4 * share, 0.9, 0.5, share, *ends)


@pytest.mark.parametrize(
    ("share", "word"),
    [
        (0.97, "nearly as good as real rows"),
        (0.85, "useful, with a loss"),
        (0.75, "weak (for exploring, not for use)"),
        (0.4, "not fit for this task"),
        (-0.5, "not fit for this task"),
    ],
)
def test_the_word_goes_by_what_is_kept(share, word):
    (verdict,) = verdicts(task(kept(share)))
    assert verdict.word == word
    assert str(verdict).startswith(f"Verdict, {MODEL}: ranking {word}. For ranking, synthetic rows")


def test_the_word_goes_by_the_lower_end():
    (verdict,) = verdicts(task(kept(0.96, low=0.9)))
    assert verdict.word == "useful, with a loss"
    (verdict,) = verdicts(task(kept(0.9, low=0.6, high=1.1)))
    assert verdict.word == TOO_FEW


def test_ranking_and_probabilities_have_a_word_each():
    (verdict,) = verdicts(task(kept(0.97), kept(0.3, score="Brier score")))
    ranking, probabilities = verdict.aspects
    assert (ranking.name, ranking.word) == ("ranking", "nearly as good as real rows")
    assert (probabilities.name, probabilities.word) == ("probabilities", NOT_FIT)
    assert verdict.word == NOT_FIT
    told = str(verdict)
    assert told.startswith(
        f"Verdict, {MODEL}: ranking nearly as good as real rows; probabilities {NOT_FIT}. "
    )
    assert "keeps 97% [96%, 98%]" in told
    assert "keeps 30% [29%, 31%]" in told
    assert "calibrate its probabilities on real rows" in told
    for alike in ((0.97, 0.97), (0.6, 0.3)):
        (other,) = verdicts(task(kept(alike[0]), kept(alike[1], score="Brier score")))
        assert "calibrate" not in str(other)


def test_the_task_has_for_each_use_the_worst_word_of_its_models():
    other = "gradient boosting"
    judged = task(
        kept(0.96, low=0.955),
        kept(0.6, score="Brier score"),
        kept(0.85, model=other),
        kept(0.97, score="Brier score", model=other),
    )
    verdict = task_verdict(judged)
    assert str(verdict) == (
        f"Verdict for the task: ranking useful, with a loss, by {other}; probabilities weak (for "
        f"exploring, not for use), by {MODEL}. Use such a model to rank; calibrate its "
        "probabilities on real rows before you rely on them."
    )
    assert (verdict.word, verdict.model) == ("weak (for exploring, not for use)", MODEL)


def test_where_real_rows_add_nothing_there_is_no_verdict():
    nothing = Kept(MODEL, "ROC-AUC", 0.5, 0.5, 0.5, None, None, None)
    (verdict,) = verdicts(task(nothing))
    assert verdict.word == NO_VERDICT
    assert "real rows add nothing" in str(verdict)


def test_what_cannot_be_trained_on_is_not_fit():
    (verdict,) = verdicts(task(synthetic=None))
    assert str(verdict) == f"Verdict, {MODEL}: {NOT_FIT}, for no synthetic rows."
    (verdict,) = verdicts(task(synthetic=None, real=None))
    assert verdict.word == NO_VERDICT


def test_the_task_has_the_worst_word_of_its_models():
    judged = task(kept(0.97), kept(0.7, model="gradient boosting"))
    assert str(task_verdict(judged)) == (
        "Verdict for the task: ranking weak (for exploring, not for use), by gradient boosting."
    )
    tied = task(kept(0.3), kept(0.1, model="gradient boosting"))
    assert task_verdict(tied).model == "gradient boosting"
    assert "has seen the rows" in str(task_verdict(task(kept(0.97), seen=True)))


def test_the_share_is_resampled_with_its_pairs():
    # Rows that are easy for one model are easy for the other: the ratio hardly moves.
    shift = np.r_[0.0, np.random.default_rng(0).normal(0, 0.02, 400)]
    run = [{"R²": base * (1 + shift)} for base in (0.72, 0.8)]
    (one,) = shares_kept("ridge", run[:1], run[1:], [{"R²": np.zeros(401)}])
    assert one.share == pytest.approx(0.9)
    assert one.high - one.low < 1e-9


def patients(rows, ill, seed):
    """Rows in which the chance to be ill grows with the score, shifted to a share of all."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=rows)
    state = np.where(rng.random(rows) < 1 / (1 + np.exp(ill - 2 * score)), "ill", "well")
    return pa.table({"score": score, "state": state})


def test_a_wrong_share_of_classes_is_no_good_table_however_well_it_sorts():
    tables = align(patients(3000, 2.5, 0), patients(3000, -2.5, 1), patients(3000, 2.5, 2))
    aim = Target.of(tables, "state")
    judged = judge(tables, aim, run_trials(tables, aim, [Learner.LOGISTIC], 1))
    by_score = {one.score: one for one in judged.kept}
    assert by_score["ROC-AUC"].low > 0.95
    (verdict,) = verdicts(judged)
    assert {one.score: one.word for one in verdict.aspects} == {
        "ROC-AUC": "nearly as good as real rows",
        "Brier score": NOT_FIT,
    }
    # Without probabilities, decisions are looked at.
    judged = judge(tables, aim, run_trials(tables, aim, [Learner.SVM], 1))
    assert {one.score for one in judged.kept} == {"ROC-AUC", "balanced accuracy"}
    good = align(patients(3000, 2.5, 0), patients(3000, 2.5, 3), patients(3000, 2.5, 2))
    judged = judge(good, aim, run_trials(good, aim, [Learner.LOGISTIC], 1))
    assert task_verdict(judged).word == "nearly as good as real rows"


def test_a_number_that_never_varies_says_why_there_is_no_verdict():
    rng = np.random.default_rng(0)
    rows = pa.table({"x": rng.normal(size=200), "y": rng.normal(size=200)})
    same = pa.table({"x": rng.normal(size=200), "y": np.full(200, 1.5)})
    tables = align(rows, rows, same)
    aim = Target.of(tables, "y")
    judged = judge(tables, aim, run_trials(tables, aim, [Learner.LOGISTIC], 1))
    assert str(task_verdict(judged)) == "Verdict for the task: no verdict."
    (verdict,) = verdicts(judged)
    assert str(verdict).endswith("no verdict, for the test rows hold one value only.")
