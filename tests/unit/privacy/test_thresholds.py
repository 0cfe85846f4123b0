"""Values whose list nobody declared: what they cost, who may be seen by them, and by which doors.

Tests that draw from the operating system's generator say how often they alarm for nothing.
"""

import contextlib
import datetime as dt
import itertools
import json
import math
import time
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy import stats

from helpers.tables import load
from understudy.cli.app import _exit_code
from understudy.column import WHITESPACE, Column, Kind, Role, Source
from understudy.encode.shape_grid import SHAPES
from understudy.errors import (
    BadInput,
    BudgetSpent,
    CheckFailed,
    PrivacyRefused,
    RowsAreSealed,
    SchemaError,
    SourceError,
    UnknownColumn,
)
from understudy.privacy import coded_rows, ledger_file, people
from understudy.privacy import ledger as ledger_module
from understudy.privacy import table as table_module
from understudy.privacy.account import Account, Entry
from understudy.privacy.accountant import (
    _tail,
    cost,
    delta,
    gaussian_scale,
    rho,
    threshold,
    total_cost,
    total_delta,
    total_epsilon,
)
from understudy.privacy.answers import CommonValues
from understudy.privacy.budget import Budget, epsilon_of_rho
from understudy.privacy.certificate import Certificate
from understudy.privacy.engine import EmbeddedEngine
from understudy.privacy.events import (
    Exponential,
    Gaussian,
    Reveal,
    SampledGaussian,
    Threshold,
    event_from_json,
    event_to_json,
)
from understudy.privacy.folder import publish, verify
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger_file import create_ledger, open_release, read_ledger
from understudy.privacy.noise import LARGEST_SCALE, SeededForTests
from understudy.privacy.prices import values_price
from understudy.privacy.table import PrivateTable
from understudy.privacy.unit import Person, Record, Replacement
from understudy.schema import Schema

RARE = 1e-6
UNITS = [Record(), Replacement(), Person("who", 1), Person("who", 2), Person("who", 3)]
TAIL_SCALES = [0.3, 0.5, 0.77, 1.0, 1.9, 3.3, 5.0, 10.0, 31.6, 100.0, 500.0]


@lru_cache
def exact_tails(scale):
    """By height, the probability that a discrete Gaussian reaches it, to forty digits."""
    with mp.workdps(50):
        square = 2 * mpf(scale) ** 2
        weights = [mp.exp(-(mpf(y) ** 2) / square) for y in range(math.ceil(18 * scale) + 30)]
        total = weights[0] + 2 * mp.fsum(weights[1:])
        sums = itertools.accumulate(reversed(weights))
        return [one / total for one in sums][::-1]


def as_mpf(number):
    with mp.workdps(50):
        return mpf(number.numerator) / number.denominator


def heights(scale):
    """Up to ten standard deviations, all of them where they are few."""
    last = max(3, math.floor(10 * scale))
    return sorted({*range(1, min(last, 60) + 1), *np.linspace(1, last, 60).astype(int).tolist()})


def of(columns=1, unit=None, scale=None, most=Fraction(1, 100), amount=Fraction(1, 8)):
    """What the values of so many columns cost at a scale, or for an amount."""
    unit = unit or Record()
    if scale is not None:
        squared = values_price(columns, unit, rho=amount, delta=most).sensitivity_squared
        amount = squared / (2 * Fraction(scale) ** 2)
    return values_price(columns, unit, rho=amount, delta=most)


# --- the tail, and the threshold made from it -----------------------------------------------------


@pytest.mark.parametrize("scale", TAIL_SCALES)
def test_the_tail_is_never_below_the_exact_one_and_not_above_that_of_one_step_less(scale):
    exact = exact_tails(scale)
    for height in heights(scale):
        bound = mpf(_tail(height, scale))
        assert exact[height] <= bound
        if scale >= 1:  # below, all weights together are visibly more than √(2π) scale
            assert bound <= exact[height - 1]


@given(st.floats(0.3, 60), st.floats(0, 10))
@settings(max_examples=60)
def test_the_tail_of_any_scale_is_on_the_safe_side(scale, sigmas):
    height = 1 + math.floor(scale * sigmas)
    assert exact_tails(scale)[height] <= mpf(_tail(height, scale))


@pytest.mark.parametrize(
    ("scale", "excess"), [(5.0, 0.3), (31.6, 0.15), (100.0, 0.05), (500.0, 0.011)]
)
def test_the_tail_is_tight_where_noise_is_large(scale, excess):
    exact = exact_tails(scale)
    assert max(_tail(h, scale) / exact[h] for h in heights(scale)) < 1 + excess


def test_far_out_the_tail_stays_above_zero_and_falls_with_the_height():
    for scale in (0.3, 1.0, 50.0, LARGEST_SCALE):
        tails = [_tail(math.ceil(scale * k), scale) for k in (1, 2, 5, 10, 40, 100, 10**6)]
        assert all(tail > 0 for tail in tails)
        assert tails == sorted(tails, reverse=True)


CASES = list(
    itertools.product(
        (0.3, 0.77, 1.0, 3.3, 31.6, 100.0),
        (1, 3, 31),
        (1, 2, 5),
        (Fraction(2, 5), Fraction(1, 10), Fraction(1e-5), Fraction(1e-9), Fraction(1e-14)),
    )
)


def test_the_threshold_is_the_lowest_whose_delta_fits():
    for scale, columns, arrivals, most in CASES:
        lowest = threshold(scale, columns, arrivals, most)
        event = Threshold(scale, lowest, Fraction(columns), columns, arrivals)
        assert delta(event) <= most
        if lowest - 1 > arrivals:
            assert delta(replace(event, threshold=lowest - 1)) > most
        assert delta(replace(event, threshold=lowest + 1)) < delta(event)


def test_the_threshold_is_safe_and_at_most_one_above_the_best_by_exact_tails():
    for scale, columns, arrivals, most in CASES:
        exact = exact_tails(scale)
        allowed = as_mpf(most) / (columns * arrivals)
        best = next(h for h in range(1, len(exact)) if exact[h] <= allowed) + arrivals
        lowest = threshold(scale, columns, arrivals, most)
        assert best <= lowest
        assert lowest <= best + 1 or scale < 1


@given(st.floats(0.3, 1e9), st.integers(1, 100), st.integers(1, 20), st.floats(-29, -0.5))
@settings(max_examples=50)
def test_any_threshold_is_the_lowest_whose_delta_fits(scale, columns, arrivals, power):
    most = Fraction(10.0**power)
    lowest = threshold(scale, columns, arrivals, most)
    event = Threshold(scale, lowest, Fraction(1), columns, arrivals)
    assert delta(event) <= most
    assert lowest == arrivals + 1 or delta(replace(event, threshold=lowest - 1)) > most


def test_a_delta_that_no_threshold_keeps_is_refused():
    for scale, most in ((1.0, Fraction(1e-301)), (2.0**46, Fraction(1e-9))):
        with pytest.raises(BadInput, match="No threshold keeps a delta"):
            threshold(scale, 1, 1, most)


def test_the_price_follows_from_the_unit():
    squares = [values_price(5, u, rho=0.01, delta=1e-6).sensitivity_squared for u in UNITS]
    assert squares == [5, 10, 5, 20, 45]
    for unit in UNITS:
        event = values_price(5, unit, rho=0.01, delta=Fraction(1e-6))
        assert (event.columns, event.arrivals) == (5, unit.arrivals)
        assert event.scale == gaussian_scale(event.sensitivity_squared, Fraction(0.01))
        assert rho(event) <= Fraction(0.01)
        assert delta(event) <= Fraction(1e-6) < delta(replace(event, threshold=event.threshold - 1))


# --- the event ------------------------------------------------------------------------------------


EVENT = Threshold(10.0, 61, Fraction(2), columns=2, arrivals=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": 1},
        {"threshold": 0},
        {"threshold": -5},
        {"threshold": 61.0},
        {"threshold": True},
        {"threshold": math.nan},
        {"arrivals": 0},
        {"arrivals": -1},
        {"arrivals": 61},
        {"arrivals": 1.0},
        {"arrivals": True},
        {"columns": 0},
        {"columns": 2.0},
        {"columns": True},
        {"scale": 0.0},
        {"scale": -1.0},
        {"scale": math.nan},
        {"scale": math.inf},
        {"sensitivity_squared": Fraction(-1)},
    ],
    ids=str,
)
def test_an_event_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(BadInput):
        replace(EVENT, **wrong)


@given(
    st.floats(1e-6, 1e13),
    st.integers(2, 2**50),
    st.fractions(0, 1000, max_denominator=2**20),
    st.integers(1, 1000),
    st.integers(1, 50),
)
def test_an_event_comes_back_from_json_to_the_last_digit(scale, height, squared, columns, arrivals):
    event = Threshold(scale, height + arrivals, squared, columns, arrivals)
    written = json.loads(json.dumps(event_to_json(event)))
    assert written["kind"] == "Threshold"
    again = event_from_json(written)
    assert again == event
    assert (delta(again), cost(again, 30.0)) == (delta(event), cost(event, 30.0))


@pytest.mark.parametrize(
    "edit",
    [
        lambda c: c.pop("threshold"),
        lambda c: c.pop("arrivals"),
        lambda c: c.update(steps=3),
        lambda c: c.update(sensitivity_squared=2.0),
        lambda c: c.update(threshold="61"),
        lambda c: c.update(scale="10"),
        lambda c: c.update(columns=None),
    ],
)
def test_an_event_that_was_spoilt_in_json_is_refused(edit):
    written = event_to_json(EVENT)
    edit(written)
    with pytest.raises((BadInput, ValueError, TypeError)):
        event_from_json(written)


# --- what events cost together --------------------------------------------------------------------


OTHERS = (
    Gaussian(50.0, Fraction(3)),
    Exponential(0.02),
    SampledGaussian(0.01, 4.0, Fraction(1), 5),
)


def test_only_thresholds_use_up_delta_and_they_add_up():
    for event in (*OTHERS, Reveal("asked for")):
        assert delta(event) == 0
    assert delta(EVENT) == 2 * delta(replace(EVENT, columns=1))
    assert total_delta([EVENT, *OTHERS, EVENT]) == 2 * delta(EVENT)
    assert total_delta([]) == 0
    by_tails = 2 * exact_tails(10.0)[60]
    assert by_tails <= as_mpf(delta(EVENT)) < by_tails * mpf("1.21")


def test_the_rho_of_a_threshold_is_that_of_its_noise_once_for_all_columns():
    alike = Gaussian(10.0, Fraction(2))
    for order in (1.5, 30.0):
        assert cost(EVENT, order) == cost(alike, order) == rho(EVENT)
    assert Fraction(1, 100) <= rho(EVENT) < Fraction(1, 100) + Fraction(1, 2**100)
    assert total_cost([EVENT, alike], 30.0) == 2 * rho(EVENT)


THRESHOLDS = st.builds(
    of,
    columns=st.integers(1, 5),
    unit=st.sampled_from(UNITS),
    most=st.floats(-12, -4).map(lambda k: Fraction(10.0**k)),
    amount=st.floats(-4, 0).map(lambda k: Fraction(10.0**k)),
)


@given(
    st.lists(THRESHOLDS, min_size=1, max_size=4),
    st.lists(st.sampled_from(OTHERS), max_size=2),
    st.floats(-11, -3).map(lambda k: 10.0**k),
)
@settings(max_examples=30)
def test_delta_is_taken_off_before_rho_becomes_epsilon(thresholds, others, whole):
    events = [*thresholds, *others]
    plain = [Gaussian(e.scale, e.sensitivity_squared) for e in thresholds]
    left = Fraction(whole) - sum(map(delta, thresholds))
    total = total_epsilon(events, whole)
    if left <= 0:
        assert total == math.inf
        return
    down = float(left) if Fraction(float(left)) <= left else math.nextafter(float(left), 0.0)
    assert total == total_epsilon([*plain, *others], down)
    assert total >= total_epsilon([*plain, *others], whole)
    if not others:
        assert total == epsilon_of_rho(sum(map(rho, thresholds)), down)


def test_nothing_left_of_delta_is_no_promise():
    used = delta(EVENT)
    above = math.nextafter(float(used), 1.0)
    assert Fraction(above) > used
    assert total_epsilon([EVENT], above) < math.inf
    assert total_epsilon([EVENT], math.nextafter(above, 0.0)) == math.inf
    assert total_epsilon([EVENT, EVENT], above) == math.inf
    assert total_epsilon([EVENT, Reveal("asked for")], 0.1) == math.inf


def test_counts_beside_a_threshold_are_not_told_by_their_exact_losses():
    # The privacy loss of a threshold is no discrete Gaussian's, so nothing is composed exactly.
    counts = Gaussian(20.0, Fraction(2), unit_cells=2)
    event = of(most=Fraction(1e-12))
    assert total_epsilon([counts], 1e-9) < epsilon_of_rho(rho(counts), 1e-9)
    together = rho(counts) + rho(event)
    assert total_epsilon([counts, event], 1e-9) >= epsilon_of_rho(together, 1e-9)


def law_of(count, event):
    """By noisy count, the chance that a value is told with it; first, that it is not told."""
    steps = np.arange(-math.ceil(12 * event.scale), math.ceil(12 * event.scale) + 1)
    chances = np.exp(-(steps**2) / (2 * event.scale**2))
    chances /= chances.sum()
    told = count + steps >= event.threshold
    space = np.zeros(event.threshold + math.ceil(14 * event.scale) + count)
    np.add.at(space, np.where(told, count + steps - event.threshold + 1, 0), chances)
    return space


def largest_delta(event, epsilon):
    """The whole law of the answers: how far it fails ε at worst, where each side has a new value.

    A record is replaced: one value that both tables have is held by one more here, and each of
    them has a value that the other lacks.
    """
    new = 1 - law_of(1, event)[0]
    worst = 0.0
    for shared in range(1, event.threshold + 3):
        one, other = law_of(shared + 1, event), law_of(shared, event)
        for here, there in ((one, other), (other, one)):
            size = max(len(here), len(there))
            p, q = (np.pad(law, (0, size - len(law))) for law in (here, there))
            lost = (1 - new) * (p - math.exp(epsilon) * q)
            worst = max(worst, new + lost[lost > 0].sum())
    return worst


@pytest.mark.parametrize("whole", [0.3, 0.03, 1e-3])
@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_the_law_of_the_answers_keeps_the_promise(scale, whole):
    event = of(unit=Replacement(), scale=scale, most=Fraction(whole) / 2)
    epsilon = total_epsilon([event], whole)
    assert whole / 10 < largest_delta(event, epsilon) <= whole
    # A threshold that is lower by two standard deviations breaks it.
    lower = replace(event, threshold=max(2, event.threshold - math.ceil(2 * scale)))
    assert largest_delta(lower, epsilon) > whole


# --- neighbours, all of them ----------------------------------------------------------------------
# Many small tables are packed into one: a prefix keeps their values and their people apart, so
# that one pass of the real code counts all of them.


@pytest.fixture
def fixed_key(monkeypatch):
    """The same secret in every table that is opened."""

    def fix():
        keys = itertools.count(12345, 7919)
        monkeypatch.setattr(people, "_key", lambda: next(keys))

    return fix


@pytest.fixture(params=["embedded", "duckdb", "sqlite"])
def placed(request):
    """Puts a table where its rows are counted."""
    if request.param == "embedded":
        return lambda table: table
    engine = request.getfixturevalue(f"{request.param}_engine")
    return lambda table: load(engine, table, "placed")


VALUES = "abc"


def bags(kinds, most):
    """All tables of at most so many records, whatever their order."""
    sizes = range(most + 1)
    return [b for n in sizes for b in itertools.combinations_with_replacement(kinds, n)]


def records(columns):
    return list(itertools.product(VALUES, repeat=columns))


def counted(tables, columns, unit, placed=lambda table: table, *, coded=False):
    """By table and column, how often each value is counted; tables are lists of (who, record)."""
    rows = [(t, who, record) for t, table in enumerate(tables) for who, record in table]
    names = [f"x{k}" for k in range(columns)]
    whole = {"who": pa.array([f"{t}:{who}" for t, who, _ in rows], pa.string())}
    for k, name in enumerate(names):
        whole[name] = pa.array([f"{t}:{record[k]}" for t, _, record in rows], pa.string())
    facts = [Column(name="who", kind=Kind.CATEGORICAL, role=Role.ID)]
    facts += [Column(name=n, kind=Kind.CATEGORICAL, categories=("-",)) for n in names]
    if coded:  # otherwise all rows have the same codes, and only values tell them apart
        whole["code"] = pa.array(["".join(record) for _, _, record in rows], pa.string())
        labels = tuple("".join(record) for record in records(columns))
        facts.append(Column(name="code", kind=Kind.CATEGORICAL, categories=labels))
    person = unit if isinstance(unit, Person) else None
    table = PrivateTable(placed(pa.table(whole)), Schema(tuple(facts)), person=person)
    found = table.values(dict.fromkeys(names))
    counts = [[Counter() for _ in names] for _ in tables]
    for k, name in enumerate(names):
        for value, count in zip(found[name].values.to_pylist(), found[name].counts, strict=True):
            place, _, plain = value.partition(":")
            counts[int(place)][k][plain] = int(count)
    return counts


def told(news, event):
    """The exact chance that any value which the neighbour lacks is told."""
    return any_told(tuple(sorted(n for new in news for n in new.values())), event)


@lru_cache
def any_told(counts, event):
    exact = exact_tails(event.scale)
    with mp.workdps(50):
        return 1 - mp.fprod(1 - exact[event.threshold - n] for n in counts)


def check_neighbours(one, other, event):
    """Hold a pair to what the event declares; returns how much of it was reached."""
    each = event.sensitivity_squared / event.columns
    moved = [
        sum((a[v] - b[v]) ** 2 for v in a.keys() & b.keys())
        for a, b in zip(one, other, strict=True)
    ]
    assert all(squared <= each for squared in moved)
    chances = []
    for here, there in ((one, other), (other, one)):
        news = [
            Counter({v: n for v, n in a.items() if v not in b})
            for a, b in zip(here, there, strict=True)
        ]
        assert all(new.total() <= event.arrivals for new in news)
        chances.append(told(news, event))
    assert max(chances) <= as_mpf(delta(event))
    return Fraction(sum(moved)) / event.sensitivity_squared, float(max(chances) / delta(event))


@pytest.mark.parametrize(("columns", "most"), [(1, 4), (2, 3), (3, 1)])
def test_all_neighbours_by_one_record(columns, most):
    tables = bags(records(columns), most)
    counts = counted([[(0, r) for r in t] for t in tables], columns, Record())
    for table, count in zip(tables, counts, strict=True):
        assert count == [Counter(r[k] for r in table) for k in range(columns)]
    known = dict(zip(tables, counts, strict=True))
    event = of(columns, Record(), scale=2.0)
    reached = [
        check_neighbours(known[table], known[table[:k] + table[k + 1 :]], event)
        for table in tables
        for k in range(len(table))
    ]
    assert len(reached) > 20
    # Not one is above; as near as it goes, but for what the tail is rounded up by.
    assert max(moved for moved, _ in reached) == 1 or most == 1
    slack = float(exact_tails(2.0)[event.threshold - 1]) / _tail(event.threshold - 1, 2.0)
    assert 0.9 * slack < max(chance for _, chance in reached) <= 1


@pytest.mark.parametrize(("columns", "most"), [(1, 4), (2, 3)])
def test_all_neighbours_by_a_replaced_record(columns, most):
    tables = bags(records(columns), most)
    counts = counted([[(0, r) for r in t] for t in tables], columns, Replacement())
    known = dict(zip(tables, counts, strict=True))
    event = of(columns, Replacement(), scale=2.0)
    reached = [
        check_neighbours(
            known[table], known[tuple(sorted((*table[:k], new, *table[k + 1 :])))], event
        )
        for table in tables
        for k, new in itertools.product(range(len(table)), records(columns))
    ]
    assert len(reached) > 100
    assert max(moved for moved, _ in reached) >= (1 if columns == 1 else 0.9)
    slack = float(exact_tails(2.0)[event.threshold - 1]) / _tail(event.threshold - 1, 2.0)
    assert 0.9 * slack < max(chance for _, chance in reached) <= 1


@pytest.mark.untraced
@pytest.mark.parametrize("coded", [True, False])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(("columns", "sizes"), [(1, (4, 4)), (2, (3, 1))])
def test_all_neighbours_by_a_person(k, columns, sizes, coded, fixed_key):
    unit, (theirs, others) = Person("who", k), sizes
    pairs = list(itertools.product(bags(records(columns), theirs), bags(records(columns), others)))
    rest = [[("b", record) for record in b] for _, b in pairs]
    both = [[("a", r) for r in a] + side for (a, _), side in zip(pairs, rest, strict=True)]
    fixed_key()
    one = counted(both, columns, unit, coded=coded)
    fixed_key()
    other = counted(rest, columns, unit, coded=coded)
    event = of(columns, unit, scale=2.0 * k)
    reached = []
    for (a, b), here, there in zip(pairs, one, other, strict=True):
        # Nobody counts more often than they may, nor less; and the others never notice.
        for count, without in zip(here, there, strict=True):
            assert without.total() == min(k, len(b))
            assert count.total() == min(k, len(a)) + without.total()
            assert without <= count
        reached.append(check_neighbours(here, there, event))
    assert max(moved for moved, _ in reached) >= Fraction(9, 10)
    assert max(chance for _, chance in reached) > 0


@pytest.mark.untraced
@pytest.mark.parametrize("k", [1, 2])
def test_all_neighbours_by_a_person_where_the_rows_lie(k, fixed_key, placed):
    unit = Person("who", k)
    pairs = list(itertools.product(bags(records(1), 4), bags(records(1), 2)))
    rest = [[("b", record) for record in b] for _, b in pairs]
    both = [[("a", r) for r in a] + side for (a, _), side in zip(pairs, rest, strict=True)]
    fixed_key()
    one = counted(both, 1, unit, placed)
    fixed_key()
    other = counted(rest, 1, unit, placed)
    event = of(1, unit, scale=2.0 * k)
    reached = [check_neighbours(here, there, event) for here, there in zip(one, other, strict=True)]
    assert max(moved for moved, _ in reached) == 1
    assert all(
        here[0].total() == min(k, len(a)) + min(k, len(b))
        for (a, b), here in zip(pairs, one, strict=True)
    )


@pytest.mark.parametrize("k", [2, 3, 6])
def test_a_person_who_brings_many_new_values_and_one_who_brings_one_many_times(k):
    event = of(1, Person("who", k), scale=3.0 * k, most=Fraction(1, 1000))
    spread = told([Counter({f"new {place}": 1 for place in range(k)})], event)
    heaped = told([Counter({"new": k})], event)
    assert 0 < spread <= as_mpf(delta(event))
    assert 0 < heaped <= as_mpf(delta(event))
    # And so are all other ways to deal out k records.
    for parts in range(1, k + 1):
        for deal in itertools.combinations_with_replacement(range(1, k + 1), parts):
            if sum(deal) == k:
                assert told([Counter(dict(enumerate(deal)))], event) <= as_mpf(delta(event))
    # A price for single records would not do for them.
    naive = of(1, Record(), scale=3.0 * k, most=Fraction(1, 1000))
    assert told([Counter({"new": k})], replace(event, threshold=naive.threshold)) > as_mpf(
        Fraction(1, 1000)
    )


# --- through the ledger, with real noise ----------------------------------------------------------


WORDS = Schema((Column(name="x", kind=Kind.CATEGORICAL, categories=("-",)),))
LARGE = Budget(50.0, 0.2, thresholds=0.1)
"""A delta that nobody should want, so that rare things happen often enough to be counted."""


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("unit", "many", "part"), [(Record(), 150_000, 0.1), (Person("who", 2), 80_000, 0.6)], ids=str
)
def test_rare_values_are_told_as_often_as_delta_says(unit, many, part):
    # Every value is held by one unit, as often as that one may. False alarms: 1e-6 each. Power: a
    # threshold off by 5 % of the scale moves the share by 0.0084 (0.0172 for the person), which is
    # 10.6 of its standard deviations, and 4.9 are enough: missed less than once in 10⁷ runs.
    k = unit.arrivals
    who = np.repeat(np.arange(many), k)
    table = pa.table({"x": pa.array(who).cast(pa.string()), "who": who})
    schema = Schema((*WORDS.columns, Column(name="who", kind=Kind.INTEGER, role=Role.ID)))
    ledger = Ledger.open(table, schema, Budget(50.0, 0.9, thresholds=part), unit=unit)
    event = of(1, unit, scale=100.0 * k, most=Fraction(part))
    (answer,) = ledger.values({"x": None}, rho=rho(event), delta=part)
    assert ledger.entries[0].event == event
    assert answer.threshold == event.threshold
    seen = len(answer.values)
    exact = exact_tails(event.scale)

    def fits(height):
        return stats.binomtest(seen, many, float(exact[height])).pvalue

    height = event.threshold - k
    assert fits(height) > RARE
    assert fits(height - 5 * k) < RARE
    assert fits(height + 5 * k) < RARE
    # So what was promised is kept.
    assert stats.binomtest(seen, many, part / k, alternative="greater").pvalue > RARE
    assert answer.counts.min() == event.threshold


@pytest.fixture(scope="module")
def common_noise():
    """By column and request, the noise on fifty thousand values that are always told."""
    many, each, scale = 51_000, 16, 1.0
    place = np.tile(np.arange(many), each)
    names = ("x", "y")
    schema = Schema(tuple(Column(name=n, kind=Kind.INTEGER, bounds=(0, 9)) for n in names))
    ledger = Ledger.open(pa.table({"x": place, "y": place}), schema, LARGE)
    noise = []
    for _ in range(2):
        answers = ledger.values(dict.fromkeys(names), rho=Fraction(1), delta=Fraction(1, 20))
        assert [a.values == tuple(range(many)) for a in answers] == [True, True]
        assert [a.scale for a in answers] == [scale, scale]
        noise += [answer.counts - each for answer in answers]
    return np.array(noise), scale


@pytest.mark.statistical
def test_counts_of_told_values_have_the_declared_scale_and_no_other(common_noise):
    # A χ² on 102,000 draws. False alarms: 1e-6. Power: a scale 5 % off adds about 500 to a sum
    # whose spread is then 45, and 48 are enough; missed less than once in 10¹⁵ runs.
    noise, scale = common_noise
    draws = noise[:2].ravel()
    assert set(draws % 1) == {0.0}
    steps = np.arange(-4, 5)
    seen = np.bincount(np.clip(draws, -4, 4).astype(int) + 4, minlength=9)

    def fits(scale):
        exact = exact_tails(scale)
        alone = [float(exact[abs(s)] - exact[abs(s) + 1]) for s in steps]
        alone[0] = alone[-1] = float(exact[4])
        return stats.chisquare(seen, np.array(alone) * seen.sum()).pvalue

    assert fits(scale) > RARE
    assert fits(scale * 1.05) < RARE
    assert fits(scale * 0.95) < RARE


@pytest.mark.statistical
def test_noise_of_columns_values_and_requests_is_independent(common_noise):
    # Correlations of 51,000 draws. False alarms: 10 times 1e-7. Power: noise that is used twice
    # correlates by 1, and 0.024 is enough.
    noise, _ = common_noise
    limit = stats.norm.isf(0.5e-7) / math.sqrt(noise.shape[1])
    for one, other in itertools.combinations(noise, 2):
        assert abs(np.corrcoef(one, other)[0, 1]) < limit
    for row in noise:
        assert abs(np.corrcoef(row[1:], row[:-1])[0, 1]) < limit


def test_a_value_is_told_exactly_if_its_noisy_count_reaches_the_threshold():
    found = CommonValues.above(
        10, "x", pa.array(["c", "b", "a", "d"]), np.array([9, 10, 11, -3]), scale=2.0
    )
    assert (found.values, found.counts.tolist()) == (("a", "b"), [11.0, 10.0])
    assert (found.column, found.scale, found.threshold) == ("x", 2.0, 10)


# --- budgets, certificates and ledger files -------------------------------------------------------


@given(st.floats(-3, 2), st.floats(-15, -2), st.floats(1e-6, 0.999))
@settings(max_examples=40)
def test_a_budget_is_worth_what_the_rest_of_its_delta_converts(power, delta_power, share):
    epsilon, whole = 10.0**power, 10.0**delta_power
    part = whole * share
    budget = Budget(epsilon, whole, thresholds=part)
    left = Fraction(whole) - Fraction(part)
    down = float(left) if Fraction(float(left)) <= left else math.nextafter(float(left), 0.0)
    assert budget.converting == down
    assert budget.rho == Budget(epsilon, down).rho <= Budget(epsilon, whole - part).rho
    assert budget.rho <= Budget(epsilon, whole).rho
    assert budget.order == Budget(epsilon, down).order
    assert epsilon_of_rho(budget.rho, down) <= epsilon * (1 + 1e-8)


def test_a_budget_without_thresholds_is_as_before():
    assert Budget(1.0, 1e-9) == Budget(1.0, 1e-9, thresholds=0.0)
    assert Budget(1.0, 1e-9).converting == 1e-9
    fixed = Budget(1.0, 1e-9, fixed_order=20.0, thresholds=1e-10)
    assert (fixed.order, fixed.rho) == (20.0, Budget(1.0, fixed.converting, 20.0).rho)


@pytest.mark.parametrize("part", [-1e-300, 1e-9, 2e-9, 1, "0", True, None, math.nan, math.inf])
def test_a_part_of_delta_that_makes_no_sense_is_refused(part):
    with pytest.raises(BadInput):
        Budget(1.0, 1e-9, thresholds=part)


def test_nearly_all_of_delta_may_be_kept_for_thresholds():
    budget = Budget(1.0, 1e-9, thresholds=math.nextafter(1e-9, 0.0))
    assert 0 < budget.rho < Budget(1.0, 1e-9).rho


PEOPLE = Schema(
    (
        Column(name="job", kind=Kind.CATEGORICAL),
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), null=False),
    )
)
JOBS = pa.table({"job": ["baker"] * 900 + ["smith"] * 600 + ["spy"], "age": [30] * 1501})
BUDGET = Budget(1.0, 1e-8, thresholds=1e-9)


def ask(ledger, share=1 / 4, part=4e-10):
    return ledger.values({"job": None, "age": None}, rho=BUDGET.rho * Fraction(share), delta=part)


def opened(data=JOBS, budget=BUDGET, **options):
    return Ledger.open(data, PEOPLE, budget, discover=True, **options)


@pytest.fixture
def released(tmp_path):
    """A release that told values and measured something, in a folder."""
    with opened() as ledger:
        ask(ledger)
        ledger.measure([("age",)], rho=ledger.rest())
        publish(tmp_path / "release", {}, ledger.close())
    return tmp_path / "release"


def failed(folder):
    return {check.what for check in verify(folder) if not check.passed}


def rewrite(folder, edit):
    """Edit a certificate as a person who knows how it is hashed would."""
    path = folder / "certificate.json"
    content = json.loads(path.read_text())
    edit(content)
    hashed = {name: part for name, part in content.items() if name != "sha256"}
    text = json.dumps(hashed, sort_keys=True, separators=(",", ":"))
    content["sha256"] = sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def test_what_many_share_is_told_and_who_is_alone_is_not(released):
    content = json.loads((released / "certificate.json").read_text())
    assert failed(released) == set()
    assert content["budget"]["thresholds"] == 1e-9
    told, measured = content["events"]
    event = event_from_json(told["event"])
    assert told["request"] == {"door": "values", "columns": {"job": None, "age": None}}
    assert Fraction(told["delta"]) == delta(event) == Fraction(content["spent"]["delta"])
    assert 0 < Fraction(told["delta"]) <= Fraction(4e-10)
    assert measured["delta"] == "0"
    assert content["promise"]["delta"] == 1e-8
    job, age = ask(opened(budget=Budget(8.0, 1e-8, thresholds=1e-9)), 1.0)
    assert job.values == ("baker", "smith")
    assert age.values == (30,)
    assert job.threshold == age.threshold < 600
    assert "spy" not in json.dumps(content)


NEVER_KEPT = "the budget was kept"
WORTH = "the budget is worth what it says"
EVENTS = "each event costs what it says"
TOTAL = "the total is the sum of the costs"
QUERIES = "each event follows from its query and the privacy unit"


def lower(content, *, consistent):
    """A threshold that tells more, with or without what it uses up."""
    item = content["events"][0]
    item["event"]["threshold"] -= 60
    if consistent:
        used = str(delta(event_from_json(item["event"])))
        item["delta"] = content["spent"]["delta"] = used


def more_kept(content, *, consistent):
    content["budget"]["thresholds"] = 9e-9
    if consistent:
        budget = content["budget"]
        worth = Budget(budget["epsilon"], budget["delta"], budget["order"], budget["thresholds"])
        budget["rho"] = str(worth.rho)


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (lambda c: c["budget"].update(thresholds=2e-9), {WORTH, NEVER_KEPT}),
        (lambda c: c["budget"].update(thresholds=0.0), {WORTH, NEVER_KEPT}),
        (lambda c: c["budget"].update(thresholds=1e-11), {WORTH, NEVER_KEPT}),
        (lambda c: more_kept(c, consistent=False), {WORTH, NEVER_KEPT}),
        (lambda c: more_kept(c, consistent=True), {NEVER_KEPT}),
        (lambda c: lower(c, consistent=False), {EVENTS, TOTAL, NEVER_KEPT}),
        (lambda c: lower(c, consistent=True), {NEVER_KEPT}),
        (lambda c: c["events"][0].update(delta="0"), {EVENTS}),
        (lambda c: c["spent"].update(delta="0"), {TOTAL}),
        (lambda c: c["events"][0]["event"].update(arrivals=2), {EVENTS, TOTAL, QUERIES}),
        (lambda c: c["events"][0]["event"].update(columns=1), {EVENTS, TOTAL, QUERIES}),
        (lambda c: c["budget"].pop("thresholds"), {"the certificate can be read"}),
        (lambda c: c["budget"].update(thresholds=2e-8), {"the certificate can be read"}),
        (lambda c: c["events"][0]["event"].update(threshold=1), {"the certificate can be read"}),
    ],
)
def test_a_certificate_that_was_made_kinder_is_found(released, edit, found):
    rewrite(released, edit)
    missed = found - failed(released)
    assert not missed
    # A lower threshold may use up so little that only its own line is wrong; nothing else is.
    assert failed(released) <= found | {NEVER_KEPT}


def certificate(entries, budget=BUDGET, planned=None):
    """One that nobody's ledger would write."""
    return Certificate(
        budget=budget,
        unit=str(Record()),
        entries=tuple(Entry({"door": "values"}, event) for event in entries),
        public={},
        random_source="the operating system's cryptographic generator",
        private_noise=True,
        planned=planned,
    )


FITS = Threshold(2000.0, 14000, Fraction(1), 1, 1)
TOO_MUCH = Threshold(2000.0, 3000, Fraction(1), 1, 1)


@pytest.mark.parametrize("planned", [False, True])
def test_thresholds_that_use_more_than_was_kept_for_them_fail_verification(planned, tmp_path):
    assert delta(FITS) < BUDGET.thresholds / 10 < BUDGET.delta < delta(TOO_MUCH)
    assert cost(FITS, BUDGET.order) == cost(TOO_MUCH, BUDGET.order) < BUDGET.rho / 100
    for name, event, kept in (("fits", FITS, True), ("too much", TOO_MUCH, False)):
        plan = (event,) if planned else None
        publish(tmp_path / name, {}, certificate([event], planned=plan))
        assert (NEVER_KEPT not in failed(tmp_path / name)) == kept, name


def test_an_account_refuses_what_was_not_kept_and_changes_nothing():
    account = Account.open(BUDGET)
    part = account.part(BUDGET.rho / 2)
    half = of(1, Record(), amount=BUDGET.rho / 10, most=Fraction(0.6e-9))
    assert Fraction(0.5e-9) < delta(half)
    part.debit(half, {})
    before = account.entries, account.rest, part.rest, account.rest_delta
    assert account.rest_delta == part.rest_delta == Fraction(1e-9) - delta(half)
    for each in (account, part):
        with pytest.raises(BudgetSpent, match=r"more of delta.*Declare the values") as refused:
            each.debit(half, {})
        assert _exit_code(refused.value) == 3
        assert (account.entries, account.rest, part.rest, account.rest_delta) == before
    # What does fit is still granted, to the last bit.
    account.debit(of(1, Record(), amount=BUDGET.rho / 10, most=account.rest_delta), {})
    account.debit(Gaussian(1000.0, Fraction(1)), {})


def test_without_a_part_of_delta_no_value_is_ever_told():
    with pytest.raises(BudgetSpent):
        Account.open(Budget(1.0, 1e-8)).debit(FITS, {})
    ledger = opened(budget=Budget(1.0, 1e-8))
    with pytest.raises(BudgetSpent, match="more of delta"):
        ask(ledger)
    with pytest.raises(PrivacyRefused, match=r"No part of delta is left.*Declare"):
        ask(ledger, part=ledger.rest_delta())
    assert ledger.entries == ()


def test_a_plan_with_thresholds_counts_all_of_its_delta():
    ledger = opened()
    event = values_price(2, Record(), rho=BUDGET.rho / 4, delta=4e-10)
    ledger.fix([event, event])
    assert ask(ledger)
    assert ask(ledger)
    with pytest.raises(PrivacyRefused, match="none of them"):
        ask(ledger)
    made = ledger.close()
    assert made.epsilon == total_epsilon([event, event], BUDGET.delta) < BUDGET.epsilon
    assert made.spent_delta == 2 * delta(event)
    with pytest.raises(BudgetSpent):
        Account.open(BUDGET).fix([TOO_MUCH])
    with pytest.raises(BudgetSpent):
        Account.open(BUDGET).fix(
            [Gaussian(gaussian_scale(Fraction(1), BUDGET.rho), Fraction(1)), TOO_MUCH]
        )


@pytest.mark.parametrize("part", [0.0, 1e-9])
def test_a_plan_that_was_accepted_can_be_carried_out(part):
    account = Account.open(Budget(1.0, 1e-8, thresholds=part))
    with contextlib.suppress(BudgetSpent):
        account.fix([FITS])
    if account.fixed:
        account.debit(FITS, {})


WHOLE = Budget(4.0, 1e-7, thresholds=1e-8)


@pytest.fixture
def ledger_path(tmp_path):
    path = tmp_path / "table.ledger"
    create_ledger(path, WHOLE)
    return path


def test_a_ledger_file_keeps_its_part_of_delta(ledger_path):
    record = read_ledger(ledger_path)
    assert (record.budget.thresholds, record.budget.rho) == (1e-8, WHOLE.rho)
    assert record.rest_delta == Fraction(1e-8)
    plain = ledger_path.with_name("plain.ledger")
    create_ledger(plain, Budget(4.0, 1e-7))
    assert read_ledger(plain).rest_delta == 0


def test_releases_use_it_up_and_the_next_is_refused(ledger_path):
    budget = Budget(0.5, 1e-8, thresholds=4e-9)
    for _ in range(2):
        with opened(budget=budget, file=ledger_path) as ledger:
            ask(ledger, 1 / 100, 3.9e-9)
            ledger.end()
    record = read_ledger(ledger_path)
    used = [total_delta(event for event, _ in release.events) for release in record.releases]
    assert all(Fraction(3e-9) < one <= Fraction(3.9e-9) for one in used)
    assert record.rest_delta == Fraction(1e-8) - sum(used)
    before = ledger_path.read_bytes()
    with pytest.raises(BudgetSpent, match=r"delta .*left for facts that are bought.*Declare") as no:
        opened(budget=budget, file=ledger_path)
    assert _exit_code(no.value) == 3
    assert ledger_path.read_bytes() == before
    # Whoever asks for less, or declares all facts, may go on.
    with opened(budget=Budget(0.5, 1e-8, thresholds=1e-9), file=ledger_path) as ledger:
        ask(ledger, 1 / 100, 1e-9)
        ledger.end()
    declared = Schema(
        (Column(name="job", kind=Kind.CATEGORICAL, categories=("baker",)), PEOPLE["age"])
    )
    with Ledger.open(JOBS, declared, Budget(0.5, 1e-8), file=ledger_path) as ledger:
        ledger.measure([("job",)], rho=ledger.rest())
        ledger.end()


def test_a_refused_request_writes_no_line(ledger_path, monkeypatch):
    with opened(budget=Budget(0.5, 1e-8, thresholds=4e-9), file=ledger_path) as ledger:
        ask(ledger, 1 / 100, 3.9e-9)
        before = ledger_path.read_bytes(), ledger.entries, ledger.rest(), ledger.rest_delta()
        monkeypatch.setattr(PrivateTable, "values", None)
        for share, part in ((1 / 100, 3.9e-9), (100.0, 1e-10)):
            with pytest.raises(BudgetSpent):
                ask(ledger, share, part)
            now = ledger_path.read_bytes(), ledger.entries, ledger.rest(), ledger.rest_delta()
            assert now == before


def test_the_file_refuses_what_it_has_not_kept_by_itself(ledger_path):
    release = open_release(ledger_path, Budget(0.5, 1e-8), str(Record()))
    before = ledger_path.read_bytes()
    for refused in (lambda: release.intend(TOO_MUCH, {}), lambda: release.check([FITS, TOO_MUCH])):
        with pytest.raises(BudgetSpent, match=r"delta 1e-08 left.*Declare the values"):
            refused()
    assert ledger_path.read_bytes() == before
    more_than_half = replace(FITS, threshold=threshold(2000.0, 1, 1, Fraction(0.6e-8)))
    assert Fraction(0.5e-8) < delta(more_than_half)
    release.check([more_than_half])
    release.intend(more_than_half, {})
    with pytest.raises(BudgetSpent):
        release.intend(more_than_half, {})
    release.close()
    # A release that was never ended has spent it nevertheless.
    assert read_ledger(ledger_path).rest_delta == Fraction(1e-8) - delta(more_than_half)


@pytest.mark.parametrize(
    "absurd", [{"scale": 1e-200}, {"threshold": 10**400}], ids=["tiny noise", "endless threshold"]
)
def test_a_ledger_line_with_absurd_numbers_is_no_crash(ledger_path, absurd):
    release = open_release(ledger_path, Budget(0.5, 1e-8), str(Record()))
    release.close()
    record = read_ledger(ledger_path)
    event = {**event_to_json(FITS), **absurd}
    line = {"kind": "intent", "release": release.name, "event": event, "request": {}, "cost": "0"}
    with ledger_path.open("ab") as file:
        file.write(ledger_file._line(record.lines, record.head, line))
    with contextlib.suppress(CheckFailed):
        assert read_ledger(ledger_path).rest_delta <= Fraction(1e-8)


# --- which values are told, wherever the rows lie -------------------------------------------------


TEXTS = ["a", " a", "a\t", "\n\va \r\f", "b", "B", "é", "1", "1.0", "01", "a b", "a\xa0", "\ufeff"]
TEXTS += ["null", "nan", "\x01", "L" * 200, " " + "K" * 200 + " "]
NEVER = [None, "", "   ", "\t", "x\0y", "\0", "M" * 201, "N" * 5000]
REALS = [0.0, -0.0, 1.5, -1.5, 1e200, 1e-200, 2.0**60, -7.25]
NO_REALS = [None, math.nan, math.inf, -math.inf]
HUGE = Budget(1e6, 0.5, thresholds=0.4)
"""So much that noise is zero, and whatever two rows share is told."""
SEMANTICS = Schema(
    (
        Column(name="text", kind=Kind.CATEGORICAL, categories=("a", "b"), other="other", null=True),
        Column(name="real", kind=Kind.REAL, bounds=(-10, 10), bins=4, null=True),
        Column(name="floor", kind=Kind.INTEGER, bounds=(-10, 10), bins=3, null=True),
        Column(name="whole", kind=Kind.INTEGER, bounds=(0, 9), null=False),
        Column(name="label", kind=Kind.ORDINAL, categories=(3, 4, 5), null=True),
        Column(name="flag", kind=Kind.BOOLEAN, null=True),
    )
)


def stripped(text):
    """The rule for text, in plain Python."""
    plain = None if text is None else text.strip(WHITESPACE)
    return plain if plain and "\0" not in plain and len(plain) <= 200 else None


def semantic_rows():
    texts = [*TEXTS, *NEVER] * 3
    rows = len(texts)
    reals = list(itertools.islice(itertools.cycle([*REALS, *NO_REALS]), rows))
    return {
        "text": texts,
        "real": reals,
        "floor": reals,
        "whole": [k % 7 for k in range(rows)],
        "label": [k % 4 + 3 for k in range(rows)],
        "flag": [(None, True, False)[k % 3] for k in range(rows)],
    }


def read(name, value):
    """What tells a value from others, in plain Python; None where it is never told."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if name == "text":
        return stripped(value)
    if name == "floor":
        return math.floor(max(-(2.0**52), min(2.0**52, value)))
    if name == "flag":
        return str(value).lower()
    return str(value) if name == "label" else value + 0  # 0.0 of both zeros


def exact_counts(name, values):
    """Of these cells of a column, each value that two of them share, and how many do."""
    counts = Counter(read(name, value) for value in values)
    return {value: n for value, n in counts.items() if value is not None and n > 1}


def arrow_rows():
    rows = semantic_rows()
    kinds = {"text": pa.string(), "real": pa.float64(), "floor": pa.float64(), "flag": pa.bool_()}
    return pa.table({name: pa.array(v, kinds.get(name, pa.int64())) for name, v in rows.items()})


def csv_rows(folder):
    import csv  # noqa: PLC0415

    def cell(value):
        return (
            "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        )

    rows = semantic_rows()
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(rows)
        writer.writerows([map(cell, row) for row in zip(*rows.values(), strict=True)])
    return folder / "rows.csv"


def told_exactly(data, schema, columns, **options):
    """What is told without noise: of each column, values and counts."""
    lines = isinstance(data, Path)  # some cells hold line breaks
    source = SeededForTests(1)
    ledger = Ledger.open(data, schema, HUGE, source=source, multiline=lines, **options)
    unit = options.get("unit", Record())
    answers = ledger.values(columns, rho=Fraction(10**5), delta=Fraction(1, 10))
    assert all(a.threshold == unit.arrivals + 1 and a.scale < 0.05 for a in answers)
    assert [a.column for a in answers] == list(columns)
    for answer in answers:
        assert list(answer.values) == sorted(answer.values)
        assert "nan" not in map(repr, answer.values)
        assert "-0.0" not in map(repr, answer.values)
    return {a.column: dict(zip(a.values, a.counts, strict=True)) for a in answers}


@pytest.fixture(params=["arrow", "pandas", "csv", "duckdb", "sqlite"])
def semantic(request, tmp_path):
    """The same rows, from everywhere."""
    if request.param == "arrow":
        return arrow_rows()
    if request.param == "pandas":
        return pd.DataFrame(semantic_rows()).astype({"flag": "boolean"})
    if request.param == "csv":
        return csv_rows(tmp_path)
    return load(request.getfixturevalue(f"{request.param}_engine"), arrow_rows(), "semantic")


def test_the_same_values_are_told_wherever_the_rows_lie(semantic):
    rows = semantic_rows()
    wanted = {name: exact_counts(name, rows[name]) for name in rows}
    assert told_exactly(semantic, SEMANTICS, dict.fromkeys(rows)) == wanted
    assert wanted["text"]["a"] == 12
    assert set(wanted["real"]) >= {0.0, 1e200, -7.25}
    assert set(wanted["floor"]) == {0, 1, -2, -8, 2**52}
    assert set(wanted["flag"]) == {"true", "false"}


def test_text_that_cannot_be_a_category_is_never_told_however_common():
    for odd in NEVER:
        table = pa.table({"x": pa.array([odd] * 500, pa.string())})
        assert told_exactly(table, WORDS, {"x": None}) == {"x": {}}
    half = pd.DataFrame({"x": pd.Series(["a\ud800", "ok"] * 5, dtype=object)})
    assert told_exactly(half, WORDS, {"x": None}) == {"x": {"ok": 5}}
    broken = pa.array([b"\xff\xfe", b"ok"] * 5, pa.binary()).view(pa.string())
    assert told_exactly(pa.table({"x": broken}), WORDS, {"x": None}) == {"x": {"ok": 5}}


def test_only_rows_in_the_named_cells_are_counted(placed):
    table, rows = placed(arrow_rows()), semantic_rows()
    codes = PrivateTable(arrow_rows(), SEMANTICS).encoding.codes(arrow_rows())
    everything = told_exactly(table, SEMANTICS, dict.fromkeys(SEMANTICS.names))
    cells = {"text": [0, 1], "real": [1], "floor": [2], "whole": [3, 6], "label": [1], "flag": [0]}
    some = told_exactly(table, SEMANTICS, cells)
    for name, wanted in cells.items():
        inside = np.isin(codes[name], wanted)
        kept = [value for value, keep in zip(rows[name], inside, strict=True) if keep]
        assert some[name] == exact_counts(name, kept)
        assert 0 < sum(some[name].values()) < sum(everything[name].values())
    nothing = told_exactly(table, SEMANTICS, {"text": [], "whole": [], "real": []})
    assert nothing == {"text": {}, "whole": {}, "real": {}}


def test_values_of_a_column_that_nobody_described_are_text():
    table = pa.table({"x": ["3", "a", " a", "3"] * 2, "n": [1.0, 2.5, 1.0, math.nan] * 2})
    ledger = Ledger.open(table, None, HUGE, source=SeededForTests(1), discover=True)
    assert {c.name: c.kind for c in ledger.schema} == dict.fromkeys("xn", Kind.UNKNOWN)
    x, n = ledger.values({"x": None, "n": None}, rho=Fraction(10**5), delta=Fraction(1, 10))
    assert (x.values, x.counts.tolist()) == (("3", "a"), [4, 4])
    assert (n.values, n.counts.tolist()) == (("1",), [4])  # whole numbers have a text, others none


@pytest.mark.parametrize("coded", [True, False])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_at_most_k_rows_of_a_person_ever_count(k, coded, placed):
    # Thirty people, each with eight rows of eight values that nobody else has. Without the code
    # column all rows of a person have the same codes.
    rows = [(p, v) for p in range(30) for v in range(8)]
    table = {
        "who": [f"p{p}" for p, _ in rows],
        "x": [f"{p}-{v}" for p, v in rows],
        "n": [100 * p + v for p, v in rows],
    }
    facts = [
        Column(name="who", kind=Kind.CATEGORICAL, role=Role.ID),
        *WORDS.columns,
        Column(name="n", kind=Kind.INTEGER, bounds=(0, 0), null=False),
    ]
    if coded:
        table["code"] = [v for _, v in rows]
        facts.append(Column(name="code", kind=Kind.INTEGER, bounds=(0, 7), null=False))
    private = PrivateTable(placed(pa.table(table)), Schema(tuple(facts)), person=Person("who", k))
    found = private.values({"x": None, "n": None})
    texts, numbers = found["x"], found["n"]
    assert set(texts.counts) == set(numbers.counts) == {1}
    per_person = Counter(value.partition("-")[0] for value in texts.values.to_pylist())
    assert per_person == {str(p): k for p in range(30)}
    assert Counter(value // 100 for value in numbers.values.to_pylist()) == dict.fromkeys(
        range(30), k
    )
    # Both columns are about the same rows.
    assert {f"{n // 100}-{n % 100}" for n in numbers.values.to_pylist()} == set(
        texts.values.to_pylist()
    )


def test_rows_of_nobody_are_not_counted_for_persons(placed):
    table = pa.table({"who": ["p", None, "", " "] * 3, "x": ["own", "lost", "lost", "lost"] * 3})
    schema = Schema((Column(name="who", kind=Kind.CATEGORICAL, role=Role.ID), *WORDS.columns))
    found = PrivateTable(placed(table), schema, person=Person("who", 9)).values({"x": None})
    assert dict(zip(found["x"].values.to_pylist(), found["x"].counts, strict=True)) == {"own": 3}


@pytest.mark.untraced
def test_many_distinct_values_are_counted_quickly(placed):
    table = placed(pa.table({"x": [f"value {k}" for k in range(2)]}))
    many = 150_000 if isinstance(table, pa.Table) else 20_000  # other engines are not ours
    table = placed(pa.table({"x": [f"value {k}" for k in range(many)] * 2}))
    began = time.process_time()
    found = told_exactly(table, WORDS, {"x": None})
    assert time.process_time() - began < 10
    assert found["x"] == {f"value {k}": 2 for k in range(many)}


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_with_hardly_any_rows_tell_nothing_and_raise_nothing(rows, placed):
    table = placed(arrow_rows().slice(0, rows))
    assert told_exactly(table, SEMANTICS, dict.fromkeys(SEMANTICS.names)) == {
        name: {} for name in SEMANTICS.names
    }


@pytest.mark.parametrize("stored", [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 7)])  # noqa: DTZ001
def test_dates_are_told_or_refused_before_they_are_paid(stored, placed):
    table = placed(pa.table({"day": [stored] * 5, "n": [1] * 5}))
    ledger = Ledger.open(table, None, HUGE, source=SeededForTests(1), discover=True)
    try:
        ledger.values({"day": None}, rho=Fraction(10**5), delta=Fraction(1, 10))
    except (BadInput, PrivacyRefused):
        assert ledger.entries == ()


@pytest.mark.parametrize(
    "columns", [["n"], {"n": ["a"]}, {"n": [0.5]}], ids=["no cells", "text", "half a code"]
)
def test_cells_that_make_no_sense_are_refused_at_no_cost(columns):
    ledger = Ledger.open(pa.table({"n": [1] * 5}), None, HUGE, discover=True)
    with pytest.raises(BadInput):
        ledger.values(columns, rho=Fraction(1), delta=Fraction(1, 10))
    assert ledger.entries == ()


# --- other facts about the same rows --------------------------------------------------------------


FLAT = Schema((Column(name="x", kind=Kind.INTEGER, bounds=(0, 9), null=False),))


def flat(**options):
    table = pa.table({"x": [1, 2, 2, 30]})
    return Ledger.open(table, FLAT, Budget(200.0, 1e-3, thresholds=1e-4), **options)


def about(**facts):
    return Schema((Column(name="x", **{"kind": Kind.INTEGER, "null": False, **facts}),))


def test_rows_are_coded_anew_and_nothing_else_changes():
    ledger = flat()
    (first,) = ledger.measure([("x",)], scale=0.2)
    part = ledger.split(0.5)[0]
    before = ledger.entries, ledger.rest(), ledger.rest_delta(), ledger.budget, ledger.unit
    ledger.recode(about(edges=(0, 2, 40), source=Source.BOUGHT))
    assert (
        ledger.entries,
        ledger.rest(),
        ledger.rest_delta(),
        ledger.budget,
        ledger.unit,
    ) == before
    assert first.values.shape == (11,)
    assert ledger.domain.sizes == part.domain.sizes == {"x": 3}
    assert part.schema["x"].edges == (0, 2, 40)
    (second,) = part.measure([("x",)], scale=0.2)
    np.testing.assert_allclose(second.values, [1, 3, 0], atol=2)
    assert len(ledger.entries) == 2


def test_other_columns_are_refused_and_nothing_changes():
    ledger = flat()
    column = FLAT["x"]
    for columns in (
        (replace(column, name="y"),),
        (column, replace(column, name="y")),
        (Column(name="X", kind=Kind.BOOLEAN),),
    ):
        with pytest.raises(BadInput, match="same columns"):
            ledger.recode(Schema(columns))
    two = Ledger.open(
        pa.table({"x": [1], "y": [1]}), Schema((column, replace(column, name="y"))), BUDGET
    )
    with pytest.raises(BadInput, match="same order"):
        two.recode(Schema((replace(column, name="y"), column)))
    assert ledger.schema == FLAT
    assert ledger.domain.sizes == {"x": 11}


def test_facts_read_off_the_data_never_come_in_later():
    ledger = flat()
    with pytest.raises(PrivacyRefused, match="when the ledger is opened"):
        ledger.recode(about(bounds=(1, 30), source=Source.DATA))
    assert ledger.schema == FLAT
    # Those that were stated at first have been paid for with the promise, and may stay.
    seen = about(bounds=(1, 30), source=Source.DATA)
    open_ledger = Ledger.open(pa.table({"x": [1, 30]}), seen, BUDGET, allow_non_private=True)
    open_ledger.recode(seen)
    with pytest.raises(PrivacyRefused):
        open_ledger.recode(about(bounds=(2, 30), source=Source.DATA))


def test_a_bound_on_rows_read_off_the_data_never_comes_in_later_either():
    ledger = flat()
    with pytest.raises(PrivacyRefused):
        ledger.recode(replace(FLAT, rows_bound=4, rows_source=Source.DATA))
    assert ledger.schema == FLAT


def test_declared_facts_that_come_later_are_listed_or_refused():
    ledger = flat()
    with contextlib.suppress(BadInput, PrivacyRefused):
        ledger.recode(about(bounds=(0, 7654)))
        assert "7654" in json.dumps(ledger.close().to_json()["public"])


def test_facts_that_do_not_fit_the_rows_are_refused_and_leave_the_old_ones():
    ledger = flat()
    for schema in (
        about(
            kind=Kind.DATE,
            bounds=(dt.date(2020, 1, 1), dt.date(2021, 1, 1)),
            source=Source.BOUGHT,
        ),
        about(source=Source.BOUGHT),
        about(bounds=(0, 5), role=Role.DROP, source=Source.BOUGHT),
    ):
        with pytest.raises(SchemaError):
            ledger.recode(schema)
    assert ledger.schema == FLAT
    assert ledger.measure([("x",)], scale=1.0)[0].values.shape == (11,)


def test_facts_may_be_opened_again_to_be_found_out():
    ledger = flat(discover=True)
    ledger.recode(about(source=Source.BOUGHT), shapes=True)
    assert ledger.domain.sizes == {"x": SHAPES}
    assert ledger.schema.silent == {"x": ("bounds",)}


def test_a_ledger_with_other_facts_is_sealed_like_any_other():
    ledger = flat()
    ledger.recode(about(bounds=(0, 3), source=Source.BOUGHT))
    made = ledger.close()
    for late in (
        lambda: ledger.recode(FLAT),
        lambda: ledger.measure([("x",)], scale=1.0),
        lambda: ledger.values({"x": None}, rho=1.0, delta=1e-5),
    ):
        with pytest.raises(RowsAreSealed):
            late()
    assert made.epsilon == 200.0
    assert made.to_json()["public"]["unit"]["value"] == str(Record())


def test_a_person_stays_protected_under_other_facts(fixed_key):
    table = pa.table({"who": [1] * 6 + [2], "x": [1, 2, 3, 4, 5, 6, 7]})
    who = Column(name="who", kind=Kind.INTEGER, role=Role.ID)
    schema = Schema((who, FLAT["x"]))
    unit = Person("who", 2)
    ledger = Ledger.open(table, schema, HUGE, unit=unit, source=SeededForTests(1))
    ledger.recode(Schema((who, about(bounds=(0, 99), bins=3, source=Source.BOUGHT)["x"])))
    (answer,) = ledger.measure([()], rho=Fraction(10**5))
    assert float(answer.values) == 3
    other = replace(who, bounds=(0, 9), role=Role.FEATURE, source=Source.BOUGHT)
    with pytest.raises(BadInput, match='role = "id"'):
        ledger.recode(Schema((other, FLAT["x"])))


# --- a table that nobody has described ------------------------------------------------------------


STORED = {
    "int": (pa.array([1, 2], pa.int64()), Kind.UNKNOWN, "number"),
    "small": (pa.array([1, 2], pa.uint8()), Kind.UNKNOWN, "number"),
    "float": (pa.array([1.0, 2.0]), Kind.UNKNOWN, "number"),
    "exact": (pa.array([Decimal("1.10"), Decimal(2)]), Kind.UNKNOWN, "number"),
    "bool": (pa.array([True, None]), Kind.BOOLEAN, "boolean"),
    "day": (pa.array([dt.date(2020, 1, 1)] * 2), Kind.DATE, "date"),
    "day64": (pa.array([dt.date(2020, 1, 1)] * 2, pa.date64()), Kind.DATE, "date"),
    "moment": (pa.array([0, 1], pa.timestamp("ns")), Kind.DATETIME, "timestamp"),
    "zoned": (pa.array([0, 1], pa.timestamp("s", "UTC")), Kind.DATETIME, "timestamp"),
    "text": (pa.array(["1", "2"]), Kind.UNKNOWN, "text"),
    "large": (pa.array(["1", "2"], pa.large_string()), Kind.UNKNOWN, "text"),
    "coded": (pa.array(["a", "b"]).dictionary_encode(), Kind.UNKNOWN, "text"),
    "none": (pa.nulls(2), Kind.UNKNOWN, "text"),
}


def stored_table():
    return pa.table({name: array for name, (array, _, _) in STORED.items()})


def test_without_a_schema_names_and_storage_are_what_is_public():
    ledger = Ledger.open(stored_table(), None, BUDGET, discover=True)
    assert ledger.schema.names == tuple(STORED)
    assert {c.name: c.kind for c in ledger.schema} == {
        n: kind for n, (_, kind, _) in STORED.items()
    }
    for column in ledger.schema:
        bare = Column(name=column.name, kind=column.kind)
        assert column == bare, "nothing but the kind is known"
    stored = {name: storage for name, (_, _, storage) in STORED.items()}
    assert {name: s.public for name, s in ledger.storage.items()} == stored
    certificate = ledger.close()
    public = certificate.to_json()["public"]
    assert set(public) == {"schema", "storage", "reading", "unit"}
    assert public["storage"]["value"] == stored
    for name in STORED:
        assert f"[columns.{name}]" in public["schema"]["value"]
    assert certificate.entries == certificate.bought == ()
    assert certificate.epsilon == 1.0


def test_a_csv_file_is_all_text_and_an_engine_says_its_types(tmp_path, duckdb_engine):
    (tmp_path / "t.csv").write_text("n,day\n1,2020-01-01\n")
    ledger = Ledger.open(tmp_path / "t.csv", None, BUDGET, discover=True)
    assert [c.kind for c in ledger.schema] == [Kind.UNKNOWN] * 2
    table = pa.table({"n": [1], "day": [dt.date(2020, 1, 1)]})
    ledger = Ledger.open(load(duckdb_engine, table, "typed"), None, BUDGET, discover=True)
    assert [c.kind for c in ledger.schema] == [Kind.UNKNOWN, Kind.DATE]
    assert {name: s.public for name, s in ledger.storage.items()} == {"n": "number", "day": "date"}


def test_kinds_that_were_stated_stay_and_others_come_from_storage():
    columns = (Column(name="a", kind=Kind.REAL), Column(name="b", kind=Kind.UNKNOWN, null=False))
    table = pa.table({"a": [1], "b": [True]})
    ledger = Ledger.open(table, Schema(columns), BUDGET, discover=True)
    assert [(c.kind, c.null) for c in ledger.schema] == [(Kind.REAL, None), (Kind.BOOLEAN, False)]


def test_roles_are_given_beside_the_table():
    table = pa.table({"a": [1], "b": [1], "c": ["x"]})
    roles = {"a": Role.TARGET, "c": Role.ID}
    ledger = Ledger.open(table, None, BUDGET, discover=True, roles=roles)
    assert ledger.schema.target == "a"
    assert tuple(ledger.domain.sizes) == tuple(ledger.storage) == ("a", "b")
    assert ledger.schema["c"].silent == ()
    with pytest.raises(UnknownColumn):
        Ledger.open(table, None, BUDGET, discover=True, roles={"z": Role.DROP})
    stated = Schema(
        (Column(name="a", kind=Kind.BOOLEAN, role=Role.TARGET), *ledger.schema.columns[1:])
    )
    ledger = Ledger.open(table, stated, BUDGET, discover=True, roles={"b": Role.TARGET})
    assert [c.role for c in ledger.schema] == [Role.FEATURE, Role.TARGET, Role.ID]


def test_a_column_of_an_unusable_type_is_refused_unless_it_is_dropped(duckdb_engine):
    table = pa.table({"n": [1, 2], "list": [[1], [2]], "record": [{"a": 1}] * 2})
    for data in (table, load(duckdb_engine, table, "nested")):
        with pytest.raises(SourceError, match=r"'list' is stored as .*drop"):
            Ledger.open(data, None, BUDGET, discover=True)
        roles = {"list": Role.DROP, "record": Role.DROP}
        ledger = Ledger.open(data, None, BUDGET, discover=True, roles=roles)
        ledger.measure([("n",)], scale=100.0)
        assert tuple(ledger.domain.sizes) == ("n",)
        assert set(ledger.storage) == {"n"}


@pytest.fixture
def unread(monkeypatch):
    """No row may be asked for."""

    def fail(*_, **__):
        raise AssertionError

    monkeypatch.setattr(EmbeddedEngine, "batches", fail)
    monkeypatch.setattr(table_module, "whole", fail)
    monkeypatch.setattr(coded_rows, "batches", fail)


OPEN = Schema(
    (
        Column(name="a", kind=Kind.UNKNOWN),
        Column(name="b", kind=Kind.CATEGORICAL, null=True),
        Column(name="c", kind=Kind.REAL),
        Column(name="d", kind=Kind.BOOLEAN),
        Column(name="e", kind=Kind.BOOLEAN, null=False),
        Column(name="f", kind=Kind.UNKNOWN, role=Role.DROP),
    )
)
UNTOLD = pa.table({"a": ["secret"], "b": ["x"], "c": [1.5], "d": [True], "e": [True], "f": [1]})


@pytest.mark.parametrize("schema", [OPEN, None], ids=["in part", "in all"])
def test_open_facts_are_refused_unless_they_are_to_be_found_out(
    schema, placed, unread, monkeypatch
):
    data, made = placed(UNTOLD), []
    monkeypatch.setattr(ledger_module, "PrivateTable", lambda *_, **__: made.append(1))
    with pytest.raises(PrivacyRefused) as refused:
        Ledger.open(data, schema, BUDGET)
    message = str(refused.value)
    assert made == []
    assert _exit_code(refused.value) == 3
    inside = message.partition("(")[2].partition(")")[0]
    if schema is None and isinstance(data, pa.Table):
        every = "a: kind, null; b: kind, null; c: kind, null; d: null; e: null; f: kind, null"
        assert inside == every
    elif schema is not None:
        assert inside == "a: kind, null; b: categories; c: bounds, null; d: null"
    for way in ("Declare:", "Buy:", "Reveal:", "--strict", "understudy schema"):
        assert way in message
    assert "secret" not in message


def test_every_open_fact_is_named_however_many_there_are():
    columns = tuple(Column(name=f"column {k}", kind=Kind.CATEGORICAL) for k in range(40))
    table = pa.table({column.name: ["a"] for column in columns})
    with pytest.raises(PrivacyRefused) as refused:
        Ledger.open(table, Schema(columns), BUDGET)
    assert all(f"column {k}: categories, null" in str(refused.value) for k in range(40))


def test_opening_reads_no_row_whatever_is_open(placed, unread):
    ledger = Ledger.open(placed(UNTOLD), OPEN, BUDGET, discover=True)
    assert ledger.entries == ()
    assert ledger.domain.sizes["a"] == SHAPES
    assert ledger.schema.silent["c"] == ("bounds", "null")


def test_whether_cells_are_missing_may_stay_open_everywhere():
    schema = Schema((Column(name="d", kind=Kind.BOOLEAN),))
    ledger = Ledger.open(pa.table({"d": [True]}), schema, BUDGET)
    assert ledger.domain.sizes == {"d": 3}


def test_a_large_delta_is_refused_before_anything_is_found_out():
    schema = Schema((Column(name="a", kind=Kind.UNKNOWN),), rows_bound=1000)
    with pytest.raises(PrivacyRefused, match="up to 1,000 rows"):
        Ledger.open(pa.table({"a": [1]}), schema, Budget(1.0, 1e-3, thresholds=1e-4), discover=True)


def test_what_was_bought_is_told_by_column():
    ledger = Ledger.open(UNTOLD, OPEN, BUDGET, discover=True)
    found = (
        Column(name="a", kind=Kind.CATEGORICAL, categories=("x",), null=True, source=Source.BOUGHT),
        replace(OPEN["b"], categories=("y",), source=Source.BOUGHT),
        replace(OPEN["c"], bounds=(0, 1), source=Source.BOUGHT),
        *OPEN.columns[3:],
    )
    ledger.recode(Schema(found))
    made = ledger.close()
    assert made.bought == ("a: kind, categories, null", "b: categories", "c: bounds")
    assert made.to_json()["bought"] == list(made.bought)
    assert 'kind = "unknown"' in made.public["schema"], "what was said before any row was asked"
