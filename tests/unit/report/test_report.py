"""The publishable page, from what a release holds."""

import html
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from markupsafe import Markup

import understudy.report
from understudy.column import Column, Kind, Role
from understudy.curator.draft_schema import draft
from understudy.domain import Domain
from understudy.encode import Encoding
from understudy.mechanisms.catalog import MECHANISMS
from understudy.model.product import ProductModel
from understudy.pipeline import synthesize
from understudy.privacy.answers import Measurement
from understudy.privacy.folder import verify
from understudy.privacy.noise import SeededForTests
from understudy.release import Release, load
from understudy.release_page import release_page
from understudy.report.dots import Dot, DotRow, Mark, Rule, dot_plot
from understudy.report.frontier import Point, Series, frontier
from understudy.report.report import _noise
from understudy.report.svg import element
from understudy.schema import Schema
from understudy.synthetic_rows import StoredRows

SCHEMA = Schema(
    (
        Column(name="x", kind=Kind.INTEGER, bounds=(0, 3), null=False),
        Column(name="y", kind=Kind.CATEGORICAL, categories=("a", "b"), null=False),
    )
)


def rows(count=400):
    rng = np.random.default_rng(0)
    return pa.table({"x": rng.integers(0, 4, count), "y": rng.choice(["a", "b"], count)})


def page_of(release, folder):
    """What a reader sees of the page, as text."""
    release.save(folder)
    return text_of((folder / "report.html").read_text())


def text_of(page):
    body = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", body)).split())


def test_text_is_escaped_wherever_it_stands():
    bad = '<script>"x"</script>'
    assert "<script" not in element("text", bad, title=bad)
    dots = [DotRow(bad, (Dot(Mark.CIRCLE, 0.5, 0.4, 0.6, bad),))]
    lines = [Series(bad, (Point(1.0, 0.5, 0.4, 0.6),))]
    for drawn in (
        dot_plot(dots, [Rule(0.1, bad)], bad, bad),
        frontier(lines, [Rule(0.9, bad)], bad),
    ):
        assert isinstance(drawn, Markup)
        assert "<script" not in drawn
        assert "&lt;script" in drawn


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.name)
def test_every_method_gets_its_report(kind, tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.integers(0, 4, 400), "y": rng.choice(["<i>", "&"], 400)})
    demanded = ["y _||_ x"] if "independence" in kind.needs else []
    release = synthesize(
        table, target="y", epsilon=8.0, delta=1e-5, mechanism=kind.name, constraints=demanded
    )
    release.save(tmp_path / "r")
    page = (tmp_path / "r" / "report.html").read_text()
    assert kind.name in page
    assert "<i>" not in page
    assert "cannot be told from noise" in page
    load(tmp_path / "r").save(tmp_path / "again", format="parquet")
    assert "synthetic.parquet" in (tmp_path / "again" / "report.html").read_text()


def test_the_page_is_made_from_the_release_alone(tmp_path):
    # The same release, loaded where the private table never was, gives the same page.
    synthesize(rows(), epsilon=8.0, delta=1e-5).save(tmp_path / "r")
    load(tmp_path / "r").save(tmp_path / "again")
    first, again = ((tmp_path / name / "report.html").read_bytes() for name in ("r", "again"))
    assert first == again


# --- the promise ----------------------------------------------------------------------------------


def test_what_somebody_holds_has_its_own_bound_where_records_come_and_go(tmp_path):
    release = synthesize(rows(), epsilon=1.0, schema=SCHEMA)
    page = page_of(release, tmp_path / "r")
    assert "23.2 %" in page, "e^1, rounded up"
    assert "45.1 %" in page, "e^2"
    assert "The same bound holds" not in page
    assert "with k of them ε is k times as large" in page
    assert "what else is released from the same table adds to the loss" in page


def test_where_records_are_replaced_it_is_one_bound(tmp_path):
    release = synthesize(rows(), epsilon=1.0, schema=SCHEMA, unit="replace")
    page = page_of(release, tmp_path / "r")
    assert "23.2 %" in page
    assert "45.1 %" not in page
    assert "that it was in the table" not in page
    assert "How many rows the private table has" in page


def test_persons_have_all_their_rows_protected(tmp_path):
    table = rows().append_column("id", pa.array([f"{k // 2}" for k in range(400)]))
    release = synthesize(table, epsilon=1.0, unit="person:id:2")
    assert "with k of them" not in page_of(release, tmp_path / "r")


def test_no_page_says_more_than_is_promised(tmp_path):
    page = page_of(synthesize(rows(), epsilon=1.0, schema=SCHEMA), tmp_path / "r")
    for words in ("is anybody", "coincidence", "anonymous", "slack"):
        assert words not in page.lower()


@pytest.mark.parametrize("why", ["seeded", "facts"])
def test_a_page_without_promise_contradicts_itself_nowhere(why, tmp_path):
    choice = {"schema": draft(rows()), "allow_non_private": True}
    release = synthesize(
        rows(),
        epsilon=1.0,
        target="y",
        **({"schema": SCHEMA, "source": SeededForTests(0)} if why == "seeded" else choice),
    )
    release.save(tmp_path / "r")
    page = (tmp_path / "r" / "report.html").read_text()
    text = text_of(page)
    assert "NOT PRIVATE" in text
    for words in (
        *("noisy answers alone", "What the ε bought", "at no further loss", "1e-09", "teaching"),
        *("out of the same ε", "bounded by the promise", "added or removed"),
    ):
        assert words not in text, words
    assert '<dd id="delta">no limit</dd>' in page
    if why == "facts":
        assert "everything" in text
        assert 'class="stack"' not in page
        assert "read off the rows" in text
        assert "Facts that were declared" not in text


# --- what it is for -------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "good"), [("mst", True), ("independent", False)])
def test_only_a_target_that_others_tell_of_is_there_to_be_predicted(method, good, tmp_path):
    release = synthesize(rows(), epsilon=4.0, schema=SCHEMA, target="y", mechanism=method)
    page = page_of(release, tmp_path / "r")
    assert ("Training models that predict y" in page) == good
    assert ("made for predicting y" in page) == good
    assert ("At the left, filled, is the column to predict" in page) == good
    assert ("Predicting y: in this table it does not depend" in page) != good


def model_of(clique, scale, shape, total=1000.0):
    domain = Domain.of(dict(zip("ab", (4, 5), strict=True)))
    shares = {name: np.full(size, 1 / size) for name, size in domain.sizes.items()}
    return ProductModel(domain, total, shares, (Measurement(clique, np.zeros(shape), scale),))


def test_small_groups_are_counted_in_synthetic_rows():
    assert _noise(model_of(("a",), 10.0, 4), 1000) == pytest.approx(10.0)
    assert _noise(model_of(("a",), 10.0, 4), 5000) == pytest.approx(50.0)


def test_the_noise_of_columns_that_were_counted_in_pairs_adds_up():
    assert _noise(model_of(("a", "b"), 10.0, (4, 5)), 1000) == pytest.approx(10 * np.sqrt(5))
    assert _noise(model_of((), 10.0, ()), 1000) is None


# --- odd tables -----------------------------------------------------------------------------------


def test_a_column_of_nothing_but_atoms_is_released(tmp_path):
    column = Column(name="x", kind=Kind.INTEGER, bounds=(0, 1), atoms=(0, 1), null=False)
    release = synthesize(pa.table({"x": [0, 1] * 50}), epsilon=1.0, schema=Schema((column,)))
    assert "exactly 1" in page_of(release, tmp_path / "r")


def test_a_release_of_no_rows_has_its_page(tmp_path):
    release = synthesize(rows(), epsilon=1.0, schema=SCHEMA)
    empty = replace(release, rows=StoredRows(release.table.slice(0, 0)))
    assert "A synthetic table of 0 rows" in page_of(empty, tmp_path / "r")


def test_a_release_of_one_row_has_one(tmp_path):
    release = synthesize(rows(), epsilon=1.0, schema=SCHEMA, rows=1)
    page = page_of(release, tmp_path / "r")
    assert "of 1 row and 2 columns" in page
    assert " 1 rows" not in page


def test_names_turn_no_words_around(tmp_path):
    name = "\N{RIGHT-TO-LEFT OVERRIDE}evil"
    table = rows().rename_columns(["x", name])
    synthesize(table, epsilon=4.0, target=name).save(tmp_path / "r")
    page = (tmp_path / "r" / "report.html").read_text()
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in page
    assert "<bdi>evil</bdi>" in page


def test_a_wide_table_of_long_labels_can_be_loaded(tmp_path):
    columns = [
        Column(
            name=f"column {k}",
            kind=Kind.CATEGORICAL,
            categories=tuple(f"{'漢' * 200}{place}" for place in range(12)),
            null=True,
            role=Role.TARGET if k == 0 else Role.FEATURE,
        )
        for k in range(150)
    ]
    schema = Schema(tuple(columns))
    codes = {column.name: np.zeros(5, np.uint8) for column in columns}
    release = Release(
        StoredRows(Encoding(schema).decode(codes, np.random.default_rng(0))),
        synthesize(rows(), epsilon=1.0, schema=SCHEMA).certificate,
        schema,
        ProductModel(Encoding(schema).domain, 5.0, {c.name: np.full(13, 1 / 13) for c in columns}),
    )
    release = replace(release, certificate=replace(release.certificate, public={}))
    release.save(tmp_path / "r")
    assert (tmp_path / "r" / "report.html").stat().st_size < 2 * 10**6


def test_many_columns_are_all_listed_as_public(tmp_path):
    columns = [Column(name=f"c{k:03}", kind=Kind.BOOLEAN, null=False) for k in range(160)]
    table = pa.table({column.name: [True, False] * 10 for column in columns})
    release = synthesize(table, epsilon=1.0, schema=Schema(tuple(columns)), mechanism="independent")
    page = page_of(release, tmp_path / "r")
    assert "Facts that were declared about 160 columns" in page
    assert "c159: never missing" in page


def test_a_fault_in_the_page_loses_nothing_that_was_paid_for(tmp_path, monkeypatch):
    def fails(**_):
        raise ZeroDivisionError

    release = synthesize(rows(), epsilon=1.0, schema=SCHEMA)
    monkeypatch.setattr(understudy.report, "report_of", fails)
    release.save(tmp_path / "r")
    assert all(check.passed for check in verify(tmp_path / "r"))
    loaded = load(tmp_path / "r")
    assert loaded.table.equals(release.table)
    (note,) = loaded.notes
    assert note.startswith("report.html could not be made (ZeroDivisionError)")
    assert release_page(release, tmp_path / "r")["notes"] == [note]
    page = (tmp_path / "r" / "report.html").read_text()
    assert "All other files of the release are whole" in page
    assert "Differentially private: epsilon 1" in page
