"""The internal page: what nobody may miss comes first, and it stays small."""

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from understudy.curator.evaluation import Learner, evaluate
from understudy.curator.evaluation_page import evaluation_page
from understudy.curator.evaluation_text import show
from understudy.curator.pair_map import pair_map

MOST_BYTES = 2 * 10**6


def people(rows, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    ill = np.where(rng.random(rows) < age / 120, "yes", "no")
    return pa.table({"age": age, "bmi": rng.normal(25, 4, rows), "ill": ill})


@pytest.fixture(scope="module")
def judged():
    tables = [people(150, seed) for seed in range(3)]
    return evaluate(*tables[:2], target="ill", test=tables[2], learners=[Learner.LOGISTIC], seeds=1)


def test_an_alarm_stands_on_top(judged, capsys):
    attacks = replace(judged.attacks, alarms=("ALARM: <b>. Do not publish; find out why.",))
    alarmed = replace(judged, attacks=attacks)
    page = evaluation_page(alarmed)
    assert page.index("ALARM: &lt;b&gt;") < page.index("<h1>")
    show(alarmed)
    printed = capsys.readouterr().out
    assert printed.index("ALARM") < printed.index("Rows:")
    assert "ALARM" not in evaluation_page(judged)


def test_every_number_has_a_direction(judged):
    page = evaluation_page(judged)
    assert "→0 nearer to 0 is better" in page
    assert re.search(r"Synthetic minus real, ROC-AUC ↑: ", page)
    assert "p ↑" in page
    assert all(worst.endswith(("↓", "→0")) for worst in re.findall(r"worst: [^<]*", page))
    assert "value (neither way is better)" in page
    assert "distance ↓" in page


def test_one_verdict_for_the_task_comes_first(judged):
    page = evaluation_page(judged)
    assert page.index("Verdict for the task") < page.index("Verdict, logistic")


def test_worst_pairs_are_listed_for_print(judged):
    clique, distance, _ = judged.fidelity.marginals[1].distances[0]
    assert f'{" and ".join(clique)}</td><td class="number">{distance:.3f}' in evaluation_page(
        judged
    )


def test_a_value_without_interval_has_no_empty_brackets(judged):
    results = judged.disclosure.results
    bare = [replace(one, low=None, high=None, note="too few rows") for one in results]
    page = evaluation_page(replace(judged, disclosure=replace(judged.disclosure, results=bare)))
    assert "[, ]" not in page
    assert page.count("no brackets: too few rows") == 1


def test_half_of_the_map_is_drawn_with_its_scale():
    names = [f"column {k}" for k in range(20)]
    values = {(a, b): 0.1 for a in names for b in names}
    drawn = pair_map(names, values, 0.4, "about")
    assert drawn.count("<rect") == 20 * 21 // 2 + 4
    for told in ("0", "0.1", "0.2", "0.4"):
        assert f">{told}</text>" in drawn


def test_long_names_and_labels_leave_the_page_small():
    rng = np.random.default_rng(0)
    names = ["a rather long name " * 12 + str(k) for k in range(70)]
    labels = ["a rather long label " * 40 + str(k) for k in range(30)]
    tables = [pa.table({name: rng.choice(labels, 200) for name in names}) for _ in range(2)]
    page = evaluation_page(evaluate(*tables))
    assert len(page.encode()) < MOST_BYTES
    assert "Drawn are the 60 columns with the worst pairs, of 70." in page
