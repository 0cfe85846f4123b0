"""What a whole run would take: measured on made-up rows, and scaled to the rows that were stated.

What comes after counting does not depend on the number of rows. Reading, training and drawing do:
each is measured by itself. No more than a block of rows is drawn at a time, so memory stays.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from understudy.encode import Encoding
from understudy.mechanisms.api import Mechanism
from understudy.mechanisms.label_model import LabelModel
from understudy.plan.laps import Lap, lap
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.steps_told import StepsTold
from understudy.privacy.unit import Unit
from understudy.release import Release
from understudy.synthetic_rows import MOST_ROWS, ROWS_PER_BLOCK, DrawnRows
from understudy.table_files import write_rows

FEW_ROWS = 1000
"""Beside those of a rehearsal, to see what each row adds."""
_REPEATS = 2
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


@dataclass(frozen=True)
class EachRow:
    """Seconds that each row adds, beyond those that were rehearsed."""

    reading: float = 0.0
    drawing: float = 0.0


def each_row(few: Path, many: Path, release: Release, unit: Unit) -> EachRow:
    """Measured by a few rows and many of them, as in these files and drawn anew."""

    def read(path: Path) -> None:
        with Ledger.open(path, release.schema, Budget(1.0, 1e-9), unit=unit) as book:
            book.measure([()], rho=book.rest())

    def draw(count: int) -> None:
        rows = DrawnRows.of(release.model, release.schema, count, 0)
        write_rows(rows.blocks(), release.schema, "csv", BytesIO(), formula_safe=False)

    made = release.rows.count
    reading = _more(lambda: read(few), lambda: read(many))
    drawing = _more(lambda: draw(FEW_ROWS), lambda: draw(made))
    return EachRow(*(seconds / max(made - FEW_ROWS, 1) for seconds in (reading, drawing)))


def _more(few: Callable[[], None], many: Callable[[], None]) -> float:
    """By how much many take longer; at their best, for other programs may be in the way."""

    def best(work: Callable[[], None]) -> float:
        return min(timed(work).seconds for _ in range(_REPEATS))

    return max(best(many) - best(few), 0.0)


def forecast(  # noqa: PLR0913 - by name
    *,
    rehearsed: int,
    rows: int,
    recipe: Mechanism,
    encoding: Encoding,
    starting: float,
    asking: Lap,
    steps: Steps,
    writing: Lap,
    each: EachRow,
) -> Forecast:
    """The whole, with so many rows and not those that were rehearsed.

    `asking` took training in.
    """
    more, factor = max(rows - rehearsed, 0), max(rows / rehearsed, 1.0)
    drawn = min(rows, MOST_ROWS)
    return Forecast(
        starting=starting,
        asking=max(asking.seconds - steps.whole * steps.each, 0.0) + more * each.reading,
        training=steps.with_rows(recipe, factor) * steps.each * factor,
        writing=writing.seconds + max(drawn - rehearsed, 0) * each.drawing,
        bytes=_peak(asking, writing, more * _held(encoding), _blocks(drawn, rehearsed)),
    )


def _peak(asking: Lap, writing: Lap, codes: int, blocks: float) -> int | None:
    """Of the whole: either while codes are held, or while a block of rows is drawn."""
    if asking.peak is None or writing.before is None:
        return None
    return max(asking.peak + codes, writing.before + round(blocks * writing.grown))


def _held(encoding: Encoding) -> int:
    """Bytes of a row in codes."""
    return _COPIES * sum(encoding.dtype(one.name).itemsize for one in encoding.domain)


def _blocks(drawn: int, rehearsed: int) -> float:
    """How much larger blocks are that are drawn at a time."""
    return max(min(drawn, ROWS_PER_BLOCK) / min(rehearsed, ROWS_PER_BLOCK), 1.0)


def timed(work: Callable[[], object]) -> Lap:
    """What some work takes."""
    with lap() as found:
        work()
    return found
