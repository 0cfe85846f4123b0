"""The ground: settled once, and split by what rows hold and a secret."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from helpers.comparisons import ill_by_age, planned, write_rows
from understudy.errors import BadInput
from understudy.experiments.compare import cell as cell_module
from understudy.experiments.compare.cell import run_cell
from understudy.experiments.compare.ground import ground_of
from understudy.experiments.compare.plan import REAL, Cell

SALT = "5a" * 32


@pytest.fixture
def data(tmp_path):
    return ill_by_age(tmp_path / "rows.csv")


def counted(table):
    return Counter(tuple(row.values()) for row in table.to_pylist())


def test_one_row_more_moves_no_other(data, tmp_path):
    lines = data.read_text().splitlines()
    one = ground_of(planned(data, salt=SALT))
    for place, added in ((1, "50,yes"), (200, "17,no"), (401, lines[7])):
        other = tmp_path / f"{place}.csv"
        other.write_text("\n".join([*lines[:place], added, *lines[place:]]) + "\n")
        two = ground_of(planned(other, salt=SALT))
        for seed in range(4):
            train, test = (counted(part) for part in one.split(seed))
            more_train, more_test = (counted(part) for part in two.split(seed))
            assert not train - more_train
            assert not test - more_test
            assert sum(((more_train - train) + (more_test - test)).values()) == 1


def test_the_split_is_about_three_of_ten_and_another_with_another_secret(data):
    plan = planned(data)
    sizes = [ground_of(plan).split(seed)[1].num_rows for seed in range(20)]
    assert 90 < np.mean(sizes) < 150
    assert len({*sizes}) > 1
    assert plan.salt != planned(data).salt
    first = ground_of(plan).split(0)[0]
    assert ground_of(replace(plan, salt=SALT)).split(0)[0] != first
    assert ground_of(plan).split(0)[0] == first


def test_equal_rows_stay_together_and_of_many_each_is_drawn(tmp_path):
    x = np.r_[np.repeat(np.arange(60), 3), np.full(300, 99)]
    data = write_rows(tmp_path / "rows.csv", {"x": x, "ill": np.arange(len(x)) % 2})
    train, test = (counted(part.select(["x"])) for part in ground_of(planned(data)).split(0))
    both = train.keys() & test.keys()
    assert both == {("99",)}
    assert 40 < test["99",] < 150


def test_a_person_is_on_one_side(tmp_path):
    rng = np.random.default_rng(0)
    who = rng.integers(0, 60, 400)
    columns = {"who": who, "visit": np.arange(400), "x": rng.integers(0, 3, 400)}
    data = write_rows(tmp_path / "rows.csv", {**columns, "ill": rng.integers(0, 2, 400)})
    schema = (
        '[columns.who]\nkind = "categorical"\nrole = "id"\n[columns.visit]\n[columns.x]\n'
        "[columns.ill]\n"
    )
    for plan in (planned(data, person="who"), planned(data, schema=schema)):
        assert plan.owner == "who"
        ground = ground_of(plan)
        assert "who" not in ground.sorts
        for part in ground.split(0):
            assert 20 < part.num_rows < 380
        train, test = (
            {who[int(visit)] for visit in part["visit"].to_pylist()} for part in ground.split(0)
        )
        assert not train & test
    with pytest.raises(BadInput, match="no column 'whom'"):
        ground_of(planned(data, person="whom"))
    with pytest.raises(BadInput, match="cannot be the target"):
        planned(data, person="ill")


def test_rows_that_were_changed_meanwhile_are_not_compared(data):
    plan = planned(data)
    ground_of(plan)
    ill_by_age(data, rows=500)
    again = planned(data, salt=plan.salt)
    assert ground_of(again).rows.num_rows == 500
    with pytest.raises(BadInput, match="was changed meanwhile"):
        ground_of(replace(plan, salt=SALT, seeds=3))


def test_too_few_rows_are_an_outcome(tmp_path):
    data = write_rows(tmp_path / "rows.csv", {"x": [1], "ill": ["yes"]})
    assert "so small" in run_cell(planned(data), Cell("mst", 8.0, 0)).failed


def test_what_real_rows_decide_holds_for_every_release(tmp_path):
    # Whole numbers of few values are classes; a release may say what it likes.
    rng = np.random.default_rng(0)
    stage = rng.integers(0, 2, 300)
    columns = {"x": (stage + rng.normal(0, 1, 300)).round(2), "ill": stage}
    ground = ground_of(planned(write_rows(tmp_path / "rows.csv", columns)))
    train, test = ground.split(0)
    assert (ground.task, ground.positive) == ("classification", "1" if stage.mean() < 0.5 else "0")
    other = {"x": rng.normal(0, 1, 90), "ill": ["0", "1", "none of them"] * 30}
    tables, aim = ground.judged(train, pa.table(other), test)
    assert aim.task == "classification"
    assert aim.classes == ("0", "1")
    assert aim.known(tables.synthetic).sum() == 60
    with pytest.raises(BadInput, match="holds numbers, and flags in the synthetic table"):
        ground.judged(train, pa.table({"x": [True, False], "ill": ["0", "1"]}), test)


def test_a_release_that_does_not_fit_is_a_failed_cell(data, monkeypatch):
    whole = cell_module.synthesize

    class Odd:
        def __init__(self, release):
            self.certificate = release.certificate
            self.table = release.table.rename_columns(["years", "ill"])

    monkeypatch.setattr(cell_module, "synthesize", lambda *a, **k: Odd(whole(*a, **k)))
    one = run_cell(planned(data), Cell("mst", 8.0, 0))
    assert "years" in one.failed
    assert run_cell(planned(data), Cell(REAL, None, 0)).failed is None


def test_what_is_odd_about_the_rows_is_told_with_the_real_ones(tmp_path):
    rng = np.random.default_rng(0)
    columns = {"who": np.arange(300), "x": rng.integers(0, 3, 300)}
    columns["ill"] = np.where(rng.random(300) < 0.1, "", rng.choice(["yes", "no"], 300))
    plan = planned(write_rows(tmp_path / "rows.csv", columns), person="who")
    notes = run_cell(plan, Cell(REAL, None, 0)).notes
    assert "Rows of the real table without a target were left out." in notes
    assert any("test rows have an equal row in the real table" in note for note in notes)
    assert not any("synthetic" in note for note in notes)
