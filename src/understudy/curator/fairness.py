"""Whether a stated independence holds in the rows, and how unevenly a model treats groups.

An independence in the rows does not make a model's errors even, nor the other way round.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.curator.cells import Cells, Codes, joint
from understudy.curator.result import Direction, Result, absent, around, resampled
from understudy.curator.scores import ClassPredictions, mean_where
from understudy.curator.tables import distinct
from understudy.curator.trials import BASELINE, Predictions, Trial
from understudy.curator.weighted import Values, Weights
from understudy.knowledge import Independence

PERMUTATIONS = 999
_FEWEST_PERMUTATIONS = 200
_MOST_BINS = 2**22
_MOST_DEALT = 2 * 10**7
"""Values dealt in all permutations together."""
FEWEST = 30
"""Groups with fewer rows, of a class, are left out: their rates are mostly chance."""
_DEALS = 200

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
    telling: float = 1.0
    """The share of rows in strata where both sides vary; no other row can speak against it."""


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
    codes: Codes, table: str, independence: Independence, rng: np.random.Generator
) -> IndependenceTest:
    """Test an independence in a table's rows, by permutations within strata.

    Strata are rows with equal codes in all given columns: where codes are bins, what hangs
    together within a bin counts against the independence.
    """
    sides = (independence.outcome, independence.protected, independence.given)
    outcome, protected, given = (joint(codes, names) for names in sides)
    rows = len(outcome)
    read = f"{rows:,} {table} rows, in {len(np.unique(given)):,} strata"
    name = f"conditional mutual information, {independence}"
    if not rows:
        nothing = absent(name, Direction.LOWER, read, "there are no rows")
        return IndependenceTest(str(independence), table, nothing, 0.0, 0.0, 1.0)
    strata = _Strata.of(outcome, given)
    value = information(outcome, protected, given)
    permutations = int(np.clip(_MOST_DEALT // rows, _FEWEST_PERMUTATIONS, PERMUTATIONS))
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
        chance=expected,
        note=f"in nats; about {expected:.3g} if the independence held",
    )
    p_value = (1 + as_much) / (1 + permutations)
    telling = float((_varies(outcome, given) & _varies(protected, given)).mean())
    return IndependenceTest(str(independence), table, result, expected, limit, p_value, telling)


def _varies(values: Places, given: Places) -> NDArray[np.bool_]:
    """By row, whether its stratum has more than one value."""
    low, high = (np.full(int(given.max()) + 1, start) for start in (np.iinfo(np.int64).max, -1))
    np.minimum.at(low, given, values)
    np.maximum.at(high, given, values)
    return np.asarray(low[given] < high[given])


def judge_groups(
    cells: Cells, groups: Sequence[str], trials: Sequence[Trial], rng: np.random.Generator
) -> Iterator[GroupGaps]:
    """Gaps between groups, for every model of the task."""
    named = ", ".join(groups)
    read = f"predictions for {trials[0].test.count:,} rows"
    kinds = {
        f"demographic parity gap ({named})": False,
        f"equalized odds gap ({named})": True,
    }
    places = [joint(cells.codes(trial.test), groups) for trial in trials]
    for model, trained_on in trials[0].predictions:
        if model in BASELINE.values():
            continue  # it treats everybody alike
        made = [trial.predictions[model, trained_on] for trial in trials]
        told = []
        for kind, within in kinds.items():
            runs = [
                _gap(one, place, trial.weights, rng, within_classes=within)
                for one, place, trial in zip(made, places, trials, strict=True)
                if isinstance(one, ClassPredictions)
            ]
            told.append(_told(kind, runs, made[0], read))
        yield GroupGaps(model, trained_on, named, told[0], told[1])


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


class _Gap(NamedTuple):
    values: Values
    by_chance: float
    """What it would be, about, if groups were dealt out at random."""
    small: bool
    """Whether groups were too small to count."""


def _gap(
    made: ClassPredictions,
    groups: Places,
    weights: Weights,
    rng: np.random.Generator,
    *,
    within_classes: bool,
) -> _Gap:
    """The largest difference between groups in how often a class is predicted.

    Within classes, among rows of one true class. Groups with few of these rows say nothing.
    """
    everyone = [np.ones(len(groups), bool)]
    among = [made.truth == k for k in np.unique(made.truth)] if within_classes else everyone
    largest, by_chance = np.full(len(weights), np.nan), np.full(_DEALS, np.nan)
    small = False
    for rows in among:
        everybody = [rows & (groups == group) for group in np.unique(groups)]
        members = [member for member in everybody if member.sum() >= FEWEST]
        small = small or len(members) < len(everybody)
        if len(members) < 2:  # noqa: PLR2004 - a gap is between two
            continue
        for k in np.unique(made.predicted):
            said = made.predicted == k
            rates = np.array([mean_where(said, member, weights) for member in members])
            largest = np.fmax(largest, rates.max(axis=0) - rates.min(axis=0))
        by_chance = np.fmax(by_chance, _dealt_gaps(made.predicted, members, rng))
    return _Gap(largest, float(by_chance.mean()), small)


def _dealt_gaps(
    predicted: NDArray[np.int64], members: Sequence[NDArray[np.bool_]], rng: np.random.Generator
) -> Values:
    """The same differences where predictions are dealt out to the groups at random."""
    sizes = np.array([member.sum() for member in members])
    said = distinct(np.concatenate([predicted[member] for member in members]))
    classes = int(said.max()) + 1
    group = np.repeat(np.arange(len(members)), sizes) * classes
    gaps = np.empty(_DEALS)
    for k in range(_DEALS):
        counts = np.bincount(group + rng.permutation(said), minlength=len(members) * classes)
        rates = counts.reshape(len(members), classes) / sizes[:, None]
        gaps[k] = (rates.max(axis=0) - rates.min(axis=0)).max()
    return gaps


def _told(name: str, runs: Sequence[_Gap], first: Predictions | str, read: str) -> Result:
    if not runs:
        why = (
            first
            if isinstance(first, str)
            else "gaps are told for classes, and the target is a number"
        )
        return absent(name, Direction.LOWER, read, why)
    value = np.mean([run.values[0] for run in runs])
    values = np.concatenate([[value], *(run.values[1:] for run in runs)])
    why = f"fewer than two groups have {FEWEST} rows"
    chance = float(np.mean([run.by_chance for run in runs]))
    note = f"about {chance:.3g} by chance alone"
    if any(run.small for run in runs):
        note += f"; groups of fewer than {FEWEST} rows left out"
    told = resampled(name, values, Direction.LOWER, read, absent=why, note=note)
    if told.low is None:
        return told
    # The lower end allows for chance, which gives differences but never takes any.
    return replace(told, low=max(0.0, told.low - chance))
