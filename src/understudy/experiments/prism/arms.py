"""What is tried on a benchmark: the paper's ways as it prints them, and ours."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from understudy.allocate import Allocation
from understudy.experiments.prism.benchmarks import (
    STRONG,
    WRONG_GRAPH,
    Benchmark,
    Codes,
)
from understudy.mechanisms.aim import Aim
from understudy.mechanisms.api import Mechanism
from understudy.mechanisms.independent import IndependentColumns
from understudy.mechanisms.mst import Mst
from understudy.mechanisms.prism import Backend, Prism
from understudy.mechanisms.privbayes import PrivBayes
from understudy.privacy.unit import Record, Replacement, Unit
from understudy.select.regimes import Causal, Graphical, Predictive, Regime
from understudy.workload import Weights

PAPER_ROWS = 5000
_ADULT_FEATURES = 8


@dataclass(frozen=True)
class Arm:
    """One way to make a release."""

    name: str
    mechanism: Callable[[Benchmark, Codes], Mechanism]
    """Of the benchmark, and, for oracles alone, its rows."""
    as_printed: bool = False
    """Whether ε adds up, records are replaced, and 5,000 rows are drawn, as in the paper."""

    @property
    def unit(self) -> Unit:
        """Whose privacy is protected."""
        return Replacement() if self.as_printed else Record()


def _prism(regime: Regime, *, printed: bool, uniform: bool, **more: object) -> Prism:
    if not printed:
        allocation = Allocation.UNIFORM if uniform else Allocation.OPTIMAL
        return Prism(regime=regime, allocation=allocation, **more)  # type: ignore[arg-type]
    allocation = Allocation.BASIC_UNIFORM if uniform else Allocation.BASIC_OPTIMAL
    settings = {"backend": Backend.NAIVE_BAYES, **more}
    return Prism(regime=regime, allocation=allocation, **settings)  # type: ignore[arg-type]


def _regimes(benchmark: Benchmark, rows: Codes) -> dict[str, Regime]:
    """By the paper's names, how features are found."""
    names = benchmark.features
    found: dict[str, Regime] = {"All Features": Causal(names)}
    if benchmark.graph is not None:
        parents = benchmark.graph.parents(benchmark.target)
        found["PRISM-Causal"] = Causal(parents)
        found["PRISM-Graphical"] = Graphical(benchmark.graph)
        count = len(parents)
    else:
        count = _ADULT_FEATURES
        found["PRISM-Predictive"] = Predictive(k=count)
    found["Corr Top-k (Oracle)"] = Causal(most_correlated(benchmark, rows, count))
    return found


def most_correlated(benchmark: Benchmark, rows: Codes, count: int) -> list[str]:
    """The features that correlate most with the target, read off the rows: an oracle."""
    target = rows[benchmark.target]
    strength = {n: abs(np.corrcoef(rows[n], target)[0, 1]) for n in benchmark.features}
    return sorted(strength, key=lambda name: -strength[name])[:count]


def prism_arms(names: Mapping[str, bool], *, printed: bool, **more: object) -> list[Arm]:
    """Arms by the paper's names, and whether the budget is split evenly."""

    def arm(name: str, *, uniform: bool) -> Arm:
        def mechanism(benchmark: Benchmark, rows: Codes) -> Mechanism:
            regime = _regimes(benchmark, rows)[name]
            return _prism(regime, printed=printed, uniform=uniform, **more)

        told = name if "Oracle" in name else f"{name} ({'Unif' if uniform else 'Opt'})"
        return Arm(told, mechanism, printed)

    return [arm(name, uniform=uniform) for name, uniform in names.items()]


def baseline_arms() -> list[Arm]:
    """What the paper compares with, as built here."""
    return [
        Arm("MST", lambda *_: Mst()),
        Arm("PrivBayes", lambda *_: PrivBayes()),
        Arm("Independence Only", lambda *_: IndependentColumns()),
    ]


def aim_arm() -> Arm:
    """The strongest method that knows no task."""
    return Arm("AIM", lambda *_: Aim())


def naive_bayes_arm(name: str, regime: Regime) -> Arm:
    """PRISM of ours with the paper's back-end."""
    return Arm(name, lambda *_: Prism(regime=regime, backend=Backend.NAIVE_BAYES))


def learned_arm() -> Arm:
    """The blanket learned with noise."""
    return Arm("a learned blanket", lambda *_: Prism(regime=Graphical.learn(share=0.2, most=12)))


def wrong_graph_arm() -> Arm:
    """A graph that takes noise for causes."""
    return Arm("a wrong graph", lambda *_: Prism(regime=Graphical(WRONG_GRAPH)))


def allocation_arms(*, printed: bool) -> list[Arm]:
    """All features, with the paper's oracle weights and with equal noise."""

    def arm(name: str, *, uniform: bool) -> Arm:
        def mechanism(benchmark: Benchmark, _: Codes) -> Mechanism:
            names = benchmark.features
            apart = [0.8 if place < STRONG else 0.1 for place in range(len(names))]
            weights = Weights(
                {n: difference**2 for n, difference in zip(names, apart, strict=True)}
            )
            more: dict[str, object] = {} if uniform else {"importance": weights}
            more["backend"] = Backend.NAIVE_BAYES
            return _prism(Causal(names), printed=printed, uniform=uniform, **more)

        return Arm(name, mechanism, printed)

    return [
        arm("Closed-form allocation (oracle weights)", uniform=False),
        arm("Uniform allocation", uniform=True),
    ]
