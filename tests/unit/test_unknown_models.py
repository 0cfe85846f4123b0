"""A model that does not state what it ties is not released under a constraint."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

from helpers import chains
from understudy import pipeline
from understudy.column import Column, Kind
from understudy.demanded import check_kept
from understudy.domain import Domain
from understudy.errors import CheckFailed
from understudy.model.cliques import cliques_of
from understudy.model.copula import CopulaModel
from understudy.model.factor import Factor
from understudy.model.graphical import GraphicalModel
from understudy.model.labelled import LabelledModel
from understudy.model.labels import ClassLabels, Scorer
from understudy.model.merged import MergedModel
from understudy.model.product import ProductModel
from understudy.model.shuffled import ShuffledColumns
from understudy.schema import Schema
from understudy.separation import Separation

SIZES = {"a": 2, "b": 3, "c": 2, "d": 3, "e": 2}


class Unknown:
    """A third-party model without cliques, which ties every column to every other."""

    kind, total = "unknown", 100.0
    measurements = ()

    def __init__(self, domain):
        self.domain = domain


class Subclass(ProductModel):
    """Draws rows in a way of its own, and inherits the statement that columns are independent."""

    def sample(self, rows, rng):
        codes = rng.integers(0, 2, rows).astype(np.uint8)
        return dict.fromkeys(self.domain.names, codes)


class Wrapped:
    """Passes everything on to another model, but for the rows that it draws."""

    def __init__(self, model):
        self.model = model

    def __getattr__(self, name):
        return getattr(self.model, name)


class WithoutMeasurements:
    """States cliques, and nothing about what was measured."""

    kind, total = "unmeasured", 100.0

    def __init__(self, domain):
        self.domain, self.cliques_ = domain, tuple((name,) for name in domain.names)

    @property
    def cliques(self):
        return self.cliques_


class Understated(WithoutMeasurements):
    """States cliques that do not hold all of its columns."""

    measurements = ()

    @property
    def cliques(self):
        return ()


DOMAIN = Domain.of(dict.fromkeys("abcde", 2))
HALVES = {name: np.array([0.5, 0.5]) for name in DOMAIN.names}
PRODUCT = ProductModel(DOMAIN, 100.0, HALVES)
STATED = Separation(["a _||_ b | e"])


def scored(name):
    scorer = Scorer({name: np.zeros((2, 1))}, (np.ones((2, 1)),))
    return ClassLabels(scorer, np.array([0, 1]), np.array([0.5, 0.5]), np.zeros(2), 2)


class OwnScorer(Scorer):
    """Goes by more than its inputs say."""


def own_scorer():
    labels = scored("c")
    return replace(labels, scorer=OwnScorer(labels.scorer.inputs, labels.scorer.layers))


UNKNOWN = {
    "unknown": Unknown(DOMAIN),
    "subclass": Subclass(DOMAIN, 100.0, HALVES),
    "wrapped": Wrapped(PRODUCT),
    "without measurements": WithoutMeasurements(DOMAIN),
    "understated": Understated(DOMAIN),
    "unknown features": LabelledModel(DOMAIN, Subclass(DOMAIN, 100.0, HALVES), "d", scored("c")),
    "unknown scorer": LabelledModel(DOMAIN, PRODUCT, "d", own_scorer()),
    "unknown columns of a copula": CopulaModel(
        Subclass(DOMAIN, 100.0, HALVES), {n: np.arange(2) for n in DOMAIN.names}, np.eye(5)
    ),
    "subclass inside a merged model": MergedModel(
        type("Other", (GraphicalModel,), {})(DOMAIN, 100.0), {}
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_model_that_does_not_state_its_cliques_is_refused_under_a_constraint(name):
    model = UNKNOWN[name]
    assert cliques_of(model) is None or not hasattr(model, "measurements")
    with pytest.raises(CheckFailed, match=r"cannot be checked, and nothing is released"):
        check_kept(STATED, model)
    check_kept(Separation(), model)  # nothing was demanded


def test_every_model_states_its_cliques():
    for model in (
        PRODUCT,
        GraphicalModel(DOMAIN, 100.0, (Factor(("a", "c"), np.zeros((2, 2))),)),
        ShuffledColumns(DOMAIN, {n: np.array([1, 1]) for n in DOMAIN.names}),
        CopulaModel(PRODUCT, {n: np.arange(2) for n in DOMAIN.names}, np.eye(5)),
        LabelledModel(DOMAIN, PRODUCT, "d", scored("c")),
        MergedModel(GraphicalModel(DOMAIN, 100.0), {}),
    ):
        check_kept(STATED, model)
        assert {name for clique in cliques_of(model) for name in clique} == {*DOMAIN.names}
    joined = GraphicalModel(DOMAIN, 100.0, (Factor(("a", "b"), np.zeros((2, 2))),))
    below = np.eye(5)
    below[1, 0] = 0.5  # a matrix that is not symmetric ties columns as well
    for model in (
        joined,
        LabelledModel(DOMAIN, joined, "d", scored("c")),
        LabelledModel(DOMAIN, PRODUCT, "a", scored("b")),
        CopulaModel(PRODUCT, {n: np.arange(2) for n in DOMAIN.names}, below),
    ):
        with pytest.raises(CheckFailed, match="a fault of the method"):
            check_kept(STATED, model)


@dataclass(frozen=True)
class Foreign:
    """A mechanism of somebody else, whose model is unknown here."""

    name, about, guarantee, needs = "foreign", "", "", ""

    def fit(self, ledger, *_):
        return Unknown(ledger.domain)


def test_the_release_of_an_unknown_model_is_refused_under_a_constraint(tmp_path):
    codes = chains.chain(400, sizes=SIZES)
    table = pa.table({name: pa.array(codes[name]).cast(pa.string()) for name in SIZES})
    columns = tuple(
        Column(name=n, kind=Kind.CATEGORICAL, categories=[*map(str, range(SIZES[n]))], null=False)
        for n in SIZES
    )
    with pytest.raises(CheckFailed, match=r"model Unknown does not state its cliques"):
        pipeline.synthesize(
            table,
            epsilon=1.0,
            schema=Schema(columns),
            mechanism=Foreign(),
            constraints=["a _||_ b | e"],
        )
