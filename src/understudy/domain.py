"""Sizes of coded columns: what a marginal looks like before anyone counts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeAlias

from understudy.errors import BadInput, UnknownColumn, listed

Clique: TypeAlias = tuple[str, ...]
"""Names of the columns of one marginal, in the order of its axes; `()` is the total."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One coded column: its codes are 0 … size - 1."""

    name: str
    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            msg = (
                f"Column {self.name!r} has size {self.size}; a coded column has at least one cell."
            )
            raise BadInput(msg)


@dataclass(frozen=True)
class Domain:
    """The coded columns of a table, in order.

    >>> domain = Domain.of({"age": 10, "sex": 2, "income": 2})
    >>> domain.shape(("sex", "age")), domain.size(("sex", "age"))
    ((2, 10), 20)
    >>> domain.project(("income", "age"))
    Domain(age=10, income=2)
    """

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        twice = repeated(attribute.name for attribute in self.attributes)
        if twice:
            msg = f"A domain names each column once; repeated: {listed(twice)}."
            raise BadInput(msg)

    @classmethod
    def of(cls, sizes: Mapping[str, int]) -> "Domain":
        """The domain with these sizes, in the mapping's order."""
        return cls(tuple(Attribute(name, size) for name, size in sizes.items()))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Size by column name, in order."""
        return {attribute.name: attribute.size for attribute in self.attributes}

    def shape(self, clique: Clique) -> tuple[int, ...]:
        """The shape of the marginal's array, axes in the clique's order."""
        self.check(clique)
        return tuple(self.sizes[name] for name in clique)

    def size(self, clique: Clique) -> int:
        """How many cells the marginal has; an exact integer, however large."""
        return prod(self.shape(clique))

    def project(self, names: Iterable[str]) -> "Domain":
        """The domain of some columns, kept in this domain's order."""
        clique = tuple(names)
        self.check(clique)
        return Domain(tuple(a for a in self.attributes if a.name in clique))

    def canonical(self, clique: Clique) -> Clique:
        """The same columns in this domain's order, so that (b, a) and (a, b) share one count."""
        self.check(clique)
        return tuple(name for name in self.names if name in clique)

    def check(self, clique: Clique) -> None:
        """Refuse a clique with an unknown or repeated column."""
        for name in clique:
            if name not in self.sizes:
                raise UnknownColumn(name, self.names)
        twice = repeated(clique)
        if twice:
            msg = f"The marginal ({', '.join(clique)}) names {listed(twice)} twice; name each once."
            raise BadInput(msg)

    def __contains__(self, name: object) -> bool:
        return name in self.sizes

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __repr__(self) -> str:
        return f"Domain({', '.join(f'{a.name}={a.size}' for a in self.attributes)})"


def repeated(names: Iterable[str]) -> list[str]:
    """Names that occur more than once, each as often as it is repeated.

    >>> repeated("abcab")
    ['a', 'b']
    """
    seen: set[str] = set()
    twice = []
    for name in names:
        if name in seen:
            twice.append(name)
        seen.add(name)
    return twice
