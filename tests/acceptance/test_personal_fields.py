"""No file of a release holds a real e-mail, phone, identifier or comment; new ones are invented."""

import re

import pandas as pd
import pytest

import understudy as us
from helpers.messy import PERSONAL, TARGET, messy_table, write_csv
from helpers.messy_releases import saved

FEW = 1_500
"""Rows of the releases that are searched."""
TOKENS = {
    "email": re.compile(rb"[\w.+-]+@[\w.-]+\w"),
    "phone": re.compile(rb"(?<![\w.])[+(0][\d()/. -]{8,16}\d(?!\w)"),
    "customer_id": re.compile(rb"(?<![\w.#])0\d{5}(?!\w)"),
    "comment": re.compile(rb"TK-[0-9A-Z]{6}"),
}
"""Whatever in a file could be a real value: no leading zero begins a number of JSON or HTML."""


def leaked(table, folder):
    """The real personal values in any byte of any file of a folder, by column."""
    real = {name: {cell.encode() for cell in table[name]} for name in PERSONAL}
    real["comment"] = {TOKENS["comment"].search(cell)[0] for cell in real["comment"]}
    found = {}
    for path in sorted(folder.rglob("*")):
        content = path.read_bytes() if path.is_file() else b""
        for name, token in TOKENS.items():
            found.setdefault(name, set()).update(real[name] & {*token.findall(content)})
    return {name: values for name, values in found.items() if values}


def searched(path, table, folder, **options):
    """Release a table and return what its folder leaks."""
    release = us.synthesize(path, target=TARGET, epsilon=1.0, **options)
    return leaked(table, release.save(folder))


def test_the_search_finds_each_value_in_each_file(tmp_path):
    table = messy_table(200)
    # Digits of a longer number are no identifier.
    (tmp_path / "model.json").write_text(f'{{"a": 0.{table["customer_id"][0]}}}')
    assert leaked(table, tmp_path) == {}
    for name in PERSONAL:
        cells = "".join(f"<td>{cell}</td>" for cell in table[name])
        (tmp_path / "report.html").write_text(cells)
        assert {found: len(values) for found, values in leaked(table, tmp_path).items()} == {
            name: 200
        }
    (tmp_path / "report.html").unlink()
    write_csv(table, tmp_path / "synthetic.csv")
    assert {name: len(values) for name, values in leaked(table, tmp_path).items()} == dict.fromkeys(
        PERSONAL, 200
    )


@pytest.mark.untraced
@pytest.mark.parametrize("part", range(4))
def test_twenty_releases_leak_no_real_value(tmp_path, part):
    # Five for each part, so that two workers share them.
    table = messy_table(FEW, seed=100 + part)
    path = write_csv(table, tmp_path / "messy.csv")
    for run in range(5):
        assert searched(path, table, tmp_path / str(run), mechanism="independent") == {}


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("part", range(10))
def test_two_hundred_releases_leak_no_real_value(tmp_path, part):
    table = messy_table(4 * FEW, seed=200 + part)
    path = write_csv(table, tmp_path / "messy.csv")
    for run in range(20):
        assert searched(path, table, tmp_path / str(run)) == {}


@pytest.fixture(scope="module")
def regenerated(messy, tmp_path_factory):
    """The cells of a release with new personal values, and its folder."""
    folder = tmp_path_factory.mktemp("regenerated")
    path = write_csv(messy, folder / "messy.csv")
    release = us.synthesize(
        path, target=TARGET, epsilon=1.0, mechanism="independent", regenerate=True
    )
    return saved(release, folder / "release")


@pytest.mark.parametrize("name", ["customer_id", "email", "phone"])
def test_new_values_are_unique(regenerated, name):
    cells = regenerated[1][name]
    assert len(cells) > 7_000
    assert "" not in {*cells}
    assert cells.is_unique


def test_new_values_are_no_real_ones(messy, regenerated):
    folder, cells = regenerated
    for name in ("email", "phone"):
        assert not {*cells[name]} & {*messy[name]}, name
    # New identifiers count up, and may equal real ones by accident.
    assert {*leaked(messy, folder)} <= {"customer_id"}


def test_new_values_have_the_form_of_their_kind(regenerated):
    cells = regenerated[1]
    assert cells["email"].str.fullmatch(r"[^@\s]+@[^@\s]+\.[a-z]+").all()
    assert (cells["phone"].str.count(r"\d") >= 7).all()


def test_columns_come_in_the_owners_order(messy, regenerated):
    names = list(regenerated[1])
    assert names == [name for name in messy if name in names]
    assert {"customer_id", "email", "phone"} <= {*names}


def test_identifiers_follow_a_declared_pattern(messy, tmp_path):
    schema = tmp_path / "schema.toml"
    facts = 'role = "id"\nregenerate = true\npattern = "C-######"\n'
    named = "".join(
        f"[columns.{name}]\n{facts if name == 'customer_id' else ''}\n"
        for name in ("customer_id", "country", TARGET)
    )
    schema.write_text(named)
    path = write_csv(messy[["customer_id", "country", TARGET]], tmp_path / "messy.csv")
    release = us.synthesize(
        path, target=TARGET, epsilon=1.0, schema=schema, mechanism="independent"
    )
    cells = saved(release, tmp_path / "release")[1]["customer_id"]
    assert cells.is_unique
    assert cells.str.fullmatch(r"C-\d{6}").all()
    assert isinstance(cells, pd.Series)
