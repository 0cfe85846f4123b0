"""Benchmarks that compare two versions of the code: what changed in utility, and in seconds."""

import sys

import numpy as np
import pytest

import discovery_change
import whole_process
from discovery_change import changes, page
from utility_jobs import DISCOVERY, SCHEMA, Job, Results
from utility_tools import REAL
from whole_process import median_interval, paired

BEFORE = {"adult": [0.80, 0.82, 0.81], "law": [0.70, 0.74, 0.66], "dutch": [0.90, 0.90, 0.90]}
AFTER = {"adult": [0.78, 0.79, 0.79], "law": [0.76, 0.66, 0.70], "dutch": [0.93, 0.94, 0.92]}


def lines(areas, commit, epsilon=0.2, track=DISCOVERY, tool="auto"):
    facts = {"seconds": 1.0, "commit": commit, "versions": {}}
    return {
        Job(tool, table, track, epsilon, seed): {
            "auc_logistic": area,
            "auc_boosting": area + 0.01,
            **facts,
        }
        for table, found in areas.items()
        for seed, area in enumerate(found)
    }


def found(before, after):
    compared = changes(lines(before, "a"), lines(after, "b"), "auto", DISCOVERY)
    return {one.table: one for one in compared if one.setting.learner == "logistic"}


def test_changes_are_paired_by_seed():
    by_table = found(BEFORE, AFTER)
    adult = by_table["adult"]
    # −0.02, −0.03, −0.02: deviation 0.00577, times 4.303, over the root of 3.
    assert adult.difference.value == pytest.approx(-0.07 / 3)
    assert adult.difference.half == pytest.approx(0.01434, abs=1e-5)
    assert (adult.before.value, adult.after.value) == pytest.approx((0.81, 0.78667), abs=1e-5)
    verdicts = {name: one.verdict for name, one in by_table.items()}
    assert verdicts == {"adult": "worse", "law": "open", "dutch": "better"}


def test_only_seeds_that_both_files_have_are_compared():
    one = found(BEFORE, {"adult": [0.9]})["adult"]
    assert one.difference.value == pytest.approx(0.1)
    assert one.before.value == pytest.approx(0.8)
    assert one.verdict == "one seed"


def test_the_page_names_worse_tables_and_the_mean():
    text, sound = page(lines(BEFORE, "abc"), lines(AFTER, "def"), "auto", DISCOVERY)
    assert not sound
    assert "Before: abc. After: def." in text
    line = "| adult | 3 | 0.8100 ± 0.0248 | 0.7867 ± 0.0143 | -0.0233 ± 0.0143 | worse |"
    assert line in text
    # −0.02333, 0.00667, 0.03: 0.00444, deviation 0.02673, times 4.303, over the root of 3.
    assert "| mean of tables |  |  |  | +0.0044 ± 0.0664 |  |" in text
    assert "- Worse by more than its interval: adult (ε = 0.2, logistic): -0.0233" in text
    assert text.count("Worse by more") == 2  # once for each learner
    assert "Of 6 comparisons, 0.2 would be worse by accident." in text
    assert "Not compared" not in text


def test_equal_files_are_sound_and_other_tracks_are_left_out():
    same = lines(BEFORE, "abc")
    other = lines({"adult": [0.1]}, "abc", track=SCHEMA) | lines(
        {"adult": [0.1]}, "abc", tool="mst"
    )
    text, sound = page(same | other, same, "auto", DISCOVERY)
    assert sound
    assert "- No table is worse by more than its interval." in text
    text, sound = page(same, {}, "auto", DISCOVERY)
    assert not sound
    assert "- The two files have no jobs in common." in text


def test_jobs_that_failed_are_named():
    broken = lines(AFTER, "def")
    broken[Job("auto", "law", DISCOVERY, 0.2, 1)] = {"failed": "timeout", "commit": "def"}
    text, sound = page(lines({"law": [0.7, 0.7, 0.7]}, "abc"), broken, "auto", DISCOVERY)
    assert not sound
    assert "- Not compared: law, ε = 0.2, seed 1 has no result after." in text
    assert "adult, ε = 0.2, seed 0 has no result before" in text


def test_the_script_reads_files(tmp_path, monkeypatch, capsys):
    paths = [tmp_path / "before.jsonl", tmp_path / "after.jsonl"]
    for path, made in zip(paths, (lines(BEFORE, "abc"), lines(BEFORE, "def")), strict=True):
        results = Results(path)
        for job, line in made.items():
            results.append(job, line)
        real = {"auc_logistic": 0.9, "auc_boosting": 0.9, "commit": "abc"}
        results.append(Job(REAL, "law", DISCOVERY, None, 0), real)
    monkeypatch.setattr(sys, "argv", ["discovery_change.py", *map(str, paths)])
    assert discovery_change.main() == 0
    assert "| law | 3 |" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["discovery_change.py", str(paths[0]), "nowhere"])
    with pytest.raises(SystemExit):
        discovery_change.main()


def test_runs_of_two_versions_alternate(tmp_path, monkeypatch):
    order = []

    def timed(source, _):
        order.append(source.name)
        return {"old": 2.0, "new": 3.0}[source.name]

    monkeypatch.setattr(whole_process, "seconds", timed)
    old, new = paired([tmp_path / "old", tmp_path / "new"], [], 3)
    assert (old, new) == ([2.0] * 3, [3.0] * 3)
    assert order == ["old", "new", "new", "old", "old", "new"]


def test_the_interval_of_a_median_goes_by_ranks():
    # Of eleven values the second and the tenth: the tables of Student's time say 98.8 %.
    assert median_interval([float(place) for place in range(1, 12)]) == (6.0, 2.0, 10.0)
    assert median_interval([3.0, 1.0, 2.0]) == (2.0, 1.0, 3.0)
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        _, least, greatest = median_interval(rng.lognormal(size=11).tolist())
        covered += least <= 1.0 <= greatest
    assert covered >= 0.93 * 400  # 98.8 % of the time


def test_a_version_is_timed_in_a_process_of_its_own(tmp_path, monkeypatch, capsys):
    for name, wait in (("old", 0.0), ("new", 0.3)):
        package = tmp_path / name / "understudy"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "cli.py").write_text(
            f"import sys, time\ndef main():\n    time.sleep({wait})\n    sys.argv.index('--out')\n"
        )
    (tmp_path / "table.csv").write_text("a\n1\n")
    command = [str(tmp_path / "table.csv"), "--repeats", "2"]
    command += ["--old-src", str(tmp_path / "old"), "--new-src", str(tmp_path / "new")]
    monkeypatch.setattr(sys, "argv", ["whole_process.py", *command])
    assert whole_process.main() == 1
    said = capsys.readouterr().out
    assert "new / old: median" in said
    assert "least and greatest" in said
    monkeypatch.setattr(sys, "argv", ["whole_process.py", *command, "--limit", "1000"])
    assert whole_process.main() == 0
