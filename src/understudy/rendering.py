"""Values as their owner wrote them: dates by their format, numbers with their marks, and back.

The rows of a release are typed. Text is made of them where they are written to a CSV file, and
where the source held the column as text outside a CSV file: there, a data frame gets text back.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.column import Column, Kind
from understudy.encode.arrow_ops import ArrowOps
from understudy.encode.moments import MomentPattern, is_moment, seconds_since_1970, utc_offset
from understudy.encode.multiples import stated_step
from understudy.encode.ops import Storage
from understudy.encode.written_numbers import read_number, writes_marks
from understudy.schema import Schema

_EXACT = 2**53
_MOST_DECIMALS = 12
_SMALL, _LARGE = 1e-4, 1e14
"""Beyond, numbers that are not written here may get an exponent."""
_LONGEST_NUMBER = 512
"""Characters of the largest double without an exponent, with all marks."""
_LONGEST_PART = 12
"""Characters of a part of a date at most: a month, an offset."""
_DAY = 86400
_UNREADABLE = "The file holds text that is not written as its schema says."


def is_text(column: Column) -> bool:
    """Whether only text can hold the column's values as they are written."""
    return column.format is not None or bool(column.padded) or writes_marks(column)


def written(schema: Schema) -> dict[str, Column]:
    """Return the columns whose values become text in a CSV file, by name."""
    return {
        column.name: column
        for column in schema.coded
        if column.kind.numeric and (is_text(column) or _may_need_exponent(column))
    }


def held_as_text(schema: Schema, public: Mapping[str, Any]) -> dict[str, Column]:
    """Return the columns whose values are text in a data frame and in Parquet, too.

    Args:
        schema: What the columns hold.
        public: The public facts of a certificate: how the source stored the columns.
    """
    reading, storage = public.get("reading"), public.get("storage")
    if not isinstance(reading, Mapping) or not isinstance(storage, Mapping):
        return {}
    if reading.get("source") in {None, "csv"}:
        return {}
    return {
        name: column
        for name, column in written(schema).items()
        if is_text(column) and storage.get(name) == str(Storage.TEXT)
    }


def rendered(table: pa.Table, columns: Mapping[str, Column]) -> pa.Table:
    """Return a typed table with some of its columns as text."""
    for name, column in columns.items():
        place = table.column_names.index(name)
        coded = table[name].combine_chunks().dictionary_encode()
        texts = _rendered(coded.dictionary, column)
        table = table.set_column(place, name, texts.take(coded.indices))
    return table


def restored(
    table: pa.Table, columns: Mapping[str, Column], types: Mapping[str, pa.DataType]
) -> pa.Table:
    """Return the typed table that `rendered` was given.

    Raises:
        ValueError: A text is none that `rendered` writes.
    """
    for name, column in columns.items():
        place = table.column_names.index(name)
        coded = table[name].combine_chunks().dictionary_encode()
        cells = _restored(coded.dictionary, column, types[name])
        table = table.set_column(place, name, cells.take(coded.indices))
    return table


def longest(column: Column) -> int:
    """Return how many characters a text of the column has at most."""
    if column.kind in {Kind.DATE, Kind.DATETIME}:
        return _LONGEST_PART * (len(column.format or "") + 1)
    return _LONGEST_NUMBER


def _may_need_exponent(column: Column) -> bool:
    """Whether numbers of known precision may be so large or small that they get an exponent."""
    step = stated_step(column)
    if column.kind is not Kind.REAL or step is None:
        return False
    values = [abs(float(one)) for one in (*(column.bounds or ()), *column.atoms)]
    return step < _SMALL or max(values, default=0.0) > _LARGE


def _rendered(cells: pa.Array, column: Column) -> pa.Array:
    if column.format is not None:
        template = column.format.replace("%z", utc_offset(column.format))
        # In seconds, for other types write a fraction of them.
        return pc.strftime(cells.cast(pa.timestamp("s")), format=template, locale="C")
    values = np.asarray(cells.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False))
    return pc.if_else(pc.is_valid(cells), _number_texts(values, column), None)


def _number_texts(values: NDArray[np.float64], column: Column) -> pa.Array:
    """Numbers with the marks of a column, as short as they can be read back exactly."""
    sizes = np.abs(values)
    decimals = _decimals(sizes) if column.decimals is None else column.decimals
    scale = 10**decimals
    units = np.rint(np.minimum(sizes * scale, _EXACT))
    exact = (units < _EXACT) & (units / scale == sizes)
    wholes, rests = np.divmod(np.where(exact, units, 0).astype(np.int64), scale)
    digits = _grouped(wholes, column.thousands)
    if decimals:
        fractions = pc.utf8_lpad(pa.array(rests).cast(pa.string()), decimals, padding="0")
        fractions = fractions if column.padded else pc.utf8_rtrim(fractions, "0")
        after = pc.binary_join_element_wise(column.decimal or ".", fractions, "")
        after = pc.if_else(pc.equal(fractions, ""), "", after)
        digits = pc.binary_join_element_wise(digits, after, "")
    if not exact.all():
        odd = [_longer(size, column) for size in sizes[~exact].tolist()]
        digits = pc.replace_with_mask(digits, pa.array(~exact), pa.array(odd, pa.string()))
    signs = pc.if_else(pa.array(values < 0), "-", "")
    return pc.binary_join_element_wise(signs, column.prefix or "", digits, column.suffix or "", "")


def _decimals(sizes: NDArray[np.float64]) -> int:
    """How many decimals numbers need, up to a limit."""
    for decimals in range(_MOST_DECIMALS):
        scaled = np.minimum(sizes * 10**decimals, _EXACT)
        if (np.rint(scaled) / 10**decimals == sizes).all():
            return decimals
    return _MOST_DECIMALS


def _grouped(wholes: NDArray[np.int64], mark: str | None) -> pa.Array:
    """Whole numbers with a mark between groups of three digits."""
    if mark is None or not (wholes >= 1000).any():  # noqa: PLR2004 - three digits
        return pa.array(wholes).cast(pa.string())
    higher, groups = np.divmod(wholes, 1000)
    last = pa.array(groups).cast(pa.string())
    full = pc.utf8_lpad(last, 3, padding="0")
    joined = pc.binary_join_element_wise(_grouped(higher, mark), full, mark)
    return pc.if_else(pa.array(higher > 0), joined, last)


def _longer(size: float, column: Column) -> str:
    """A number with more digits than its column states, which reads back exactly."""
    digits = f"{Decimal(repr(size)):,f}"
    marks = {",": column.thousands or "", ".": column.decimal or "."}
    return "".join(marks.get(mark, mark) for mark in digits)


def _restored(cells: pa.Array, column: Column, kind: pa.DataType) -> pa.Array:
    ops, missing = ArrowOps(), np.asarray(pc.is_null(cells))
    if column.format is not None:
        pattern = MomentPattern(column.format)
        parts = ops.moment_parts(cells, pattern)
        numbers = np.asarray(seconds_since_1970(parts, ops), np.float64)
        known = np.asarray(is_moment(parts, ops))
        numbers = np.floor(numbers / _DAY) if column.kind is Kind.DATE else numbers
    else:
        numbers = read_number(cells, Storage.TEXT, column, ops)
        known = ops.known(numbers)
    whole = column.kind is not Kind.REAL
    if not (known | missing).all() or (whole and (np.floor(numbers) != numbers)[~missing].any()):
        raise ValueError(_UNREADABLE)
    numbers = np.where(missing, 0, numbers)
    if column.kind is Kind.REAL:
        return pa.array(numbers, mask=missing)
    integers = pa.array(numbers.astype(np.int64), mask=missing)
    return integers.cast(pa.int32()).cast(kind) if column.kind is Kind.DATE else integers.cast(kind)
