"""The rows of a release: drawn from its model when somebody looks, or read from its file."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from understudy.encode import Encoding
from understudy.errors import BadInput
from understudy.mechanisms.api import Model
from understudy.model.visible import visible
from understudy.regenerate import with_new_values
from understudy.schema import Schema

MOST_ROWS = 10**6
"""No more rows than this are drawn unless somebody asks: noise may make a total absurd."""
MOST_SAVED = 10**8
"""No release is saved with more rows: they fit no machine's memory."""
ROWS_PER_BLOCK = 2**18
"""So many rows are drawn, decoded and written at a time."""


def entropy(seed: int | None) -> int:
    """Return the drawing seed: without one, another than anybody has drawn with before."""
    return np.random.SeedSequence(seed).entropy  # type: ignore[return-value]


class Rows(Protocol):
    """Synthetic rows, however many."""

    @property
    def count(self) -> int:
        """How many there are."""

    @property
    def table(self) -> pa.Table:
        """All of them at once."""

    def blocks(self) -> Iterator[pa.Table]:
        """All of them, a block at a time."""


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Rows at hand."""

    table: pa.Table

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.table.num_rows)

    def blocks(self) -> Iterator[pa.Table]:
        """All of them, a block at a time."""
        for start in range(0, self.count, ROWS_PER_BLOCK):
            yield self.table.slice(start, ROWS_PER_BLOCK)


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Rows that are drawn from a model whenever they are needed, the same ones each time."""

    model: Model
    schema: Schema
    count: int
    seed: int

    @classmethod
    def of(cls, model: Model, schema: Schema, count: int, seed: int | None) -> "DrawnRows":
        """So many rows; without a seed, others than anybody has drawn before."""
        if type(count) is not int or count < 1:
            msg = f"{count} rows cannot be drawn; ask for a whole number, at least 1."
            raise BadInput(msg)
        return cls(model, schema, count, entropy(seed))

    @cached_property
    def encoding(self) -> Encoding:
        """How the model's codes are decoded."""
        return encoding_of(self.model, self.schema)

    @cached_property
    def visible(self) -> Model:
        """The model of rows without hidden codes."""
        found: Model = visible(self.model, self.encoding.hidden)
        return found

    @cached_property
    def table(self) -> pa.Table:
        """All of them at once."""
        return pa.concat_tables(self._drawn()).combine_chunks()

    def blocks(self) -> Iterator[pa.Table]:
        """All of them, a block at a time."""
        return StoredRows(self.table).blocks() if "table" in vars(self) else self._drawn()

    def _drawn(self) -> Iterator[pa.Table]:
        rng, encoding = np.random.default_rng(self.seed), self.encoding
        for start in range(0, self.count, ROWS_PER_BLOCK):
            rows = min(ROWS_PER_BLOCK, self.count - start)
            codes = encoding.with_constants(self.visible.sample(rows, rng), rows)
            drawn = encoding.decode(codes, rng)
            yield with_new_values(drawn, self.schema, start, self.seed)


def encoding_of(model: Model, schema: Schema) -> Encoding:
    """Return the encoding that a model was fitted under; one of format 1 knows no hidden codes.

    Raises:
        BadInput: The model's columns are not those of the schema.
    """
    for encoding in (Encoding(schema), Encoding(schema, hides=False)):
        if encoding.fits(model.domain):
            return encoding
    msg = "The model draws other codes than the schema describes."
    raise BadInput(msg)
