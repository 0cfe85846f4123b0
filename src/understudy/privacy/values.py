"""Counting the values that occur in a column, one pass over the rows for all columns.

What comes out is exact and names values of single records: it stays in the private table, and the
ledger tells only those whose noisy count reaches a threshold.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.column import is_plain_text
from understudy.privacy.blocks import Block

LONGEST_VALUE = 200
"""Longer texts are nobody's category; they are not counted."""
_HELD = 2**20


@dataclass(frozen=True)
class ValueCounts:
    """The values of a column, each once, and how many rows hold each."""

    values: pa.Array = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)


def count_values(
    batches: Iterable[tuple[Block, pa.RecordBatch]],
    columns: Mapping[str, str],
    cells: Mapping[str, Sequence[int] | None],
) -> dict[str, ValueCounts]:
    """Values and counts of each column, by public name; where cells are named, only in these."""
    held: dict[str, list[pa.Table]] = {name: [] for name in columns}
    for block, batch in batches:
        for name, column in columns.items():
            wanted = cells[name]
            values = batch.column(column)
            if wanted is not None:
                values = values.filter(pa.array(np.isin(block[name], wanted)))
            held[name].append(_counted(values))
            if sum(map(len, held[name])) > _HELD:
                held[name] = [_joined(held[name])]
    return {name: _finished(tables) for name, tables in held.items()}


def _usable(counts: pa.Table) -> ValueCounts:
    """The values of a column `value` that can be categories or atoms, with their `amount`."""
    counts = counts.filter(pc.is_valid(counts["value"]))
    if pa.types.is_floating(counts.schema.field("value").type):
        value = pc.add(counts["value"], 0.0)  # one zero, not two
        counts = _joined([pa.table({"value": value, "amount": counts["amount"]})])
    values = counts["value"].combine_chunks()
    amounts = np.asarray(counts["amount"].combine_chunks().cast(pa.int64()), np.int64)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        short = pc.and_(
            pc.greater(pc.utf8_length(values), 0),
            pc.less_equal(pc.utf8_length(values), LONGEST_VALUE),
        )
        plain = np.asarray(short) & np.array([is_plain_text(v) for v in values.to_pylist()], bool)
        values, amounts = values.filter(pa.array(plain)), amounts[plain]
    return ValueCounts(values, amounts)


def _counted(column: pa.Array) -> pa.Table:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        # Free text is not even held: much of it would not fit.
        column = column.cast(pa.large_string())
        column = column.filter(pc.less_equal(pc.utf8_length(column), LONGEST_VALUE))
    found = pc.value_counts(column)
    return pa.table({"value": found.field("values"), "amount": found.field("counts")})


def _joined(tables: list[pa.Table]) -> pa.Table:
    whole = pa.concat_tables(tables).group_by("value").aggregate([("amount", "sum")])
    return whole.rename_columns(["value", "amount"])


def _finished(tables: list[pa.Table]) -> ValueCounts:
    if not tables:
        return ValueCounts(pa.array([], pa.string()), np.zeros(0, np.int64))
    return _usable(_joined(tables))
