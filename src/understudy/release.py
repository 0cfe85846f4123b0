"""A release: a synthetic table, the certificate of its promise, and the model it was drawn from.

Everything here is made from noisy answers and public facts, so all of it may be published.
"""

import html
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from understudy.encode import Encoding
from understudy.errors import BadInput, CheckFailed
from understudy.mechanisms.api import Model
from understudy.model.product import ProductModel
from understudy.privacy.certificate import Certificate
from understudy.privacy.facts import spelled_out
from understudy.privacy.folder import publish, read_certificate, verify
from understudy.privacy.spelling import DEFECTS, spelled_for_people
from understudy.schema import Schema
from understudy.schema_files import schema_from_toml

FORMATS = ("csv", "parquet")
MODEL = "model.json"
_FORMAT = "understudy model 1"
_MODELS = {ProductModel.kind: ProductModel}
_FORMULA = r"^[=+\-@\t\r]"
"""How a cell begins that a spreadsheet takes for a formula."""
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Release:
    """What may leave the building."""

    table: pa.Table
    """The synthetic rows."""
    certificate: Certificate
    schema: Schema
    """What the columns hold: declared facts, and those that were bought."""
    model: Model
    notes: tuple[str, ...] = ()
    """What a person should know before using it."""

    @property
    def data(self) -> Any:  # noqa: ANN401 - pandas ships no types
        """The synthetic rows as a pandas data frame."""
        return _frame(self.table, self.schema)

    def sample(self, rows: int | None = None, *, seed: int | None = None) -> Any:  # noqa: ANN401 - as above
        """More rows from the same model, as a data frame; drawing them costs no privacy."""
        rows = len(self.table) if rows is None else rows
        return _frame(drawn(self.model, self.schema, rows, seed), self.schema)

    def save(
        self,
        folder: str | Path,
        *,
        format: str = "csv",  # noqa: A002 - as the command line calls it
        formula_safe: bool = False,
        key: bytes | None = None,
    ) -> Path:
        """Write the release folder: whole, or not at all.

        `formula_safe` puts an apostrophe before text that a spreadsheet would take for a formula.
        A private Ed25519 key (PEM) signs the certificate.
        """
        folder = Path(folder)
        files = {
            f"synthetic.{format}": _spelled_table(self.table, format, formula_safe=formula_safe),
            MODEL: self._model_file(),
        }
        publish(folder, files, self.certificate, key=key)
        return folder

    def _model_file(self) -> bytes:
        content = {
            "format": _FORMAT,
            "kind": self.model.kind,
            "schema": spelled_out(self.schema),
            "notes": list(self.notes),
            "model": self.model.to_json(),
        }
        return spelled_for_people(content)

    def __repr__(self) -> str:
        shape = f"{self.table.num_rows:,} rows × {self.table.num_columns} columns"
        return f"Release({shape}; {self.certificate})"

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{html.escape(line)}</li>" for line in self.certificate.promise)
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        shape = f"{self.table.num_rows:,} rows × {self.table.num_columns} columns"
        head = _frame(self.table.slice(0, _SHOWN), self.schema).to_html(index=False, border=0)
        return (
            f"<div><strong>Release</strong>: {shape}<ul>{lines}</ul>"
            + (f"<p>Before you use it:</p><ul>{notes}</ul>" if notes else "")
            + f"{head}</div>"
        )


def drawn(model: Model, schema: Schema, rows: int, seed: int | None = None) -> pa.Table:
    """Synthetic rows from a model."""
    if type(rows) is not int or rows < 1:
        msg = f"{rows} rows cannot be drawn; ask for a whole number, at least 1."
        raise BadInput(msg)
    rng = np.random.default_rng(seed)
    return Encoding(schema).decode(model.sample(rows, rng), rng)


def load(folder: str | Path) -> Release:
    """The release in a folder; refused if anything in it was changed."""
    folder = Path(folder)
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
        content = json.loads((folder / MODEL).read_bytes())
        schema = schema_from_toml(content["schema"], folder=folder)
        model = _model(content)
        notes = tuple(content["notes"])
        table = _read_table(folder, certificate.files, schema)
    except (*DEFECTS, OSError, pa.ArrowException):
        msg = f"{folder} holds no release that this version can read."
        raise BadInput(msg) from None
    return Release(table, certificate, schema, model, notes)


def check_format(name: str) -> None:
    """Refuse a format that cannot be written."""
    if name not in FORMATS:
        msg = f"The format {name!r} is unknown; use {' or '.join(FORMATS)}."
        raise BadInput(msg)


def _model(content: Mapping[str, Any]) -> Model:
    if content["format"] != _FORMAT:
        raise ValueError(_FORMAT)
    return _MODELS[content["kind"]].from_json(content["model"])


def _spelled_table(table: pa.Table, name: str, *, formula_safe: bool) -> bytes:
    check_format(name)
    sink = io.BytesIO()
    if name == "parquet":
        # Loaded here, for most releases are text.
        import pyarrow.parquet as pq  # noqa: PLC0415

        pq.write_table(table, sink)
    else:
        safe = _without_formulas(table) if formula_safe else table
        csv.write_csv(safe, sink, csv.WriteOptions(quoting_style="needed"))
    return sink.getvalue()


def _read_table(folder: Path, files: Mapping[str, str], schema: Schema) -> pa.Table:
    encoding = Encoding(schema)
    types = {name: cells.arrow_type for name, cells in encoding.cells.items()}
    if "synthetic.parquet" in files:
        import pyarrow.parquet as pq  # noqa: PLC0415 - as above

        # Parquet knows no whole seconds.
        return pq.read_table(folder / "synthetic.parquet").cast(pa.schema(types.items()))
    # By the types of the schema, and by nothing that is guessed from cells.
    written = types | {_without_formula(name): kind for name, kind in types.items()}
    options = csv.ConvertOptions(column_types=written, strings_can_be_null=True, null_values=[""])
    parsing = csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    table = csv.read_csv(folder / "synthetic.csv", None, parsing, options)
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
