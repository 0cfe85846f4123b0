"""How much likelier a run's answers are if the canary was there: what the best attacker uses."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.curator.audit.bounds import lattice_mu
from understudy.curator.audit.overheard import Choice, Run
from understudy.curator.audit.pair import CODES, RARE, Groups, Pair
from understudy.privacy.account import Entry
from understudy.privacy.answers import NoisySum
from understudy.privacy.events import Gaussian, Threshold
from understudy.privacy.model_maps import ModelMerit
from understudy.privacy.scores import Score
from understudy.privacy.train import TrainedModel, Training
from understudy.privacy.weights import UNIT, RowWeights

_CERTAIN = 1e9
"""In place of an infinite ratio: the canary's value was told, which no other row has."""


def noise_log_ratio(run: Run, pair: Pair) -> float:
    """The logarithm of how much likelier noisy numbers are with the canary; up to a constant.

    For training it is no more than a number that grows with it.
    """
    total = 0.0
    for answer, groups, weights in run.measurements:
        without, with_it = (
            pair.counts(answer.clique, groups, weights, canary=canary) for canary in (False, True)
        )
        total += _gaussian(answer.values, without, with_it, answer.scale)
    for candidates, scored, groups, weights in run.scores:
        without, with_it = (
            _scores(candidates, pair, groups, weights, canary=canary) for canary in (False, True)
        )
        total += _gaussian(scored.values, without, with_it, scored.scale)
    for noisy in run.sums:
        without, with_it = (_sum(noisy, pair, canary=canary) for canary in (False, True))
        total += _gaussian(noisy.values, without, with_it, noisy.scale)
    total += sum(_training(task, model) for task, model in run.trained)
    for told in run.values:
        codes = np.array([CODES.index(str(value)) for value in told.values], np.intp)
        # That a value was told at all is no noisy number: see `told_log_ratio`.
        common = codes != RARE if pair.lonely else np.ones(len(codes), bool)
        without, with_it = (
            pair.counts((told.column,), canary=c)[codes[common]] for c in (False, True)
        )
        total += _gaussian(told.counts[common], without, with_it, told.scale)
    return total


def best_log_ratio(run: Run, pair: Pair) -> float:
    """A number that grows with how much likelier the canary makes the best of several runs.

    Its law is not normal, so it says nothing about the size of noise.
    """
    total = 0.0
    for task, best in run.best:
        merit = ModelMerit(task, best.model.layers)
        score = NoisySum(merit, np.array([best.score]), best.scale)
        without, with_it = (_sum(score, pair, canary=canary) for canary in (False, True))
        total += _gaussian(score.values, without, with_it, score.scale)
        total += _training(task, best.model)
    return total


def told_log_ratio(run: Run) -> float:
    """How much likelier the canary makes what was told of values."""
    rare = any(CODES[RARE] in map(str, told.values) for told in run.values)
    return _CERTAIN if rare else 0.0


def law(
    choice: Choice, pair: Pair, epsilon: float, *, canary: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How likely each candidate should be, as logarithms; and the scores."""
    bound = max(c.sensitivity(pair.unit, choice.weights) for c in choice.candidates)
    scores = _scores(choice.candidates, pair, choice.groups, choice.weights, canary=canary)
    scores /= float(bound)
    ahead = epsilon / 2 * (scores - scores.max())
    return ahead - np.log(np.exp(ahead).sum()), scores


def _scores(
    candidates: Sequence[Score],
    pair: Pair,
    groups: Groups,
    weights: RowWeights | None,
    *,
    canary: bool,
) -> NDArray[np.float64]:
    """Exact scores of candidates."""
    steps = 1 if weights is None else UNIT
    found = []
    for candidate in candidates:
        counts = pair.counts(candidate.clique, groups, weights, canary=canary) * steps
        found.append(float(candidate.score(np.rint(counts).astype(np.int64), weights)))
    return np.array(found)


def claimed_mu(events: Iterable[Entry]) -> float:
    """How far apart two normal laws are that are told apart as well as these events allow.

    Of noise on numbers alone; selections, sampled steps and the best of runs have other laws.
    """
    return _mu(events, lambda scale: 1 / scale)


def allowed_mu(events: Iterable[Entry]) -> float:
    """The same for noise on whole numbers, which are told apart a little better.

    By composition and for groups as for normal laws (Dong, Roth and Su 2022): a cell that moves by
    several steps counts as so many, and cells add up in squares.
    """
    return _mu(events, lattice_mu)


def _mu(events: Iterable[Entry], of_one: Callable[[float], float]) -> float:
    squared = 0.0
    for entry in events:
        event = entry.event
        if isinstance(event, Gaussian | Threshold):
            steps = event.steps if isinstance(event, Gaussian) else 1
            squared += steps * float(event.sensitivity_squared) * of_one(event.scale) ** 2
    return float(np.sqrt(squared))


def _gaussian(
    values: NDArray[np.float64],
    without: NDArray[np.float64],
    with_it: NDArray[np.float64],
    scale: float | NDArray[np.float64],
) -> float:
    """Exact for discrete noise, too."""
    apart = np.square(values - without) - np.square(values - with_it)
    return float(np.sum(apart / (2 * np.square(scale))))


def _sum(noisy: NoisySum, pair: Pair, *, canary: bool) -> NDArray[np.float64]:
    codes = {name: column.astype(np.uint8) for name, column in pair.codes(canary=canary).items()}
    total = noisy.row_map.total(codes, np.ones(len(codes["a"])))
    return total / noisy.row_map.unit_length


def _training(task: Training, model: TrainedModel) -> float:
    """By how far the weights went where the canary's gradient points, at every step alike."""
    inputs = [np.asarray(table, np.float64)[RARE].ravel() for table in task.inputs.values()]
    own = np.asarray(task.target, np.float64)[RARE]
    sides = np.array([np.sign(own - 0.5)])
    if task.outputs > 1:
        sides = (np.arange(task.outputs) == own) - 1 / task.outputs
    towards = np.outer(np.concatenate([*inputs, [1.0]]), sides).ravel()
    towards /= np.linalg.norm(towards)
    length = task.learning_rate / (1 - task.momentum) * task.clip
    went = float(towards @ model.layers[0].ravel()) * task.rows / length
    # So many clipping norms; each step adds one, and noise of its own.
    return went / model.scale**2
