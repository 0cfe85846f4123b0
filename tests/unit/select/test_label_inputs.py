"""What labels may go by: all independences hold in features with labels, by brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.column import Column, Kind
from understudy.encode import Encoding
from understudy.knowledge import Independence
from understudy.model.information import conditional_information
from understudy.schema import Schema
from understudy.select.label_inputs import evened, input_tables, keeps, kept_inputs
from understudy.separation import Separation

NAMES = ("a", "b", "c", "d")


def joint_of(cliques, inputs, seed):
    """A law of four binary columns that multiplies together from cliques, and a label y."""
    rng = np.random.default_rng(seed)
    law = np.ones((2,) * 4)
    for clique in cliques:
        axes = sorted(NAMES.index(name) for name in clique)
        shape = [2 if place in axes else 1 for place in range(4)]
        law = law * rng.uniform(0.05, 1, [2] * len(axes)).reshape(shape)
    law /= law.sum()
    shape = [2 if name in inputs else 1 for name in NAMES]
    chance = np.broadcast_to(rng.uniform(0.05, 0.95, shape), law.shape)
    return np.stack([law * (1 - chance), law * chance], axis=-1)


def information(joint, one):
    names = (*NAMES, "y")
    axes = [
        [names.index(name) for name in side] for side in (one.outcome, one.protected, one.given)
    ]
    kept = [axis for side in axes for axis in side]
    table = joint.sum(axis=tuple(axis for axis in range(5) if axis not in kept))
    order = [sorted(kept).index(axis) for axis in kept]
    shape = [2 ** len(side) for side in axes]
    return conditional_information(table.transpose(order).reshape(shape))


@st.composite
def sentences(draw):
    order = draw(st.permutations((*NAMES, "y")))
    given_count = draw(st.integers(0, 3))
    return Independence([order[0]], [order[1]], given=list(order[2 : 2 + given_count]))


PAIRS = list(itertools.combinations(NAMES, 2))


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from(PAIRS), max_size=4, unique=True),
    st.sets(st.sampled_from(NAMES)),
    st.lists(sentences(), min_size=1, max_size=2),
    st.integers(0, 5),
)
def test_where_inputs_keep_an_independence_it_holds_in_every_law(cliques, inputs, stated, seed):
    if keeps(Separation(stated), cliques, "y", sorted(inputs)):
        joint = joint_of(cliques, inputs, seed)
        assert max(information(joint, one) for one in stated) < 1e-12


def test_what_would_break_an_independence_is_left_out():
    allowed = Separation(["y _||_ a | b"])
    cliques = [("a", "b"), ("b", "c"), ("a", "d")]
    assert kept_inputs(allowed, cliques, "y", NAMES) == ["b", "c"]
    # d is tied to a, and a is the other side; both would tell.
    for bad in ("a", "d"):
        assert information(joint_of(cliques, {bad}, 0), allowed.independences[0]) > 1e-4


def test_an_independence_of_others_is_not_touched_unless_the_label_is_given():
    cliques = [("a", "c")]
    assert keeps(Separation(["a _||_ b"]), cliques, "y", ["a", "b"])
    assert not keeps(Separation(["a _||_ b | y"]), cliques, "y", ["a", "b"])
    assert keeps(Separation(["a _||_ b | y"]), cliques, "y", ["a", "c"])
    assert information(joint_of(cliques, {"a", "b"}, 0), Independence("a", "b")) < 1e-12
    assert information(joint_of(cliques, {"a", "b"}, 0), Independence("a", "b", given="y")) > 1e-5


def test_a_target_that_features_were_drawn_with_and_that_is_forgotten_still_ties_them():
    # Features were drawn with an older y, by which c tells of a.
    assert not keeps(Separation(["y _||_ a"]), [("a", "y"), ("y", "c")], "y", ["c"])
    assert keeps(Separation(["y _||_ a"]), [("a", "d"), ("y", "c")], "y", ["c"])


def test_any_rule_is_asked_about_each_pair():
    def allowed(cliques):
        return not any({"a", "y"} <= {*clique} for clique in cliques)

    assert kept_inputs(allowed, [("a", "b")], "y", NAMES) == ["b", "c", "d"]


@pytest.mark.parametrize("count", [1, 7])
def test_a_row_of_inputs_is_no_longer_than_one(count):
    columns = [Column(name="word", kind=Kind.CATEGORICAL, categories=("x", "y"), null=True)]
    columns += [
        Column(name=f"n{k}", kind=Kind.REAL, bounds=(0, 1), bins=5, null=k % 2 == 0)
        for k in range(count)
    ]
    encoding = Encoding(Schema(tuple(columns)))
    tables = input_tables(encoding.cells, [column.name for column in columns])
    assert tables["word"].shape == (3, 3)
    assert tables["n0"].shape == (6, 7)
    longest = sum((table**2).sum(axis=1).max() for table in tables.values())
    assert longest <= 1
    # Codes in their order, from one end to the other; what is missing has no place.
    places = tables["n0"][:, -1]
    assert list(np.sign(places)) == [-1, -1, 0, 1, 1, 0]


def test_rare_codes_have_larger_inputs_and_rows_stay_as_long():
    rng = np.random.default_rng(0)
    drawn = {"a": rng.choice(3, 5000, p=[0.9, 0.09, 0.01]), "b": rng.integers(0, 4, 5000)}
    place = np.linspace(-1, 1, 4)[:, None]
    tables = {"a": np.eye(3) / 2, "b": np.concatenate([np.eye(4), place], axis=1) / 2}
    found = evened(tables, drawn)
    own = np.diag(found["a"])
    assert own[0] < own[1] < own[2] <= 6 * own[0]
    np.testing.assert_allclose(found["b"], tables["b"], rtol=0.1)  # all codes are as common
    np.testing.assert_array_equal(found["b"][:, 4], tables["b"][:, 4])
    assert np.mean(own[drawn["a"]] ** 2) == pytest.approx(0.25, rel=0.01)


def test_codes_that_nobody_drew_have_inputs_too():
    found = evened({"a": np.eye(3)}, {"a": np.zeros(0, np.uint8)})
    assert np.isfinite(found["a"]).all()
    found = evened({"a": np.eye(3)}, {"a": np.zeros(100, np.uint8)})
    assert (np.diag(found["a"]) > 0).all()
