"""Small models of every shape that a graph of columns can have, and random numbers for them."""

from itertools import combinations, permutations

import numpy as np

from understudy.domain import Domain
from understudy.model.factor import Factor
from understudy.privacy.answers import Measurement

SHAPES = {
    "chain": (
        Domain.of({"a": 2, "b": 3, "c": 4, "d": 2}),
        (("a", "b"), ("c", "b"), ("c", "d")),
    ),
    "star": (
        Domain.of({"a": 2, "b": 1, "hub": 3, "c": 4}),
        (("hub", "a"), ("b", "hub"), ("hub", "c")),
    ),
    "cycle": (
        Domain.of({"a": 2, "b": 3, "c": 3, "d": 2}),
        (("a", "b"), ("b", "c"), ("d", "c"), ("a", "d")),
    ),
    "disconnected": (
        Domain.of({"a": 3, "b": 2, "c": 4, "d": 2}),
        (("d", "a"), ("b", "c")),
    ),
    "nested": (
        Domain.of({"a": 2, "b": 3, "c": 2, "d": 4}),
        (("b", "c"), ("c", "a", "b"), ("d", "c"), ("c",)),
    ),
    "single": (Domain.of({"a": 4}), (("a",),)),
    "missing column": (
        Domain.of({"a": 3, "left out": 2, "b": 4, "c": 1}),
        (("a", "b"), ("b", "c")),
    ),
    "empty": (Domain.of({"a": 3, "b": 1, "c": 2}), ()),
}
"""By name: the columns, and the cliques that tie them, some in another order than the columns."""
NAMES = tuple(SHAPES)
PRECISE = 1e-12


def potentials(name, seed=0, *, spread=1.0):
    """A random factor for each clique of a shape."""
    domain, cliques = SHAPES[name]
    return random_factors(domain, cliques, np.random.default_rng(seed), spread=spread)


def random_factors(domain, cliques, rng, *, spread=1.0):
    """A random factor for each clique."""
    return tuple(Factor(c, spread * rng.standard_normal(domain.shape(c))) for c in cliques)


def summed(domain, table, clique):
    """The marginal of a table over all columns, its axes in the clique's order."""
    beside = tuple(axis for axis, name in enumerate(domain.names) if name not in clique)
    kept = [name for name in domain.names if name in clique]
    return np.asarray(table.sum(axis=beside)).transpose([kept.index(name) for name in clique])


def small_cliques(domain, most=3):
    """Every set of up to so many columns, in every order."""
    return [
        clique
        for size in range(min(most, len(domain)) + 1)
        for columns in combinations(domain.names, size)
        for clique in permutations(columns)
    ]


def counted(domain, codes, clique):
    """How many rows lie in each cell of a marginal."""
    counts = np.zeros(domain.shape(clique))
    np.add.at(counts, tuple(codes[name] for name in clique), 1)
    return counts


def measured(domain, table, cliques, rng, scale):
    """Noisy marginals of a table over all columns; a scale of their own for each, if there are."""
    scales = scale if isinstance(scale, list) else [scale] * len(cliques)
    return [
        Measurement(c, summed(domain, table, c) + rng.normal(0, s, domain.shape(c)), s)
        for c, s in zip(cliques, scales, strict=True)
    ]
