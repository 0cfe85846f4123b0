"""Chances as sure as the rows were: a slope and shifts for a model's logits.

Fitted to noisy counts of rows by the class that a model gives them, how surely, and the class that
they have. Made of answers alone, so it is free.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
_ROUNDS = 50
_LONGEST = 0.5
"""A step of a fit, at most."""
_SETTLED = 1e-10
"""Shorter steps change nothing that anybody sees."""
_STEEPEST = 5.0
"""The largest logarithm of a slope."""
_BELIEVED = 0.5
"""How far a model's own slope (as a logarithm) and shifts are believed to be off, usually."""


@dataclass(frozen=True, eq=False)
class CellRows:
    """Rows in the cells that others were counted in: by likeliest class, and how far it is ahead.

    A cell holds rows of many kinds, so what a model says of it is the mean of what it says of them.
    """

    logits: Numbers
    """By row and class."""
    cells: NDArray[np.intp]
    """Of each row, in order: rows of a cell lie together, and each cell has some."""
    count: int
    """How many cells there are."""

    @classmethod
    def of(cls, logits: Numbers, edges: Sequence[float]) -> "CellRows":
        """Some rows; a cell that has none gets one in the middle of its range."""
        classes, ranges = logits.shape[1], len(edges) + 1
        ranked = np.sort(logits, axis=1)
        place = np.searchsorted(edges, ranked[:, -1] - ranked[:, -2], side="right")
        cells = logits.argmax(axis=1) * ranges + place
        lower, upper = np.array([0.0, *edges]), np.array([*edges, edges[-1]])
        middle = (lower + upper)[None, :, None] / 2 * np.eye(classes)[:, None, :]
        empty = np.setdiff1d(np.arange(classes * ranges), cells)
        more = middle.reshape(-1, classes)[empty]
        rows, cells = np.concatenate([logits, more]), np.concatenate([cells, empty])
        order = np.argsort(cells, kind="stable")
        return cls(rows[order], cells[order], classes * ranges)

    @cached_property
    def bounds(self) -> NDArray[np.intp]:
        """Where the rows of each cell begin, and where the last end."""
        return np.searchsorted(self.cells, np.arange(self.count + 1))

    def means(self, numbers: Numbers) -> Numbers:
        """By cell, the means of several numbers of its rows."""
        sums = np.add.reduceat(numbers, self.bounds[:-1], axis=0)
        return np.asarray(sums / np.diff(self.bounds)[:, None])

    def mean_products(self, numbers: Numbers) -> Numbers:
        """By cell, the means of what any two numbers of a row make, multiplied."""
        parts = [numbers[start:end] for start, end in itertools.pairwise(self.bounds)]
        return np.stack([part.T @ part / len(part) for part in parts])


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a model's logits are multiplied by, and what is then added to each."""

    slope: float
    shift: Numbers

    @classmethod
    def fitted(cls, counts: Numbers, rows: CellRows, noise: float) -> "Calibration":
        """To noisy counts by cell and class. Where noise hides what they say, a model is believed.

        `rows` are such as will get labels, with the model's own logits.
        """
        classes = counts.shape[1]
        totals = np.maximum(counts.sum(axis=1, keepdims=True), 0.0)
        # The slope's logarithm, and the shifts.
        found = np.zeros(classes + 1)
        for _ in range(_ROUNDS):
            sloped = np.exp(found[0]) * rows.logits
            each = softmax(sloped + found[1:])
            chances = rows.means(each)
            by_slope = rows.means(each * (sloped - (each * sloped).sum(axis=1, keepdims=True)))
            by_shift = chances[:, :, None] * np.eye(classes) - rows.mean_products(each)
            # A count and the total that it is compared with are both noisy.
            precision = 1 / (totals * chances * (1 - chances) + 2 * noise**2 + 1e-9)
            moves = totals[:, :, None] * np.concatenate([by_slope[:, :, None], by_shift], axis=2)
            flat = moves.reshape(-1, classes + 1)
            missing = (counts - totals * chances) * precision
            pull = flat.T @ missing.ravel() - found / _BELIEVED**2
            curve = flat.T @ (flat * precision.reshape(-1, 1))
            step = np.linalg.solve(curve + np.eye(classes + 1) / _BELIEVED**2, pull)
            found += step * min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-12))
            found[0] = np.clip(found[0], -_STEEPEST, _STEEPEST)
            if np.abs(step).max() < _SETTLED:
                break
        return cls(float(np.exp(found[0])), found[1:] - found[1:].mean())


def softmax(logits: Numbers) -> Numbers:
    """Chances by row, from logits."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
