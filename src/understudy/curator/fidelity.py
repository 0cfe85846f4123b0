"""How close the synthetic table's distributions are to the real one's.

Every number is a mean of differences, and a row's weight on it is its derivative; from these the
standard error follows, of the sampling of both tables' rows. Differences cannot be negative, so
two samples of one population differ too: the floor says by how much.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from understudy.curator.cells import BINS, Cells, Codes, places
from understudy.curator.moments import MomentErrors, compare_moments
from understudy.curator.result import Direction, Result, around
from understudy.curator.row_weights import RowWeights
from understudy.curator.tables import Tables
from understudy.domain import Clique

ORDERS = (1, 2, 3)
MOST_SETS = {1: 10_000, 2: 5000, 3: 2000}
"""By order: of more sets of columns than this, a random choice is compared."""
SMOOTHING = 0.5
"""Added to every cell's count before KL divergences."""

_WORST = 20
"""So many of the worst triples are told one by one."""

Sides = Sequence[Codes]
"""The real and the synthetic rows' cells."""


@dataclass(frozen=True)
class MarginalErrors:
    """All marginals of one order."""

    order: int
    compared: int
    """How many sets of columns."""
    distance: Result
    """The mean total variation distance."""
    divergence: Result
    """The mean Kullback-Leibler divergence of the synthetic from the real marginals, in nats."""
    floor: float
    """The total variation distance that two samples of one population would show, about."""
    worst: Clique
    worst_distance: Result
    distances: tuple[tuple[Clique, float], ...]
    """By set of columns; of triples, the worst ones."""


@dataclass(frozen=True)
class Fidelity:
    """Marginals of one, two and three columns; moments of number columns."""

    marginals: tuple[MarginalErrors, ...]
    moments: tuple[MomentErrors, ...]
    notes: tuple[str, ...]


def judge(
    tables: Tables, rng: np.random.Generator, tell: Callable[[str], None] = lambda _: None
) -> Fidelity:
    """Compare distributions."""
    cells = Cells.of(tables)
    sides = cells.codes(tables.real), cells.codes(tables.synthetic)
    read = f"{tables.real.count:,} real and {tables.synthetic.count:,} synthetic rows"
    marginals = []
    if tables.real.count and tables.synthetic.count:
        for order in ORDERS[: len(cells.sizes)]:
            tell(f"Comparing marginals of {_columns(order)}")
            marginals.append(_marginals(order, cells, sides, read, rng))
    moments, constant = compare_moments(tables, read)
    notes = []
    if cells.cuts:
        notes.append(f"Numbers were cut at the real rows' quantiles, into about {BINS} bins.")
    if constant:
        notes.append(f"Constant, and so without moments: {', '.join(constant)}.")
    return Fidelity(tuple(marginals), tuple(moments), tuple(notes))


@dataclass(frozen=True, eq=False)
class _Difference:
    """One marginal, real against synthetic."""

    clique: Clique
    distance: float
    on_distance: RowWeights
    divergence: float
    on_divergence: RowWeights
    floor: float

    @classmethod
    def of(cls, clique: Clique, sizes: Sequence[int], sides: Sides) -> "_Difference":
        real, synthetic = (places(clique, codes, sizes) for codes in sides)
        total = int(np.prod(sizes))
        p, q = (np.bincount(place, minlength=total) / len(place) for place in (real, synthetic))
        signs = np.sign(p - q) / 2
        rows = np.array([len(real), len(synthetic)])
        smooth = [
            (share * n + SMOOTHING) / (n + SMOOTHING * total)
            for share, n in zip((p, q), rows, strict=True)
        ]
        quotient = smooth[0] / smooth[1]
        logs = np.log(quotient)
        # Two samples of one population differ in a cell like a normal number of this deviation.
        pooled = (p * rows[0] + q * rows[1]) / rows.sum()
        deviation = np.sqrt(pooled * (1 - pooled) * (1 / rows).sum())
        return cls(
            clique,
            float(np.abs(p - q).sum() / 2),
            RowWeights(signs[real], -signs[synthetic]),
            float(smooth[0] @ logs),
            RowWeights(logs[real], -quotient[synthetic]),
            float(np.sqrt(2 / np.pi) * deviation.sum() / 2),
        )


def _marginals(
    order: int, cells: Cells, sides: Sides, read: str, rng: np.random.Generator
) -> MarginalErrors:
    names = tuple(cells.sizes)
    sets = _chosen(names, order, rng)
    rows = [len(codes[names[0]]) for codes in sides]
    on_distance, on_divergence = RowWeights.none(*rows), RowWeights.none(*rows)
    distances: dict[Clique, float] = {}
    divergence = floor = 0.0
    worst: _Difference | None = None
    for clique in sets:
        one = _Difference.of(clique, [cells.sizes[name] for name in clique], sides)
        distances[clique] = one.distance
        on_distance.add(one.on_distance)
        on_divergence.add(one.on_divergence)
        divergence += one.divergence / len(sets)
        floor += one.floor / len(sets)
        if worst is None or one.distance > worst.distance:
            worst = one
    assert worst is not None  # noqa: S101 - there is a column, and so a set of them
    every = comb(len(names), order)
    which = f"{every:,}" if len(sets) == every else f"{len(sets):,} of {every:,}"
    what = f"{read}, {which} marginals of {_columns(order)}"
    whole = (0.0, 1.0)
    ranked = sorted(distances.items(), key=lambda pair: -pair[1])
    return MarginalErrors(
        order,
        len(sets),
        around(
            f"{order}-way total variation",
            sum(distances.values()) / len(sets),
            on_distance.error(len(sets)),
            Direction.LOWER,
            what,
            within=whole,
            note=f"two samples of one population would show about {floor:.3g}",
        ),
        around(
            f"{order}-way KL divergence",
            divergence,
            on_divergence.error(len(sets)),
            Direction.LOWER,
            what,
            within=(0.0, np.inf),
            note=f"real from synthetic, in nats; {SMOOTHING} added to every cell's count",
        ),
        floor,
        worst.clique,
        around(
            f"worst {order}-way total variation ({', '.join(worst.clique)})",
            worst.distance,
            worst.on_distance.error(),
            Direction.LOWER,
            what,
            within=whole,
        ),
        tuple(ranked if order < ORDERS[-1] else ranked[:_WORST]),
    )


def _columns(order: int) -> str:
    return "1 column" if order == 1 else f"{order} columns"


def _chosen(names: Sequence[str], order: int, rng: np.random.Generator) -> list[Clique]:
    most = MOST_SETS[order]
    if comb(len(names), order) <= most:
        return list(combinations(names, order))
    chosen: set[tuple[int, ...]] = set()
    while len(chosen) < most:
        chosen.add(tuple(sorted(rng.choice(len(names), order, replace=False).tolist())))
    return [tuple(names[k] for k in places) for places in sorted(chosen)]
