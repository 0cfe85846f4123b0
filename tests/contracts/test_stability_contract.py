"""One record changes its own codes and nothing else, whatever the source and the record.

Of a whole and its parts: the codes of all rows, as a multiset, are those of the parts together; so
are malformed records and the values that are counted; and all are read, or all are refused, with
the same public facts.
"""

import csv
import datetime as dt
import gzip
import itertools
import random
import warnings
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.hostile import (
    CELLS,
    TEXTS,
    UNREAD,
    arrow_makers,
    balanced,
    csv_record,
    pandas_makers,
    random_schema,
    sql_rows,
    sql_table,
    unread_array,
)
from helpers.reading import (
    check_sum,
    csv_alone,
    differing,
    random_weights,
    read,
)
from helpers.tables import load
from understudy.column import Column, Kind, Role
from understudy.encode.ops import Storage
from understudy.pipeline import synthesize
from understudy.privacy import csv_records
from understudy.privacy.budget import Budget
from understudy.privacy.csv_records import CsvFormat
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.unit import Person
from understudy.schema import Schema


def seeded(seed):
    """Cases that repeat."""
    return random.Random(seed)  # noqa: S311 - nothing is secret


# --- CSV -----------------------------------------------------------------------------------------

FORMS = {
    "plain": CsvFormat("utf-8", ","),
    "gzip": CsvFormat("utf-8", ";"),
    "multiline": CsvFormat("utf-8", ",", multiline=True),
    "latin-1": CsvFormat("iso8859-1", "\t"),
    "cp932": CsvFormat("cp932", ","),
    "gb18030": CsvFormat("gb18030", "|"),
    "gb18030 multiline": CsvFormat("gb18030", ",", multiline=True),
}
CHUNKS = (1, 3, 7, 16, 61, 2**24)


@contextmanager
def small(rng, longest):
    """Boundaries that lie everywhere: of chunks, of records too long, of Arrow's blocks."""
    with (
        mock.patch.object(csv_records, "LONGEST_RECORD", longest),
        mock.patch.object(csv_records, "_CHUNK", rng.choice(CHUNKS)),
        mock.patch.object(csv_records, "_ARROW_BLOCK", 2 * longest),
    ):
        yield


class CsvCase:
    """A schema and how its files are written."""

    def __init__(self, rng, form, folder):
        self.rng, self.folder = rng, folder
        self.suffix = ".csv.gz" if form == "gzip" else ".csv"
        self.shapes = rng.random() < 0.4
        storages = [Storage.TEXT] * rng.choice([1, 2, 2, 3, 4])
        self.schema = random_schema(rng, storages, shapes=self.shapes)
        if rng.random() < 0.5 and len(storages) > 1:  # one that stays home
            home = Column(name="home", kind=Kind.UNKNOWN, role=Role.DROP)
            self.schema = Schema((*self.schema, home))
        # A header of one name shows no delimiter.
        self.form = FORMS[form] if len(storages) > 1 else replace(FORMS[form], delimiter=",")

    def record(self):
        made = csv_record(self.rng, len(self.schema), self.form.encoding, self.form.delimiter)
        return balanced(self.rng, made) if self.form.multiline else made

    def records(self, least, most):
        return [self.record() for _ in range(self.rng.randint(least, most))]

    def write(self, records):
        """A file of these records; at times the last one does not end in a line feed."""
        ends = b"\n" if not records or not records[-1] or self.rng.random() < 0.7 else b""
        header = self.form.delimiter.join(self.schema.names).encode() + b"\n"
        mark = b"\xef\xbb\xbf" if self.rng.random() < 0.2 and self.form.encoding == "utf-8" else b""
        content = mark + header + b"\n".join(records) + (ends if records else b"")
        path = self.folder / f"t{self.suffix}"
        path.write_bytes(gzip.compress(content, 1) if self.suffix.endswith(".gz") else content)
        return path

    def read(self, records, **how):
        how |= {"shapes": self.shapes, "text_encoding": self.form.encoding}
        how |= {"multiline": True} if self.form.multiline else {}
        return read(self.write(records), self.schema, **how)


def check_csv(form, seed, folder, records=30, least=0):
    """A file, a record more, and both against every record parsed by itself."""
    rng = seeded(f"{form} {seed}")
    case = CsvCase(rng, form, folder)
    table, more = case.records(least, records), case.records(1, 2)
    place = rng.randint(0, len(table))
    whole = table[:place] + more + table[place:]
    weights = random_weights(rng, case.schema, shapes=case.shapes)
    with small(rng, rng.choice([5, 17, 40, 2**10])):
        found = case.read(whole, weights=weights)
        check_sum(found, case.read(table, weights=weights), case.read(more, weights=weights))
        codes, malformed = csv_alone(whole, case.form, case.schema, shapes=case.shapes)
    assert found.codes == codes, differing(found.codes, codes)
    assert found.malformed == malformed


@pytest.mark.untraced
@pytest.mark.parametrize("form", FORMS)
def test_a_csv_record_changes_its_own_codes_alone(form, tmp_path):
    for seed in range(3):
        check_csv(form, seed, tmp_path, 60)


# --- Arrow and Parquet ---------------------------------------------------------------------------

MAKERS = arrow_makers()
NOT_IN_PARQUET = ("timestamp[s", "date64", "dictionary with nulls")
"""It has no seconds, and milliseconds hold not all of them."""


class ArrowCase:
    """A schema over columns of some types."""

    def __init__(self, rng, types):
        self.rng, self.types = rng, types
        self.shapes = rng.random() < 0.4
        storages = [MAKERS[name][0] for name in types]
        facts = random_schema(rng, storages, shapes=self.shapes)
        self.schema = Schema((*facts, Column(name="home", kind=Kind.UNKNOWN, role=Role.DROP)))
        self.home = rng.choice(sorted(UNREAD))

    def table(self, rows):
        arrays = [MAKERS[name][1](self.rng, rows) for name in self.types]
        home = unread_array(self.rng, self.home, rows)
        return pa.table([*arrays, home], names=list(self.schema.names))

    def read(self, source, **how):
        return read(source, self.schema, shapes=self.shapes, **how)


def arrow_cases(seed, left_out=()):
    """All types, a few in each table."""
    rng = seeded(seed)
    names = sorted(name for name in MAKERS if not name.startswith(left_out))
    rng.shuffle(names)
    for place in range(0, len(names), 5):
        yield ArrowCase(rng, names[place : place + 5])


def joined(rng, *tables):
    whole = pa.concat_tables(rng.sample(tables, len(tables)))
    with suppress(pa.ArrowInvalid):  # some dictionaries cannot be made one
        return whole.combine_chunks() if rng.random() < 0.5 else whole
    return whole


def check_arrow(case, rows=30):
    table, more = case.table(case.rng.randint(0, rows)), case.table(case.rng.randint(1, 2))
    weights = random_weights(case.rng, case.schema, shapes=case.shapes)
    parts = [case.read(one, weights=weights) for one in (table, more)]
    check_sum(case.read(joined(case.rng, table, more), weights=weights), *parts)


@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(1))
def test_a_row_of_an_arrow_table_changes_its_own_codes_alone(seed):
    for case in arrow_cases(seed):
        check_arrow(case)


def check_parquet(case, folder, rows=30):
    """One file, and several files that a pattern matches."""
    table, more = case.table(case.rng.randint(0, rows)), case.table(case.rng.randint(1, 2))
    files = {"table": table, "more": more, "whole": joined(case.rng, table, more)}
    paths = {name: folder / f"{name}.parquet" for name in files}
    for name, one in files.items():
        pq.write_table(one, paths[name], row_group_size=case.rng.choice([1, 7, 10**6]))
    found = {name: case.read(path) for name, path in paths.items()}
    check_sum(found["whole"], found["table"], found["more"])
    paths["whole"].unlink()
    check_sum(case.read(folder / "*.parquet"), found["table"], found["more"])


@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(1))
def test_a_row_of_parquet_files_changes_its_own_codes_alone(seed, tmp_path):
    for case in arrow_cases(100 + seed, NOT_IN_PARQUET):
        check_parquet(case, tmp_path)


# --- pandas and polars ---------------------------------------------------------------------------

SERIES = pandas_makers()


def concatenated(frames):
    """One frame of several, as pandas makes it; None where it refuses."""
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        return pd.concat(frames, ignore_index=True)
    return None


def cells(column):
    return list(column.astype(object))


def changed(whole, parts):
    """Whether pandas itself has made flags numbers, or days moments, before anybody reads them."""
    if len(whole) != len(parts):
        return True
    kinds = (bool, np.bool_), dt.datetime
    pairs = [(one, part) for one, part in zip(cells(whole), parts, strict=True) if part is not None]
    return any(
        isinstance(one, kind) != isinstance(part, kind) for one, part in pairs for kind in kinds
    )


def pandas_columns(rng, count, rows):
    """Columns of a table and of records whose types may differ."""
    table, more = {}, {}
    while len(table) < count:
        first = rng.choice(sorted(SERIES))
        second = rng.choice([first, *sorted(SERIES)])
        name = f"x{len(table)}"
        one, other = SERIES[first](rng, rows), SERIES[second](rng, rng.randint(1, 2))
        more_rows = len(next(iter(more.values()), other))
        other = SERIES[second](rng, more_rows)
        whole = concatenated([one.to_frame("x"), other.to_frame("x")])
        if whole is not None and not changed(whole["x"], [*cells(one), *cells(other)]):
            table[name], more[name] = one, other
    return pd.DataFrame(table), pd.DataFrame(more)


def check_pandas(seed, columns=5, rows=12):
    rng = seeded(seed)
    shapes = rng.random() < 0.4
    schema = random_schema(rng, [Storage.TEXT] * columns, shapes=shapes)
    table, more = pandas_columns(rng, columns, rng.randint(1, rows))
    whole = concatenated([table, more])
    parts = [read(one, schema, shapes=shapes) for one in (table, more)]
    check_sum(read(whole, schema, shapes=shapes), *parts)


@pytest.mark.parametrize(
    ("table", "more"),
    [
        (pd.Series([1, 2]), pd.Series([None])),
        (pd.Series([1, 2]), pd.Series(["x"])),
        (pd.Series([True, False]), pd.Series([None])),
        (pd.Series([1.5, True], dtype=object), pd.Series(["x"])),
        (pd.Series([2**60, 1]), pd.Series([0.5])),
        (pd.Series([2**60, 1]), pd.Series([10**5000], dtype=object)),
        (pd.Series(["2020-01-02"], dtype="datetime64[s]"), pd.Series(["soon"])),
        (
            pd.Series([dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=9)))]),
            pd.Series([0]),
        ),
        (pd.Series(pd.period_range("2020", periods=2, freq="M")), pd.Series(["x"])),
        (pd.Series(["a", "b"], dtype="category"), pd.Series(["c"], dtype="category")),
        (pd.Series([1, 2], dtype="category"), pd.Series([None])),
        (
            pd.Series([Decimal("0.1")]),
            pd.Series([Decimal("0.1000000000000000000000000000000000000001")]),
        ),
        (pd.Series([Decimal("0.10")], dtype=pd.ArrowDtype(pa.decimal256(50, 2))), pd.Series(["x"])),
        (pd.Series(["1", "02"]), pd.Series(["x"])),
    ],
)
def test_a_cell_does_not_decide_the_type_by_which_others_are_read(table, more):
    whole = concatenated([table, more])
    for shapes, facts in (
        (True, {"kind": Kind.UNKNOWN}),
        (False, {"kind": Kind.REAL, "bounds": (0.0, 2.0), "bins": 40}),
        (False, {"kind": Kind.BOOLEAN}),
        (False, {"kind": Kind.DATETIME, "bounds": (dt.datetime(1, 1, 1), dt.datetime(2021, 1, 1))}),  # noqa: DTZ001
    ):
        schema = Schema((Column(name="x", **facts),))
        found, *parts = (
            read(one.to_frame("x"), schema, shapes=shapes) for one in (whole, table, more)
        )
        assert found.refusal is None
        check_sum(found, *parts)


@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(8))
def test_a_row_of_a_pandas_frame_changes_its_own_codes_alone(seed):
    check_pandas(seed)


def check_polars(seed, rows=20):
    """Frames of polars, eager and lazy; numbers may become fractions when frames are joined."""
    rng = seeded(seed)
    types = {
        pl.String: (Storage.TEXT, list(TEXTS)),
        pl.Categorical: (Storage.TEXT, [one for one in TEXTS if one]),
        pl.Int64: (Storage.INTEGER, [0, 1, -3, 60, 2**63 - 1, -(2**63)]),
        pl.UInt64: (Storage.INTEGER, [0, 1, 2**64 - 1]),
        pl.Float32: (Storage.FLOAT, [0.1, 0.3, float("nan"), float("inf"), -0.0]),
        pl.Float64: (Storage.FLOAT, [0.1, 0.3, float("nan"), 1e308, 5e-324]),
        pl.Boolean: (Storage.BOOLEAN, [True, False]),
        pl.Date: (Storage.DATE, [dt.date(2020, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
        pl.Datetime("ns"): (
            Storage.TIMESTAMP,
            [dt.datetime(2020, 1, 2), dt.datetime(1999, 12, 31, 5)],  # noqa: DTZ001
        ),
    }
    kinds = rng.sample(sorted(types, key=str), 5)
    schema = random_schema(rng, [types[kind][0] for kind in kinds])

    def frame(rows):
        made = {
            name: pl.Series([rng.choice([None, *types[kind][1]]) for _ in range(rows)], dtype=kind)
            for name, kind in zip(schema.names, kinds, strict=True)
        }
        return pl.DataFrame(made)

    table, more = frame(rng.randint(0, rows)), frame(rng.randint(1, 2))
    joined_types = {
        name: rng.choice([pl.Int64, pl.Float64])
        for name, kind in zip(schema.names, kinds, strict=True)
        if kind == pl.Int64
    }
    fractions = [name for name, kind in joined_types.items() if kind == pl.Float64]
    more = more.with_columns(pl.col(name).cast(pl.Float64) for name in fractions)
    whole = pl.concat([table, more], how="vertical_relaxed")
    parts = [read(table, schema), read(more.lazy(), schema)]
    check_sum(read(whole, schema), *parts)


@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(3))
def test_a_row_of_a_polars_frame_changes_its_own_codes_alone(seed):
    check_polars(seed)


WRITTEN = (
    *(("int64", "float64"), ("int64", "Int64"), ("int8", "int64"), ("int64", "missing")),
    *(("bool", "boolean"), ("bool", "missing"), ("float32", "float64"), ("float32", "int64")),
    *(("texts", "missing"), ("str", "texts"), ("string", "texts"), ("uint64", "int8")),
    *(("datetime64[ns]", "datetime64[s]"), ("datetime64[s]", "missing"), ("int8", "float16")),
    *(("category of texts", "texts"), ("category of numbers", "int64"), ("decimals", "decimals")),
    *(("decimals", "missing"), ("date[pyarrow]", "missing"), ("decimals", "long decimals")),
)
"""Types of a table's column and of a record's, of which pandas makes another one."""


def written_series(rng, name, rows):
    if name == "missing":
        return pd.Series([rng.choice([None, np.nan])] * rows, dtype=object)
    if name.endswith("decimals"):
        digits = (
            ("0.1", "0.3", "0.7", "60") if name == "decimals" else ("0.100000000000000000000", "7")
        )
        return pd.Series([Decimal(rng.choice(digits)) for _ in range(rows)], dtype=object)
    while True:  # at least one cell, for a column without any has no type
        made = SERIES[name](rng, rows)
        if not made.isna().all() and all(map(is_storable, made)):
            return made


def is_storable(cell):
    return not isinstance(cell, str) or "\ud800" not in cell


def stored_as(name):
    """How such a column lies in a file."""
    if name in {"date[pyarrow]", "category of numbers"}:
        return Storage.DATE if name.startswith("date") else Storage.INTEGER
    whole, real = Storage.INTEGER, Storage.FLOAT
    begins = {"int": whole, "uint": whole, "float": real, "decimal": real, "bool": Storage.BOOLEAN}
    begins["datetime"] = Storage.TIMESTAMP
    return next((kind for start, kind in begins.items() if name.startswith(start)), Storage.TEXT)


def check_written(seed, folder, rows=15):
    """Parquet files that pandas wrote, whose types follow from all rows."""
    rng = seeded(seed)
    pairs = rng.sample(WRITTEN, 4)
    storages = [stored_as(first) for first, _ in pairs]
    schema = random_schema(rng, storages)
    several = rng.randint(1, 2)
    tables = [{}, {}]
    for name, pair in zip(schema.names, pairs, strict=True):
        for table, kind, count in zip(tables, pair, (rng.randint(3, rows), several), strict=True):
            count = len(next(iter(table.values()), range(count)))  # noqa: PLW2901
            table[name] = written_series(rng, kind, count)
    frames = [pd.DataFrame(table) for table in tables]
    whole = concatenated(frames)
    if whole is None:  # moments of one do not fit the type of the other
        return
    paths = {name: folder / f"{name}.parquet" for name in ("table", "more", "whole")}
    for path, frame in zip(paths.values(), [*frames, whole], strict=True):
        frame.to_parquet(path)
    found = {name: read(path, schema) for name, path in paths.items()}
    if all(found[name].refusal is None for name in found):
        more = found["more"]
        # A column without any cell has no type of its own, which is public in a file.
        more = replace(more, facts=found["table"].facts)
        check_sum(found["whole"], found["table"], more)
    assert found["whole"].refusal == found["table"].refusal


@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(4))
def test_a_row_of_a_file_that_pandas_wrote_changes_its_own_codes_alone(seed, tmp_path):
    check_written(seed, tmp_path)


NUMBERS = (
    "int8",
    "int64",
    "uint64",
    "halffloat",
    "float",
    "double",
    *(n for n in MAKERS if "deci" in n),
)


def check_files_of_several_types(seed, folder):
    """Files in which numbers are stored as other types than in the ones beside them."""
    rng = seeded(seed)
    schema = random_schema(rng, [Storage.FLOAT] * 3)
    types = [rng.choices([name for name in NUMBERS if name in MAKERS], k=3) for _ in range(3)]
    paths = [folder / f"{place}.parquet" for place in range(3)]
    for path, names in zip(paths, types, strict=True):
        arrays = [MAKERS[name][1](rng, 12) for name in names]
        pq.write_table(pa.table(arrays, names=list(schema.names)), path)
    parts = [read(path, schema) for path in paths]
    check_sum(read(folder / "*.parquet", schema), *parts)


@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(2))
def test_files_of_several_number_types_are_read_as_each_by_itself(seed, tmp_path):
    check_files_of_several_types(seed, tmp_path)


# --- SQL engines ---------------------------------------------------------------------------------


def check_sql(engine, seed, columns=5, rows=25):
    rng = seeded(seed)
    cells = CELLS[engine.name]()
    shapes = rng.random() < 0.3
    # Shapes are long formulas, which engines are slow to plan.
    kinds = rng.sample(sorted(cells), 2 if shapes else min(columns, len(cells)))
    schema = random_schema(rng, [cells[kind][0] for kind in kinds], shapes=shapes)
    literals = [cells[kind][1] for kind in kinds]
    table = sql_rows(rng, literals, rng.randint(0, rows))
    more = sql_rows(rng, literals, rng.randint(1, 2))
    weights = None if shapes else random_weights(rng, schema)

    def found(name, rows):
        source = sql_table(engine, f"stability_{name}", kinds, rows)
        return read(source, schema, shapes=shapes, weights=weights)

    parts = [found("table", table), found("more", more)]
    check_sum(found("whole", rng.sample([*table, *more], len(table) + len(more))), *parts)


@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(3))
def test_a_row_of_an_sql_table_changes_its_own_codes_alone(engine, seed):
    check_sql(engine, seed)


# --- persons -------------------------------------------------------------------------------------

NOBODY = {"text": ["", " ", None], "number": [None]}
PERSONS = {
    "text": [
        ["p", " p", "p ", "\tp"],
        ["P"],
        ["q"],
        ["é"],
        ["1"],
        ["01"],
        ["1.0"],
        ["p q"],
        ["=p"],
    ],
    "text of numbers": [
        ["1", "01", " 1", "1.0", "+1"],
        ["-1", "-01"],
        ["x", " x"],
        ["9007199254740993"],
        ["9007199254740992"],
        ["0", "-0"],
    ],
    "whole": [[0], [-1], [1], [2**63 - 1], [-(2**63)], [2**53], [2**53 + 1]],
    "real": [[0.0, -0.0], [1.0], [1.5], [-1e15], [2.0**53 - 1]],
}
"""By way of writing ids: cells that name the same person."""
ID_TYPES = {
    "text": pa.string(),
    "text of numbers": pa.string(),
    "whole": pa.int64(),
    "real": pa.float64(),
}


class PeopleCase:
    """Persons, each with rows of their own, and rows without an id."""

    def __init__(self, seed, writing, *, typed=True):
        self.typed = typed
        self.rng = rng = seeded(f"{seed} {writing}")
        self.writing = writing
        self.kind = Kind.INTEGER if writing == "text of numbers" else Kind.CATEGORICAL
        facts = random_schema(rng, [Storage.TEXT, Storage.TEXT])
        self.schema = Schema((Column(name="who", kind=self.kind, role=Role.ID), *facts))
        self.most = rng.randint(1, 4)
        self.person = Person("who", self.most)
        self.weights = random_weights(rng, self.schema)
        persons = rng.sample(PERSONS[writing], len(PERSONS[writing]))
        self.newcomer, self.others = persons[0], persons[1:]

    def rows(self, person):
        count = self.rng.randint(1, 7)
        return [(self.rng.choice(person), *self.cells()) for _ in range(count)]

    def cells(self):
        return tuple(self.rng.choice(LEGIBLE) for _ in range(2))

    def strangers(self):
        nobody = NOBODY["text" if self.writing.startswith("text") else "number"]
        endless = [float("nan"), float("inf")] if self.writing == "real" and self.typed else []
        return self.rows([*nobody, *endless])

    def arrow(self, rows):
        who, *rest = zip(*rows, strict=True)
        arrays = [pa.array(who, ID_TYPES[self.writing], from_pandas=False)]
        return pa.table(
            [*arrays, *(pa.array(cells, pa.string()) for cells in rest)],
            names=list(self.schema.names),
        )

    def pandas(self, rows):
        who, *rest = zip(*rows, strict=True)
        return pd.DataFrame(
            dict(
                zip(
                    self.schema.names,
                    (pd.Series(list(one), dtype=object) for one in (who, *rest)),
                    strict=True,
                )
            )
        )

    def check(self, make, **how):
        crowd = [self.rows(person) for person in self.others]
        table = [row for rows in crowd for row in rows] + self.strangers()
        new = self.rows(self.newcomer)
        counted = sum(min(self.most, len(rows)) for rows in crowd)
        whole = [*table, *new, *self.strangers()]

        def found(name, rows):
            rows = self.rng.sample(rows, len(rows))  # whatever their order
            return read(
                make(name, rows),
                self.schema,
                person=self.person,
                weights=self.weights,
                few=True,
                **how,
            )

        parts = [found("table", table), found("new", new)]
        assert [part.rows for part in parts] == [counted, min(self.most, len(new))]
        check_sum(found("whole", whole), *parts)


LEGIBLE = [one for one in TEXTS if one.isprintable() and len(one) < 70]


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("source", "writing"),
    [
        *(("csv", "text"), ("csv", "text of numbers"), ("pandas", "text"), ("pandas", "real")),
        *(("arrow", "whole"), ("arrow", "real")),
    ],
)
def test_a_new_person_takes_nobodys_place(source, writing, tmp_path):
    check_people(writing, source, tmp_path, range(1))


def check_people(writing, source, folder, seeds):
    for seed in seeds:
        if writing == "whole" and source == "pandas":
            continue  # long numbers are no ids there, for a column of doubles would hold them
        case = PeopleCase(seed, writing, typed=source != "csv")

        def csv_file(name, rows, case=case):
            with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows([case.schema.names, *rows])
            return folder / f"{name}.csv"

        makers = {"csv": csv_file, "arrow": lambda _, r, c=case: c.arrow(r)}
        makers["pandas"] = lambda _, r, c=case: c.pandas(r)
        if source == "csv" and not writing.startswith("text"):
            case.schema = Schema(
                (replace(case.schema["who"], kind=Kind.INTEGER), *case.schema.columns[1:])
            )
        case.check(makers[source])


@pytest.mark.untraced
@pytest.mark.parametrize("writing", ["text of numbers", "whole"])
def test_a_new_person_takes_nobodys_place_in_an_engine(engine, writing):
    case = PeopleCase(0, writing)
    case.check(lambda name, rows: load(engine, case.arrow(rows), f"people_{name}"))


# --- what is opened on top of a table ------------------------------------------------------------


@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(3))
def test_a_record_changes_no_public_fact_of_a_ledger(seed, tmp_path):
    rng = seeded(seed)
    case = CsvCase(rng, "plain", tmp_path)
    table, more = case.records(1, 30), case.records(1, 2)
    facts = []
    for records in (table, [*table, *more]):
        schema = None if seed % 2 else case.schema
        ledger = Ledger.open(
            case.write(records), schema, Budget(10.0, 1e-6), source=SeededForTests(0), discover=True
        )
        with ledger:
            ledger.measure([(), *((name,) for name in ledger.domain.names)], rho=0.1)
            facts.append((ledger._core.public, ledger.schema, ledger.domain, ledger.rest()))
    assert facts[0] == facts[1]


@pytest.mark.untraced
@pytest.mark.parametrize("form", ["plain", "multiline"])
def test_a_record_does_not_decide_whether_there_is_a_release(form, tmp_path):
    for seed in range(3):
        rng = seeded(seed)
        case = CsvCase(rng, form, tmp_path)
        schema = random_schema(rng, [Storage.TEXT] * len(case.schema))
        table = case.records(1, 30)
        outcomes = []
        for records in (table, [*table, case.record()]):
            release = synthesize(
                *(case.write(records),),
                schema=schema if schema.names == case.schema.names else case.schema,
                epsilon=1.0,
                multiline=case.form.multiline,
                source=SeededForTests(seed),
                mechanism="independent",
                rows=10,
            )
            public = release.certificate.public
            outcomes.append({key: public[key] for key in ("storage", "reading", "schema")})
        assert outcomes[0] == outcomes[1]


# --- at length -----------------------------------------------------------------------------------

RECORDS = 5000
"""Of a file; with their forms and seeds 2 · 10⁵ in all."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("form", FORMS)
def test_csv_records_at_length(form, seed, tmp_path):
    check_csv(form, 1000 + seed, tmp_path, RECORDS, least=RECORDS)


@pytest.mark.slow
def test_csv_files_at_length(tmp_path):
    for seed, form in itertools.product(range(40), FORMS):
        check_csv(form, 2000 + seed, tmp_path)


@pytest.mark.slow
def test_arrow_and_parquet_at_length(tmp_path):
    for seed in range(200, 212):
        for case in arrow_cases(seed):
            check_arrow(case, 500)
        for case in arrow_cases(seed, NOT_IN_PARQUET):
            check_parquet(case, tmp_path, 500)
    several = tmp_path / "several"  # a pattern matches all files of a folder
    several.mkdir()
    for seed in range(200, 300):
        check_files_of_several_types(seed, several)


@pytest.mark.slow
def test_frames_at_length(tmp_path):
    for seed in range(1000, 1300):
        check_pandas(seed, rows=60)
    for seed in range(1000, 1100):
        check_polars(seed, 200)
        check_written(seed, tmp_path)


@pytest.mark.slow
def test_sql_tables_at_length(engine):
    for seed in range(1000, 1050):
        check_sql(engine, seed, rows=150)


@pytest.mark.slow
@pytest.mark.parametrize("writing", PERSONS)
def test_persons_at_length(writing, tmp_path):
    for source in ("csv", "pandas", "arrow"):
        check_people(writing, source, tmp_path, range(100, 120))


@pytest.mark.slow
@pytest.mark.parametrize("writing", PERSONS)
def test_persons_in_an_engine_at_length(engine, writing):
    for seed in range(100, 105):
        case = PeopleCase(seed, writing)
        case.check(lambda name, rows, c=case: load(engine, c.arrow(rows), f"people_{name}"))
