"""What the documentation shows is what the program does."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from understudy.column import Column, Kind, Role, Source

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent


def in_shell(command, folder):
    environment = {**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    environment["COLUMNS"] = "80"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def without_numbers(text):
    return re.sub(r"[\d,]*\d", "#", text).rstrip()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder in which the demo was run, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    done = in_shell("understudy demo", folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_readme_shows_what_the_demo_prints(demo):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = readme.split("\n    Release: ")[1].split("\nThe second command")[0]
    shown = [line.removeprefix("    ") for line in f"Release: {block}".splitlines()]
    printed = demo[1].splitlines()
    lines = {without_numbers(line) for line in printed}
    assert len(shown) > 12
    told = [line for line in shown if line.strip() != "…"]  # what noise decides is left out
    assert [line for line in told if without_numbers(line) not in lines] == []


def test_the_quickstart_can_be_followed_word_for_word(demo, tmp_path):
    page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    (.+)$", page, flags=re.MULTILINE)
    # What `make demo` and the activated environment do, but in the tests' own folder.
    assert commands[:2] == ["make demo", ". .venv/bin/activate"]
    shutil.copytree(demo[0], tmp_path, dirs_exist_ok=True)
    assert len(commands) > 12
    for command in commands[2:]:
        done = in_shell(command, tmp_path)
        expected = 3 if command.endswith("# exit 3") else 0
        assert done.returncode == expected, (command, done.stdout, done.stderr)
    assert not (tmp_path / "refused").exists()


def test_the_methods_page_shows_what_a_plan_prints(demo):
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    command, block = page.split("    understudy plan ")[1].split("```")[:2]
    printed = in_shell(f"understudy plan {command.strip()}", demo[0]).stdout

    def words(text):  # noise decides figures, how wide their columns are, and so where names wrap
        bare = re.sub(r"[─→]|[\d.,]*\d|[±%<↓]|\bto\b", " ", text)
        return " ".join(bare.split())

    shown = [part for part in block.split("\n\n") if part.strip()]
    assert len(shown) > 3
    assert [part for part in shown if words(part) not in words(printed)] == []


def test_every_fact_of_a_column_is_documented():

    page = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    for word in [f.name for f in fields(Column) if f.name != "name"] + [*Kind, *Role, *Source]:
        assert f"`{word}`" in page, word
