"""What planted bugs showed that no other fast test looks at."""

import math

import numpy as np
import pyarrow as pa
import pytest

from understudy.column import Column, Kind
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.row_maps import held_sum
from understudy.privacy.weights import UNIT
from understudy.schema import Schema

SCHEMA = Schema((Column(name="x", kind=Kind.INTEGER, bounds=(0, 59), bins=60, null=False),))
FAR = 6.2
"""Standard deviations; beyond them lies 1e-9 of a normal law."""


def opened(rows, seed=0):
    table = pa.table({"x": np.arange(rows) % 60})
    return Ledger.open(table, SCHEMA, Budget(1e6, 1e-9), source=SeededForTests(seed))


@pytest.mark.statistical
@pytest.mark.parametrize("weight", [None, 700], ids=["plain", "weighted"])
def test_the_total_carries_noise_like_any_other_count(weight):
    # A fixed seed; a sound ledger fails with one seed in 10⁸. Power: of 3,000 draws the spread is
    # known to 1.3 %, so that noise a fifth too small or too large is rejected, and no noise is.
    draws, scale, rows = 3000, 20.0, 300
    with opened(rows) as ledger:
        weights = None if weight is None else ledger.weigh({}, [], [weight])
        told = ledger.measure([()] * draws, scale=scale, weights=weights)
    noise = np.array([float(one.values) for one in told]) - rows * (weight or UNIT) / UNIT
    assert abs(noise.std() / scale - 1) < FAR / math.sqrt(2 * draws)
    assert abs(noise.mean()) < FAR * scale / math.sqrt(draws)


@pytest.mark.parametrize("rows", [0, 7, 300])
def test_cells_are_those_of_the_schema_whatever_the_rows(rows):
    with opened(rows) as ledger:
        (told,) = ledger.measure([("x",)], scale=20.0)
        assert told.values.shape == (61,)  # what is missing has a code too
        assert ledger.schema == SCHEMA


def test_counts_below_zero_are_told_as_they_were_drawn():
    # Of sixty empty cells none lies below zero once in 10¹⁷ times; then noise was drawn again, or
    # cut off, and its law is another one than what was paid for.
    with opened(0) as ledger:
        (told,) = ledger.measure([("x",)], scale=20.0)
    assert (told.values < 0).any()
    assert (told.values > 0).any()


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_that_is_too_large_moves_to_the_end_and_never_turns_over(sign):
    # Together they leave 64 bits. If the sum turned over there, a neighbour would be far away.
    parts = [np.array([sign * 2**50, sign])] * 2**14
    at_the_end = held_sum(parts, 2)
    assert at_the_end.tolist() == [sign * 2**62, sign * 2**14]
    neighbour = held_sum([*parts, np.array([-sign * 2**40, 0])], 2)
    assert abs(int(neighbour[0]) - int(at_the_end[0])) <= 2**40
    # Up to the end every digit counts.
    assert held_sum(parts[: 2**11], 2).tolist() == [sign * 2**61, sign * 2**11]
