import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.dummy import DummyClassifier
from threadpoolctl import threadpool_limits

from understudy.curator.align import align
from understudy.curator.models import Learner, learner_named
from understudy.curator.split import TEST_SHARE, held_out, linked
from understudy.curator.tables import REAL, SYNTHETIC, row_keys
from understudy.curator.target import CLASSES, NUMBER, Target
from understudy.curator.task import GAP, judge
from understudy.curator.trials import OWN_ROWS, run_trials
from understudy.errors import BadInput, UnknownColumn

NAN = math.nan
LOGISTIC, RIDGE, BOOSTING = "logistic regression", "ridge regression", "gradient boosting"
MAJORITY, MEAN = "majority class", "mean"
EVERY = list(Learner)


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that wait for each other cost more than these small fits."""
    with threadpool_limits(1):
        yield


def patients(rows, seed, *, told=True):
    """A table whose target depends on the inputs, or on nothing."""
    rng = np.random.default_rng(seed)
    age, ward = rng.normal(50, 15, rows), rng.integers(0, 3, rows)
    risk = (age - 50) / 5 + ward - 2 + rng.logistic(size=rows)
    if not told:
        risk = rng.permutation(risk)
    return pa.table(
        {
            "age": np.round(age, 3),
            "ward": [f"ward {k}" for k in ward.tolist()],
            "state": np.where(risk > 0, "ill", "well"),
        }
    )


def prices(rows, seed, *, told=True):
    rng = np.random.default_rng(seed)
    size, floor = rng.normal(80, 20, rows), rng.normal(2, 1, rows)
    price = 3 * size - 10 * floor + rng.normal(0, 20, rows)
    return pa.table({"size": size, "floor": floor, "price": price if told else price[::-1] * -1})


def run(real, synthetic, test=None, *, target="state", learners=(Learner.LOGISTIC,), **choices):
    """The judged task; as tables, or as columns."""
    parts = [pa.table(part) if isinstance(part, dict) else part for part in (real, synthetic, test)]
    tables = align(*parts)
    seeds = choices.pop("seeds", 1)
    aim = Target.of(tables, target, **choices)
    return judge(tables, aim, run_trials(tables, aim, learners, seeds))


def values(scores):
    return {result.name: result.value for result in scores.results}


def aim(real, synthetic=None, **choices):
    """The target `x` of tables of one column."""
    real, synthetic = (pa.table({"x": cells}) for cells in (real, synthetic or real))
    return Target.of(align(real, synthetic), "x", **choices)


# --- the split ------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.lists(st.integers(0, 80), max_size=150), st.integers(0, 10))
def test_small_groups_stay_together_and_large_ones_give_three_rows_of_ten(groups, seed):
    out, whole = held_out(np.array(groups, np.int64), np.random.default_rng(seed))
    sizes, held = Counter(groups), Counter(np.array(groups, int)[out].tolist())
    large = {group for group, size in sizes.items() if size > max(1, 0.05 * len(groups))}
    assert whole == (not large)
    for group in large:
        assert abs(held[group] - TEST_SHARE * sizes[group]) <= 0.5
    small = {group: size for group, size in sizes.items() if group not in large}
    assert all(held[group] in {0, size} for group, size in small.items())
    wanted = TEST_SHARE * sum(small.values())
    told = sum(held[group] for group in small)
    assert wanted - max(small.values(), default=1) - 0.5 <= told <= wanted + 0.5


def test_the_share_of_different_rows_is_exact_and_differs_by_seed():
    rows = np.arange(200)
    (first, alone), (second, _) = (held_out(rows, np.random.default_rng(s)) for s in (0, 1))
    assert alone
    assert first.sum() == second.sum() == 60
    assert (first != second).any()
    np.testing.assert_array_equal(first, held_out(rows, np.random.default_rng(0))[0])


def test_every_row_is_held_out_as_often_as_any_other():
    rows = np.arange(120) // 2
    times = sum(held_out(rows, np.random.default_rng(seed))[0].astype(int) for seed in range(400))
    # 120 times on average, with a standard deviation of about 9.
    assert abs(times - 120).max() < 45


def test_a_row_that_many_share_does_not_eat_the_test_rows():
    # Half of the rows are alike: whole, they would be all or nothing.
    rows = np.r_[np.zeros(100, int), np.arange(1, 101)]
    for seed in range(12):
        out, whole = held_out(rows, np.random.default_rng(seed))
        assert not whole
        assert out[:100].sum() == out[100:].sum() == 30


def test_rows_that_many_share_are_tested_on_in_proportion():
    # Most rows have x = 0 and are well; of the others half are.
    rng = np.random.default_rng(0)
    x = np.where(rng.random(800) < 0.6, 0.0, rng.normal(size=800))
    state = np.where((x == 0) | (rng.random(800) < 0.5), "well", "ill")
    table = pa.table({"x": x, "state": state})
    task = run(table, table, target="state", seeds=2)
    line = task.of("majority class", "real")["accuracy"].value
    assert line == pytest.approx(np.mean(state == "well"), abs=0.03)


def test_persons_and_rows_that_are_alike_stay_together():
    # Every row is there twice, under two persons.
    rng = np.random.default_rng(1)
    x = np.tile(rng.normal(size=150), 2)
    table = pa.table({"x": x, "state": np.tile(rng.choice(["ill", "well"], 150), 2)})
    persons = np.r_[np.arange(150) // 3, 50 + np.arange(150) // 3]
    tables = align(table, table)
    target = Target.of(tables, "state")
    (trial,) = run_trials(tables, target, [Learner.LOGISTIC], 1, persons=persons)
    assert trial.twins_together
    held = trial.test.numbers["x"].tolist()
    assert all(held.count(value) == 2 for value in held)
    owners = [{p for p, value in zip(persons, x, strict=True) if value in held}]
    assert len(held) == sum(int((persons == p).sum()) for p in owners[0])


def test_links_join_whoever_is_joined_through_others():
    groups = linked(np.array([0, 0, 1, 2, 3]), np.array([5, 6, 6, 7, 7]))
    assert groups[0] == groups[1] == groups[2]
    assert groups[3] == groups[4] != groups[0]


def test_an_odd_synthetic_label_does_not_change_what_is_asked():
    real, test = patients(300, 0), patients(200, 1)
    odd = real.slice(0, 299).append_column("x", [[0.0] * 299]).drop_columns("x")
    row = pa.table({n: [odd[n][0].as_py()] for n in odd.column_names})
    row = row.set_column(row.column_names.index("state"), "state", [["unsure"]])
    plain, changed = (
        run(real, synthetic, test) for synthetic in (real, pa.concat_tables([odd, row]))
    )
    assert plain.positive == changed.positive
    name = "logistic regression"
    assert values(plain.of(name, REAL)) == values(changed.of(name, REAL))
    assert any("class that no real row has" in note for note in changed.notes)
    assert all(r.value is not None for r in changed.of(name, SYNTHETIC).results)


def test_rows_of_few_kinds_are_held_out_one_by_one_and_models_do_not_unlearn():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 600))
    ill = (rng.random(600) < 0.2 + 0.6 * (a & b)).astype(int)
    table = pa.table({"a": a, "b": b, "ill": ill})
    task = run(table, table, target="ill", seeds=2)
    assert values(task.of("logistic regression", "real"))["ROC-AUC"] > 0.6
    assert any("Too many rows are alike" in note for note in task.notes)


def test_rows_with_equal_inputs_stay_together_whatever_their_target():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=100), 4)
    table = pa.table({"x": x, "ill": np.where(rng.random(400) < 0.5, "yes", "no")})
    tables = align(table, table)
    for trial in run_trials(tables, Target.of(tables, "ill"), [Learner.LOGISTIC], 2):
        held = set(trial.test.numbers["x"].tolist())
        assert 25 <= len(held) <= 30
        assert trial.test.count == 4 * len(held)


def test_no_test_row_has_a_twin_in_training():
    table = patients(60, 0)
    twice = pa.concat_tables([table, table, table])
    tables = align(twice, table)
    target = Target.of(tables, "state")
    for trial in run_trials(tables, target, [Learner.LOGISTIC], 3):
        (keys,) = row_keys([trial.test])
        assert (np.bincount(keys) == 3).all()
        assert trial.test.count == 54


# --- the target -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "task", "classes"),
    [
        (["a", "b", "a"], CLASSES, {"a", "b"}),
        (["yes", "no", ""], CLASSES, {"true", "false"}),
        ([0, 1, 1], CLASSES, {"0", "1"}),
        ([3.0, 1.0, NAN], CLASSES, {"1", "3"}),
        ([0.5, 1.5, 1.5], NUMBER, set()),
        (list(range(20)), CLASSES, {str(k) for k in range(20)}),
        (list(range(21)), NUMBER, set()),
    ],
)
def test_few_whole_numbers_and_labels_are_classes(cells, task, classes):
    found = aim(cells)
    assert found.task == task
    assert set(found.classes) == classes


def test_the_task_can_be_named():
    assert aim([0, 1, 1], task=NUMBER).classes == ()
    assert aim([0.5, 1.5, 2.25], task=CLASSES).classes == ("0.5", "1.5", "2.25")
    assert len(aim(list(range(30)), task=CLASSES).classes) == 30


def test_targets_that_make_no_sense_are_refused_with_the_way_out():
    with pytest.raises(BadInput, match=r"'clustering' is unknown; use classification or"):
        aim([0, 1], task="clustering")
    with pytest.raises(BadInput, match="holds labels and cannot be predicted as a number"):
        aim(["a", "b"], task=NUMBER)
    with pytest.raises(BadInput, match="predicted as a number"):
        aim([0.5, 1.5], positive="1.5")
    with pytest.raises(BadInput, match=r"no class 'c'.*--positive"):
        aim(["a", "b"], positive="c")
    with pytest.raises(UnknownColumn, match="'z'"):
        run({"x": [1, 2]}, {"x": [1, 2]}, target="z")
    with pytest.raises(BadInput, match=r"'forest'.*logistic, boosting, svm, mlp"):
        learner_named("forest")
    assert [learner_named(name.value) for name in Learner] == EVERY


@pytest.mark.parametrize(
    ("cells", "rarer"),
    [
        (["a", "b", "b"], "a"),
        (["a", "a", "b"], "b"),
        ([1, 1, 0], "0"),
        ([True, False, False], "true"),
        (["a", "a", "b", None, None, None], "b"),
    ],
    ids=str,
)
def test_the_positive_class_is_the_real_tables_rarer_one(cells, rarer):
    # What is rarer among synthetic rows does not matter.
    found = aim(cells, [*cells, *[cell for cell in cells if str(cell).lower() == rarer] * 5])
    assert found.classes[found.positive] == rarer


def test_the_positive_class_can_be_named():
    for name in ("a", "b"):
        found = aim(["a", "b", "b"], positive=name)
        assert found.classes[found.positive] == name
    found = aim(["a", "b", "c"], positive="c")
    assert found.classes[found.positive] == "c"
    assert aim(["a", "b", "c"]).positive is None


@pytest.mark.parametrize("words", [("yes", "no"), ("Y", "N"), ("true", "false")], ids=str)
def test_a_flags_positive_class_is_named_as_the_table_writes_it(words):
    yes, no = words
    found = aim([yes, no, yes], positive=yes)
    assert found.classes[found.positive] == "true"
    found = aim([yes, no, no], positive=no)
    assert found.classes[found.positive] == "false"


def test_the_named_class_is_the_one_that_scores_are_about():
    real, test = patients(150, 0), patients(150, 1)
    rarer, other = (run(real, real, test, positive=name) for name in ("ill", "well"))
    assert (rarer.positive, other.positive) == ("ill", "well")
    left, right = (values(task.of(LOGISTIC, REAL)) for task in (rarer, other))
    # Areas and losses of two classes are the same from either side; F1 is not.
    for name in ("ROC-AUC", "accuracy", "balanced accuracy", "log loss", "Brier score"):
        assert left[name] == pytest.approx(right[name]), name
    assert left["F1"] != pytest.approx(right["F1"])


# --- what a reader gains --------------------------------------------------------------------------


def test_informative_rows_come_near_real_ones_and_useless_rows_near_the_majority_line():
    learners = [Learner.LOGISTIC, Learner.BOOSTING]
    real, test = patients(300, 0), patients(400, 1)
    useful = run(real, patients(300, 2), test, learners=learners)
    useless = run(real, patients(300, 3, told=False), test, learners=learners)
    line = useless.of(MAJORITY, REAL)
    for model in (LOGISTIC, BOOSTING):
        reached, ours = useful.of(model, REAL), useful.of(model, SYNTHETIC)
        assert useless.of(model, REAL) == reached
        assert reached["ROC-AUC"].value > 0.8
        assert ours["ROC-AUC"].value == pytest.approx(reached["ROC-AUC"].value, abs=0.04)
        assert ours["accuracy"].value > line["accuracy"].value + 0.1
        assert ours["Brier score"].value < line["Brier score"].value - 0.04
        # An area says nothing here: a slope that is nearly 0 still ranks rows one way or another.
        theirs = useless.of(model, SYNTHETIC)
        assert theirs["accuracy"].value < line["accuracy"].value + 0.04
        assert theirs["Brier score"].value > line["Brier score"].value - 0.02
    flat = useless.of(LOGISTIC, SYNTHETIC)
    for name in ("accuracy", "log loss", "Brier score"):
        assert flat[name].value == pytest.approx(line[name].value, abs=0.04), name


def test_a_regression_on_informative_rows_comes_near_one_on_real_rows():
    real, test = prices(300, 0), prices(300, 1)
    useful = run(real, prices(300, 2), test, target="price")
    useless = run(real, prices(300, 2, told=False), test, target="price")
    reached = useful.of(RIDGE, REAL)["R²"].value
    assert reached > 0.85
    assert useful.of(RIDGE, SYNTHETIC)["R²"].value == pytest.approx(reached, abs=0.03)
    assert useless.of(RIDGE, SYNTHETIC)["R²"].value < 0.1
    assert abs(useful.of(MEAN, REAL)["R²"].value) < 0.05


def test_the_gap_is_synthetic_minus_real_with_an_interval_of_its_own():
    task = run(patients(300, 0), patients(300, 2), patients(300, 1))
    ours, theirs, gap = (task.of(LOGISTIC, side) for side in (SYNTHETIC, REAL, GAP))
    for result in gap.results:
        apart = ours[result.name].value - theirs[result.name].value
        assert result.value == pytest.approx(apart, abs=1e-12)
        assert result.low <= result.value <= result.high
    # Both models were tested on the same rows, so the gap is surer than either of them.
    for name in ("ROC-AUC", "log loss", "Brier score"):
        assert gap[name].high - gap[name].low < ours[name].high - ours[name].low


def test_the_majority_line_is_scikit_learns_dummy():
    real, test = patients(120, 0), patients(90, 1)
    found = run(real, real, test, positive="ill").of(MAJORITY, REAL)
    said = [np.array(table["state"].to_pylist()) for table in (real, test)]
    dummy = DummyClassifier(strategy="prior").fit(np.zeros((120, 1)), said[0])
    blank = np.zeros((90, 1))
    believed, predicted = dummy.predict_proba(blank)[:, 0], dummy.predict(blank)
    assert list(dummy.classes_) == ["ill", "well"]
    ill = said[1] == "ill"
    assert values(found) == pytest.approx(
        {
            "ROC-AUC": metrics.roc_auc_score(ill, believed),
            "accuracy": metrics.accuracy_score(said[1], predicted),
            "balanced accuracy": metrics.balanced_accuracy_score(said[1], predicted),
            "F1": metrics.f1_score(said[1], predicted, pos_label="ill"),
            "log loss": metrics.log_loss(ill, believed),
            "Brier score": metrics.brier_score_loss(ill, believed),
        }
    )


def own_and_tested(test, seed=0):
    """A reader's own rows and those that are left to test on."""
    order = np.random.default_rng(seed).permutation(test.num_rows)
    own = min(OWN_ROWS, int(0.3 * test.num_rows))
    return test.take(order[:own]), test.take(order[own:])


def test_the_mean_line_predicts_the_training_rows_mean():
    real, test = prices(80, 0), prices(60, 1)
    found = values(run(real, real, test, target="price").of(MEAN, REAL))
    tested = own_and_tested(test)[1]
    train, truth = (np.array(table["price"]) for table in (real, tested))
    guess = np.full(42, train.mean())
    assert found["MSE"] == pytest.approx(metrics.mean_squared_error(truth, guess))
    assert found["R²"] == pytest.approx(metrics.r2_score(truth, guess))


def test_every_result_tells_its_interval_and_the_rows_it_read():
    task = run(patients(120, 0), patients(50, 2), patients(60, 1))
    for scores in task.scores:
        for result in scores.results:
            assert result.low <= result.value <= result.high
            assert "60 rows of the test table" in result.read
    assert "50 synthetic rows" in task.of(LOGISTIC, SYNTHETIC)["accuracy"].read
    held = run(patients(100, 0), patients(50, 2), seeds=2)
    assert "30 held-out real rows, 2 rounds" in held.of(LOGISTIC, REAL)["accuracy"].read
    assert any("held out" in note for note in held.notes)


# --- ΔMSE -----------------------------------------------------------------------------------------


def ridge_error(train, test):
    """The squared error of ridge regression on scaled columns, from its normal equations."""
    names = ["size", "floor"]
    inputs, truth = np.column_stack([train[n] for n in names]), np.array(train["price"])
    middle, spread = inputs.mean(axis=0), inputs.std(axis=0)
    scaled, level = (inputs - middle) / spread, (truth - truth.mean()) / truth.std()
    slopes = np.linalg.solve(scaled.T @ scaled + np.eye(2), scaled.T @ level)
    asked = (np.column_stack([test[n] for n in names]) - middle) / spread
    guess = truth.mean() + truth.std() * (asked @ slopes)
    return np.mean((np.array(test["price"]) - guess) ** 2)


@pytest.mark.parametrize("told", [True, False])
def test_delta_mse_is_what_synthetic_rows_take_off_the_error_of_own_rows(told):
    real, synthetic = prices(50, 0), prices(90, 2, told=told)
    own, test = own_and_tested(prices(100, 1))
    task = run(real, synthetic, prices(100, 1), target="price")
    alone, together = ridge_error(own, test), ridge_error(pa.concat_tables([own, synthetic]), test)
    assert task.of(RIDGE, REAL)["MSE"].value == pytest.approx(ridge_error(real, test))
    assert task.of(RIDGE, SYNTHETIC)["MSE"].value == pytest.approx(ridge_error(synthetic, test))
    found = task.of(RIDGE, SYNTHETIC)["ΔMSE (%)"]
    assert found.value == pytest.approx(100 * (1 - together / alone))
    assert (found.value > 0) == told
    assert found.low < found.value < found.high


def test_a_reader_owns_few_rows_of_a_long_table():
    real, test = prices(OWN_ROWS + 400, 0), prices(200, 1)
    task = run(real, prices(50, 2, told=False), test, target="price")
    # With all real rows at hand the useless ones would do less harm than with a few.
    all_rows = pa.concat_tables([real, prices(50, 2, told=False)])
    least = 100 * (1 - ridge_error(all_rows, test) / ridge_error(real, test))
    assert task.of(RIDGE, SYNTHETIC)["ΔMSE (%)"].value < 1.5 * least < 0


# --- rows that hold little ------------------------------------------------------------------------


def small(rows=40, seed=0, ward=("a", "b"), state=("ill", "well")):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.normal(size=rows),
        "ward": rng.choice(ward, rows),
        "state": [state[k % len(state)] for k in range(rows)],
    }


@pytest.mark.parametrize("learner", EVERY)
def test_categories_unseen_in_training_do_no_harm(learner):
    real, test = small(ward=("a", "b")), small(seed=1, ward=("a", "c", "d"))
    synthetic = small(seed=2, ward=("x",))
    for target in ("state", "age"):
        task = run(real, synthetic, test, target=target, learners=[learner])
        for scores in task.scores:
            for result in scores.results:
                untold = learner is Learner.SVM and result.name in {"log loss", "Brier score"}
                assert untold or math.isfinite(result.value), result.name


@pytest.mark.parametrize("learner", EVERY)
def test_columns_that_tell_nothing_do_no_harm(learner):
    def empty(seed):
        nothing = {
            "constant": [1.5] * 40,
            "same": ["x"] * 40,
            "blank": [None] * 40,
            "unknown": pa.array([None] * 40, pa.float64()),
        }
        return {**small(seed=seed), **nothing}

    for target in ("state", "age"):
        task = run(empty(0), empty(1), empty(2), target=target, learners=[learner])
        plain = run(small(), small(seed=1), small(seed=2), target=target, learners=[learner])
        for side in (SYNTHETIC, REAL):
            model = learner.described(classes=target == "state")
            assert set(values(task.of(model, side))) == set(values(plain.of(model, side)))
        if learner is Learner.LOGISTIC:
            assert values(task.scores[0]) == pytest.approx(values(plain.scores[0]), rel=1e-3)


@pytest.mark.parametrize("learner", EVERY)
def test_a_number_column_that_is_missing_in_all_synthetic_rows_does_no_harm(learner):
    real, test = small(), small(seed=1)
    numbers = {"size": np.linspace(0, 1, 40)}
    synthetic = {**small(seed=2), "size": pa.array([None] * 40, pa.float64())}
    for target in ("state", "age"):
        task = run(
            {**real, **numbers}, synthetic, {**test, **numbers}, target=target, learners=[learner]
        )
        assert task.scores[0].trained_on == SYNTHETIC
        assert task.scores[0].results[0].value is not None


@pytest.mark.parametrize("learner", EVERY)
def test_a_table_of_the_target_alone_scores_like_its_baseline(learner):
    table = {"state": ["ill", "well", "well"] * 10}
    task = run(table, table, table, learners=[learner])
    found = values(task.of(learner.described(classes=True), SYNTHETIC))
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["ROC-AUC"] == pytest.approx(0.5)


@pytest.mark.parametrize("learner", EVERY)
def test_numbers_of_any_size_can_be_predicted(learner):
    far = np.r_[np.linspace(-1, 1, 39), 1e200]
    table = {"x": np.linspace(0, 1, 40), "price": far}
    task = run(table, table, table, target="price", learners=[learner])
    for scores in task.scores:
        assert scores["MSE"].value is None or math.isfinite(scores["MSE"].value)


@pytest.mark.parametrize("learner", EVERY)
def test_synthetic_rows_of_one_class_predict_that_class(learner):
    real, test = small(), small(seed=1, state=("ill", "well", "well", "well"))
    task = run(real, small(seed=2, state=("well",)), test, learners=[learner])
    found = values(task.of(learner.described(classes=True), SYNTHETIC))
    assert found["accuracy"] == 0.75
    assert found["balanced accuracy"] == 0.5
    assert found["ROC-AUC"] == 0.5
    assert "The synthetic table has no row of the class ill." in task.notes


@pytest.mark.parametrize("learner", EVERY)
def test_without_synthetic_rows_there_is_nothing_to_tell_of_them(learner):
    real = small()
    nothing = {name: pa.array(column).slice(0, 0) for name, column in real.items()}
    for target in ("state", "age"):
        task = run(real, nothing, small(seed=1), target=target, learners=[learner])
        model = learner.described(classes=target == "state")
        for result in task.of(model, SYNTHETIC).results:
            assert result.value is None
            assert "no rows to train on" in result.note
        assert task.of(model, REAL).results[0].value is not None
        assert all(scores.trained_on != GAP for scores in task.scores)


def test_without_real_or_test_rows_there_is_nothing_to_tell_either():
    full = small()
    nothing = {name: pa.array(column).slice(0, 0) for name, column in full.items()}
    for target in ("state", "age"):
        untrained = run(nothing, full, full, target=target)
        assert untrained.scores[0].results[0].value is not None
        assert "no rows to train on" in untrained.scores[1].results[0].note
        untested = run(full, full, nothing, target=target)
        for scores in untested.scores:
            assert all(result.value is None for result in scores.results)
            assert all("no rows to test on" in result.note for result in scores.results)


def test_test_rows_of_one_class_leave_the_area_untold():
    task = run(small(), small(seed=2), small(seed=1, state=("well",)))
    scores = task.of(LOGISTIC, SYNTHETIC)
    assert scores["ROC-AUC"].value is None
    assert "one class only" in scores["ROC-AUC"].note
    assert 0 <= scores["accuracy"].value <= 1
    assert "The test table has no row of the class ill." in task.notes


def test_a_target_of_one_value_leaves_r2_untold():
    table = {"x": np.linspace(0, 1, 30), "price": [2.5] * 30}
    scores = run(table, table, table, target="price").of(RIDGE, SYNTHETIC)
    assert scores["MSE"].value == pytest.approx(0)
    assert scores["R²"].value is None
    assert "one value only" in scores["R²"].note


@pytest.mark.parametrize("target", ["state", "age"])
def test_rows_without_a_target_are_left_out(target):
    real, synthetic, test = (small(seed=seed) for seed in (0, 1, 2))
    plain = run(real, synthetic, test, target=target)

    def blanked(table):
        blank = {"age": [9.9, -9.9], "ward": ["a", "b"], "state": ["ill", "well"]}
        blank[target] = [None, None]
        return pa.concat_tables([pa.table(table), pa.table(blank).cast(pa.table(table).schema)])

    found = run(*(blanked(table) for table in (real, synthetic, test)), target=target)
    assert [values(scores) for scores in found.scores] == [values(s) for s in plain.scores]
    for which in ("real", "synthetic", "test"):
        assert f"Rows of the {which} table without a target were left out." in found.notes
    assert plain.notes == ()


def test_a_target_that_is_always_missing_tells_nothing():
    table = {"x": [1.5, 2.5], "state": pa.array([None, None], pa.string())}
    numbers = {"x": [1.5, 2.5], "state": pa.array([None, None], pa.float64())}
    for part in (table, numbers):
        for scores in run(part, part, part).scores:
            assert all(result.value is None for result in scores.results)


@pytest.mark.parametrize("learner", EVERY)
def test_three_classes_of_which_synthetic_rows_lack_one(learner):
    def grown(rows, seed, classes):
        rng = np.random.default_rng(seed)
        kind = np.arange(rows) % classes
        return {"x": kind * 3 + rng.normal(size=rows), "state": [f"stage {k}" for k in kind]}

    real, test = grown(90, 0, 3), grown(90, 1, 3)
    whole = run(real, grown(90, 2, 3), test, learners=[learner])
    lacking = run(real, grown(90, 2, 2), test, learners=[learner])
    model = learner.described(classes=True)
    assert whole.positive is None
    best = whole.of(model, SYNTHETIC)
    if learner is not Learner.MLP:  # which needs more rows than these to learn anything
        assert best["ROC-AUC"].value > 0.7
        assert best["accuracy"].value > 0.6
    found = lacking.of(model, SYNTHETIC)
    # A third of the test rows cannot be right.
    assert found["accuracy"].value <= 2 / 3
    assert found["ROC-AUC"].value is not None
    assert "The synthetic table has no row of the class stage 2." in lacking.notes
    if learner is Learner.SVM:
        assert found["log loss"].value is None
        assert "no probabilities" in found["log loss"].note
    else:
        assert found["log loss"].value > best["log loss"].value + 1


@pytest.mark.parametrize("learner", EVERY)
def test_a_class_unseen_in_training_is_never_predicted(learner):
    # With inputs that tell nothing, a linear SVM says no to each of several classes.
    real, test = (small(seed=seed, state=("a", "b", "c", "d")) for seed in (0, 1))
    tables = align(*(pa.table(t) for t in (real, small(seed=2, state=("a", "b", "c")), test)))
    target = Target.of(tables, "state")
    (trial,) = run_trials(tables, target, [learner], 1)
    made = trial.predictions[learner.described(classes=True), SYNTHETIC]
    assert target.classes.index("d") not in made.predicted
    assert len(made.predicted) == 40


@pytest.mark.parametrize("learner", EVERY)
def test_a_few_training_rows_are_enough_to_run(learner):
    few = {"x": [0.5, 1.5, 2.5], "state": ["ill", "well", "well"], "price": [1.5, 2.5, 9.5]}
    for target in ("state", "price"):
        task = run(few, few, few, target=target, learners=[learner])
        assert task.scores[0].results[0].value is not None


# --- the same call --------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["state", "age"])
def test_the_same_call_gives_the_same_numbers(target):
    real, synthetic = patients(60, 0), patients(60, 2)
    calls = [run(real, synthetic, target=target, learners=EVERY, seeds=2) for _ in range(2)]
    assert calls[0] == calls[1]
    assert len(calls[0].scores) == 3 * len(EVERY) + 1


def test_rounds_hold_out_different_rows_and_their_mean_is_told():
    real, synthetic = patients(120, 0), patients(80, 2)
    tables = align(real, synthetic)
    target = Target.of(tables, "state")
    trials = run_trials(tables, target, [Learner.LOGISTIC], 3)
    ages = [tuple(trial.test.numbers["age"]) for trial in trials]
    assert len(set(ages)) == 3
    each = [judge(tables, target, [t]).of(LOGISTIC, REAL)["accuracy"].value for t in trials]
    assert len(set(each)) > 1
    together = judge(tables, target, trials).of(LOGISTIC, REAL)["accuracy"]
    assert together.value == pytest.approx(np.mean(each))
    assert together.low <= min(each)
    assert together.high >= max(each)


def test_each_fit_is_announced():
    heard = []
    table = align(pa.table(small()), pa.table(small(seed=1)))
    run_trials(table, Target.of(table, "state"), [Learner.LOGISTIC], 2, heard.append)
    assert heard == [f"Fitting {LOGISTIC}, round {k} of 2" for k in (1, 2)]


def test_test_rows_with_a_twin_among_real_ones_are_noted():
    real, test = patients(50, 0), patients(20, 1)
    seen = pa.concat_tables([test, real.slice(0, 3)])
    notes = run(real, patients(50, 2), seen).notes
    assert any(note.startswith("3 of 23 test rows") for note in notes)
    assert not any("test rows have an equal" in n for n in run(real, real, test).notes)


def test_without_synthetic_rows_nothing_is_added_to_own_ones():
    tables = align(prices(300, 0), prices(300, 1), prices(300, 2))
    aim = Target.of(tables, "price")
    (trial,) = run_trials(tables, aim, [Learner.LOGISTIC], 1, sides=(REAL,))
    assert trial.delta_mse == {}
    assert {side for _, side in trial.predictions} == {REAL}
