"""Chances as sure as the rows were: a slope and shifts for a model's logits.

Fitted to noisy counts of rows by the class that a model gives them, how surely, and the class that
they have. Made of answers alone, so it is free.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
_ROUNDS = 50
_LONGEST = 0.5
"""A step of a fit, at most."""
_BELIEVED = 0.5
"""How far a model's own slope (as a logarithm) and shifts are believed to be off, usually."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a model's logits are multiplied by, and what is then added to each."""

    slope: float
    shift: Numbers

    @classmethod
    def fitted(cls, counts: Numbers, logits: Numbers, noise: float) -> "Calibration":
        """By cells × classes: noisy counts, and the model's logits there.

        Where noise hides what rows say, the model is believed.
        """
        classes = counts.shape[1]
        totals = np.maximum(counts.sum(axis=1, keepdims=True), 0.0)
        # The slope's logarithm, and the shifts.
        found = np.zeros(classes + 1)
        for _ in range(_ROUNDS):
            sloped = np.exp(found[0]) * logits
            chances = softmax(sloped + found[1:])
            spread = chances * (1 - chances)
            # A count and the total that it is compared with are both noisy.
            precision = 1 / (totals * spread + 2 * noise**2 + 1e-9)
            by_slope = chances * (sloped - (chances * sloped).sum(axis=1, keepdims=True))
            by_shift = chances[:, :, None] * (np.eye(classes) - chances[:, None, :])
            moves = totals[:, :, None] * np.concatenate([by_slope[:, :, None], by_shift], axis=2)
            missing = (counts - totals * chances) * precision
            pull = np.einsum("gyk,gy->k", moves, missing) - found / _BELIEVED**2
            curve = np.einsum("gyk,gy,gyl->kl", moves, precision, moves)
            step = np.linalg.solve(curve + np.eye(classes + 1) / _BELIEVED**2, pull)
            found += step * min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-12))
        return cls(float(np.exp(found[0])), found[1:] - found[1:].mean())


def cell_logits(logits: Numbers, edges: Sequence[float]) -> Numbers:
    """By likeliest class, range of how far it is ahead, and class: the mean logits of rows there.

    Where there are none, a range stands for its middle.
    """
    classes = logits.shape[1]
    ranked = np.sort(logits, axis=1)
    place = np.searchsorted(edges, ranked[:, -1] - ranked[:, -2], side="right")
    lower, upper = np.array([0.0, *edges]), np.array([*edges, edges[-1]])
    found = (lower + upper)[None, :, None] / 2 * np.eye(classes)[:, None, :]
    cells = logits.argmax(axis=1) * len(lower) + place
    rows = np.bincount(cells, minlength=classes * len(lower)).reshape(classes, -1, 1)
    sums = np.stack(
        [np.bincount(cells, one, minlength=classes * len(lower)) for one in logits.T], axis=1
    ).reshape(found.shape)
    return np.where(rows > 0, sums / np.maximum(rows, 1), found)


def softmax(logits: Numbers) -> Numbers:
    """Chances by row, from logits."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
