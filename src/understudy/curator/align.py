"""Reads tables alike: the same columns, of the same types, with the same labels.

A column holds numbers (dates count seconds) or labels. Which of the two follows from its storage
and, in text, from its cells: numbers if all of them read as numbers in every table. A schema
overrules that.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.column import Column, Kind
from understudy.curator.tables import ComparedColumn, Rows, Sort, Tables
from understudy.encode.arrow_ops import ArrowOps, arrow_storage, plain_array, valid_text
from understudy.encode.labels import NO_WORDS, YES_WORDS
from understudy.encode.ops import MomentPattern, Storage, is_moment, seconds_since_1970
from understudy.errors import BadInput, SourceError, UnknownColumn, listed
from understudy.schema import Schema

_REAL, _SYNTHETIC, _TEST = "real", "synthetic", "test"
MOST_LABELS = 250
"""The rarest of more labels share one; boosting takes no more than 255."""
RARER = "(rarer values)"
_FEW_VALUES = 64
_FEW_NAMES = 100
LARGEST = 1e100
"""Numbers beyond are moved here, so that squares and their sums stay within a double."""
_FLAGS = {*NO_WORDS, *YES_WORDS}
_MISSING = {"", "nan"}


def align(
    real: pa.Table,
    synthetic: pa.Table,
    test: pa.Table | None = None,
    *,
    schema: Schema | None = None,
    without: Collection[str] = (),
) -> Tables:
    """The tables, read alike; refused if they do not have the same columns of the same types."""
    tables = {_REAL: real, _SYNTHETIC: synthetic} | ({} if test is None else {_TEST: test})
    facts = {} if schema is None else {column.name: column for column in schema}
    for name in without:
        if name not in real.column_names:
            raise UnknownColumn(name, real.column_names)
    released = {name for name, column in facts.items() if column.coded}
    dropped = {*without, *(facts.keys() - released)}
    names = _kept(tables, dropped)
    columns: list[ComparedColumn] = []
    numbers: dict[str, dict[str, NDArray[np.float64]]] = {which: {} for which in tables}
    codes: dict[str, dict[str, NDArray[np.int32]]] = {which: {} for which in tables}
    left_out = [name for name in real.column_names if name in dropped]
    for name in names:
        fact = facts.get(name)
        stored = _stored(name, tables)
        sort = None if stored is None else _sort(name, stored, fact)
        if stored is None or sort is None or (fact is None and _names_rows(sort, stored[_REAL])):
            left_out.append(name)
            continue
        labels: tuple[str | None, ...] = ()
        if not sort.counted:
            labels, places = _coded(stored, sort)
        for which, cells in stored.items():
            if sort.counted:
                numbers[which][name] = cells.numbers(sort, fact)
            else:
                codes[which][name] = places[which]
        columns.append(ComparedColumn(name, sort, labels))
    rows = {which: Rows(tables[which].num_rows, numbers[which], codes[which]) for which in tables}
    return Tables(tuple(columns), rows[_REAL], rows[_SYNTHETIC], rows.get(_TEST), tuple(left_out))


def _kept(tables: Mapping[str, pa.Table], dropped: Collection[str]) -> list[str]:
    """The columns to compare; refused if not all tables have them."""
    names = [name for name in tables[_REAL].column_names if name not in dropped]
    if not names:
        msg = "No column is left to compare."
        raise BadInput(msg)
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

    def texts(self, sort: Sort) -> list[str | None]:
        """The distinct values as text, whole numbers without a point; None if missing."""
        if self.storage is Storage.FLOAT:
            numbers = ArrowOps().number(self.values, self.storage).tolist()
            values = [number if number % 1 else int(number) for number in numbers]
        else:
            values = ArrowOps().text(self.values, self.storage).to_pylist()
        texts = ["" if value is None else str(value).strip() for value in values]
        known = [_flag(text) if sort is Sort.FLAG else text for text in texts]
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


def _flag(text: str) -> str:
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
        return _declared(name, stored, fact)
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
            return Sort.LABEL
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
    return bool(np.all(np.floor(numbers) == numbers))


def _coded(
    stored: Mapping[str, _Stored], sort: Sort
) -> tuple[tuple[str | None, ...], dict[str, NDArray[np.int32]]]:
    """Labels of all tables, the real table's most common first, and codes."""
    texts = {which: cells.texts(sort) for which, cells in stored.items()}
    labels: dict[str, int] = {}
    for which, cells in stored.items():
        counts = np.bincount(cells.places, minlength=len(cells.values)).tolist()
        common = sorted(zip(texts[which], counts, strict=True), key=lambda pair: -pair[1])
        for text, _ in common:
            if text is not None:
                labels.setdefault(text, len(labels))
    kept: list[str | None] = list(labels)
    if len(kept) > MOST_LABELS:
        kept = [*kept[: MOST_LABELS - 1], RARER]
    last, missing = len(kept) - 1, len(kept)
    codes = {}
    for which, cells in stored.items():
        of_values = [missing if text is None else min(labels[text], last) for text in texts[which]]
        codes[which] = np.array(of_values, np.int32).take(cells.places)
    any_missing = any((values == missing).any() for values in codes.values())
    return (*kept, None) if any_missing or not kept else tuple(kept), codes
