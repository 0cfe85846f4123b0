"""Which arms are tried on which benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from understudy.curator.models import Learner
from understudy.experiments.prism.arms import (
    Arm,
    aim_arm,
    allocation_arms,
    baseline_arms,
    learned_arm,
    naive_bayes_arm,
    prism_arms,
    wrong_graph_arm,
)
from understudy.experiments.prism.benchmarks import (
    GRAPH,
    Benchmark,
    adult,
    allocation_wins,
    marginal_shift,
    spurious_shift,
)
from understudy.select.regimes import Graphical, Predictive

REAL = "real rows"
SPURIOUS, MARGINAL, ADULT, WINS, FEW = "spurious", "marginal", "adult", "wins", "few"
_FEW_ROWS = 100
_SCM = {"PRISM-Causal": False, "PRISM-Graphical": False, "Corr Top-k (Oracle)": False}
_ADULT = {"PRISM-Predictive": False, "Corr Top-k (Oracle)": False}


@dataclass(frozen=True)
class Section:
    """A benchmark and its arms."""

    benchmark: Benchmark
    printed: tuple[Arm, ...]
    """As the paper describes them."""
    ours: tuple[Arm, ...]
    """As built here; tried at every ε."""
    once: tuple[Arm, ...] = ()
    """As built here; tried at ε = 1 alone."""
    learners: tuple[Learner, ...] = (Learner.LOGISTIC,)

    def arm(self, key: str) -> Arm:
        """An arm by its key."""
        return next(arm for arm in self.arms if key_of(arm) == key)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """All of them."""
        return (*self.printed, *self.ours, *self.once)


def key_of(arm: Arm) -> str:
    """What tells an arm from all others of its section."""
    return f"{arm.name}, as printed" if arm.as_printed else arm.name


def sections(data: Path | None) -> Mapping[str, Section]:
    """By name; Adult only where its folder is given."""
    found = {
        SPURIOUS: _scm(spurious_shift()),
        MARGINAL: _scm(marginal_shift()),
        WINS: _wins(allocation_wins()),
        FEW: _wins(allocation_wins(_FEW_ROWS)),
    }
    if data is not None:
        found[ADULT] = Section(
            adult(data),
            (*_printed(_ADULT), *prism_arms({"All Features": True}, printed=True)),
            (
                *prism_arms(_ADULT, printed=False),
                *prism_arms({"PRISM-Predictive": True, "All Features": True}, printed=False),
                *baseline_arms(),
            ),
            (naive_bayes_arm("PRISM-Predictive, naive Bayes", Predictive(k=8)), aim_arm()),
            (Learner.LOGISTIC, Learner.BOOSTING),
        )
    return found


def _scm(benchmark: Benchmark) -> Section:
    return Section(
        benchmark,
        (*_printed(_SCM), *prism_arms({"All Features": True}, printed=True)),
        (
            *prism_arms(_SCM, printed=False),
            *prism_arms({"All Features": True}, printed=False),
            *baseline_arms(),
        ),
        (
            *prism_arms({"PRISM-Causal": True, "PRISM-Graphical": True}, printed=False),
            naive_bayes_arm("PRISM-Graphical, naive Bayes", Graphical(GRAPH)),
            learned_arm(),
            wrong_graph_arm(),
        ),
    )


def _printed(names: Mapping[str, bool]) -> list[Arm]:
    """With the closed form, and, but for the oracle, with equal shares."""
    even = {name: True for name in names if "Oracle" not in name}
    return [*prism_arms(names, printed=True), *prism_arms(even, printed=True)]


def _wins(benchmark: Benchmark) -> Section:
    return Section(
        benchmark,
        tuple(allocation_arms(printed=True)),
        tuple(allocation_arms(printed=False)),
    )
