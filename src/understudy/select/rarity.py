"""How rare a row's values are, by noisy counts: a score for each value, and which rows have which.

Everything here is made of answers, so it is as public as they are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.model.counts import believable_total, combined, fitted
from understudy.privacy.answers import Measurement
from understudy.privacy.weights import ScoreTable

STEPS_PER_NAT = 1000
"""Scores are whole numbers: so many make a factor of e in how rare a row is."""
Numbers = NDArray[np.float64]
Scores = NDArray[np.int64]
Shares = Mapping[str, tuple[Numbers, float]]
_PAIR = 2


@dataclass(frozen=True, eq=False)
class Rarity:
    """What each value adds to a row's score, and how scores would be spread over rows."""

    shares: Shares
    """By column, noisy shares, and below which share a value cannot be told from noise."""
    tables: dict[Clique, Scores]
    """By column, the score of each code; by pair with the target, that of a code in each class."""
    law: Numbers
    """By score, the part of rows that would have it if columns were independent; in pairs, if they
    were in each class."""

    @property
    def top(self) -> int:
        """Beyond all scores."""
        return len(self.law)

    def score_tables(self) -> tuple[ScoreTable, ...]:
        """The tables as engines take them."""
        return tuple(ScoreTable.of(columns, scores) for columns, scores in self.tables.items())


def rarity_by(
    known: Sequence[Measurement],
    target: str | None = None,
    hidden: Mapping[str, int] | None = None,
) -> Rarity:
    """Scores from noisy counts of single columns; with a target, of each column in its classes.

    A row's score is -log of its share among all rows, were columns independent (in each class).
    What was not counted with the target is taken by itself. A `hidden` code is as rare as it was
    counted: hardly any row has it.
    """
    hidden = hidden or {}
    shares = dict(shares_by(known))
    tables: dict[Clique, Scores] = {}
    classes, spread = np.ones(1), [[_Part(np.zeros(1, np.int64), np.ones(1))]]
    if target is not None:
        own = tables[target,] = scores_by(*shares[target])
        classes = _likely(*shares[target], hidden.get(target))
        spread = [[_Part(own[k : k + 1], np.ones(1))] for k in range(len(classes))]
    in_classes = {} if target is None else _in_classes(known, target)
    for name in dict.fromkeys(name for one in known for name in one.clique if name != target):
        if name in in_classes:
            found = in_classes[name]
            shares.setdefault(name, (found.joint.sum(axis=1), found.floor))
            scores = [scores_by(*found.given(k)) for k in range(len(classes))]
            tables[name, str(target)] = np.stack(scores, axis=1)
            parts = [
                _Part(one, _likely(*found.given(k), hidden.get(name)))
                for k, one in enumerate(scores)
            ]
        else:
            tables[name,] = scores_by(*shares[name])
            parts = [_Part(tables[name,], _likely(*shares[name], hidden.get(name)))] * len(classes)
        for rows, part in zip(spread, parts, strict=True):
            rows.append(part)
    return Rarity(shares, tables, _mixed(classes, [_law(rows) for rows in spread]))


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


def scores_by(shares: Numbers, floor: float) -> Scores:
    """-log of shares, in whole steps, rounded up: rather too rare."""
    logs = -np.log(np.maximum(shares, floor))
    return np.asarray(np.maximum(np.ceil(STEPS_PER_NAT * logs), 0), np.int64)


@dataclass(frozen=True, eq=False)
class _InClasses:
    """Noisy shares of a column's codes together with the target's, and how far they are noise."""

    joint: Numbers
    floor: float

    def given(self, k: int) -> tuple[Numbers, float]:
        """The shares in one class."""
        size = max(float(self.joint[:, k].sum()), self.floor)
        return self.joint[:, k] / size, min(self.floor / size, 1.0)


def _in_classes(known: Sequence[Measurement], target: str) -> dict[str, _InClasses]:
    """By column, what its pair with the target says."""
    total, found = believable_total(known), {}
    pairs = [one for one in known if len(one.clique) == _PAIR and target in one.clique]
    for clique in dict.fromkeys(one.clique for one in pairs):
        values, variance = combined(one for one in pairs if one.clique == clique)
        floor = max(float(np.sqrt(np.median(variance))), 1.0) / max(total, 1.0)
        joint = fitted(values.ravel(), variance.ravel(), total).reshape(values.shape) / total
        (name,) = set(clique) - {target}
        joint = joint if clique[0] == name else joint.T
        found[name] = _InClasses(joint, min(floor, 1.0))
    return found


@dataclass(frozen=True, eq=False)
class _Part:
    """One column's scores, and how likely each is."""

    scores: Scores
    likely: Numbers


def _likely(shares: Numbers, floor: float, hidden: int | None) -> Numbers:
    """Shares in which codes below the floor count as if they were there.

    Noise has put many at 0 that rows do have; a law without them would take nearly every row of a
    small table for an outlier.
    """
    likely = np.maximum(shares, floor)
    if hidden is not None:
        likely[hidden] = shares[hidden]
    return np.asarray(likely / likely.sum())


def _law(parts: Iterable[_Part]) -> Numbers:
    """By score, the part of rows that would have it if columns were independent."""
    law = np.ones(1)
    for part in parts:
        wider = np.zeros(len(law) + int(part.scores.max()))
        # By score rather than by code: a column may have very many rare codes.
        by_score = np.bincount(part.scores, part.likely)
        for score in np.flatnonzero(by_score):
            wider[score : score + len(law)] += by_score[score] * law
        law = wider
    return np.asarray(law / law.sum())


def _mixed(shares: Numbers, laws: Sequence[Numbers]) -> Numbers:
    mixed = np.zeros(max(len(law) for law in laws))
    for share, law in zip(shares, laws, strict=True):
        mixed[: len(law)] += share * law
    return mixed
