"""Opening CSV and Parquet files: names from the header, everything else from the schema."""

import codecs
import csv
import glob
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from understudy.encode.arrow_ops import (
    DICTIONARY,
    common_type,
    is_text,
    readable_as,
    readable_dictionary,
)
from understudy.errors import SourceError
from understudy.privacy.csv_records import (
    LONGEST_HEADER,
    UNREADABLE,
    CsvFormat,
    CsvReader,
    decoded,
    open_bytes,
    read_header,
)
from understudy.privacy.engine import (
    EmbeddedEngine,
    OpenedRows,
    check_names,
    embedded_rows,
    internal_names,
)

_ROWS_PER_BATCH = 2**17
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
"""How UTF-16 and UTF-32 begin; little-endian UTF-32 begins as UTF-16 does."""
_ONE_BYTE = (
    *("ascii", "cp437", "cp720", "cp737", "cp775", "cp850", "cp852", "cp855", "cp856", "cp857"),
    *("cp858", "cp860", "cp861", "cp862", "cp863", "cp865", "cp866", "cp869", "cp874", "cp1125"),
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("iso8859-1", "iso8859-2", "iso8859-3", "iso8859-4", "iso8859-5", "iso8859-6", "iso8859-7"),
    *("iso8859-8", "iso8859-9", "iso8859-10", "iso8859-11", "iso8859-13", "iso8859-14"),
    *("iso8859-15", "iso8859-16", "koi8-r", "koi8-t", "koi8-u", "kz1048", "mac-cyrillic"),
    *("mac-greek", "mac-iceland", "mac-latin2", "mac-roman", "mac-turkish", "ptcp154"),
    *("tis-620",),
)
_SEVERAL_BYTES = (
    *("utf-8", "gbk", "gb2312", "gb18030", "big5", "big5hkscs", "cp950", "cp932", "cp949"),
    *("shift_jis", "shift_jisx0213", "shift_jis_2004", "euc_jp", "euc_jisx0213", "euc_jis_2004"),
    *("euc_kr", "johab"),
)
ENCODINGS = frozenset((*_ONE_BYTE, *_SEVERAL_BYTES))
"""Encodings in which line feeds, quotes and commas are single bytes that are part of no other
character, and in which no character changes how the next ones decode."""


def open_path(path: str, text_encoding: str = "utf-8", *, multiline: bool = False) -> OpenedRows:
    """Open one CSV file, or one or several Parquet files."""
    names = sorted(glob.glob(path)) if _is_pattern(path) else [path]  # noqa: PTH207 - absolute too
    files = [Path(name) for name in names]
    if not files:
        msg = f"No file matches {path}. Check the pattern, and that it ends in .parquet."
        raise SourceError(msg)
    kinds = {_kind(file) for file in files}
    if len(kinds) > 1 or (kinds == {"csv"} and len(files) > 1):
        msg = f"{path} matches several files; only Parquet files can be read together."
        raise SourceError(msg)
    for file in files:
        if not file.is_file():
            msg = f"There is no file {file}. Check the path."
            raise SourceError(msg)
    if kinds == {"csv"}:
        return _open_csv(files[0], text_encoding, multiline=multiline)
    if multiline:
        msg = f"{path} is no CSV file; only those can be multiline. Leave the option out."
        raise SourceError(msg)
    return _open_parquet(files)


def _is_pattern(path: str) -> bool:
    return any(mark in path for mark in "*?[") and not Path(path).exists()


def _kind(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    last = suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:]
    if last and last[0] in {".csv", ".tsv", ".txt"}:
        return "csv"
    if suffixes[-1:] and suffixes[-1] in {".parquet", ".pq"}:
        return "parquet"
    msg = f"{file} is neither CSV (.csv, .tsv, .txt, also .gz) nor Parquet (.parquet, .pq)."
    raise SourceError(msg)


def _open_csv(file: Path, encoding: str, *, multiline: bool) -> OpenedRows:
    codec = text_codec(encoding)
    delimiter, names = _csv_header(file, codec)
    check_names(names)
    engine = EmbeddedEngine()
    columns = internal_names(names)
    inside = tuple(columns.values())
    reader = CsvReader(file, CsvFormat(codec, delimiter, multiline), inside)

    def attach(needed: Collection[str]) -> None:
        engine.attach(reader.batches(needed))

    schema = pa.schema([(name, pa.string()) for name in inside])
    reading: dict[str, str | bool] = {
        "source": "csv",
        "encoding": codec,
        "delimiter": delimiter,
        "multiline": multiline,
    }
    return embedded_rows(engine, columns, schema, attach, reading, lambda: reader.malformed)


def text_codec(encoding: str) -> str:
    """The Python name of an encoding in which each line of a file decodes by itself."""
    try:
        codec = codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        msg = f"The text encoding {encoding!r} is unknown. Try 'utf-8', 'latin-1' or 'cp1252'."
        raise SourceError(msg) from None
    codec = {"utf-8-sig": "utf-8"}.get(codec, codec)
    if codec not in ENCODINGS:
        msg = (
            f"Text in {codec} cannot be read: there, one line can change how the next ones decode. "
            "Save the file as UTF-8."
        )
        raise SourceError(msg)
    return codec


def _csv_header(file: Path, encoding: str) -> tuple[str, tuple[str, ...]]:
    """Delimiter and column names, from the header line alone."""
    try:
        with open_bytes(file) as content:
            line = read_header(content)
    except (OSError, EOFError, zlib.error):
        msg = f"{file} cannot be read: it is not a readable (or not a whole) CSV file."
        raise SourceError(msg) from None
    if line.startswith(_WIDE_MARKS):
        msg = f"{file} is UTF-16 or UTF-32 text. Save the file as UTF-8."
        raise SourceError(msg)
    first = decoded(line, encoding).removesuffix("\n").removesuffix("\r")
    # First of all, for then the line holds all rows, and no other message may depend on them.
    if "\r" in first:
        msg = f"Lines of {file} end in a carriage return alone. Save it with line feeds."
        raise SourceError(msg)
    if UNREADABLE in first:
        msg = (
            f"The header of {file} is not {encoding} text. Declare the text encoding, such as "
            "'latin-1', or save the file as UTF-8."
        )
        raise SourceError(msg)
    if first.count('"') % 2 or len(line) >= LONGEST_HEADER:
        # Reading on in search of its end would take rows for names.
        msg = f"The header of {file} does not end where its line does. Mend the column names."
        raise SourceError(msg)
    split = {mark: _split(first, mark) for mark in ",;\t|"}
    delimiter = max(split, key=lambda mark: len(split[mark]))
    names = tuple(name.strip() for name in split[delimiter])
    if not any(names):
        return delimiter, ()
    return delimiter, tuple(n or f"column_{k}" for k, n in enumerate(names, start=1))


def _split(header: str, mark: str) -> list[str]:
    try:
        return next(csv.reader([header], delimiter=mark), [])
    except csv.Error:  # a name that is too long or broken off, under this delimiter
        return []


def _open_parquet(files: list[Path]) -> OpenedRows:
    schemas = []
    for file in files:
        try:
            schemas.append(pq.read_schema(file).remove_metadata())
        except (pa.ArrowException, OSError):
            msg = f"{file} cannot be read: it is not a readable Parquet file."
            raise SourceError(msg) from None
    names = tuple(schemas[0].names)
    check_names(names)
    for file, schema in zip(files, schemas, strict=True):
        if tuple(schema.names) != names:
            msg = f"{file} has other columns than {files[0]}. Write all files alike."
            raise SourceError(msg)
    types = [
        common_type([schema.field(place).type for schema in schemas]) for place in range(len(names))
    ]
    for name, kind in zip(names, types, strict=True):
        if kind is None:
            msg = f"Column {name!r} is of another type in some of the files. Write all files alike."
            raise SourceError(msg)
    engine = EmbeddedEngine()
    columns = internal_names(names)
    schema = pa.schema(list(zip(columns.values(), types, strict=True)))

    def attach(needed: Collection[str]) -> None:
        wanted = pa.schema([field for field in schema if field.name in needed])
        places = [schema.get_field_index(field.name) for field in wanted]
        engine.attach(_parquet_batches(files, [names[place] for place in places], wanted))

    return embedded_rows(engine, columns, schema, attach, {"source": "parquet"})


def _parquet_batches(
    files: Sequence[Path], names: Sequence[str], schema: pa.Schema
) -> pa.RecordBatchReader:
    """All rows, in plain types, with null in place of text that is not UTF-8.

    Text stays a dictionary, as it is stored: then each value is looked at once. Where a dictionary
    could be too long for its 32 bits, the same text is read as it stands.
    """
    kinds = [DICTIONARY if is_text(kind) else kind for kind in schema.types]
    encoded = pa.schema(list(zip(schema.names, kinds, strict=True)))
    texts = [name for name, kind in zip(names, kinds, strict=True) if kind is DICTIONARY]

    def batches() -> Iterator[pa.RecordBatch]:
        for path in files:
            metadata = pq.read_metadata(path)
            short = _short(metadata, texts)
            with pq.ParquetFile(path, metadata=metadata, read_dictionary=short) as file:
                for batch in file.iter_batches(_ROWS_PER_BATCH, columns=list(names)):
                    columns = [
                        readable_dictionary(batch.column(name))
                        if kind is DICTIONARY
                        else readable_as(batch.column(name), kind)
                        for name, kind in zip(names, kinds, strict=True)
                    ]
                    yield pa.record_batch(columns, schema=encoded)

    return pa.RecordBatchReader.from_batches(encoded, batches())


_WHOLE_TEXTS = {"PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "RLE", "BIT_PACKED"}
"""Encodings of text in which each value is stored whole, at least once."""
_SHORT = 2**30


def _short(metadata: pq.FileMetaData, names: Collection[str]) -> list[str]:
    """The columns whose different texts together are surely shorter than 2 GiB."""
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    short = []
    for place in range(metadata.num_columns):
        name = metadata.schema.column(place).path
        chunks = [group.column(place) for group in groups if name in names]
        whole = all(_WHOLE_TEXTS.issuperset(chunk.encodings) for chunk in chunks)
        if name in names and whole and sum(c.total_uncompressed_size for c in chunks) < _SHORT:
            short.append(name)
    return short
