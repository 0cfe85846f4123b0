"""The simulation, prices, tables and what the public makes of them, by themselves."""

import gzip
from dataclasses import replace

import numpy as np
import pytest

from understudy.encode import Encoding
from understudy.errors import BadInput
from understudy.experiments.lk2ss import marketing, nonlinear, publics, real
from understudy.experiments.lk2ss.publics import (
    KRR,
    MODELS,
    RIDGES,
    WIDE_RIDGES,
    Rows,
    errors,
    models,
    settled,
)
from understudy.experiments.lk2ss.real import Scaled, private_rows, rows_of, run_real
from understudy.experiments.lk2ss.tables import (
    CENSUS,
    EIA,
    HOUSING,
    INSURANCE,
    TABLES,
    TARRAGONA,
    table_named,
)
from understudy.model.kernels import Wendland

SMALL = nonlinear.Sizes(60, 60, 30)


def test_the_function_is_the_papers():
    at = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 2.0]])
    # 1; (1/2)⁵ · 3.5 + 1/20; 4/5, for nothing is left of the first part beyond 1.
    assert nonlinear.truth(at)[:, 0] == pytest.approx([1.0, 3.5 / 32 + 0.05, 0.8])


def test_the_third_input_follows_the_first_two_and_tests_have_no_noise():
    rng = np.random.default_rng(0)
    rows = nonlinear.drawn(2000, rng)
    x = rows.inputs
    assert (x[:, 2] - x[:, 0] ** 2 - x[:, 1] ** 2).std() == pytest.approx(0.1, rel=0.1)
    assert (rows.outputs - nonlinear.truth(x)).std() == pytest.approx(0.1, rel=0.1)
    clean = nonlinear.drawn(50, rng, noise=0.0)
    assert np.array_equal(clean.outputs, nonlinear.truth(clean.inputs))


def small_trial(number):
    """A trial of few rows and small forests."""
    with pytest.MonkeyPatch.context() as patch:
        grow_little(patch)
        return nonlinear.run_nonlinear(number, SMALL)


def grow_little(patch):
    patch.setattr(publics, "TREES", 5)
    patch.setattr(publics, "DEPTHS", (3,))


@pytest.fixture(scope="module")
def simulated():
    return small_trial(0)


def test_a_trial_of_the_simulation_says_everything(simulated):
    assert all(np.isfinite(value) for value in simulated.values())
    for stage in nonlinear.COMPARED:
        # With nothing made up in them all rows are told, whatever they were drawn toward.
        assert simulated["lid", stage, 1.0] == 1.0
        for model in MODELS:
            assert (("gone", stage, 0.2, model)) in simulated
    assert simulated["alone", nonlinear.LATIN, 1.0] == simulated["alone", nonlinear.CAUCHY, 1.0]
    assert simulated["tv", nonlinear.LATIN] < simulated["tv", nonlinear.WEIBULL]
    assert simulated["moments", nonlinear.LATIN, "mean"] < 0.1
    assert all(("mismatch", model, 0.3) in simulated for model in MODELS)
    assert all(("response", one, other) in simulated for one in MODELS for other in MODELS)


def test_a_trial_can_be_repeated_but_for_its_seconds(simulated):
    again = small_trial(0)
    told = [key for key in again if key[0] != "seconds"]
    assert [again[key] for key in told] == [simulated[key] for key in told]
    assert small_trial(1)["before", KRR] != simulated["before", KRR]


def test_elasticities_are_found_and_all_is_told_at_the_end():
    found = marketing.run_marketing(0, rows=200)
    assert found["mapd", marketing.REAL] < 0.03
    for alpha in marketing.ALPHAS:
        assert found["mapd", marketing.made_name(alpha)] < 0.03
        assert found["market lid", alpha] <= found["market lid", "all", alpha]
    assert found["market lid", 1.0] == 1.0
    assert found["omu", marketing.REAL, 1] == pytest.approx(2.0, rel=0.2)
    assert found["opr", marketing.BOTH, 5] == pytest.approx(1.0, abs=0.01)


def test_models_learn_with_settings_that_other_rows_chose():
    rng = np.random.default_rng(1)
    rows = nonlinear.drawn(200, rng)
    test = nonlinear.drawn(100, rng, noise=0.0)
    learners = settled(models(Wendland(1.0), RIDGES), rows, rng)
    told = errors(learners, rows + nonlinear.drawn(200, rng), test)
    assert set(told) == {*MODELS}
    assert max(told.values()) < test.outputs.var() / 2
    assert len(rows + rows) == 400
    assert len(RIDGES) == len(WIDE_RIDGES) == 11
    assert min(RIDGES) > 0


def test_tables_are_as_large_as_printed():
    sizes = {table.name: (table.private, table.public, table.test) for table in TABLES}
    assert sizes == {
        "Insurance": (1000, 200, 138),
        "EIA": (1000, 300, 200),
        "CHP": (1000, 300, 200),
        "Census": (800, 180, 100),
        "Tarragona": (600, 134, 100),
    }
    assert [table.used for table in TABLES] == [1338, 1500, 1500, 1080, 834]
    assert table_named("CHP") is HOUSING
    for table in TABLES:
        assert table.schema.target == table.target
        for column in table.columns:
            cells = Encoding(table.schema).cells[column.name]
            assert not column.kind.numeric or cells.size == 64 + 1
            assert cells.hidden is not None
    assert [c.name for c in INSURANCE.columns if not c.kind.numeric] == [
        *("sex", "children", "smoker", "region")
    ]
    assert (TARRAGONA.ridges, EIA.ridges) == (RIDGES, WIDE_RIDGES)


def test_rows_that_lack_a_cell_are_left_out_and_other_tables_refused(invented, tmp_path):
    assert len(rows_of(HOUSING, invented)) == HOUSING.used + 3
    for file, text, why in (
        (CENSUS.file, "a,b\n1,2\n", "Is it the paper's table"),
        (INSURANCE.file, ",".join(INSURANCE.schema.names) + "\n", "0 whole rows"),
    ):
        with gzip.open(tmp_path / file, "wt") as opened:
            opened.write(text)
        table = next(one for one in TABLES if one.file == file)
        with pytest.raises(BadInput, match=why):
            rows_of(table, tmp_path)


def test_numbers_are_scaled_by_their_range_and_labels_have_an_axis_each(invented):
    rows = rows_of(INSURANCE, invented)
    found = Scaled.of(INSURANCE, rows).rows(rows)
    assert isinstance(found, Rows)
    assert found.inputs.shape[1] == 2 + 2 + 6 + 2 + 4
    assert (found.inputs.min(), found.inputs.max()) == (0.0, 1.0)
    assert (found.outputs.min(), found.outputs.max()) == (0.0, 1.0)
    # Labels that rows have not seen leave the axes as they are.
    few = Scaled.of(INSURANCE, rows).rows(rows.slice(0, 1))
    assert few.inputs.shape[1] == found.inputs.shape[1]


@pytest.fixture
def few_rows(monkeypatch):
    """The tables with few rows, and small forests."""
    grow_little(monkeypatch)
    small = {
        table.name: replace(table, private=120, public=40, test=30, alone=70) for table in TABLES
    }
    monkeypatch.setattr(real, "table_named", small.__getitem__)
    return small


def test_a_trial_of_a_table_says_what_is_told_and_gained(invented, few_rows):
    found = run_real("Insurance", 0, (4.0,), invented)
    assert all(np.isfinite(value) for value in found.values())
    assert 0 <= found["lid", "Insurance", "input"] <= 1
    assert found["lid by deviation", "Insurance", "input"] <= found["lid", "Insurance", "input"]
    for way in ("lid", "4"):
        for model in MODELS:
            assert ("gone", "Insurance", way, model) in found
            assert ("alone", "Insurance", way, model) in found
    assert found["alone", "Insurance", "real", KRR] < found["alone", "Insurance", "mean"]


def test_private_rows_keep_to_the_public_facts(invented, few_rows):
    table = few_rows["Tarragona"]
    made = private_rows(table, rows_of(table, invented).slice(0, 120), 4.0, 0)
    assert made.num_rows == 120
    assert made.column_names == list(table.schema.names)


def test_real_rows_teach_something(data):
    found = run_real("Insurance", 0, (), data)
    assert found["alone", "Insurance", "real", KRR] < found["alone", "Insurance", "mean"] / 3
