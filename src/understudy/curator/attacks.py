"""Membership attacks: can somebody tell who was in the table?

Each attack is judged on members and non-members of the same rarity, beside two controls: a table
that leaks nothing, on which it must find nothing, and one that leaks everything, which shows the
most that it can find. What attacks do not find is no proof of privacy; the promise is in the
certificate, and its bound stands beside the measurement.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.curator.cells import Cells
from understudy.curator.cohort import DECILES, FEWEST, Cohort
from understudy.curator.marginal_attack import (
    KnownMarginal,
    Published,
    marginal_scores,
    own_cells,
)
from understudy.curator.result import Direction, Result, absent, resampled
from understudy.curator.space import Distances, Space, nearest
from understudy.curator.tables import Tables, row_keys
from understudy.curator.weighted import auc, permutation_p, permuted, resampling, true_positives

RELEASE, NO_LEAK, FULL_LEAK = "release", "control: nothing leaks", "control: everything leaks"
DISTANCE, DENSITY, MARGINALS = "distance", "density", "marginals"
ALL_ROWS = "all rows"
FALSE_POSITIVES = 0.01
MOST_ROWS = 100_000
"""Of more synthetic or real rows, attackers look at a random choice."""
_PERMUTATIONS = 999
_MOST_PAIRS = 1000

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
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Strike, ...]:
    """Attack the synthetic rows, and the controls.

    Without published marginals, the attack by marginals counts pairs in the synthetic rows.
    """
    tell("Attacking by distances")
    scores = _by_distance(tables, cohort, rng)
    tell("Attacking by marginals")
    published = guessed_marginals(tables, cohort, rng) if published is None else published
    scores |= _by_marginals(tables, cohort, published)
    groups = {ALL_ROWS: np.ones(len(cohort.deciles), bool)}
    groups |= {decile(k): cohort.deciles == k for k in range(1, DECILES + 1)}
    tell("Comparing attacks with guessing")
    strikes: list[Strike] = []
    for group, among in groups.items():
        trial = _Group(group, cohort.is_member[among], rng)
        strikes += [trial.strike(*which, made[among]) for which, made in scores.items()]
    return tuple(strikes)


def _by_distance(
    tables: Tables, cohort: Cohort, rng: np.random.Generator
) -> dict[tuple[str, str], Scores]:
    """Members are nearer to the synthetic rows; the density ratio asks: than to others?"""
    assert tables.test is not None  # noqa: S101 - there is a cohort
    reference = tables.test.take(cohort.reference)
    space = Space.of(tables, reference)
    members = space.points(tables.real.take(cohort.members))
    attacked = np.vstack([members, space.points(tables.test.take(cohort.non_members))])

    def distances(points: NDArray[np.float32]) -> Distances:
        return nearest(attacked, _some(points, rng))

    to_rest = distances(space.points(tables.real.take(cohort.rest)))
    to_tables = {
        RELEASE: distances(space.points(tables.synthetic)),
        NO_LEAK: to_rest,
        FULL_LEAK: np.minimum(to_rest, nearest(attacked, members)),
    }
    to_others = distances(space.points(reference))
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
        self.guesses = permuted(is_member, rng, _PERMUTATIONS)

    def strike(self, attack: str, table: str, scores: Scores) -> Strike:
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
            permutation_p(scores, self.guesses),
        )


_DIRECTIONS = {RELEASE: Direction.LOWER, NO_LEAK: Direction.ZERO, FULL_LEAK: Direction.HIGHER}


def _some(points: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    if len(points) <= MOST_ROWS:
        return points
    return points[rng.permutation(len(points))[:MOST_ROWS]]


def warnings(strikes: tuple[Strike, ...], bound: Ceiling | None = None) -> Iterator[str]:
    """What should not be: more than a promise allows, or a control that finds something."""
    for strike in strikes:
        low, high = strike.advantage.low, strike.advantage.high
        if low is None or high is None:
            continue
        if strike.table == RELEASE and bound is not None and low > bound.swapped:
            yield (
                f"ALARM: the {strike.attack} attack on {strike.group} finds more than the promise "
                "allows. Either the promise does not hold, or rows that the release never saw "
                "differ from its own in more than membership. Do not publish; ask why."
            )
        if strike.table == NO_LEAK and strike.group == ALL_ROWS and not low <= 0 <= high:
            yield (
                f"The {strike.attack} attack finds something where nothing leaks. One time in "
                "twenty that is chance; else test rows differ from real ones in more than "
                "membership, and its other numbers cannot be trusted."
            )
