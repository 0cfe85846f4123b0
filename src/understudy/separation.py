"""Stated independences, kept by what is measured: no path around the given columns.

A model that multiplies together from tables over measured columns keeps an independence if every
path from one side to the other, along columns that were measured together, meets a given column:
docs/proofs/privci.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from understudy.domain import Clique
from understudy.errors import BadInput, UnknownColumn
from understudy.knowledge import Independence


@dataclass(frozen=True)
class Separation:
    """Marginals may be measured together as long as all independences hold in their model.

    >>> kept = Separation(["income _||_ sex | job"])
    >>> kept([("sex", "job"), ("job", "income")]), kept([("sex", "town"), ("town", "income")])
    (True, False)
    """

    independences: tuple[Independence, ...] = ()

    def __init__(self, independences: Iterable[Independence | str] = ()) -> None:
        stated = [independences] if isinstance(independences, str) else independences
        if isinstance(stated, Independence):
            stated = [stated]
        found = (
            [Independence.parse(one) if isinstance(one, str) else one for one in stated]
            if isinstance(stated, Iterable)
            else [stated]
        )
        if not all(isinstance(one, Independence) for one in found):
            msg = 'State independences as Independence(…) or as "income _||_ sex | job".'
            raise BadInput(msg)
        object.__setattr__(self, "independences", tuple(dict.fromkeys(found)))

    def __call__(self, cliques: Sequence[Clique]) -> bool:
        """Whether marginals over these columns may be measured together."""
        if not cliques:
            return True
        # Most often one marginal after the other is tried besides the same ones.
        *others, last = cliques
        return not any(
            parts is None or parts.joined_by(last)
            for parts in _all_parts(self.independences, tuple(others))
        )

    def __bool__(self) -> bool:
        return bool(self.independences)

    def check(self, names: Sequence[str]) -> None:
        """Refuse independences of columns that are not there."""
        for one in self.independences:
            for name in one.columns:
                if name not in names:
                    raise UnknownColumn(name, names)

    def apart(self, one: str, other: str) -> bool:
        """Whether two columns may never be measured together, whatever else is."""
        return not self([(one, other)])


def tied(columns: Iterable[str], cliques: Iterable[Clique]) -> dict[str, int]:
    """By column, the number of the part of the table that marginals tie it to.

    >>> tied("abcd", [("a", "c"), ("c", "x"), ("x", "d")])
    {'a': 0, 'b': 1, 'c': 0, 'd': 0}
    """
    asked, cliques = [*columns], [*cliques]
    every = dict.fromkeys([*asked, *(name for clique in cliques for name in clique)])
    part = {name: place for place, name in enumerate(every)}
    for clique in cliques:
        joined = {part[name] for name in clique}
        if len(joined) > 1:
            part = {name: min(joined) if p in joined else p for name, p in part.items()}
    return {name: part[name] for name in asked}


@dataclass(frozen=True)
class _Parts:
    """Into which parts the columns fall without the given ones, and whose side a part is on."""

    part: dict[str, int]
    """Of columns on a side, or measured and not given; any other is a part by itself."""
    outcome: frozenset[int]
    protected: frozenset[int]

    def joined_by(self, clique: Clique) -> bool:
        """Whether one more marginal makes a path from one side to the other."""
        met = {self.part[n] for n in clique if n in self.part}
        return bool(met & self.outcome) and bool(met & self.protected)


@lru_cache(maxsize=8)
def _all_parts(
    independences: tuple[Independence, ...], cliques: tuple[Clique, ...]
) -> tuple[_Parts | None, ...]:
    return tuple(_parts(one, cliques) for one in independences)


def _parts(independence: Independence, cliques: Iterable[Clique]) -> _Parts | None:
    """None where the marginals join the two sides already."""
    given = frozenset(independence.given)
    open_ = [tuple(name for name in clique if name not in given) for clique in cliques]
    sides = (*independence.outcome, *independence.protected)
    part = tied(dict.fromkeys([*sides, *(name for clique in open_ for name in clique)]), open_)
    outcome, protected = (
        frozenset(part[name] for name in side)
        for side in (independence.outcome, independence.protected)
    )
    return None if outcome & protected else _Parts(part, outcome, protected)
