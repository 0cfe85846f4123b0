"""A chain of conditional tables: each column given some that come before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import BadInput
from understudy.model.checks import checked_shares, checked_total
from understudy.model.cliques import with_single_columns
from understudy.model.counts import believable_total, combined, fitted
from understudy.model.estimate import estimate, needed_bytes
from understudy.model.factor import Factor
from understudy.model.graphical import GraphicalModel
from understudy.model.junction_tree import JunctionTree
from understudy.model.marginals import axes_of, summed_onto
from understudy.model.sample import Step, ancestral
from understudy.privacy.answers import Measurement, measurement_from_json, measurement_to_json

_MOST_CELLS = 2**22
"""Of the tree on which a model without hidden codes is exact."""


@dataclass(frozen=True)
class Family:
    """A column and the columns that it depends on."""

    child: str
    parents: Clique = ()

    @property
    def clique(self) -> Clique:
        """The columns of the family, parents first."""
        return (*self.parents, self.child)


@dataclass(frozen=True, eq=False)
class BayesNet:
    """Columns in an order in which each depends on earlier ones alone."""

    domain: Domain
    total: float
    steps: tuple[Step, ...]
    measurements: tuple[Measurement, ...] = ()
    """What it was fitted to."""
    rounded: bool = True
    """Whether draws are rounded within groups of equal rows, or scatter freely."""

    kind = "bayes net"

    @classmethod
    def of(
        cls, domain: Domain, families: Sequence[Family], measurements: Sequence[Measurement]
    ) -> "BayesNet":
        """The net whose tables are read off noisy marginals, each family off one that holds it.

        What is known of fewer columns of that marginal is trusted by its noise as well.
        """
        total = believable_total(measurements)
        tables: dict[Clique, NDArray[np.float64]] = {}
        steps = []
        for family in families:
            holding = [one for one in measurements if {*family.clique} <= {*one.clique}]
            nearest = min(holding, key=lambda one: domain.size(one.clique)).clique
            if nearest not in tables:
                tables[nearest] = _counts(domain, nearest, measurements, total)
            counts = tables[nearest]
            kept = [name for name in nearest if name in family.clique]
            joint = summed_onto(axes_of(family.clique, nearest), counts)
            joint = joint.transpose([kept.index(name) for name in family.clique])
            shares = _conditional(joint.reshape(-1, domain.sizes[family.child]))
            steps.append(Step(family.parents, (family.child,), shares))
        return cls(domain, total, tuple(steps), tuple(measurements))

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """Return one clique per family: a column and its parents."""
        families = ((*step.given, *step.new) for step in self.steps)
        return with_single_columns(self.domain, families)

    def visible(self, hidden: Mapping[str, int]) -> "BayesNet | GraphicalModel":
        """Return the model of rows without hidden codes.

        Exact where its tree is small. Else each column is drawn given that it has no hidden code
        and given its parents, whose own shares do not go by that.
        """
        seen = {n: np.arange(self.domain.sizes[n]) != code for n, code in hidden.items()}
        if not any(_has(step, hidden) for step in self.steps):
            return self  # no row has a hidden code
        if JunctionTree.of(self.domain, self.cliques).cells <= _MOST_CELLS:
            with np.errstate(divide="ignore"):
                factors = tuple(_factor(self.domain, step) for step in self.steps)
            exact = GraphicalModel(
                self.domain, self.total, factors, self.measurements, rounded=self.rounded
            )
            return exact.visible(hidden)
        steps = [replace(s, shares=_seen(s, seen.get(s.new[0]))) for s in self.steps]
        return replace(self, steps=tuple(steps))

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.unsignedinteger]]:
        """Codes of that many rows."""
        return ancestral(self.domain, self.steps, rows, rng, rounded=self.rounded)

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        return {
            "domain": [[name, size] for name, size in self.domain.sizes.items()],
            "total": self.total,
            "families": [
                {"child": step.new[0], "parents": list(step.given), "shares": step.shares.tolist()}
                for step in self.steps
            ],
            "rounded": self.rounded,
            "measurements": [measurement_to_json(one) for one in self.measurements],
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "BayesNet":
        """The model that `to_json` wrote."""
        domain = Domain.of({name: int(size) for name, size in content["domain"]})
        steps, placed = list[Step](), set[str]()
        for one in content["families"]:
            child, parents = one["child"], tuple(one["parents"])
            if child in placed or not placed.issuperset(parents):
                msg = f"Column {child!r} comes twice, or before a column that it depends on."
                raise BadInput(msg)
            placed.add(child)
            shape = (domain.size(parents), domain.sizes[child])
            steps.append(Step(parents, (child,), checked_shares(one["shares"], shape)))
        if placed != {*domain.names}:
            msg = "A model draws every column of its domain."
            raise BadInput(msg)
        measurements = tuple(measurement_from_json(one) for one in content["measurements"])
        total, rounded = checked_total(content["total"]), bool(content["rounded"])
        return cls(domain, total, tuple(steps), measurements, rounded=rounded)


def _factor(domain: Domain, step: Step) -> Factor:
    """A column's shares given its parents, as a factor."""
    clique = (*step.given, *step.new)
    shares = step.shares / step.shares.sum(axis=1, keepdims=True)
    return Factor(clique, np.log(shares).reshape(domain.shape(clique)))


def _has(step: Step, hidden: Mapping[str, int]) -> bool:
    """Whether a column may come out with its hidden code."""
    (name,) = step.new
    return name in hidden and bool(step.shares[:, hidden[name]].any())


def _seen(step: Step, seen: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    """A column's shares among codes that are not hidden; even ones where nothing is left."""
    if seen is None:
        return step.shares
    left = np.where(seen, step.shares, 0.0)
    left = np.where(left.sum(axis=1, keepdims=True) > 0, left, seen)
    return np.asarray(left / left.sum(axis=1, keepdims=True))


def _counts(
    domain: Domain, clique: Clique, measurements: Sequence[Measurement], total: float
) -> NDArray[np.float64]:
    """The marginal that fits best what was measured of its columns, or of some of them."""
    told = [one for one in measurements if one.clique and {*one.clique} <= {*clique}]
    if any(len(one.clique) < len(clique) for one in told):
        room = needed_bytes(domain, [clique, *(one.clique for one in told)])
        fit = estimate(domain.project(clique), told, total=total, most_bytes=room)
        return fit.model.marginal(clique)
    values, variance = combined(_ordered(one, clique) for one in told)
    return fitted(values.ravel(), variance.ravel(), total).reshape(values.shape)


def _ordered(one: Measurement, clique: Clique) -> Measurement:
    """The measurement with its axes in another order."""
    order = [one.clique.index(name) for name in clique]
    scale = np.broadcast_to(one.scale, one.values.shape).transpose(order)
    return Measurement(clique, one.values.transpose(order), scale)


def _conditional(joint: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares in each row; where noise left nothing of a row, those of all rows together."""
    empty = joint.sum(axis=1) <= 0
    filled = np.where(empty[:, None], joint.sum(axis=0), joint)
    return np.asarray(filled / filled.sum(axis=1, keepdims=True))
