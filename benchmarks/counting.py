"""How fast and how lean exact counting is, as ratios within one run.

    python benchmarks/counting.py            everything; about two minutes
    python benchmarks/counting.py --quick    tenth-size tables, for a first look

Every line is measured against something plain that ran moments before on the same machine, so
that the ratios carry over to other machines while the seconds do not.
"""

import argparse
import itertools
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from understudy.column import Column, Kind
from understudy.privacy.engine import EmbeddedEngine
from understudy.privacy.table import PrivateTable
from understudy.privacy.weights import RowWeights
from understudy.schema import Schema

COLUMNS = 20
CODES = 10
REPEATS = 3
PAIRS = list(itertools.combinations([f"x{k}" for k in range(COLUMNS)], 2))
LABELS = tuple(f"category {k}" for k in range(CODES))
CHUNK = 10**6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tenth-size tables")
    parser.add_argument("--peak", metavar="PARQUET", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        _print_peak(options.peak)
        return
    rows = 10**5 if options.quick else 10**6
    report = Table(title=f"Counting {len(PAIRS)} two-way marginals, {COLUMNS} columns of {CODES}")
    for heading in ("what", "rows", "seconds", "against", "ratio", "aim"):
        report.add_column(heading, justify="left" if heading in {"what", "against"} else "right")
    with tempfile.TemporaryDirectory() as folder:
        _counting(report, Path(folder), rows)
        _strings(report, Path(folder), rows)
        _growth(report, Path(folder), rows)
        _memory(report, Path(folder), rows)
    Console(width=120).print(report)


def _counting(report: Table, folder: Path, rows: int) -> None:
    file = _write(folder / "codes.parquet", rows)
    codes = {name: column.to_numpy().astype(np.uint8) for name, column in _columns(file).items()}

    def loop() -> None:
        for a, b in PAIRS:
            np.bincount(codes[a].astype(np.intp) * CODES + codes[b], minlength=CODES**2)

    plain = _seconds(loop)
    warm = PrivateTable(str(file), _schema())
    warm.count([()])
    report.add_row("numpy.bincount, one pair after the other", f"{rows:,}", f"{plain:.3f}")

    counted = _seconds(lambda: _recount(warm))
    _line(report, "blocks of ready codes", rows, counted, "bincount loop", plain, 1.5)
    whole = _seconds(lambda: PrivateTable(str(file), _schema()).count(PAIRS))
    _line(report, "the same, with the encode from Parquet", rows, whole, "bincount loop", plain, 3)
    weights = _weights()
    weighted = _seconds(lambda: _recount(warm, weights))
    _line(report, "weighted, blocks of ready codes", rows, weighted, "unweighted", counted, 1.4)
    heavy = np.full(rows, 512.0)

    def weighted_loop() -> None:
        for a, b in PAIRS:
            np.bincount(codes[a].astype(np.intp) * CODES + codes[b], heavy, CODES**2)

    plain_weighted = _seconds(weighted_loop)
    _line(report, "", rows, weighted, "weighted bincount loop", plain_weighted, None)


def _strings(report: Table, folder: Path, rows: int) -> None:
    file = _write(folder / "strings.parquet", rows, labels=True)
    engine = EmbeddedEngine()
    cases = " ".join(f"WHEN '{label}' THEN {k}" for k, label in enumerate(LABELS))
    names = [f"x{k}" for k in range(COLUMNS)]
    labels = ", ".join(f"'{label}'" for label in LABELS)
    engine.run(f"CREATE TYPE label AS ENUM ({labels})")

    def encode(code: str) -> float:
        columns = ", ".join(code.format(name) + f" AS {name}" for name in names)
        return _seconds(
            lambda: engine.run(f"CREATE OR REPLACE TABLE coded AS SELECT {columns} FROM '{file}'")
        )

    case = encode("(CASE {} " + cases + " ELSE -1 END)::TINYINT")
    enum = encode("coalesce(enum_code(TRY_CAST({} AS label))::TINYINT, -1)")
    _line(report, "strings to codes, DuckDB enums", rows, enum, "DuckDB CASE", case, 1)
    codes = folder / "codes.parquet"
    numbers = _seconds(lambda: PrivateTable(str(codes), _schema()).count(PAIRS))
    strings = _seconds(lambda: PrivateTable(str(file), _schema(labels=True)).count(PAIRS))
    _line(
        report, "string columns, encode and count", rows, strings, "integer columns", numbers, None
    )


def _growth(report: Table, folder: Path, rows: int) -> None:
    times = {}
    for size in (rows, 4 * rows):
        file = _write(folder / f"grow{size}.parquet", size)
        times[size] = _seconds(lambda file=file: PrivateTable(str(file), _schema()).count(PAIRS))
        file.unlink()
    _line(report, "four times the rows", 4 * rows, times[4 * rows], "a fourth", times[rows], 4)


def _memory(report: Table, folder: Path, rows: int) -> None:
    file = _write(folder / "large.parquet", 10 * rows)
    command = [sys.executable, __file__, "--peak", str(file)]
    started = time.perf_counter()
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds = time.perf_counter() - started
    peak = float(printed) / 2**30
    report.add_row(
        "peak memory, whole process",
        f"{10 * rows:,}",
        f"{seconds:.2f}",
        "",
        f"{peak:.2f} GiB",
        "1.4 GiB",
    )


def _print_peak(file: str) -> None:
    PrivateTable(file, _schema()).count(PAIRS)
    # Kilobytes on Linux, bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def _schema(*, labels: bool = False) -> Schema:
    facts = (
        {"kind": Kind.CATEGORICAL, "categories": LABELS}
        if labels
        else {"kind": Kind.INTEGER, "bounds": (0, CODES - 1)}
    )
    return Schema(tuple(Column(name=f"x{k}", null=False, **facts) for k in range(COLUMNS)))


def _weights() -> RowWeights:
    rng = np.random.default_rng(0)
    tables = {f"x{k}": rng.integers(0, 500, CODES).tolist() for k in range(COLUMNS)}
    steps = np.linspace(3000, 8000, 100).astype(int).tolist()
    return RowWeights.of(tables, steps, np.linspace(1024, 10, 101).astype(int).tolist())


def _recount(table: PrivateTable, weights: RowWeights | None = None) -> None:
    # Past the cache: the question is how long counting takes.
    table._count(PAIRS, weights)  # noqa: SLF001


def _write(file: Path, rows: int, *, labels: bool = False) -> Path:
    rng = np.random.default_rng(rows)
    kind = pa.string() if labels else pa.int64()
    schema = pa.schema([(f"x{k}", kind) for k in range(COLUMNS)])
    words = pa.array(LABELS)
    with pq.ParquetWriter(file, schema) as writer:
        for start in range(0, rows, CHUNK):
            size = min(CHUNK, rows - start)
            drawn = [pa.array(rng.integers(0, CODES, size)) for _ in range(COLUMNS)]
            columns = [words.take(column) for column in drawn] if labels else drawn
            writer.write_table(pa.table(columns, schema=schema))
    return file


def _columns(file: Path) -> dict[str, pa.ChunkedArray]:
    table = pq.read_table(file)
    return dict(zip(table.column_names, table.columns, strict=True))


def _seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def _line(
    report: Table, what: str, rows: int, seconds: float, base: str, other: float, aim: float | None
) -> None:
    wanted = "" if aim is None else f"≤ {aim:g}"
    report.add_row(what, f"{rows:,}", f"{seconds:.3f}", base, f"{seconds / other:.2f}", wanted)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    main()
