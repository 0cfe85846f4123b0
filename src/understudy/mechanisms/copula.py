"""Columns by their noisy counts, tied by a noisy correlation of normal scores.

It is LK-2SS's first stage with a promise: a Latin hypercube over noisy laws
(docs/proofs/two_stages.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.knowledge import Allowed, anything
from understudy.model.copula import CopulaModel
from understudy.model.latin_hypercube import correlation_near
from understudy.model.product import ProductModel
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.privacy.row_maps import NormalScores
from understudy.select.code_order import ordered_codes

Numbers = NDArray[np.float64]
_FARTHEST = 3.0
"""Normal scores beyond this are moved there."""
_RADIUS = 1.5
"""A row's scores are shortened to so many times √d."""
_MOST_NOISE = 2.0**12
"""Beyond, noise cannot be drawn, and nothing would be learned."""
_TIES = 0.5
"""Of the budget, what the correlation gets."""


@dataclass(frozen=True)
class Copula:
    """A Gaussian copula: any column by its own law, and how they rise and fall together."""

    name: ClassVar[str] = "copula"
    about: ClassVar[str] = "single columns, tied by a correlation of their ranks"
    guarantee: ClassVar[str] = "(ε, δ)-differential privacy"
    needs: ClassVar[str] = "nothing"

    def fit(
        self, ledger: Ledger, known: Sequence[Measurement] = (), allowed: Allowed = anything
    ) -> CopulaModel:
        """A model of the ledger's table.

        A correlation ties all columns. Where they are not allowed together, none is measured.
        """
        names = ledger.domain.names
        single = [(name,) for name in names]
        noise = _RADIUS**2 * len(names) / math.sqrt(2 * _TIES * ledger.rest() or 1e-300)
        able = len(names) > 1 and allowed([names]) and noise < _MOST_NOISE
        ties = _TIES if able else 0.0
        (part,) = ledger.split(1 - ties) if ties else (ledger,)
        columns = ProductModel.of(ledger.domain, [*known, *part.measure(single, rho=part.rest())])
        cells = ledger.encoding.cells
        orders = {name: ordered_codes(cells[name]) for name in names}
        if not ties:
            return CopulaModel(columns, orders, np.eye(len(names)))
        scores = {name: normal_scores(columns.shares[name], orders[name]) for name in names}
        asked = NormalScores(scores, _RADIUS * float(np.sqrt(len(names))))
        answer = ledger.sum(asked, rho=ledger.rest())
        factor = asked.radius**2 / columns.total
        spread = np.array([_spread(columns.shares[name], scores[name]) for name in names])
        found = np.eye(len(names))
        upper = np.triu_indices(len(names), 1)
        width = np.outer(spread, spread)[upper] * _left(len(names), asked.radius)
        tied, error = answer.values * factor / width, answer.scale * factor / width
        found[upper] = tied * _believed(tied, error)
        return CopulaModel(columns, orders, correlation_near(found + found.T - np.eye(len(names))))


def ranks(shares: Numbers, order: NDArray[np.int64]) -> Numbers:
    """By code: how much of the column's law lies below the middle of it."""
    inside = shares[order] / max(float(shares.sum()), 1e-12)
    found = np.empty(len(order))
    found[order] = np.cumsum(inside) - inside / 2
    return found


def normal_scores(shares: Numbers, order: NDArray[np.int64]) -> Numbers:
    """By code: where a normal law has as much below it."""
    law, least = NormalDist(), NormalDist().cdf(-_FARTHEST)
    return np.array([law.inv_cdf(min(max(r, least), 1 - least)) for r in ranks(shares, order)])


def _spread(shares: Numbers, scores: Numbers) -> float:
    """The standard deviation of scores; that of a column of one value counts as 1."""
    weights = shares / max(float(shares.sum()), 1e-12)
    variance = float(weights @ (scores - weights @ scores) ** 2)
    return float(np.sqrt(variance)) if variance > 1e-6 else 1.0  # noqa: PLR2004 - as good as 0


def _left(columns: int, radius: float) -> float:
    """Of the squares of normal scores, the part that is left where rows are shortened."""
    length = np.linspace(0.0, math.sqrt(columns) + 8.0, 2**12)[1:]
    law = (columns - 1) * np.log(length) - length**2 / 2
    weights = np.exp(law - law.max())
    return float(weights @ np.minimum(length, radius) ** 2 / (weights @ length**2))


def _believed(tied: Numbers, noise: Numbers) -> float:
    """Of noisy correlations, the part that is not noise, by how large they are altogether."""
    seen = float((tied**2).sum())
    return max(0.0, 1 - float((noise**2).sum()) / seen) if seen else 0.0
