"""The rows of a release folder, read within a limit of memory.

Whoever made the folder chose every byte of it. A Parquet file of a megabyte can stand for more rows
than any machine holds, and its footer may say less than is there. So what the footer says is
checked first, then what is decoded is counted batch by batch, and only values that the schema lists
are taken.
"""

import csv as plain_csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from understudy.column import Column
from understudy.errors import ReleaseTooLarge
from understudy.formula_text import formula_safe_name, old_original, old_safe_name, original
from understudy.parquet_footer import row_groups
from understudy.regenerate import LONGEST
from understudy.rendering import longest, restored, written
from understudy.schema import Schema
from understudy.synthetic_rows import MOST_SAVED
from understudy.table_files import arrow_types

CSV, PARQUET = "synthetic.csv", "synthetic.parquet"
FORMULA_SAFE, RAW = "formula-safe", "raw"
"""How the file spells text; files of version 0.1.0 do not say."""
DELIMITERS = (",", ";", "\t", "|")
"""What may stand between the cells of a CSV file: as in the table that was read."""

_USUAL_BYTES, _FOLD, _MOST_BYTES = 2**29, 500, 2**33
"""Rows may need that many bytes in memory, more for a large file, but never above the last."""
_CODECS = {0, 1}
"""What Parquet files of a release are compressed with: not at all, or by Snappy.

Snappy inflates about 30-fold at most.
"""
_MOST_GROUPS = 10_000
_MOST_GROUP_ROWS = 2**20
"""Of a file with invented text: within a group, the reader's list of values grows by each batch."""
_BATCH_ROWS, _BATCH_CELLS = 2**16, 2**22
_MOST_WIDTH = 8
"""Bytes of a cell in memory, without letters; in a CSV file it takes one at least."""
_MISMATCH = "The file is not one that a release of this schema is written to."


def read_rows(  # noqa: PLR0913 - all but the first three by name
    folder: Path,
    files: Mapping[str, str],
    schema: Schema,
    *,
    text: str | None,
    max_bytes: int | None = None,
    delimiter: str | None = ",",
    as_text: Mapping[str, Column] = MappingProxyType({}),
) -> pa.Table:
    """Return the rows of a release folder, in the types of the schema.

    Args:
        folder: The release folder.
        files: The files that its certificate lists.
        schema: What the columns hold.
        text: How text is spelled: formula-safe, raw, or None for a file of version 0.1.0.
        max_bytes: How much memory the rows may need; by default it depends on the file's size.
        delimiter: What stands between the cells of a CSV file; None for files of versions that
            wrote commas, ISO dates and plain numbers alone.
        as_text: Columns that a Parquet file holds as text.

    Raises:
        ReleaseTooLarge: The rows need more memory than that.
        ValueError: The file does not hold rows of this schema.
    """
    if (
        text not in {FORMULA_SAFE, RAW, None}
        or (CSV in files) == (PARQUET in files)
        or delimiter not in {*DELIMITERS, None}
    ):
        raise ValueError(_MISMATCH)
    name = PARQUET if PARQUET in files else CSV
    size = (folder / name).stat().st_size
    limit = min(_MOST_BYTES, max(_USUAL_BYTES, _FOLD * size)) if max_bytes is None else max_bytes
    if name == PARQUET:
        most_rows = MOST_SAVED if max_bytes is None else max_bytes
        return _Parquet(folder / name, schema, limit, most_rows, as_text).table()
    if size > limit:
        raise too_large(folder / name, size, limit)
    if size * _MOST_WIDTH > limit:
        needed = _most_lines(folder / name) * sum(map(_width, arrow_types(schema).values()))
        if needed > limit:
            raise too_large(folder / name, needed, limit, what="In memory, the table in")
    return _csv(folder / name, schema, text, delimiter)


def too_large(path: Path, needed: int, limit: int, *, what: str = "The file") -> ReleaseTooLarge:
    """Return the error for a file that needs too many bytes."""
    return ReleaseTooLarge(
        f"{what} {path} needs at least {needed:,} bytes, and the limit is {limit:,}. If you trust "
        f'its sender, raise the limit in Python: understudy.load("{path.parent}", '
        f"max_bytes={needed:,}); or read the file with another tool."
    )


def _most_lines(path: Path) -> int:
    """Return at least as many lines as a CSV file has."""
    lines = 1
    with path.open("rb") as file:
        while part := file.read(2**24):
            lines += part.count(b"\n") + part.count(b"\r")
    return lines


def _csv(path: Path, schema: Schema, text: str | None, delimiter: str | None) -> pa.Table:
    """Read a CSV file by the types of the schema, and by nothing that is guessed from cells."""
    columns = {} if delimiter is None else written(schema)
    delimiter = delimiter or ","
    typed = arrow_types(schema)
    types = typed | dict.fromkeys(columns, pa.string())
    spellings: Mapping[str | None, tuple[list[str], ...]] = {
        RAW: ([*types],),
        FORMULA_SAFE: ([formula_safe_name(name) for name in types],),
        None: ([*types], [old_safe_name(name) for name in types]),
    }
    # The header comes first: a reader that finds a million names in it sets up as many columns.
    names = _header(path, 2**16 + 8 * sum(map(len, types)), delimiter)
    if names not in spellings[text]:
        raise ValueError(_MISMATCH)
    options = csv.ConvertOptions(
        column_types=dict(zip(names, types.values(), strict=True)),
        strings_can_be_null=True,
        null_values=[""],
        quoted_strings_can_be_null=text is None,
    )
    parsing = csv.ParseOptions(
        delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=False
    )
    table = csv.read_csv(path, None, parsing, options)
    if table.column_names != names:
        raise ValueError(_MISMATCH)
    table = restored(table.rename_columns([*types]), columns, typed)
    for column in schema:
        if column.regenerated and pa.types.is_string(typed[column.name]):
            _check_invented(table[column.name])
    if text == RAW:
        return table
    for place, (name, kind) in enumerate(typed.items()):
        if pa.types.is_string(kind):
            cells = table[name]
            plain = old_original(cells, _labels(schema, name)) if text is None else original(cells)
            table = table.set_column(place, name, plain)
    return table


def _header(path: Path, most: int, delimiter: str) -> list[str]:
    """Return the column names of a CSV file, from its first bytes."""
    with path.open("rb") as file:
        start = file.read(most).decode("utf-8", "ignore")
    try:
        return next(plain_csv.reader(io.StringIO(start, newline=""), delimiter=delimiter), [])
    except plain_csv.Error:
        raise ValueError(_MISMATCH) from None


class _Parquet:
    """A Parquet file of a release, and how much may be read of it."""

    def __init__(
        self,
        path: Path,
        schema: Schema,
        limit: int,
        most_rows: int,
        as_text: Mapping[str, Column],
    ) -> None:
        self._path = path
        self._typed = arrow_types(schema)
        self._as_text = as_text
        self._types = pa.schema((self._typed | dict.fromkeys(as_text, pa.string())).items())
        self._limit = limit
        self._most_rows = most_rows
        self._labels = {
            field.name: None if schema[field.name].regenerated else _labels(schema, field.name)
            for field in self._types
            if pa.types.is_string(field.type) and field.name not in as_text
        }

    def table(self) -> pa.Table:
        """Return all rows."""
        # Loaded here, for most releases are text.
        import pyarrow.parquet as pq  # noqa: PLC0415

        self._check_footer()
        # Text comes as places in a dictionary, so that no long value is repeated for each row.
        text = [*self._labels, *self._as_text]
        usual = pa.BufferOutputStream()
        pq.ParquetWriter(usual, self._types).close()
        expected = pq.ParquetFile(pa.BufferReader(usual.getvalue()), read_dictionary=text)
        with pq.ParquetFile(self._path, read_dictionary=text) as file:
            if not file.schema_arrow.equals(expected.schema_arrow):
                raise ValueError(_MISMATCH)
            batches = list(self._counted(file))
        # Text is spelled out, now that all of it is known to fit. Parquet knows no whole seconds.
        plain = [pa.Table.from_batches([batch]).cast(self._types) for batch in batches]
        whole = pa.concat_tables([self._types.empty_table(), *plain])
        return restored(whole, self._as_text, self._typed)

    def _check_footer(self) -> None:
        """Refuse a file by what its footer says, before anything is decoded."""
        groups = row_groups(self._path)
        chunks = [chunk for group in groups for chunk in group.chunks]
        if (
            len(groups) > _MOST_GROUPS
            or any(group.rows < 0 for group in groups)
            or any(len(group.chunks) != len(self._types) for group in groups)
            or any(chunk.codec not in _CODECS or chunk.stored < 0 for chunk in chunks)
            or (None in self._labels.values() and any(g.rows > _MOST_GROUP_ROWS for g in groups))
            # Chunks that share bytes would be decoded again and again.
            or sum(chunk.stored for chunk in chunks) > self._path.stat().st_size
        ):
            raise ValueError(_MISMATCH)
        rows = sum(group.rows for group in groups)
        self._allow(rows, rows * self._row_bytes)

    def _counted(self, file: Any) -> Iterator[pa.RecordBatch]:  # noqa: ANN401 - as above
        """Yield the rows in batches, as long as they stay within the limit."""
        rows = needed = 0
        size = max(1, min(_BATCH_ROWS, _BATCH_CELLS // len(self._types)))
        for batch in file.iter_batches(size):
            rows += batch.num_rows
            needed += batch.num_rows * self._row_bytes
            self._allow(rows, needed)
            columns = []
            for field, column in zip(self._types, batch.columns, strict=True):
                if pa.types.is_string(field.type):
                    self._check_values(field.name, column.dictionary)
                    needed += _text_bytes(column)
                    self._allow(rows, needed)
                columns.append(column)
            yield pa.RecordBatch.from_arrays(columns, self._types.names)

    def _check_values(self, name: str, values: pa.Array) -> None:
        """Refuse text that the schema does not list, or that is too long for a number or a date."""
        if name in self._as_text:
            lengths = pc.utf8_length(values)
            fits = pc.all(pc.less_equal(lengths, longest(self._as_text[name])), min_count=0)
        elif (labels := self._labels[name]) is None:
            self._allow(0, values.nbytes)
            _check_invented(values)
            return
        else:
            fits = pc.all(pc.is_in(values, value_set=labels), min_count=0)
            if len(values) > len(labels):
                raise ValueError(_MISMATCH)
        if not fits.as_py():
            raise ValueError(_MISMATCH)

    @property
    def _row_bytes(self) -> int:
        """How many bytes a row takes, without the letters of its text."""
        return sum(_width(field.type) for field in self._types)

    def _allow(self, rows: int, needed: int) -> None:
        if needed > self._limit:
            raise too_large(self._path, needed, self._limit, what="In memory, the table in")
        if rows > self._most_rows:
            msg = (
                f"{self._path} has {rows:,} rows or more, and no release is saved with more than "
                f"{self._most_rows:,}. Read the file with another tool if you trust its sender."
            )
            raise ReleaseTooLarge(msg)


def _text_bytes(column: pa.DictionaryArray) -> int:
    """Return the length of all text of a column."""
    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
    return int(pc.sum(lengths.take(column.indices)).as_py() or 0)


def _width(kind: pa.DataType) -> int:
    """Return how many bytes a cell takes; of text, its place alone."""
    return 4 if pa.types.is_string(kind) else max(1, kind.bit_width // 8)


def _check_invented(texts: pa.Array | pa.ChunkedArray) -> None:
    """Refuse invented values that are longer than any that are written."""
    if (pc.max(pc.binary_length(texts)).as_py() or 0) > LONGEST:
        raise ValueError(_MISMATCH)


def _labels(schema: Schema, name: str) -> pa.Array:
    """Return the values that a text column may hold."""
    facts = schema[name]
    labels = facts.categories or facts.spelling or ()
    return pa.array([*labels, facts.other], pa.string())
