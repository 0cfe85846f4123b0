"""The promise in words: every number in it is a bound."""

import math
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.privacy.promise import at_most, odds, promise, surest
from understudy.privacy.unit import Person, Record, Replacement


def numbers(line):
    return [float(found.replace(",", "")) for found in re.findall(r"\d[\d.,]*(?:e[-+]\d+)?", line)]


@given(st.floats(0.01, 30.0), st.floats(1e-15, 1e-3))
def test_no_bound_is_rounded_down(epsilon, delta):
    there, holds = odds(epsilon, delta, str(Record()))
    factor, chance = numbers(there.rstrip("."))
    assert factor >= math.exp(epsilon) * (1 - 1e-12)
    assert factor <= math.exp(epsilon) * 1.01 + 1
    assert chance >= delta
    if "nothing is promised" not in holds:
        twice, larger = numbers(holds.rstrip("."))
        assert twice >= math.exp(2 * epsilon) * (1 - 1e-12)
        assert larger >= delta * (1 + math.exp(epsilon)) * (1 - 1e-12)


@given(st.floats(1e-300, 1e300))
def test_a_bound_for_the_eye_is_never_smaller(value):
    assert Decimal(at_most(value).replace(",", "")) >= Decimal(repr(value))


def test_a_large_epsilon_has_a_number_too():
    assert "at most 2,981 times" in odds(8.0, 1e-9, str(Record()))[0]
    assert "at most 1.02e+304 times" in odds(700.0, 1e-9, str(Record()))[0]
    assert all("more than" not in line for line in promise(50.0, 1e-9, str(Record()), ()))


def test_what_a_record_holds_is_two_steps_unless_records_are_replaced():
    for unit in (Record(), Person("id", 3)):
        there, holds = odds(1.0, 1e-9, str(unit))
        assert "whether this was in it" in there
        assert "at most 2.72 times" in there
        assert "what this holds" in holds
        assert "at most 7.39 times, but for a chance of 3.72e-09" in holds
    (only,) = odds(1.0, 1e-9, str(Replacement()))
    assert "what this holds" in only
    assert "at most 2.72 times" in only


def test_where_the_chance_is_everything_nothing_is_promised():
    assert odds(30.0, 1e-9, str(Record()))[1].endswith("nothing is promised.")


@pytest.mark.parametrize("before", [0.001, 0.1, 0.5])
def test_nobody_becomes_surer_than_the_odds_allow(before):
    for epsilon in (0.01, 1.0, 8.0):
        after = surest(before, epsilon)
        change = after / (1 - after) / (before / (1 - before))
        assert change == pytest.approx(math.exp(epsilon), rel=1e-6)
    assert surest(before, 1e6) == 1.0
