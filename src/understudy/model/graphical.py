"""A distribution that multiplies together from tables over few columns each."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import BadInput, ModelTooLarge
from understudy.model.checks import checked_total
from understudy.model.cliques import with_single_columns
from understudy.model.factor import Factor, Table, product
from understudy.model.junction_tree import JunctionTree, joined_cliques
from understudy.model.marginals import Beliefs, Inference
from understudy.model.sample import Step, ancestral
from understudy.model.visible import visible_shares
from understudy.privacy.answers import Measurement, measurement_from_json, measurement_to_json

_MOST_CELLS = 2**27
"""A file that asks for more than a gigabyte is not read."""
_MOST_COLUMNS, _MOST_WORK = 2**11, 2**23
"""Columns of a model in a file, and steps to find its tree: with more, that takes too long."""
_MOST_PAIRS, _MOST_SUMS = 2**24, 2**32
"""Factors times cliques of a model in a file, and cells that its factors are added to."""


@dataclass(frozen=True, eq=False)
class GraphicalModel:
    """Factors over cliques, and how many rows there are, about.

    Columns that the factors do not tie are independent: in the whole, or given the columns that
    separate them.
    """

    domain: Domain
    total: float
    factors: tuple[Factor, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    """What it was fitted to."""
    rounded: bool = True
    """Whether draws are rounded within groups of equal rows, or scatter freely."""

    kind = "graphical"

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """Return the cliques of the factors, and one for each column without a factor."""
        return with_single_columns(self.domain, (factor.clique for factor in self.factors))

    @cached_property
    def tree(self) -> JunctionTree:
        """The tree that its marginals are computed on."""
        return JunctionTree.of(self.domain, [factor.clique for factor in self.factors])

    @cached_property
    def beliefs(self) -> Beliefs:
        """The marginals of the tree's cliques."""
        return Inference(self.tree).beliefs(gathered(self.tree, self.factors))

    def marginal(self, clique: Clique) -> Table:
        """Expected counts, the axes in the clique's order."""
        return self.total * self.beliefs.marginal(clique)

    def given(self, codes: Mapping[str, int]) -> "GraphicalModel":
        """The model of rows that hold these codes; refused if it has none."""
        evidence = [Factor.evidence(self.domain, name, code) for name, code in codes.items()]
        narrowed = replace(self, factors=(*self.factors, *evidence))
        try:
            share = np.exp(narrowed.beliefs.log_total - self.beliefs.log_total)
        except BadInput:
            msg = f"No row of the model has {', '.join(f'{n} = {c}' for n, c in codes.items())}."
            raise BadInput(msg) from None
        return replace(narrowed, total=self.total * float(share))

    def visible(self, hidden: Mapping[str, int]) -> "GraphicalModel":
        """Return the model of rows without hidden codes."""
        seen = {
            name: (np.arange(self.domain.sizes[name]) != code).astype(np.float64)
            for name, code in hidden.items()
        }
        return self.weighted(seen)

    def weighted(self, weights: Mapping[str, Table]) -> "GraphicalModel":
        """Return the model in which each code counts by a weight, which 0 makes impossible.

        Each weight is about one column, so that columns depend on each other as before. Where
        noise left no possible row, columns are independent.
        """
        with np.errstate(divide="ignore"):
            factors = tuple(Factor((name,), np.log(weight)) for name, weight in weights.items())
        found = replace(self, factors=(*self.factors, *factors))
        vars(found)["tree"] = self.tree  # a factor of one column ties nothing
        try:
            _ = found.beliefs
        except BadInput:
            return self._apart(weights)
        return found

    def _apart(self, weights: Mapping[str, Table]) -> "GraphicalModel":
        """The columns by themselves, with weights of their codes."""
        factors = []
        for name in self.domain.names:
            shares = self.beliefs.marginal((name,))
            if name in weights:
                shares = shares * weights[name]
                shares = shares if shares.sum() > 0 else weights[name]
            with np.errstate(divide="ignore"):
                factors.append(Factor((name,), np.log(visible_shares(shares, None))))
        return replace(self, factors=tuple(factors))

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.unsignedinteger]]:
        """Codes of that many rows."""
        return ancestral(self.domain, self._steps(), rows, rng, rounded=self.rounded)

    def _steps(self) -> Iterator[Step]:
        tree = self.tree
        for held, given, table in zip(
            tree.cliques, tree.separators, self.beliefs.tables, strict=True
        ):
            new = tuple(name for name in held if name not in given)
            order = [held.index(name) for name in (*given, *new)]
            shares = table.transpose(order).reshape(self.domain.size(given), self.domain.size(new))
            yield Step(given, new, shares)

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        return {
            "domain": [[name, size] for name, size in self.domain.sizes.items()],
            "total": self.total,
            "factors": [factor.to_json() for factor in self.factors],
            "rounded": self.rounded,
            "measurements": [measurement_to_json(one) for one in self.measurements],
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "GraphicalModel":
        """The model that `to_json` wrote."""
        domain = Domain.of({name: int(size) for name, size in content["domain"]})
        model = cls(
            domain,
            checked_total(content["total"]),
            tuple(Factor.from_json(one, domain) for one in content["factors"]),
            tuple(measurement_from_json(one) for one in content["measurements"]),
            rounded=bool(content["rounded"]),
        )
        if len(domain.names) > _MOST_COLUMNS:
            msg = f"A model in a file has up to {_MOST_COLUMNS:,} columns."
            raise BadInput(msg)
        joined_cliques(domain, (one.clique for one in model.factors), most_work=_MOST_WORK)
        if model.tree.cells > _MOST_CELLS:
            largest = max(model.tree.cliques, key=domain.size)
            within = [f.clique for f in model.factors if {*f.clique} <= {*largest}]
            raise ModelTooLarge(largest, within, 8 * model.tree.cells, 8 * _MOST_CELLS)
        # Each factor is added to a whole clique: a few small ones can stand for minutes.
        if len(model.factors) * len(model.tree.cliques) > _MOST_PAIRS or _sums(model) > _MOST_SUMS:
            msg = "The model in the file has so many factors that drawing from it takes too long."
            raise BadInput(msg)
        return model


def _sums(model: GraphicalModel) -> int:
    """Return how many cells the factors of a model are added to."""
    tree = model.tree
    homes = (tree.cliques[tree.home_of(factor.clique)] for factor in model.factors)
    return sum(map(model.domain.size, homes))


def gathered(tree: JunctionTree, factors: Iterable[Factor]) -> list[Table]:
    """Factors, each added to a clique of a tree that holds its columns."""
    at: dict[int, list[Factor]] = {}
    for factor in factors:
        at.setdefault(tree.home_of(factor.clique), []).append(factor)
    return [product(tree.domain, clique, at.get(k, ())) for k, clique in enumerate(tree.cliques)]
