"""What every mechanism owes: it asks through the ledger alone, and makes a model of answers."""

import ast
import contextlib
import dataclasses
import inspect
import json
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from helpers.methods import quick
from understudy import release as release_module
from understudy.column import Column, Kind, Role
from understudy.errors import UnderstudyError
from understudy.mechanisms.catalog import AUTO, MECHANISMS, mechanism_named
from understudy.mechanisms.parameters import told
from understudy.pipeline import synthesize
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.table import PrivateTable
from understudy.privacy.unit import Person, Record, Replacement
from understudy.schema import Schema
from understudy.synthetic_rows import DrawnRows

SCHEMA = Schema(
    (
        Column(name="who", kind=Kind.INTEGER, role=Role.ID),
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), bins=10, null=True),
        Column(name="city", kind=Kind.CATEGORICAL, categories=("a", "b", "c"), null=False),
        Column(name="sole", kind=Kind.CATEGORICAL, categories=("same",), null=False),
        Column(name="ill", kind=Kind.BOOLEAN, null=False, role=Role.TARGET),
    ),
    rows_bound=10**6,
)
BUDGET = Budget(1.0, 1e-9)
UNITS = [Record(), Replacement(), Person("who", 2)]
DOORS = ("measure", "values", "select", "scores", "sum", "train", "select_best", "reveal", "recode")
ROWS = 400


def rows(count=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "who": np.arange(count) // 2,
            "age": rng.integers(0, 100, count),
            "city": rng.choice(["a", "b", "c"], count),
            "sole": ["same"] * count,
            "ill": rng.random(count) < 0.3,
        }
    )


def demanded(kind):
    """An independence, where a method is made for one."""
    return ["city _||_ sole | age"] if "independence" in kind.needs else []


def opened(table=None, budget=BUDGET, **options):
    return Ledger.open(rows() if table is None else table, SCHEMA, budget, **options)


@pytest.fixture(params=MECHANISMS, ids=lambda kind: kind.name)
def kind(request):
    return request.param


@pytest.fixture
def mechanism(kind):
    return quick(kind)


def test_it_is_a_frozen_dataclass_of_plain_parameters(kind):
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    parameters = told(kind())
    assert json.loads(json.dumps(parameters, allow_nan=False)) == parameters
    assert kind() == kind()


@pytest.mark.parametrize("words", ["name", "about", "guarantee", "needs"])
def test_it_says_what_it_is_in_one_line(kind, words):
    text = getattr(kind, words)
    assert isinstance(text, str)
    assert text == text.strip() != ""
    assert "\n" not in text


def test_it_is_found_by_its_name(kind):
    assert mechanism_named(kind.name) == kind()
    assert [k.name for k in MECHANISMS].count(kind.name) == 1
    assert kind.name != AUTO


def test_it_reaches_for_nothing_behind_the_ledger(kind):
    tree = ast.parse(inspect.getsource(inspect.getmodule(kind)))
    hidden = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    assert not {name for name in hidden if name.startswith("_") and not name.endswith("__")}
    modules = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    private = {name for name in modules if name.startswith("understudy.privacy")}
    assert private <= {
        "understudy.privacy.answers",
        "understudy.privacy.events",
        "understudy.privacy.ledger",
        "understudy.privacy.row_maps",
        "understudy.privacy.scores",
        "understudy.privacy.train",
        "understudy.privacy.weights",
    }


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_it_spends_no_more_than_there_is(mechanism, unit):
    with opened(unit=unit) as ledger:
        mechanism.fit(ledger, ())
        assert ledger.entries, "what it learns costs something"
        certificate = ledger.close()
    assert 0 < certificate.spent <= BUDGET.rho
    assert certificate.epsilon <= BUDGET.epsilon
    assert not certificate.not_private


def test_it_keeps_within_its_share(mechanism):
    with opened() as ledger:
        (part,) = ledger.split(0.25)
        mechanism.fit(part, ())
        assert ledger.rest() >= BUDGET.rho * Fraction(3, 4)


def test_where_nothing_is_left_it_spends_nothing(mechanism):
    with opened() as ledger:
        ledger.measure([()], rho=ledger.rest())
        # Of a rest that rounding leaves, it may still make something, or not.
        with contextlib.suppress(UnderstudyError):
            mechanism.fit(ledger, ())
        assert ledger.close().spent <= BUDGET.rho


class Tainted:
    """Stands in for the rows while nobody asks: any touch is a failure."""

    def __getattribute__(self, name):
        raise AssertionError(name)


@pytest.fixture
def tainted(monkeypatch):
    """Rows are there only while a door of the ledger is open; counts how often one was."""
    asked = []

    def guarded(door):
        whole = getattr(Ledger, door)

        def ask(self, *arguments, **options):
            self._core.table = tables[id(self._core)]
            asked.append(door)
            try:
                return whole(self, *arguments, **options)
            finally:
                tables[id(self._core)] = self._core.table
                self._core.table = Tainted()

        return ask

    tables = {}
    for door in DOORS:
        monkeypatch.setattr(Ledger, door, guarded(door))

    def taint(ledger):
        tables[id(ledger._core)] = ledger._core.table
        ledger._core.table = Tainted()
        return asked

    return taint


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_rows_are_touched_by_nothing_but_the_ledgers_doors(mechanism, unit, tainted):
    with opened(unit=unit) as ledger:
        asked = tainted(ledger)
        model = mechanism.fit(ledger, ())
        assert asked
        certificate = ledger.close()
    assert model.to_json()
    drawn = DrawnRows.of(model, ledger.schema, 100, seed=0)
    release = release_module.Release(drawn, certificate, ledger.schema, model)
    assert len(release.data) == 100
    assert len(release.sample(7)) == 7


def test_nor_by_anything_else_in_a_whole_run(kind, tainted, monkeypatch):
    asked = []
    whole = Ledger.open

    def open_tainted(*arguments, **options):
        ledger = whole(*arguments, **options)
        asked.append(tainted(ledger))
        return ledger

    monkeypatch.setattr(Ledger, "open", open_tainted)
    release = synthesize(
        rows(),
        target="ill",
        epsilon=20.0,
        mechanism=kind(),
        constraints=demanded(kind),
        unit="person:who:2",
        accept_weak_guarantee=True,
    )
    assert {"measure", "values", "recode"} <= set(asked[0])
    assert release.sample(3, seed=0).shape == (3, 4)


def test_the_taint_would_be_noticed(tainted):
    with opened() as ledger:
        tainted(ledger)
        with pytest.raises(AssertionError, match="count"):
            ledger._core.table.count([("age",)])
        assert ledger.measure([()], scale=50.0)
        with pytest.raises(AssertionError, match="domain"):
            _ = ledger._core.table.domain


def test_every_read_is_paid_for_before(mechanism, monkeypatch):
    written = []

    def spied(read):
        whole = getattr(PrivateTable, read)

        def noted(self, *arguments, **options):
            written.append(len(ledger.entries))
            return whole(self, *arguments, **options)

        return noted

    for read in ("count", "values", "blocks", "reveal"):
        monkeypatch.setattr(PrivateTable, read, spied(read))
    ledger = opened()
    mechanism.fit(ledger, ())
    assert written
    assert min(written) >= 1
    # No answer comes without an entry; a score that was computed before is not read again.
    assert written == sorted(written)
    choices = {n for n, entry in enumerate(ledger.entries, 1) if entry.request["door"] == "select"}
    assert set(range(1, len(ledger.entries) + 1)) - choices <= set(written)


@pytest.mark.parametrize("count", [1, 3000])
def test_its_model_draws_codes_of_the_domain(mechanism, count):
    with opened() as ledger:
        model = mechanism.fit(ledger, ())
    codes = model.sample(count, np.random.default_rng(1))
    assert list(codes) == list(ledger.domain.names)
    for name, size in ledger.domain.sizes.items():
        assert codes[name].shape == (count,)
        assert codes[name].dtype == np.min_scalar_type(size - 1)
        assert codes[name].max() < size
    table = ledger.encoding.decode(codes, np.random.default_rng(1))
    assert table.column_names == ["age", "city", "sole", "ill"]


def test_drawing_is_decided_by_the_generator(mechanism):
    with opened() as ledger:
        model = mechanism.fit(ledger, ())
    one, same, other = (model.sample(500, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert all(np.array_equal(one[name], same[name]) for name in one)
    assert any(not np.array_equal(one[name], other[name]) for name in one)


def test_its_model_comes_back_from_json_as_the_same_law(mechanism):
    with opened() as ledger:
        model = mechanism.fit(ledger, ())
    text = json.dumps(model.to_json(), allow_nan=False)
    again = release_module._MODELS[model.kind].from_json(json.loads(text))
    assert again.kind == model.kind
    assert again.total == model.total
    assert json.dumps(again.to_json()) == text
    one, other = (m.sample(5000, np.random.default_rng(3)) for m in (model, again))
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], strict=True)


@pytest.mark.parametrize(
    ("unit", "count"),
    [
        *((unit, count) for unit in UNITS for count in (0, 1)),
        *(pytest.param(unit, 2, marks=pytest.mark.slow) for unit in UNITS),
    ],
    ids=str,
)
def test_a_table_with_next_to_no_rows_is_a_table(mechanism, unit, count):
    with opened(rows(count), unit=unit) as ledger:
        model = mechanism.fit(ledger, ())
        certificate = ledger.close()
    assert certificate.epsilon <= 1.0
    assert math.isfinite(model.total)
    assert model.total >= 1
    codes = model.sample(10, np.random.default_rng(0))
    assert ledger.encoding.decode(codes, np.random.default_rng(0)).num_rows == 10


@pytest.mark.parametrize(
    ("count", "epsilon"),
    [
        (0, 1e-6),
        (ROWS, 500.0),
        pytest.param(0, 500.0, marks=pytest.mark.slow),
        pytest.param(ROWS, 1e-6, marks=pytest.mark.slow),
    ],
)
def test_it_works_where_facts_are_found_out(kind, epsilon, count):
    release = synthesize(
        rows(count),
        target="ill",
        epsilon=epsilon,
        mechanism=kind(),
        constraints=demanded(kind),
        unit="person:who:2",
        rows=30,
        accept_weak_guarantee=epsilon > 10,
    )
    assert release.table.num_rows == 30
    assert release.table.column_names == ["age", "city", "sole", "ill"]
    assert release.certificate.epsilon <= epsilon
    assert release.certificate.public["method"] == {
        "name": kind.name,
        "parameters": told(kind()),
    }


def test_what_is_known_is_trusted_by_its_noise(mechanism):
    # Counts that are as good as exact; a sound fit trusts them more than its own noisy ones.
    names = [("age",), ("city",), ("sole",), ("ill",), ()]
    with opened(budget=Budget(1e5, 1e-9)) as rich:
        known = rich.measure(names, scale=0.01)
    with opened() as ledger:
        model = mechanism.fit(ledger, known)
    assert ledger.close().spent <= BUDGET.rho
    assert model.total == pytest.approx(ROWS, abs=0.1)
    codes = model.sample(50_000, np.random.default_rng(0))
    exact = opened().encoding.codes(rows().drop_columns("who"))
    for name in codes:
        drawn = np.bincount(codes[name], minlength=11) / 50_000
        true = np.bincount(exact[name], minlength=11) / ROWS
        # A share drawn 50,000 times strays by more than 0.015 less than once in 10¹⁰ times.
        np.testing.assert_allclose(drawn, true, atol=0.015, err_msg=name)


def test_another_run_has_other_noise(mechanism):
    models = []
    for _ in range(2):
        with opened() as ledger:
            models.append(mechanism.fit(ledger, ()))
    # Of four hundred rows under noise of tens, two runs agree in all numbers never.
    assert models[0].to_json() != models[1].to_json()
    assert models[0].total != models[1].total


def test_with_much_to_spend_it_follows_the_columns(mechanism):
    table = rows(5000)
    with Ledger.open(table, SCHEMA, Budget(200.0, 1e-9)) as ledger:
        model = mechanism.fit(ledger, ())
    codes = model.sample(50_000, np.random.default_rng(0))
    exact = ledger.encoding.codes(table)
    for name in codes:
        drawn = np.bincount(codes[name], minlength=11) / 50_000
        true = np.bincount(exact[name], minlength=11) / 5000
        np.testing.assert_allclose(drawn, true, atol=0.02, err_msg=name)
    assert model.total == pytest.approx(5000, rel=0.01)
