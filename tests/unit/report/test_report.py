"""The publishable page, from what a release holds."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from understudy.column import Column, Kind, Role
from understudy.domain import Domain
from understudy.encode import Encoding
from understudy.mechanisms.catalog import MECHANISMS
from understudy.pipeline import synthesize
from understudy.privacy.account import Entry
from understudy.privacy.budget import Budget
from understudy.privacy.certificate import Certificate
from understudy.privacy.events import Exponential, Gaussian, Reveal
from understudy.release import load
from understudy.report.bought import Purpose, by_purpose, purchases
from understudy.report.columns import holds, shown_columns
from understudy.report.dots import Dot, DotRow, Mark, Rule, dot_plot, ticks
from understudy.report.frontier import Point, Series, frontier
from understudy.report.heat_map import heat_map
from understudy.report.report import odds
from understudy.report.structure import Structure, _places, _tree, picture
from understudy.report.svg import element
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
    sizes = Encoding(SCHEMA).domain.sizes
    return {name: rng.integers(0, size, rows).astype(np.uint8) for name, size in sizes.items()}


def certificate(*entries, budget=None):
    return Certificate(
        budget=budget or Budget(1.0, 1e-9),
        unit="one record, added or removed",
        entries=tuple(Entry(request, event) for request, event in entries),
        public={},
        random_source="the system",
        private_noise=True,
    )


def test_requests_are_told_with_their_share_and_noise():
    budget = Budget(1.0, 1e-9)
    half = math.sqrt(float(1 / budget.rho))
    ones = ({"door": "measure", "cliques": [["age"], ["job"]]}, Gaussian(half, Fraction(1)))
    choice = {"door": "select", "candidates": 3, "scores": ["L1Distance"], "sensitivity": "1"}
    bought = purchases(
        certificate(ones, (choice, Exponential(0.01)), (choice, Exponential(0.01)), budget=budget)
    )
    assert [one.purpose for one in bought] == [Purpose.MEASURE, Purpose.CHOOSE, Purpose.REST]
    assert bought[0].what == "counts of 2 columns (age, job)"
    assert bought[0].share == pytest.approx(0.5, abs=1e-6)
    assert bought[0].noise == f"± {half:,.3g}"
    assert bought[1].what == "2 choices among up to 3 candidates"
    assert bought[1].times == 2
    assert sum(by_purpose(bought).values()) == pytest.approx(1.0)


def test_rows_that_were_revealed_leave_no_rest():
    bought = purchases(certificate(({"door": "reveal"}, Reveal("for a test"))))
    assert [(one.purpose, one.what) for one in bought] == [(Purpose.REVEAL, "for a test")]


@given(st.floats(0.01, 20.0), st.floats(0.0, 0.1))
def test_nobody_becomes_surer_than_the_odds_allow(epsilon, delta):
    for one in odds(epsilon, delta):
        assert one.before <= one.after <= 1
        if one.after < 1:
            sure = one.after - delta
            change = sure / (1 - sure) / (one.before / (1 - one.before))
            assert change == pytest.approx(math.exp(epsilon), rel=1e-6)


def test_columns_show_every_row_once():
    age, gain, job = shown_columns(Encoding(SCHEMA), codes())
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


def test_areas_of_a_histogram_are_shares():
    column = Column(name="x", kind=Kind.REAL, edges=(0.0, 1.0, 10.0), null=False)
    encoding = Encoding(Schema((column,)))
    (shown,) = shown_columns(encoding, {"x": np.array([0, 1], np.uint8)})
    first, second = shown.steps
    assert first.width * first.height == pytest.approx(second.width * second.height)
    assert (first.left, second.left) == (0.0, 0.1)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"kind": Kind.BOOLEAN, "null": False}, "boolean"),
        (
            {"kind": Kind.CATEGORICAL, "categories": ("a", "b"), "other": "else", "null": False},
            "2 values, and 'else' for all others",
        ),
        (
            {"kind": Kind.REAL, "bounds": (0.0, 1.0), "atoms": (0.0, 0.5), "null": True},
            "0.0 to 1.0; often 0.0, 0.5, or missing",
        ),
    ],
)
def test_a_column_is_told_in_words(facts, words):
    assert holds(Column(name="x", **facts)) == words


def test_many_ranges_are_shown_together():
    column = Column(name="x", kind=Kind.INTEGER, bounds=(0, 999), bins=500, null=False)
    (shown,) = shown_columns(Encoding(Schema((column,))), {"x": np.arange(500, dtype=np.uint16)})
    assert len(shown.steps) <= 40
    assert shown.steps[0].label == "0 to 1 … 24 to 25"


def chain(*cliques, target="a", sizes=3):
    names = sorted({name for clique in cliques for name in clique} | {"alone"})
    rng = np.random.default_rng(1)
    drawn = {name: rng.integers(0, sizes, 500).astype(np.uint8) for name in names}
    drawn["b"] = drawn["a"]
    return Structure.of(Domain.of(dict.fromkeys(names, sizes)), cliques, drawn, target)


def test_a_structure_has_the_edges_of_its_cliques():
    structure = chain(("a", "b"), ("b", "c", "d"), ("b", "a"))
    assert structure.edges == (("a", "b"), ("b", "c"), ("b", "d"), ("c", "d"))
    assert structure.alone == ("alone",)
    assert structure.neighbours_of_root == ("b",)
    assert structure.strength[0] == pytest.approx(1.0)
    assert structure.strength[1] < 0.3
    drawn = str(picture(structure))
    assert drawn.count("<circle") == 4
    assert drawn.count('class="tie"') == 3
    assert drawn.count('class="tie across"') == 1


def test_columns_do_not_lie_on_each_other():
    structure = chain(("a", "b"), ("a", "c"), ("c", "d"), ("c", "e"), ("f", "g"))
    where = _places(_tree(structure), structure.root)
    assert set(where) == set("abcdefg")
    for one, (x, y) in where.items():
        for other, (left, up) in where.items():
            assert one == other or x != left or abs(y - up) >= 20


def test_a_long_chain_is_drawn_as_far_as_it_can_be_seen():
    names = [f"c{k:04}" for k in range(1500)]
    cliques = list(itertools.pairwise(names))
    drawn = dict.fromkeys(names, np.zeros(3, np.uint8))
    structure = Structure.of(Domain.of(dict.fromkeys(names, 2)), cliques, drawn, "c0000")
    shown = str(picture(structure))
    assert shown.count("<circle") == 300
    assert shown.count("<path") == 299


def test_text_is_escaped_wherever_it_stands():
    bad = '<script>"x"</script>'
    assert "<script" not in element("text", bad, title=bad)
    dots = [DotRow(bad, (Dot(Mark.CIRCLE, 0.5, 0.4, 0.6, bad),))]
    lines = [Series(bad, (Point(1.0, 0.5, 0.4, 0.6),))]
    for drawn in (
        dot_plot(dots, [Rule(0.1, bad)], bad, bad),
        heat_map([bad, "b"], {(bad, "b"): 0.1, (bad, bad): 0.2}, 0.3, bad),
        frontier(lines, [Rule(0.9, bad)], bad),
    ):
        assert isinstance(drawn, Markup)
        assert "<script" not in drawn
        assert "&lt;script" in drawn


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_round_and_within(low, width):
    found = ticks(low, low + width, 5)
    assert 1 <= len(found) <= 6
    assert all(low - 1e-6 * width <= tick <= low + width * (1 + 1e-6) for tick in found)


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.name)
def test_every_method_gets_its_report(kind, tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.integers(0, 4, 400), "y": rng.choice(["<i>", "&"], 400)})
    release = synthesize(table, target="y", epsilon=8.0, delta=1e-5, mechanism=kind.name)
    release.save(tmp_path / "r")
    page = (tmp_path / "r" / "report.html").read_text()
    assert kind.name in page
    assert "<i>" not in page
    load(tmp_path / "r").save(tmp_path / "again", format="parquet")
    assert "synthetic.parquet" in (tmp_path / "again" / "report.html").read_text()


def test_the_page_is_made_from_the_release_alone(tmp_path):
    # The same release, loaded where the private table never was, gives the same page.
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.integers(0, 4, 400), "y": rng.choice(["a", "b"], 400)})
    synthesize(table, epsilon=8.0, delta=1e-5).save(tmp_path / "r")
    load(tmp_path / "r").save(tmp_path / "again")
    first, again = ((tmp_path / name / "report.html").read_bytes() for name in ("r", "again"))
    assert first == again
