"""The printed shuffle: literal, and never by mistake."""

import json

import numpy as np
import pyarrow as pa
import pytest

from understudy.column import Column, Kind, Role
from understudy.errors import BadInput, PrivacyRefused
from understudy.mechanisms.catalog import MECHANISMS
from understudy.mechanisms.dpdsyn import DpdSyn
from understudy.mechanisms.shuffle import Shuffle
from understudy.model.shuffled import ShuffledColumns
from understudy.pipeline import synthesize
from understudy.release import load
from understudy.schema import Schema

LABELS = tuple("abcdefgh")
SCHEMA = Schema(
    (
        Column(name="x", kind=Kind.CATEGORICAL, categories=LABELS, null=False),
        Column(name="y", kind=Kind.BOOLEAN, null=False, role=Role.TARGET),
    )
)


def table():
    x = ["a"] * 50 + ["b"] * 30 + ["h"]  # one record alone has h
    return pa.table({"x": x, "y": [value == "a" for value in x]})


def test_every_value_walks_out_and_the_release_says_so(tmp_path):
    release = synthesize(
        table(),
        epsilon=1.0,
        schema=SCHEMA,
        mechanism=DpdSyn(Shuffle()),
        rows=81,
        allow_non_private=True,
    )
    assert sorted(release.table["x"].to_pylist()) == sorted(table()["x"].to_pylist())
    assert release.certificate.not_private
    assert any("shuffle" in str(entry.event) for entry in release.certificate.entries)
    release.save(tmp_path / "out")
    again = load(tmp_path / "out")
    assert again.sample(40, seed=1).equals(release.sample(40, seed=1))
    assert "NOT PRIVATE" in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_without_leave_it_is_refused():
    with pytest.raises(PrivacyRefused, match="allow a release that is not private"):
        synthesize(table(), epsilon=1.0, schema=SCHEMA, mechanism=DpdSyn(Shuffle()))


def test_no_list_of_methods_has_it():
    assert Shuffle not in MECHANISMS


@pytest.mark.parametrize("rows", [0, 5, 81, 200])
def test_rows_are_whole_shuffles_and_a_part_of_one(rows):
    model = ShuffledColumns.from_json(json.loads(json.dumps({"counts": {"x": [50, 30, 1]}})))
    drawn = model.sample(rows, np.random.default_rng(0))["x"]
    counts = np.bincount(drawn, minlength=3)
    assert counts.sum() == rows
    assert (counts >= rows // 81 * np.array([50, 30, 1])).all()


@pytest.mark.parametrize(
    "counts", [{}, {"x": [1, -1]}, {"x": [1], "z": [2]}, {"x": [[1]]}, {"x": [2**62, 2**62]}]
)
def test_a_strangers_counts_that_do_not_fit_are_refused(counts):
    with pytest.raises(BadInput, match="whole numbers"):
        ShuffledColumns.from_json({"counts": counts})


def test_a_shuffle_of_nobody():
    model = ShuffledColumns.from_json({"counts": {"x": [0, 0]}})
    assert len(model.sample(4, np.random.default_rng(0))["x"]) == 4
