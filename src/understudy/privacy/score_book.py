"""Exact scores of candidates that may be asked again: as private as the rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from weakref import WeakKeyDictionary

from understudy.domain import Domain
from understudy.privacy.looks import Counter, Look
from understudy.privacy.scores import Score, scores_of
from understudy.privacy.unit import Unit


@dataclass(frozen=True)
class _Scored:
    """A candidate's exact score, and how much that differs at most between neighbours."""

    look: Look
    sensitivity: Fraction
    score: Fraction


class ScoreBook:
    """What the candidates that are still around scored, and how the rows were looked at then."""

    def __init__(self) -> None:
        self._scored: WeakKeyDictionary[Score, _Scored] = WeakKeyDictionary()

    def asked(self, candidates: Sequence[Score], look: Look) -> "AskedScores":
        """These candidates, some of them perhaps scored before."""
        past = [self._scored.get(candidate) for candidate in candidates]
        return AskedScores(
            self, candidates, look, [one if one and one.look == look else None for one in past]
        )

    def keep(self, candidate: Score, scored: _Scored) -> None:
        """Write down a score, for as long as the candidate is around."""
        self._scored[candidate] = scored

    def __len__(self) -> int:
        return len(self._scored)

    def clear(self) -> None:
        """Forget all of them: the codes have changed, or the rows are sealed."""
        self._scored.clear()


class AskedScores:
    """Candidates of one selection."""

    def __init__(
        self,
        book: ScoreBook,
        candidates: Sequence[Score],
        look: Look,
        past: Sequence[_Scored | None],
    ) -> None:
        self._book, self._candidates, self._look, self._past = book, candidates, look, past
        self._bounds: list[Fraction] | None = None

    def __len__(self) -> int:
        return len(self._candidates)

    @property
    def new(self) -> list[Score]:
        """Those that no score is known of."""
        return [c for c, past in zip(self._candidates, self._past, strict=True) if past is None]

    @property
    def candidates(self) -> Sequence[Score]:
        """The candidates, in order."""
        return self._candidates

    def sensitivity(self, unit: Unit) -> Fraction:
        """How much any of the scores differs at most between neighbours."""
        return max(self._sensitivities(unit))

    def _sensitivities(self, unit: Unit) -> list[Fraction]:
        """The same for each; those of scores that are known were kept with them."""
        if self._bounds is None:
            self._bounds = [
                c.sensitivity(unit, self._look.weights) if past is None else past.sensitivity
                for c, past in zip(self._candidates, self._past, strict=True)
            ]
        return self._bounds

    def scores(self, unit: Unit, fine: Domain, count: Counter) -> list[Fraction]:
        """The exact scores; new ones are counted."""
        look, bounds = self._look, self._sensitivities(unit)
        counted = scores_of(self.new, look.weights, fine, partial(look.counts, count=count))
        scores = []
        for c, past, bound in zip(self._candidates, self._past, bounds, strict=True):
            scored = _Scored(look, bound, next(counted)) if past is None else past
            self._book.keep(c, scored)
            scores.append(scored.score)
        return scores
