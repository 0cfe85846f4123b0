"""Random private tables, odd ones above all: sources, schemas, requests and neighbours.

A table is a list of rows of plain cells; what a source makes of them comes after, so that two
neighbours differ in one record (or one person) and in nothing that is public. Everything is drawn
from one seed.
"""

import csv
import datetime as dt
import io
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from understudy.column import Column, Kind, Role, Source
from understudy.curator.draft_schema import draft
from understudy.curator.source import read_rows
from understudy.schema import Schema
from understudy.schema_files import write_schema

SECRET = "zqxj-93751-secret"  # noqa: S105 - a private cell
SECRET_MARKS = ("zqxj", "93751", "1937-05-17")
"""What no message may contain: a private text, a private number and a private date."""
_DAY = dt.date(1937, 5, 17)
_NOON = dt.datetime(1937, 5, 17, 12)  # noqa: DTZ001 - columns are naive
_SEVERAL = 5

Row = tuple[Any, ...] | bytes
"""Cells in the order of the columns; bytes are a line of a CSV file as it stands."""


@dataclass(frozen=True)
class Shelf:
    """A way to store cells, with cells that are usual for it and cells that are odd."""

    name: str
    arrow: pa.DataType | None
    pools: tuple[tuple[Any, ...], ...]
    odd: tuple[Any, ...]


_TEXTS = (
    ("a", "b", "c"),
    ("red", "green", " blue "),
    ("1", "2", "3"),
    ("1.5", "2.25", "1e3", "-0.5"),
    ("1", "2.5", "x", "2020-01-01"),
    ("2020-01-01", "2021-05-06", "1999-12-31"),
    ("2020-01-01 10:00:00", "2021-02-03T04:05:06Z"),
    ("yes", "no"),
    ("TRUE", "false", "T"),
    ("=1+1", "@cmd|x", "-2+3", "+x", "\tx"),
    ("other", "other values", "none of these", "__other__"),
    ('say "hi"', "it's", "a,b;c|d", "line\nbreak", "two\r\nlines"),
    ("straße", "İ", "é", "e\u0301", "日本"),
    ("NA", "null", "None", "nan", "-"),
    ("1e5", "1E-5", "-0", "+7", ".5", "5."),
    ("\x01", "\x7f", "\u2028", "\x85", "\ufeffx"),
    ("A", "a", "ª"),
    ("a" * 150, "a" * 250),
)
_ODD_TEXTS = (
    *("", " ", "\0", "a\0b", "\ud800", "x\udfff", "9" * 80, "a" * 300, "é" * 5000, "\ufffd"),
    *("1e308", "-1e308", "1e-320", "1e400", "inf", "-nan", "1_000", "0x1F", "١٢", "9" * 30),
    *("9999-12-31", "0001-01-01", "10000-01-01", "2020-02-30", "0000-00-00", "2020-01-01T25:00"),
    *(
        "2262-04-12T00:00:00",
        "'; DROP TABLE rows; --",
        '"',
        "\\",
        "\u202e",
        "🦊",
        "{0}",
        "%s",
        "$1",
    ),
    *(SECRET, "93751.25", "1937-05-17"),
)
_TEXT = Shelf("text", pa.string(), _TEXTS, _ODD_TEXTS)
_FLOAT = Shelf(
    "float",
    pa.float64(),
    (
        (1.0, 2.0, 3.0),
        (0.5, 1.25, 2.75),
        (0.0, 0.0, 100.5),
        (-1e-9, 2e-9),
        (1e17, 3e17),
        (-7.5, 7.0),
        (-1e300, 1e300),
    ),
    (np.nan, np.inf, -np.inf, -0.0, 1e308, -1e308, 5e-324, 2.0**52 + 1, 2.0**63, 1e-40, 93751.25),
)
_INTEGER = Shelf(
    "integer",
    pa.int64(),
    (
        (0, 1),
        (1, 2, 3),
        (2019, 2020, 2021),
        (-(10**6), 10**6),
        (10**15, 10**15 + 7),
        (-(2**62), 2**62),
    ),
    (2**63 - 1, -(2**63), 2**52, 2**52 + 1, -(2**53), 0, 93751),
)
_DATE = Shelf(
    "date",
    pa.date32(),
    ((dt.date(2020, 1, 1), dt.date(2020, 2, 29)), (dt.date(1969, 12, 31), dt.date(1850, 1, 1))),
    (dt.date.min, dt.date.max, dt.date(1900, 1, 1), _DAY),
)
_TIMES = (
    (dt.datetime(2020, 1, 1, 10), dt.datetime(2021, 5, 6, 7, 8, 9)),  # noqa: DTZ001 - naive
    (dt.datetime(2020, 1, 1), dt.datetime(1969, 12, 31)),  # noqa: DTZ001 - naive
)
_ODD_TIMES = (dt.datetime.min, dt.datetime.max, _NOON)  # noqa: DTZ901 - naive
_SMALL = (dt.datetime(1970, 1, 1, 0, 0, 0, 1), dt.datetime(2262, 4, 11), _NOON)  # noqa: DTZ001
SHELVES = {
    shelf.name: shelf
    for shelf in (
        _TEXT,
        _FLOAT,
        _INTEGER,
        _DATE,
        Shelf("large text", pa.large_string(), _TEXTS, _ODD_TEXTS),
        Shelf("dictionary", pa.dictionary(pa.int32(), pa.string()), _TEXTS, _ODD_TEXTS[5:]),
        Shelf("short", pa.int8(), ((0, 1, 2),), (-128, 127)),
        Shelf("unsigned", pa.uint64(), ((5, 6), (2**40, 7)), (2**64 - 1, 2**63, 93751)),
        Shelf("single", pa.float32(), _FLOAT.pools[:3], _FLOAT.odd),
        Shelf("boolean", pa.bool_(), ((True, False), (True,)), (True, False)),
        Shelf("timestamp", pa.timestamp("us"), _TIMES, _ODD_TIMES),
        Shelf("seconds", pa.timestamp("s"), _TIMES, (*_ODD_TIMES[:1], _NOON)),
        Shelf("nanoseconds", pa.timestamp("ns"), _TIMES, _SMALL),
        Shelf("zoned", pa.timestamp("us", "Asia/Tokyo"), _TIMES, _SMALL),
        Shelf(
            "decimal",
            pa.decimal128(18, 4),
            ((Decimal("1.10"), Decimal(2)), (Decimal(7), Decimal(8))),
            (Decimal("93751.25"), Decimal("99999999999999.9999"), Decimal("-0.0001")),
        ),
        Shelf("nothing", pa.null(), ((None,),), (None,)),
    )
}
_MIXED = Shelf(
    "mixed",
    None,
    ((1, "a", 2.5), (1, 2, 3), ("x", "y"), (True, False), (_DAY, "x"), (_DAY,)),
    (
        *(
            None,
            np.nan,
            pd.NA,
            pd.NaT,
            np.inf,
            10**400,
            b"\xff",
            "\ud800",
            "a\0b",
            SECRET,
            93751.25,
        ),
        *([1, 2], {"k": SECRET}, {1}, Decimal("NaN"), 1j, np.float32(1), np.int64(3), object),
    ),
)
_UNUSABLE = (
    pa.array([[93751], None], pa.list_(pa.int64())),
    pa.array([{"k": SECRET}, None], pa.struct([("k", pa.string())])),
    pa.array([SECRET.encode(), None], pa.binary()),
    pa.array([dt.time(1, 2), None], pa.time64("us")),
    pa.array([dt.timedelta(1), None], pa.duration("us")),
)


class _Unprintable:
    """A cell that raises when it is looked at, and says something private."""

    def __str__(self) -> str:
        raise RuntimeError(SECRET)

    __repr__ = __str__
    __hash__ = object.__hash__


@dataclass(frozen=True)
class ColumnPlan:
    """A column: its public name and storage, and how its cells are drawn."""

    name: Any
    shelf: Shelf
    pool: tuple[Any, ...]
    odd: float
    missing: float
    dtype: str = ""
    """What pandas or polars make of it."""
    unusable: int | None = None

    def cell(self, rng: np.random.Generator) -> Any:
        """One cell."""
        lot = rng.random()
        if lot < self.missing:
            return None
        if lot < self.missing + self.odd:
            return self.odd_cell(rng)
        return self.pool[rng.integers(len(self.pool))]

    def odd_cell(self, rng: np.random.Generator) -> Any:
        """A cell that nobody expects."""
        if self.shelf is _MIXED and rng.random() < 0.1:
            return _Unprintable()
        return self.shelf.odd[rng.integers(len(self.shelf.odd))]


@dataclass(frozen=True)
class Case:
    """A private table, a neighbour of it, and what is asked: the same for both."""

    seed: int
    source: str
    columns: tuple[ColumnPlan, ...]
    rows: list[Row]
    neighbour: list[Row]
    schema: str
    facts: tuple[dict[str, Any], ...] | None
    request: dict[str, Any]
    unit_rows: int = 1
    """How many rows of one table the other may lack."""
    real_noise: bool = False
    shaken: bool = False
    """Whether noisy counts are dealt out to other cells, as other rows would have them."""
    save: dict[str, Any] = field(default_factory=dict)

    @property
    def multiline(self) -> bool:
        """Whether a CSV file is read as multiline, which needs balanced quotes in every record."""
        raw = any(isinstance(row, bytes) for row in (*self.rows, *self.neighbour))
        return self.source == "csv" and not raw and self.seed % 3 > 0

    def __str__(self) -> str:
        columns = ", ".join(f"{p.name!r:.40}: {p.shelf.name} {p.dtype}" for p in self.columns)
        return (
            f"seed {self.seed}: {self.source}, {len(self.rows)} rows of ({columns}), "
            f"schema {self.schema}, {self.request}"
        )


# --- drawing a case ---------------------------------------------------------------------------

_NAMES: tuple[Any, ...] = (
    *("x", "X", "y", "age", "Größe", "日本", "🦊", " padded ", "a b", "", "x" * 3000, "__other__"),
    *(
        'a"b',
        "it's",
        "a;b",
        "a,b",
        "a\nb",
        "a\tb",
        "=1+1",
        "-x",
        "'-x",
        "{0}",
        "%s",
        "?",
        "$1",
        "a.b",
        "[x]",
    ),
    *("select", "rows", "c0", "c1", "code0", "value0", "amount", "cell", "person", "rank", "place"),
    *("rowid", "other", "x\0y", "\ud800", "x; DROP TABLE rows; --", "\\", "\x7f", "\u2028", "nan"),
)
_PLAIN_NAMES = tuple(n for n in _NAMES if n.isprintable() and 0 < len(n) < 100)
_PANDAS_NAMES = (1, 1.5, None, np.nan, ("a", "b"), dt.date(2020, 1, 1), True)
_SOURCES = {
    "pandas": 0.26,
    "arrow": 0.24,
    "polars": 0.13,
    "csv": 0.2,
    "parquet": 0.09,
    "duckdb": 0.04,
    "sqlite": 0.04,
}
_SQL = ("duckdb", "sqlite")
_MODES = ("none", "full", "partly", "drafted", "wrong")
_USUAL_MODES = (0.42, 0.25, 0.2, 0.06, 0.07)
_ON_ENGINES_MODES = (0.04, 0.84, 0.06, 0.0, 0.06)
_ENCODINGS = ("latin-1", "cp1252", "utf-16", "utf-16-le", "cp037", "no such")
_ON_ENGINES = ("text", "float", "integer", "boolean", "date", "timestamp")
_RAW_LINES = (
    *(b"a", b"a,b,c,d,e,f,g,h", b'a"b,c', b"\xff\xfe,1", b"1,\xe9", b",", b",,,,,,", b'"a"b,c'),
    *(b" ", b"\x00,1", b'"zqxj-93751-secret" ,"a"', b"zqxj-93751-secret\xff,1,2,3"),
)
_BROKEN_HEADERS = (b"", b'"x', b"x,x", b"\xff\xfe", b"x,,", b"x;y|z\tw", b"\x00,x")
_LAST_LINE = b'"zqxj-93751-secret,1'
"""A quote that nobody closes takes all lines after it; so it may only come last."""


def case(seed: int) -> Case:
    """The case with this number."""
    rng = np.random.default_rng([20260801, seed])
    source = _one_of(rng, tuple(_SOURCES), tuple(_SOURCES.values()))
    mode = _one_of(rng, _MODES, _ON_ENGINES_MODES if source in _SQL else _USUAL_MODES)
    # On engines of others, finding out takes seconds for each column.
    plans = _columns(rng, source, 1 if source in _SQL and mode in {"none", "partly"} else 4)
    request = _request(rng, plans)
    place = None
    if "unit" not in request and rng.random() < 0.15:
        plans, place = _with_person(rng, plans, request)
    rows: list[Row] = [tuple(p.cell(rng) for p in plans) for _ in range(_row_count(rng))]
    raw = source == "csv" and place is None and rng.random() < 0.4
    for _ in range(len(rows) // 10 + 1 if raw and rows else 0):
        rows[rng.integers(len(rows))] = _RAW_LINES[rng.integers(len(_RAW_LINES))]
    unit = request.get("unit")
    neighbour = _neighbour(rng, rows, plans, place, replacing=unit == "replace", raw=raw)
    return Case(
        seed,
        source,
        plans,
        rows,
        neighbour,
        mode,
        _facts(rng, plans, mode, place),
        request,
        unit_rows=_unit_rows(unit),
        real_noise=bool(rng.random() < 0.15),
        shaken=bool(rng.random() < 0.15),
        save={
            "format": _mostly(rng, "csv", ("parquet",), 0.6),
            "raw_text": bool(rng.random() < 0.2),
        },
    )


def _one_of(rng: np.random.Generator, choices: tuple[Any, ...], chances: Any = None) -> Any:
    return choices[rng.choice(len(choices), p=chances)]


def _mostly(rng: np.random.Generator, usual: Any, others: tuple[Any, ...], chance: float) -> Any:
    return usual if rng.random() < chance else _one_of(rng, others)


def _row_count(rng: np.random.Generator) -> int:
    lot = rng.random()
    if lot < 0.15:
        return int(rng.integers(3))
    return 500 if lot > 0.95 else int(rng.integers(3, 61))


def _columns(rng: np.random.Generator, source: str, most: int) -> tuple[ColumnPlan, ...]:
    count = min(most, int(rng.integers(1, 4)) if rng.random() < 0.9 else 4)
    pool = _PLAIN_NAMES if source in _SQL else _NAMES
    if source == "pandas" and rng.random() < 0.15:
        pool = (*_PANDAS_NAMES, "x", "y", "1")
    names = [pool[k] for k in rng.choice(len(pool), count, replace=False)]
    if rng.random() < 0.7:
        names = ["x", "y", "z", "w"][:count]
    elif source in _SQL:
        # These do not tell upper from lower case.
        names = list({str(name).lower(): name for name in names}.values())
    elif rng.random() < 0.08:
        names[-1] = names[0]
    return tuple(_column(rng, name, source) for name in names)


def _column(rng: np.random.Generator, name: Any, source: str) -> ColumnPlan:
    shelf = SHELVES[_one_of(rng, tuple(SHELVES))]
    if rng.random() < 0.4:
        shelf = _TEXT if rng.random() < 0.6 else _FLOAT
    dtype = ""
    if source == "csv":
        shelf = _TEXT if rng.random() < 0.7 else shelf
    elif source in _SQL:
        shelf = SHELVES[_one_of(rng, _ON_ENGINES)]
    elif source == "pandas":
        shelf = _MIXED if rng.random() < 0.25 else shelf
        dtype = _one_of(rng, ("arrow", "numpy", "object", "category"))
    elif source == "polars":
        dtype = _one_of(rng, ("plain", "lazy"))
    pool = shelf.pools[rng.integers(len(shelf.pools))]
    if rng.random() < 0.15:
        pool = pool[:1]
    elif rng.random() < 0.1 and (shelf is _TEXT or shelf is _FLOAT):
        # About as many values as rows.
        pool = tuple(f"id {k}" if shelf is _TEXT else k / 7 for k in range(600))
    usable = source in {"csv", *_SQL} or rng.random() > 0.03
    return ColumnPlan(
        name,
        shelf,
        pool,
        odd=_one_of(rng, (0.0, 0.0, 0.05, 0.3, 1.0), (0.35, 0.15, 0.3, 0.15, 0.05)),
        missing=_one_of(rng, (0.0, 0.1, 0.5, 1.0), (0.6, 0.25, 0.1, 0.05)),
        dtype=dtype,
        unusable=None if usable else int(rng.integers(len(_UNUSABLE))),
    )


_EPSILONS = {1e3: 0.5, 30: 0.2, 1.0: 0.15, 0.1: 0.1, 1e-3: 0.05}
_DELTAS = {1e-9: 0.7, 1e-12: 0.1, 1e-3: 0.15, 0.5: 0.05}
_UNUSUAL: tuple[tuple[float, str, tuple[Any, ...]], ...] = (
    (0.06, "epsilon", (1e-9, 0, -1, np.inf, np.nan, True, "1", 10**400, np.float32(1))),
    (0.04, "delta", (0, 1, np.nan, -1e-9, 1e-300, 1 - 1e-16, "x", None)),
    (0.04, "rows", (0, -3, True, 2.5, "7")),
    (0.06, "discovery_share", (0.5, 0.999999, 1e-9, 1e-300, 1e-3)),
    (0.03, "discovery_share", (0, 1, -1, np.nan, "x")),
    (0.05, "target", ("absent", "", "X")),
    (0.15, "unit", ("replace",)),
    (0.02, "unit", ("house", "person:absent:2", "person:x:0", "person:x:x", "")),
    (0.1, "strict", (True,)),
    (0.02, "mechanism", ("no such",)),
)
"""How often, and what, somebody asks that is not usual; much of it is refused."""


def _request(rng: np.random.Generator, plans: tuple[ColumnPlan, ...]) -> dict[str, Any]:
    """What `synthesize` is asked: mostly something sensible."""
    request = {
        "epsilon": _one_of(rng, tuple(_EPSILONS), tuple(_EPSILONS.values())),
        "delta": _one_of(rng, tuple(_DELTAS), tuple(_DELTAS.values())),
        "rows": _mostly(rng, 7, (None, None, None, 1, 250), 0.5),
        "seed": int(rng.integers(100)),
        "text_encoding": _mostly(rng, "utf-8", _ENCODINGS, 0.8),
        # Much ε, so that little is noise; weak guarantees have tests of their own.
        "accept_weak_guarantee": True,
    }
    if rng.random() < 0.4:
        request["target"] = str(plans[0].name)
    for chance, name, choices in _UNUSUAL:
        if rng.random() < chance:
            request[name] = _one_of(rng, choices)
    if request["rows"] is None and request["epsilon"] in {1e-3, 1e-9} and rng.random() < 0.9:
        request["rows"] = 250  # noise would make it a million
    return request


def _with_person(
    rng: np.random.Generator, plans: tuple[ColumnPlan, ...], request: dict[str, Any]
) -> tuple[tuple[ColumnPlan, ...], int]:
    """One more column, which tells whose row it is, and its place."""
    shelf = SHELVES[_one_of(rng, ("text", "integer", "float"))]
    pool = {"text": ("p1", "p2", " p1", "3", "4"), "integer": (1, 2, 3), "float": (1.0, 2.5)}
    missing = 0.2 if rng.random() < 0.5 else 0.0
    who = ColumnPlan("who", shelf, pool[shelf.name], odd=0.1, missing=missing, dtype="arrow")
    request["unit"] = f"person:who:{rng.integers(1, 4)}"
    place = int(rng.integers(len(plans) + 1))
    return (*plans[:place], who, *plans[place:]), place


def _unit_rows(unit: str | None) -> int:
    if unit is None or not unit.startswith("person:"):
        return 1
    cap = unit.rpartition(":")[2]
    return int(cap) if cap.isdecimal() else 1


# --- neighbours -------------------------------------------------------------------------------


def _neighbour(  # noqa: PLR0913 - the last two by name
    rng: np.random.Generator,
    rows: list[Row],
    plans: tuple[ColumnPlan, ...],
    person: int | None,
    *,
    replacing: bool,
    raw: bool,
) -> list[Row]:
    """The table with one record (or one person) more, less, or replaced."""
    if person is not None:
        return _other_person(rng, rows, plans, person)
    rows, place = list(rows), int(rng.integers(len(rows))) if rows else 0
    if replacing:
        if rows:
            rows[place] = _odd_record(rng, plans, raw=raw, last=False)
        return rows
    if rows and rng.random() < 0.4:
        del rows[place]
    else:
        rows.append(_odd_record(rng, plans, raw=raw, last=True))
    return rows


def _odd_record(
    rng: np.random.Generator, plans: tuple[ColumnPlan, ...], *, raw: bool, last: bool
) -> Row:
    if raw and rng.random() < 0.6:
        lines = (*_RAW_LINES, _LAST_LINE) if last else _RAW_LINES
        return lines[rng.integers(len(lines))]
    return tuple(
        plan.odd_cell(rng) if rng.random() < 0.8 else _one_of(rng, (None, plan.cell(rng)))
        for plan in plans
    )


def _other_person(
    rng: np.random.Generator, rows: list[Row], plans: tuple[ColumnPlan, ...], place: int
) -> list[Row]:
    """All rows of one person gone, or many odd rows of somebody new; or of nobody."""
    lot = rng.random()
    ids = [row[place] for row in rows]
    if ids and lot < 0.4:
        gone = ids[rng.integers(len(ids))]
        same = _spellings(gone)
        return [row for row, who in zip(rows, ids, strict=True) if _spellings(who) != same]
    who = {"text": "somebody new", "integer": 77, "float": 77.5}[plans[place].shelf.name]
    who = None if lot > 0.9 else who
    new = []
    for _ in range(int(rng.integers(1, 6))):
        cells = list(_odd_record(rng, plans, raw=False, last=False))
        cells[place] = who
        new.append(tuple(cells))
    return rows + new


def _spellings(who: Any) -> Any:
    """What makes two ids the same: blanks around text do not count, nor does a zero's sign."""
    if isinstance(who, str):
        return who.strip(" \t\n\r\v\f")
    if isinstance(who, float) and not np.isfinite(who):
        return None
    return who


# --- schemas ----------------------------------------------------------------------------------


def _facts(
    rng: np.random.Generator, plans: tuple[ColumnPlan, ...], mode: str, person: int | None
) -> tuple[dict[str, Any], ...] | None:
    """The facts of each column, as a person might state them; some states contradict."""
    if mode in {"none", "drafted"}:
        return None
    columns = []
    for place, plan in enumerate(plans):
        facts = _declared(rng, plan)
        if mode == "wrong" and rng.random() < 0.6:
            facts = _declared(rng, replace(plan, shelf=SHELVES[_one_of(rng, tuple(SHELVES))]))
        if mode == "partly":
            facts = _partly(rng, facts)
        if plan.unusable is not None and rng.random() < 0.5:
            facts["role"] = Role.DROP
        if place == person:
            facts = {"kind": Kind.CATEGORICAL, "role": Role.ID}
        columns.append({"name": str(plan.name), **facts})
    if mode == "wrong" and rng.random() < 0.3:
        columns = columns[1:] or [{"name": "absent", "kind": Kind.BOOLEAN, "null": True}]
    return tuple(columns)


def _declared(rng: np.random.Generator, plan: ColumnPlan) -> dict[str, Any]:
    """All facts of a column that fit its storage, if not always its cells."""
    null = bool(rng.random() < 0.6)
    name = plan.shelf.name
    if name in {"date", "timestamp", "seconds", "nanoseconds", "zoned"}:
        kind = _one_of(rng, (Kind.DATE, Kind.DATETIME))
        facts: dict[str, Any] = {"bounds": (dt.date(2000, 1, 1), dt.date(2030, 12, 31))}
        if rng.random() < 0.5:
            facts["bins"] = int(rng.integers(1, 50))
        return {"kind": kind, "null": null, **facts}
    kinds = (Kind.CATEGORICAL, Kind.INTEGER, Kind.REAL, Kind.BOOLEAN, Kind.ORDINAL)
    kind = _one_of(rng, kinds, (0.4, 0.2, 0.2, 0.1, 0.1))
    if kind is Kind.BOOLEAN:
        return {"kind": kind, "null": null}
    if kind.listed:
        texts = dict.fromkeys(str(cell).strip(" \t\n\r\v\f") for cell in plan.pool[:_SEVERAL])
        labels = tuple(text for text in texts if text) or ("only",)
        whole = [cell for cell in plan.pool[:_SEVERAL] if type(cell) is int]
        if whole and rng.random() < 0.5:
            return {"kind": kind, "null": null, "categories": tuple(dict.fromkeys(whole))}
        other = {"other": "any other"} if rng.random() < 0.5 else {}
        return {"kind": kind, "null": null, "categories": labels, **other}
    bounds = _one_of(rng, ((0, 10), (-1, 1), (0, 100_000), (5, 6), (-(2**51), 2**51)))
    facts = {"kind": kind, "null": null, "bounds": bounds}
    lot = rng.random()
    if lot < 0.3:
        facts["bins"] = _mostly(rng, int(rng.integers(1, 40)), (2**16,), 0.9)
    elif lot < 0.5:
        facts["edges"] = tuple(sorted({*bounds, (bounds[0] + bounds[1]) // 2}))
    if rng.random() < 0.3:
        facts["atoms"] = tuple({0, bounds[1]})
    return facts


def _partly(rng: np.random.Generator, facts: dict[str, Any]) -> dict[str, Any]:
    lot = rng.random()
    if lot < 0.3:
        return facts
    if lot < 0.5:
        return {"kind": Kind.UNKNOWN}
    open_ones = [name for name in facts if name != "kind" and rng.random() < 0.6]
    return {name: value for name, value in facts.items() if name not in open_ones}


def stated(case: Case, data: Any, folder: Path) -> Schema | Path | None:
    """The schema that both neighbours are described by; may refuse."""
    if case.schema == "drafted":
        drafted = draft(read_rows(data, multiline=case.multiline))
        return drafted if case.seed % 2 else write_drafted(drafted, folder)
    if case.facts is None:
        return None
    schema = Schema(tuple(Column(**facts) for facts in case.facts))
    if case.seed % 5:
        return schema
    path = folder / "schema.toml"
    write_schema(schema, path)
    return path


def write_drafted(schema: Schema, folder: Path) -> Path:
    """A draft in a file, as `understudy schema` writes it."""
    path = folder / "draft.toml"
    write_schema(schema, path)
    return path


def is_reviewed(schema: Schema) -> bool:
    """Whether no fact was read off the data."""
    return all(column.source is not Source.DATA for column in schema) and (
        schema.rows_bound is None or schema.rows_source is not Source.DATA
    )


def secrets(case: Case) -> int:
    """How many cells of a case hold the private text."""
    raw = sum(row.count(SECRET.encode()) for row in case.rows if isinstance(row, bytes))
    rows = [row for row in case.rows if isinstance(row, tuple)]
    stored = (
        _stored(plan, cell)
        for row in rows
        for plan, cell in zip(case.columns, row, strict=False)
        if not isinstance(cell, _Unprintable)
    )
    return raw + sum(SECRET in str(cell) for cell in stored)


def _stored(plan: ColumnPlan, cell: object) -> object:
    """What a column holds in place of a drawn cell, where its type is an unusual one."""
    if plan.unusable is None:
        return cell
    return _UNUSABLE[plan.unusable][_place(cell)].as_py()


def _place(cell: object) -> int:
    """Which cell of an unusual column stands for a drawn one: by that cell alone."""
    if isinstance(cell, _Unprintable):
        return 0
    return zlib.crc32(str(cell).encode("utf-8", "surrogatepass")) % 2


# --- sources ----------------------------------------------------------------------------------


def opened(case: Case, rows: list[Row], folder: Path) -> Any:
    """The rows as the case's kind of source."""
    return _SOURCE[case.source](case, rows, folder)


def _cells(rows: list[Row], place: int) -> list[Any]:
    return [row[place] for row in rows]


def _arrow_column(plan: ColumnPlan, cells: list[Any]) -> pa.Array:
    if plan.unusable is not None:
        sample = _UNUSABLE[plan.unusable]
        return sample.take(pa.array(list(map(_place, cells)), pa.int64()))
    kind = plan.shelf.arrow
    if kind is None or not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        text = kind is not None and pa.types.is_dictionary(kind)
        plain = [None if text and not _whole(c) else c for c in cells]
        return pa.array(plain, kind, from_pandas=False)
    # Half characters become bytes that are no text, which Arrow does not look at by itself.
    raw = [None if c is None else c.encode("utf-8", "surrogatepass") for c in cells]
    bytewise = pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()
    return pa.array(raw, bytewise).view(kind)


def _whole(cell: str | None) -> bool:
    return cell is None or not any("\ud800" <= mark <= "\udfff" for mark in cell)


def _arrow(case: Case, rows: list[Row], folder: Path) -> pa.Table:
    del folder
    columns = [_arrow_column(p, _cells(rows, k)) for k, p in enumerate(case.columns)]
    names = [_spelled_name(plan.name) for plan in case.columns]
    return pa.Table.from_arrays(columns, names)


def _spelled_name(name: Any) -> str:
    """A name that Arrow takes."""
    return str(name).encode("utf-8", "replace").decode()


def _pandas(case: Case, rows: list[Row], folder: Path) -> pd.DataFrame:
    del folder
    series = [_pandas_column(plan, _cells(rows, k)) for k, plan in enumerate(case.columns)]
    frame = pd.concat(series, axis=1) if series else pd.DataFrame()
    frame.columns = pd.Index([plan.name for plan in case.columns], dtype=object)
    if case.seed % 3 == 0 and len(frame):
        frame.index = pd.Index([SECRET] * len(frame))
    return frame


def _pandas_column(plan: ColumnPlan, cells: list[Any]) -> pd.Series:
    shelf, dtype = plan.shelf, plan.dtype
    if plan.unusable is not None:
        return pd.Series(pd.arrays.ArrowExtensionArray(_arrow_column(plan, cells)))
    if dtype == "category" and shelf.name in {"mixed", "text", "large text", "integer"}:
        return pd.Series(_categories(plan, cells))
    if shelf is _MIXED or dtype == "object":
        return pd.Series(_objects(cells), dtype=object)
    if dtype == "numpy":
        if shelf.name in {"float", "single", "short", "integer"}:
            return pd.Series([np.nan if c is None else c for c in cells], dtype=np.float64)
        if shelf.name in {"text", "large text"}:
            return pd.Series(cells, dtype=pd.StringDtype("python"))
        if shelf.name == "boolean":
            return pd.Series(pd.array(cells, "boolean"))
        if shelf.name in {"timestamp", "zoned"}:
            zone = None if shelf.name == "timestamp" else "UTC"
            return (
                pd.Series(pd.array(cells, pd.DatetimeTZDtype("us", zone)))
                if zone
                else (pd.Series(np.array(cells, "datetime64[us]")))
            )
    return pd.Series(pd.arrays.ArrowExtensionArray(_arrow_column(plan, cells)))


def _categories(plan: ColumnPlan, cells: list[Any]) -> pd.Categorical:
    """Numbers and texts by a list that is the same for neighbours; objects as they come."""
    kind = np.int64 if plan.shelf is _INTEGER else object
    if plan.shelf is _MIXED:
        cells = [c if type(c) in {str, int, bool, dt.date} else None for c in cells]
        labels = list(dict.fromkeys(c for c in cells if c is not None))
    else:
        labels = list(dict.fromkeys((*plan.pool, *plan.shelf.odd)))
    codes = [labels.index(cell) if cell in labels else -1 for cell in cells]
    return pd.Categorical.from_codes(codes, pd.Index(labels, dtype=kind))


def _objects(cells: list[Any]) -> np.ndarray:
    values = np.empty(len(cells), object)
    for place, cell in enumerate(cells):
        values[place] = cell  # one by one, for some cells are lists
    return values


def _polars(case: Case, rows: list[Row], folder: Path) -> pl.DataFrame | pl.LazyFrame:
    del folder
    frame = {}
    for place, plan in enumerate(case.columns):
        cells = _cells(rows, place)
        if plan.shelf.arrow is None or plan.shelf.name in {"text", "large text", "dictionary"}:
            cells = [c if _whole(c) else None for c in cells]
        # A frame of polars has no name twice, and one with NUL cannot leave it alive.
        name = _spelled_name(plan.name).replace("\0", "")
        while name in frame:
            name += "_"
        frame[name] = pl.from_arrow(_arrow_column(plan, cells))
    made = pl.DataFrame(frame)
    return made.lazy() if case.columns[0].dtype == "lazy" else made


def _csv(case: Case, rows: list[Row], folder: Path) -> Path:
    path = folder / "table.csv"
    header = _line([str(plan.name) for plan in case.columns])
    lines = [header if case.seed % 31 else _BROKEN_HEADERS[case.seed % len(_BROKEN_HEADERS)]]
    # A cell with a line break is several records, unless the file is read as multiline.
    line_break = "\n" if case.multiline else " "
    lines += [
        row
        if isinstance(row, bytes)
        else _line([_csv_cell(cell).replace("\n", line_break) for cell in row])
        for row in rows
    ]
    ends = b"\r\n" if case.seed % 4 == 0 else b"\n"
    start = b"\xef\xbb\xbf" if case.seed % 7 == 0 else b""
    path.write_bytes(start + ends.join(lines) + ends * (case.seed % 2))
    return path


def _line(cells: list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)  # so that both marks are quoted
    return text.getvalue().removesuffix("\r\n").encode("utf-8", "surrogatepass")


def _csv_cell(cell: Any) -> str:
    return "" if cell is None else str(cell)


def _parquet(case: Case, rows: list[Row], folder: Path) -> Path:
    path = folder / "table.parquet"
    pq.write_table(_arrow(case, rows, folder), path)
    return path


_ENGINES: dict[str, Any] = {}


def _duckdb(case: Case, rows: list[Row], folder: Path) -> Any:
    table = _valid(_arrow(case, rows, folder))
    engine = _ENGINES.setdefault("duckdb", ibis.duckdb.connect())
    return engine.create_table("private", table, overwrite=True)


def _valid(table: pa.Table) -> pa.Table:
    """Without text that the engine would not take in."""
    columns = []
    for column in table.columns:
        if pa.types.is_string(column.type):
            cells = column.cast(pa.binary()).to_pylist()
            columns.append(pa.array([_text_of(cell) for cell in cells], pa.string()))
        else:
            columns.append(column)
    return pa.Table.from_arrays(columns, table.column_names)


def _text_of(cell: bytes | None) -> str | None:
    text = None if cell is None else cell.decode("utf-8", "ignore")
    return None if text is None or "\0" in text else text


_SQL_TYPES = {
    "integer": "BIGINT",
    "float": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "text": "TEXT",
}


def _sqlite(case: Case, rows: list[Row], folder: Path) -> Any:
    """A table whose cells are of any type, as SQLite lets them be."""
    del folder
    engine = _ENGINES.setdefault("sqlite", ibis.sqlite.connect())
    engine.raw_sql('DROP TABLE IF EXISTS "private"').close()
    quoted = ['"' + str(plan.name).replace('"', '""') + '"' for plan in case.columns]
    kinds = [_SQL_TYPES[plan.shelf.name] for plan in case.columns]
    spelled = ", ".join(f"{name} {kind}" for name, kind in zip(quoted, kinds, strict=True))
    engine.raw_sql(f'CREATE TABLE "private" ({spelled})').close()
    marks = ", ".join("?" for _ in quoted)
    cells = [[_sqlite_cell(cell) for cell in row] for row in rows]
    engine.con.executemany(f'INSERT INTO "private" VALUES ({marks})', cells)
    return engine.table("private")


def _sqlite_cell(cell: Any) -> Any:
    if isinstance(cell, dt.date):
        return cell.isoformat()
    if isinstance(cell, str) and not _whole(cell):
        return cell.encode("utf-8", "surrogatepass")
    return cell


_SOURCE: dict[str, Callable[[Case, list[Row], Path], Any]] = {
    "arrow": _arrow,
    "pandas": _pandas,
    "polars": _polars,
    "csv": _csv,
    "parquet": _parquet,
    "duckdb": _duckdb,
    "sqlite": _sqlite,
}
