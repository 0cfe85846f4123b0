"""Neighbours are as far apart as their unit says: nowhere farther, and somewhere just as far."""

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from helpers.tables import numbered
from understudy.column import Column, Kind, Role
from understudy.errors import BadInput
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.unit import Person, Record, Replacement, Sensitivity
from understudy.schema import Schema

SCHEMA = Schema(
    (
        Column(name="who", kind=Kind.INTEGER, role=Role.ID),
        numbered("a", 2),
        numbered("b", 2),
    )
)
CELLS = tuple(itertools.product(range(2), repeat=2))
MARGINALS = (("a",), ("b",), ("a", "b"), ())
# One marginal alone, and several together; the last holds one twice.
REQUESTS = [
    [("a",)],
    [("b", "a")],
    [("a",), ("b",)],
    [("a",), ("b",), ("a", "b")],
    [("a", "b"), ("a",), ("a", "b"), ("b",)],
]
WEIGHTS = ({"a": [0, 2], "b": [2, 0]}, [1, 3], [300, 768, 512])
"""Scores of a row's codes, two thresholds, and weights in 1/1024: largest where a and b agree."""


def opened(rows, unit):
    """A ledger on rows of (who, a, b)."""
    who, a, b = zip(*rows, strict=True) if rows else ((), (), ())
    whole = pa.int64()
    table = pa.table(
        {"who": pa.array(who, whole), "a": pa.array(a, whole), "b": pa.array(b, whole)}
    )
    return Ledger.open(table, SCHEMA, Budget(1.0, 1e-9), unit=unit)


@cache
def counted(rows, unit=None):
    """By marginal, what the private table counts, plainly and weighted; each row is (who, a, b)."""
    ledger = opened(rows, unit)
    cliques = list(MARGINALS)
    plain = ledger._core.table.count(cliques)
    weighted = ledger._core.table.count(cliques, ledger.weigh(*WEIGHTS))
    return dict(zip(cliques, plain, strict=True)), dict(zip(cliques, weighted, strict=True))


def tables(most):
    """Every table of up to so many records, as a set is a table: the order does not count."""
    for size in range(most + 1):
        yield from itertools.combinations_with_replacement(CELLS, size)


def strangers(cells):
    """The cells as rows of people who have no other row."""
    return tuple((place, *cell) for place, cell in enumerate(cells))


def difference(one, other, request, *, weighted=False):
    """What differs between two tables in all marginals of a request, laid end to end."""
    ordered = [clique if clique in MARGINALS else clique[::-1] for clique in request]
    return np.concatenate([(one[weighted][c] - other[weighted][c]).ravel() for c in ordered])


def added():
    """All pairs of tables of which one has a record more."""
    for table, record in itertools.product(tables(2), CELLS):
        yield table, tuple(sorted((*table, record)))


def replaced():
    """All pairs of tables that differ in one record."""
    for table in tables(3):
        for out, record in itertools.product(range(len(table)), CELLS):
            yield table, tuple(sorted((*table[:out], *table[out + 1 :], record)))


PAIRS = {Record(): added, Replacement(): replaced}


@pytest.mark.untraced
@pytest.mark.parametrize("request_", REQUESTS, ids=str)
@pytest.mark.parametrize("unit", PAIRS, ids=str)
def test_all_neighbours_lie_within_the_stated_distance_and_some_at_it(unit, request_):
    event = opened((), unit).measure_event(request_, scale=10.0)
    assert event.sensitivity_squared == len(request_) * (2 if unit == Replacement() else 1)
    squared, cells = set(), set()
    for one, other in PAIRS[unit]():
        moved = difference(counted(strangers(one)), counted(strangers(other)), request_)
        squared.add(int(moved @ moved))
        # The exact loss holds for steps of one, in so many cells at most.
        assert np.abs(moved).max(initial=0) <= 1
        cells.add(np.count_nonzero(moved))
    assert max(squared) == event.sensitivity_squared
    assert max(cells) == event.unit_cells


def test_the_total_is_public_where_records_are_replaced_and_moves_where_they_are_added():
    moves = {
        unit: {
            int(difference(counted(strangers(one)), counted(strangers(other)), [()])[0])
            for one, other in pairs()
        }
        for unit, pairs in PAIRS.items()
    }
    assert moves == {Record(): {-1}, Replacement(): {0}}


PERSON = Person("who", 2)
OTHERS = ((1, 0, 0), (2, 0, 1), (2, 1, 1))
"""Nobody among them holds more rows than count, so nothing about them is left to chance."""


def people():
    """A table without somebody, and with them: in all ways to hold up to a row more than count."""
    for size in range(1, PERSON.rows + 2):
        for cells in itertools.combinations_with_replacement(CELLS, size):
            yield OTHERS, (*OTHERS, *((7, *cell) for cell in cells))


@pytest.mark.untraced
@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_a_person_moves_marginals_by_all_their_rows_and_no_more(request_):
    event = opened((), PERSON).measure_event(request_, scale=10.0)
    assert event.sensitivity_squared == 2**2 * len(request_)
    moves = [difference(counted(a, PERSON), counted(b, PERSON), request_) for a, b in people()]
    assert max(int(moved @ moved) for moved in moves) == event.sensitivity_squared
    # Cells move by more than one: the exact loss of single steps would be too small.
    assert max(np.abs(moved).max() for moved in moves) == 2
    assert event.unit_cells is None


@pytest.mark.parametrize("unit", [*PAIRS, PERSON], ids=str)
def test_weighted_rows_move_marginals_by_the_largest_weight(unit):
    ledger = opened((), unit)
    weights = ledger.weigh(*WEIGHTS)
    if unit == PERSON:
        pairs = [(counted(a, unit), counted(b, unit)) for a, b in people()]
    else:
        pairs = [(counted(strangers(a)), counted(strangers(b))) for a, b in PAIRS[unit]()]
    for request_ in REQUESTS:
        event = ledger.measure_event(request_, scale=10.0, weights=weights)
        moves = [difference(one, other, request_, weighted=True) for one, other in pairs]
        farthest = max(int(moved @ moved) for moved in moves)
        assert Fraction(farthest, 1024**2) == event.sensitivity_squared
        # Steps are no longer of one.
        assert event.unit_cells is None


def test_marginals_together_are_as_far_as_all_of_them():
    # √m, √(2m) and k√m, squared.
    for m in (1, 7, 100):
        one = Sensitivity(Fraction(m), Fraction(2 * m))
        assert Record().squared(one) == m
        assert Replacement().squared(one) == 2 * m
        assert Person("who", 3).squared(one) == 9 * m


def test_opposite_records_are_twice_as_far_as_one():
    far = Sensitivity(Fraction(5), Fraction(20))
    assert Replacement().squared(far) == 20
    assert Person("who", 2).squared(far) == 20


@pytest.mark.parametrize(
    ("one", "swap"), [(1, 2), (1, 1), (1, 4), (0, 0), (Fraction(1, 3), Fraction(4, 3))]
)
def test_distances_that_can_be_are_taken(one, swap):
    assert Sensitivity(Fraction(one), Fraction(swap)).swap == swap


@pytest.mark.parametrize(
    ("one", "swap"), [(2, 1), (1, 5), (-1, -1), (-1, 1), (0, 1), (1, 4 + Fraction(1, 10**30))]
)
def test_distances_that_contradict_each_other_are_refused(one, swap):
    # A swap is a step away and a step back: no more than twice as far, and no bound below one's.
    with pytest.raises(ValueError, match="contradict"):
        Sensitivity(Fraction(one), Fraction(swap))


@pytest.mark.parametrize("rows", [0, -1, 1.5, 2.0, True, None, "3"])
def test_a_person_holds_a_whole_number_of_rows(rows):
    with pytest.raises(BadInput, match="whole number"):
        Person("who", rows)


def test_one_step_between_neighbours_moves_so_many_records():
    assert Record().steps == 1
    assert Replacement().steps == 2
    assert Person("who", 4).steps == 4


def test_units_say_whom_they_protect():
    assert str(Record()) == "one record, added or removed"
    assert str(Replacement()) == "one record, replaced by another"
    assert str(Person("who", 4)).startswith("one person")
    assert str(Person("who", 4)).endswith("with all their rows, of which at most 4 count")
