"""Text for the eye."""

from hypothesis import given
from hypothesis import strategies as st

from understudy.report.pages import percent_at_most, plain
from understudy.report.svg import element
from understudy.report.words import in_order, number_of, shortened, width

TURNED = "\N{RIGHT-TO-LEFT OVERRIDE}"


@given(st.text(), st.integers(5, 40))
def test_a_shortened_text_has_room(text, most):
    assert width(shortened(text, most)) <= most


def test_wide_letters_take_the_room_of_two():
    assert shortened("年" * 30, 20) == "年" * 5 + "…" + "年" * 4


def test_no_name_turns_the_words_around_it():
    assert in_order(f"a{TURNED}b\N{LEFT-TO-RIGHT ISOLATE}c\N{ARABIC LETTER MARK}") == "abc"
    assert TURNED not in element("text", TURNED, title=TURNED)


def test_one_and_many():
    assert number_of(1, "pair") == "1 pair"
    assert number_of(0, "set of 4 columns", "sets of 4 columns") == "0 sets of 4 columns"


@given(st.floats(0.0, 1.0))
def test_a_share_that_is_a_bound_is_never_rounded_down(share):
    assert float(percent_at_most(share)[:-2]) / 100 >= share * (1 - 1e-12)


def test_bounds_are_rounded_up():
    assert percent_at_most(0.23197) == "23.2 %"
    assert percent_at_most(0.2311) == "23.2 %"


def test_ten_thousand_is_no_power():
    assert plain(9999.7) == "10,000"
