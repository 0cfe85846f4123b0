import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from understudy.column import Role, Source
from understudy.encode import Encoding
from understudy.errors import BadInput
from understudy.experiments.demo import (
    DEMO_PARENTS,
    DEMO_TARGET,
    MOST_ADMISSIONS,
    demo_schema,
    demo_table,
)
from understudy.schema_files import schema_from_toml, schema_to_toml


@pytest.fixture(scope="module")
def table():
    return demo_table()


@pytest.fixture(scope="module")
def encoding():
    return Encoding(demo_schema())


def column(table, name):
    return table[name].to_numpy()


def auc(score, truth):
    """How often a positive scores higher than a negative; equal scores count half."""
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    positives, negatives = truth.sum(), (~truth).sum()
    return (ranks[truth].sum() - positives * (positives + 1) / 2) / (positives * negatives)


def indicators(encoding, table, names):
    """One 0/1 column per cell of each of the named columns, and a constant."""
    codes = encoding.codes(table)
    blocks = [np.eye(encoding.domain.sizes[name])[codes[name]] for name in names]
    return np.hstack([np.ones((len(table), 1)), *blocks])


def held_out_auc(encoding, names):
    """AUC on a fresh table of a least-squares score learnt on another."""
    train, test = demo_table(10_000, seed=1), demo_table(10_000, seed=2)
    weights, *_ = np.linalg.lstsq(
        indicators(encoding, train, names), column(train, DEMO_TARGET).astype(float), rcond=None
    )
    return auc(indicators(encoding, test, names) @ weights, column(test, DEMO_TARGET))


def test_same_seed_same_table():
    assert demo_table(500, seed=3).equals(demo_table(500, seed=3))


def test_another_seed_another_table():
    assert not demo_table(500, seed=3).equals(demo_table(500, seed=4))


@pytest.mark.parametrize("rows", [1, 2, 777])
def test_has_as_many_rows_as_asked_for(rows):
    assert demo_table(rows).num_rows == rows


@pytest.mark.parametrize(("rows", "seed"), [(0, 0), (-1, 0), (1_000_001, 0), (10, -1)])
def test_refuses_what_it_cannot_draw(rows, seed):
    with pytest.raises(BadInput, match=r"ask for 1 to 1,000,000|0 or a positive"):
        demo_table(rows, seed=seed)


def test_columns_have_plain_types(table):
    assert dict(zip(table.column_names, table.schema.types, strict=True)) == {
        "patient_id": pa.string(),
        "age": pa.int64(),
        "ethnicity": pa.string(),
        "insurance": pa.string(),
        "smoker": pa.bool_(),
        "diagnosis": pa.string(),
        "ward": pa.string(),
        "severity": pa.string(),
        "prior_visits": pa.int64(),
        "creatinine": pa.float64(),
        "out_of_pocket": pa.float64(),
        "admitted_on": pa.date32(),
        "discharged_at": pa.timestamp("s"),
        "readmitted": pa.bool_(),
    }


def test_schema_describes_exactly_the_table(table):
    demo_schema().check_names(table.column_names)


def test_schema_leaves_nothing_open():
    schema = demo_schema()
    assert not schema.silent
    assert schema.rows_bound is not None
    assert {fact.source for fact in schema} == {Source.DECLARED}


def test_schema_names_target_parents_and_roles():
    schema = demo_schema()
    assert schema.target == DEMO_TARGET
    assert [name for name in schema.names if name in DEMO_PARENTS] == list(DEMO_PARENTS)
    assert {fact.role for fact in schema} == {role for role in Role if role.coded} | {Role.ID}


def test_schema_survives_a_file():
    assert schema_from_toml(schema_to_toml(demo_schema())) == demo_schema()


def test_ids_repeat_within_the_stated_bound(table):
    admissions = pc.value_counts(table["patient_id"]).field("counts").to_numpy()
    assert set(admissions) == set(range(1, MOST_ADMISSIONS + 1))


def test_a_patient_is_the_same_person_in_all_admissions(table):
    people = table.select(["patient_id", "age", "ethnicity", "insurance"])
    distinct = people.group_by(people.column_names).aggregate([])
    assert len(distinct) == pc.count_distinct(table["patient_id"]).as_py()


def test_nulls_stand_only_where_the_schema_allows_them(table):
    with_nulls = {name for name in table.column_names if table[name].null_count}
    assert with_nulls == {"smoker", "creatinine"}
    assert with_nulls == {fact.name for fact in demo_schema() if fact.null}


@pytest.mark.parametrize("name", ["out_of_pocket", "prior_visits", "discharged_at"])
def test_a_few_values_lie_outside_the_bounds(name, table, encoding):
    least, greatest = (pa.scalar(end, table[name].type) for end in demo_schema()[name].bounds)
    outside = pc.or_(pc.less(table[name], least), pc.greater(table[name], greatest))
    assert 0 < pc.sum(outside).as_py() < 0.02 * len(table)
    # Such values count in the first or the last bin, not as missing.
    codes = encoding.codes(table.filter(outside))[name]
    assert set(codes) <= {0, len(encoding.cells[name].bins) - 1}


def test_undeclared_diagnoses_encode_as_other(table, encoding):
    declared = pa.array(demo_schema()["diagnosis"].categories)
    strays = table.filter(pc.invert(pc.is_in(table["diagnosis"], declared)))
    assert 0 < len(strays) < 0.05 * len(table)
    cells = encoding.cells["diagnosis"]
    assert set(encoding.codes(strays)["diagnosis"]) == {cells.other}


def test_blanks_around_a_ward_do_not_change_its_code(table, encoding):
    trimmed = pc.utf8_trim_whitespace(table["ward"])
    assert not trimmed.equals(table["ward"])
    tidy = table.set_column(table.column_names.index("ward"), "ward", trimmed)
    np.testing.assert_array_equal(encoding.codes(table)["ward"], encoding.codes(tidy)["ward"])


@pytest.mark.parametrize("name", ["prior_visits", "out_of_pocket"])
def test_many_share_the_atom(name, table, encoding):
    share = np.mean(column(table, name) == 0)
    assert 0.3 < share < 0.6
    assert encoding.cells[name].atoms == (0.0,)


def test_codes_survive_decoding(table, encoding):
    codes = encoding.codes(table)
    again = encoding.codes(encoding.decode(codes, np.random.default_rng(0)))
    for name, code in codes.items():
        np.testing.assert_array_equal(again[name], code, err_msg=name)


def test_every_cell_is_met(encoding):
    codes = encoding.codes(demo_table(50_000))
    sizes = encoding.domain.sizes
    empty = {
        name: np.flatnonzero(np.bincount(c, minlength=sizes[name]) == 0)
        for name, c in codes.items()
    }
    # No value of the table is without a code of its own.
    hidden = {name: [encoding.hidden[name]] if name in encoding.hidden else [] for name in sizes}
    assert {name: list(cells) for name, cells in empty.items()} == hidden
    assert {*encoding.hidden} == {
        c.name for c in demo_schema().coded if not c.null and c.other is None
    }


def test_base_rate(table):
    assert 0.15 < np.mean(column(table, DEMO_TARGET)) < 0.25


def test_parents_predict_the_target(encoding):
    assert held_out_auc(encoding, DEMO_PARENTS) > 0.75


@pytest.mark.parametrize("parent", DEMO_PARENTS)
def test_each_parent_matters(parent, encoding):
    others = [name for name in DEMO_PARENTS if name != parent]
    assert held_out_auc(encoding, DEMO_PARENTS) > held_out_auc(encoding, others) + 0.002


def test_the_other_columns_add_nothing_to_the_parents(encoding):
    everything = [name for name in encoding.domain.names if name != DEMO_TARGET]
    assert held_out_auc(encoding, everything) < held_out_auc(encoding, DEMO_PARENTS) + 0.002


def test_creatinine_is_missing_mostly_for_mild_cases(table):
    missing = column(pa.table({"missing": pc.is_null(table["creatinine"])}), "missing")
    severity = column(table, "severity")
    assert missing[severity == "minor"].mean() > missing[severity == "extreme"].mean() + 0.2


def test_protected_group_changes_insurance_and_so_readmission():
    table = demo_table(50_000)
    group, uninsured = column(table, "ethnicity"), column(table, "insurance") == "uninsured"
    readmitted = column(table, DEMO_TARGET)
    assert uninsured[group == "group C"].mean() > uninsured[group == "group A"].mean() + 0.1
    assert readmitted[group == "group C"].mean() > readmitted[group == "group A"].mean() + 0.01
