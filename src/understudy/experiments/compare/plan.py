"""What is compared with what."""

from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from secrets import token_hex
from typing import Any

from understudy.column import Role
from understudy.curator.models import Learner, learner_named
from understudy.errors import BadInput, listed
from understudy.mechanisms.catalog import mechanism_named
from understudy.privacy.budget import Budget
from understudy.privacy.promise import check_strength, weak_line, weaknesses
from understudy.privacy.spelling import digest, spelled
from understudy.schema import Schema
from understudy.schema_files import schema_from_toml

REAL = "real rows"
"""In place of a method: what models reach that are trained on the rows themselves."""
MOST_SEEDS = 100
FORMAT = "understudy comparison plan 1"
_ASIDE = ("data", "version", "salt")
"""What may differ between two plans for the same: hashes tell tables apart, whatever their names;
versions have words of their own; and the salt is drawn once for a folder."""


@dataclass(frozen=True)
class Cell:
    """One release, or the real rows of one split."""

    method: str
    epsilon: float | None
    seed: int

    @property
    def name(self) -> str:
        """For people, and for the cell's file: other cells have other names."""
        at = "" if self.epsilon is None else f"-{self.epsilon!r}".removesuffix(".0")
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
    person: str | None = None
    """The column that tells persons apart, where it was named."""
    multiline: bool = False
    """Whether quoted cells of a CSV file hold line breaks."""
    salt: str = field(default_factory=lambda: token_hex(32), repr=False)
    """Secret: with it, who knows a row knows whether releases were made from it."""

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
        if self.person == self.target:
            msg = f"Column {self.target!r} cannot be the target and tell persons apart."
            raise BadInput(msg)

    def check_strength(self, *, accepted: bool) -> None:
        """Refuse releases with a weak guarantee, unless somebody accepts them.

        Raises:
            PrivacyRefused: One of the epsilons, or delta, makes a weak guarantee.
        """
        check_strength(max(self.epsilons), self.delta, self._rows_bound, accepted=accepted)

    @property
    def warning(self) -> str:
        """Return the first line about releases with a weak guarantee; empty without any."""
        weak = weaknesses(max(self.epsilons), self.delta, self._rows_bound)
        return weak_line(weak) if weak else ""

    @property
    def _rows_bound(self) -> int | None:
        return None if self.stated is None else self.stated.rows_bound

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

    @property
    def stated(self) -> Schema | None:
        """The schema, where there is one."""
        return None if self.schema is None else schema_from_toml(self.schema, folder=None)

    @property
    def owner(self) -> str | None:
        """The column that tells persons apart: as named, or as the schema says."""
        if self.person is not None or self.schema is None:
            return self.person
        ids = (c.name for c in self.stated or () if c.role is Role.ID)
        return next(ids, None)

    @property
    def digest(self) -> str:
        """Tells cells of this plan from those of others."""
        return digest(spelled(self.facts() | {"salt": self.salt, "version": self.version}))

    def facts(self) -> dict[str, Any]:
        """What must be the same, for a comparison to go on."""
        return {key: value for key, value in asdict(self).items() if key not in _ASIDE}

    def to_json(self) -> dict[str, Any]:
        """The plan as plain data, but for its secret."""
        told = {key: value for key, value in asdict(self).items() if key != "salt"}
        return {**told, "format": FORMAT, "internal": True}


def _again(twice: Collection[str]) -> str:
    return f"; {listed(sorted(twice))} came twice" if twice else ""
