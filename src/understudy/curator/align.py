"""Reads tables alike: the same columns, of the same types, with the same labels.

A column holds numbers (dates count seconds) or labels. Which of the two follows from its storage
and, in text, from its cells: numbers if all of them read as numbers in every table. A schema
overrules that.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.column import LARGEST_INTEGER, Column, Kind, Source
from understudy.curator.tables import ComparedColumn, Rows, Sort, Tables
from understudy.encode.arrow_ops import ArrowOps, arrow_storage, plain_array, valid_text
from understudy.encode.labels import NO_WORDS, YES_WORDS
from understudy.encode.ops import (
    MomentPattern,
    Storage,
    check_storage,
    is_moment,
    seconds_since_1970,
)
from understudy.errors import BadInput, SourceError, UnknownColumn, listed
from understudy.schema import Schema

_REAL, _SYNTHETIC, _TEST = "real", "synthetic", "test"
_FEW_VALUES = 64
_FEW_NAMES = 100
LARGEST = 1e100
"""Numbers beyond are moved here, so that squares and their sums stay within a double."""
_FLAGS = {*NO_WORDS, *YES_WORDS}
_MISSING = {"", "nan"}
_NOTHING = "No column is left to compare. Say what columns hold with --schema."


def align(  # noqa: PLR0913 - one per choice
    real: pa.Table,
    synthetic: pa.Table,
    test: pa.Table | None = None,
    *,
    schema: Schema | None = None,
    without: Collection[str] = (),
    named: Collection[str] = (),
) -> Tables:
    """The tables, read alike; refused if they do not have the same columns of the same types.

    `named` columns were asked for, and are compared even if they look like names.
    """
    tables = {_REAL: real, _SYNTHETIC: synthetic} | ({} if test is None else {_TEST: test})
    facts = {} if schema is None else {column.name: column for column in schema}
    present = dict.fromkeys(name for table in tables.values() for name in table.column_names)
    for name in without:
        if name not in present:
            raise UnknownColumn(name, present)
    released = {name for name, column in facts.items() if column.coded}
    dropped = {*without, *(facts.keys() - released)}
    names = _kept(tables, dropped)
    columns: list[ComparedColumn] = []
    numbers: dict[str, dict[str, NDArray[np.float64]]] = {which: {} for which in tables}
    codes: dict[str, dict[str, NDArray[np.int32]]] = {which: {} for which in tables}
    left_out = [name for name in real.column_names if name in dropped]
    shared: dict[str, tuple[int, int]] = {}
    for name in names:
        fact = facts.get(name)
        stored = _stored(name, tables)
        sort = None if stored is None else _sort(name, stored, fact)
        if stored is None or sort is None:
            left_out.append(name)
            continue
        if fact is None and name not in named and _names_rows(sort, stored[_REAL]):
            left_out.append(name)
            shared[name] = _shared(stored)
            continue
        labels: tuple[str | None, ...] = ()
        if not sort.counted:
            labels, places = _coded(stored, sort, fact)
        for which, cells in stored.items():
            if sort.counted:
                numbers[which][name] = cells.numbers(sort, fact)
            else:
                codes[which][name] = places[which]
        columns.append(ComparedColumn(name, sort, labels))
    if not columns:
        raise BadInput(_NOTHING)
    rows = {which: Rows(tables[which].num_rows, numbers[which], codes[which]) for which in tables}
    return Tables(
        tuple(columns), rows[_REAL], rows[_SYNTHETIC], rows.get(_TEST), tuple(left_out), shared
    )


def _kept(tables: Mapping[str, pa.Table], dropped: Collection[str]) -> list[str]:
    """The columns to compare; refused if not all tables have them."""
    names = [name for name in tables[_REAL].column_names if name not in dropped]
    if not names:
        raise BadInput(_NOTHING)
    for which, table in tables.items():
        _check_names(which, [name for name in table.column_names if name not in dropped], names)
    return names


@dataclass(frozen=True, eq=False)
class _Stored:
    """One column of one table: its distinct values, and where they stand."""

    storage: Storage
    values: pa.Array
    places: NDArray[np.intp]

    @classmethod
    def of(cls, name: str, column: pa.ChunkedArray) -> "_Stored":
        cells = plain_array(column.combine_chunks())
        storage = arrow_storage(name, cells.type)
        coded = pc.dictionary_encode(valid_text(cells), null_encoding="encode")
        return cls(storage, coded.dictionary, coded.indices.to_numpy().astype(np.intp))

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Which of the values are there."""
        if self.storage is Storage.TEXT:
            return ArrowOps().filled(self.values)
        if self.storage is Storage.FLOAT:
            return ~np.isnan(ArrowOps().number(self.values, self.storage))
        return np.asarray(pc.is_valid(self.values))

    @property
    def sort(self) -> Sort | None:
        """What the values look like; nothing, if there are none."""
        if not self.filled.any():
            return None
        if self.storage is Storage.BOOLEAN:
            return Sort.FLAG
        if self.storage in {Storage.INTEGER, Storage.FLOAT}:
            return Sort.NUMBER
        if self.storage is not Storage.TEXT:
            return Sort.MOMENT
        for sort in (Sort.NUMBER, Sort.MOMENT):
            if not np.isnan(self._numbers(sort, None)[self.filled]).any():
                return sort
        return Sort.FLAG if _lower(self.texts(Sort.LABEL)) <= _FLAGS else Sort.LABEL

    def numbers(self, sort: Sort, fact: Column | None) -> NDArray[np.float64]:
        """A number per row."""
        numbers = self._numbers(sort, fact)
        return np.clip(numbers, -LARGEST, LARGEST).take(self.places)

    def texts(self, sort: Sort, *, whole: bool = False) -> list[str | None]:
        """The distinct values as text, whole numbers without a point; None if missing.

        `whole`: read text as numbers, where a schema says that they stand for labels.
        """
        if self.storage is Storage.FLOAT or whole:
            numbers = ArrowOps().number(self.values, self.storage).tolist()
            values = [number if number % 1 else int(number) for number in numbers]
        elif self.storage in {Storage.DATE, Storage.TIMESTAMP}:
            values = pc.cast(self.values, pa.string()).to_pylist()
        else:
            values = ArrowOps().text(self.values, self.storage).to_pylist()
        texts = ["" if value is None else str(value).strip() for value in values]
        known = [flag(text) if sort is Sort.FLAG else text for text in texts]
        return [None if text in _MISSING else text for text in known]

    def _numbers(self, sort: Sort, fact: Column | None) -> NDArray[np.float64]:
        ops = ArrowOps()
        if sort is Sort.NUMBER:
            return ops.number(self.values, self.storage)
        if self.storage is not Storage.TEXT:
            return ops.moment(self.values, self.storage)
        pattern = MomentPattern(None if fact is None else fact.format)
        dated = ops.matching(self.values, pattern.regex)
        parts = ops.moment_parts(dated, pattern)
        exists = np.asarray(pc.is_valid(dated)) & np.asarray(is_moment(parts, ops))
        return np.where(exists, seconds_since_1970(parts, ops), np.nan)


def flag(text: str) -> str:
    """A truth value, however it is written, as true or false."""
    word = text.lower()
    return "true" if word in YES_WORDS else "false" if word in NO_WORDS else text


def _stored(name: str, tables: Mapping[str, pa.Table]) -> dict[str, _Stored] | None:
    """The column in each table; nothing, if its cells are lists, bytes or the like."""
    try:
        return {which: _Stored.of(name, table[name]) for which, table in tables.items()}
    except SourceError:
        return None


def _check_names(which: str, found: list[str], names: list[str]) -> None:
    absent = [name for name in names if name not in found]
    extra = [name for name in found if name not in names]
    if len(set(found)) < len(found):
        msg = f"The {which} table has columns of the same name. Rename them."
        raise BadInput(msg)
    if absent or extra:
        told = [f"it lacks {listed(absent)}"] if absent else []
        told += [f"it alone has {listed(extra)}"] if extra else []
        msg = (
            f"The {which} table does not have the columns of the real one: {' and '.join(told)}. "
            "Give both the same columns, or leave some out of the comparison with --without."
        )
        raise BadInput(msg)


def _sort(name: str, stored: Mapping[str, _Stored], fact: Column | None) -> Sort:
    """What the column is compared as; refused if the tables disagree."""
    found = {which: sort for which, cells in stored.items() if (sort := cells.sort) is not None}
    if fact is not None and fact.kind is not Kind.UNKNOWN:
        # What a release could only find to be labels may be numbers: those it tells stay numbers,
        # and the others are missing.
        looks = found.get(_REAL)
        bought = fact.source is Source.BOUGHT and not fact.kind.numeric
        return (
            looks
            if bought and looks is not None and looks.counted
            else _declared(name, stored, fact)
        )
    sorts = set(found.values())
    if not sorts:
        return Sort.LABEL
    if len(sorts) == 1:
        return sorts.pop()
    if Sort.MOMENT not in sorts:
        texts = [_lower(cells.texts(Sort.LABEL)) for cells in stored.values()]
        if Sort.LABEL not in sorts and all(words <= _FLAGS for words in texts):
            return Sort.FLAG
        if Sort.LABEL in sorts and all(words & texts[0] for words in texts if words):
            stored_flag = any(cells.storage is Storage.BOOLEAN for cells in stored.values())
            return Sort.FLAG if stored_flag else Sort.LABEL
    told = " and ".join(f"{sort}s in the {which} table" for which, sort in found.items())
    msg = (
        f"Column {name!r} holds {told}. Write it the same way in all tables, say what it holds "
        "with --schema, or leave it out with --without."
    )
    raise BadInput(msg)


def _lower(texts: Collection[str | None]) -> set[str]:
    return {text.lower() for text in texts if text is not None}


def _declared(name: str, stored: Mapping[str, _Stored], fact: Column) -> Sort:
    """What the schema says that the column is; refused if a table holds something else."""
    for cells in stored.values():
        check_storage(fact, cells.storage)
    if fact.kind is Kind.BOOLEAN:
        return Sort.FLAG
    if not fact.kind.numeric:
        return Sort.LABEL
    sort = Sort.NUMBER if fact.kind in {Kind.INTEGER, Kind.REAL} else Sort.MOMENT
    for which, cells in stored.items():
        wrong_storage = cells.storage is not Storage.TEXT and cells.sort not in {sort, None}
        if wrong_storage or (
            cells.filled.any()
            and np.isnan(cells.numbers(sort, fact)[cells.filled.take(cells.places)]).mean() > 0.5  # noqa: PLR2004
        ):
            msg = (
                f"Column {name!r} holds {fact.kind}s by the schema, and something else in the "
                f"{which} table. Correct the schema or the table, or leave the column out with "
                "--without."
            )
            raise BadInput(msg)
    return sort


def _names_rows(sort: Sort, cells: _Stored) -> bool:
    """Whether the values look like names or numbers of rows, of which no two are alike."""
    rows, different = len(cells.places), len(cells.values)
    if sort is Sort.LABEL:
        return different > _FEW_NAMES and 2 * different > rows
    if sort is not Sort.NUMBER or different < rows or rows <= _FEW_VALUES:
        return False
    numbers = cells.numbers(sort, None)
    whole = (np.floor(numbers) == numbers) & (np.abs(numbers) < LARGEST_INTEGER)
    return bool(np.all(whole))


def _shared(stored: Mapping[str, _Stored]) -> tuple[int, int]:
    """How many synthetic and test rows have a value that a real row has too."""
    known = {text for text in stored[_REAL].texts(Sort.LABEL) if text is not None}
    counts = []
    for which in (_SYNTHETIC, _TEST):
        if which in stored:
            told = np.array([text in known for text in stored[which].texts(Sort.LABEL)], bool)
            counts.append(int(told.take(stored[which].places).sum()))
        else:
            counts.append(0)
    return counts[0], counts[1]


def _coded(
    stored: Mapping[str, _Stored], sort: Sort, fact: Column | None
) -> tuple[tuple[str | None, ...], dict[str, NDArray[np.int32]]]:
    """Labels of all tables, the most common first, and codes.

    Real and test rows count alike for the order, so that it gives no member away.
    """
    whole = fact is not None and isinstance((fact.categories or ("",))[0], int)
    texts = {which: cells.texts(sort, whole=whole) for which, cells in stored.items()}
    counts: Counter[str] = Counter()
    for which, cells in stored.items():
        rows = np.bincount(cells.places, minlength=len(cells.values)).tolist()
        for text, count in zip(texts[which], rows, strict=True):
            if text is not None:
                counts[text] += count if which != _SYNTHETIC else 0
    labels = sorted(counts, key=lambda text: (-counts[text], text))
    place = {text: k for k, text in enumerate(labels)}
    codes = {
        which: np.array(
            [len(labels) if text is None else place[text] for text in texts[which]], np.int32
        ).take(cells.places)
        for which, cells in stored.items()
    }
    missing = any((values == len(labels)).any() for values in codes.values())
    return (*labels, None) if missing or not labels else tuple(labels), codes
