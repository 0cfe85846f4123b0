"""What a table is read as, and whether a whole is read as the sum of its parts."""

import functools
import itertools
from collections import Counter
from dataclasses import dataclass, field
from unittest import mock

import numpy as np
import pyarrow as pa

from understudy.column import Kind
from understudy.encode import Encoding
from understudy.encode.ops import Storage
from understudy.errors import UnderstudyError
from understudy.privacy import csv_records, people
from understudy.privacy.csv_records import Record, decoded, parse_record
from understudy.privacy.table import PrivateTable
from understudy.privacy.weights import UNIT, RowWeights
from understudy.schema import Schema

KEYS = (12345, 7919)


@dataclass(frozen=True)
class Reading:
    """All that a private table says of its rows, or the refusal."""

    refusal: tuple[str, str] | None = None
    facts: tuple = ()
    """Public: storage, names, how the source is read."""
    codes: Counter = field(default_factory=Counter)
    """How often each tuple of codes occurs."""
    weighted: int = 0
    counts: dict = field(default_factory=dict)
    malformed: int = 0
    values: dict = field(default_factory=dict)

    @property
    def rows(self):
        return self.codes.total()


_MOST_COUNTED = 2**20


def read(  # noqa: PLR0913 - by name
    source, schema, *, shapes=False, person=None, weights=None, few=False, **how
):
    """Everything at once, or a few counts; with person caps, under one hash key for all."""
    try:
        with mock.patch.object(people, "_key", itertools.count(*KEYS).__next__):
            table = PrivateTable(source, schema, shapes=shapes, person=person, **how)
            return _read(table, weights, few=few)
    except UnderstudyError as refusal:
        return Reading(refusal=(type(refusal).__name__, str(refusal)))


def _read(private, weights, *, few):
    names = private.domain.names
    # Two columns of shapes have more cells together than are counted at once; their codes, row by
    # row, are compared below all the same.
    pair = [names[:2]] if private.domain.size(names[:2]) <= _MOST_COUNTED else []
    cliques = [(), *pair] if few else [(), *((name,) for name in names), *pair]
    codes = Counter()
    for block, _ in private.blocks():
        codes.update(zip(*(block[name].tolist() for name in names), strict=True))
    counts = dict(zip(cliques, private.count(cliques), strict=True))
    weighted = 0
    if weights is not None:
        (total,) = private.count([()], weights)
        weighted = int(total)
        assert weighted == sum(w.sum() for _, w in private.blocks(weights))
    stored = private.storage
    valued = {c.name: None for c in private.schema.coded if _has_values(c, stored[c.name])}
    found = private.values(valued) if valued and not few else {}
    storage = {name: kind.public for name, kind in stored.items()}
    return Reading(
        facts=(storage, names, dict(private._rows.reading), private.can_be_malformed),
        codes=codes,
        weighted=weighted,
        counts=counts,
        malformed=private.malformed() if private.can_be_malformed else 0,
        values={name: _counter(one) for name, one in found.items()},
    )


def _has_values(column, stored):
    """Whether discovery asks for the values of such a column."""
    if column.kind is Kind.UNKNOWN:
        return stored not in {Storage.DATE, Storage.TIMESTAMP}
    return column.kind.listed or column.kind in {Kind.INTEGER, Kind.REAL}


def _counter(found):
    counts = Counter()
    for value, amount in zip(found.values.to_pylist(), found.counts.tolist(), strict=True):
        assert value not in counts, "each value once"
        counts[value] = amount
    return counts


def check_sum(whole, *parts):
    """The whole is read as its parts are: the contract of reading."""
    for part in parts:
        assert whole.refusal == part.refusal
        if whole.refusal is None:
            assert whole.facts == part.facts
    if whole.refusal is not None:
        return
    together = sum((part.codes for part in parts), Counter())
    assert whole.codes == together, differing(whole.codes, together)
    assert whole.rows == sum(part.rows for part in parts)
    assert whole.malformed == sum(part.malformed for part in parts)
    assert whole.weighted == sum(part.weighted for part in parts)
    for clique, count in whole.counts.items():
        np.testing.assert_array_equal(count, sum(part.counts[clique] for part in parts))
    for name, counts in whole.values.items():
        together = sum((part.values[name] for part in parts), Counter())
        assert counts == together, (name, differing(counts, together))


def differing(found, expected):
    """What a message shows of two counters."""
    return {"too many": found - expected, "too few": expected - found}


def random_weights(rng, schema, *, shapes=False):
    """Weights by a few columns."""
    sizes = Encoding(schema, shapes).domain.sizes
    chosen = rng.sample(sorted(sizes), rng.randint(0, min(2, len(sizes))))
    tables = {name: [rng.randrange(9) for _ in range(sizes[name])] for name in chosen}
    thresholds = sorted(rng.sample(range(1, 16), rng.randint(0, 3)))
    return RowWeights.of(
        tables, thresholds, [rng.randint(0, UNIT) for _ in range(4)][: len(thresholds) + 1]
    )


# --- records of a CSV file, one by one ---------------------------------------------------------


def csv_records_alone(records, form, width):
    """What the grammar says of each record by itself; None is a blank line."""
    for record in records:
        text = "\n".join(decoded(line, form.encoding) for line in record.split(b"\n"))
        long = record if form.encoding == "utf-8" else text.encode()
        if len(long) > csv_records.LONGEST_RECORD:
            yield Record((None,) * width, malformed=True)
        else:
            yield parse_record(text.removesuffix("\r"), form.delimiter, width)


def csv_alone(records, form, schema, *, shapes=False):
    """Codes and malformed records, from every record by itself."""
    parsed = [r for r in csv_records_alone(records, form, len(schema)) if r is not None]
    places = [(place, column) for place, column in enumerate(schema) if column.coded]
    codes = Counter(
        tuple(code_of_cell(column, shapes, r.cells[place]) for place, column in places)
        for r in parsed
    )
    return codes, sum(record.malformed for record in parsed)


@functools.lru_cache(2**20)
def code_of_cell(column, shapes, text):
    """The code of one cell of text, by itself."""
    encoding = Encoding(Schema((column,)), shapes)
    return int(encoding.column_codes(column.name, pa.array([text], pa.string()))[0])
