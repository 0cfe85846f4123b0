"""Scales, and pictures that have one."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.report.dots import Dot, DotRow, Mark, Rule, dot_plot
from understudy.report.frontier import Axis, Point, Series, frontier
from understudy.report.scale import Scale, labels, ticks


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_round_and_within(low, width):
    found = ticks(low, low + width, 5)
    assert 1 <= len(found) <= 6
    assert all(low - 1e-6 * width <= tick <= low + width * (1 + 1e-6) for tick in found)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1e17, 1e17 + 32),
        (1e300, 1.0001e300),
        (0.0, 5e-324),
        (1.0, 1.0),
        (0.0, math.inf),
        (math.nan, 1.0),
    ],
)
def test_ticks_come_to_an_end_whatever_the_ends_are(low, high):
    assert len(ticks(low, high, 5)) <= 6


@given(st.floats(-1e17, 1e17), st.floats(0.0, 1e17))
def test_labels_tell_numbers_apart(low, width):
    found = ticks(low, low + width, 5)
    assert len({*labels(found)}) == len(found)


def test_large_labels_are_whole():
    assert labels([1_234_567.0, 1_234_568.0]) == ["1,234,567", "1,234,568"]
    assert labels([0.84, 0.86]) == ["0.84", "0.86"]


@pytest.mark.parametrize("at", [0.0, 0.9, 1e15, 1e17, -1e300])
def test_equal_numbers_lie_in_the_middle(at):
    assert Scale.around([at, at], 0.0, 100.0).place(at) == pytest.approx(50.0)


def test_what_is_no_number_has_no_place():
    row = DotRow("x", (Dot(Mark.CIRCLE, math.nan, math.nan, math.nan, "none"),))
    known = DotRow("y", (Dot(Mark.CIRCLE, 0.5, math.nan, 0.6, "one"),))
    drawn = dot_plot([row, known], [Rule(0.1, "rule")], "about", "axis")
    assert drawn.count("<circle") == 1
    assert "nan" not in drawn
    points = (Point(1.0, math.nan, 0.0, 1.0), Point(2.0, 0.5, 0.4, 0.6))
    drawn = frontier([Series("a", points)], [], "about")
    assert drawn.count("<circle") == 1
    assert "nan" not in drawn


def test_scores_may_stand_against_another_number_from_0_on():
    points = tuple(Point(at, at, at, at) for at in (0.0, 0.1, 1.0))
    drawn = frontier([Series("a", points)], [], "about", Axis("α", "the part", doubling=False))
    assert "the part</text>" in drawn
    assert "a, α = 0.1: 0.1" in drawn
    assert "ε" not in drawn
    places = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn)]
    assert places[1] - places[0] == pytest.approx((places[2] - places[0]) / 10, abs=0.02)


def test_a_frontier_of_nothing_is_empty():
    assert "<circle" not in frontier([], [], "about")
    assert "<circle" not in frontier([Series("a", ())], [Rule(0.5, "real")], "about")
    assert "<text" in dot_plot([], [], "about", "axis")
