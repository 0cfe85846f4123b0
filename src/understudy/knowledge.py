"""What a curator knows or demands beforehand: sentences about columns."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from understudy.domain import Clique, repeated
from understudy.errors import BadInput, listed

Allowed: TypeAlias = Callable[[Sequence[Clique]], bool]
"""Whether marginals may be measured together; decided by public facts."""

_SENTENCE = re.compile(
    r"^(?P<outcome>.+?)(?:_\|\|_|⟂|⊥)(?P<protected>[^|]+)(?:\|(?P<given>[^|]*))?$"
)


@dataclass(frozen=True)
class Independence:
    """The outcome tells nothing about the protected columns, once the given ones are known.

    >>> print(Independence("income", "sex", given=["job", "education"]))
    income ⟂ sex | job, education
    >>> Independence.parse("income _||_ sex | job, education").given
    ('job', 'education')
    """

    outcome: tuple[str, ...]
    protected: tuple[str, ...]
    given: tuple[str, ...] = ()

    def __init__(
        self,
        outcome: str | Iterable[str],
        protected: str | Iterable[str],
        given: str | Iterable[str] = (),
    ) -> None:
        for side, names in (("outcome", outcome), ("protected", protected), ("given", given)):
            named: object = (names,) if isinstance(names, str) else names
            if not isinstance(named, Iterable):
                msg = f"{side} is {names!r}; name columns, such as Independence('income', 'sex')."
                raise BadInput(msg)
            object.__setattr__(self, side, tuple(named))
            if not all(isinstance(name, str) for name in getattr(self, side)):
                msg = f"{side} is {getattr(self, side)!r}; columns are named by text."
                raise BadInput(msg)
        if not self.outcome or not self.protected:
            msg = f"An independence needs columns on both sides of ⟂; this one reads: {self}."
            raise BadInput(msg)
        twice = repeated(self.columns)
        if twice:
            msg = f"An independence names each column once; named twice: {listed(twice)}."
            raise BadInput(msg)

    @classmethod
    def parse(cls, sentence: str) -> "Independence":
        """The independence that a sentence like "income _||_ sex | job, education" states."""
        match = _SENTENCE.match(sentence)
        if match is None:
            msg = (
                f"{sentence!r} is no independence. Write the outcome, _||_, the protected column, "
                'and after a | what is given: "income _||_ sex | job, education".'
            )
            raise BadInput(msg)
        return cls(*(_names(match[side]) for side in ("outcome", "protected", "given")))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it names."""
        return (*self.outcome, *self.protected, *self.given)

    def __str__(self) -> str:
        sides = f"{', '.join(self.outcome)} ⟂ {', '.join(self.protected)}"
        return sides + (f" | {', '.join(self.given)}" if self.given else "")


def anything(cliques: Sequence[Clique]) -> bool:
    """No constraint: whatever is asked is allowed."""
    del cliques
    return True


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name for part in (text or "").split(",") if (name := part.strip()))
