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

from understudy.domain import Clique
from understudy.encode import Encoding
from understudy.encode.ops import Storage
from understudy.errors import BadInput, PrivacyRefused, listed
from understudy.privacy.answers import Measurement
from understudy.privacy.budget import Budget, epsilon_of_rho, number
from understudy.privacy.ledger import Ledger
from understudy.privacy.row_maps import ScoreCells
from understudy.privacy.unit import Replacement
from understudy.privacy.weights import UNIT, RowWeights, ScoreTable
from understudy.privacy.where import Where
from understudy.select.rarity import STEPS_PER_NAT, Rarity, Shares, rarity_by

_COUNTING = Fraction(1, 10)
_RANGES = 100
"""In which scores are counted."""
_MOST_CELLS = 2**12
"""Larger pairs are not scored: their scores would be noise, and fill certificates and queries."""
_LEVELS = 64
"""So many weights at most, between the least and a full one."""
_GAMMA = 1.0
NO_TARGET = "Values can be rare for their class only where a target is named: name it with target=."
_FAR = 0.99
"""With a cap, weights that fall by and by reach its weight where so many rows score less."""


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
    gamma: float | None = None
    """How fast weights fall, for `hinge-exp`. None: with a cap, so fast that the rarest hundredth
    of rows keeps within it; else 1."""
    least: float = 1 / 16
    """No weight is smaller, unless a cap asks for it."""
    pairs: bool = False
    """Whether values are rare for their class: scores then come of pairs with the target, which
    are counted for them alone."""

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
        if self.gamma is not None and number(self.gamma, "gamma") < 0:
            msg = f"gamma is {self.gamma}; weights would grow with the risk. Give 0 or more."
            raise BadInput(msg)
        if not 0 < number(self.least, "least") <= 1:
            msg = f"least is {self.least}; a weight lies above 0 and is at most 1."
            raise BadInput(msg)

    def counting(self, *, known: bool) -> Fraction:
        """The part of the budget that scores take, and counting them; less if columns are known."""
        scores = _COUNTING if self.threshold is Cut.COUNTED else Fraction(0)
        return Fraction(self.share) * (scores if known else 1 + scores)


@dataclass(frozen=True, eq=False)
class Weighed:
    """A ledger in which rows count by their weight, and what goes with it."""

    ledger: Ledger
    known: tuple[Measurement, ...]
    """What is known of single columns, in weighted rows: free for whatever is fitted next."""
    kept: float | None
    """The part of all weight that is left, about: 1 where no row counts less, None where nobody
    knows how many rows meet a condition."""
    curve: tuple[tuple[float, float], ...]
    """From which score on (in nats) rows have which weight."""
    threshold: float
    spent: Fraction
    """What every row has lost by now, whatever its weight."""
    rest: Fraction
    """What a row of full weight can still lose."""
    weights: RowWeights
    """By column the score of each code, and by score the weight: made from noisy counts alone."""
    capped: int | None
    """The weight with which a row keeps within the cap; None without one."""

    def told(self) -> dict[str, Any]:
        """The public curve: made from noisy counts, and of no row in particular."""
        return {
            "scores": [
                {"columns": list(table.columns), "shape": table.shape, "scores": table.scores}
                for table in self.weights.tables
            ],
            "from_score": [0, *self.weights.thresholds],
            "weight": list(self.weights.weights),
            "of": UNIT,
            "threshold": self.threshold,
            "capped": self.capped,
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
    known, target = list(known), _target(recipe, ledger)
    open_ = _uncounted(ledger, known, target) if everyone else []  # conditions need no scores
    rho = ledger.rest() * Fraction(recipe.share)
    if open_:
        known += ledger.measure(open_, rho=rho)
    rarity = rarity_by(known, target, ledger.encoding.hidden)
    scored = rarity if everyone else rarity_by(())
    if recipe.threshold is Cut.COUNTED and scored.tables:
        scored = replace(scored, law=_counted(ledger, scored, rho * _COUNTING))
    spent, rest = ledger.budget.rho - ledger.rest(), ledger.rest()
    capped = None if cap is None else _capped_weight(cap, spent, rest)
    threshold, steps = steps_by(recipe, scored.law, capped if everyone else None)
    # Whoever meets a condition scores beyond all that others can.
    tables, beyond = dict(scored.tables), scored.top
    for one in where:
        marked = np.array(one.codes(ledger.encoding, ledger.storage))
        tables[one.column,] = tables.get((one.column,), np.zeros(len(marked))) + beyond * marked
    if where:
        steps[beyond] = min(UNIT if capped is None else capped, *steps.values())
    whole = {columns: table.astype(np.int64) for columns, table in tables.items()}
    weights = ledger.weigh(whole, sorted(steps)[1:], [steps[at] for at in sorted(steps)])
    meeting = _meeting(rarity.shares, where, ledger.encoding, ledger.storage)
    usual = _mean_weight(scored.law, steps)
    kept = ((1 - meeting) * usual + meeting * steps.get(beyond, 0)) / UNIT
    # Where all rows seem to weigh nothing there is nothing to scale by.
    kept = max(kept, 1 / UNIT)
    all_known = all(one.column in rarity.shares for one in where)
    return Weighed(
        ledger=ledger.weighted(weights),
        # Pairs stay here: whether a model may tie these columns is not for weights to say.
        known=tuple(_scaled(one, kept) for one in known if len(one.clique) == 1),
        kept=kept if all_known else None,
        curve=tuple((at / STEPS_PER_NAT, steps[at] / UNIT) for at in sorted(steps) if at < beyond),
        threshold=threshold / STEPS_PER_NAT,
        spent=spent,
        rest=rest,
        weights=weights,
        capped=capped,
    )


def weights_told(curve: Mapping[str, Any]) -> RowWeights:
    """The weights that a certificate's curve tells."""
    tables = tuple(
        ScoreTable(tuple(one["columns"]), tuple(one["shape"]), tuple(one["scores"]))
        for one in curve["scores"]
    )
    return RowWeights(tables, tuple(curve["from_score"][1:]), tuple(curve["weight"]))


def steps_by(
    recipe: RiskWeights, law: NDArray[np.float64], capped: int | None
) -> tuple[int, dict[int, int]]:
    """The threshold, and from which score on rows have which weight, in 1/UNIT.

    `law` tells which part of rows has which score.
    """
    threshold = _quantile(law, 1 - recipe.outliers)
    least = math.floor(recipe.least * UNIT)
    if recipe.shape is Shape.STEP:
        low = least if capped is None else capped
        return threshold, {0: UNIT, threshold + 1: low} if low < UNIT else {0: UNIT}
    scores = np.arange(len(law))
    if recipe.shape is Shape.RATIO:
        exact = threshold / np.maximum(scores + threshold, 1)
        exact[0] = 1.0  # also where no value is rare, and the threshold is 0
    else:
        gamma = _GAMMA if recipe.gamma is None else recipe.gamma
        if capped is not None and recipe.gamma is None:
            least = min(least, capped)
            gamma = _policy(capped, _quantile(law, _FAR) - threshold)
        exact = np.exp(-gamma * np.maximum(scores - threshold, 0) / STEPS_PER_NAT)
    return threshold, _levels(exact, least)


def _policy(capped: int, steps: int) -> float:
    """The γ by which weights fall to that of the cap within so many steps of the score."""
    # A weight of 0 is reached by half a step; and rounding of logarithms leaves nobody above.
    falls = -math.log(max(capped, 0.5) / UNIT)
    return falls * STEPS_PER_NAT / max(steps, 1) * (1 + 1e-9)


def _target(recipe: RiskWeights, ledger: Ledger) -> str | None:
    """The column whose classes values are rare in; None where columns are taken by themselves."""
    if recipe.pairs and ledger.schema.target is None:
        raise BadInput(NO_TARGET)
    return ledger.schema.target if recipe.pairs else None


def _uncounted(ledger: Ledger, known: Iterable[Measurement], target: str | None) -> list[Clique]:
    """What no count is known of; columns of a single value tell nobody apart."""
    counted = {one.clique for one in known}
    cells, domain = ledger.encoding.cells, ledger.domain
    asked: list[Clique] = []
    for name in domain.names:
        if cells[name].size - (cells[name].missing is not None) <= 1 and name != target:
            continue
        pair = domain.canonical((name, target)) if target not in {None, name} else (name,)
        asked.append(pair if domain.size(pair) <= _MOST_CELLS else (name,))
    return [clique for clique in asked if clique not in counted]


def _counted(ledger: Ledger, rarity: Rarity, rho: Fraction) -> NDArray[np.float64]:
    """By score, the part of rows that have it: counted with noise in ranges, even within each."""
    top = rarity.top
    edges = np.unique(np.linspace(0, top, _RANGES + 1).astype(int)[1:-1])
    edges = edges[edges > 0]
    asked = ScoreCells(rarity.score_tables(), tuple(int(edge) for edge in edges))
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


def _levels(exact: NDArray[np.float64], least: int) -> dict[int, int]:
    """Where weights change, and to what; the first from 0 on."""
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
    storage: Mapping[str, Storage],
) -> float:
    """The part of rows that meet a condition, if columns were independent."""
    marked: dict[str, NDArray[np.bool_]] = {}
    for one in where:
        codes = np.array(one.codes(encoding, storage))
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
