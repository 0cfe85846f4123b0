"""Bins from a fine noisy histogram: valid whatever the counts, and near-equal where they can be."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from understudy.column import MOST_EDGES
from understudy.encode.shape_grid import MAGNITUDES
from understudy.privacy.bins import FINE_CELLS, MOST_MERGED, Histogram, crowded, fine_edges, merged
from understudy.privacy.spans import Span

MASSES = st.floats(0, 1e9) | st.sampled_from([0.0, 1.0, 1e12])


def span_of(start, stop, masses=None):
    """A span from one cut of the public grid to another."""
    edges = (2 * MAGNITUDES[0], *MAGNITUDES, 2 * MAGNITUDES[-1])[start : stop + 1]
    masses = np.ones(len(edges) - 1) if masses is None else np.array(masses, float)
    return Span(edges, masses)


@st.composite
def spans(draw, *, whole):
    start = draw(st.integers(0, len(MAGNITUDES)))
    stop = draw(st.integers(start + 1, len(MAGNITUDES) + 1))
    span = span_of(start, stop)
    edges = span.edges
    if whole:
        edges = tuple(np.unique(np.ceil(edges)))
        edges = edges if len(edges) > 1 else (edges[0], edges[0] + 1)
    count = len(edges) - 1
    return Span(edges, np.array(draw(st.lists(MASSES, min_size=count, max_size=count))))


@pytest.mark.parametrize("whole", [True, False])
def test_a_fine_grid_increases_covers_the_span_and_stays_small(whole):
    @given(spans(whole=whole))
    def holds(span):
        edges = np.array(fine_edges(span, whole=whole))
        assert (np.diff(edges) > 0).all()
        assert (edges[0], edges[-1]) == (span.edges[0], span.edges[-1])
        assert len(edges) <= 4 * (len(MAGNITUDES) + 1) + 1 < MOST_EDGES
        if whole:
            assert (edges == np.floor(edges)).all()
        if not whole or edges[-1] - edges[0] > FINE_CELLS:
            # Each coarse cell begins with a cut, so that nothing known is lost.
            assert set(span.edges) <= set(edges)

    holds()


@given(st.integers(-300, 300), st.integers(1, FINE_CELLS), MASSES)
def test_few_whole_numbers_have_a_cell_each(first, width, mass):
    edges = fine_edges(Span((float(first), float(first + width)), np.array([mass])), whole=True)
    assert edges == tuple(float(n) for n in range(first, first + width + 1))


def test_a_fine_grid_is_fine_where_rows_are():
    # Between 512 and 1024 and up to 4096, with nearly all rows in the first half.
    coarse = (512.0, 1024.0, 2048.0, 4096.0)
    edges = fine_edges(Span(coarse, np.array([9800.0, 100.0, 100.0])), whole=True)
    pieces = np.histogram(edges[:-1], coarse)[0]
    assert pieces[0] >= 128
    assert (pieces[1:] >= 4).all()
    assert (pieces[1:] <= 16).all()


def test_a_fine_grid_without_any_mass_is_even():
    edges = fine_edges(span_of(80, 84, np.zeros(4)), whole=False)
    assert len(edges) == 4 * 4 + 1


def histogram(counts, *, scale=1.0, whole=False, edges=None):
    edges = range(len(counts) + 1) if edges is None else edges
    return Histogram(tuple(map(float, edges)), np.array(counts, float), scale, whole)


def check_places(places, cells):
    assert all(type(place) is int for place in places)
    assert places == sorted(set(places))
    assert len(places) >= 2
    assert places[0] >= 0
    assert places[-1] <= cells


COUNTS = st.floats(-1e6, 1e6) | st.sampled_from([0.0, -1.0, 1.0, 1e9, -1e9, 5.0, -5.0])


@given(
    st.lists(COUNTS, min_size=1, max_size=80), st.floats(1e-6, 1e5), st.floats(1.0, 1e9), st.data()
)
@example([0.0] * 300, 1.0, 1.0, None)
@example([-5.0] * 300, 1.0, 1.0, None)
@example([7.0], 1.0, 1.0, None)
@example([1e9], 1.0, 1.0, None)
@example([0.0, 0.0, 1e9], 1.0, 1e9, None)
def test_any_counts_make_valid_bins(counts, scale, rows, data):
    fine = histogram(counts, scale=scale)
    check_places(merged(fine, fine.counts, rows), len(counts))
    if data is not None:
        alone = st.lists(st.floats(0, 1e9), min_size=len(counts), max_size=len(counts))
        rest = fine.counts - np.array(data.draw(alone))
        check_places(merged(fine, rest, rows), len(counts))
    assert all(0 <= cell < len(counts) for cell in crowded(fine, 10.0))


def test_one_cell_is_one_bin():
    assert merged(histogram([500.0]), np.array([500.0]), 500.0) == [0, 1]
    assert merged(histogram([0.0]), np.array([0.0]), 1.0) == [0, 1]


def test_a_table_that_is_all_noise_still_has_bins():
    rng = np.random.default_rng(0)
    for cells in (1, 2, 31, 256):
        for _ in range(50):
            noise = histogram(40 * rng.standard_normal(cells), scale=40.0)
            for rows in (1.0, 100.0):
                places = merged(noise, noise.counts, rows)
                check_places(places, cells)
                assert len(places) - 1 <= MOST_MERGED


def continuous(rows=100_000, scale=5.0, seed=0):
    """Counts of a normal distribution on its own fine grid."""
    rng = np.random.default_rng(seed)
    values = rng.normal(50, 12, rows)
    coarse = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
    edges = fine_edges(Span(coarse, np.histogram(values, coarse)[0].astype(float)), whole=False)
    exact = np.histogram(values, edges)[0]
    return histogram(exact + scale * rng.standard_normal(len(exact)), scale=scale, edges=edges)


def masses(fine, places):
    return np.array([fine.counts[a:b].sum() for a, b in itertools.pairwise(places)])


def test_bins_of_a_continuous_column_hold_about_the_same():
    fine = continuous()
    places = merged(fine, fine.counts, 100_000.0)
    found = masses(fine, places)
    even = 100_000 / MOST_MERGED
    assert 24 <= len(found) <= MOST_MERGED + 1
    assert abs(np.median(found) - even) < 0.1 * even
    # A bin is too large by one fine cell at most; before a large one it may end early.
    assert (found > 0.45 * even).all()
    assert (found < 2 * even).all()
    assert found.sum() > 0.99 * 100_000


def test_each_bin_stands_out_of_the_noise():
    rng = np.random.default_rng(1)
    fine = histogram(4 + 10 * rng.standard_normal(256), scale=10.0)
    places = merged(fine, fine.counts, 1024.0)
    assert len(places) > 3
    assert (masses(fine, places)[:-1] >= 80).all()


def test_a_value_that_many_share_stays_alone():
    counts = np.full(60, 100.0)
    counts[[0, 20, 21, 59]] = 5000
    places = merged(histogram(counts), counts, counts.sum())
    for cell in (0, 20, 21, 59):
        assert cell in places
        assert cell + 1 in places
    assert len(places) - 1 > 20


def test_what_stays_alone_beside_the_bins_does_not_count():
    # The spike at 30 is an atom, so its cell is like the others and the rest is still cut evenly.
    fine = histogram(np.where(np.arange(60) == 30, 90_000.0, 100.0))
    rest = np.full(60, 100.0)
    sizes = np.diff(merged(fine, rest, 96_000.0))
    assert sizes.max() <= 4
    # Were it counted as a part of the rest, the others would be nearly nothing beside it.
    assert len(sizes) >= 20


def test_empty_ends_are_trimmed():
    rng = np.random.default_rng(2)
    for seed in range(20):
        counts = np.zeros(200)
        counts[60:140] = 500
        fine = histogram(counts + 5 * rng.standard_normal(200), scale=5.0)
        places = merged(fine, fine.counts, 40_000.0)
        # Noise may add a cell or two, never many.
        assert 57 <= places[0] <= 60, seed
        assert 140 <= places[-1] <= 143, seed


def test_a_thin_tail_that_no_single_cell_shows_is_kept():
    rng = np.random.default_rng(3)
    counts = np.concatenate([np.full(100, 400.0), np.full(100, 15.0)])
    fine = histogram(counts + 10 * rng.standard_normal(200), scale=10.0)
    # Together the tail holds 1,500 rows of 41,500.
    assert merged(fine, fine.counts, counts.sum())[-1] > 180


def test_very_few_rows_beyond_a_bound_move_to_it():
    counts = np.full(100, 1000.0)
    counts[80:] = 0
    counts[-1] = 100  # 0.12 % of all rows, far out
    places = merged(histogram(counts), counts, counts.sum())
    assert places[-1] == 80


def test_all_cells_stay_where_none_stands_out_of_the_noise():
    rng = np.random.default_rng(4)
    counts = np.full(200, 1.5) + 30.0 * rng.standard_normal(200)
    assert merged(histogram(counts, scale=30.0), counts, 300.0)[0] == 0
    assert merged(histogram(counts, scale=30.0), counts, 300.0)[-1] == 200


def test_a_last_bin_of_little_mass_joins_the_one_before():
    counts = np.array([100.0] * 33)
    found = masses(histogram(counts), merged(histogram(counts), counts, 3300.0))
    assert (found >= 100).all()


def test_crowded_cells_hold_enough_for_a_value_to_be_told():
    counts = np.full(100, 10.0)
    counts[[3, 50]] = 400, 90
    assert crowded(histogram(counts), least=300.0) == [3]
    assert crowded(histogram(counts), least=50.0) == [3, 50]
    # A cell should stand out of the noise, and hold a fair part of what is left.
    assert crowded(histogram(counts, scale=100.0), least=50.0) == []
    assert crowded(histogram(np.full(256, 100.0)), least=5.0) == []
    assert crowded(histogram(np.full(20, 100.0)), least=5.0) == list(range(20))
    assert crowded(histogram(np.zeros(20)), least=5.0) == []
    assert crowded(histogram(np.full(20, -50.0)), least=5.0) == []


def test_a_cell_of_one_whole_number_needs_no_search():
    counts = [500.0, 500.0, 500.0]
    assert crowded(histogram(counts, whole=True, edges=(0, 1, 2, 4)), least=10.0) == [2]
    assert crowded(histogram(counts, whole=False, edges=(0, 1, 2, 4)), least=10.0) == [0, 1, 2]
