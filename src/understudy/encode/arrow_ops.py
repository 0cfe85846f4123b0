"""The rules' operations on Arrow and NumPy arrays."""

import contextlib
import re
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.column import LARGEST_INTEGER, WHITESPACE
from understudy.encode.moments import MomentPattern
from understudy.encode.ops import LONGEST_NUMBER, NUMBER, Storage, Value
from understudy.errors import SourceError


class ArrowOps:
    """Reads Arrow columns; everything after reading is NumPy. Unknown is null or NaN."""

    def text(self, value: Value, storage: Storage) -> Value:
        """Text as it stands, whole numbers without a point."""
        if storage is Storage.TEXT:
            return value
        if storage is Storage.BOOLEAN:
            return pc.if_else(value, "true", "false")
        return self.whole_text(self.number(value, storage))

    def number(self, value: Value, storage: Storage) -> NDArray[np.float64]:
        """A finite double."""
        if storage is Storage.TEXT:
            fits = pc.and_(
                pc.match_substring_regex(value, NUMBER),
                pc.less_equal(pc.utf8_length(value), LONGEST_NUMBER),
            )
            plain = pc.utf8_ltrim(pc.utf8_trim(value, WHITESPACE), "+")
            value = pc.if_else(fits, plain, None)
        elif pa.types.is_decimal(value.type):
            value = pc.cast(value, pa.string())  # the direct cast to a double is not exact
        elif storage is Storage.BOOLEAN:
            value = pc.cast(value, pa.uint8())
        # Not the default "safe" cast, which raises on integers beyond 2**53.
        doubles = _numpy(pc.cast(value, pa.float64(), safe=False))
        return np.where(np.isfinite(doubles), doubles, np.nan)

    def moment(self, value: Value, storage: Storage) -> NDArray[np.float64]:
        """Seconds since 1970-01-01 of a stored date or timestamp, a whole double."""
        if storage is Storage.DATE:
            return _numpy(pc.cast(value, pa.int32())) * 86400.0
        # Whole seconds are split off in integers, so that times before 1970 round down too.
        seconds = _numpy_integers(pc.cast(value, pa.int64())) // 10**6
        return np.where(_is_null(value), np.nan, seconds)

    def matching(self, text: Value, regex: str) -> Value:
        """The text where the regular expression finds something in it; unknown elsewhere."""
        return pc.if_else(pc.match_substring_regex(text, regex), text, None)

    def moment_parts(self, text: Value, pattern: MomentPattern) -> dict[str, Value]:
        """Year … second of a date written as text, whole numbers; 0 where it lacks them."""
        # Arrow wants every capturing group named.
        start, *rest = re.split(r"\((?!\?)", pattern.regex)
        named = start + "".join(f"(?P<g{k}>{piece}" for k, piece in enumerate(rest, start=1))
        groups = pc.extract_regex(text, named)

        def digits(piece: Value) -> NDArray[np.int64]:
            filled = pc.if_else(pc.equal(piece, ""), "0", piece)
            return _numpy_integers(pc.cast(filled, pa.int64()))

        return pattern.parts(
            lambda place: pc.struct_field(groups, f"g{place}"),
            digits,
            np.zeros(len(text), np.int64),
            self,
        )

    def rewritten(self, text: Value, regex: str, plain: str) -> Value:
        """The text that a regular expression matches as a whole, as its groups spell it."""
        return pc.replace_substring_regex(text, regex, plain)

    def replaced(self, text: Value, old: str, new: str) -> Value:
        """The text with other text in place of all that is equal to `old`."""
        return pc.replace_substring(text, old, new)

    def whole_text(self, number: NDArray[np.float64]) -> Value:
        """The text of a whole number; unknown if it is not whole or beyond ±2**52."""
        whole = (np.floor(number) == number) & (np.abs(number) <= LARGEST_INTEGER)
        integers = pa.array(np.where(whole, number, 0).astype(np.int64), mask=~whole)
        return pc.cast(integers, pa.string())

    def lower(self, text: Value) -> Value:
        """Text in ASCII lower case."""
        return pc.ascii_lower(text)

    def position(self, text: Value, labels: tuple[str, ...], otherwise: Value) -> Value:
        """Where the stripped text stands among the labels; `otherwise` if nowhere."""
        stripped = pc.utf8_trim(text, WHITESPACE)
        found = pc.index_in(stripped, value_set=pa.array(labels, stripped.type))
        return np.where(_is_null(found), otherwise, _numpy_integers(found))

    def filled(self, text: Value) -> NDArray[np.bool_]:
        """Whether there is text other than whitespace."""
        length = pc.utf8_length(pc.utf8_trim(text, WHITESPACE))
        return _numpy_integers(length) > 0

    def known(self, number: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether there is a number."""
        return ~np.isnan(number)

    def where(self, condition: Value, yes: Value, no: Value) -> Value:
        """`yes` where the condition holds, `no` elsewhere."""
        return np.where(condition, yes, no)

    def first(self, cases: Sequence[tuple[Value, int]], otherwise: Value) -> Value:
        """The value beside the first condition that holds; `otherwise` if none does."""
        found = otherwise
        for condition, value in reversed(cases):
            found = np.where(condition, value, found)
        return found

    def clamp(self, number: Value, low: float, high: float) -> Value:
        """The number, moved to the nearer end if it lies outside; anything if it is unknown."""
        return np.clip(number, low, high)

    def floor(self, number: NDArray[np.float64]) -> NDArray[np.int64]:
        """The greatest whole number below a double, as an integer; anything if it is unknown."""
        return np.floor(np.nan_to_num(number)).astype(np.int64)

    def search(self, number: NDArray[np.float64], edges: tuple[float, ...]) -> NDArray[np.int64]:
        """How many of the increasing edges are at most the number."""
        return np.searchsorted(np.asarray(edges), number, side="right")


_STORAGE = (
    (pa.types.is_string, Storage.TEXT),
    (pa.types.is_large_string, Storage.TEXT),
    (pa.types.is_boolean, Storage.BOOLEAN),
    (pa.types.is_integer, Storage.INTEGER),
    (pa.types.is_floating, Storage.FLOAT),
    (pa.types.is_decimal, Storage.FLOAT),
    (pa.types.is_date, Storage.DATE),
    (pa.types.is_timestamp, Storage.TIMESTAMP),
)


def arrow_storage(name: str, kind: pa.DataType) -> Storage:
    """How Arrow stores a column; refused if its values are not single cells."""
    plain = plain_type(kind)
    for holds, storage in _STORAGE:
        if holds(plain):
            return storage
    raise unusable_storage(name, str(kind))


def unusable_storage(name: str, kind: str) -> SourceError:
    """The refusal of a column whose storage type no rule reads."""
    return SourceError(
        f"Column {name!r} is stored as {kind}, which cannot be encoded. Convert it to text, a "
        f'number, a boolean or a date first, or give it role = "drop" in the schema.'
    )


_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FIRST_DAY, _LAST_DAY = -719162, 2932896
"""0001-01-01 and 9999-12-31, in days since 1970."""
_UNUSUAL = (
    (pa.types.is_null, pa.large_string()),
    (pa.types.is_string_view, pa.large_string()),
    (pa.types.is_float16, pa.float32()),
    (pa.types.is_decimal256, pa.float64()),
    (pa.types.is_date64, pa.date32()),
)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """A type that Arrow's functions and engines all take: no dictionaries, views or nulls."""
    if isinstance(kind, pa.UuidType):
        return pa.large_string()
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        # Text of which each value was held once can be too long for 32 bits when written out.
        plain = plain_type(kind.value_type)
        return {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(plain, plain)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    for unusual, plain in _UNUSUAL:
        if unusual(kind):
            return plain
    return kind


def plain_array(array: pa.Array) -> pa.Array:
    """The array in a plain type, dates and timestamps within the years 1 to 9999."""
    if isinstance(array.type, pa.UuidType):
        texts = [None if cell is None else str(cell) for cell in array.to_pylist()]
        return pa.array(texts, pa.large_string())
    if isinstance(array.type, pa.BaseExtensionType):
        return plain_array(array.storage)
    if pa.types.is_dictionary(array.type):
        return plain_array(array.dictionary).cast(plain_type(array.type)).take(array.indices)
    if pa.types.is_run_end_encoded(array.type):
        rows = np.arange(array.offset, array.offset + len(array))
        places = np.searchsorted(np.asarray(array.run_ends), rows, side="right")
        return plain_array(array.values).cast(plain_type(array.type)).take(pa.array(places))
    if pa.types.is_date(array.type) or pa.types.is_timestamp(array.type):
        return _within_calendar(array)
    kind = plain_type(array.type)
    if pa.types.is_decimal(array.type):
        array = _within_precision(array)
    if pa.types.is_decimal256(array.type):
        array = array.cast(pa.string())  # the direct cast to a double is not exact
    return array.cast(kind)


def readable(array: pa.Array) -> pa.Array:
    """The array in a plain type, with null in place of text that is not UTF-8."""
    return valid_text(plain_array(array))


def readable_as(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same, in the common type of several files."""
    plain = readable(array)
    if pa.types.is_decimal(plain.type) and pa.types.is_floating(kind):
        plain = plain.cast(pa.string())  # the direct cast to a double is not exact
    return plain.cast(kind, safe=False)


DICTIONARY = pa.dictionary(pa.int32(), pa.large_string())
"""Text of which each value is held once."""


def readable_dictionary(array: pa.Array) -> pa.Array:
    """Text as a dictionary, with null in place of text that is not UTF-8."""
    if not pa.types.is_dictionary(array.type):
        return readable(array).cast(pa.large_string()).dictionary_encode()
    values = readable(array.dictionary).cast(pa.large_string())
    places = array.indices.cast(pa.int32())
    if values.null_count:
        # A null belongs among the places, where every engine looks for it.
        lost = pc.is_null(values).take(places)
        places = pc.if_else(pc.fill_null(lost, fill_value=True), None, places)
        values = pc.fill_null(values, "")
    return pa.DictionaryArray.from_arrays(places, values)


def is_text(kind: pa.DataType) -> bool:
    """Whether the type is a plain one of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def common_type(kinds: Sequence[pa.DataType]) -> pa.DataType | None:
    """The plain type for the same column of several files; None where there is no such type.

    Numbers of all types are one kind of storage: a cell without a value can turn whole numbers
    into fractions where the file was written.
    """
    plain = list(dict.fromkeys(plain_type(kind) for kind in kinds if not pa.types.is_null(kind)))
    if len(plain) <= 1:
        return plain[0] if plain else plain_type(pa.null())
    if all(pa.types.is_signed_integer(kind) for kind in plain):
        return pa.int64()
    if all(_is_number(kind) for kind in plain):
        return pa.float64()
    if all(map(is_text, plain)):
        return pa.large_string()
    return None


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _within_calendar(array: pa.Array) -> pa.Array:
    """Dates in days and timestamps in microseconds; what no calendar holds, moved to its end."""
    kind = plain_type(array.type)
    if pa.types.is_date(array.type):
        short = array.type == pa.date32()  # in days; the other kind counts milliseconds
        counts = _numpy_integers(array.cast(pa.int32() if short else pa.int64()))
        days = np.clip(counts // (1 if short else 86_400_000), _FIRST_DAY, _LAST_DAY)
        return pa.array(days.astype(np.int32), mask=_is_null(array)).cast(kind)
    ticks = _TICKS[array.type.unit]
    counts = _numpy_integers(array.cast(pa.int64()))
    first, last = _FIRST_DAY * 86400 * ticks, ((_LAST_DAY + 1) * 86400 * ticks) - 1
    ends = np.iinfo(np.int64)
    counts = np.clip(counts, max(first, ends.min), min(last, ends.max))
    micros = counts * (10**6 // ticks) if ticks <= 10**6 else counts // (ticks // 10**6)
    return pa.array(micros, mask=_is_null(array)).cast(kind)


def _within_precision(array: pa.Array) -> pa.Array:
    """Decimals, with null in place of those with more digits than their type has.

    A file can hold them, and an engine that narrows the others leaves these as chance has it.
    """
    with contextlib.suppress(pa.ArrowInvalid):
        array.validate(full=True)
        return array
    kind = array.type
    most = Decimal(1).scaleb(kind.precision - kind.scale)
    cells = [
        None if cell is None or cell.copy_abs() >= most else cell for cell in array.to_pylist()
    ]
    return pa.array(cells, kind)


def valid_text(column: pa.Array) -> pa.Array:
    """The column, with null in place of text that is not UTF-8."""
    if not is_text(column.type):
        return column
    with contextlib.suppress(pa.ArrowInvalid):
        column.validate(full=True)
        return column
    cells = column.cast(pa.large_binary()).to_pylist()
    return pa.array([_decoded(cell) for cell in cells], column.type)


def _decoded(cell: bytes | None) -> str | None:
    with contextlib.suppress(UnicodeDecodeError):
        return None if cell is None else cell.decode("utf-8")
    return None


def _is_null(value: Value) -> NDArray[np.bool_]:
    return np.asarray(pc.is_null(value))


def _numpy(value: Value) -> NDArray[np.float64]:
    return np.asarray(value.to_numpy(zero_copy_only=False), dtype=np.float64)


def _numpy_integers(value: Value) -> NDArray[np.int64]:
    return np.asarray(pc.fill_null(value, 0).to_numpy(zero_copy_only=False)).astype(np.int64)
