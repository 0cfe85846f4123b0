"""Small real certificates of every kind: each query kind, unit and form of weighting."""

import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from understudy.column import Column, Kind, Role
from understudy.privacy.budget import Budget
from understudy.privacy.caps import Cap
from understudy.privacy.discover import discover, plan
from understudy.privacy.ledger import Ledger
from understudy.privacy.model_maps import ModelCells, ModelMerit
from understudy.privacy.row_maps import (
    ClippedMoments,
    InducingFeatures,
    NormalScores,
    ScoreCells,
)
from understudy.privacy.scores import CountTV, L1Distance
from understudy.privacy.train import Training
from understudy.privacy.unit import Person, Replacement
from understudy.privacy.weights import ScoreTable
from understudy.privacy.where import Where
from understudy.schema import Schema

SCHEMA = Schema(
    (
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 9), null=False),
        Column(name="sex", kind=Kind.BOOLEAN, null=False),
        Column(name="job", kind=Kind.CATEGORICAL, categories=("baker", "smith"), null=False),
    ),
    rows_bound=10**6,
)
AGES = np.array([*np.linspace(-1, 1, 10), 0.0])
"""By code of the age, of which the last is hidden: numbers from -1 to 1."""
PATIENT = Column(name="patient", kind=Kind.INTEGER, role=Role.ID)
BUDGET = Budget(1.0, 1e-9, thresholds=1e-10)
LIGHT = {"tables": {"age": [*[0] * 8, 5, 6, 5]}, "thresholds": [5, 6], "weights": [900, 512, 100]}


def rows(count=60):
    """Ages 0 to 9, two sexes, two jobs; three rows for each person."""
    place = np.arange(count)
    return pa.table(
        {
            "age": place % 10,
            "sex": place % 3 == 0,
            "job": np.where(place % 2, "baker", "smith"),
            "patient": place // 3,
        }
    )


def _training(**options):
    return Training({"age": AGES}, "sex", [0, 1, np.nan], rows=60, steps=2, **options)


def _scores():
    return [
        L1Distance(("sex",), [30.0, 30.0, 0.0], scale=0.5),
        L1Distance(("job",), [30.0, 30.0, 0.0]),
        CountTV(("age",), ("sex",)),
    ]


def _opened(columns=("age", "sex", "job"), budget=BUDGET, **options):
    return Ledger.open(rows().select(columns), SCHEMA, budget, **options)


def _ask(ledger, share=Fraction(1, 40)):
    """Ask one query of each kind that may be weighted."""
    rho = ledger.rest() * share
    ledger.measure([("age",), ("age", "sex")], rho=rho)
    ledger.select(_scores(), rho=rho)
    ledger.scores(_scores(), rho=rho)
    ledger.sum(ClippedMoments({"age": [*range(10), 0]}, 9.0, by="sex", classes=3), rho=rho)
    ledger.train(_training(), rho=rho)
    ledger.select_best([_training(), _training(clip=0.5)], rho=rho * 8, runs=2.0)


def _ask_maps(ledger):
    rho = ledger.rest() / 40
    ledger.sum(ClippedMoments({"age": AGES * 0.4}, 1.0), rho=rho)
    ledger.sum(
        NormalScores({"age": AGES, "sex": [-1.0, 1.0, 0.0], "job": [0.0, 1.0, 0.0]}, 2.0), rho=rho
    )
    points = np.array([[-0.5], [0.5]])
    features = InducingFeatures(
        {"age": AGES}, points, np.eye(2), [1.0, 0.5, 0.0], 1.0, "sex", [-1.0, 1.0, 0.0]
    )
    ledger.sum(features, rho=rho)
    ledger.sum(ScoreCells((ScoreTable.of("age", [*range(10), 0]),), (3, 6)), rho=rho)
    model = ledger.train(_training(rate=0.5), rho=rho)
    ledger.sum(ModelCells(_training(), model.layers, edges=(0.5,)), rho=rho)
    ledger.sum(ModelMerit(_training(), model.layers), rho=rho)
    ledger.train(_training(begun=model.layers), rho=rho)
    ledger.values({"age": None, "job": [0]}, rho=rho, delta=1e-12)


def _record():
    with _opened() as ledger:
        ledger.declare("target", "sex")
        _ask(ledger)
        _ask_maps(ledger)
        ledger.select([CountTV(("age",), ("sex",), given=("job",))], epsilon=0.01)
        ledger.merged({"age": [0] * 5 + [1] * 6}).measure([("age",)], rho=ledger.rest() / 40)
        return ledger.close()


def _replacement():
    with _opened(unit=Replacement()) as ledger:
        _ask(ledger)
        ledger.select([CountTV(("age",), ("sex",))], epsilon=0.01)
        ledger.values({"age": None}, rho=ledger.rest() / 40, delta=1e-12)
        return ledger.close()


def _person():
    schema = Schema((*SCHEMA.columns, PATIENT), rows_bound=10**6)
    with Ledger.open(rows(), schema, BUDGET, unit=Person("patient", 3)) as ledger:
        _ask(ledger)
        ledger.values({"age": None}, rho=ledger.rest() / 40, delta=1e-12)
        return ledger.close()


def _capped():
    cap = Cap(Where.parse("age >= 8"), Budget(0.5, 1e-9, thresholds=1e-10))
    with _opened(caps=[cap]) as ledger:
        ledger.measure([("age",)], rho=ledger.rest() / 40)
        light = ledger.weighted(ledger.weigh(**LIGHT))
        _ask(light)
        light.train(_training(rate=0.5), rho=ledger.rest() / 40)
        return ledger.close()


def _individual():
    with _opened(each=Budget(0.8, 1e-9, thresholds=1e-10)) as ledger:
        ledger.measure([("age",)], rho=ledger.rest() / 40)
        _ask(ledger.weighted(ledger.weigh(**LIGHT)))
        return ledger.close()


def _fixed():
    with _opened() as ledger:
        events = [ledger.measure_event([("age",), ("sex",)], scale=one) for one in (60.0, 80.0)]
        events.append(ledger.measure_event([("job",)], scale=80.0))
        ledger.fix(events)
        ledger.measure([("age",), ("sex",)], scale=80.0)
        ledger.measure([("job",)], scale=80.0)
        return ledger.close()


def _fixed_training():
    with _opened() as ledger:
        events = [ledger.train_event(_training(rate=0.5), scale=40.0)]
        ledger.fix(events)
        ledger.train(_training(rate=0.5), scale=40.0)
        return ledger.close()


def _discovered():
    count = 3000
    bare = Schema(
        (
            Column(name="age", kind=Kind.INTEGER),
            Column(name="sex", kind=Kind.BOOLEAN, null=False),
            Column(name="job", kind=Kind.UNKNOWN),
        )
    )
    budget = Budget(8.0, 1e-8, thresholds=1e-9)
    data = rows(count).select(["age", "sex", "job"])
    with Ledger.open(data, bare, budget, discover=True) as ledger:
        discover(ledger, plan(ledger))
        ledger.declare("discovery", "every open column")
        ledger.measure([("sex",)], rho=ledger.rest() / 2)
        return ledger.close()


def _lines():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        csv.write_csv(rows().select(["age", "sex", "job"]), path)
        with Ledger.open(path, SCHEMA, BUDGET) as ledger:
            ledger.malformed(rho=ledger.rest() / 200)
            ledger.measure([("age",)], rho=ledger.rest() / 40)
            return ledger.close()


def _revealed():
    with _opened(allow_non_private=True) as ledger:
        ledger.measure([("age",)], rho=ledger.rest() / 40)
        ledger.reveal("a copy for the auditors")
        return ledger.close()


CERTIFICATES = {
    "record": _record,
    "replacement": _replacement,
    "person": _person,
    "capped": _capped,
    "individual bound": _individual,
    "fixed": _fixed,
    "fixed training": _fixed_training,
    "discovered": _discovered,
    "lines of a file": _lines,
    "revealed": _revealed,
}
