"""A release: a synthetic table, the certificate of its promise, and the model it was drawn from.

Everything here is made from noisy answers and public facts, so all of it may be published; but for
a release that is not private, whose certificate says so.
"""

import contextlib
import html
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from understudy import demanded
from understudy.column import Column
from understudy.encode import Encoding
from understudy.errors import BadInput, CheckFailed, ReleaseTooLarge
from understudy.mechanisms.api import Model
from understudy.model.bayes_net import BayesNet
from understudy.model.cliques import cliques_of
from understudy.model.copula import CopulaModel
from understudy.model.graphical import GraphicalModel
from understudy.model.labelled import LabelledModel
from understudy.model.merged import MergedModel
from understudy.model.product import ProductModel
from understudy.privacy.certificate import Certificate
from understudy.privacy.facts import revealed, spelled_out
from understudy.privacy.folder import CERTIFICATE, Content, publish, read_certificate, verify
from understudy.privacy.promise import READING
from understudy.privacy.spelling import DEFECTS, spelled_for_people
from understudy.privacy.steps_told import worked
from understudy.rendering import held_as_text, rendered
from understudy.schema import Schema
from understudy.schema_files import schema_from_toml
from understudy.separation import Separation
from understudy.stored_files import (
    CSV,
    DELIMITERS,
    FORMULA_SAFE,
    PARQUET,
    RAW,
    read_rows,
    too_large,
)
from understudy.synthetic_rows import DrawnRows, Rows, StoredRows, encoding_of
from understudy.table_files import check_format, write_rows
from understudy.twostage.rows_alone import RowsAlone

MODEL = "model.json"
COLUMNS = "columns.json"
"""In place of a model, where none is kept: what the columns hold."""
REPORT = "report.html"
_FORMATS = _FORMAT_1, _FORMAT = "understudy model 1", "understudy model 2"
"""Models of format 1 know no hidden codes: values without a code had that of another value."""
_MODELS = {
    kind.kind: kind
    for kind in (ProductModel, GraphicalModel, MergedModel, BayesNet, CopulaModel, LabelledModel)
}
_LARGEST = {CERTIFICATE: 2**26, MODEL: 2**30, COLUMNS: 2**30, CSV: 2**33, PARQUET: 2**33}
"""How many bytes the files of a release may have, unless somebody allows more."""
_LARGEST_OTHER = 2**28
"""The same for the report, and for whatever else is there."""
_MOST_TIES = 10**7
"""Stated independences, columns and cliques of a release that is loaded, multiplied."""
_MOST_COLUMNS, _MOST_BINS = 2**11, 2**20
"""Of a release that is loaded; more bins only where its file lists as many numbers."""
_MOST_LISTS, _LIST_BYTES = 2**24, 64
"""In the file of a model that is loaded; and how much memory each takes."""
_SHOWN = 5
_REPORTED = 50_000
"""So many rows are counted for the report."""
_PER_ROW = 0.01
"""Milliseconds to draw a row, for the rhythm in which progress is told."""


@dataclass(frozen=True, eq=False)
class Release:
    """What may leave the building."""

    rows: Rows
    """The synthetic rows; they are drawn when somebody looks."""
    certificate: Certificate
    schema: Schema
    """What the columns hold: declared facts, and those that were bought."""
    model: Model
    notes: tuple[str, ...] = ()
    """What a person should know before using it."""

    @property
    def encoding(self) -> Encoding:
        """How values become the model's codes."""
        if isinstance(self.model, RowsAlone):
            return Encoding(self.schema)
        return encoding_of(self.model, self.schema)

    @property
    def table(self) -> pa.Table:
        """The synthetic rows as an Arrow table."""
        return self.rows.table

    @property
    def data(self) -> Any:  # noqa: ANN401 - pandas ships no types
        """The synthetic rows as a pandas data frame."""
        return self._frame(self.table)

    def sample(self, rows: int | None = None, *, seed: int | None = None) -> Any:  # noqa: ANN401 - as above
        """More rows from the same model, as a data frame; drawing them costs no privacy."""
        count = self.rows.count if rows is None else rows
        return self._frame(DrawnRows.of(self.model, self.schema, count, seed).table)

    def save(
        self,
        folder: str | Path,
        *,
        format: str = "csv",  # noqa: A002 - as the command line calls it
        raw_text: bool = False,
        formula_safe: bool | None = None,
        key: bytes | None = None,
    ) -> Path:
        """Write the release folder: whole, or not at all.

        Args:
            folder: The folder to write; it must be new or empty.
            format: csv or parquet.
            raw_text: Write text to the CSV file as it is. By default, text that a spreadsheet
                would run as a formula, such as "=cmd()", gets an apostrophe before it; plain
                numbers such as "-1" do not. `load` removes the apostrophe again.
            formula_safe: The opposite of `raw_text`, as in version 0.1.0. True is the default.
            key: A private Ed25519 key (PEM), which signs the certificate.
        """
        folder = Path(folder)
        check_format(format)
        raw = _raw_text(raw_text=raw_text, formula_safe=formula_safe)

        first: list[pa.Table] = []
        notes = list(self.notes)

        def write(sink: IO[bytes]) -> None:
            blocks = _first_kept(self.rows.blocks(), first)
            write_rows(
                blocks,
                self.schema,
                format,
                sink,
                raw_text=raw,
                delimiter=self._delimiter,
                as_text=self._as_text,
            )

        def report(sink: IO[bytes]) -> None:
            some = first[0] if first else self.rows.table.slice(0, _REPORTED)
            page, faults = self._report(some, format)
            notes.extend(faults)
            sink.write(page)

        def model(sink: IO[bytes]) -> None:
            sink.write(self._model_file(notes, raw=raw or format != "csv"))

        # In this order: the page counts the rows, and what goes wrong with it is noted.
        files: dict[str, Content] = {
            f"synthetic.{format}": write,
            REPORT: report,
            self._described: model,
        }
        publish(folder, files, self.certificate, key=key)
        return folder

    def _frame(self, table: pa.Table) -> Any:  # noqa: ANN401 - pandas ships no types
        """Some rows as a data frame, with text where the source had text."""
        return _frame(rendered(table, self._as_text), self.schema)

    @property
    def _as_text(self) -> dict[str, Column]:
        """The columns that a data frame and a Parquet file hold as text."""
        return held_as_text(self.schema, self.certificate.public)

    @property
    def _delimiter(self) -> str:
        """What stands between the cells of a CSV file: what stood there in the source."""
        reading = self.certificate.public.get(READING)
        mark = reading.get("delimiter") if isinstance(reading, Mapping) else None
        return mark if mark in DELIMITERS else ","

    def saved_notes(self, folder: Path) -> tuple[str, ...]:
        """The notes as they were saved, with whatever went wrong then."""
        path = folder / self._described
        # The folder that one stands in was replaced by saving, and holds nothing any more.
        return _notes(json.loads(path.read_bytes())["notes"]) if path.is_file() else self.notes

    @property
    def _described(self) -> str:
        return COLUMNS if isinstance(self.model, RowsAlone) else MODEL

    def _model_file(self, notes: list[str], *, raw: bool) -> bytes:
        content = {
            "format": _FORMAT if self.encoding.hides else _FORMAT_1,
            "text": RAW if raw else FORMULA_SAFE,
            "delimiter": self._delimiter,
            "kind": self.model.kind,
            "schema": spelled_out(self.schema),
            "notes": notes,
            "model": self.model.to_json(),
        }
        return spelled_for_people(content)

    def _report(
        self,
        some: pa.Table,
        format: str,  # noqa: A002 - as above
    ) -> tuple[bytes, list[str]]:
        """The page, and what went wrong: a release that was paid for is not lost with its page."""
        # Loaded here: most uses of a release show no page.
        from understudy.report import report_of, report_page  # noqa: PLC0415

        try:
            told = report_of(
                certificate=self.certificate,
                schema=self.schema,
                model=self.model,
                codes=self.encoding.codes(some),
                rows=self.rows.count,
                notes=self.notes,
                format=format,
            )
            return report_page(told), []
        except Exception as error:  # noqa: BLE001 - whatever it is, the other files are sound
            fault = (
                f"{REPORT} could not be made ({type(error).__name__}) and shows the promise alone. "
                "All other files of the release are whole."
            )
            return _bare_page(self.certificate, fault), [fault]

    @property
    def _shape(self) -> str:
        return f"{self.rows.count:,} rows × {len(self.schema.released)} columns"

    def __repr__(self) -> str:
        return f"Release({self._shape}; {self.certificate})"

    def _repr_html_(self) -> str:
        warning = self.certificate.warning
        first = f"<p><strong>{html.escape(warning)}</strong></p>" if warning else ""
        promise = self.certificate.promise[1 if warning else 0 :]
        lines = "".join(f"<li>{html.escape(line)}</li>" for line in promise)
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        head = self._frame(self.table.slice(0, _SHOWN)).to_html(index=False, border=0)
        return (
            f"<div>{first}<strong>Release</strong>: {self._shape}<ul>{lines}</ul>"
            + (f"<p>Before you use it:</p><ul>{notes}</ul>" if notes else "")
            + f"{head}</div>"
        )


def _raw_text(*, raw_text: bool, formula_safe: bool | None) -> bool:
    """Return whether text is written as it is; refuse two options that contradict each other."""
    if raw_text and formula_safe:
        msg = "Text cannot be both raw and formula-safe. Leave one of the two options out."
        raise BadInput(msg)
    return raw_text or formula_safe is False


def _bare_page(certificate: Certificate, fault: str) -> bytes:
    page = (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        "<title>A synthetic table</title>\n"
        f"{certificate._repr_html_()}\n<p>{html.escape(fault)}</p>\n</html>\n"
    )
    return page.encode()


def _first_kept(blocks: Iterator[pa.Table], kept: list[pa.Table]) -> Iterator[pa.Table]:
    """The same blocks; some rows of the first are copied."""
    for block in blocks:
        worked("Drawing and writing rows", block.num_rows, block.num_rows * _PER_ROW)
        if not kept:
            kept.append(block.take(np.arange(min(block.num_rows, _REPORTED))))
        yield block


def load(folder: str | Path, *, max_bytes: int | None = None) -> Release:
    """Read the release in a folder.

    Args:
        folder: The release folder.
        max_bytes: How many bytes each file, and the rows in memory, may take. The default suits
            releases of up to 8 GiB in memory, and refuses a small file that stands for far more.

    Raises:
        CheckFailed: Something in the folder was changed since it was released.
        ReleaseTooLarge: The folder needs more than `max_bytes`.
        BadInput: The folder holds no release that this version can read.
    """
    folder = Path(folder)
    _check_sizes(folder, max_bytes)
    failed = [check for check in verify(folder) if not check.passed]
    if failed:
        what = "; ".join(
            check.what + (f" ({check.note})" if check.note else "") for check in failed
        )
        msg = (
            f"{folder} is not as it was released. Failed: {what}. Ask the curator for a fresh copy."
        )
        raise CheckFailed(msg)
    certificate = read_certificate(folder)
    try:
        alone = COLUMNS in certificate.files
        described = (folder / (COLUMNS if alone else MODEL)).read_bytes()
        _check_lists(folder, described, max_bytes or 0)
        content = json.loads(described)
        # A release spells its code lists out; a stranger's file may name any other one.
        schema = schema_from_toml(content["schema"], folder=None)
        _check_codes(folder, schema, max(len(described), max_bytes or 0))
        notes = _notes(content["notes"])
        text = content.get("text")
        found = read_rows(
            folder,
            certificate.files,
            schema,
            text=text,
            max_bytes=max_bytes,
            delimiter=content.get("delimiter"),
            as_text=held_as_text(schema, certificate.public) if "delimiter" in content else {},
        )
        rows = StoredRows(found)
        model = RowsAlone(schema, rows.table) if alone else _model(content)
        encoding = Encoding(schema, hides=alone or content["format"] == _FORMAT)
        honest = (content["kind"] == RowsAlone.kind) == alone
        honest = honest and content["format"] in _FORMATS
        if not honest or not encoding.fits(model.domain):
            raise ValueError(MODEL)
        # Such rows are made of real ones, or such facts were.
        if (alone or revealed(schema)) and not certificate.not_private:
            raise ValueError(COLUMNS)
        independences = demanded.read(certificate.public)
        if not alone and independences:
            tied = len(cliques_of(model) or ()) + len(model.measurements)
            if len(independences) * len(model.domain.names) * tied > _MOST_TIES:
                raise ValueError(demanded.INDEPENDENCES)
            demanded.check_kept(Separation(independences), model)
    except CheckFailed:
        msg = (
            f"{folder} holds a model in which an independence that its certificate states need not "
            "hold. Ask the curator for a release that keeps it."
        )
        raise CheckFailed(msg) from None
    except ReleaseTooLarge:
        raise
    except (*DEFECTS, OSError, pa.ArrowException):
        msg = f"{folder} holds no release that this version can read."
        raise BadInput(msg) from None
    return Release(rows, certificate, schema, model, notes)


def _check_sizes(folder: Path, max_bytes: int | None) -> None:
    """Refuse files that are too large to be parsed, before any of them is read."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            usual = _LARGEST.get(path.name, _LARGEST_OTHER)
            limit = usual if max_bytes is None else max(usual, max_bytes)
            size = path.lstat().st_size  # a link is no file of a release, and is never read
            if size > limit:
                raise too_large(path, size, limit)


def _check_codes(folder: Path, schema: Schema, size: int) -> None:
    """Refuse a schema with far more columns or bins than the file that holds it has bytes."""
    bins = sum(column.bins or 0 for column in schema)
    if len(schema) > _MOST_COLUMNS or bins > max(_MOST_BINS, size):
        msg = (
            f"{folder} describes {len(schema):,} columns with {bins:,} bins, and holds no counts "
            f"of as many. Load up to {_MOST_COLUMNS:,} columns, and ask its sender for fewer bins."
        )
        raise ReleaseTooLarge(msg)


def _check_lists(folder: Path, described: bytes, most_bytes: int) -> None:
    """Refuse a model of so many lists that they need far more memory than its file has bytes."""
    lists = described.count(b"[") + described.count(b"{")
    if lists > max(_MOST_LISTS, most_bytes // _LIST_BYTES):
        msg = (
            f"{folder} holds a model of {lists:,} lists, and up to {_MOST_LISTS:,} are read. If "
            "you trust its sender, raise the limit in Python: understudy.load(folder, "
            f"max_bytes={lists * _LIST_BYTES:,})."
        )
        raise ReleaseTooLarge(msg)


def _notes(content: object) -> tuple[str, ...]:
    if not isinstance(content, list) or not all(isinstance(note, str) for note in content):
        raise TypeError(content)
    return tuple(content)


def _model(content: Mapping[str, Any]) -> Model:
    return _MODELS[content["kind"]].from_json(content["model"])


def _frame(table: pa.Table, schema: Schema) -> Any:  # noqa: ANN401 - pandas ships no types
    # Loaded here, because most commands never make a data frame.
    import pandas as pd  # noqa: PLC0415

    frame = table.to_pandas(date_as_object=False)
    whole = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    for name in table.column_names:
        # By the schema and not by the rows at hand: a column has one type however many are drawn.
        if schema[name].null is not False and table[name].type in whole:
            kind = whole[table[name].type]
            frame[name] = table[name].to_pandas(types_mapper=lambda _, kind=kind: kind)
    return frame
