"""Run everything that the results of PRISM need."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from understudy.experiments.compare.cell import run_cell
from understudy.experiments.pool import done_by_several
from understudy.experiments.prism.document import document
from understudy.experiments.prism.found import Found
from understudy.experiments.prism.pictures import pictures
from understudy.experiments.prism.sections import REAL, Section, key_of, sections
from understudy.experiments.prism.trial import Cell, run_trial
from understudy.experiments.prism.whole_adult import WholeAdult, whole_plan

Tell = Callable[[str], None]
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


@dataclass(frozen=True)
class Reproduced:
    """What is written down."""

    found: Found
    text: str
    figures: dict[int, tuple[str, str]]
    """By number: what it shows, and the picture."""


def reproduce(
    extent: Extent, data: Path | None, *, command: str, jobs: int, tell: Tell
) -> Reproduced:
    """The paper's tables and figures, ours beside the print."""
    cells = list(cells_of(extent, data))
    start = time.monotonic()
    outcomes = []
    for outcome in done_by_several(partial(run_trial, data=data), cells, jobs):
        outcomes.append(outcome)
        if len(outcomes) % 20 == 0:
            left = (time.monotonic() - start) / len(outcomes) * (len(cells) - len(outcomes))
            tell(f"{len(outcomes)} of {len(cells)} trials, about {left / 60:.0f} min left")
    found = Found(outcomes)
    whole = None
    if data is not None and extent.whole_seeds:
        plan = whole_plan(data, extent.whole_seeds)
        tell(f"Adult as it comes: {len(plan.cells)} releases and real rows")
        whole = WholeAdult(plan, list(done_by_several(partial(run_cell, plan), plan.cells, jobs)))
    drawn = pictures(found, extent.epsilons)
    text = document(found, whole, command=command, seeds=extent.seeds, figures=drawn)
    return Reproduced(found, text, drawn)


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
