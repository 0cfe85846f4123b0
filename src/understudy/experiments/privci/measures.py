"""What is measured: rows of codes against rows of codes, and a model's errors by group."""

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.curator.cells import joint
from understudy.curator.coded_task import Codes
from understudy.curator.fairness import FEWEST, information
from understudy.domain import Clique
from understudy.knowledge import Independence

Sizes = Mapping[str, int]
Counts = NDArray[np.float64]
SMOOTHING = 0.5
"""Added to every count before logarithms are taken."""


def tree_score(scores: Mapping[Clique, float], pairs: Iterable[Clique]) -> float:
    """The sum of the scores of a tree's pairs."""
    # An exact sum: the same tree has the same score, in whatever order it was found.
    return math.fsum(scores[pair] for pair in pairs)


def pairs_of(cliques: Iterable[Clique]) -> tuple[Clique, ...]:
    """The pairs among measured columns, each once and in order."""
    found = {(min(clique), max(clique)) for clique in cliques if len(clique) == 2}  # noqa: PLR2004
    return tuple(sorted(found))


def rows_off(counts: Counts) -> float:
    """‖N − N₁N₂ / n‖₁: in rows, how far a pair of columns is from independent."""
    return float(np.abs(counts - _expected(counts)).sum())


def squared_shares_off(counts: Counts) -> float:
    """‖P − P₁P₂‖₂²: the score that the paper prints."""
    return float((((counts - _expected(counts)) / counts.sum()) ** 2).sum())


def _expected(counts: Counts) -> Counts:
    return np.asarray(np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum())


def total_variation(real: Codes, made: Codes, sizes: Sizes) -> float:
    """The mean over all pairs of columns of half the L1 distance of their shares."""
    return float(
        np.mean(
            [
                np.abs(one / one.sum() - other / other.sum()).sum() / 2
                for one, other in _all_pairs(real, made, sizes)
            ]
        )
    )


def divergence(real: Codes, made: Codes, sizes: Sizes) -> float:
    """The mean over all pairs of columns of KL(real ‖ made), in nats; counts are smoothed."""
    found = []
    for one, other in _all_pairs(real, made, sizes):
        p, q = ((counts + SMOOTHING) / (counts + SMOOTHING).sum() for counts in (one, other))
        found.append((p * np.log(p / q)).sum())
    return float(np.mean(found))


def conditional_dependence(rows: Codes, independence: Independence) -> float:
    """The conditional mutual information of the rows themselves, in nats."""
    sides = (independence.outcome, independence.protected, independence.given)
    outcome, protected, given = (joint(rows, names) for names in sides)
    return information(outcome, protected, given)


def odds_gap(
    positive: NDArray[np.bool_], truth: NDArray[np.int64], group: NDArray[np.int64]
) -> float:
    """Equalized odds: the largest difference between groups in how often the answer is yes.

    Among rows of one true class; groups with few rows of it are left out. Not a number where no
    class has two groups.
    """
    gaps = []
    for code in np.unique(truth):
        members = [(truth == code) & (group == one) for one in np.unique(group)]
        rates = [positive[member].mean() for member in members if member.sum() >= FEWEST]
        if len(rates) > 1:
            gaps.append(max(rates) - min(rates))
    return float(max(gaps, default=np.nan))


def pair_counts(rows: Codes, sizes: Sizes, pair: Clique) -> Counts:
    """How often each pair of codes occurs."""
    one, other = pair
    cells = rows[one] * sizes[other] + rows[other]
    counts = np.bincount(cells, minlength=sizes[one] * sizes[other])
    return counts.reshape(sizes[one], sizes[other]).astype(np.float64)


def _all_pairs(real: Codes, made: Codes, sizes: Sizes) -> Iterator[tuple[Counts, Counts]]:
    for pair in combinations(sizes, 2):
        yield pair_counts(real, sizes, pair), pair_counts(made, sizes, pair)
