"""Independences: how they are written, read back, and refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import BadInput
from understudy.knowledge import Independence

NAMES = st.text("abcXYZ019_é", min_size=1, max_size=6)


@pytest.mark.parametrize("sign", ["_||_", "⟂", "⊥"])
@pytest.mark.parametrize("blank", ["", " ", "  "])
def test_a_sentence_is_parsed_with_every_sign_and_any_blanks(sign, blank):
    sentence = f"income{blank}{sign}{blank}sex{blank}|{blank}a{blank},{blank}b"
    assert Independence.parse(sentence) == Independence("income", "sex", given=["a", "b"])


def test_the_issue_example_is_read_as_meant():
    read = Independence.parse("income _||_ sex | a, b")
    assert read.outcome == ("income",)
    assert read.protected == ("sex",)
    assert read.given == ("a", "b")
    assert read.columns == ("income", "sex", "a", "b")


@pytest.mark.parametrize("sentence", ["income _||_ sex", "income _||_ sex |", "income _||_ sex | "])
def test_nothing_need_be_given(sentence):
    assert Independence.parse(sentence) == Independence("income", "sex")


def test_both_sides_may_have_several_columns():
    read = Independence.parse("income, job ⟂ sex, ethnicity | age")
    assert read.outcome == ("income", "job")
    assert read.protected == ("sex", "ethnicity")
    assert read.given == ("age",)


def test_names_keep_blanks_and_underscores_inside():
    read = Independence.parse("out_of_pocket _||_ skin colour | _a_")
    assert read.columns == ("out_of_pocket", "skin colour", "_a_")


@pytest.mark.parametrize("names", ["ab", ["ab"], ("ab",), iter(["ab"])])
def test_a_name_alone_is_one_column_and_not_its_letters(names):
    assert Independence(names, "sex").outcome == ("ab",)


def test_equal_independences_are_one_in_a_set():
    same = [Independence("y", "s", given="a"), Independence(["y"], ("s",), given=["a"])]
    assert len({*same}) == 1
    assert len({*same, Independence("y", "s"), Independence("s", "y", given="a")}) == 3


@pytest.mark.parametrize("sentence", ["", "income", "income sex", "income | sex", "income _|_ sex"])
def test_what_is_no_sentence_is_refused_with_an_example(sentence):
    with pytest.raises(BadInput, match="is no independence") as refused:
        Independence.parse(sentence)
    assert repr(sentence) in str(refused.value)
    # The way out is a sentence that would have been understood.
    example = str(refused.value).split('"')[1]
    assert Independence.parse(example).given == ("job", "education")


@pytest.mark.parametrize("sentence", [" _||_ sex", "income _||_ ,", "income ⟂ | age", ", ⟂ sex"])
def test_an_empty_side_is_refused(sentence):
    with pytest.raises(BadInput, match=r"columns on both sides|is no independence"):
        Independence.parse(sentence)


@pytest.mark.parametrize("sides", [((), "sex", ()), ("income", [], ()), ([], [], "age")])
def test_an_empty_side_cannot_be_constructed(sides):
    with pytest.raises(BadInput, match="columns on both sides of ⟂"):
        Independence(*sides)


@pytest.mark.parametrize(
    ("sides", "twice"),
    [
        (("sex", "sex", ()), "sex"),
        (("income", "sex", ["age", "sex"]), "sex"),
        ((["income", "income"], "sex", ()), "income"),
        (("income", "sex", ["age", "age"]), "age"),
    ],
)
def test_a_column_named_twice_is_refused_by_name(sides, twice):
    with pytest.raises(BadInput, match=f"named twice: {twice}\\."):
        Independence(*sides)


def test_it_is_written_as_it_is_read():
    assert str(Independence.parse("income_||_sex|a,b")) == "income ⟂ sex | a, b"
    assert str(Independence.parse("income _||_ sex |")) == "income ⟂ sex"


@settings(max_examples=25)
@given(
    st.lists(NAMES, min_size=2, max_size=6, unique=True),
    st.integers(1, 5),
    st.integers(1, 5),
    st.sampled_from(["⟂", "_||_", "⊥"]),
)
def test_what_was_written_is_read_back(names, first, second, sign):
    first = min(first, len(names) - 1)
    second = min(first + second, len(names))
    one = Independence(names[:first], names[first:second], given=names[second:])
    assert Independence.parse(str(one)) == one
    assert Independence.parse(str(one).replace("⟂", sign)) == one
    assert one.columns == tuple(names)
