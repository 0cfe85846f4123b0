"""The paper's simulation (sections 5, 6 and 8.2): a smooth function of three tied inputs.

Everything is made up, and nothing private: stages are run on arrays, outside any ledger.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from understudy.curator.disclosure import interval_disclosure
from understudy.curator.regression_metrics import (
    changes,
    improvement,
    mean_squared_error,
    tv_norm,
)
from understudy.experiments.lk2ss.found import Figures, Key
from understudy.experiments.lk2ss.publics import (
    KRR,
    RIDGES,
    Numbers,
    Rows,
    errors,
    models,
    settled,
)
from understudy.model.kernels import Wendland
from understudy.twostage.first_stages import Cauchy, FirstStage, LatinHypercube, Uniform, Weibull
from understudy.twostage.hybrid import Hybrid, blended
from understudy.twostage.responses import Answering, Learner

LATIN, RANDOM, WEIBULL, CAUCHY = "LK-2SS", "Random-KRR", "RanWeibull-KRR", "RanCauchy-KRR"
STAGES: Mapping[str, FirstStage] = {
    LATIN: LatinHypercube(),
    RANDOM: Uniform(),
    WEIBULL: Weibull(),
    CAUCHY: Cauchy(),
}
COMPARED = (LATIN, RANDOM)
ALPHAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
FINE = tuple(round(0.1 * step, 1) for step in range(11))
"""The α of the trade-off with the first stage."""
HALF = 0.5
"""The α of the mismatch, and of other responses."""
MEANS = tuple(round(0.1 * step, 1) for step in range(1, 11))
"""Of the third input of test rows, where they are drawn otherwise."""
AGAIN = "another draw of the same law"
"""How far two draws are apart by chance alone."""
NOISE, MISMATCHED = 0.1, 0.14
ETA = 0.001
BINS, ALONE = 5, 10
"""Of each of three inputs, and of the third by itself."""
LENGTH = 1.0


@dataclass(frozen=True)
class Sizes:
    """How many rows there are."""

    private: int = 1000
    public: int = 1000
    test: int = 200


def truth(inputs: Numbers) -> Numbers:
    """The paper's function g, as a column."""
    far = np.sqrt((inputs**2).sum(axis=1, keepdims=True))
    return np.asarray(np.maximum(1 - far, 0.0) ** 5 * (1 + 5 * far) + far**2 / 5)


def drawn(count: int, rng: np.random.Generator, *, noise: float = NOISE) -> Rows:
    """Rows; test rows have no noise in their outputs."""
    two = rng.random((count, 2))
    third = (two**2).sum(axis=1) + rng.normal(0.0, NOISE, count)
    inputs = np.column_stack([two, third])
    return Rows(inputs, truth(inputs) + noise * rng.normal(0.0, 1.0, (count, 1)))


def run_nonlinear(seed: int, sizes: Sizes = Sizes()) -> Figures:  # noqa: B008 - it is frozen
    """One trial."""
    return _Trial(np.random.default_rng([41, seed]), sizes).figures()


class _Trial:
    def __init__(self, rng: np.random.Generator, sizes: Sizes) -> None:
        self.rng, self.sizes = rng, sizes
        self.private, self.public = (drawn(count, rng) for count in (sizes.private, sizes.public))
        self.test = drawn(sizes.test, rng, noise=0.0)
        self.responses = models(Wendland(LENGTH), RIDGES)
        self.learners = settled(self.responses, self.public, rng)
        self.before = errors(self.learners, self.public, self.test)
        self.found: dict[Key, float] = {("before", name): e for name, e in self.before.items()}

    def figures(self) -> Figures:
        """Everything that the sections on this simulation show."""
        for response in self.responses.values():  # what is loaded by the first call is not timed
            response.taught(self.private.inputs[:20], self.private.outputs[:20], self.rng)
        answers = {name: self._taught(name) for name in self.responses}
        for name, stage in STAGES.items():
            self._stage(name, stage, answers[KRR])
        other = drawn(self.sizes.private, self.rng).inputs
        self.found["tv", AGAIN] = tv_norm(self.private.inputs, other, BINS)
        self._moments(AGAIN, other)
        half = blended(self.private.inputs, self._matched(LATIN, LatinHypercube()), HALF)
        for name, answering in answers.items():
            made = Rows(half, answering.answers(half))
            after = errors(self.learners, self.public + made, self.test)
            for model, error in after.items():
                self.found["response", name, model] = improvement(self.before[model], error)
        self._mismatch(Rows(half, answers[KRR].answers(half)))
        return self.found

    def _taught(self, name: str) -> Answering:
        real = self.private

        def taught() -> Answering:
            return self.responses[name].taught(real.inputs, real.outputs, self.rng)

        return self._timed(("seconds", "response", name), taught)

    def _matched(self, name: str, stage: FirstStage) -> Numbers:
        """For each real row its counterpart; how long that takes is kept."""
        real = self.private.inputs
        made = self._timed(("seconds", "stage", name), lambda: stage.made(real, self.rng))
        place = self._timed(
            ("seconds", "matching", name), lambda: Hybrid().matched(real, made, self.rng)
        )
        return made[place]

    def _stage(self, name: str, stage: FirstStage, answering: Answering) -> None:
        """One first stage: what it keeps of the law, and what the public gets out of it."""
        real, counterpart = self.private.inputs, self._matched(name, stage)
        self.found["tv", name] = tv_norm(real, counterpart, BINS)
        self._moments(name, counterpart)
        alone = {KRR: self.learners[KRR]}
        for alpha in FINE:
            inputs = blended(real, counterpart, alpha)
            made = Rows(inputs, answering.answers(inputs))
            self.found["alone", name, alpha] = errors(alone, made, self.test)[KRR]
            if alpha in ALPHAS and name in COMPARED:
                self.found["lid", name, alpha] = interval_disclosure(real, inputs, ETA)
                after = errors(self.learners, self.public + made, self.test)
                for model, error in after.items():
                    gone = improvement(self.before[model], error)
                    self.found["gone", name, alpha, model] = gone

    def _moments(self, name: str, other: Numbers) -> None:
        off = changes(self.private.inputs, other)
        self.found["moments", name, "mean"] = off.mean
        self.found["moments", name, "variance"] = off.variance
        self.found["moments", name, "covariance"] = off.covariance

    def _mismatch(self, made: Rows) -> None:
        """Test rows whose third input has another law."""
        with_made = self.public + made
        said: dict[str, tuple[Callable[[Numbers], Numbers], ...]] = {
            name: (_of(learn, self.public), _of(learn, with_made))
            for name, learn in self.learners.items()
        }
        for mean in MEANS:
            inputs = drawn(self.sizes.test, self.rng).inputs
            inputs[:, 2] = self.rng.normal(mean, MISMATCHED, len(inputs))
            third = tv_norm(self.private.inputs[:, [2]], inputs[:, [2]], ALONE)
            self.found["mismatch", "tv", mean] = third
            for name, both in said.items():
                before, after = (mean_squared_error(one(inputs), truth(inputs)) for one in both)
                self.found["mismatch", name, mean] = improvement(before, after)

    def _timed(self, key: Key, work: "Callable[[], Done]") -> "Done":
        start = time.process_time()
        done = work()
        self.found[key] = time.process_time() - start
        return done


Done = TypeVar("Done")


def _of(learn: Learner, rows: Rows) -> Callable[[Numbers], Numbers]:
    return learn(rows.inputs, rows.outputs)
