"""How much each row weighs on a number: from it follows how far sampling moves the number."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(eq=False)
class RowWeights:
    """Derivatives of a sum of differences by each row of the real and the synthetic table."""

    real: NDArray[np.float64]
    synthetic: NDArray[np.float64]

    @classmethod
    def none(cls, real: int, synthetic: int) -> "RowWeights":
        """Rows that do not weigh anything yet."""
        return cls(np.zeros(real), np.zeros(synthetic))

    def add(self, other: "RowWeights") -> None:
        """Another difference joins the sum."""
        self.real += other.real
        self.synthetic += other.synthetic

    def error(self, items: int = 1) -> float:
        """The standard error of the mean of that many differences."""
        sides = (self.real, self.synthetic)
        return float(np.sqrt(sum(side.var() / len(side) for side in sides)) / items)
