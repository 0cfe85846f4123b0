"""How fast LK-2SS's parts are: the Latin hypercube, hybrid matching, and kernel ridge regression.

    python benchmarks/lk2ss.py

Each part runs in a process of its own, whose peak memory is read at its end. Beside each stands
the plain way, on a part of the rows and scaled up by its order.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.kernel_ridge import KernelRidge as Peer

from understudy.model.kernel_ridge import kernel_ridge
from understudy.model.kernels import Gaussian
from understudy.twostage.first_stages import LatinHypercube
from understudy.twostage.hybrid import nearest

ROWS, COLUMNS = 10**5, 10


def main() -> None:
    """Print a table."""
    if len(sys.argv) > 1:
        seconds, beside = PARTS[sys.argv[1]][0]()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(seconds, beside, peak)
        return
    report = Table("what", "seconds", "peak GiB", "aim", "against", "ratio")
    for name, (_, what, aim, against) in PARTS.items():
        done = subprocess.run(
            [sys.executable, __file__, name], capture_output=True, text=True, check=True
        )
        seconds, beside, peak = map(float, done.stdout.split())
        ratio = f"{seconds / beside:.2g}"
        report.add_row(what, f"{seconds:.1f}", f"{peak:.2f}", aim, against, ratio)
    Console(width=140).print(report)


def _hypercube() -> tuple[float, float]:
    rng = np.random.default_rng(0)
    real = rng.standard_normal((10**6, 20)) + rng.standard_normal((10**6, 1))
    ours = _seconds(lambda: LatinHypercube().made(real, rng))
    # Drawing rows again, with a little noise: the least that any such stage has to do.
    plain = _seconds(
        lambda: real[rng.integers(0, len(real), len(real))] + rng.normal(size=real.shape)
    )
    return ours, plain


def _matching() -> tuple[float, float]:
    rng = np.random.default_rng(0)
    real, made = (rng.random((ROWS, COLUMNS)) + rng.random((ROWS, 1)) for _ in range(2))
    ours = _seconds(lambda: nearest(real, made))
    some = 4000
    plain = _seconds(lambda: _plainly(real[:some], made[:some])) * (ROWS / some) ** 2
    return ours, plain


def _plainly(real: np.ndarray, made: np.ndarray) -> None:
    free = np.ones(len(made), bool)
    for row in real:
        away = np.where(free, ((made - row) ** 2).sum(axis=1), np.inf)
        free[int(away.argmin())] = False


def _regression() -> tuple[float, float]:
    rng = np.random.default_rng(0)
    x = rng.random((ROWS, COLUMNS))
    y = np.sin(4 * x[:, :1]) + x[:, 1:2] ** 2 + 0.1 * rng.normal(size=(ROWS, 1))
    ours = _seconds(lambda: kernel_ridge(x, y, Gaussian(), (1e-6, 1e-5, 1e-4, 1e-3), rng))
    some = 4000
    peer = Peer(alpha=1e-3, kernel="rbf", gamma=0.5)
    plain = _seconds(lambda: peer.fit(x[:some], y[:some])) * (ROWS / some) ** 3
    return ours, plain


PARTS = {
    "hypercube": (_hypercube, "Latin hypercube, 1,000,000 × 20", "≤ 20 s", "rows drawn again"),
    "matching": (
        _matching,
        f"nearest rows without repeats, {ROWS:,} × {COLUMNS}",
        "≤ 60 s",
        "all pairs, of 4,000 rows, times 625",
    ),
    "regression": (
        _regression,
        f"kernel ridge with 5 folds, {ROWS:,} × {COLUMNS}",
        "≤ 60 s, ≤ 4 GB",
        "scikit-learn once, of 4,000 rows, times 15,625",
    ),
}


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
