"""What a schema declares about a messy table, and a CSV file with another delimiter."""

import re
from collections import Counter

import numpy as np
import pytest

import understudy as us
from helpers.messy import (
    FREQUENT_COUNTRIES,
    RARE_COUNTRIES,
    ROWS,
    TARGET,
    is_written,
    number_of,
    write_csv,
)
from helpers.messy_releases import saved

LIMIT = 3_000.0
"""A declared bound that 18 % of balances exceed."""


def shares(notes, name):
    """The percentages in the notes about a column."""
    about = [note for note in notes if re.search(rf"\b{name}\b", note)]
    return [float(share) for note in about for share in re.findall(r"(\d+(?:\.\d+)?) ?%", note)]


def released(messy, columns, facts, folder):
    """Release some columns with declared facts; the release and its cells."""
    schema = folder / "schema.toml"
    schema.write_text("".join(f"[columns.{name}]\n{facts.get(name, '')}\n" for name in columns))
    path = write_csv(messy[columns], folder / "messy.csv")
    release = us.synthesize(
        path, target=TARGET, epsilon=1.0, schema=schema, mechanism="independent"
    )
    return release, saved(release, folder / "release")[1]


@pytest.fixture(scope="module")
def six_countries(messy, tmp_path_factory):
    """Of 26 countries, six are declared, and neither "other" nor missing cells."""
    facts = f'kind = "categorical"\ncategories = {[*FREQUENT_COUNTRIES]}\nnull = false\n'
    folder = tmp_path_factory.mktemp("six")
    return released(messy, ["country", "smoker", TARGET], {"country": facts}, folder)


def test_undeclared_countries_are_no_declared_ones(messy, six_countries):
    real, found = Counter(messy["country"]), Counter(six_countries[1]["country"])
    assert {*found} == {*FREQUENT_COUNTRIES}
    # With three columns the noise is below 40 rows, and drawing rows adds as much: 400 are more
    # than six deviations. Recoded, the rare 1,191 would be in one of the six, or 200 in each.
    for label in FREQUENT_COUNTRIES:
        assert found[label] == pytest.approx(real[label], abs=400), label


def test_rows_of_undeclared_countries_are_not_drawn(messy, six_countries):
    hidden = messy["country"].isin(RARE_COUNTRIES).sum()
    assert len(six_countries[1]) == pytest.approx(ROWS - hidden, abs=400)


def test_the_share_of_undeclared_countries_is_noted(messy, six_countries):
    real = 100 * messy["country"].isin(RARE_COUNTRIES).mean()
    assert [share for share in shares(six_countries[0].notes, "country") if abs(share - real) < 5]


def test_the_share_of_clamped_numbers_is_noted(messy, tmp_path):
    facts = f'kind = "real"\nbounds = [0.0, {LIMIT}]\nnull = false\n'
    release, cells = released(messy, ["balance", "smoker", TARGET], {"balance": facts}, tmp_path)
    real = messy["balance"].astype(float)
    balances = cells["balance"].astype(float)
    assert balances.between(0, LIMIT).all()
    beyond = 100 * (real > LIMIT).mean()
    assert [share for share in shares(release.notes, "balance") if abs(share - beyond) < 5]


def test_declared_formats_round_trip(messy, tmp_path):
    facts = {
        "amount": 'kind = "real"\nbounds = [0.0, 10000.0]\ndecimal = ","\nthousands = "."\n'
        "decimals = 2\npadded = true\nnull = false\n",
        "income": 'kind = "integer"\nbounds = [0, 150000]\nthousands = ","\nprefix = "$"\n',
        "signup": 'kind = "date"\nbounds = [2015-01-01, 2022-12-31]\nformat = "%d/%m/%Y"\n',
        "smoker": 'kind = "boolean"\nspelling = ["N", "Y"]\nnull = false\n',
        "rating": 'kind = "real"\nbounds = [0.5, 5.0]\nstep = 0.5\ndecimals = 1\npadded = true\n',
    }
    cells = released(messy, [*facts, TARGET], facts, tmp_path)[1]
    for name in facts:
        found = [cell for cell in cells[name] if cell]
        assert [cell for cell in found if not is_written(name, cell)][:3] == [], name
        assert len(found) > 0.9 * len(cells)


def test_a_file_with_semicolons_keeps_its_numbers(messy, tmp_path):
    names = ["amount", "discount", "smoker", TARGET]
    path = write_csv(messy[names], tmp_path / "messy.csv", delimiter=";")
    release = us.synthesize(path, target=TARGET, epsilon=1.0, mechanism="independent")
    # The release is written with the owner's delimiter.
    cells = saved(release, tmp_path / "release", delimiter=";")[1]
    for name in ("amount", "discount"):
        found = [cell for cell in cells[name] if cell]
        assert [cell for cell in found if not is_written(name, cell)][:3] == [], name
        real = np.quantile([number_of(name, cell) for cell in messy[name]], [0.3, 0.5, 0.7])
        assert real[0] < np.median([number_of(name, cell) for cell in found]) < real[2]
