"""Where a column's rows begin and end: at most half a per cent lie beyond, where noise allows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.privacy.extent import extent

AGES = np.arange(16, 129)


def ages(rng, rows):
    return np.clip(np.round(rng.gamma(6, 4.5, rows) + 18), 18, 95)


@pytest.mark.statistical
@pytest.mark.parametrize(("rows", "scale", "most"), [(45_000, 57.0, 0.005), (8_000, 66.0, 0.02)])
def test_few_rows_lie_beyond_the_ends_and_few_cells_without_rows_within(rows, scale, most):
    """The mean over 100 columns; its standard deviation is below a tenth of it.

    With 8,000 rows the noise of a single cell is 0.8 % of the rows, and the tail has forty cells:
    half a per cent cannot be seen there. Cutting where single cells no longer stand out leaves
    more than 3 % beyond.
    """
    rng = np.random.default_rng(0)
    beyond, ends = [], []
    for _ in range(100):
        sample = ages(rng, rows)
        counts = np.histogram(sample, AGES)[0] + scale * rng.standard_normal(len(AGES) - 1)
        found = extent(counts, scale, rows)
        beyond.append([(sample < AGES[found.start]).mean(), (sample >= AGES[found.stop]).mean()])
        ends.append(AGES[found.stop])
    assert (np.mean(beyond, axis=0) <= most).all()
    assert np.median(ends) <= 110


def test_what_lies_beyond_is_reported():
    counts = np.array([3.0, 2.0, *[5000.0] * 10, 4.0])
    found = extent(counts, 1.0, 50_009.0)
    assert (found.start, found.stop, found.before, found.after) == (2, 12, 5.0, 4.0)


def test_noise_alone_has_no_extent():
    rng = np.random.default_rng(1)
    # Of 2,000 windows, one reaches 4.5 standard deviations in less than 1 % of the columns.
    seen = [extent(30 * rng.standard_normal(256), 30.0, 100.0) for _ in range(200)]
    assert sum(one is not None for one in seen) <= 8


@given(
    st.lists(st.floats(-1e6, 1e9), min_size=1, max_size=40),
    st.floats(1e-3, 1e3),
    st.floats(-1e3, 1e9),
)
def test_any_counts_have_an_extent_of_at_least_one_cell_or_none(counts, scale, rows):
    found = extent(np.array(counts), scale, rows)
    assert found is None or 0 <= found.start < found.stop <= len(counts)
