"""The columns of a release on its page."""

import numpy as np
import pytest

from understudy.column import Column, Kind, Role, Source
from understudy.encode import Encoding
from understudy.report.columns import holds, shown_columns
from understudy.report.histogram import THINNEST
from understudy.schema import Schema

SCHEMA = Schema(
    (
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), bins=10, null=True),
        Column(name="gain", kind=Kind.REAL, bounds=(0.0, 10.0), bins=4, atoms=(0.0,), null=False),
        Column(
            name="job",
            kind=Kind.CATEGORICAL,
            categories=tuple(f"job {k:02}" for k in range(20)),
            null=False,
            role=Role.TARGET,
        ),
    )
)


def codes(rows=1000):
    rng = np.random.default_rng(0)
    encoding = Encoding(SCHEMA)
    # Of a release: no row has a hidden code.
    sizes = {n: size - (n in encoding.hidden) for n, size in encoding.domain.sizes.items()}
    return {name: rng.integers(0, size, rows).astype(np.uint8) for name, size in sizes.items()}


def shown(column, values, opening=None):
    """One column, from the codes of its rows."""
    columns = shown_columns(Encoding(Schema((column,))), {column.name: np.array(values)}, opening)
    return columns[0]


def test_columns_show_every_row_once():
    age, gain, job = shown_columns(Encoding(SCHEMA), codes(), None)
    for column in (age, gain, job):
        parts = [*column.steps, *column.bars, *column.rest]
        assert sum(part.share for part in parts) == pytest.approx(1.0)
    assert [bar.label for bar in age.rest] == ["missing"]
    assert [bar.label for bar in gain.bars] == ["exactly 0"]
    assert len(job.bars) == 12
    assert job.rest[0].label == "8 more values"
    assert age.ends == ("0", "99")
    assert sum(step.width for step in age.steps) == pytest.approx(1.0)
    assert max(step.height for step in age.steps) == 1.0


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"kind": Kind.BOOLEAN, "null": False}, "boolean"),
        (
            {"kind": Kind.CATEGORICAL, "categories": ("a", "b"), "other": "else", "null": False},
            "2 values, and 'else' for all others",
        ),
        ({"kind": Kind.CATEGORICAL, "categories": ("a",), "null": False}, "1 value"),
        (
            {"kind": Kind.REAL, "bounds": (0.0, 1.0), "atoms": (0.0, 0.5), "null": True},
            "0.0 to 1.0; often 0.0, 0.5, or missing",
        ),
    ],
)
def test_a_column_is_told_in_words(facts, words):
    assert holds(Column(name="x", **facts)) == words


def test_ordinals_keep_their_order():
    column = Column(name="x", kind=Kind.ORDINAL, categories=("low", "mid", "high"), null=False)
    assert [bar.label for bar in shown(column, [0, 2, 2, 1, 1, 1]).bars] == ["low", "mid", "high"]


def test_long_labels_are_shortened():
    column = Column(name="x", kind=Kind.CATEGORICAL, categories=("漢" * 200, "b"), null=False)
    assert all(len(bar.label) <= 60 for bar in shown(column, [0, 1]).bars)


def test_each_source_has_its_own_words():
    for source, words in (
        (Source.DECLARED, "declared"),
        (Source.DATA, "read off the rows"),
        (Source.BOUGHT, "found out with noise"),
    ):
        column = Column(name="x", kind=Kind.BOOLEAN, null=False, source=source)
        assert shown(column, [0, 1]).source == words


def test_facts_that_were_declared_stay_so_where_only_nulls_were_found_out():
    before = Column(name="x", kind=Kind.INTEGER, bounds=(0, 9))
    after = Column(name="x", kind=Kind.INTEGER, bounds=(0, 9), null=True, source=Source.BOUGHT)
    told = shown(after, [0, 1], Schema((before,))).source
    assert told == "declared but for null, found out with noise"


# --- histograms -----------------------------------------------------------------------------------


def test_areas_of_a_histogram_are_shares():
    column = Column(name="x", kind=Kind.REAL, edges=(0.0, 1.0, 10.0), null=False)
    first, second = shown(column, [0, 1]).steps
    assert first.width * first.height == pytest.approx(second.width * second.height)
    assert (first.left, second.left) == (0.0, 0.1)


def test_many_ranges_are_shown_together():
    column = Column(name="x", kind=Kind.INTEGER, bounds=(0, 999), bins=500, null=False)
    column = shown(column, np.arange(500, dtype=np.uint16))
    assert len(column.steps) <= 40
    assert column.steps[0].label == "0 to 1 … 24 to 25"


def test_a_column_of_nothing_but_atoms_has_no_histogram():
    column = Column(name="x", kind=Kind.INTEGER, bounds=(0, 1), atoms=(0, 1), null=False)
    column = shown(column, [0, 1, 1])
    assert column.steps == ()
    assert [bar.label for bar in column.bars] == ["exactly 1", "exactly 0"]


def test_a_number_that_many_share_is_told_apart_though_nobody_named_it():
    column = Column(name="x", kind=Kind.INTEGER, edges=(0, 1, 50_000, 99_999), null=False)
    column = shown(column, [0] * 90 + [1] * 6 + [2] * 4)
    assert [(bar.label, bar.share) for bar in column.bars] == [("exactly 0", 0.9)]
    assert sum(step.share for step in column.steps) == pytest.approx(0.1)


def test_thin_bars_are_wide_enough_within_the_picture_and_true_to_their_area():
    column = Column(name="x", kind=Kind.REAL, edges=(0.0, 1e-320, 0.5, 1 - 1e-9, 1.0), null=False)
    steps = shown(column, [0, 1, 2, 3]).steps
    for step in steps:
        assert step.width >= THINNEST
        assert step.left >= 0
        assert step.left + step.width <= 1 + 1e-12
        assert 0 < step.height <= 1
        assert step.width * step.height == pytest.approx(steps[0].width * steps[0].height)


def test_a_histogram_begins_at_the_least_value_also_where_an_atom_took_it():
    column = Column(name="x", kind=Kind.INTEGER, bounds=(0, 9), atoms=(0,), null=False)
    column = shown(column, [0, 1, 2])
    assert column.ends == ("0", "9")
    assert column.steps[0].left == pytest.approx(0.1)
