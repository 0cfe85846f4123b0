"""Run everything that the results of PrivCI need."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from understudy.experiments.markdown import figure_files
from understudy.experiments.pool import timed
from understudy.experiments.privci.aims import aims
from understudy.experiments.privci.arms import ONCE, REAL, SWEPT
from understudy.experiments.privci.document import Noiseless, document
from understudy.experiments.privci.folds import FOLDS, check_folder, folds_of
from understudy.experiments.privci.found import Found
from understudy.experiments.privci.measures import rows_off, squared_shares_off
from understudy.experiments.privci.pictures import pictures
from understudy.experiments.privci.structure import noiseless
from understudy.experiments.privci.tables import TABLES
from understudy.experiments.privci.trial import Cell, run_trial
from understudy.experiments.reproduced import Reproduced, Tell


@dataclass(frozen=True)
class Extent:
    """How much is run."""

    folds: int
    epsilons: tuple[float, ...]


WHOLE = Extent(FOLDS, (0.1, 0.5, 1.0, 2.0, 5.0))
QUICK = Extent(2, (1.0,))


def reproduce(*, quick: bool, data: Path | None, command: str, jobs: int, tell: Tell) -> Reproduced:
    """The paper's table and figures, ours beside the print."""
    folder, extent = check_folder(data), QUICK if quick else WHOLE
    ours, printed = (
        {one.name: noiseless(one, folds_of(one, folder).rows, score) for one in TABLES}
        for score in (rows_off, squared_shares_off)
    )
    cells = list(cells_of(extent))
    found = Found(list(timed(partial(run_trial, data=folder), cells, jobs, tell)))
    drawn = pictures(found, extent.epsilons)
    text = document(
        found, Noiseless(ours, printed), command=command, epsilons=extent.epsilons, figures=drawn
    )
    return Reproduced(text, figure_files("privci", drawn), aims(found))


def cells_of(extent: Extent) -> Iterator[Cell]:
    """All trials, every table and arm early."""
    for fold in range(extent.folds):
        for table in TABLES:
            yield Cell(table.name, REAL, 1.0, fold)
            for epsilon in extent.epsilons:
                for arm in (*SWEPT, *(ONCE if epsilon == 1.0 else ())):
                    yield Cell(table.name, arm.name, epsilon, fold)
