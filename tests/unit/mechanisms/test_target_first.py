"""The joint model of the default: what it measures for a target, for none, and within limits."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

from understudy.column import Column, Kind, Role
from understudy.domain import Domain
from understudy.errors import BadInput, ModelTooLarge
from understudy.mechanisms.target_first import TargetFirst
from understudy.model.estimate import needed_bytes
from understudy.model.merged import MergedModel
from understudy.model.product import ProductModel
from understudy.privacy.accountant import cost
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.schema import Schema
from understudy.separation import Separation

CODES = 4


def schema_of(names, target=None):
    columns = [
        Column(
            name=name,
            kind=Kind.INTEGER,
            bounds=(0, CODES - 1),
            null=False,
            role=Role.TARGET if name == target else Role.FEATURE,
        )
        for name in names
    ]
    return Schema(tuple(columns), rows_bound=10**5)


def chain(columns, rows=4000, seed=0):
    """Each column follows the one before in two rows of three."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, CODES, rows)]
    for _ in range(columns - 1):
        other = rng.integers(0, CODES, rows)
        codes.append(np.where(rng.random(rows) < 2 / 3, codes[-1], other))
    return pa.table({f"x{place}": code for place, code in enumerate(codes)})


def fitted(method, rows, *, target=None, epsilon=20.0, allowed=None):
    schema = schema_of(rows.column_names, target)
    with Ledger.open(rows, schema, Budget(epsilon, 1e-9), source=SeededForTests(0)) as ledger:
        model = method.fit(ledger) if allowed is None else method.fit(ledger, (), allowed)
        whole = ledger.budget.rho
        spent = sum(cost(entry.event, ledger.budget.order) for entry in ledger.entries)
    assert 0 <= whole - spent < whole * Fraction(1, 10**5)
    return model


def alike(model, first, second, rows=20_000):
    drawn = model.sample(rows, np.random.default_rng(0))
    return np.mean(drawn[first] == drawn[second])


@pytest.mark.parametrize("target", [None, "x3"])
def test_what_hangs_together_is_measured_and_drawn(target):
    model = fitted(TargetFirst(), chain(6), target=target)
    measured = {one.clique for one in model.measurements}
    pairs = {pair for clique in measured for pair in combinations(clique, 2)}
    for place in range(5):
        pair = (f"x{place}", f"x{place + 1}")
        assert pair in pairs
        assert alike(model, *pair) == pytest.approx(0.75, abs=0.03)
    assert any(len(clique) == 3 for clique in measured) == (target is not None)


def test_of_many_columns_eight_are_tied_to_the_target():
    rows = chain(12)
    model = fitted(TargetFirst(), rows, target="x6", epsilon=50.0)
    pairs = [one.clique for one in model.measurements if len(one.clique) == 2]
    with_target = [pair for pair in pairs if "x6" in pair]
    assert 8 <= len(with_target) < 11
    assert {("x5", "x6"), ("x6", "x7")} <= {*with_target}


def test_what_pairs_do_not_say_is_found():
    # y is the parity of a and b: each of them tells nothing about it, both together all.
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(0, CODES, 6000) for _ in range(3))
    rows = pa.table({"a": a, "b": b, "c": c, "y": (a + b) % 2})
    model = fitted(TargetFirst(), rows, target="y")
    assert ("a", "b", "y") in {one.clique for one in model.measurements}
    drawn = model.sample(8000, np.random.default_rng(0))
    assert np.mean((drawn["a"] + drawn["b"]) % 2 == drawn["y"]) > 0.95


@pytest.mark.parametrize("model_bytes", [20_000, 60_000, 2**25])
@pytest.mark.parametrize("target", [None, "x3"])
def test_it_stays_within_its_memory(model_bytes, target):
    model = fitted(TargetFirst(model_bytes=model_bytes), chain(8), target=target)
    domain = Domain.of({f"x{place}": CODES for place in range(8)})
    cliques = [one.clique for one in model.measurements]
    assert needed_bytes(domain, cliques) <= model_bytes


@pytest.mark.parametrize("target", [None, "y"])
def test_pairs_too_large_to_count_are_left_alone_however_few_codes_are_common(target):
    # Rare codes are counted together, but only after each was counted by itself.
    sizes = {"a": 5000, "b": 5000, "c": 3, "y": 2}
    columns = [
        Column(
            name=name,
            kind=Kind.CATEGORICAL,
            categories=tuple(map(str, range(size))),
            null=False,
            role=Role.TARGET if name == target else Role.FEATURE,
        )
        for name, size in sizes.items()
    ]
    rng = np.random.default_rng(0)
    rows = pa.table({name: rng.integers(0, 2, 20_000).astype(str) for name in sizes})
    schema = Schema(tuple(columns), rows_bound=10**5)
    with Ledger.open(rows, schema, Budget(4.0, 1e-9), source=SeededForTests(0)) as ledger:
        assert sizes["a"] * sizes["b"] > ledger.most_cells
        model = TargetFirst().fit(ledger)
    assert not any({"a", "b"} <= {*one.clique} for one in model.measurements)


def test_what_is_stated_to_be_apart_is_never_tied():
    apart = Separation(["x3 _||_ x0 | x1"])
    model = fitted(TargetFirst(), chain(6), target="x3", allowed=apart)
    assert isinstance(model, MergedModel)
    assert apart([one.clique for one in model.measurements])


def test_where_no_pair_is_allowed_columns_stand_alone():
    model = fitted(TargetFirst(), chain(2), allowed=Separation(["x0 _||_ x1"]))
    assert isinstance(model, ProductModel)


def test_single_columns_must_fit():
    with pytest.raises(ModelTooLarge):
        fitted(TargetFirst(model_bytes=10), chain(3))


@pytest.mark.parametrize("task", [0, 0.8, 1, -1])
def test_the_task_gets_a_part_that_leaves_the_others_theirs(task):
    with pytest.raises(BadInput, match="part of the budget"):
        TargetFirst(task=task)


def test_a_forest_whose_cycles_join_more_than_expected_loses_a_pair_and_fits():
    # With y behind a and b, and u apart from it, the cheapest way to close y-a-u-b is to join a, b
    # and y: a table that no pair of it has room for.
    sizes = {"a": 40, "b": 40, "u": 2, "y": 50}
    rng = np.random.default_rng(0)
    rows = pa.table({name: rng.integers(0, size, 20_000) for name, size in sizes.items()})
    columns = [
        Column(name=name, kind=Kind.INTEGER, bounds=(0, size - 1), bins=size, null=False)
        for name, size in sizes.items()
    ]
    schema = Schema((*columns[:3], replace(columns[3], role=Role.TARGET)), rows_bound=10**5)
    domain = Domain.of(sizes)
    pairs = [("a", "y"), ("b", "y")]
    most = needed_bytes(domain, [*pairs, ("a", "u"), ("b", "u")]) - 1
    assert needed_bytes(domain, [("a", "u", "y"), ("b", "u", "y")]) < most
    apart = Separation(["y _||_ u | a, b"])
    with Ledger.open(rows, schema, Budget(20.0, 1e-9), source=SeededForTests(0)) as ledger:
        model = TargetFirst(model_bytes=most).fit(ledger, (), apart)
    measured = {one.clique for one in model.measurements}
    assert {*pairs} <= measured
    assert len(measured & {("a", "u"), ("b", "u")}) == 1
