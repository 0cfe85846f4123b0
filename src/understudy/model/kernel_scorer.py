"""A sum of kernels around points that were drawn, not taken from rows: a model of labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import BadInput
from understudy.model.kernels import squared_distances

Codes = Mapping[str, NDArray[np.unsignedinteger]]
Numbers = NDArray[np.float64]
_AT_ONCE, _CELLS_AT_ONCE = 2**14, 2**24
"""Rows that are scored at a time; fewer of them where their arrays would have more numbers."""
_MOST_POINTS = 2**10
"""Of a model in a file: four times as many as are ever learned."""
_LEAST_CHANCE = 1e-3
_FITTING = "A sum of kernels has numbers that do not fit each other."


@dataclass(frozen=True, eq=False)
class KernelScorer:
    """What kernel ridge regression says of a row's codes."""

    inputs: Mapping[str, Numbers]
    """By column, where each code lies."""
    points: Numbers
    weights: Numbers
    """By point and output."""
    centre: Numbers
    """By output: what is said far away from all points."""
    profile: Numbers
    """The kernel at squared distances 0, `step`, 2 `step`, …; beyond, it is 0."""
    step: float
    chances: bool
    """Whether outputs are chances of classes, whose logarithms are told."""

    @property
    def outputs(self) -> int:
        """How many numbers it puts out for a row."""
        return int(self.weights.shape[1])

    @property
    def width(self) -> int:
        """How many numbers it makes of a row at most; what points take is limited elsewhere."""
        return self.outputs

    @property
    def idle(self) -> bool:
        """Whether it says the same of all rows."""
        return not self.weights.any()

    def __call__(self, codes: Codes) -> Numbers:
        """What the model puts out for each row."""
        rows = len(codes[next(iter(self.inputs))])
        step = min(_AT_ONCE, max(1, _CELLS_AT_ONCE // max(1, *self.points.shape)))
        parts = [
            self._said(
                np.concatenate(
                    [t[codes[n][at : at + step]] for n, t in self.inputs.items()], axis=1
                )
            )
            for at in range(0, rows, step)
        ]
        said = np.concatenate([*parts, np.zeros((0, len(self.centre)))])
        return np.log(np.maximum(said, _LEAST_CHANCE)) if self.chances else said

    def _said(self, rows: Numbers) -> Numbers:
        profile = np.append(self.profile, [0.0, 0.0])
        away = np.minimum(squared_distances(rows, self.points) / self.step, len(profile) - 2)
        left = away.astype(np.intp)
        part = away - left
        near = profile[left] * (1 - part) + profile[left + 1] * part
        return np.asarray(near @ self.weights + self.centre)

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        return {
            "inputs": {name: table.tolist() for name, table in self.inputs.items()},
            "points": self.points.tolist(),
            "weights": self.weights.tolist(),
            "centre": self.centre.tolist(),
            "profile": self.profile.tolist(),
            "step": self.step,
            "chances": self.chances,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any], sizes: Mapping[str, int]) -> "KernelScorer":
        """What `to_json` wrote."""
        inputs = {name: np.array(one, np.float64) for name, one in content["inputs"].items()}
        names = ("points", "weights", "centre", "profile")
        points, weights, centre, profile = (np.array(content[n], np.float64) for n in names)
        step = float(content["step"])
        numbers = (*inputs.values(), points, weights, centre, profile)
        fits = (
            bool(inputs)
            and all(one.ndim == 2 and len(one) == sizes[n] for n, one in inputs.items())  # noqa: PLR2004
            and points.ndim == weights.ndim == 2  # noqa: PLR2004
            and weights.size > 0
            and len(points) <= _MOST_POINTS
            and points.shape == (len(weights), sum(one.shape[1] for one in inputs.values()))
            and centre.shape == weights.shape[1:]
            and profile.ndim == 1
            and 0 < step < np.inf
            and all(np.isfinite(one).all() for one in numbers)
        )
        if not fits:
            raise BadInput(_FITTING)
        return cls(inputs, points, weights, centre, profile, step, bool(content["chances"]))
