"""The synthetic rows as a file: written block by block, read by the types of the schema."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from understudy.encode import Encoding
from understudy.errors import BadInput
from understudy.schema import Schema

FORMATS = ("csv", "parquet")
_FORMULA = r"^[=+\-@\t\r]"
"""How a cell begins that a spreadsheet takes for a formula."""


def check_format(name: str) -> None:
    """Refuse a format that cannot be written."""
    if name not in FORMATS:
        msg = f"The format {name!r} is unknown; use {' or '.join(FORMATS)}."
        raise BadInput(msg)


def write_rows(
    blocks: Iterable[pa.Table], schema: Schema, name: str, sink: IO[bytes], *, formula_safe: bool
) -> None:
    """Write rows in a format, block by block: no more than one lies in memory.

    `formula_safe` puts an apostrophe before text that a spreadsheet would take for a formula.
    """
    types = pa.schema(_types(schema).items())
    if name == "parquet":
        # Loaded here, for most releases are text.
        import pyarrow.parquet as pq  # noqa: PLC0415

        with pq.ParquetWriter(sink, types) as parquet:
            for block in blocks:
                parquet.write_table(block)
        return
    if formula_safe:
        types = _without_formulas(types.empty_table()).schema
        blocks = map(_without_formulas, blocks)
    options = csv.WriteOptions(quoting_style="needed")
    with csv.CSVWriter(sink, types, write_options=options) as text:
        for block in blocks:
            text.write_table(block)


def read_rows(folder: Path, files: Mapping[str, str], schema: Schema) -> pa.Table:
    """The rows of a release folder, in the types of the schema."""
    types = _types(schema)
    if "synthetic.parquet" in files:
        import pyarrow.parquet as pq  # noqa: PLC0415 - as above

        # Parquet knows no whole seconds.
        return pq.read_table(folder / "synthetic.parquet").cast(pa.schema(types.items()))
    # By the types of the schema, and by nothing that is guessed from cells.
    written = types | {_without_formula(name): kind for name, kind in types.items()}
    options = csv.ConvertOptions(column_types=written, strings_can_be_null=True, null_values=[""])
    parsing = csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    table = csv.read_csv(folder / "synthetic.csv", None, parsing, options)
    names = [[*types], [_without_formula(name) for name in types]]
    if table.column_names not in names:
        msg = "The table's columns are not those of its schema."
        raise ValueError(msg)
    return _with_formulas(table.rename_columns(list(types)), schema)


def _without_formulas(table: pa.Table) -> pa.Table:
    """Text cells and names that a spreadsheet cannot take for formulas."""
    columns = [
        pc.replace_substring_regex(column, _FORMULA, r"'\0")
        if pa.types.is_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=[_without_formula(name) for name in table.column_names])


def _with_formulas(table: pa.Table, schema: Schema) -> pa.Table:
    """Labels as the schema lists them, where an apostrophe was put before them."""
    for place, name in enumerate(table.column_names):
        column, facts = table[name], schema[name]
        if pa.types.is_string(column.type):
            listed = pa.array([*(facts.categories or ()), facts.other], pa.string())
            plain = pc.replace_substring_regex(column, r"^'([=+\-@\t\r])", r"\1")
            known = pc.is_in(column, value_set=listed)
            table = table.set_column(place, name, pc.if_else(known, column, plain))
    return table


def _without_formula(text: str) -> str:
    return re.sub(_FORMULA, r"'\g<0>", text)


def _types(schema: Schema) -> dict[str, pa.DataType]:
    return {name: cells.arrow_type for name, cells in Encoding(schema).cells.items()}
