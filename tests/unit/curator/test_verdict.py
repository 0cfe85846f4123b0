import pytest

from understudy.curator.result import Direction, Result
from understudy.curator.tables import REAL, SYNTHETIC
from understudy.curator.task import Task, TaskScores
from understudy.curator.verdict import verdicts


def task(synthetic, real, score="ROC-AUC", chance=0.5):
    def result(value):
        ends = (None, None) if value is None else (value - 0.01, value + 0.01)
        return (Result(score, value, *ends, Direction.HIGHER, "rows", ""),)

    scores = (
        TaskScores("logistic regression", SYNTHETIC, result(synthetic)),
        TaskScores("logistic regression", REAL, result(real)),
        TaskScores("majority class", REAL, result(chance)),
    )
    return Task("ill", "classification", "yes", scores, ())


@pytest.mark.parametrize(
    ("synthetic", "word"),
    [
        (0.895, "nearly as good as real rows"),
        (0.85, "useful, with a loss"),
        (0.75, "weak: for exploring, and not for use"),
        (0.6, "not fit for this task"),
        (0.3, "not fit for this task"),
    ],
)
def test_the_word_goes_by_what_is_kept(synthetic, word):
    (verdict,) = verdicts(task(synthetic, 0.9))
    assert verdict.word == word
    assert verdict.kept == pytest.approx((synthetic - 0.5) / 0.4)
    assert verdict.low < verdict.kept < verdict.high
    assert str(verdict).startswith(f"Verdict, logistic regression: {word}. Synthetic rows reach")


def test_where_real_rows_add_nothing_there_is_no_verdict():
    (verdict,) = verdicts(task(0.5, 0.505))
    assert verdict.kept is None
    assert "no verdict" in str(verdict)


def test_a_number_is_judged_by_its_r2():
    (verdict,) = verdicts(task(0.76, 0.8, "R²", 0.0))
    assert verdict.score == "R²"
    assert verdict.kept == pytest.approx(0.95)


def test_scores_that_cannot_be_told_are_passed_over():
    assert verdicts(task(None, 0.9)) == []
