"""What readers will predict: one of a few classes, or a number."""

import contextlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.curator.stored import flag
from understudy.curator.tables import Rows, Sort, Tables
from understudy.errors import BadInput

CLASSES, NUMBER = "classification", "regression"
MOST_VALUES = 20
"""A column of whole numbers with more values than this is predicted as a number."""
MOST_CLASSES = 50
"""The rarest of more labels are one class: models take minutes to tell hundreds apart."""
RARER, NO_CLASS = "(rarer classes)", "(no class)"


@dataclass(frozen=True, eq=False)
class Target:
    """The column to predict.

    Classes are those of real and test rows. A synthetic row may be of another class: a model can
    learn it, and is wrong wherever it says it.
    """

    name: str
    classes: tuple[str, ...] = ()
    """Empty for a number."""
    positive: int | None = None
    """The class that a yes-or-no question asks for."""
    _values: NDArray[np.float64] | None = None
    """The numbers that stand for classes, where these are numbers."""
    _labels: tuple[int, int] = (0, 0)
    """How many labels real and test rows have, and how many there are in all."""

    @classmethod
    def of(
        cls, tables: Tables, name: str, *, task: str | None = None, positive: str | None = None
    ) -> "Target":
        """The target, as classes or as a number; `task` overrules what its values look like."""
        if task not in {None, CLASSES, NUMBER}:
            msg = f"The task {task!r} is unknown; use {CLASSES} or {NUMBER}."
            raise BadInput(msg)
        sort = tables[name].sort
        target = _of_numbers(tables, name, task) if sort.counted else _of_labels(tables, name, task)
        if not target.classes and target.task == NUMBER and positive is not None:
            msg = f"A positive class makes no sense: {name!r} is predicted as a number."
            raise BadInput(msg)
        if positive is not None:
            written = flag(positive) if sort is Sort.FLAG else positive
            place = target.named(_spelled(written) if sort.counted else written)
            return replace(target, positive=place)
        return replace(target, positive=_rarer(target, tables))

    @property
    def task(self) -> str:
        """The kind of task."""
        return CLASSES if self.classes else NUMBER

    def named(self, wanted: str) -> int:
        """The place of a class."""
        if wanted not in self.classes:
            msg = (
                f"{self.name!r} has no class {wanted!r}. Write it as the table does, or leave "
                "--positive away: then it is the rarer of two classes."
            )
            raise BadInput(msg)
        return self.classes.index(wanted)

    def known(self, rows: Rows) -> NDArray[np.bool_]:
        """Where there is something to predict."""
        if self.name in rows.numbers:
            return ~np.isnan(rows.numbers[self.name])
        return rows.codes[self.name] < self._labels[1]

    def codes(self, rows: Rows) -> NDArray[np.int64]:
        """The class of each row, as a place among the classes; one beyond them for others."""
        foreign = len(self.classes)
        if self._values is None:
            labels = rows.codes[self.name].astype(np.int64)
            return np.where(labels < self._labels[0], np.minimum(labels, foreign - 1), foreign)
        numbers = rows.numbers[self.name]
        places = np.minimum(np.searchsorted(self._values, numbers), foreign - 1)
        return np.where(self._values[places] == numbers, places, foreign).astype(np.int64)

    def numbers(self, rows: Rows) -> NDArray[np.float64]:
        """The number of each row."""
        return rows.numbers[self.name]


def _told(tables: Tables) -> list[Rows]:
    """The rows that are not synthetic."""
    return [tables.real, *([] if tables.test is None else [tables.test])]


def _of_numbers(tables: Tables, name: str, task: str | None) -> Target:
    numbers = np.concatenate([rows.numbers[name] for rows in _told(tables)])
    values = np.unique(numbers[~np.isnan(numbers)])
    whole = tables[name].sort is Sort.NUMBER and bool(np.all(values == np.floor(values)))
    if task == NUMBER or (task is None and not (whole and 0 < len(values) <= MOST_VALUES)):
        return Target(name)
    if len(values) > MOST_CLASSES:
        msg = f"Column {name!r} has too many different numbers to be predicted as classes."
        raise BadInput(msg)
    if not len(values):
        return Target(name, (NO_CLASS,), None, np.array([np.inf]))
    return Target(name, tuple(_spelled(value) for value in values.tolist()), None, values)


def _of_labels(tables: Tables, name: str, task: str | None) -> Target:
    if task == NUMBER:
        msg = f"Column {name!r} holds labels and cannot be predicted as a number."
        raise BadInput(msg)
    # The most common come first, and those of synthetic rows alone last.
    labels = [label for label in tables[name].labels if label is not None]
    codes = np.concatenate([rows.codes[name] for rows in _told(tables)])
    own = int(codes[codes < len(labels)].max(initial=-1)) + 1
    classes = labels[:own] or [NO_CLASS]
    if own > MOST_CLASSES:
        classes = [*labels[: MOST_CLASSES - 1], RARER]
    return Target(name, tuple(classes), None, None, (own, len(labels)))


def _spelled(number: float | str) -> str:
    """A number as a class.

    >>> _spelled("1.0"), _spelled(2.5), _spelled("yes")
    ('1', '2.5', 'yes')
    """
    with contextlib.suppress(ValueError, OverflowError):
        value = float(number)
        return str(int(value)) if value == int(value) else str(value)
    return str(number)


def _rarer(target: Target, tables: Tables) -> int | None:
    """Of two classes, the real table's rarer one."""
    if len(target.classes) != 2:  # noqa: PLR2004 - yes or no
        return None
    real = tables.real
    counts = np.bincount(target.codes(real)[target.known(real)], minlength=2)
    return 0 if counts[0] < counts[1] else 1
