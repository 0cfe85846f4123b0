"""Reading files that a strict reader refuses: what a bad row contains must not raise.

DuckDB reads well-formed files fast and stops at the first ragged line, stray quote or byte
that is not text. These readers go on: they cost more time and give the same cells for every
well-formed row, with missing cells where a row is not.
"""

import codecs
import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from understudy.encode.arrow_ops import plain_array, plain_type, valid_text

_ROWS_PER_BATCH = 2**14
_LONGEST_LINE = 2**22
_LONGEST_CELL = 2 * _LONGEST_LINE
"""A quote that nobody closes may not fill the memory either."""
_LOST = "\udc80"
"""What stands in text for bytes that are none: no file can hold it."""


def open_text(path: Path, encoding: str) -> IO[str]:
    """The file as text, in which `is_text` finds the bytes that are none."""
    open_bytes = gzip.open if path.suffix.lower() == ".gz" else open
    plain = open_bytes(path, "rb")
    codec = "utf-8-sig" if encoding == "utf-8" else encoding
    return io.TextIOWrapper(plain, encoding=codec, errors=_KEEP_LOST, newline="")


def is_text(cell: str) -> bool:
    """Whether the cell holds no bytes that are none in the file's encoding, nor half characters."""
    if cell.isascii():
        return True
    try:
        cell.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _keep_lost(error: UnicodeError) -> tuple[str, int]:
    """A mark for what cannot be decoded; unlike "surrogateescape", for every encoding."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return _LOST, error.end


_KEEP_LOST = "understudy.keep_lost"
codecs.register_error(_KEEP_LOST, _keep_lost)


def csv_batches(
    path: Path, encoding: str, delimiter: str, names: Sequence[str]
) -> pa.RecordBatchReader:
    """All rows as text columns: short lines padded with nulls, long ones cut."""
    schema = pa.schema([(name, pa.large_string()) for name in names])
    return pa.RecordBatchReader.from_batches(
        schema, _csv_batches(path, encoding, delimiter, schema)
    )


def _csv_batches(
    path: Path, encoding: str, delimiter: str, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    width = len(schema)
    with open_text(path, encoding) as lines:
        # Like the strict reader, take a quote after blanks for the start of a quoted cell.
        short = _short_lines(lines)
        records = _records(csv.reader(short, delimiter=delimiter, skipinitialspace=True))
        next(records, None)  # the header
        rows: list[list[str | None]] = []
        for record in records:
            if not record and width > 1:
                continue  # a blank line is no row, except where a row is one cell
            cells = [cell if is_text(cell) else None for cell in record[:width]]
            rows.append(cells + [None] * (width - len(cells)))
            if len(rows) == _ROWS_PER_BATCH:
                yield _batch(rows, schema)
                rows = []
        if rows:
            yield _batch(rows, schema)


def _short_lines(lines: IO[str]) -> Iterator[str]:
    """Lines without what goes beyond the longest: nobody may fill the memory by one of them.

    Quotes are kept in pairs, so that no other line is read differently for it.
    """
    split = False
    while line := lines.readline(_LONGEST_LINE):
        if split and line == "\n":
            split = False
            continue  # the other half of a line's end
        split = len(line) == _LONGEST_LINE and line[-1] == "\r"
        if len(line) == _LONGEST_LINE and line[-1] not in "\r\n":
            odd = False
            while rest := lines.readline(_LONGEST_LINE):
                odd ^= rest.count('"') % 2 == 1
                if rest[-1] in "\r\n":
                    break
            line += '"\n' if odd else "\n"
        yield line


def _records(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """The records; one that the csv module gives up on becomes a row of missing cells."""
    csv.field_size_limit(_LONGEST_CELL)
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield [_LOST]


def _batch(rows: list[list[str | None]], schema: pa.Schema) -> pa.RecordBatch:
    columns = [pa.array(column, pa.large_string()) for column in zip(*rows, strict=True)]
    return pa.record_batch(columns, schema=schema)


def parquet_batches(paths: Sequence[Path], names: Sequence[str]) -> pa.RecordBatchReader:
    """All rows, with null in place of text that is not UTF-8."""
    schema = pq.read_schema(paths[0])
    renamed = pa.schema(
        [pa.field(name, plain_type(field.type)) for name, field in zip(names, schema, strict=True)]
    )

    def batches() -> Iterator[pa.RecordBatch]:
        for path in paths:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(_ROWS_PER_BATCH):
                    columns = [valid_text(plain_array(column)) for column in batch.columns]
                    yield pa.record_batch(columns, schema=renamed)

    return pa.RecordBatchReader.from_batches(renamed, batches())
