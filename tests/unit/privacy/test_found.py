"""The facts of a column, made from noisy answers."""

import numpy as np
import pyarrow as pa

from understudy.column import Column, Kind
from understudy.encode.numbers import NumberCells
from understudy.privacy.answers import CommonValues
from understudy.privacy.bins import Histogram
from understudy.privacy.found import Fine, numbers

EDGES = tuple(0.25 * k for k in range(4, 22))
HALVES = (2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)


def test_a_bin_keeps_a_multiple_of_the_step_that_is_no_atom():
    counts = np.array([900.0 if edge in HALVES else 0.0 for edge in EDGES[:-1]])
    counts[EDGES.index(3.5)] = 500.0
    common = CommonValues(
        "x", HALVES, np.array([500.0 if one == 3.5 else 900.0 for one in HALVES]), 10.0, 100
    )
    column = Column(name="x", kind=Kind.REAL, decimals=1, step=0.5, null=False)
    found = numbers(column, Fine(Histogram(EDGES, counts, 10.0, whole=False), 0.0), common, 5_900.0)
    cells = NumberCells(found.column)
    assert found.column.atoms
    drawn = cells.decode(
        np.repeat(np.arange(len(cells.bins)), 50).astype(np.uint8), np.random.default_rng(0)
    )
    assert pa.types.is_floating(drawn.type)
    halves = np.asarray(drawn) * 2
    np.testing.assert_array_equal(halves, np.round(halves))
    # What an atom held is counted in its bin.
    assert abs(found.measured.values.sum() - counts.sum()) < 1e-6


def test_every_inferred_bin_holds_a_multiple_of_the_step():
    edges = tuple(float(k) / 8 for k in range(41))
    counts = np.full(40, 400.0)
    column = Column(name="x", kind=Kind.REAL, decimals=1, step=0.5, null=False)
    found = numbers(column, Fine(Histogram(edges, counts, 10.0, whole=False), 0.0), None, 16_000.0)
    drawn = NumberCells(found.column)
    codes = np.arange(len(drawn.bins), dtype=np.uint8)
    values = np.asarray(drawn.decode(codes, np.random.default_rng(0)))
    assert len(codes) > 5
    assert (values * 2 == np.round(values * 2)).all()
