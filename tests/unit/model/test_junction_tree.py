import itertools
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.shapes import NAMES, SHAPES
from understudy.domain import Domain
from understudy.errors import BadInput, ModelTooLarge, UnknownColumn
from understudy.model.estimate import check_bytes, estimate, needed_bytes
from understudy.model.factor import Factor
from understudy.model.junction_tree import JunctionTree, joined_cliques
from understudy.privacy.answers import Measurement

COLUMNS = "abcdefgh"
GRAPHS = st.integers(1, len(COLUMNS)).flatmap(
    lambda count: st.tuples(
        st.lists(st.integers(1, 4), min_size=count, max_size=count).map(
            lambda sizes: Domain.of(dict(zip(COLUMNS, sizes, strict=False)))
        ),
        st.lists(
            st.permutations(COLUMNS[:count]).flatmap(
                lambda names: st.integers(0, min(4, count)).map(lambda k: tuple(names[:k]))
            ),
            max_size=10,
        ),
    )
)
WIDE = Domain.of({f"c{k}": 10 for k in range(12)})
ALL_PAIRS = list(itertools.combinations(WIDE.names, 2))
"""Small marginals that tie 10¹² cells together."""
LITTLE = 2**20
FAST = 1.0


def check_tree(tree, domain, cliques):
    assert tree.domain == domain
    assert {name for held in tree.cliques for name in held} == set(domain.names)
    for held in tree.cliques:
        assert held == domain.canonical(held)
    for one, other in itertools.permutations(tree.cliques, 2):
        assert not set(one) <= set(other)
    for clique in cliques:
        assert set(clique) <= set(tree.cliques[tree.home_of(clique)])
    # Parents first.
    assert tree.parents[0] == -1
    assert all(0 <= parent < place for place, parent in enumerate(tree.parents) if place)
    for place, parent in enumerate(tree.parents):
        shared = set(tree.cliques[place]) & set(tree.cliques[parent]) if place else set()
        assert set(tree.separators[place]) == shared
    # Running intersection: the cliques that hold a column hang together. In a tree that is so
    # if exactly one of them has a parent without the column.
    for name in domain.names:
        holding = [place for place, held in enumerate(tree.cliques) if name in held]
        tops = [k for k in holding if k == 0 or name not in tree.cliques[tree.parents[k]]]
        assert len(tops) == 1
    for place in range(len(tree.cliques)):
        below = {
            name
            for other, held in enumerate(tree.cliques)
            if place in ancestors(tree, other)
            for name in held
        }
        assert tree.columns_below[place] == below
    assert tree.cells == sum(domain.size(held) for held in tree.cliques)


def ancestors(tree, place):
    """A clique's place, its parent's, and so on up to the first."""
    found = []
    while place >= 0:
        found.append(place)
        place = tree.parents[place]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_each_shape_has_a_tree(name):
    domain, cliques = SHAPES[name]
    check_tree(JunctionTree.of(domain, cliques), domain, cliques)


@given(GRAPHS)
def test_any_cliques_have_a_tree(graph):
    domain, cliques = graph
    check_tree(JunctionTree.of(domain, cliques), domain, cliques)


@given(GRAPHS)
def test_the_tree_does_not_depend_on_how_often_or_in_which_order_cliques_are_named(graph):
    domain, cliques = graph
    again = [clique[::-1] for clique in reversed(cliques)] + cliques[:2]
    assert JunctionTree.of(domain, again) == JunctionTree.of(domain, cliques)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("chain", {"ab", "bc", "cd"}),
        ("disconnected", {"ad", "bc"}),
        ("nested", {"abc", "cd"}),
        ("single", {"a"}),
        ("empty", {"a", "b", "c"}),
    ],
)
def test_shapes_without_a_cycle_keep_their_cliques(name, expected):
    domain, cliques = SHAPES[name]
    assert {"".join(clique) for clique in joined_cliques(domain, cliques)} == expected


def test_a_cycle_is_cut_along_its_cheaper_side():
    domain, cliques = SHAPES["cycle"]  # a=2, b=3, c=3, d=2: b-d joins 12 + 18 cells, a-c as many
    assert len(joined_cliques(domain, cliques)) == 2
    dear = Domain.of({"a": 2, "b": 9, "c": 2, "d": 9})
    assert set(joined_cliques(dear, cliques)) == {("a", "b", "c"), ("a", "c", "d")}


@st.composite
def chordal(draw):
    """Cliques of a graph without long cycles: each column joins some of an earlier clique."""
    names = list(COLUMNS[: draw(st.integers(1, len(COLUMNS)))])
    sizes = {name: draw(st.integers(1, 4)) for name in names}
    cliques = [(names[0],)]
    for name in names[1:]:
        old = draw(st.sampled_from(cliques))
        kept = draw(st.lists(st.sampled_from(old), unique=True))
        cliques.append((*kept, name))
    order = draw(st.permutations(names))
    return Domain.of({name: sizes[name] for name in order}), draw(st.permutations(cliques))


@given(chordal())
def test_nothing_is_added_where_no_cycle_is_left_open(graph):
    domain, cliques = graph
    sets = {frozenset(clique) for clique in cliques}
    widest = {one for one in sets if not any(one < other for other in sets)}
    found = joined_cliques(domain, cliques)
    assert len(found) == len(widest)
    assert {frozenset(clique) for clique in found} == widest


def slowly_joined(domain, cliques):
    """Min-fill, every price counted anew for each column that is removed."""
    near = {name: set() for name in domain.names}
    for clique in cliques:
        for name in clique:
            near[name] |= {*clique} - {name}

    def price(name):
        pairs = itertools.combinations(near[name], 2)
        ties = sum(other not in near[one] for one, other in pairs)
        return ties, domain.size((name, *near[name])), domain.names.index(name)

    found = []
    while near:
        gone = min(near, key=price)
        around = near.pop(gone)
        found.append({gone, *around})
        for name in around:
            near[name] = (near[name] | around) - {name, gone}
    return {
        domain.canonical(tuple(one)) for one in found if not any(one < other for other in found)
    }


@given(GRAPHS)
def test_each_column_removed_is_the_one_that_ties_the_fewest_anew(graph):
    domain, cliques = graph
    assert set(joined_cliques(domain, cliques)) == slowly_joined(domain, cliques)


@pytest.mark.parametrize("seed", range(10))
def test_so_it_is_among_many_columns(seed):
    rng = np.random.default_rng(seed)
    domain = Domain.of({f"c{k}": int(size) for k, size in enumerate(rng.integers(1, 5, 14))})
    pairs = [tuple(rng.choice(domain.names, 2, replace=False).tolist()) for _ in range(24)]
    assert set(joined_cliques(domain, pairs)) == slowly_joined(domain, pairs)


def test_the_home_of_columns_is_the_smallest_clique_that_holds_them():
    domain = Domain.of({"a": 5, "b": 2, "c": 2})
    tree = JunctionTree.of(domain, [("a", "b"), ("b", "c")])
    assert tree.cliques[tree.home(("b",))] == ("b", "c")
    assert tree.cliques[tree.home(())] == ("b", "c")
    assert tree.cliques[tree.home(("b", "a"))] == ("a", "b")
    assert tree.home(("a", "c")) is None
    with pytest.raises(BadInput, match=r"\(a, c\) in no single clique"):
        tree.home_of(("a", "c"))


@pytest.mark.parametrize("clique", [("a", "x"), ("a", "a")])
def test_columns_that_are_unknown_or_named_twice_are_refused(clique):
    with pytest.raises(BadInput):
        JunctionTree.of(Domain.of({"a": 2}), [clique])


def test_a_tree_of_many_columns_is_made_fast():
    domain = Domain.of({f"c{k}": 50 for k in range(200)})
    rng = np.random.default_rng(0)
    pairs = [
        (domain.names[k], domain.names[int(rng.integers(max(0, k - 4), k))]) for k in range(1, 200)
    ]
    before = time.process_time()
    tree = JunctionTree.of(domain, pairs)
    assert time.process_time() - before < FAST
    assert len(tree.cliques) == 199


def test_needed_bytes_count_the_tree_and_the_measured_cells():
    domain = Domain.of({"a": 10, "b": 20, "c": 30, "d": 40})
    assert needed_bytes(domain, [("a", "b")]) == 8 * (3 * (200 + 30 + 40) + 16 * 200)
    # The same marginal named twice is held once; one within another is held by itself.
    named = [("a", "b"), ("b", "a"), ("a",)]
    assert needed_bytes(domain, named) == 8 * (3 * 270 + 16 * 210)
    # A cycle is filled in: the tree holds three columns at once, b with d or a with c.
    cycle = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    tree = JunctionTree.of(domain, cycle).cells
    assert tree == min(200 * 30 + 1200 * 10, 200 * 40 + 1200 * 20)
    assert needed_bytes(domain, cycle) == 8 * (3 * tree + 16 * (200 + 600 + 1200 + 400))


def test_needed_bytes_are_exact_integers_however_large():
    domain = Domain.of({f"c{k}": 1000 for k in range(30)})
    assert needed_bytes(domain, [domain.names]) == 8 * 19 * 1000**30


def test_a_model_is_refused_one_byte_beyond_its_limit():
    domain, cliques = SHAPES["cycle"]
    needed = needed_bytes(domain, cliques)
    check_bytes(domain, cliques, needed)
    with pytest.raises(ModelTooLarge) as refused:
        check_bytes(domain, cliques, needed - 1)
    assert refused.value.needed == needed
    assert refused.value.limit == needed - 1
    with pytest.raises(UnknownColumn):
        check_bytes(domain, [("x",)], needed)


def held_at_most(work):
    """What the work raised, the bytes at its peak and its seconds."""
    tracemalloc.start()
    before = time.process_time()
    try:
        with pytest.raises(ModelTooLarge) as refused:
            work()
        return refused.value, tracemalloc.get_traced_memory()[1], time.process_time() - before
    finally:
        tracemalloc.stop()


def asked_alone():
    check_bytes(WIDE, [WIDE.names], 2**40)


def tied_by_pairs():
    check_bytes(WIDE, ALL_PAIRS, 2**40)


def estimated():
    measured = [Measurement(pair, np.ones((10, 10)), 1.0) for pair in ALL_PAIRS]
    estimate(WIDE, measured)


def tied_by_zeros():
    zeros = [Factor.impossible(pair, np.eye(10) > 0) for pair in ALL_PAIRS]
    estimate(WIDE, [], zeros=zeros)


@pytest.mark.parametrize("work", [asked_alone, tied_by_pairs, estimated, tied_by_zeros])
def test_what_does_not_fit_is_refused_before_anything_is_allocated(work):
    error, peak, seconds = held_at_most(work)
    assert error.clique == WIDE.names
    assert f"({', '.join(WIDE.names)})" in str(error)
    assert error.needed >= 8 * 3 * 10**12
    assert peak < LITTLE
    assert seconds < FAST
