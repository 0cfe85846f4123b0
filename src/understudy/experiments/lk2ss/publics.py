"""The public: who gets a release, and the four models that it is fitted with."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.curator.regression_metrics import mean_squared_error
from understudy.model.kernels import Wendland
from understudy.twostage.responses import (
    AdaBoost,
    KernelRidge,
    Learner,
    NadarayaWatson,
    RandomForest,
    Response,
)

Numbers = NDArray[np.float64]
KRR, NWK, ADABOOST, FOREST = "KRR", "NWK", "AdaBoost", "RF"
MODELS = (KRR, NWK, ADABOOST, FOREST)
SEEN = 400
"""Settings are chosen on no more rows than these."""
TREES, DEPTHS = 50, (3, 6, 10)
_NONE = 1e-6
"""In place of a ridge of 0, by which rows' own targets would come out."""
RIDGES = (_NONE, *(round(0.0002 * step, 4) for step in range(1, 11)))
"""As printed for the simulations and Tarragona."""
WIDE_RIDGES = (_NONE, *(round(0.0005 * step, 4) for step in range(1, 11)))
"""As printed for the other four tables."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs and outputs."""

    inputs: Numbers
    outputs: Numbers
    """One column."""

    def __len__(self) -> int:
        return len(self.inputs)

    def __add__(self, others: "Rows") -> "Rows":
        return Rows(
            np.concatenate([self.inputs, others.inputs]),
            np.concatenate([self.outputs, others.outputs]),
        )

    def part(self, places: NDArray[np.intp]) -> "Rows":
        """Some of them."""
        return Rows(self.inputs[places], self.outputs[places])


def models(kernel: Wendland, ridges: tuple[float, ...]) -> Mapping[str, Response]:
    """The four, as the paper's appendix D has them; also what it answers with in stage 2."""
    return {
        KRR: KernelRidge(kernel, ridges),
        NWK: NadarayaWatson(),
        ADABOOST: AdaBoost(DEPTHS, TREES),
        FOREST: RandomForest(DEPTHS, TREES),
    }


def settled(
    some: Mapping[str, Response], rows: Rows, rng: np.random.Generator
) -> dict[str, Learner]:
    """Models with settings that rows chose, by 5 folds of some of them."""
    seen = rows.part(rng.permutation(len(rows))[:SEEN])
    return {name: one.settled(seen.inputs, seen.outputs, rng) for name, one in some.items()}


def errors(learners: Mapping[str, Learner], rows: Rows, test: Rows) -> dict[str, float]:
    """By model: the mean squared error on other rows."""
    return {
        name: mean_squared_error(learn(rows.inputs, rows.outputs)(test.inputs), test.outputs)
        for name, learn in learners.items()
    }
