"""Records of a CSV file, each parsed by itself: what one line holds never changes another.

The file is split at line feeds before anything is decoded, and every record is parsed from its own
bytes by one grammar (docs/proofs/reading.md). Most records are regular: valid UTF-8, no stray
carriage return, quotes only around whole cells, and as many cells as columns. Arrow parses runs of
regular records together, which gives the same cells as parsing them one by one. All other records
are parsed one by one, by `parse_record`.
"""

import codecs
import gzip
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

LONGEST_RECORD = 2**22
"""In bytes of UTF-8. A longer record is malformed, so that none fills the memory."""
_CHUNK = 2**24
_ARROW_BLOCK = 2 * LONGEST_RECORD
"""How much text one thread parses at once; more than the longest record."""
_LINE_FEED, _CARRIAGE_RETURN, _QUOTE = b"\n"[0], b"\r"[0], b'"'[0]
UNREADABLE = "\ufdd0"
"""Stands for bytes that are not text. Unicode reserves it, so no text holds it."""
_UNREADABLE_BYTES = UNREADABLE.encode()
_BYTE_ORDER_MARK = codecs.BOM_UTF8
_HANDLER = "understudy.unreadable"
_Places = NDArray[np.intp]


def _mark_unreadable(error: UnicodeError) -> tuple[str, int]:
    """Replace bytes that are not text by a mark, in every encoding."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return UNREADABLE, error.start + 1


codecs.register_error(_HANDLER, _mark_unreadable)


@dataclass(frozen=True)
class CsvFormat:
    """The public facts by which a CSV file is read."""

    encoding: str
    """The Python name of the encoding."""
    delimiter: str
    multiline: bool = False
    """Whether a quoted cell may hold line breaks; then a record ends where quotes are balanced."""


@dataclass(frozen=True)
class Record:
    """The cells of one record; None is missing."""

    cells: tuple[str | None, ...]
    malformed: bool


def parse_record(text: str, delimiter: str, width: int) -> Record | None:
    """Parse one record; None for a blank line, which is no record unless it has a single cell.

    Quotes belong to the grammar where a cell begins with one, after blanks. A record with text
    after a closing quote, an open quote, or more cells than columns is missing throughout, since
    nobody can tell which cell belongs to which column. A short record is padded.

    >>> parse_record('1, "a, b" ,x', ",", 3)
    Record(cells=('1', 'a, b', 'x'), malformed=False)
    >>> parse_record('1,"a', ",", 2)
    Record(cells=(None, None), malformed=True)
    """
    if not text and width > 1:
        return None
    lost = Record((None,) * width, malformed=True)
    blanks = " \t".replace(delimiter, "")
    cells: list[str] = []
    place = 0
    while True:
        start = place
        while place < len(text) and text[place] in blanks:
            place += 1
        if text[place : place + 1] == '"':
            cell, place = _quoted_cell(text, place + 1)
            while 0 <= place < len(text) and text[place] in blanks:
                place += 1
            if place < 0 or text[place : place + 1] not in {"", delimiter}:
                return lost
        else:
            end = text.find(delimiter, place)
            place = len(text) if end < 0 else end
            cell = text[start:place]
        cells.append(cell)
        if place >= len(text):
            break
        place += 1
    if any(cell.strip() for cell in cells[width:]):
        return lost
    short = len(cells) < width
    known = [None if not cell or UNREADABLE in cell else cell for cell in cells[:width]]
    return Record((*known, *(None,) * (width - len(known))), malformed=short)


def _quoted_cell(text: str, place: int) -> tuple[str, int]:
    """The content from after an opening quote, and the place after its closing one; or -1."""
    parts = []
    while True:
        end = text.find('"', place)
        if end < 0:
            return "", -1
        parts.append(text[place:end])
        if text[end + 1 : end + 2] != '"':
            return '"'.join(parts), end + 1
        place = end + 2


class CsvReader:
    """One pass after another over the records of a file."""

    def __init__(self, path: Path, form: CsvFormat, names: Sequence[str]) -> None:
        self._path = path
        self._format = form
        self._schema = pa.schema([(name, pa.string()) for name in names])
        self._malformed = 0

    @property
    def malformed(self) -> int:
        """How many records of the last pass were malformed: an exact count, and so private."""
        return self._malformed

    def batches(self, needed: Collection[str]) -> pa.RecordBatchReader:
        """Text cells of all records in some columns, in no particular order."""
        wanted = pa.schema([field for field in self._schema if field.name in needed])
        return pa.RecordBatchReader.from_batches(wanted, self._batches(wanted))

    def _batches(self, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        self._malformed = 0
        with open_bytes(self._path) as file:
            read_header(file)
            for block, too_long in _blocks(_as_utf8(file, self._format.encoding), self._format):
                if too_long:
                    lost = Record((None,) * self._width, malformed=True)
                    yield self._rows([lost], wanted)
                if block:
                    yield from self._parsed(block, wanted)

    def _parsed(self, block: bytes, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The records of a block that holds whole ones."""
        regular, irregular = _divided(block, self._format)
        if regular:
            strange: list[str] = []
            yield from self._regular(regular, wanted, strange)
            irregular += strange
        parsed = (parse_record(text, self._format.delimiter, self._width) for text in irregular)
        records = [record for record in parsed if record is not None]
        if records:
            yield self._rows(records, wanted)

    def _regular(
        self, block: bytes, wanted: pa.Schema, strange: list[str]
    ) -> Iterator[pa.RecordBatch]:
        """Regular records, parsed together; those of another width are handed over as `strange`."""

        def hand_over(row: csv.InvalidRow) -> str:
            strange.append(row.text.removesuffix("\r"))
            return "skip"

        if block.startswith(_BYTE_ORDER_MARK):
            block = _BYTE_ORDER_MARK + block  # Arrow takes the first one away, of any block
        # Between two of its buffers Arrow takes CR LF for the end of a line, also within quotes.
        cut = not self._format.multiline or b"\r" not in block
        yield from csv.read_csv(
            pa.BufferReader(block),
            csv.ReadOptions(
                column_names=self._schema.names,
                block_size=_ARROW_BLOCK if cut else len(block) + 1,
            ),
            csv.ParseOptions(
                delimiter=self._format.delimiter,
                newlines_in_values=self._format.multiline,
                ignore_empty_lines=self._width > 1,
                invalid_row_handler=hand_over,
            ),
            csv.ConvertOptions(
                column_types=wanted,
                include_columns=wanted.names,
                null_values=[""],
                strings_can_be_null=True,
                check_utf8=False,  # checked before
            ),
        ).to_batches()

    def _rows(self, records: Sequence[Record], wanted: pa.Schema) -> pa.RecordBatch:
        self._malformed += sum(record.malformed for record in records)
        by_column = zip(
            self._schema.names, zip(*(r.cells for r in records), strict=True), strict=True
        )
        cells = dict(by_column)
        columns = [pa.array(cells[name], pa.string()) for name in wanted.names]
        return pa.record_batch(columns, schema=wanted)

    @property
    def _width(self) -> int:
        return len(self._schema)


def open_bytes(path: Path) -> IO[bytes]:
    """The file's bytes, decompressed."""
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


LONGEST_HEADER = 2**20


def read_header(file: IO[bytes]) -> bytes:
    """The header line, without its end; the file stands where the first record begins."""
    return file.readline(LONGEST_HEADER).removeprefix(_BYTE_ORDER_MARK)


def decoded(line: bytes, encoding: str) -> str:
    """Text, with a mark in place of bytes that are none."""
    return line.decode(encoding, _HANDLER)


def _as_utf8(file: IO[bytes], encoding: str) -> Iterator[bytes]:
    """Chunks of the file as UTF-8; a line's bytes decode by themselves in every encoding."""
    rest = b""
    while chunk := file.read(_CHUNK):
        if encoding == "utf-8":
            yield chunk
            continue
        rest += chunk
        end = rest.rfind(b"\n") + 1
        # No character takes less than half as many bytes in UTF-8.
        if not end and len(rest) > 2 * LONGEST_RECORD:
            end = len(rest)  # a line too long to be a record, wherever it is cut
        lines, rest = rest[:end], rest[end:]
        yield _lines_as_utf8(lines, encoding)
    yield _lines_as_utf8(rest, encoding)


def _lines_as_utf8(lines: bytes, encoding: str) -> bytes:
    return b"\n".join(decoded(line, encoding).encode() for line in lines.split(b"\n"))


def _blocks(chunks: Iterator[bytes], form: CsvFormat) -> Iterator[tuple[bytes, bool]]:
    """Blocks of whole records; beside each, whether a record that was too long came before it."""
    rest, skipping, inside = b"", False, False
    for chunk in chunks:
        data = chunk
        if skipping:
            end, inside = _first_end(chunk, form, inside=inside)
            if end < 0:
                continue
            data, skipping = chunk[end + 1 :], False
            yield b"", True
        data = rest + data
        end = _last_end(data, form)
        whole, rest = data[: end + 1], data[end + 1 :]
        yield from _without_long_records(whole, form)
        if len(rest) > LONGEST_RECORD:
            inside = form.multiline and rest.count(b'"') % 2 == 1
            rest, skipping = b"", True
    if skipping:
        yield b"", True
    if rest:
        yield from _without_long_records(rest + b"\n", form)


def _first_end(chunk: bytes, form: CsvFormat, *, inside: bool) -> tuple[int, bool]:
    """Where the record ends that began before, or -1; and whether a quote is open after all."""
    if not form.multiline:
        return chunk.find(b"\n"), False
    text = np.frombuffer(chunk, np.uint8)
    ends = _balanced_ends(text, inside=inside)
    return int(ends[0]) if len(ends) else -1, inside ^ (chunk.count(b'"') % 2 == 1)


def _last_end(data: bytes, form: CsvFormat) -> int:
    """Where the last record ends that is whole; -1 if none is."""
    if not form.multiline:
        return data.rfind(b"\n")
    ends = _balanced_ends(np.frombuffer(data, np.uint8))
    return int(ends[-1]) if len(ends) else -1


def _balanced_ends(text: NDArray[np.uint8], *, inside: bool = False) -> _Places:
    """Line feeds with an even number of quotes before them."""
    ends = np.flatnonzero(text == _LINE_FEED)
    quotes = np.searchsorted(np.flatnonzero(text == _QUOTE), ends)
    balanced: _Places = ends[(quotes + inside) % 2 == 0]
    return balanced


def _record_ends(text: NDArray[np.uint8], form: CsvFormat) -> _Places:
    """Line feeds that end a record of a block, which ends in one."""
    if not form.multiline:
        return np.flatnonzero(text == _LINE_FEED)
    ends = _balanced_ends(text)
    last = len(text) - 1
    # At the end of a file, a quote may be open.
    return ends if len(ends) and ends[-1] == last else np.append(ends, last)


def _without_long_records(block: bytes, form: CsvFormat) -> Iterator[tuple[bytes, bool]]:
    """The block without records that are too long; each is reported by itself."""
    # A long record holds a whole window between two multiples of half its length.
    step = LONGEST_RECORD // 2
    windows = range(0, len(block), step)
    if not form.multiline and all(block.find(b"\n", k, k + step) >= 0 for k in windows[:-1]):
        yield block, False
        return
    ends = _record_ends(np.frombuffer(block, np.uint8), form)
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    long = ends - starts > LONGEST_RECORD
    for _ in range(int(long.sum())):
        yield b"", True
    yield _joined(block, starts, ends, ~long), False


def _joined(block: bytes, starts: _Places, ends: _Places, chosen: NDArray[np.bool_]) -> bytes:
    """Some records of a block, one after the other."""
    if chosen.all():
        return block
    edges = np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8))
    first, beyond = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    runs = zip(starts[first], ends[beyond - 1] + 1, strict=True)
    return b"".join(block[start:end] for start, end in runs)


def _divided(block: bytes, form: CsvFormat) -> tuple[bytes, list[str]]:
    """Regular records of a block as they stand, and the text of each other one."""
    readable = block.isascii() or (_is_utf8(block) and _UNREADABLE_BYTES not in block)
    quotes = block.count(b'"')
    returns = block.count(b"\r")
    stray_returns = returns and returns != block.count(b"\r\n")
    text = np.frombuffer(block, np.uint8)
    if readable and not stray_returns and (not quotes or _all_well_quoted(text, form)):
        return block, []
    ends = _record_ends(text, form)
    starts = np.concatenate([[0], ends[:-1] + 1])
    strange = np.zeros(len(ends), bool)
    if quotes:
        strange[_badly_quoted(text, starts, ends, form)] = True
    if stray_returns:
        places = np.flatnonzero(text[:-1] == _CARRIAGE_RETURN)
        stray = places[text[places + 1] != _LINE_FEED]
        strange[np.searchsorted(ends, stray)] = True
    if not readable:
        for record in np.unique(np.searchsorted(ends, np.flatnonzero(text >= 0x80))):  # noqa: PLR2004 - not ASCII
            own = block[starts[record] : ends[record]]
            strange[record] |= _UNREADABLE_BYTES in own or not _is_utf8(own)
    irregular = [
        decoded(block[starts[k] : ends[k]].removesuffix(b"\r"), "utf-8")
        for k in np.flatnonzero(strange)
    ]
    return _joined(block, starts, ends, ~strange), irregular


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _all_well_quoted(text: NDArray[np.uint8], form: CsvFormat) -> bool:
    """Whether every record is; a quick test that may say no where `_badly_quoted` finds none."""
    places = np.flatnonzero(text == _QUOTE)
    if len(places) % 2:
        return False
    if not form.multiline:
        ends = np.flatnonzero(text == _LINE_FEED)
        if (np.searchsorted(places, ends) % 2).any():
            return False
    opening, closing = places[0::2], places[1::2]
    begins = _begins(text, opening, form) | (opening == 0)
    return bool(begins.all() and _closes(text, closing, form).all())


def _badly_quoted(
    text: NDArray[np.uint8], starts: _Places, ends: _Places, form: CsvFormat
) -> _Places:
    """Records with a quote that is neither around a cell nor doubled inside one."""
    places = np.flatnonzero(text == _QUOTE)
    record = np.searchsorted(ends, places)
    before = np.searchsorted(places, starts)
    opens = (np.arange(len(places)) - before[record]) % 2 == 0
    well = np.where(
        opens,
        (places == starts[record]) | _begins(text, places, form),
        _closes(text, places, form),
    )
    odd = np.diff(np.append(before, len(places))) % 2 == 1
    return np.union1d(record[~well], np.flatnonzero(odd))


def _begins(text: NDArray[np.uint8], places: _Places, form: CsvFormat) -> NDArray[np.bool_]:
    """Whether an opening quote stands where a cell begins, or is the second of a doubled one."""
    before = text[places - 1]
    marks = before == ord(form.delimiter)
    return np.asarray(marks | (before == _LINE_FEED) | (before == _QUOTE))


def _closes(text: NDArray[np.uint8], places: _Places, form: CsvFormat) -> NDArray[np.bool_]:
    """Whether a closing quote stands where a cell ends, or is the first of a doubled one."""
    after = text[places + 1]
    marks = (after == ord(form.delimiter)) | (after == _LINE_FEED) | (after == _QUOTE)
    # A carriage return that no line feed follows makes its record irregular anyway.
    return np.asarray(marks | (after == _CARRIAGE_RETURN))
