"""Reads tables alike: the same columns, of the same types, with the same labels.

A column holds numbers (dates count seconds) or labels. Which of the two follows from its storage
and, in text, from its cells: numbers if all of them read as numbers in every table. A schema
overrules that.
"""

from collections import Counter
from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.column import LARGEST_INTEGER, Column, Kind, Source
from understudy.curator.stored import FLAGS, StoredColumn
from understudy.curator.tables import REAL, SYNTHETIC, TEST, ComparedColumn, Rows, Sort, Tables
from understudy.encode.ops import Storage, check_storage
from understudy.errors import BadInput, SourceError, UnknownColumn, listed
from understudy.schema import Schema

_FEW_VALUES = 64
_FEW_NAMES = 100
_NOTHING = "No column is left to compare. Say what columns hold with --schema."


def align(  # noqa: PLR0913 - one per choice
    real: pa.Table,
    synthetic: pa.Table,
    test: pa.Table | None = None,
    *,
    schema: Schema | None = None,
    without: Collection[str] = (),
    named: Collection[str] = (),
    settled: Mapping[str, Sort] | None = None,
) -> Tables:
    """The tables, read alike; refused if they do not have the same columns of the same types.

    `named` columns were asked for, and are compared even if they look like names. Where it is
    `settled` what columns are compared as, others of the real table are left out.
    """
    tables = {REAL: real, SYNTHETIC: synthetic} | ({} if test is None else {TEST: test})
    facts = {} if schema is None else {column.name: column for column in schema}
    present = dict.fromkeys(name for table in tables.values() for name in table.column_names)
    for name in without:
        if name not in present:
            raise UnknownColumn(name, present)
    dropped = {*without, *(name for name, column in facts.items() if not column.coded)}
    dropped |= set() if settled is None else {*real.column_names} - settled.keys()
    named = {*named, *(settled or ())}
    names = _kept(tables, dropped)
    columns: list[ComparedColumn] = []
    numbers: dict[str, dict[str, NDArray[np.float64]]] = {which: {} for which in tables}
    codes: dict[str, dict[str, NDArray[np.int32]]] = {which: {} for which in tables}
    left_out = [name for name in real.column_names if name in dropped]
    shared: dict[str, tuple[int, int]] = {}
    for name in names:
        fact = facts.get(name)
        stored = _stored(name, tables)
        if stored is None:
            left_out.append(name)
            continue
        sort = _sort(name, stored, fact, settled)
        if fact is None and name not in named and _names_rows(sort, stored[REAL]):
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
        tuple(columns), rows[REAL], rows[SYNTHETIC], rows.get(TEST), tuple(left_out), shared
    )


def _kept(tables: Mapping[str, pa.Table], dropped: Collection[str]) -> list[str]:
    """The columns to compare; refused if not all tables have them."""
    names = [name for name in tables[REAL].column_names if name not in dropped]
    if not names:
        raise BadInput(_NOTHING)
    for which, table in tables.items():
        _check_names(which, [name for name in table.column_names if name not in dropped], names)
    return names


def _stored(name: str, tables: Mapping[str, pa.Table]) -> dict[str, StoredColumn] | None:
    """The column in each table; nothing, if its cells are lists, bytes or the like."""
    try:
        return {which: StoredColumn.of(name, table[name]) for which, table in tables.items()}
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


def _sort(
    name: str,
    stored: Mapping[str, StoredColumn],
    fact: Column | None,
    settled: Mapping[str, Sort] | None,
) -> Sort:
    """What the column is compared as; refused if the tables disagree."""
    if settled is not None:
        return _settled(name, stored, settled[name])
    found = {which: sort for which, cells in stored.items() if (sort := cells.sort) is not None}
    if fact is not None and fact.kind is not Kind.UNKNOWN:
        # What a release could only find to be labels may be numbers: those it tells stay numbers,
        # and the others are missing.
        looks = found.get(REAL)
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
        texts = [cells.words for cells in stored.values()]
        if Sort.LABEL not in sorts and all(words <= FLAGS for words in texts):
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


def _declared(name: str, stored: Mapping[str, StoredColumn], fact: Column) -> Sort:
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


def _settled(name: str, stored: Mapping[str, StoredColumn], sort: Sort) -> Sort:
    """What the column is settled to be; refused if its storage cannot be read so."""
    for which, cells in stored.items():
        if sort.counted and cells.storage is not Storage.TEXT and cells.sort not in {sort, None}:
            msg = f"Column {name!r} holds {sort}s, and {cells.sort}s in the {which} table."
            raise BadInput(msg)
    return sort


def _names_rows(sort: Sort, cells: StoredColumn) -> bool:
    """Whether the values look like names or numbers of rows, of which no two are alike."""
    rows, different = len(cells.places), len(cells.values)
    if sort is Sort.LABEL:
        return different > _FEW_NAMES and 2 * different > rows
    if sort is not Sort.NUMBER or different < rows or rows <= _FEW_VALUES:
        return False
    numbers = cells.numbers(sort, None)
    whole = (np.floor(numbers) == numbers) & (np.abs(numbers) < LARGEST_INTEGER)
    return bool(np.all(whole))


def _shared(stored: Mapping[str, StoredColumn]) -> tuple[int, int]:
    """How many synthetic and test rows have a value that a real row has too."""
    known = {text for text in stored[REAL].texts(Sort.LABEL) if text is not None}
    counts = []
    for which in (SYNTHETIC, TEST):
        if which in stored:
            told = np.array([text in known for text in stored[which].texts(Sort.LABEL)], bool)
            counts.append(int(told.take(stored[which].places).sum()))
        else:
            counts.append(0)
    return counts[0], counts[1]


def _coded(
    stored: Mapping[str, StoredColumn], sort: Sort, fact: Column | None
) -> tuple[tuple[str | None, ...], dict[str, NDArray[np.int32]]]:
    """Labels of all tables, the most common first, and codes.

    Real and test rows count alike for the order, so that it gives no member away.
    """
    whole = fact is not None and isinstance((fact.categories or ("",))[0], int)
    spelling = None if fact is None else fact.spelling
    texts = {
        which: cells.texts(sort, whole=whole, spelling=spelling) for which, cells in stored.items()
    }
    counts: Counter[str] = Counter()
    for which, cells in stored.items():
        rows = np.bincount(cells.places, minlength=len(cells.values)).tolist()
        for text, count in zip(texts[which], rows, strict=True):
            if text is not None:
                counts[text] += count if which != SYNTHETIC else 0
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
