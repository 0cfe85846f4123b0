"""Small tables of codes in which each column follows the one before it, and ledgers on them."""

from fractions import Fraction

import numpy as np
import pyarrow as pa

from understudy.column import Column, Kind, Role
from understudy.privacy.budget import Budget
from understudy.privacy.events import Exponential, Gaussian
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.schema import Schema

RHO_OF_EVENT = {
    Gaussian: lambda e: e.sensitivity_squared / (2 * Fraction(e.scale) ** 2),
    Exponential: lambda e: Fraction(e.epsilon) ** 2 / 8,
}


def spent(entry):
    return RHO_OF_EVENT[type(entry.event)](entry.event)


def chain(count=500, seed=0, *, sizes, follows=0.8, order=None):
    """Columns, in this order, of which each follows the one before it in so many rows."""
    rng = np.random.default_rng(seed)
    codes, before = {}, None
    for name in order or sizes:
        new = rng.integers(0, sizes[name], count)
        if before is not None:
            new = np.where(rng.random(count) < follows, before % sizes[name], new)
        codes[name] = before = new
    return {name: codes[name] for name in sizes}


def opened(codes=None, epsilon=1.0, *, sizes, make=chain, seed=0, **options):
    """A ledger on codes, or on a table that is made; its noise is seeded, its target the first.

    The last code of each column stands for missing values, which all unlisted ones become: so no
    column has a hidden code, and domains have the sizes that are stated.
    """
    schema = Schema(
        tuple(
            Column(
                name=name,
                kind=Kind.CATEGORICAL,
                categories=tuple(range(size - 1)),
                null=True,
                role=Role.TARGET if name == next(iter(sizes)) else Role.FEATURE,
            )
            for name, size in sizes.items()
        ),
        rows_bound=10**6,
    )
    table = pa.table(make(sizes=sizes) if codes is None else codes)
    return Ledger.open(table, schema, Budget(epsilon, 1e-9), source=SeededForTests(seed), **options)
