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

ENGINE_EXAMPLES = {"duckdb": 20, "sqlite": 30, "postgres": 20}


def codes_by_engine(table, schema: Schema, columns: dict[str, str], ops: IbisOps) -> np.ndarray:
    coded = coded_table(table, Encoding(schema), columns, ops, row=table[columns["row"]])
    return execute(coded.order_by("row"))["code0"].to_numpy()


def with_row_numbers(stored) -> tuple[Schema, pa.Table]:
    column, values = stored
    table = pa.table({"x": values, "row": pa.array(range(len(values)), pa.int64())})
    return Schema((column,)), table


@pytest.mark.parametrize("kind", list(Kind))
def test_every_engine_gives_the_codes_of_numpy(engine, kind):
    @settings(max_examples=ENGINE_EXAMPLES[engine.name])
    @given(stored_columns(kind))
    def holds(stored):
        schema, table = with_row_numbers(stored)
        there = load(engine, table, "cells")
        codes = codes_by_engine(there, schema, {"x": "x", "row": "row"}, IbisOps())
        np.testing.assert_array_equal(codes, Encoding(schema).codes(table)["x"])

    holds()


@pytest.mark.parametrize("kind", list(Kind))
def test_the_shortcuts_of_the_embedded_engine_give_the_codes_of_numpy(kind):
    @settings(max_examples=40)
    @given(stored_columns(kind))
    def holds(stored):
        schema, table = with_row_numbers(stored)
        rows = open_rows(table)
        codes = codes_by_engine(rows.table, schema, rows.columns, rows.ops)
        np.testing.assert_array_equal(codes, Encoding(schema).codes(table)["x"])

    holds()
