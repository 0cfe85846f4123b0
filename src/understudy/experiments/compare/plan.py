"""What is compared with what."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from understudy.curator.models import Learner, learner_named
from understudy.errors import BadInput, listed
from understudy.mechanisms.catalog import mechanism_named
from understudy.privacy.budget import Budget

REAL = "real rows"
"""In place of a method: what models reach that are trained on the rows themselves."""
MOST_SEEDS = 100


@dataclass(frozen=True)
class Cell:
    """One release, or the real rows of one split."""

    method: str
    epsilon: float | None
    seed: int

    @property
    def name(self) -> str:
        """For people, and for the cell's file."""
        at = "" if self.epsilon is None else f"-{self.epsilon:g}"
        return f"{self.method.replace(' ', '-')}{at}-{self.seed}"


@dataclass(frozen=True)
class Plan:
    """All cells of a comparison; each costs privacy, if it were published."""

    data: str
    data_hash: str
    target: str
    methods: tuple[str, ...]
    epsilons: tuple[float, ...]
    seeds: int
    delta: float
    learners: tuple[str, ...]
    schema: str | None
    """The schema as text."""
    text_encoding: str
    version: str

    def __post_init__(self) -> None:
        for name in self.methods:
            mechanism_named(name)
        for epsilon in self.epsilons:
            Budget(epsilon, self.delta)
        for name in self.learners:
            learner_named(name)
        for what, given in (
            ("method", self.methods),
            ("epsilon", self.epsilons),
            ("model", self.learners),
        ):
            twice = {str(one) for one in given if given.count(one) > 1}
            if not given or twice:
                msg = f"Name at least one {what}, and each once{_again(twice)}."
                raise BadInput(msg)
        if not 1 <= self.seeds <= MOST_SEEDS:
            msg = f"{self.seeds} repetitions; take between 1 and {MOST_SEEDS}."
            raise BadInput(msg)

    @property
    def cells(self) -> list[Cell]:
        """In the order in which they are run: every method early, so that pictures fill evenly."""
        return [
            cell
            for seed in range(self.seeds)
            for cell in (
                Cell(REAL, None, seed),
                *(Cell(m, e, seed) for e in self.epsilons for m in self.methods),
            )
        ]

    @property
    def models(self) -> tuple[Learner, ...]:
        """The models that are trained."""
        return tuple(learner_named(name) for name in self.learners)

    def to_json(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {**asdict(self), "format": "understudy comparison 1", "internal": True}


def _again(twice: Sequence[str] | set[str]) -> str:
    return f"; {listed(sorted(twice))} came twice" if twice else ""
