"""Exact marginals that were counted before."""

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.privacy.weights import RowWeights

Question = tuple[RowWeights | None, Clique]


class MarginalCache:
    """Keeps marginals up to so many bytes; the ones that were kept first go first."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._held = 0
        self._marginals: dict[Question, NDArray[np.int64]] = {}

    def get(self, question: Question) -> NDArray[np.int64] | None:
        """The marginal, if it is still kept."""
        return self._marginals.get(question)

    def keep(self, question: Question, marginal: NDArray[np.int64]) -> None:
        """Keep a marginal, and let older ones go if they no longer fit beside it."""
        self._marginals[question] = marginal
        self._held += marginal.nbytes
        while self._held > self._most:
            oldest = next(iter(self._marginals))
            self._held -= self._marginals.pop(oldest).nbytes
