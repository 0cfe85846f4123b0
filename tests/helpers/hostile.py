"""Columns of all kinds, and records that try to change how others are read."""

import datetime as dt
import decimal
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa

from understudy.column import Column, Kind
from understudy.encode.ops import Storage
from understudy.privacy import csv_records
from understudy.schema import Schema

_LABELS = ("a", "b", "x y", "1", "é", "=1+1", "true", "2020-01-02")
_FIRST, _LAST = dt.date(1999, 12, 31), dt.date(2021, 3, 4)
_DAWN, _DUSK = dt.datetime(1999, 12, 31, 5), dt.datetime(2021, 3, 4, 6, 7, 8)  # noqa: DTZ001
_DATE_FORMATS = ("%d.%m.%Y", "%m/%d/%Y", "%Y%m%d".replace("%m", "-%m-"))
_MOMENT_FORMATS = ("%d.%m.%Y %H:%M", "%Y-%m-%d %H:%M:%S")


def declared_facts(rng):
    """By kind of reading, what may be declared."""
    bins = rng.choice([None, 1, 7])
    return {
        "categorical": {"kind": Kind.CATEGORICAL, "categories": _LABELS},
        "numbered": {"kind": Kind.CATEGORICAL, "categories": (0, 1, 2, -3, 2**52)},
        "ordinal": {"kind": Kind.ORDINAL, "categories": rng.choice([("low", "a", "1"), (1, 2, 3)])},
        "boolean": {"kind": Kind.BOOLEAN},
        "integer": {"kind": Kind.INTEGER, "bounds": (-5, 60), "bins": bins, "atoms": (0, 99)},
        "searched": {"kind": Kind.INTEGER, "edges": (-5, 0, 1, 10, 60)},
        "real": {"kind": Kind.REAL, "bounds": (0.0, 1.0), "bins": 10, "atoms": (0.0, 0.1)},
        "real searched": {"kind": Kind.REAL, "edges": (0.0, 0.1, 0.3, 0.7, 1.0)},
        "date": {"kind": Kind.DATE, "bounds": (_FIRST, _LAST), "bins": bins},
        "moment": {"kind": Kind.DATETIME, "bounds": (_DAWN, _DUSK), "bins": bins},
    }


def open_facts(rng):
    """What may be left open, to be coded by shape."""
    return {
        "unknown": {"kind": Kind.UNKNOWN},
        "categorical": {"kind": rng.choice([Kind.CATEGORICAL, Kind.ORDINAL])},
        "integer": {"kind": rng.choice([Kind.INTEGER, Kind.REAL])},
        "date": {"kind": rng.choice([Kind.DATE, Kind.DATETIME])},
    }


_READ_AS = {
    Storage.TEXT: None,
    Storage.INTEGER: {"date", "moment"},
    Storage.FLOAT: {"date", "moment"},
    Storage.BOOLEAN: {"date", "moment"},
}
"""By storage, the kinds of reading that are refused; dates are read as dates alone."""


def random_column(rng, name, storage=Storage.TEXT, *, shapes=False):
    """A column that may be stored so."""
    facts = open_facts(rng) if shapes and rng.random() < 0.8 else declared_facts(rng)
    if storage in {Storage.DATE, Storage.TIMESTAMP}:
        facts = {key: one for key, one in facts.items() if key in {"date", "moment", "unknown"}}
    else:
        refused = _READ_AS[storage] or set()
        facts = {key: one for key, one in facts.items() if key not in refused}
    chosen = dict(facts[rng.choice(sorted(facts))])
    if chosen["kind"].listed and isinstance((chosen.get("categories") or ("",))[0], str):
        chosen["other"] = rng.choice([None, "any other"])
    if storage is Storage.TEXT and chosen["kind"] in {Kind.DATE, Kind.DATETIME}:
        formats = _DATE_FORMATS if chosen["kind"] is Kind.DATE else _MOMENT_FORMATS
        chosen["format"] = rng.choice([None, *formats])
    return Column(name=name, null=rng.choice([True, False, None]), **chosen)


def random_schema(rng, storages, *, shapes=False):
    """One column for each storage."""
    names = [f"x{place}" for place in range(len(storages))]
    return Schema(
        tuple(
            random_column(rng, name, storage, shapes=shapes)
            for name, storage in zip(names, storages, strict=True)
        )
    )


# --- text ----------------------------------------------------------------------------------------

TEXTS = (
    *(
        *_LABELS,
        "any other",
        "low",
        "",
        " ",
        "\t",
        " a ",
        "a\xa0",
        "A",
        "TRUE",
        "no",
        "Y",
        "0",
        "1.0",
    ),
    *("-3", "60", "61", "99", "+5", "5.", ".5", "0.1", "0.30000000000000004", "1e-320", "1e308"),
    *(
        "1e400",
        "-1e400",
        "nan",
        "NaN",
        "inf",
        "-Infinity",
        "1_000",
        "0x1F",
        "1,5",
        "9" * 63,
        "9" * 65,
    ),
    *(
        "9007199254740993",
        "-9223372036854775808",
        "1e299",
        "1.0000000000000000e+299",
        "-0.0",
        "+-5",
    ),
    *("2020-02-29", "2021-02-29", "2020-02-30", "0000-00-00", "2020-2-9T1:02:03Z", "9999-12-31"),
    *("29.02.2020", "31.12.1999 23:59", "2020-01-02 03:04:05", "1999-12-31T05:00:00", "12/31/2020"),
    *(
        "=cmd()",
        "@SUM(1)",
        "null",
        "None",
        "NA",
        "\\N",
        "١٢",
        "\N{KELVIN SIGN}",
        "\u0131",
        "\u0130",
        "\u017f",
    ),
    *("\u2028", "a\u2028b", "\x85", "\x0b", "\x0c", "\x1c", "\x00", "a\x00b", "\ufeff", "\ufeffa"),
    *(
        "\ufdd0",
        "\ufffd",
        "😀",
        "e\u0301",
        "\x1b$B",
        "\x1b(J",
        "\x0e",
        "~{",
        "+AGE-",
        "x" * 199,
        "é" * 201,
    ),
)
_MARKS = "ab01.-\",;\t |\r'\\ é\x00\u2028"


def text_cell(rng):
    """A cell of text; without line feeds."""
    if rng.random() < 0.7:
        return rng.choice(TEXTS)
    return "".join(rng.choice(_MARKS) for _ in range(rng.randrange(7)))


# --- CSV -----------------------------------------------------------------------------------------

_LINES = (
    *(b"", b" ", b"\r", b"\r\r", b",", b'"', b'""', b'"""', b'""""', b'  "a",0', b"b", b'"x" "",1'),
    *(
        b'  "a',
        b'a"',
        b'a"b,c',
        b'"a"b,c',
        b'"a",',
        b'"a" ,"b"',
        b'\t"a"\t,b',
        b"\xff,\xfe",
        b"\xef\xbb\xbfa",
    ),
    *(
        b"a,b,c,d,e,f,g",
        b"a,,,,,,,",
        b'a,b,c,d,"",',
        b"\x1b$B,a",
        b"\x1b(B",
        b"a\x00,b",
        b"\x00",
        b"\x81",
    ),
    *(
        b"a,\x81",
        b"\x8f\xa2",
        b"a\xe3",
        b"a,\xf0\x9f\x98",
        b"a\xe2\x80\xa8b",
        b"\xc2\x85,a",
        b"\xc0\xaf",
    ),
    *(
        b"\xed\xa0\x80,a",
        b"\xef\xb7\x90,a",
        b"\xff\xfe",
        b"\xfe\xff",
        b"a\rb,c",
        b"a,b\r",
        b"\ra,b",
    ),
)
_FRAGMENTS = (
    b'"',
    b'""',
    b'"a"',
    b' "a"',
    b'"a" ',
    b"a",
    b"",
    b" ",
    b'"a,b"',
    b'a"',
    b'"a',
    b"\r",
    b"\x00",
    b"0.1",
)


def csv_cell(rng, encoding, delimiter):
    """A cell as a careful program writes it; what the encoding lacks becomes other bytes."""
    text = text_cell(rng)
    if (
        any(mark in text for mark in f'"\r{delimiter}')
        or text[:1] in {" ", "\t"}
        or rng.random() < 0.2
    ):
        text = '"' + text.replace('"', '""') + '"'
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode()


def csv_record(rng, width, encoding="utf-8", delimiter=","):
    """One record without its line feed: written with care, broken, or any bytes."""
    mark = delimiter.encode()
    draw = rng.random()
    if draw < 0.45:
        line = mark.join(csv_cell(rng, encoding, delimiter) for _ in range(width))
    elif draw < 0.65:
        cells = (
            rng.choice(_FRAGMENTS) for _ in range(max(1, width + rng.choice([-1, 0, 0, 0, 1])))
        )
        line = mark.join(cells)
    elif draw < 0.8:
        line = rng.choice(_LINES).replace(b",", mark)
    elif draw < 0.9:
        alphabet = b'ab01",;\t| \r\x00\xe9\x81\xff"' + mark
        line = bytes(rng.choice(alphabet) for _ in range(rng.randrange(12)))
    else:
        line = bytes(rng.randrange(256) for _ in range(rng.randrange(9)))
    if rng.random() < 0.05 and csv_records.LONGEST_RECORD < 2**12:  # near the longest that is read
        size = max(0, csv_records.LONGEST_RECORD + rng.randint(-3, 3) - len(line))
        line = rng.choice([b"x", b'"', b"\xff", "é".encode(encoding, "replace")]) * size + line
    line = line.replace(b"\n", b"")
    return line + b"\r" if rng.random() < 0.1 else line


def balanced(rng, record):
    """The record with quotes that balance, and line feeds where one is open."""
    if record.count(b'"') % 2:
        record += b'"'
    parts = record.split(b'"')
    for place in range(1, len(parts), 2):  # between an opening quote and the next
        if rng.random() < 0.3:
            part = parts[place]
            cut = rng.randint(0, len(part))
            parts[place] = part[:cut] + rng.choice([b"\n", b"\r\n", b"\n\n"]) + part[cut:]
    return b'"'.join(parts)


# --- Arrow and Parquet ---------------------------------------------------------------------------

_INTEGERS = (0, 1, 2, -3, 5, 60, 99, 2**52, 2**52 + 1, 2**53, 2**53 + 1, -(2**53) - 1)
_FLOATS = (
    *(0.0, -0.0, 0.1, 0.3, 0.30000000000000004, 0.7, 1.0, 2.0, -3.0, 60.5, 99.0, 5e-324, 1e-310),
    *(1e308, -1e308, 1.7976931348623157e308, float("nan"), float("inf"), float("-inf"), 2.0**53),
)
_DECIMALS = tuple(map(Decimal, ("0", "0.1", "0.3", "0.7", "1", "2", "-3", "99", "60.5", "-0.1")))
_STRINGS = (
    *(text.encode() for text in TEXTS),
    *(b"\xff", b"a\xff", b"\xed\xa0\x80", b"\x81\x40", b"\xc0"),
)


def _extreme(kind):
    size = kind.bit_width
    signed = pa.types.is_signed_integer(kind)
    return (-(2 ** (size - 1)), 2 ** (size - 1) - 1) if signed else (2**size - 1,)


def _of_integers(kind):
    least, most = (
        (*_extreme(kind), 0)[:2] if pa.types.is_signed_integer(kind) else (0, *_extreme(kind))
    )
    cells = [n for n in (*_INTEGERS, *_extreme(kind)) if least <= n <= most]

    def make(rng, rows):
        return pa.array([_or_null(rng, cells) for _ in range(rows)], kind)

    return make


def _of_floats(kind):
    numpy_type = np.dtype({16: "float16", 32: "float32", 64: "float64"}[kind.bit_width])

    def make(rng, rows):
        cells = [_or_null(rng, _FLOATS) for _ in range(rows)]
        mask = np.array([cell is None for cell in cells], bool)
        with np.errstate(over="ignore"):
            numbers = np.array([0.0 if cell is None else cell for cell in cells]).astype(numpy_type)
        return pa.array(numbers, kind, mask=mask, from_pandas=False)

    return make


def _of_decimals(kind):
    most = Decimal(10) ** (kind.precision - kind.scale)
    tiny = Decimal(10) ** -kind.scale
    with decimal.localcontext(prec=100):
        near = [cell for cell in _DECIMALS if abs(cell) < most and cell == cell.quantize(tiny)]
        wide = [*near, most - tiny, tiny - most, tiny, -tiny]

    def make(rng, rows):
        return pa.array([_or_null(rng, wide) for _ in range(rows)], kind)

    return make


def _of_counts(kind, bits, near):
    """Dates and times as the whole numbers that they are stored as."""
    most = 2 ** (bits - 1) - 1
    cells = (*near, 0, 1, -1, most, -most, most - 1)

    def make(rng, rows):
        numbers = pa.array([_or_null(rng, cells) for _ in range(rows)], pa.int64())
        return numbers.cast(pa.int32() if bits == 32 else pa.int64()).view(kind)

    return make


def _of_strings(kind):
    def make(rng, rows):
        cells = [_or_null(rng, _STRINGS) for _ in range(rows)]
        plain = pa.large_string() if pa.types.is_large_string(kind) else pa.string()
        offset = np.int64 if pa.types.is_large_string(kind) else np.int32
        lengths = [0, *(len(cell or b"") for cell in cells)]
        ends = pa.py_buffer(np.cumsum(lengths).astype(offset).tobytes())
        bits = pa.array([cell is not None for cell in cells], pa.bool_())
        content = pa.py_buffer(b"".join(cell or b"" for cell in cells))
        valid = bits.buffers()[1] if rows else None
        return pa.Array.from_buffers(plain, rows, [valid, ends, content])

    return make


def _of_views(rng, rows):
    cells = [_or_null(rng, _STRINGS) for _ in range(rows)]
    binary = pa.array(cells, pa.binary_view())
    return pa.Array.from_buffers(pa.string_view(), rows, binary.buffers(), binary.null_count)


def _of_dictionaries(values, *, nulls=False):
    def make(rng, rows):
        dictionary = values(rng, rng.randint(1, 5))
        dictionary = dictionary if nulls else dictionary.drop_null()
        places = pa.array([_or_null(rng, range(len(dictionary))) for _ in range(rows)], pa.int32())
        return pa.DictionaryArray.from_arrays(places, dictionary, safe=False)

    return make


def _of_booleans(rng, rows):
    return pa.array([_or_null(rng, (True, False)) for _ in range(rows)], pa.bool_())


def _or_null(rng, cells):
    return None if not cells or rng.random() < 0.1 else rng.choice(cells)


_DAY_NUMBERS = (10957, 18262, 18690, -719162, -719163, 2932896, 2932897)
_MOMENTS_OF = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def arrow_makers():
    """By name: how columns of a type are stored, and what makes their cells."""
    text, whole, real = Storage.TEXT, Storage.INTEGER, Storage.FLOAT
    makers = {
        "string": (text, _of_strings(pa.string())),
        "large string": (text, _of_strings(pa.large_string())),
        "string view": (text, _of_views),
        "dictionary of strings": (text, _of_dictionaries(_of_strings(pa.string()))),
        "dictionary with nulls": (text, _of_dictionaries(_of_strings(pa.string()), nulls=True)),
        "dictionary of numbers": (whole, _of_dictionaries(_of_integers(pa.int64()))),
        "null": (text, lambda _, rows: pa.nulls(rows)),
        "boolean": (Storage.BOOLEAN, _of_booleans),
    }
    for kind in (
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.uint8(),
        pa.uint32(),
        pa.uint64(),
    ):
        makers[str(kind)] = (whole, _of_integers(kind))
    for kind in (pa.float16(), pa.float32(), pa.float64()):
        makers[str(kind)] = (real, _of_floats(kind))
    for kind in (
        *(pa.decimal128(5, 1), pa.decimal128(18, 17), pa.decimal128(38, 0), pa.decimal128(38, 36)),
        *(pa.decimal256(50, 3), pa.decimal256(76, 75), pa.decimal256(76, 0)),
    ):
        makers[str(kind)] = (real, _of_decimals(kind))
    makers["date32"] = (Storage.DATE, _of_counts(pa.date32(), 32, _DAY_NUMBERS))
    milliseconds = tuple(86_400_000 * day for day in _DAY_NUMBERS)
    makers["date64"] = (Storage.DATE, _of_counts(pa.date64(), 64, milliseconds))
    for unit, ticks in _MOMENTS_OF.items():
        near = [86_400 * ticks * day + 5 * ticks // 2 for day in _DAY_NUMBERS]
        near = tuple(n for n in near if abs(n) < 2**63)
        for zone in (None, "UTC", "Europe/Berlin"):
            kind = pa.timestamp(unit, zone)
            makers[str(kind)] = (Storage.TIMESTAMP, _of_counts(kind, 64, near))
    return makers


UNREAD = {
    "duration": (pa.duration("us"), (0, 1, 2**63 - 1)),
    "list": (pa.list_(pa.int64()), ([], [1], [None])),
    "struct": (pa.struct([("a", pa.int8())]), ({"a": 1}, {"a": None})),
    "binary": (pa.binary(), (b"", b"\xff")),
    "time": (pa.time64("us"), (0, 1)),
}
"""Types that no rule reads; columns that stay home may have them."""


def unread_array(rng, name, rows):
    """A column of such a type."""
    kind, cells = UNREAD[name]
    return pa.array([_or_null(rng, cells) for _ in range(rows)], kind)


# --- pandas --------------------------------------------------------------------------------------


class Unwritable:
    """A cell whose text raises."""

    def __str__(self):
        msg = "private"
        raise RuntimeError(msg)

    __repr__ = __str__


_EAST = dt.timezone(dt.timedelta(hours=14))
_TIMES = (
    *(dt.datetime(2020, 1, 2, 3, 4, 5), dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23)),  # noqa: DTZ001
    *(dt.datetime(1, 1, 1, tzinfo=_EAST), dt.datetime(2020, 1, 2, 3, tzinfo=_EAST)),
    *(dt.date(2020, 2, 29), dt.date(1, 1, 1), np.datetime64("2020-01-02"), np.datetime64("NaT")),
    *(np.datetime64("1969-12-31T23:59:59.5"), np.datetime64("20000-01-01", "s"), pd.NaT),
    *(
        pd.Timestamp("2020-01-02 03:04:05.999999999"),
        pd.Timestamp.min,
        pd.Timestamp.max,
        pd.Timestamp("2020-06-01", tz="Europe/Berlin"),
    ),
)
_OBJECTS = (
    *(None, float("nan"), pd.NA, True, False, np.True_, 1, 0, -3, 2**53 + 1, 10**30, 10**5000, 1.5),
    *(0.1, -0.0, float("inf"), np.float32(0.1), np.float16(0.1), np.int8(5), np.uint64(2**64 - 1)),
    *(
        Decimal("0.1"),
        Decimal("1E+3"),
        Decimal("NaN"),
        Decimal("0.10000000000000000000000000000001"),
    ),
    *("a", "1", " 1", "true", "\ud800", "\ufdd0", "", b"a", b"\xff", (), (1,), [1], {"a": 1}, 1j),
    *(dt.time(5), dt.timedelta(1), pd.Timedelta(5), pd.Period("2020-01", "M"), pd.Interval(0, 1)),
    *(object, Unwritable(), Unwritable, *_TIMES),
)


def _series(cells, dtype):
    def make(rng, rows):
        return pd.Series([rng.choice(cells) for _ in range(rows)], dtype=dtype)

    return make


def _objects(cells):
    """A few kinds of cells, so that a column often seems to have a type."""

    def make(rng, rows):
        few = rng.sample(cells, rng.randint(1, 3))
        return pd.Series([rng.choice(few) for _ in range(rows)], dtype=object)

    return make


def _categories(cells):
    def make(rng, rows):
        own = pd.Index(list(dict.fromkeys(rng.sample(cells, min(len(cells), 4)))))
        places = [rng.randrange(-1, len(own)) for _ in range(rows)]
        return pd.Series(pd.Categorical.from_codes(places, own))

    return make


def pandas_makers():
    """By name, what makes the cells of a column; all are read as text."""
    small, wide = (0, 1, 2, -3, 60, 99), (0, 1, 2**53 + 1, -(2**63), 2**63 - 1)
    reals = (*_FLOATS, float("nan"))
    strings = (*TEXTS, None)
    days = ("2020-01-02", "1999-12-31T05:00:00", "1969-12-31T23:59:59.5", None)
    return {
        "objects": _objects(_OBJECTS),
        "times": _objects(_TIMES),
        "numbers": _objects((1, 2.5, True, None, 0, Decimal("0.1"), 2**60, 0.1)),
        "texts": _series(strings, object),
        "str": _series(strings, "str"),
        "string": _series(strings, "string"),
        "int8": _series(small, "int8"),
        "int64": _series(wide, "int64"),
        "uint64": _series((0, 1, 2**64 - 1), "uint64"),
        "Int64": _series((*wide, None), "Int64"),
        "float16": _series((0.0, 0.1, 1.0, float("inf")), "float16"),
        "float32": _series((0.0, 0.1, 0.3, 1.0, float("nan")), "float32"),
        "float64": _series(reals, "float64"),
        "Float64": _series((*reals, None), "Float64"),
        "bool": _series((True, False), "bool"),
        "boolean": _series((True, False, None), "boolean"),
        "datetime64[ns]": _series(days, "datetime64[ns]"),
        "datetime64[s]": _series((*days[:2], "9999-12-31", None), "datetime64[s]"),
        "datetime64[us, Berlin]": _series(days, "datetime64[us, Europe/Berlin]"),
        "timedelta64[ns]": _series((0, 5, None), "timedelta64[ns]"),
        "period[M]": _series(("2020-01", "1999-12", None), "period[M]"),
        "category of texts": _categories(_LABELS),
        "category of numbers": _categories(small),
        "category of reals": _categories((0.1, 0.3, 1.0)),
        "category of flags": _categories((True, False)),
        "category of days": _categories(tuple(map(pd.Timestamp, days[:3]))),
        "category of anything": _categories(("a", 1, 2.5, True)),
        "int64[pyarrow]": _series((*wide, None), "int64[pyarrow]"),
        "decimal[pyarrow]": _series((Decimal("0.1"), None), pd.ArrowDtype(pa.decimal128(5, 3))),
        "long decimal[pyarrow]": _series(
            (Decimal("0.1"), None), pd.ArrowDtype(pa.decimal256(50, 3))
        ),
        "date[pyarrow]": _series((dt.date(2020, 2, 29), None), pd.ArrowDtype(pa.date32())),
        "bool[pyarrow]": _series((True, None), "bool[pyarrow]"),
    }


# --- SQL -----------------------------------------------------------------------------------------


def _quoted(text):
    return "'" + text.replace("'", "''") + "'"


_NUMERALS = ("0", "1", "2", "-3", "60", "99", "0.1", "0.3", "0.7")
_WHOLE_NUMERALS = tuple(n for n in _NUMERALS if "." not in n)
_DAYS = tuple(f"'{day}'" for day in ("2020-02-29", "1999-12-31", "0001-01-01", "9999-12-31"))
_CLOCKS = tuple(f"'{day[1:-1]} {clock}'" for day in _DAYS for clock in ("00:00:00", "23:59:59.75"))
_ENDLESS = ("'infinity'", "'-infinity'", "'0044-03-15 (BC)'")
_NO_NUMBERS = ("'NaN'", "'Infinity'", "'-Infinity'")


def duckdb_cells():
    """By declared type: how it is stored, and cells as literals."""
    text, whole, real = Storage.TEXT, Storage.INTEGER, Storage.FLOAT
    day, moment = Storage.DATE, Storage.TIMESTAMP
    texts = tuple(_quoted(one).replace("\x00", "' || chr(0) || '") for one in TEXTS)
    return {
        "VARCHAR": (text, texts),
        "DOUBLE": (real, (*_NUMERALS, *_NO_NUMBERS, "1e308", "5e-324", "-0.0")),
        "FLOAT": (real, (*_NUMERALS, *_NO_NUMBERS, "3e38", "1e-45")),
        "DECIMAL(5,1)": (real, (*_NUMERALS, "9999.9")),
        "DECIMAL(38,30)": (real, (*_NUMERALS, "99999999", "1e-30")),
        "DECIMAL(38,0)": (real, (*_WHOLE_NUMERALS, "9" * 38, "9007199254740993")),
        "BIGINT": (whole, (*_WHOLE_NUMERALS, str(2**63 - 1), str(-(2**63)), str(2**53 + 1))),
        "UBIGINT": (whole, ("0", "1", "60", str(2**64 - 1))),
        "BOOLEAN": (Storage.BOOLEAN, ("true", "false")),
        "DATE": (day, (*_DAYS, *_ENDLESS)),
        "TIMESTAMP": (moment, (*_CLOCKS, *_ENDLESS[:2])),
        "TIMESTAMPTZ": (moment, (*_CLOCKS, *_ENDLESS[:2])),
        "TIMESTAMP_S": (moment, (*_CLOCKS, *_ENDLESS[:2])),
        "TIMESTAMP_NS": (moment, ("'2020-02-29 01:02:03.999999999'", "'1999-12-31'")),
    }


def postgres_cells():
    """The same."""
    text, real = Storage.TEXT, Storage.FLOAT
    texts = tuple(_quoted(one) for one in TEXTS if "\x00" not in one)
    far = ("'4713-01-01 BC'", "'infinity'", "'-infinity'")
    return {
        "text": (text, texts),
        "varchar(250)": (text, texts),
        "char(9)": (text, ("'a'", "'1'", "' 1'", "''", "'0.1'")),
        "double precision": (real, (*_NUMERALS, *_NO_NUMBERS, "1e308", "5e-324")),
        "real": (real, (*_NUMERALS, *_NO_NUMBERS, "3e38", "1e-45")),
        "numeric": (
            real,
            (*_NUMERALS, *_NO_NUMBERS, "1e1000", "-1e1000", "1e-1000", "9007199254740993"),
        ),
        "numeric(10,3)": (real, (*_NUMERALS, "'NaN'", "9999999.999")),
        "bigint": (Storage.INTEGER, (*_WHOLE_NUMERALS, str(2**63 - 1), str(-(2**63)))),
        "smallint": (Storage.INTEGER, (*_WHOLE_NUMERALS, "32767")),
        "boolean": (Storage.BOOLEAN, ("true", "false")),
        "date": (Storage.DATE, (*_DAYS, *far, "'5874897-12-31'")),
        "timestamp": (Storage.TIMESTAMP, (*_CLOCKS, *far, "'294276-12-31'")),
        "timestamptz": (Storage.TIMESTAMP, (*_CLOCKS, *far, "'294276-12-31'")),
    }


def sqlite_cells():
    """The same; a column of any type holds cells of any other."""
    texts = tuple(f"CAST(x'{one.encode().hex()}' AS TEXT)" for one in TEXTS)
    odd = (
        "CAST(x'ff' AS TEXT)",
        "CAST(x'eda080' AS TEXT)",
        "x'ff'",
        "x''",
        "x'61'",
        "9e999",
        "-9e999",
    )
    numbers = (*_NUMERALS, str(2**63 - 1), str(-(2**63)), str(2**53 + 1), "1e308", "5e-324", "1.5")
    days = tuple(clock for clock in (*_DAYS, *_CLOCKS))
    anything = (*texts, *odd, *numbers, *days)
    text, real = Storage.TEXT, Storage.FLOAT
    return {
        "TEXT": (text, anything),
        "VARCHAR(9)": (text, anything),
        "INTEGER": (Storage.INTEGER, anything),
        "BIGINT": (Storage.INTEGER, anything),
        "REAL": (real, anything),
        "DECIMAL(10, 2)": (real, anything),
        "BOOLEAN": (Storage.BOOLEAN, (*anything, "0", "1", "2")),
        "DATE": (text, anything),
        "TIMESTAMP": (text, anything),
    }


CELLS = {"duckdb": duckdb_cells, "postgres": postgres_cells, "sqlite": sqlite_cells}


def sql_rows(rng, cells, rows):
    """Rows as literals."""
    return [tuple(_or_null(rng, one) or "NULL" for one in cells) for _ in range(rows)]


def sql_table(engine, name, kinds, rows):
    """A table of these rows, in an engine."""
    columns = ", ".join(f"x{place} {kind}" for place, kind in enumerate(kinds))
    values = ", ".join(f"({', '.join(row)})" for row in rows)
    statements = [f"DROP TABLE IF EXISTS {name}", f"CREATE TABLE {name} ({columns})"]
    statements += [f"INSERT INTO {name} VALUES {values}"] if rows else []
    for statement in statements:
        if engine.name == "postgres":
            with engine.begin() as cursor:
                cursor.execute(statement)
        else:
            engine.con.execute(statement)
    return engine.table(name)
