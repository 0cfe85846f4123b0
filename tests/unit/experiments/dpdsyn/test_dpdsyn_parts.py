"""Tables, splits, scores and draws, by themselves."""

import gzip
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from understudy.curator.label_task import LabelTask, label_scores, majority
from understudy.curator.models import Learner
from understudy.domain import Domain
from understudy.encode import Encoding
from understudy.errors import BadInput
from understudy.experiments.dpdsyn.arms import ARMS, BY_SVM, Draw, arm_named
from understudy.experiments.dpdsyn.split import dealt, groups_of, rows_of, split_of
from understudy.experiments.dpdsyn.tables import ADULT, BR2000, LPD, SMOKING, TABLES
from understudy.experiments.dpdsyn.trial import Cell, run_trial
from understudy.model.labelled import LabelledModel
from understudy.model.labels import ClassLabels, Scorer
from understudy.model.shuffled import ShuffledColumns

PRINTED_COLUMNS = {"adult": 14, "br2000": 14, "smoking": 25, "lpd": 11}
PRINTED_ROWS = {"adult": 48842, "br2000": 38000, "smoking": 55692, "lpd": 27158}


def test_there_are_as_many_columns_as_printed_and_few_bins():
    assert {table.name: len(table.columns) for table in TABLES} == PRINTED_COLUMNS
    for table in TABLES:
        encoding = Encoding(table.schema)
        sizes = {
            name: size - (name in encoding.hidden) for name, size in encoding.domain.sizes.items()
        }
        assert table.schema.target == table.target
        assert sizes[table.target] == 2
        for column in table.columns:
            assert not column.kind.numeric or sizes[column.name] - len(column.atoms) <= 16


def test_equal_rows_stay_together():
    rows = pa.table({"a": ["x", "x", "y", "x"], "b": ["1", "1", "1", "2"]})
    group = groups_of(rows)
    assert group[0] == group[1]
    assert len({*group}) == 3
    many = np.repeat(np.arange(500), 2)
    part = dealt(many, np.random.default_rng(0))
    assert np.array_equal(part[::2], part[1::2])
    assert np.bincount(part).tolist() == [800, 100, 100]


def test_splits_share_no_row_and_leave_out_what_lacks_a_cell(invented):
    split = split_of("lpd", 0, invented)
    whole = rows_of(LPD, invented)
    assert len(whole) == 300
    assert len(split.train) == pytest.approx(240, abs=2)
    assert len(split.test) == pytest.approx(30, abs=2)
    train, test = ({*map(str, part.to_pylist())} for part in (split.train, split.test))
    assert not train & test
    other = split_of("lpd", 1, invented)
    assert {*map(str, other.test.to_pylist())} != test


def test_another_table_is_refused(tmp_path):
    with gzip.open(tmp_path / BR2000.file, "wt") as file:
        file.write("a1,a2\n0,0\n")
    with pytest.raises(BadInput, match=r"br2000.csv.gz lacks a3"):
        rows_of(BR2000, tmp_path)


@pytest.fixture(scope="module")
def rows():
    """The class follows a number."""
    rng = np.random.default_rng(1)
    age = rng.integers(0, 14, 800)
    cells = {name: Encoding(SMOKING.schema).cells[name] for name in ("gender", "age", "smoking")}
    codes = {
        "gender": rng.integers(0, 2, 800),
        "age": age,
        "smoking": (age + rng.normal(0, 1, 800) > 9).astype(np.int64),
    }
    return codes, LabelTask(cells, "smoking")


@pytest.mark.parametrize("learner", [Learner.MLP, Learner.SVM])
def test_models_tell_a_class_that_can_be_told(rows, learner):
    codes, task = rows
    scores = label_scores(codes, codes, task, learner, 0)
    assert scores.accuracy > 0.9 > majority(codes, "smoking")
    assert min(scores.f1, scores.auc, scores.balanced) > 0.8
    assert (scores.log_loss is None) == (learner is Learner.SVM)
    nobody = {**codes, "smoking": np.zeros(800, np.int64)}
    guess = label_scores(nobody, codes, task, learner, 0)
    assert guess.accuracy == pytest.approx(majority(codes, "smoking"))
    assert (guess.f1, guess.balanced, guess.auc) == (0.0, 0.5, 0.5)


def test_inputs_are_labels_apart_and_numbers_in_their_order(rows):
    codes, task = rows
    seen = task.inputs(codes)
    assert seen.shape == (800, 3)
    assert {*map(tuple, seen[:, :2].tolist())} == {(0.0, 1.0), (1.0, 0.0)}
    assert np.corrcoef(seen[:, 2], codes["age"])[0, 1] == pytest.approx(1)
    capital = Encoding(ADULT.schema).cells["capital-gain"]
    zero = LabelTask({"capital-gain": capital}, "none").inputs({"capital-gain": np.array([11])})
    assert zero.tolist() == [[1.0, 0.0]]


def test_the_shuffle_publishes_every_value():
    codes = {"a": np.array([0, 1, 1, 2])}
    scorer = Scorer({"a": np.array([[-1.0], [0.0], [1.0]])}, (np.array([[5.0], [0.0]]),))
    share = np.array([0.5, 0.5])
    labels = ClassLabels(scorer, np.arange(2), share, np.zeros(2), 2, hard=True)
    features = ShuffledColumns.of(Domain.of({"a": 3}), codes)
    model = LabelledModel(Domain.of({"a": 3, "y": 2}), features, "y", labels)
    found = model.sample(4, np.random.default_rng(0))
    assert sorted(found["a"]) == [0, 1, 1, 2]
    assert found["y"][found["a"] == 2].tolist() == [1]
    assert found["y"][found["a"] == 0].tolist() == [0]


@pytest.mark.parametrize("table", [table.name for table in TABLES])
def test_a_trial_measures_everything(invented, table):
    one = run_trial(Cell(table, BY_SVM.name, 2.0, 0, BY_SVM.draws), invented)
    assert {*one.drawn} == {*BY_SVM.draws}
    for drawn in one.drawn.values():
        assert [*drawn.scores] == [Learner.SVM]
        assert 0 <= drawn.scores[Learner.SVM].auc <= 1
        assert 0 <= drawn.positive <= 1
    assert one.seconds > 0
    assert one.majority >= 0.5
    assert Draw.ONCE in one.drawn


@pytest.mark.parametrize("arm", [arm.name for arm in ARMS if arm.mechanism is not BY_SVM.mechanism])
def test_every_arm_makes_rows(invented, arm):
    kept = tuple(draw for draw in arm_named(arm).draws if draw in {Draw.ONCE, Draw.HARD})
    one = run_trial(Cell("lpd", arm, 2.0, 0, kept), invented)
    assert {*one.drawn} == {*kept}
    for drawn in one.drawn.values():
        assert {*drawn.scores} == {*arm_named(arm).learners}
    assert replace(one).cell.arm == arm


def test_the_real_tables_are_those_of_the_paper(data):
    for table in TABLES:
        rows = rows_of(table, data)
        assert len(rows) == PRINTED_ROWS[table.name]
        codes = Encoding(table.schema).codes(rows)
        for column in table.columns:
            if column.categories is not None:
                # Every label occurs: none of the lists is for another table.
                assert {*np.unique(codes[column.name])} == {*range(len(column.categories))}
