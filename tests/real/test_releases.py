"""Releases of real tables by every method. Skipped unless a folder of tables is given."""

import pandas as pd
import pytest

from understudy.mechanisms.catalog import MECHANISMS
from understudy.pipeline import synthesize
from understudy.privacy.folder import verify
from understudy.release import load

TABLES = ["adult", "compas", "german_credit_uci", "law_school", "dutch_census", "br2000"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", TABLES)
def test_a_release_of_a_real_table(data, tmp_path, name, kind):
    path = data / f"{name}.csv.gz"
    names = list(pd.read_csv(path, nrows=1).columns)
    target = names[-1] if "target" in kind.needs else None
    demanded = []
    if "independence" in kind.needs:
        demanded = [f"{names[-1]} _||_ {names[0]} | {names[1]}"]
    release = synthesize(
        path, epsilon=1.0, target=target, mechanism=kind.name, constraints=demanded
    )
    assert release.certificate.epsilon <= 1.0
    assert not release.certificate.not_private
    assert list(release.data.columns) == names
    folder = release.save(tmp_path / "release")
    assert all(check.passed for check in verify(folder))
    again = load(folder)
    pd.testing.assert_frame_equal(again.sample(50, seed=1), release.sample(50, seed=1))
