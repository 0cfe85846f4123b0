"""Identifiers and personal fields are inferred under DP, and none of their values is used."""

import ibis
import numpy as np
import pyarrow as pa
import pytest

from understudy.column import Column, Kind, Role, Source
from understudy.privacy.budget import Budget
from understudy.privacy.discover import discover, plan
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.table import PrivateTable
from understudy.privacy.unit import Person
from understudy.schema import Schema

ROWS = 2000


def people(rows=ROWS):
    return pa.table(
        {
            "mail": [f"p{k}@example.org" for k in range(rows)],
            "phone": [f"+49 30 {k:07d}" for k in range(rows)],
            "note": [
                f"a longer remark about number {k} that is unlike others" for k in range(rows)
            ],
            "name": [f"Person {chr(65 + k % 26)}{'x' * (k % 97)}" for k in range(rows)],
            "branch": [("north", "south", "east")[k % 3] for k in range(rows)],
            "number": pa.array(np.arange(rows)),
            "bought": [("yes", "no")[k % 2] for k in range(rows)],
        }
    )


SUGGESTED = {"name": Role.NAME, "branch": Role.NAME, "number": Role.ID}


def inferred(table, schema=None, *, epsilon=50.0, **how):
    budget = Budget(epsilon, 1e-9, thresholds=1e-10)
    source = SeededForTests(3)
    ledger = Ledger.open(table, schema, budget, discover=True, source=source)
    return ledger, discover(ledger, plan(ledger), **how)


def test_personal_fields_are_left_out_and_named():
    ledger, found = inferred(people(), suggested=SUGGESTED)
    roles = {"mail": Role.EMAIL, "phone": Role.PHONE, "note": Role.FREE_TEXT}
    assert found.personal == {**roles, "name": Role.NAME, "number": Role.ID}
    assert ledger.encoding.domain.names == ("branch", "bought")
    assert [ledger.schema[name].role for name in found.personal] == [*found.personal.values()]
    assert {ledger.schema[name].source for name in found.personal} == {Source.BOUGHT}
    assert {one.clique for one in found.known} == {("branch",), ("bought",), ()}
    # Nothing of such a column stands in what is released.
    assert "@" not in str(ledger.close().to_json())


def test_a_name_that_many_rows_share_is_a_category():
    ledger, found = inferred(people(), suggested={"branch": Role.NAME})
    assert "branch" not in found.personal
    assert ledger.schema["branch"].categories == ("east", "north", "south")
    # By its looks alone, a number is none of these.
    assert ledger.schema["number"].kind is Kind.INTEGER


def test_what_a_public_choice_names_is_never_left_out():
    _, found = inferred(people(), suggested=SUGGESTED, named={"mail", "name"})
    assert not {"mail", "name"} & found.personal.keys()
    columns = tuple(Column(name=name, kind=Kind.UNKNOWN) for name in people().column_names)
    schema = Schema(columns).with_roles({"mail": Role.TARGET, "phone": Role.PROTECTED})
    _, found = inferred(people(), schema)
    assert not {"mail", "phone"} & found.personal.keys()
    assert "note" in found.personal


def test_a_table_of_personal_fields_alone_raises_nothing():
    table = people().select(["mail", "phone"])
    ledger, found = inferred(table)
    assert found.personal == {"phone": Role.PHONE}
    assert ledger.schema["mail"].categories == ()
    assert ledger.domain.sizes == {"mail": 2}, "other, and missing"


def test_noise_hides_personal_fields_of_a_few_rows():
    _, found = inferred(people(40), epsilon=1.0)
    assert found.personal == {}


def test_shares_that_cannot_be_read_or_are_other_are_told_with_noise():
    table = pa.table(
        {
            "day": ["31.12.2020"] * 1500 + ["2020-12-30"] * 500,
            "town": ["a"] * 1500 + [f"only {'x' * k}" for k in range(500)],
        }
    )
    _, found = inferred(table)
    assert found.unread["day"] == pytest.approx(0.25, abs=0.02)
    assert found.other["town"] == pytest.approx(0.25, abs=0.02)


def foreign(table):
    engine = ibis.sqlite.connect()
    return engine.create_table("people", table)


@pytest.mark.parametrize("person", [None, Person("number", 1)], ids=["record", "person"])
def test_engines_that_code_no_shapes_hand_the_text_over_and_agree(person):
    table = people(300)
    roles = {"number": Role.ID} if person else {}
    columns = tuple(Column(name=name, kind=Kind.UNKNOWN) for name in table.column_names)
    schema = Schema(columns).with_roles(roles)
    names = [name for name in table.column_names if name not in roles]
    here, there = (
        PrivateTable(data, schema, shapes=True, person=person) for data in (table, foreign(table))
    )
    cliques = [*((name,) for name in names), (), ("branch", "bought")][: len(names) + 1]
    for one, two in zip(here.count(cliques), there.count(cliques), strict=True):
        np.testing.assert_array_equal(one, two)
        assert one.sum() == table.num_rows
    asked = {"branch": None}
    one, two = here.values(asked)["branch"], there.values(asked)["branch"]
    assert dict(zip(one.values.to_pylist(), one.counts, strict=True)) == dict(
        zip(two.values.to_pylist(), two.counts, strict=True)
    )
