import tracemalloc
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from helpers.shapes import NAMES, SHAPES, counted, potentials, summed
from understudy.domain import Domain
from understudy.model.estimate import needed_bytes
from understudy.model.factor import Factor, joint
from understudy.model.graphical import GraphicalModel
from understudy.model.sample import Step, _counts, ancestral, drawn

RARE = 1e-7
ROWS = 20_000
LARGEST = np.nextafter(1.0, 0.0)
BOTH = pytest.mark.parametrize("rounded", [True, False], ids=["rounded", "plain"])


def model_of(name, seed=0, *, rounded=True, spread=1.0, factors=()):
    domain, _ = SHAPES[name]
    made = (*potentials(name, seed, spread=spread), *factors)
    return GraphicalModel(domain, float(ROWS), made, rounded=rounded)


def rows_of(model, rows=ROWS, seed=0):
    return model.sample(rows, np.random.default_rng(seed))


def pearson(counts, shares):
    """The chance of counts so far from these shares; cells that few rows reach are put together."""
    counts, expected = counts.ravel(), counts.sum() * shares.ravel()
    few = expected < 5
    assert counts[expected == 0].sum() == 0
    if expected[few].sum() > 0:
        counts = np.append(counts[~few], counts[few].sum())
        expected = np.append(expected[~few], expected[few].sum())
    else:
        counts, expected = counts[~few], expected[~few]
    if len(counts) < 2:
        return 1.0
    return stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue


@pytest.mark.statistical
@BOTH
@pytest.mark.parametrize("name", NAMES)
def test_rows_follow_the_model_in_every_column_and_pair(name, rounded):
    # Chi-square with a fixed seed: one sound seed in 10⁷ fails, for each of at most ten
    # marginals; rounded draws scatter less, and fail more rarely. Power: shares that are off by
    # a fifth, up and down in turn, are always seen, as is shown here.
    model = model_of(name, rounded=rounded)
    codes = rows_of(model)
    whole = joint(model.domain, model.factors)
    for size in (1, 2):
        for clique in combinations(model.domain.names, size):
            counts, shares = (
                counted(model.domain, codes, clique),
                summed(model.domain, whole, clique),
            )
            assert pearson(counts, shares) > RARE
            if shares.size > 1:
                wrong = shares * (1 + 0.2 * np.resize([1, -1, -1], shares.size)).reshape(
                    shares.shape
                )
                assert pearson(counts, wrong / wrong.sum()) < RARE


@pytest.mark.statistical
@BOTH
@pytest.mark.parametrize("name", NAMES)
def test_rows_follow_the_model_as_a_whole(name, rounded):
    # The same for all columns at once; 48 cells at most.
    model = model_of(name, 1, rounded=rounded)
    counts = counted(model.domain, rows_of(model, seed=1), model.domain.names)
    assert pearson(counts, joint(model.domain, model.factors)) > RARE


@BOTH
@pytest.mark.parametrize("rows", [0, 1, 2, 1000])
def test_codes_have_the_narrowest_type_and_lie_in_range(rows, rounded):
    domain = Domain.of({"one": 1, "few": 3, "byte": 256, "more": 300})
    rng = np.random.default_rng(0)
    factor = Factor(("more", "few"), rng.standard_normal((300, 3)))
    codes = GraphicalModel(domain, 9.0, (factor,), rounded=rounded).sample(rows, rng)
    assert list(codes) == list(domain.names)
    kinds = {"one": np.uint8, "few": np.uint8, "byte": np.uint8, "more": np.uint16}
    for name, size in domain.sizes.items():
        assert codes[name].shape == (rows,)
        assert codes[name].dtype == kinds[name]
        assert (codes[name] < size).all()


def test_many_groups_of_many_codes_are_kept_apart():
    # More groups than a byte can number: each code of x must bring its own y.
    size = 700
    domain = Domain.of({"x": size, "y": size})
    same = Factor.impossible(("x", "y"), ~np.eye(size, dtype=bool)[::-1])
    lone = Factor(("x",), np.zeros(size))
    codes = GraphicalModel(domain, 1.0, (same, lone)).sample(5000, np.random.default_rng(0))
    np.testing.assert_array_equal(codes["x"].astype(int) + codes["y"], size - 1)
    chain = [
        Step((), ("x",), np.full((1, size), 1 / size)),
        Step(("x",), ("y",), np.eye(size)[::-1]),
    ]
    for rounded in (True, False):
        codes = ancestral(domain, chain, 5000, np.random.default_rng(1), rounded=rounded)
        np.testing.assert_array_equal(codes["x"].astype(int) + codes["y"], size - 1)


@BOTH
@pytest.mark.parametrize("name", NAMES)
def test_what_is_impossible_is_never_drawn(name, rounded):
    domain, cliques = SHAPES[name]
    rng = np.random.default_rng(2)
    zeros = []
    for clique in cliques or (domain.names[:1],):
        cells = rng.random(domain.shape(clique)) < 0.5
        cells[(0,) * len(clique)] = False
        zeros.append(Factor.impossible(clique, cells))
    model = model_of(name, rounded=rounded, factors=zeros)
    never = joint(domain, model.factors) == 0
    for seed, rows in [(0, ROWS), *((seed, 3) for seed in range(1, 60))]:
        counts = counted(domain, rows_of(model, rows, seed), domain.names)
        assert counts.sum() == rows
        assert counts[never].sum() == 0


class Stub:
    """A generator whose random offset is what it is told."""

    def __init__(self, offset):
        self.offset = offset

    def random(self, shape):
        return np.full(shape, self.offset)

    def permutation(self, count):
        return np.arange(count)


SHARES = st.lists(
    st.lists(st.sampled_from([0.0, 0.0, 0.1, 1 / 3, 0.5, 1e-12, 3.0]), min_size=5, max_size=5)
    .filter(any)
    .map(np.array),
    min_size=1,
    max_size=4,
).map(np.array)


@given(SHARES, st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 2**32 - 1))
def test_in_each_group_counts_are_the_expected_ones_rounded_up_or_down(shares, groups, seed):
    groups = np.array(groups) % len(shares)
    cells = drawn(shares, groups, np.random.default_rng(seed), rounded=True)
    for group, share in enumerate(shares):
        counts = np.bincount(cells[groups == group], minlength=5)
        expected = (groups == group).sum() * share / share.sum()
        assert np.abs(counts - expected).max() < 1 + 1e-9
        assert counts[share == 0].sum() == 0


@pytest.mark.parametrize("name", NAMES)
def test_in_a_model_too(name):
    # In the first clique all rows are one group; in a later one, those of equal separators.
    model = model_of(name, 3)
    codes = rows_of(model, 997)
    tree = model.tree
    for held, given_columns, table in zip(
        tree.cliques, tree.separators, model.beliefs.tables, strict=True
    ):
        counts = counted(model.domain, codes, held)
        beside = tuple(axis for axis, name in enumerate(held) if name not in given_columns)
        expected = table / table.sum(axis=beside, keepdims=True)
        expected = expected * counts.sum(axis=beside, keepdims=True)
        assert np.abs(counts - expected).max() < 1 + 1e-9


@given(SHARES, st.integers(1, 50), st.sampled_from([0.0, 0.5, 1 - 1e-9]))
def test_every_row_gets_a_cell_whatever_the_offset(shares, rows, offset):
    cells = drawn(shares[:1], np.zeros(rows, np.intp), Stub(offset), rounded=True)
    assert cells.shape == (rows,)
    assert (shares[0][cells] > 0).all()


@pytest.mark.parametrize("rows", [1, 4, 1000])
def test_every_row_gets_a_cell_at_the_largest_offset(rows):
    # A sum of rows and offset that rounds up to the next whole number makes one cell too many.
    cells = drawn(np.array([[0.5, 0.5]]), np.zeros(rows, np.intp), Stub(LARGEST), rounded=True)
    assert cells.shape == (rows,)


@BOTH
def test_a_last_cell_without_a_share_gets_no_row_of_however_many(rounded):
    # So many rows that the last digits of a double are worth some.
    rng = np.random.default_rng(0)
    for _ in range(50):
        shares = np.append(rng.random((1, int(rng.integers(2, 12)))), 0.0)[None]
        counts = _counts(shares, np.array([2**52]), rng, rounded=rounded)
        assert counts.sum() == 2**52
        assert counts[0, -1] == 0


@pytest.mark.statistical
@BOTH
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("name", ["chain", "star", "cycle", "nested"])
def test_few_rows_favour_no_cell(name, rows, rounded):
    # Two tests over 1,000 fixed seeds, each with false alarms of 1e-7. The last row alone, whose
    # place tells nothing, is one draw from the model: chi-square. And the mean count of all rows
    # in each pair of columns that occurs 40 times or more, against its spread over the seeds.
    # Power: always the first cell instead of a random one of the right group is seen at once; a
    # probability that is off by 0.1 lies 6 standard deviations away.
    model = model_of(name, 2, rounded=rounded, spread=0.7)
    runs, domain = 1000, model.domain
    rng = np.random.default_rng(3)
    sampled = [model.sample(rows, rng) for _ in range(runs)]
    whole = joint(domain, model.factors)
    last = {one: np.array([codes[one][-1] for codes in sampled]) for one in domain.names}
    assert pearson(counted(domain, last, domain.names), whole) > RARE
    far = -stats.norm.ppf(RARE / 200)  # of up to 100 cells, on both sides
    for pair in combinations(domain.names, 2):
        counts = np.array([counted(domain, codes, pair) for codes in sampled])
        expected = rows * summed(domain, whole, pair)
        off = counts.mean(axis=0) - expected
        spread = np.maximum(counts.std(axis=0), 0.05) / runs**0.5
        enough = runs * expected >= 40
        assert np.abs(off / spread)[enough].max(initial=0.0) < far


def sibling_chance(codes, domain, parent, one, other):
    """The chance of two columns so far from independent within the groups of a third (G-test)."""
    statistic, freedom = 0.0, 0
    for table in counted(domain, codes, (parent, one, other)):
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        there = table > 0
        statistic += 2 * float(np.sum(table[there] * np.log(table[there] / expected[there])))
        freedom += (table.shape[0] - 1) * (table.shape[1] - 1)
    return stats.chi2.sf(statistic, freedom)


@pytest.mark.statistical
@BOTH
def test_columns_that_share_a_parent_are_not_tied(rounded):
    # False alarms: 1e-7 for each of three pairs. Power: if the rows of a group got their cells in
    # one order for every child, each pair would be all but a function of the other.
    domain = Domain.of({"hub": 3, "x": 3, "y": 4, "z": 2})
    rng = np.random.default_rng(4)
    leaves = ("x", "y", "z")
    factors = tuple(
        Factor(("hub", leaf), rng.standard_normal((3, domain.sizes[leaf]))) for leaf in leaves
    )
    model = GraphicalModel(domain, 1.0, factors, rounded=rounded)
    codes = rows_of(model, seed=5)
    for one, other in combinations(leaves, 2):
        assert sibling_chance(codes, domain, "hub", one, other) > RARE
    tied = {name: np.sort(column) for name, column in codes.items()}
    assert sibling_chance(tied, domain, "hub", "x", "y") < RARE


@pytest.mark.statistical
@pytest.mark.parametrize("name", NAMES)
def test_rounded_draws_are_no_farther_from_the_model_than_plain_ones(name):
    # Mean total variation of all columns and pairs over 60 fixed seeds. A rounded draw that is
    # as good as a plain one would fail by chance; it is much better (half, for a chain), so that
    # a tenth lies 8 standard errors away.
    distance = {}
    for rounded in (True, False):
        model = model_of(name, 4, rounded=rounded)
        whole = joint(model.domain, model.factors)
        cliques = [c for size in (1, 2) for c in combinations(model.domain.names, size)]
        rng = np.random.default_rng(6)
        apart = []
        for _ in range(60):
            codes = model.sample(300, rng)
            for clique in cliques:
                shares = counted(model.domain, codes, clique) / 300
                apart.append(np.abs(shares - summed(model.domain, whole, clique)).sum() / 2)
        distance[rounded] = np.mean(apart)
    assert distance[True] <= distance[False]
    assert distance[True] <= 0.9 * distance[False]


@pytest.mark.statistical
@BOTH
@pytest.mark.parametrize("name", NAMES)
def test_given_codes_the_other_columns_follow(name, rounded):
    # False alarms: 1e-7 for each of at most ten marginals.
    model = model_of(name, 5, rounded=rounded)
    domain = model.domain
    known = {domain.names[0]: 1, domain.names[-1]: 0}
    codes = rows_of(model.given(known), seed=7)
    for column, code in known.items():
        assert (codes[column] == code).all()
    evidence = [Factor.evidence(domain, column, code) for column, code in known.items()]
    whole = joint(domain, [*model.factors, *evidence])
    for clique in combinations(domain.names, 2):
        assert pearson(counted(domain, codes, clique), summed(domain, whole, clique)) > RARE


@BOTH
@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_draws_the_same_rows(name, rounded):
    model = model_of(name, rounded=rounded)
    one, again, other = (rows_of(model, 200, seed) for seed in (8, 8, 9))
    for column in model.domain.names:
        np.testing.assert_array_equal(one[column], again[column], strict=True)
    assert any((one[column] != other[column]).any() for column in model.domain.names)


def test_rows_come_in_no_order():
    # A run of equal codes would be told from chance by its first half alone.
    codes = rows_of(model_of("chain"), seed=10)
    for column in codes.values():
        half = ROWS // 2
        off = column[:half].mean() - column[half:].mean()
        assert abs(off) < 6 * column.std() * (4 / ROWS) ** 0.5


def test_columns_may_be_drawn_in_any_order_and_come_in_the_domains():
    domain = Domain.of({"x": 2, "y": 3, "left": 2})
    steps = [
        Step((), ("y",), np.array([[0.2, 0.3, 0.5]])),
        Step(("y",), ("x",), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])),
    ]
    codes = ancestral(domain, steps, 10, np.random.default_rng(0), rounded=True)
    assert list(codes) == ["x", "y"]
    assert np.bincount(codes["y"]).tolist() == [2, 3, 5]
    np.testing.assert_array_equal(codes["x"], codes["y"] == 1)


def test_a_model_says_itself_how_it_draws():
    model = model_of("chain")
    plain = replace(model, rounded=False)
    assert model.rounded
    counts = [counted(m.domain, rows_of(m, 1000), ("a", "b")) for m in (model, plain)]
    expected = 1000 * model.beliefs.marginal(("a", "b"))
    assert np.abs(counts[0] - expected).max() < np.abs(counts[1] - expected).max()


def test_a_long_table_is_drawn_column_by_column_and_within_the_models_memory():
    # One clique of 100 x 100 x 60 cells: drawn at once it would take several times its room.
    domain = Domain.of({"a": 100, "b": 100, "c": 60})
    rng = np.random.default_rng(0)
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    factors = tuple(Factor(pair, rng.normal(0, 0.5, domain.shape(pair))) for pair in pairs)
    model = GraphicalModel(domain, 1000.0, factors)
    assert model.tree.cells == 600_000
    tracemalloc.start()
    codes = model.sample(20_000, np.random.default_rng(1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= needed_bytes(domain, pairs)
    for name in "abc":
        share = model.beliefs.marginal((name,))
        counts = np.bincount(codes[name], minlength=len(share))
        assert stats.chisquare(counts, 20_000 * share).pvalue > 1e-6
    # Given b, a column drawn after another still follows it: the pair is as the model says.
    pair = np.bincount(codes["a"].astype(int) * 60 + codes["c"], minlength=6000) / 20_000
    expected = model.beliefs.marginal(("a", "c")).ravel()
    apart = np.multiply.outer(*(model.beliefs.marginal((n,)) for n in "ac")).ravel()
    assert np.square(pair - expected).sum() < np.square(pair - apart).sum()
