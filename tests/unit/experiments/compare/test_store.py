"""The folder of a comparison: for one plan, one process, and its owner."""

import errno
import json
import os
from dataclasses import replace

import pytest

from helpers.comparisons import ill_by_age, outcome, planned
from understudy.errors import BadInput
from understudy.experiments.compare.store import Store


@pytest.fixture
def data(tmp_path):
    return ill_by_age(tmp_path / "rows.csv")


def test_a_folder_is_for_one_plan(data, tmp_path):
    plan = planned(data)
    with Store(tmp_path / "out", plan) as store:
        assert store.plan == plan
    moved = data.rename(tmp_path / "moved.csv")
    with Store(tmp_path / "out", planned(moved)) as store:
        assert store.plan.salt == plan.salt, "who goes on splits as before"
    with pytest.raises(BadInput, match="comparison of other things"):
        Store(tmp_path / "out", planned(moved, data_hash="1"))
    with pytest.raises(BadInput, match=r"begun with Understudy 0, and this is 0\.1"):
        Store(tmp_path / "out", planned(moved, version="0.1"))
    with pytest.raises(BadInput, match="cannot be used"):
        Store(tmp_path / "none" / "out", plan)


def test_the_secret_is_in_the_plan_alone(data, tmp_path):
    plan = planned(data)
    with Store(tmp_path / "out", plan) as store:
        store.keep(outcome(plan.cells[1]))
    holders = [
        path.name
        for path in (tmp_path / "out").rglob("*")
        if path.is_file() and plan.salt in path.read_text()
    ]
    assert holders == ["plan.json"]
    assert plan.salt not in json.dumps(plan.to_json())
    assert plan.salt not in repr(plan)


def test_releases_stay_clean_by_whatever_way(data, tmp_path):
    release = tmp_path / "release"
    release.mkdir()
    (release / "certificate.json").touch()
    (tmp_path / "link").symlink_to(release)
    (release / "there").symlink_to(tmp_path)
    for folder in (release, release / "out", tmp_path / "link" / "out", release / "there" / "out"):
        with pytest.raises(BadInput, match="release folder"):
            Store(folder, planned(data))


def test_other_files_are_left_alone(data, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "comparison.html").write_text("mine")
    with pytest.raises(BadInput, match="holds other files"):
        Store(tmp_path / "mine", planned(data))
    (tmp_path / "mine" / "plan.json").write_text("{}")
    with pytest.raises(BadInput, match="holds other files"):
        Store(tmp_path / "mine", planned(data))
    assert (tmp_path / "mine" / "comparison.html").read_text() == "mine"


def test_a_folder_is_for_one_process(data, tmp_path):
    plan = planned(data)
    with Store(tmp_path / "out", plan), pytest.raises(BadInput, match="Another process"):
        Store(tmp_path / "out", plan)
    Store(tmp_path / "out", plan).__exit__()


def test_half_a_file_and_cells_of_other_plans_are_run_again(data, tmp_path):
    plan = planned(data)
    with Store(tmp_path / "out", plan) as store:
        cell = plan.cells[1]
        store.keep(outcome(cell))
        assert set(store.done()) == {cell}
        store.plan = replace(plan, salt="00")
        assert store.done() == {}
        store.plan = plan
        (file,) = (tmp_path / "out" / "cells").iterdir()
        file.write_text(file.read_text()[:20])
        assert store.done() == {}


def test_cells_have_names_of_their_own(data):
    cells = planned(data, epsilons=(1.0, 1.0000001, 0.5)).cells
    assert len({cell.name for cell in cells}) == len(cells)
    assert "mst-0.5-0" in {cell.name for cell in cells}


def test_a_full_disk_is_told_and_leaves_nothing_behind(data, tmp_path, monkeypatch):
    plan = planned(data)
    with Store(tmp_path / "out", plan) as store:

        def full(_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(BadInput, match="No space left on device"):
            store.keep(outcome(plan.cells[1]))
        assert list((tmp_path / "out" / "cells").iterdir()) == []
