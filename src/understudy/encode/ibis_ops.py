"""The rules' operations as Ibis expressions: codes made where the rows lie."""

import datetime as dt
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import LARGEST_INTEGER
from understudy.encode.arrow_ops import unusable_storage
from understudy.encode.encoding import Encoding
from understudy.encode.moments import MomentPattern, seconds_since_1970
from understudy.encode.ops import (
    LARGEST_DOUBLE,
    LONGEST_NUMBER,
    NUMBER,
    Storage,
    Value,
    check_storage,
)

_MICROSECONDS = 6
_DIGITS = 38
"""Decimals of no more digits always fit a double; PostgreSQL has longer ones."""
_NEXT = "[89AB][0-9A-F]"
_UTF8 = (
    f"^(?:[0-7][0-9A-F]|C[2-9A-F]{_NEXT}|D[0-9A-F]{_NEXT}|E0[AB][0-9A-F]{_NEXT}"
    f"|E[1-9A-CEF](?:{_NEXT}){{2}}|ED[89][0-9A-F]{_NEXT}|F0[9AB][0-9A-F](?:{_NEXT}){{2}}"
    f"|F[1-3](?:{_NEXT}){{3}}|F48[0-9A-F](?:{_NEXT}){{2}})*$"
)
"""The bytes of UTF-8 text, as hexadecimal digits."""
hexadecimal = ibis.udf.scalar.builtin(
    lambda text: text, name="hex", signature=(("string",), "string")
)
"""SQLite's own function, which reads bytes and minds no encoding."""


_glob = ibis.udf.scalar.builtin(
    lambda pattern, text: pattern == text, name="glob", signature=(("string", "string"), "boolean")
)
_NOT_ASCII = "*[^\x01-\x7f]*"


def is_utf8(text: Value) -> Value:
    """Whether SQLite holds UTF-8; Python is asked only about text beyond ASCII."""
    hexed = hexadecimal(text)
    # Lengths differ where a NUL, at which SQLite's functions stop, hides what follows it.
    plain = ~_glob(_NOT_ASCII, text) & (hexed.length() == 2 * text.length())
    return ibis.ifelse(plain, ibis.literal(True), hexed.re_search(_UTF8))  # noqa: FBT003


def case_position(text: Value, labels: tuple[str, ...], otherwise: Value) -> Value:
    """Where the stripped text stands among the labels, as a CASE that every engine knows."""
    branches = ((label, place) for place, label in enumerate(labels))
    return text.strip().cases(*branches, else_=otherwise)


_duckdb_bytes = ibis.udf.scalar.builtin(
    lambda text: text, name="encode", signature=(("string",), "binary")
)
_postgres_json = ibis.udf.scalar.builtin(
    lambda text: text, name="to_json", signature=(("string",), "json")
)
_WITHOUT_COLLATION: dict[str, tuple[Callable[[Value], Value], Callable[[str], Value]]] = {
    "duckdb": (_duckdb_bytes, lambda label: _duckdb_bytes(ibis.literal(label))),
    "postgres": (
        lambda text: _postgres_json(text).cast("string"),
        lambda label: ibis.literal(json.dumps(label, ensure_ascii=False)),
    ),
}
"""By engine, text and a label as something that no collation of the column compares."""


def without_collation(text: Value) -> Value:
    """Text as something that no collation of its column compares."""
    exact, _ = _WITHOUT_COLLATION.get(text.get_backend().name, (lambda same: same, None))
    return exact(text)


def exact_position(engine: str) -> Callable[[Value, tuple[str, ...], Value], Value]:
    """Where the stripped text stands among the labels, whatever the column's collation is."""
    if engine not in _WITHOUT_COLLATION:
        return case_position
    exact, spelled = _WITHOUT_COLLATION[engine]

    def position(text: Value, labels: tuple[str, ...], otherwise: Value) -> Value:
        branches = ((spelled(label), place) for place, label in enumerate(labels))
        return exact(text.strip()).cases(*branches, else_=otherwise)

    return position


class IbisOps:
    """Builds expressions; unknown is null.

    `position` may be replaced by something faster than CASE, and `try_cast` says that the
    engine can cast text without raising; both only where the engine is known to be DuckDB.
    `loose_types` says that a column may hold values of other types than its own, as in SQLite, and
    `collated` that one may have a collation under which PostgreSQL searches no text.
    """

    def __init__(
        self,
        position: Callable[[Value, tuple[str, ...], Value], Value] = case_position,
        *,
        try_cast: bool = False,
        loose_types: bool = False,
        collated: bool = False,
    ) -> None:
        self._position = position
        self._try_cast = try_cast
        self._loose_types = loose_types
        self._collated = collated

    def stored(self, value: Value, storage: Storage) -> Value:
        """The value, unknown where an engine with loose types stores something else."""
        if not self._loose_types:
            return value
        numbers = ("integer", "real")
        kinds = {Storage.TEXT: ("text",), Storage.BOOLEAN: ("integer",)}.get(storage, numbers)
        fits = value.typeof().isin(kinds)
        if storage is Storage.BOOLEAN:
            # Any other number would be taken for true, and 90 read as 1.
            fits = fits & value.cast("int64").isin([0, 1])
        if storage is Storage.TEXT:
            # Its functions raise on text that is not UTF-8, so the bytes are looked at first.
            fits = fits & is_utf8(value)
        return ibis.ifelse(fits, value, ibis.null(value.type()))

    def identifier(self, value: Value, storage: Storage) -> Value:
        """A stored value as text; unknown where an engine has no text for it."""
        if storage is Storage.TIMESTAMP and (value.type().scale or 0) < _MICROSECONDS:
            first, last = _ends_of_time(value.type())
            inside = (value >= first) & (value <= last)
            value = ibis.ifelse(inside, value, ibis.null(value.type()))
        return value.cast("string")

    def storage(self, name: str, kind: Value) -> Storage:
        """How the engine stores a column; one with loose types keeps dates as text."""
        storage = ibis_storage(name, kind)
        dated = storage in {Storage.DATE, Storage.TIMESTAMP}
        return Storage.TEXT if dated and self._loose_types else storage

    def text(self, value: Value, storage: Storage) -> Value:
        """Text as it stands, whole numbers without a point."""
        if storage is Storage.TEXT:
            return value
        if storage is Storage.INTEGER:
            small = (value >= -LARGEST_INTEGER) & (value <= LARGEST_INTEGER)
            return ibis.ifelse(small, value, ibis.null(value.type())).cast("string")
        if storage is Storage.BOOLEAN:
            return ibis.ifelse(value.isnull(), ibis.null("string"), value.ifelse("true", "false"))
        return self.whole_text(self.number(value, storage))

    def number(self, value: Value, storage: Storage) -> Value:
        """A finite double."""
        if storage is Storage.BOOLEAN:
            whole = ibis.ifelse(value.isnull(), ibis.null("int64"), value.ifelse(1, 0))
            return whole.cast("float64")
        if storage is Storage.INTEGER:
            return value.cast("float64")
        if storage is Storage.TEXT:
            text = self._number_text(value)
            double = text.try_cast("float64") if self._try_cast else text.cast("float64")
        elif value.type().is_decimal() and (value.type().precision or 1000) > _DIGITS:
            double = _within_doubles(value).cast("float64")
        else:
            double = value.cast("float64")
        # Written with comparisons because engines order NaN differently, and one has none:
        # wherever NaN stands, it does not lie between the two ends.
        finite = (double >= -LARGEST_DOUBLE) & (double <= LARGEST_DOUBLE)
        return ibis.ifelse(finite, double, ibis.null("float64"))

    def moment(self, value: Value, storage: Storage) -> Value:
        """Seconds since 1970-01-01 of a stored date or timestamp, a whole double."""
        midnight = ibis.literal(0, "int64")
        clock = storage is Storage.TIMESTAMP
        if clock and (value.type().scale or 0) > _MICROSECONDS:
            value = value.cast(value.type().copy(scale=_MICROSECONDS))  # others end in 2262
        # An infinite date has no year, and some engines raise on asking for it.
        first, last = _ends_of_time(value.type()) if clock else (dt.date.min, dt.date.max)
        inside = ibis.least(ibis.greatest(value, first), last)
        value = ibis.ifelse(value.isnull(), ibis.null(value.type()), inside)
        parts = {
            "Y": value.year().cast("int64"),
            "m": value.month().cast("int64"),
            "d": value.day().cast("int64"),
            "H": value.hour().cast("int64") if clock else midnight,
            "M": value.minute().cast("int64") if clock else midnight,
            "S": value.second().cast("int64") if clock else midnight,
        }
        return seconds_since_1970(parts, self).cast("float64")

    def plain(self, text: Value) -> Value:
        """The same text without the collation of its column."""
        return _postgres_json(text).str if self._collated else text

    def matching(self, text: Value, regex: str) -> Value:
        """The text where the regular expression finds something in it; unknown elsewhere."""
        return ibis.ifelse(self.plain(text).re_search(regex), text, ibis.null("string"))

    def moment_parts(self, text: Value, pattern: MomentPattern) -> dict[str, Value]:
        """Year … second of a date written as text, whole numbers; 0 where it lacks them."""

        def piece(place: int) -> Value:
            return self.plain(text).re_extract(pattern.regex, place)

        return pattern.parts(
            piece,
            lambda found: found.nullif("").fill_null("0").cast("int64"),
            ibis.literal(0, "int64"),
            self,
        )

    def rewritten(self, text: Value, regex: str, plain: str) -> Value:
        """The text that a regular expression matches as a whole, as its groups spell it."""
        return self.plain(text).re_replace(regex, plain)

    def replaced(self, text: Value, old: str, new: str) -> Value:
        """The text with other text in place of all that is equal to `old`."""
        return text.replace(old, new)

    def whole_text(self, number: Value) -> Value:
        """The text of a whole number; unknown if it is not whole or beyond ±2**52."""
        small = ibis.ifelse(number.abs() <= LARGEST_INTEGER, number, ibis.null("float64"))
        whole = small.floor().cast("int64")
        return ibis.ifelse(whole == small, whole, ibis.null("int64")).cast("string")

    def lower(self, text: Value) -> Value:
        """Text in lower case; outside ASCII as the engine has it, which no word of ours needs."""
        return text.lower()

    def position(self, text: Value, labels: tuple[str, ...], otherwise: Value) -> Value:
        """Where the stripped text stands among the labels; `otherwise` if nowhere."""
        return self._position(text, labels, otherwise)

    def filled(self, text: Value) -> Value:
        """Whether there is text other than whitespace."""
        return text.strip() != ""

    def known(self, number: Value) -> Value:
        """Whether there is a number."""
        return number.notnull()

    def where(self, condition: Value, yes: Value, no: Value) -> Value:
        """`yes` where the condition holds, `no` where it fails or is unknown."""
        return ibis.ifelse(condition, yes, no)

    def first(self, cases: Sequence[tuple[Value, int]], otherwise: Value) -> Value:
        """The value beside the first condition that holds; `otherwise` if none does."""
        return ibis.cases(*cases, else_=otherwise) if cases else otherwise

    def clamp(self, number: Value, low: float, high: float) -> Value:
        """The number, moved to the nearer end if it lies outside; anything if it is unknown."""
        return ibis.least(ibis.greatest(number, low), high)

    def floor(self, number: Value) -> Value:
        """The greatest whole number below a double, as an integer; anything if it is unknown."""
        return number.floor().cast("int64")

    def search(self, number: Value, edges: tuple[float, ...]) -> Value:
        """How many of the increasing edges are at most the number, as a tree of comparisons."""
        return self._search(number, edges, 0, len(edges))

    def _search(self, number: Value, edges: tuple[float, ...], low: int, high: int) -> Value:
        if low == high:
            return ibis.literal(low, "int64")
        middle = (low + high) // 2
        left = self._search(number, edges, low, middle)
        right = self._search(number, edges, middle + 1, high)
        return ibis.ifelse(number < edges[middle], left, right)

    def _number_text(self, value: Value) -> Value:
        """Text that our grammar takes for a number; null otherwise."""
        none = ibis.null("string")
        fits = ibis.ifelse(self.plain(value).re_search(NUMBER), value, none)
        if self._try_cast:
            # A regular expression costs more than the cast itself, and DuckDB's cast differs
            # from our grammar only on text with an exponent, an underscore or a plus sign.
            odd = value.contains("e") | value.contains("E") | value.contains("_")
            odd = odd | value.contains("+")
            fits = ibis.ifelse(odd, fits, value)
        return ibis.ifelse(value.length() <= LONGEST_NUMBER, fits, none)


def _within_doubles(decimal: Value) -> Value:
    """The decimal, unknown where it is too large for a double and 0 where it is too small."""
    large, small = ibis.literal(Decimal(10) ** 300), ibis.literal(Decimal(10) ** -300)
    exact = ibis.ifelse((decimal < small) & (decimal > -small), 0, decimal)
    return ibis.ifelse((decimal < large) & (decimal > -large), exact, ibis.null(decimal.type()))


def _ends_of_time(kind: Value) -> tuple[Value, Value]:
    """The first and the last second of the calendar, in a type of timestamps.

    In their own type, because coarse timestamps reach further than others can hold.
    """
    zone = None if kind.timezone is None else dt.UTC
    last = dt.datetime.max.replace(microsecond=0, tzinfo=zone)
    first = dt.datetime.min.replace(tzinfo=zone)
    return ibis.literal(first).cast(kind), ibis.literal(last).cast(kind)


def ibis_storage(name: str, kind: Value) -> Storage:
    """How an engine stores a column; refused if its values are not single cells."""
    if kind.is_string() or kind.is_null():
        return Storage.TEXT
    if kind.is_boolean():
        return Storage.BOOLEAN
    if kind.is_integer():
        return Storage.INTEGER
    if kind.is_floating() or kind.is_decimal():
        return Storage.FLOAT
    if kind.is_date():
        return Storage.DATE
    if kind.is_timestamp():
        return Storage.TIMESTAMP
    raise unusable_storage(name, str(kind))


def coded_table(  # noqa: PLR0913 - the last three by name
    table: Value,
    encoding: Encoding,
    columns: Mapping[str, str],
    ops: IbisOps,
    *,
    as_stored: Collection[str] = (),
    as_read: Collection[str] = (),
    also: Mapping[str, Value] | None = None,
) -> Value:
    """The table of codes, under the names of `code_names`: a question not asked yet.

    Reading and coding are two nested selects, because a code looks at what was read several
    times and SQL would otherwise read as often. Columns named in `as_stored` come as they are, and
    those in `as_read` as the one number that they are read as, for `code_batch` to code. `also`
    names columns to carry along.
    """
    names = code_names(encoding)
    readings: dict[str, dict[str, Value]] = {}
    carried = dict(also or {})
    read: dict[str, Value] = {}
    for name, cells in encoding.cells.items():
        value = table[columns[name]]
        storage = ops.storage(name, value.type())
        check_storage(cells.column, storage)
        if storage is Storage.TEXT:
            value = value.cast("string")
        if name in as_stored:
            carried[names[name]] = ops.stored(value, storage)
            continue
        value = ops.stored(value, storage)
        if name in as_read:
            (carried[names[name]],) = cells.read(value, storage, ops)
            continue
        readings[name] = {
            f"{names[name]}_{place}": reading
            for place, reading in enumerate(cells.read(value, storage, ops))
        }
        read |= readings[name]
    stage = set_apart(table.select(**read, **carried), "understudy_read")
    codes = {
        names[name]: encoding.cells[name].code(tuple(stage[column] for column in inputs), ops)
        for name, inputs in readings.items()
    }
    return stage.select(**codes, **{name: stage[name] for name in carried})


def set_apart(query: Value, name: str) -> Value:
    """The same query under a name at the top of its text, where an engine needs that.

    Ibis writes selects one within the other, and what is used twice twice. For codes of dates that
    is too deep for SQLite's parser.
    """
    return query.alias(name) if query.get_backend().name == "sqlite" else query


def code_batch(
    batch: pa.RecordBatch,
    encoding: Encoding,
    as_stored: Collection[str],
    as_read: Collection[str] = (),
) -> dict[str, NDArray[np.unsignedinteger]]:
    """By column, the codes in a batch of `coded_table`, with those coded that came without."""
    codes = {}
    for name, column in code_names(encoding).items():
        cells = batch.column(column)
        if name in as_stored:
            codes[name] = encoding.column_codes(name, cells)
        elif name in as_read:
            codes[name] = encoding.number_codes(name, cells)
        else:
            codes[name] = cells.to_numpy().astype(encoding.dtype(name), copy=False)
    return codes


def code_names(encoding: Encoding) -> dict[str, str]:
    """By public name, the column of codes in an engine."""
    return {name: f"code{place}" for place, name in enumerate(encoding.cells)}
