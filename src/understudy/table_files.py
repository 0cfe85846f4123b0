"""The synthetic rows as a file, written block by block."""

import sys
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from understudy.column import Column
from understudy.encode import Encoding
from understudy.errors import BadInput
from understudy.formula_text import formula_safe, formula_safe_name
from understudy.regenerate import arrow_type
from understudy.rendering import rendered, written
from understudy.schema import Schema

FORMATS = ("csv", "parquet")


def check_format(name: str) -> None:
    """Refuse a format that cannot be written."""
    if name not in FORMATS:
        msg = f"The format {name!r} is unknown; use {' or '.join(FORMATS)}."
        raise BadInput(msg)


def write_rows(  # noqa: PLR0913 - the last three by name
    blocks: Iterable[pa.Table],
    schema: Schema,
    name: str,
    sink: IO[bytes],
    *,
    raw_text: bool,
    delimiter: str = ",",
    as_text: Mapping[str, Column] = MappingProxyType({}),
) -> None:
    """Write rows in a format, block by block: no more than one lies in memory.

    Args:
        blocks: Typed rows.
        schema: What the columns hold, and how a CSV file writes them.
        name: csv or parquet.
        sink: The open file.
        raw_text: Write labels as they are. By default, text of a CSV file that a spreadsheet would
            run as a formula gets an apostrophe before it. Parquet files always hold it as it is.
        delimiter: What stands between the cells of a CSV file.
        as_text: Columns that a Parquet file holds as text.
    """
    if name == "parquet":
        # Loaded here, for most releases are text.
        import pyarrow.parquet as pq  # noqa: PLC0415

        types = pa.schema((arrow_types(schema) | dict.fromkeys(as_text, pa.string())).items())
        with pq.ParquetWriter(sink, types) as parquet:
            for block in blocks:
                parquet.write_table(rendered(block, as_text))
        return
    columns = written(schema)
    empty = pa.schema(arrow_types(schema).items()).empty_table()
    if not raw_text:
        empty, blocks = _formula_safe(empty), map(_formula_safe, blocks)
    names = pa.array(empty.column_names, pa.large_string())
    sink.write(f"{delimiter.join(_quoted(names, delimiter).to_pylist())}\n".encode())
    for block in blocks:
        named = block.rename_columns([*arrow_types(schema)])
        sink.write(_lines(rendered(named, columns), delimiter))


def _lines(table: pa.Table, delimiter: str) -> memoryview:
    """Return the lines of a CSV file."""
    texts = [_cells(table[name].combine_chunks(), delimiter) for name in table.column_names]
    mark, end, nothing = (pa.scalar(text, pa.large_string()) for text in (delimiter, "\n", ""))
    joined = pc.binary_join_element_wise(*texts, mark, null_handling="replace", null_replacement="")
    lines = pc.binary_join_element_wise(joined, nothing, end)
    first, last = (lines.buffers()[1][8 * k : 8 * k + 8] for k in (0, len(lines)))
    start, stop = (int.from_bytes(place.to_pybytes(), sys.byteorder) for place in (first, last))
    return memoryview(lines.buffers()[2] or b"")[start:stop]


def _cells(cells: pa.Array, delimiter: str) -> pa.Array:
    """Return the cells of a column as a CSV file holds them."""
    if not pa.types.is_string(cells.type):
        return cells.cast(pa.large_string())
    coded = cells.dictionary_encode()  # most text repeats a few values
    values = _quoted(coded.dictionary.cast(pa.large_string()), delimiter)
    return values.take(coded.indices)


def _quoted(texts: pa.Array, delimiter: str) -> pa.Array:
    """Return texts with those in quotes that a CSV file cannot hold otherwise."""
    mark, nothing = (pa.scalar(text, pa.large_string()) for text in ('"', ""))
    doubled = pc.replace_substring(texts, '"', '""')
    quoted = pc.binary_join_element_wise(mark, doubled, mark, nothing)
    return pc.if_else(pc.match_substring_regex(texts, f'[{delimiter}"\r\n]'), quoted, texts)


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
