import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from understudy.curator.result import Direction
from understudy.curator.scores import (
    DIRECTIONS,
    ClassPredictions,
    NumberPredictions,
    class_scores,
    mean_where,
    number_scores,
)
from understudy.curator.weighted import resampling

ROWS = 90


def made_up(classes, positive=None, seed=0, rows=ROWS):
    """Predictions that are somewhat better than chance, with probabilities of two digits."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, rows)
    strength = rng.gamma(1.0, size=(rows, classes))
    strength[np.arange(rows), truth] += 0.5
    # Few digits, so that scores tie.
    probabilities = np.round(strength / strength.sum(axis=1, keepdims=True), 2)
    probabilities[:, -1] = 1 - probabilities[:, :-1].sum(axis=1)
    predicted = probabilities.argmax(axis=1)
    return ClassPredictions(truth, predicted, probabilities, probabilities, positive)


def weightings(rows=ROWS, seed=0):
    return resampling(rows, np.random.default_rng(seed), 5)


# --- classes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("positive", [0, 1])
def test_scores_of_two_classes_are_scikit_learns(positive):
    made, weights = made_up(2, positive), weightings()
    is_positive, said = made.truth == positive, made.predicted == positive
    believed = made.probabilities[:, positive]
    expected = {
        "ROC-AUC": [metrics.roc_auc_score(is_positive, believed, sample_weight=w) for w in weights],
        "accuracy": [
            metrics.accuracy_score(made.truth, made.predicted, sample_weight=w) for w in weights
        ],
        "balanced accuracy": [
            metrics.balanced_accuracy_score(made.truth, made.predicted, sample_weight=w)
            for w in weights
        ],
        "F1": [metrics.f1_score(is_positive, said, sample_weight=w) for w in weights],
        "log loss": [metrics.log_loss(is_positive, believed, sample_weight=w) for w in weights],
        "Brier score": [
            metrics.brier_score_loss(is_positive, believed, sample_weight=w) for w in weights
        ],
    }
    found = class_scores(made, weights)
    assert set(found) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, err_msg=name)
        assert np.ptp(values) > 0  # weights matter


@pytest.mark.parametrize("classes", [3, 5])
def test_scores_of_more_classes_are_scikit_learns(classes):
    made, weights = made_up(classes, seed=classes), weightings()
    labels = list(range(classes))
    one_hot = np.eye(classes)[made.truth]
    expected = {
        "ROC-AUC": [
            metrics.roc_auc_score(made.truth, made.scores, multi_class="ovr", sample_weight=w)
            for w in weights
        ],
        "accuracy": [
            metrics.accuracy_score(made.truth, made.predicted, sample_weight=w) for w in weights
        ],
        "balanced accuracy": [
            metrics.balanced_accuracy_score(made.truth, made.predicted, sample_weight=w)
            for w in weights
        ],
        "F1": [
            metrics.f1_score(made.truth, made.predicted, average="macro", sample_weight=w)
            for w in weights
        ],
        "log loss": [
            metrics.log_loss(made.truth, made.probabilities, labels=labels, sample_weight=w)
            for w in weights
        ],
        "Brier score": [
            np.average(np.sum((made.probabilities - one_hot) ** 2, axis=1), weights=w)
            for w in weights
        ],
    }
    found = class_scores(made, weights)
    assert set(found) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, err_msg=name)


def test_a_named_class_of_several_is_told_from_all_others():
    made, weights = made_up(3, positive=2, seed=4), weightings()
    found = class_scores(made, weights)
    is_two, said = made.truth == 2, made.predicted == 2
    area = [metrics.roc_auc_score(is_two, made.scores[:, 2], sample_weight=w) for w in weights]
    np.testing.assert_allclose(found["ROC-AUC"], area)
    f1 = [metrics.f1_score(is_two, said, sample_weight=w) for w in weights]
    np.testing.assert_allclose(found["F1"], f1)
    # The rest asks about all classes still.
    unnamed = class_scores(made_up(3, seed=4), weights)
    for name in ("accuracy", "balanced accuracy", "log loss", "Brier score"):
        np.testing.assert_array_equal(found[name], unnamed[name])


def test_a_class_that_is_predicted_and_never_true_counts_against_f1():
    truth, predicted = np.array([0, 0, 1, 1]), np.array([0, 2, 1, 1])
    scores = np.eye(3)[predicted]
    found = class_scores(ClassPredictions(truth, predicted, scores, scores, None), np.ones((1, 4)))
    expected = metrics.f1_score(truth, predicted, average="macro", zero_division=0)
    assert found["F1"] == pytest.approx(expected)
    # Its recall is not defined, so it is no part of balanced accuracy.
    assert found["balanced accuracy"] == pytest.approx(0.75)
    assert found["ROC-AUC"] == pytest.approx(
        np.mean([metrics.roc_auc_score(truth == k, scores[:, k]) for k in (0, 1)])
    )


def test_a_class_held_for_impossible_costs_much_and_not_infinitely_much():
    truth = np.array([0, 1])
    sure = np.array([[1.0, 0.0], [1.0, 0.0]])
    found = class_scores(ClassPredictions(truth, truth * 0, sure, sure, 1), np.ones((1, 2)))
    expected = metrics.log_loss(truth, sure)
    assert found["log loss"] == pytest.approx(expected)
    assert 15 < expected < 20


def test_scores_are_undefined_where_there_is_nothing_to_score():
    nothing = np.zeros(0, np.int64)
    for positive in (None, 1):
        empty = ClassPredictions(nothing, nothing, np.zeros((0, 2)), np.zeros((0, 2)), positive)
        for name, values in class_scores(empty, np.ones((3, 0))).items():
            assert values.shape == (3,), name
            assert np.isnan(values).all(), name


@pytest.mark.parametrize(("positive", "classes"), [(1, 2), (None, 3)])
def test_without_a_second_class_there_is_no_area_and_the_rest_is_defined(positive, classes):
    made = made_up(classes, positive)
    one = ClassPredictions(
        np.zeros_like(made.truth), made.predicted, made.scores, made.probabilities, positive
    )
    found = class_scores(one, weightings())
    assert np.isnan(found["ROC-AUC"]).all()
    right = np.mean(made.predicted == 0)
    assert found["accuracy"][0] == pytest.approx(right)
    assert found["balanced accuracy"][0] == pytest.approx(right)
    for name in ("F1", "log loss", "Brier score"):
        assert np.isfinite(found[name]).all(), name


def test_f1_is_undefined_where_the_positive_class_is_neither_true_nor_predicted():
    zeros = np.zeros(4, np.int64)
    scores = np.tile([0.9, 0.1], (4, 1))
    found = class_scores(ClassPredictions(zeros, zeros, scores, scores, 1), np.ones((2, 4)))
    assert np.isnan(found["F1"]).all()
    assert (found["accuracy"] == 1).all()


def test_a_resample_that_lacks_a_class_is_judged_by_the_others():
    made = ClassPredictions(np.array([0, 1, 1]), np.array([0, 1, 0]), np.eye(2)[[0, 1, 0]], None, 1)
    weights = np.array([[1.0, 1.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 2.0]])
    found = class_scores(made, weights)
    np.testing.assert_array_equal(found["ROC-AUC"], [0.75, np.nan, 0.5])
    np.testing.assert_array_equal(found["balanced accuracy"], [0.75, 1.0, 0.5])


def test_rare_classes_take_no_resample_away():
    # Twenty classes of two rows each: nearly every resample lacks some of them.
    truth = np.repeat(np.arange(20), 2)
    scores = np.eye(20)[np.where(np.arange(40) % 3 == 0, 0, truth)]
    made = ClassPredictions(truth, scores.argmax(axis=1), scores, scores, None)
    found = class_scores(made, weightings(40))
    for name, values in found.items():
        assert not np.isnan(values).any(), name


def test_without_probabilities_there_is_no_loss_and_the_rest_is_the_same():
    made, weights = made_up(2, 1), weightings()
    told = class_scores(made, weights)
    untold = class_scores(
        ClassPredictions(made.truth, made.predicted, made.scores, None, 1), weights
    )
    for name, values in untold.items():
        if name in {"log loss", "Brier score"}:
            assert np.isnan(values).all()
        else:
            np.testing.assert_array_equal(values, told[name])


def test_shares_among_some_rows():
    what = np.array([True, False, True, False])
    where = np.array([True, True, False, False])
    weights = np.array([[1.0, 1.0, 1.0, 1.0], [3.0, 1.0, 1.0, 1.0], [0.0, 0.0, 5.0, 5.0]])
    np.testing.assert_array_equal(mean_where(what, where, weights), [0.5, 0.75, np.nan])


# --- numbers --------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=20),
    st.sampled_from([1e-3, 1.0, 1e6]),
)
def test_number_scores_are_scikit_learns(rows, scale):
    truth, predicted = (np.array([r[k] for r in rows], np.float64) * scale for k in (0, 1))
    weights = weightings(len(rows), seed=len(rows))
    found = number_scores(NumberPredictions(truth, predicted), weights)
    for place, line in enumerate(weights):
        if not line.sum():
            assert np.isnan([found["MSE"][place], found["R²"][place]]).all()
            continue
        error = metrics.mean_squared_error(truth, predicted, sample_weight=line)
        assert found["MSE"][place] == pytest.approx(error)
        if np.ptp(truth[line > 0]) == 0:
            assert np.isnan(found["R²"][place])
        else:
            expected = metrics.r2_score(truth, predicted, sample_weight=line)
            assert found["R²"][place] == pytest.approx(expected)


@pytest.mark.parametrize("offset", [0.0, 2000.0, 1.6e9, 1e12])
def test_r2_does_not_depend_on_where_zero_is(offset):
    # Moments count seconds from 1970, so a column of one day lies far from 0.
    rng = np.random.default_rng(0)
    truth = np.round(rng.normal(0, 10, 200))
    predicted = truth + np.round(rng.normal(0, 4, 200))
    weights = weightings(200)
    found = number_scores(NumberPredictions(truth + offset, predicted + offset), weights)
    expected = [metrics.r2_score(truth, predicted, sample_weight=line) for line in weights]
    np.testing.assert_allclose(found["R²"], expected, rtol=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 + 0.1, -1e100])
def test_r2_is_undefined_for_one_value(value):
    truth = np.full(50, value)
    found = number_scores(NumberPredictions(truth, truth), weightings(50))
    assert np.isnan(found["R²"]).all()
    assert (found["MSE"] == 0).all()


def test_number_scores_of_no_rows_are_undefined():
    found = number_scores(NumberPredictions(np.zeros(0), np.zeros(0)), np.ones((2, 0)))
    assert np.isnan(found["MSE"]).all()
    assert np.isnan(found["R²"]).all()


def test_every_score_has_a_direction_and_a_better_guess_goes_that_way():
    truth = np.array([0, 1, 0, 1, 1])
    ones = np.ones((1, 5))

    def guesses(right):
        believed = np.where(np.eye(2)[truth] > 0, right, 1 - right)
        return ClassPredictions(truth, believed.argmax(axis=1), believed, believed, 1)

    numbers = truth.astype(np.float64)
    better = class_scores(guesses(0.9), ones)
    worse = class_scores(guesses(0.2), ones)
    better |= number_scores(NumberPredictions(numbers, numbers + 0.1), ones)
    worse |= number_scores(NumberPredictions(numbers, numbers + 0.5), ones)
    assert set(better) < set(DIRECTIONS)
    for name, values in better.items():
        higher = DIRECTIONS[name] is Direction.HIGHER
        assert (values[0] > worse[name][0]) == higher, name
