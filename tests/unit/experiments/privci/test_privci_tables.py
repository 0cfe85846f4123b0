"""The paper's tables: its columns and roles, in codes, in folds."""

import gzip

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import BadInput
from understudy.experiments.privci.coding import Cut, Listed, numbered
from understudy.experiments.privci.folds import check_folder, coded, dealt, folds_of
from understudy.experiments.privci.printed import COLUMNS, ROWS
from understudy.experiments.privci.tables import ADULT, COMPAS, DUTCH, GERMAN, LAW, TABLES


def cells(*values):
    return pa.chunked_array([pa.array(values, pa.string())])


def test_roles_are_the_papers():
    told = {table.name: str(table.independence) for table in TABLES}
    assert told == {
        "adult": "income ⟂ gender | occupation, education, hours-per-week",
        "compas": "is_recid ⟂ race | age",
        "dutch": "occupation ⟂ sex | edu_level",
        "german": "risk ⟂ sex | duration, credit_amount",
        "law": "pass_bar ⟂ race | lsat, ugpa",
    }
    assert {*ADULT.inadmissible} == {"marital-status", "age"}
    assert {*COMPAS.inadmissible} == {"charge_degree", "priors_count"}
    assert len(DUTCH.inadmissible) == 9
    assert {"age", "job", "housing", "purpose"} < {*GERMAN.inadmissible}
    assert {"decile1b", "decile3", "zfygpa", "zgpa", "tier"} < {*LAW.inadmissible}


def test_there_are_as_many_columns_as_printed():
    assert {table.name: len(table.columns) for table in TABLES} == COLUMNS
    for table in TABLES:
        assert {*table.codings} == {*table.columns}
        assert table.sizes[table.outcome] == 2


def test_values_become_their_places():
    listed = Listed(("low", "high"), missing=True)
    assert listed.codes("x", cells("high", None, "low", "")).tolist() == [1, 2, 0, 2]
    assert (listed.size, str(listed)) == (3, "2 values, missing")
    assert numbered(3, 5).codes("x", cells("5", "3")).tolist() == [2, 0]


def test_numbers_are_cut_below_edges():
    cut = Cut((0, 2.5))
    assert cut.codes("x", cells("-1", "0", "2.4", "2.5", "9.0")).tolist() == [0, 1, 1, 2, 2]
    assert (cut.size, str(cut)) == (3, "cut below 0, 2.5")


@pytest.mark.parametrize(
    ("coding", "values"),
    [
        (Listed(("a", "b")), ("a", "c")),
        (Listed(("a", "b")), ("a", None)),
        (Cut((1,)), ("1", "many")),
        (Cut((1,)), ("1", None)),
    ],
)
def test_another_table_is_refused(coding, values):
    with pytest.raises(BadInput, match="'x'"):
        coding.codes("x", cells(*values))


def test_folds_share_rows_and_classes_evenly():
    outcome = np.repeat([0, 1], [33, 19])
    fold = dealt(outcome)
    for code, count in ((0, 33), (1, 19)):
        shares = np.bincount(fold[outcome == code], minlength=5)
        assert shares.max() - shares.min() <= 1
        assert shares.sum() == count
    sizes = np.bincount(fold)
    assert sizes.max() - sizes.min() <= 1
    assert not np.array_equal(fold[:5], fold[5:10])


def test_every_row_is_tested_once(invented):
    folds = folds_of(GERMAN, invented)
    splits = [folds.split(fold) for fold in range(5)]
    assert sum(len(test["risk"]) for _, test in splits) == 400
    for train, test in splits:
        assert len(train["risk"]) + len(test["risk"]) == 400


def test_invented_rows_have_all_their_codes(invented):
    for table in TABLES:
        for name, codes in coded(table, invented).items():
            assert 0 <= codes.min() <= codes.max() < table.sizes[name]


def test_what_is_lacking_is_told(tmp_path):
    with pytest.raises(BadInput, match="give their folder with --data"):
        check_folder(None)
    with pytest.raises(BadInput, match="lacks adult"):
        check_folder(tmp_path)
    with gzip.open(tmp_path / COMPAS.file, "wt") as file:
        file.write("race,age\nOther,30\n")
    with pytest.raises(BadInput, match="lacks is_recid, c_charge_degree, priors_count"):
        coded(COMPAS, tmp_path)


def test_the_real_tables_are_those_of_the_paper(data):
    for table in TABLES:
        rows = coded(table, check_folder(data))
        assert {len(codes) for codes in rows.values()} == {ROWS[table.name]}
        for name, codes in rows.items():
            # Every code occurs: none of the lists and edges is for another table.
            assert {*np.unique(codes)} == {*range(table.sizes[name])}
