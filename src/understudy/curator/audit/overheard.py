"""A ledger whose answers are overheard: what an attacker would know who saw all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy.curator.audit.pair import Groups
from understudy.privacy.account import Entry
from understudy.privacy.answers import CommonValues, Measurement, NoisyScores, NoisySum
from understudy.privacy.best_of import BestTrained
from understudy.privacy.ledger import Ledger
from understudy.privacy.row_maps import RowMap
from understudy.privacy.scores import Score
from understudy.privacy.train import TrainedModel, Training
from understudy.privacy.weights import RowWeights

_PUBLIC = frozenset(
    {
        *("budget", "declare", "domain", "encoding", "measure_event", "most_cells", "rest"),
        *("counts_malformed", "reading", "schema", "storage", "unit", "weigh"),
    }
)
"""What a ledger tells about itself, or is told, and not about rows."""


@dataclass(frozen=True)
class Choice:
    """One selection: what there was to choose from, and what was chosen."""

    candidates: tuple[Score, ...]
    place: int
    groups: Groups
    weights: RowWeights | None


@dataclass
class Run:
    """What one run of a mechanism answered."""

    measurements: list[tuple[Measurement, Groups, RowWeights | None]] = field(default_factory=list)
    sums: list[NoisySum] = field(default_factory=list)
    trained: list[tuple[Training, TrainedModel]] = field(default_factory=list)
    best: list[tuple[Training, BestTrained]] = field(default_factory=list)
    """Of several runs the one that was told, and its task."""
    values: list[CommonValues] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    scores: list[tuple[tuple[Score, ...], NoisyScores, Groups, RowWeights | None]] = field(
        default_factory=list
    )
    events: tuple[Entry, ...] = ()
    """What the ledger wrote down for it."""


class Overheard:
    """Stands in for a ledger, passes every request on, and keeps the answers."""

    def __init__(
        self,
        ledger: Ledger,
        run: Run,
        groups: Groups | None = None,
        weights: RowWeights | None = None,
    ) -> None:
        self._ledger, self._run = ledger, run
        self._groups, self._weights = groups or {}, weights

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of several types
        # Nothing else may pass: what is not overheard would not be audited.
        if name not in _PUBLIC:
            raise AttributeError(name)
        return getattr(self._ledger, name)

    def measure(self, cliques: Sequence[Any], **asked: Any) -> tuple[Measurement, ...]:  # noqa: ANN401
        """Marginals."""
        answers = self._ledger.measure(cliques, **asked)
        weights = asked.get("weights") or self._weights
        self._run.measurements += [(answer, self._groups, weights) for answer in answers]
        return answers

    def select(self, candidates: Sequence[Score], **asked: Any) -> int:  # noqa: ANN401
        """A candidate."""
        place = self._ledger.select(candidates, **asked)
        weights = asked.get("weights") or self._weights
        self._run.choices.append(Choice(tuple(candidates), place, self._groups, weights))
        return place

    def scores(self, candidates: Sequence[Score], **asked: Any) -> NoisyScores:  # noqa: ANN401
        """Noisy scores."""
        answer = self._ledger.scores(candidates, **asked)
        weights = asked.get("weights") or self._weights
        self._run.scores.append((tuple(candidates), answer, self._groups, weights))
        return answer

    def sum(self, row_map: RowMap, **asked: Any) -> NoisySum:  # noqa: ANN401
        """A sum."""
        answer = self._ledger.sum(row_map, **asked)
        self._run.sums.append(answer)
        return answer

    def train(self, task: Training, **asked: Any) -> TrainedModel:  # noqa: ANN401
        """A trained model."""
        answer = self._ledger.train(task, **asked)
        self._run.trained.append((task, answer))
        return answer

    def select_best(self, tasks: Sequence[Training], **asked: Any) -> BestTrained:  # noqa: ANN401
        """The best of several runs."""
        answer = self._ledger.select_best(tasks, **asked)
        self._run.best.append((tasks[answer.place], answer))
        return answer

    def values(self, columns: Mapping[str, Any], **asked: Any) -> tuple[CommonValues, ...]:  # noqa: ANN401
        """Common values."""
        answers = self._ledger.values(columns, **asked)
        self._run.values += answers
        return answers

    def merged(self, groups: Groups) -> "Overheard":
        """The ledger that counts some codes together."""
        return Overheard(self._ledger.merged(groups), self._run, groups, self._weights)

    def without(self, *columns: str) -> "Overheard":
        """The ledger for whom some columns are not there."""
        return Overheard(self._ledger.without(*columns), self._run, self._groups, self._weights)

    def weighted(self, weights: RowWeights) -> "Overheard":
        """The ledger that weighs rows."""
        return Overheard(self._ledger.weighted(weights), self._run, self._groups, weights)

    def split(self, *shares: float) -> tuple["Overheard", ...]:
        """Ledgers that may each spend a share."""
        parts = self._ledger.split(*shares)
        return tuple(Overheard(part, self._run, self._groups, self._weights) for part in parts)
