"""Invented values: unique, reproducible, and a function of public facts alone."""

import re
import sys
import uuid
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from understudy import regenerate
from understudy.column import UUID, Column, Kind, Role
from understudy.errors import BadInput, SchemaError
from understudy.regenerate import (
    LONGEST,
    arrow_type,
    check_regenerated,
    has_faker,
    new_values,
    with_new_values,
)
from understudy.schema import Schema

MANY = 100_000


def column(name, role, **facts):
    return Column(name=name, role=role, regenerate=True, **{"kind": Kind.CATEGORICAL, **facts})


ID = column("id", Role.ID)
WHOLE = column("key", Role.ID, kind=Kind.INTEGER)
PATTERNED = column("code", Role.ID, pattern="C-###-###/x")
UUIDS = column("customer_uuid", Role.ID)
EMAIL = column("email", Role.EMAIL)
PHONE = column("phone", Role.PHONE)
URL = column("url", Role.URL)
NAME = column("name", Role.NAME)
FIRST, LAST = column("first_name", Role.NAME), column("last_name", Role.NAME)
ADDRESS, STREET = column("address", Role.ADDRESS), column("street", Role.ADDRESS)
WITHOUT_FAKER = [ID, WHOLE, PATTERNED, UUIDS, EMAIL, PHONE, URL]
PEOPLE = [EMAIL, NAME, FIRST, LAST, ADDRESS, STREET]


class Substitute:
    """As much of Faker as is used."""

    def __init__(self, locale):
        assert locale == "en_US"
        self._rng = None

    def seed_instance(self, seed):
        self._rng = np.random.default_rng(seed)

    def _draw(self, kind):
        return kind + "".join(chr(97 + letter) for letter in self._rng.integers(0, 26, 2))

    def first_name(self):
        return self._draw("Fí-")

    def last_name(self):
        return self._draw("O'")

    def street_name(self):
        return self._draw("Street ")

    def city(self):
        return self._draw("City ")


@pytest.fixture(params=["substitute", "faker"])
def library(request, monkeypatch):
    """Faker, and a library in its place where it is not installed."""
    regenerate._faker_words.cache_clear()
    if request.param == "faker":
        pytest.importorskip("faker", reason="Faker is not installed")
    else:
        module = ModuleType("faker")
        module.__spec__, module.Faker = ModuleSpec("faker", None), Substitute
        monkeypatch.setitem(sys.modules, "faker", module)
    yield
    regenerate._faker_words.cache_clear()


@pytest.fixture
def no_library(monkeypatch):
    regenerate._faker_words.cache_clear()
    monkeypatch.setitem(sys.modules, "faker", None)
    assert not has_faker()


def checked(one):
    """The laws that hold for every column of invented values."""
    values = new_values(one, 0, 3000, seed=5)
    assert values.type == arrow_type(one)
    assert values.null_count == 0
    for start, count in ((0, 1), (0, 2000), (17, 500), (2999, 1), (100, 0)):
        assert new_values(one, start, count, seed=5).equals(values.slice(start, count))
    if pa.types.is_string(values.type):
        assert pc.max(pc.binary_length(values)).as_py() <= LONGEST
    return values


@pytest.mark.parametrize("one", WITHOUT_FAKER, ids=lambda one: one.name)
def test_values_are_unique_and_a_function_of_seed_and_row(one, no_library):
    checked(one)
    many = new_values(one, 0, MANY, seed=5)
    assert len(many.unique()) == MANY


def test_the_largest_release_has_unique_phones_too():
    step = 10**8 // 500
    far = [new_values(PHONE, start, 20, seed=1).to_pylist() for start in range(0, 10**8, step)]
    assert len({value for part in far for value in part}) == 500 * 20


@pytest.mark.parametrize("one", [UUIDS, PHONE], ids=lambda one: one.name)
def test_another_seed_or_name_makes_other_values(one):
    values = {*new_values(one, 0, 200, seed=5).to_pylist()}
    assert values.isdisjoint(new_values(one, 0, 200, seed=6).to_pylist())
    other = column(f"other_{one.name}", one.role)
    assert values.isdisjoint(new_values(other, 0, 200, seed=5).to_pylist())


@pytest.mark.parametrize("seed", [0, 1, 2**128 - 1, 2**200])
def test_every_seed_of_a_release_will_do(seed):
    assert len(new_values(UUIDS, 0, 10, seed).unique()) == 10


def test_values_are_spelled_as_their_role_says(no_library):
    assert new_values(ID, 0, 2, 0).to_pylist() == ["0000001", "0000002"]
    assert new_values(WHOLE, 0, 2, 0).to_pylist() == [1, 2]
    assert new_values(PATTERNED, 41, 1, 0).to_pylist() == ["C-000-042/x"]
    assert new_values(EMAIL, 122, 1, 0).to_pylist() == ["person000123@example.org"]
    assert new_values(URL, 6, 1, 0).to_pylist() == ["https://example.org/000007"]
    for value in new_values(PHONE, 0, 100, 0).to_pylist():
        assert re.fullmatch(r"\(\+999\) \d{3} \d{3} \d{3}", value)
    for one in (UUIDS, column("key", Role.ID, pattern=UUID)):
        for value in new_values(one, 0, 100, 0).to_pylist():
            assert str(uuid.UUID(value)) == value
            assert uuid.UUID(value).version == 4
            assert uuid.UUID(value).variant == uuid.RFC_4122


@pytest.mark.parametrize("role", [role for role in Role if role.identifies])
def test_a_pattern_serves_every_role_but_free_text(role, no_library):
    if role is Role.FREE_TEXT:
        with pytest.raises(SchemaError, match="free text cannot be regenerated"):
            column("x", role, pattern="t-##")
        return
    one = column("x", role, pattern="##é#")
    assert checked(one)[:2].to_pylist() == ["00é1", "00é2"]


def test_a_pattern_with_too_few_marks_grows_and_stays_unique():
    one = column("x", Role.ID, pattern="#-1#")
    values = new_values(one, 0, 2000, 0)
    assert len(values.unique()) == 2000
    assert values[98:101].to_pylist() == ["9-19", "1-100", "1-101"]


def test_too_few_marks_are_refused_where_the_rows_are_stated():
    schema = Schema((column("x", Role.ID, pattern="C-##"),))
    check_regenerated(schema, None)
    check_regenerated(schema, 99)
    with pytest.raises(BadInput, match=r"'C-##' has 99 identifiers, and 100 rows need one each"):
        check_regenerated(schema, 100)
    check_regenerated(Schema((Column(name="x", kind=Kind.CATEGORICAL, role=Role.ID),)), 10**8)


@pytest.mark.parametrize("one", [NAME, FIRST, ADDRESS], ids=lambda one: one.name)
def test_names_without_the_library_are_refused_with_a_way_out(one, no_library):
    schema = Schema((ID, one))
    with pytest.raises(BadInput, match=re.escape("pip install 'understudy[fake]'")) as refused:
        check_regenerated(schema, None)
    assert one.name in str(refused.value)
    with pytest.raises(BadInput, match=r"understudy\[fake\]"):
        new_values(one, 0, 1, 0)
    patterned = column(one.name, one.role, pattern="Person ####")
    check_regenerated(Schema((patterned,)), None)
    assert new_values(patterned, 0, 1, 0).to_pylist() == ["Person 0001"]


@pytest.mark.parametrize("one", PEOPLE, ids=lambda one: one.name)
def test_names_and_addresses_come_from_the_library(one, library):
    check_regenerated(Schema((one,)), None)
    values = checked(one)
    assert len(values.unique()) > 100
    assert not values.equals(new_values(one, 0, 3000, seed=6))


def test_columns_about_one_person_agree(library):
    first, last, whole, email = (
        new_values(one, 0, 500, 3).to_pylist() for one in (FIRST, LAST, NAME, EMAIL)
    )
    for place, (one, other, both, address) in enumerate(
        zip(first, last, whole, email, strict=True)
    ):
        assert both == f"{one} {other}"
        plain = [re.sub("[^a-z]", "", part.lower()) for part in (one, other)]
        assert address == f"{plain[0]}.{plain[1]}{place + 1:06}@example.org"
    mother = column("mother_first_name", Role.NAME)
    assert new_values(mother, 0, 500, 3).to_pylist() != first


def test_emails_from_the_library_are_unique_and_reach_nobody(library):
    values = new_values(EMAIL, 0, MANY, seed=5)
    assert len(values.unique()) == MANY
    assert pc.all(pc.match_substring_regex(values, r"^[a-z.]+\d{6}@example\.org$")).as_py()


def test_streets_have_no_city(library):
    assert all(re.match(r"\d+ .+, ", value) for value in new_values(ADDRESS, 0, 50, 0).to_pylist())
    assert not any("," in value for value in new_values(STREET, 0, 50, 0).to_pylist())


def test_columns_stand_where_the_schema_has_them():
    schema = Schema(
        (
            ID,
            Column(name="age", kind=Kind.INTEGER, bounds=(0, 9), null=False),
            Column(name="ssn", kind=Kind.CATEGORICAL, role=Role.ID),
            UUIDS,
        )
    )
    drawn = pa.table({"age": [4, 5]})
    made = with_new_values(drawn, schema, 10, 1)
    assert made.column_names == ["id", "age", "customer_uuid"]
    assert made["id"].to_pylist() == ["0000011", "0000012"]
    assert made["age"].to_pylist() == [4, 5]
    bare = Schema(schema.columns[1:3])
    assert with_new_values(drawn, bare, 0, 1) is drawn
