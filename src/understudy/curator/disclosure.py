"""Copies, distances and intervals: what people ask for, and no evidence of privacy.

A release without copies, far from every real row, can still give people away, and one with copies
may be harmless, where many people share a row. Each number therefore stands beside the same number
for rows that the release never saw, where there are such rows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.curator.result import CONFIDENCE, WITHIN, Direction, Result, absent, share
from understudy.curator.space import Distances, Points, Space
from understudy.curator.tables import Rows, Tables, Tell, row_keys

NOT_EVIDENCE = (
    "Copies, distances and intervals are no evidence of privacy: they miss leaks, and see some "
    "where there are none. The promise is in the certificate."
)
MOST_ROWS = 2000
"""Of more rows, a random choice is looked at."""
ETA = 0.001
"""How close a number must come to be told, as a share of the real column's range."""


@dataclass(frozen=True)
class Disclosure:
    """All of them, and the sentence that goes with them."""

    results: tuple[Result, ...]
    warning: str = NOT_EVIDENCE


def judge(
    tables: Tables,
    rng: np.random.Generator,
    tell: Tell = lambda _: None,
    eta: float = ETA,
) -> Disclosure:
    """Look for copies, near rows and near numbers."""
    tell("Looking for copies and near rows")
    results = [*_copies(tables), *_shared_names(tables)]
    space = Space.of(tables, tables.real)
    ours = space.points(tables.synthetic.some(MOST_ROWS, rng))
    name = "distance to closest record, synthetic to real"
    results.append(_middle(name, space.nearest(ours, tables.real)[0]))
    if tables.test is not None:
        unseen = space.points(tables.test.some(MOST_ROWS, rng))
        name = "distance to closest record, test to real (for comparison)"
        results.append(_middle(name, space.nearest(unseen, tables.real)[0]))
        results.append(_nearer(space, ours, tables.real, tables.test, rng))
    results += _intervals(tables, space, rng, eta)
    return Disclosure(tuple(results))


def interval_disclosure(
    original: NDArray[np.float64], counterpart: NDArray[np.float64], eta: float
) -> float:
    """LK-2SS's location-based interval disclosure (LID): rows of which a number is told.

    Of the rows, the share that has in some column a number within `eta` of its counterpart's.

    >>> real = np.array([[0.0, 5.0], [1.0, 9.0]])
    >>> interval_disclosure(real, np.array([[3.0, 5.1], [2.0, 4.0]]), 0.2)
    0.5
    """
    return float((np.abs(original - counterpart) <= eta).any(axis=1).mean())


def _copies(tables: Tables) -> list[Result]:
    parts = [tables.real, tables.synthetic, *([] if tables.test is None else [tables.test])]
    real, *others = row_keys(parts)
    names = (
        "synthetic rows that equal a real row",
        "test rows that equal a real row (for comparison)",
    )
    return [
        share(
            name,
            int(np.isin(keys, real).sum()),
            len(keys),
            Direction.NONE,
            f"{len(keys):,} against {len(real):,} real rows",
        )
        for name, keys in zip(names, others, strict=False)
    ]


def _shared_names(tables: Tables) -> list[Result]:
    """Names and ids are not compared otherwise, and must not be copied."""
    results = []
    for column, (synthetic, test) in tables.shared_names.items():
        name = f"synthetic values of {column} that occur in the real table"
        rows = tables.synthetic.count
        results.append(share(name, synthetic, rows, Direction.NONE, f"{rows:,} rows"))
        if tables.test is not None:
            name = f"test values of {column} that occur in the real table (for comparison)"
            rows = tables.test.count
            results.append(share(name, test, rows, Direction.NONE, f"{rows:,} rows"))
    return results


def _middle(name: str, distances: Distances) -> Result:
    """The median distance, with an interval from order statistics."""
    read = f"{len(distances):,} rows"
    ordered = np.sort(distances[np.isfinite(distances)])
    count = len(ordered)
    if not count:
        return absent(name, Direction.NONE, read, "there are no rows to compare")
    half = WITHIN * np.sqrt(count) / 2
    low = ordered[max(0, int(np.floor(count / 2 - half)))]
    high = ordered[min(count - 1, int(np.ceil(count / 2 + half)))]
    note = f"the median; {CONFIDENCE:.0%} interval"
    value = float(np.median(ordered))
    return Result(name, value, float(low), float(high), Direction.NONE, read, note)


def _nearer(space: Space, ours: Points, real: Rows, test: Rows, rng: np.random.Generator) -> Result:
    """How many synthetic rows are nearer to a real row than to one of as many test rows."""
    name, size = "synthetic rows nearer to real than to test rows", min(real.count, test.count)
    if not size:
        return absent(name, Direction.NONE, "no rows", "there are no rows to compare with")
    to_real, to_test = (space.nearest(ours, rows.some(size, rng))[0] for rows in (real, test))
    count = int((to_real < to_test).sum() + (to_real == to_test).sum() / 2)
    read = f"{len(ours):,} synthetic rows, against {size:,} real and as many test rows"
    return share(name, count, len(ours), Direction.NONE, read)


def _intervals(tables: Tables, space: Space, rng: np.random.Generator, eta: float) -> list[Result]:
    """LID where no row has a counterpart of its own: the nearest synthetic row stands for it."""
    name = f"rows with a number within {eta:g} of its range of the nearest synthetic row (LID)"
    ranges = {
        column: width
        for column, values in tables.real.numbers.items()
        if np.isfinite(values).any() and (width := float(np.nanmax(values) - np.nanmin(values)))
    }
    if not ranges or not tables.synthetic.count:
        why = "no column of numbers varies, or there are no rows"
        return [absent(name, Direction.NONE, f"{tables.real.count:,} real rows", why)]
    results = []
    for which, rows in (("real", tables.real), ("test", tables.test)):
        if rows is None or not rows.count:
            continue
        some = rows.some(MOST_ROWS, rng)
        place = space.nearest(space.points(some), tables.synthetic)[1]
        sides = [
            np.column_stack([side.numbers[c] / width for c, width in ranges.items()])
            for side in (some, tables.synthetic.take(place))
        ]
        told = round(interval_disclosure(sides[0], sides[1], eta) * some.count)
        label = name if which == "real" else f"{name}, test rows (for comparison)"
        results.append(
            share(label, told, some.count, Direction.NONE, f"{some.count:,} {which} rows")
        )
    return results
