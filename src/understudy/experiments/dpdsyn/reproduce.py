"""Run everything that the results of DPDSyn need."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from understudy.experiments.adult import DOMAIN_FILE, ROWS_FILE
from understudy.experiments.dpdsyn.aims import aims
from understudy.experiments.dpdsyn.arms import NOISY, REAL, Draw
from understudy.experiments.dpdsyn.document import document
from understudy.experiments.dpdsyn.found import Found
from understudy.experiments.dpdsyn.pictures import pictures
from understudy.experiments.dpdsyn.tables import TABLES
from understudy.experiments.dpdsyn.trial import Cell, run_trial
from understudy.experiments.dpdsyn.twelve import run_twelve, twelve_cells
from understudy.experiments.folder import folder_with
from understudy.experiments.markdown import figure_files
from understudy.experiments.pool import timed
from understudy.experiments.reproduced import Reproduced, Tell


@dataclass(frozen=True)
class Extent:
    """How much is run."""

    seeds: int
    epsilons: tuple[float, ...]


WHOLE = Extent(5, (1.0, 4.0))
QUICK = Extent(1, (1.0,))


def reproduce(*, quick: bool, data: Path | None, command: str, jobs: int, tell: Tell) -> Reproduced:
    """The paper's tables and its figure, ours beside the print."""
    folder = folder_with(data, [*(table.file for table in TABLES), ROWS_FILE, DOMAIN_FILE])
    extent = QUICK if quick else WHOLE
    cells, twelve = list(cells_of(extent)), list(twelve_cells(extent.seeds))
    tell(f"{len(twelve)} trials on twelve columns of Adult, and {len(cells)} on the paper's tables")
    narrow = list(timed(partial(run_twelve, data=folder), twelve, jobs, tell))
    found = Found(list(timed(partial(run_trial, data=folder), cells, jobs, tell)), narrow)
    drawn = pictures(found, extent.epsilons)
    text = document(
        found, command=command, seeds=extent.seeds, epsilons=extent.epsilons, figures=drawn
    )
    return Reproduced(text, figure_files("dpdsyn", drawn), aims(found, extent.epsilons))


def cells_of(extent: Extent) -> Iterator[Cell]:
    """All trials; those of one split stand together, for it is made once."""
    for seed in range(extent.seeds):
        for table in TABLES:
            yield Cell(table.name, REAL.name, extent.epsilons[0], seed)
            for place, epsilon in enumerate(extent.epsilons):
                for arm in NOISY:
                    # More rows than there were are drawn at one ε alone.
                    kept = [
                        draw
                        for draw in arm.draws
                        if place == 0 or draw not in {Draw.TWICE, Draw.THRICE}
                    ]
                    yield Cell(table.name, arm.name, epsilon, seed, tuple(kept))
