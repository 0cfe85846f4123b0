"""Releases of real tables by every method. Skipped unless a folder of tables is given."""

import pandas as pd
import pytest

from understudy.mechanisms.catalog import MECHANISMS
from understudy.pipeline import synthesize
from understudy.privacy.folder import verify
from understudy.release import load

TABLES = ["adult", "compas", "german_credit_uci", "law_school", "dutch_census", "br2000"]


@pytest.mark.slow
@pytest.mark.parametrize("method", [kind.name for kind in MECHANISMS])
@pytest.mark.parametrize("name", TABLES)
def test_a_release_of_a_real_table(data, tmp_path, name, method):
    path = data / f"{name}.csv.gz"
    release = synthesize(path, epsilon=1.0, mechanism=method)
    assert release.certificate.epsilon <= 1.0
    assert not release.certificate.not_private
    assert list(release.data.columns) == list(pd.read_csv(path, nrows=1).columns)
    folder = release.save(tmp_path / "release")
    assert all(check.passed for check in verify(folder))
    again = load(folder)
    pd.testing.assert_frame_equal(again.sample(50, seed=1), release.sample(50, seed=1))
