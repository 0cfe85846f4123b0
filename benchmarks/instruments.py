"""Do the instruments measure what they say? Tables with a known answer, many times.

    python benchmarks/instruments.py
    python benchmarks/instruments.py --repetitions 50

Where nothing leaks, the 95 % interval of each attack's advantage must hold 0 about 95 times in 100;
where the release is a copy, attacks must find it. Where an independence holds, its test must reject
at 5 % about 5 times in 100; where it does not, nearly always.
"""

import argparse

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from understudy.curator import attacks
from understudy.curator.align import align
from understudy.curator.cells import Cells
from understudy.curator.cohort import Cohort, choose
from understudy.curator.fairness import independence_test
from understudy.curator.tables import Tables
from understudy.knowledge import Independence

ROWS = 800
LABELS = np.array([f"label {k}" for k in range(12)])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200)
    options = parser.parse_args()
    console = Console(width=100)
    console.print(_where_nothing_leaks(options.repetitions))
    console.print(_where_all_leaks())
    console.print(_independence(options.repetitions))


def _where_nothing_leaks(repetitions: int) -> Table:
    found: dict[tuple[str, str], list[tuple[float, bool, float]]] = {}
    for k in range(repetitions):
        rng = np.random.default_rng([1, k])
        tables = align(*(_population(rng) for _ in range(3)))
        for strike in attacks.judge(tables, _cohort(tables, rng), rng):
            told = strike.advantage
            groups = {attacks.ALL_ROWS, attacks.decile(10)}
            if (
                strike.table == attacks.RELEASE
                and strike.group in groups
                and told.value is not None
            ):
                covers = told.low <= 0 <= told.high
                found.setdefault((strike.attack, strike.group), []).append(
                    (told.value, covers, strike.p_value)
                )
    report = Table(title=f"A release that is a fresh sample: nothing leaks; {repetitions} times")
    for heading in ("attack", "rows", "mean advantage", "interval holds 0", "p below 0.05"):
        report.add_column(heading)
    for (attack, group), told in found.items():
        values, covered, p_values = (np.array(column) for column in zip(*told, strict=True))
        report.add_row(
            attack,
            group,
            f"{values.mean():+.3f}",
            f"{covered.mean():.3f} of {len(covered)}",
            f"{(p_values < 0.05).mean():.3f}",
        )
    return report


def _where_all_leaks() -> Table:
    rng = np.random.default_rng(2)
    real, test = (pa.table({f"x{k}": rng.normal(size=ROWS) for k in range(4)}) for _ in range(2))
    tables = align(real, real, test)
    strikes = attacks.judge(tables, _cohort(tables, rng), rng)
    report = Table(title="A release that is a copy, of a table of numbers without twins")
    for heading in ("attack", "AUC, release", "AUC, control where everything leaks"):
        report.add_column(heading)
    for attack in (attacks.DISTANCE, attacks.DENSITY, attacks.MARGINALS):
        areas = [
            (s.advantage.value + 1) / 2
            for table in (attacks.RELEASE, attacks.FULL_LEAK)
            for s in strikes
            if (s.attack, s.table, s.group) == (attack, table, attacks.ALL_ROWS)
        ]
        report.add_row(attack, *(f"{area:.3f}" for area in areas))
    return report


def _independence(repetitions: int) -> Table:
    report = Table(title=f"outcome ⟂ protected | given, 600 rows; {repetitions} times")
    for heading in ("table", "rejected at 5 %", "mean information", "its mean where dealt anew"):
        report.add_column(heading)
    sentence = Independence("outcome", "protected", given="given")
    for name, link in (("holds", 0.0), ("violated", 0.25)):
        told = []
        for k in range(repetitions):
            rng = np.random.default_rng([3, k])
            given = rng.integers(0, 6, 600)
            protected = rng.random(600) < 0.2 + 0.1 * given
            outcome = rng.random(600) < 0.2 + 0.08 * given + link * protected
            table = pa.table({"outcome": outcome, "protected": protected, "given": given})
            tables = align(table, table)
            codes = Cells.of(tables, fine=True).codes(tables.real)
            told.append(independence_test(codes, "real", sentence, rng))
        report.add_row(
            name,
            f"{np.mean([test.p_value <= 0.05 for test in told]):.3f}",
            f"{np.mean([test.information.value for test in told]):.5f}",
            f"{np.mean([test.expected for test in told]):.5f}",
        )
    return report


def _population(rng: np.random.Generator) -> pa.Table:
    """Numbers and labels that hang together."""
    hidden = rng.normal(size=ROWS)
    places = np.clip(hidden * 2 + rng.normal(size=ROWS) + 6, 0, 11).astype(int)
    columns = {f"x{k}": hidden + rng.normal(size=ROWS) for k in range(3)}
    return pa.table({**columns, "label": LABELS[places], "other": LABELS[rng.integers(0, 5, ROWS)]})


def _cohort(tables: Tables, rng: np.random.Generator) -> Cohort:
    cohort = choose(tables, 10_000, rng)
    if isinstance(cohort, str):
        raise SystemExit(cohort)
    return cohort


if __name__ == "__main__":
    main()
