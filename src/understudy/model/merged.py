"""A model of merged codes, and how merged ones come apart again."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import BadInput
from understudy.model.checks import checked_shares
from understudy.model.cliques import cliques_of
from understudy.model.graphical import GraphicalModel
from understudy.model.sample import Table, drawn
from understudy.privacy.answers import Measurement, measurement_from_json, measurement_to_json

_MOST_SHARES = 2**27
"""Groups times codes of a column: more would take a gigabyte."""


@dataclass(frozen=True, eq=False)
class MergedModel:
    """Rare codes are modelled together; drawn, each takes its share of the group.

    Which code of a group a row gets does not depend on its other columns.
    """

    coarse: GraphicalModel
    shares: Mapping[str, NDArray[np.float64]]
    """By merged column: a row for each group, a column for each code, the code's share of it."""
    measurements: tuple[Measurement, ...] = ()
    """What it was fitted to."""

    kind = "merged"

    @property
    def domain(self) -> Domain:
        """The codes of each column."""
        fine = {name: share.shape[1] for name, share in self.shares.items()}
        return Domain.of(self.coarse.domain.sizes | fine)

    @property
    def total(self) -> float:
        """How many rows the table has, about."""
        return self.coarse.total

    @property
    def cliques(self) -> tuple[Clique, ...] | None:
        """Return the cliques of the coarse model: each column is split on its own."""
        return cliques_of(self.coarse)

    def visible(self, hidden: Mapping[str, int]) -> "MergedModel":
        """Return the model of rows without hidden codes.

        A group with a hidden code counts by the share that its other codes have of it.
        """
        weights, shares = {}, dict(self.shares)
        for name, code in hidden.items():
            if name in shares:
                shares[name], weights[name] = _without(shares[name], code)
            else:
                weights[name] = (np.arange(self.coarse.domain.sizes[name]) != code).astype(float)
        return replace(self, coarse=self.coarse.weighted(weights), shares=shares)

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.unsignedinteger]]:
        """Codes of that many rows."""
        codes = self.coarse.sample(rows, rng)
        for name, share in self.shares.items():
            groups = codes[name].astype(np.intp)
            split = drawn(share, groups, rng, rounded=self.coarse.rounded)
            codes[name] = split.astype(np.min_scalar_type(share.shape[1] - 1))
        return codes

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        return {
            "coarse": self.coarse.to_json(),
            "shares": {name: _compact(share) for name, share in self.shares.items()},
            "measurements": [measurement_to_json(one) for one in self.measurements],
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "MergedModel":
        """The model that `to_json` wrote."""
        coarse = GraphicalModel.from_json(content["coarse"])
        groups = coarse.domain.sizes
        shares = {
            name: checked_shares(_table(share, groups[name]), (groups[name], _width(share)))
            for name, share in content["shares"].items()
        }
        measurements = tuple(measurement_from_json(one) for one in content["measurements"])
        return cls(coarse, shares, measurements)


def _compact(shares: Table) -> Any:  # noqa: ANN401 - plain data
    """Shares as plain data: for each code its group and its share of it, where it has one group."""
    if ((shares > 0).sum(axis=0) > 1).any():
        return shares.tolist()
    groups = shares.argmax(axis=0)
    return {"groups": groups.tolist(), "of": shares[groups, np.arange(shares.shape[1])].tolist()}


def _width(content: Any) -> int:  # noqa: ANN401 - plain data
    return len(content["groups"]) if isinstance(content, Mapping) else len(content[0])


def _table(content: Any, size: int) -> object:  # noqa: ANN401 - plain data
    """The shares that `_compact` wrote; in files of format 1 they are a table already."""
    if not isinstance(content, Mapping):
        return content
    groups, of = np.array(content["groups"], np.int64), np.array(content["of"], np.float64)
    if groups.shape != of.shape or groups.ndim != 1 or ((groups < 0) | (groups >= size)).any():
        msg = "Merged codes need a group each, and a share of it."
        raise BadInput(msg)
    if size * len(groups) > _MOST_SHARES:
        msg = f"A model in a file has up to {_MOST_SHARES:,} shares of merged codes in a column."
        raise BadInput(msg)
    shares = np.zeros((size, len(groups)))
    shares[groups, np.arange(len(groups))] = of
    return shares


def _without(shares: Table, code: int) -> tuple[Table, Table]:
    """Shares of groups without a code, and which part of each group they are."""
    left = shares.copy()
    left[:, code] = 0.0
    seen = left.sum(axis=1)
    if not seen.any():  # noise left nothing else: then all other codes are alike
        left[:] = 1.0
        left[:, code] = 0.0
        return left / left.sum(axis=1, keepdims=True), np.ones(len(left))
    # A group without another code is never drawn.
    whole = np.where(seen > 0, seen, 1.0)[:, None]
    return np.where(seen[:, None] > 0, left / whole, shares), seen / shares.sum(axis=1)
