"""Random public facts, and random cells that respect them or do not."""

import datetime as dt
import sqlite3
from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from understudy.column import Column, Kind, Role
from understudy.encode.ops import Storage
from understudy.schema import Schema

LETTERS = "abAB12.é ü'\"\\%_"
# Engines differ in which control characters they can store at all; none can lose these.
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=8)
NUMBER_LIKE = st.text("0123456789+-.eE_ \tinfa", max_size=12)
DATE_LIKE = st.text("0123456789-/.: TZ", max_size=20)
DATES = st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31))
MOMENTS = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31))  # noqa: DTZ001
FLOATS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1e308, -1e308, 5e-324, float("inf"), float("nan")]),
    st.integers(-50, 50).map(float),
)

DESCRIBED = [kind for kind in Kind if kind is not Kind.UNKNOWN]
"""An unknown column has no values to count or decode: discovery looks at its shapes."""

ARROW_TYPES = {
    Storage.TEXT: pa.string(),
    Storage.INTEGER: pa.int64(),
    Storage.FLOAT: pa.float64(),
    Storage.BOOLEAN: pa.bool_(),
    Storage.DATE: pa.date32(),
    Storage.TIMESTAMP: pa.timestamp("us"),
}


def storages(kind: Kind) -> list[Storage]:
    """How a column of this kind may be stored."""
    dated = [Storage.TEXT, Storage.DATE, Storage.TIMESTAMP]
    plain = [Storage.TEXT, Storage.INTEGER, Storage.FLOAT, Storage.BOOLEAN]
    return dated if kind in {Kind.DATE, Kind.DATETIME} else plain


def numbered(name: str, size: int, **facts) -> Column:
    """A column of so many codes: the whole number 0, 1, … is its own code; no code is hidden."""
    labels = tuple(map(str, range(size - 1)))
    kind = Kind.CATEGORICAL
    return Column(name=name, kind=kind, categories=labels, other="rest", null=False, **facts)


FORMATS = [
    *("%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%B %d, %Y", "%Y%m%d", "%Y-%m-%dT%H:%M:%S%z"),
    *("%d/%m/%Y %I:%M %p", "%d-%b-%Y %H:%M:%S", "%H:%M %Y/%m/%d %z"),
]
SPELLINGS = [("N", "Y"), ("nein", "ja"), ("1", "2"), ("não", "sim"), ("off", "OK"), ("-", "+")]
AFFIXES = st.sampled_from([None, None, "$", "€", "R$ ", " kr", "%", " (x)", "^*"])
STEPS = {Kind.INTEGER: [2, 5, 25, 1000], Kind.REAL: [0.5, 0.1, 2, 0.025, 1e-7, 1e5]}


@st.composite
def columns(
    draw, kind: Kind | None = None, name: str = "x", *, written: bool = True, precise: bool = True
) -> Column:
    """A column with every fact that an encoding needs; of an unknown kind only if asked for.

    Args:
        kind: What it holds; any by default.
        name: Its name.
        written: Whether it may say how values are written as text.
        precise: Whether it may say how precise numbers are.
    """
    column = draw(_plain_columns(kind, name))
    facts = {}
    if column.kind in STEPS and written and draw(st.booleans()):
        facts |= {"prefix": draw(AFFIXES), "suffix": draw(AFFIXES)}
        facts["decimal"] = draw(st.sampled_from([None, ".", ","]))
        marks = [None, " ", "'", "." if facts["decimal"] == "," else ","]
        facts["thousands"] = draw(st.sampled_from(marks))
    if column.kind in STEPS and precise and draw(st.booleans()):
        facts["decimals"] = draw(st.sampled_from([None, 0, 1, 2, 3, 8]))
        facts["padded"] = draw(st.booleans()) if written and facts["decimals"] else None
        facts["step"] = draw(st.sampled_from([None, *STEPS[column.kind]]))
    if column.kind in {Kind.DATE, Kind.DATETIME} and written and draw(st.booleans()):
        facts["format"] = draw(st.sampled_from(FORMATS))
    if column.kind is Kind.BOOLEAN and written and draw(st.booleans()):
        facts["spelling"] = draw(st.sampled_from(SPELLINGS))
    return replace(column, **facts)


def as_written(value, column: Column) -> str:
    """A value as an owner would write it, in Python's own words."""
    if isinstance(value, dt.date):
        if column.format is None:
            return str(value)
        clock = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
        return clock.replace(tzinfo=dt.UTC).strftime(column.format)
    if isinstance(value, bool):
        return str(value) if column.spelling is None else column.spelling[value]
    if not isinstance(value, int | float) or column.kind not in STEPS:
        return str(value)
    decimals = column.decimals if column.padded else None
    digits = f"{abs(value):,}" if decimals is None else f"{abs(value):,.{decimals}f}"
    marks = {",": column.thousands or "", ".": column.decimal or "."}
    text = "".join(marks.get(mark, mark) for mark in digits)
    sign = "-" if value < 0 else ""
    return sign + (column.prefix or "") + text + (column.suffix or "")


@st.composite
def _plain_columns(draw, kind: Kind | None, name: str) -> Column:
    kind = draw(st.sampled_from(DESCRIBED)) if kind is None else kind
    null = draw(st.sampled_from([True, False, None]))
    facts = {"name": name, "kind": kind, "null": null}
    if kind.listed:
        words = st.text(LETTERS, min_size=1, max_size=4).map(str.strip).filter(bool)
        labels = st.one_of(
            st.lists(words, min_size=1, max_size=6, unique=True),
            st.lists(st.integers(-9, 99), min_size=1, max_size=6, unique=True),
        )
        facts["categories"] = tuple(draw(labels))
        if isinstance(facts["categories"][0], str) and draw(st.booleans()):
            facts["other"] = "any other"
    elif kind.numeric:
        facts |= draw(_numbers(kind))
    return Column(**facts)


@st.composite
def _numbers(draw, kind: Kind) -> dict:
    values = {
        Kind.INTEGER: st.integers(-100, 300),
        Kind.REAL: st.floats(-100, 300).map(lambda x: round(x, 3)),
        Kind.DATE: st.dates(dt.date(1950, 1, 1), dt.date(2050, 1, 1)),
        Kind.DATETIME: st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(2050, 1, 1)).map(  # noqa: DTZ001
            lambda t: t.replace(microsecond=0)
        ),
    }[kind]
    ends = sorted(draw(st.lists(values, min_size=2, max_size=5, unique=True)))
    facts = {"bounds": (ends[0], ends[-1])}
    if draw(st.booleans()):
        facts = {"edges": tuple(ends)}
    elif draw(st.booleans()):
        facts["bins"] = draw(st.integers(1, 40))
    atoms = draw(st.lists(st.one_of(values, st.sampled_from(ends)), max_size=3, unique=True))
    return facts | {"atoms": tuple(atoms)}


def cells(column: Column, storage: Storage) -> st.SearchStrategy:
    """Cells that the column's facts expect, and cells that they do not."""
    usual = [*(column.categories or ()), *(column.bounds or ()), *(column.edges or ())]
    usual += list(column.atoms)
    near = st.sampled_from(usual) if usual else st.booleans()
    wild = {
        Storage.INTEGER: st.integers(-(2**63), 2**63 - 1) | st.integers(-120, 320),
        Storage.FLOAT: FLOATS | st.floats(-120, 320),
        Storage.BOOLEAN: st.booleans(),
        Storage.DATE: DATES,
        Storage.TIMESTAMP: MOMENTS,
        Storage.TEXT: TEXT | NUMBER_LIKE | DATE_LIKE | st.sampled_from(_ODD_TEXT),
    }[storage]
    if storage is not Storage.TEXT:
        return st.none() | wild | near.map(lambda value: _stored(value, storage))
    spelled = near.map(lambda value: as_written(value, column))
    if column.kind in STEPS:
        numbers = st.integers(-9999, 10**7) | st.floats(-1e4, 1e7).map(lambda x: round(x, 2))
        spelled = spelled | numbers.map(lambda value: as_written(value, column))
        marks = "".join(filter(None, (column.thousands, column.decimal, column.prefix)))
        wild = wild | st.text("0123456789-+,.e \xa0\u202f" + marks, max_size=12)
    if column.format is not None:
        spelled = spelled | MOMENTS.map(lambda value: as_written(value, column))
    if column.spelling is not None:
        spelled = spelled | st.sampled_from([True, False]).map(
            lambda value: as_written(value, column)
        )
    # Marks that are left out, doubled or in another case are typical faults.
    spoiled = st.tuples(spelled, st.integers(0, 30), st.sampled_from(_FAULTS)).map(_spoiled)
    return st.none() | wild | near.map(str) | spelled | spelled.map(str.upper) | spoiled


_FAULTS = ["", " ", "-", "+", ".", ",", "0", "\xa0", "e2", "Z", "+02:00", "12", "\N{KELVIN SIGN}"]


def _spoiled(parts) -> str:
    """A text with something else in place of one of its characters."""
    text, place, fault = parts
    return text[:place] + fault + text[place + 1 :]


_ODD_TEXT = ["", "  ", "\t", "TRUE", "no", "Y", "1.0", "nan", "inf", "1e5", "1_000", "5.", ".5"]
_ODD_TEXT += ["+5", "1e400", "9" * 80, "2020-02-30", "2020-02-29T10:00:00Z", "2020-1-1 7:05"]
_ODD_TEXT += [
    " a ",
    "any other",
    "null",
    "None",
    "+-5",
    "1e+150",
    "1E-005",
    "\x01",
    "\x7f",
    "a\xa0",
    "0x1F",
    "1,5",
    "١٢",
    "K",
    "\N{KELVIN SIGN}",
]


def _stored(value, storage: Storage):
    """The value as such a storage would hold it; None where it cannot."""
    if storage is Storage.FLOAT and isinstance(value, (int, float)):
        return float(value)
    if storage is Storage.INTEGER and isinstance(value, (int, float)):
        return int(value)
    if storage is Storage.BOOLEAN and isinstance(value, bool):
        return value
    if storage is Storage.DATE and isinstance(value, dt.date):
        return dt.date(value.year, value.month, value.day)
    if storage is Storage.TIMESTAMP and isinstance(value, dt.date):
        clock = value.time() if isinstance(value, dt.datetime) else dt.time()
        return dt.datetime.combine(value, clock)
    return None


@st.composite
def stored_columns(draw, kind: Kind | None = None, name: str = "x", rows: int | None = None):
    """A column and an Arrow array of its cells."""
    column = draw(columns(kind, name))
    storage = draw(st.sampled_from(storages(column.kind)))
    if storage is not Storage.TEXT:
        # SQLite has no dates: it reads the text of what others store as dates by the format.
        column = replace(column, format=None)
    size = {"max_size": 40} if rows is None else {"min_size": rows, "max_size": rows}
    values = draw(st.lists(cells(column, storage), **size))
    return column, pa.array(values, ARROW_TYPES[storage])


@st.composite
def stored_tables(draw, most_columns: int = 4, most_rows: int = 30):
    """A schema and an Arrow table, with an id column that repeats."""
    rows = draw(st.integers(0, most_rows))
    parts = [
        draw(stored_columns(name=f"col {place}", rows=rows))
        for place in range(draw(st.integers(1, most_columns)))
    ]
    ids = draw(st.lists(st.none() | st.integers(-3, 3), min_size=rows, max_size=rows))
    schema = Schema((*(c for c, _ in parts), Column(name="who", kind=Kind.INTEGER, role=Role.ID)))
    arrays = [*(array for _, array in parts), pa.array(ids, pa.int64())]
    return schema, pa.table(arrays, names=list(schema.names))


def load(engine, table: pa.Table, name: str):
    """Put a table into an engine and open it there."""
    engine.drop_table(name, force=True)
    if engine.name != "sqlite":
        return engine.create_table(name, table)
    # Ibis cannot insert missing dates into SQLite, so the rows go in by hand.
    kinds = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.bool_(): "BOOLEAN"}
    kinds |= {pa.date32(): "DATE", pa.timestamp("us"): "TIMESTAMP", pa.string(): "TEXT"}
    columns = ", ".join(f'"{field.name}" {kinds[field.type]}' for field in table.schema)
    engine.raw_sql(f'CREATE TABLE "{name}" ({columns})').close()
    marks = ", ".join("?" for _ in table.column_names)
    rows = [[_sqlite_cell(v) for v in row.values()] for row in table.to_pylist()]
    connection: sqlite3.Connection = engine.con
    connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
    return engine.table(name)


def _sqlite_cell(value):
    return (
        value.isoformat(" ")
        if isinstance(value, dt.datetime)
        else (value.isoformat() if isinstance(value, dt.date) else value)
    )


def score_by_hand(weights, row) -> int:
    """A row's score: what each table has for its codes."""
    return sum(
        int(np.reshape(table.scores, table.shape)[tuple(int(row[name]) for name in table.columns)])
        for table in weights.tables
    )


def brute_force(codes: dict[str, np.ndarray], clique, sizes, weights=None) -> np.ndarray:
    """The marginal, one row at a time."""
    counts = np.zeros(tuple(sizes[name] for name in clique), np.int64)
    rows = len(next(iter(codes.values())))
    for row in range(rows):
        amount = 1
        if weights is not None:
            score = score_by_hand(weights, {name: codes[name][row] for name in codes})
            amount = weights.weights[sum(score >= limit for limit in weights.thresholds)]
        counts[tuple(int(codes[name][row]) for name in clique)] += amount
    return counts
