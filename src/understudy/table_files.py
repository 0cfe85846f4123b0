"""The synthetic rows as a file, written block by block."""

from collections.abc import Iterable
from typing import IO

import pyarrow as pa
from pyarrow import csv

from understudy.encode import Encoding
from understudy.errors import BadInput
from understudy.formula_text import formula_safe, formula_safe_name
from understudy.regenerate import arrow_type
from understudy.schema import Schema

FORMATS = ("csv", "parquet")


def check_format(name: str) -> None:
    """Refuse a format that cannot be written."""
    if name not in FORMATS:
        msg = f"The format {name!r} is unknown; use {' or '.join(FORMATS)}."
        raise BadInput(msg)


def write_rows(
    blocks: Iterable[pa.Table], schema: Schema, name: str, sink: IO[bytes], *, raw_text: bool
) -> None:
    """Write rows in a format, block by block: no more than one lies in memory.

    In a CSV file, text that a spreadsheet would run as a formula gets an apostrophe before it,
    unless `raw_text` is set. Parquet files always hold the text as it is.
    """
    types = pa.schema(arrow_types(schema).items())
    if name == "parquet":
        # Loaded here, for most releases are text.
        import pyarrow.parquet as pq  # noqa: PLC0415

        with pq.ParquetWriter(sink, types) as parquet:
            for block in blocks:
                parquet.write_table(block)
        return
    if not raw_text:
        types = _formula_safe(types.empty_table()).schema
        blocks = map(_formula_safe, blocks)
    options = csv.WriteOptions(quoting_style="needed")
    with csv.CSVWriter(sink, types, write_options=options) as text:
        for block in blocks:
            text.write_table(block)


def _formula_safe(table: pa.Table) -> pa.Table:
    """Return the table with text and column names that no spreadsheet runs as formulas."""
    columns = [
        formula_safe(column) if pa.types.is_string(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=[formula_safe_name(name) for name in table.column_names])


def arrow_types(schema: Schema) -> dict[str, pa.DataType]:
    """Return the type of each column of the synthetic rows."""
    cells = Encoding(schema).cells
    return {
        column.name: arrow_type(column) if column.regenerated else cells[column.name].arrow_type
        for column in schema.released
    }
