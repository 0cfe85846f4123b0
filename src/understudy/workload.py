"""How much columns matter: public weights, by name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from understudy.errors import BadInput, UnknownColumn

_LEAST, _MOST = 1e-6, 1e6


@dataclass(frozen=True)
class Weights:
    """Columns with how much each matters, in comparison with 1.

    >>> Weights.parse("income:1, health:0.5")["health"]
    0.5
    """

    entries: tuple[tuple[str, float], ...] = ()

    def __init__(self, weights: "Mapping[str, float] | Weights" = ()) -> None:  # type: ignore[assignment]
        entries = weights.entries if isinstance(weights, Weights) else tuple(dict(weights).items())
        for name, weight in entries:
            real = isinstance(weight, int | float) and not isinstance(weight, bool)
            if not (real and _LEAST <= weight <= _MOST):
                msg = f"The weight of {name!r} is {weight}; give one from {_LEAST:g} to {_MOST:g}."
                raise BadInput(msg)
        object.__setattr__(self, "entries", tuple((name, float(w)) for name, w in entries))

    @classmethod
    def parse(cls, text: str) -> "Weights":
        """The weights that a text like "income:1, health:0.5" states; 1 where none is stated."""
        found = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, mark, weight = part.rpartition(":")
            try:
                found[name if mark else part] = float(weight) if mark else 1.0
            except ValueError:
                msg = f"{part!r}: write a column and its weight, such as income:0.5."
                raise BadInput(msg) from None
        return cls(found)

    def check(self, names: tuple[str, ...]) -> None:
        """Refuse weights of columns that are not there."""
        for name, _ in self.entries:
            if name not in names:
                raise UnknownColumn(name, names)

    def __getitem__(self, name: str) -> float:
        return dict(self.entries).get(name, 1.0)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.entries)

    def __str__(self) -> str:
        return ",".join(f"{name}:{weight:g}" for name, weight in self.entries)
