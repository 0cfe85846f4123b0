"""Run everything that the results of LK-2SS need."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from understudy.experiments.folder import folder_with
from understudy.experiments.lk2ss.aims import aims
from understudy.experiments.lk2ss.document import document
from understudy.experiments.lk2ss.extent import EPSILONS, QUICK, WHOLE, Extent
from understudy.experiments.lk2ss.found import Figures, Found
from understudy.experiments.lk2ss.marketing import run_marketing
from understudy.experiments.lk2ss.nonlinear import run_nonlinear
from understudy.experiments.lk2ss.pictures import pictures
from understudy.experiments.lk2ss.real import run_real
from understudy.experiments.lk2ss.tables import TABLES
from understudy.experiments.markdown import figure_files
from understudy.experiments.pool import timed
from understudy.experiments.reproduced import Reproduced, Tell

SIMULATION, PRICES = "simulation", "prices"


@dataclass(frozen=True)
class Cell:
    """One repetition: of the simulation, of prices, or of the table with that name."""

    what: str
    seed: int


def reproduce(*, quick: bool, data: Path | None, command: str, jobs: int, tell: Tell) -> Reproduced:
    """The paper's simulations and tables, ours beside the print."""
    extent = QUICK if quick else WHOLE
    folder = None if data is None else folder_with(data, [table.file for table in TABLES])
    cells = list(cells_of(extent, tables=folder is not None))
    tell(f"{len(cells)} trials")
    found = Found(list(timed(partial(run_cell, data=folder), cells, jobs, tell)))
    drawn = pictures(found)
    text = document(found, command=command, extent=extent, figures=drawn)
    return Reproduced(text, figure_files("lk2ss", drawn), aims(found))


def cells_of(extent: Extent, *, tables: bool) -> Iterator[Cell]:
    """All trials, the long ones first."""
    yield from (Cell(SIMULATION, seed) for seed in range(extent.simulation))
    if tables:
        yield from (Cell(table.name, seed) for seed in range(extent.real) for table in TABLES)
    yield from (Cell(PRICES, seed) for seed in range(extent.prices))


def run_cell(cell: Cell, data: Path | None) -> Figures:
    """Run one."""
    if cell.what == SIMULATION:
        return run_nonlinear(cell.seed)
    if cell.what == PRICES:
        return run_marketing(cell.seed)
    assert data is not None  # noqa: S101 - without it there are no such cells
    return run_real(cell.what, cell.seed, EPSILONS, data)
