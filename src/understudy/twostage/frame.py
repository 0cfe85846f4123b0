"""Rows as numbers and labels, and numbers and labels as rows."""

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.column import Column, Kind, Source
from understudy.schema import Schema

Numbers = NDArray[np.float64]
_LARGEST = 1e150
"""Numbers beyond, whose squares overflow, count as missing."""
_MOST_LABELS = 100
"""A model sees so many labels of a column, the most common ones."""
_BINS = 32
"""Of a number, in the pages of a release."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns of numbers, missing ones NaN, and columns of labels, missing ones None."""

    numbers: Mapping[str, Numbers]
    labels: Mapping[str, NDArray[np.object_]]

    @classmethod
    def of(cls, rows: pa.Table, schema: Schema) -> "Frame":
        """What a table holds; text that is all numbers is numbers, unless the schema says else."""
        numbers, labels = {}, {}
        for name in rows.column_names:
            found = _numbers(rows[name].combine_chunks(), schema[name])
            if found is None:
                labels[name] = _labels(rows[name])
            else:
                numbers[name] = found
        return cls(numbers, labels)

    @property
    def rows(self) -> int:
        """How many there are."""
        columns = [*self.numbers.values(), *self.labels.values()]
        return len(columns[0]) if columns else 0

    def matrix(self, names: Sequence[str]) -> Numbers:
        """Columns of numbers side by side; for a missing one, the column's median."""
        found = np.empty((self.rows, len(names)))
        for place, name in enumerate(names):
            column = self.numbers[name]
            known = column[np.isfinite(column)]
            found[:, place] = np.where(
                np.isfinite(column), column, np.median(known) if len(known) else 0.0
            )
        return found

    def indicators(self, names: Sequence[str], like: "Frame | None" = None) -> Numbers:
        """By row: for each label of each column, here or elsewhere, whether it is there."""
        parts = [np.zeros((self.rows, 0))]
        for name in names:
            column, known = self.labels[name], (like or self).common_labels(name)
            parts += [(column == label)[:, None] * 1.0 for label in known]
        return np.concatenate(parts, axis=1)

    def common_labels(self, name: str) -> list[str]:
        """The labels of a column that a model sees, in order."""
        common = Counter(label for label in self.labels[name] if label is not None)
        return sorted(label for label, _ in common.most_common(_MOST_LABELS))


def known_labels(column: NDArray[np.object_]) -> list[str]:
    """The labels of a column, in order."""
    return sorted({label for label in column if label is not None})


def table_of(frame: Frame, names: Sequence[str]) -> pa.Table:
    """The rows as a table: numbers are doubles, labels text."""
    columns = {}
    for name in names:
        if name in frame.numbers:
            columns[name] = pa.array(frame.numbers[name], pa.float64(), from_pandas=True)
        else:
            columns[name] = pa.array(frame.labels[name], pa.string())
    return pa.table(columns)


def facts_of(table: pa.Table, schema: Schema) -> Schema:
    """What the rows of a release show of its columns; each fact is marked as read off them."""
    columns = {}
    for name in table.column_names:
        column, values = schema[name], table[name].drop_null()
        null = table[name].null_count > 0
        common = {"name": name, "role": column.role, "source": Source.DATA, "null": null}
        if pa.types.is_floating(values.type):
            bounds = _bounds(values.to_numpy())
            columns[name] = Column(kind=Kind.REAL, bounds=bounds, bins=_BINS, **common)
        else:
            labels = tuple(sorted({str(one) for one in values.to_pylist()})) or ("none",)
            columns[name] = Column(kind=Kind.CATEGORICAL, categories=labels, **common)
    kept = tuple(columns.get(column.name, column) for column in schema)
    return Schema(kept, schema.rows_bound, schema.rows_source)


def _bounds(values: Numbers) -> tuple[float, float]:
    """What all values lie between, in round numbers."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    digits = 4 - int(np.floor(np.log10(max(high - low, abs(low) * 1e-9, 1e-300))))
    step = 10.0**-digits
    outer = float(np.floor(low / step) * step), float(np.ceil(high / step) * step)
    low, high = min(low, round(outer[0], digits)), max(high, round(outer[1], digits))
    return low, high if high > low else low + max(step, abs(low) * 1e-9)


def _numbers(values: pa.Array, column: Column) -> Numbers | None:
    """The values as numbers; None where they are labels."""
    if column.kind.listed or column.kind is Kind.BOOLEAN or pa.types.is_boolean(values.type):
        return None
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        text = pc.utf8_trim_whitespace(values)
        text = pc.if_else(pc.equal(text, ""), None, text)
        found = None
        with contextlib.suppress(pa.ArrowInvalid):
            found = pc.cast(text, pa.float64())
        if found is None and column.kind.numeric:
            found = pa.array([_number(one) for one in text.to_pylist()], pa.float64())
        return None if found is None or found.null_count == len(found) else _finite(found)
    with contextlib.suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _finite(pc.cast(values, pa.float64(), safe=False))
    return None


def _finite(values: pa.Array) -> Numbers:
    found = np.asarray(values.to_numpy(zero_copy_only=False), np.float64)
    return np.where(np.abs(found) <= _LARGEST, found, np.nan)


def _number(text: str | None) -> float | None:
    with contextlib.suppress(TypeError, ValueError):
        return float(text)  # type: ignore[arg-type]
    return None


def _labels(values: pa.ChunkedArray) -> NDArray[np.object_]:
    kept = pc.cast(values, pa.string()) if not pa.types.is_null(values.type) else values
    found = np.empty(len(values), object)
    found[:] = [None if one is None or not one.strip() else one.strip() for one in kept.to_pylist()]
    return found
