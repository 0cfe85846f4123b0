"""How close the synthetic table's distributions are to the real one's.

Every number is a mean of differences, and a row's weight on it is its derivative; from these the
standard error follows, of the sampling of both tables' rows. Differences cannot be negative, so
two samples of one population differ too: `chance` says by how much, and an interval's lower end
allows for it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from understudy.curator.cells import BINS, Cells, Codes, places
from understudy.curator.moments import MomentErrors, compare_moments
from understudy.curator.result import Direction, Result, around
from understudy.curator.row_weights import RowWeights
from understudy.curator.shares import ColumnShares, column_shares
from understudy.curator.tables import Tables, Tell, distinct
from understudy.domain import Clique

ORDERS = (1, 2, 3)
MOST_SETS = {1: 10_000, 2: 5000, 3: 2000}
"""By order: of more sets of columns than this, a random choice is compared."""
SMOOTHING = 1.0
"""Rows added to both tables before KL divergences, spread evenly over a marginal's cells.

So a smaller marginal is smoothed as the larger one that it is a part of, and never diverges more.
"""
_DEALS = 60
"""So many marginals of each order are dealt anew, to see what KL divergence chance gives."""

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
    """The mean Kullback-Leibler divergence of real from synthetic marginals, in nats."""
    floor: float
    """The total variation distance that two samples of one population would show, about."""
    divergence_floor: float
    """The same of the divergence."""
    worst: Clique
    worst_distance: Result
    distances: tuple[tuple[Clique, float, float], ...]
    """Of each set of columns the distance and what chance gives, the worst beyond chance first;
    of triples, the worst ones alone."""


@dataclass(frozen=True)
class Fidelity:
    """Marginals of one, two and three columns; moments of number columns."""

    marginals: tuple[MarginalErrors, ...]
    moments: tuple[MomentErrors, ...]
    columns: tuple[ColumnShares, ...]
    notes: tuple[str, ...]


def judge(tables: Tables, rng: np.random.Generator, tell: Tell = lambda _: None) -> Fidelity:
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
        notes.append(f"Constant, or never there, and so without moments: {', '.join(constant)}.")
    shares = column_shares(tables, cells)
    return Fidelity(tuple(marginals), tuple(moments), shares, tuple(notes))


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
    def of(
        cls, clique: Clique, sizes: Sequence[int], sides: Sides, chance: NDArray[np.float64]
    ) -> "_Difference":
        real, synthetic = (places(clique, codes, sizes) for codes in sides)
        total = cells = math.prod(sizes)
        if total > len(real) + len(synthetic):
            # Most cells are empty in both tables; these are alike, and counted as one.
            together = distinct(np.concatenate([real, synthetic]))
            real, synthetic = together[: len(real)], together[len(real) :]
            cells = int(together.max()) + 1
        counts = [np.bincount(place, minlength=cells) for place in (real, synthetic)]
        p, q = counts[0] / len(real), counts[1] / len(synthetic)
        signs = np.sign(p - q) / 2
        smooth = [(count + SMOOTHING / total) / (count.sum() + SMOOTHING) for count in counts]
        quotient = smooth[0] / smooth[1]
        logs = np.log(quotient)
        empty = [SMOOTHING / total / (count.sum() + SMOOTHING) for count in counts]
        unseen = (total - cells) * empty[0] * math.log(empty[0] / empty[1])
        return cls(
            clique,
            min(1.0, float(np.abs(p - q).sum() / 2)),  # rounding may add a little
            RowWeights(signs[real], -signs[synthetic]),
            float(smooth[0] @ logs) + unseen,
            RowWeights(logs[real], -quotient[synthetic]),
            float(chance[counts[0] + counts[1]].sum() / 2),
        )


def _marginals(
    order: int, cells: Cells, sides: Sides, read: str, rng: np.random.Generator
) -> MarginalErrors:
    names = tuple(cells.sizes)
    sets = _chosen(names, order, rng)
    rows = [len(codes[names[0]]) for codes in sides]
    on_distance, on_divergence = RowWeights.none(*rows), RowWeights.none(*rows)
    distances: dict[Clique, tuple[float, float]] = {}
    divergence = floor = 0.0
    worst: _Difference | None = None
    chance = _chance(*rows)

    def difference(clique: Clique, of: Sides) -> _Difference:
        return _Difference.of(clique, [cells.sizes[name] for name in clique], of, chance)

    for clique in sets:
        one = difference(clique, sides)
        distances[clique] = (one.distance, one.floor)
        on_distance.add(one.on_distance)
        on_divergence.add(one.on_divergence)
        divergence += one.divergence / len(sets)
        floor += one.floor / len(sets)
        # Beyond chance, for pairs with many cells differ most by chance.
        if worst is None or one.distance - one.floor > worst.distance - worst.floor:
            worst = one
    assert worst is not None  # noqa: S101 - there is a column, and so a set of them
    every = math.comb(len(names), order)
    dealt = _dealt(sides, rng)
    some = [sets[k] for k in rng.permutation(len(sets))[:_DEALS]]
    divergence_floor = float(np.mean([difference(clique, dealt).divergence for clique in some]))
    which = f"{every:,}" if len(sets) == every else f"{len(sets):,} of {every:,}"
    what = f"{read}, {which} marginals of {_columns(order)}"
    whole = (0.0, 1.0)
    ranked = sorted(
        ((clique, *told) for clique, told in distances.items()), key=lambda one: one[2] - one[1]
    )
    return MarginalErrors(
        order,
        len(sets),
        around(
            f"{order}-way total variation",
            sum(distance for distance, _ in distances.values()) / len(sets),
            on_distance.error(len(sets)),
            Direction.LOWER,
            what,
            within=whole,
            chance=floor,
            note=f"two samples of one population would show about {floor:.3g}",
        ),
        around(
            f"{order}-way KL divergence",
            divergence,
            on_divergence.error(len(sets)),
            Direction.LOWER,
            what,
            within=(0.0, np.inf),
            chance=divergence_floor,
            note="of real from synthetic, in nats, after one row more in each table, spread "
            f"evenly over all cells; by chance about {divergence_floor:.3g}",
        ),
        floor,
        divergence_floor,
        worst.clique,
        around(
            f"worst {order}-way total variation ({', '.join(worst.clique)})",
            worst.distance,
            worst.on_distance.error(),
            Direction.LOWER,
            what,
            within=whole,
            chance=worst.floor,
        ),
        tuple(ranked if order < ORDERS[-1] else ranked[:_WORST]),
    )


def _chance(real: int, synthetic: int) -> NDArray[np.float64]:
    """By how many rows share a cell, the difference of shares that chance alone gives it.

    Dealt out to two tables, a cell's rows split like a binomial number; by de Moivre, its mean
    deviation is 2(1 − p)m·P(m), with m the first whole number above the mean. A cell that holds a
    large part of all rows varies less, for both tables' sizes are fixed.
    """
    total = real + synthetic
    p = real / total
    rows = np.arange(total + 1)
    above = np.floor(rows * p) + 1
    fixed = np.sqrt((total - rows) / max(total - 1, 1))
    deviation = 2 * (1 - p) * above * binom.pmf(above, rows, p) * fixed
    return np.asarray(deviation * (1 / real + 1 / synthetic))


def _dealt(sides: Sides, rng: np.random.Generator) -> Sides:
    """Two tables of the same sizes, out of the rows of both."""
    rows = [len(next(iter(codes.values()))) for codes in sides]
    order = rng.permutation(sum(rows))
    both = {name: np.concatenate([codes[name] for codes in sides])[order] for name in sides[0]}
    first = {name: codes[: rows[0]] for name, codes in both.items()}
    return first, {name: codes[rows[0] :] for name, codes in both.items()}


def _columns(order: int) -> str:
    return "1 column" if order == 1 else f"{order} columns"


def _chosen(names: Sequence[str], order: int, rng: np.random.Generator) -> list[Clique]:
    most = MOST_SETS[order]
    if math.comb(len(names), order) <= most:
        return list(combinations(names, order))
    chosen: set[tuple[int, ...]] = set()
    while len(chosen) < most:
        chosen.add(tuple(sorted(rng.choice(len(names), order, replace=False).tolist())))
    return [tuple(names[k] for k in places) for places in sorted(chosen)]
