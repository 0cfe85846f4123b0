"""Several settings of a training run, tried on the rows, of which the best is kept.

How often one is tried is random, and stays secret: that is what the price rests on
(docs/proofs/selection.md). Nothing is said while runs go on, for messages could be counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from understudy.errors import BadInput, PrivacyRefused
from understudy.privacy.accountant import mean_runs
from understudy.privacy.events import BestOf
from understudy.privacy.model_maps import ModelMerit
from understudy.privacy.noise import RandomSource, below, logarithmic, with_gaussian_noise
from understudy.privacy.row_maps import Codes, summed
from understudy.privacy.train import CLIP_STEPS, TrainedModel, Training, train
from understudy.privacy.whole import Whole

SCORE_SHARE = 0.05
"""Of what one run costs, the part that its score gets."""


@dataclass(frozen=True, eq=False)
class BestTrained:
    """The best of several runs, and nothing about the others: neither how many, nor how good."""

    place: int
    """Which of the candidates it is."""
    model: TrainedModel
    score: float
    """How well it did by its noisy score, in rows that it got right (see `ModelMerit`)."""
    scale: float
    """The standard deviation of the score's noise."""


def check_candidates(tasks: Sequence[Training]) -> None:
    """Refuse candidates that cannot be compared, or not be paid for; by public facts."""
    if not tasks:
        msg = "There is no training run to try."
        raise BadInput(msg)
    if any(task.rate is not None for task in tasks):
        msg = (
            "The best of several runs is accounted for training on all rows. Leave out the rate, "
            "or train a single candidate."
        )
        raise PrivacyRefused(msg)
    if len({(task.target_column, task.loss) for task in tasks}) > 1:
        msg = "Candidates are compared by one target and one loss; these have several."
        raise BadInput(msg)


def told(tasks: Sequence[Training], scales: Sequence[float], gamma: Fraction) -> dict[str, Any]:
    """What is tried, as plain data. How many runs there are on average is public."""
    settings = [
        {
            "inputs": list(task.inputs),
            **({"begun": True} if task.begun else {}),
            "hidden": task.hidden,
            "steps": task.steps,
            "clip": task.clip,
            "learning_rate": task.learning_rate,
            "momentum": task.momentum,
            "start": task.start,
            "noise": scale / CLIP_STEPS,
        }
        for task, scale in zip(tasks, scales, strict=True)
    ]
    return {
        "door": "select_best",
        "candidates": len(tasks),
        "runs": round(mean_runs(gamma), 6),
        "target": tasks[0].target_column,
        "loss": str(tasks[0].loss),
        "settings": settings,
    }


def best_trained(  # noqa: PLR0913 - the last by name
    tasks: Sequence[Training],
    scales: Sequence[float],
    event: BestOf,
    rows: Sequence[tuple[Codes, Whole]],
    source: RandomSource,
    *,
    whole_row: int,
) -> BestTrained:
    """Train candidates, drawn evenly and as often as chance has it, and keep the best.

    `scales` are the noise of each candidate's steps; the score's is the event's last. A row of full
    weight counts as `whole_row`.
    """
    _, scoring = event.base
    best: tuple[int, int, TrainedModel] | None = None
    for _ in range(logarithmic(event.gamma, source)):
        place = below(len(tasks), source)
        model = train(tasks[place], lambda: rows, scales[place], source)
        merit = summed(ModelMerit(tasks[place], model.layers), rows, whole_row)
        (score,) = with_gaussian_noise(merit, scoring.scale, source).tolist()
        if best is None or score > best[0]:  # of equals the first, as if a coin had decided
            best = (score, place, model)
    assert best is not None  # noqa: S101 - there is at least one run
    score, place, model = best
    one = ModelMerit.STEPS * whole_row
    return BestTrained(place, model, score / one, scoring.scale / one)
