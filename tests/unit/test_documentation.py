"""What the documentation shows is what the program prints."""

from dataclasses import fields
from pathlib import Path

from typer.testing import CliRunner

from understudy.cli import app
from understudy.column import Column, Kind, Role, Source

ROOT = Path(__file__).parents[2]


def test_the_readme_shows_what_the_demo_prints():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    example = readme.split("One row: its values")[1].split("...")[0]
    shown = [" ".join(line.split()) for line in example.splitlines()[1:] if line.strip(" ─")]
    printed = CliRunner().invoke(app, ["demo"], env={"COLUMNS": "80"}).output
    lines = {" ".join(line.split()) for line in printed.splitlines()}
    assert len(shown) > 4
    assert set(shown) <= lines


def test_every_fact_of_a_column_is_documented():

    page = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    for word in [f.name for f in fields(Column) if f.name != "name"] + [*Kind, *Role, *Source]:
        assert f"`{word}`" in page, word
