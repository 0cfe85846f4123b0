"""Values that fit two formats: the one that is assumed is noted, and a percent sign is no unit."""

import numpy as np
import pyarrow as pa
import pytest

from understudy.pipeline import synthesize

ROWS = 6000


def released(cells):
    rng = np.random.default_rng(0)
    other = rng.choice(["a", "b"], ROWS)
    table = pa.table({"x": list(cells(rng)), "other": other})
    return synthesize(table, epsilon=2.0, mechanism="independent", rows=500, seed=1)


def dates(days):
    def cells(rng):
        return (f"{rng.choice(days):02d}/{rng.integers(1, 13):02d}/2021" for _ in range(ROWS))

    return cells


@pytest.mark.parametrize(("days", "noted"), [(range(1, 13), True), (range(1, 29), False)])
def test_an_order_of_day_and_month_that_no_date_decides_is_noted(days, noted):
    release = released(dates([*days]))
    assert release.schema["x"].format == "%d/%m/%Y"
    assert any("day first and month first" in note for note in release.notes) == noted


@pytest.mark.parametrize(("top", "noted"), [(10, True), (4000, False)])
def test_commas_that_no_number_decides_are_noted(top, noted):
    release = released(lambda rng: (f"{rng.integers(1, top) * 1000 + 234:,}" for _ in range(ROWS)))
    assert release.schema["x"].thousands == ","
    assert any("comma between thousands" in note for note in release.notes) == noted


def test_numbers_without_a_percent_sign_are_no_percentages():
    def cells(rng):
        for _ in range(ROWS):
            share = rng.random()
            yield f"{100 * share:.1f}%" if rng.random() < 0.7 else f"{share:.3f}"

    release = released(cells)
    assert release.schema["x"].suffix == "%"
    assert any("cannot be read" in note for note in release.notes)
    shares = [float(cell.removesuffix("%")) for cell in release.data["x"].dropna()]
    assert 0.2 < release.data["x"].isna().mean() < 0.4
    assert np.median(shares) == pytest.approx(50, abs=10)
