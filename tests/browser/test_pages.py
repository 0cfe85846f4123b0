"""Pages in a real browser: nothing is asked for, nothing complains, nothing sticks out."""

import json
import re
import stat

import numpy as np
import pyarrow as pa
import pytest

from helpers.browser import CHROMIUM, chromium
from helpers.comparisons import planned, write_rows
from understudy.column import Column, Kind
from understudy.curator.evaluation import Learner, evaluate
from understudy.curator.evaluation_page import evaluation_page
from understudy.experiments.compare.compare import compare
from understudy.pipeline import synthesize
from understudy.plan import plan, plan_html
from understudy.privacy.noise import SeededForTests
from understudy.schema import Schema

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: chromium)")
SIZES = {"desktop": 1100, "phone": 360}
MOST_BYTES = 2 * 10**6


def small(rng, rows):
    sex = rng.choice(["f", "m"], rows)
    age = rng.integers(18, 90, rows)
    ill = np.where(rng.random(rows) < age / 120, "yes", "no")
    return {"sex": sex, "age": age, "ill": ill}, "ill"


def wide(rng, rows):
    common = rng.integers(0, 3, rows)
    columns = {
        f"a rather long column name {k}": (common * (rng.random(rows) < 0.7) + k) % 4
        for k in range(59)
    }
    return {**columns, "outcome": np.where(common == 2, "yes", "no")}, "outcome"


def number(rng, rows):
    size = rng.uniform(20, 200, rows)
    price = size * 3 + rng.normal(0, 40, rows)
    town = rng.choice([f"<b>Town</b> & co {k}" for k in range(5)], rows)
    return {"size": size.round(1), "town": town, "price": price.round(2)}, "price"


def many_classes(rng, rows):
    kind = rng.integers(0, 12, rows)
    weight = kind * 10 + rng.normal(0, 8, rows)
    return {"weight": weight.round(), "kind": [f"species {k:02}" for k in kind]}, "kind"


TABLES = {"3 columns": small, "60 columns": wide, "a number": number, "12 classes": many_classes}


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


def make_pages(folder, columns, target):
    """A release and its evaluation."""
    table = pa.table(columns)
    real, test = table.slice(0, 900), table.slice(900)
    release = synthesize(real, target=target, epsilon=8.0, seed=1, delta=1e-5)
    release.save(folder / "release")
    judged = evaluate(real, release, target=target, test=test, seeds=1, learners=[Learner.LOGISTIC])
    (folder / "evaluation.html").write_text(evaluation_page(judged))
    (folder / "evaluation.json").write_text(json.dumps(judged.to_json()))


def check(browser, path):
    assert path.stat().st_size < MOST_BYTES
    for width in SIZES.values():
        for dark in (False, True):
            browser.open(path, width=width, dark=dark)
            assert browser.complaints == []
            assert browser.requests == [path.absolute().as_uri()]
            assert browser.overflow <= 0
    assert browser.printed().startswith(b"%PDF")


LETTERS = """
[...document.querySelectorAll('svg')].flatMap(svg => {
  const scale = svg.viewBox.baseVal.width
    ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
  return [...svg.querySelectorAll('text')].map(
    text => scale * parseFloat(getComputedStyle(text).fontSize));
})
"""
"""How large the letters of pictures are on the screen."""


def check_internal(browser, path):
    check(browser, path)
    browser.open(path, width=390)
    assert min(browser.look(LETTERS)) >= 10


@pytest.mark.parametrize("table", TABLES)
def test_pages_tell_what_the_files_beside_them_say(browser, tmp_path, table):
    columns, target = TABLES[table](np.random.default_rng(0), 1200)
    make_pages(tmp_path, columns, target)
    look_at_the_report(browser, tmp_path)
    aspects = {"numbers"} if table == "a number" else {"ranking", "probabilities"}
    look_at_the_evaluation(browser, tmp_path, aspects)


def look_at_the_report(browser, pages):
    path = pages / "release" / "report.html"
    check(browser, path)
    certificate = json.loads((pages / "release" / "certificate.json").read_text())
    assert float(browser.text("#epsilon")) == certificate["promise"]["epsilon"]
    assert float(browser.text("#delta")) == certificate["promise"]["delta"]
    assert browser.text("#unit") == certificate["promise"]["unit"]
    rows = (pages / "release" / "synthetic.csv").read_text().count("\n") - 1
    assert int(browser.text("#rows").replace(",", "")) == rows
    shares = browser.look(
        "[...document.querySelectorAll('.stack span')].map(s => s.getBoundingClientRect().width)"
    )
    whole = browser.look("document.querySelector('.stack').getBoundingClientRect().width")
    assert sum(shares) == pytest.approx(whole, rel=0.02)
    # A segment and its line in the key carry the same number: colour is never alone.
    numbers = "[...document.querySelectorAll('%s')].map(s => s.textContent)"
    assert browser.look(numbers % ".stack span") == browser.look(numbers % ".key .swatch")
    assert browser.look("[...document.querySelectorAll('th')].every(h => h.scope)")
    folded = "[...document.querySelectorAll('.told')].map(d => d.offsetHeight)"
    short = browser.look(folded)
    browser.ask("Emulation.setEmulatedMedia", media="print")
    assert all(more > less for more, less in zip(browser.look(folded), short, strict=True))
    browser.ask("Emulation.setEmulatedMedia", media="")
    assert "<b>" not in browser.look("document.body.innerHTML").replace("&lt;b&gt;", "")


def look_at_the_evaluation(browser, pages, aspects):
    path = pages / "evaluation.html"
    check_internal(browser, path)
    content = json.loads((pages / "evaluation.json").read_text())
    assert "INTERNAL" in browser.text(".banner")
    text = browser.look("document.body.innerText")
    (verdict,) = content["verdicts"]
    assert {one["name"] for one in verdict["aspects"]} == aspects
    words = "; ".join(
        f"{one['name']} {one['word']}, by {one['model']}" for one in content["verdict"]["aspects"]
    )
    assert f"Verdict for the task: {words}" in text
    for one in verdict["aspects"]:
        assert f"{one['score']} of {one['synthetic']:.3f}" in text
        assert f"keeps {one['kept']:.0%}" in text
    shown = {
        row[0]: row[1]
        for row in browser.look(
            "[...document.querySelectorAll('tr')].map(r => [...r.children].map(c => c.innerText))"
        )
    }
    ours = next(s for s in content["task"]["scores"] if s["trained_on"] == "synthetic")
    for result in ours["results"]:
        if result["value"] is not None and abs(result["value"]) < 100:
            row = next(cell for name, cell in shown.items() if name.startswith(result["name"]))
            assert float(re.match(r"-?[\d.]+", row)[0]) == pytest.approx(result["value"], abs=6e-4)


def test_the_comparison_shows_each_cell(browser, tmp_path):
    columns, target = small(np.random.default_rng(0), 600)
    data = write_rows(tmp_path / "rows.csv", columns)
    found = compare(planned(data, target=target, epsilons=(2.0, 8.0)), tmp_path / "out")
    path = tmp_path / "out" / "comparison.html"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    check_internal(browser, path)
    assert browser.look("document.querySelectorAll('svg circle').length") == 4
    text = browser.look("document.body.innerText")
    for line in found.lines:
        if line.score == "ROC-AUC":
            assert f"{line.mean:.3f}" in text


def test_the_plan_shows_its_split_and_noise(browser, tmp_path):
    facts = {"kind": Kind.CATEGORICAL, "null": False}
    names = [f"a rather long column name {k}" for k in range(12)]
    columns = [Column(name=name, categories=("one", "two", "three"), **facts) for name in names]
    options = {"target": names[0], "constraints": [f"{names[0]} _||_ {names[1]} | {names[2]}"]}
    found = plan(Schema(tuple(columns)), epsilon=1.0, protect_outliers=True, **options)
    path = tmp_path / "plan.html"
    path.write_text(plan_html(found))
    check(browser, path)
    parts = browser.look("document.querySelectorAll('.stack span').length")
    assert parts == len(found.split)
    assert browser.look("document.querySelectorAll('svg circle').length") > len(found.epsilons)
    assert browser.text("#method") == "tailored"


def test_a_release_without_promise_says_so_first(browser, tmp_path):
    columns, target = small(np.random.default_rng(0), 300)
    release = synthesize(
        pa.table(columns), target=target, epsilon=1.0, delta=1e-5, source=SeededForTests(0)
    )
    release.save(tmp_path / "release")
    browser.open(tmp_path / "release" / "report.html")
    assert browser.text(".banner").startswith("NOT PRIVATE")
    assert browser.text("#epsilon") == "no limit"
