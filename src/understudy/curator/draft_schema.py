"""A first draft of a schema, read off the rows, for a person to review.

Every fact in it rests on the private table and is marked so: `source = "data"`. Used as it is, it
leaves no promise. A person who knows that a fact is public (a code list, a legal age, a form's
own limits) replaces the draft's guess by it and says `source = "declared"`.
"""

import contextlib
import datetime as dt
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.column import LARGEST_INTEGER, Column, Kind, Role, Source, is_plain_text
from understudy.curator.draft_written import (
    leading_zeros,
    personal_role,
    precision,
    written_moments,
    written_numbers,
)
from understudy.encode.arrow_ops import ArrowOps, arrow_storage, plain_array, valid_text
from understudy.encode.moments import MomentPattern, is_moment, seconds_since_1970
from understudy.encode.numbers import NumberCells
from understudy.encode.ops import Storage, Value
from understudy.errors import SchemaError, SourceError
from understudy.identifiers import suggested_role
from understudy.schema import Schema
from understudy.schema_files import schema_to_toml

MOST_CATEGORIES = 100
"""A text column with more values is taken for names or free text, and left out."""
_FEW_NAMES = 20
"""More values than this, and most of them in one row only: names rather than categories."""
_FEW_VALUES = 64
_ATOM = 0.05
"""A value that more rows than this share has a cell of its own."""
_WRITTEN = ("decimal", "thousands", "prefix", "suffix", "decimals", "padded")
_DAY = 86400
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - columns are naive
_WORDS = ({"true", "false"}, {"yes", "no"}, {"t", "f"}, {"y", "n"})
_HEADER = """\
# A draft, read off the private table: INTERNAL, do not publish.
#
# Used as it is, a release made with it keeps no promise. Review each column:
#   - Is what it says public knowledge, whoever is in the table? Correct it until it is (a code
#     list, a legal age, the limits of a form), and set source = "declared".
#   - Should it be found out with noise instead? Delete its facts, and its source.
#   - Should it stay out? Set role = "drop".
#   - Does it identify people? Set role = "id", "email", "phone", "name" or "address", and
#     regenerate = true if the release shall hold invented values.
#   - Is it what readers will predict? Set role = "target".
# The bound on rows is for you to declare too: set source = "declared" under [rows].

"""


def draft(table: pa.Table) -> Schema:
    """What the rows say about each column."""
    columns = tuple(
        _named(_column(name, table[name].combine_chunks())) for name in table.column_names
    )
    bound = int(_outward(0, max(table.num_rows, 1))[1])
    return Schema(columns, rows_bound=bound, rows_source=Source.DATA)


def _named(column: Column) -> Column:
    """Return a column that stays out with the role that its name suggests, if any."""
    suggested = suggested_role(column.name) if column.role is Role.DROP else None
    return column if suggested is None else replace(column, role=suggested.role)


def draft_text(schema: Schema) -> str:
    """The draft as TOML, with what to do about it."""
    return _HEADER + schema_to_toml(schema)


def _column(name: str, cells: pa.Array) -> Column:
    try:
        storage = arrow_storage(name, cells.type)
    except SourceError:
        return _drafted(name, Kind.CATEGORICAL, role=Role.DROP)  # lists, bytes and the like
    cells = valid_text(plain_array(cells))
    if storage is Storage.BOOLEAN:
        return _drafted(name, Kind.BOOLEAN, null=cells.null_count > 0)
    if storage in {Storage.DATE, Storage.TIMESTAMP}:
        return _moments(name, ArrowOps().moment(cells, storage))
    if storage is Storage.TEXT:
        return _text(name, cells)
    return _numbers(name, ArrowOps().number(cells, storage))


def _text(name: str, cells: pa.Array) -> Column:  # noqa: PLR0911 - a list of cases
    """A column of text that may hold numbers, dates or truth values."""
    ops = ArrowOps()
    filled = ops.filled(cells)
    if not filled.any():
        return _drafted(name, Kind.CATEGORICAL, role=Role.DROP)
    if not leading_zeros(cells):
        numbers = written_numbers(name, cells)
        if numbers is not None:
            column, number = numbers
            return _numbers(name, number, column)
        number = ops.number(cells, Storage.TEXT)
        if ops.known(number)[filled].all():
            return _numbers(name, number)
    pattern = MomentPattern()
    dated = ops.matching(cells, pattern.regex)
    parts = ops.moment_parts(dated, pattern)
    exists = np.asarray(pc.is_valid(dated)) & np.asarray(is_moment(parts, ops))
    if exists[filled].all():
        return _moments(name, np.where(exists, seconds_since_1970(parts, ops), np.nan))
    moments = written_moments(cells)
    if moments is not None:
        template, seconds, day = moments
        return replace(_moments(name, seconds, day=day), format=template)
    values = {str(value).strip() for value in pc.unique(cells).to_pylist() if value is not None}
    usable = {value for value in values if value and is_plain_text(value)}
    null = not bool(filled.all())
    other = _other(usable) if values - usable - {""} else None
    values = usable
    if {value.lower() for value in values} in _WORDS:
        return _drafted(name, Kind.BOOLEAN, null=null, spelling=_spelling(values))
    names = len(values) > _FEW_NAMES and 2 * len(values) > len(cells)
    if not 1 <= len(values) <= MOST_CATEGORIES or names:
        role = personal_role(values) if values else None
        return _drafted(name, Kind.CATEGORICAL, role=role or Role.DROP)
    categories = tuple(sorted(values))
    return _drafted(name, Kind.CATEGORICAL, categories=categories, other=other, null=null)


def _other(taken: set[str]) -> str:
    """A label for text that can be no category."""
    return next(label for label in ("other", "other text", "__other__") if label not in taken)


def _spelling(values: set[str]) -> tuple[str, str] | None:
    """How no and yes are written; None where it is the usual way, or not always the same."""
    spelling = tuple(sorted(values, key=str.lower))
    usual = spelling == ("false", "true") or len(spelling) != 2  # noqa: PLR2004 - no and yes
    return None if usual else (spelling[0], spelling[1])


def _numbers(name: str, numbers: NDArray[np.float64], column: Column | None = None) -> Column:
    """A column of numbers, with the facts of `column` by which they are written."""
    kept = {} if column is None else {name: getattr(column, name) for name in _WRITTEN}
    known = numbers[~np.isnan(numbers)]
    if not known.size:
        return _drafted(name, Kind.REAL, role=Role.DROP)
    null = known.size < numbers.size
    whole = bool(np.all(known == np.floor(known)) and np.abs(known).max() < LARGEST_INTEGER / 4)
    values, counts = np.unique(known, return_counts=True)
    if whole and _FEW_VALUES < len(values) == numbers.size:
        return _drafted(name, Kind.INTEGER, role=Role.ID)  # every row another: a number for rows
    ends = float(values[0]), float(values[-1])
    shared = values[counts > _ATOM * numbers.size] if len(values) > _FEW_VALUES else ()
    kind, number = (Kind.INTEGER, int) if whole else (Kind.REAL, float)
    kept = {fact: value for fact, value in kept.items() if value is not None}
    if not whole:
        kept = precision(known) | kept
    elif not kept.get("padded"):
        kept.pop("decimals", None)
    rounder = [] if whole and len(values) <= _FEW_VALUES else [_outward(*ends)]
    for low, high in (*rounder, ends, _wider(*ends)):
        # Numbers that are very large, or very close, leave a double no room for rounder ones.
        with contextlib.suppress(SchemaError):
            bounds, atoms = (number(low), number(high)), tuple(number(value) for value in shared)
            facts = {"bounds": bounds, "atoms": atoms, "null": null, **kept}
            drafted = _drafted(name, kind, **facts)
            if low <= ends[0] and ends[1] <= high and NumberCells(drafted).size:
                return drafted
    return _drafted(name, kind, role=Role.DROP)


def _moments(name: str, seconds: NDArray[np.float64], *, day: bool | None = None) -> Column:
    known = seconds[~np.isnan(seconds)]
    if not known.size:
        return _drafted(name, Kind.DATE, role=Role.DROP)
    null = known.size < seconds.size
    first, last = (_EPOCH + dt.timedelta(seconds=float(end)) for end in (known.min(), known.max()))
    if np.all(known % _DAY == 0) if day is None else day:
        days = dt.date(first.year, 1, 1), dt.date(last.year, 12, 31)
        return _drafted(name, Kind.DATE, bounds=days, null=null)
    ends = (
        dt.datetime(first.year, 1, 1),  # noqa: DTZ001 - columns are naive
        dt.datetime(last.year, 12, 31, 23, 59, 59),  # noqa: DTZ001 - as above
    )
    return _drafted(name, Kind.DATETIME, bounds=ends, null=null)


def _outward(low: float, high: float) -> tuple[float, float]:
    """The ends, moved outward to rounder numbers.

    >>> _outward(17, 90)
    (10.0, 90.0)
    """
    span = high - low
    if not 0 < span < math.inf:
        return low, low + 1
    step = 10.0 ** math.floor(math.log10(span))
    return _rounded(math.floor(low / step) * step), _rounded(math.ceil(high / step) * step)


def _wider(low: float, high: float) -> tuple[float, float]:
    """The ends, moved outward so far that bins fit between them."""
    room = max(abs(low), abs(high)) / 1e6
    return low - room, high + room


def _rounded(number: float) -> float:
    return float(f"{number:.12g}")


def _drafted(name: str, kind: Kind, **facts: Value) -> Column:
    return Column(name=name, kind=kind, source=Source.DATA, **facts)
