"""What a model makes of the rare: planted groups, and why there is sometimes nothing to tell."""

import numpy as np
import pyarrow as pa
import pytest
from threadpoolctl import threadpool_limits

from understudy.curator.align import align
from understudy.curator.group_task import GroupTask
from understudy.curator.models import Learner
from understudy.curator.target import Target
from understudy.curator.trials import run_trials

RARE = 0.1


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that wait for each other cost more than these small fits."""
    with threadpool_limits(1):
        yield


def people(rows, seed, *, flipped=False):
    """The common go by their age, the rare by their job, which nobody else has."""
    rng = np.random.default_rng(seed)
    rare = rng.random(rows) < RARE
    age = rng.normal(50, np.where(rare, 0.1, 10.0))
    job = np.where(rare, rng.choice(["p", "q"], rows), "o")
    ill = np.where(rare, (job == "p") ^ flipped, age > 50)
    ill ^= rng.random(rows) < 0.05
    return pa.table({"age": age, "job": job, "ill": ill, "cost": age + 30 * (job == "p")})


REAL, TEST = people(1500, 1), people(800, 2)


def group_task(synthetic, test=TEST, target="ill", seeds=1):
    without = {"ill": ("cost",), "cost": ("ill",)}[target]
    tables = align(REAL, synthetic, test, without=without)
    aim = Target.of(tables, target)
    learners = (Learner.LOGISTIC, Learner.BOOSTING)[: 2 if seeds == 1 else 1]
    return GroupTask(tables, aim, run_trials(tables, aim, learners, seeds))


def is_rare(table):
    return np.array(table["job"].to_pylist()) != "o"


def both(task, table=TEST):
    return [task.among(is_rare(table) == rare) for rare in (True, False)]


def test_who_is_flipped_in_the_synthetic_rows_is_predicted_worse_and_nobody_else():
    rare, others = both(group_task(people(1500, 3, flipped=True)))
    assert rare.model == others.model == "logistic regression"
    assert rare.synthetic.name == rare.gap.name == "ROC-AUC"
    assert rare.real.value > 0.9
    assert rare.synthetic.value < 0.1
    assert rare.gap.low <= rare.gap.value <= rare.gap.high < -0.7
    assert min(others.real.value, others.synthetic.value) > 0.9
    assert others.gap.value == pytest.approx(0, abs=0.03)
    assert (rare.rows, others.rows) == (is_rare(TEST).sum(), (~is_rare(TEST)).sum())


def test_faithful_rows_cost_no_group_anything():
    for group in both(group_task(people(1500, 3))):
        assert group.gap.value == pytest.approx(0, abs=0.03)
        assert group.synthetic.low <= group.synthetic.value <= group.synthetic.high


def test_all_together_the_scores_are_those_of_the_task():
    task = group_task(people(1500, 3))
    everyone = task.among(np.ones(TEST.num_rows, bool))
    alone = task.trials[0].predictions["logistic regression", "real"]
    assert everyone.rows == len(alone.truth)
    assert f"tested on {TEST.num_rows} rows of the test table" in everyone.real.read


def test_without_a_test_table_groups_are_of_held_out_real_rows():
    task = group_task(people(1500, 3, flipped=True), test=None, seeds=2)
    assert task.side == "real"
    rare, others = both(task, REAL)
    for trial in task.trials:
        there = np.array(REAL["age"].to_pylist())[trial.places]
        np.testing.assert_array_equal(trial.test.numbers["age"], there)
    assert rare.gap.value < -0.7
    assert others.gap.value == pytest.approx(0, abs=0.03)
    assert rare.rows + others.rows == task.trials[0].test.count
    assert "held-out real rows, 2 rounds" in rare.real.read


def test_numbers_are_judged_too():
    task = group_task(people(1500, 3), target="cost")
    rare, others = both(task)
    assert rare.real.name == others.real.name == "R²"
    assert others.real.value > 0.9
    # Of a task with numbers some test rows are a reader's own, and in another order.
    there = np.array(TEST["age"].to_pylist())[task.trials[0].places]
    np.testing.assert_array_equal(task.trials[0].test.numbers["age"], there)


def test_why_there_is_no_score():
    task = group_task(people(1500, 3))
    few = np.zeros(TEST.num_rows, bool)
    few[:29] = True
    told = task.among(few)
    assert (told.rows, told.real.value, told.gap.value) == (29, None, None)
    assert told.gap.note == "fewer than 30 test rows are in this group"
    healthy = task.among(~np.array(TEST["ill"].to_pylist()))
    assert healthy.rows >= 30
    assert healthy.synthetic.value is healthy.gap.value is None
    assert healthy.gap.note == "the test rows hold one class only, or none"
    nothing = group_task(people(1500, 3).slice(0, 0)).among(is_rare(TEST))
    assert nothing.real.value > 0.9
    assert nothing.synthetic.note == nothing.gap.note == "there are no rows to train on"
    untested = group_task(people(1500, 3), test=TEST.slice(0, 0)).among(np.zeros(0, bool))
    assert untested.gap.value is None
