"""Independences, kept by what is measured: against paths that are walked one by one."""

import itertools

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from helpers.independences import cliques, independences, separated, walked
from understudy.errors import BadInput, UnknownColumn
from understudy.knowledge import Independence
from understudy.separation import Separation, tied

NAMES = "abcdefg"
STATED = st.lists(independences(NAMES), min_size=1, max_size=3)


@given(STATED, cliques(NAMES, most=4))
@settings(max_examples=300)
def test_marginals_are_allowed_exactly_if_no_path_goes_around_the_given(stated, measured):
    kept = separated(stated, measured)
    event(f"kept: {kept}")
    assert Separation(stated)(measured) == kept


def test_all_graphs_of_four_columns_are_judged_as_by_walking():
    pairs = list(itertools.combinations("abcd", 2))
    seen = set()
    for stated in ("a _||_ b", "a _||_ b | c", "a _||_ b | c, d", "a, c _||_ b | d"):
        one = Independence.parse(stated)
        for chosen in itertools.product((False, True), repeat=len(pairs)):
            graph = [pair for pair, there in zip(pairs, chosen, strict=True) if there]
            kept = not walked(one, graph)
            assert Separation([one])(graph) == kept, (stated, graph)
            seen.add((stated, kept))
    assert len(seen) == 8  # each sentence is kept by some graphs, and broken by others


@given(STATED, cliques(NAMES), st.randoms(use_true_random=False))
def test_the_order_of_marginals_and_of_their_columns_does_not_matter(stated, measured, random):
    before = Separation(stated)(measured)
    turned = [tuple(random.sample(clique, len(clique))) for clique in measured]
    random.shuffle(turned)
    assert Separation(stated)(turned) == before
    random.shuffle(stated)
    assert Separation(stated)(turned) == before


@given(STATED, cliques(NAMES))
def test_one_marginal_after_the_other_is_judged_as_all_at_once(stated, measured):
    allowed = Separation(stated)
    one_by_one = [allowed(measured[: number + 1]) for number in range(len(measured))]
    assert one_by_one == [separated(stated, measured[: k + 1]) for k in range(len(measured))]
    # What is broken stays broken.
    assert one_by_one == sorted(one_by_one, reverse=True)


@given(STATED, st.lists(cliques(NAMES), min_size=12, max_size=14))
def test_what_was_asked_before_changes_no_answer(stated, asked):
    # More than are kept in mind, each asked twice, and by an equal value made anew.
    allowed = Separation(stated)
    first = [allowed(measured) for measured in asked]
    assert [allowed(measured) for measured in asked] == first
    assert [Separation(list(stated))(measured) for measured in asked] == first
    assert first == [separated(stated, measured) for measured in asked]


@given(independences(NAMES), cliques(NAMES))
def test_sides_may_be_swapped_and_an_independence_stated_twice(one, measured):
    swapped = Independence(one.protected, one.outcome, one.given)
    assert Separation([one])(measured) == Separation([swapped])(measured)
    assert Separation([one, one]) == Separation([one])
    assert Separation([one, swapped])(measured) == Separation([one])(measured)


@given(STATED, st.sampled_from(list(itertools.combinations(NAMES, 2))))
def test_two_columns_are_apart_if_no_marginal_may_hold_both(stated, pair):
    apart = any(
        {*pair} & {*one.outcome} and {*pair} & {*one.protected}
        for one in stated  # a given column beside one of a side makes no path
    )
    assert Separation(stated).apart(*pair) == apart
    assert Separation(stated).apart(*pair[::-1]) == apart


def test_single_columns_and_nothing_are_always_allowed():
    allowed = Separation(["a _||_ b", "c _||_ d | e"])
    assert allowed([])
    assert allowed([()])
    assert allowed([("a",), ("b",), ("c",), ("d",), ("e",), ()])
    assert not allowed([(), ("a",), ("a", "b")])


def test_a_set_on_a_side_is_kept_apart_column_by_column():
    allowed = Separation(["a, b _||_ c, d | z"])
    assert allowed([("a", "b"), ("c", "d")])
    assert allowed([("a", "b", "z"), ("z", "c", "d")])
    assert not allowed([("a", "b"), ("c", "d"), ("b", "x"), ("x", "d")])
    # A path through another column of a side is a path.
    assert not allowed([("a", "b"), ("b", "c")])


def test_independences_that_share_columns_are_kept_all():
    allowed = Separation(["a _||_ b | c", "a _||_ c | b"])
    assert allowed([("b", "c")])
    assert not allowed([("a", "c")])
    assert not allowed([("a", "b")])
    # a may be tied to further columns, as long as these reach neither.
    assert allowed([("b", "c"), ("a", "d")])
    assert not allowed([("b", "c"), ("a", "d"), ("d", "c")])


def test_nothing_stated_allows_everything_and_is_false():
    assert not Separation()
    assert Separation()([("a", "b"), ("b", "c")])
    assert not Separation().apart("a", "b")
    assert Separation(["a _||_ b"])


@pytest.mark.parametrize(
    "stated",
    [
        "a _||_ b | c, d",
        ["a _||_ b | c, d"],
        ["a ⟂ b | c,d"],
        (sentence for sentence in ["a ⊥ b|c , d"]),
        Independence("a", "b", ["c", "d"]),
        [Independence(["a"], ("b",), ("c", "d"))],
        ["a _||_ b | c, d", Independence("a", "b", ("c", "d"))],
    ],
    ids=lambda stated: type(stated).__name__,
)
def test_independences_are_read_from_sentences_or_values(stated):
    assert Separation(stated).independences == (Independence("a", "b", ["c", "d"]),)


@pytest.mark.parametrize("stated", [[3], [None], [("a", "b")], 3, None], ids=str)
def test_what_is_no_independence_is_refused(stated):
    with pytest.raises(BadInput, match="State independences as Independence"):
        Separation(stated)


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("a _||_ a", "named twice: a"),
        ("a _||_ b | a", "named twice: a"),
        ("a, b _||_ c | d, c", "named twice: c"),
        ("a, a _||_ c", "named twice: a"),
        (" , _||_ c", "needs columns on both sides"),
        ("a _||_ , | c", "needs columns on both sides"),
        ("a b", "is no independence"),
        ("a | b", "is no independence"),
        ("", "is no independence"),
    ],
)
def test_a_sentence_that_makes_no_sense_is_refused(sentence, message):
    with pytest.raises(BadInput, match=message):
        Separation([sentence])


@pytest.mark.parametrize("name", [3, [3], ["a", None], [["a"]]], ids=str)
@pytest.mark.parametrize("place", range(3))
def test_a_column_is_named_by_text(place, name):
    sides = ["x", "y", "z"]
    sides[place] = name
    with pytest.raises(BadInput, match=r"; (name columns|columns are named by text)"):
        Independence(*sides)


@pytest.mark.parametrize("place", range(3))
def test_a_column_that_is_not_there_is_refused_on_each_side(place):
    sides = ["a", "b", "c"]
    sides[place] = "nowhere"
    with pytest.raises(UnknownColumn, match="nowhere"):
        Separation([Independence(*sides)]).check(["a", "b", "c"])
    Separation(["a _||_ b | c"]).check(["c", "b", "a", "d"])


@given(cliques(NAMES), st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
def test_columns_are_tied_if_marginals_lead_from_one_to_the_other(measured, columns):
    part = tied(columns, measured)
    assert list(part) == columns
    for one, other in itertools.combinations(columns, 2):
        assert (part[one] == part[other]) == walked(Independence(one, other), measured)
