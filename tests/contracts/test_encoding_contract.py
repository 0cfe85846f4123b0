"""The same code for the same cell, whether NumPy or an engine computes it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from helpers.tables import load, stored_columns
from understudy.column import Kind
from understudy.encode import Encoding
from understudy.encode.ibis_ops import IbisOps, coded_table
from understudy.privacy.pushdown import execute
from understudy.privacy.source import open_rows
from understudy.schema import Schema

EXAMPLES = {"duckdb": 40, "sqlite": 50, "postgres": 25, "embedded": 80}


def codes_by_engine(table, schema: Schema, columns: dict[str, str], ops: IbisOps) -> np.ndarray:
    coded = coded_table(table, Encoding(schema), columns, ops, row=table[columns["row"]])
    return execute(coded.order_by("row"))["code0"].to_numpy()


def check(engine, kind: Kind, examples: int) -> None:
    """Compare codes on random facts and cells; without an engine, the embedded one."""

    @settings(max_examples=examples)
    @given(stored_columns(kind))
    def holds(stored):
        column, values = stored
        schema = Schema((column,))
        table = pa.table({"x": values, "row": pa.array(range(len(values)), pa.int64())})
        if engine is None:
            rows = open_rows(table)
            codes = codes_by_engine(rows.table, schema, rows.columns, rows.ops)
        else:
            there = load(engine, table, "cells")
            codes = codes_by_engine(there, schema, {"x": "x", "row": "row"}, IbisOps())
        np.testing.assert_array_equal(codes, Encoding(schema).codes(table)["x"])

    holds()


@pytest.mark.parametrize("kind", list(Kind))
def test_every_engine_gives_the_codes_of_numpy(engine, kind):
    check(engine, kind, EXAMPLES[engine.name])


@pytest.mark.parametrize("kind", list(Kind))
def test_the_shortcuts_of_the_embedded_engine_give_the_codes_of_numpy(kind):
    check(None, kind, EXAMPLES["embedded"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(Kind))
def test_every_engine_gives_the_codes_of_numpy_at_length(engine, kind):
    check(engine, kind, 20 * EXAMPLES[engine.name])


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(Kind))
def test_the_shortcuts_of_the_embedded_engine_at_length(kind):
    check(None, kind, 20 * EXAMPLES["embedded"])
