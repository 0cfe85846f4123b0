"""Opening CSV and Parquet files: names from the header, everything else from the schema."""

import codecs
import csv
import glob
import gzip
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from understudy.errors import SourceError
from understudy.privacy.engine import (
    EmbeddedEngine,
    OpenedRows,
    check_names,
    embedded_rows,
    internal_names,
    quoted,
)
from understudy.privacy.tolerant import csv_batches, is_text, open_text, parquet_batches

_LONGEST_HEADER = 2**20
_WIDE = {
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}
"""Encodings with more than a byte for every character, and how their files begin."""


def open_path(path: str, text_encoding: str) -> OpenedRows:
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
        return _open_csv(files[0], text_encoding)
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


def _open_csv(file: Path, encoding: str) -> OpenedRows:
    try:
        codec = codecs.lookup(encoding).name
        "".encode(codec)  # refuses codecs that are not about text
    except (LookupError, TypeError, ValueError):
        msg = f"The text encoding {encoding!r} is unknown. Try 'utf-8', 'latin-1' or 'cp1252'."
        raise SourceError(msg) from None
    _check_codec(codec, file)
    delimiter, names = _csv_header(file, codec)
    check_names(names)
    engine = EmbeddedEngine()
    columns = internal_names(names)
    inside = tuple(columns.values())
    kinds = ", ".join(f"'{column}': 'VARCHAR'" for column in inside)
    reader = (
        f"read_csv([{quoted(_literal(file))}], auto_detect = false, header = true, "
        f"strict_mode = true, quote = '\"', escape = '\"', delim = {quoted(delimiter)}, "
        f"columns = {{{kinds}}})"
    )

    def strictly() -> None:
        engine.attach_file(reader, inside)

    def tolerantly() -> None:
        engine.renew()
        engine.attach(csv_batches(file, codec, delimiter, inside))

    def outline() -> None:
        engine.attach(
            pa.Table.from_batches([], pa.schema([(name, pa.string()) for name in inside]))
        )

    # The fast reader takes UTF-8 only, and has its own mind on blank lines in a single column.
    fast = codec == "utf-8" and len(inside) > 1
    readers = (strictly, tolerantly) if fast else (tolerantly,)
    return embedded_rows(engine, columns, outline, readers)


def _check_codec(codec: str, file: Path) -> None:
    """Refuse an encoding that, if it is the wrong one, would take rows for the header.

    Most encodings agree on the end of a line; of the others a mark at the file's start must say
    that they are meant.
    """
    plain = [chr(code) for code in (9, 10, 13, *range(32, 127))]
    if all(_same_in_ascii(character, codec) for character in plain):
        return
    marks = _WIDE.get(codec)
    if marks is None:
        msg = (
            f"Text in {codec} cannot be read safely: taken for it by mistake, a file's rows would "
            "be read as column names. Save the file as UTF-8."
        )
        raise SourceError(msg)
    if not _first_bytes(file).startswith(marks):
        msg = (
            f"{file} does not begin with the mark of {codec}. Save it as UTF-8, or with a byte "
            "order mark."
        )
        raise SourceError(msg)


def _same_in_ascii(character: str, codec: str) -> bool:
    try:
        return character.encode("ascii").decode(codec) == character
    except UnicodeError:
        return False


def _first_bytes(file: Path) -> bytes:
    open_bytes = gzip.open if file.suffix.lower() == ".gz" else open
    try:
        with open_bytes(file, "rb") as content:
            return bytes(content.read(4))
    except (OSError, EOFError, zlib.error):
        return b""  # told when the header is read


def _csv_header(file: Path, encoding: str) -> tuple[str, tuple[str, ...]]:
    """Delimiter and column names, from the header line alone."""
    try:
        with open_text(file, encoding) as lines:
            first = lines.readline(_LONGEST_HEADER)
    except (OSError, EOFError, zlib.error, UnicodeError):
        msg = f"{file} cannot be read: it is not a readable (or not a whole) CSV file."
        raise SourceError(msg) from None
    if not is_text(first):
        msg = (
            f"The header of {file} is not {encoding} text. Declare the text encoding, such as "
            "'latin-1', or save the file as UTF-8."
        )
        raise SourceError(msg)
    if first.count('"') % 2 or len(first) == _LONGEST_HEADER:
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
        if schema != schemas[0]:
            msg = f"{file} has other columns or types than {files[0]}. Write all files alike."
            raise SourceError(msg)
    engine = EmbeddedEngine()
    columns = internal_names(names)
    inside = tuple(columns.values())
    empty = [columns[f.name] for f in schemas[0] if pa.types.is_null(f.type)]
    paths = ", ".join(quoted(_literal(file)) for file in files)

    def strictly() -> None:
        engine.attach_file(f"read_parquet([{paths}], hive_partitioning = false)", inside, empty)

    def tolerantly() -> None:
        engine.renew()
        engine.attach(parquet_batches(files, inside))

    return embedded_rows(engine, columns, strictly, (strictly, tolerantly))


def _literal(file: Path) -> str:
    """The path, with the engine's own wildcards taken literally."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(file.absolute()))
