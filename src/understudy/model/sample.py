"""Rows from a chain of conditional tables, each column after those it depends on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain

Codes = NDArray[np.unsignedinteger]
Table = NDArray[np.float64]
_CELLS_AT_ONCE = 2**16


@dataclass(frozen=True, eq=False)
class Step:
    """How columns are drawn, given columns that were drawn before."""

    given: Clique
    new: Clique
    shares: Table
    """A row for each combination of given codes, a column for each of new ones; not negative."""


def ancestral(
    domain: Domain, steps: Iterable[Step], rows: int, rng: np.random.Generator, *, rounded: bool
) -> dict[str, Codes]:
    """Codes of that many rows.

    Rows that agree in the given columns form a group. Within each group, rounded draws give a
    combination its expected count, rounded up or down at random; plain draws scatter. Which row
    of a group gets what is shuffled anew in each step, so that columns which depend on the same
    one do not depend on each other.
    """
    codes: dict[str, Codes] = {}
    for step in chain.from_iterable(_narrowed(domain, step) for step in steps):
        groups = np.zeros(rows, np.intp)
        if step.given:
            given = [codes[name] for name in step.given]
            groups = np.ravel_multi_index(given, domain.shape(step.given))
        cells = drawn(step.shares, groups, rng, rounded=rounded)
        found = np.unravel_index(cells, domain.shape(step.new)) if step.new else ()
        for name, code in zip(step.new, found, strict=True):
            codes[name] = code.astype(np.min_scalar_type(domain.sizes[name] - 1))
    return {name: codes[name] for name in domain.names if name in codes}


def _narrowed(domain: Domain, step: Step) -> Iterator[Step]:
    """The step itself; or, where its table is too long for one group, column after column."""
    if step.shares.shape[1] <= _CELLS_AT_ONCE or len(step.new) == 1:
        yield step
        return
    *first, last = step.new
    table = step.shares.reshape(len(step.shares), -1, domain.sizes[last])
    yield from _narrowed(domain, Step(step.given, tuple(first), table.sum(axis=2)))
    given = (*step.given, *first)
    yield Step(given, (last,), table.reshape(domain.size(given), domain.sizes[last]))


def drawn(
    shares: Table, groups: NDArray[np.intp], rng: np.random.Generator, *, rounded: bool
) -> NDArray[np.intp]:
    """A new cell for each row, by the shares of its group."""
    sizes = np.bincount(groups, minlength=len(shares))
    present = np.flatnonzero(sizes)
    shuffled = rng.permutation(len(groups))
    if len(present) > 1:
        # Ranks among the groups that occur are small numbers, which sort fast.
        rank = np.zeros(len(sizes), np.min_scalar_type(len(present)))
        rank[present] = np.arange(len(present))
        shuffled = shuffled[np.argsort(rank[groups[shuffled]], kind="stable")]
    cells = np.empty(len(groups), np.intp)
    ends = np.cumsum(sizes[present])
    # A few groups at a time: a model near its limit of memory has no room for many counts.
    step = max(1, _CELLS_AT_ONCE // shares.shape[1])
    for start in range(0, len(present), step):
        some = present[start : start + step]
        counts = _counts(shares[some], sizes[some], rng, rounded=rounded)
        new = np.broadcast_to(np.arange(shares.shape[1]), counts.shape)
        rows = slice(ends[start] - sizes[some[0]], ends[start + len(some) - 1])
        cells[shuffled[rows]] = np.repeat(new.ravel(), counts.ravel())
    return cells


def _counts(
    shares: Table, sizes: NDArray[np.intp], rng: np.random.Generator, *, rounded: bool
) -> NDArray[np.int64]:
    """How many rows of each group get each new cell."""
    if not rounded:
        counts = rng.multinomial(sizes, shares / shares.sum(axis=1, keepdims=True))
        # What rounding leaves over goes to the last cell there, be it an impossible one.
        strayed = np.where(shares > 0, 0, counts)
        counts -= strayed
        counts[np.arange(len(counts)), shares.argmax(axis=1)] += strayed.sum(axis=1)
        return counts
    ladder = np.cumsum(shares, axis=1)
    ladder /= ladder[:, -1:]
    # One random offset for a group: a cell is hit as often as whole numbers lie on its part of
    # the group's line, which is its expected count rounded up or down, and right on average.
    steps = np.floor(ladder * sizes[:, None] + rng.random((len(sizes), 1)))
    steps = np.minimum(steps, sizes[:, None])  # an offset just below 1 is rounded up to it
    return np.diff(steps, axis=1, prepend=0.0).astype(np.int64)
