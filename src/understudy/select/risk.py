"""Outliers count less: how rare a row's values are, by noisy counts, and the weight it gets.

For fixed noisy counts the weight is a public function of a row, so weighted answers move by the
row's weight at most: docs/proofs/weights.md. Scores and weights of rows stay inside the ledger.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.encode import Encoding
from understudy.errors import BadInput, PrivacyRefused, listed
from understudy.model.counts import believable_total, combined, fitted
from understudy.privacy.answers import Measurement
from understudy.privacy.budget import Budget, epsilon_of_rho, number
from understudy.privacy.ledger import Ledger
from understudy.privacy.row_maps import ScoreCells
from understudy.privacy.unit import Replacement
from understudy.privacy.weights import UNIT, RowWeights
from understudy.privacy.where import Where

STEPS_PER_NAT = 1000
"""Scores are whole numbers: so many make a factor of e in how rare a row is."""
Shares = Mapping[str, tuple[NDArray[np.float64], float]]
_COUNTING = Fraction(1, 10)
_RANGES = 100
"""In which scores are counted."""
_LEVELS = 64
"""So many weights at most, between the least and a full one."""


class Cut(StrEnum):
    """Where the threshold comes from."""

    PRODUCT = "product"
    """From single columns, as if they were independent: free."""
    COUNTED = "counted"
    """From a noisy count of the rows' own scores: for a tenth of what single columns cost."""


class Shape(StrEnum):
    """How the weight falls with the score s, beyond the threshold t."""

    HINGE_EXP = "hinge-exp"
    """exp(-gamma (s - t)), and 1 below t."""
    RATIO = "ratio"
    """t / (s + t): falls from the start, and slowly."""
    STEP = "step"
    """One weight for all rows beyond t, and 1 below: caps all of them alike."""


@dataclass(frozen=True)
class RiskWeights:
    """Rows whose values are rare count less, and so lose less.

    The score of a row adds up -log of its values' noisy shares. The threshold is that score
    which the given part of rows would exceed, if columns were independent.
    """

    share: float = 0.25
    """Of the budget: counting single columns for the scores, where they are not known yet."""
    outliers: float = 0.1
    """The part of rows beyond the threshold, about."""
    threshold: Cut = Cut.PRODUCT
    shape: Shape = Shape.HINGE_EXP
    gamma: float = 1.0
    """How fast weights fall, for `hinge-exp`."""
    least: float = 1 / 16
    """No weight is smaller."""

    def __post_init__(self) -> None:
        for name, kind in {"shape": Shape, "threshold": Cut}.items():
            try:
                object.__setattr__(self, name, kind(getattr(self, name)))
            except ValueError:
                msg = f"There is no {name} {getattr(self, name)!r}. Known: {listed(kind)}."
                raise BadInput(msg) from None
        for name, low, high in (("share", 0, 1), ("outliers", 0, 1)):
            if not low < number(getattr(self, name), name) < high:
                msg = f"{name} is {getattr(self, name)}; it must lie between {low} and {high}."
                raise BadInput(msg)
        if number(self.gamma, "gamma") < 0:
            msg = f"gamma is {self.gamma}; weights would grow with the risk. Give 0 or more."
            raise BadInput(msg)
        if not 0 < number(self.least, "least") <= 1:
            msg = f"least is {self.least}; a weight lies above 0 and is at most 1."
            raise BadInput(msg)

    @property
    def counting(self) -> Fraction:
        """What counting takes for each part that single columns take: scores may be counted too."""
        return 1 + (_COUNTING if self.threshold is Cut.COUNTED else Fraction(0))


@dataclass(frozen=True, eq=False)
class Weighed:
    """A ledger in which rows count by their weight, and what goes with it."""

    ledger: Ledger
    known: tuple[Measurement, ...]
    """What is known of single columns, in weighted rows: free for whatever is fitted next."""
    kept: float
    """The part of all weight that is left, about: 1 where no row counts less."""
    curve: tuple[tuple[float, float], ...]
    """From which score on (in nats) rows have which weight."""
    threshold: float
    spent: Fraction
    """What every row has lost by now, whatever its weight."""
    rest: Fraction
    """What a row of full weight can still lose."""
    weights: RowWeights
    """By column the score of each code, and by score the weight: made from noisy counts alone."""

    def told(self) -> dict[str, Any]:
        """The public curve: made from noisy counts, and of no row in particular."""
        return {
            "scores": {name: list(table) for name, table in self.weights.tables},
            "from_score": [0, *self.weights.thresholds],
            "weight": list(self.weights.weights),
            "of": UNIT,
            "threshold": self.threshold,
            "spent_before": str(self.spent),
            "kept": self.kept,
        }


def check_unit(unit: object) -> None:
    """Refuse neighbours that are replaced: the other record may have a full weight."""
    if isinstance(unit, Replacement):
        msg = (
            "Weights protect records that are added or removed. A record that takes another's "
            "place may have a full weight, so that nobody would lose less. Take the unit record."
        )
        raise PrivacyRefused(msg)


def smallest_cap(budget: Budget, share: Fraction | float) -> float:
    """The ε that every row has lost already, once a share of the budget is spent on scores."""
    return epsilon_of_rho(budget.rho * Fraction(share), budget.converting)


def weighed(  # noqa: PLR0913 - the last three by name
    recipe: RiskWeights,
    ledger: Ledger,
    known: Sequence[Measurement],
    *,
    cap: Budget | None = None,
    where: Sequence[Where] = (),
    everyone: bool = True,
) -> Weighed:
    """Rows by weight: rare ones less, and those that meet a condition no more than the cap allows.

    With a cap, its weight is the largest for which a row keeps within it; `everyone` says whether
    it is meant for all rows beyond the threshold, or for the conditions alone.
    """
    known = list(known)
    open_ = _uncounted(ledger, known) if everyone else []  # conditions need no scores
    if open_:
        rho = ledger.rest() * Fraction(recipe.share)
        known += ledger.measure([(name,) for name in open_], rho=rho)
    law = None
    if recipe.threshold is Cut.COUNTED:
        first = risk_by(recipe, known, None)
        rho = (ledger.budget.rho - ledger.rest()) * _COUNTING
        rho = min(rho, ledger.rest() * _COUNTING)
        law = _counted(ledger, first.tables, len(first.law), rho)
    spent, rest = ledger.budget.rho - ledger.rest(), ledger.rest()
    capped = UNIT if cap is None else _capped_weight(cap, spent, rest)
    scored = known if everyone else []
    risk = risk_by(recipe, scored, capped if cap is not None and everyone else None, law)
    shares, law, threshold = shares_by(known), risk.law, risk.threshold
    tables, steps = dict(risk.tables), dict(risk.steps)
    # Whoever meets a condition scores beyond all that others can.
    beyond = len(law)
    for one in where:
        marked = one.codes(ledger.encoding)
        table = tables.get(one.column) or [0] * len(marked)
        tables[one.column] = [s + beyond * held for s, held in zip(table, marked, strict=True)]
    if where:
        steps[beyond] = min(capped, *steps.values())
    weights = ledger.weigh(tables, sorted(steps)[1:], [steps[at] for at in sorted(steps)])
    meeting = _meeting(shares, where, ledger.encoding)
    kept = (1 - meeting) * _mean_weight(law, steps) / UNIT + meeting * steps.get(beyond, 0) / UNIT
    # Where all rows seem to weigh nothing there is nothing to scale by.
    kept = max(kept, 1 / UNIT)
    scaled = tuple(_scaled(one, kept) for one in known if one.clique)
    curve = tuple((at / STEPS_PER_NAT, steps[at] / UNIT) for at in sorted(steps) if at < beyond)
    return Weighed(
        ledger.weighted(weights),
        scaled,
        kept,
        curve,
        threshold / STEPS_PER_NAT,
        spent,
        rest,
        weights,
    )


@dataclass(frozen=True, eq=False)
class Risk:
    """How rare values are by noisy counts, and which weight a score has."""

    shares: Shares
    tables: dict[str, list[int]]
    """By column, the score of each code."""
    law: NDArray[np.float64]
    threshold: int
    steps: dict[int, int]


def risk_by(
    recipe: RiskWeights,
    known: Sequence[Measurement],
    capped: int | None,
    law: NDArray[np.float64] | None = None,
) -> Risk:
    """The risk of values, from noisy counts alone; with a cap, one weight beyond the threshold.

    `law` tells which part of rows has which score, where that was counted.
    """
    shares = shares_by(known)
    tables = {name: scores_by(share, floor) for name, (share, floor) in shares.items()}
    law = _law(shares, tables) if law is None else law
    threshold = _quantile(law, 1 - recipe.outliers)
    return Risk(shares, tables, law, threshold, _steps(recipe, threshold, len(law), capped))


def _uncounted(ledger: Ledger, known: Iterable[Measurement]) -> list[str]:
    """Columns that no count is known of; those of a single value tell nobody apart."""
    counted = {one.clique for one in known}
    cells = ledger.encoding.cells
    return [
        name
        for name in ledger.domain.names
        if (name,) not in counted and cells[name].size - (cells[name].missing is not None) > 1
    ]


def shares_by(known: Iterable[Measurement]) -> Shares:
    """By column, noisy shares, and below which share a value cannot be told from noise."""
    known = [one for one in known if len(one.clique) == 1]
    total = believable_total(known)
    found = {}
    for name in dict.fromkeys(one.clique[0] for one in known):
        values, variance = combined(one for one in known if one.clique == (name,))
        floor = max(float(np.sqrt(np.median(variance))), 1.0) / max(total, 1.0)
        found[name] = fitted(values, variance, total) / total, min(floor, 1.0)
    return found


def scores_by(shares: NDArray[np.float64], floor: float) -> list[int]:
    """-log of shares, in whole steps, rounded up: rather too rare."""
    logs = -np.log(np.maximum(shares, floor))
    return [max(0, math.ceil(STEPS_PER_NAT * log)) for log in logs]


def _law(shares: Shares, tables: dict[str, list[int]]) -> NDArray[np.float64]:
    """By score, the part of rows that would have it if columns were independent.

    Codes below the floor count as if they were there: noise has put many at 0 that rows do have,
    and a law without them would take nearly every row of a small table for an outlier.
    """
    law = np.ones(1)
    for name, table in tables.items():
        wider = np.zeros(len(law) + max(table))
        likely = np.maximum(*shares[name])
        # By score rather than by code: a column may have very many rare codes.
        by_score = np.bincount(table, likely / likely.sum())
        for score in np.flatnonzero(by_score):
            wider[score : score + len(law)] += by_score[score] * law
        law = wider
    return np.asarray(law / law.sum())


def _counted(
    ledger: Ledger, tables: Mapping[str, Sequence[int]], top: int, rho: Fraction
) -> NDArray[np.float64]:
    """By score, the part of rows that have it: counted with noise in ranges, even within each."""
    edges = np.unique(np.linspace(0, top, _RANGES + 1).astype(int)[1:-1])
    asked = ScoreCells(tables, tuple(int(edge) for edge in edges))
    noisy = np.maximum(ledger.sum(asked, rho=rho).values, 0.0)
    starts = np.array([0, *edges, top])
    law = np.repeat(noisy / np.diff(starts), np.diff(starts))
    return np.asarray(law / law.sum() if law.sum() > 0 else np.full(top, 1 / top))


def _quantile(law: NDArray[np.float64], part: float) -> int:
    """The least score such that at most the other part of rows lies beyond it."""
    return int(np.searchsorted(np.cumsum(law), part - 1e-12))


def _capped_weight(cap: Budget, spent: Fraction, rest: Fraction) -> int:
    """The largest weight, in 1/UNIT, with which a row keeps within a cap."""
    left = cap.rho - spent
    if left <= 0:
        msg = (
            f"A cap of epsilon {cap.epsilon:g} is less than every row has lost by now. "
            "Nothing that comes can undo that: allow more, or spend less on finding out."
        )
        raise PrivacyRefused(msg)
    squared = left / rest * UNIT**2 if rest else Fraction(UNIT**2)
    return min(UNIT, math.isqrt(math.floor(squared)))


def _steps(recipe: RiskWeights, threshold: int, top: int, capped: int | None) -> dict[int, int]:
    """From which score on rows have which weight, in 1/UNIT; the first from 0 on."""
    if capped is not None or recipe.shape is Shape.STEP:
        low = capped if capped is not None else math.floor(recipe.least * UNIT)
        return {0: UNIT, threshold + 1: low} if low < UNIT else {0: UNIT}
    scores = np.arange(top)
    if recipe.shape is Shape.RATIO:
        exact = threshold / np.maximum(scores + threshold, 1)
        exact[0] = 1.0  # also where no value is rare, and the threshold is 0
    else:
        beyond = np.maximum(scores - threshold, 0) / STEPS_PER_NAT
        exact = np.exp(-recipe.gamma * beyond)
    least = math.floor(recipe.least * UNIT)
    # Down to a level: few steps are quick to look up, and rounding down protects more.
    size = max(1, (UNIT - least) // _LEVELS)
    levels = least + (np.floor(exact * UNIT).astype(np.int64) - least) // size * size
    weights = np.where(exact >= 1, UNIT, np.maximum(levels, least))
    changes = np.flatnonzero(np.diff(weights)) + 1
    return {0: int(weights[0]), **{int(at): int(weights[at]) for at in changes}}


def _meeting(
    shares: Shares,
    where: Sequence[Where],
    encoding: Encoding,
) -> float:
    """The part of rows that meet a condition, if columns were independent."""
    marked: dict[str, NDArray[np.bool_]] = {}
    for one in where:
        codes = np.array(one.codes(encoding))
        marked[one.column] = marked.get(one.column, np.zeros_like(codes)) | codes
    meets_none = 1.0
    for name, codes in marked.items():
        if name in shares:  # of others nothing is known
            meets_none *= 1 - float(shares[name][0][codes].sum())
    return min(max(1 - meets_none, 0.0), 1.0)


def _mean_weight(law: NDArray[np.float64], steps: dict[int, int]) -> float:
    starts = sorted(steps)
    weight = [steps[starts[k]] for k in np.searchsorted(starts, np.arange(len(law)), "right") - 1]
    return float(law @ np.array(weight, np.float64))


def _scaled(one: Measurement, kept: float) -> Measurement:
    return replace(one, values=one.values * kept, scale=one.scale * kept)
