"""An attack by a mechanism's own marginals, after MAMA-MIA.

Whoever knows which marginals a mechanism measured, looks a row up in them: does its cell hold more
than a population without it would put there? Each cell gives a log-likelihood ratio of one record
more against none, with the noise, the population's spread and the reference's own spread in its
variance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.curator.cells import Codes, places
from understudy.domain import Clique


@dataclass(frozen=True, eq=False)
class KnownMarginal:
    """What an attacker knows of one marginal."""

    clique: Clique
    counts: NDArray[np.float64]
    """By cell, the clique's last column varying fastest."""
    scale: NDArray[np.float64]
    """By cell, the standard deviation of its noise."""
    sizes: tuple[int, ...]

    @classmethod
    def measured(
        cls, clique: Clique, values: NDArray[np.float64], scale: float | NDArray[np.float64]
    ) -> "KnownMarginal":
        """A noisy marginal that a release tells."""
        spread = np.broadcast_to(np.asarray(scale, np.float64), values.shape)
        return cls(clique, values.ravel(), spread.ravel(), values.shape)

    @classmethod
    def counted(cls, clique: Clique, codes: Codes, sizes: Mapping[str, int]) -> "KnownMarginal":
        """A marginal counted in rows at hand, such as synthetic ones."""
        shape = tuple(sizes[name] for name in clique)
        counts = np.bincount(places(clique, codes, shape), minlength=int(np.prod(shape))).astype(
            np.float64
        )
        return cls(clique, counts, np.broadcast_to(0.0, counts.shape), shape)


@dataclass(frozen=True, eq=False)
class Published:
    """What an attacker has besides the synthetic rows: marginals, and codes to look rows up."""

    marginals: tuple[KnownMarginal, ...]
    real: Codes
    test: Codes
    sizes: dict[str, int]


def own_cells(members: NDArray[np.int64]) -> KnownMarginal:
    """The most that a marginal can tell: no noise, and a cell of its own for every member.

    `members` are row numbers, equal for equal rows; their column is called `row`.
    """
    size = int(members.max(initial=0)) + 1
    return KnownMarginal.counted(("row",), {"row": members}, {"row": size})


def marginal_scores(
    marginals: Sequence[KnownMarginal], attacked: Codes, reference: Codes
) -> NDArray[np.float64]:
    """By attacked row, how much the marginals speak for it being a member."""
    rows = len(next(iter(attacked.values())))
    score = np.zeros(rows)
    for marginal in marginals:
        place = places(marginal.clique, attacked, marginal.sizes)
        known = places(marginal.clique, reference, marginal.sizes)
        cells = len(marginal.counts)
        # A place beyond the counts is a row that the marginal has no cell for.
        inside = place < cells
        at = np.where(inside, place, 0)
        counted = np.where(inside, marginal.counts[at], 0.0)
        noise = np.where(inside, marginal.scale[at], 0.0)
        in_reference = np.bincount(known, minlength=max(cells, int(place.max(initial=0)) + 1))
        total = max(float(marginal.counts.sum()), 1.0)
        expected = total * (in_reference[place] + 0.5) / (len(known) + 0.5 * cells)
        variance = np.square(noise) + expected * (1 + total / max(len(known), 1))
        score += (counted - expected - 0.5) / variance
    return score
