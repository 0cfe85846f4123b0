"""Membership attacks: can somebody tell who was in the table?

Each attack is judged on members and non-members of the same rarity, beside two controls: a table
that leaks nothing, on which it must find nothing, and one that leaks everything, which shows the
most that it can find. What attacks do not find is no proof of privacy; the promise is in the
certificate, and its bound stands beside the measurement.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.curator.cells import Cells
from understudy.curator.cohort import FEWEST, Cohort
from understudy.curator.deciles import DECILES
from understudy.curator.marginal_attack import (
    KnownMarginal,
    Published,
    marginal_scores,
    own_cells,
)
from understudy.curator.result import WITHIN, Direction, Result, absent, resampled
from understudy.curator.space import Distances, Space
from understudy.curator.tables import Rows, Tables, Tell, row_keys
from understudy.curator.weighted import auc, permutation_p, resampling, true_positives

RELEASE, NO_LEAK, FULL_LEAK = "release", "control: nothing leaks", "control: everything leaks"
DISTANCE, DENSITY, MARGINALS = "distance", "density", "marginals"
ALL_ROWS = "all rows"
FALSE_POSITIVES = 0.01
_PERMUTATIONS = 999
_MOST_PAIRS = 1000
_SURE = 3.5
"""Standard errors beyond a bound: in 33 comparisons, chance goes so far less than once in 100."""
_TURNED = -0.2

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Strike:
    """One attack on one group of rows."""

    attack: str
    table: str
    """What was attacked: the release or a control."""
    group: str
    advantage: Result
    """2·AUC − 1: 0 is guessing, 1 is certainty, below 0 is worse than guessing."""
    found: Result
    """The share of members found while 1 % of non-members are taken for members."""
    p_value: float | None
    """How often guessing would do as well."""


@dataclass(frozen=True)
class Ceiling:
    """What a promise allows."""

    epsilon: float
    delta: float
    one_record: float
    """The advantage of telling whether one record is in the table or not."""
    swapped: float
    """The advantage of telling which of two records is in it, which is what is measured here."""
    whom: str = "record"
    """Whom the promise is about."""


@dataclass(frozen=True)
class Attacks:
    """All attacks; or why there are none."""

    strikes: tuple[Strike, ...]
    ceiling: Ceiling | None
    notes: tuple[str, ...]
    alarms: tuple[str, ...] = ()
    """Where more was found than the promise allows."""

    def of(self, attack: str, table: str = RELEASE, group: str = ALL_ROWS) -> Strike:
        """One of the attacks."""
        found = (s for s in self.strikes if (s.attack, s.table, s.group) == (attack, table, group))
        return next(found)


def decile(number: int) -> str:
    """The name of a group.

    >>> decile(10)
    'decile 10'
    """
    return f"decile {number}"


def ceiling(epsilon: float, delta: float, *, replaces: bool, whom: str = "record") -> Ceiling:
    """The most advantage that an (ε, δ)-promise allows.

    Two records that swap places are one record replaced by another: one step where that is the
    promise's unit, else two (one removed, one added), so that ε counts twice.

    >>> round(ceiling(1.0, 0.0, replaces=False).one_record, 3)
    0.462
    """
    if replaces:
        bound = _advantage(epsilon, delta)
        return Ceiling(epsilon, delta, bound, bound, whom)
    twice = _advantage(2 * epsilon, delta * (1 + math.exp(min(epsilon, 700.0))))
    return Ceiling(epsilon, delta, _advantage(epsilon, delta), twice, whom)


def _advantage(epsilon: float, delta: float) -> float:
    # (e^ε − 1 + 2δ) / (e^ε + 1), without e^ε that overflows
    return min(1.0, math.tanh(epsilon / 2) + 2 * delta / (1 + math.exp(min(epsilon, 700.0))))


def guessed_marginals(tables: Tables, cohort: Cohort, rng: np.random.Generator) -> Published:
    """What an attacker can count for himself: all pairs of columns in the synthetic rows."""
    assert tables.test is not None  # noqa: S101 - there is a cohort
    cells = Cells.of(tables, tables.test.take(cohort.reference))
    synthetic = cells.codes(tables.synthetic)
    names = tuple(cells.sizes)
    cliques = list(combinations(names, 2)) if len(names) > 1 else [names]
    if len(cliques) > _MOST_PAIRS:
        cliques = [cliques[k] for k in rng.permutation(len(cliques))[:_MOST_PAIRS]]
    marginals = tuple(KnownMarginal.counted(c, synthetic, cells.sizes) for c in cliques)
    return Published(
        marginals, cells.codes(tables.real), cells.codes(tables.test), dict(cells.sizes)
    )


def judge(
    tables: Tables,
    cohort: Cohort,
    rng: np.random.Generator,
    published: Published | None = None,
    tell: Tell = lambda _: None,
) -> tuple[Strike, ...]:
    """Attack the synthetic rows, and the controls.

    Without published marginals, the attack by marginals counts pairs in the synthetic rows.
    """
    tell("Attacking by distances")
    scores = _by_distance(tables, cohort)
    tell("Attacking by marginals")
    published = guessed_marginals(tables, cohort, rng) if published is None else published
    scores |= _by_marginals(tables, cohort, published)
    groups = {ALL_ROWS: np.ones(len(cohort.deciles), bool)}
    groups |= {decile(k): cohort.deciles == k for k in range(1, DECILES + 1)}
    tell("Comparing attacks with guessing")
    strikes: list[Strike] = []
    for group, among in groups.items():
        trial = _Group(group, cohort.is_member[among], rng)
        made = {which: values[among] for which, values in scores.items()}
        p_values = permutation_p(list(made.values()), trial.is_member, rng, _PERMUTATIONS)
        strikes += [
            trial.strike(*which, values, p_value)
            for (which, values), p_value in zip(made.items(), p_values, strict=True)
        ]
    return tuple(strikes)


def _by_distance(tables: Tables, cohort: Cohort) -> dict[tuple[str, str], Scores]:
    """Members are nearer to the synthetic rows; the density ratio asks: than to others?"""
    assert tables.test is not None  # noqa: S101 - there is a cohort
    reference = tables.test.take(cohort.reference)
    space = Space.of(tables, reference)
    members, rest = tables.real.take(cohort.members), tables.real.take(cohort.rest)
    attacked = np.vstack(
        [space.points(members), space.points(tables.test.take(cohort.non_members))]
    )

    def distances(rows: Rows) -> Distances:
        return space.nearest(attacked, rows)[0]

    to_rest = distances(rest)
    to_tables = {
        RELEASE: distances(tables.synthetic),
        NO_LEAK: to_rest,
        FULL_LEAK: np.minimum(to_rest, distances(members)),
    }
    to_others = distances(reference)
    scores = {(DISTANCE, table): -found for table, found in to_tables.items()}
    # A density falls with the distance to the nearest row, on the same scale for both tables.
    return scores | {
        (DENSITY, table): np.log(to_others) - np.log(found) for table, found in to_tables.items()
    }


def _by_marginals(
    tables: Tables, cohort: Cohort, published: Published
) -> dict[tuple[str, str], Scores]:
    attacked = {
        name: np.concatenate(
            [published.real[name][cohort.members], published.test[name][cohort.non_members]]
        )
        for name in published.real
    }
    reference = {name: codes[cohort.reference] for name, codes in published.test.items()}
    rest = {name: codes[cohort.rest] for name, codes in published.real.items()}
    unnoised = [KnownMarginal.counted(m.clique, rest, published.sizes) for m in published.marginals]
    assert tables.test is not None  # noqa: S101 - there is a cohort
    real, test = row_keys([tables.real, tables.test])
    rows = np.concatenate([real[cohort.members], test[cohort.non_members]])
    return {
        (MARGINALS, RELEASE): marginal_scores(published.marginals, attacked, reference),
        (MARGINALS, NO_LEAK): marginal_scores(unnoised, attacked, reference),
        (MARGINALS, FULL_LEAK): marginal_scores(
            [own_cells(real[cohort.members])], {"row": rows}, {"row": test[cohort.reference]}
        ),
    }


class _Group:
    """Members and non-members of one group, and the draws that all attacks on it share."""

    def __init__(self, name: str, is_member: NDArray[np.bool_], rng: np.random.Generator) -> None:
        self.name = name
        self.is_member = is_member
        self.members, self.others = int(is_member.sum()), int((~is_member).sum())
        self.weights = resampling(len(is_member), rng)

    def strike(self, attack: str, table: str, scores: Scores, p_value: float) -> Strike:
        """What an attack with these scores achieves."""
        read = f"{self.members:,} members and {self.others:,} non-members"
        direction = _DIRECTIONS[table]
        advantage, found = "advantage (2·AUC − 1)", "members found at 1 % false alarms"
        if min(self.members, self.others) < FEWEST:
            why = f"fewer than {FEWEST} members or non-members"
            nothing = [absent(name, direction, read, why) for name in (advantage, found)]
            return Strike(attack, table, self.name, nothing[0], nothing[1], None)
        gained = 2 * auc(scores, self.is_member, self.weights) - 1
        if FALSE_POSITIVES * self.others < 1:
            why = "1 % of the non-members is less than one of them"
            tpr = absent(found, direction, read, why)
        else:
            rates = true_positives(scores, self.is_member, self.weights, FALSE_POSITIVES)
            tpr = resampled(found, rates, direction, read)
        return Strike(
            attack,
            table,
            self.name,
            resampled(advantage, gained, direction, read),
            tpr,
            p_value,
        )


_DIRECTIONS = {RELEASE: Direction.LOWER, NO_LEAK: Direction.ZERO, FULL_LEAK: Direction.HIGHER}


def alarms(strikes: tuple[Strike, ...], bound: Ceiling | None) -> Iterator[str]:
    """Where an attack finds more than the promise allows, by more than chance."""
    for strike in strikes:
        told = strike.advantage
        if bound is None or strike.table != RELEASE or told.value is None:
            continue
        if told.low is None or told.high is None:
            continue  # nobody can say how sure it is
        error = (told.high - told.low) / (2 * WITHIN)
        if told.value - bound.swapped > _SURE * error:
            yield (
                f"ALARM: the {strike.attack} attack on {strike.group} finds more than the promise "
                "allows, and chance does so once in a hundred evaluations. Either the promise does "
                "not hold, or test rows differ from real ones in more than membership. Do not "
                "publish; find out why."
            )


def warnings(strikes: tuple[Strike, ...]) -> Iterator[str]:
    """What is odd about the tables."""
    for strike in strikes:
        low, high = strike.advantage.low, strike.advantage.high
        if strike.group != ALL_ROWS or low is None or high is None:
            continue
        if strike.table == NO_LEAK and not low <= 0 <= high:
            yield (
                f"The {strike.attack} attack finds something where nothing leaks. One time in "
                "twenty that is chance; else test rows differ from real ones in more than "
                "membership, and its other numbers cannot be trusted."
            )
        if strike.table == RELEASE and high < _TURNED:
            yield (
                f"The {strike.attack} attack finds non-members: the synthetic rows are nearer to "
                "the test rows than to the real ones. Were the tables swapped?"
            )
