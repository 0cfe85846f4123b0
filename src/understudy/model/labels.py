"""Labels that a trained model gives to rows: of a class, or of a number.

Made of a model that was trained with noise and of noisy counts, so drawing is free.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import BadInput
from understudy.model.balance import balanced, by_chance
from understudy.model.calibration import Calibration, CellRows, softmax
from understudy.model.checks import checked_shares
from understudy.model.kernel_scorer import KernelScorer

Codes = Mapping[str, NDArray[np.unsignedinteger]]
Numbers = NDArray[np.float64]
_ROUNDS = 50
_CALIBRATED = 2**18
"""So many products of chances are averaged at each step of a calibration."""
_SETTLED = 1e-9
"""Steps so small change nothing more."""
_MOST_CLASSES, _MOST_UNTOLD, _MOST_SURPLUS = 2**12, 1, 2**23
"""Of a model in a file: classes, codes that no model tells, and codes of inputs times classes."""
_FAR = 30.0
"""Logits beyond this are as good as sure."""


@dataclass(frozen=True, eq=False)
class Scorer:
    """A linear model of a row's codes, or one with a hidden layer."""

    inputs: Mapping[str, Numbers]
    """By column, the inputs of each code."""
    layers: tuple[Numbers, ...]
    """Inputs × outputs, the constant's row last."""

    @property
    def outputs(self) -> int:
        """How many numbers it puts out for a row."""
        return int(self.layers[-1].shape[1])

    @property
    def width(self) -> int:
        """How many numbers it makes of a row at most."""
        return max(int(layer.shape[1]) for layer in self.layers)

    @property
    def idle(self) -> bool:
        """Whether it says the same of all rows."""
        return not self.layers[0][:-1].any()

    def __call__(self, codes: Codes) -> Numbers:
        """What the model puts out for each row."""
        first, *others = self.layers
        rows: Numbers = first[-1][None]
        at = 0
        for name, table in self.inputs.items():
            # What a code adds is looked up: inputs of all rows would be many times as large.
            rows = rows + (table @ first[at : at + table.shape[1]])[codes[name]]
            at += table.shape[1]
        for layer in others:
            rows = np.tanh(rows) @ layer[:-1] + layer[-1]
        return rows

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        return {
            "inputs": {name: table.tolist() for name, table in self.inputs.items()},
            "layers": [layer.tolist() for layer in self.layers],
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any], sizes: Mapping[str, int]) -> "Scorer":
        """The model that `to_json` wrote."""
        inputs = {name: _matrix(table, sizes[name]) for name, table in content["inputs"].items()}
        width = sum(table.shape[1] for table in inputs.values())
        layers = []
        for layer in content["layers"]:
            layers.append(_matrix(layer, width + 1))
            width = layers[-1].shape[1]
        if not inputs or not layers:
            msg = "A model of labels has inputs and layers."
            raise BadInput(msg)
        return cls(inputs, tuple(layers))


@dataclass(frozen=True, eq=False)
class ClassLabels:
    """A class for each row, drawn by the model's chances; or the likeliest."""

    scorer: Scorer | KernelScorer
    codes: NDArray[np.int64]
    """Of each class, its code; one that no model tells (missing values) comes last."""
    shares: Numbers
    """Of each code in `codes`, its noisy share."""
    shift: Numbers
    """By class, what is added to the model's logits for them to be as sure as rows were."""
    told: int
    """So many classes does the model tell apart; the others come as often as their share says."""
    factor: float = 1.0
    """What the model's logits are multiplied by, before that."""
    moved: Numbers | None = None
    """By class, what is added too for labels to be as common as they were counted."""
    hard: bool = False
    balanced: bool = False
    """Whether labels are as common among rows of a kind as chances say, or scatter freely."""

    kind = "classes"

    def calibrated(
        self, counts: Numbers, edges: Sequence[float], noise: float, codes: Codes
    ) -> "ClassLabels":
        """As sure as the rows that were counted.

        By likeliest class, range of how far its logit is ahead, and class: the noisy counts. These
        rows tell what logits are like there.
        """
        rows = CellRows.of(self._unsloped(codes)[: _CALIBRATED // self.told**2], edges)
        rows = replace(rows, logits=rows.logits * self.factor)
        found = Calibration.fitted(counts.reshape(-1, self.told), rows, noise)
        return replace(self, factor=self.factor * found.slope, shift=found.shift)

    def matched(self, codes: Codes) -> "ClassLabels":
        """With the shift by which these rows would have labels in their noisy shares."""
        wished = np.maximum(self.shares[: self.told], 1e-12)
        wished /= wished.sum()
        logits, moved = self._logits(codes) + self.shift, np.zeros(self.told)
        for _ in range(_ROUNDS):
            found = softmax(logits + moved).mean(axis=0)
            step = np.log(wished) - np.log(np.maximum(found, 1e-12))
            moved += step
            if np.abs(step).max() < _SETTLED:
                break
        return replace(self, moved=np.clip(moved - moved.mean(), -_FAR, _FAR))

    def chances(self, codes: Codes) -> Numbers:
        """By row and class that the model tells apart."""
        shift = self.shift if self.moved is None else self.shift + self.moved
        return softmax(self._logits(codes) + shift)

    def visible(self, hidden: int) -> "ClassLabels":
        """Return labels that never are the hidden code."""
        return replace(self, shares=_without(self.shares, self.codes, self.told, hidden))

    def law(self, codes: Codes) -> Numbers:
        """By row and code: the chance that it is drawn."""
        chances = self.chances(codes)
        if self.hard:
            chances = np.eye(self.told)[chances.argmax(axis=1)]
        return _by_code(chances, self.codes, self.shares[self.told :])

    def draw(self, codes: Codes, rng: np.random.Generator) -> NDArray[np.int64]:
        """A code for each row."""
        chances = self.chances(codes)
        if self.hard:
            drawn = chances.argmax(axis=1)
        elif self.balanced:
            # By the columns that labels go by, and no others: those must not matter.
            tables = self.scorer.inputs
            sizes = [len(table) for table in tables.values()]
            drawn = balanced([codes[name] for name in tables], sizes, chances, rng)
        else:
            drawn = by_chance(chances, rng)
        return _untold(self.codes[drawn], self.codes[self.told :], self.shares[self.told :], rng)

    def _logits(self, codes: Codes) -> Numbers:
        return np.clip(self.factor * self._unsloped(codes), -_FAR, _FAR)

    def _unsloped(self, codes: Codes) -> Numbers:
        out = self.scorer(codes)
        if out.shape[1] == 1 and self.told > 1:
            out = np.concatenate([np.zeros_like(out), out], axis=1)
        return out

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "scorer": self.scorer.to_json(),
            "codes": self.codes.tolist(),
            "shares": self.shares.tolist(),
            "shift": self.shift.tolist(),
            "moved": None if self.moved is None else self.moved.tolist(),
            "told": self.told,
            "factor": self.factor,
            "hard": self.hard,
            "balanced": self.balanced,
        }

    @classmethod
    def from_json(
        cls, content: Mapping[str, Any], sizes: Mapping[str, int], size: int
    ) -> "ClassLabels":
        """What `to_json` wrote, for a column of so many codes."""
        scorer = _scorer(content["scorer"], sizes)
        codes, told = _codes(content["codes"], size), int(content["told"])
        outputs = scorer.outputs
        two = outputs == 1 and told <= 2  # noqa: PLR2004 - one logit tells two classes
        factor = float(content["factor"])
        if not 1 <= told <= len(codes) or not (outputs == told or two) or not 0 < factor < np.inf:
            raise BadInput(_FITTING)
        surplus = sum(map(len, scorer.inputs.values())) * told
        if told > _MOST_CLASSES or len(codes) > told + _MOST_UNTOLD or surplus > _MOST_SURPLUS:
            raise BadInput(_MANY)
        shift, moved = (
            None if content[name] is None else _matrix([content[name]], 1)[0]
            for name in ("shift", "moved")
        )
        if shift is None or any(one is not None and len(one) != told for one in (shift, moved)):
            raise BadInput(_FITTING)
        return cls(
            scorer,
            codes,
            checked_shares(content["shares"], (len(codes),)),
            shift,
            told,
            factor,
            moved,
            bool(content["hard"]),
            bool(content.get("balanced", False)),
        )


@dataclass(frozen=True, eq=False)
class NumberLabels:
    """A number for each row: what the model says, and a normal error, in the order of codes."""

    scorer: Scorer | KernelScorer
    codes: NDArray[np.int64]
    """In the order of their values; one that no model tells (missing values) comes last."""
    shares: Numbers
    told: int
    spread: float
    """The standard deviation of the error."""
    steps: Numbers
    """Between the codes that are told: from which number on the next one follows."""

    kind = "numbers"

    def fitted(self, codes: Codes, rng: np.random.Generator) -> "NumberLabels":
        """With the steps by which these rows would have labels in their noisy shares."""
        shares = self.shares[: self.told] / max(float(self.shares[: self.told].sum()), 1e-12)
        numbers = self._numbers(codes, rng)
        return replace(self, steps=np.quantile(numbers, np.clip(np.cumsum(shares)[:-1], 0, 1)))

    def visible(self, hidden: int) -> "NumberLabels":
        """Return labels that never are the hidden code."""
        return replace(self, shares=_without(self.shares, self.codes, self.told, hidden))

    def law(self, codes: Codes) -> Numbers:
        """By row and code: the chance that it is drawn."""
        ahead = (self.steps - self.scorer(codes)[:, :1]) / max(self.spread, 1e-12)
        below = np.vectorize(_normal_below, otypes=[np.float64])(ahead)
        chances = np.diff(below, axis=1, prepend=0.0, append=1.0)
        return _by_code(chances, self.codes, self.shares[self.told :])

    def draw(self, codes: Codes, rng: np.random.Generator) -> NDArray[np.int64]:
        """A code for each row."""
        places = np.searchsorted(self.steps, self._numbers(codes, rng), side="right")
        return _untold(self.codes[places], self.codes[self.told :], self.shares[self.told :], rng)

    def _numbers(self, codes: Codes, rng: np.random.Generator) -> Numbers:
        said = self.scorer(codes)[:, 0]
        return np.asarray(said + rng.normal(0.0, self.spread, len(said)))

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "scorer": self.scorer.to_json(),
            "codes": self.codes.tolist(),
            "shares": self.shares.tolist(),
            "told": self.told,
            "spread": self.spread,
            "steps": self.steps.tolist(),
        }

    @classmethod
    def from_json(
        cls, content: Mapping[str, Any], sizes: Mapping[str, int], size: int
    ) -> "NumberLabels":
        """What `to_json` wrote, for a column of so many codes."""
        scorer = _scorer(content["scorer"], sizes)
        codes, told = _codes(content["codes"], size), int(content["told"])
        steps, spread = np.array(content["steps"], np.float64), float(content["spread"])
        fitting = 1 <= told <= len(codes) and steps.shape == (told - 1,) and 0 <= spread < np.inf
        if not fitting or np.isnan(steps).any() or (np.diff(steps) < 0).any():
            raise BadInput(_FITTING)
        if len(codes) > told + _MOST_UNTOLD:
            raise BadInput(_MANY)
        shares = checked_shares(content["shares"], (len(codes),))
        return cls(scorer, codes, shares, told, spread, steps)


_FITTING = "A model of labels has numbers that do not fit each other."
_MANY = "A model of labels in the file has more classes or codes than can be drawn in time."


def _scorer(content: Mapping[str, Any], sizes: Mapping[str, int]) -> Scorer | KernelScorer:
    kind = KernelScorer if "points" in content else Scorer
    return kind.from_json(content, sizes)


def _untold(
    drawn: NDArray[np.int64],
    codes: NDArray[np.int64],
    shares: Numbers,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Labels, some of them replaced by codes that no model tells, as often as these occur."""
    for code, share in zip(codes, shares, strict=True):
        drawn = np.where(rng.random(len(drawn)) < share, code, drawn)
    return drawn


def _without(shares: Numbers, codes: NDArray[np.int64], told: int, hidden: int) -> Numbers:
    """Shares in which the hidden code never occurs; refused where a model tells it."""
    if hidden in codes[:told]:
        msg = "A model of labels tells the hidden code, which no row may have."
        raise BadInput(msg)
    return np.where(codes == hidden, 0.0, shares)


def _by_code(chances: Numbers, codes: NDArray[np.int64], untold: Numbers) -> Numbers:
    """Chances of the codes that are told, and of those that are not, in the codes' own order."""
    law = np.zeros((len(chances), len(codes)))
    law[:, codes[: chances.shape[1]]] = chances
    for code, share in zip(codes[chances.shape[1] :], untold, strict=True):
        law *= 1 - share
        law[:, code] += share
    return law


def _normal_below(height: float) -> float:
    return math.erfc(-height / math.sqrt(2)) / 2


def _matrix(numbers: object, rows: int) -> Numbers:
    matrix = np.array(numbers, np.float64)
    if matrix.ndim != 2 or len(matrix) != rows or not np.isfinite(matrix).all():  # noqa: PLR2004
        raise BadInput(_FITTING)
    return matrix


def _codes(numbers: object, size: int) -> NDArray[np.int64]:
    codes = np.array(numbers, np.int64)
    # The size comes from the file as well: nothing is made of it before it fits.
    if codes.shape != (size,) or not np.array_equal(np.sort(codes), np.arange(size)):
        raise BadInput(_FITTING)
    return codes
