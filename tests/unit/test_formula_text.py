"""Text that spreadsheets run as formulas: what is written, and the exact way back."""

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.formula_text import formula_safe, formula_safe_name, original

TEXTS = st.text(st.sampled_from("=+-@\t\r\n '\"015.eEaé\N{FULLWIDTH COMMERCIAL AT}"), max_size=7)


def written(texts):
    return formula_safe(pa.array(texts, pa.string())).to_pylist()


def read(texts):
    return original(pa.array(texts, pa.string())).to_pylist()


@pytest.mark.parametrize(
    "blank", ["\ufeff", "\u200b", "\xa0", "\u3000", "\x1f", "\u202e", " \ufeff"]
)
def test_blanks_and_unseen_marks_hide_no_formula(blank):
    texts = [f"{blank}=cmd()", f"'{blank}@SUM", f"{blank}plain", blank]
    assert written(texts) == [f"'{blank}=cmd()", f"''{blank}@SUM", f"{blank}plain", blank]
    assert read(written(texts)) == texts


@given(st.lists(st.none() | TEXTS | st.text(max_size=5), max_size=20))
def test_what_is_read_is_what_was_written(texts):
    assert read(written(texts)) == texts


@given(TEXTS, TEXTS)
def test_no_two_texts_are_written_alike(one, other):
    assert (written([one]) == written([other])) == (one == other)


@given(TEXTS | st.text(max_size=5))
def test_no_cell_begins_like_a_formula_but_plain_numbers(text):
    (cell,) = written([text])
    number = re.fullmatch(r" *[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", cell, re.ASCII)
    assert number or not re.match(r"\s*[=+\-@＝＋－＠]|[\t\r\n]", cell, re.ASCII)  # noqa: RUF001
    assert formula_safe_name(text) == cell


@pytest.mark.parametrize(
    "text", ["-1", "+5.2", "-1e5", "-.5", "+2.E-3", "plain", "it's", "a=1", ""]
)
def test_numbers_and_plain_text_stay_as_they_are(text):
    assert written([text]) == [text]
    assert read([text]) == [text]


@pytest.mark.parametrize(
    "text", ["=cmd()", "@SUM(A1)", "-1+2", "+1-2", "-a", "\t=1", "\r1", "\n", "--1", "-1\n", " =1"]
)
def test_formulas_get_an_apostrophe_and_their_own_apostrophes_stay(text):
    assert written([text, f"'{text}", f"''{text}"]) == [f"'{text}", f"''{text}", f"'''{text}"]


def test_a_column_without_values_stays_empty():
    assert written([]) == []
    assert written([None, None]) == [None, None]
