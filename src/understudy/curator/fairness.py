"""Whether a stated independence holds in the rows, and how unevenly a model treats groups.

An independence in the rows does not make a model's errors even, nor the other way round.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.curator.cells import Cells, joint
from understudy.curator.result import Direction, Result, absent, around, resampled
from understudy.curator.scores import ClassPredictions, mean_where
from understudy.curator.tables import Rows, distinct
from understudy.curator.task import BASELINE, Trial
from understudy.curator.weighted import Values, Weights
from understudy.knowledge import Independence

PERMUTATIONS = 999
_FEWEST_PERMUTATIONS = 200
_MOST_BINS = 2**22
_MOST_DEALT = 2 * 10**7
"""Values dealt in all permutations together."""
FEWEST = 30
"""Groups with fewer test rows are left out: their rates are mostly chance."""

Places = NDArray[np.int64]


@dataclass(frozen=True)
class IndependenceTest:
    """Conditional mutual information, beside what it would be if the independence held."""

    sentence: str
    table: str
    information: Result
    """In nats."""
    expected: float
    """Its mean where the protected value is dealt out at random among rows alike in the rest."""
    limit: float
    """Below this lie 95 % of such deals."""
    p_value: float
    """How often such a deal has as much; small values speak against the independence."""


@dataclass(frozen=True)
class GroupGaps:
    """How differently a model treats groups of rows."""

    model: str
    trained_on: str
    groups: str
    """The columns that make groups."""
    parity: Result
    """Demographic parity: the largest difference in how often a class is predicted."""
    odds: Result
    """Equalized odds: the same, among rows of one true class."""


def information(outcome: Places, protected: Places, given: Places) -> float:
    """The conditional mutual information of the rows' own distribution, in nats."""
    return _Strata.of(outcome, given).information(protected)


def independence_test(
    rows: Rows,
    table: str,
    cells: Cells,
    independence: Independence,
    rng: np.random.Generator,
) -> IndependenceTest:
    """Test an independence in a table's rows, by permutations within strata."""
    codes = cells.codes(rows)
    sides = (independence.outcome, independence.protected, independence.given)
    outcome, protected, given = (joint(codes, names) for names in sides)
    read = f"{rows.count:,} {table} rows, in {len(np.unique(given)):,} strata"
    name = f"conditional mutual information, {independence}"
    if not rows.count:
        nothing = absent(name, Direction.LOWER, read, "there are no rows")
        return IndependenceTest(str(independence), table, nothing, 0.0, 0.0, 1.0)
    strata = _Strata.of(outcome, given)
    value = strata.information(protected)
    permutations = int(np.clip(_MOST_DEALT // rows.count, _FEWEST_PERMUTATIONS, PERMUTATIONS))
    dealt = np.array([strata.information(d) for d in strata.deals(protected, permutations, rng)])
    expected, limit = float(dealt.mean()), float(np.quantile(dealt, 0.95))
    # Deals are compared with a margin for rounding, else equal tables count as different.
    as_much = int((dealt >= value - 1e-12).sum())
    result = around(
        name,
        value,
        strata.error(protected),
        Direction.LOWER,
        read,
        within=(0.0, np.inf),
        note=f"in nats; about {expected:.3g} if the independence held",
    )
    p_value = (1 + as_much) / (1 + permutations)
    return IndependenceTest(str(independence), table, result, expected, limit, p_value)


def judge_groups(
    cells: Cells,
    groups: Sequence[str],
    trials: Sequence[Trial],
) -> Iterator[GroupGaps]:
    """Gaps between groups, for every model of the task."""
    for model, trained_on in trials[0].predictions:
        if model in BASELINE.values():
            continue  # it treats everybody alike
        parity, odds, small = [], [], False
        for trial in trials:
            made = trial.predictions[model, trained_on]
            if isinstance(made, ClassPredictions):
                members = list(_groups(cells, trial.test, groups))
                small = small or any(g.sum() < FEWEST for g in members)
                members = [g for g in members if g.sum() >= FEWEST]
                parity.append(_gap(made, members, trial.weights, None))
                odds.append(_gap(made, members, trial.weights, made.truth))
        read = f"predictions for {trials[0].test.count:,} rows"
        note = f"groups of fewer than {FEWEST} rows left out" if small else ""
        named = ", ".join(groups)
        yield GroupGaps(
            model,
            trained_on,
            named,
            _told(f"demographic parity gap ({named})", parity, read, note),
            _told(f"equalized odds gap ({named})", odds, read, note),
        )


@dataclass(frozen=True, eq=False)
class _Strata:
    """Rows in strata, with an outcome; protected values are dealt out to them."""

    given: Places
    cell: Places
    """Stratum and outcome in one number."""
    fixed: float
    """What does not change with the deal: the entropies of strata and of strata with outcomes."""

    @classmethod
    def of(cls, outcome: Places, given: Places) -> "_Strata":
        cell = distinct(given * (int(outcome.max(initial=0)) + 1) + outcome)
        return cls(given, cell, _sum_of_logs(given) - _sum_of_logs(cell))

    def information(self, protected: Places) -> float:
        if not len(protected):
            return 0.0
        values = int(protected.max()) + 1
        # Dealing within strata changes no stratum's own count of protected values.
        both = _sum_of_logs(self.cell * values + protected)
        aside = _sum_of_logs(self.given * values + protected)
        return max(0.0, (self.fixed + both - aside) / len(protected))

    def deals(self, protected: Places, count: int, rng: np.random.Generator) -> Iterator[Places]:
        """Within a stratum every order is as likely, if the independence holds."""
        by_stratum = np.argsort(self.given, kind="stable")
        strata, values = self.given[by_stratum].astype(np.float64), protected[by_stratum]
        for _ in range(count):
            dealt = np.empty_like(protected)
            # A stratum's number and a fraction: sorting keeps strata apart and mixes within.
            dealt[by_stratum] = values[np.argsort(strata + rng.random(len(strata)))]
            yield dealt

    def error(self, protected: Places) -> float:
        """The standard error: the number is a mean over rows of logarithms."""
        values = int(protected.max()) + 1
        both, aside = self.cell * values + protected, self.given * values + protected
        logs = _logs(both) + _logs(self.given) - _logs(self.cell) - _logs(aside)
        return float(logs.std() / np.sqrt(len(protected)))


def _sum_of_logs(places: Places) -> float:
    """The sum over rows of the logarithm of how many rows share their place."""
    counts = np.bincount(places) if places.max(initial=0) < _MOST_BINS else _counts(places)
    counts = counts[counts > 1]
    return float((counts * np.log(counts)).sum())


def _counts(places: Places) -> Places:
    return np.asarray(np.unique(places, return_counts=True)[1])


def _logs(places: Places) -> NDArray[np.float64]:
    ranked = distinct(places)
    return np.asarray(np.log(np.bincount(ranked))[ranked])


def _groups(cells: Cells, rows: Rows, names: Sequence[str]) -> Iterator[NDArray[np.bool_]]:
    place = joint(cells.codes(rows), names)
    for group in np.unique(place):
        yield place == group


def _gap(
    made: ClassPredictions,
    groups: Sequence[NDArray[np.bool_]],
    weights: Weights,
    truth: NDArray[np.int64] | None,
) -> Values:
    """The largest difference between groups in how often a class is predicted.

    With `truth`, among rows of one true class; groups without such rows say nothing about it.
    """
    largest = np.full(len(weights), np.nan)
    if len(groups) < 2:  # noqa: PLR2004 - a gap is between two
        return largest
    everyone = np.ones(len(made.predicted), bool)
    among = [everyone] if truth is None else [truth == k for k in np.unique(made.truth)]
    for rows in among:
        for k in np.unique(made.predicted):
            rates = [mean_where(made.predicted == k, rows & group, weights) for group in groups]
            spread = _spread(np.array(rates))
            largest = np.fmax(largest, spread)
    return largest


def _spread(rates: NDArray[np.float64]) -> Values:
    """By weighting, the largest rate less the smallest; NaN with fewer than two."""
    known = ~np.isnan(rates)
    high = np.where(known, rates, -np.inf).max(axis=0)
    low = np.where(known, rates, np.inf).min(axis=0)
    return np.where(known.sum(axis=0) > 1, high - low, np.nan)


def _told(name: str, runs: Sequence[Values], read: str, note: str) -> Result:
    if not runs:
        why = "gaps are told for classes, and the target is a number"
        return absent(name, Direction.LOWER, read, why)
    values = np.concatenate([[np.mean([run[0] for run in runs])], *(run[1:] for run in runs)])
    why = "fewer than two groups have enough rows"
    return resampled(name, values, Direction.LOWER, read, absent=why, note=note)
