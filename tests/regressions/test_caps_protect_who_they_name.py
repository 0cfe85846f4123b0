"""Caps that protected other records than those that their condition names."""

import datetime as dt
from fractions import Fraction

import ibis
import numpy as np
import pyarrow as pa
import pytest

from understudy.column import Column, Kind
from understudy.encode import Encoding
from understudy.pipeline import synthesize
from understudy.privacy.caps import cost_for
from understudy.privacy.folder import verify
from understudy.privacy.table import PrivateTable
from understudy.privacy.weights import UNIT
from understudy.privacy.where import Where
from understudy.schema import Schema
from understudy.select.risk import weights_told

CAP = 1.0
OTHER = Column(name="sex", kind=Kind.BOOLEAN, null=True)
CODE = Column(
    name="code", kind=Kind.CATEGORICAL, categories=("1", "2", "3"), other="else", null=True
)
AGE = Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), bins=10, null=True)
SHARE = Column(name="share", kind=Kind.REAL, bounds=(0, 1), bins=10, null=True)
VISIT = Column(
    name="visit",
    kind=Kind.DATETIME,
    bounds=(dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 9)),  # noqa: DTZ001 - naive, as columns
    bins=192,
    null=True,
)
LATE = [dt.datetime(2020, 1, day, 18) for day in (5, 6, 7, 2)]  # noqa: DTZ001 - as above
LONG = "0" * 70 + "95"

CASES = {
    # The text "1.0" was coded as "other", and a stored 1.0 as "1": it counted fully.
    "a float that is listed": (CODE, "code = 1.0", [2.0, 3.0, 2.0, 1.0], pa.float64()),
    "an integer that is listed": (CODE, "code = 1.0", [2, 3, 2, 1], pa.int64()),
    "a float that a person writes as text": (CODE, "code = 1", [2.0, 3.0, None, 1.0], pa.float64()),
    # Read as missing, which met no condition.
    "a number of many characters": (AGE, "age >= 90", ["1", "2", "3", LONG], pa.string()),
    "an infinite number": (AGE, "age >= 90", [1.0, 2.0, 3.0, np.inf], pa.float64()),
    "a number that is spelled out": (AGE, "age >= 90", ["1", "2", "3", "ninety"], pa.string()),
    # In single precision 0.7 is a little less, and lies in the bin below.
    "a fraction in single precision": (SHARE, "share >= 0.7", [0.1, 0.2, 0.3, 0.7], pa.float32()),
    # Read as midnight, a date did not stand for its day.
    "a moment of the day": (VISIT, "visit <= 2020-01-02", LATE, pa.timestamp("s")),
    "a missing value": (AGE, "age = 90", ["1", "2", "3", None], pa.string()),
    "an unlisted value": (CODE, "code = 1", ["2", "3", "2", "one"], pa.string()),
}


@pytest.mark.parametrize(("column", "condition", "cells", "kind"), CASES.values(), ids=CASES)
def test_a_stored_record_loses_no_more_than_its_certificate_states(
    column, condition, cells, kind, tmp_path
):
    table = pa.table(
        {column.name: pa.array(cells * 50, kind), "sex": [place % 2 == 0 for place in range(200)]}
    )
    schema = Schema((column, OTHER))
    release = synthesize(
        table,
        epsilon=4.0,
        schema=schema,
        mechanism="mst",
        rows=5,
        protect_where=[condition],
        outlier_epsilon=CAP,
    )
    (cap,) = release.certificate.caps
    assert cap.budget.epsilon == CAP
    # What the last record truly loses: by its own code, and by what each request cost.
    codes = {name: held[-1:] for name, held in Encoding(schema).codes(table).items()}
    weights = weights_told(release.certificate.public["risk curve"])
    own = int(weights.of_rows(codes)[0])
    lost = sum(
        (
            Fraction(cost_for(one.event, cap.budget.order, own, UNIT))
            if "weights" in one.request
            else Fraction(cost_for(one.event, cap.budget.order, UNIT, UNIT))
            for one in release.certificate.entries
        ),
        Fraction(0),
    )
    assert 0 < lost <= cap.budget.rho
    # And the others still count fully.
    first = {name: held[:1] for name, held in Encoding(schema).codes(table).items()}
    assert int(weights.of_rows(first)[0]) == UNIT
    release.save(tmp_path / "release")
    assert all(check.passed for check in verify(tmp_path / "release"))


@pytest.mark.parametrize("null", [True, False])
def test_what_cannot_be_read_is_capped_without_a_cell_of_its_own_too(null):
    # Without a cell for missing values they count in the first one, which is capped with them.
    column = Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), bins=10, null=null)
    table = pa.table({"age": ["15", "25", LONG] * 50})
    release = synthesize(
        table,
        epsilon=4.0,
        schema=Schema((column,)),
        mechanism="independent",
        rows=5,
        protect_where=["age >= 90"],
        outlier_epsilon=CAP,
    )
    weights = weights_told(release.certificate.public["risk curve"])
    own = weights.of_rows(Encoding(Schema((column,))).codes(table))[:3]
    assert own[0] == own[1] == UNIT
    assert own[2] <= weights.weights[-1] < UNIT


@pytest.mark.parametrize("column", [AGE, CODE], ids=lambda column: column.name)
def test_a_number_in_a_boolean_column_of_sqlite_is_unreadable(column):
    # Read as true, and so as 1, a stored 90 counted fully under "age >= 90".
    engine = ibis.sqlite.connect()
    with engine.begin() as cursor:
        cursor.execute(f"CREATE TABLE t ({column.name} BOOLEAN)")
        cursor.executemany("INSERT INTO t VALUES (?)", [(90,), (2,), (-1,), (2**60,)])
    table = PrivateTable(engine.table("t"), Schema((column,)))
    (count,) = table.count([(column.name,)])
    assert count[-1] == count.sum() == 4
    marked = Where.parse(f"{column.name} = 1").codes(table.encoding, table.storage)
    assert marked[-1]
