"""A table over some columns, in logarithms: what graphical models are multiplied together from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import BadInput

Table = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Factor:
    """One number for each combination of codes, its axes in the clique's order.

    Numbers are logarithms, so that products are sums and nothing underflows; -inf makes a
    combination impossible.
    """

    clique: Clique
    log: Table

    @classmethod
    def impossible(cls, clique: Clique, cells: NDArray[np.bool_]) -> "Factor":
        """A structural zero: combinations that no row may have."""
        return cls(clique, np.where(np.asarray(cells, np.bool_), -np.inf, 0.0))

    @classmethod
    def evidence(cls, domain: Domain, name: str, code: int) -> "Factor":
        """A column that is known to hold one code."""
        (size,) = domain.shape((name,))
        if not 0 <= code < size:
            msg = f"Column {name!r} has the codes 0 … {size - 1}; {code} is none of them."
            raise BadInput(msg)
        return cls.impossible((name,), np.arange(size) != code)

    def check(self, domain: Domain) -> None:
        """Refuse a table of another shape, and numbers that are no logarithms."""
        shape = domain.shape(self.clique)
        if self.log.shape != shape:
            msg = (
                f"The factor of ({', '.join(self.clique)}) has the shape {self.log.shape}; its "
                f"columns have {shape}."
            )
            raise BadInput(msg)
        if not np.all(self.log < np.inf):  # written so that NaN is refused as well
            msg = f"The factor of ({', '.join(self.clique)}) must hold finite numbers or -inf."
            raise BadInput(msg)

    def over(self, domain: Domain, clique: Clique) -> Table:
        """The table in a shape that adds to one over more columns, in the domain's order."""
        ordered = [name for name in domain.names if name in self.clique]
        table = self.log.transpose([self.clique.index(name) for name in ordered])
        return table.reshape([domain.sizes[n] if n in self.clique else 1 for n in clique])

    def to_json(self) -> dict[str, Any]:
        """The factor as plain data; what is impossible reads null."""
        flat = [None if number == -np.inf else number for number in self.log.ravel().tolist()]
        return {"clique": list(self.clique), "log": flat}

    @classmethod
    def from_json(cls, content: Mapping[str, Any], domain: Domain) -> "Factor":
        """The factor that `to_json` wrote."""
        clique = tuple(content["clique"])
        flat = [-np.inf if number is None else float(number) for number in content["log"]]
        factor = cls(clique, np.array(flat, np.float64).reshape(domain.shape(clique)))
        factor.check(domain)
        return factor


def product(domain: Domain, clique: Clique, factors: Iterable[Factor]) -> Table:
    """The sum of logarithms over a clique that holds all the factors' columns."""
    table = np.zeros(domain.shape(clique))
    for factor in factors:
        table += factor.over(domain, clique)
    return table


def joint(domain: Domain, factors: Sequence[Factor]) -> Table:
    """Every cell of the whole domain, as shares of 1: what faster ways are compared with."""
    log = product(domain, domain.names, factors)
    weights = np.exp(log - log.max())
    return np.asarray(weights / weights.sum())
