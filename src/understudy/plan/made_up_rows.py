"""Rows that nobody has: drawn from public facts alone, to rehearse what a release would ask."""

import datetime as dt
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from understudy.column import Column, Kind
from understudy.encode import Encoding
from understudy.errors import BadInput
from understudy.privacy.unit import Person, Unit
from understudy.schema import Schema

ASSUMED = 20
"""How many values a column is given, where nobody has said what it holds."""
_SEED = 0
"""No secret is in these rows: the same facts give the same ones."""
_DAY = dt.datetime(2000, 1, 1)  # noqa: DTZ001 - naive, as columns are


def made_up_rows(schema: Schema, count: int, unit: Unit) -> pa.Table:
    """So many rows in which every code is as likely as any other, and no column depends on another.

    Columns with open facts hold values that are assumed. No value is made up for a hidden code.

    >>> facts = Schema((Column(name="city", kind=Kind.UNKNOWN),))
    >>> from understudy.privacy.unit import Record
    >>> len(made_up_rows(facts, 5000, Record())["city"].unique())
    20
    """
    if not schema.coded:
        msg = "Every column of the schema is an id or dropped; there is nothing to plan."
        raise BadInput(msg)
    rng = np.random.default_rng(_SEED)
    encoding = Encoding(replace(schema, columns=tuple(_assumed(column) for column in schema)))
    codes = {
        one.name: rng.integers(
            0, one.size - (one.name in encoding.hidden), count, encoding.dtype(one.name)
        )
        for one in encoding.domain
    }
    coded = encoding.decode(codes, rng)
    # Whoever may have several rows has all of them: then each row counts.
    each = unit.rows if isinstance(unit, Person) else 1
    names = pa.array(np.arange(count) // each).cast(pa.string())
    return pa.table({c.name: coded[c.name] if c.coded else names for c in schema})


def made_up_file(table: pa.Table, schema: Schema, path: Path) -> None:
    """Write made-up rows as people write them: as CSV, dates in the format of their column."""
    for place, name in enumerate(table.column_names):
        written = schema[name].format
        if written is not None and pa.types.is_temporal(table[name].type):
            table = table.set_column(place, name, pc.strftime(table[name], written))
    csv.write_csv(table, path)


def _assumed(column: Column) -> Column:
    """The column with what its codes need; stated facts stay."""
    if not set(column.silent) - {"null"}:
        return column
    null = bool(column.null)
    if not column.kind.numeric:
        kind = column.kind if column.kind.listed else Kind.CATEGORICAL
        labels = tuple(f"value {place:02d}" for place in range(1, ASSUMED + 1))
        return replace(column, kind=kind, categories=labels, null=null)
    last = _DAY + dt.timedelta(days=ASSUMED - 1)
    bounds = {
        Kind.DATE: (_DAY.date(), last.date()),
        Kind.DATETIME: (_DAY, last),
    }.get(column.kind, (0, ASSUMED - 1))
    return replace(column, bounds=bounds, bins=column.bins or ASSUMED, null=null)
