"""Prices and sales (section 7.1): five brands, each with an elasticity to be found.

Made up like the paper's, and nothing private. Brands are taken one by one, on log-prices.
"""

from collections.abc import Mapping

import numpy as np

from understudy.curator.disclosure import interval_disclosure
from understudy.curator.regression_metrics import (
    mean_percentage_deviation,
    optimal_markup,
    optimal_profit_ratio,
)
from understudy.experiments.lk2ss.found import Figures, Key
from understudy.experiments.lk2ss.publics import RIDGES, Rows
from understudy.model.kernels import Wendland
from understudy.twostage.first_stages import LatinHypercube
from understudy.twostage.hybrid import Hybrid, blended
from understudy.twostage.responses import KernelRidge

BETAS = (-1.5, -1.7, -2.01, -1.98, -1.9)
CUSTOMERS, WEEKS, PUBLIC = 20, 52, 20
ALPHAS = (0.2, 0.5, 0.8, 1.0)
SHARED = 0.2
"""The α of Table 4."""
MEAN, SPREAD = 2.7, 0.3
"""Of log-prices."""
VARIANCE = 0.5
ETA = 0.0001
OWN, BOTH, REAL = "D'", "D' + D*", "D"
LID_ALL = "all"
"""LID where the five prices of a customer and week are one row."""


def made_name(alpha: float) -> str:
    """What rows are called that were made with an α."""
    return f"D*, α = {alpha:g}"


ARMS = (OWN, BOTH, REAL, *(made_name(alpha) for alpha in ALPHAS))


def run_marketing(seed: int, rows: int = CUSTOMERS * WEEKS) -> Figures:
    """One trial."""
    rng = np.random.default_rng([43, seed])
    found: dict[Key, float] = {}
    estimates: dict[str, list[float]] = {arm: [] for arm in ARMS}
    near: dict[float, list[np.ndarray]] = {alpha: [] for alpha in ALPHAS}
    for beta in BETAS:
        sold, own = (_sold(beta, count, rng) for count in (rows, PUBLIC))
        told, lids = _brand(sold, own, rng)
        for arm, estimate in told.items():
            estimates[arm].append(estimate)
        for alpha, inputs in lids.items():
            near[alpha].append(np.concatenate([sold.inputs, inputs], axis=1))
    for arm, estimated in estimates.items():
        for brand, (one, beta) in enumerate(zip(estimated, BETAS, strict=True), start=1):
            found["omu", arm, brand] = optimal_markup(one)
            found["opr", arm, brand] = optimal_profit_ratio(one, beta)
        found["mapd", arm] = mean_percentage_deviation(np.array(estimated), np.array(BETAS))
    for alpha, pairs in near.items():
        each = [interval_disclosure(pair[:, :1], pair[:, 1:], ETA) for pair in pairs]
        real, made = (np.column_stack([pair[:, side] for pair in pairs]) for side in (0, 1))
        found["market lid", alpha] = float(np.mean(each))
        found["market lid", LID_ALL, alpha] = interval_disclosure(real, made, ETA)
    return found


def _sold(beta: float, count: int, rng: np.random.Generator) -> Rows:
    """Log-prices, and log-sales without what is known of brand and customer."""
    prices = rng.normal(MEAN, SPREAD, (count, 1))
    return Rows(prices, beta * prices + np.sqrt(VARIANCE) * rng.normal(0.0, 1.0, (count, 1)))


def _brand(
    real: Rows, own: Rows, rng: np.random.Generator
) -> tuple[Mapping[str, float], Mapping[float, np.ndarray]]:
    """By what it is learned from, an elasticity; and by α, the inputs that were made."""
    model = KernelRidge(Wendland(1.0), RIDGES).taught(real.inputs, real.outputs, rng)
    counterpart = LatinHypercube().made(real.inputs, rng)
    counterpart = counterpart[Hybrid().matched(real.inputs, counterpart, rng)]
    inputs = {alpha: blended(real.inputs, counterpart, alpha) for alpha in ALPHAS}
    made = {alpha: Rows(x, model.answers(x)) for alpha, x in inputs.items()}
    learned = {OWN: own, BOTH: own + made[SHARED], REAL: real}
    learned |= {made_name(alpha): rows for alpha, rows in made.items()}
    return {arm: _slope(rows) for arm, rows in learned.items()}, inputs


def _slope(rows: Rows) -> float:
    """Least squares through 0."""
    return float((rows.inputs * rows.outputs).sum() / (rows.inputs**2).sum())
