import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from helpers.shapes import NAMES, PRECISE, SHAPES, potentials, random_factors, small_cliques, summed
from understudy.domain import Domain
from understudy.errors import BadInput
from understudy.model.factor import Factor, joint, product
from understudy.model.graphical import GraphicalModel, gathered
from understudy.model.junction_tree import JunctionTree
from understudy.model.marginals import Inference

RANDOM = st.integers(0, 2**32 - 1).map(np.random.default_rng)
CLOSE = 1e-9
"""Relative; of logarithms in the thousands the last digits are worth so much."""


def beliefs_of(domain, factors, *more):
    """The marginals on a tree that may hold more cliques than the factors need."""
    tree = JunctionTree.of(domain, [*(factor.clique for factor in factors), *more])
    return Inference(tree).beliefs(gathered(tree, factors))


def check_against_joint(domain, factors, beliefs, rtol=PRECISE):
    table = joint(domain, factors)
    for clique, found in zip(beliefs.tree.cliques, beliefs.tables, strict=True):
        np.testing.assert_allclose(found, summed(domain, table, clique), rtol, atol=1e-300)
    whole = product(domain, domain.names, factors)
    assert beliefs.log_total == pytest.approx(logsumexp(whole), rel=PRECISE, abs=PRECISE)
    for clique in small_cliques(domain):
        found = beliefs.marginal(clique)
        assert found.shape == domain.shape(clique)
        np.testing.assert_allclose(found, summed(domain, table, clique), rtol, atol=1e-300)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_marginals_are_those_of_the_joint_table(name, seed):
    domain, _ = SHAPES[name]
    factors = potentials(name, seed, spread=2.0)
    check_against_joint(domain, factors, beliefs_of(domain, factors))


@pytest.mark.parametrize("name", NAMES)
def test_a_tree_that_holds_more_than_it_needs_gives_the_same(name):
    domain, _ = SHAPES[name]
    factors = potentials(name, 3)
    more = (domain.names[0], domain.names[-1]) if len(domain) > 1 else ()
    check_against_joint(domain, factors, beliefs_of(domain, factors, more))


@pytest.mark.parametrize("name", NAMES)
def test_a_model_counts_what_the_joint_table_holds(name):
    domain, _ = SHAPES[name]
    factors = potentials(name, 4)
    model = GraphicalModel(domain, 250.0, factors)
    table = 250.0 * joint(domain, factors)
    for clique in small_cliques(domain):
        np.testing.assert_allclose(model.marginal(clique), summed(domain, table, clique), PRECISE)


def test_without_factors_all_cells_are_alike():
    domain, _ = SHAPES["empty"]
    beliefs = beliefs_of(domain, ())
    assert beliefs.log_total == pytest.approx(np.log(6))
    np.testing.assert_allclose(beliefs.marginal(("c", "a")), np.full((2, 3), 1 / 6))


@given(
    RANDOM,
    st.lists(st.integers(1, 3), min_size=2, max_size=7),
    st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=3), max_size=7),
    st.permutations(range(7)),
    st.integers(0, 5),
)
def test_any_columns_of_any_graph(rng, sizes, cliques, order, wanted):
    domain = Domain.of({f"c{k}": size for k, size in enumerate(sizes)})
    names = [tuple(f"c{k}" for k in sorted(clique) if k < len(sizes)) for clique in cliques]
    factors = random_factors(domain, [clique for clique in names if clique], rng, spread=3.0)
    asked = tuple([f"c{k}" for k in order if k < len(sizes)][:wanted])
    found = beliefs_of(domain, factors).marginal(asked)
    expected = summed(domain, joint(domain, factors), asked)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-300)


def test_the_ends_of_a_long_chain_are_joined_through_it():
    # Beyond what brute force can hold; a product of matrices tells the same.
    count, size = 60, 3
    domain = Domain.of({f"c{k}": size for k in range(count)})
    pairs = list(itertools.pairwise(domain.names))
    factors = random_factors(domain, pairs, np.random.default_rng(5), spread=0.7)
    table = np.eye(size)
    for factor in factors:
        table = table @ np.exp(factor.log)
    found = beliefs_of(domain, factors).marginal((domain.names[-1], domain.names[0]))
    np.testing.assert_allclose(found, (table / table.sum()).T, rtol=1e-10)


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_given_codes_the_rest_is_as_brute_force_says(name, columns):
    domain, _ = SHAPES[name]
    factors = potentials(name, 6)
    whole = joint(domain, factors)
    model = GraphicalModel(domain, 80.0, factors)
    for names in itertools.combinations(domain.names, min(columns, len(domain))):
        codes = {one: domain.sizes[one] - 1 for one in names}
        narrowed = np.zeros_like(whole)
        place = tuple(codes.get(one, slice(None)) for one in domain.names)
        narrowed[place] = whole[place]
        found = model.given(codes)
        assert found.total == pytest.approx(80.0 * narrowed.sum(), rel=1e-10)
        for clique in small_cliques(domain, 2):
            expected = 80.0 * summed(domain, narrowed, clique)
            np.testing.assert_allclose(found.marginal(clique), expected, 1e-10, atol=1e-300)


def random_zeros(name, seed):
    """Impossible cells in each clique of a shape and in a pair of its own; some cell stays."""
    domain, cliques = SHAPES[name]
    rng = np.random.default_rng(seed)
    zeros = []
    for clique in (*cliques, domain.names[:2]):
        cells = rng.random(domain.shape(clique)) < 0.4
        cells[(0,) * len(clique)] = False
        zeros.append(Factor.impossible(clique, cells))
    return tuple(zeros)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_structural_zeros_stay_exactly_zero(name, seed):
    domain, _ = SHAPES[name]
    factors = (*potentials(name, seed), *random_zeros(name, seed))
    beliefs = beliefs_of(domain, factors)
    check_against_joint(domain, factors, beliefs)
    table = joint(domain, factors)
    for clique in small_cliques(domain):
        never = summed(domain, table, clique) == 0
        assert (beliefs.marginal(clique)[never] == 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_zeros_that_leave_no_row_are_refused(name):
    domain, _ = SHAPES[name]
    first, size = domain.names[0], domain.sizes[domain.names[0]]
    last, most = domain.names[-1], domain.sizes[domain.names[-1]]
    ruled_out = [
        Factor.impossible((first,), np.arange(size) == 0),
        Factor.impossible((first, last), np.indices((size, most))[0] != 0)
        if last != first
        else Factor.impossible((first,), np.arange(size) != 0),
    ]
    with pytest.raises(BadInput, match="No row is possible"):
        beliefs_of(domain, [*potentials(name), *ruled_out])


def test_zeros_that_contradict_each_other_far_apart_are_refused():
    domain = Domain.of({"a": 2, "b": 2, "c": 2, "d": 2})
    same = [Factor.impossible(pair, np.eye(2) == 0) for pair in itertools.pairwise("abcd")]
    ends = [Factor.evidence(domain, "a", 0), Factor.evidence(domain, "d", 1)]
    beliefs_of(domain, [*same, ends[0]])
    with pytest.raises(BadInput, match="No row is possible"):
        beliefs_of(domain, [*same, *ends])


@pytest.mark.parametrize("spread", [800.0, 2000.0])
@pytest.mark.parametrize("name", NAMES)
def test_extreme_potentials_stay_exact(name, spread):
    # Far beyond what an exponential can hold: e^800 overflows, e^-800 is zero.
    domain, cliques = SHAPES[name]
    rng = np.random.default_rng(7)
    factors = [
        Factor(c, spread * rng.choice([-1.0, 0.0, 1.0], domain.shape(c)) + rng.random())
        for c in cliques
    ]
    check_against_joint(domain, factors, beliefs_of(domain, factors), CLOSE)


@pytest.mark.parametrize("name", NAMES)
def test_extreme_potentials_beside_impossible_cells_stay_exact(name):
    domain, cliques = SHAPES[name]
    rng = np.random.default_rng(8)
    factors = []
    for clique in cliques:
        log = rng.choice([-800.0, 800.0, -np.inf, 0.5], domain.shape(clique))
        log[(0,) * len(clique)] = -800.0
        factors.append(Factor(clique, log))
    check_against_joint(domain, factors, beliefs_of(domain, factors), CLOSE)


def test_what_one_clique_all_but_rules_out_its_neighbour_may_bring_back():
    # b = 1 is e^-2000 in one clique and e^2000 in the next; together it is as likely as b = 0.
    domain = Domain.of({"a": 2, "b": 2, "c": 2, "d": 2})
    tilt = np.array([[0.0, -2000.0], [0.0, -2000.0]])
    for pull in (tilt, tilt + np.array([[0.0], [np.log(3)]])):
        factors = [
            Factor(("a", "b"), pull),
            Factor(("c", "b"), -tilt),
            Factor(("c", "d"), np.array([[2000.0, 2000.0], [0.0, 0.0]])),
            Factor(("d", "c"), np.array([[-2000.0, 0.0], [-2000.0, np.log(2)]])),
        ]
        beliefs = beliefs_of(domain, factors)
        check_against_joint(domain, factors, beliefs, CLOSE)
        np.testing.assert_allclose(beliefs.marginal(("b",)), [0.5, 0.5], rtol=CLOSE)


def test_unknown_and_repeated_columns_are_refused():
    domain, _ = SHAPES["chain"]
    beliefs = beliefs_of(domain, potentials("chain"))
    for clique in (("x",), ("a", "a")):
        with pytest.raises(BadInput):
            beliefs.marginal(clique)
