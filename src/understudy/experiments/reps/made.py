"""Rows of an arm, and what each record gave for them."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.encode import Encoding
from understudy.experiments.reps.arms import Arm, Making
from understudy.experiments.reps.rows import Rows, count_of, from_arrow, to_arrow
from understudy.experiments.reps.split import Split
from understudy.experiments.reps.unledgered import Unledgered
from understudy.mechanisms.api import Model
from understudy.mechanisms.reps import Reps
from understudy.model.visible import visible
from understudy.pipeline import synthesize
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.row_maps import Codes
from understudy.privacy.weights import UNIT
from understudy.protection import CURVE
from understudy.schema import Schema
from understudy.select.rarity import STEPS_PER_NAT
from understudy.select.risk import RiskWeights, Weighed, weighed, weights_told

GAMMAS = (0.5, 1.0, 2.0, 4.0)
SHARE = 0.1
"""Of the budget: scores, as in the paper."""
_LEAST = 1 / UNIT
"""The paper has no least weight; a ledger has this one."""
_NO_NOISE = Fraction(10**12)
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Given:
    """What each record gave, as everybody who knows the noisy counts can work out for himself."""

    budget: Budget
    spent: Fraction
    """What scores cost every record."""
    rest: Fraction
    """What a record of full weight gave after that."""
    weights: Whole
    """By record that was learned from, in 1/UNIT."""
    scores: Whole | None = None
    """By record, how rare it is; None where nobody asked."""

    def rho(self) -> list[Fraction]:
        """By record: what it lost, conditional on the noisy counts."""
        by_weight = {
            int(w): self.spent + Fraction(int(w), UNIT) ** 2 * self.rest
            for w in np.unique(self.weights)
        }
        return [by_weight[int(w)] for w in self.weights]


@dataclass(frozen=True, eq=False)
class Made:
    """Rows, and what records gave for them; None where that has no bound."""

    rows: Rows
    given: Given | None = None


def made(split: Split, arm: Arm, epsilon: float, gamma: float, seed: int) -> Made:
    """The rows of an arm, as many as were learned from; the control has those there are."""
    count, table = count_of(split.train), to_arrow(split.train)
    schema = replace(split.table.schema, rows_bound=count)
    encoding = Encoding(schema)
    codes = encoding.codes(table)
    rng = np.random.default_rng([13, seed])
    full = np.full(count, UNIT)
    if arm.making is Making.NOBODY:
        return Made(split.validation)
    if arm.making is Making.EXACT:
        exact = Unledgered(encoding, codes, full, _NO_NOISE, rng)
        model = Reps().fit(exact)  # type: ignore[arg-type]
        return Made(_drawn(model, encoding, count, rng))
    # n is declared public, as in the paper.
    budget = Budget(epsilon, 1 / count**2)
    if arm.making is Making.RELEASED:
        return _released(split, schema, budget, codes, seed)
    with Ledger.open(table, schema, budget, accept_weak_guarantee=True) as book:
        if arm.making in {Making.UNIFORM, Making.SPLIT}:
            (part,) = book.split(1 - SHARE if arm.making is Making.SPLIT else 1.0)
            given = Given(budget, Fraction(0), part.rest(), full)
            return Made(_drawn(Reps().fit(part), encoding, count, rng), given)
        found = weighed(RiskWeights(share=SHARE, gamma=gamma, least=_LEAST), book, ())
        rows, given = _weighed(arm, book, budget, found, codes, rng)
        return Made(_drawn(rows, encoding, count, rng), given)


def _weighed(  # noqa: PLR0913, PLR0917 - all that there is
    arm: Arm,
    book: Ledger,
    budget: Budget,
    found: Weighed,
    codes: Codes,
    rng: np.random.Generator,
) -> tuple[Model, Given]:
    """A model of weighted rows; the histograms are not used again, as in the paper."""
    own, ledger = found.weights, found.ledger
    if arm.making is Making.REMOVED:
        beyond = round(found.threshold * STEPS_PER_NAT) + 1
        own = replace(own, thresholds=(beyond,), weights=(UNIT, 0))
        ledger = book.weighted(own)
    scores, weights = own.scores(codes), own.of_rows(codes)
    if arm.making is Making.SHUFFLED:
        # Not a public function of a record: so no ledger can do it, and nothing is promised.
        weights = rng.permutation(weights)
        stand_in = Unledgered(book.encoding, codes, weights, found.rest, rng)
        model: Model = Reps().fit(stand_in)  # type: ignore[arg-type]
    else:
        model = Reps().fit(ledger)
    return model, Given(budget, found.spent, found.rest, weights, scores)


def _released(split: Split, schema: Schema, budget: Budget, codes: Codes, seed: int) -> Made:
    """As anybody would do it: no γ is tuned, and the histograms are used again."""
    release = synthesize(
        to_arrow(split.train),
        schema=schema,
        epsilon=budget.epsilon,
        delta=budget.delta,
        mechanism=Reps(),
        protect_outliers=RiskWeights(),
        rows=count_of(split.train),
        seed=seed,
        accept_weak_guarantee=True,  # public benchmarks, with the settings of the paper
    )
    told = release.certificate.public[CURVE]
    own = weights_told(told)
    scores, weights = own.scores(codes), own.of_rows(codes)
    spent = Fraction(told["spent_before"])
    given = Given(budget, spent, budget.rho - spent, weights, scores)
    return Made(from_arrow(release.table, schema), given)


def _drawn(model: Model, encoding: Encoding, count: int, rng: np.random.Generator) -> Rows:
    rows = visible(model, encoding.hidden).sample(count, rng)
    return from_arrow(encoding.decode(rows, rng), encoding.schema)
