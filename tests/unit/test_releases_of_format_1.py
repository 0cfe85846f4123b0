"""A release that version 0.1 saved is read, verified and drawn from as it was."""

import json
import shutil
from pathlib import Path

import pytest

from understudy.errors import BadInput, CheckFailed
from understudy.privacy.folder import verify
from understudy.release import load

GOLDEN = Path(__file__).parents[1] / "golden" / "release_1"


def test_it_is_read_and_drawn_from():
    release = load(GOLDEN)
    assert all(check.passed for check in verify(GOLDEN))
    assert not release.encoding.hides
    assert release.model.domain.sizes == {"colour": 3, "age": 6, "paid": 2, "score": 5}
    drawn = release.sample(500, seed=1)
    assert set(drawn["colour"]) == {"red", "green", "blue"}
    assert drawn["age"].between(18, 90).all()
    assert drawn["score"].isna().any()
    assert release.sample(7, seed=2).equals(release.sample(7, seed=2))


def test_saved_anew_it_keeps_its_format(tmp_path):
    folder = load(GOLDEN).save(tmp_path / "again")
    assert json.loads((folder / "model.json").read_bytes())["format"] == "understudy model 1"
    assert load(folder).sample(20, seed=1).equals(load(GOLDEN).sample(20, seed=1))


def test_a_model_of_one_format_is_no_model_of_the_other(tmp_path):
    for said in ("understudy model 2", "understudy model 3"):
        folder = tmp_path / said[-1]
        shutil.copytree(GOLDEN, folder)
        content = json.loads((folder / "model.json").read_bytes())
        (folder / "model.json").write_text(json.dumps({**content, "format": said}))
        with pytest.raises((BadInput, CheckFailed)):
            load(folder)
