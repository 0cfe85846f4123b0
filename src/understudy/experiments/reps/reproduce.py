"""Run everything that the results of REPS need."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from understudy.experiments.markdown import figure_files
from understudy.experiments.pool import timed
from understudy.experiments.reproduced import Reproduced, Tell
from understudy.experiments.reps.aims import aims
from understudy.experiments.reps.arms import ARMS, REPS
from understudy.experiments.reps.document import document
from understudy.experiments.reps.found import Found, chosen
from understudy.experiments.reps.pictures import pictures
from understudy.experiments.reps.printed import EPSILONS
from understudy.experiments.reps.tables import Table, tables_in
from understudy.experiments.reps.trial import Cell, run_trial, tune


@dataclass(frozen=True)
class Extent:
    """How much is run."""

    seeds: int
    epsilons: tuple[float, ...]


WHOLE = Extent(5, EPSILONS)
QUICK = Extent(2, (1.0,))


def reproduce(*, quick: bool, data: Path | None, command: str, jobs: int, tell: Tell) -> Reproduced:
    """The paper's tables and figures, ours beside the print."""
    extent, tables = QUICK if quick else WHOLE, tables_in(data)
    tell("Choosing gamma as the paper does, on validation rows")
    tuned = chosen(list(timed(partial(tune, data=data), tunings_of(extent, tables), jobs, tell)))
    cells = list(cells_of(extent, tables, tuned))
    tell(f"{len(cells)} trials")
    found = Found(list(timed(partial(run_trial, data=data), cells, jobs, tell)), tuned)
    drawn = pictures(found, tables, extent.epsilons)
    text = document(
        found,
        tables,
        command=command,
        seeds=extent.seeds,
        epsilons=extent.epsilons,
        figures=drawn,
    )
    return Reproduced(text, figure_files("reps", drawn), aims(found, tables))


def tunings_of(extent: Extent, tables: Sequence[Table]) -> list[Cell]:
    """By table, ε and repetition: all γ are tried."""
    return [
        Cell(table.name, REPS.name, epsilon, seed)
        for table in tables
        for seed in range(extent.seeds)
        for epsilon in extent.epsilons
    ]


def cells_of(
    extent: Extent, tables: Sequence[Table], tuned: Mapping[tuple[str, float], float]
) -> Iterator[Cell]:
    """All trials; those of one split stand together, for it is made once."""
    for table in tables:
        for seed in range(extent.seeds):
            for arm in ARMS:
                for epsilon in extent.epsilons if arm.noisy else (1.0,):
                    gamma = tuned.get((table.name, epsilon), 0.0) if arm.weighed else 0.0
                    yield Cell(table.name, arm.name, epsilon, seed, gamma)
