"""How fast exact noise, selection and training are, as ratios within one run.

    python benchmarks/ledger.py            everything; about a minute and a half
    python benchmarks/ledger.py --quick    a tenth of the work, for a first look

Noise is measured against OpenDP's sampler; training against the same steps in plain floating
point, without clipping in whole numbers and with NumPy's normal noise.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import ibis
import numpy as np
import opendp.prelude as dp
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from understudy.column import Column, Kind
from understudy.privacy import train as training_module
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import OsRandom, gaussian_noise
from understudy.privacy.scores import L1Distance
from understudy.privacy.train import CLIP_STEPS, Training, train
from understudy.schema import Schema

ROWS, INPUTS, HIDDEN, STEPS, BATCH = 40_000, 100, 64, 1000, 256
CODES = 32


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--peak", type=int, metavar="ROWS", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        _print_peak(options.peak, options.folder)
        return
    part = 10 if options.quick else 1
    report = Table(title="Exact noise, selection and training")
    for heading in ("what", "seconds", "against", "ratio", "aim"):
        report.add_column(heading, justify="left" if heading in {"what", "against"} else "right")
    _noise(report, part)
    _selection(report)
    _training(report, part)
    _memory(report, part)
    Console(width=120).print(report)


def _noise(report: Table, part: int) -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l2_distance(T=dp.i64)
    cells = 10**6 // part
    for scale in (1.0, 50.0, 1.3 * CLIP_STEPS):
        theirs = dp.m.make_gaussian(*space, scale=scale)
        zeros = np.zeros(cells // 10, np.int64)
        opendp = 10 * _seconds(lambda theirs=theirs, zeros=zeros: theirs(zeros))
        ours = _seconds(lambda scale=scale: gaussian_noise(cells, scale, OsRandom()))
        what = f"{cells:,} discrete Gaussians, scale {scale:.3g}"
        _line(report, what, ours, "OpenDP, ten times a tenth", opendp, "≤ 4 s")


def _selection(report: Table) -> None:
    rng = np.random.default_rng(0)
    names = [f"x{k}" for k in range(100)]
    table = pa.table({name: rng.integers(0, 8, 10**5) for name in names})
    schema = Schema(
        tuple(Column(name=n, kind=Kind.INTEGER, bounds=(0, 7), null=False) for n in names)
    )
    ledger = Ledger.open(table, schema, Budget(10.0, 1e-9))
    pairs = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :]]
    reference = np.full((8, 8), 10**5 / 64)
    candidates = [L1Distance(pair, reference) for pair in pairs]
    first = _seconds(lambda: ledger.select(candidates, epsilon=0.1))
    again = _seconds(lambda: ledger.select(candidates, epsilon=0.1))
    what = f"select among {len(pairs):,} pairs, 100,000 rows"
    _line(report, what, first, "", None, "")
    _line(report, "the same again, counts known", again, "the first time", first, "")


def _training(report: Table, part: int) -> None:
    codes, target = _rows()
    steps = STEPS // part
    inputs = {f"x{j}": np.arange(CODES) / 16 - 1 for j in range(INPUTS)}
    task = Training(
        inputs, "y", [0, 1], rows=ROWS, hidden=HIDDEN, steps=steps, rate=BATCH / ROWS, clip=1.0
    )
    weights = np.full(ROWS, 1024.0)

    def run() -> None:
        train(task, lambda: [(codes, weights)], 1.0 * CLIP_STEPS, OsRandom())

    plain = _seconds(lambda: _plain_training(codes, target, steps))
    with_noise = _seconds(run)
    drawn = training_module.gaussian_noise
    training_module.gaussian_noise = lambda count, *_: np.zeros(count, np.int64)  # type: ignore[assignment]
    without = _seconds(run)
    training_module.gaussian_noise = drawn
    what = (
        f"{steps:,} Poisson steps, {ROWS:,} rows, {INPUTS} inputs, {HIDDEN} hidden, batch {BATCH}"
    )
    _line(report, f"{what}, without noise", without, "plain floats, float noise", plain, "≤ 10 s")
    _line(report, "the same with exact noise", with_noise, "plain floats", plain, "≤ 25 s")


def _plain_training(codes: dict[str, NDArray[np.uint8]], y: NDArray[np.bool_], steps: int) -> None:
    """The same model and batches in floating point, as anyone would write it."""
    rng = np.random.default_rng(0)
    x = np.stack([codes[f"x{j}"] for j in range(INPUTS)], axis=1) / 16 - 1
    x = np.concatenate([x, np.ones((ROWS, 1))], axis=1)
    first = rng.normal(0, INPUTS**-0.5, (INPUTS + 1, HIDDEN))
    second = rng.normal(0, HIDDEN**-0.5, (HIDDEN + 1, 1))
    for _ in range(steps):
        batch = np.flatnonzero(rng.random(ROWS) < BATCH / ROWS)
        a = x[batch]
        h = np.concatenate([np.tanh(a @ first), np.ones((len(batch), 1))], axis=1)
        error = 1 / (1 + np.exp(-(h @ second))) - y[batch, None]
        back = error @ second[:-1].T * (1 - h[:, :-1] ** 2)
        squared = (a**2).sum(1) * (back**2).sum(1) + (h**2).sum(1) * (error**2).sum(1)
        factor = 1 / np.maximum(1, np.sqrt(squared))[:, None]
        first -= (a.T @ (back * factor) + rng.normal(size=first.shape)) / BATCH
        second -= (h.T @ (error * factor) + rng.normal(size=second.shape)) / BATCH


def _memory(report: Table, part: int) -> None:
    """The peak of a process that trains on a table which an engine codes once."""
    with tempfile.TemporaryDirectory() as folder:
        peaks = []
        for rows in (10**6 // part, 4 * 10**6 // part):
            _write(Path(folder), rows)
            done = subprocess.run(
                [sys.executable, __file__, "--peak", str(rows), "--folder", folder],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            peaks.append(float(done.stdout))
            what = f"peak memory of training on {rows:,} rows of a database"
            ratio = "" if len(peaks) == 1 else f"{peaks[1] / peaks[0]:.2f}"
            against = "" if len(peaks) == 1 else "a fourth of the rows"
            report.add_row(what, f"{peaks[-1]:.2f} GiB", against, ratio, "≤ 1 GiB")


def _write(folder: Path, rows: int) -> None:
    con = ibis.duckdb.connect(folder / f"{rows}.duckdb")
    columns = ", ".join(f"(hash(i + {k}) % 16)::UTINYINT AS x{k}" for k in range(10))
    con.raw_sql(f"CREATE TABLE t AS SELECT {columns} FROM range({rows}) AS r(i)")
    con.disconnect()


def _print_peak(rows: int, folder: Path) -> None:
    con = ibis.duckdb.connect(folder / f"{rows}.duckdb", memory_limit="256MB", threads=1)
    schema = Schema(
        tuple(
            Column(name=f"x{k}", kind=Kind.INTEGER, bounds=(0, 15), null=False) for k in range(10)
        )
    )
    ledger = Ledger.open(con.table("t"), schema, Budget(1.0, 1e-9))
    inputs = {f"x{k}": np.linspace(-1, 1, 16) for k in range(9)}
    task = Training(inputs, "x9", [0] * 8 + [1] * 8, rows=rows, hidden=16, steps=3, rate=0.01)
    ledger.train(task, rho=ledger.rest())
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def _rows() -> tuple[dict[str, NDArray[np.uint8]], NDArray[np.bool_]]:
    rng = np.random.default_rng(0)
    codes = {f"x{j}": rng.integers(0, CODES, ROWS).astype(np.uint8) for j in range(INPUTS)}
    x = np.stack(list(codes.values()), axis=1) / 16 - 1
    target = x @ rng.normal(size=INPUTS) + rng.normal(size=ROWS) > 0
    return {**codes, "y": target.astype(np.uint8)}, target


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _line(
    report: Table, what: str, seconds: float, base: str, other: float | None, aim: str
) -> None:
    ratio = "" if other is None else f"{seconds / other:.2f}"
    report.add_row(what, f"{seconds:.3f}", base, ratio, aim)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    main()
