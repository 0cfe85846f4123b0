"""No score moves further between neighbours than its sensitivity says.

Small domains are searched whole: all tables of up to eight rows, and all their neighbours. The
proofs are in docs/proofs/scores.md.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.tables import numbered
from understudy.column import Column, Kind, Role
from understudy.domain import Domain
from understudy.errors import BadInput, UnknownColumn
from understudy.privacy import ledger as ledger_module
from understudy.privacy.blocks import Weigher
from understudy.privacy.budget import Budget
from understudy.privacy.events import Exponential
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.scores import STEPS, CountTV, L1Distance, in_steps
from understudy.privacy.unit import Person, Record, Replacement
from understudy.privacy.weights import UNIT, RowWeights
from understudy.schema import Schema

UNITS = [Record(), Replacement(), Person("who", 2), Person("who", 3)]
DOMAIN = Domain.of({"a": 2, "b": 3, "c": 2})
CLIQUE = ("a", "b")


def tables(cells, most_rows):
    """All tables of up to so many rows, as counts of their cells."""
    found = []
    for rows in range(most_rows + 1):
        bars = itertools.combinations(range(rows + cells - 1), cells - 1)
        found += [np.diff([-1, *places, rows + cells - 1]) - 1 for places in bars]
    return np.array(found)


def moves(unit, cells):
    """All steps from a table to a neighbour; their opposites are steps from the neighbour back."""
    one = np.eye(cells, dtype=np.int64)
    if isinstance(unit, Replacement):
        return [one[i] - one[j] for i, j in itertools.permutations(range(cells), 2)]
    sets = itertools.chain.from_iterable(
        itertools.combinations_with_replacement(range(cells), rows)
        for rows in range(1, unit.steps + 1)
    )
    return [one[list(rows)].sum(axis=0) for rows in sets]


def largest_move(numbers, counts, unit):
    """The largest difference between the numbers of two neighbours among these tables."""
    base = int(counts.sum(axis=1).max()) + 1
    places = base ** np.arange(counts.shape[1])
    keys = counts @ places
    order = np.argsort(keys)
    most = 0
    for move in moves(unit, counts.shape[1]):
        there = counts + move
        inside = (there >= 0).all(axis=1) & (there.sum(axis=1) < base)
        found = order[np.searchsorted(keys, there[inside] @ places, sorter=order)]
        np.testing.assert_array_equal(counts[found], there[inside])
        most = max(most, np.abs(numbers[found] - numbers[inside]).max(initial=0))
    return most


def whole(fractions):
    """Fractions as whole numbers of their common unit, and that unit."""
    common = math.lcm(*(fraction.denominator for fraction in fractions))
    numbers = [fraction.numerator * (common // fraction.denominator) for fraction in fractions]
    fits = max(map(abs, numbers)) < 2**62
    return np.array(numbers, np.int64 if fits else object), common


def observed(score, counts, shape, weight=1):
    """By unit: the largest move of a score between neighbours; a cell's rows have one weight."""
    numbers, common = whole([score(row) for row in (counts * weight).reshape(-1, *shape)])
    return {unit: Fraction(int(largest_move(numbers, counts, unit)), common) for unit in UNITS}


SHAPES = [
    ((2, 2), 8),
    ((2, 3), 8),
    ((3, 3), 6),
    pytest.param((3, 3), 8, marks=pytest.mark.slow),  # 24,310 tables
]


def references(shape):
    rng = np.random.default_rng(math.prod(shape))
    yield np.zeros(shape)
    yield rng.normal(2, 2, shape)  # noisy counts: neither whole nor above zero
    yield np.full(shape, 1.5)
    yield -rng.integers(0, 5, shape)


@pytest.mark.parametrize(("shape", "rows"), SHAPES)
def test_an_l1_distance_moves_as_far_as_its_sensitivity_and_no_further(shape, rows):
    counts = tables(math.prod(shape), rows)
    tight = set()
    for reference in references(shape):
        scored = L1Distance(CLIQUE, reference)
        for unit, found in observed(lambda n, s=scored: s.score(n, None), counts, shape).items():
            bound = scored.sensitivity(unit, None)
            assert found <= bound
            if found >= Fraction(9, 10) * bound:
                tight.add(unit)
    assert tight == set(UNITS)


@pytest.mark.parametrize(("scale", "offset"), [(0.37, 1e6 / 3), (1e-9, -4.2), (1024.0, 0.1)])
def test_scale_and_offset_are_part_of_an_l1_distance(scale, offset):
    shape = (2, 3)
    counts = tables(6, 6)
    scored = L1Distance(CLIQUE, np.array([[0.3, -1, 4], [2, 1.7, 0]]), scale, offset)
    for unit, found in observed(lambda n: scored.score(n, None), counts, shape).items():
        bound = scored.sensitivity(unit, None)
        assert Fraction(9, 10) * bound <= found <= bound


# The weight of a row may depend on a column that the marginal does not hold, so rows of one cell
# weigh differently; 700/1024 and 33/1024 are no round numbers in binary.
WEIGHTS = [
    RowWeights.of({"a": [0, 1], "b": [0, 0, 4]}, [1, 4, 5], [UNIT, 700, 33, 0]),
    RowWeights.of({"a": [1, 0], "b": [0, 0, 9]}, [5], [512, 511]),
    RowWeights.of({"c": [0, 1]}, [1], [900, 100]),
    RowWeights.of({}, [], [0]),
]


@pytest.mark.parametrize("weights", WEIGHTS, ids=lambda weights: str(weights.weights))
def test_weighted_rows_move_an_l1_distance_by_their_weight_at_most(weights):
    # One place for each combination of codes, of which the marginal sums out the last column.
    every = np.array(list(itertools.product(range(2), range(3), range(2))))
    block = {name: every[:, place].astype(np.uint8) for place, name in enumerate(DOMAIN.names)}
    weight = Weigher(weights, DOMAIN)(block).astype(np.int64)
    counts = tables(len(every), 4)
    scored = L1Distance(CLIQUE, np.array([[1.9, -1, 1.2], [2, 0.3, 0]]), scale=0.7)

    def score(joint):
        return scored.score(joint.sum(axis=2), weights)

    for unit, found in observed(score, counts, (2, 3, 2), weight).items():
        bound = scored.sensitivity(unit, weights)
        assert bound == Fraction(0.7) * unit.steps * Fraction(weights.most, UNIT)
        assert Fraction(9, 10) * bound <= found <= bound


@pytest.mark.parametrize(("shape", "rows"), SHAPES)
def test_a_count_tv_never_moves_further_than_its_sensitivity(shape, rows):
    counts = tables(math.prod(shape), rows)
    scored = CountTV(("a",), ("b",))
    found = observed(lambda n: scored.score(n, None), counts, shape)
    assert all(found[unit] <= scored.sensitivity(unit, None) for unit in UNITS)
    # With n rows in one cell a newcomer to an empty row and column moves it by 2 n / (n + 1).
    assert found[Record()] >= Fraction(2 * (rows - 1), rows)


def test_a_count_tv_comes_as_close_to_two_as_one_likes():
    scored = CountTV(("a",), ("b",))
    assert scored.sensitivity(Record(), None) == 2
    moved = {}
    for rows in (30, 1000, 10**6):
        alone = np.array([[rows, 0], [0, 1]])
        crowd = np.array([[rows, 0], [0, 0]])
        moved[rows] = scored.score(alone, None) - scored.score(crowd, None)
        assert moved[rows] == Fraction(2 * rows, rows + 1) < 2
    assert round(float(moved[30]), 2) == 1.94
    # A person's rows, all alone together, move it as far as so many strangers.
    for k in (2, 3):
        bound = scored.sensitivity(Person("who", k), None)
        assert bound == 2 * k
        person = scored.score(np.array([[1000, 0], [0, k]]), None)
        assert Fraction(9, 10) * bound <= person < bound


# Rows of one cell weigh differently, as the third column tells; or each cell has its own weight.
TV_WEIGHTS = [
    RowWeights.of({"c": [0, 1]}, [1], [UNIT, 1]),
    RowWeights.of({"c": [0, 1]}, [1], [512, 1023]),
    RowWeights.of({"c": [0, 1]}, [1], [0, 1]),
    RowWeights.of({"a": [0, 1], "b": [0, 2]}, [1, 2, 3], [UNIT, 1, 0, 512]),
    RowWeights.of({"a": [0, 1], "c": [0, 1]}, [1, 2], [1023, 512, UNIT]),
    RowWeights.of({}, [], [0]),
]
ALL_FULL = RowWeights.of({}, [], [UNIT])


@pytest.mark.parametrize("weights", TV_WEIGHTS, ids=lambda weights: str(weights.weights))
def test_weighted_rows_move_a_count_tv_by_twice_their_weight_at_most(weights):
    domain = Domain.of({"a": 2, "b": 2, "c": 2})
    every = np.array(list(itertools.product(range(2), repeat=3)))
    block = {name: every[:, place].astype(np.uint8) for place, name in enumerate(domain.names)}
    weight = Weigher(weights, domain)(block).astype(np.int64)
    counts = tables(len(every), 5)
    scored = CountTV(("a",), ("b",))

    def score(joint):
        found = scored.score(joint.sum(axis=2), weights)
        assert found == by_hand_tv(joint.sum(axis=2), UNIT)
        return found

    found = observed(score, counts, (2, 2, 2), weight)
    for unit in UNITS:
        assert found[unit] <= scored.sensitivity(unit, weights)
    # Five rows come no nearer than 8/10, and less near where those that stay weigh less.
    if weights.most:
        assert found[Record()] >= scored.sensitivity(Record(), weights) * Fraction(6, 10)


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("weights", [*TV_WEIGHTS, ALL_FULL], ids=str)
def test_a_weighted_count_tv_has_the_sensitivity_of_the_largest_weight(unit, weights):
    rows = {Record(): 1, Replacement(): 2}.get(unit) or unit.rows
    bound = CountTV(("a",), ("b",)).sensitivity(unit, weights)
    assert bound == 2 * rows * Fraction(max(weights.weights), 1024)


@pytest.mark.parametrize("most", [1, 512, 1023, UNIT])
def test_a_weighted_count_tv_comes_as_close_to_its_bound_as_one_likes(most):
    # A crowd in one cell, whatever its rows weigh, and newcomers alone in their row and column.
    # A bound a tenth lower would not hold.
    weights = RowWeights.of({"c": [0, 1]}, [1], [most, 1])
    scored = CountTV(("a",), ("b",))
    for crowd in (100 * most, 100 * most + 7):
        for unit in (Record(), Person("who", 2), Person("who", 3)):
            new = unit.steps * most
            before, after = np.array([[crowd, 0], [0, 0]]), np.array([[crowd, 0], [0, new]])
            moved = scored.score(after, weights) - scored.score(before, weights)
            bound = scored.sensitivity(unit, weights)
            assert moved == Fraction(2 * new * crowd, (crowd + new) * UNIT)
            assert Fraction(9, 10) * bound < moved < bound
    # Where all weigh the same, replacing one moves it three times its weight, as without weights;
    # the bound that is proven for weights is four times.
    full = np.array([[1, 0, 0], [0, 0, 100], [0, 100, 9799]]) * most
    moved = scored.score(full, weights) - scored.score(
        full + np.array([[-1, 0, 0], [0, 1, 0], [0, 0, 0]]) * most, weights
    )
    bound = scored.sensitivity(Replacement(), weights)
    assert Fraction(7, 10) * bound < moved < Fraction(3, 4) * bound


@given(
    st.lists(st.integers(0, 5000) | st.sampled_from([0, 1, UNIT]), min_size=9, max_size=9),
    st.integers(0, 8),
    st.integers(1, UNIT) | st.sampled_from([1, 512, 1023, UNIT]),
)
def test_a_weight_changes_the_product_by_exactly_what_the_proof_says(counts, place, weight):
    joint = np.array(counts).reshape(3, 3)
    x, y = divmod(place, 3)
    more = joint.copy()
    more[x, y] += weight
    moved = abs(
        CountTV(("a",), ("b",)).score(more, ALL_FULL)
        - CountTV(("a",), ("b",)).score(joint, ALL_FULL)
    )
    assert moved * UNIT <= 2 * weight
    n = int(joint.sum())
    if n == 0:
        assert moved == 0
        return
    p, q = Fraction(int(joint[x].sum()), n), Fraction(int(joint[:, y].sum()), n)
    s = (1 - p) * (1 - q)
    off = np.abs(by_hand_product(more) - by_hand_product(joint))
    assert off.sum() == weight * (n + weight + 2 * n * s) / Fraction(n + weight) <= 3 * weight
    each = weight * n * s / Fraction(n + weight)
    assert np.delete(np.delete(off, x, axis=0), y, axis=1).sum() == each
    assert off[x, y] == weight * (n * (p + q - p * q) + weight) / Fraction(n + weight)
    assert moved * UNIT * 2 <= off.sum() + weight


def test_where_all_rows_count_in_full_a_weighted_count_tv_is_the_plain_one():
    scored = CountTV(("a",), ("b",))
    for counts in tables(6, 5).reshape(-1, 2, 3):
        assert scored.score(counts * UNIT, ALL_FULL) == scored.score(counts, None)


def test_a_replaced_record_moves_a_count_tv_as_close_to_three_as_one_likes():
    # It leaves a row and a column that it had to itself, for a cell that is empty although its
    # row and column are not: each of the three changes of both steps leads toward independence.
    scored = CountTV(("a",), ("b",))
    bound = scored.sensitivity(Replacement(), None)
    assert bound == 3
    for m in (10, 100, 10**5):
        before = np.array([[1, 0, 0], [0, 0, m], [0, m, m * m - 2 * m - 1]])
        after = before + np.array([[-1, 0, 0], [0, 1, 0], [0, 0, 0]])
        moved = scored.score(before, None) - scored.score(after, None)
        assert moved == 3 - Fraction(2, m) - Fraction(3, m * m) < bound
        assert moved >= Fraction(9, 10) * bound


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_climbing_does_not_find_a_table_that_moves_a_count_tv_further(unit):
    # From random tables, always to the neighbour pair that lies further apart, until none does.
    rng = np.random.default_rng(7)
    scored = CountTV(("a",), ("b",))
    bound = scored.sensitivity(unit, None)
    best = Fraction(0)
    for shape in [(2, 2), (2, 3), (3, 3), (3, 4)]:
        steps = moves(unit, math.prod(shape))
        steps = [steps[k] for k in rng.permutation(len(steps))[:60]]

        def reach(table, shape=shape, steps=steps):
            here = scored.score(table.reshape(shape), None)
            there = [table + step for step in steps if (table + step >= 0).all()]
            return max(
                (abs(scored.score(t.reshape(shape), None) - here) for t in there),
                default=Fraction(0),
            )

        table = rng.multinomial(30, np.full(math.prod(shape), 1 / math.prod(shape)))
        far = reach(table)
        for _ in range(60):
            i, j = rng.integers(0, len(table), 2)
            amount = rng.integers(0, table[i] + 1)
            other = table.copy()
            other[i] -= amount
            other[j] += amount
            if (further := reach(other)) >= far:
                table, far = other, further
        assert far <= bound
        best = max(best, far)
    # Without this the climb might stand still.
    assert best >= bound * Fraction(6, 10)


def by_hand_l1(counts, reference, scale, offset, unit):
    grid = 2**20
    off = Fraction(0)
    for count, value in zip(np.ravel(counts), np.ravel(reference), strict=True):
        off += abs(
            Fraction(int(count), unit) - Fraction(round(Fraction(float(value)) * grid), grid)
        )
    return Fraction(scale) * off + Fraction(offset)


def by_hand_product(joint):
    total = int(joint.sum())
    left, right = (joint.sum(axis=axis).astype(object) for axis in (1, 0))
    return np.multiply.outer(left, right) * Fraction(1, total)


def by_hand_tv(joint, unit=1):
    rows, columns = joint.shape
    cells = {(i, j): Fraction(int(joint[i, j]), unit) for i in range(rows) for j in range(columns)}
    total = sum(cells.values())
    if not total:
        return Fraction(0)
    left = [sum(cells[i, j] for j in range(columns)) for i in range(rows)]
    right = [sum(cells[i, j] for i in range(rows)) for j in range(columns)]
    return sum(abs(n - Fraction(left[i] * right[j], total)) for (i, j), n in cells.items()) / 2


counts_2_3 = st.lists(
    st.one_of(st.integers(0, 20), st.integers(2**38, 2**40)), min_size=6, max_size=6
)
numbers = st.floats(-(2.0**40), 2.0**40) | st.floats(-20, 20)


@given(
    counts_2_3,
    st.lists(numbers, min_size=6, max_size=6),
    st.floats(0, 1e9),
    st.floats(-1e9, 1e9),
    st.sampled_from([None, WEIGHTS[0]]),
)
def test_an_l1_distance_is_exact_however_large_the_counts(
    counts, reference, scale, offset, weights
):
    counts = np.array(counts).reshape(2, 3)
    scored = L1Distance(CLIQUE, np.array(reference).reshape(2, 3), scale, offset)
    scored.check(DOMAIN)
    unit = 1 if weights is None else UNIT
    assert scored.score(counts * unit, weights) == by_hand_l1(
        counts * unit, reference, scale, offset, unit
    )
    odd = counts + np.arange(6).reshape(2, 3)  # weighted counts need not be whole
    assert scored.score(odd, weights) == by_hand_l1(odd, reference, scale, offset, unit)


def test_the_largest_counts_and_references_do_not_overflow():
    counts = np.full((2, 3), 2**40)
    far = L1Distance(CLIQUE, np.full((2, 3), -(2.0**40)))
    far.check(DOMAIN)
    assert far.score(counts, None) == 6 * 2**41
    assert far.score(counts * UNIT, WEIGHTS[0]) == 6 * 2**41


@given(counts_2_3)
def test_a_count_tv_is_exact_however_large_the_counts(counts):
    joint = np.array(counts).reshape(2, 3)
    assert CountTV(("a",), ("b",)).score(joint, None) == by_hand_tv(joint)
    # Weighted counts are in 1/1024, and the score is in counts.
    assert CountTV(("a",), ("b",)).score(joint, WEIGHTS[0]) == by_hand_tv(joint, UNIT)


@pytest.mark.parametrize("total", [2**31 - 1, 2**31, 2**31 + 1, 2**33, 2**34 + 1, 2**40])
def test_a_count_tv_is_exact_where_its_squares_leave_64_bits(total):
    # Both sides of the total at which it goes on in unbounded integers.
    # Half the rows in each of two corners make the largest numbers.
    corners = [(total, (0, 0)), (total - 7, (3, 2)), (total // 2, (0, 0)), (total // 2, (1, 0))]
    for first, others in corners:
        joint = np.array([[first, others[0]], [others[1], total - first - sum(others)]])
        assert joint.sum() == total
        assert CountTV(("a",), ("b",)).score(joint, None) == by_hand_tv(joint)
        assert CountTV(("a",), ("b",)).score(joint, WEIGHTS[0]) == by_hand_tv(joint, UNIT)


def test_sides_of_several_columns_are_read_in_their_order():
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 9, (2, 3, 2))  # axes in the clique's order
    scored = CountTV(("a", "b"), ("c",))
    assert scored.clique == ("a", "b", "c")
    assert scored.score(counts, None) == by_hand_tv(counts.reshape(6, 2))
    assert CountTV(("a",), ("b", "c")).score(counts, None) == by_hand_tv(counts.reshape(2, 6))


def test_an_empty_table_is_independent():
    assert CountTV(("a",), ("b",)).score(np.zeros((2, 3), np.int64), None) == 0


fractions = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**12)
sensitivities = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6, max_denominator=10**9)


@given(fractions, st.fractions(-1, 1), sensitivities)
def test_scores_in_steps_differ_by_at_most_so_many_steps(score, part, sensitivity):
    for move in (part, Fraction(1), Fraction(-1)):
        here, there = in_steps([score, score + move * sensitivity], sensitivity)
        assert abs(here - there) <= STEPS
        if abs(move) == 1:
            assert abs(here - there) == STEPS


@given(fractions, sensitivities)
def test_a_score_in_steps_is_off_by_less_than_one_step(score, sensitivity):
    (steps,) = in_steps([score], sensitivity)
    assert steps <= score * STEPS / sensitivity < steps + 1


@given(st.integers(-(2**50), 2**50), st.fractions(-1, 1), st.integers(-(2**44), 2**44))
def test_steps_hold_their_bound_beyond_64_bits_too(score, part, about):
    for start in (score, about, 2**43, -(2**43)):
        for move in (part, Fraction(1), Fraction(-1)):
            here, there = in_steps([Fraction(start), start + move], Fraction(1))
            assert abs(here - there) <= STEPS


@pytest.mark.parametrize(
    ("scored", "message"),
    [
        (L1Distance(CLIQUE, np.zeros((3, 2))), "has the shape"),
        (L1Distance(CLIQUE, np.zeros(6)), "has the shape"),
        (L1Distance(CLIQUE, 0.0), "has the shape"),
        (L1Distance(CLIQUE, np.full((2, 3), np.nan)), "no counts"),
        (L1Distance(CLIQUE, np.full((2, 3), np.inf)), "no counts"),
        (L1Distance(CLIQUE, np.full((2, 3), -(2.0**40) * 1.001)), "no counts"),
        (L1Distance(CLIQUE, np.zeros((2, 3)), scale=-1e-9), "not below 0"),
        (L1Distance(CLIQUE, np.zeros((2, 3)), scale=math.inf), "finite"),
        (L1Distance(CLIQUE, np.zeros((2, 3)), scale=math.nan), "finite"),
        (L1Distance(CLIQUE, np.zeros((2, 3)), offset=-math.inf), "finite"),
        (L1Distance(CLIQUE, np.zeros((2, 3)), offset=math.nan), "finite"),
        (L1Distance(("a", "a"), np.zeros((2, 2))), "twice"),
        (CountTV((), ("b",)), "two sides"),
        (CountTV(("a",), ()), "two sides"),
        (CountTV(("a",), ("b", "a")), "twice"),
    ],
)
def test_what_does_not_fit_the_domain_is_refused_before_any_row_is_read(scored, message):
    with pytest.raises(BadInput, match=message):
        scored.check(DOMAIN)


def test_unknown_columns_are_refused():
    with pytest.raises(UnknownColumn, match="aa"):
        L1Distance(("aa",), [0, 0]).check(DOMAIN)
    with pytest.raises(UnknownColumn, match="bb"):
        CountTV(("a",), ("bb",)).check(DOMAIN)


SCHEMA = Schema(
    (
        Column(name="who", kind=Kind.INTEGER, role=Role.ID),
        numbered("a", 2),
        numbered("b", 3),
        numbered("c", 2),
    )
)
ROWS = pa.table({"who": range(8), "a": [0, 1] * 4, "b": [0, 1, 2, 2] * 2, "c": [0] * 7 + [1]})
AB = np.array([[1.5, 0, 1], [0, -1, 3]])


def opened(unit, rows=ROWS, seed=0):
    return Ledger.open(rows, SCHEMA, Budget(100.0, 1e-9), unit=unit, source=SeededForTests(seed))


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_a_selection_is_drawn_with_the_largest_sensitivity_of_its_candidates(unit, monkeypatch):
    drawn = []
    draw = ledger_module.exponential_choice

    def overheard(steps, scale, source):
        drawn.append((steps, scale))
        return draw(steps, scale, source)

    monkeypatch.setattr(ledger_module, "exponential_choice", overheard)
    near, far = L1Distance(CLIQUE, AB, 0.25, 7), L1Distance(("c",), [3.3, 0], 0.75, -2)
    independent = CountTV(("b",), ("c", "a"))
    cases = [
        ([near], Fraction(1, 4) * unit.steps, None),
        ([near, far, near], Fraction(3, 4) * unit.steps, None),
        ([near, independent], independent.sensitivity(unit, None), None),
        ([near, far], Fraction(3, 4) * unit.steps * Fraction(900, UNIT), WEIGHTS[2]),
        ([far, independent], 2 * unit.steps * Fraction(900, UNIT), WEIGHTS[2]),
    ]
    for candidates, sensitivity, weights in cases:
        with opened(unit) as ledger:
            chosen = ledger.select(candidates, epsilon=0.5, weights=weights)
            (entry,) = ledger.entries
        assert 0 <= chosen < len(candidates)
        assert entry.event == Exponential(0.5)
        assert entry.request["sensitivity"] == str(sensitivity)
        steps, scale = drawn.pop()
        # What is drawn from is the exact score over the sensitivity, at ε/2 for each of it.
        codes = {name: ROWS[name].to_numpy() for name in "abc"}
        weight = [900, 900, 900, 900, 900, 900, 900, 100] if weights else [1] * 8
        for candidate, found in zip(candidates, steps, strict=True):
            counts = np.zeros(DOMAIN.shape(candidate.clique), np.int64)
            np.add.at(counts, tuple(codes[name] for name in candidate.clique), weight)
            exact = candidate.score(counts, weights) * STEPS / sensitivity
            assert found <= exact < found + 1
        assert 2 * STEPS / 0.5 < scale < 2 * STEPS / 0.5 * (1 + 1e-15)


@pytest.mark.statistical
def test_candidates_come_up_as_often_as_the_exponential_mechanism_says():
    # Scores 0, 2, 4 and 6 of replaced records (sensitivity 2) at ε = 1: odds of e^(1/2) each.
    rows = pa.table({"who": range(6), "a": [0] * 6, "b": [0] * 6, "c": [0] * 6})
    candidates = [L1Distance(("a",), [6 - k, 0]) for k in (0, 2, 4, 6)]
    draws = 2000
    with Ledger.open(
        rows, SCHEMA, Budget(2000.0, 1e-9), unit=Replacement(), source=SeededForTests(5)
    ) as ledger:
        chosen = [ledger.select(candidates, epsilon=1.0) for _ in range(draws)]
    seen = np.bincount(chosen, minlength=4)

    def misfit(odds):
        shares = np.exp(odds * np.arange(4))
        expected = draws * shares / shares.sum()
        return ((seen - expected) ** 2 / expected).sum()

    # χ² with 3 degrees of freedom exceeds 31 once in a million runs. Against odds for half or
    # twice the sensitivity it is about 600 and 140; a quarter off, about 30.
    assert misfit(1 / 2) < 31
    assert misfit(1) > 100
    assert misfit(1 / 4) > 100


def test_a_refused_candidate_costs_nothing():
    with opened(Record()) as ledger:
        for candidates, weights in [
            ([], None),
            ([L1Distance(CLIQUE, AB), CountTV(("a",), ("b", "a"))], WEIGHTS[0]),
            ([L1Distance(CLIQUE, AB), L1Distance(("a",), [np.nan, 0])], None),
        ]:
            with pytest.raises(BadInput):
                ledger.select(candidates, epsilon=0.5, weights=weights)
        assert ledger.entries == ()


def test_candidates_that_cannot_move_are_drawn_without_dividing_by_nothing():
    with opened(Record()) as ledger:
        still = [L1Distance(CLIQUE, AB, scale=0.0, offset=k) for k in (0.0, 60.0)]
        assert ledger.select(still, epsilon=1.0) == 1
        assert ledger.select([L1Distance(CLIQUE, AB)] * 2, epsilon=1.0, weights=WEIGHTS[3]) in {
            0,
            1,
        }


@pytest.mark.parametrize("rows", [4, 5, 6])
def test_a_score_near_the_end_of_64_bits_raises_nothing_about_the_rows(rows):
    # Steps of real noise are 64 bits wide. An offset puts the score of four rows just inside, of
    # five and six beyond: an error for some would tell how many there are.
    table = pa.table({"who": range(rows), "a": [0] * rows, "b": [0] * rows, "c": [0] * rows})
    with Ledger.open(table, SCHEMA, Budget(100.0, 1e-9)) as ledger:
        candidates = [L1Distance(("a",), [0, 0], offset=2.0**43 - 5)]
        assert ledger.select(candidates, epsilon=0.5) == 0


# --- given others ---


@pytest.mark.parametrize(("shape", "rows"), [((2, 2, 2), 5), ((3, 2, 2), 4), ((2, 2, 3), 4)])
def test_a_count_tv_given_others_never_moves_further_than_its_sensitivity(shape, rows):
    counts = tables(math.prod(shape), rows)
    scored = CountTV(("a",), ("b",), given=("c",))
    found = observed(lambda n: scored.score(n, None), counts, shape)
    assert all(found[unit] <= scored.sensitivity(unit, None) for unit in UNITS)


def test_a_record_that_changes_its_part_moves_a_count_tv_given_others_by_nearly_four():
    # It was alone in its row and column of one part, and comes to where a full row and a full
    # column of the other part met in nothing: both parts are nearer to independent afterwards.
    many, some = 10**6, 10**3
    before = np.array([[[many, 0], [0, 1]], [[many, some], [some, 0]]])
    after = np.array([[[many, 0], [0, 0]], [[many, some], [some, 1]]])
    scored = CountTV(("a",), ("b",), given=("c",))
    moved = scored.score(before, None) - scored.score(after, None)
    assert Fraction(39, 10) < moved <= scored.sensitivity(Replacement(), None) == 4


def test_a_count_tv_given_others_adds_up_over_their_codes():
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 9, (4, 2, 3))
    whole_score = CountTV(("a",), ("b",), given=("c",)).score(counts, None)
    assert whole_score == sum(by_hand_tv(part) for part in counts)
    lifted = CountTV(("a",), ("b",), given=("c",), offset=-1.5).score(counts, None)
    assert lifted == whole_score - Fraction(3, 2)
    # Several given columns are one with all their combinations.
    assert (
        CountTV(("a",), ("b",), given=("c", "d")).score(counts.reshape(2, 2, 2, 3), None)
        == whole_score
    )


def test_a_count_tv_has_a_finite_offset():
    with pytest.raises(BadInput, match="offset is nan"):
        CountTV(("a",), ("b",), offset=math.nan).check(DOMAIN)


# --- noisy scores ---


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("weights", [None, WEIGHTS[2]], ids=["plain", "weighted"])
def test_noisy_scores_are_paid_for_by_the_largest_sensitivity_and_their_number(unit, weights):
    candidates = [L1Distance(CLIQUE, AB, 0.25), CountTV(("b",), ("c",)), CountTV(("a",), ("b",))]
    with opened(unit) as ledger:
        told = ledger.scores(candidates, rho=0.5, weights=weights)
        (entry,) = ledger.entries
    sensitivity = max(one.sensitivity(unit, weights) for one in candidates)
    assert entry.request["sensitivity"] == str(sensitivity)
    # Three numbers that each move by at most the sensitivity: ρ = 3 Δ² / (2 scale²).
    assert told.scale == pytest.approx(float(sensitivity) * math.sqrt(3 / (2 * 0.5)), rel=1e-9)
    assert entry.event.sensitivity_squared == 3 * STEPS**2
    assert entry.event.scale == pytest.approx(told.scale * STEPS / float(sensitivity), rel=1e-12)


@pytest.mark.statistical
def test_noisy_scores_scatter_by_their_scale_around_the_exact_ones():
    candidates = [L1Distance(CLIQUE, AB), CountTV(("a",), ("b",))]
    draws = 4000
    codes = {name: ROWS[name].to_numpy() for name in "abc"}
    exact = []
    for one in candidates:
        counts = np.zeros(DOMAIN.shape(one.clique), np.int64)
        np.add.at(counts, tuple(codes[name] for name in one.clique), 1)
        exact.append(float(one.score(counts, None)))
    with Ledger.open(ROWS, SCHEMA, Budget(1e6, 1e-9), source=SeededForTests(2)) as ledger:
        told = [ledger.scores(candidates, rho=1.0) for _ in range(draws)]
    off = np.array([(one.values - exact) / one.scale for one in told]).ravel()
    # 8,000 draws: a mean beyond 5.5 / √8000, or a scale 5 % off, shows with odds of 10⁷ to 1.
    assert abs(off.mean()) < 5.5 / math.sqrt(2 * draws)
    assert abs(off.std() - 1) < 5.3 / math.sqrt(2 * 2 * draws) < 0.05


def test_refused_noisy_scores_cost_nothing():
    with opened(Record()) as ledger:
        for candidates, rho in [
            ([], 1.0),
            ([CountTV(("a",), ("a",))], 1.0),
            ([CountTV(("a",), ("b",))], 0.0),
            ([CountTV(("a",), ("b",))], math.nan),
        ]:
            with pytest.raises(BadInput):
                ledger.scores(candidates, rho=rho)
        assert ledger.entries == ()
