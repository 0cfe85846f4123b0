"""What a release takes as public."""

import numpy as np
import pyarrow as pa
import pytest

from understudy.column import Column, Kind, Role
from understudy.pipeline import synthesize
from understudy.report.public import choices, declared, general
from understudy.schema import Schema


def table(rows=300):
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "age": rng.integers(18, 90, rows),
            "job": rng.choice(["a", "b"], rows),
            "id": [f"{k}" for k in range(rows)],
        }
    )


def of(*columns, unit=None, **facts):
    ids = Column(name="id", kind=Kind.CATEGORICAL, role=Role.ID)
    schema = Schema((*columns, ids), **facts)
    release = synthesize(
        table(),
        epsilon=4.0,
        delta=1e-5,
        schema=schema,
        mechanism="independent",
        unit=unit,
        target="job",
    )
    return release.certificate


def test_declared_facts_stay_public_where_only_nulls_were_found_out():
    certificate = of(
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 120), bins=12),
        Column(name="job", kind=Kind.CATEGORICAL, categories=("a", "b"), other="else", null=False),
    )
    assert certificate.bought == ("age: null",)
    assert declared(certificate) == {
        "age": "integer, 0 to 120, 12 bins",
        "job": "categorical, 2 values, 'else' for all others, never missing",
    }


def test_what_storage_tells_is_not_declared():
    certificate = of(
        Column(name="age", kind=Kind.UNKNOWN), Column(name="job", kind=Kind.CATEGORICAL)
    )
    assert declared(certificate) == {"job": "categorical"}


def test_facts_about_the_whole_table_are_public_too():
    job = Column(name="job", kind=Kind.CATEGORICAL, categories=("a", "b"), null=False)
    age = Column(name="age", kind=Kind.INTEGER, edges=(0, 50, 99), atoms=(18,), null=True)
    certificate = of(age, job, rows_bound=1000, unit="replace")
    assert list(general(certificate)) == [
        "Which columns were left out: id",
        "That the private table has at most 1,000 rows",
        "How many rows the private table has",
    ]
    assert declared(certificate)["age"] == "integer, 0 to 99, 2 bins, often 18, may be missing"


def test_choices_come_with_their_values_and_only_those_that_were_made():
    certificate = of(Column(name="age", kind=Kind.UNKNOWN), Column(name="job", kind=Kind.UNKNOWN))
    assert choices(certificate) == {
        "discovery": "up to 33% of the budget, for 2 columns",
        "method": "independent",
        "target": "job",
    }


@pytest.mark.parametrize("source", ["data", "declared"])
def test_only_what_somebody_vouches_for_is_listed(source):
    columns = (
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 120), null=False, source=source),
        Column(name="job", kind=Kind.CATEGORICAL, categories=("a", "b"), null=False),
        Column(name="id", kind=Kind.CATEGORICAL, role=Role.ID),
    )
    schema = Schema(columns, rows_bound=1000, rows_source=source)
    release = synthesize(table(), epsilon=4.0, schema=schema, allow_non_private=True)
    assert ("age" in declared(release.certificate)) == (source == "declared")
    lines = [line for line in general(release.certificate) if "at most" in line]
    assert bool(lines) == (source == "declared")
