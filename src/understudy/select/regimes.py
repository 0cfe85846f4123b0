"""What is known about a target's causes, and so which columns matter for predicting it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from understudy.allocate import Allocation, selection_cost
from understudy.dag import Dag, Edge
from understudy.errors import BadInput, UnknownColumn, listed
from understudy.select.blanket import learned_blanket
from understudy.select.features import (
    FeatureSearch,
    by_association,
    by_coefficients,
)

_USUAL = 8
"""Features, where nobody says how many."""
_MOST_SHARE = 0.5


class Regime(Protocol):
    """How the features of a target are found."""

    @property
    def share(self) -> float:
        """Of the budget, for finding them."""

    @property
    def bounded(self) -> bool:
        """Whether it says that the target depends on nothing but its features."""

    def check(self, names: Sequence[str], target: str) -> None:
        """Refuse what the columns do not allow; decided by public facts."""

    def known_features(self, target: str) -> Sequence[str] | None:
        """The features, where nothing has to be asked for them."""

    def features(self, search: FeatureSearch, allocation: Allocation) -> Sequence[str]:
        """The features of the target."""

    def stated(self, target: str) -> tuple[Edge, ...]:
        """Edges that a person has stated, and that measurements may contradict."""

    def apart(self, one: str, other: str) -> bool:
        """Whether a person has stated that two columns are independent."""


@dataclass(frozen=True)
class Causal:
    """The direct causes of the target are known: what they do stays true when other things change.

    >>> print(Causal(["age", "bmi"]))
    causal: age, bmi
    """

    parents: tuple[str, ...]

    share = 0.0
    bounded = True

    def __init__(self, parents: str | Iterable[str]) -> None:
        names = (parents,) if isinstance(parents, str) else tuple(parents)
        object.__setattr__(self, "parents", tuple(dict.fromkeys(names)))
        if not self.parents:
            msg = "Name at least one cause of the target, such as --parents age,bmi."
            raise BadInput(msg)

    def check(self, names: Sequence[str], target: str) -> None:
        """Refuse unknown columns, and the target as its own cause."""
        for name in self.parents:
            if name not in names:
                raise UnknownColumn(name, names)
        if target in self.parents:
            msg = f"{target!r} is the target; it cannot be among its own causes. Leave it out."
            raise BadInput(msg)

    def known_features(self, target: str) -> Sequence[str] | None:
        """The causes."""
        del target
        return self.parents

    def features(self, search: FeatureSearch, allocation: Allocation) -> Sequence[str]:
        """The causes."""
        del search, allocation
        return self.parents

    def stated(self, target: str) -> tuple[Edge, ...]:
        """From each cause to the target."""
        return tuple((name, target) for name in self.parents)

    def apart(self, one: str, other: str) -> bool:
        """Nothing is said of others."""
        del one, other
        return False

    def __str__(self) -> str:
        return f"causal: {', '.join(self.parents)}"


@dataclass(frozen=True)
class Graphical:
    """It is known what depends directly on what: the target's Markov blanket says all about it.

    >>> print(Graphical([("age", "sick"), ("sick", "tired")]))
    graphical: age → sick, sick → tired
    """

    graph: Dag

    share = 0.0
    bounded = True

    def __init__(self, graph: Any) -> None:  # noqa: ANN401 - whatever Dag.of reads
        object.__setattr__(self, "graph", Dag.of(graph))

    @staticmethod
    def learn(share: float = 0.2, most: int = _USUAL) -> "LearnedBlanket":
        """The blanket is not known, and learned with noise for a share of the budget."""
        return LearnedBlanket(share, most)

    def check(self, names: Sequence[str], target: str) -> None:
        """Refuse unknown columns, and a graph that does not name the target."""
        self.graph.check_names(names)
        self.graph.check_knows(target)

    def known_features(self, target: str) -> Sequence[str] | None:
        """The Markov blanket."""
        return self.graph.blanket(target)

    def features(self, search: FeatureSearch, allocation: Allocation) -> Sequence[str]:
        """The Markov blanket."""
        del allocation
        return self.graph.blanket(search.target)

    def stated(self, target: str) -> tuple[Edge, ...]:
        """All edges."""
        del target
        return self.graph.edges

    def apart(self, one: str, other: str) -> bool:
        """What the graph separates."""
        known = self.graph.names
        return one in known and other in known and self.graph.separated(one, other)

    def __str__(self) -> str:
        return f"graphical: {self.graph}"


class _Unstated:
    """Nobody has said what depends on what."""

    bounded = False

    def known_features(self, target: str) -> Sequence[str] | None:
        """They have to be found."""
        del target
        return None

    def stated(self, target: str) -> tuple[Edge, ...]:
        """Nothing."""
        del target
        return ()

    def apart(self, one: str, other: str) -> bool:
        """Nothing."""
        del one, other
        return False


@dataclass(frozen=True)
class LearnedBlanket(_Unstated):
    """The blanket is learned with noise: `Graphical.learn` makes one."""

    share: float = 0.2
    most: int = _USUAL
    """So many columns grow in; those that others explain drop out."""

    def __post_init__(self) -> None:
        if not (isinstance(self.share, int | float) and 0 < self.share <= _MOST_SHARE):
            msg = f"A share of {self.share} for learning; give one above 0, at most {_MOST_SHARE}."
            raise BadInput(msg)
        _check_number(self.most, 1)

    def check(self, names: Sequence[str], target: str) -> None:
        """There is nothing to refuse."""

    def features(self, search: FeatureSearch, allocation: Allocation) -> Sequence[str]:
        """What stands out."""
        del allocation
        return learned_blanket(search, self.most) if search.candidates else []

    def __str__(self) -> str:
        return f"graphical, learned: share {self.share:g}, at most {self.most} columns"


class By(StrEnum):
    """What makes a column a good feature."""

    ASSOCIATION = "association"
    """It is far from independent of the target."""
    COEFFICIENTS = "coefficients"
    """A noisy linear fit uses it."""


@dataclass(frozen=True)
class Predictive(_Unstated):
    """Nothing is known: as many features as are wanted are chosen with noise."""

    k: int = 0
    """How many; 0 means up to 8."""
    by: By = By.ASSOCIATION

    share = 0.1

    def __post_init__(self) -> None:
        _check_number(self.k, 0)
        try:
            object.__setattr__(self, "by", By(self.by))
        except ValueError:
            msg = f"Features are chosen by {listed(By)}; not by {self.by!r}."
            raise BadInput(msg) from None

    def check(self, names: Sequence[str], target: str) -> None:
        """Refuse more features than there are columns."""
        others = [name for name in names if name != target]
        if self.k > len(others):
            msg = f"k is {self.k}, and there are {len(others)} columns besides the target."
            raise BadInput(msg)

    def features(self, search: FeatureSearch, allocation: Allocation) -> Sequence[str]:
        """Those that tell most."""
        count = min(self.k or _USUAL, len(search.candidates))
        if count == len(search.candidates):
            return search.candidates
        if self.by is By.COEFFICIENTS:
            return by_coefficients(search, count)
        each = selection_cost(search.ledger.budget, search.rho, count, allocation)
        return by_association(search, count, each=each)

    def __str__(self) -> str:
        return f"predictive: {self.k or f'up to {_USUAL}'} features by {self.by}"


REGIMES = (Causal, Graphical, LearnedBlanket, Predictive)


def _check_number(value: object, least: int) -> None:
    if type(value) is not int or value < least:
        msg = f"The number of features is {value}; give a whole number, at least {least}."
        raise BadInput(msg)
