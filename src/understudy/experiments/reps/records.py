"""How unequally records lose: bounds by record, conditional on the noisy counts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.curator.records import gini
from understudy.experiments.reps.made import Given
from understudy.privacy.budget import epsilon_of_rho
from understudy.privacy.weights import UNIT


@dataclass(frozen=True)
class Losses:
    """Of all records that were learned from."""

    most_to_median: float
    gini: float
    never_more: bool
    """Whether no record's bound is above that of an unweighted release."""
    less_where_lighter: bool
    """Whether it is below wherever the weight is."""
    lighter: float
    """The share of records that count less."""
    top_lighter: float
    """The same, of the tenth that stands out most."""
    top_epsilon: float
    """The mean bound of that tenth."""


def losses(given: Given, top: NDArray[np.intp]) -> Losses:
    """Bounds of all records; `top` are the places of those that stand out most."""
    rho, whole = given.rho(), given.budget.rho
    # The conversion rounds up: the whole budget would come out a hair above ε.
    most = float(given.budget.epsilon)
    told = {one: min(epsilon_of_rho(one, given.budget.converting), most) for one in set(rho)}
    epsilons = np.array([told[one] for one in rho])
    light = given.weights < UNIT
    return Losses(
        float(epsilons.max() / np.median(epsilons)),
        gini(epsilons),
        all(one <= whole for one in told),
        all(one < whole for one, less in zip(rho, light, strict=True) if less),
        float(light.mean()),
        float(light[top].mean()),
        float(epsilons[top].mean()),
    )
