"""What a whole run would take: measured on made-up rows, and scaled to the rows that were stated.

What comes after counting does not depend on the number of rows. Reading, training and drawing do:
each is measured by itself. No more than a block of rows is drawn at a time, so memory stays.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import combinations
from pathlib import Path
from statistics import fmean

import numpy as np

from understudy.domain import Clique
from understudy.encode import Encoding
from understudy.mechanisms.api import Mechanism
from understudy.mechanisms.label_model import LabelModel
from understudy.plan.laps import Lap, lap
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.scores import L1Distance
from understudy.privacy.steps_told import StepsTold
from understudy.privacy.unit import Unit
from understudy.schema import Schema
from understudy.synthetic_rows import MOST_ROWS, ROWS_PER_BLOCK, DrawnRows
from understudy.table_files import write_rows

FEW_ROWS = 1000
"""Beside those of a rehearsal, to see what each row adds."""
_REPEATS = 2
_MOST_PAIRS, _MOST_CELLS = 300, 10**5
"""So many pairs are counted, and none with more cells."""
_COPIES = 2
"""So often codes lie in memory while they are gathered."""


@dataclass(frozen=True)
class Forecast:
    """Seconds and memory of the whole program, from its start to the last file."""

    starting: float
    asking: float
    """Reading the rows, asking and fitting; without training."""
    training: float
    writing: float
    """Drawing rows, writing all files, and the page."""
    bytes: int | None
    """At the peak; None where the system does not tell."""

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.starting + self.asking + self.training + self.writing


@dataclass
class Steps:
    """A listener: how long steps of training take, by what is told of them."""

    whole: int = 0
    first: tuple[int, float] = (0, 0.0)
    last: tuple[int, float] = (0, 0.0)

    def __call__(self, sentence: str) -> None:
        """Note the time of a step."""
        if isinstance(sentence, StepsTold):
            now = (sentence.done, time.perf_counter())
            if sentence.done <= self.last[0] or not self.whole:  # another run
                self.whole, self.first = sentence.whole, now
            self.last = now

    @property
    def each(self) -> float:
        """Seconds of a step."""
        steps = self.last[0] - self.first[0]
        return (self.last[1] - self.first[1]) / steps if steps else 0.0

    def with_rows(self, recipe: Mechanism, factor: float) -> int:
        """How many there would be with so many times the rows: noise leaves room for more."""
        model = getattr(recipe, "label_model", None)
        most = model.most_steps if isinstance(model, LabelModel) else self.whole
        return min(math.ceil(self.whole * factor), max(most, self.whole))


def seconds_to_read(few: Path, many: Path, rows: int, facts: Schema, unit: Unit) -> float:
    """What each row adds, by a file of a few and one of so many: read, and counted in pairs."""

    def read(path: Path) -> None:
        with Ledger.open(path, facts, Budget(1.0, 1e-9), unit=unit) as book:
            pairs: list[Clique] = [
                pair
                for pair in combinations(book.domain.names, 2)
                if book.domain.size(pair) <= _MOST_CELLS
            ]
            counted = pairs[:_MOST_PAIRS] or [book.domain.names[:1]]
            book.select(
                [L1Distance(one, np.zeros(book.domain.shape(one))) for one in counted], epsilon=0.01
            )

    return _more(lambda: read(few), lambda: read(many)) / max(rows - FEW_ROWS, 1)


def seconds_to_draw(rows: DrawnRows) -> float:
    """What each row adds, drawn and written, by a few and these."""

    def draw(count: int) -> None:
        some = replace(rows, count=count)
        write_rows(some.blocks(), rows.schema, "csv", BytesIO(), raw_text=False)

    return _more(lambda: draw(FEW_ROWS), lambda: draw(rows.count)) / max(rows.count - FEW_ROWS, 1)


def _more(few: Callable[[], None], many: Callable[[], None]) -> float:
    """By how much many take longer, on the average of a few tries."""

    def usual(work: Callable[[], None]) -> float:
        return fmean(_timed(work).seconds for _ in range(_REPEATS))

    return max(usual(many) - usual(few), 0.0)


@dataclass(frozen=True)
class Rehearsed:
    """What a rehearsal took."""

    rows: int
    drawn: int
    """How many rows were drawn."""
    asking: Lap
    """Training included."""
    steps: Steps
    writing: Lap
    reading_each: float = 0.0
    """Seconds that each further row would add."""
    drawing_each: float = 0.0

    def forecast(self, rows: int, recipe: Mechanism, encoding: Encoding) -> Forecast:
        """The same with so many rows, and not those that were made up; the start comes on top."""
        more, factor = max(rows - self.rows, 0), max(rows / self.rows, 1.0)
        drawn, steps = min(rows, MOST_ROWS), self.steps
        blocks = min(drawn, ROWS_PER_BLOCK) / min(self.drawn, ROWS_PER_BLOCK)
        return Forecast(
            starting=0.0,
            asking=max(self.asking.seconds - steps.whole * steps.each, 0.0)
            + more * self.reading_each,
            training=steps.with_rows(recipe, factor) * steps.each * factor,
            writing=self.writing.seconds + max(drawn - self.drawn, 0) * self.drawing_each,
            bytes=_peak(self.asking, self.writing, more * _held(encoding), max(blocks, 1.0)),
        )


def _peak(asking: Lap, writing: Lap, codes: int, blocks: float) -> int | None:
    """Of the whole: either while codes are held, or while a block of rows is drawn."""
    if asking.peak is None or writing.before is None:
        return None
    return max(asking.peak + codes, writing.before + round(blocks * writing.grown))


def _held(encoding: Encoding) -> int:
    """Bytes of a row in codes."""
    return _COPIES * sum(encoding.dtype(one.name).itemsize for one in encoding.domain)


def _timed(work: Callable[[], None]) -> Lap:
    with lap() as found:
        work()
    return found
