"""Requests through every door of a ledger, on a table of ages 0 to 9 and sexes."""

import numpy as np
from hypothesis import strategies as st

from understudy.privacy.row_maps import ClippedMoments
from understudy.privacy.scores import CountTV, L1Distance
from understudy.privacy.train import Training
from understudy.privacy.weights import UNIT

AGES = np.array([*np.linspace(-1, 1, 10), 0.0])
"""By code of the age, which has a hidden one for missing values: numbers from -1 to 1."""


def _training(**options):
    return Training({"age": AGES}, "sex", [0, 1, np.nan], rows=60, steps=2, **options)


DOORS = {
    "measure": lambda ledger, rho: ledger.measure([("age",), ("age", "sex")], rho=rho),
    "select": lambda ledger, rho: ledger.select(
        [L1Distance(("sex",), [30.0, 30.0, 0.0]), CountTV(("age",), ("sex",))], rho=rho
    ),
    "scores": lambda ledger, rho: ledger.scores([L1Distance(("sex",), [30.0, 30.0, 0.0])], rho=rho),
    "sum": lambda ledger, rho: ledger.sum(ClippedMoments({"age": [*range(10), 0]}, 9.0), rho=rho),
    "train": lambda ledger, rho: ledger.train(_training(), rho=rho),
    "select the best": lambda ledger, rho: ledger.select_best(
        [_training(), _training(clip=0.5)], rho=rho, runs=2.0
    ),
    "train on samples": lambda ledger, rho: ledger.train(_training(rate=0.5), rho=rho),
}
_WEIGHTS = st.lists(st.sampled_from([0, 1, 100, 341, 512, 1000, UNIT]), min_size=3, max_size=3)


def requests(most):
    """Some requests, one after the other: a door, weights of three steps or none, and a share."""
    asked = st.tuples(st.sampled_from(sorted(DOORS)), st.none() | _WEIGHTS, st.floats(0.01, 0.6))
    return st.lists(asked, min_size=1, max_size=most)
