"""No value is ever turned into another one: not by a code, and not in the rows of a release."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from helpers.tables import load
from understudy.column import Column, Kind
from understudy.encode import Encoding
from understudy.encode.stray_cells import ABOVE, BELOW, LISTED, MISSING, STRAYS, UNLISTED
from understudy.pipeline import synthesize
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.schema import Schema

MOMENT = dt.datetime(2020, 5, 17, 12)  # noqa: DTZ001 - naive as the column
KINDS = {
    # Facts; values with a code of their own, below and above, unreadable or not listed: as text.
    "text": ({"kind": Kind.CATEGORICAL, "categories": ("a", "b")}, ["a", "b"], [], [], ["c", "A"]),
    "whole": ({"kind": Kind.CATEGORICAL, "categories": (3, 1)}, ["3", "1"], [], [], ["2", "x"]),
    "order": ({"kind": Kind.ORDINAL, "categories": ("low", "high")}, ["low"], [], [], ["middle"]),
    "boolean": ({"kind": Kind.BOOLEAN}, ["yes", "0"], [], [], ["perhaps", "2"]),
    "integer": (
        {"kind": Kind.INTEGER, "bounds": (10, 19), "bins": 5, "atoms": (12, 99)},
        ["10", "12", "19", "99"],
        ["9", "-5"],
        ["20", "1e9"],
        ["ten", "1_0"],
    ),
    "real": (
        {"kind": Kind.REAL, "bounds": (0.5, 2.5), "bins": 4},
        ["0.5", "1.7", "2.5"],
        ["0.49", "-1e200"],
        ["2.51"],
        ["inf", "NaN", "much"],
    ),
    "date": (
        {"kind": Kind.DATE, "bounds": (dt.date(2020, 1, 1), dt.date(2020, 12, 31)), "bins": 12},
        ["2020-01-01", "2020-12-31"],
        ["2019-12-31"],
        ["2021-01-01"],
        ["2020-02-30", "soon"],
    ),
    "datetime": (
        {
            "kind": Kind.DATETIME,
            "bounds": (MOMENT, MOMENT + dt.timedelta(hours=12)),
            "bins": 3,
        },
        ["2020-05-17 12:00:00", "2020-05-18"],
        ["2020-05-17 11:59:59"],
        ["2020-05-18 00:00:01"],
        ["2020-05-17 25:00:00"],
    ),
}
NULLS = [True, False, None]


def columns():
    """All kinds, with and without nulls and "other"; a name tells which."""
    for kind, (facts, *_) in KINDS.items():
        for null in NULLS:
            yield Column(name=f"{kind}-{null}", null=null, **facts)
            if kind in {"text", "order"}:
                yield Column(name=f"{kind}-{null}-other", null=null, other="other", **facts)


SCHEMA = Schema(tuple(columns()))
MISSES = [None, "", "  "]


def cells():
    """By column, its cells as text: listed, below, above, stray and missing ones."""
    found = {}
    for column in SCHEMA:
        _, listed, below, above, stray = KINDS[column.name.split("-")[0]]
        found[column.name] = [*listed, *below, *above, *stray, *MISSES]
    length = max(map(len, found.values()))
    return {name: values + [None] * (length - len(values)) for name, values in found.items()}


def expected(column):
    """What each cell may be coded as: the code of a listed value, or one that none has."""
    _, listed, below, above, stray = KINDS[column.name.split("-")[0]]
    own = Encoding(Schema((column,))).column_codes(column.name, pa.array(listed)).tolist()
    return own, len(below), len(above), len(stray) + len(MISSES)


def check(codes):
    """Codes of all columns, by whatever engine, against what no engine may do."""
    for column in SCHEMA:
        own, below, above, others = expected(column)
        got = [int(code) for code in codes[column.name]]
        listed, rest = got[: len(own)], got[len(own) :]
        assert listed == own
        if column.kind.numeric:
            least, greatest = Encoding(Schema((column,))).column_codes(
                column.name, pa.array([str(end) for end in column.bounds])
            )
            assert rest[: below + above] == [least] * below + [greatest] * above
        strays = rest[below + above :]
        cell = Encoding(Schema((column,))).cells[column.name]
        values = {cell.column.name: range(len(getattr(cell, "labels", ())))}
        taken = {*own, *values[column.name]}
        assert not taken & set(strays), column.name
        assert set(strays) <= set(cell.fallback)
        assert len(strays) >= others


def sources(tmp_path):
    """The same cells on our own engine: a file of text, a data frame, Arrow."""
    table = pa.table({name: pa.array(values, pa.string()) for name, values in cells().items()})
    pa_csv.write_csv(table, tmp_path / "cells.csv")
    yield "file", tmp_path / "cells.csv"
    yield "frame", table.to_pandas()
    yield "arrow", table


def counted(data):
    """By column, how many rows have which code: the exact counts behind a ledger's noise."""
    with Ledger.open(data, SCHEMA, Budget(1.0, 1e-9), source=SeededForTests(1)) as ledger:
        table = ledger._table()
        names = ledger.domain.names
        return dict(zip(names, table.count([(name,) for name in names]), strict=True))


def test_numpy_gives_no_stray_the_code_of_a_value():
    table = pa.table({name: pa.array(values, pa.string()) for name, values in cells().items()})
    check(Encoding(SCHEMA).codes(table))


def test_every_source_counts_strays_alike(tmp_path):
    table = pa.table({name: pa.array(values, pa.string()) for name, values in cells().items()})
    codes = Encoding(SCHEMA).codes(table)
    sizes = Encoding(SCHEMA).domain.sizes
    for _, data in sources(tmp_path):
        for name, counts in counted(data).items():
            assert counts.tolist() == np.bincount(codes[name], minlength=sizes[name]).tolist()


def test_every_engine_counts_strays_alike(engine):
    table = pa.table({name: pa.array(values, pa.string()) for name, values in cells().items()})
    codes = Encoding(SCHEMA).codes(table)
    sizes = Encoding(SCHEMA).domain.sizes
    there = load(engine, table, "cells")
    for name, counts in counted(there).items():
        assert counts.tolist() == np.bincount(codes[name], minlength=sizes[name]).tolist(), name


def kinds_of_strays():
    """By column, which kind of stray each of its cells is."""
    for column in SCHEMA:
        _, listed, below, above, stray = KINDS[column.name.split("-")[0]]
        kinds = [LISTED] * len(listed) + [BELOW] * len(below) + [ABOVE] * len(above)
        yield column.name, kinds + [UNLISTED] * len(stray)


def test_numpy_tells_strays_apart():
    table = pa.table({name: pa.array(values, pa.string()) for name, values in cells().items()})
    codes = Encoding(SCHEMA, strays=SCHEMA.names).codes(table)
    for name, kinds in kinds_of_strays():
        found = np.where(codes[name] >= STRAYS, LISTED, codes[name])  # by ways of writing
        assert found.tolist() == kinds + [MISSING] * (len(table) - len(kinds)), name


def check_strays(data, length):
    """A ledger counts the strays of all columns, and then its own codes again."""
    names = SCHEMA.names
    with Ledger.open(data, SCHEMA, Budget(1.0, 1e-9), source=SeededForTests(1)) as ledger:
        facts = ledger.schema
        ledger.recode(facts, strays=names)
        counts = ledger._table().count([(name,) for name in names])
        ledger.recode(facts)
        assert ledger.domain == Encoding(SCHEMA).domain
    found = dict(zip(names, counts, strict=True))
    for name, kinds in kinds_of_strays():
        whole = kinds + [MISSING] * (length - len(kinds))
        counted = found[name][:STRAYS].copy()
        counted[LISTED] += found[name][STRAYS:].sum()  # by ways of writing
        assert counted.tolist() == np.bincount(whole, minlength=STRAYS).tolist(), name


def test_every_source_tells_strays_apart(tmp_path):
    for _, data in sources(tmp_path):
        check_strays(data, len(next(iter(cells().values()))))


def test_every_engine_tells_strays_apart(engine):
    table = pa.table({name: pa.array(values, pa.string()) for name, values in cells().items()})
    check_strays(load(engine, table, "cells"), len(table))


# --- end to end -----------------------------------------------------------------------------------

ROWS, PART = 6000, 0.2
JOBS = ("cook", "smith")
STATED = Schema(
    (
        Column(name="country", kind=Kind.CATEGORICAL, categories=("AT", "DE", "FR"), null=False),
        Column(name="age", kind=Kind.INTEGER, bounds=(20, 59), bins=4, null=False),
        Column(name="paid", kind=Kind.BOOLEAN, null=False, role="target"),
        Column(
            name="job", kind=Kind.CATEGORICAL, categories=("cook", "smith"), other="x", null=False
        ),
    )
)


def untidy():
    """A table in which a fifth of each column is no value that the schema knows."""
    rng = np.random.default_rng(3)

    def mixed(values, strays):
        cells = rng.choice(values, ROWS).astype(object)
        away = rng.random(ROWS) < PART
        cells[away] = rng.choice(strays, int(away.sum()))
        return cells

    return pd.DataFrame(
        {
            "country": mixed(["AT", "DE", "FR"], ["CH", ""]),
            "age": mixed([str(age) for age in range(20, 60)], ["", "unknown"]),
            "paid": mixed(["yes", "no"], ["perhaps", ""]),
            "job": mixed([*JOBS], ["unknown", ""]),
        }
    )


@pytest.mark.parametrize(
    "method", ["auto", "mst", "aim", "independent", "privbayes", "prism", "dpdsyn", "lk2ss"]
)
def test_no_release_shows_a_stray_as_a_value(method):
    rows = untidy()
    release = synthesize(rows, epsilon=10.0, schema=STATED, mechanism=method, seed=1)
    table = release.table.to_pandas()
    assert not table.isna().to_numpy().any()
    for name, values in {"country": ["AT", "DE", "FR"], "job": [*JOBS]}.items():
        real = rows[name][rows[name].isin([*values, "x"])]
        for value in values:
            kept = (rows[name] == value).mean() if name == "job" else (real == value).mean()
            assert (table[name] == value).mean() == pytest.approx(kept, abs=0.03), value
    assert (table["job"] == "x").mean() == pytest.approx(PART, abs=0.03)
    ages = pd.to_numeric(rows["age"], errors="coerce").dropna()
    assert (table["age"] < 30).mean() == pytest.approx((ages < 30).mean(), abs=0.03)
    # Rows without a stray in the columns that leave it no code.
    assert len(table) == pytest.approx(ROWS * (1 - PART) ** 3, rel=0.05)
    told = "\n".join(release.notes)
    for name, words in {
        "country": "not listed and have no code",
        "age": "missing and have no code",
        "paid": "have no code",
        "job": "not listed and become 'x'",
    }.items():
        assert any(f"{name!r}" in note and words in note for note in told.splitlines()), name


def test_a_column_of_nothing_but_strays_still_gives_rows():
    rows = untidy().assign(country="CH", paid="perhaps")
    for method in ("auto", "mst", "independent", "privbayes", "dpdsyn"):
        release = synthesize(rows, epsilon=10.0, schema=STATED, mechanism=method, rows=50, seed=1)
        assert set(release.table["country"].to_pylist()) <= {"AT", "DE", "FR"}
        assert None not in release.table["paid"].to_pylist()
        assert release.table.num_rows == 50


def test_hidden_codes_that_are_noise_cost_no_rows():
    rng = np.random.default_rng(0)
    names = [f"c{k}" for k in range(30)]
    schema = Schema(
        tuple(
            Column(name=n, kind=Kind.CATEGORICAL, categories=("a", "b"), null=False) for n in names
        )
    )
    rows = pd.DataFrame({name: rng.choice(["a", "b"], 800) for name in names})
    release = synthesize(rows, epsilon=1.0, schema=schema, mechanism="mst", seed=1)
    assert release.table.num_rows > 400
    assert not release.table.to_pandas().isna().to_numpy().any()
