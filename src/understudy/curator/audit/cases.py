"""What is audited: every verb of the ledger and every method, on its worst pair of tables."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from understudy.curator.audit.overheard import Overheard
from understudy.curator.audit.pair import COLUMNS, Pair
from understudy.domain import Clique
from understudy.errors import BadInput, listed
from understudy.knowledge import Independence
from understudy.mechanisms.aim import Aim
from understudy.mechanisms.api import Mechanism
from understudy.mechanisms.catalog import MECHANISMS
from understudy.mechanisms.dpdsyn import DpdSyn
from understudy.mechanisms.kernel_labels import KernelLabelModel
from understudy.mechanisms.label_model import LabelModel
from understudy.mechanisms.lk2ss import Lk2ss
from understudy.mechanisms.mwem import Mwem
from understudy.mechanisms.prefair import PreFair, Search
from understudy.mechanisms.prism import Prism
from understudy.mechanisms.privci import PrivCI
from understudy.mechanisms.tailored import LabelsBy, Tailored
from understudy.privacy.budget import Budget
from understudy.privacy.model_maps import ModelCells, ModelMerit
from understudy.privacy.row_maps import ClippedMoments, InducingFeatures, NormalScores, RowMap
from understudy.privacy.scores import CountTV, L1Distance, Score
from understudy.privacy.train import Training
from understudy.privacy.unit import Person, Record, Replacement, Unit
from understudy.privacy.weights import UNIT, RowWeights
from understudy.select.regimes import Graphical, Predictive, Regime
from understudy.select.risk import RiskWeights, weighed
from understudy.separation import Separation

UNITS: tuple[Unit, ...] = (Record(), Replacement(), Person("who", 3))
_SHORT = {Record: "record", Replacement: "replace", Person: "person"}
_LIGHT = RowWeights.of({"a": [0, 0, 1, 0]}, [1], [UNIT // 4, UNIT // 2])
"""The canary weighs a half, all other rows a quarter."""
BY_RISK = "rows weighed by risk"
_RISK = RiskWeights(gamma=0.5)
_ONES: list[Clique] = [("a",), ("b",), ("c",)]
_PAIRS: list[Clique] = [("a", "b"), ("a", "c"), ("b", "c")]
_VALUES_DELTA = Fraction(1, 100)
"""So large that a value told by a threshold can be seen in a few thousand runs."""
_CANARY = (0.0, 0.0, 1.0, 0.0)
"""A number for each code: 1 for the canary's."""
_METHOD_ROWS = 1000
"""So many that a method finds room for pairs, whatever the unit."""
_APART = Separation([Independence("a", "b", ["c"])])
"""What a method keeps that is made for independences."""
_CLIP = 2.0**-8
"""So small that the canary's gradient is always cut to it."""


@dataclass(frozen=True, eq=False)
class Case:
    """A pair of tables, and what is asked of them in each run."""

    what: str
    """The verb or the method."""
    how: str
    pair: Pair
    budget: Budget
    ask: Callable[[Overheard], object]
    alone: bool = False
    """Whether a run is one selection, whose own ε is the claim."""

    @property
    def name(self) -> str:
        """What is asked, how, and for whom."""
        words = (self.what, self.how, _SHORT[type(self.pair.unit)])
        return ", ".join(word for word in words if word)


_QUICK: Mapping[type[Mechanism], Mechanism] = {
    DpdSyn: DpdSyn(label_model=LabelModel(most_steps=3)),
    Tailored: Tailored(labels=LabelsBy.TRAINED, label_model=LabelModel(most_steps=3), shown=500),
    Lk2ss: Lk2ss(kernel_labels=KernelLabelModel(points=4)),
}
"""Methods that would take long, and are as private with less work."""


def cases(what: str, epsilon: float, delta: float) -> list[Case]:
    """One case by its name, all of a verb or of a method, or all."""
    every = list(_all(Budget(epsilon, delta)))
    found = [case for case in every if what in {case.name, case.what, "all"}]
    if not found:
        known = dict.fromkeys(case.what for case in every)
        msg = f"There is nothing to audit that is called {what!r}. Known: {listed(known)}, all."
        raise BadInput(msg)
    return found


def _all(budget: Budget) -> Iterator[Case]:
    yield from _measuring(budget)
    yield from _summing(budget)
    yield from _training(budget)
    yield from _trying(budget)
    yield from _selecting(budget)
    yield from _scoring(budget)
    yield from _values(budget)
    for kind in MECHANISMS:
        # Rounds of fits take their time: where there are many, the table is narrow.
        columns = COLUMNS[:2] if kind in {Aim, Mwem} else COLUMNS
        for unit in UNITS:
            pair = Pair(unit, rows=_METHOD_ROWS, columns=columns)
            yield Case(kind.name, "", pair, budget, _fit(_QUICK.get(kind) or kind()))
    # With three columns all are features, unless fewer are asked for.
    pair = Pair(Record(), rows=_METHOD_ROWS)
    regimes: dict[str, Regime] = {"one feature": Predictive(k=1), "a blanket": Graphical.learn()}
    for how, regime in regimes.items():
        yield Case("prism", how, pair, budget, _fit(Prism(regime=regime)))
    yield Case("prism", "an independence", pair, budget, _fit(Prism(), _APART))
    exhaustive = PreFair(search=Search.EXHAUSTIVE)
    yield Case("prefair", "exhaustive", pair, budget, _fit(exhaustive))
    # Nothing is given: the forest ends early, and what is left of the choice goes to its pair.
    forest = _fit(PrivCI(), Separation([Independence("a", "b")]))
    yield Case("privci", "a forest", pair, budget, forest)


def _fit(method: Mechanism, allowed: Separation | None = None) -> Callable[[Overheard], object]:
    """A method; where it keeps independences, with one that leaves it something to choose."""
    if allowed is None:
        allowed = _APART if isinstance(method, PrivCI | PreFair) else Separation()
    return lambda ledger: method.fit(ledger, allowed=allowed)  # type: ignore[arg-type]


def _measuring(budget: Budget) -> Iterator[Case]:
    for unit in UNITS:
        yield Case("measure", "a column", Pair(unit), budget, _measure(_ONES[:1]))
        every = _measure(_ONES + _PAIRS)
        yield Case("measure", "columns and pairs", Pair(unit), budget, every)
    yield Case(
        "measure",
        "weighted rows",
        Pair(Record()),
        budget,
        lambda ledger: _measure(_ONES)(ledger.weighted(_LIGHT)),
    )
    # What the canary weighs follows from noisy counts, in every run anew.
    yield Case("measure", BY_RISK, Pair(Record()), budget, _measure_by_risk)
    yield Case(
        "measure",
        "merged codes",
        Pair(Replacement()),
        budget,
        lambda ledger: _measure(_PAIRS)(ledger.merged({"a": [0, 0, 1, 2], "b": [2, 1, 0, 3]})),
    )


def _summing(budget: Budget) -> Iterator[Case]:
    maps: dict[str, RowMap] = {
        "moments": ClippedMoments(dict.fromkeys(COLUMNS, _CANARY), 1.0),
        "normal scores": NormalScores(dict.fromkeys(COLUMNS, _CANARY), 0.5),
        "inducing features": InducingFeatures(
            {"a": _CANARY}, [[1.0]], [[1.0]], [1.0, 0.0], 0.5, "b", _CANARY
        ),
    }
    canary = Training({"a": _CANARY, "b": _CANARY}, "c", _CANARY, rows=20)
    layers = [np.full(shape, 2.0) for shape in canary.shapes]
    maps |= {
        "cells of a model": ModelCells(canary, layers, (1.0,)),
        "merit of a model": ModelMerit(canary, layers),
    }
    for how, row_map in maps.items():
        yield Case("sum", how, Pair(Record()), budget, _sum(row_map))
    yield Case("sum", "moments", Pair(Person("who", 3)), budget, _sum(maps["moments"]))


def _training(budget: Budget) -> Iterator[Case]:
    for how, steps, rate in (
        ("one step", 1, None),
        ("ten steps", 10, None),
        ("ten sampled steps", 10, 0.2),
    ):
        task = Training(
            {"a": _CANARY, "b": _CANARY},
            "c",
            _CANARY,
            rows=20,
            steps=steps,
            rate=rate,
            clip=_CLIP,
        )
        yield Case("train", how, Pair(Record(), rows=20), budget, _train(task))


def _trying(budget: Budget) -> Iterator[Case]:
    tasks = [
        Training({"a": _CANARY, "b": _CANARY}, "c", _CANARY, rows=20, steps=steps, clip=_CLIP)
        for steps in (1, 3)
    ]
    how = "one step or three"
    yield Case("select_best", how, Pair(Record(), rows=20), budget, _select_best(tasks))


def _selecting(budget: Budget) -> Iterator[Case]:
    for unit in UNITS:
        pair = Pair(unit)
        distances = _select(*_distances(pair, unit.steps))
        yield Case("select", "distances", pair, budget, distances, alone=True)
    pair = Pair(Record())
    tied = CountTV(("a",), ("b",))
    start = tied.score(pair.counts(tied.clique, canary=False).astype(np.int64), None)
    _, down = _distances(pair, 2, scale=2, start=float(start))
    yield Case("select", "dependence", pair, budget, _select(tied, down), alone=True)
    light = _select(*_distances(pair, 0.5, _LIGHT))
    yield Case(
        "select",
        "weighted rows",
        pair,
        budget,
        lambda ledger: light(ledger.weighted(_LIGHT)),
        alone=True,
    )


def _scoring(budget: Budget) -> Iterator[Case]:
    for unit in UNITS:
        pair = Pair(unit)
        scores = list(_distances(pair, unit.steps))
        yield Case("scores", "distances", pair, budget, _score(scores))
    light = _score(list(_distances(Pair(Record()), 0.5, _LIGHT)))
    yield Case(
        "scores",
        "weighted rows",
        Pair(Record()),
        budget,
        lambda ledger: light(ledger.weighted(_LIGHT)),
    )


def _distances(
    pair: Pair,
    moves: float,
    weights: RowWeights | None = None,
    *,
    scale: float = 1.0,
    start: float = 10.0,
) -> tuple[L1Distance, L1Distance]:
    """Two scores, of which one goes up with the canary and the other down.

    So the odds between them change by all of ε. Without the canary the second is ahead, which
    leaves more to see in what is rarely chosen.
    """
    up = pair.counts(("a",), None, weights, canary=False) - [0, 0, 10, 0]
    down = pair.counts(("b",), None, weights, canary=False) - [10, 10, -10, 0]
    offset = start + 4 * moves - scale * 30
    return L1Distance(("a",), up), L1Distance(("b",), down, scale=scale, offset=offset)


def _values(budget: Budget) -> Iterator[Case]:
    rough = Budget(budget.epsilon, float(2 * _VALUES_DELTA), thresholds=float(_VALUES_DELTA))
    for unit in UNITS:
        for how, lonely in {"a value of its own": True, "a common value": False}.items():
            if lonely or not isinstance(unit, Replacement):  # else the two tables are the same
                yield Case("values", how, Pair(unit, lonely=lonely), rough, _tell_values)


def _measure(cliques: list[Clique]) -> Callable[[Overheard], object]:
    return lambda ledger: ledger.measure(cliques, rho=ledger.rest())


def _measure_by_risk(ledger: Overheard) -> object:
    found = weighed(_RISK, ledger, ())  # type: ignore[arg-type]
    return found.ledger.measure(_PAIRS, rho=ledger.rest())


def _sum(row_map: RowMap) -> Callable[[Overheard], object]:
    return lambda ledger: ledger.sum(row_map, rho=ledger.rest())


def _train(task: Training) -> Callable[[Overheard], object]:
    return lambda ledger: ledger.train(task, rho=ledger.rest())


def _select_best(tasks: list[Training]) -> Callable[[Overheard], object]:
    return lambda ledger: ledger.select_best(tasks, rho=ledger.rest())


def _select(*candidates: Score) -> Callable[[Overheard], object]:
    return lambda ledger: ledger.select(candidates, rho=ledger.rest())


def _score(candidates: list[L1Distance]) -> Callable[[Overheard], object]:
    return lambda ledger: ledger.scores(candidates, rho=ledger.rest())


def _tell_values(ledger: Overheard) -> object:
    return ledger.values({"a": None}, rho=ledger.rest(), delta=_VALUES_DELTA)
