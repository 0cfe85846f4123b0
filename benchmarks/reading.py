"""How fast files are read and coded, as ratios within one run.

    python benchmarks/reading.py                         10⁶ rows, beside DuckDB's own reader
    python benchmarks/reading.py --rows 1e7 --other SRC  also beside the package in another folder

A file is opened, coded and counted once by a fresh process. DuckDB reads the same file as text and
casts each column with TRY_CAST: what reading costs without rules, codes and stable records.
`--other` names the `src` folder of another version, such as a checkout of an older one.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

TEXTS, WHOLE, REAL = 6, 7, 7
LABELS = ("red", "green", "blue", "violet", "black", "orange, dark")
CHUNK = 10**6
REPEATS = 3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--other", type=Path, help="the src folder of another version")
    parser.add_argument("--read", metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        print(read(options.read))
        return
    rows = int(options.rows)
    report = Table(title=f"Reading and coding {rows:,} rows of {TEXTS + WHOLE + REAL} columns")
    for heading in ("file", "MB", "seconds", "of DuckDB's reader", "of the other version"):
        report.add_column(heading, justify="left" if heading == "file" else "right")
    with tempfile.TemporaryDirectory() as folder:
        for path in files(Path(folder), rows):
            ours, plain, other = [], [], []
            for _ in range(REPEATS):
                plain.append(seconds_of_duckdb(path))
                ours.append(seconds_of(path, None))
                if options.other:
                    other.append(seconds_of(path, options.other))
            mine = statistics.median(ours)
            report.add_row(
                path.name,
                f"{path.stat().st_size / 1e6:,.0f}",
                f"{mine:.2f}",
                f"{mine / statistics.median(plain):.2f}",
                f"{mine / statistics.median(other):.2f}" if other else "",
            )
    Console(width=100).print(report)


def files(folder: Path, rows: int) -> list[Path]:
    """The same kind of table as CSV without and with quotes, and as Parquet, twice."""
    rng = np.random.default_rng(0)
    names = ("plain.csv", "quoted.csv", "few values.parquet", "many values.parquet")
    paths = [folder / name for name in names]
    writers: list[pc.CSVWriter | pq.ParquetWriter] = []
    for start in range(0, rows, CHUNK):
        few = chunk(rng, min(CHUNK, rows - start), digits=3)
        many = chunk(rng, min(CHUNK, rows - start), digits=15)
        texts = pa.table({name: strings(few[name]) for name in few.column_names})
        if not writers:
            never, always = (pc.WriteOptions(quoting_style=s) for s in ("none", "all_valid"))
            writers = [
                pc.CSVWriter(paths[0], few.schema, write_options=never),
                pc.CSVWriter(paths[1], texts.schema, write_options=always),
                pq.ParquetWriter(paths[2], few.schema),
                pq.ParquetWriter(paths[3], many.schema),
            ]
        plain = few
        for place in range(TEXTS):
            bare = pa.compute.replace_substring(few.column(place), ",", "")
            plain = plain.set_column(place, few.column_names[place], bare)
        for writer, table in zip(writers, (plain, texts, few, many), strict=True):
            writer.write_table(table)
    for writer in writers:
        writer.close()
    return paths


def chunk(rng: np.random.Generator, rows: int, digits: int) -> pa.Table:
    """Labels, whole numbers and reals."""
    columns: dict[str, object] = {}
    for k in range(TEXTS):
        columns[f"t{k}"] = np.array(LABELS)[rng.integers(0, len(LABELS), rows)]
    for k in range(WHOLE):
        columns[f"n{k}"] = rng.integers(0, 1000, rows)
    for k in range(REAL):
        columns[f"x{k}"] = np.round(rng.normal(size=rows) * 10, digits)
    return pa.table(columns)


def strings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as text, so that every cell is quoted."""
    return column.cast(pa.string())


def seconds_of(path: Path, source: Path | None) -> float:
    """A fresh process that reads the file, by this version or by another."""
    environment = dict(os.environ)
    if source is not None:
        environment["PYTHONPATH"] = str(source.resolve())
    command = [sys.executable, __file__, "--read", str(path)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)


def read(path: str) -> float:
    """Seconds for opening, coding and counting."""
    from understudy.column import Column, Kind  # noqa: PLC0415 - another version may be meant
    from understudy.privacy.table import PrivateTable  # noqa: PLC0415
    from understudy.schema import Schema  # noqa: PLC0415

    columns = [
        Column(name=f"t{k}", kind=Kind.CATEGORICAL, categories=LABELS, other="other", null=True)
        for k in range(TEXTS)
    ]
    columns += [
        Column(name=f"n{k}", kind=Kind.INTEGER, bounds=(0, 999), null=True) for k in range(WHOLE)
    ]
    columns += [
        Column(name=f"x{k}", kind=Kind.REAL, bounds=(-50.0, 50.0), null=True) for k in range(REAL)
    ]
    start = time.perf_counter()
    PrivateTable(path, Schema(tuple(columns))).count([()])
    return time.perf_counter() - start


def seconds_of_duckdb(path: Path) -> float:
    """DuckDB reads the file, casts every column, and adds up something of each."""
    engine = duckdb.connect()
    engine.execute("SET enable_progress_bar = false")
    engine.execute(f"CREATE TYPE label AS ENUM {LABELS}")
    numbers = [f"n{k}" for k in range(WHOLE)] + [f"x{k}" for k in range(REAL)]
    parts = [f"sum(enum_code(TRY_CAST(t{k} AS label)))" for k in range(TEXTS)]
    parts += [f"sum(TRY_CAST({name} AS DOUBLE))" for name in numbers]
    names = [*(f"t{k}" for k in range(TEXTS)), *numbers]
    kinds = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
    reader = f"read_parquet('{path}')"
    if path.suffix == ".csv":
        reader = f"read_csv('{path}', auto_detect = false, header = true, columns = {{{kinds}}})"
    start = time.perf_counter()
    engine.execute(f"SELECT {', '.join(parts)} FROM {reader}").fetchall()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
