"""Run everything that the results of PRISM need."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from understudy.experiments.compare.cell import run_cell
from understudy.experiments.markdown import figure_files
from understudy.experiments.pool import done_by_several, timed
from understudy.experiments.prism.document import aims, document
from understudy.experiments.prism.found import Found
from understudy.experiments.prism.pictures import pictures
from understudy.experiments.prism.sections import REAL, Section, key_of, sections
from understudy.experiments.prism.trial import Cell, run_trial
from understudy.experiments.prism.whole_adult import WholeAdult, whole_plan
from understudy.experiments.reproduced import Reproduced, Tell

_EPSILONS = (0.2, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Extent:
    """How much is run."""

    seeds: int
    epsilons: tuple[float, ...]
    whole_seeds: int
    """Repetitions of Adult as it comes; 0 leaves it out."""


WHOLE = Extent(10, _EPSILONS, 10)
QUICK = Extent(2, (0.2, 1.0), 0)


def reproduce(*, quick: bool, data: Path | None, command: str, jobs: int, tell: Tell) -> Reproduced:
    """The paper's tables and figures, ours beside the print."""
    extent = QUICK if quick else WHOLE
    cells = list(cells_of(extent, data))
    found = Found(list(timed(partial(run_trial, data=data), cells, jobs, tell)))
    whole = None
    if data is not None and extent.whole_seeds:
        plan = whole_plan(data, extent.whole_seeds)
        tell(f"Adult as it comes: {len(plan.cells)} releases and real rows")
        whole = WholeAdult(plan, list(done_by_several(partial(run_cell, plan), plan.cells, jobs)))
    drawn = pictures(found, extent.epsilons)
    text = document(found, whole, command=command, seeds=extent.seeds, figures=drawn)
    return Reproduced(text, figure_files("prism", drawn), aims(found))


def cells_of(extent: Extent, data: Path | None) -> Iterator[Cell]:
    """All trials, every arm early."""
    for seed in range(extent.seeds):
        for name, section in sections(data).items():
            yield Cell(name, REAL, 1.0, seed)
            for key, epsilons in _tried(section, extent.epsilons).items():
                yield from (Cell(name, key, epsilon, seed) for epsilon in epsilons)


def _tried(section: Section, epsilons: tuple[float, ...]) -> dict[str, tuple[float, ...]]:
    """By arm, at which ε it is tried: what the print has one table for, at 1 alone."""
    swept = (*section.ours, *(section.printed if not section.once else ()))
    once = (*section.once, *(section.printed if section.once else ()))
    return {**{key_of(arm): epsilons for arm in swept}, **{key_of(arm): (1.0,) for arm in once}}
