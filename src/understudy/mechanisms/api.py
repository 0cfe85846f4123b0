"""What a mechanism is: a value that asks a ledger, and makes a model of the answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.knowledge import Allowed, anything
from understudy.privacy.answers import Measurement
from understudy.privacy.ledger import Ledger
from understudy.separation import Separation


class Model(Protocol):
    """A fitted distribution of codes. It holds noisy numbers only, so drawing is free."""

    @property
    def kind(self) -> str:
        """Which model it is, for the file that it is saved in."""

    @property
    def domain(self) -> Domain:
        """The codes that it draws, by column."""

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """What it was fitted to."""

    @property
    def cliques(self) -> tuple[Clique, ...] | None:
        """The sets of columns that may depend on each other; together they hold every column.

        Each class states its own; None means unknown. A model whose cliques are unknown is not
        released under a conditional independence constraint.
        """

    @property
    def total(self) -> float:
        """How many rows the table has, about."""

    def visible(self, hidden: Mapping[str, int]) -> "Model":
        """The model given that no column has its hidden code, by column; never an error.

        Columns may not come to depend on each other by it: `understudy.model.visible`.
        """

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.unsignedinteger]]:
        """Codes of that many rows, by column."""

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""


@runtime_checkable
class Choosy(Protocol):
    """A mechanism that fits some tables only: asked before anything is spent."""

    def check(self, names: Sequence[str], target: str | None) -> None:
        """Refuse what the columns do not allow; decided by public facts."""


@runtime_checkable
class Constrained(Protocol):
    """A mechanism that needs independences, or may have been told what contradicts them."""

    def check_independences(
        self, allowed: Separation, names: Sequence[str], target: str | None
    ) -> None:
        """Refuse what does not go together; decided by public facts.

        Asked twice: without names before the table is opened, and with those of its columns.
        """


@runtime_checkable
class Remarking(Protocol):
    """A mechanism that has something to say about what it fitted, which costs nothing."""

    def remarks(self, model: Model, target: str | None) -> Sequence[str]:
        """What a person should know, in sentences made from noisy answers alone."""


@runtime_checkable
class Limited(Protocol):
    """A mechanism whose limits may leave something out, whatever the rows hold."""

    def left_out(self, model: Model, target: str | None) -> Sequence[str]:
        """What was not measured because of its size, in sentences."""


@runtime_checkable
class Advising(Protocol):
    """A mechanism that knows which of its parameters suit a budget, by a rule on public numbers."""

    def advice(self, rho: Fraction, rows: float) -> Sequence[str]:
        """What to set otherwise, in sentences; nothing where it is well as it is."""


@dataclass(frozen=True)
class Decision:
    """What a mechanism would do, by a rule on public numbers."""

    by: str
    """In a word."""
    why: str
    turns: int | None = None
    """The number of rows at which it would be another; None where rows do not matter."""
    otherwise: str = ""
    """What it would be on the other side of that."""


@runtime_checkable
class Deciding(Protocol):
    """A mechanism that goes one way or another by a rule on public numbers."""

    def decision(
        self,
        ledger: Ledger,
        known: Sequence[Measurement],
        allowed: Allowed,
        rows: float,
        kept: float = 1.0,
    ) -> Decision:
        """Which way it would go with so many rows; nothing is asked of the ledger.

        They count as `kept` of as many, where some of them count less.
        """


@runtime_checkable
class Revealing(Protocol):
    """A mechanism that may read rows as they are: then nothing is promised, nor found out."""

    @property
    def reveals(self) -> bool:
        """Whether it does."""

    @property
    def needs_facts(self) -> bool:
        """Whether what a schema leaves open has to be found out all the same."""


class Mechanism(Protocol):
    """A recipe: SELECT what to ask, MEASURE it through the ledger, FIT a model to the answers.

    A mechanism is a frozen dataclass; its fields are its public parameters, and go into the
    certificate. It never sees a row: whatever it learns comes from the ledger, which charges.
    """

    name: ClassVar[str]
    """What the command line calls it."""
    about: ClassVar[str]
    """What it does, in one line."""
    guarantee: ClassVar[str]
    """What it promises."""
    needs: ClassVar[str]
    """What it has to be told."""

    def fit(
        self, ledger: Ledger, known: Sequence[Measurement] = (), allowed: Allowed = anything
    ) -> Model:
        """A model of the ledger's table; `known` was measured before, and is free.

        Only marginals that are `allowed` together are measured. Weights are the ledger's: one
        made by `Ledger.weighted` counts rows by their weight.
        """
