"""Columns of a pandas frame, each cell read by itself.

One cell without a value turns whole numbers into fractions, and one stray text turns a column into
objects. So the type of a column is no public fact: every cell becomes the text that an owner would
write for it, whatever the other cells are.
"""

import contextlib
import datetime as dt
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import Column, Kind
from understudy.encode.arrow_ops import is_text, plain_array, plain_type, readable
from understudy.encode.moments import written_moment
from understudy.errors import SourceError

_EXACT = 2**53
"""From it on, a double does not tell neighbouring whole numbers apart."""
_LARGEST = 1e299
"""The grammar of numbers ends here; larger ones are clamped, smaller ones are zero."""
_FIRST = np.datetime64("0001-01-01T00:00:00", "s")
_LAST = np.datetime64("9999-12-31T23:59:59", "s")
_TICKS = {"ms": 10**3, "us": 10**6, "ns": 10**9}
Texts = list[str | None]


@dataclass(frozen=True)
class CellWriter:
    """Writes the cells of a column in the spelling in which the schema reads text."""

    flags: tuple[str, str] = ("false", "true")
    moments: str | None = None
    """The declared format of dates."""
    decimal: str = "."
    """The decimal mark."""
    exact: bool = False
    """Whether numbers that a double cannot hold exactly are missing, as ids must be."""

    @classmethod
    def of(cls, column: Column | None, *, exact: bool) -> "CellWriter":
        """The spelling for what is declared about a column."""
        if column is None:
            return cls(exact=exact)
        numbers = column.kind in {Kind.INTEGER, Kind.REAL} or (
            bool(column.categories) and type((column.categories or ("",))[0]) is int
        )
        flags = ("0", "1") if numbers else ("false", "true")
        return cls(flags, column.format, column.decimal or ".", exact)

    def texts(self, column: Any) -> pa.Array:  # noqa: ANN401 - pandas ships no types
        """The cells of a pandas column."""
        kind = str(column.dtype)
        if kind == "category":
            labels = self._objects(column.cat.categories)
            places = column.cat.codes.to_numpy()
            return labels.take(pa.array(places, mask=places < 0))
        if "object" not in kind:  # of objects, Arrow would take a type that all cells together have
            with contextlib.suppress(Exception):  # what libraries say may quote cells
                texts = self._typed(pa.Array.from_pandas(column))
                if texts is not None:
                    return texts
        return self._objects(column)

    def _typed(  # noqa: PLR0911 - a table of cases
        self, array: pa.Array
    ) -> pa.Array | None:
        """Cells of a type that says all about them, faster than one by one and to the same end."""
        if pa.types.is_boolean(array.type):
            return _text_array([None if c is None else self.flags[c] for c in array.to_pylist()])
        if pa.types.is_floating(array.type):
            numbers = _doubles(array)
            inexact = np.abs(numbers) >= _exact(array.type.to_pandas_dtype())
            return self._numbers(np.where(inexact & self.exact, np.nan, numbers))
        if pa.types.is_integer(array.type):
            return self._whole_numbers(array)
        if is_text(plain_type(array.type)):
            return readable(array).cast(pa.large_string())
        if pa.types.is_date(array.type):
            days, pattern = plain_array(array).to_pylist(), self.moments or "%Y-%m-%d"
            texts = [None if day is None else written_moment(day, pattern) for day in days]
            return _text_array(texts)
        if pa.types.is_timestamp(array.type) and not self.exact:
            array = plain_array(array)
            seconds = np.asarray(array.cast(pa.int64()).fill_null(0)) // 10**6
            moments = seconds.astype("datetime64[s]")
            moments[np.asarray(array.is_null())] = np.datetime64("NaT")
            return _text_array(self._moments(moments))
        return None

    def _whole_numbers(self, array: pa.Array) -> pa.Array:
        numbers = np.asarray(array.fill_null(0))
        if ((numbers < _EXACT) & (numbers > -_EXACT)).all():
            return array.cast(pa.large_string())
        doubles = np.where(np.asarray(array.is_null()), np.nan, numbers.astype(np.float64))
        return self._numbers(doubles)

    def _numbers(self, numbers: NDArray[np.float64]) -> pa.Array:
        """Whole numbers without a point, fractions with as many digits as they need."""
        known = np.isfinite(numbers)
        numbers = np.clip(np.where(known, numbers, 0.0), -_LARGEST, _LARGEST)
        numbers = np.where(np.abs(numbers) < 1 / _LARGEST, 0.0, numbers)
        beyond = np.abs(numbers) >= _EXACT
        whole = (np.floor(numbers) == numbers) & ~beyond
        integers = pa.array(np.where(whole, numbers, 0).astype(np.int64)).cast(pa.large_string())
        if whole.all() and known.all():
            return integers
        texts = np.array(integers.to_pylist(), object)
        fractions = known & ~whole & ~beyond
        texts[fractions] = [self._fraction(repr(one)) for one in numbers[fractions].tolist()]
        large = [self._fraction(f"{one:.16e}") for one in numbers[beyond].tolist()]
        texts[beyond] = [None] * len(large) if self.exact else large
        texts[~known] = None
        return _text_array(texts.tolist())

    def _fraction(self, text: str) -> str:
        """A number with the decimal mark by which text is read."""
        return text if self.decimal == "." else text.replace(".", self.decimal)

    def _moments(self, moments: NDArray[np.datetime64]) -> Texts:
        inside = np.clip(moments, _FIRST, _LAST)
        if self.moments is None:
            # As pandas writes moments itself, which is the default format, too.
            texts = [one.replace("T", " ") for one in np.datetime_as_string(inside, unit="s")]
        else:
            known = [one or dt.date.min for one in inside.tolist()]
            texts = [written_moment(one, self.moments) for one in known]
        return [None if none else text for none, text in zip(np.isnat(moments), texts, strict=True)]

    def _objects(
        self,
        cells: Any,  # noqa: ANN401 - pandas ships no types
    ) -> pa.Array:
        """Cells of any type, each by its own."""
        plain = [self._plain(cell) for cell in _each(cells)]
        texts: Texts = [
            cell if isinstance(cell, str) and _is_text(cell) else None for cell in plain
        ]
        numbers = [place for place, cell in enumerate(plain) if isinstance(cell, float)]
        moments = [place for place, cell in enumerate(plain) if isinstance(cell, np.datetime64)]
        written = self._numbers(np.array([plain[place] for place in numbers], np.float64))
        dated = self._moments(np.array([plain[place] for place in moments], "datetime64[s]"))
        for place, text in zip(numbers + moments, written.to_pylist() + dated, strict=True):
            texts[place] = text
        return _text_array(texts)

    def _plain(  # noqa: PLR0911 - a table of cases
        self, cell: object
    ) -> str | float | np.datetime64 | None:
        """A cell as text, a number or a moment; None where it is missing or cannot be read."""
        with contextlib.suppress(Exception):  # objects may raise anything
            match cell:
                case str():
                    return str.__str__(cell)  # a plain one, also of a kind of its own
                case bool() | np.bool_():
                    return self.flags[bool(cell)]
                case dt.timedelta() | np.timedelta64():  # the second is an integer, too
                    return _duration(cell)
                case int() | float() | np.integer() | np.floating():
                    return self._double(cell)
                case complex() | np.complexfloating():
                    # One such cell makes a column of numbers complex.
                    return float(cell.real) if cell.imag == 0 else None
                case dt.datetime() | np.datetime64():
                    return _instant(cell) if self.exact else _seconds(cell)
                case dt.date():
                    return written_moment(cell, self.moments or "%Y-%m-%d")
                case Decimal():
                    return self._fraction(str(cell)) if cell.is_finite() else None
                case _ if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
                    return None
                case _:
                    return str.__str__(str(cell))
        return None

    def _double(self, cell: Any) -> float | None:  # noqa: ANN401 - a number of any library
        """A number; None where it is not exact and must be."""
        inexact = isinstance(cell, np.floating) and abs(cell) >= _exact(type(cell))
        return None if self.exact and inexact else float(cell)


def text_columns(
    frame: Any,  # noqa: ANN401 - pandas ships no types
    facts: Mapping[str, Column],
    exact: Collection[str],
) -> list[pa.Array]:
    """The columns of a pandas frame as text."""
    writers = [CellWriter.of(facts.get(name), exact=name in exact) for name in frame_names(frame)]
    return [writer.texts(frame.iloc[:, place]) for place, writer in enumerate(writers)]


def typed_table(frame: Any) -> pa.Table:  # noqa: ANN401 - as above
    """A pandas frame with the types of its columns, which may depend on rows: for internal use."""
    names = frame_names(frame)
    columns = [_typed(frame.iloc[:, place], name) for place, name in enumerate(names)]
    return pa.table(columns, names=list(names))


def frame_names(frame: Any) -> tuple[str, ...]:  # noqa: ANN401 - as above
    """The names of a pandas frame's columns."""
    return tuple(str(name) for name in frame.columns)


def _typed(column: Any, name: str) -> pa.Array:  # noqa: ANN401 - as above
    if str(column.dtype) in {"object", "category"} or str(column.dtype).startswith("str"):
        return CellWriter().texts(column)
    with contextlib.suppress(Exception):  # what libraries say may quote cells
        return pa.Array.from_pandas(column)
    msg = (
        f"Column {name!r} has the pandas type {column.dtype}, which cannot be read. Convert it to "
        "text, numbers, booleans or dates first."
    )
    raise SourceError(msg)


def _each(cells: Any) -> Iterator[object]:  # noqa: ANN401 - pandas ships no types
    """The cells one by one; nothing in place of one that Python cannot hold."""
    with contextlib.suppress(Exception):
        yield from list(cells)
        return
    for place in range(len(cells)):
        cell = None
        with contextlib.suppress(Exception):
            cell = cells.array[place]
        yield cell


def _exact(kind: type[np.floating[Any]]) -> float:
    """From where on numbers of a type do not tell neighbouring whole numbers apart."""
    return float(2.0 ** min(np.finfo(kind).nmant + 1, 53))


def _doubles(array: pa.Array) -> NDArray[np.float64]:
    return np.asarray(array.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def _instant(cell: Any) -> str | None:  # noqa: ANN401 - a datetime of any library
    """A moment with all its digits, in UTC where the cell has a time zone."""
    if getattr(cell, "tzinfo", None) is not None:
        cell = cell.astimezone(dt.UTC)
    if str(cell) == "NaT":
        return None
    if not isinstance(cell, np.datetime64):
        return str(cell)
    # As pandas writes it, for other cells decide whether it comes as a moment of pandas.
    coarse = np.datetime_data(cell.dtype)[0] in {"Y", "M", "W", "D", "h", "m"}
    whole, _, digits = str(cell.astype("datetime64[s]") if coarse else cell).partition(".")
    digits = digits.rstrip("0")
    fraction = f".{digits:0<{6 if len(digits) <= 6 else 9}}" if digits else ""  # noqa: PLR2004
    return whole.replace("T", " ") + fraction


def _seconds(cell: Any) -> np.datetime64:  # noqa: ANN401 - a datetime of any library
    """Whole seconds, in UTC where the cell has a time zone."""
    if getattr(cell, "tzinfo", None) is not None:
        try:
            cell = cell.astimezone(dt.UTC).replace(tzinfo=None)
        except OverflowError:  # beyond the calendar by less than a day
            cell = cell.replace(tzinfo=None)
            return _FIRST if cell.year == dt.MINYEAR else _LAST
    moment: np.datetime64 = np.datetime64(getattr(cell, "asm8", cell))
    unit, step = np.datetime_data(moment.dtype)
    if np.isnat(moment) or unit not in _TICKS:
        whole: np.datetime64 = moment.astype("datetime64[s]")
        return whole
    # In whole numbers, for NumPy's own conversion turns the first second of a unit into its last.
    return np.datetime64(int(moment.astype(np.int64)) * step // _TICKS[unit], "s")


def _duration(cell: Any) -> str | None:  # noqa: ANN401 - a duration of any library
    """Days and a clock, as pandas writes them, in whichever type the cell comes."""
    nanoseconds = getattr(cell, "nanoseconds", 0)
    if isinstance(cell, np.timedelta64):
        micros = cell.astype("timedelta64[us]")
        nanoseconds = (cell - micros).astype("timedelta64[ns]").astype(int).item()
        cell = (micros - (nanoseconds < 0)).item()
        nanoseconds %= 1000
    if cell is None:
        return None
    minutes, seconds = divmod(cell.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{cell.microseconds:06d}" if cell.microseconds or nanoseconds else ""
    fraction += f"{nanoseconds:03d}" if nanoseconds else ""
    sign = "+" if cell.days < 0 else ""
    return f"{cell.days} days {sign}{hours:02d}:{minutes:02d}:{seconds:02d}{fraction}"


def _is_text(text: str) -> bool:
    """Whether there are only whole characters."""
    with contextlib.suppress(UnicodeEncodeError):
        text.encode()
        return True
    return False


def _text_array(texts: Texts) -> pa.Array:
    return pa.array(texts, pa.large_string())
