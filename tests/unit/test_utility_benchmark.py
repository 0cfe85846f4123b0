"""The benchmark of readers' models: which jobs it runs, and what it makes of their results."""

import sys
from argparse import Namespace
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

import utility
from adult_table import adult
from understudy.column import Column, Kind
from utility_jobs import DISCOVERY, SCHEMA, Job, Results, Wish, jobs, share
from utility_learners import areas
from utility_page import page
from utility_rows import Split, dealt, rows_of, split_of
from utility_summary import Setting, Summary
from utility_tables import ADULT12, DEVELOPMENT, TABLES, Table
from utility_tools import PEERS, REAL, FailedError, _checked, _run


def made_up(name="made", rows=300):
    columns = (
        Column(name="a", kind=Kind.CATEGORICAL, categories=("x", "y", "z"), null=True),
        Column(name="b", kind=Kind.REAL, bounds=(0, 9), edges=(0, 2, 5, 9), null=False),
        Column(name="t", kind=Kind.CATEGORICAL, categories=("no", "yes"), null=False),
    )
    return Table(name, f"{name}.csv", rows, columns, dropped=("id",))


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"id": np.arange(300), "a": rng.choice(["x", "y", "z", None], 300)})
    rows["b"] = rng.integers(0, 10, 300)
    rows["t"] = np.where(rows["b"] + rng.integers(0, 4, 300) > 6, "yes", "no")
    rows.to_csv(tmp_path / "made.csv", index=False)
    return tmp_path


def options(folder, **further):
    return Namespace(data=folder, venvs=None, limit=1.0, again=False, **further)


def test_what_has_ended_is_not_run_again_and_failures_only_if_asked(folder, monkeypatch):
    table, results = made_up(), Results(folder / "results.jsonl")
    wish = Wish([table], ["independent"], [SCHEMA], [1.0], seeds=1)
    wanted = jobs(wish)
    assert [job.tool for job in wanted] == [REAL, "independent"]
    ran = [utility.run(wanted, results, options(folder), {"made": table}) for _ in range(2)]
    assert ran == [2, 0]
    line = results.lines()[wanted[1]]
    assert 0 <= line["auc_logistic"] <= 1
    assert 0 <= line["auc_boosting"] <= 1
    assert {"seconds", "commit", "versions"} <= line.keys()
    # Half a line of a crash, and one more seed: that alone is run, and fails.
    with results.path.open("a") as file:
        file.write('{"tool": "indep')
        file.write("\n")

    def fails(*_):
        raise FailedError("timeout", "stopped")

    monkeypatch.setattr(utility, "drawn_by", fails)
    further = [Job("independent", "made", SCHEMA, 1.0, 1)]
    choices = options(folder)
    assert utility.run([*wanted, *further], results, choices, {"made": table}) == 1
    assert results.lines()[further[0]]["failed"] == "timeout"
    assert utility.run([*wanted, *further], results, choices, {"made": table}) == 0
    choices.again = True
    assert utility.run([*wanted, *further], results, choices, {"made": table}) == 1


def test_shards_part_the_jobs_and_the_first_are_useful():
    everything = jobs(Wish(TABLES))
    parts = [share(everything, f"{k}/3") for k in (1, 2, 3)]
    assert sum(map(len, parts)) == len(everything) == len({*everything})
    assert {job for part in parts for job in part} == {*everything}
    first = everything[: sum(job.table == "adult12" and job.seed == 0 for job in everything) // 3]
    assert {job.table for job in first} == {"adult12"}
    assert {job.epsilon for job in first} == {None, 1.0}
    for wrong in ("0/2", "3/2", "2", "a/b"):
        with pytest.raises(SystemExit, match="give K/N"):
            share(everything, wrong)


def test_peers_have_fewer_jobs_and_small_tables_are_not_discovered():
    everything = jobs(Wish(TABLES))
    peers = [job for job in everything if job.tool in PEERS]
    assert len(peers) == len(TABLES) * len(PEERS) * 2 * 3
    assert {job.track for job in peers} == {SCHEMA}
    found = {job.table for job in everything if job.track == DISCOVERY}
    assert found == {table.name for table in TABLES} - {"adult12", "german", "breast_cancer"}
    real = [job for job in everything if job.tool == REAL]
    assert len(real) == 5 * (len(TABLES) + len(found))
    assert {*DEVELOPMENT} <= {table.name for table in TABLES}


def test_rows_are_coded_by_public_rules_and_equal_ones_stay_together(folder):
    table = made_up()
    rows = rows_of(table, folder)
    assert rows.sizes == {"a": 4, "b": 3, "t": 2}
    raw = pd.read_csv(folder / "made.csv")
    assert (rows.codes["b"] == np.searchsorted([2, 5], raw["b"], side="right")).all()
    assert (rows.codes["a"].eq(3) == raw["a"].isna()).all()
    assert "id" not in rows.raw
    split = split_of(table, folder, 0, coded=False)
    both = split.train.fillna("").merge(split.test.fillna(""))
    assert both.empty
    assert len(split.train) + len(split.test) == 300
    other = split_of(table, folder, 1, coded=False)
    assert not other.test.equals(split.test)


def test_a_fifth_of_each_class_is_for_the_test():
    target = np.arange(1000) % 4 == 0
    tested = dealt(np.arange(1000), target.astype(int), np.random.default_rng(0))
    assert (tested[target].sum(), tested[~target].sum()) == (50, 150)
    # Groups of two, all of one class.
    group = np.arange(1000) // 2
    tested = dealt(group, np.zeros(1000, int), np.random.default_rng(0))
    assert tested.sum() == 200
    assert (tested[::2] == tested[1::2]).all()


def test_another_file_is_refused(folder):
    lines = (folder / "made.csv").read_text().replace(",yes", ",maybe")
    (folder / "made.csv").write_text(lines)
    with pytest.raises(SystemExit, match="'t' holds what its description does not name"):
        rows_of(made_up(), folder)
    with pytest.raises(SystemExit, match=r"lacks other\.csv"):
        rows_of(made_up("other"), folder)


@threadpool_limits.wrap(limits=1)
def test_readers_see_codes_or_values():
    rng = np.random.default_rng(1)
    number = rng.normal(size=400)
    rows = pd.DataFrame({"a": rng.choice(["x", "y"], 400), "b": number})
    rows["t"] = np.where(number + rng.normal(size=400) / 4 > 0, "yes", "no")
    split = Split(made_up(), rows[:300], rows[300:].reset_index(drop=True), None)
    assert min(areas(split, split.train).values()) > 0.9
    # What a release may hold: text for numbers, gaps, and labels that were not there before.
    odd = split.train.assign(b=split.train["b"].astype(str))
    odd.loc[:5, ["a", "t"]] = None
    odd.loc[6:9, "a"] = "unheard"
    assert min(areas(split, odd).values()) > 0.9
    # A column without any number teaches nothing, and no model fails for it.
    rest = areas(split, odd.assign(b=None))
    assert all(0.3 < area < 0.7 for area in rest.values())
    assert areas(split, odd.assign(t="no")) == {"logistic": 0.5, "boosting": 0.5}


def test_reasons_of_peers_are_told(tmp_path, folder):
    python = sys.executable
    for code, reason in (
        ("import time; time.sleep(9)", "timeout"),
        ("raise ValueError('no')", "ValueError"),
        ("import os; os.kill(os.getpid(), 9)", "killed 9"),
        ("raise SystemExit(3)", "exit 3"),
    ):
        with pytest.raises(FailedError) as failed:
            _run([python, "-I", "-S", "-c", code], 0.5 if reason == "timeout" else 30)
        assert failed.value.reason == reason
    with pytest.raises(FailedError, match="FileNotFoundError"):
        _run([str(tmp_path / "python")], 1)
    split = split_of(made_up(), folder, 0, coded=True)
    plain = {"a": "x0", "b": "x1", "t": "x2"}
    good = split.train.rename(columns=plain)
    assert _checked(good, split, plain).equals(split.train)
    for bad in (good[1:], good.drop(columns="x1"), good.assign(x2=2)):
        with pytest.raises(FailedError, match="bad output"):
            _checked(bad, split, plain)


def lines_of(areas_by):
    """Lines as they are written; by tool and table the areas of seeds 0, 1, ..."""
    facts = {"seconds": 1.0, "commit": "abc", "versions": {"python": "3"}}
    return {
        Job(tool, table, SCHEMA, None if tool == REAL else 1.0, seed): {
            "auc_logistic": area,
            "auc_boosting": area,
            **facts,
        }
        for (tool, table), found in areas_by.items()
        for seed, area in enumerate(found)
    }


LINES = lines_of(
    {
        (REAL, "compas"): [0.9, 0.9],
        ("auto", "compas"): [0.8, 0.8],
        ("mst", "compas"): [0.7, 0.6],
        ("aim", "compas"): [0.85],
        (REAL, "dutch"): [0.9, 0.8],
        ("auto", "dutch"): [0.7, 0.6],
        ("mst", "dutch"): [0.8, 0.7],
        (REAL, "law"): [0.9, 0.9],
        ("auto", "law"): [0.8, 0.8],
        ("mst", "law"): [0.7, 0.7],
    }
)
AT_ONE = Setting(SCHEMA, 1.0, "logistic")
THREE = ["compas", "dutch", "law"]


def test_gaps_and_ranks_are_those_of_a_hand():
    summary = Summary(LINES)
    # compas 0.1, dutch 0.2, law 0.1; the first of mst is 0.25, then 0.1 and 0.2.
    assert summary.gap(AT_ONE, THREE, "auto").value == pytest.approx(0.4 / 3)
    assert summary.gap(AT_ONE, THREE, "mst").value == pytest.approx(0.55 / 3)
    assert summary.gap(AT_ONE, THREE, "aim").value == pytest.approx(0.05)
    # On compas aim, auto, mst; on dutch mst, auto; on law auto, mst.
    ranks = {tool: summary.rank(AT_ONE, THREE, tool) for tool in ("aim", "auto", "mst")}
    assert ranks == pytest.approx({"aim": 1, "auto": 5 / 3, "mst": 2})
    assert summary.rank(AT_ONE, ["law"], "aim") is None
    assert summary.gap(AT_ONE, ["law"], "aim") is None
    tied = Summary(lines_of({("auto", "law"): [0.5], ("mst", "law"): [0.5]}))
    assert tied.rank(AT_ONE, ["law"], "auto") == 1.5


def test_wins_are_decided_by_the_interval_over_seeds():
    found = Summary(LINES).versus(AT_ONE, THREE, "auto", "mst")
    # compas 0.1 and 0.2: Student's 12.7 leaves it open; the others are the same for both seeds.
    assert (found.wins, found.ties, found.losses) == (1, 1, 1)
    assert found.difference.value == pytest.approx(0.05)
    # 0.15, -0.1, 0.1: deviation 0.1323, times 4.303, over the root of 3.
    assert found.difference.half == pytest.approx(0.3287, abs=1e-4)
    one = Summary(LINES).versus(AT_ONE, THREE, "auto", "aim")
    assert (one.wins, one.ties, one.losses) == (0, 1, 0)
    assert one.difference.value == pytest.approx(-0.05)


def test_the_page_tells_all_of_it():
    failed = Job("dpmm:mst", "dutch", SCHEMA, 1.0, 0)
    facts = {"commit": "abc", "versions": {"dpmm": "0.1"}}
    lines = {**LINES, failed: {"failed": "timeout", "seconds": 600.0, **facts}}
    told = page(lines, TABLES)
    line = "| auto | 3 | 0.133 ± 0.143 | 0.200 | 1.67 | 2.00 |  |  |  |  |"
    assert line in told
    against = "| mst | 3 | 0.183 ± 0.190 | 0.100 | 2.00 | 1.00 | +0.050 ± 0.329 | 1, 1, 1 |"
    assert f"{against} -0.100 | 0, 0, 1 |" in told
    assert "### compas †\n" in told
    assert "### dutch\n" in told
    assert "| real | 0.850 ± 0.635 |" in told
    assert "- dpmm:mst on dutch (the same public codes for all, ε = 1, seeds 0): timeout." in told
    assert "german (1,000), breast_cancer (569)" in told
    assert "python benchmarks/utility.py --data DIR" in told
    assert "up to 2 for our methods, 1 for peers" in told
    assert "abc" in told
    assert "dpmm 0.1" in told
    assert "Raw values, nothing declared\n" not in told


def test_less_budget_is_compared_with_more_of_it():
    peers = {("mbi:mst", "dutch"): [0.5, 0.5], ("mbi:mst", "law"): [0.9, 0.9]}
    early = {replace(job, epsilon=0.2): line for job, line in LINES.items() if job.tool == "auto"}
    told = page({**lines_of(peers), **early}, TABLES)
    # dutch 0.2 and 0.1, law -0.1 twice.
    assert "### auto at ε = 0.2, peers at ε = 1\n" in told
    assert "| logistic | mbi:mst | +0.025 ± 1.588 | 0, 1, 1 | +0.150 | 0, 1, 0 |" in told
    assert "auto at ε" not in page(LINES, TABLES)


def test_the_public_tables_are_as_their_rules_say(data):
    table, sizes = adult(data, "adult12")
    rows = rows_of(ADULT12, data)
    assert rows.sizes == sizes
    assert rows.codes.equals(table[list(sizes)].astype(np.int64))
    for one in TABLES:
        found = rows_of(one, data)
        assert len(found.raw) == one.rows
        assert all(found.codes[name].max() < size for name, size in found.sizes.items())
