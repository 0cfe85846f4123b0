"""What the runners share: their arguments, and the budget as zero-concentrated privacy."""

import argparse
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Task:
    """One table to make anew, and the promise to keep."""

    train: Path
    sizes: dict[str, int]
    """By column, how many codes it has."""
    epsilon: float
    delta: float
    out: Path
    by_hand: bool
    """Whether to go around what a peer does slowly, where its runner knows a way."""

    @property
    def rho(self) -> float:
        """The largest rho whose zero-concentrated privacy implies (epsilon, delta)."""
        low, high = 0.0, self.epsilon
        for _ in range(50):
            middle = (low + high) / 2
            kept = _log_delta(middle, self.epsilon) <= math.log(self.delta)
            low, high = (middle, high) if kept else (low, middle)
        return low


def task(about: str) -> Task:
    """The task that the command line gives."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("train", type=Path, help="a CSV file of codes 0, 1, 2, ...")
    parser.add_argument("domain", type=Path, help="a JSON file: column to number of codes")
    parser.add_argument("epsilon", type=float)
    parser.add_argument("delta", type=float)
    parser.add_argument("out", type=Path, help="the CSV file to write")
    parser.add_argument("--by-hand", action="store_true")
    told = parser.parse_args()
    sizes = {name: int(size) for name, size in json.loads(told.domain.read_text()).items()}
    return Task(told.train, sizes, told.epsilon, told.delta, told.out, told.by_hand)


def audit_parser(about: str) -> argparse.ArgumentParser:
    """What a runner is asked by `understudy audit --command`."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("jobs", type=Path, help='JSON lines: {"data": ..., "out": ...}')
    parser.add_argument("domain", type=Path, help="a JSON file: column to number of codes")
    parser.add_argument("epsilon", type=float)
    parser.add_argument("delta", type=float)
    codes = parser.add_mutually_exclusive_group()
    codes.add_argument("--declared", action="store_true", default=True, help="tell it the codes")
    codes.add_argument(
        "--undeclared", dest="declared", action="store_false", help="it reads them off the table"
    )
    return parser


def audit_tasks(told: argparse.Namespace) -> Iterator[Task]:
    """One after the other, the tables to make anew."""
    sizes = json.loads(told.domain.read_text())
    for line in told.jobs.read_text().splitlines():
        job = json.loads(line)
        data, out = Path(job["data"]), Path(job["out"])
        yield Task(data, sizes, told.epsilon, told.delta, out, by_hand=False)


def _log_delta(rho: float, epsilon: float) -> float:
    """The delta of rho at this epsilon (Canonne, Kamath and Steinke 2020), over a grid of orders.

    Any order gives a delta that holds, so a grid errs on the safe side.
    """
    return min(_at_order(1 + 10 ** (step / 100), rho, epsilon) for step in range(-200, 501))


def _at_order(order: float, rho: float, epsilon: float) -> float:
    moment = (order - 1) * (order * rho - epsilon)
    return moment + order * math.log1p(-1 / order) - math.log(order - 1)
