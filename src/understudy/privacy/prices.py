"""What a request costs: from public facts and the unit to an event. No row is asked."""

from collections.abc import Sequence
from fractions import Fraction

from understudy.errors import BadInput, PrivacyRefused
from understudy.privacy.accountant import (
    best_of_rho,
    exponential_epsilon,
    gamma_of,
    gaussian_scale,
    sampled_scale,
    threshold,
)
from understudy.privacy.accountant import rho as rho_of
from understudy.privacy.budget import number
from understudy.privacy.events import BestOf, Exponential, Gaussian, SampledGaussian, Threshold
from understudy.privacy.model_maps import ModelMerit
from understudy.privacy.noise import RATE_GRID, check_scale
from understudy.privacy.row_maps import RowMap
from understudy.privacy.scores import STEPS
from understudy.privacy.train import CLIP_STEPS, SENSITIVITY, SMALLEST_NOISE, Training
from understudy.privacy.unit import Person, Record, Sensitivity, Unit
from understudy.privacy.weights import UNIT, RowWeights

_ONE_OF = "Give either rho or scale."


def marginals_price(
    count: int,
    unit: Unit,
    *,
    rho: Fraction | float | None,
    scale: float | None,
    weights: RowWeights | None,
) -> Gaussian:
    """So many marginals measured together: for ρ, or with noise of a scale in counts."""
    most = UNIT if weights is None else weights.most
    squared = count * Fraction(most, UNIT) ** 2
    squared = unit.squared(Sensitivity(squared, 2 * squared))
    if (rho is None) == (scale is None):
        raise BadInput(_ONE_OF)
    scale = gaussian_scale(squared, _share(rho)) if scale is None else number(scale, "scale")
    check_scale(scale if weights is None else scale * UNIT)
    # With unit weights neighbours differ by one in one cell of each marginal, or in two.
    lattice = weights is None and not isinstance(unit, Person)
    return Gaussian(scale, squared, unit_cells=int(squared) if lattice else None)


def malformed_price(unit: Unit, *, rho: Fraction | float) -> Gaussian:
    """The number of malformed records, for ρ: one record more or less moves it by at most one."""
    if isinstance(unit, Person):
        msg = (
            "Malformed records belong to nobody who could be told apart, so that no cap holds for "
            "them. Count them with the unit record."
        )
        raise PrivacyRefused(msg)
    squared = unit.squared(Sensitivity(Fraction(1), Fraction(1)))
    scale = gaussian_scale(squared, _share(rho))
    check_scale(scale)
    return Gaussian(scale, squared, unit_cells=1)


def values_price(
    columns: int, unit: Unit, *, rho: Fraction | float, delta: Fraction | float
) -> Threshold:
    """The common values of so many columns, for ρ and δ together."""
    squared = unit.squared(Sensitivity(Fraction(columns), Fraction(2 * columns)))
    scale = gaussian_scale(squared, _share(rho))
    check_scale(scale)
    most = Fraction(delta) if isinstance(delta, Fraction) else Fraction(number(delta, "delta"))
    if most <= 0:
        msg = "No part of delta is left for values told by a threshold. Declare the values."
        raise PrivacyRefused(msg)
    height = threshold(scale, columns, unit.arrivals, most)
    return Threshold(scale, height, squared, columns, unit.arrivals)


def selection_price(*, epsilon: float | None, rho: Fraction | float | None) -> Exponential:
    """One selection, for ε of its own or for ρ."""
    if (epsilon is None) == (rho is None):
        raise BadInput("Give either epsilon or rho.")
    if epsilon is None:
        return Exponential(exponential_epsilon(_share(rho)))
    return Exponential(number(epsilon, "epsilon"))


def scores_price(count: int, *, rho: Fraction | float) -> Gaussian:
    """So many scores told together, their noise in whole steps of their sensitivity."""
    squared = Fraction(count * STEPS**2)
    scale = gaussian_scale(squared, _share(rho))
    check_scale(scale)
    return Gaussian(scale, squared)


def sum_price(
    row_map: RowMap,
    unit: Unit,
    *,
    rho: Fraction | float | None,
    scale: float | None,
    weights: RowWeights | None,
) -> Gaussian:
    """A sum of a row map, its noise in whole steps; a scale counts in the map's own units."""
    if (rho is None) == (scale is None):
        raise BadInput(_ONE_OF)
    # Two rows of different weight are no farther apart than two of the largest.
    most, whole_row = (1, 1) if weights is None else (weights.most, UNIT)
    squared = unit.squared(row_map.sensitivity) * most**2
    steps = (
        gaussian_scale(squared, _share(rho))
        if scale is None
        else number(scale, "scale") * row_map.unit_length * whole_row
    )
    check_scale(steps)
    return Gaussian(steps, squared)


def training_price(  # noqa: PLR0913 - the last three by name
    task: Training,
    unit: Unit,
    order: float,
    *,
    rho: Fraction | float | None,
    scale: float | None,
    weights: RowWeights | None,
) -> Gaussian | SampledGaussian:
    """A whole training run, its noise in whole steps; a scale counts in clipping norms."""
    if (rho is None) == (scale is None):
        raise BadInput(_ONE_OF)
    squared = _gradient_squared(unit, weights)
    given = None if scale is None else number(scale, "scale") * CLIP_STEPS
    if not squared and given is None:
        given = float(CLIP_STEPS)
    if task.rate is None:
        event: Gaussian | SampledGaussian = Gaussian(
            given or gaussian_scale(squared * task.steps, _share(rho)), squared, task.steps
        )
    else:
        _check_sampling(unit)
        rate = task.chances / RATE_GRID
        event = SampledGaussian(
            rate,
            given or sampled_scale(rate, squared, task.steps, _share(rho), order),
            squared,
            task.steps,
        )
    _check_training_noise(event.scale)
    return event


def best_of_price(  # noqa: PLR0913 - the last four by name
    tasks: Sequence[Training],
    unit: Unit,
    order: float,
    *,
    rho: Fraction | float,
    runs: float,
    score_share: float,
    weights: RowWeights | None,
) -> BestOf:
    """The best of training runs, so many on average, by a score that gets a share of each run.

    A run of any candidate costs no more than the event's base: first its training, told as a
    single step, and then its score. `run_scales` spreads the first over a candidate's own steps.
    """
    gamma, share = gamma_of(number(runs, "runs")), _score_share(score_share)
    one_run = best_of_rho(gamma, _share(rho), order)
    squared = _gradient_squared(unit, weights)
    scale = gaussian_scale(squared, one_run * (1 - share)) if squared else float(CLIP_STEPS)
    # What a score is worth is the same for every model.
    merit = ModelMerit(tasks[0], ())
    score = sum_price(merit, unit, rho=one_run * share, scale=None, weights=weights)
    event = BestOf((Gaussian(scale, squared), score), gamma)
    run_scales(event, tasks)
    return event


def run_rho(order: float, *, rho: Fraction | float, runs: float, score_share: float) -> Fraction:
    """What the training of one run costs, where the best of so many costs ρ."""
    one_run = best_of_rho(gamma_of(number(runs, "runs")), _share(rho), order)
    return one_run * (1 - _score_share(score_share))


def _score_share(share: float) -> Fraction:
    exact = Fraction(number(share, "score_share"))
    if not 0 < exact < 1:
        msg = f"score_share is {share}: a run's training and its score both cost something."
        raise BadInput(msg)
    return exact


def run_scales(event: BestOf, tasks: Sequence[Training]) -> list[float]:
    """For each candidate, the noise with which all of its steps cost what the event says."""
    training = event.base[0]
    scales = [
        gaussian_scale(training.sensitivity_squared * task.steps, rho_of(training))
        if training.sensitivity_squared
        else training.scale
        for task in tasks
    ]
    for scale in scales:
        _check_training_noise(scale)
    return scales


def _gradient_squared(unit: Unit, weights: RowWeights | None) -> Fraction:
    """How far apart the gradient sums of neighbours lie, squared."""
    most = Fraction(UNIT if weights is None else weights.most, UNIT)
    return unit.squared(SENSITIVITY) * most**2


def _check_training_noise(scale: float) -> None:
    check_scale(scale)
    if scale < SMALLEST_NOISE:
        msg = (
            f"Training with noise of {scale / CLIP_STEPS:.2g} clipping norms protects nobody. "
            "Spend less on it."
        )
        raise BadInput(msg)


def _check_sampling(unit: Unit) -> None:
    alone = isinstance(unit, Record) or (isinstance(unit, Person) and unit.rows == 1)
    if not alone:
        msg = (
            f"Sampled training is accounted for one record at a time, and the unit is "
            f"{unit}. Leave out the rate: training on all rows covers every unit."
        )
        raise PrivacyRefused(msg)


def _share(rho: Fraction | float | None) -> Fraction:
    if rho is None:
        raise BadInput(_ONE_OF)
    exact = rho if isinstance(rho, Fraction) else Fraction(number(rho, "rho"))
    if exact <= 0:
        msg = f"A request for rho = {float(exact):.4g}: nothing is left, or nothing was offered."
        raise BadInput(msg)
    return exact
