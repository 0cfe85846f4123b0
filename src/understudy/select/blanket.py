"""The Markov blanket of a column, learned with noise: what grows in, and what then drops out."""

from collections.abc import Sequence
from fractions import Fraction
from math import pi, sqrt

import numpy as np

from understudy.domain import Clique
from understudy.privacy.scores import CountTV
from understudy.select.features import FeatureSearch

_GROWING = Fraction(2, 3)
"""Of the budget; the rest tests what has grown."""
_ROWS_PER_CELL = 20
"""A table of fewer is dependent by chance alone."""
_TELLING = 2.0
"""Standard deviations of noise that a dependence must exceed."""


def learned_blanket(search: FeatureSearch, most: int) -> list[str]:
    """Candidates that still tell about the target when the others are known.

    Grow: round by round the one that is farthest from independent of the target, given those that
    came before. Shrink: a noisy score of each, given the others, must stand out of the noise. Of
    the given ones, as many count as the table has rows for.
    """
    rounds = min(most, len(search.candidates))
    chosen: list[str] = []
    for _ in range(rounds):
        left = search.left(chosen)
        if not left:
            break
        scores = [_given(search, name, chosen) for name in left]
        place = search.merged.select(scores, rho=search.rho * _GROWING / rounds)
        chosen.append(left[place])
    tests = [_given(search, name, [o for o in chosen if o != name]) for name in chosen]
    told = search.merged.scores(tests, rho=search.rho * (1 - _GROWING))
    kept = [n for n, v in zip(chosen, told.values, strict=True) if v > _TELLING * told.scale]
    return kept or chosen[:1]


def _given(search: FeatureSearch, name: str, others: Sequence[str]) -> CountTV:
    """How far a candidate is from independent of the target, given others, beyond chance."""
    given: Clique = ()
    for other in others:
        wider = (*given, other, name, search.target)
        rows_enough = search.merged.domain.size(wider) * _ROWS_PER_CELL <= search.columns.total
        if rows_enough and search.ledger.domain.size(wider) <= search.ledger.most_cells:
            given = (*given, other)
    # Counts scatter by their roots: half of that, added up over cells, is chance alone.
    roots = 1.0
    for column in (*given, name, search.target):
        roots *= float(np.sqrt(search.columns.merged_counts(column) / search.columns.total).sum())
    chance = sqrt(search.columns.total * 2 / pi) * roots / 2
    return CountTV((name,), (search.target,), given, offset=-chance)
