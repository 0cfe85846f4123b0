"""Columns by their noisy counts, tied by a noisy correlation of normal scores.

It is LK-2SS's first stage with a promise: a Latin hypercube over noisy laws
(docs/proofs/two_stages.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import NoiseTooLarge
from understudy.knowledge import Allowed, anything
from understudy.model.copula import CopulaModel
from understudy.model.latin_hypercube import correlation_near
from understudy.model.product import ProductModel
from understudy.privacy.answers import Measurement, NoisySum
from understudy.privacy.ledger import Ledger
from understudy.privacy.row_maps import NormalScores
from understudy.select.code_order import ordered_codes

Numbers = NDArray[np.float64]
_FARTHEST = 3.0
"""Normal scores beyond this are moved there."""
_RADIUS = 1.5
"""A row's scores are shortened to so many times √d."""
_DRAWN, _ROUNDS = 20_000, 5
"""Rows are drawn so often, and so many, to find the correlation: it costs nothing."""
_CLOSEST = 0.999
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
        ties = _TIES if len(names) > 1 and allowed([names]) else 0.0
        (part,) = ledger.split(1 - ties) if ties else (ledger,)
        counted = [*known, *part.measure(single, rho=part.rest())]
        columns = ProductModel.of(ledger.domain, counted)
        cells = ledger.encoding.cells
        orders = {name: ordered_codes(cells[name]) for name in names}
        apart = CopulaModel(columns, orders, np.eye(len(names)))
        if not ties:
            return apart
        scores = {name: normal_scores(columns.shares[name], orders[name]) for name in names}
        asked = NormalScores(scores, _RADIUS * float(np.sqrt(len(names))))
        try:
            answer = ledger.sum(asked, rho=ledger.rest())
        except NoiseTooLarge:  # nothing would be learned; what is promised is spent on columns
            counted += ledger.measure(single, rho=ledger.rest())
            return replace(apart, columns=ProductModel.of(ledger.domain, counted))
        return _tied(apart, asked, answer)


def _tied(model: CopulaModel, asked: NormalScores, answer: NoisySum) -> CopulaModel:
    """With the correlation by which rows of the model have the products that were asked for.

    Rows are shortened, codes are coarse, and their scores have means that are not 0: all of that
    is so for drawn rows as well, which are compared with the answer until they agree with it.
    """
    scale = asked.radius**2 / max(model.total, 1.0)
    apart, upper = _products(model, asked), np.triu_indices(len(model.domain.names), 1)
    seen, noise = answer.values * scale - apart, answer.scale * scale
    wished = apart + seen * _believed(seen, noise)
    spread = [
        _spread(model.columns.shares[name], np.asarray(z)) for name, z in asked.scores.items()
    ]
    width = np.outer(spread, spread)[upper]
    found = np.zeros(len(width))
    for _ in range(_ROUNDS):
        found = np.clip(found + (wished - _products(model, asked)) / width, -_CLOSEST, _CLOSEST)
        matrix = np.eye(len(spread))
        matrix[upper] = found
        model = replace(model, correlation=correlation_near(matrix + np.triu(matrix, 1).T))
    return model


def _products(model: CopulaModel, asked: NormalScores) -> Numbers:
    """The mean of what a row of the model adds to the sum, in the scores' own units."""
    drawn = model.sample(_DRAWN, np.random.default_rng(0))
    rows = np.stack([np.asarray(z)[drawn[name]] for name, z in asked.scores.items()], axis=1)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    rows *= np.minimum(asked.radius / np.maximum(length, 1e-12), 1.0)
    return np.asarray((rows.T @ rows / len(rows))[np.triu_indices(rows.shape[1], 1)])


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


def _believed(seen: Numbers, noise: float) -> float:
    """Of noisy numbers, the part that is not noise, by how large they are altogether."""
    whole = float((seen**2).sum())
    return max(0.0, 1 - noise**2 * len(seen) / whole) if whole else 0.0
