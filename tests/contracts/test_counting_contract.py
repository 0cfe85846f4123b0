"""Every way of counting gives what counting one row after the other gives."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers.tables import brute_force, load, stored_tables
from understudy.encode import Encoding
from understudy.encode.labels import LabelCells
from understudy.privacy import blocks
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.table import PrivateTable
from understudy.privacy.weights import UNIT, RowWeights
from understudy.privacy.where import Comparison, Where
from understudy.select.risk import RiskWeights, weighed

EXAMPLES = {"embedded": 30, "duckdb": 10, "sqlite": 12, "postgres": 10}


@st.composite
def requests(draw, names, sizes):
    """Some cliques in any order of columns, and perhaps weights."""
    orders = [
        order
        for size in range(min(3, len(names)) + 1)
        for subset in itertools.combinations(names, size)
        for order in itertools.permutations(subset)
    ]
    cliques = draw(st.lists(st.sampled_from(orders), min_size=1, max_size=6))
    if draw(st.booleans()):
        return cliques, None
    scores = st.integers(0, 9) | st.integers(0, 2**31 - 1)
    chosen = draw(st.lists(st.sampled_from(names), unique=True))
    tables = {n: draw(st.lists(scores, min_size=sizes[n], max_size=sizes[n])) for n in chosen}
    if len(names) > 1 and draw(st.booleans()):
        pair = tuple(draw(st.permutations(names))[:2])
        shape = tuple(sizes[name] for name in pair)
        seed = draw(st.integers(0, 99))
        tables[pair] = np.random.default_rng(seed).integers(0, 9, shape)
    thresholds = sorted(draw(st.sets(scores, max_size=4)))
    weight = st.integers(0, UNIT)
    size = len(thresholds) + 1
    weights = draw(st.lists(weight, min_size=size, max_size=size))
    return cliques, RowWeights.of(tables, thresholds, weights)


def check(engine, examples: int) -> None:
    """Compare counts on random tables and requests; without an engine, the embedded one."""

    @settings(max_examples=examples)
    @given(st.data())
    def holds(data):
        schema, table = data.draw(stored_tables())
        encoding = Encoding(schema)
        sizes = encoding.domain.sizes
        cliques, weights = data.draw(requests(encoding.domain.names, sizes))
        source = table if engine is None else load(engine, table, "counted")
        codes = encoding.codes(table)
        counts = PrivateTable(source, schema).count(cliques, weights)
        for clique, count in zip(cliques, counts, strict=True):
            assert count.dtype == np.int64
            np.testing.assert_array_equal(count, brute_force(codes, clique, sizes, weights))

    holds()


@pytest.mark.untraced
def test_counting_in_blocks_agrees_with_brute_force():
    check(None, EXAMPLES["embedded"])


@pytest.mark.untraced
def test_counting_by_sql_agrees_with_brute_force(engine):
    check(engine, EXAMPLES[engine.name])


@pytest.mark.slow
def test_counting_in_blocks_agrees_with_brute_force_at_length():
    check(None, 20 * EXAMPLES["embedded"])


@pytest.mark.slow
def test_counting_by_sql_agrees_with_brute_force_at_length(engine):
    check(engine, 20 * EXAMPLES[engine.name])


def check_risk(engine, examples: int) -> None:
    """Compare counts whose weights were made from noisy counts: many steps, and a condition."""

    @settings(max_examples=examples)
    @given(st.data())
    def holds(data):
        schema, table = data.draw(stored_tables())
        encoding, budget = Encoding(schema), Budget(100.0, 1e-3)
        source = SeededForTests(data.draw(st.integers(0, 99)))
        where = [Where(n, Comparison.IS, str(v)) for n, v in named_values(encoding)[:1]]
        recipe = RiskWeights(gamma=data.draw(st.floats(0, 3)), outliers=0.5, least=1 / 64)
        stored = table if engine is None else load(engine, table, "weighed")
        cap = Budget(90.0, 1e-3) if where else None
        with Ledger.open(table, schema, budget, source=source) as ledger:
            made = weighed(recipe, ledger, (), cap=cap, where=where).weights
        cliques = [(), *((name,) for name in encoding.domain.names)]
        counts = PrivateTable(stored, schema).count(cliques, made)
        codes = encoding.codes(table)
        for clique, count in zip(cliques, counts, strict=True):
            expected = brute_force(codes, clique, encoding.domain.sizes, made)
            np.testing.assert_array_equal(count, expected)

    holds()


def named_values(encoding):
    """By column of labels, one of them."""
    return [(n, c.labels[0]) for n, c in encoding.cells.items() if isinstance(c, LabelCells)]


@pytest.mark.untraced
def test_weights_by_risk_count_in_blocks_as_by_brute_force():
    check_risk(None, 20)


@pytest.mark.untraced
def test_weights_by_risk_count_by_sql_as_by_brute_force(engine):
    check_risk(engine, 6)


@settings(max_examples=25)
@given(st.data())
def test_neighbouring_tables_give_counts_that_differ_by_their_one_record(data):
    schema, table = data.draw(stored_tables(most_rows=12))
    assume(table.num_rows > 0)
    gone = data.draw(st.integers(0, table.num_rows - 1))
    neighbour = pa.concat_tables([table.slice(0, gone), table.slice(gone + 1)])
    cliques = [(column.name,) for column in schema.coded] + [()]
    whole = PrivateTable(table, schema).count(cliques)
    without = PrivateTable(neighbour, schema).count(cliques)
    for one, other in zip(whole, without, strict=True):
        assert one.shape == other.shape
        assert (one - other).sum() == np.abs(one - other).sum() == 1


def test_many_rows_over_several_blocks():
    rng = np.random.default_rng(3)
    rows = 300_000
    schema, bins = _schema_of(a=300, b=7, c=2)
    codes = {name: rng.integers(0, size, rows) for name, size in bins.items()}
    table = PrivateTable(pa.table(codes), schema)
    sizes = {name: size + 1 for name, size in bins.items()}  # the last counts what has no code
    weights = RowWeights.of({"a": list(range(301)), "b": [0] * 8}, [100, 200], [UNIT, 10, 0])
    row_weights = np.where(codes["a"] < 100, UNIT, np.where(codes["a"] < 200, 10, 0))
    for clique in [("a", "b", "c"), ("c",), ("b", "a"), ()]:
        places = tuple(codes[name] for name in clique)
        expected = np.zeros(tuple(sizes[name] for name in clique), np.int64)
        np.add.at(expected, places or ..., 1 if places else rows)
        np.testing.assert_array_equal(table.count([clique])[0], expected)
        expected = np.zeros_like(expected)
        np.add.at(expected, places or ..., row_weights if places else row_weights.sum())
        np.testing.assert_array_equal(table.count([clique], weights)[0], expected)


def test_many_large_marginals_are_counted_a_few_at_a_time(monkeypatch):
    monkeypatch.setattr(blocks, "_CELLS_AT_ONCE", 100)
    schema, _ = _schema_of(a=9, b=9, c=9)
    rows = pa.table({"a": [1, 2], "b": [3, 4], "c": [5, 6]})
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    for pair, count in zip(pairs, PrivateTable(rows, schema).count(pairs), strict=True):
        first, second = (rows[name].to_pylist() for name in pair)
        assert np.argwhere(count).tolist() == [
            list(cell) for cell in zip(first, second, strict=True)
        ]


def test_a_marginal_with_far_more_cells_than_rows():
    schema, _ = _schema_of(a=2000, b=2000)
    table = PrivateTable(pa.table({"a": [5, 5, 1999], "b": [7, 7, 0]}), schema)
    (count,) = table.count([("a", "b")])
    assert count.sum() == 3
    assert count[5, 7] == 2
    assert count[1999, 0] == 1


def test_scores_too_large_for_a_table_are_searched():
    schema, _ = _schema_of(a=2, b=2)
    table = PrivateTable(pa.table({"a": [0, 1, 1], "b": [0, 0, 1]}), schema)
    large = 2**31 - 1
    weights = RowWeights.of({"a": [0, large, 0], "b": [0, large, 0]}, [large, 2 * large], [1, 2, 4])
    assert table.count([()], weights)[0] == 1 + 2 + 4


def _schema_of(**sizes):
    from understudy.schema_files import schema_from_json  # noqa: PLC0415

    return schema_from_json(sizes), sizes
