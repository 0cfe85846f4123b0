"""What the figures were to be, and what they are."""

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from understudy.curator.coded_task import Mean
from understudy.experiments.markdown import shown
from understudy.experiments.reproduced import Aim
from understudy.experiments.reps.arms import EXACT, NOBODY, RANDOM, RELEASED, REPS, UNIFORM
from understudy.experiments.reps.found import Found, Metric
from understudy.experiments.reps.metrics import (
    injected,
    loss,
    matched_overall,
    matched_top,
    top,
    utility,
)
from understudy.experiments.reps.printed import printed
from understudy.experiments.reps.tables import SIM, Table

_NEAR = 0.02
_ENOUGH = 5
"""Of fewer repetitions no interval decides anything."""


def aims(found: Found, tables: Sequence[Table]) -> list[Aim]:
    """Utility as printed, bounds as proven, and what targeting does."""
    return [
        *_utility(found),
        *_bounds(found, tables),
        *_targeting(found),
        *(_control(found, table) for table in tables),
    ]


def _utility(found: Found) -> Iterator[Aim]:
    for arm in (UNIFORM, REPS, RELEASED):
        print_of = arm.printed or REPS.printed
        assert print_of is not None  # noqa: S101 - both are printed
        line = printed(SIM.name, 1.0, print_of)
        mean = found.mean(SIM.name, arm, 1.0, utility)
        met = None if mean is None else mean.value >= float(line.tstr)
        yield _aim(f"sim, ε = 1: TSTR of {arm.name}", line.tstr, f"≥ {line.tstr}", mean, met)
    line = printed(SIM.name, 1.0, str(EXACT.printed))
    mean = found.mean(SIM.name, EXACT, 1.0, utility)
    met = None if mean is None else abs(mean.value - float(line.tstr)) <= _NEAR
    what = "sim: TSTR without noise, by our coefficients"
    yield _aim(what, line.tstr, f"{line.tstr} ± {_NEAR}", mean, met)


def _bounds(found: Found, tables: Sequence[Table]) -> Iterator[Aim]:
    runs = [
        one.losses
        for table in tables
        for arm in (REPS, RELEASED)
        for one in found.of(table.name, arm)
        if one.losses is not None
    ]
    for what, kept in (
        ("bound by record, given the histograms: never above uniform's", "never_more"),
        ("and below it wherever the weight is below 1", "less_where_lighter"),
    ):
        held = sum(bool(getattr(one, kept)) for one in runs)
        told = f"{held} of {len(runs)} releases"
        yield Aim(what, "", "always", float(held), None, told, held == len(runs) if runs else None)
    for table in tables:
        mean = found.mean(table.name, REPS, 1.0, loss("top_lighter"))
        what = f"{table.name}, ε = 1: share of the true top decile with a weight below 1"
        yield _aim(what, "", "told", mean, None)
    mean = found.mean(SIM.name, REPS, 1.0, injected)
    yield _aim("sim, ε = 1: the same of injected outliers", "", "told", mean, None)


def _targeting(found: Found) -> Iterator[Aim]:
    wordings: list[tuple[str, Metric]] = [
        ("top-10% advantage as the paper defines it", top),
        ("top-decile advantage, matched", matched_top),
        ("mean bound of the true top decile", loss("top_epsilon")),
    ]
    for words, metric in wordings:
        mean = found.difference(SIM.name, REPS, RANDOM, metric)
        met = None if not _decides(mean) else mean.value + mean.half < 0
        yield _aim(f"sim: {words}, REPS − random", "lower", "below 0", mean, met)


def _control(found: Found, table: Table) -> Aim:
    mean = found.mean(table.name, NOBODY, 1.0, matched_overall)
    met = None if not _decides(mean) else abs(mean.value) <= mean.half
    what = f"{table.name}: matched advantage where nothing leaks"
    return _aim(what, "", "0 within its interval", mean, met)


def _decides(mean: Mean | None) -> TypeGuard[Mean]:
    return mean is not None and mean.repetitions >= _ENOUGH


def _aim(what: str, paper: str, aim: str, mean: Mean | None, met: bool | None) -> Aim:  # noqa: FBT001 - as in Aim
    if mean is None:
        return Aim(what, paper, aim, None, None, "", None)
    reached = None if met is None else bool(met)
    return Aim(what, paper, aim, mean.value, float(mean.half), shown(mean), reached)
